from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.categories import category_cell, small_category, small_category_sentence
from memaudit.stats.decision import Decision, Verdict, decide, decide_family
from memaudit.stats.intervals import Interval
from memaudit.stats.latency import compare_latency, latency_sentence, summary_ratio_sentence
from memaudit.stats.paired import Comparison, compare_counts, compare_hits, compare_scores
from memaudit.stats.resolution import resolution_sentence, totals_sentence
from memaudit.stats.sentences import ablation_sentence, verdict_sentence
from memaudit.stats.shown import p_text, points, signed_points

NEVER = re.compile(r"trend|nearly significant|slightly better|趋势|接近显著|略好|[→↑↓▲▼]", re.IGNORECASE)
GAIN_CLAIM = re.compile(r"improv|提升", re.IGNORECASE)
LOSS_CLAIM = re.compile(r"degrad|下降", re.IGNORECASE)
EQUAL_CLAIM = re.compile(r"no difference|没有区别", re.IGNORECASE)


def _check(sentence: str, verdict: Verdict | None) -> None:
    assert not NEVER.search(sentence), sentence
    assert bool(GAIN_CLAIM.search(sentence)) <= (verdict is Verdict.IMPROVES), sentence
    assert bool(LOSS_CLAIM.search(sentence)) <= (verdict is Verdict.DEGRADES), sentence
    assert bool(EQUAL_CLAIM.search(sentence)) <= (verdict is Verdict.EQUIVALENT), sentence
    assert "-0.0" not in sentence, sentence
    assert "nan" not in sentence.split(), sentence
    assert "None" not in sentence, sentence
    assert "{" not in sentence, sentence
    assert not re.search(r"(?<![\d.,])1 queries", sentence), sentence


def _sentences(decision: Decision) -> list[str]:
    return [
        sentence
        for synthetic in (False, True)
        for sentence in (
            verdict_sentence(decision, "hit@5", "改写 B", synthetic, selected=synthetic),
            ablation_sentence(decision, "template field", "命中@5", "B", synthetic),
        )
    ]


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    kind = draw(st.sampled_from(["counts", "graded", "grouped", "free"]))
    if kind == "counts":
        n = draw(st.integers(0, 2000))
        lost = draw(st.integers(0, min(n, 40)))
        return compare_counts(n, lost, draw(st.integers(0, min(n - lost, 40))))
    if kind == "free":
        # Figures that no data gave, to reach every branch of the wording.
        n = draw(st.integers(1, 3000))
        lost = draw(st.integers(0, n))
        gained = draw(st.integers(0, n - lost))
        difference = draw(st.floats(-1, 1))
        interval = Interval(draw(st.floats(-1, difference)), draw(st.floats(difference, 1)), "BCa")
        p = draw(st.floats(1e-12, 1))
        return Comparison(
            n, lost, gained, difference, interval, p, p, n, lost + gained, 0.3, 0.95, draw(st.booleans()), 0
        )
    steps = st.integers(0, 4).map(lambda i: i / 4)
    rows = draw(st.lists(st.tuples(steps, steps), max_size=25))
    a = {f"q{i}": row[0] for i, row in enumerate(rows)}
    b = {f"q{i}": row[1] for i, row in enumerate(rows)}
    groups = {query: query[:2] for query in a} if kind == "grouped" else None
    return compare_scores(a, b, groups, n_resamples=99)


@given(comparisons(), st.sampled_from([0.0, 0.01, 0.05, 0.15, 0.5]), st.integers(0, 4), st.booleans())
@settings(deadline=None, max_examples=300)
def test_no_sentence_claims_more_than_its_row(
    comparison: Comparison, margin: float, n_others: int, blocked: bool
) -> None:
    others = {f"other {i}": compare_counts(50, i, 2 * i) for i in range(n_others)}
    findings = {"mine": "expected items are missing from the corpus."} if blocked else None
    for decision in decide_family({"mine": comparison, **others}, margin, findings=findings).values():
        for sentence in _sentences(decision):
            _check(sentence, decision.verdict)
        _check(resolution_sentence(decision.comparison, family_size=decision.family_size), None)
        ablation = ablation_sentence(decision, "x", "hit@5")
        if "No observed contribution" in ablation:
            assert decision.no_observed_contribution
            # Never alone: what the number of queries leaves open follows.
            assert "cannot be excluded with" in ablation or "holds none" in ablation


@given(st.integers(0, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
@settings(deadline=None)
def test_the_other_sentences_claim_nothing_forbidden(case: tuple[int, int, int]) -> None:
    n, a, b = case
    _check(totals_sentence(n, a, b), None)
    cell = category_cell(a, n)
    for text in (cell.text, cell.tag, cell.note):
        _check(text or "", None)
    worst = small_category({"语义": (a, n), "exact": (b, n)})
    if worst:
        _check(small_category_sentence(worst), None)
    times = [1.0 + (i * a) % 7 for i in range(n)]
    for again in (None, times, [2.0 * t for t in times]):
        found = compare_latency(times, [t * (b + 1) / 30 for t in times], again, n_resamples=50)
        _check(latency_sentence(found, "search"), None)


def test_row_0() -> None:
    assert verdict_sentence(decide(compare_counts(0, 0, 0)), "hit@5") == "Not measured."
    blocked = decide(compare_counts(24, 0, 9), finding="the corpus holds the answers of 3 queries.")
    expected = "Not judged: the corpus holds the answers of 3 queries."
    assert verdict_sentence(blocked, "hit@5", synthetic=True) == expected
    assert ablation_sentence(blocked, "x", "hit@5") == expected


def test_row_1_and_the_margin() -> None:
    # Reference: n = 18, 0 lost, 7 gained: [.1446, .6138], p = .015625
    assert verdict_sentence(decide(compare_counts(18, 0, 7)), "hit@1", "rewrite") == (
        "rewrite improves hit@1 by 38.9 points [+14.5, +61.4]: 7 queries gained, 0 lost, of 18 (p = 0.016)."
    )
    # Reference: n = 500, 3 lost, 14 gained: [.00663, .04120], p = .0127
    small = verdict_sentence(decide(compare_counts(500, 3, 14)), "hit@1", selected=True)
    assert small == (
        "B improves hit@1 by 2.2 points [+0.7, +4.1]: 14 queries gained, 3 lost, of 500 (p = 0.013). "
        "Real but smaller than the margin of 5 points. "
        "Selected on these queries: the figure is optimistic until a held-out set confirms it."
    )


def test_row_2_mirrors_row_1() -> None:
    assert verdict_sentence(decide(compare_counts(500, 14, 3)), "hit@1") == (
        "B degrades hit@1 by 2.2 points [-4.1, -0.7]: 14 queries lost, 3 gained, of 500 (p = 0.013). "
        "By less than the margin of 5 points."
    )
    large = verdict_sentence(decide(compare_counts(60, 6, 0)), "hit@1")
    assert "margin" not in large


def test_row_3_and_row_4() -> None:
    assert verdict_sentence(decide(compare_counts(219, 2, 0)), "hit@1", synthetic=True) == (
        "On synthetic queries: No difference larger than 5 points. "
        "Observed: -0.9 points [-3.3, +0.8], 0 queries gained, 2 lost, of 219."
    )
    assert verdict_sentence(decide(compare_counts(60, 10, 20)), "hit@1") == (
        "No harm observed: a drop larger than 5 points is excluded. This does not show a gain. "
        "Observed: +16.7 points [-1.3, +33.5], 20 queries gained, 10 lost, of 60."
    )


def test_row_4_does_not_say_no_harm_observed_where_the_mean_fell() -> None:
    fell = Comparison(200, 1, 5, -0.002, Interval(-0.04, 0.07, "count bound"), 0.8, 0.3, 200, 6, 0.1, 0.95, True, 0)
    decision = decide(fell)
    assert decision.verdict is Verdict.NO_HARM
    sentence = verdict_sentence(decision, "MRR")
    assert "No harm observed" not in sentence
    assert sentence.startswith("A drop larger than 5 points is excluded.")


def test_row_5_says_how_many_are_needed() -> None:
    assert verdict_sentence(decide(compare_counts(24, 0, 0)), "hit@1") == (
        "Inconclusive, too few queries: 0 of 24 queries changed; at least 6 must change the same way before "
        "any test can tell. Harm up to 13.8 and gain up to 13.8 points remain possible. "
        "Needed: about 73 queries, all unchanged, to exclude a drop of 5 points."
    )
    # Five lost of 24: the score interval is below 0, but p = .0625: no gain is mentioned, none is excluded.
    five = verdict_sentence(decide(compare_counts(24, 5, 0)), "hit@1")
    assert "gain up to" not in five
    assert "Harm up to" in five


def test_row_5_counts_groups_where_queries_are_dependent() -> None:
    a = {f"q{i}": True for i in range(4)}
    sentence = verdict_sentence(decide(compare_hits(a, a, {"q0": "g", "q1": "g"})), "hit@1")
    assert "0 of 3 independent groups of queries changed" in sentence


def test_row_6() -> None:
    # Reference value of p for 6 lost, 16 gained: .0525; the interval is [.0143, .3149] at n = 60, so the
    # margin must be crossed from below to reach row 6: mirrored.
    assert verdict_sentence(decide(compare_counts(60, 16, 6)), "hit@1") == (
        "Inconclusive: 6 queries gained, 16 lost, of 60 (p = 0.052); between -31.5 and -1.4 points."
    )


def test_a_family_shows_the_adjusted_p() -> None:
    found = decide_family({"B": compare_counts(60, 0, 9), "C": compare_counts(60, 1, 2)})
    # 2 x 2 / 2^9 = .0078
    assert "(p = 0.008, adjusted for 2 comparisons)" in verdict_sentence(found["B"], "hit@1")


def test_ablation_of_the_published_table() -> None:
    one = ablation_sentence(decide(compare_counts(24, 0, 1)), "the template", "hit@1")
    assert one == (
        "No observed contribution of the template; a contribution of up to 10.2 points cannot be excluded "
        "with 24 queries."
    )
    same = ablation_sentence(decide(compare_counts(24, 0, 0)), "the template", "hit@1", synthetic=True)
    assert same == (
        "On synthetic queries: No observed contribution of the template; a contribution of up to 13.8 points "
        "cannot be excluded with 24 queries."
    )
    # The refusal holds for the published margins only: 10.2 is not within 10, 13.8 is within 14.
    assert "safe" not in ablation_sentence(decide(compare_counts(24, 0, 1), margin=0.10), "x", "hit@1")
    assert "safe within 14 points" in ablation_sentence(decide(compare_counts(24, 0, 0), margin=0.14), "x", "hit@1")


def test_ablation_rows_1_and_2() -> None:
    assert ablation_sentence(decide(compare_counts(60, 6, 0)), "rewriting", "hit@1") == (
        "rewriting contributes 10.0 points of hit@1 [3.4, 20.1]: without it 6 queries lost, 0 gained, of 60 "
        "(p = 0.031)."
    )
    harms = ablation_sentence(decide(compare_counts(60, 0, 6)), "rewriting", "hit@1")
    assert harms.startswith("rewriting harms: removing it improves hit@1 by 10.0 points [+3.4, +20.1]")
    # The interval starts above 0: no "up to -3.4 points".
    assert "holds none" in harms


def test_ablation_of_a_loss_that_is_not_significant() -> None:
    assert ablation_sentence(decide(compare_counts(24, 1, 0)), "the part", "hit@1") == (
        "A contribution of the part was observed (1 query lost without it, 0 gained, of 24) but is not "
        "distinguishable from noise (p = 1.000)."
    )
    safe = ablation_sentence(decide(compare_counts(219, 2, 0)), "the part", "hit@1")
    assert safe == ("Removing the part is safe within 5 points: 0 queries gained, 2 lost, of 219 [-3.3, +0.8].")


def test_resolution_stands_beside_a_comparison() -> None:
    assert resolution_sentence(compare_counts(24, 0, 1)) == (
        "One query = 4.2 points; difference in queries +1 (1 gained, 0 lost, of 24). With 24 queries a true "
        "change of 30.9 points is found in 8 of 10 runs, at best (all changes one way)."
    )
    assert resolution_sentence(compare_counts(5, 1, 0)) == (
        "One query = 20.0 points; difference in queries -1 (0 gained, 1 lost, of 5). "
        "With 5 queries no result can be significant."
    )
    assert resolution_sentence(compare_counts(0, 0, 0)) == "Not measured."


def test_totals_alone_give_a_range() -> None:
    assert totals_sentence(16, 3, 13, a="zh", b="en") == (
        "Only totals are known, zh 3/16, en 13/16: significant whichever queries flipped (p between 0.002 and 0.021)."
    )
    assert "it depends on which queries flipped" in totals_sentence(14, 5, 11)
    assert "not significant whichever" in totals_sentence(15, 14, 15)
    assert totals_sentence(0, 0, 0) == "Not measured."
    with pytest.raises(DataError):
        totals_sentence(3, 4, 1)


def test_p_is_shown_on_its_side_of_alpha() -> None:
    assert p_text(0.05004, 0.05) == "= 0.05004"
    assert p_text(0.04996, 0.05) == "= 0.050"
    assert p_text(0.0009, 0.05) == "< 0.001"
    assert p_text(0.0009, 0.0001) == "= 0.001"
    assert p_text(1.0, 0.05) == "= 1.000"


def test_points_have_one_decimal_and_no_negative_zero() -> None:
    assert (points(-0.0001), points(0.1379762)) == ("0.0", "13.8")
    assert (signed_points(0.0417), signed_points(-0.03), signed_points(0.0002)) == ("+4.2", "-3.0", "0.0")


def test_a_published_ratio_without_raw_times_has_no_interval() -> None:
    assert summary_ratio_sentence(127.5, 97.0) == (
        "127.5 -> 97.0 ms, ratio 0.761 (-23.9 %); no interval: raw timings not kept."
    )
    with pytest.raises(DataError):
        summary_ratio_sentence(0.0, 1.0)
