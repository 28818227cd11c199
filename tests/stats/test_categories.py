from __future__ import annotations

import pytest

from memaudit.errors import DataError
from memaudit.stats.categories import category_cell, small_category, small_category_sentence


@pytest.mark.parametrize(
    ("k", "n", "text", "tag"),
    [
        (0, 0, "-", None),
        (1, 1, "1/1", "anecdote"),
        (1, 4, "1/4", "anecdote"),
        # Wilson 3 of 5: (.6 + .38415 -+ 1.95996 sqrt(.24/5 + 3.84146/100)) / 1.768292 = .2307, .8824
        (3, 5, "3/5 = 60 % [23.1, 88.2]", "small n: one query = 20.0 points"),
        (11, 14, "11/14 = 79 % [52.4, 92.4]", "small n: one query = 7.1 points"),
        (23, 24, "23/24 = 95.8 % [79.8, 99.3]", None),
    ],
)
def test_a_category_shows_what_its_size_allows(k: int, n: int, text: str, tag: str | None) -> None:
    cell = category_cell(k, n)
    assert (cell.text, cell.tag) == (text, tag)


def test_borders_of_the_display_are_5_and_20() -> None:
    assert category_cell(2, 4).share is None
    assert category_cell(2, 5).share is not None
    assert category_cell(10, 19).tag is not None
    assert category_cell(10, 20).tag is None


def test_all_or_none_of_fewer_than_35_print_the_bound() -> None:
    assert category_cell(6, 6).note == "6 of 6: the true rate may be as low as 61 %."
    assert category_cell(0, 18).note == "0 of 18: the true rate may be as high as 18 %."
    assert category_cell(34, 34).note is not None
    assert category_cell(35, 35).note is None
    assert category_cell(5, 6).note is None
    # Without a percentage there is none to qualify.
    assert category_cell(4, 4).note is None


def test_hits_beyond_the_queries_are_refused() -> None:
    with pytest.raises(DataError):
        category_cell(7, 6)


def test_the_worst_category_has_the_widest_interval() -> None:
    found = small_category({"exact": (60, 60), "semantic": (8, 8), "cross_file": (1, 3), "值查询": (6, 6)})
    assert found is not None
    # 1 of 3: [.0615, .7923]
    assert (found.name, found.n, found.needed_n) == ("cross_file", 3, 12)
    assert found.width == pytest.approx(0.7308, abs=1e-4)
    assert (found.n_small, found.n_categories) == (3, 4)
    assert small_category_sentence(found) == (
        "3 of 4 categories are too small to read; worst is 'cross_file' with 3 queries, an interval of "
        "73 points; 12 queries would halve it."
    )


def test_a_category_of_twenty_is_small_only_if_its_interval_is_wide() -> None:
    # 20 of 20: [.839, 1]; 10 of 20: [.299, .701], wider than 30 points.
    assert small_category({"a": (20, 20)}) is None
    assert small_category({"a": (19, 19)}) is not None
    wide = small_category({"a": (20, 20), "b": (10, 20)})
    assert wide is not None
    assert (wide.name, wide.n_small) == ("b", 1)


def test_a_category_without_queries_is_the_worst() -> None:
    found = small_category({"a": (1, 3), "empty": (0, 0)})
    assert found is not None
    assert (found.name, found.width, found.needed_n) == ("empty", None, 20)
    assert "'empty' has no query" in small_category_sentence(found)


def test_no_categories_are_no_finding() -> None:
    assert small_category({}) is None
