"""Greedy leader clustering in row order, exact on every machine and at any block size.

A row joins the first leader with cosine >= the threshold, else it becomes a leader itself. The labels
are those of the plain double loop; blocks of rows are multiplied with tiles of leaders, ties are decided
by :mod:`memaudit.cluster.unit_rows`. Cosines of pairs and groups are
re-exported from :mod:`memaudit.cluster.cosines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memaudit.cluster.cosines import (
    BackgroundCosine,
    GroupCosine,
    NearPairs,
    PairSample,
    background_cosine,
    cosine_to,
    list_near,
    median_of,
    near_pairs,
    pairwise_sample,
    within_group,
)
from memaudit.cluster.short_rows import MAX_GATHERED_SHARE, principal_axes, short_rows
from memaudit.cluster.unit_rows import (
    DoubleArray,
    FloatArray,
    IntArray,
    UnitRows,
    exact_cos,
    reaching,
    unit_rows,
)

__all__ = [
    "BackgroundCosine",
    "ClusterCount",
    "GroupCosine",
    "NearPairs",
    "OrderSpread",
    "PairSample",
    "background_cosine",
    "cluster_sizes",
    "cosine_to",
    "exact_cos",
    "leader_clusters",
    "leader_clusters_at",
    "median_of",
    "near_pairs",
    "order_spread",
    "pairwise_sample",
    "within_group",
]

# 512 x 1024 float32 stays in the second-level cache; larger tiles are scanned 2-10 times slower.
_BLOCK_ROWS = 512
_TILE_LEADERS = 1_024

# Pruning starts when this many leaders are there and there are this many rows a dimension: below, finding
# the axes (O(d^3)) costs more than it saves.
_PRUNE_LEADERS = 1_024
_PRUNE_ROWS_A_DIM = 16


def leader_clusters(vectors: npt.NDArray[Any], min_cos: float, *, block_rows: int = _BLOCK_ROWS) -> IntArray:
    """Assign each row to the first leader at least `min_cos` close, in row order.

    Parameters
    ----------
    vectors
        (n, d) float32, rows of unit length; order matters.
    min_cos
        Cosine threshold in [-1, 1].
    block_rows
        Rows compared at once; changes the time, never the labels.

    Returns
    -------
    (n,) int64 labels 0..k-1, numbered by first appearance; (0,) for no rows.

    Raises
    ------
    DataError
        A row is not finite or not of unit length (tolerance 1e-3).

    Notes
    -----
    O(n k d) time, O(k d) memory. Not stable under reordering: report the order used and
    :func:`order_spread`. A float32 product within the slack of the threshold (at least 1e-5) is
    recomputed by :func:`exact_cos`.
    Source: leader algorithm, Hartigan, Clustering Algorithms, 1975, chapter 3.
    """
    return leader_clusters_at(vectors, (min_cos,), block_rows=block_rows)[min_cos]


def leader_clusters_at(
    vectors: npt.NDArray[Any], thresholds: Sequence[float], *, block_rows: int = _BLOCK_ROWS
) -> dict[float, IntArray]:
    """Give the leader clusters at several thresholds from one pass over the rows.

    Parameters
    ----------
    vectors
        (n, d) float32, rows of unit length; order matters.
    thresholds
        Cosines in [-1, 1], any order.
    block_rows
        As in :func:`leader_clusters`.

    Returns
    -------
    Labels by threshold, in the order given; each is what :func:`leader_clusters` gives alone.

    Notes
    -----
    The rows that lead at any threshold are multiplied once, so that all thresholds together cost about
    as much as the highest alone.
    """
    for min_cos in thresholds:
        if not -1.0 <= min_cos <= 1.0:
            raise ValueError(f"cosine threshold {min_cos!r} is not in [-1, 1]")
    rows = unit_rows(vectors)
    ascending = tuple(sorted(set(thresholds)))
    if not ascending:
        return {}
    labels = _LeaderPass(rows, ascending).run(block_rows)
    return {min_cos: labels[ascending.index(min_cos)] for min_cos in thresholds}


class _LeaderPass:
    """State of one pass: the leaders so far (of any threshold) and their labels."""

    def __init__(self, rows: UnitRows, thresholds: tuple[float, ...]) -> None:
        self.rows = rows
        self.thresholds = np.array(thresholds)
        self.n_clusters = [0] * len(thresholds)
        n = len(rows.given)
        self.labels = np.full((len(thresholds), n), -1, dtype=np.int64)
        self.n_leaders = 0
        self.leader_rows = np.empty(0, dtype=np.int64)
        self.leader_labels = np.empty((len(thresholds), 0), dtype=np.int64)
        # What is multiplied first: the rows, or after pruning started their short form (`short_rows`).
        self.short = rows.unit
        self.leaders = np.empty((0, rows.unit.shape[1]), dtype=np.float32)
        self.may_prune = n >= _PRUNE_ROWS_A_DIM * rows.unit.shape[1]

    def run(self, block_rows: int) -> IntArray:
        """Label every row."""
        for start in range(0, len(self.rows.given), block_rows):
            block = np.arange(start, min(start + block_rows, len(self.rows.given)), dtype=np.int64)
            self._join_leaders(block)
            self._lead_or_join_within(block)
            if self.may_prune and self.n_leaders >= _PRUNE_LEADERS:
                self.may_prune = False
                self._start_pruning()
        return self.labels

    def _start_pruning(self) -> None:
        axes = principal_axes(self.rows.unit, self.thresholds)
        if axes is not None:
            self.short = short_rows(self.rows.unit, axes)
            leaders = self.short[self.leader_rows[: self.n_leaders]]
            self.leaders = _grown(leaders, len(self.leader_rows))

    def _join_leaders(self, block: IntArray) -> None:
        """Let the rows of a block join leaders of earlier blocks, tile by tile in leader order."""
        rows = block
        short = self.short[rows]
        for begin in range(0, self.n_leaders, _TILE_LEADERS):
            is_open = self.labels[:, rows] < 0
            alive = is_open.any(axis=0)
            if not alive.all():
                rows, is_open = rows[alive], is_open[:, alive]
                short = self.short[rows]
            if not rows.size:
                return
            end = min(begin + _TILE_LEADERS, self.n_leaders)
            # Thresholds ascend: the first open one is the lowest that this row still asks for.
            lowest = self.thresholds[is_open.argmax(axis=0)] - self.rows.slack
            r, c, cos = reaching(short @ self.leaders[begin:end].T, lowest)
            columns = self.leader_rows[begin:end]
            r, c, cos = self._verified(rows, columns, r, c, cos, lowest)
            if not r.size:
                continue
            c = c + begin
            for level, min_cos in enumerate(self.thresholds):
                leads = self.leader_labels[level, c]
                asked = np.flatnonzero((leads >= 0) & is_open[level, r] & (cos >= min_cos - self.rows.slack))
                i, j = rows[r[asked]], self.leader_rows[c[asked]]
                asked = asked[self.rows.at_least(i, j, cos[asked], float(min_cos))]
                if asked.size:
                    first = asked[_first_of_each(r[asked])]
                    self.labels[level, rows[r[first]]] = leads[first]

    def _lead_or_join_within(self, block: IntArray) -> None:
        """Let the rows that no earlier leader took join each other, in row order; the rest lead."""
        rows = block[(self.labels[:, block] < 0).any(axis=0)]
        if not rows.size:
            return
        short = self.short[rows]
        lowest = self.thresholds[(self.labels[:, rows] < 0).argmax(axis=0)] - self.rows.slack
        r, c, cos = reaching(short @ short.T, lowest)
        upper = c > r
        r, c, cos = self._verified(rows, rows, r[upper], c[upper], cos[upper], lowest)
        new_labels = np.full((len(self.thresholds), len(rows)), -1, dtype=np.int64)
        for level, min_cos in enumerate(self.thresholds):
            is_open = self.labels[level, rows] < 0
            pairs = np.flatnonzero((cos >= min_cos - self.rows.slack) & is_open[r] & is_open[c])
            reached = self.rows.at_least(rows[r[pairs]], rows[c[pairs]], cos[pairs], float(min_cos))
            pairs = pairs[reached]
            leader_of = _leaders_among(r[pairs], c[pairs], len(rows))
            leads = is_open & (leader_of == np.arange(len(rows)))
            n_new = int(np.count_nonzero(leads))
            new_labels[level, leads] = self.n_clusters[level] + np.arange(n_new)
            self.n_clusters[level] += n_new
            self.labels[level, rows[is_open]] = new_labels[level, leader_of[is_open]]
        led = (new_labels >= 0).any(axis=0)
        self._add(rows[led], new_labels[:, led])

    def _verified(
        self,
        rows: IntArray,
        columns: IntArray,
        r: IntArray,
        c: IntArray,
        cos: FloatArray,
        lowest: DoubleArray,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Turn entries whose upper bound reaches `lowest` into those whose float32 product does."""
        if self.short is self.rows.unit or not r.size:
            return r, c, cos
        unit = self.rows.unit
        if r.size <= MAX_GATHERED_SHARE * len(rows) * len(columns):
            cos = np.einsum("ij,ij->i", unit[rows[r]], unit[columns[c]])
        else:
            hot, where = np.unique(r, return_inverse=True)
            cos = (unit[rows[hot]] @ unit[columns].T)[where, c]
        kept = cos >= lowest[r]
        return r[kept], c[kept], cos[kept]

    def _add(self, rows: IntArray, labels: IntArray) -> None:
        end = self.n_leaders + len(rows)
        if end > len(self.leaders):
            room = min(len(self.rows.given), max(end, 2 * len(self.leaders)))
            self.leaders = _grown(self.leaders, room)
            self.leader_rows = _grown(self.leader_rows, room)
            self.leader_labels = _grown(self.leader_labels.T, room).T
        self.leaders[self.n_leaders : end] = self.short[rows]
        self.leader_rows[self.n_leaders : end] = rows
        self.leader_labels[:, self.n_leaders : end] = labels
        self.n_leaders = end


def _first_of_each(sorted_rows: IntArray) -> npt.NDArray[np.bool_]:
    first = np.ones(len(sorted_rows), dtype=np.bool_)
    first[1:] = sorted_rows[1:] != sorted_rows[:-1]
    return first


def _leaders_among(r: IntArray, c: IntArray, n: int) -> IntArray:
    """Give the leader of each of n rows from the near pairs r < c, sorted by r; one without is its own."""
    leader_of = np.arange(n, dtype=np.int64)
    if not r.size:
        return leader_of
    starts = np.flatnonzero(_first_of_each(r))
    ends = np.append(starts[1:], len(r))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        row = int(r[start])
        if leader_of[row] != row:
            continue  # it joined an earlier leader and takes nobody
        near = c[start:end]
        free = near[leader_of[near] == near]
        leader_of[free] = row
    return leader_of


def _grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    grown = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@dataclass(frozen=True)
class ClusterCount:
    """How many clusters, the rows of the largest, and how many hold one row; all 0 for no rows."""

    clusters: int
    largest: int
    singletons: int


def cluster_sizes(labels: IntArray) -> ClusterCount:
    """Count clusters from the labels of rows."""
    if not len(labels):
        return ClusterCount(0, 0, 0)
    sizes = np.unique(labels, return_counts=True)[1]
    return ClusterCount(len(sizes), int(sizes.max()), int(np.count_nonzero(sizes == 1)))


class OrderSpread(NamedTuple):
    """Number of clusters over several row orders."""

    low: int
    median: float
    high: int


# Beyond this many near pairs a list of them costs more than the clustering it saves.
_MAX_EDGES = 2_000_000


def order_spread(vectors: npt.NDArray[Any], min_cos: float, rng: np.random.Generator, n_orders: int) -> OrderSpread:
    """Count leader clusters over shuffled row orders.

    Parameters
    ----------
    vectors
        (n, d) rows of unit length.
    min_cos
        Cosine threshold in [-1, 1].
    rng
        The only source of chance; one permutation an order.
    n_orders
        Orders tried, at least 1.

    Returns
    -------
    Smallest, median and largest number of clusters; the stored order is not among them.

    Notes
    -----
    The near pairs are found once and every order is counted on them: the cosines do not depend on the
    order. With more than 2,000,000 near pairs each order is clustered anew.
    """
    if n_orders < 1:
        raise ValueError("n_orders must be at least 1")
    n = len(vectors)
    pairs = list_near(unit_rows(vectors), min_cos, _MAX_EDGES, count_all=False)
    orders = (rng.permutation(n) for _ in range(n_orders))
    if pairs.cut:
        counts = [cluster_sizes(leader_clusters(vectors[order], min_cos)).clusters for order in orders]
    else:
        counts = [_count_leaders(pairs.i, pairs.j, order) for order in orders]
    return OrderSpread(min(counts), float(median(counts)), max(counts))


def _count_leaders(i: IntArray, j: IntArray, order: IntArray) -> int:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    earlier = np.minimum(place[i], place[j])
    later = np.maximum(place[i], place[j])
    by_row = np.argsort(earlier, kind="stable")
    leader_of = _leaders_among(earlier[by_row], later[by_row], len(order))
    return int(np.count_nonzero(leader_of == np.arange(len(order))))
