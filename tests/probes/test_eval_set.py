from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.model import Severity
from memaudit.probes.eval_set import PROBE


def queries(n: Any, **more: Any) -> Any:
    return [{"id": f"q{i:03d}", "text": f"问题 number {i}", "gold": [f"d{i}"], **more} for i in range(n)]


def arm(n: Any, hits: Any, depth: Any = 5) -> Any:
    """Rank the expected document first for the queries in `hits`, leave it out for the others."""
    return {f"q{i:03d}": [f"d{i}" if i in hits else "x0", *(f"x{j}" for j in range(1, depth))] for i in range(n)}


def audit(evaluation_context: Any, n: Any, before: Any, after: Any, **config: Any) -> Any:
    runs = {"before": arm(n, before), "after": arm(n, after)}
    return PROBE.run(evaluation_context(queries(n, **config.pop("fields", {})), runs, **config))


def test_set_when_one_query_of_26_changed_then_high_with_the_counts(evaluation_context: Any, found: Any) -> None:
    result = audit(evaluation_context, 26, set(range(25)), set(range(26)), k=1)
    finding = found(result, "MA703")
    figures = finding.figures
    assert finding.severity is Severity.HIGH
    assert finding.subject == {"compare": ["before", "after"], "k": 1}
    names = ("queries", "queries_changed", "wins", "losses", "ties", "h1_before", "h1_after", "sign_test_p")
    assert [figures[n] for n in names] == [26, 1, 1, 0, 25, 25, 26, 1.0]
    # 100 / 26; Wilson at k = n: 26 / (26 + 3.8415) = .8713
    assert figures["points_per_query"] == pytest.approx(3.846, abs=1e-3)
    assert figures["wilson95_after"] == [pytest.approx(0.8713, abs=1e-4), 1.0]
    assert figures["wilson95_before"] == [pytest.approx(0.8111, abs=1e-4), pytest.approx(0.9932, abs=1e-4)]
    assert finding.evidence.ids == ("q025",)
    assert found(result, "MA502") is None
    assert result.figures["query_set_can_decide"] is False
    assert result.figures["primary_verdict"] == "inconclusive_n_too_small"


def test_set_when_one_of_60_is_gained_then_low_and_no_gain_is_shown(evaluation_context: Any, found: Any) -> None:
    # Tango at 0 lost, 1 gained of 60: -4.5 to +8.9 points. A drop of 5 is excluded (row 4), a gain needs 6 changed.
    result = audit(evaluation_context, 60, set(range(59)), set(range(60)), k=1)
    finding = found(result, "MA703")
    assert result.figures["primary_verdict"] == "no_harm"
    assert finding.severity is Severity.LOW
    names = ("queries", "queries_changed", "wins", "losses", "ties", "h1_before", "h1_after", "sign_test_p")
    assert [finding.figures[n] for n in names] == [60, 1, 1, 0, 59, 59, 60, 1.0]
    assert finding.title == (
        "hit@1 is 59 of 60 (98.3 %) in before and 60 of 60 (100.0 %) in after: 1 query changed; a drop larger than 5 points "
        "is excluded, and no gain is shown, because at least 6 must change the same way for that."
    )
    assert finding.evidence.ids == ("q059",)
    assert result.figures["query_set_can_decide"] is True


def test_set_when_no_harm_rests_on_enough_changes_then_silent(evaluation_context: Any, found: Any) -> None:
    # 8 gained, 2 lost of 60: p = 2 * (1 + 10 + 45) / 1024 = .109, Tango -0.8 to +21.8: no harm, and not for want of changes
    result = audit(evaluation_context, 60, set(range(42)), set(range(2, 50)), k=1)
    assert result.figures["primary_verdict"] == "no_harm"
    assert found(result, "MA703") is None


def test_set_when_one_of_120_is_gained_then_equivalent_and_silent(evaluation_context: Any, found: Any) -> None:
    # Tango at 0 lost, 1 gained of 120: -2.3 to +4.6 points, inside the margin both ways: nothing is left open.
    result = audit(evaluation_context, 120, set(range(119)), set(range(120)), k=1)
    assert result.figures["primary_verdict"] == "equivalent"
    assert found(result, "MA703") is None


def table(result: Any, name: str) -> Any:
    return next((t for s in result.sections for t in s.tables if t.name == name), None)


def variants(n: int = 60) -> dict[str, Any]:
    """Give arms that gain 7, 6 and 8 queries over `base`, the last one losing 2, and arms that are no variants."""
    base = set(range(30))
    return {
        "base": arm(n, base), "b": arm(n, base | set(range(30, 37))), "c": arm(n, base | set(range(30, 36))),
        "d": arm(n, (base | set(range(30, 38))) - {0, 1}), "nothing": {f"q{i:03d}": [] for i in range(n)},
        "production": arm(n, set()), "full": arm(n, base), "without boost": arm(n, set()),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("after", "p", "adjusted", "verdict"),
    [
        # two-sided: 2 / 2^7, 2 / 2^6, 2 (1 + 10 + 45) / 2^10; Holm: times 3, times 2, times 1, never falling; full: p = 1
        ("b", 2 / 128, 4 * 2 / 128, "no_harm"),
        ("c", 2 / 64, 3 * 2 / 64, "no_harm"),
        ("d", 112 / 1024, 2 * 112 / 1024, "no_harm"),
    ],
)
def test_set_when_there_are_several_variants_then_judged_together_whichever_is_named(
    evaluation_context: Any, after: str, p: float, adjusted: float, verdict: str
) -> None:
    # Four variants: b, c, d and full. Parts of a pipeline, production and an arm without any result are none.
    ctx = evaluation_context(queries(60), variants(), compare=("base", after), k=1)
    decisions = ctx.evaluation.decisions
    assert list(decisions) == ["b", "c", "d", "full"]
    assert decisions[after].comparison.p == pytest.approx(p)
    assert decisions[after].p_adjusted == pytest.approx(adjusted)
    assert ctx.evaluation.decision.verdict.value == verdict
    result = PROBE.run(ctx)
    assert [row["arm"] for row in table(result, "eval-variants").rows] == ["b", "c", "d", "full"]
    assert any("adjusted by Holm for 4 comparisons" in line for line in result.sections[0].method)


def test_set_when_a_variant_stands_alone_then_its_p_is_not_adjusted(evaluation_context: Any, found: Any) -> None:
    arms = variants()
    ctx = evaluation_context(queries(60), {name: arms[name] for name in ("base", "b")}, compare=("base", "b"), k=1)
    assert ctx.evaluation.decision.p_adjusted == 2 / 128
    result = PROBE.run(ctx)
    assert "Selected on these queries" not in found(result, "MA502").title
    assert table(result, "eval-variants") is None


def test_set_when_the_best_of_several_is_named_then_selected(evaluation_context: Any, found: Any) -> None:
    base = set(range(30))
    arms = {"base": arm(60, base), "b": arm(60, base | set(range(30, 42))), "c": arm(60, base | set(range(30, 40)))}
    # 12 gained: 2 / 4096, times 2; 10 gained: 2 / 1024
    best = found(PROBE.run(evaluation_context(queries(60), arms, compare=("base", "b"), k=1)), "MA502")
    assert best.figures["p_adjusted"] == pytest.approx(4 / 4096)
    assert (best.figures["comparisons"], best.figures["p"]) == (2, pytest.approx(2 / 4096))
    assert "Selected on these queries" in best.title
    second = found(PROBE.run(evaluation_context(queries(60), arms, compare=("base", "c"), k=1)), "MA502")
    assert "Selected on these queries" not in second.title


def ranked(places: Any) -> Any:
    """Rank the expected document of query i at place `places[i]` of ten, or leave it out (0)."""
    return {
        f"q{i:03d}": [f"d{i}" if rank == place else f"x{rank}" for rank in range(1, 11)]
        for i, place in enumerate(places)
    }


def test_cuts_when_significance_changes_with_k_then_the_page_says_which_k(evaluation_context: Any) -> None:
    # At 1: 5 lost, 15 gained of 60, exact p = 0.0414; at 10 every document is found by both. k = 10 decides: nothing moved.
    runs = {"before": ranked([1] * 5 + [6] * 15 + [1] * 40), "after": ranked([6] * 5 + [1] * 15 + [1] * 40)}
    result = PROBE.run(evaluation_context(queries(60), runs, k=10))
    rows = {row["k"]: row for row in table(result, "eval-cuts").rows}
    assert list(rows) == [1, 3, 5, 10]
    assert (rows[1]["before"], rows[1]["after"]) == ("45 of 60 (75.0 %)", "55 of 60 (91.7 %)")
    assert [rows[k]["changed"] for k in (1, 5, 10)] == ["15 gained, 5 lost", "15 gained, 5 lost", "0 gained, 0 lost"]
    assert "say which k you use: k = 10 decides here." in result.sections[0].answer


def test_cuts_when_one_more_is_lost_then_no_k_stands_out(evaluation_context: Any) -> None:
    # 6 lost, 16 gained: p = 0.0525, open at 1 and nothing at 10: neither sign nor verdict changes with k.
    runs = {"before": ranked([1] * 6 + [6] * 16 + [1] * 38), "after": ranked([6] * 6 + [1] * 16 + [1] * 38)}
    assert "say which k" not in PROBE.run(evaluation_context(queries(60), runs, k=10)).sections[0].answer


def test_cuts_when_the_sign_changes_with_k_then_said(evaluation_context: Any) -> None:
    # At 1 one query is lost, at 3 two are gained.
    runs = {"before": ranked([1, 6, 6] + [1] * 57), "after": ranked([2, 2, 2] + [1] * 57)}
    assert "say which k you use" in PROBE.run(evaluation_context(queries(60), runs, k=3)).sections[0].answer


def test_set_when_nothing_changed_then_medium(evaluation_context: Any, found: Any) -> None:
    finding = found(audit(evaluation_context, 24, set(range(20)), set(range(20))), "MA703")
    assert finding.severity is Severity.MEDIUM
    assert finding.figures["queries_changed"] == 0


def test_set_when_a_difference_is_proven_then_improvement_and_no_small_set(evaluation_context: Any, found: Any) -> None:
    # 30 of 60, then 42: 14 gained, 2 lost; exact p = 2 * (1 + 16 + 120) / 65536 = .00418
    before = set(range(30))
    after = set(range(2, 44))
    runs = {
        "old": {q: {"ranking": r, "latency_ms": 30 + i % 3} for i, (q, r) in enumerate(arm(60, before).items())},
        "new": {q: {"ranking": r, "latency_ms": 41} for q, r in arm(60, after).items()},
    }
    result = PROBE.run(evaluation_context(queries(60), runs, k=1))
    finding = found(result, "MA502")
    assert finding.severity is Severity.INFO
    figures = finding.figures
    assert [figures[n] for n in ("queries", "wins", "losses", "h1_before", "h1_after")] == [60, 14, 2, 30, 42]
    assert figures["sign_test_p"] == pytest.approx(274 / 65536)
    assert figures["sign_test_p_below"] == 0.01
    assert (figures["latency_before_ms"], figures["latency_after_ms"]) == (31, 41)
    assert "new improves hit@1 by 20.0 points" in finding.title
    assert found(result, "MA703") is None
    assert result.figures["query_set_can_decide"] is True


def test_set_when_the_variant_is_worse_then_no_improvement(evaluation_context: Any, found: Any) -> None:
    result = audit(evaluation_context, 60, set(range(42)), set(range(28)), k=1)
    assert found(result, "MA502") is None
    assert result.figures["primary_verdict"] == "degrades"


def test_set_when_expected_items_are_missing_then_no_verdict(evaluation_context: Any, found: Any) -> None:
    runs = {"before": arm(60, set()), "after": arm(60, set(range(60)))}
    corpus = {f"d{i}": f"text {i}" for i in range(59)} | {f"x{j}": "other" for j in range(5)}
    result = PROBE.run(evaluation_context(queries(60), runs, corpus, k=1))
    assert found(result, "MA502") is None
    assert result.figures["query_set_can_decide"] is False
    assert "Not judged: 1 item expected by 1 query cannot be found in the corpus (MA720)" in result.sections[0].answer


def test_set_when_queries_are_synthetic_then_the_sentence_says_so(evaluation_context: Any, found: Any) -> None:
    fields = {"origin": "llm"}
    finding = found(audit(evaluation_context, 60, set(), set(range(40)), k=1, fields=fields), "MA502")
    assert finding.title.startswith("On synthetic queries: ")


def test_set_when_queries_depend_on_each_other_then_groups_count(evaluation_context: Any, found: Any) -> None:
    # 40 gained, all of one group: one unit changed, which no test can call significant
    finding = found(audit(evaluation_context, 60, set(), set(range(40)), k=1, fields={"group": "g"}), "MA703")
    assert finding is not None
    assert finding.severity is Severity.HIGH
    assert "40 queries in 1 independent group of queries changed, and at least 6" in finding.title


def test_set_when_coverage_decides_then_the_title_gives_coverage(evaluation_context: Any, found: Any) -> None:
    # Two of 24 queries find their second item only in the variant: hits stay 24 of 24, coverage .5 -> (22 * .5 + 2) / 24.
    asked = [{"id": f"q{i:03d}", "text": f"q {i}", "expect_all": [{"doc": f"d{i}"}, {"doc": "e"}]} for i in range(24)]
    runs = {
        "before": {q["id"]: [q["expect_all"][0]["doc"]] for q in asked},
        "after": {q["id"]: [q["expect_all"][0]["doc"], *(["e"] if i < 2 else [])] for i, q in enumerate(asked)},
    }
    title = found(PROBE.run(evaluation_context(asked, runs, k=5)), "MA703").title
    assert "is 0.500 in before and 0.542 in after, the mean of 24 queries: 2 queries changed" in title
    assert "24 of 24" not in title


@pytest.mark.parametrize(
    ("n", "severity"),
    [(0, Severity.HIGH), (5, Severity.HIGH), (24, Severity.MEDIUM), (40, Severity.LOW), (60, None), (219, None)],
)
def test_set_when_nothing_is_compared_then_judged_by_its_size(
    evaluation_context: Any, found: Any, n: Any, severity: Any
) -> None:
    # smallest change found: 5 never, 24 30.9 points, 40 about 19, 60 12.9
    finding = found(PROBE.run(evaluation_context(queries(n))), "MA703")
    assert (finding and finding.severity) == severity


def test_set_when_it_is_empty_then_not_measured(evaluation_context: Any, found: Any) -> None:
    result = PROBE.run(evaluation_context([], {"a": {}}))
    finding = found(result, "MA703")
    assert finding.figures == {"queries": 0, "points_per_query": None, "detectable_points": None}
    assert result.sections == ()


def test_set_when_some_needs_are_all_then_coverage_decides_for_them(evaluation_context: Any) -> None:
    mixed = [{"id": f"q{i:03d}", "text": f"q {i}", "expect_all": [{"doc": f"d{i}"}, {"doc": "e"}]} for i in range(60)]
    runs = {
        "before": {q["id"]: [q["expect_all"][0]["doc"]] for q in mixed},
        "after": {q["id"]: [q["expect_all"][0]["doc"], "e"] for q in mixed},
    }
    result = PROBE.run(evaluation_context(mixed, runs))
    # hit@5 is 60 of 60 in both; coverage goes from a half to one
    assert result.figures["primary_verdict"] == "improves"
    assert "coverage@5" in result.sections[0].answer


@pytest.mark.parametrize("after", ["en", "worse"])
def test_set_when_hits_and_coverage_are_mixed_then_the_published_overall(
    evaluation_context: Any, found: Any, after: str
) -> None:
    # 45 queries need one item: 15 + 13 + 11 found. 15 need all of ten: 69 of 150 found, coverage 46 %.
    # Overall (39 + 15 * .46) / 60 = 76.5 %.
    hits = 15 + 13 + 11
    asked = [{"id": f"h{i:02d}", "text": f"q {i}", "expect_any": [{"doc": f"h{i}"}]} for i in range(45)]
    asked += [
        {"id": f"c{i:02d}", "text": f"q {i}", "expect_all": [{"doc": f"c{i}-{j}"} for j in range(10)]}
        for i in range(15)
    ]
    found_of = [10] * 4 + [5] * 5 + [2] * 2 + [0] * 4  # 40 + 25 + 4 = 69
    ranked = {f"h{i:02d}": [f"h{i}"] if i < hits else ["x"] for i in range(45)}
    ranked |= {f"c{i:02d}": [f"c{i}-{j}" for j in range(n)] or ["x"] for i, n in enumerate(found_of)}
    worse = {**ranked, "h00": ["x"]}
    runs = {"start": ranked, "en": ranked, "worse": worse}
    runs = {"start": ranked, after: runs[after]}
    title = found(PROBE.run(evaluation_context(asked, runs, compare=("start", after), k=10)), "MA703").title
    # One hit less is 1 / 60: 74.8 %.
    assert f"is 0.765 in start and {0.765 if after == 'en' else 0.748} in {after}, the mean of 60 queries" in title
    assert title.startswith("hit@10 or coverage@10, as each query needs ")


GAIN = ("improve", "better", "trend", "nearly significant", "提升", "→", "↑")


@settings(max_examples=25, deadline=None)
@given(st.integers(6, 40), st.data())
def test_sentences_when_the_verdict_is_no_gain_then_claim_none(n: Any, data: Any) -> None:
    from memaudit.config import Config
    from memaudit.context import Context
    from memaudit.evaluation.inputs import EvaluationInputs
    from memaudit.evaluation.query_set import Item, Query, QuerySet
    from memaudit.evaluation.runs import Ranking, Runs
    from memaudit.records import Records, Roles
    from memaudit.stores.store import no_store

    flags = data.draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=n, max_size=n))
    listed = tuple(Query(f"q{i}", "文本 text", ((Item(doc="d"),),), "gold") for i in range(n))
    runs = Runs(
        "r",
        "",
        {
            name: {f"q{i}": Ranking(("d",) if f[side] else ("x",)) for i, f in enumerate(flags)}
            for side, name in enumerate(("before", "after"))
        },
    )
    store = no_store()
    ctx = Context(Config(), store, Records(store, store.table("none"), Roles(table="none")), has_store=False)
    ctx.__dict__["evaluation"] = EvaluationInputs(Config(), QuerySet("q", "", listed), None, runs)
    result = PROBE.run(ctx)
    sentences = [f.title + (f.caveat or "") + f.fix for f in result.findings] + [s.answer for s in result.sections]
    improves = result.figures["primary_verdict"] == "improves"
    assert any(f.code == "MA502" for f in result.findings) is improves
    if not improves:
        assert not [s for s in sentences if any(word in s.lower() for word in GAIN)]
