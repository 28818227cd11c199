from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.intervals import (
    bootstrap_share_percentiles,
    clopper_pearson_interval,
    count_bound,
    mean_interval,
    min_n_for_quantile_upper,
    quantile_interval,
    wilson_interval,
)

SHARES = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_wilson_at_all_hits_is_n_over_n_plus_z_squared() -> None:
    # z^2 = 1.959963985^2 = 3.841458821; 24 / 27.841458821 = 0.862023795
    assert wilson_interval(24, 24) == pytest.approx((0.862023795, 1.0), abs=1e-9)
    # No hits of 18: 3.841458821 / 21.841458821 = 0.175879224
    assert wilson_interval(0, 18) == pytest.approx((0.0, 0.175879224), abs=1e-9)


def test_no_queries_give_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert clopper_pearson_interval(0, 0) is None
    assert bootstrap_share_percentiles(0, 0) is None
    assert count_bound(0, 0, 0) is None
    assert mean_interval([]) is None
    assert quantile_interval([], 0.5) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_counts_that_cannot_be_are_refused(k: int, n: int) -> None:
    for make in (wilson_interval, clopper_pearson_interval, bootstrap_share_percentiles):
        with pytest.raises(DataError, match="is not a share"):
            make(k, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
def test_a_level_in_per_cent_is_refused_even_for_no_queries(level: float) -> None:
    with pytest.raises(DataError, match="level"):
        wilson_interval(0, 0, level)


@given(SHARES)
def test_wilson_contains_the_share_stays_in_range_and_mirrors(share: tuple[int, int]) -> None:
    k, n = share
    found, mirrored = wilson_interval(k, n), wilson_interval(n - k, n)
    assert found is not None
    assert mirrored is not None
    assert 0.0 <= found[0] <= k / n <= found[1] <= 1.0
    assert found[0] == pytest.approx(1.0 - mirrored[1], abs=1e-12)


@given(SHARES)
def test_clopper_pearson_leaves_at_most_its_tail_beyond_each_bound(share: tuple[int, int]) -> None:
    from scipy.stats import binom

    k, n = share
    found = clopper_pearson_interval(k, n)
    assert found is not None
    assert 0.0 <= found[0] <= k / n <= found[1] <= 1.0
    # The defining equations: P(X >= k | low) = P(X <= k | high) = 2.5 %.
    if k > 0:
        assert binom.sf(k - 1, n, found[0]) == pytest.approx(0.025)
    if k < n:
        assert binom.cdf(k, n, found[1]) == pytest.approx(0.025)


def test_share_intervals_agree_with_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for k, n in ((1, 7), (33, 36), (391, 539), (12, 24)):
        assert wilson_interval(k, n) == pytest.approx(proportion.proportion_confint(k, n, 0.05, "wilson"))
        assert clopper_pearson_interval(k, n, 0.9) == pytest.approx(proportion.proportion_confint(k, n, 0.1, "beta"))


def test_count_bound_is_the_upper_wilson_bound_of_each_direction() -> None:
    # One loss, four wins of 60: z = 1.959963985.
    # (1/60 + 3.841459/120 + z sqrt((1/60)(59/60)/60 + 3.841459/14400)) / (1 + 3.841459/60) = 0.088551
    found = count_bound(60, 1, 4)
    assert found is not None
    assert found[0] == pytest.approx(-0.088551, abs=1e-6)
    with pytest.raises(DataError, match="3 losses and 2 wins of 4 pairs"):
        count_bound(4, 3, 2)


def test_percentile_bootstrap_of_a_share_matches_its_closed_form() -> None:
    values = [1.0] * 17 + [0.0] * 7
    found = mean_interval(values, "percentile")
    closed = bootstrap_share_percentiles(17, 24)
    assert found is not None
    assert closed is not None
    # The quantiles of 9,999 draws may land on the neighbouring step of 1/24.
    assert found.low == pytest.approx(closed[0], abs=1 / 24 + 1e-9)
    assert found.high == pytest.approx(closed[1], abs=1 / 24 + 1e-9)


def test_bca_agrees_with_scipy_on_skewed_values() -> None:
    from scipy.stats import bootstrap

    values = np.array([1, 1, 1, 0.5, 1, 1 / 3, 1, 1, 0.25, 1, 0.5, 1, 0, 1, 1, 0.2, 1, 0.5, 1, 1, 0, 0.4, 1, 1])
    theirs = bootstrap((values,), np.mean, method="BCa", n_resamples=9999, rng=7).confidence_interval
    found = mean_interval(values)
    assert found is not None
    assert found.method == "BCa"
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_mean_interval_needs_ten_values_that_differ() -> None:
    assert mean_interval([0.0, 1.0] * 4 + [0.5]) is None
    assert mean_interval([0.0, 1.0] * 5) is not None
    assert mean_interval([0.1 + 0.2] * 5 + [0.3] * 5) is None


def test_mean_interval_of_dependent_queries_draws_groups() -> None:
    # Twenty values in ten pairs of equal values: the interval is that of the ten, not of twenty.
    values = [i / 10 for i in range(10)]
    doubled, names = values * 2, [f"组{i}" for i in range(10)] * 2
    assert mean_interval(doubled, groups=names) == mean_interval(values)
    assert mean_interval(doubled, groups=["a", "b"] * 10) is None
    with pytest.raises(DataError, match="2 groups for 20 values"):
        mean_interval(doubled, groups=["a", "b"])


def test_mean_interval_is_the_same_for_the_same_seed_only() -> None:
    values = np.linspace(0.0, 1.0, 40)
    assert mean_interval(values, seed=3) == mean_interval(values, seed=3)
    assert mean_interval(values, seed=3) != mean_interval(values, seed=4)


@pytest.mark.parametrize("bad", [[0.5, float("nan")], [float("inf")], [[0.5], [0.6]]])
def test_values_that_are_no_finite_vector_are_refused(bad: list[float]) -> None:
    with pytest.raises(DataError):
        mean_interval(bad)
    with pytest.raises(DataError):
        quantile_interval(bad, 0.5)


def test_unknown_bootstrap_method_is_refused() -> None:
    with pytest.raises(DataError, match="'basic'"):
        mean_interval([0.0, 1.0] * 10, "basic")


def test_p95_has_an_upper_limit_from_72_values_on() -> None:
    # 0.95^71 = 0.0262 > 0.025 >= 0.0249 = 0.95^72
    below, enough = quantile_interval(range(71), 0.95), quantile_interval(range(72), 0.95)
    assert below is not None
    assert enough is not None
    assert below.high is None
    assert enough.high == 71.0
    assert min_n_for_quantile_upper(0.95, two_sided=True) == 72


def test_fewest_values_for_an_upper_limit_reach_a_level_that_is_a_power() -> None:
    # 0.5^2 = 0.25 = 1 - 0.75: exactly reached by two values.
    assert min_n_for_quantile_upper(0.5, 0.75) == 2
    assert min_n_for_quantile_upper(0.01, 0.95) == 1


@given(st.floats(0.01, 0.995), st.floats(0.5, 0.999))
def test_fewest_values_are_the_fewest(p: float, level: float) -> None:
    n = min_n_for_quantile_upper(p, level)
    assert p**n <= (1.0 - level) * (1 + 1e-9)
    assert n == 1 or p ** (n - 1) > (1.0 - level) * (1 - 1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0, 95.0])
def test_a_quantile_outside_the_open_range_is_refused(p: float) -> None:
    with pytest.raises(DataError, match="quantile"):
        quantile_interval([1.0, 2.0], p)
    with pytest.raises(DataError, match="quantile"):
        min_n_for_quantile_upper(p)


def test_importing_the_intervals_does_not_load_scipy() -> None:
    code = "import sys; from memaudit.stats.intervals import wilson_interval; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
