"""Exact cosine rankings: ranks of expected documents and the nearest ones, in blocks of queries.

Scores within :data:`TIE` of each other count as equal and are put in document order: identical texts have
identical vectors, and a matrix product gives them scores that may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.errors import DataError

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

#: Cosines closer than this are equal: float32 sums over some hundred products are exact to about 1e-7.
TIE = 1e-6
#: Scores held at once (48 MB): fewer, larger products cost less than many small ones.
_SCORES = 12_000_000
#: Score of a document that a query may not return; below every cosine.
_OUT = np.float32(-4.0)


def best_ranks(
    queries: FloatArray,
    documents: FloatArray,
    expected: Sequence[Sequence[Sequence[int]]],
    exclude: Sequence[Sequence[int]] | None = None,
) -> list[tuple[int | None, ...]]:
    """Give the rank of the best document of each needed group, for each query.

    Parameters
    ----------
    queries, documents
        (q, d) and (n, d) rows of unit length, from one and the same encoder.
    expected
        For each query its needed groups, each a list of document numbers 0..n-1; an empty group is never found.
    exclude
        For each query the documents taken out of its ranking; those behind move up.

    Returns
    -------
    For each query one 1-based rank a group, None for a group without a document that may be returned. Documents
    with equal scores stand in document order.

    Raises
    ------
    DataError
        Shapes that do not belong together.

    Notes
    -----
    A rank is one more than the number of documents in front, so nothing is sorted.
    """
    _check(queries, documents, expected, exclude)
    found: list[tuple[int | None, ...]] = []
    for start, scores in _blocks(queries, documents, exclude):
        for row, own in enumerate(scores):
            found.append(tuple(_rank(own, group) for group in expected[start + row]))
    return found


def _rank(scores: FloatArray, group: Sequence[int]) -> int | None:
    if not len(group):
        return None
    members = np.asarray(group, dtype=np.int64)
    own = scores[members]
    best = own.max()
    if best <= _OUT:
        return None
    first = int(members[own >= best - TIE].min())
    # Of documents as good as the best one, those in front of it in document order come first.
    ahead = int(np.count_nonzero(scores > best + TIE))
    tied = int(np.count_nonzero(scores[:first] >= best - TIE)) - int(np.count_nonzero(scores[:first] > best + TIE))
    return 1 + ahead + tied


def nearest(
    queries: FloatArray, documents: FloatArray, k: int, exclude: Sequence[Sequence[int]] | None = None
) -> IntArray:
    """Give the k nearest documents of each query.

    Parameters
    ----------
    queries, documents, exclude
        As for :func:`best_ranks`.
    k
        Documents a query, cut down to the number there are.

    Returns
    -------
    (q, min(k, n)) document numbers, best first; -1 where a query has fewer documents that may be returned. Equal
    scores stand in document order; which of several documents that tie at the cut is taken follows it too.

    Raises
    ------
    DataError
        Shapes that do not belong together, or k below 1.
    """
    _check(queries, documents, None, exclude)
    if k < 1:
        raise DataError(f"k is {k}.", "Give a cut-off of at least 1.")
    n = len(documents)
    k = min(k, n)
    out = np.empty((len(queries), k), dtype=np.int64)
    for start, scores in _blocks(queries, documents, exclude):
        out[start : start + len(scores)] = _top(scores, k)
    return out


def _top(scores: FloatArray, k: int) -> IntArray:
    n_rows, n = scores.shape
    if k == 0:
        return np.empty((n_rows, 0), dtype=np.int64)
    # One more than asked for shows whether the cut goes through a tie.
    width = min(n, k + 1)
    part = np.argpartition(scores, n - width, axis=1)[:, n - width :] if width < n else None
    found = scores if part is None else np.take_along_axis(scores, part, axis=1)
    order = np.argsort(-found, axis=1)
    found = np.take_along_axis(found, order, axis=1)
    listed = (order if part is None else np.take_along_axis(part, order, axis=1)).astype(np.int64, copy=False)
    steps = found[:, :-1] - found[:, 1:] > TIE
    close = np.flatnonzero(~steps.all(axis=1))
    if len(close):
        run = np.concatenate((np.zeros((len(close), 1), dtype=np.int64), np.cumsum(steps[close], axis=1)), axis=1)
        listed[close] = np.take_along_axis(listed[close], np.lexsort((listed[close], run), axis=1), axis=1)
    top = listed[:, :k]
    # A tie that goes through the cut may have members that were not looked at.
    for row in np.flatnonzero(~steps[:, k - 1]) if width > k else ():
        top[row] = _in_order(scores[row], float(found[row, k - 1]), k)
    lacking = np.flatnonzero(found[:, k - 1] <= _OUT)
    for row in lacking:
        top[row, scores[row, top[row]] <= _OUT] = -1
    return top


def _in_order(scores: FloatArray, last: float, k: int) -> IntArray:
    """Sort the candidates at the cut or above it, runs of equal scores by document number."""
    candidates = np.flatnonzero(scores >= last - TIE)
    candidates = candidates[np.argsort(-scores[candidates], kind="stable")]
    steps = -np.diff(scores[candidates])
    run = np.concatenate(([0], np.cumsum(steps > TIE)))
    return candidates[np.lexsort((candidates, run))][:k].astype(np.int64)


def kept_neighbours(before: IntArray, after: IntArray) -> float | None:
    """Give the mean share of each row's neighbours that are still among its neighbours; None for no neighbours."""
    shares = []
    for a, b in zip(before.tolist(), after.tolist(), strict=True):
        own = {d for d in a if d >= 0}
        if own:
            shares.append(len(own & set(b)) / len(own))
    return sum(shares) / len(shares) if shares else None


def _blocks(
    queries: FloatArray, documents: FloatArray, exclude: Sequence[Sequence[int]] | None
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the first query of each block and its scores, which hold until the next block."""
    size = max(1, min(len(queries), _SCORES // max(1, len(documents))))
    buffer = np.empty((size, len(documents)), dtype=np.float32)
    for start in range(0, len(queries), size):
        block = queries[start : start + size]
        scores = np.matmul(block, documents.T, out=buffer[: len(block)])
        if exclude is not None:
            for row, out in enumerate(exclude[start : start + size]):
                if len(out):
                    scores[row, list(out)] = _OUT
        yield start, scores


def _check(
    queries: FloatArray,
    documents: FloatArray,
    expected: Sequence[Any] | None,
    exclude: Sequence[Sequence[int]] | None,
) -> None:
    if queries.ndim != 2 or documents.ndim != 2 or (len(queries) and queries.shape[1] != documents.shape[1]):
        raise DataError(
            f"queries of shape {queries.shape} and documents of shape {documents.shape} give no cosines.",
            "Encode both with the same encoder.",
        )
    for name, listed in (("expected", expected), ("exclude", exclude)):
        if listed is not None and len(listed) != len(queries):
            raise DataError(f"{name} has {len(listed)} entries for {len(queries)} queries.")
