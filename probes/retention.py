"""Whether the rules and jobs that should keep a memory in order reach the rows, and whether they ever ran."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.retention_rules import Coverage, Rules, coverage, find_rules
from memaudit.measures.schedules import Job, find_jobs
from memaudit.model import Evidence, Example, Finding, ProbeResult, Severity
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say, sentences, space_between

#: Shares of rows without a rule from which on MA608 is high and medium.
HIGH_SHARE, MEDIUM_SHARE = 0.50, 0.05
#: A job that should have run fewer times than this may not have been due yet.
MIN_EXPECTED = 1.5

_SCOPE = re.compile(r"(^|_)(scope|namespace|retention_class|retention|tier|layer|memory_type|kind)($|_)")
_AGES = re.compile(r"retention|ttl|expir|max_?age|keep|lifetime", re.IGNORECASE)
_RUNS = re.compile(
    r"(^|_)(jobs?|tasks?|maintenance|cron|schedule[rd]?|worker|consolidation|cleanup|prun\w*|dedup\w*|compaction|gc|decay"
    r"|retention|archiv\w*|reflection)s?(_(runs?|logs?|history|executions?|events?|state|status))?$|^runs$"
)
_STATE = re.compile(r"(^|_)(meta|metadata|state|settings|kv|key_values?|properties|status|info|system)$")
_JOB_NAME = re.compile(r"(^|_)(job|task|name|kind|type|operation|action|job_name|job_id)($|_)")
_LAST_RUN = re.compile(r"last_(run|ran|executed|started|finished|success)\w*|ran_at|last_\w+_at")
_RUN_COUNT = re.compile(r"(run|runs|execution|exec)_?(count|total)|runs")


class Retention:
    """MA608 and MA609."""

    name: ClassVar[str] = "retention"
    title: ClassVar[str] = "Do retention and maintenance reach the rows?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA608": "retention-rule-misses-scope",
        "MA609": "maintenance-never-ran",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[frozenset[str]] = frozenset({"scope", "config", "time"})

    def run(self, ctx: Context) -> ProbeResult:
        """Hold the production configuration against the rows."""
        config = ctx.production_config
        if config is None:
            reason = (say("no production configuration was given"), "config")
            return ProbeResult(not_looked=dict.fromkeys(self.codes, reason))
        findings: list[Finding] = []
        not_looked: dict[str, tuple[str, str]] = {}
        for code, answer in (("MA608", _scopes(ctx, config)), ("MA609", _jobs(ctx, config))):
            if isinstance(answer, Finding):
                findings.append(answer)
            elif answer is not None:
                not_looked[code] = answer
        return ProbeResult(tuple(findings), not_looked=not_looked)


# -- MA608 --------------------------------------------------------------------------------------


def _scope_column(ctx: Context, config: Mapping[str, Any]) -> tuple[str | None, Rules | None]:
    if ctx.config.scope is not None:
        scopes = {str(v) for v in ctx.records.column(ctx.config.scope) if v is not None and v != ""}
        return ctx.config.scope, find_rules(config, scopes)
    for name in ctx.records.column_names:
        if not _SCOPE.search(name.lower()):
            continue
        values = {v for v in ctx.records.column(name) if isinstance(v, str) and v}
        rules = find_rules(config, values) if 0 < len(values) <= 200 else None
        # Found by looking: the rules must speak of retention and know at least one of the stored values.
        if rules is not None and _AGES.search(rules.path) and any(v in rules.by_scope for v in values):
            return name, rules
    return None, None


def _scopes(ctx: Context, config: Mapping[str, Any]) -> Finding | tuple[str, str] | None:
    column, rules = _scope_column(ctx, config)
    if column is None:
        return say("no column with the retention scope was named, or found together with rules for it"), "scope"
    if rules is None:
        return say("the production configuration holds no rules by scope"), "config"
    scopes = ctx.records.column(column)
    found = coverage(rules, scopes)
    if not found.without and not found.unused:
        return None
    return _scope_finding(ctx, column, rules, scopes, found)


def _scope_finding(ctx: Context, column: str, rules: Rules, scopes: Sequence[Any], found: Coverage) -> Finding:
    n = ctx.records.n_rows
    rows = sorted(i for numbers in found.without.values() for i in numbers)
    share = len(rows) / n
    high = ctx.limit("MA608", "high_share", HIGH_SHARE)
    medium = ctx.limit("MA608", "medium_share", MEDIUM_SHARE)
    severity = Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW
    named = [scope for scope in found.without if scope is not None]
    notes = [say("Rules were found in {path}: {names}.", path=rules.path or "the configuration",
                 names=", ".join(rules.by_scope))]  # fmt: skip
    if not rows:
        severity = Severity.INFO
        title = say("{rules} of `{path}` {match} no row.", rules=plural(len(found.unused), "rule"), path=rules.path,
                    match=say("matches") if len(found.unused) == 1 else say("match"))  # fmt: skip
    else:
        what = ", ".join(f"`{scope}`" for scope in named[:5]) + (", ..." if len(named) > 5 else "")
        title = say("{rows} rows are in a scope that no retention rule names: {what}.", rows=part_of(len(rows), n),
                    what=what or say("no scope at all"))  # fmt: skip
        if found.unused:
            title += space_between() + say("The {rule} {names} {match} no row.", rule=plural(len(found.unused), "rule").split()[1],
                               names=", ".join(f"`{name}`" for name in found.unused[:5]),
                               match=say("matches") if len(found.unused) == 1 else say("match"))  # fmt: skip
        notes.append(say("High from {high:.3g} % of the rows, medium from {medium:.3g} %, else low.",
                         high=100 * high, medium=100 * medium))  # fmt: skip
    if named and all(scope in found.prefixes for scope in named) and severity is Severity.HIGH:
        severity = Severity.MEDIUM
    if found.prefixes:
        scope, rule = next(iter(found.prefixes.items()))
        notes.append(say("Rules are taken to name scopes in full; if production compares the beginning only, `{rule}` "
                         "does reach `{scope}`.", rule=rule, scope=scope))  # fmt: skip
    days = _oldest_days(ctx, rows)
    if days is not None:
        notes.append(say("Age is counted to the newest row."))
    examples = tuple(
        Example(ctx.records.texts[i], ctx.records.keys[i], say("scope {scope}", scope=str(scopes[i])))
        for i in rows[: ctx.config.max_examples]
    )
    unused: Any = None if not found.unused else found.unused[0] if len(found.unused) == 1 else list(found.unused)
    return Finding(
        "MA608",
        "retention-rule-misses-scope",
        severity,
        {"table": ctx.table_name, "column": column, "config": rules.path, "values": named, "part": list(found.unused)},
        title,
        {
            "rows": n,
            "scopes_stored": len({str(s) for s in scopes if s is not None and s != ""}),
            "scopes_with_rule": len(found.with_rule),
            "rows_without_rule": len(rows),
            "share_without_rule": share,
            "rule_without_rows": unused,
            "oldest_days": days,
            "rows_without_scope": len(found.without.get(None, ())),
            "groups": {scope: len(numbers) for scope, numbers in found.without.items() if scope is not None},
        },
        Evidence(examples, len(rows), tuple(ctx.records.keys[i] for i in rows)),
        fix=say("Write a rule for every scope that the store holds, or a default rule, and let the job fail on a scope "
                "that it does not know.") if rows else "",
        caveat=sentences(*notes),
    )  # fmt: skip


def _oldest_days(ctx: Context, rows: Sequence[int]) -> float | None:
    """Return days from the oldest of some rows to the newest row of all; None where that is not known."""
    if ctx.roles.time is None or not rows:
        return None
    times = [parse_time(value) for value in ctx.records.column(ctx.roles.time)]
    mine = [t for i in rows if (t := times[i]) is not None]
    newest = max((t for t in times if t is not None), default=None)
    return (newest - min(mine)).total_seconds() / 86_400 if mine and newest is not None else None


# -- MA609 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnRecord:
    """What the store knows about the runs of a job.

    Parameters
    ----------
    runs
        Runs on record; None where nothing in the store would record one.
    where
        Tables and columns that were looked at.
    done_rows
        Rows of the audited table marked by the job; None without such a column.
    """

    runs: int | None
    where: tuple[str, ...]
    done_rows: int | None


def stem(name: str) -> str:
    """Return the beginning of a job's name that a table or column of its results has in common with it."""
    word = re.sub(r"(^|_)(job|task|run|nightly|daily|memory|memories|auto|worker)(?=_|$)", "", name.lower()).strip(
        "_-. "
    )
    word = re.sub(r"[^a-z\u4e00-\u9fff]+", "_", word).strip("_").split("_")[0]
    return re.sub(r"(idations?|idate|ication|icate|ing|tion|ions?|ers?|es?)$", "", word) or word


def on_record(ctx: Context, job: Job) -> OnRecord:
    """Look for the runs of a job: in tables of runs, in tables of settings, and in marks on the rows."""
    root = stem(job.name)
    runs: int | None = None
    where: list[str] = []
    for table in ctx.store.tables:
        if table.name == ctx.table_name:
            continue
        lower = table.name.lower()
        own = len(root) >= 3 and root in lower
        if own or _RUNS.search(lower):
            counted = _runs_in(ctx, table.name, job, root, own)
        elif _STATE.search(lower):
            counted = _noted_in(ctx, table.name, root)
        else:
            continue
        if counted is not None:
            runs = (runs or 0) + counted
            where.append(table.name)
    done: int | None = None
    for name in ctx.records.column_names:
        if len(root) >= 4 and root in name.lower() and name != ctx.roles.text:
            marked = sum(_is_set(value) for value in ctx.records.column(name))
            done = max(done or 0, marked)
            where.append(f"{ctx.table_name}.{name}")
    return OnRecord(runs, tuple(where), done)


def _runs_in(ctx: Context, table: str, job: Job, root: str, own: bool) -> int | None:
    """Count a job's runs in a table; None where the table cannot name it."""
    records = ctx.other_table(table)
    names = [c for c in records.column_names if _JOB_NAME.search(c.lower())]
    mine = list(range(records.n_rows))
    if not own:
        if not names:
            return None
        column = next((c for c in names if re.search(r"job|task", c.lower())), names[0])
        values = records.column(column)
        mine = [i for i, v in enumerate(values) if v is not None and _same_job(str(v), job.name, root)]
    counter = next((c for c in records.column_names if _RUN_COUNT.fullmatch(c.lower())), None)
    last = next((c for c in records.column_names if _LAST_RUN.fullmatch(c.lower())), None)
    if counter is not None:
        numbers = records.column(counter)
        return int(sum(n for i in mine if isinstance(n := numbers[i], (int, float)) and not isinstance(n, bool)))
    if last is not None:
        times = records.column(last)
        return sum(_is_set(times[i]) for i in mine)
    return len(mine)


def _noted_in(ctx: Context, table: str, root: str) -> int | None:
    """Return 1 when a table of keys and values notes a last run of a job, 0 when it notes none, None without the key."""
    records = ctx.other_table(table)
    key = next((c for c in records.column_names if c.lower() in ("key", "name", "k", "setting")), None)
    value = next((c for c in records.column_names if c.lower() in ("value", "v", "val")), None)
    if key is None or value is None or len(root) < 3:
        return None
    pairs = zip(records.column(key), records.column(value), strict=True)
    found = [v for k, v in pairs if root in str(k).lower() and re.search(r"last|run|_at$|time", str(k).lower())]
    return int(any(_is_set(v) for v in found)) if found else None


def _same_job(value: str, name: str, root: str) -> bool:
    return value.strip().lower() == name.lower() or (len(root) >= 3 and root in value.lower())


def _is_set(value: Any) -> bool:
    return value is not None and str(value).strip().lower() not in ("", "0", "0.0", "false", "no", "null", "none", "[]")


def _jobs(ctx: Context, config: Mapping[str, Any]) -> Finding | tuple[str, str] | None:
    jobs = find_jobs(config)
    if not jobs:
        return say("the production configuration schedules no job of maintenance"), "config"
    looked = {job.name: on_record(ctx, job) for job in jobs}
    known = [job for job in jobs if looked[job.name].runs is not None or looked[job.name].done_rows is not None]
    if not known:
        return say("runs are not recorded: the store has no table of runs, and no column that a job marks"), ""
    days = _oldest_days(ctx, range(ctx.records.n_rows))
    least = ctx.limit("MA609", "min_expected", MIN_EXPECTED)
    never = []
    for job in known:
        record = looked[job.name]
        expected = job.expected(days, ctx.records.n_rows)
        if not record.runs and not record.done_rows and (expected is None or expected >= least):
            never.append(job)
    return _job_finding(ctx, jobs, never, looked, days) if never else None


def _job_finding(
    ctx: Context, jobs: Sequence[Job], never: Sequence[Job], looked: Mapping[str, OnRecord], days: float | None
) -> Finding:
    n = ctx.records.n_rows
    expected = [job.expected(days, n) for job in never]
    total = round(sum(e for e in expected if e is not None)) if all(e is not None for e in expected) else None
    done = [r.done_rows for job in never if (r := looked[job.name]).done_rows is not None]
    counted = [r.runs for r in looked.values() if r.runs is not None]
    names = ", ".join(f"`{job.name}`" for job in never)
    title = say("{names} {was} configured and never ran", names=names,
                was=say("is") if len(never) == 1 else say("are"))  # fmt: skip
    if total is not None and days is not None:
        title += say(": no run on record in {days:.0f} days, about {n} were due", days=days, n=total)
    if done:
        title += say("; {rows} were processed by it", rows=say("{done} of {n} rows", done=max(done), n=n))
    places = sorted({place for job in never for place in looked[job.name].where})
    least = ctx.limit("MA609", "min_expected", MIN_EXPECTED)
    return Finding(
        "MA609",
        "maintenance-never-ran",
        Severity.MEDIUM if total is not None else Severity.LOW,
        {
            "table": ctx.table_name,
            "config": never[0].path,
            "values": [job.name for job in never],
            "tables": sorted({place.split(".")[0] for place in places}),
            "field": places,
        },
        title + say("."),
        {
            "jobs": len(jobs),
            "runs": sum(counted) if counted else None,
            "runs_expected_about": total,
            "consolidated": max(done) if done else None,
            "memories": n,
            "jobs_never_run": len(never),
            "days_covered": days,
        },
        Evidence(tuple(Example(f"{job.path}", None, say("never ran")) for job in never[: ctx.config.max_examples]),
                 len(never)),
        fix=say("Look whether the scheduler of {names} runs at all where the agent runs, and let it write a row for "
                "every run.", names=names),
        caveat=say("Runs were looked for in {places}. A job is reported when at least {least:g} runs were due between the "
                   "oldest and the newest row; low where its schedule cannot be read.",
                   places=", ".join(places), least=least),
    )  # fmt: skip


PROBE = Retention()
