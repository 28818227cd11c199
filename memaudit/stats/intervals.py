"""Intervals of one figure: shares, means of a graded metric, quantiles.

Nothing here imports scipy at module level: the Wilson interval is a closed formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memaudit.errors import DataError

# Below this many values a bootstrap says more about its own method than about the mean.
MIN_N_BOOTSTRAP = 10


def normal_quantile(level: float) -> float:
    """Give z so that a standard normal lies within +-z with probability `level`.

    Raises
    ------
    DataError
        `level` is not strictly between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise DataError(f"confidence level {level} is not between 0 and 1.", "Give a share, for example 0.95 for 95 %.")
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def check_share(k: int, n: int) -> None:
    """Refuse counts that cannot be k of n."""
    if n < 0 or not 0 <= k <= n:
        raise DataError(f"{k} of {n} is not a share.", "The part must lie between 0 and the whole.")


def wilson_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Give the Wilson score interval of a share.

    Parameters
    ----------
    k
        Cases that have the property, 0..n.
    n
        Cases looked at.
    level
        Two-sided confidence level, 0..1, both ends open.

    Returns
    -------
    (low, high) as shares within [0, 1]; None for n = 0 (not measured). Exactly 0 at the lower end for k = 0
    and exactly 1 at the upper end for k = n.

    Raises
    ------
    DataError
        k is outside 0..n, n is negative, or the level is not between 0 and 1.

    Notes
    -----
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    J. Am. Stat. Assoc. 22 (1927) 209-212; recommended by Brown, Cai and DasGupta,
    Stat. Sci. 16 (2001) 101-133.
    """
    check_share(k, n)
    z = normal_quantile(level)
    if n == 0:
        return None
    share = k / n
    scale = 1.0 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n)) / scale
    # The ends are set, not computed: rounding would leave [0, 1] by one unit in the last place.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return low, high


def clopper_pearson_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Give the exact interval of a share, for a gate that must hold its level.

    Parameters
    ----------
    k, n, level
        As for :func:`wilson_interval`.

    Returns
    -------
    (low, high) within [0, 1], mostly but not always wider than Wilson's; None for n = 0.

    Raises
    ------
    DataError
        As for :func:`wilson_interval`.

    Notes
    -----
    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404-413.
    """
    check_share(k, n)
    normal_quantile(level)
    if n == 0:
        return None
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1.0 - tail))
    return low, high


def count_bound(n: int, losses: int, wins: int, level: float = 0.95) -> tuple[float, float] | None:
    """Bound a mean paired difference of a metric in 0..1 by how often it fell and rose.

    Parameters
    ----------
    n
        Pairs, or groups of dependent pairs.
    losses, wins
        Pairs whose metric fell or rose.
    level
        Two-sided confidence level of each of the two shares.

    Returns
    -------
    (-upper Wilson bound of the share of losses, upper Wilson bound of the share of wins); None for n = 0.

    Raises
    ------
    DataError
        Counts that cannot be.

    Notes
    -----
    A metric in 0..1 can fall by at most 1 in a pair, so the mean cannot fall by more than the share of
    losses. Unlike a bootstrap it allows for losses that the sample happened not to contain.
    Source: the Wilson interval (1927), applied to each direction.
    """
    if n < 0 or losses < 0 or wins < 0 or losses + wins > n:
        raise DataError(f"{losses} losses and {wins} wins of {n} pairs cannot be.", "Count each pair at most once.")
    down, up = wilson_interval(losses, n, level), wilson_interval(wins, n, level)
    return None if down is None or up is None else (-down[1], up[1])


def bootstrap_share_percentiles(k: int, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Give the percentile bootstrap of a share in closed form, to check a bootstrap, never to report.

    Returns
    -------
    (low, high); None for n = 0. It collapses to one point at k = 0 and k = n, which is why a hit rate never
    gets a bootstrap interval.

    Raises
    ------
    DataError
        As for :func:`wilson_interval`.

    Notes
    -----
    Resampling 0/1 values draws from a binomial distribution with share k / n.
    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3.
    """
    check_share(k, n)
    normal_quantile(level)
    if n == 0:
        return None
    from scipy.stats import binom

    tail = (1.0 - level) / 2.0
    return float(binom.ppf(tail, n, k / n)) / n, float(binom.ppf(1.0 - tail, n, k / n)) / n


@dataclass(frozen=True)
class Interval:
    """An interval and how it was made.

    Attributes
    ----------
    low, high
        Bounds in the unit of the figure.
    method
        "tango", "BCa", "percentile" or "count bound".
    """

    low: float
    high: float
    method: str


def mean_interval(
    values: ArrayLike,
    method: str = "BCa",
    level: float = 0.95,
    seed: int = 0,
    n_resamples: int = 9_999,
    groups: Sequence[str] | None = None,
) -> Interval | None:
    """Give the bootstrap interval of the mean of a graded metric over queries.

    Parameters
    ----------
    values
        (n,) one value a query (coverage, reciprocal rank, nDCG); a query without a result is 0, not missing.
    method
        "BCa" (percentile where BCa is not defined) or "percentile".
    level
        Two-sided confidence level.
    seed
        Seed of the resamples.
    n_resamples
        Number of resamples.
    groups
        (n,) name of the group of dependent queries of each value; groups are then drawn whole.

    Returns
    -------
    The interval with the method used; None for fewer than 10 values (or groups) and for values that are all
    equal: show the values instead.

    Raises
    ------
    DataError
        A value is not finite, an unknown method, a level not between 0 and 1, or groups of another length.

    Notes
    -----
    Source: B. Efron, J. Am. Stat. Assoc. 82 (1987) 171-185.
    """
    from memaudit.stats.resample import bootstrap_ratio, finite_vector

    array = finite_vector(values, "values")
    normal_quantile(level)
    totals, sizes = array, np.ones_like(array)
    if groups is not None:
        if len(groups) != array.size:
            raise DataError(f"{len(groups)} groups for {array.size} values.", "Give the group of each value.")
        number = {name: i for i, name in enumerate(sorted(set(groups)))}
        members = np.array([number[name] for name in groups], dtype=np.int64)
        totals = np.bincount(members, weights=array, minlength=len(number)).astype(np.float64)
        sizes = np.bincount(members, minlength=len(number)).astype(np.float64)
    if totals.size < MIN_N_BOOTSTRAP:
        return None
    found = bootstrap_ratio(totals, sizes, method, level, seed, n_resamples)
    return None if found is None else Interval(*found)


@dataclass(frozen=True)
class QuantileEstimate:
    """A quantile of a sample with its limits.

    Attributes
    ----------
    estimate
        Sample quantile, linear between neighbours.
    low, high
        Two-sided limits; None where the sample is too small for a limit to exist.
    """

    estimate: float
    low: float | None
    high: float | None


def quantile_interval(values: ArrayLike, p: float, level: float = 0.95) -> QuantileEstimate | None:
    """Give a quantile and its distribution-free interval.

    Parameters
    ----------
    values
        (n,) independent values, any order. Repeats of one query are not independent.
    p
        Quantile, 0..1, both ends open.
    level
        Two-sided confidence level.

    Returns
    -------
    Estimate and limits, each limit None where it does not exist (p95 has an upper limit from n = 72);
    None for no values.

    Raises
    ------
    DataError
        A value is not finite, or p or level is not between 0 and 1.

    Notes
    -----
    The limits are order statistics.
    Source: W. J. Conover, "Practical Nonparametric Statistics" (3rd ed. 1999), section 3.2.
    """
    from memaudit.stats.resample import finite_vector

    array = finite_vector(values, "values")
    normal_quantile(level)
    _check_open_share(p)
    if array.size == 0:
        return None
    from scipy.stats import quantile_test

    estimate = float(np.quantile(array, p))
    limits: Any = quantile_test(array, q=estimate, p=p).confidence_interval(level)
    low, high = float(limits.low), float(limits.high)
    return QuantileEstimate(estimate, low if isfinite(low) else None, high if isfinite(high) else None)


def min_n_for_quantile_upper(p: float, level: float = 0.95, two_sided: bool = False) -> int:
    """Give the fewest values with which a quantile has an upper limit.

    Parameters
    ----------
    p
        Quantile, 0..1, both ends open.
    level
        Confidence level.
    two_sided
        Whether the limit is one end of a two-sided interval.

    Returns
    -------
    Smallest n with p^n <= 1 - level (half of that when two-sided): 59 and 72 for p95.

    Raises
    ------
    DataError
        p or level is not between 0 and 1.

    Notes
    -----
    The largest of n values lies below the quantile with probability p^n.
    Source: S. S. Wilks, Ann. Math. Stat. 12 (1941) 91-96.
    """
    normal_quantile(level)
    _check_open_share(p)
    tail = (1.0 - level) / 2.0 if two_sided else 1.0 - level
    n = max(1, ceil(log(tail) / log(p)))
    # The logarithms may miss by one; 1e-12 lets 0.5^2 reach a level of 0.75.
    while n > 1 and p ** (n - 1) <= tail * (1.0 + 1e-12):
        n -= 1
    while p**n > tail * (1.0 + 1e-12):
        n += 1
    return n


def _check_open_share(p: float) -> None:
    if not 0.0 < p < 1.0:
        raise DataError(f"quantile {p} is not between 0 and 1.", "Give a share, for example 0.95 for p95.")
