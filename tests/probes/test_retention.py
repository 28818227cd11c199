from __future__ import annotations

import json
from typing import Any

import pytest

from memaudit.measures.retention_rules import coverage, find_rules
from memaudit.measures.schedules import cron_runs_a_day, find_jobs
from memaudit.model import Severity
from memaudit.probes.retention import PROBE, stem
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content", "time": "created_at"}


def context(tmp_path: Any, production: Any, rows: Any, **more: Any) -> Any:
    (tmp_path / "config.json").write_text(json.dumps(production), encoding="utf-8")
    return make_context(rows, roles=ROLES, base=tmp_path, config="config.json", **more)


def scoped(*counts: tuple[Any, int], **more: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for scope, n in counts:
        for _ in range(n):
            i = len(rows)
            rows.append(
                {
                    "id": i + 1,
                    "content": f"记忆 note {i}",
                    "scope": scope,
                    "created_at": f"2026-05-{1 + i % 28:02d}",
                    **more,
                }
            )
    return rows


# -- MA608 --------------------------------------------------------------------------------------


def test_scopes_when_a_rule_is_missing_then_every_figure(tmp_path: Any) -> None:
    rules = {"memory": {"retention_days": {"session": 7, "task": 30}}}
    ctx = context(tmp_path, rules, scoped(("session", 8), ("project", 10), ("用户", 2)), scope="scope")
    finding = only(PROBE.run(ctx), "MA608")
    f = finding.figures
    assert (f["scopes_stored"], f["scopes_with_rule"]) == (3, 1)
    assert (f["rows_without_rule"], f["share_without_rule"]) == (12, 0.6)
    assert f["rule_without_rows"] == "task"
    assert f["oldest_days"] == 11.0  # rows 9 to 20 have no rule: 9 May to 20 May, the newest row
    assert finding.severity is Severity.HIGH
    assert finding.subject["config"] == "memory.retention_days"
    assert finding.subject["values"] == ["project", "用户"]
    assert finding.evidence.total == 12


@pytest.mark.parametrize(
    "rules",
    [
        {"retention": {"session": 7, "project": None}},
        {"retention": {"session": "7d", "project": "never"}},
        {"retention": {"session": {"max_age_days": 7}, "*": {"max_age_days": 365}}},
        {"retention": {"session": 7, "default": 90}},
        {"retention": {"session": 7, "pro*": 90}},
        {"retention": [{"scope": "session", "max_age_days": 7}, {"scope": "project", "max_age_days": 90}]},
        {"session_ttl_days": 7, "project_ttl_days": 90},
        {"retention": {"enabled": True, "scopes": {"session": {"days": 7}, "project": {"days": 90}}}},
    ],
)
def test_scopes_when_every_scope_has_a_rule_then_silent(tmp_path: Any, rules: Any) -> None:
    result = PROBE.run(context(tmp_path, rules, scoped(("session", 5), ("project", 5)), scope="scope"))
    assert codes(result) == []
    assert "MA608" not in result.not_looked


def test_scopes_when_only_rules_are_unused_then_info(tmp_path: Any) -> None:
    rules = {"retention": {"session": 7, "project": 90, "task": 1}}
    finding = only(PROBE.run(context(tmp_path, rules, scoped(("session", 5), ("project", 5)), scope="scope")), "MA608")
    assert finding.severity is Severity.INFO
    assert finding.figures["rows_without_rule"] == 0


def test_scopes_when_notation_differs_then_medium_with_a_hint(tmp_path: Any) -> None:
    rules = {"retention": {"session": 7}}
    ctx = context(tmp_path, rules, scoped(("session:1", 5), ("session:2", 5)), scope="scope")
    finding = only(PROBE.run(ctx), "MA608")
    assert finding.severity is Severity.MEDIUM
    assert finding.figures["rows_without_rule"] == 10
    assert "`session`" in (finding.caveat or "")


def test_scopes_when_null_then_counted_as_without_rule(tmp_path: Any) -> None:
    ctx = context(tmp_path, {"retention": {"session": 7}}, scoped(("session", 18), (None, 2)), scope="scope")
    finding = only(PROBE.run(ctx), "MA608")
    assert finding.figures["rows_without_scope"] == 2
    assert finding.figures["rows_without_rule"] == 2


def test_scopes_when_there_are_no_rules_or_no_column_then_not_looked(tmp_path: Any) -> None:
    rows = scoped(("session", 3))
    assert PROBE.run(context(tmp_path, {"k": 5}, rows, scope="scope")).not_looked["MA608"][1] == "config"
    assert PROBE.run(context(tmp_path, {"k": 5}, rows)).not_looked["MA608"][1] == "scope"
    assert PROBE.run(make_context(rows, roles=ROLES)).not_looked["MA608"][1] == "config"
    assert "MA608" in codes(
        PROBE.run(context(tmp_path, {"retention": {"session": 7}}, scoped(("session", 3), ("x", 3))))
    )


def test_rules_when_weights_by_scope_stand_beside_them_then_retention_wins() -> None:
    config = {"weights": {"session": 0.5, "project": 1.0}, "retention": {"session": 7}}
    rules = find_rules(config, ["session", "project"])
    assert rules is not None
    assert rules.path == "retention"
    assert find_rules({"retention": {"max_age_days": 30, "enabled": True}}, ["session"]) is None
    assert find_rules({"weights": {"session": 0.5, "project": 1.0}}, ["session", "project"]) is None
    assert coverage(rules, []).without == {}


@pytest.mark.parametrize(
    ("config", "by_scope"),
    [
        # The age of everything, in a part of the program that is called `memory`.
        ({"memory": {"max_per_user": 50, "ttl_days": {"default": 365}}, "log_level": "info"}, {"default": 365}),
        ({"memory": {"max_per_user": 50, "ttl_days": 365}, "server": {"port": 80}}, None),
        # Scopes that nobody stores, misspelt perhaps, are rules all the same.
        ({"scopes": {"sessions": {"ttl_days": 7}}}, {"sessions": {"ttl_days": 7}}),
        ({"s": {"ttl_days": 7}, "p": {"ttl_days": 30}}, {"s": {"ttl_days": 7}, "p": {"ttl_days": 30}}),
    ],
)
def test_rules_when_no_stored_scope_is_named_then_a_part_of_the_program_is_none(config: Any, by_scope: Any) -> None:
    rules = find_rules(config, ["session", "project"])
    assert (None if rules is None else rules.by_scope) == by_scope


# -- MA609 --------------------------------------------------------------------------------------

CONSOLIDATE = {"maintenance": {"consolidate": {"interval_hours": 24, "enabled": True}}}


def test_jobs_when_a_table_of_runs_is_empty_then_medium_with_figures(tmp_path: Any) -> None:
    rows = scoped(("s", 28), consolidated=0)
    ctx = context(
        tmp_path, CONSOLIDATE, rows, tables={"job_runs": []}, columns={"job_runs": ["id", "job", "started_at"]}
    )
    finding = only(PROBE.run(ctx), "MA609")
    f = finding.figures
    assert (f["jobs"], f["runs"], f["consolidated"], f["memories"]) == (1, 0, 0, 28)
    assert f["runs_expected_about"] == 27  # 1 to 28 May
    assert finding.severity is Severity.MEDIUM
    assert finding.subject["config"] == "maintenance.consolidate"
    assert "job_runs" in finding.subject["tables"]


def test_jobs_when_one_of_two_ran_then_only_the_other(tmp_path: Any) -> None:
    production = {"jobs": {"consolidate": "0 3 * * *", "prune": "daily"}}
    runs = [{"job": "prune", "started_at": f"2026-05-{d:02d}"} for d in range(1, 20)]
    finding = only(PROBE.run(context(tmp_path, production, scoped(("s", 28)), tables={"job_runs": runs})), "MA609")
    assert finding.subject["values"] == ["consolidate"]
    assert (finding.figures["jobs"], finding.figures["runs"], finding.figures["jobs_never_run"]) == (2, 19, 1)


@pytest.mark.parametrize(
    ("tables", "mark"),
    [
        ({"job_runs": [{"job": "consolidate", "at": "2026-05-03"}]}, None),
        ({"consolidation_runs": [{"at": "2026-05-03"}]}, None),
        ({"jobs": [{"name": "consolidate", "last_run_at": "2026-05-03"}]}, None),
        ({"metadata": [{"key": "last_consolidation", "value": "2026-05-03"}]}, None),
        ({"job_runs": [{"job": "other", "at": None}]}, 1),  # the rows are marked
    ],
)
def test_jobs_when_a_run_is_on_record_then_silent(tmp_path: Any, tables: Any, mark: Any) -> None:
    rows = scoped(("s", 28), **({} if mark is None else {"consolidated": mark}))
    assert codes(PROBE.run(context(tmp_path, CONSOLIDATE, rows, tables=tables))) == []


def test_jobs_when_not_due_disabled_or_not_recorded_then_silent(tmp_path: Any) -> None:
    young = scoped(("s", 2), consolidated=0)
    assert codes(PROBE.run(context(tmp_path, CONSOLIDATE, young))) == []
    off = {"maintenance": {"consolidate": {"interval_hours": 24, "enabled": False}}}
    assert codes(PROBE.run(context(tmp_path, off, scoped(("s", 28), consolidated=0)))) == []
    unrecorded = PROBE.run(context(tmp_path, CONSOLIDATE, scoped(("s", 28))))
    assert codes(unrecorded) == []
    assert "not recorded" in unrecorded.not_looked["MA609"][0]


def test_jobs_when_no_last_run_is_stored_then_reported(tmp_path: Any) -> None:
    tables = {"jobs": [{"name": "consolidate", "last_run_at": None}]}
    assert codes(PROBE.run(context(tmp_path, CONSOLIDATE, scoped(("s", 28)), tables=tables))) == ["MA609"]


@pytest.mark.parametrize(
    ("production", "severity"),
    [
        ({"consolidation": {"enabled": True, "min_age_days": 3}}, Severity.LOW),  # on, but how often is not said
        ({"jobs": ["consolidate"]}, Severity.LOW),
        ({"consolidation": {"schedule": "0 3 * * *"}}, Severity.MEDIUM),
    ],
)
def test_jobs_when_the_schedule_is_or_is_not_known_then_medium_or_low(
    tmp_path: Any, production: Any, severity: Severity
) -> None:
    tables = {"metadata": [{"key": "last_consolidation", "value": None}]}
    finding = only(PROBE.run(context(tmp_path, production, scoped(("s", 28)), tables=tables)), "MA609")
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("production", "names", "per_day"),
    [
        ({"consolidation_interval_hours": 6}, ["consolidation"], 4.0),
        ({"prune_every": "12h"}, ["prune"], 2.0),
        ({"jobs": [{"name": "dedup", "cron": "*/30 * * * *"}]}, ["dedup"], 48.0),
        ({"memory": {"decay": {"schedule": "weekly"}}}, ["decay"], 1 / 7),
        ({"cleanup": {"interval": {"days": 2}}}, ["cleanup"], 0.5),
        ({"heartbeat_interval_seconds": 5, "retry": {"interval_ms": 200}, "poll_interval": "5s"}, [], None),
        ({"prune_interval_hours": 6, "prune_enabled": False}, [], None),
    ],
)
def test_schedules_when_written_in_a_way_then_found(production: Any, names: Any, per_day: Any) -> None:
    jobs = find_jobs(production)
    assert [j.name for j in jobs] == names
    if names:
        assert jobs[0].per_day == pytest.approx(per_day)


def test_schedules_when_by_number_of_memories_then_expected_by_rows() -> None:
    (job,) = find_jobs({"consolidate_every_n": 50})
    assert job.expected(None, 200) == 4.0


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("0 3 * * *", 1.0), ("*/15 * * * *", 96.0), ("0 */6 * * *", 4.0), ("0 4 * * 0", 1 / 7), ("0 4 1 * *", 1 / 30.44),
        ("0 9-17 * * 1-5", 9 * 5 / 7), ("0 0 * * sun", 1 / 7), ("0,30 8 * * *", 2.0), ("hello", None), ("61 * * * *", None),
    ],
)  # fmt: skip
def test_cron_when_read_then_runs_a_day(line: str, runs: float | None) -> None:
    assert cron_runs_a_day(line) == (None if runs is None else pytest.approx(runs))


@pytest.mark.parametrize("name", ["consolidate", "consolidation", "memory_consolidation_job", "nightly_consolidate"])
def test_stem_when_a_job_is_named_in_a_way_then_the_same_root(name: str) -> None:
    assert stem(name) == "consol"
    assert stem(name) in "consolidated_at"
