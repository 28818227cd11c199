from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.measures.merges import Removed, crossings, survivors
from memaudit.model import Severity
from memaudit.probes.deleted_copies import PROBE
from tests.probes.builders import codes, make_context, only

DAY = datetime(2026, 5, 1, tzinfo=timezone.utc)
ROLES = {"text": "content", "deleted_where": '"deleted" = 1'}
DELETED, LIVE = True, False


def removed(*rows: tuple[str, bool], **more: Any) -> Removed:
    return Removed(list(range(1, len(rows) + 1)), [t for t, _ in rows], [d for _, d in rows], **more)


def context(rows: Any, **more: Any) -> Any:
    names = ("id", "content", "deleted", "merged_into", "agent_id")
    return make_context([dict(zip(names, row, strict=False)) for row in rows], roles=ROLES, **more)


# -- MA308 --------------------------------------------------------------------------------------


def test_copies_when_all_of_a_group_are_deleted_then_high() -> None:
    rows = [
        (1, "部署前先跑测试", 1, None, "a"), (2, "部署前先跑测试 ", 1, None, "a"),  # no survivor
        (3, "Use the blue pipeline", 1, None, "a"), (4, "use the  blue pipeline", 0, None, "a"),  # one kept
        (5, "Never drop a column", 0, None, "a"), (6, "Never drop a column", 0, None, "a"),  # not de-duplicated
        (7, "Outdated", 1, None, "a"), (8, "Current", 0, None, "a"),  # no copies
    ]  # fmt: skip
    bare = only(PROBE.run(context([row[:3] for row in rows], soft_delete="deleted")), "MA308")
    assert bare.severity is Severity.MEDIUM  # nothing says that de-duplication did it
    ctx = context(rows, soft_delete="deleted", dedup="nightly, keeps the newest copy")
    finding = only(PROBE.run(ctx), "MA308")
    assert finding.figures["duplicate_groups"] == 3
    assert finding.figures["groups_without_survivor"] == 1
    assert finding.figures["rows_deleted_as_duplicate"] == 3  # rows 1, 2 and 3
    assert finding.evidence.ids == (1, 2)
    assert finding.severity is Severity.HIGH
    assert finding.subject["column"] == "deleted"


def test_copies_when_merged_in_a_circle_then_no_survivor() -> None:
    rows = [(1, "a 记忆", 1, 2, "x"), (2, "another wording", 1, 1, "x"), (3, "c", 1, 4, "x"), (4, "d", 0, None, "x")]
    finding = only(PROBE.run(context(rows, merged_into="merged_into")), "MA308")
    assert (finding.figures["duplicate_groups"], finding.figures["groups_without_survivor"]) == (2, 1)
    assert finding.figures["rows_deleted_as_duplicate"] == 3
    assert finding.evidence.ids == (1, 2)


def test_copies_when_merged_into_a_row_that_is_gone_then_no_survivor() -> None:
    finding = only(
        PROBE.run(context([(1, "a", 1, 99, "x"), (2, "b", 0, None, "x")], merged_into="merged_into")), "MA308"
    )
    assert finding.figures["groups_without_survivor"] == 1
    assert finding.evidence.ids == (1,)


@pytest.mark.parametrize(
    "rows",
    [
        removed(("a", DELETED), ("a", LIVE), ("b", DELETED)),
        removed(("a", DELETED), ("b", DELETED)),  # forgotten, no copies
        removed(("", DELETED), ("", DELETED)),  # blank texts are no memory
        removed(("a", DELETED), ("b", DELETED), ("c", LIVE), merged_into=[2, 3, None]),  # a chain with a live end
        removed(("a", DELETED), ("a", DELETED), reasons=["duplicate", "user request"]),
        removed(("a", DELETED), ("a", DELETED), ("b", DELETED), ("c", LIVE), merged_into=[None, None, 4, None]),
        removed(
            ("a", DELETED), ("b", DELETED), merged_into=[2, None], deleted_at=[DAY, DAY + timedelta(days=20)],
        ),  # the kept row was deleted later
        removed(
            ("a", DELETED), ("a", DELETED), created=[DAY, DAY + timedelta(days=5)],
            deleted_at=[DAY + timedelta(days=1), DAY + timedelta(days=9)],
        ),  # written again after it was forgotten, and forgotten again
        removed(),
    ],
)  # fmt: skip
def test_copies_when_one_survives_or_was_forgotten_then_silent(rows: Removed) -> None:
    assert survivors(rows).without == ()


def test_copies_when_both_went_in_one_run_then_no_survivor() -> None:
    rows = removed(("a", DELETED), ("b", DELETED), merged_into=[2, None], deleted_at=[DAY, DAY])
    assert survivors(rows).without == ((0, 1),)
    rows = removed(("a", DELETED), ("A ", DELETED), reasons=["duplicate of 2", "去重"])
    assert survivors(rows).without == ((0, 1),)


def test_copies_when_nothing_marks_deletion_then_not_looked() -> None:
    ctx = make_context([{"id": 1, "content": "x"}], roles={"text": "content"})
    result = PROBE.run(ctx)
    assert set(result.not_looked) == {"MA308", "MA309"}
    empty = make_context([], columns={"memories": ["id", "content"]}, roles={"text": "content"})
    assert set(PROBE.run(empty).not_looked) == {"MA308", "MA309"}


@given(st.lists(st.tuples(st.sampled_from("abc "), st.booleans()), max_size=12))
def test_copies_when_any_row_is_live_then_its_group_survives(rows: list[tuple[str, bool]]) -> None:
    found = survivors(removed(*rows))
    assert all(rows[i][1] for group in found.without for i in group)


# -- MA309 --------------------------------------------------------------------------------------


def test_merges_when_across_owners_then_high_with_the_losing_owner() -> None:
    rows = [
        (1, "部署", 0, None, "agent-a"), (2, "部署!", 1, 1, "agent-b"), (3, "部署!!", 1, 1, "agent-b"),
        (4, "x", 1, 1, "agent-a"), (5, "y", 1, 1, None), (6, "z", 1, 77, "agent-c"),
    ]  # fmt: skip
    ctx = context(rows, merged_into="merged_into", isolation_keys=("agent_id",), select=None)
    finding = only(PROBE.run(ctx), "MA309")
    assert finding.figures["rows_merged"] == 5
    assert finding.figures["merged_across_owner"] == 2
    assert finding.figures["share_across_owner"] == 0.4
    assert finding.figures["owner_losing_rows"] == "agent-b"
    assert finding.figures["rows_of_unknown_owner"] == 2
    assert finding.evidence.ids == (2, 3)
    assert finding.severity is Severity.HIGH


def test_merges_when_within_owners_then_silent() -> None:
    rows = [(1, "a", 0, None, "u"), (2, "b", 1, 1, "u"), (3, "c", 0, None, "v"), (4, "d", 1, 3, "v")]
    assert codes(PROBE.run(context(rows, merged_into="merged_into", isolation_keys=("agent_id",)))) == []


def test_merges_when_two_keys_and_one_differs_then_named_by_it() -> None:
    found = crossings([None, 0, 0], {"agent": ["a", "b", "b"], "project": ["p", "p", "p"]})
    assert found.losing == {"b": 2}
    assert crossings([None, 0], {"agent": ["a", "a"], "project": ["p", "q"]}).losing == {"q": 1}


def test_merges_when_keys_are_written_as_text_then_found() -> None:
    assert Removed([1, 2], ["a", "b"], [False, True], [None, "1"]).targets == (None, 0)
