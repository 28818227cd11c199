"""Cosines of pairs, groups and the background."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.cluster import cosines
from memaudit.cluster.cosines import (
    BackgroundCosine,
    GroupCosine,
    background_cosine,
    cosine_to,
    near_pairs,
    pairwise_sample,
    within_group,
)
from memaudit.cluster.unit_rows import exact_cos
from memaudit.errors import DataError

Array = npt.NDArray[np.float32]


def unit(rows: Any) -> Array:
    array = np.array(rows, dtype=np.float64)
    array /= np.linalg.norm(array, axis=1, keepdims=True)
    return array.astype(np.float32)


def some_rows(n: int, dim: int = 16, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return unit(rng.standard_normal((n, dim)) + 0.5)


def all_pairs(rows: Array) -> dict[tuple[int, int], float]:
    double = rows.astype(np.float64)
    return {
        (i, j): float(double[i] @ double[j] / np.linalg.norm(double[i]) / np.linalg.norm(double[j]))
        for i, j in combinations(range(len(rows)), 2)
    }


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosines, "_TILE_ROWS", 5)
    monkeypatch.setattr(cosines, "_TILE_COLUMNS", 7)
    monkeypatch.setattr(cosines, "_FLOAT64_ROWS", 3)


def test_exact_cos_of_known_vectors() -> None:
    # (3,4).(4,3) = 24, lengths 5 and 5: .96. (1,0).(0,2) = 0. (1,1,1)x2 and itself: 1.
    assert exact_cos(np.array([[3, 4], [1, 0]]), np.array([[4, 3], [0, 2]])).tolist() == [0.96, 0.0]
    assert exact_cos(np.array([[1, 1, 1]]), np.array([[1, 1, 1]])).tolist() == [1.0]


def test_exact_cos_of_a_zero_or_broken_row_is_nan() -> None:
    first = np.array([[0, 0], [np.nan, 1], [np.inf, 1]])
    assert np.isnan(exact_cos(first, np.ones((3, 2)))).all()
    assert exact_cos(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 40))
def test_exact_cos_is_symmetric_and_one_for_equal_rows(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 6, d)).astype(np.float32)
    np.testing.assert_array_equal(exact_cos(a, b), exact_cos(b, a))
    assert exact_cos(a, a).tolist() == [1.0] * 6
    expected = np.sum(a.astype(np.float64) * b, axis=1)
    expected /= np.linalg.norm(a.astype(np.float64), axis=1) * np.linalg.norm(b.astype(np.float64), axis=1)
    np.testing.assert_allclose(exact_cos(a, b), expected, atol=1e-14)


def test_within_group_of_three_known_rows() -> None:
    # 0, 60 and 90 degrees: cosines .5, 0 and cos 30 = .8660254; mean (.5 + 0 + .8660254) / 3 = .4553418.
    rows = unit([[1, 0], [0.5, np.sqrt(0.75)], [0, 1]])
    group = within_group(rows)
    assert group.n_pairs == 3
    assert group.min_cos == pytest.approx(0.0, abs=1e-7)
    assert group.mean_cos == pytest.approx(0.4553418, abs=1e-6)


@pytest.mark.usefixtures("small_tiles")
def test_within_group_by_tiles_equals_all_pairs() -> None:
    rows = some_rows(33)
    expected = all_pairs(rows)
    group = within_group(rows)
    assert group.n_pairs == 33 * 32 // 2 == len(expected)
    assert group.min_cos == pytest.approx(min(expected.values()), abs=1e-12)
    assert group.mean_cos == pytest.approx(sum(expected.values()) / len(expected), abs=1e-12)


@pytest.mark.usefixtures("small_tiles")
def test_within_group_of_equal_rows_is_one() -> None:
    group = within_group(np.repeat(unit([[1, 2, 3]]), 40, axis=0))
    assert group == GroupCosine(780, 1.0, 1.0)


@pytest.mark.usefixtures("small_tiles")
def test_within_group_when_the_least_pair_lies_in_a_diagonal_tile() -> None:
    rows = np.repeat(unit([[1, 0]]), 20, axis=0)
    rows[3] = [-1, 0]
    assert within_group(rows).min_cos == -1.0


@pytest.mark.parametrize("n", [0, 1])
def test_within_group_below_two_rows_measures_nothing(n: int) -> None:
    assert within_group(some_rows(n)) == GroupCosine(0, None, None)


def test_near_pairs_of_three_known_rows() -> None:
    rows = unit([[1, 0], [0.6, 0.8], [0.8, 0.6]])  # cosines .6, .8, .96
    found = near_pairs(rows, 0.79)
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == [(0, 2), (1, 2)]
    np.testing.assert_allclose(found.cos, [0.8, 0.96], atol=1e-7)
    assert (found.n_pairs, found.cut) == (2, False)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("min_cos", [-1.0, 0.0, 0.3, 0.5, 1.0])
def test_near_pairs_by_tiles_equal_all_pairs(min_cos: float) -> None:
    rows = some_rows(40)
    rows[30] = rows[4]
    expected = [pair for pair, cos in all_pairs(rows).items() if cos >= min_cos - 1e-15]
    found = near_pairs(rows, min_cos)
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == expected
    assert (found.n_pairs, found.cut) == (len(expected), False)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("limit", [0, 1, 17, 100])
def test_near_pairs_beyond_the_limit_keep_the_first_and_count_all(limit: int) -> None:
    rows = some_rows(40)
    full = near_pairs(rows, 0.1)
    assert full.n_pairs > 100
    found = near_pairs(rows, 0.1, limit=limit)
    assert found.cut
    assert found.n_pairs == full.n_pairs
    np.testing.assert_array_equal(found.i, full.i[:limit])
    np.testing.assert_array_equal(found.j, full.j[:limit])
    np.testing.assert_array_equal(found.cos, full.cos[:limit])


def test_near_pairs_of_no_rows_are_none() -> None:
    found = near_pairs(some_rows(0), 0.5)
    assert (len(found.i), len(found.j), len(found.cos), found.n_pairs, found.cut) == (0, 0, 0, 0, False)


@pytest.mark.parametrize("n_pairs", [0, 1, 50, 190, 10_000])
def test_pairwise_sample_gives_distinct_pairs_and_their_cosines(n_pairs: int) -> None:
    rows = some_rows(20)
    sample = pairwise_sample(rows, np.random.default_rng(4), n_pairs)
    pairs = list(zip(sample.i.tolist(), sample.j.tolist(), strict=True))
    assert len(pairs) == min(n_pairs, 190) == len(set(pairs))
    expected = all_pairs(rows)
    np.testing.assert_allclose(sample.cos, [expected[pair] for pair in pairs], atol=1e-12)


def test_pair_numbers_turn_into_pairs_and_back() -> None:
    assert list(zip(*(part.tolist() for part in cosines._numbered_pairs(np.arange(6))), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 3),
        (1, 3),
        (2, 3),
    ]
    # The first and last pair of row j: the square root must not be one off, up to 2 billion rows.
    j = np.concatenate([np.arange(1, 3_000), np.array([10**6, 94_906_267, 2_000_000_000])])
    for i in (np.zeros_like(j), j - 1):
        got_i, got_j = cosines._numbered_pairs(i + j * (j - 1) // 2)
        np.testing.assert_array_equal(got_i, i)
        np.testing.assert_array_equal(got_j, j)


def test_background_cosine_of_three_known_rows() -> None:
    # .6, .8, .96: the median is .8.
    rows = unit([[1, 0], [0.6, 0.8], [0.8, 0.6]])
    background = background_cosine(rows, np.random.default_rng(0))
    assert background.median_cos == pytest.approx(0.8, abs=1e-7)
    assert (background.n_pairs, background.sampled) == (3, False)


def test_background_cosine_of_many_rows_is_sampled_and_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(300)
    exact = background_cosine(rows, np.random.default_rng(0))
    monkeypatch.setattr(cosines, "ALL_PAIRS_ROWS", 299)
    sampled = background_cosine(rows, np.random.default_rng(0), n_pairs=20_000)
    assert sampled == background_cosine(rows, np.random.default_rng(0), n_pairs=20_000)
    assert (sampled.n_pairs, sampled.sampled) == (20_000, True)
    assert exact.median_cos is not None
    assert sampled.median_cos == pytest.approx(exact.median_cos, abs=0.01)


@pytest.mark.parametrize("n", [0, 1])
def test_background_cosine_below_two_rows_measures_nothing(n: int) -> None:
    assert background_cosine(some_rows(n), np.random.default_rng(0)) == BackgroundCosine(None, 0, False)


def test_cosine_to_a_row_of_known_rows() -> None:
    rows = unit([[1, 0], [0.6, 0.8], [0.8, 0.6]])
    np.testing.assert_allclose(cosine_to(rows, 1), [0.6, 1.0, 0.96], atol=1e-7)
    assert cosine_to(rows, 1)[1] == 1.0
    with pytest.raises(IndexError):
        cosine_to(rows, 3)


@pytest.mark.parametrize("measure", [within_group, lambda rows: near_pairs(rows, 0.9), lambda rows: cosine_to(rows, 0)])
def test_measures_refuse_rows_that_are_not_of_unit_length(measure: Any) -> None:
    with pytest.raises(DataError, match="not of unit length"):
        measure(np.array([[1.0, 1.0], [0.0, 1.0]], dtype=np.float32))
    with pytest.raises(DataError, match="table of rows"):
        measure(np.ones(3, dtype=np.float32))
