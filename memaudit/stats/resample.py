"""Resampling: sign-flip test of paired differences and bootstrap of a mean.

Both are written on arrays in chunks of bounded memory: 2,000 queries with 9,999 resamples take well under
a second, where the general routines of scipy take several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memaudit.errors import DataError
from memaudit.stats.counts import exact_sign_p

FloatArray = NDArray[np.float64]

N_RESAMPLES = 9_999
# Differences of metrics in 0..1 below this are rounding: 0.1 + 0.2 - 0.3 is 5.6e-17, and must be a tie.
TIE = 1e-9
# 2 ** 20 sums are made at once; above that the signs are sampled.
MAX_EXACT = 20
_CHUNK_CELLS = 1 << 20


@dataclass(frozen=True)
class SignFlip:
    """Result of a two-sided sign-flip test.

    Attributes
    ----------
    p
        Two-sided p in (0, 1]; 1 when nothing differs.
    n_changed
        Differences that are not zero.
    exact
        Whether all sign patterns were counted; False when they were sampled.
    """

    p: float
    n_changed: int
    exact: bool


def finite_vector(values: ArrayLike, what: str) -> FloatArray:
    """Give (n,) float64, or refuse values that are not one-dimensional or not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(f"{what} has {array.ndim} dimensions, one was expected.", "Give one value a query.")
    if not np.isfinite(array).all():
        n_bad = int((~np.isfinite(array)).sum())
        raise DataError(f"{what} holds {n_bad} values that are not finite.", "A query without a result counts as 0.")
    return array


def sign_flip_test(differences: ArrayLike, seed: int = 0, n_resamples: int = N_RESAMPLES) -> SignFlip:
    """Test whether a mean paired difference is zero by flipping signs.

    Parameters
    ----------
    differences
        (n,) one difference (or one sum of a group) each, any order; values closer to zero than 1e-9 count
        as zero and are dropped, because they never move the sum.
    seed
        Seed of the sampled signs; without effect when the test is exact.
    n_resamples
        Sign patterns drawn when there are too many to count.

    Returns
    -------
    p = 1 for an empty input and for all zeros. Up to 20 non-zero differences, or any number of equal size,
    are counted exactly; else p = (patterns at least as extreme + 1) / (patterns + 1), which is never 0.

    Raises
    ------
    DataError
        A difference is not finite, or n_resamples is below 1.

    Notes
    -----
    For differences of -1, 0 and 1 this is the exact McNemar test. Ties with the observed sum are counted
    with an absolute tolerance of 1e-9. O(n_resamples * n) time, 8 MB of memory.
    Source: R. A. Fisher, "The Design of Experiments" (1935), section 21; E. J. G. Pitman, J. R. Stat. Soc.
    Suppl. 4 (1937) 119-130. The +1: B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) 39.
    """
    if n_resamples < 1:
        raise DataError(f"n_resamples is {n_resamples}.", "Give at least 1; 9,999 is usual.")
    array = finite_vector(differences, "differences")
    changed = array[np.abs(array) > TIE]
    sizes = np.abs(changed)
    n = int(changed.size)
    if n == 0:
        return SignFlip(1.0, 0, exact=True)
    observed = abs(float(changed.sum()))
    if float(sizes.max() - sizes.min()) <= TIE / n:
        n_gained = int((changed > 0).sum())
        return SignFlip(exact_sign_p(n_gained, n - n_gained), n, exact=True)
    if n <= MAX_EXACT:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate((sums + size, sums - size))
        return SignFlip(float(np.mean(np.abs(sums) >= observed - TIE)), n, exact=True)
    total = float(sizes.sum())
    rng = np.random.default_rng(seed)
    n_extreme = 0
    for n_rows in _chunks(n_resamples, n):
        # One random bit a sign: eight times cheaper than drawing integers.
        packed = rng.integers(0, 256, size=(n_rows, (n + 7) // 8), dtype=np.uint8)
        positive = np.unpackbits(packed, axis=1, count=n)
        sums = 2.0 * (positive.astype(np.float64) @ sizes) - total
        n_extreme += int((np.abs(sums) >= observed - TIE).sum())
    return SignFlip((n_extreme + 1) / (n_resamples + 1), n, exact=False)


def bootstrap_ratio(
    totals: FloatArray,
    sizes: FloatArray,
    method: str = "BCa",
    level: float = 0.95,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> tuple[float, float, str] | None:
    """Give a bootstrap interval of sum(totals) / sum(sizes), drawing whole units.

    Parameters
    ----------
    totals
        (n,) sum of the metric in each unit; a unit is a query, or a group of dependent queries.
    sizes
        (n,) number of queries in each unit, above 0; all ones when units are queries.
    method
        "BCa" or "percentile".
    level
        Two-sided confidence level.
    seed
        Seed of the resamples.
    n_resamples
        Number of resamples.

    Returns
    -------
    (low, high, method used), where BCa falls back to percentile if it is not defined (the observed value
    lies outside all resamples). None for fewer than two units and where every resample gives the same value.

    Notes
    -----
    O(n_resamples * n) time, about 16 MB of memory.
    Source: B. Efron, "Better bootstrap confidence intervals", J. Am. Stat. Assoc. 82 (1987) 171-185;
    the resampling of whole groups: A. C. Davison and D. V. Hinkley, "Bootstrap Methods" (1997), section 3.8.
    """
    if method not in ("BCa", "percentile"):
        raise DataError(f"bootstrap method {method!r} is not known.", "Use 'BCa' or 'percentile'.")
    n = int(totals.size)
    if n < 2:
        return None
    observed = float(totals.sum() / sizes.sum())
    if np.allclose(totals, observed * sizes, rtol=0.0, atol=TIE):
        return None
    rng = np.random.default_rng(seed)
    drawn = np.empty(n_resamples)
    done = 0
    for n_rows in _chunks(n_resamples, n):
        rows = rng.integers(0, n, size=(n_rows, n), dtype=np.int32)
        drawn[done : done + n_rows] = totals[rows].sum(axis=1) / sizes[rows].sum(axis=1)
        done += n_rows
    tail = (1.0 - level) / 2.0
    quantiles = (tail, 1.0 - tail)
    if method == "BCa":
        adjusted = _bca_quantiles(drawn, totals, sizes, observed, quantiles)
        if adjusted is None:
            method = "percentile"
        else:
            quantiles = adjusted
    low, high = np.quantile(drawn, quantiles)
    return float(low), float(high), method


def _bca_quantiles(
    drawn: FloatArray,
    totals: FloatArray,
    sizes: FloatArray,
    observed: float,
    quantiles: tuple[float, float],
) -> tuple[float, float] | None:
    normal = NormalDist()
    below = float(np.mean(drawn < observed - TIE))
    not_above = float(np.mean(drawn <= observed + TIE))
    # Half of the ties count as below: metrics with few values hit the observed mean often.
    middle = (below + not_above) / 2.0
    if not 0.0 < middle < 1.0:
        return None
    bias = normal.inv_cdf(middle)
    left_out = (totals.sum() - totals) / (sizes.sum() - sizes)
    spread = left_out.mean() - left_out
    squares = float((spread**2).sum())
    if squares <= 0.0:
        return None
    acceleration = float((spread**3).sum()) / (6.0 * squares**1.5)

    def adjusted(quantile: float) -> float | None:
        shifted = bias + normal.inv_cdf(quantile)
        scale = 1.0 - acceleration * shifted
        return normal.cdf(bias + shifted / scale) if scale > 0.0 else None

    low, high = adjusted(quantiles[0]), adjusted(quantiles[1])
    if low is None or high is None:
        return None
    return low, high


def median_ratio_interval(
    numerators: FloatArray, denominators: FloatArray, level: float, seed: int, n_resamples: int = N_RESAMPLES
) -> tuple[float, float] | None:
    """Give the percentile bootstrap interval of median(numerators) / median(denominators), pairs kept.

    Returns
    -------
    (low, high); None for no pairs and where a resample's denominator has the median 0.
    """
    n = int(numerators.size)
    if n == 0:
        return None
    rng = np.random.default_rng(seed)
    ratios = np.empty(n_resamples)
    done = 0
    for n_rows in _chunks(n_resamples, n):
        rows = rng.integers(0, n, size=(n_rows, n), dtype=np.int32)
        below = np.median(denominators[rows], axis=1)
        if (below <= 0.0).any():
            return None
        ratios[done : done + n_rows] = np.median(numerators[rows], axis=1) / below
        done += n_rows
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(ratios, (tail, 1.0 - tail))
    return float(low), float(high)


def _chunks(n_rows: int, n_columns: int) -> Iterator[int]:
    step = max(1, _CHUNK_CELLS // max(1, n_columns))
    while n_rows > 0:
        yield min(step, n_rows)
        n_rows -= step
