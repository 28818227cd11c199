"""Leader clusters: the plain double loop is the reference, at any block size and on hard data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.cluster import (
    ClusterCount,
    cluster_sizes,
    exact_cos,
    leader_clusters,
    leader_clusters_at,
    order_spread,
)
from memaudit.cluster.short_rows import principal_axes, short_rows
from memaudit.errors import DataError

Array = npt.NDArray[np.float32]


def unit(rows: Any) -> Array:
    array = np.array(rows, dtype=np.float64)
    array /= np.linalg.norm(array, axis=1, keepdims=True)
    return array.astype(np.float32)


def naive_leaders(vectors: Array, min_cos: float) -> npt.NDArray[np.int64]:
    """The definition, row by row: the obvious reference."""
    leaders: list[int] = []
    labels = []
    for row in range(len(vectors)):
        cos = exact_cos(np.repeat(vectors[row : row + 1], len(leaders), axis=0), vectors[leaders])
        near = np.flatnonzero(cos >= min_cos)
        if near.size:
            labels.append(int(near[0]))
        else:
            labels.append(len(leaders))
            leaders.append(row)
    return np.array(labels, dtype=np.int64)


def grouped_rows(n: int, n_groups: int, noise: float, dim: int = 24, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_groups, dim))
    return unit(centres[rng.integers(0, n_groups, n)] + noise * rng.standard_normal((n, dim)))


def tied_rows(n: int) -> Array:
    """All pairs have the same cosine: one shared coordinate and one of its own for each row."""
    rows = np.zeros((n, n + 1), dtype=np.float32)
    rows[:, 0] = np.sqrt(0.9)
    rows[np.arange(n), 1 + np.arange(n)] = np.sqrt(0.1)
    return rows


HARD = {
    "random": grouped_rows(300, 300, 1.0),
    "grouped": grouped_rows(300, 40, 0.35),
    "one giant cluster": grouped_rows(300, 1, 0.05),
    "one giant loose cluster": grouped_rows(300, 1, 0.4),
    "all distinct": np.eye(90, dtype=np.float32),
    "all equal": np.repeat(unit([[1, 2, 3, 4]]), 300, axis=0),
    "all ties": tied_rows(120),
    "opposite": unit(np.concatenate([np.ones((40, 5)), -np.ones((40, 5))])),
}


def test_leader_clusters_on_four_known_rows() -> None:
    # Angles 0, 20, 40 and 25 degrees; cos 20 = .940, cos 40 = .766, cos 25 = .906, cos 15 = .966.
    # At .90: row 1 joins row 0; row 2 (.766 to row 0) leads; row 3 joins the FIRST leader near it, row 0
    # (.906), although row 2 is nearer (.966).
    angles = np.radians([0, 20, 40, 25])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert leader_clusters(rows, 0.90).tolist() == [0, 0, 1, 0]
    # At .95 rows 0, 1, 2 lead; row 3 is .906, .996 and .966 to them.
    assert leader_clusters(rows, 0.95).tolist() == [0, 1, 2, 1]


def test_leader_clusters_chain_does_not_grow_through_members() -> None:
    # 0, 20, 40 degrees at .90: 40 is .940 to row 1, but row 1 is a member, not a leader.
    angles = np.radians([0, 20, 40])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert leader_clusters(rows, 0.90).tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("min_cos", [0.98, 0.9, 0.7, 0.0])
def test_leader_clusters_equal_the_plain_loop_at_any_block_size(name: str, min_cos: float) -> None:
    rows = HARD[name]
    expected = naive_leaders(rows, min_cos)
    for block_rows in (1, 2, 7, 64, 512):
        np.testing.assert_array_equal(leader_clusters(rows, min_cos, block_rows=block_rows), expected)


@pytest.mark.parametrize("block_rows", [1, 13, 512])
def test_leader_clusters_when_all_pairs_tie_flip_all_together(block_rows: int) -> None:
    rows = tied_rows(120)
    tie = float(exact_cos(rows[:1], rows[1:2])[0])
    assert cluster_sizes(leader_clusters(rows, tie, block_rows=block_rows)) == ClusterCount(1, 120, 0)
    above = float(np.nextafter(tie, 2))
    assert cluster_sizes(leader_clusters(rows, above, block_rows=block_rows)) == ClusterCount(120, 1, 120)


def test_leader_clusters_at_one_joins_equal_rows_only() -> None:
    # float32 lengths are off by up to 6e-8, and still a row has cosine 1 with its copy.
    rows = unit(np.random.default_rng(3).standard_normal((50, 384)))
    assert leader_clusters(np.concatenate([rows, rows]), 1.0).tolist() == [*range(50), *range(50)]


def test_leader_clusters_when_a_row_is_a_hair_below_stays_apart() -> None:
    # float32 cannot tell .9 from .9 - 1e-7 in a product of 512 terms; the fixed float64 dot can.
    rng = np.random.default_rng(5)
    base = unit(rng.standard_normal((1, 512)))[0].astype(np.float64)
    other = rng.standard_normal(512)
    other -= other @ base * base
    other /= np.linalg.norm(other)
    rows = np.stack([base, 0.9 * base + np.sqrt(1 - 0.81) * other]).astype(np.float32)
    cos = float(np.sum(rows[0].astype(np.float64) * rows[1]) / np.prod(np.linalg.norm(rows.astype(np.float64), axis=1)))
    assert leader_clusters(rows, cos - 1e-9).tolist() == [0, 0]
    assert leader_clusters(rows, cos + 1e-9).tolist() == [0, 1]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(0, 60), min_cos=st.floats(-1, 1), block=st.integers(1, 70))
def test_leader_clusters_equal_the_plain_loop_on_any_rows(seed: int, n: int, min_cos: float, block: int) -> None:
    rng = np.random.default_rng(seed)
    rows = unit(rng.integers(-2, 3, (n, 3)) + np.array([0.5, 0.25, 0.125]))  # small integers: many exact ties
    np.testing.assert_array_equal(leader_clusters(rows, min_cos, block_rows=block), naive_leaders(rows, min_cos))


def test_leader_clusters_when_pruning_starts_give_the_same_labels() -> None:
    # 64 dimensions and 4,000 rows: pruning starts after 1,024 leaders (checked below on the same axes).
    rng = np.random.default_rng(2)
    scale = 0.8 ** np.arange(64)
    rows = unit(rng.standard_normal((4_000, 64)) * scale)
    axes = principal_axes(rows, np.array([0.97]))
    assert axes is not None
    labels = leader_clusters(rows, 0.97)
    assert labels.max() > 1_500
    leads = np.unique(labels, return_index=True)[1]
    cos = rows.astype(np.float64) @ rows[leads].astype(np.float64).T
    # No product is within 1e-9 of the threshold, so float64 decides every pair.
    assert np.abs(cos - 0.97)[cos < 0.9999].min() > 1e-9
    near = cos >= 0.97
    near[np.arange(4_000)[:, None] < leads[None, :]] = False  # only leaders up to the row itself
    np.testing.assert_array_equal(near.argmax(axis=1), labels)
    assert near.any(axis=1).all()
    several = leader_clusters_at(rows, (0.99, 0.97))
    np.testing.assert_array_equal(several[0.97], labels)
    np.testing.assert_array_equal(several[0.99], leader_clusters(rows, 0.99))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), p=st.integers(1, 8))
def test_short_rows_bound_the_cosine_from_above(seed: int, p: int) -> None:
    rows = unit(np.random.default_rng(seed).standard_normal((30, 8)))
    rows[1] = rows[0]
    axes = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((8, 8)))[0][:, :p]
    short = short_rows(rows, axes).astype(np.float64)
    cos = rows.astype(np.float64) @ rows.astype(np.float64).T
    assert (short @ short.T >= cos - 1e-6).all()


def test_principal_axes_when_nothing_would_be_saved_are_none() -> None:
    # Isotropic rows at a low threshold: few axes bound nothing.
    rows = unit(np.random.default_rng(0).standard_normal((600, 64)))
    assert principal_axes(rows, np.array([0.3])) is None


@pytest.mark.parametrize("name", HARD)
def test_leader_clusters_at_equals_each_threshold_alone(name: str) -> None:
    thresholds = (0.98, 0.95, 0.90, 0.85, 0.90)
    together = leader_clusters_at(HARD[name], thresholds, block_rows=32)
    assert list(together) == [0.98, 0.95, 0.90, 0.85]
    for min_cos, labels in together.items():
        np.testing.assert_array_equal(labels, leader_clusters(HARD[name], min_cos))


def test_leader_clusters_of_no_rows_are_empty() -> None:
    empty = np.empty((0, 16), dtype=np.float32)
    assert leader_clusters(empty, 0.9).tolist() == []
    assert leader_clusters_at(empty, (0.9, 0.8))[0.8].dtype == np.int64
    assert leader_clusters_at(empty, ()) == {}
    assert cluster_sizes(leader_clusters(empty, 0.9)) == ClusterCount(0, 0, 0)


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 3)), np.full((2, 3), np.nan), np.array([[np.inf, 0]]), np.array([[1.0, 0.1]])]
)
def test_leader_clusters_when_a_row_is_not_of_unit_length_say_which(rows: npt.NDArray[np.float64]) -> None:
    with pytest.raises(DataError, match=r"rows 0"):
        leader_clusters(rows.astype(np.float32), 0.9)


def test_leader_clusters_when_the_threshold_is_no_cosine_refuse() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        leader_clusters(np.eye(2, dtype=np.float32), 1.5)
    with pytest.raises(ValueError, match="nan"):
        leader_clusters(np.eye(2, dtype=np.float32), float("nan"))


def test_leader_clusters_do_not_change_their_input() -> None:
    rows = HARD["grouped"].copy()
    leader_clusters(rows, 0.9)
    np.testing.assert_array_equal(rows, HARD["grouped"])


def test_leader_clusters_scale_rows_that_are_nearly_unit() -> None:
    # Lengths 0.9995 and 1.0005: a bare product would be 1 - 2.5e-7 or off by 1e-3.
    rows = np.array([[0.9995, 0], [0, 1.0005], [0.9995, 0]], dtype=np.float32)
    assert leader_clusters(rows, 1.0).tolist() == [0, 1, 0]


def test_cluster_sizes_of_known_labels() -> None:
    assert cluster_sizes(np.array([0, 1, 1, 2, 1, 3])) == ClusterCount(clusters=4, largest=3, singletons=3)


def test_order_spread_covers_the_orders_of_a_chain() -> None:
    # Rows at 0, 20, 40 degrees, threshold .90 (25.8 degrees): the middle row joins whoever leads. It leads
    # only when it comes first: 1 cluster; else the two ends are apart: 2 clusters.
    angles = np.radians([0, 20, 40])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    spread = order_spread(rows, 0.90, np.random.default_rng(0), 40)
    assert spread == (1, 2.0, 2)
    assert spread.low == 1


def test_order_spread_equals_clustering_each_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = HARD["grouped"]
    rng = np.random.default_rng(9)
    counts = [cluster_sizes(leader_clusters(rows[rng.permutation(300)], 0.8)).clusters for _ in range(7)]
    expected = (min(counts), float(np.median(counts)), max(counts))
    assert order_spread(rows, 0.8, np.random.default_rng(9), 7) == expected
    monkeypatch.setattr("memaudit.cluster._MAX_EDGES", 5)  # too many near pairs: cluster each order anew
    assert order_spread(rows, 0.8, np.random.default_rng(9), 7) == expected


def test_order_spread_of_no_rows_is_zero() -> None:
    assert order_spread(np.empty((0, 4), dtype=np.float32), 0.9, np.random.default_rng(0), 3) == (0, 0.0, 0)
    with pytest.raises(ValueError, match="n_orders"):
        order_spread(np.eye(2, dtype=np.float32), 0.9, np.random.default_rng(0), 0)


def test_leader_clusters_of_the_healthy_case_are_all_apart() -> None:
    shared = Path(os.environ.get("MEMAUDIT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    store = shared / "cases" / "059-control-repeated-readings" / "files" / "store.db"
    if not store.exists():
        candidates = sorted((shared / "cases").glob("059-*/**/store.db")) if shared.exists() else []
        if not candidates:
            pytest.skip("the shared cases are not beside this checkout")
        store = candidates[0]
    import sqlite3

    connection = sqlite3.connect(f"{store.as_uri()}?mode=ro&immutable=1", uri=True)
    blobs = [row[0] for row in connection.execute("select embedding from memories order by rowid")]
    connection.close()
    rows = unit([np.frombuffer(blob, dtype="<f4") for blob in blobs])
    # Figures of the case: 32 rows, 14 clusters at every threshold.
    for labels in leader_clusters_at(rows, (0.98, 0.95, 0.9, 0.85)).values():
        assert cluster_sizes(labels).clusters == 14
