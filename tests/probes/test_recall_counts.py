from typing import Any

import pytest

from memaudit.model import Severity
from memaudit.probes.recall_counts import PROBE, severity_of
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content", "hits": "hits", "value_field": "topic", "time": "at"}


def rows_with(hits: Any, *, days: Any = 10) -> Any:
    return [
        {"id": i + 1, "content": f"记忆 {i}", "topic": "天气" if i % 2 else "web", "hits": h,
         "at": f"2026-06-{1 + i * days // max(1, len(hits) - 1):02d}"}
        for i, h in enumerate(hits)
    ]  # fmt: skip


def test_counter_when_most_rows_are_at_zero_then_medium_with_the_groups() -> None:
    # 10 rows; only row 2 (topic 天气) was recalled: 9 of 10 never, web: 5 of 5, 天气: 4 of 5.
    finding = only(PROBE.run(make_context(rows_with([0, 3, 0, 0, 0, 0, 0, 0, 0, 0]), roles=ROLES)), "MA310")
    assert finding.severity is Severity.MEDIUM
    assert finding.subject == {"table": "memories", "column": "hits"}
    assert finding.figures["rows"] == 10
    assert finding.figures["never_hit"] == 9
    assert finding.figures["share_never_hit"] == 0.9
    assert finding.figures["days_covered"] == 10.0
    assert finding.figures["groups"]["web"] == {"rows": 5, "never_hit": 5, "share_never_hit": 1.0}
    assert finding.figures["groups"]["天气"]["never_hit"] == 4
    assert finding.figures["groups_never_hit"] == 1
    assert finding.evidence.ids == (1, 3, 4, 5, 6, 7, 8, 9, 10)
    assert finding.lane == "retrieval"


def test_counter_when_the_store_is_young_then_low() -> None:
    rows = rows_with([0, 3, 0, 0, 0, 0, 0, 0, 0, 0], days=6)
    assert only(PROBE.run(make_context(rows, roles=ROLES)), "MA310").severity is Severity.LOW


def test_counter_when_every_row_was_recalled_then_silent() -> None:
    result = PROBE.run(make_context(rows_with([1, 2, 1, 5]), roles=ROLES))
    assert codes(result) == []
    assert result.figures == {"never_hit": 0, "share_never_hit": 0.0}
    assert result.sections[0].answer.startswith("4 of 4")


def test_counter_when_it_is_dead_then_not_looked_and_said() -> None:
    result = PROBE.run(make_context(rows_with([0] * 6), roles=ROLES))
    assert codes(result) == []
    assert "meaningless" in result.not_looked["MA310"][0]
    assert result.not_looked["MA310"][1] == "retrieval_log"
    assert result.sections == ()
    assert "one value everywhere" in result.notes[0]


def test_counter_when_some_rows_have_none_then_they_are_left_out() -> None:
    result = PROBE.run(make_context(rows_with([0, 1, None, "many"]), roles=ROLES))
    finding = only(result, "MA310")
    assert finding.figures["rows"] == 2
    assert finding.figures["never_hit"] == 1
    assert [(out.rows, out.ids) for out in result.left_out] == [(2, (3, 4))]


def test_log_when_given_then_it_wins_over_a_dead_counter() -> None:
    log = [{"query_id": 1, "memory_id": m} for m in (1, 2, 2, 3)]
    ctx = make_context(rows_with([0] * 10), roles=ROLES, tables={"log": log}, retrieval_log="log")
    result = PROBE.run(ctx)
    finding = only(result, "MA310")
    assert finding.subject == {"table": "log", "column": "memory_id"}
    assert finding.figures["never_hit"] == 7  # 10 rows, 3 of them in the log
    assert finding.severity is Severity.LOW  # 70 %
    assert "one value everywhere" in result.notes[0]


def test_log_when_its_table_is_empty_then_not_looked() -> None:
    ctx = make_context(
        rows_with([0, 1]), roles=ROLES, tables={"log": []}, columns={"log": ["query_id", "memory_id"]},
        retrieval_log="log",
    )  # fmt: skip
    assert "no recalls yet" in PROBE.run(ctx).not_looked["MA310"][0]


def test_no_counter_and_no_log_when_run_then_not_looked() -> None:
    result = PROBE.run(make_context(rows_with([0, 1]), roles={**ROLES, "hits": None}))
    assert result.not_looked["MA310"][1] == "hits"


@pytest.mark.parametrize(
    ("share", "days", "expected"),
    [
        (0.49, 30.0, Severity.INFO),
        (0.50, 30.0, Severity.LOW),
        (0.79, 30.0, Severity.LOW),
        (0.80, 7.0, Severity.MEDIUM),
        (0.80, 6.9, Severity.LOW),
        (1.00, None, Severity.LOW),
    ],
)
def test_severity_when_the_share_grows_then_it_rises(share: Any, days: Any, expected: Any) -> None:
    assert severity_of(share, days, (0.5, 0.8, 7.0)) is expected
