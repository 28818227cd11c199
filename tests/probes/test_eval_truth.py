from typing import Any

import pytest

from memaudit.evaluation.pollution import parts_of, polluted
from memaudit.model import Severity
from memaudit.probes.eval_truth import PROBE
from memaudit.stats.intervals import wilson_interval


def asks(name: Any, *items: Any, meaning: Any = "expect_any", **more: Any) -> Any:
    return {"id": name, "text": f"问题 {name}", meaning: list(items), **more}


CORPUS = {f"d{i}": f"memory {i} 内容" for i in range(20)}


# -- MA720 --


def test_truth_when_a_row_was_deleted_then_high_and_nothing_is_excluded(evaluation_context: Any, found: Any) -> None:
    queries = [asks("q1", {"doc": "d1"}), asks("q2", {"doc": "gone"}), asks("q3", {"contains": "没有这句"})]
    finding = found(PROBE.run(evaluation_context(queries, corpus=CORPUS)), "MA720")
    assert finding.severity is Severity.HIGH
    assert [finding.figures[n] for n in ("queries", "items_missing", "queries_with_missing_items")] == [3, 2, 2]
    assert finding.figures["missing"] == {"q2": ["gone"], "q3": ["没有这句"]}
    assert finding.evidence.ids == ("q2", "q3")


def test_truth_when_a_text_stands_in_twelve_documents_then_not_discriminating(
    evaluation_context: Any, found: Any
) -> None:
    corpus = {f"d{i}": "the shared sentence" if i < 12 else "else" for i in range(20)}
    finding = found(PROBE.run(evaluation_context([asks("q1", {"contains": "shared"})], corpus=corpus)), "MA720")
    assert finding.severity is Severity.MEDIUM
    assert "(q1: in 12)" in finding.title


def test_truth_when_more_is_needed_than_k_then_low(evaluation_context: Any, found: Any) -> None:
    queries = [asks("q1", *({"doc": f"d{i}"} for i in range(3)), meaning="expect_all")]
    finding = found(PROBE.run(evaluation_context(queries, corpus=CORPUS, k=2)), "MA720")
    assert (finding.severity, finding.figures["queries_needing_more_than_k"]) == (Severity.LOW, 1)


def test_truth_when_many_alternatives_are_given_then_silent(evaluation_context: Any, found: Any) -> None:
    queries = [asks("q1", *({"doc": f"d{i}"} for i in range(9)))]
    assert found(PROBE.run(evaluation_context(queries, corpus=CORPUS, k=2)), "MA720") is None


def test_truth_when_texts_are_expected_then_their_documents_are_shown(evaluation_context: Any) -> None:
    result = PROBE.run(
        evaluation_context([asks("q1", {"contains": "memory 1"}), asks("q2", {"doc": "d2"})], corpus=CORPUS)
    )
    table = next(s for s in result.sections if s.key == "eval-resolved").tables[0]
    # "memory 1" and memories 10 to 19
    assert [(r["query"], r["documents"]) for r in table.rows] == [("q1", 11)]


# -- MA708 --


def test_sources_when_foreign_code_is_indexed_then_the_published_share() -> None:
    # 391 of 539 chunks: 72.5 % [68.6, 76.1]
    sources = {f"r{i}": f"repos/tool/file{i}.py" for i in range(391)} | {f"s{i}": f"src/m{i}.py" for i in range(148)}
    found = polluted(sources, {f"s{i}" for i in range(28)}, 539)
    assert [(d.name, len(d.documents), d.reason) for d in found] == [("repos", 391, "foreign")]
    assert [round(100 * x, 1) for x in (391 / 539, *wilson_interval(391, 539))] == [72.5, 68.6, 76.1]


def test_sources_when_a_place_has_no_expected_document_then_chance_is_asked() -> None:
    sources = {f"a{i}": f"docs/a{i}" for i in range(70)} | {f"b{i}": f"old/b{i}" for i in range(30)}
    # (1 - .3)^9 = .040 is below 5 %, (1 - .3)^8 = .058 is not
    assert [d.name for d in polluted(sources, {f"a{i}" for i in range(9)}, 100)] == ["old"]
    assert polluted(sources, {f"a{i}" for i in range(8)}, 100) == []
    assert polluted(sources, {*(f"a{i}" for i in range(9)), "b1"}, 100) == []


def test_sources_when_nested_then_the_outermost_place_is_named() -> None:
    sources = {"x": "app/node_modules/a/dist/i.js", "y": "app/node_modules/b.js", "z": "app/src/z.py"}
    assert [(d.name, d.documents) for d in polluted(sources, {"z"}, 3)] == [("app/node_modules", ("x", "y"))]


def test_sources_when_a_file_is_called_build_then_silent() -> None:
    assert polluted({"a": "src/build", "b": "src/dist"}, {"a"}, 2) == []
    assert polluted({}, set(), 0) == []
    assert parts_of(r".\src\a b\c.py") == ["src", "a b", "c.py"]


def test_sources_when_kinds_are_no_paths_then_taken_whole(evaluation_context: Any, found: Any) -> None:
    corpus = {f"d{i}": {"text": "t", "source": "用户" if i < 15 else "web/crawl log"} for i in range(20)}
    queries = [asks(f"q{i}", {"doc": f"d{i}"}) for i in range(12)]
    runs = {"v": {f"q{i}": ["d19", f"d{i}"] for i in range(12)}}
    finding = found(PROBE.run(evaluation_context(queries, runs, corpus, k=1)), "MA708")
    # (1 - .25)^12 = .032; the crawl takes every first place, and 12 of 12 are right without it
    assert finding.figures["directories"] == {"web": 5}
    assert (finding.figures["slots_taken"], finding.figures["slots"]) == (12, 12)
    assert (finding.figures["hit1"], finding.figures["hit1_without_these_documents"]) == (0, 12)
    assert finding.severity is Severity.MEDIUM


def test_sources_when_listed_then_every_depth_with_what_it_holds(evaluation_context: Any, found: Any) -> None:
    # 40 documents: 20 in docs/api, 18 in docs/old, 2 in notes; answers stand in docs/api and notes.
    paths = (
        [f"docs/api/{i}.md" for i in range(20)] + [f"docs/old/{i}.md" for i in range(18)] + ["notes/a.md", "notes/b.md"]
    )
    corpus = {f"d{i}": {"text": "t", "source": path} for i, path in enumerate(paths)}
    asked = [asks("q1", {"doc": "d0"}), asks("q2", {"doc": "d38"})]
    result = PROBE.run(evaluation_context(asked, {"v": {"q1": ["d0", "d20"], "q2": ["d21", "d22"]}}, corpus, k=2))
    # Two expected documents can miss 45 % of the corpus by chance: (1 - .45)^2 = .30.
    assert found(result, "MA708") is None
    section = next(s for s in result.sections if s.codes == ("MA708",))
    assert section.answer == "Of 4 places none was found that no query is about."
    rows = {r["place"]: (r["documents"], r["expected"], r["slots"], r["reason"]) for r in section.tables[0].rows}
    assert rows == {
        "docs": (38, 1, 4, None), "docs/api": (20, 1, 1, None), "docs/old": (18, 0, 3, None), "notes": (2, 1, 0, None),
    }  # fmt: skip


def test_sources_when_no_field_says_so_then_not_looked(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context([asks("q1", {"doc": "d1"})], corpus=CORPUS))
    assert result.not_looked["MA708"][1] == "source"


# -- MA722 --


def test_corpus_when_rankings_name_unknown_documents_then_another_snapshot(evaluation_context: Any, found: Any) -> None:
    runs = {"a": {"q1": ["d1", "new"]}, "b": {"q1": ["d1", "d2"]}}
    finding = found(PROBE.run(evaluation_context([asks("q1", {"doc": "d1"})], runs, CORPUS)), "MA722")
    assert finding.severity is Severity.INFO
    assert finding.figures["ranked_documents_not_in_corpus"] == {"a": 1, "b": 0}


def test_corpus_when_arms_ran_on_different_ones_then_no_verdict(evaluation_context: Any, found: Any) -> None:
    queries = [asks(f"q{i}", {"doc": "d1"}) for i in range(60)]
    runs = {
        arm: {q["id"]: {"ranking": ids, "corpus": rows} for q in queries}
        for arm, ids, rows in (("before", ["d2"], "213"), ("after", ["d1"], "214"))
    }
    ctx = evaluation_context(queries, runs, CORPUS)
    assert "different corpora" in found(PROBE.run(ctx), "MA722").title
    assert ctx.evaluation.decision.verdict.value == "not_trustworthy"


def test_corpus_when_it_holds_the_query_file_then_named(evaluation_context: Any, found: Any) -> None:
    corpus = {f"d{i}": {"text": "t", "path": "src/a.py"} for i in range(9)} | {
        "own": {"text": "queries", "path": "eval/queries.jsonl"}
    }
    finding = found(PROBE.run(evaluation_context([asks("q1", {"doc": "d1"})], corpus=corpus)), "MA722")
    assert finding.evidence.ids == ("own",)


@pytest.mark.parametrize("runs", [None, {"a": {"q1": ["d1"]}}])
def test_corpus_when_all_fits_then_silent(evaluation_context: Any, runs: Any) -> None:
    assert PROBE.run(evaluation_context([asks("q1", {"doc": "d1"})], runs, CORPUS)).findings == ()


def test_probe_when_the_set_is_empty_then_not_looked(evaluation_context: Any) -> None:
    assert len(PROBE.run(evaluation_context([], corpus=CORPUS)).not_looked) == 3


def test_corpus_when_neither_rankings_nor_sources_are_known_then_its_own_files_were_not_looked_for(
    evaluation_context: Any,
) -> None:
    corpus = {"d1": "text", "d2": "other"}
    result = PROBE.run(evaluation_context([asks("q1", {"doc": "d1"})], corpus=corpus))
    assert "neither recorded rankings nor a field" in result.not_looked["MA722"][0]
    result = PROBE.run(evaluation_context([asks("q1", {"doc": "d1"})], {"v": {"q1": ["d1"]}}, corpus))
    assert "MA722" not in result.not_looked
