from __future__ import annotations

from typing import Any

import pytest

from memaudit.model import Cell, Column, Evidence, Finding, Severity, Table
from memaudit.reports.shown_numbers import cosine, figure, number, share, size_of
from memaudit.reports.table_page import Caps, table_view


def _view(cells: dict[str, Cell], *rows: dict[str, Any], **rest: Any) -> Any:
    columns = tuple(Column(key, key, cell) for key, cell in cells.items())
    return table_view(Table("t", "caption", columns, rows, **rest), Caps())


def _texts(view: Any) -> list[list[str]]:
    return [[cell.shown.text or cell.text for cell in cells] for _, cells in view.rows]


def test_span_when_all_above_060_then_axis_060_to_1() -> None:
    view = _view({"s": Cell.SPAN}, {"s": (0.6, 0.8)}, {"s": (0.9, 1.0)}, reference=0.9)
    # 3 % margin on both sides: 0.60 -> 3, 0.80 -> 50, 0.90 -> 73.5, 1.00 -> 97
    first, second = (cells[0] for _, cells in view.rows)
    assert (first.start, first.end, first.reference) == (3.0, 50.0, 73.5)
    assert (second.start, second.end) == (73.5, 97.0)
    assert view.notes[0].startswith("Axis 0.60 to 1.00")


@pytest.mark.parametrize(("lowest", "low"), [(0.638, 0.6), (0.59, 0.5), (0.5, 0.5), (0.03, 0.0), (-0.02, -0.1)])
def test_span_when_a_minimum_is_lower_then_the_axis_widens_in_steps(lowest: float, low: float) -> None:
    view = _view({"s": Cell.SPAN}, {"s": (lowest, 0.9)})
    assert view.notes[0].startswith(f"Axis {low:.2f} to 1.00")


def test_span_when_a_side_is_missing_then_no_ring_and_a_dash() -> None:
    view = _view({"s": Cell.SPAN}, {"s": (None, 0.9)}, {"s": None}, {"s": (float("nan"), 0.7)})
    assert [cells[0].start for _, cells in view.rows] == [None, None, None]
    assert _texts(view)[0][1:] == ["-", "0.900"]
    assert _texts(view)[1][1:] == ["-", "-"]


def test_span_when_min_and_mean_have_columns_then_not_printed_twice() -> None:
    row = {"s": (0.7, 0.9), "low": 0.7, "mean": 0.9}
    view = _view({"s": Cell.SPAN, "low": Cell.COSINE, "mean": Cell.COSINE}, row)
    assert [head.label for head in view.heads] == ["s", "low", "mean"]


def test_bar_when_no_scale_then_the_largest_value_and_number_beside() -> None:
    view = _view({"n": Cell.BAR}, {"n": 4}, {"n": 1}, {"n": None}, {"n": 0})
    assert [cells[1].end for _, cells in view.rows] == [100.0, 25.0, None, 0.0]
    assert [cells[0].text for _, cells in view.rows] == ["4", "1", "-", "0"]


def test_bar_when_another_column_holds_the_same_numbers_then_both_are_printed() -> None:
    view = _view({"kept": Cell.BAR, "of": Cell.COUNT}, {"kept": 175, "of": 175})  # a filter that keeps everything
    assert [head.label for head in view.heads] == ["kept", "kept, drawn", "of"]
    assert [cell.text for cell in view.rows[0][1]] == ["175", "", "175"]


def test_bar_when_the_reference_is_beyond_all_then_the_scale_reaches_it() -> None:
    view = _view({"n": Cell.BAR}, {"n": 5}, reference=10, reference_label="limit")
    assert (view.rows[0][1][1].end, view.rows[0][1][1].reference) == (50.0, 100.0)
    assert view.notes == ("Bars: 0 to 10.", "Dashed line: limit (10).")


def test_bar_when_beyond_the_scale_or_negative_then_kept_inside() -> None:
    view = _view({"n": Cell.BAR}, {"n": 30}, {"n": -3}, scale=10)
    assert [cells[1].end for _, cells in view.rows] == [100.0, 0.0]
    assert [cells[0].text for _, cells in view.rows] == ["30", "-3"]


def test_scale_when_taken_then_from_rows_beyond_the_cap_too() -> None:
    rows = [{"n": 1}] * 60 + [{"n": 100}]
    assert _view({"n": Cell.BAR}, *rows).rows[0][1][1].end == 1.0


def test_cells_when_none_or_text_then_dash_or_text() -> None:
    cells = {
        "a": Cell.COUNT,
        "b": Cell.SHARE,
        "c": Cell.COSINE,
        "d": Cell.VALUE,
        "e": Cell.TEXT,
        "f": Cell.NUMBER,
    }
    assert _texts(_view(cells, dict.fromkeys(cells))) == [["-"] * 6]
    row = {"a": 12345, "b": 0.5, "c": 0.98349, "d": None, "e": "words", "f": "2/47"}
    assert _texts(_view(cells, row)) == [["12,345", "50.0 %", "0.983", "-", "words", "2/47"]]


def test_share_when_the_largest_count_of_the_row_is_below_20_then_no_decimal() -> None:
    cells = {"n": Cell.COUNT, "part": Cell.COUNT, "s": Cell.SHARE}
    assert _texts(_view(cells, {"n": 9, "part": 6, "s": 6 / 9}))[0][2] == "67 %"
    assert _texts(_view(cells, {"n": 36, "part": 15, "s": 15 / 36}))[0][2] == "41.7 %"


def test_prefix_when_a_row_has_no_text_or_differs_then_nothing_is_folded() -> None:
    assert _view({"v": Cell.VALUE}, {"v": "tool: a"}, {"v": None}).prefix is None
    assert _view({"v": Cell.VALUE}, {"v": "tool: a"}, {"v": "other"}).prefix is None
    assert _view({"v": Cell.VALUE}, {"v": "tool: a"}).prefix is None
    view = _view({"v": Cell.VALUE}, {"v": "tool: a"}, {"v": "tool: b"})
    assert view.prefix.text == "tool: "


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.30000000000000004, "0.3"), (127.5, "127.5"), (None, "-"), (float("nan"), "-"),
     (float("inf"), "-"), (2.0, "2"), (True, "true"), (-0.25, "-0.25"),
     (1e20, "100,000,000,000,000,000,000")],
)  # fmt: skip
def test_number_when_shown_then_as_given_without_noise(value: Any, text: str) -> None:
    assert number(value) == text


def test_figures_when_shown_then_by_what_their_name_says() -> None:
    assert figure("share_on_fallback", 0.88, {"rows": 175}) == "88.0 %"
    assert figure("share_on_fallback", 2 / 3, {"rows": 9}) == "67 %"
    assert figure("group_mean", 0.98349, {}) == "0.983"
    assert figure("rows", 12345, {}) == "12,345"
    assert figure("evictions", None, {}) == "-"
    assert (cosine(None), share(None)) == ("-", "-")


@pytest.mark.parametrize(
    ("code", "figures", "size"),
    [
        ("MA101", {"rows_on_fallback": 154, "rows": 175}, "154 of 175 rows"),
        ("MA101", {"rows_on_fallback": None, "rows": 175}, ""),
        ("MA010", {"rows_affected": 3, "rows": 1000}, "3 of 1,000 rows"),
        ("MA010", {"rows_affected": 3, "rows": 2}, ""),
        ("MA302", {"dropped_below_090": 9, "compared": 10, "rows_dropped": 12}, "9 of 10 dropped rows"),
        ("XX1", {}, ""),
    ],
)
def test_size_when_figures_allow_then_count_and_base(code: str, figures: dict[str, Any], size: str) -> None:
    assert size_of(Finding(code, "kind", Severity.LOW, {}, "title", figures)) == size


@pytest.mark.parametrize(
    ("code", "figures", "size"),
    [
        ("MA706", {"queries": 130}, "2 of 130 queries"),
        ("MA704", {"queries": 2}, "2 queries"),
        ("MA708", {"queries": 130}, "2 documents"),
        ("MA717", {"judged": 5}, "2 predictions"),
        ("MA305", {"rows": 130}, "2 of 130 rows"),
    ],
)
def test_size_when_evidence_names_queries_then_they_are_not_called_rows(
    code: str, figures: dict[str, Any], size: str
) -> None:
    evidence = Evidence((), 2, ("a", "b"))
    assert size_of(Finding(code, "kind", Severity.LOW, {}, "title", figures, evidence)) == size
