"""Cosines between rows: near pairs, groups, samples and the background level.

Comparisons with a threshold are those of :mod:`memaudit.cluster.unit_rows`: equal on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memaudit.cluster.unit_rows import DoubleArray, FloatArray, IntArray, UnitRows, reaching, unit_rows

#: Cosines are exact up to this many rows, from a sample beyond it (`background_cosine`).
ALL_PAIRS_ROWS = 2_000
#: Pairs drawn for the background level of a larger store: the rank of the sample's median is then off by
#: about 0.2 % of the pairs (1 / (2 sqrt(n))).
BACKGROUND_PAIRS = 100_000

# Tiles of this shape stay in the second-level cache, which makes scanning them nearly free.
_TILE_ROWS = 512
_TILE_COLUMNS = 1024
# Groups up to this size are multiplied in float64 whole: 0.1 s at 1,024 rows, and no rounding to explain.
_FLOAT64_ROWS = 1_024


@dataclass(frozen=True)
class GroupCosine:
    """Cosines over all pairs of a group; `min_cos` and `mean_cos` are None below two rows."""

    n_pairs: int
    min_cos: float | None
    mean_cos: float | None


def within_group(vectors: npt.NDArray[Any]) -> GroupCosine:
    """Give the smallest and the mean cosine over all pairs of the rows of a group.

    Parameters
    ----------
    vectors
        (n, d) rows of unit length; their order does not matter.

    Returns
    -------
    The mean by its closed form in float64, (|sum of rows|^2 - n) / (n (n - 1)), which needs no pairs;
    the minimum over all n (n - 1) / 2 pairs, exact up to 1,024 rows and to 1e-6 above.

    Notes
    -----
    O(n d) for the mean, O(n^2 d) for the minimum; memory of one tile.
    """
    rows = unit_rows(vectors)
    n = len(rows.given)
    if n < 2:
        return GroupCosine(0, None, None)
    total = np.zeros(rows.given.shape[1], dtype=np.float64)
    for start in range(0, n, _TILE_ROWS):
        total += _float64_unit(rows, slice(start, start + _TILE_ROWS)).sum(axis=0)
    # In a group of equal rows rounding can lift the mean above 1 or the minimum above the mean.
    mean = min(1.0, float((total @ total - n) / (n * (n - 1))))
    return GroupCosine(n * (n - 1) // 2, min(_smallest(rows), 1.0), mean)


def _smallest(rows: UnitRows) -> float:
    n = len(rows.given)
    if n <= _FLOAT64_ROWS:
        unit = _float64_unit(rows, slice(0, n))
        return float((unit @ unit.T)[np.triu_indices(n, 1)].min())
    smallest = np.inf
    for start, begin, cos in _upper_tiles(rows.unit):
        # The lower triangle of a diagonal tile repeats pairs, its diagonal is 1: neither lowers a minimum.
        i, j = divmod(int(cos.argmin()), cos.shape[1])
        if start + i != begin + j and cos[i, j] <= smallest + 1e-6:
            exact = rows.exact(np.array([start + i]), np.array([begin + j]))[0]
            smallest = min(smallest, float(exact))
    # Every tile minimum was 1: all rows are one direction.
    return smallest if np.isfinite(smallest) else 1.0


@dataclass(frozen=True)
class NearPairs:
    """Pairs of rows that are near each other.

    Parameters
    ----------
    i, j
        (m,) int64 row numbers with i < j, sorted by i, then j.
    cos
        (m,) float64 exact cosines.
    n_pairs
        How many pairs there are in all, exact even when the list was cut.
    cut
        Whether only the first `limit` pairs are listed.
    """

    i: IntArray
    j: IntArray
    cos: DoubleArray
    n_pairs: int
    cut: bool


def near_pairs(vectors: npt.NDArray[Any], min_cos: float, limit: int = 1_000_000) -> NearPairs:
    """List all pairs i < j with cosine >= `min_cos`.

    Parameters
    ----------
    vectors
        (n, d) rows of unit length.
    min_cos
        Cosine in [-1, 1]; ties are decided as in :func:`exact_cos`.
    limit
        Pairs listed at most: the first ones in order of (i, j). All are counted.

    Notes
    -----
    O(n^2 d) time, memory of the listed pairs and one tile.
    """
    rows = unit_rows(vectors)
    found = list_near(rows, min_cos, limit, count_all=True)
    return NearPairs(found.i, found.j, rows.exact(found.i, found.j), found.n_pairs, found.cut)


class PairList(NamedTuple):
    """Near pairs without their cosines; the fields are those of :class:`NearPairs`."""

    i: IntArray
    j: IntArray
    n_pairs: int
    cut: bool


def list_near(rows: UnitRows, min_cos: float, limit: int, *, count_all: bool) -> PairList:
    """List near pairs as :func:`near_pairs` does; without `count_all` stop at the first beyond the limit."""
    strips: list[IntArray] = [np.empty((2, 0), dtype=np.int64)]
    n_listed = n_pairs = 0
    for start in range(0, len(rows.given), _TILE_ROWS):
        room = limit - n_listed
        strip = np.empty((2, 0), dtype=np.int64)
        for begin, cos in _tiles_right_of(rows.unit, start):
            i, j, near = reaching(cos, np.full(len(cos), min_cos - rows.slack))
            i, j = i + start, j + begin
            upper = j > i
            i, j, near = i[upper], j[upper], near[upper]
            kept = rows.at_least(i, j, near, min_cos)
            n_pairs += int(np.count_nonzero(kept))
            if room > 0:
                strip = np.concatenate([strip, np.stack([i[kept], j[kept]])], axis=1)
                # The smallest `room` pairs of a union are among the smallest of its parts.
                strip = strip[:, np.lexsort((strip[1], strip[0]))[:room]]
            if n_pairs > limit and not count_all:
                break
        strips.append(strip)
        n_listed += strip.shape[1]
        if n_pairs > limit and not count_all:
            break
    listed = np.concatenate(strips, axis=1)
    return PairList(listed[0], listed[1], n_pairs, n_pairs > listed.shape[1])


@dataclass(frozen=True)
class PairSample:
    """Cosines of distinct pairs i < j of rows, drawn without replacement and sorted by (j, i)."""

    i: IntArray
    j: IntArray
    cos: DoubleArray


def pairwise_sample(vectors: npt.NDArray[Any], rng: np.random.Generator, n_pairs: int) -> PairSample:
    """Draw distinct pairs of rows and give their cosines in float64.

    Parameters
    ----------
    vectors
        (n, d) rows of unit length.
    rng
        The only source of chance.
    n_pairs
        Pairs wanted; all n (n - 1) / 2 are given when there are no more.
    """
    rows = unit_rows(vectors)
    n = len(rows.given)
    total = n * (n - 1) // 2
    if n_pairs >= total:
        i, j = _numbered_pairs(np.arange(total, dtype=np.int64))
        if n <= ALL_PAIRS_ROWS:  # one product in float64 in the place of a dot a pair
            return PairSample(i, j, _float64_cosines(rows)[i, j])
    else:
        drawn = np.sort(rng.choice(total, size=n_pairs, replace=False, shuffle=False)).astype(np.int64)
        i, j = _numbered_pairs(drawn)
    return PairSample(i, j, rows.exact(i, j))


@dataclass(frozen=True)
class BackgroundCosine:
    """Median cosine over pairs of rows; `median_cos` is None below two rows."""

    median_cos: float | None
    n_pairs: int
    sampled: bool


def median_of(values: npt.NDArray[Any]) -> float:
    """Return the median of at least one number; `np.median` would load `numpy.ma`, a fifth of what numpy itself costs."""
    ordered = np.sort(values)
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def background_cosine(
    vectors: npt.NDArray[Any], rng: np.random.Generator, n_pairs: int = BACKGROUND_PAIRS
) -> BackgroundCosine:
    """Give the cosine that two rows of this store have anyway: the median over pairs.

    Parameters
    ----------
    vectors
        (n, d) rows of unit length.
    rng
        Used beyond 2,000 rows only.
    n_pairs
        Distinct pairs drawn beyond 2,000 rows.

    Returns
    -------
    Over all pairs up to 2,000 rows, else over the sample, with the number of pairs behind it.
    """
    n = len(vectors)
    if n > ALL_PAIRS_ROWS:
        sample = pairwise_sample(vectors, rng, n_pairs)
        return BackgroundCosine(median_of(sample.cos), len(sample.cos), True)
    rows = unit_rows(vectors)
    if n < 2:
        return BackgroundCosine(None, 0, False)
    cosines = _float64_cosines(rows)[np.triu_indices(n, 1)]
    return BackgroundCosine(median_of(cosines), len(cosines), False)


def cosine_to(vectors: npt.NDArray[Any], row: int) -> DoubleArray:
    """Give the exact cosine of every row to one of them.

    Parameters
    ----------
    vectors
        (n, d) rows of unit length.
    row
        Number of the row compared with; its own entry is exactly 1.0.

    Returns
    -------
    (n,) float64 in row order.
    """
    rows = unit_rows(vectors)
    n = len(rows.given)
    return rows.exact(np.arange(n, dtype=np.int64), np.full(n, range(n)[row], dtype=np.int64))


def _numbered_pairs(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Give pair m = i + j (j - 1) / 2 with 0 <= i < j: numbered by j, then i."""
    j = ((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > numbers  # the square root may be one off for huge numbers
    j += j * (j + 1) // 2 <= numbers
    return numbers - j * (j - 1) // 2, j


def _float64_cosines(rows: UnitRows) -> DoubleArray:
    unit = _float64_unit(rows, slice(0, len(rows.given)))
    return unit @ unit.T


def _float64_unit(rows: UnitRows, part: slice) -> DoubleArray:
    return rows.given[part] / np.sqrt(rows.norms_squared[part])[:, None]


def _tiles_right_of(unit: FloatArray, start: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield the products of one strip of rows with every column from `start` on, tile by tile."""
    for begin in range(start, len(unit), _TILE_COLUMNS):
        yield begin, unit[start : start + _TILE_ROWS] @ unit[begin : begin + _TILE_COLUMNS].T


def _upper_tiles(unit: FloatArray) -> Iterator[tuple[int, int, FloatArray]]:
    for start in range(0, len(unit), _TILE_ROWS):
        for begin, cos in _tiles_right_of(unit, start):
            yield start, begin, cos
