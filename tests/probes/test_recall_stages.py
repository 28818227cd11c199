"""MA503: stages that are called, and stages that were recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.context import Context
from memaudit.model import Finding, ProbeResult, Severity
from memaudit.probes.recall_stages import PROBE
from memaudit.vectors.cache import EncodedTexts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process is limited with POSIX means")

CODE = """
import contextlib, sqlite3
def filter_by_outcome(results):
    return [r for r in results if r["outcome"] == "success"]

def newest_first(query, results):
    return sorted(results, key=lambda r: -r["year"])

def only_ids(results):
    return [r["id"] for r in results]

def fails(results):
    raise ValueError("no model")

def no_list(results):
    return {"results": results}

def search(query, k):
    return [{"id": i, "outcome": "success" if i % 2 else "error", "year": i} for i in range(1, 5)][:k]

def search_empty(query):
    return []

def searches_some(query, k):
    if query == "word1":
        raise ValueError("no such word")
    return search(query, k)

def boosts_by_uses(results):
    try:
        with contextlib.closing(sqlite3.connect("store.db")) as db:
            uses = dict(db.execute("SELECT id, uses FROM memories"))
    except Exception:
        return results
    return sorted(results, key=lambda r: -uses[r["id"]])
"""

ROWS = [
    {"id": i, "content": f"word{i} 记忆", "outcome": "success", "year": 2020 + i, "raw": b"\x00\x01"}
    for i in range(1, 5)
]


class Words:
    """Encodes by characters: enough to rank `word3` nearest to itself."""

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        rows = np.zeros((len(texts), 128), dtype=np.float32)
        for i, text in enumerate(texts):
            for letter in text:
                rows[i, ord(letter) % 128] += 1
        return EncodedTexts(rows / np.linalg.norm(rows, axis=1, keepdims=True), len(texts), 0, "letters", "1")


def queries(n: int) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "text": f"word{i % 4 + 1}", "expect_any": [{"doc": str(i % 4 + 1)}]} for i in range(n)]


@pytest.fixture
def make(tmp_path: Path, make_context: Callable[..., Context]) -> Callable[..., Context]:
    """Return a function that makes a context with rows, queries and stages."""
    (tmp_path / "prod.py").write_text(CODE, encoding="utf-8")

    def build(asked: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]] = ROWS, **config: Any) -> Context:
        lines = "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in asked)
        (tmp_path / "queries.jsonl").write_text(lines, encoding="utf-8")
        config |= {"queries": "queries.jsonl", "base": tmp_path}
        ctx = make_context({name: [row[name] for row in rows] for name in rows[0]}, config)
        ctx.__dict__["text_encoder"] = Words()
        return ctx

    return build


def rows_of(result: ProbeResult) -> dict[str, Mapping[str, Any]]:
    return {str(row["stage"]): row for row in result.sections[0].tables[0].rows}


def test_stage_when_a_filter_removes_nothing_then_named(make: Callable[..., Context], found: Any) -> None:
    result = PROBE.run(make(queries(20), stages=("prod:filter_by_outcome", "prod:newest_first"), k=1))
    finding: Finding = found(result, "MA503")
    assert finding.subject["stage"] == "prod:filter_by_outcome"
    assert (finding.figures["queries"], finding.figures["lists_changed"]) == (20, 0)
    assert finding.severity is Severity.MEDIUM
    assert "More than 16 of 100" in str(finding.caveat)  # Wilson at 0 of 20: 3.84 / 23.84
    table = rows_of(result)
    # Newest first puts row 4 in front for every query: right for q3, q7, ...: 5 of 20; without it every query is found.
    assert table["prod:newest_first"]["in_order"] == "20 of 20 (100.0 %)"
    assert table["prod:newest_first"]["flips"] == "15 gained, 0 lost without it"
    assert "`prod:newest_first` harms" in result.sections[0].answer
    assert result.figures == {"query_set_can_decide": True}
    assert table["prod:newest_first"]["ms"] is None


def test_stage_when_there_are_few_queries_then_low(make: Callable[..., Context], found: Any) -> None:
    finding = found(PROBE.run(make(queries(4), stages=("prod:filter_by_outcome",))), "MA503")
    assert finding.severity is Severity.LOW


def test_stage_when_it_removes_one_row_then_silent(make: Callable[..., Context], found: Any) -> None:
    rows = [*ROWS[:3], {**ROWS[3], "outcome": "error"}]
    result = PROBE.run(make(queries(20), rows, stages=("prod:filter_by_outcome",)))
    assert found(result, "MA503") is None
    assert rows_of(result)["prod:filter_by_outcome"]["in_order"] == "20 of 20 (100.0 %)"


def test_stage_when_it_only_turns_results_into_ids_then_a_no_op(make: Callable[..., Context], found: Any) -> None:
    assert found(PROBE.run(make(queries(4), stages=("prod:only_ids",))), "MA503") is not None


def test_stages_when_the_first_is_the_search_then_it_gives_the_lists(make: Callable[..., Context], found: Any) -> None:
    result = PROBE.run(make(queries(4), stages=("prod:search", "prod:filter_by_outcome"), k=2))
    assert found(result, "MA503") is None
    # rows 2 and 4 are errors: every list loses them
    assert rows_of(result) == {
        "prod:filter_by_outcome": {
            "stage": "prod:filter_by_outcome", "in_order": "4 of 4 (100 %)", "without": "4 of 4 (100 %)", "failed": 0,
            "ms": None, "flips": "1 gained, 1 lost without it", "interval": rows_of(result)["prod:filter_by_outcome"][
                "interval"], "p": "1.000",
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        (
            ("prod:fails",),
            "no query has a list before and after a stage (prod:fails); prod:fails: ValueError: no model",
        ),
        (("prod:no_list",), "prod:no_list: it returned no list"),
        (("prod:boosts_by_uses",), "opening a database is not allowed in an audit; record what the pipeline returns"),
        (("prod:absent",), "has no absent"),
        (("vector", "rerank"), "neither functions"),
        (None, "no stages were named"),
    ],
)
def test_stages_when_they_cannot_run_then_not_looked(
    make: Callable[..., Context], found: Any, stages: Any, words: str
) -> None:
    result = PROBE.run(make(queries(3), stages=stages))
    assert found(result, "MA503") is None
    assert words in result.not_looked["MA503"][0]


def test_stage_when_it_hides_that_a_database_was_refused_then_no_no_op(
    make: Callable[..., Context], found: Any
) -> None:
    result = PROBE.run(make(queries(20), stages=("prod:filter_by_outcome", "prod:boosts_by_uses", "prod:only_ids")))
    # It handed on what it was given, because it was kept from its database: that says nothing about production.
    assert found(result, "MA503").subject["stage"] == "prod:filter_by_outcome"
    answer, method = result.sections[0].answer, " ".join(result.sections[0].method)
    assert "`prod:boosts_by_uses` could not be tried: opening a database is not allowed in an audit." in answer
    assert "`prod:only_ids` could not be tried: a stage before it gave no list." in answer
    assert "can be recorded: record what the pipeline returns after each stage as arms of `runs`" in answer
    assert "`prod:boosts_by_uses` gave no list for 20 of 20 (100.0 %) queries" in method


def test_stage_when_it_reads_the_store_then_the_store_is_lent(write_store: Callable[..., Path], found: Any) -> None:
    from memaudit.config import Config
    from memaudit.engine import run_audit

    # Uses grow with the id, so that the boost turns every list round: 4, 3, 2, 1.
    path = write_store(
        [(i, f"word{i} 记忆", i) for i in range(1, 5)], "id INTEGER PRIMARY KEY, content TEXT, uses INTEGER"
    )
    (path.parent / "prod.py").write_text(CODE, encoding="utf-8")
    lines = "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in queries(8))
    (path.parent / "queries.jsonl").write_text(lines, encoding="utf-8")
    before = path.read_bytes()
    config = Config(
        base=path.parent, store="store.db", table="memories", queries="queries.jsonl", k=1,
        stages=("prod:boosts_by_uses",), select=("recall-stages",),
    )  # fmt: skip
    audit = run_audit(config)
    assert not [f for f in audit.findings if f.code == "MA503"]
    row = audit.sections[0].tables[0].rows[0]
    assert row["failed"] == 0
    # Row 4 is in front for all 8 queries, two of which ask for it: the first result of the six others changes.
    assert row["without"] == "6 of 8 (75 %)"
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["prod.py", "queries.jsonl", "store.db"]


def test_stages_when_timing_is_asked_for_then_shown(make: Callable[..., Context]) -> None:
    section = PROBE.run(make(queries(4), stages=("prod:newest_first",), limits={"MA503": {"timing": 1}})).sections[0]
    assert 0.0 <= section.tables[0].rows[0]["ms"] < 1_000.0
    assert any("`limits.MA503.timing = 1`" in line for line in section.method)


def test_search_when_it_fails_on_some_queries_then_the_page_counts_them(make: Callable[..., Context]) -> None:
    section = PROBE.run(make(queries(8), stages=("prod:searches_some", "prod:filter_by_outcome"), k=2)).sections[0]
    # word1 is asked by q0 and q4
    assert "lists from what prod:searches_some returned for 6 of 8 (75 %) queries" in section.tables[0].caption


def test_stages_when_there_is_no_store_then_the_corpus_is_searched(
    evaluation_context: Callable[..., Context], tmp_path: Path, found: Any
) -> None:
    (tmp_path / "prod.py").write_text(CODE, encoding="utf-8")
    corpus = {str(i): {"text": f"word{i}", "outcome": "success"} for i in range(1, 5)}
    ctx = evaluation_context(queries(4), corpus=corpus, stages=("prod:filter_by_outcome",))
    ctx.__dict__["text_encoder"] = Words()
    assert found(PROBE.run(ctx), "MA503").figures["queries"] == 4


def test_recorded_when_a_stage_repeats_its_input_then_named(
    evaluation_context: Callable[..., Context], found: Any
) -> None:
    ids = [f"q{i}" for i in range(20)]
    base = {q: ["a", "b"] for q in ids}
    runs = {"vector": base, "filter": base, "rerank": {**base, "q3": ["b", "a"]}}
    asked = [{"id": q, "text": f"问题 {q}", "expect_any": [{"doc": "a"}]} for q in ids]
    finding = found(PROBE.run(evaluation_context(asked, runs, stages=("vector", "filter", "rerank"))), "MA503")
    assert finding.subject["stage"] == "filter"
    assert finding.figures["queries"] == 20
    # near miss: one list differs
    runs["filter"] = {**base, "q1": ["a"]}
    assert found(PROBE.run(evaluation_context(asked, runs, stages=("vector", "filter", "rerank"))), "MA503") is None


def test_recorded_when_an_arm_lacks_a_stage_then_compared_and_judged(
    evaluation_context: Callable[..., Context], found: Any
) -> None:
    ids = [f"q{i}" for i in range(8)]
    runs = {
        "full": {q: ["a", "b"] for q in ids},
        "without boost": {q: ["b", "a"] for q in ids},
        "without filter": {q: ["a", "b"] for q in ids},
    }
    asked = [{"id": q, "text": q, "expect_any": [{"doc": "a"}]} for q in ids]
    result = PROBE.run(evaluation_context(asked, runs, k=1))
    assert found(result, "MA503").subject["stage"] == "filter"
    # 8 lost, none gained: p = 2 / 2^8
    assert "`boost` contributes 100.0 points" in result.sections[0].answer
    assert result.figures == {"query_set_can_decide": True}


def test_recorded_when_two_stages_are_judged_then_adjusted_together(evaluation_context: Callable[..., Context]) -> None:
    # Each stage alone rescues 6 of 40 queries: p = 2 / 64 = .031, and .0625 for two comparisons: none is proven.
    ids = [f"q{i}" for i in range(40)]
    found, lost = ["a", "b"], ["b", "a"]
    runs = {
        "full": dict.fromkeys(ids, found),
        "without boost": {q: lost if i < 6 else found for i, q in enumerate(ids)},
        "without filter": {q: lost if i >= 34 else found for i, q in enumerate(ids)},
    }
    asked = [{"id": q, "text": q, "expect_any": [{"doc": "a"}]} for q in ids]
    section = PROBE.run(evaluation_context(asked, runs, k=1)).sections[0]
    assert {row["stage"]: row["p"] for row in section.tables[0].rows} == {"boost": "0.031", "filter": "0.031"}
    assert "is not distinguishable from noise" in section.answer
    assert "contributes" not in section.answer
    # alone it is proven
    del runs["without filter"]
    assert "`boost` contributes 15.0 points" in PROBE.run(evaluation_context(asked, runs, k=1)).sections[0].answer
