from typing import Any

import pytest

from memaudit.model import Severity
from memaudit.probes.eval_figures import PROBE


def needs(name: Any, *docs: Any, meaning: Any = "gold", **more: Any) -> Any:
    items = list(docs) if meaning == "gold" else [{"doc": d} for d in docs]
    return {"id": name, "text": f"问题 {name}", meaning: items, **more}


QUERIES = [
    needs("q1", "a", category="one"),
    needs("q2", "b", category="one"),
    needs("q3", "a", "b", category="two"),
    needs("q4", "a", "c", category="two"),
    needs("q5", "c", "d", "e", category="two"),
]
RUNS = {
    "vector": {
        "q1": ["a", "x"],
        "q2": ["x", "y"],  # a miss
        "q3": ["a", "b"],  # complete
        "q4": ["x", "a"],  # 1 of 2
        "q5": ["c", "d"],  # 2 of 3
    }
}


def test_coverage_when_evidence_is_missing_then_counted_apart_from_hits(evaluation_context: Any, found: Any) -> None:
    finding = found(PROBE.run(evaluation_context(QUERIES, RUNS, k=2)), "MA706")
    # hits q1 q3 q4 q5 = 4; complete q1 q3 = 2; mean (1 + 0 + 1 + 1/2 + 2/3) / 5 = .6333
    assert finding.figures == {
        "queries": 5,
        "hit2": 4,
        "hit2_share": 0.8,
        "coverage2": 2,
        "coverage2_share": 0.4,
        "coverage2_mean": pytest.approx(19 / 30),
        "by_category": {"one": {"n": 2, "hit2": 1, "coverage2": 1}, "two": {"n": 3, "hit2": 3, "coverage2": 1}},
    }
    assert finding.severity is Severity.HIGH
    assert finding.evidence.ids == ("q4", "q5")
    assert finding.subject == {"k": 2, "arm": "vector"}
    assert "1 query needs more items than k = 2" in finding.caveat


def test_coverage_when_one_item_is_enough_then_silent(evaluation_context: Any, found: Any) -> None:
    queries = [needs(f"q{i}", "a", "b", "c", meaning="expect_any") for i in range(10)]
    result = PROBE.run(evaluation_context(queries, {"v": {q["id"]: ["b", "x"] for q in queries}}, k=5))
    assert found(result, "MA706") is None


@pytest.mark.parametrize(("n_hidden", "severity"), [(1, Severity.LOW), (2, Severity.MEDIUM), (8, Severity.HIGH)])
def test_coverage_severity_by_share_of_queries(
    evaluation_context: Any, found: Any, n_hidden: Any, severity: Any
) -> None:
    # of 40: 1 = 2.5 %, 2 = 5 %, 8 = 20 %
    queries = [needs(f"q{i}", "a", "b") for i in range(40)]
    runs = {"v": {f"q{i}": ["a", "x"] if i < n_hidden else ["a", "b"] for i in range(40)}}
    assert found(PROBE.run(evaluation_context(queries, runs)), "MA706").severity is severity


def test_figures_when_measured_then_one_finding_an_arm(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(QUERIES, {**RUNS, "keyword": {q: ["a"] for q in RUNS["vector"]}}, k=2))
    info = [f for f in result.findings if f.code == "MA707"]
    assert [(f.subject["arm"], f.figures["hit2"], f.figures["h1"]) for f in info] == [
        ("vector", 4, 3),
        ("keyword", 3, 3),
    ]
    # reciprocal ranks of vector: 1, 0, 1, 1/2, 1
    assert info[0].figures["rr_mean"] == pytest.approx(0.7)
    assert {f.severity for f in info} == {Severity.INFO}
    assert result.sections[0].tables[0].rows[0]["hit"] == "4/5 = 80 % [37.6, 96.4]"


def test_meaning_when_hit_is_used_for_queries_that_need_all_then_high(evaluation_context: Any, found: Any) -> None:
    # Three queries that need three items each; one finds 1 of 3: hit 33.3 %, coverage 11.1 %
    queries = [needs(f"q{i}", f"a{i}", f"b{i}", f"c{i}", meaning="expect_all") for i in range(3)]
    runs = {"v": {"q0": ["x", "a0"], "q1": ["x"], "q2": ["y"]}}
    finding = found(PROBE.run(evaluation_context(queries, runs, metric="hit", k=10)), "MA709")
    assert finding.severity is Severity.HIGH
    assert finding.figures["hit10_mean"] == pytest.approx(1 / 3)
    assert finding.figures["coverage10_mean"] == pytest.approx(1 / 9)
    assert finding.figures["overstatement"] == pytest.approx(2 / 9)


def test_meaning_when_all_was_found_then_the_flaw_need_not_show_in_the_number(
    evaluation_context: Any, found: Any
) -> None:
    # q0 finds 2 of 2, the others nothing: both figures 33.3 %
    queries = [needs(f"q{i}", f"a{i}", f"b{i}", meaning="expect_all") for i in range(3)]
    runs = {"v": {"q0": ["b0", "a0"], "q1": ["x"], "q2": ["y"]}}
    figures = found(PROBE.run(evaluation_context(queries, runs, metric="hit")), "MA709").figures
    assert (figures["hit5_mean"], figures["overstatement"]) == (pytest.approx(1 / 3), 0.0)


@pytest.mark.parametrize("config", [{}, {"metric": "coverage"}])
def test_meaning_when_the_query_decides_then_silent(evaluation_context: Any, found: Any, config: Any) -> None:
    queries = [needs("q0", "a", "b", meaning="expect_all"), needs("q1", "a", meaning="expect_any"), needs("q2", "a")]
    runs = {"v": {q["id"]: ["a"] for q in queries}}
    assert found(PROBE.run(evaluation_context(queries, runs, **config)), "MA709") is None


def test_meaning_when_gold_is_measured_by_hit_then_silent(evaluation_context: Any, found: Any) -> None:
    assert found(PROBE.run(evaluation_context(QUERIES, RUNS, metric="hit")), "MA709") is None


def test_trivial_when_the_query_names_few_candidates_then_high(evaluation_context: Any, found: Any) -> None:
    queries = [
        needs("q1", "a", candidates=["a", "b", "c"]),
        needs("q2", "b", candidates=["b"]),
        needs("q3", "c", candidates=[f"d{i}" for i in range(9)] + ["c"]),
        needs("q4", "a", "b", candidates=["a", "b"]),
    ]
    finding = found(PROBE.run(evaluation_context(queries, k=5)), "MA705")
    names = ("queries", "queries_where_k_covers_all_candidates", "largest_candidate_set", "gold_equals_candidates")
    assert [finding.figures[n] for n in names] == [4, 3, 10, 2]
    assert finding.severity is Severity.HIGH


def test_trivial_when_the_search_is_limited_to_a_conversation_then_its_size_counts(
    evaluation_context: Any, found: Any
) -> None:
    corpus = {f"d{i}": {"text": f"turn {i}", "conversation": "c1" if i < 4 else "c2"} for i in range(30)}
    queries = [needs("q1", "d0", conversation="c1"), needs("q2", "d9", conversation="c2")]
    finding = found(PROBE.run(evaluation_context(queries, corpus=corpus, k=10)), "MA705")
    assert finding.figures["queries_where_k_covers_all_candidates"] == 1
    assert finding.figures["largest_candidate_set"] == 26
    assert finding.subject["field"] == "conversation"


@pytest.mark.parametrize("more", [{"category": "c1"}, {"owner": "c9"}, {"conv": "c2"}])
def test_trivial_when_a_shared_field_does_not_hold_the_answer_then_it_is_no_scope(
    evaluation_context: Any, found: Any, more: Any
) -> None:
    name = next(iter(more))
    corpus = {f"d{i}": {"text": f"turn {i}", name: "c1" if i < 4 else "c2"} for i in range(30)}
    queries = [needs("q1", "d0", **more)]
    assert found(PROBE.run(evaluation_context(queries, corpus=corpus, k=10)), "MA705") is None


def test_trivial_when_rankings_end_before_k_and_hold_everything_then_found(evaluation_context: Any, found: Any) -> None:
    queries = [needs(f"q{i}", "a") for i in range(10)]
    runs = {"v": {f"q{i}": ["x", "y", "a"][: 3 - i % 2] + ["a"] * (i % 2) for i in range(10)}}
    corpus = {d: d for d in "axyz"} | {f"e{i}": "e" for i in range(90)}
    assert found(PROBE.run(evaluation_context(queries, runs, corpus, k=50)), "MA705").severity is Severity.HIGH


@pytest.mark.parametrize("short", ["x", "a"])
def test_trivial_when_a_threshold_shortens_some_rankings_then_silent(
    evaluation_context: Any, found: Any, short: Any
) -> None:
    queries = [needs(f"q{i}", "a") for i in range(10)]
    runs = {"v": {f"q{i}": [short] if i < 4 else [f"e{j}" for j in range(5)] for i in range(10)}}
    corpus = {d: d for d in "ax"} | {f"e{i}": "e" for i in range(90)}
    assert found(PROBE.run(evaluation_context(queries, runs, corpus, k=5)), "MA705") is None


def test_probe_when_there_are_no_rankings_then_says_so(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(QUERIES))
    assert {"MA706", "MA707"} <= set(result.not_looked)
    assert result.findings == ()


def test_probe_when_the_set_is_empty_then_nothing(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context([], {"v": {}}))
    assert (result.findings, result.sections) == ((), ())
    assert set(result.not_looked) == {"MA705", "MA706", "MA707", "MA709"}


def test_meaning_when_both_are_mixed_up_then_counted_apart(evaluation_context: Any, found: Any) -> None:
    # Two queries that need all are measured by hit, one that needs any of two by coverage; the fourth is right.
    queries = [
        needs("q1", "a", "b", meaning="expect_all") | {"metric": "hit"},
        needs("q2", "a", "c", meaning="expect_all") | {"metric": "hit"},
        needs("q3", "a", "d", meaning="expect_any") | {"metric": "coverage"},
        needs("q4", "a", meaning="expect_any") | {"metric": "hit"},
    ]
    title = found(PROBE.run(evaluation_context(queries, k=5)), "MA709").title
    assert title == (
        "2 of 4 (50 %) queries need all their items and are measured by hit@5. "
        "1 of 4 (25 %) queries need any one item and are measured by coverage@5."
    )


def test_ties_when_scores_are_equal_at_the_cut_then_declared(evaluation_context: Any) -> None:
    runs = {"v": {"q1": {"ranking": ["x", "a"], "scores": [0.5, 0.5]}}}
    result = PROBE.run(evaluation_context([needs("q1", "a")], runs, k=1))
    finding = next(f for f in result.findings if f.code == "MA707")
    assert finding.figures["tied_at_cut"] == 1
    assert "equal scores at the cut" in finding.caveat


def test_meaning_when_the_metric_contradicts_then_no_verdict(evaluation_context: Any) -> None:
    queries = [needs(f"q{i}", "a", "b", meaning="expect_all") for i in range(60)]
    runs = {"before": {q["id"]: ["x"] for q in queries}, "after": {q["id"]: ["a"] for q in queries}}
    assert evaluation_context(queries, runs, metric="hit").evaluation.decision.verdict.value == "not_trustworthy"
    assert evaluation_context(queries, runs).evaluation.decision.verdict.value == "improves"
