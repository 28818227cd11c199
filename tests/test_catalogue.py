"""The Chinese catalogue against the source, and a whole audit that speaks it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from memaudit.catalogue.extract import Keys, fields, indirect_calls, source_keys
from memaudit.config_file import load
from memaudit.engine import run_audit
from memaudit.model import Audit
from memaudit.reports import from_json, redacted, to_html, to_json, to_markdown, to_terminal
from memaudit.stats.decision import Verdict, decide
from memaudit.stats.paired import compare_counts
from memaudit.stats.sentences import ablation_sentence, verdict_sentence
from memaudit.wording import language
from tests.english_words import ENGLISH

ROOT = Path(__file__).resolve().parents[1]
#: Keys of the source that may lack a translation; empty, and meant to stay so.
UNTRANSLATED: frozenset[str] = frozenset()


@pytest.fixture(scope="module")
def keys() -> Keys:
    return source_keys()


@pytest.fixture(scope="module")
def catalogue() -> dict[str, dict[str, str]]:
    text = (ROOT / "memaudit" / "catalogue" / "zh.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def test_catalogue_when_compared_with_the_source_then_nothing_stale_and_nothing_missing(
    keys: Keys, catalogue: dict[str, dict[str, str]]
) -> None:
    for part, used in (("sentences", keys.sentences), ("counted", keys.counted)):
        assert not set(catalogue[part]) - set(used), f"{part}: no longer in the source"
        missing = {key: places for key, places in used.items() if key not in catalogue[part]}
        assert not set(missing) - UNTRANSLATED, f"{part}: without Chinese: {missing}"
    assert len(keys.sentences) > 1500


def test_catalogue_when_read_then_fields_are_the_same_on_both_sides(catalogue: dict[str, dict[str, str]]) -> None:
    for english, chinese in catalogue["sentences"].items():
        assert fields(english) == fields(chinese), english
        assert chinese.strip() or not english.strip(), english
    for noun, counted in catalogue["counted"].items():
        assert fields(counted) == {"n"}, noun


def test_catalogue_when_read_then_formats_of_numbers_are_the_same_on_both_sides(
    catalogue: dict[str, dict[str, str]],
) -> None:
    form = re.compile(r"\{(\w+)(:[^}]+)?\}")
    for english, chinese in catalogue["sentences"].items():
        assert sorted(form.findall(english)) == sorted(form.findall(chinese)), english


def test_catalogue_when_read_then_backticked_words_are_kept(catalogue: dict[str, dict[str, str]]) -> None:
    code = re.compile(r"`[^`]*`")
    for english, chinese in catalogue["sentences"].items():
        assert sorted(code.findall(english)) == sorted(code.findall(chinese)), english


def test_source_keys_when_a_key_is_conditional_marked_or_indirect_then_found(tmp_path: Path) -> None:
    package = tmp_path / "memaudit"
    for name in ("probes", "reports/templates"):
        (package / name).mkdir(parents=True)
    (package / "one.py").write_text('say("a" if x else "b", n=1)\nkey("c")\nterm("d")\nsay(e)\nplural(3, "f", "g")\n')
    (package / "context.py").write_text('_MISSING = {Need.TEXT: ("h", "option")}\n')
    (package / "probes" / "two.py").write_text('class Two:\n    title = "i"\n    name = "two"\n')
    (package / "reports" / "templates" / "three.html.j2").write_text('{{ say("j {n}", n=plural(x | length, "k")) }}')
    found = source_keys(package)
    assert list(found.sentences) == ["h", "a", "b", "c", "d", "i", "j {n}"]
    assert list(found.counted) == ["f", "k"]


def test_say_when_its_sentence_is_no_literal_then_one_of_the_known_places() -> None:
    # Their sentences are in INDIRECT or marked with `key`.
    assert sorted({call.partition(":")[0] for call in indirect_calls()}) == [
        "commands/outcome.py",  # INTERRUPTED
        "context.py",  # _MISSING
        "embedding.py",  # _REASONS
        "engine.py",  # INTERRUPTED
        "every_table.py",  # INTERRUPTED
        "probe_listing.py",  # titles of probes
        "probes/timestamps.py",  # _LABELS
        "reports/shown_numbers.py",  # _SIZES
        "reports/to_terminal.py",  # _STATE_WORDS
        "stats/sentences.py",  # words of the verdicts
        "stores/known_tables.py",  # _WRITES
    ]


# -- the decision table -----------------------------------------------------------------------------


def test_decision_table_when_chinese_then_a_gain_is_claimed_in_row_1_only() -> None:
    never = re.compile("趋势|接近显著|略好|[→↑↓]")
    words = {
        Verdict.IMPROVES: "有提升",
        Verdict.DEGRADES: "有下降",
        Verdict.EQUIVALENT: "差异不超过",
        Verdict.NO_HARM: "未观察到损害",
        Verdict.TOO_FEW: "样本不足，无法下结论",
        Verdict.INCONCLUSIVE: "无法下结论",
        Verdict.NOT_MEASURED: "未测量",
    }
    seen = set()
    with language("zh"):
        for n, lost, gained in [
            (0, 0, 0), (18, 0, 7), (500, 3, 14), (500, 14, 3), (60, 6, 0), (219, 2, 0), (60, 10, 20), (24, 0, 0),
            (24, 5, 0), (60, 16, 6), (60, 9, 9), (500, 12, 14), (100, 1, 1),
        ]:  # fmt: skip
            decision = decide(compare_counts(n, lost, gained))
            seen.add(decision.verdict)
            told = verdict_sentence(decision, "hit@5", "B")
            assert told.startswith(words[decision.verdict]) or words[decision.verdict] in told, told
            for sentence in (told, ablation_sentence(decision, "标签", "hit@5")):
                assert ("提升" in sentence) == (decision.verdict is Verdict.IMPROVES), sentence
                assert "没有区别" not in sentence
                assert not never.search(sentence), sentence
    assert {Verdict.IMPROVES, Verdict.DEGRADES, Verdict.TOO_FEW, Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED} <= seen


# -- a whole audit ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    build = ROOT / "fixtures" / "build.py"
    subprocess.run([sys.executable, str(build), "--out", str(folder)], check=True, capture_output=True)
    return folder


def _audit(folder: Path, lang: str) -> Audit:
    return run_audit(load(start=folder, options={"lang": lang}), command="memaudit run")


@pytest.fixture(scope="module")
def chinese(example: Path) -> Audit:
    return _audit(example, "zh")


def _prose(html: str) -> list[str]:
    """Return the words of ours on a page: code, commands, text of the store and names of figures left out."""
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.S)
    html = re.sub(r"<(code|pre|bdi|blockquote|dt)\b.*?</\1>", "`", html, flags=re.S)
    html = re.sub(r"</(p|td|th|li|h\d|dd|caption|summary|span)>", "\n", html)
    return [line.strip() for line in unescape(re.sub(r"<[^>]+>", "", html)).split("\n") if line.strip()]


def test_page_when_chinese_then_holds_no_english_sentence(chinese: Audit) -> None:
    page = to_html(chinese)
    assert '<html lang="zh">' in page
    kinds = {finding.kind for finding in chinese.findings} | {item.probe for item in chinese.not_run}
    for line in _prose(page):
        plain = re.sub("|".join(sorted(map(re.escape, kinds), key=len, reverse=True)), "", line)
        if "{'" in plain:  # arguments of production code, as Python writes them
            continue
        assert not ENGLISH.search(plain), line


@pytest.mark.parametrize("render", [to_terminal, to_markdown])
def test_text_formats_when_chinese_then_hold_no_english_sentence(chinese: Audit, render: Any) -> None:
    for line in render(chinese).split("\n"):
        plain = re.sub(r"`[^`]*`|<!--.*?-->|\([\w ]+\)|[\w/]+\.(py|db|json)\S*|MA\d+ [\w-]+", "", line)
        assert not ENGLISH.search(plain), line
    assert "瓶颈" in render(chinese)


def test_json_when_chinese_then_codes_and_figures_are_those_of_english(example: Path, chinese: Audit) -> None:
    english = _audit(example, "en")
    assert [(f.code, f.kind, f.severity, f.basis, f.fingerprint) for f in chinese.findings] == [
        (f.code, f.kind, f.severity, f.basis, f.fingerprint) for f in english.findings
    ]
    assert chinese.figures == english.figures
    assert chinese.verdict.state == english.verdict.state
    assert [(lane.lane, lane.state) for lane in chinese.verdict.lanes] == [
        (lane.lane, lane.state) for lane in english.verdict.lanes
    ]
    written = json.loads(to_json(chinese))
    assert (written["lang"], json.loads(to_json(english))["lang"]) == ("zh", "en")
    assert written["findings"][0]["severity"] == "high"
    assert re.search("[\u4e00-\u9fff]", written["findings"][0]["title"])


def test_report_when_read_back_then_the_page_is_the_same(chinese: Audit) -> None:
    assert to_html(from_json(to_json(chinese))) == to_html(chinese)


def test_report_when_it_names_no_language_then_english(chinese: Audit) -> None:
    document = json.loads(to_json(chinese))
    del document["lang"]
    assert from_json(json.dumps(document)).lang == "en"


def test_redaction_when_chinese_then_no_value_of_the_store_is_left(chinese: Audit) -> None:
    page = to_html(redacted(chinese))
    assert "工具重试成功" not in page
    assert "已脱敏" in page
