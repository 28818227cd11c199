from __future__ import annotations

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats import counts
from memaudit.stats.counts import (
    exact_sign_p,
    fisher_p,
    max_losses_for_net_gain,
    mcnemar,
    p_range_from_totals,
    sign_test,
    tango_interval,
)


def test_exact_p_of_six_one_way_changes_is_one_in_thirty_two() -> None:
    # 2 * 0.5^6 = 1/32, a number that floating point holds exactly.
    assert exact_sign_p(6, 0) == 0.03125
    # Two of twelve: 2 (1 + 12 + 66) / 4096 = 158 / 4096
    assert mcnemar(2, 10).p_exact == 158 / 4096


def test_fisher_p_adds_all_tables_that_are_as_rare() -> None:
    # The tea: 3 of 4 cups right on each side. (1 + 16 + 16 + 1) / 70
    assert fisher_p(3, 1, 1, 3) == 34 / 70
    assert fisher_p(4, 0, 0, 4) == 2 / 70
    assert fisher_p(0, 0, 5, 2) == fisher_p(0, 4, 0, 9) == 1.0
    with pytest.raises(DataError):
        fisher_p(1, 2, -1, 3)


@given(st.tuples(*[st.integers(0, 30)] * 4))
def test_fisher_p_equals_scipy(table: tuple[int, int, int, int]) -> None:
    from scipy.stats import fisher_exact

    a, b, c, d = table
    assert fisher_p(a, b, c, d) == pytest.approx(float(fisher_exact([[a, b], [c, d]]).pvalue), abs=1e-9)


def test_no_change_gives_p_one_for_mid_p_too() -> None:
    assert mcnemar(0, 0) == counts.McNemar(0, 1.0, 1.0)


def test_mid_p_of_equal_counts_is_one_less_half_the_point() -> None:
    # P(X = 3 | 6) = 20/64; 1 - 10/64 = 0.84375
    assert mcnemar(3, 3).p_mid == 0.84375
    # 5 against 0: 2/32 - 1/32
    assert mcnemar(0, 5).p_mid == mcnemar(5, 0).p_mid == 0.03125


def test_large_counts_go_on_where_integers_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = mcnemar(480, 560)
    monkeypatch.setattr(counts, "_MAX_EXACT_PAIRS", 10)
    found = mcnemar(480, 560)
    assert found.p_exact == pytest.approx(exact.p_exact, rel=1e-10)
    assert found.p_mid == pytest.approx(exact.p_mid, rel=1e-10)


@given(st.integers(0, 60), st.integers(0, 60))
def test_exact_p_is_the_sum_over_all_outcomes_as_extreme(lost: int, gained: int) -> None:
    m = lost + gained
    extreme = sum(comb(m, i) for i in range(m + 1) if abs(2 * i - m) >= abs(gained - lost))
    assert exact_sign_p(gained, lost) == pytest.approx(extreme / 2**m, rel=1e-14)
    assert sign_test(gained, lost) == exact_sign_p(lost, gained)


def test_mcnemar_agrees_with_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for lost, gained in ((0, 7), (3, 9), (5, 15), (4, 4), (1, 0)):
        theirs = tables.mcnemar([[5, lost], [gained, 9]], exact=True).pvalue
        assert mcnemar(lost, gained).p_exact == pytest.approx(theirs, rel=1e-12)


def test_tango_gives_the_published_interval() -> None:
    # M. W. Fagerland et al. (2014), airway data: 7 lost, 1 gained of 21.
    found = tango_interval(21, 7, 1)
    assert found == pytest.approx((-0.517, -0.026), abs=5e-4)


def test_identical_results_do_not_exclude_a_drop() -> None:
    # z^2 / (n + z^2) = 3.841459 / 27.841459
    assert tango_interval(24, 0, 0) == pytest.approx((-0.1379762, 0.1379762), abs=1e-7)
    assert tango_interval(0, 0, 0) is None


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
@settings(deadline=None)
def test_tango_holds_the_difference_and_mirrors_with_the_arms(case: tuple[int, int, int]) -> None:
    n, lost, gained = case
    gained = min(gained, n - lost)
    found, mirrored = tango_interval(n, lost, gained), tango_interval(n, gained, lost)
    assert found is not None
    assert mirrored is not None
    assert -1.0 <= found[0] <= (gained - lost) / n <= found[1] <= 1.0
    assert found == pytest.approx((-mirrored[1], -mirrored[0]), abs=1e-12)


@given(st.integers(2, 200), st.data())
@settings(deadline=None)
def test_tango_bounds_have_the_score_z(n: int, data: st.DataObject) -> None:
    lost = data.draw(st.integers(1, n - 1))
    gained = data.draw(st.integers(0, n - lost))
    found = tango_interval(n, lost, gained)
    assert found is not None
    for bound, z in zip(found, (1.959963984540054, -1.959963984540054), strict=True):
        if abs(bound) == 1.0:
            continue
        # The defining equation, written as in the paper, independent of the form that is solved.
        a, b = 2 * n, -lost - gained + (2 * n - gained + lost) * bound
        q = ((b * b + 4 * a * lost * bound * (1 - bound)) ** 0.5 - b) / (2 * a)
        score = (gained - lost - n * bound) / (n * (2 * q + bound * (1 - bound))) ** 0.5
        assert score == pytest.approx(z, abs=1e-5)


@pytest.mark.parametrize("case", [(3, 2, 2), (3, -1, 0), (-1, 0, 0)])
def test_tango_refuses_counts_that_cannot_be(case: tuple[int, int, int]) -> None:
    with pytest.raises(DataError):
        tango_interval(*case)


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_totals_range_is_that_of_all_splits(case: tuple[int, int, int]) -> None:
    n, a, b = case
    splits = [
        exact_sign_p(both_miss_less, lost)
        for lost in range(n + 1)
        for both_miss_less in [lost + b - a]
        if both_miss_less >= 0 and lost <= a and lost <= n - b
    ]
    found = p_range_from_totals(n, a, b)
    assert found is not None
    assert (found.p_min, found.p_max) == (min(splits), max(splits))


def test_totals_that_cannot_be_are_refused_and_none_are_not_measured() -> None:
    assert p_range_from_totals(0, 0, 0) is None
    with pytest.raises(DataError):
        p_range_from_totals(10, 11, 3)


@pytest.mark.parametrize("net", [0, 5])
def test_a_small_net_gain_is_never_significant(net: int) -> None:
    assert max_losses_for_net_gain(net) is None


@given(st.integers(6, 40))
def test_most_losses_are_the_last_that_stay_significant(net: int) -> None:
    most = max_losses_for_net_gain(net)
    assert most is not None
    assert exact_sign_p(net + most, most) <= 0.05 < exact_sign_p(net + most + 1, most + 1)


def test_a_level_that_is_a_power_of_two_is_reached() -> None:
    # 6 gains, no loss: p = 1/32 exactly.
    assert max_losses_for_net_gain(6, alpha=1 / 32) == 0
    assert max_losses_for_net_gain(6, alpha=0.031) is None


def test_negative_counts_are_refused() -> None:
    with pytest.raises(DataError):
        mcnemar(-1, 2)
    with pytest.raises(DataError):
        max_losses_for_net_gain(-2)
