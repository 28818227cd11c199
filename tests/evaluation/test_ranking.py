"""Ranks and nearest documents against a plain loop over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.evaluation.ranking import TIE, best_ranks, kept_neighbours, nearest


def unit(rows: Any) -> Any:
    rows = np.asarray(rows, dtype=np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def slow_order(query: Any, documents: Any, out: set[int]) -> list[int]:
    """Sort documents by cosine, best first; those as good as each other (rounded) in their own order."""
    scores = [round(sum(float(a) * float(b) for a, b in zip(query, d, strict=True)), 5) for d in documents]
    return [i for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)) if i not in out]


# Coordinates on a coarse grid: cosines are either equal or far apart, with many ties among them.
GRID = st.lists(st.sampled_from([(1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (-1, 1)]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(documents=GRID, queries=GRID, data=st.data())
def test_ranks_when_drawn_then_those_of_a_sorted_list(documents: Any, queries: Any, data: Any) -> None:
    d, q = unit(documents), unit(queries)
    numbers = st.lists(st.integers(0, len(documents) - 1), max_size=4, unique=True)
    expected = [[data.draw(numbers), data.draw(numbers)] for _ in queries]
    out = [data.draw(numbers) for _ in queries]
    k = data.draw(st.integers(1, 14))
    ranks = best_ranks(q, d, expected, out)
    top = nearest(q, d, k, out)
    assert top.shape == (len(queries), min(k, len(documents)))
    for i in range(len(queries)):
        order = slow_order(q[i], d, set(out[i]))
        slow = tuple(min((order.index(x) + 1 for x in group if x in order), default=None) for group in expected[i])
        assert ranks[i] == slow
        assert [x for x in top[i].tolist() if x >= 0] == order[:k]


def test_ranks_when_random_vectors_span_several_blocks_then_as_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memaudit.evaluation.ranking._SCORES", 60 * 128)  # 128, 128 and 44 queries
    rng = np.random.default_rng(4)
    d, q = unit(rng.normal(size=(60, 24))), unit(rng.normal(size=(300, 24)))
    expected = [[[i % 60], [(i * 7) % 60, (i * 11) % 60]] for i in range(300)]
    order = np.argsort(-(q.astype(np.float64) @ d.astype(np.float64).T), axis=1)
    place = np.argsort(order, axis=1) + 1
    ranks = best_ranks(q, d, expected)
    assert ranks == [
        (int(place[i, i % 60]), int(min(place[i, (i * 7) % 60], place[i, (i * 11) % 60]))) for i in range(300)
    ]
    assert np.array_equal(nearest(q, d, 5), order[:, :5])


def test_ranks_when_scores_differ_in_the_last_bit_then_document_order() -> None:
    one = np.array([[1.0, 0.0]], dtype=np.float32)
    documents = np.array([[1.0 - TIE / 4, 0.0], [1.0, 0.0], [0.5, 0.0]], dtype=np.float32)
    assert best_ranks(one, documents, [[[1]]]) == [(2,)]
    assert nearest(one, documents, 1).tolist() == [[0]]


def test_ranks_when_everything_is_excluded_or_nothing_is_expected_then_none() -> None:
    d = unit([(1, 0), (0, 1)])
    assert best_ranks(d[:1], d, [[[], [0], [1]]], [[0]]) == [(None, None, 1)]
    assert nearest(d[:1], d, 2, [[0, 1]]).tolist() == [[-1, -1]]


def test_ranks_when_there_are_no_queries_or_documents_then_empty() -> None:
    d = unit([(1, 0)])
    none = np.empty((0, 2), dtype=np.float32)
    assert best_ranks(none, d, []) == []
    assert nearest(none, d, 3).shape == (0, 1)
    assert best_ranks(d, none, [[[]]]) == [(None,)]
    assert nearest(d, none, 3).shape == (1, 0)


def test_ranks_when_shapes_do_not_fit_then_refused() -> None:
    d = unit([(1, 0)])
    with pytest.raises(DataError, match="same encoder"):
        best_ranks(np.ones((1, 3), dtype=np.float32), d, [[[0]]])
    with pytest.raises(DataError, match="expected has 2"):
        best_ranks(d, d, [[[0]], [[0]]])
    with pytest.raises(DataError, match="k is 0"):
        nearest(d, d, 0)


def test_neighbours_when_half_stay_then_half() -> None:
    # row 1 keeps 1 of 2, row 2 keeps 2 of 2 in another order, row 3 had one neighbour and lost it: (.5 + 1 + 0) / 3
    before = np.array([[1, 2], [0, 2], [1, -1]])
    after = np.array([[1, 3], [2, 0], [0, 3]])
    assert kept_neighbours(before, after) == pytest.approx(0.5)
    assert kept_neighbours(np.empty((0, 2), dtype=np.int64), np.empty((0, 2), dtype=np.int64)) is None
