from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memaudit import target
from memaudit.context import Context
from memaudit.errors import ConfigError, TargetError
from memaudit.measures.search_terms import has_cjk, loses_digits, read_terms, rows_with, terms_of
from memaudit.model import Basis, Severity
from memaudit.probes.keyword_index import PROBE, Tried
from tests.probes.builders import codes, make_context, only

TEXTS = [
    "部署前先跑回归测试，再通知值班。",
    "缓存 key 带版本号 v3，过期时间十分钟。",
    "Error E1042 means that the bucket is locked.",
    "Error E2077 is a timeout of the replica.",
    "Use C++ only for the parser.",
    "部署脚本在 ops 仓库里。",
]


def context(
    tmp_path: Path, terms: Any = None, tokenizer: str = "unicode61", texts: Any = TEXTS, index: bool = True, **more: Any
) -> Context:
    if terms is not None:
        lines = [json.dumps({"term": t}, ensure_ascii=False) for t in terms]
        (tmp_path / "terms.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        more["terms"] = "terms.jsonl"
    rows = [{"id": i + 1, "content": text} for i, text in enumerate(texts)]
    ctx = make_context(rows, roles={"text": "content"}, base=tmp_path, columns={"memories": ["id", "content"]}, **more)
    if index:
        run = ctx.store.connection.execute
        run(f"CREATE VIRTUAL TABLE memories_fts USING fts5(content, tokenize = '{tokenizer}')")
        for row in rows:
            run("INSERT INTO memories_fts(rowid, content) VALUES (?, ?)", (row["id"], row["content"]))
        store = replace(ctx.store, full_text=("memories_fts",))
        ctx = Context(ctx.config, store, ctx.records)
    return ctx


INDEX: Any = {"keyword_index": {"table": "memories_fts"}}


def test_index_when_chinese_is_one_word_then_high_with_every_count(tmp_path: Path) -> None:
    terms = ["部署", "缓存", "版本号", "E1042", "replica", "数据库", "parser"]
    finding = only(PROBE.run(context(tmp_path, terms, **INDEX)), "MA509")
    f = finding.figures
    assert (f["rows"], f["rows_with_cjk"], f["terms"]) == (6, 3, 7)
    assert f["terms_present_in_text"] == 6  # all but 数据库
    # 缓存 stands alone before a blank and is found; 部署 and 版本号 are inside longer runs.
    assert (f["terms_never_found"], f["which"]) == (2, ["部署", "版本号"])
    assert (f["cjk_terms"], f["cjk_terms_found"]) == (4, 1)
    assert f["terms_losing_digits"] is None
    assert finding.severity is Severity.HIGH  # 2 of 6
    assert finding.subject["table"] == "memories_fts"
    assert finding.basis is Basis.MEASURED


def test_index_when_trigrams_then_terms_of_three_are_found_and_two_are_not(tmp_path: Path) -> None:
    assert codes(PROBE.run(context(tmp_path, ["回归测试", "版本号", "E1042"], tokenizer="trigram", **INDEX))) == []
    finding = only(PROBE.run(context(tmp_path, ["回归测试", "部署"], tokenizer="trigram", **INDEX)), "MA509")
    assert finding.figures["which"] == ["部署"]


def test_index_when_all_terms_are_found_then_silent(tmp_path: Path) -> None:
    result = PROBE.run(context(tmp_path, ["E1042", "the replica", "ops", "absent words", "timeout"], **INDEX))
    assert codes(result) == []
    assert result.sections == ()


def test_index_when_a_term_is_part_of_a_word_then_not_missed(tmp_path: Path) -> None:
    assert codes(PROBE.run(context(tmp_path, ["lock", "arse"], **INDEX))) == []  # in "locked" and "parser" only


def test_index_when_signs_are_dropped_then_too_many_rows(tmp_path: Path) -> None:
    texts = ["Use C++ only here", *[f"plan c number {i}" for i in range(5)]]
    finding = only(PROBE.run(context(tmp_path, ["C++"], texts=texts, **INDEX)), "MA509")
    assert finding.figures["terms_matching_too_many_rows"] == 1
    assert finding.figures["terms_never_found"] == 0
    assert not Tried("running", "running", 1, 9).too_many(2.0)  # a stemmer at work
    assert not Tried("v3", "v3", 4, 5).too_many(2.0)


def test_index_when_no_terms_are_given_then_taken_from_the_texts(tmp_path: Path) -> None:
    texts = [f"服务部署之后检查日志第{i}遍然后通知值班人员" for i in range(4)] + [
        f"deploy note {w} number E10{i}" for i, w in enumerate(["alpha", "bravo", "delta", "gamma", "kappa"])
    ]
    finding = only(PROBE.run(context(tmp_path, texts=texts)), "MA509")
    assert finding.basis is Basis.SAMPLED
    assert "found by looking" in (finding.caveat or "")
    assert all(has_cjk(term) for term in finding.figures["which"])
    assert finding.severity is Severity.HIGH
    trigrams = only(PROBE.run(context(tmp_path, tokenizer="trigram", texts=texts)), "MA509")
    assert trigrams.severity is Severity.MEDIUM
    assert "trigrams" in (trigrams.caveat or "")
    assert "beside the trigrams" in trigrams.fix  # not: index it with trigrams
    english = [f"deploy note {w} number E10{i}" for i, w in enumerate(["alpha", "bravo", "delta", "gamma"] * 3)]
    assert codes(PROBE.run(context(tmp_path, texts=english))) == []


def test_cleaner_when_it_drops_digits_then_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def call_each(function: str, texts: Any, **_: Any) -> list[Any]:
        assert function == "prod_pkg.search:clean"
        return [re.sub(r"\d", "", text) for text in texts]

    monkeypatch.setattr(target, "call_each", call_each)
    terms = ["Error E1042", "Error E2077", "parser", "v3"]
    ctx = context(tmp_path, terms, index=False, query_cleaner="prod_pkg.search:clean")
    f = only(PROBE.run(ctx), "MA509").figures
    assert f["terms_losing_digits"] == 3
    assert f["which"] == ["Error E1042", "Error E2077", "v3"]
    assert f["terms_never_found"] == 3  # "Error E", "v": no such words
    again = context(tmp_path, terms, query_cleaner="prod_pkg.search:clean", **INDEX)
    assert only(PROBE.run(again), "MA509").figures["terms_losing_digits"] == 3


def test_cleaner_when_it_keeps_every_term_then_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "call_each", lambda function, texts, **_: [t.lower() for t in texts])
    ctx = context(tmp_path, ["E1042", "parser"], query_cleaner="prod_pkg.search:clean", **INDEX)
    assert codes(PROBE.run(ctx)) == []


def test_cleaner_when_it_cannot_be_called_then_said_and_the_rest_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call_each(function: str, *_: Any, **__: Any) -> list[Any]:
        raise TargetError(f"{function} cannot be found")

    monkeypatch.setattr(target, "call_each", call_each)
    result = PROBE.run(context(tmp_path, ["部署", "版本号"], query_cleaner="a.b:c", **INDEX))
    assert only(result, "MA509").figures["terms_losing_digits"] is None
    assert "a.b:c" in result.notes[0]
    alone = PROBE.run(context(tmp_path, ["部署"], index=False, query_cleaner="a.b:c"))
    assert alone.not_looked["MA509"][1] == "query_cleaner"


def test_index_when_absent_or_not_searchable_then_not_looked(tmp_path: Path) -> None:
    assert PROBE.run(context(tmp_path, ["部署"], index=False)).not_looked["MA509"][1] == "keyword_index"
    missing = context(tmp_path, ["部署"], keyword_index={"table": "no_such_table"})
    assert "no_such_table" in PROBE.run(missing).not_looked["MA509"][0]


def test_terms_when_read_then_each_once_and_bad_lines_named(tmp_path: Path) -> None:
    path = tmp_path / "terms.jsonl"
    path.write_text('{"term": "部署"}\n"E1042"\n\n{"query": "部署"}\n', encoding="utf-8")
    assert read_terms(path) == ("部署", "E1042")
    path.write_text('{"term": "a"}\n{"id": 3}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2"):
        read_terms(path)
    with pytest.raises(ConfigError, match="cannot read"):
        read_terms(tmp_path / "absent.jsonl")


def test_places_when_a_term_is_looked_for_then_by_words_and_case() -> None:
    texts = ["format the disk", "RM -rf", "执行rm命令", "user_id=7"]
    assert rows_with("rm", texts) == (1, 2)
    assert rows_with("user_id", texts) == (3,)
    assert rows_with("命令", texts) == (2,)
    assert terms_of([]) == ()


@pytest.mark.parametrize(
    ("term", "cleaned", "lost"),
    [("E1042", "E", True), ("E1042", "e1042", False), ("v3.3", "v3", True), ("部署", "部署", False), ("404", "", True)],
)
def test_digits_when_cleaned_then_lost_or_kept(term: str, cleaned: str, lost: bool) -> None:
    assert loses_digits(term, cleaned) is lost
