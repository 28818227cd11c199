from __future__ import annotations

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.counts import exact_sign_p, tango_interval
from memaudit.stats.power import (
    mde_best_case,
    mde_mcnemar,
    min_discordant,
    needed_n_all_hits,
    needed_n_mcnemar,
    needed_n_mcnemar_exact,
    needed_n_no_change,
    needed_n_paired_mean,
    one_query_points,
    power_mcnemar,
)


def test_one_query_of_24_is_four_points_and_of_none_is_undefined() -> None:
    assert one_query_points(24) == pytest.approx(100 / 24)
    assert one_query_points(0) is None
    with pytest.raises(DataError):
        one_query_points(5, 0)


@pytest.mark.parametrize(("alpha", "family", "m"), [(0.05, 1, 6), (0.05, 3, 7), (1 / 32, 1, 6), (0.031, 1, 7)])
def test_fewest_changes_reach_a_level_that_is_a_power_of_two(alpha: float, family: int, m: int) -> None:
    # 2^(1 - 6) = 1/32 = 0.03125
    assert min_discordant(alpha, family) == m


def test_an_empty_family_or_level_is_refused() -> None:
    with pytest.raises(DataError):
        min_discordant(0.05, 0)
    with pytest.raises(DataError, match="alpha"):
        min_discordant(5.0)


def _power_by_hand(n: int, psi: float, d: float, alpha: float) -> float:
    up, down = (psi + d) / 2, (psi - d) / 2
    total = 0.0
    for gained in range(n + 1):
        for lost in range(n + 1 - gained):
            if gained > lost and exact_sign_p(gained, lost) <= alpha:
                total += (
                    comb(n, gained)
                    * comb(n - gained, lost)
                    * up**gained
                    * down**lost
                    * (1 - psi) ** (n - gained - lost)
                )
    return total


@pytest.mark.parametrize(
    ("n", "psi", "d", "alpha"),
    [(12, 0.5, 0.3, 0.05), (20, 0.9, 0.9, 0.05), (15, 0.6, 0.2, 1 / 32), (6, 1, 1, 0.05)],
)
def test_power_is_the_sum_over_all_outcomes(n: int, psi: float, d: float, alpha: float) -> None:
    assert power_mcnemar(n, psi, d, alpha) == pytest.approx(_power_by_hand(n, psi, d, alpha), abs=1e-12)
    assert power_mcnemar(n, psi, -d, alpha) == power_mcnemar(n, psi, d, alpha)


def test_power_of_nothing_is_zero() -> None:
    assert power_mcnemar(0, 0.2, 0.1) == 0.0
    assert power_mcnemar(50, 0.0, 0.0) == 0.0
    assert power_mcnemar(5, 1.0, 1.0) == 0.0


def test_a_difference_beyond_the_changes_is_refused() -> None:
    with pytest.raises(DataError, match="at most"):
        power_mcnemar(10, 0.1, 0.2)
    with pytest.raises(DataError):
        needed_n_mcnemar(1.2, 0.1)
    with pytest.raises(DataError):
        needed_n_mcnemar(float("nan"), 0.1)


def test_best_case_of_six_queries_needs_all_of_them() -> None:
    # P(Bin(6, d) = 6) = d^6 = 0.8
    assert mde_best_case(6) == pytest.approx(0.8 ** (1 / 6))
    assert mde_best_case(5) is None
    assert mde_best_case(6, family_size=3) is None


def test_detectable_difference_has_the_wanted_power() -> None:
    found = mde_mcnemar(60, 0.2)
    assert found is not None
    assert power_mcnemar(60, 0.2, found) == pytest.approx(0.8, abs=1e-9)
    assert mde_mcnemar(24, 0.1) is None


@given(st.floats(0.05, 0.6), st.floats(0.3, 1.0))
@settings(deadline=None, max_examples=15)
def test_exact_search_finds_the_first_n_with_the_power(psi: float, part: float) -> None:
    d = psi * part
    n = needed_n_mcnemar_exact(psi, d)
    assert n is not None
    assert power_mcnemar(n, psi, d) >= 0.8 > power_mcnemar(n - 1, psi, d)


def test_a_difference_of_zero_needs_no_number() -> None:
    assert needed_n_mcnemar(0.1, 0.0) is None
    assert needed_n_mcnemar_exact(0.1, 0.0) is None
    assert needed_n_paired_mean(0.3, 0.0) is None
    assert needed_n_no_change(0.0) is None


@pytest.mark.parametrize(("sd", "d"), [(0.3, 0.05), (0.25, 0.1), (0.5, 0.2)])
def test_needed_n_of_a_mean_is_that_of_the_t_test(sd: float, d: float) -> None:
    stats_power = pytest.importorskip("statsmodels.stats.power")
    theirs = stats_power.TTestPower().solve_power(effect_size=d / sd, alpha=0.05, power=0.8)
    assert needed_n_paired_mean(sd, d) == pytest.approx(theirs, abs=1.1)


def test_negative_spread_is_refused() -> None:
    with pytest.raises(DataError):
        needed_n_paired_mean(-0.1, 0.1)


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1, 0.5, 1.0])
def test_needed_n_without_change_is_the_first_whose_interval_is_inside(margin: float) -> None:
    n = needed_n_no_change(margin)
    assert n is not None
    inside = tango_interval(n, 0, 0)
    assert inside is not None
    assert inside[0] > -margin
    if n > 1:
        outside = tango_interval(n - 1, 0, 0)
        assert outside is not None
        assert outside[0] <= -margin


def test_needed_n_of_all_hits() -> None:
    # 3.8415 x 9 = 34.6, 3.8415 x 19 = 73.0 (72.99)
    assert needed_n_all_hits(0.9) == 35
    assert needed_n_all_hits(0.95) == 73


def test_shares_in_per_cent_are_refused() -> None:
    with pytest.raises(DataError):
        needed_n_no_change(5.0)
    with pytest.raises(DataError):
        mde_best_case(24, power=80.0)
