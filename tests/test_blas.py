"""Threads of the matrix products of an audit."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from memaudit.blas import SMALL_ROWS, fitting_threads


def _threads() -> list[int]:
    assert np.dot(np.ones(2), np.ones(2)) == 2  # numpy's library is loaded
    return [
        library["num_threads"]
        for library in import_module("threadpoolctl").threadpool_info()
        if library["user_api"] == "blas"
    ]


@pytest.mark.parametrize("rows", [0, 175, SMALL_ROWS])
def test_threads_when_there_are_few_rows_then_one_and_as_before_afterwards(rows: int) -> None:
    before = _threads()
    with fitting_threads(rows):
        assert set(_threads()) <= {1}
    assert _threads() == before


def test_threads_when_there_are_many_rows_then_as_they_are() -> None:
    before = _threads()
    with fitting_threads(SMALL_ROWS + 1):
        assert _threads() == before
