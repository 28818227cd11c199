"""Rows of unit length, and the exact comparison of their cosines with a threshold.

A float32 matrix product changes in its last bits with the shape of a tile and with the machine, so a
product near a threshold is never believed: it is recomputed by one float64 dot whose order of additions
is fixed. The same store therefore gives the same counts everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.errors import DataError

FloatArray = npt.NDArray[np.float32]
DoubleArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Rows may be this far from unit length; anything else was never normalised.
UNIT_TOLERANCE = 1e-3
# Elements held at once by the exact dot: 2 MB of float64.
_EXACT_ELEMENTS = 1 << 18


@dataclass(frozen=True)
class UnitRows:
    """Checked rows of unit length.

    Parameters
    ----------
    given
        (n, d) float32 as handed in: exact cosines are of these.
    unit
        The same rows, renormalised where one was off by more than 1e-6; for matrix products.
    norms_squared
        (n,) float64 squared lengths of `given`, by the fixed order of additions.
    slack
        A product of two rows of `unit` in float32, in any order of additions, is closer than this to
        the exact cosine.
    """

    given: FloatArray
    unit: FloatArray
    norms_squared: DoubleArray
    slack: float

    def exact(self, i: IntArray, j: IntArray) -> DoubleArray:
        """Give the exact cosines of the row pairs (i[m], j[m])."""
        out = np.empty(len(i), dtype=np.float64)
        for part in _chunks(len(i), self.given.shape[1]):
            dots = _fixed_dot(self.given[i[part]], self.given[j[part]])
            out[part] = dots / np.sqrt(self.norms_squared[i[part]] * self.norms_squared[j[part]])
        return out

    def at_least(self, i: IntArray, j: IntArray, cos: FloatArray, min_cos: float) -> npt.NDArray[np.bool_]:
        """Decide `cosine >= min_cos` for pairs whose float32 products are given; ties are recomputed."""
        reached = cos >= min_cos + self.slack
        doubt = np.flatnonzero(~reached & (cos >= min_cos - self.slack))
        if doubt.size:
            reached[doubt] = self.exact(i[doubt], j[doubt]) >= min_cos
        return np.asarray(reached)


def unit_rows(vectors: npt.NDArray[Any]) -> UnitRows:
    """Check that rows are finite and of unit length.

    Parameters
    ----------
    vectors
        (n, d), any float type; used as float32.

    Returns
    -------
    The rows, ready for products; n may be 0.

    Raises
    ------
    DataError
        Not two-dimensional, a row that is not finite, or a length that differs from 1 by more than 1e-3.
    """
    if vectors.ndim != 2:
        raise DataError(f"vectors have {vectors.ndim} dimensions; expected a table of rows.")
    given = np.ascontiguousarray(vectors, dtype=np.float32)
    n, d = given.shape
    squares = np.empty(n, dtype=np.float64)
    for part in _chunks(n, d):
        squares[part] = _fixed_dot(given[part], given[part])
    off = np.abs(np.sqrt(squares) - 1.0)
    bad = np.flatnonzero(~(off <= UNIT_TOLERANCE))  # written so that NaN is bad
    if bad.size:
        rows = ", ".join(str(row) for row in bad[:3])
        raise DataError(
            f"{bad.size:,} of {n:,} vectors are not finite or not of unit length (rows {rows}).",
            "Leave out zero and non-finite vectors and normalise the others first.",
        )
    unit = given
    if n and off.max() > 1e-6:
        unit = (given / np.sqrt(squares)[:, None]).astype(np.float32)
    # Rounding of a dot of d products is at most d * 2**-24 of the sum of their sizes, which is at most 1
    # here; 1.1 covers the second-order term, 3e-6 the lengths. 1e-5 is the least that is ever used.
    slack = max(1e-5, 1.1 * d * 2.0**-24 + 3e-6)
    return UnitRows(given, unit, squares, slack)


def exact_cos(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> DoubleArray:
    """Give the cosine of each row of `first` with the same row of `second`, equal on every machine.

    Parameters
    ----------
    first, second
        (m, d) rows, used as float32; need not be of unit length.

    Returns
    -------
    (m,) float64; NaN where a row is zero or not finite. Equal rows give exactly 1.0. The products of
    float32 numbers are exact in float64 and are added in a fixed order (halves on halves).
    """
    a = np.asarray(first, dtype=np.float32)
    b = np.asarray(second, dtype=np.float32)
    out = np.empty(len(a), dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in _chunks(len(a), a.shape[1]):
            lengths = np.sqrt(_fixed_dot(a[part], a[part]) * _fixed_dot(b[part], b[part]))
            out[part] = _fixed_dot(a[part], b[part]) / lengths
    return out


def reaching(cos: FloatArray, lowest: DoubleArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Give (row, column, cosine) of a tile's entries that reach the row's `lowest`, row by row."""
    # A comparison in float32 halves the traffic; the slack has room for the rounding of `lowest`.
    reached = cos >= lowest.astype(np.float32)[:, None]
    # Flat: numpy finds few true values among many in a tenth of the time of the two-dimensional form.
    flat = np.flatnonzero(reached)
    r = flat // cos.shape[1]
    return r, flat - r * cos.shape[1], cos.ravel()[flat]


def _fixed_dot(a: FloatArray, b: FloatArray) -> DoubleArray:
    """Row-wise dot in float64, added in one fixed order on every machine."""
    x = a.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        x *= b
        width = x.shape[1]
        if width == 0:
            return np.zeros(len(x), dtype=np.float64)
        while width > 1:
            half = width // 2
            x[:, :half] += x[:, width - half : width]
            width -= half
    return x[:, 0].copy()


def _chunks(n: int, d: int) -> Iterator[slice]:
    step = max(1, _EXACT_ELEMENTS // max(1, d))
    for start in range(0, n, step):
        yield slice(start, start + step)
