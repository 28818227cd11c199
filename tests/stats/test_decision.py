from __future__ import annotations

from dataclasses import replace
from math import comb

import pytest

from memaudit.errors import DataError
from memaudit.stats.decision import Verdict, decide, decide_family, needed_queries, table_verdict
from memaudit.stats.paired import Comparison, compare_counts, compare_scores
from memaudit.stats.power import min_discordant

# n, difference, p, low, high, changed, blocked -> verdict; alpha .05, margin .05, m_min 6
BORDERS = [
    (0, None, None, None, None, 0, False, Verdict.NOT_MEASURED),
    (0, None, None, None, None, 0, True, Verdict.NOT_MEASURED),
    (60, 0.2, 0.001, 0.1, 0.3, 12, True, Verdict.NOT_TRUSTWORTHY),
    (60, 0.2, 0.05, 0.1, 0.3, 12, False, Verdict.IMPROVES),
    (60, 0.2, 0.0500001, 0.1, 0.3, 12, False, Verdict.NO_HARM),
    (60, 0.01, 0.05, 0.001, 0.04, 12, False, Verdict.IMPROVES),
    (60, -0.2, 0.05, -0.3, -0.1, 12, False, Verdict.DEGRADES),
    (60, -0.01, 0.05, -0.04, -0.001, 12, False, Verdict.DEGRADES),
    (60, -0.2, 0.0500001, -0.3, -0.1, 12, False, Verdict.INCONCLUSIVE),
    (60, 0.0, 0.01, -0.3, 0.3, 12, False, Verdict.INCONCLUSIVE),
    (300, 0.0, 1.0, -0.0499, 0.0499, 5, False, Verdict.EQUIVALENT),
    # A bound that equals the margin does not exclude it.
    (300, 0.0, 1.0, -0.05, 0.0499, 12, False, Verdict.INCONCLUSIVE),
    (300, 0.0, 1.0, -0.0499, 0.05, 12, False, Verdict.NO_HARM),
    (300, 0.0, 1.0, -0.05, 0.05, 5, False, Verdict.TOO_FEW),
    (300, 0.0, 1.0, -0.05, 0.05, 6, False, Verdict.INCONCLUSIVE),
    # The score interval excludes 0, but p does not: the verdict follows p.
    (24, 5 / 24, 0.0625, 0.03, 0.4, 5, False, Verdict.NO_HARM),
    (24, -5 / 24, 0.0625, -0.4, -0.03, 5, False, Verdict.TOO_FEW),
]


@pytest.mark.parametrize("case", BORDERS)
def test_every_row_of_the_table_and_its_border(
    case: tuple[int, float | None, float | None, float | None, float | None, int, bool, Verdict],
) -> None:
    n, difference, p, low, high, n_changed, blocked, verdict = case
    found = table_verdict(
        n=n,
        difference=difference,
        p_adjusted=p,
        low=low,
        high=high,
        n_changed=n_changed,
        m_min=6,
        alpha=0.05,
        margin=0.05,
        blocked=blocked,
    )
    assert found is verdict


def test_the_cases_above_cover_every_verdict() -> None:
    assert {case[-1] for case in BORDERS} == set(Verdict)


def test_a_comparison_without_figures_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="at least one query"):
        table_verdict(
            n=3,
            difference=None,
            p_adjusted=1.0,
            low=-1.0,
            high=1.0,
            n_changed=0,
            m_min=6,
            alpha=0.05,
            margin=0.05,
        )


def test_holm_takes_a_gain_away_when_two_more_variants_were_tried() -> None:
    six = compare_counts(60, 0, 6)
    assert decide(six).verdict is Verdict.IMPROVES
    found = decide_family({"B": six, "C": compare_counts(60, 1, 2), "D": compare_counts(60, 2, 2)})
    # 3 x 0.03125
    assert (found["B"].p_adjusted, found["B"].verdict) == (0.09375, Verdict.NO_HARM)
    assert (found["B"].family_size, found["B"].m_min) == (3, 7)
    assert list(found) == ["B", "C", "D"]


def test_empty_and_blocked_comparisons_are_outside_the_family() -> None:
    six = compare_counts(60, 0, 6)
    found = decide_family(
        {"B": six, "empty": compare_counts(0, 0, 0), "blocked": six}, findings={"blocked": "答案在语料中"}
    )
    assert (found["B"].verdict, found["B"].family_size) == (Verdict.IMPROVES, 1)
    assert found["empty"].verdict is Verdict.NOT_MEASURED
    assert found["blocked"].verdict is Verdict.NOT_TRUSTWORTHY


def test_a_family_of_none_has_no_decision() -> None:
    assert decide_family({}) == {}


def test_a_finding_for_another_comparison_is_refused() -> None:
    with pytest.raises(DataError, match="'C'"):
        decide_family({"B": compare_counts(6, 0, 0)}, findings={"C": "leaked"})


def test_settings_that_do_not_fit_are_refused() -> None:
    six = compare_counts(60, 0, 6)
    with pytest.raises(DataError, match="margin"):
        decide(six, margin=5.0)
    with pytest.raises(DataError, match="level"):
        decide(six, alpha=0.01)
    with pytest.raises(DataError, match="adjusted p"):
        decide(six, family_size=3)
    assert decide(compare_counts(60, 0, 6, level=0.99), alpha=0.01).verdict is Verdict.NO_HARM


@pytest.mark.parametrize(
    ("lost", "gained", "claim"), [(0, 0, True), (0, 1, True), (1, 0, False), (0, 7, True), (7, 0, False)]
)
def test_no_observed_contribution_needs_a_difference_of_zero_or_more(lost: int, gained: int, claim: bool) -> None:
    assert decide(compare_counts(24, lost, gained)).no_observed_contribution is claim


def test_nothing_is_claimed_where_nothing_is_judged() -> None:
    assert not decide(compare_counts(0, 0, 0)).no_observed_contribution
    assert not decide(compare_counts(24, 0, 0), finding="leaked").no_observed_contribution


def test_needed_queries_name_their_assumption() -> None:
    unchanged = needed_queries(decide(compare_counts(24, 0, 0)))
    assert unchanged is not None
    assert (unchanged.n, unchanged.assumption) == (73, "none-changes")
    # One of 24 changed, less than a difference of 5 points needs: psi = d = .05.
    # (1.959964 sqrt(.05) + .841621 sqrt(.05 - .0025))^2 / .0025 = (.438261 + .183427)^2 / .0025 = 154.6
    one = needed_queries(decide(compare_counts(24, 1, 0)))
    assert one is not None
    assert (one.n, one.assumption) == (155, "margin-changes")
    # Five of 25: psi = .2, d = .05 -> 626 (the page's own value).
    five = needed_queries(decide(compare_counts(25, 3, 2)))
    assert five is not None
    assert (five.n, five.assumption) == (626, "as-observed")
    # Graded, differences with sd s: (2.801585 s / .05)^2 + 2; one gain of .5 in 24: variance
    # (.25 - .25/24) / 23 = .0104167, 3139.6 x .0104167 + 2 = 34.7; the count bound alone needs 73.
    ids = [f"q{i}" for i in range(24)]
    graded = compare_scores({q: 0.5 if q == "q0" else 1.0 for q in ids}, dict.fromkeys(ids, 1.0))
    found = needed_queries(decide(graded))
    assert found is not None
    assert (found.n, found.assumption) == (73, "as-observed")


def test_needed_queries_are_left_out_where_they_say_nothing() -> None:
    assert needed_queries(decide(compare_counts(0, 0, 0))) is None
    assert needed_queries(decide(compare_counts(24, 1, 0), margin=0.0)) is None
    assert needed_queries(decide(compare_counts(500, 0, 0))) is None


def _rate(n: int, psi: float, d: float, wanted: set[Verdict], cache: dict[tuple[int, int], Verdict]) -> float:
    up, down = (psi + d) / 2, (psi - d) / 2
    total = 0.0
    for lost in range(n + 1):
        for gained in range(n + 1 - lost):
            if (lost, gained) not in cache:
                cache[lost, gained] = decide(compare_counts(n, lost, gained)).verdict
            if cache[lost, gained] in wanted:
                ways = comb(n, lost) * comb(n - lost, gained)
                total += ways * up**gained * down**lost * (1 - psi) ** (n - lost - gained)
    return total


@pytest.mark.parametrize("n", [24, 60])
def test_error_rates_of_the_table_by_exact_enumeration(n: int) -> None:
    cache: dict[tuple[int, int], Verdict] = {}
    safe = {Verdict.EQUIVALENT, Verdict.NO_HARM}
    for psi in (0.1, 0.2, 0.4):
        # No true difference: 0.04 to 1.9 % say "improves" (nominal 2.5 %).
        assert 0.0003 <= _rate(n, psi, 0.0, {Verdict.IMPROVES}, cache) <= 0.0195
        # A true drop of exactly the margin: at most 2.35 % say that it is excluded.
        assert _rate(n, psi, -0.05, safe, cache) <= 0.0236
    if n == 24:
        open_rows = {Verdict.TOO_FEW, Verdict.INCONCLUSIVE}
        for psi in (0.1, 0.2):
            assert _rate(n, psi, 0.0, open_rows, cache) >= 0.93


def test_fewest_changes_are_those_that_the_table_can_call() -> None:
    for family in (1, 3, 5, 10):
        m = min_discordant(0.05, family)
        assert decide(compare_counts(60, 0, m), p_adjusted=family * 2.0 ** (1 - m), family_size=family).verdict is (
            Verdict.IMPROVES
        )


def test_a_decision_is_plain_frozen_data() -> None:
    found = decide(compare_counts(24, 0, 0))
    assert isinstance(found.comparison, Comparison)
    assert replace(found, finding=None) == found
    assert found.verdict.value == "inconclusive_n_too_small"
