import json
from typing import Any

import numpy as np
import pytest

from memaudit.context import Context
from memaudit.model import Severity
from memaudit.probes.capacity import PROBE, Size, judged
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content", "time": "at"}


def rows(n: Any, **more: Any) -> Any:
    return [{"id": i, "content": f"记忆 {i}", "at": f"2026-06-{1 + i % 11:02d}", **more} for i in range(n)]


def judge(n_rows: Any, limit: Any, evictions: Any) -> Any:
    size = Size(n_rows, limit, evictions, None)
    return judged(size, near_share=0.9, tolerance=0.05, high_over_share=0.2)


def test_limit_when_far_above_the_rows_then_low_with_the_years(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"memory": {"max_entries": 10_000}}))
    ctx = make_context(
        rows(22), roles=ROLES, base=tmp_path, config="config.json", capacity="max_entries",
        tables={"evictions": []}, evictions="evictions",
    )  # fmt: skip
    finding = only(PROBE.run(ctx), "MA602")
    assert finding.severity is Severity.LOW
    assert finding.subject == {"table": "memories", "config": "max_entries"}
    assert finding.figures["rows"] == 22
    assert finding.figures["limit"] == 10_000
    assert finding.figures["share_of_limit"] == 0.0022
    assert finding.figures["evictions"] == 0
    assert finding.figures["days_covered"] == 10.0  # 1 to 11 June
    # (10,000 - 22) / 2.2 rows a day = 4,535.5 days = 12.42 years
    assert finding.figures["years_to_limit_at_this_rate"] == pytest.approx(12.417, abs=0.001)
    assert "0.22 %" in finding.title
    assert "about 12 years" in finding.title


def test_limit_when_evictions_are_not_recorded_then_low_and_said() -> None:
    finding = only(PROBE.run(make_context(rows(22), roles={"text": "content"}, capacity=500)), "MA602")
    assert finding.subject["config"] == "capacity"
    assert finding.figures["evictions"] is None
    assert finding.figures["days_covered"] is None
    assert finding.figures["years_to_limit_at_this_rate"] is None
    assert "not recorded" in (finding.caveat or "")


def test_limit_when_exceeded_by_a_third_then_high() -> None:
    finding = only(PROBE.run(make_context(rows(40), roles=ROLES, capacity=30, evictions=0)), "MA603")
    assert finding.severity is Severity.HIGH
    assert finding.figures["over_by"] == 10
    assert finding.figures["limit"] == 30
    assert "10 too many (33.3 %)" in finding.title


@pytest.mark.parametrize(
    ("n_rows", "limit", "evictions", "expected"),
    [
        (40, 40, 8, None),  # exactly at the limit
        (40, 40, None, None),
        (39, 40, 0, None),  # about to act
        (20, 40, 3, None),  # it acted
        (35, 40, 0, ("MA602", Severity.LOW)),
        (41, 40, 8, None),  # 2.5 % above between two batches
        (43, 40, 8, ("MA603", Severity.MEDIUM)),  # 7.5 %
        (41, 40, 0, ("MA603", Severity.MEDIUM)),
        (48, 40, 0, ("MA603", Severity.HIGH)),  # 20 %
        (60, 40, 99, ("MA603", Severity.HIGH)),
    ],
)
def test_limit_when_judged_then_only_a_limit_that_does_not_act_is_named(
    n_rows: Any, limit: Any, evictions: Any, expected: Any
) -> None:
    assert judge(n_rows, limit, evictions) == expected


def test_deleted_rows_when_counted_then_they_do_not_fill_the_limit() -> None:
    table = [*rows(20), *({"id": 100 + i, "content": "gone", "at": "2026-06-02", "deleted": 1} for i in range(30))]
    ctx = make_context(
        table, roles={**ROLES, "deleted_where": "deleted = 1"}, columns={"memories": ["id", "content", "at", "deleted"]},
        capacity=40, evictions=0,
    )  # fmt: skip
    assert only(PROBE.run(ctx), "MA602").figures["rows"] == 20


def test_sample_when_audited_then_the_whole_table_is_counted() -> None:
    ctx = make_context(rows(40), roles=ROLES, capacity=30)
    part = Context(ctx.config, ctx.store, ctx.records.restricted(np.arange(5)))
    assert only(PROBE.run(part), "MA603").figures["rows"] == 40


@pytest.mark.parametrize(
    ("capacity", "config", "option", "part"),
    [
        ("max_rows", None, "config", "no production configuration"),
        ("max_rows", {"max_entries": 3}, "capacity", 'no key "max_rows"'),
        ("max_rows", {"max_rows": "many"}, "capacity", "no number"),
        ("max_rows", {"max_rows": -1}, "capacity", "no limit"),
        (0, None, "capacity", "no limit"),
    ],
)
def test_limit_when_it_is_not_there_then_not_looked_with_the_option(
    tmp_path: Any, capacity: Any, config: Any, option: Any, part: Any
) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    ctx = make_context(
        rows(5), roles=ROLES, base=tmp_path, capacity=capacity, config="config.json" if config is not None else None
    )
    result = PROBE.run(ctx)
    assert codes(result) == []
    for code in ("MA602", "MA603"):
        assert part in result.not_looked[code][0]
        assert result.not_looked[code][1] == option


def test_evictions_when_a_column_of_another_table_then_summed() -> None:
    ctx = make_context(
        rows(5), roles=ROLES, capacity=500, tables={"stats": [{"day": 1, "evicted": 2}, {"day": 2, "evicted": 1}]},
        evictions="stats.evicted",
    )  # fmt: skip
    assert codes(PROBE.run(ctx)) == []  # three rows were evicted: the limit acted


def test_evictions_when_not_found_then_unknown_and_said() -> None:
    finding = only(PROBE.run(make_context(rows(5), roles=ROLES, capacity=500, evictions="evicted")), "MA602")
    assert finding.figures["evictions"] is None
    assert "no table, key or column" in (finding.caveat or "")


def test_empty_store_when_run_then_a_limit_it_never_met_and_no_rate() -> None:
    ctx = make_context([], columns={"memories": ["id", "content", "at"]}, roles=ROLES, capacity=10)
    finding = only(PROBE.run(ctx), "MA602")  # the engine does not get here: it skips probes of 0 rows
    assert finding.figures["years_to_limit_at_this_rate"] is None


def owned(sizes: dict[str, int], column: str = "user_id", **more: Any) -> Any:
    made = [{column: owner, **more} for owner, n in sizes.items() for _ in range(n)]
    return [{"id": i, "content": f"记忆 {i}", **row} for i, row in enumerate(made)]


@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("max_memories_per_user", "user_id"),
        ("maxPerUser", "userId"),
        ("limits.per_user.rows", "user"),
        ("max_per_topic", "topic"),
    ],
)
def test_limit_for_each_owner_when_no_owner_exceeds_it_then_silent(tmp_path: Any, key: str, column: str) -> None:
    config: Any = 25
    for name in reversed(key.split(".")):
        config = {name: config}
    (tmp_path / "c.json").write_text(json.dumps(config))
    table = owned({"安娜": 24, "ben": 23, "chi": 19}, column)
    ctx = make_context(table, roles={"text": "content"}, base=tmp_path, config="c.json", capacity=key)
    result = PROBE.run(ctx)
    assert codes(result) == []
    assert result.not_looked == {}


def test_limit_for_each_owner_when_one_exceeds_it_then_the_fullest_is_counted(tmp_path: Any) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"max_per_agent": 20}))
    table = owned({"安娜": 6, "ben": 25}, "agent_id")
    ctx = make_context(table, roles={"text": "content"}, base=tmp_path, config="c.json", capacity="max_per_agent")
    finding = only(PROBE.run(ctx), "MA603")
    assert (finding.figures["rows"], finding.figures["limit"], finding.figures["over_by"]) == (25, 20, 5)
    assert finding.subject == {"table": "memories", "column": "agent_id", "value": "ben", "config": "max_per_agent"}
    assert finding.title.startswith("25 rows of one `agent_id` against a limit of 20: 5 too many")


def test_limit_for_each_owner_when_deleted_rows_stand_there_then_they_do_not_count(tmp_path: Any) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"max_per_user": 20}))
    table = owned({"安娜": 19, "ben": 10}, deleted=0) + [
        {"id": 100 + i, "content": "x", "user_id": "ben", "deleted": 1} for i in range(30)
    ]
    roles = {"text": "content", "deleted_where": '"deleted" = 1'}
    ctx = make_context(table, roles=roles, base=tmp_path, config="c.json", capacity="max_per_user")
    assert codes(PROBE.run(ctx)) == []


def test_limit_for_each_owner_when_no_column_names_owners_then_not_looked(tmp_path: Any) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"max_per_user": 20}))
    ctx = make_context(rows(40), roles=ROLES, base=tmp_path, config="c.json", capacity="max_per_user")
    result = PROBE.run(ctx)
    assert codes(result) == []
    assert result.not_looked["MA603"][1] == "isolation_keys"
    keyed = make_context(
        owned({"a": 40}, "tenant"), roles={"text": "content"}, base=tmp_path, config="c.json", capacity="max_per_user",
        isolation_keys=("tenant",),
    )  # fmt: skip
    assert codes(PROBE.run(keyed)) == ["MA603"]
