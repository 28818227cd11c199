"""Vectors as a store holds them: read, checked and counted before any cosine is taken.

A row is used only when its vector is whole, finite, not zero and of the dimension that most rows have.
Every other row has a status that says why it is not, so that nothing is left out in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from memaudit.vectors.detection import detect_format
from memaudit.vectors.formats import (
    NotAVectorError,
    NumberArray,
    VectorFormat,
    is_missing,
    parse_format,
    read_vector,
    why_unreadable,
)
from memaudit.wording import say

#: A stored vector whose length differs from 1 by more than this was not normalised.
NOT_UNIT_TOLERANCE = 1e-3

_CHUNK_ROWS = 4_096


class VectorStatus(str, Enum):
    """What became of a row's vector; each row has exactly one."""

    OK = "ok"
    MISSING = "missing"
    ZERO = "zero"
    NAN = "nan"
    INF = "inf"
    MALFORMED = "malformed"
    WRONG_DIMENSION = "wrong_dimension"


@dataclass(frozen=True)
class StoredVectors:
    """The vectors of a column.

    Parameters
    ----------
    status
        One for each row, in row order. NaN, infinite and zero come before a wrong dimension; a row with
        both NaN and infinities is NAN.
    rows
        (m,) int64 numbers of the usable rows, ascending.
    matrix
        (m, dim) float32 as stored.
    unit
        (m, dim) float32 rows of length 1: what cosines are taken of. The same array as `matrix` where
        all stored lengths are 1 to 1e-6.
    norms
        (m,) float64 stored lengths.
    dim
        Dimension of the usable rows, None without any.
    dims
        Readable vectors by dimension, of every status, most frequent first.
    malformed
        Reason by row number for rows that are MALFORMED.
    format
        How the vectors are written; None where that could not be found.
    reason
        How the format was found.
    """

    status: tuple[VectorStatus, ...]
    rows: npt.NDArray[np.int64]
    matrix: npt.NDArray[np.float32]
    unit: npt.NDArray[np.float32]
    norms: npt.NDArray[np.float64]
    dim: int | None
    dims: Mapping[int, int]
    malformed: Mapping[int, str]
    format: VectorFormat | None
    reason: str

    def rows_with(self, status: VectorStatus) -> tuple[int, ...]:
        """Numbers of the rows of one status, ascending."""
        return tuple(row for row, found in enumerate(self.status) if found is status)

    def n_with(self, status: VectorStatus) -> int:
        """How many rows have this status."""
        return sum(found is status for found in self.status)

    @property
    def n_nan(self) -> int:
        """Rows that hold a NaN."""
        return self.n_with(VectorStatus.NAN)

    @property
    def n_inf(self) -> int:
        """Rows that hold an infinity and no NaN."""
        return self.n_with(VectorStatus.INF)

    @property
    def n_not_unit(self) -> int:
        """Usable rows whose stored length differs from 1 by more than 1e-3."""
        return int(np.count_nonzero(np.abs(self.norms - 1.0) > NOT_UNIT_TOLERANCE))

    @property
    def not_unit_share(self) -> float | None:
        """Share of the usable rows that were not stored normalised; None without usable rows."""
        return self.n_not_unit / len(self.rows) if len(self.rows) else None


def decode_vectors(values: Sequence[object], declared_format: str | None = None) -> StoredVectors:
    """Read and check the stored vectors of a column.

    Parameters
    ----------
    values
        One value a row as the store gives it: bytes, text, list of numbers, array or None.
    declared_format
        Words of the configuration; they win over what the data looks like.

    Returns
    -------
    Status and vector of every row; where no format can be found every row that holds something is
    malformed.

    Raises
    ------
    ConfigError
        `declared_format` names no known format.
    """
    chosen, reason = _format_of(values, declared_format)
    status = [VectorStatus.MISSING] * len(values)
    malformed: dict[int, str] = {}
    by_dim: dict[int, tuple[list[int], list[NumberArray]]] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        try:
            if chosen is None:
                raise NotAVectorError(why_unreadable(value))
            vector = read_vector(value, chosen)
        except NotAVectorError as error:
            status[row] = VectorStatus.MALFORMED
            malformed[row] = str(error)
            continue
        rows, vectors = by_dim.setdefault(len(vector), ([], []))
        rows.append(row)
        vectors.append(vector)
    usable: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]] = {}
    for d, (rows, vectors) in by_dim.items():
        kept, matrix = _checked(rows, vectors, status)
        if len(kept):
            usable[d] = kept, matrix
    # The first in row order where two dimensions are equally frequent: dicts and max keep that order.
    dim: int | None = max(usable, key=lambda d: len(usable[d][0]), default=None)
    for other, (kept, _) in usable.items():
        for row in kept.tolist() if other != dim else []:
            status[row] = VectorStatus.WRONG_DIMENSION
    found, matrix = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
    if dim is not None:
        found, matrix = usable[dim]
    norms = _lengths(matrix)
    return StoredVectors(
        status=tuple(status),
        rows=found,
        matrix=matrix,
        unit=_normalised(matrix, norms),
        norms=norms,
        dim=dim,
        dims=dict(Counter({d: len(rows) for d, (rows, _) in by_dim.items()}).most_common()),
        malformed=malformed,
        format=chosen,
        reason=reason,
    )


def _format_of(values: Sequence[object], declared: str | None) -> tuple[VectorFormat | None, str]:
    if declared is not None:
        chosen = parse_format(declared)
        return chosen, say("read as {format}, as configured", format=chosen.label)
    detected = detect_format(values)
    if detected is not None:
        return detected.format, detected.reason
    if all(is_missing(value) for value in values):
        return None, say("no row holds a vector")
    return None, say("no known notation of vectors fits most values (set embedding_format)")


def _checked(
    rows: list[int], vectors: list[NumberArray], status: list[VectorStatus]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Give status to the vectors of one dimension; return the rows and float32 vectors without defect."""
    numbers = np.asarray(rows, dtype=np.int64)
    matrix = np.empty((len(rows), len(vectors[0])), dtype=np.float32)
    # A float64 beyond the range of float32 becomes infinite: it could not be used either.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for position, vector in enumerate(vectors):
            matrix[position] = vector
    nan = np.isnan(matrix).any(axis=1)
    inf = np.isinf(matrix).any(axis=1) & ~nan
    zero = ~(matrix != 0).any(axis=1)
    for mask, name in (
        (nan, VectorStatus.NAN),
        (inf, VectorStatus.INF),
        (zero, VectorStatus.ZERO),
        (~(nan | inf | zero), VectorStatus.OK),
    ):
        for row in numbers[mask].tolist():
            status[row] = name
    good = ~(nan | inf | zero)
    return numbers[good], (matrix if good.all() else matrix[good])


def _lengths(matrix: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    norms = np.empty(len(matrix), dtype=np.float64)
    for start in range(0, len(matrix), _CHUNK_ROWS):
        part = matrix[start : start + _CHUNK_ROWS].astype(np.float64)
        norms[start : start + len(part)] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return norms


def _normalised(matrix: npt.NDArray[np.float32], norms: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    if not len(matrix) or np.abs(norms - 1.0).max() <= 1e-6:
        return matrix
    unit = np.empty_like(matrix)
    for start in range(0, len(matrix), _CHUNK_ROWS):
        part = slice(start, start + _CHUNK_ROWS)
        unit[part] = matrix[part] / norms[part, None]
    return unit
