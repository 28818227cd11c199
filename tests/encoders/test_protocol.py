"""How texts are handed to a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memaudit.encoders.protocol import encode_distinct, unit_rows_of
from memaudit.errors import EncoderError


def lengths(batch: list[str]) -> Any:
    return np.array([[len(text), 1.0] for text in batch])


def test_encode_distinct_keeps_the_order_and_encodes_each_text_once() -> None:
    batches: list[list[str]] = []

    def encode(batch: list[str]) -> Any:
        batches.append(batch)
        return lengths(batch)

    texts = ["长文本内容", "a", "", "bb", "a", "长文本内容", "cc"]
    rows = encode_distinct(texts, 2, 2, encode)
    # Distinct texts by length, then text: "", a, bb, cc, 长文本内容; two a batch.
    assert batches == [["", "a"], ["bb", "cc"], ["长文本内容"]]
    # (5, 1) / sqrt(26), (1, 1) / sqrt(2), (0, 1), (2, 1) / sqrt(5).
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [5, 1, 0, 2, 1, 5, 2], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)
    assert rows.dtype == np.float32


def test_encode_distinct_batches_do_not_depend_on_the_order_of_texts() -> None:
    def batches_of(texts: list[str]) -> list[list[str]]:
        batches: list[list[str]] = []

        def encode(batch: list[str]) -> Any:
            batches.append(batch)
            return lengths(batch)

        encode_distinct(texts, 2, 2, encode)
        return batches

    expected = [["b", "c"], ["ab", "ba"]]
    assert batches_of(["ab", "b", "ba", "c"]) == batches_of(["c", "ba", "b", "ab", "b"]) == expected


def test_encode_distinct_of_no_texts_asks_nothing() -> None:
    def encode(batch: list[str]) -> Any:
        raise AssertionError

    assert encode_distinct([], 7, 4, encode).shape == (0, 7)


@pytest.mark.parametrize("bad", [[[0.0, 0.0]], [[np.nan, 1.0]], [[np.inf, 1.0]]])
def test_unit_rows_of_something_that_is_no_vector_is_an_error(bad: Any) -> None:
    with pytest.raises(EncoderError, match="1 of 2 vectors"):
        unit_rows_of(np.array([[3.0, 4.0], *bad]), 2)


def test_unit_rows_of_another_dimension_is_an_error() -> None:
    with pytest.raises(EncoderError, match="rows of 3 numbers"):
        unit_rows_of(np.ones((2, 2)), 3)
