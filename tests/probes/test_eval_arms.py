from typing import Any

import pytest

from memaudit.evaluation.arms import kind_of, natural_pair, rankings_agreement, union_of
from memaudit.model import Severity
from memaudit.probes.eval_arms import PROBE


def queries(n: Any, **more: Any) -> Any:
    return [{"id": f"q{i:02d}", "text": f"问题 {i}", "gold": ["d"], **more} for i in range(n)]


def arm(n: Any, hits: Any) -> Any:
    return {f"q{i:02d}": ["d", f"y{i}"] if i in hits else [f"x{i}", f"y{i}"] for i in range(n)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BM25", "keyword"), ("fts5", "keyword"), ("关键词", "keyword"), ("dense_v2", "vector"), ("向量", "vector"),
        ("hybrid-rrf", "fused"), ("hybrid+rerank", "reranked"), ("prod", "production"), ("eval harness", "evaluation"),
        ("before", "other"), ("product-search", "other"), ("retrieval", "other"), ("planner", "other"),
    ],
)  # fmt: skip
def test_kind_of_an_arm(name: Any, kind: Any) -> None:
    assert kind_of(name) == kind


def test_pair_when_names_say_which_is_first() -> None:
    assert natural_pair(["after", "Before"]) == ("Before", "after")
    assert natural_pair(["x", "y"]) is None
    assert natural_pair(["before", "after", "c"]) is None


def test_union_when_a_dominated_arm_holds_a_hit_of_its_own() -> None:
    # A hits 1, 2, 3 and B 3, 4 of 6: 50 %, 33 %, either 67 %
    union = union_of({i: i in (1, 2, 3) for i in range(1, 7)}, {i: i in (3, 4) for i in range(1, 7)})
    assert (union.only_first, union.only_second, union.both, union.neither) == ((1, 2), (4,), (3,), (5, 6))
    assert union.hits_of_either == 4


def test_agreement_when_one_side_is_empty_then_not_compared() -> None:
    same = rankings_agreement({"a": ["1", "2"], "b": ["1"], "c": [], "d": ["1", "2", "3"]}, {"a": ["2", "1"], "b": [],
                              "c": [], "d": ["1", "2", "3", "4"]}, 3)  # fmt: skip
    assert (same.n, same.same_order, same.same_set, same.different) == (2, 1, 1, 0)
    assert (same.one_empty, same.both_empty, same.first_difference) == (("b",), ("c",), {"a": 1})


# -- MA505, MA506 --


def test_arm_when_every_ranking_is_empty_then_high(evaluation_context: Any, found: Any) -> None:
    runs = {"vector": arm(20, set(range(20))), "keyword": {f"q{i:02d}": [] for i in range(20)}}
    result = PROBE.run(evaluation_context(queries(20), runs))
    finding = found(result, "MA505")
    assert finding.subject == {"arm": "keyword"}
    assert (finding.figures["queries"], finding.figures["empty_rankings"]) == (20, 20)
    assert finding.severity is Severity.HIGH
    # an arm that did not run is not called dominated
    assert found(result, "MA504") is None


def test_arm_when_one_ranking_is_empty_then_low(evaluation_context: Any, found: Any) -> None:
    runs = {"vector": arm(20, set()) | {"q03": []}}
    finding = found(PROBE.run(evaluation_context(queries(20), runs)), "MA505")
    assert (finding.severity, finding.evidence.ids) == (Severity.LOW, ("q03",))


def test_arms_when_rankings_are_equal_then_identical(evaluation_context: Any, found: Any) -> None:
    runs = {"off": arm(10, {1, 2}), "on": arm(10, {1, 2})}
    finding = found(PROBE.run(evaluation_context(None, runs)), "MA506")
    assert finding.subject == {"arms": ["off", "on"]}
    assert finding.figures["queries_with_equal_ranking"] == 10
    assert finding.severity is Severity.MEDIUM


@pytest.mark.parametrize("n", [2, 10])
def test_arms_when_one_ranking_differs_or_few_are_there_then_silent(
    evaluation_context: Any, found: Any, n: Any
) -> None:
    other = arm(n, {1}) | ({"q05": ["z"]} if n > 2 else {})
    assert found(PROBE.run(evaluation_context(None, {"off": arm(n, {1}), "on": other})), "MA506") is None


# -- MA504 --


def three(keyword: Any, hybrid: Any, vector: Any = range(40)) -> Any:
    return {"vector": arm(60, set(vector)), "keyword": arm(60, set(keyword)), "hybrid": arm(60, set(hybrid))}


def test_fusion_when_it_loses_hits_of_the_best_arm_then_named(evaluation_context: Any, found: Any) -> None:
    # vector 40 of 60; keyword 12, of which 2 are its own; hybrid 30: 12 lost (28..39), 2 gained (40, 41)
    runs = three([*range(10), 40, 41], [*range(28), 40, 41])
    finding = found(PROBE.run(evaluation_context(queries(60), runs, k=5)), "MA504")
    figures = finding.figures
    assert figures["hit5"] == {"vector": 40, "keyword": 12, "hybrid": 30}
    assert figures["h1"] == {"vector": 40, "keyword": 12, "hybrid": 30}
    assert (figures["vector_only"], figures["hybrid_only"], figures["keyword_only_beyond_vector"]) == (12, 2, 2)
    # exact, two-sided: 2 * (1 + 14 + 91) / 16384
    assert figures["sign_test_p"] == pytest.approx(212 / 16384)
    assert finding.severity is Severity.MEDIUM
    assert finding.subject["arm"] == "hybrid"


def test_fusion_when_it_loses_only_where_it_returned_nothing_then_not_called_worse(
    evaluation_context: Any, found: Any
) -> None:
    # As above, but 11 of the 12 lost queries came back empty: what is known is that the arm did not run.
    runs = three([*range(10), 40, 41, 42, 43, 44], [*range(28), 39, 40, 41])
    runs["hybrid"].update({f"q{i:02d}": [] for i in range(28, 39)})
    result = PROBE.run(evaluation_context(queries(60), runs, k=5))
    assert found(result, "MA504") is None
    assert found(result, "MA505").figures["empty_rankings"] == 11


def test_arm_when_it_adds_nothing_then_named(evaluation_context: Any, found: Any) -> None:
    runs = {"vector": arm(60, set(range(40))), "bm25": arm(60, set(range(10)))}
    finding = found(PROBE.run(evaluation_context(queries(60), runs)), "MA504")
    assert finding.figures["bm25_only_beyond_vector"] == 0
    assert finding.subject["arm"] == "bm25"


def test_arm_when_it_has_hits_of_its_own_then_silent(evaluation_context: Any, found: Any) -> None:
    # 6 of 60 are its own: 10 points, above the margin of 5
    result = PROBE.run(evaluation_context(queries(60), three([*range(6), *range(40, 46)], range(45))))
    assert found(result, "MA504") is None
    assert result.sections[0].tables[0].rows[0]["arm1"] == 12


def test_arm_when_it_leads_in_a_category_then_silent(evaluation_context: Any, found: Any) -> None:
    asked = queries(60)
    for i, q in enumerate(asked):
        q["category"] = "codes" if i >= 58 else "words"
    runs = {"vector": arm(60, set(range(40))), "keyword": arm(60, {0, 58, 59})}
    assert found(PROBE.run(evaluation_context(asked, runs)), "MA504") is None


def test_arms_when_they_are_versions_then_not_judged_as_searches(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(queries(20), {"before": arm(20, {1}), "after": arm(20, {1, 2})}))
    assert "MA504" in result.not_looked
    assert result.findings == ()


# -- MA721 --

WORDS = ("alpha", "beta", "gamma", "delta")


def overlapping(n: Any) -> Any:
    """Half of the queries repeat their answer, half share no word with it."""
    corpus = {f"d{i:02d}": f"{WORDS[i % 4]} number{i} 记忆" for i in range(n)}
    asked = [
        {
            "id": f"q{i:02d}",
            "text": corpus[f"d{i:02d}"] if i < n // 2 else f"unrelated{i} wording",
            "gold": [f"d{i:02d}"],
        }
        for i in range(n)
    ]
    return asked, corpus


def ranked(n: Any, hits: Any) -> Any:
    return {f"q{i:02d}": [f"d{i:02d}" if i in hits else "d99"] for i in range(n)}


def test_origin_when_the_halves_disagree_then_named(evaluation_context: Any, found: Any) -> None:
    asked, corpus = overlapping(20)
    runs = {"bm25": ranked(20, set(range(10))), "dense": ranked(20, {*range(2), *range(10, 18)})}
    finding = found(PROBE.run(evaluation_context(asked, runs, corpus)), "MA721")
    # few shared words: 8 of 10 against 0; many: 2 of 10 against 10
    assert finding.figures["difference_low_overlap"] == pytest.approx(0.8)
    assert finding.figures["difference_high_overlap"] == pytest.approx(-0.8)
    assert finding.figures["overlap_mean"] == pytest.approx(0.5)
    assert finding.severity is Severity.MEDIUM


def test_origin_when_few_hits_decide_the_signs_then_low(evaluation_context: Any, found: Any) -> None:
    # Signs differ, 3 against 1 and 1 against 3: a table of 3, 1, 1, 3 has p = 34 / 70 = 0.49 (Fisher).
    asked, corpus = overlapping(20)
    runs = {"bm25": ranked(20, {0, 1, 2, 10}), "dense": ranked(20, {3, 11, 12, 13})}
    finding = found(PROBE.run(evaluation_context(asked, runs, corpus)), "MA721")
    assert finding.figures["fisher_p"] == pytest.approx(34 / 70)
    assert finding.severity is Severity.LOW


def test_origin_when_most_queries_are_made_from_the_corpus_then_named(evaluation_context: Any, found: Any) -> None:
    # 219 of 237 = 92 %, here 37 of 40
    asked = [{**q, "origin": "truncated" if i < 37 else "hand"} for i, q in enumerate(queries(40))]
    runs = {"tfidf": arm(40, {1, 2, 3}), "vector": arm(40, {4})}
    finding = found(PROBE.run(evaluation_context(asked, runs)), "MA721")
    assert (finding.figures["queries_from_corpus"], finding.figures["queries"]) == (37, 40)


def test_origin_when_one_arm_leads_in_both_halves_or_no_pair_is_compared_then_silent(
    evaluation_context: Any, found: Any
) -> None:
    asked, corpus = overlapping(20)
    runs = {"bm25": ranked(20, {1, 11}), "dense": ranked(20, set(range(5)) | set(range(10, 15)))}
    assert found(PROBE.run(evaluation_context(asked, runs, corpus)), "MA721") is None
    made = [{**q, "origin": "llm"} for q in asked]
    assert found(PROBE.run(evaluation_context(made, {"v1": ranked(20, {1})}, corpus)), "MA721") is None


def test_probe_when_there_is_no_query_set_then_says_what_it_lacks(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(None, {"vector": arm(5, {1})}))
    # one arm cannot be the same as another
    assert set(result.not_looked) == {"MA504", "MA506", "MA721"}


def test_arms_when_they_share_two_answers_then_not_called_different(evaluation_context: Any, found: Any) -> None:
    # Equal in both queries that they share: too few to call them the same, and nothing was learnt of them either.
    runs = {"a": {"q1": ["x"], "q2": ["y"], "q3": []}, "b": {"q1": ["x"], "q2": ["y"], "q3": ["z"]}}
    result = PROBE.run(evaluation_context(None, runs))
    assert found(result, "MA506") is None
    assert result.not_looked["MA506"][0] == "no two arms answered 3 queries in common"


@pytest.mark.parametrize(
    ("runs", "corpus", "words"),
    [
        ({"v1": arm(5, {1}), "v2": arm(5, {2})}, None, "no keyword and no vector arm"),
        ({"bm25": arm(5, {1}), "vector": arm(5, {2})}, None, "without a corpus"),
        ({"bm25": arm(5, {1}), "vector": arm(5, {2})}, {"d": "nothing in common"}, "as many words"),
    ],
)
def test_origin_when_it_could_not_be_seen_then_not_looked(
    evaluation_context: Any, runs: Any, corpus: Any, words: str
) -> None:
    result = PROBE.run(evaluation_context(queries(5), runs, corpus))
    assert words in result.not_looked["MA721"][0]


def test_probe_when_the_file_is_empty_then_nothing(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context([], {}))
    assert result.findings == ()
    assert set(result.not_looked) == {"MA504", "MA505", "MA506", "MA721"}
