from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.guards import GuardReport, find_guards
from memaudit.guards.result import Caller, Guard, Producer
from memaudit.guards.rows import GuardRows, SourceRows, is_left_empty
from memaudit.guards.rows import guard_rows as guard_rows_or_none

RECORDER = Caller("recorder.py", 10, "dead", passes=(("source_type", "tool_retry"),))
MANUAL = Caller("notes.py", 5, "live", passes=(("source_type", "manual"),))


def guard_rows(*args: Any, **more: Any) -> GuardRows:
    found = guard_rows_or_none(*args, **more)
    assert found is not None
    return found


def guard_with(verdict: str, *callers: Caller, asks: str = "empty", producer: Producer | None = None) -> Guard:
    return Guard("s.py", 8, "Store.record", "if-not", "label", asks, "f()", verdict, "", callers, producer)


def rows_of(**counts: int) -> list[dict[str, object]]:
    return [{"source_type": name, "label": f"标签 {name}"} for name, n in counts.items() for _ in range(n)]


def test_no_store_gives_nothing() -> None:
    assert guard_rows_or_none(guard_with("dead", RECORDER), None) is None


def test_dead_guard_is_reached_by_no_row() -> None:
    found = guard_rows(guard_with("dead"), [{"tags": "[]"}, {"tags": '["a"]'}, {"tags": None}], value_field="tags")
    # 2 of 3 rows hold no tags: "[]" and NULL.
    assert (found.rows, found.rows_reaching_branch, found.share_unreachable) == (3, 0, 1.0)
    assert (found.rows_left_empty, found.share_left_empty) == (2, 2 / 3)


def test_partial_guard_is_split_by_the_constant_each_caller_passes() -> None:
    found = guard_rows(guard_with("partial", RECORDER, MANUAL), rows_of(tool_retry=174, manual=1), value_field="label")
    assert found.column == "source_type"
    assert found.rows_reaching_branch == 1
    assert found.share_unreachable == pytest.approx(174 / 175)
    assert found.rows_through_store == 175
    assert found.rows_left_empty == 0
    assert found.sources == (SourceRows("tool_retry", 174, "dead"), SourceRows("manual", 1, "live"))


def test_share_comes_from_rows_and_not_from_the_number_of_callers() -> None:
    more = [Caller("a.py", n, "dead", passes=(("source_type", "tool_retry"),)) for n in range(9)]
    found = guard_rows(guard_with("partial", *more, MANUAL), rows_of(tool_retry=1, manual=3))
    assert found.share_unreachable == 0.25


def test_rows_of_no_known_caller_leave_the_share_unmeasured() -> None:
    found = guard_rows(guard_with("partial", RECORDER, MANUAL), rows_of(tool_retry=3, manual=1, imported=2))
    assert found.rows_reaching_branch is None
    assert found.share_unreachable is None
    assert found.rows_through_store == 4
    assert found.reason == "2 of 6 rows: no known caller writes this source_type"


def test_dead_guard_is_reached_by_no_row_and_says_which_no_known_caller_wrote() -> None:
    found = guard_rows(guard_with("dead", RECORDER), rows_of(tool_retry=174, manual=1), value_field="label")
    assert (found.rows_reaching_branch, found.share_unreachable, found.rows_left_empty) == (0, 1.0, 0)
    assert found.rows_through_store == 174
    assert found.reason == "1 of 175 rows: no known caller writes this source_type"


def test_column_of_the_same_name_with_other_values_is_ignored() -> None:
    found = guard_rows(guard_with("dead", RECORDER), rows_of(shell=3, web=1))
    assert (found.column, found.rows_reaching_branch, found.share_unreachable) == ("", 0, 1.0)


def test_two_callers_with_one_constant_on_both_sides_cannot_be_told_apart() -> None:
    other = Caller("x.py", 1, "live", passes=(("source_type", "tool_retry"),))
    found = guard_rows(guard_with("partial", RECORDER, other), rows_of(tool_retry=5))
    assert found.share_unreachable is None


def test_partial_guard_without_a_column_is_not_measured() -> None:
    plain = [Caller("a.py", 1, "dead"), Caller("b.py", 2, "live")]
    found = guard_rows(guard_with("partial", *plain), rows_of(tool_retry=5))
    assert found.share_unreachable is None
    assert "source_column" in found.reason


def test_sides_can_be_given_for_a_named_column() -> None:
    plain = [Caller("a.py", 1, "dead"), Caller("b.py", 2, "live")]
    found = guard_rows(
        guard_with("partial", *plain),
        rows_of(tool_retry=3, manual=1),
        source_column="source_type",
        sides={"tool_retry": "dead", "manual": "live"},
    )
    assert found.rows_reaching_branch == 1


def test_raw_upstream_value_counts_when_nothing_stands_between() -> None:
    records = [{"raw": None}, {"raw": ""}, {"raw": "a"}, {"raw": "词"}]
    assert guard_rows(guard_with("reachable"), records, upstream_column="raw").rows_reaching_branch == 2
    asks_none = guard_with("reachable", asks="none")
    assert guard_rows(asks_none, records, upstream_column="raw").rows_reaching_branch == 1


def test_upstream_column_that_the_callers_fill_themselves_is_no_raw_value() -> None:
    guard = guard_with(
        "unknown", RECORDER, Caller("x.py", 1, "unknown", "no telling", passes=(("source_type", "web"),))
    )
    found = guard_rows(guard, rows_of(tool_retry=3, web=2), upstream_column="source_type")
    assert (found.rows_reaching_branch, found.share_unreachable) == (None, None)


def test_upstream_column_when_all_callers_pass_constants_then_no_raw_value_decides() -> None:
    callers = [
        Caller("a.py", 1, "dead", passes=(("label", "chat"),)),
        Caller("b.py", 2, "live", passes=(("label", ""),)),
    ]
    found = guard_rows(guard_with("partial", *callers), rows_of(tool_retry=3, web=2), upstream_column="source_type")
    assert (found.rows_reaching_branch, found.share_unreachable) == (None, None)
    assert "source_column" in found.reason


def test_raw_upstream_value_behind_a_function_needs_a_run() -> None:
    made = guard_with("reachable", producer=Producer("parse", "p.py", 1))
    records = [{"raw": None}, {"raw": "a"}]
    assert guard_rows(made, records, upstream_column="raw").rows_reaching_branch is None
    ran = guard_rows(made, records, upstream_column="raw", entered=[True, False])
    assert (ran.rows_reaching_branch, ran.share_unreachable) == (1, 0.5)
    half = guard_rows(made, records, upstream_column="raw", entered=[True, None])
    assert half.rows_reaching_branch is None


def test_empty_store_has_no_shares() -> None:
    found = guard_rows(guard_with("dead", RECORDER), [], value_field="label")
    assert (found.rows, found.share_unreachable, found.share_left_empty) == (0, None, None)
    assert found.reason == "the store has no rows"


def test_always_taken_is_reached_by_all_rows() -> None:
    found = guard_rows(guard_with("always-taken", MANUAL), rows_of(manual=2))
    assert (found.rows_reaching_branch, found.share_unreachable) == (2, 0.0)


@pytest.mark.parametrize("value", [None, "", "  ", "　", "[]", "[ ]", "{}", "null", [], {}, b"", float("nan"), '""'])
def test_values_that_say_nothing(value: object) -> None:
    assert is_left_empty(value)


@pytest.mark.parametrize("value", ["无", "None", "0", 0, False, "[0]", [""], b"\xff", 0.0])
def test_values_that_say_something(value: object) -> None:
    assert not is_left_empty(value)


@given(
    st.lists(st.tuples(st.sampled_from(["tool_retry", "manual", "other"]), st.sampled_from(["", "x", None]))),
    st.sampled_from(["dead", "partial", "reachable", "always-taken", "unknown"]),
)
def test_figures_agree_with_each_other(pairs: list[tuple[str, str | None]], verdict: str) -> None:
    records = [{"source_type": source, "label": label} for source, label in pairs]
    found = guard_rows(guard_with(verdict, RECORDER, MANUAL), records, value_field="label")
    assert found.rows == len(records)
    if found.rows_reaching_branch is None:
        assert found.share_unreachable is None
        assert found.reason
    else:
        assert found.share_unreachable == pytest.approx(1 - found.rows_reaching_branch / found.rows)
        assert found.rows_left_empty is not None
        assert found.rows_left_empty <= found.rows - found.rows_reaching_branch
    assert sum(source.rows for source in found.sources) in (0, found.rows)


SHARED = Path(os.environ.get("MEMAUDIT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
CASE = SHARED / "cases" / "004-empty-value-slips-past-none-guard"


@pytest.mark.skipif(not CASE.is_dir(), reason="reference cases are not on this machine")
def test_reference_case_leaves_21_of_30_rows_empty(tmp_path: Path) -> None:
    (guard,) = [g for g in find_guards([CASE / "prod_pkg"], base=CASE).guards if g.function == "enrich"]
    db = sqlite3.connect(f"file:{CASE / 'store.db'}?mode=ro&immutable=1", uri=True)
    db.row_factory = sqlite3.Row
    records = [dict(row) for row in db.execute("SELECT * FROM memories ORDER BY id")]
    db.close()
    found = guard_rows(guard, records, value_field="tags", upstream_column="raw_tags")
    assert (found.rows, found.rows_reaching_branch, found.share_unreachable) == (30, 0, 1.0)
    assert (found.rows_left_empty, found.share_left_empty) == (21, 0.7)


def test_callers_of_a_scanned_tree_split_the_rows_of_its_store(scan: Callable[..., GuardReport]) -> None:
    report = scan(
        {
            "store.py": """
                class Store:
                    def record(self, text, label="", source_type="tool_retry"):
                        if not label:
                            label = self.derive(text)
                        return label
                    def derive(self, text):
                        return text[:3]
            """,
            "recorder.py": """
                def retry(store, tool):
                    store.record("x", label=f"{tool} failed")
            """,
            "notes.py": """
                def note(store, text, label):
                    store.record(text, label.strip(), source_type="manual")
            """,
        }
    )
    (guard,) = [g for g in report.guards if g.target == "label"]
    assert guard.verdict == "partial"
    found = guard_rows(guard, rows_of(tool_retry=7, manual=1), value_field="label")
    assert (found.rows_reaching_branch, found.share_unreachable) == (1, 7 / 8)
