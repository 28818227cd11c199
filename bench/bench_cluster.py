"""Time exact leader clustering against the same multiplications as bare matrix products.

Run as a script: ``python bench/bench_cluster.py [--rows 10000] [--repeat 5]``. The floor is the product
of every row with every leader that the plain loop compares it with (up to and including the first hit),
as bare float32 products of 512 x d x 1024: what no exact method that multiplies everything can beat.
The goal is a ratio of at most 1.5 at 10,000 rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from goals import goal

from memaudit.cluster import cluster_sizes, leader_clusters, leader_clusters_at

DIM = 384
MIN_COS = 0.90
GOAL = 1.5
THRESHOLDS = (0.98, 0.95, 0.90, 0.85)


def synthetic_rows(n: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Make n rows in about n / 3 groups under 50 topics, cosine .60 to .99 within a group.

    At 0.90 about five rows in six become leaders, which is close to the worst case.
    """
    rng = np.random.default_rng(seed)
    topics = _unit(rng.standard_normal((50, DIM)))
    n_groups = max(1, n // 3)
    centres = _unit(0.6 * topics[rng.integers(0, 50, n_groups)] + 0.8 * _unit(rng.standard_normal((n_groups, DIM))))
    group = rng.integers(0, n_groups, n)
    # Two rows at cosine sqrt(c) to their centre have cosine c to each other.
    to_centre = np.sqrt(rng.uniform(0.60, 0.99, n_groups))[group]
    noise = rng.standard_normal((n, DIM))
    noise = _unit(noise - np.sum(noise * centres[group], axis=1, keepdims=True) * centres[group])
    rows = to_centre[:, None] * centres[group] + np.sqrt(1 - to_centre**2)[:, None] * noise
    return _unit(rows).astype(np.float32)


def compared_pairs(labels: npt.NDArray[np.int64]) -> int:
    """Count the products of the plain loop: for each row the leaders up to its own, or all so far."""
    leads = np.zeros(len(labels), dtype=np.bool_)
    leads[np.unique(labels, return_index=True)[1]] = True
    leaders_before: npt.NDArray[np.int64] = np.cumsum(leads) - leads
    return int(np.where(leads, leaders_before, labels + 1).sum())


def bare_products(rows: npt.NDArray[np.float32], n_products: int) -> None:
    """Multiply blocks of 512 rows with tiles of 1,024 rows until as many products are made."""
    out = np.empty((512, 1024), dtype=np.float32)
    tiles = max(1, round(n_products / out.size))
    for tile in range(tiles):
        left = (tile * 512) % max(1, len(rows) - 512)
        right = (tile * 1024) % max(1, len(rows) - 1024)
        np.matmul(rows[left : left + 512], rows[right : right + 1024].T, out=out)


def seconds(works: Sequence[Callable[[], Any]], repeat: int) -> list[float]:
    """Give the best wall time of each work; they take turns, so that a busy machine is busy for all."""
    best = [float("inf")] * len(works)
    for turn in range(repeat + 1):
        for number, work in enumerate(works):
            start = time.perf_counter()
            work()
            if turn:  # the first turn warms up
                best[number] = min(best[number], time.perf_counter() - start)
    return best


def main() -> None:
    """Print the times and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    rows = synthetic_rows(args.rows)
    labels = leader_clusters(rows, MIN_COS)
    count = cluster_sizes(labels)
    n_products = compared_pairs(labels)
    floor, ours, together, lowest = seconds(
        (
            lambda: bare_products(rows, n_products),
            lambda: leader_clusters(rows, MIN_COS),
            lambda: leader_clusters_at(rows, THRESHOLDS),
            lambda: leader_clusters(rows, min(THRESHOLDS)),
        ),
        args.repeat,
    )
    goal(f"clustering of {args.rows:,} rows x {DIM} at {MIN_COS}, against bare products of the same operations",
         ours / floor, GOAL, "times", more=f"{ours:.3f} against {floor:.3f} s, {2 * DIM * n_products / 1e9:.1f} GFLOP, "
         f"{count.clusters:,} clusters")  # fmt: skip
    print(
        f"        {len(THRESHOLDS)} thresholds together: {together / lowest:.2f} times the lowest alone, {together:.3f} s"
    )


def _unit(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


if __name__ == "__main__":
    main()
