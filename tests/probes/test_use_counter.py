from typing import Any

from memaudit.model import Severity
from memaudit.probes.use_counter import PROBE, LastAccess, last_access
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content", "hits": "hits", "time": "at", "last_access": "used"}


def rows(hits: Any, used: Any = None) -> Any:
    return [
        {"id": i + 1, "content": f"记忆 {i}", "hits": h, "at": f"2026-06-0{1 + i}", "used": used or f"2026-06-0{1 + i}"}
        for i, h in enumerate(hits)
    ]


LOG = [{"query_id": q, "memory_id": m} for q, m in enumerate((1, 1, 2, 5))]


def test_counter_when_one_value_beside_a_log_then_high() -> None:
    ctx = make_context(rows([0] * 6), roles=ROLES, tables={"log": LOG}, retrieval_log="log")
    finding = only(PROBE.run(ctx), "MA607")
    assert finding.severity is Severity.HIGH
    assert finding.subject == {"table": "memories", "column": "hits"}
    assert finding.figures == {
        "rows": 6,
        "value": 0,
        "distinct": 1,
        "log_rows": 4,
        "memories_in_log": 3,
        "rows_last_access_equals_created": 6,
        "rows_last_access_after_created": 0,
    }
    assert finding.evidence.total == 6
    assert "while the log of recalls holds 4 rows about 3 memories" in finding.title  # a recall may be several rows
    assert "meaningless" in (finding.caveat or "")
    assert finding.lane == "retrieval"


def test_counter_when_one_value_and_rows_were_used_later_then_medium() -> None:
    finding = only(PROBE.run(make_context(rows([1] * 6, used="2026-06-03"), roles=ROLES)), "MA607")
    assert finding.severity is Severity.MEDIUM
    assert finding.figures["value"] == 1
    assert finding.figures["log_rows"] is None
    # Written on 1 to 6 June, all used on the 3rd: later for two, equal for one.
    assert finding.figures["rows_last_access_after_created"] == 2
    assert finding.figures["rows_last_access_equals_created"] == 1


def test_counter_when_null_everywhere_beside_a_log_then_dead_without_a_value() -> None:
    ctx = make_context(rows([None] * 6), roles=ROLES, tables={"log": LOG}, retrieval_log="log")
    figures = only(PROBE.run(ctx), "MA607").figures
    assert figures["value"] is None
    assert figures["distinct"] == 0


def test_counter_when_nothing_else_records_recalls_then_not_looked() -> None:
    result = PROBE.run(make_context(rows([0] * 6), roles=ROLES))
    assert codes(result) == []
    assert result.not_looked["MA607"][1] == "retrieval_log"


def test_counter_when_the_log_is_empty_then_not_looked() -> None:
    ctx = make_context(
        rows([0] * 6), roles=ROLES, tables={"log": []}, columns={"log": ["query_id", "memory_id"]}, retrieval_log="log"
    )
    assert "MA607" in PROBE.run(ctx).not_looked


def test_counter_when_it_varies_then_silent() -> None:
    ctx = make_context(rows([0, 2, 0, 0, 1, 0]), roles=ROLES, tables={"log": LOG}, retrieval_log="log")
    result = PROBE.run(ctx)
    assert codes(result) == []
    assert result.not_looked == {}


def test_counter_when_it_misses_most_of_the_log_then_low() -> None:
    log = [{"query_id": 1, "memory_id": m} for m in range(1, 7)]
    ctx = make_context(rows([0, 0, 0, 4, 1, 0]), roles=ROLES, tables={"log": log}, retrieval_log="log")
    finding = only(PROBE.run(ctx), "MA607")
    assert finding.severity is Severity.LOW
    assert finding.figures["memories_in_log_at_zero"] == 4
    assert finding.evidence.ids == (1, 2, 3, 6)


def test_counter_when_only_four_rows_then_not_looked() -> None:
    ctx = make_context(rows([0] * 4), roles=ROLES, tables={"log": LOG}, retrieval_log="log")
    assert "too few" in PROBE.run(ctx).not_looked["MA607"][0]


def test_last_access_when_times_are_written_differently_then_the_moment_counts() -> None:
    created = ("2026-06-01T08:00:00+08:00", "2026-06-01", "soon", None)
    used = ("2026-06-01T00:00:00Z", "2026-06-02", "2026-06-02", "2026-06-02")
    assert last_access(created, used) == LastAccess(equal=1, later=1)
    assert last_access(None, used) == LastAccess(None, None)
    assert last_access((), ()) == LastAccess(0, 0)
