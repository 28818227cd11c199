from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.counts import exact_sign_p
from memaudit.stats.resample import _bca_quantiles, bootstrap_ratio, median_ratio_interval, sign_flip_test

TENTHS = st.integers(-10, 10).map(lambda i: i / 10)


def test_nothing_and_all_ties_give_p_one() -> None:
    assert sign_flip_test([]).p == 1.0
    assert sign_flip_test([0.0] * 24).n_changed == 0
    # 0.1 + 0.2 - 0.3 is 5.6e-17 in floating point: a tie, not a change.
    assert sign_flip_test([0.1 + 0.2 - 0.3] * 30).n_changed == 0


def test_differences_that_cancel_give_p_one() -> None:
    # A relative tie tolerance gives .875 here.
    assert sign_flip_test([0.1, 0.2, 0.3, -0.1, -0.2, -0.3]).p == 1.0


@given(st.lists(TENTHS, max_size=9))
@settings(deadline=None)
def test_exact_p_is_the_share_of_all_sign_patterns(differences: list[float]) -> None:
    changed = [round(10 * d) for d in differences if d]
    observed = abs(sum(changed))
    patterns = [
        abs(sum(sign * d for sign, d in zip(signs, changed, strict=True)))
        for signs in product((1, -1), repeat=len(changed))
    ]
    right = sum(value >= observed for value in patterns) / len(patterns)
    found = sign_flip_test(differences)
    assert found.exact
    assert found.p == pytest.approx(right, abs=1e-12)


@given(st.integers(0, 60), st.integers(0, 60))
def test_zero_one_differences_give_the_exact_mcnemar_p_at_any_size(gained: int, lost: int) -> None:
    found = sign_flip_test([1.0] * gained + [-1.0] * lost + [0.0] * 5)
    assert found.exact
    assert found.p == exact_sign_p(gained, lost)


@given(st.lists(TENTHS, max_size=40), st.randoms())
@settings(deadline=None, max_examples=40)
def test_swapping_the_arms_leaves_p_and_order_leaves_exact_p(differences: list[float], shuffler: st.DataObject) -> None:
    found = sign_flip_test(differences, n_resamples=99)
    assert sign_flip_test([-d for d in differences], n_resamples=99).p == found.p
    if found.exact:
        assert sign_flip_test(sorted(differences)).p == pytest.approx(found.p, abs=1e-12)
    assert 0.0 < found.p <= 1.0


def test_sampled_p_is_near_the_exact_one_and_depends_on_the_seed_only() -> None:
    rng = np.random.default_rng(5)
    differences = rng.integers(-4, 7, size=24) / 10
    assert np.count_nonzero(differences) > 20
    # Exact by counting integer sums: the distribution of the sum of +-d, built by convolution.
    counts = {0: 1}
    for d in np.abs(np.rint(differences * 10)).astype(int).tolist():
        if d:
            longer: dict[int, int] = {}
            for total, n in counts.items():
                for step in (d, -d):
                    longer[total + step] = longer.get(total + step, 0) + n
            counts = longer
    observed = abs(round(differences.sum() * 10))
    right = sum(n for total, n in counts.items() if abs(total) >= observed) / sum(counts.values())
    found = sign_flip_test(differences, seed=1)
    assert not found.exact
    # Three standard errors of 9,999 draws.
    assert found.p == pytest.approx(right, abs=3 * (right * (1 - right) / 9999) ** 0.5 + 1e-4)
    assert sign_flip_test(differences, seed=1) == found
    assert sign_flip_test(differences, seed=2) != found


def test_sampled_p_is_never_zero() -> None:
    differences = np.linspace(0.5, 1.0, 200)
    assert sign_flip_test(differences).p == 1 / 10_000
    assert sign_flip_test(differences, n_resamples=1).p == 0.5


@pytest.mark.parametrize("bad", [[float("nan")], [0.1, float("inf")]])
def test_differences_that_are_not_finite_are_refused(bad: list[float]) -> None:
    with pytest.raises(DataError, match="not finite"):
        sign_flip_test(bad)


def test_no_resamples_are_refused() -> None:
    with pytest.raises(DataError, match="n_resamples"):
        sign_flip_test([0.1], n_resamples=0)


def test_groups_are_drawn_whole() -> None:
    # Two kinds of groups: 4 queries that all gain, and 1 query that loses 1. Resamples of 30 + 30 groups are
    # (4 k - (60 - k)) / (4 k + (60 - k)) with k ~ Binomial(60, 1/2): the ratio at its 2.5 % and 97.5 %
    # quantiles, k = 22 and 38, is (88 - 38) / (88 + 38) = 0.397 and (152 - 22) / (152 + 22) = 0.747.
    totals, sizes = np.array([4.0, -1.0] * 30), np.array([4.0, 1.0] * 30)
    found = bootstrap_ratio(totals, sizes, "percentile")
    assert found is not None
    assert found[:2] == pytest.approx((50 / 126, 130 / 174), abs=0.02)


def test_grouped_bca_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, 40).astype(float)
    totals = sizes * rng.choice([0.0, 0.0, 0.5, 1.0], 40)

    def ratio(t: np.ndarray, s: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(t.sum(axis=axis) / s.sum(axis=axis))

    theirs = bootstrap(
        (totals, sizes), ratio, paired=True, method="BCa", n_resamples=9999, vectorized=True, rng=1
    ).confidence_interval
    found = bootstrap_ratio(totals, sizes)
    assert found is not None
    assert found[:2] == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_ties_with_the_observed_mean_count_half() -> None:
    # Symmetric draws, one third equal to the observed mean, and symmetric values: no bias, no skew.
    drawn = np.repeat([0.4, 0.5, 0.6], 100)
    found = _bca_quantiles(drawn, np.array([0.4, 0.5, 0.6]), np.ones(3), 0.5, (0.025, 0.975))
    assert found == pytest.approx((0.025, 0.975))
    # No draw at or below the observed mean: not defined.
    assert _bca_quantiles(drawn, np.array([0.4, 0.5, 0.6]), np.ones(3), 0.3, (0.025, 0.975)) is None


def test_units_that_are_all_alike_or_alone_have_no_bootstrap_interval() -> None:
    assert bootstrap_ratio(np.array([0.2, 0.4]), np.array([1.0, 2.0])) is None
    assert bootstrap_ratio(np.array([0.2]), np.array([1.0])) is None


def test_median_ratio_of_proportional_times_is_that_ratio_and_zero_times_have_none() -> None:
    a = np.linspace(1.0, 9.0, 30)
    assert median_ratio_interval(0.75 * a, a, 0.95, 0) == pytest.approx((0.75, 0.75))
    assert median_ratio_interval(a, np.zeros(30), 0.95, 0) is None
    assert median_ratio_interval(np.array([]), np.array([]), 0.95, 0) is None
