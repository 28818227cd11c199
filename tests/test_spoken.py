"""The language of the terminal: which one a command speaks, and that it speaks no other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.commands.spoken import language_of
from tests.english_words import ENGLISH

Run = Callable[..., Any]

RECORDER = """
import os
import time


class Recorder:
    @staticmethod
    def label(text):
        if "timeout" in text:
            return "超时"
        return "其他" if not text.startswith("#") else os.environ.get("LABEL", "无")

    @staticmethod
    def fails(text):
        raise RuntimeError("坏了")

    def store(self, text):
        label = self.label(text)
        if not label:
            label = "空"
        return label


def main():
    return Recorder().store("x")
"""


@pytest.mark.parametrize(
    ("words", "environment", "file", "spoken"),
    [
        (["run"], {}, "", "en"),
        (["run", "--lang", "zh"], {}, "", "zh"),
        (["run", "--lang=zh"], {"MEMAUDIT_LANG": "en"}, "en", "zh"),
        (["run", "--lang", "en"], {"MEMAUDIT_LANG": "zh"}, "zh", "en"),
        (["run", "--set", "lang=zh"], {}, "", "zh"),
        (["run", "--set=lang=zh"], {}, "", "zh"),
        (["run", "--set", 'lang="zh"'], {}, "", "zh"),
        (["run", "--set", "text=zh"], {}, "", "en"),
        (["run"], {"MEMAUDIT_LANG": "zh"}, "en", "zh"),
        (["run"], {}, "zh", "zh"),
        (["run", "--isolated"], {"MEMAUDIT_LANG": "zh"}, "zh", "en"),
        (["schedule", "--", "--lang", "zh"], {}, "", "en"),  # an option of the run that is scheduled
        (["run", "--help"], {}, "zh", "en"),
        ([], {"MEMAUDIT_LANG": "zh"}, "", "en"),
        (["run", "--lang", "fr"], {}, "zh", "en"),  # told as an error, in English
        (["run", "--lang"], {}, "", "en"),
    ],
)
def test_language_of_when_named_somewhere_then_the_nearest_to_the_command_wins(
    tmp_path: Path, words: list[str], environment: dict[str, str], file: str, spoken: str
) -> None:
    if file:
        (tmp_path / "memaudit.toml").write_text(f'[memaudit]\nlang = "{file}"\n')
    assert language_of(words, environment, tmp_path) == spoken


def test_language_of_when_another_file_or_a_broken_one_is_named_then_no_error(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[memaudit]\nlang = "zh"\n')
    assert language_of(["run", "--config", str(tmp_path / "other.toml")], {}, tmp_path) == "zh"
    assert language_of(["run", "--config", str(tmp_path / "none.toml")], {}, tmp_path) == "en"
    (tmp_path / "memaudit.toml").write_text("[memaudit\n")
    assert language_of(["run"], {}, tmp_path) == "en"


@pytest.fixture
def folder(memaudit: Run, write_store: Run, tmp_path: Path) -> Path:
    """Return a folder with a store of copies, production code, a Chinese history and report, and an English one."""
    (tmp_path / "recorder.py").write_text(RECORDER, "utf-8")
    rows = [
        (i, "同一条记忆 42" if i < 6 else f"第 {i} 条记忆：{i * 7919}", f"2026-05-{1 + i:02d}", None) for i in range(24)
    ]
    write_store(rows)
    for _ in range(2):
        memaudit(
            "run", "--store", "store.db", "--select", "MA305,MA003", "--history", "audits", "--force", "--lang", "zh"
        )
    memaudit("run", "--store", "store.db", "--select", "MA305", "--out", "english")
    (tmp_path / "queries.jsonl").write_text(
        "".join(
            json.dumps({"id": f"q{i}", "text": f"问题 {i}", "expect_any": [{"doc": str(i)}]}) + "\n" for i in range(8)
        )
    )
    return tmp_path


def assert_chinese(text: str) -> None:
    """Hold that a text has Chinese words of ours and no English ones; names, code, values and paths are passed over."""
    assert re.search("[\u4e00-\u9fff]", text), text
    for line in text.splitlines():
        plain = re.sub(
            r"\(\w+\)|选项：\w+|需要：.*|审计对象 \w+|› \w+|`[^`]*`|--[\w-]+ ?\w*|[\w./-]*\.(py|db|json|jsonl|toml|csv)\S*|MA\d{3} [\w-]+|\b[a-z]+[_-][\w-]+",
            "",
            line,
        )
        assert not ENGLISH.search(plain), line


@pytest.mark.parametrize(
    "words",
    [
        ("domain", "recorder.py:Recorder.label"),
        ("domain", "recorder.py:Recorder.fails"),
        ("deadcode", "recorder.py", "--all"),
        ("plan", "--from", "report.json", "--out", "plan.csv"),
        ("diff", "audits"),
        ("history", "audits"),
        ("history", "audits", "--max-age", "8d", "--prune", "1"),
        ("stores",),
        ("stores", "store.db"),
        ("eval", "--queries", "queries.jsonl"),
        ("queries", "template", "--store", "store.db", "--out", "made.jsonl"),
        ("baseline", "--from", "report.json"),
        ("probes", "--store", "store.db"),
    ],
)
def test_commands_when_chinese_then_their_words_are(memaudit: Run, folder: Path, words: tuple[str, ...]) -> None:
    ran = memaudit(*words, "--lang", "zh")
    assert ran.code in (0, 3), ran.err
    assert_chinese(ran.out + ran.err)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "--set", "treshold=1"), "--set treshold 中有未知的键 “treshold”。是否想写 “thresholds”？"),
        (("run", "--store", "none.db"), "没有这个存储：none.db"),
        (("run", "--store", "store.db", "--table", "memory"), "store.db 中未找到表 “memory”。是否想写 “memories”？"),
        (("run", "--set", "seed=often"), 'seed 在 --set seed 中是 "often"；应为不小于 0 的整数。'),
        (("run", "--select", "MA305", "--fail-on", "new", "--store", "store.db"), "--fail-on new：与什么相比是新的？"),
        (("domain", "recorder.py:Recorder.lable"), "Recorder 中没有 lable。是否想写 “label”？"),
        (("diff", "audits/none"), "没有历史"),
        (("eval",), "没有给出查询集，也没有给出排名结果。"),
        (("explain", "MA999"), "没有名为 “MA999” 的规则或探针。"),
        (("history",), "没有给出历史。"),
        (("schedule", "--at", "Monday noon"), "不是一周中的时间。请写成"),
    ],
)  # fmt: skip
def test_errors_when_chinese_then_told_in_it(memaudit: Run, folder: Path, words: tuple[str, ...], told: str) -> None:
    ran = memaudit(*words, "--lang", "zh")
    assert ran.code in (2, 3)
    assert ran.err.splitlines()[-1].startswith("错误：")
    assert told in ran.err
    english = memaudit(*words)
    assert english.err.splitlines()[-1].startswith("error: ")
    assert not re.search("[\u4e00-\u9fff]", english.err)


def test_domain_when_the_child_process_says_why_then_in_chinese(memaudit: Run, folder: Path) -> None:
    ran = memaudit("domain", "recorder.py:Recorder.label", "--lang", "zh")
    assert "读取环境变量（os.environ）" in ran.out
    failed = memaudit("domain", "recorder.py:Recorder.fails", "--lang", "zh", "--format", "json")
    assert json.loads(failed.out)["reason"].startswith("没有一次调用成功")
    assert "reads the environment (os.environ)" in memaudit("domain", "recorder.py:Recorder.label").out


def test_configuration_when_it_names_chinese_then_every_command_speaks_it(memaudit: Run, folder: Path) -> None:
    (folder / "memaudit.toml").write_text('[memaudit]\nlang = "zh"\n')
    assert "没有给出历史" in memaudit("history").err
    assert "错误：" not in memaudit("history", "--lang", "en").err


def test_diff_when_chinese_is_asked_of_english_reports_then_our_words_are_chinese(memaudit: Run, folder: Path) -> None:
    ran = memaudit("diff", "english/report.json", "english/report.json", "--lang", "zh")
    assert ran.out.startswith("自 ")
    assert "unchanged" not in ran.out
    assert memaudit("diff", "english/report.json", "english/report.json").out.startswith("Since ")


def test_explain_when_chinese_then_one_line_says_that_the_page_is_english(memaudit: Run) -> None:
    ran = memaudit("explain", "MA302", "--lang", "zh")
    assert ran.out.splitlines()[0] == "此页只有英文。"
    assert ran.out.endswith(memaudit("explain", "MA302").out)


def test_lang_when_there_is_no_such_catalogue_then_2(memaudit: Run) -> None:
    for command in (["stores"], ["run"], ["explain", "MA302"]):
        assert memaudit(*command, "--lang", "fr").code == 2


def test_init_when_chinese_then_the_same_configuration_as_in_english(
    memaudit: Run, write_store: Run, tmp_path: Path
) -> None:
    # The values of some keys are read out of the sentence that gives their reason.
    rows = [(i, f"第 {i} 条记忆", f"2026-05-{1 + i % 28:02d}", i % 3 == 0) for i in range(30)]
    write_store(rows, columns="id INTEGER PRIMARY KEY, content TEXT, created_at TEXT, is_deleted INTEGER")
    english = memaudit("init", "--store", "store.db").out
    assert 'soft_delete = "is_deleted' in english
    assert memaudit("init", "--store", "store.db", "--lang", "zh").out == english
