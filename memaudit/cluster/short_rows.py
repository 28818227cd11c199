"""Upper bounds of cosines from few coordinates, to leave out most multiplications.

Rows are turned onto their principal axes; p coordinates and the length of what is left bound the cosine
of two rows from above. Only pairs whose bound reaches a threshold are multiplied in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.cluster.unit_rows import DoubleArray, FloatArray

#: Above this share of survivors a whole tile is multiplied instead of gathering its survivors.
MAX_GATHERED_SHARE = 0.02

_AXES = (16, 32, 64, 96, 128, 192)
# One gathered dot costs as much as about 60 dots inside a matrix product (measured, 384 dimensions).
_GATHER_COST = 60.0
# Scanning the bounds and choosing the axes cost something too: less than a quarter saved is nothing saved.
_WORTH_IT = 0.75
_SAMPLE = 512
_CHUNK_ROWS = 2_048


def principal_axes(unit: FloatArray, thresholds: DoubleArray) -> DoubleArray | None:
    """Choose how many principal axes to multiply first; None where no choice saves time.

    Parameters
    ----------
    unit
        (n, d) rows of unit length; about 2,000 of them give the axes, 512 the choice.
    thresholds
        The cosines that decide; the choice is made for the one that prunes worst.

    Returns
    -------
    (d, p) orthonormal columns. The choice decides the time only, never a result.
    """
    n, d = unit.shape
    sample = unit[:: max(1, n // (4 * _SAMPLE))].astype(np.float64)
    axes = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
    sample = sample[:: max(1, len(sample) // _SAMPLE)]
    cos = sample @ sample.T
    best, best_cost = None, _WORTH_IT
    for p in _AXES:
        if p >= d:
            break
        short = short_rows(sample, axes[:, :p])
        bound = short @ short.T
        # Pairs that are near are met seldom (leaders are far from each other): count the others.
        survivors = max(np.count_nonzero((bound >= t) & (cos < t)) for t in thresholds) / cos.size
        cost = (p + 1) / d + _GATHER_COST * min(survivors, MAX_GATHERED_SHARE)
        if cost < best_cost:
            best, best_cost = axes[:, :p], cost
    return best


def short_rows(unit: npt.NDArray[Any], axes: DoubleArray) -> FloatArray:
    """Give p coordinates of each row and the length of the rest as coordinate p + 1.

    Parameters
    ----------
    unit
        (n, d) rows of unit length.
    axes
        (d, p) orthonormal columns.

    Returns
    -------
    (n, p + 1) float32. By Cauchy-Schwarz the product of two short rows is at least the product of the
    rows; the length is taken a little too large, so that rounding cannot break the bound.
    """
    n, p = len(unit), axes.shape[1]
    short = np.empty((n, p + 1), dtype=np.float32)
    for start in range(0, n, _CHUNK_ROWS):
        part = unit[start : start + _CHUNK_ROWS].astype(np.float64)
        kept = part @ axes
        rest = np.einsum("ij,ij->i", part, part) - np.einsum("ij,ij->i", kept, kept)
        short[start : start + len(part), :p] = kept
        short[start : start + len(part), p] = np.sqrt(np.maximum(rest, 0.0) + 1e-12)
    return short
