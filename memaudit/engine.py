"""Run the probes one by one over a store and put an audit together.

A probe that crashes becomes a result with its traceback; the other probes go on. This is the only module that
catches `Exception`.
"""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from typing import Any

import numpy as np

from memaudit import __version__
from memaudit.config import Config
from memaudit.context import Context, Need
from memaudit.errors import ConfigError, EncoderError, StoreError
from memaudit.model import (
    Audit,
    Basis,
    EncoderInfo,
    Evidence,
    Finding,
    NotRun,
    ProbeResult,
    RowsLeftOut,
    RunInfo,
    Section,
    Severity,
    Status,
    StoreInfo,
    Verdict,
)
from memaudit.records import Records
from memaudit.registry import Probe, all_probes, chosen
from memaudit.roles import find_roles, open_records
from memaudit.stores.detect import open_store
from memaudit.times import parse_time
from memaudit.verdict import VerdictInput, decide
from memaudit.wording import part_of, plural, say

#: Below this many rows a share moves by more than five points with one row.
SMALL_SAMPLE = 20
#: Keys of all rows concerned are kept up to this number.
MAX_IDS = 100_000
#: Values of a `--by` column that get tables of their own, most frequent first.
MAX_PARTS = 6

Progress = Callable[[str], None]


def run_audit(config: Config, *, command: str = "", progress: Progress | None = None) -> Audit:
    """Audit one store.

    Parameters
    ----------
    config
        What to read and how.
    command
        The command line, for the report.
    progress
        Called with a short sentence before each longer step.

    Raises
    ------
    ConfigError
        A named table, column, probe or condition is not there.
    StoreError
        The store cannot be opened; use :func:`unreadable` to report it.
    """
    started = datetime.now(timezone.utc)
    clock = time.perf_counter()
    tell = progress or (lambda sentence: None)
    if not config.store:
        raise ConfigError("no store was given.", "Give --store PATH, or set store in memaudit.toml.")
    probes = all_probes()
    wanted = chosen(probes, config.select, config.ignore)
    tell(say("opening {path}", path=config.store))
    store = open_store(config.store, config.store_kind, config.base)
    try:
        roles = find_roles(store, config)
        records, left_out = open_records(store, roles, config, np.random.default_rng(config.seed))
        ctx = Context(config, store, records)
        _check_names(ctx)
        audit = _audited(ctx, probes, wanted, left_out, tell)
    finally:
        store.close()
    info = replace(
        audit.run, started=started.isoformat(timespec="seconds"), seconds=round(time.perf_counter() - clock, 3)
    )
    store_info = replace(audit.store, notes=store.notes) if audit.store is not None else None
    return replace(audit, command=command, run=info, store=store_info)


def unreadable(config: Config, error: StoreError, command: str = "") -> Audit:
    """Return the audit of a store that cannot be read: one finding, nothing else looked at."""
    finding = Finding(
        "MA901",
        "store-unreadable",
        Severity.HIGH,
        {"path": config.store},
        say("The store could not be read, so nothing was audited."),
        {"rows": None},
        Evidence(),
        fix=error.hint or "",
        caveat=error.message,
        probe="audit",
    )
    verdict = Verdict("nothing-audited", finding.title, lead=error.message, do_first=error.hint or "")
    not_run = tuple(
        NotRun(p.name, tuple(sorted(p.codes)), Status.SKIPPED, say("the store could not be read")) for p in all_probes()
    )
    return Audit(
        memaudit=__version__,
        store=None,
        encoder=None,
        verdict=verdict,
        findings=(finding,),
        sections=(),
        not_run=not_run,
        figures={},
        notes=(),
        left_out=(),
        plan=(),
        config=config.resolved(),
        versions=_versions(),
        run=RunInfo(datetime.now(timezone.utc).isoformat(timespec="seconds"), 0.0),
        command=command,
        incomplete=error.message,
    )


def _check_names(ctx: Context) -> None:
    """Refuse configured tables that the store does not have before any work is done."""
    for key in ("retrieval_log", "dropped_table"):
        name = getattr(ctx.config, key)
        if name is not None:
            ctx.store.table(name)
    for table in (ctx.config.vectors, ctx.config.supersedes):
        if table is not None and "table" in table:
            ctx.store.table(str(table["table"]))
    for name in ctx.config.by or ():
        if name != "language" and name not in ctx.records.column_names:
            raise ConfigError(
                f"--by: table '{ctx.table_name}' has no column '{name}'.",
                f"Columns: {', '.join(ctx.records.column_names)}, and language.",
            )


def _audited(
    ctx: Context,
    probes: Sequence[Probe],
    wanted: Mapping[str, set[str]],
    left_out: tuple[RowsLeftOut, ...],
    tell: Progress,
) -> Audit:
    results: dict[str, ProbeResult] = {}
    not_run: list[NotRun] = []
    seconds: dict[str, float] = {}
    incomplete = ""
    for number, probe in enumerate(probes):
        codes = tuple(sorted(wanted[probe.name]))
        if not codes:
            continue
        tell(say("{number} of {n}: {name}", number=number + 1, n=len(probes), name=probe.name))
        clock = time.perf_counter()
        try:
            outcome = _outcome(ctx, probe, codes)
        except KeyboardInterrupt:
            rest = [p for p in probes[number:] if wanted[p.name]]
            not_run += [NotRun(p.name, tuple(sorted(wanted[p.name])), Status.SKIPPED, say("interrupted")) for p in rest]
            incomplete = say("interrupted by a person")
            break
        seconds[probe.name] = round(time.perf_counter() - clock, 3)
        if isinstance(outcome, NotRun):
            not_run.append(outcome)
            if outcome.status is Status.FAILED:
                incomplete = incomplete or say("probe {name} failed: {reason}", name=probe.name, reason=outcome.reason)
            continue
        results[probe.name] = outcome
        not_run += [
            NotRun(probe.name, (code,), Status.SKIPPED, reason, option)
            for code, (reason, option) in sorted(outcome.not_looked.items())
            if code in wanted[probe.name]
        ]
    breakdowns = () if incomplete else _breakdowns(ctx, probes, results, tell)
    encoder, encoder_error, counts, vectors_left_out = _encoder(ctx)
    all_left_out = _distinct((*left_out, *vectors_left_out, *(out for r in results.values() for out in r.left_out)))
    if encoder_error and ctx.config.encoder not in (None, "embedded"):
        incomplete = incomplete or encoder_error
    own = _findings_of_the_audit(ctx, all_left_out, encoder_error)
    ignored = chosen_codes(own, ctx.config)
    findings = [f for r in results.values() for f in r.findings] + [f for f in own if f.code in ignored]
    shown, suppressed = _arranged(ctx, findings, wanted, own)
    figures: dict[str, Any] = {"rows": ctx.records.n_rows}
    for result in results.values():
        figures.update(result.figures)
    lanes = {probe.name: _lanes(probe) for probe in probes}
    looked = frozenset(lane for name in results for lane in lanes[name])
    verdict = decide(_verdict_input(ctx, shown, not_run, figures, looked, len(probes)))
    return Audit(
        memaudit=__version__,
        store=_store_info(ctx),
        encoder=encoder,
        verdict=verdict,
        findings=tuple(shown),
        sections=tuple(s for r in results.values() for s in r.sections),
        not_run=tuple(not_run),
        figures=figures,
        notes=tuple(n for r in results.values() for n in r.notes) + _unread_keys(ctx.config, probes),
        left_out=all_left_out,
        plan=tuple(p for r in results.values() for p in r.proposals),
        config=ctx.config.resolved(),
        versions=_versions(),
        run=RunInfo("", 0.0, seconds, *counts),
        suppressed=tuple(suppressed),
        breakdowns=tuple(breakdowns),
        incomplete=incomplete,
    )


def _outcome(ctx: Context, probe: Probe, codes: tuple[str, ...]) -> ProbeResult | NotRun:
    """Run one probe, or say why it did not run."""
    try:
        if ctx.records.n_rows == 0:
            return NotRun(probe.name, codes, Status.SKIPPED, say("the store holds 0 rows"), "store")
        for need in sorted(probe.needs, key=lambda n: list(Need).index(n)):
            missing = ctx.missing(need)
            if missing is not None:
                return NotRun(probe.name, codes, Status.SKIPPED, *missing)
        return _kept(probe.run(ctx), codes)
    except (ConfigError, StoreError):
        raise
    except EncoderError as error:
        return NotRun(probe.name, codes, Status.SKIPPED, str(error), "encoder")
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return NotRun(probe.name, codes, Status.FAILED, reason, traceback=traceback.format_exc())


def _kept(result: ProbeResult, codes: Iterable[str]) -> ProbeResult:
    """Drop findings and proposals of rules that were not asked for."""
    return replace(
        result,
        findings=tuple(f for f in result.findings if f.code in codes),
        proposals=tuple(p for p in result.proposals if p.code in codes),
    )


def _lanes(probe: Probe) -> frozenset[str]:
    """Return the lanes that a probe speaks about (optional attribute `lanes`)."""
    return frozenset(getattr(probe, "lanes", ()))


def chosen_codes(findings: Iterable[Finding], config: Config) -> set[str]:
    """Return the codes of the audit's own findings that `--select` and `--ignore` leave."""
    ignored = tuple(word.upper() for word in config.ignore or ())
    return {f.code for f in findings if not any(f.code.startswith(word) for word in ignored)}


def _distinct(left_out: Iterable[RowsLeftOut]) -> tuple[RowsLeftOut, ...]:
    """Keep one entry a reason: several probes leave the same rows out."""
    return tuple({(out.reason, out.rows): out for out in left_out}.values())


def _encoder(ctx: Context) -> tuple[EncoderInfo | None, str, tuple[int, int], tuple[RowsLeftOut, ...]]:
    """Return the encoder that was used, why there is none, texts encoded and cached, and rows left out."""
    if ctx.records.n_rows == 0 or "vectors" not in ctx.__dict__:
        try:
            if ctx.records.n_rows and ctx.config.encoder not in (None, "stored"):
                _ = ctx.vectors
            else:
                return None, "", (0, 0), ()
        except EncoderError as error:
            return None, str(error), (0, 0), ()
    vectors = ctx.vectors
    return vectors.encoder, "", (vectors.n_encoded, vectors.n_cached), vectors.left_out


def _findings_of_the_audit(ctx: Context, left_out: Sequence[RowsLeftOut], encoder_error: str) -> list[Finding]:
    """Return MA001 and MA904-MA906: what the audit itself could not do."""
    n = ctx.records.n_rows
    subject = {"table": ctx.table_name}
    found = []
    if n == 0:
        total = ctx.records.table.n_rows
        found.append(
            Finding(
                "MA001",
                "store-empty",
                Severity.HIGH,
                subject,
                say("0 rows: nothing was audited.")
                if total == 0
                else say("0 of {total} rows are left to audit: nothing was audited.", total=total),
                {"rows": 0, "rows_in_table": total},
                fix=say("Check that this is the store and the table that the agent writes to."),
                probe="audit",
                reproduce="memaudit run",
            )
        )
        return found
    small = int(ctx.limit("MA904", "min_rows", SMALL_SAMPLE))
    if n < small:
        found.append(
            Finding(
                "MA904",
                "sample-too-small",
                Severity.LOW,
                subject,
                say(
                    "Only {rows}: one row moves a share by {points:.0f} points.", rows=plural(n, "row"), points=100 / n
                ),
                {"rows": n, "points_per_row": 100 / n},
                fix=say("Audit again when the store holds at least {small} rows.", small=small),
                caveat=say("Every share in this report rests on {rows}.", rows=plural(n, "row")),
                basis=Basis.UNDER_POWERED,
                probe="audit",
                reproduce="memaudit run",
            )
        )
    if encoder_error:
        found.append(
            Finding(
                "MA905",
                "model-missing",
                Severity.MEDIUM,
                subject,
                say("The encoder is not here, so the probes that need vectors did not run."),
                {"encoder": ctx.config.encoder or "embedded"},
                fix=say("Name an encoder that is on this disk with `--encoder FOLDER`."),
                caveat=encoder_error,
                probe="audit",
                reproduce="memaudit run",
            )
        )
    if left_out:
        largest = max(left_out, key=lambda out: out.rows)
        found.append(
            Finding(
                "MA906",
                "rows-left-out",
                Severity.INFO,
                subject,
                say(
                    "Rows are left out of some figures: {rows} ({reason}).",
                    rows=part_of(largest.rows, ctx.records.table.n_rows),
                    reason=largest.reason,
                ),
                {"rows": ctx.records.table.n_rows, "left_out": {out.reason: out.rows for out in left_out}},
                Evidence(total=largest.rows, ids=largest.ids),
                probe="audit",
                reproduce="memaudit run",
            )
        )
    return found


def _arranged(
    ctx: Context, findings: list[Finding], wanted: Mapping[str, set[str]], own: Sequence[Finding]
) -> tuple[list[Finding], list[Mapping[str, Any]]]:
    """Sort most severe first, apply suppressions and the lowest severity shown, cut the keys."""
    lowest = Severity.of(ctx.config.min_severity)
    shown: list[Finding] = []
    suppressed: list[Mapping[str, Any]] = []
    sampled = ctx.records.n_rows < ctx.records.table.n_rows and ctx.config.max_rows is not None
    for finding in sorted(findings, key=lambda f: (-f.severity, f.basis is Basis.UNDER_POWERED, f.code)):
        rule = _suppression(finding, ctx.config)
        if rule is not None:
            suppressed.append({"code": finding.code, "title": finding.title, "reason": rule["reason"]})
        elif finding.severity >= lowest:
            shown.append(_cut(_as_sampled(finding, ctx) if sampled else finding))
    return shown, suppressed


def _as_sampled(finding: Finding, ctx: Context) -> Finding:
    if finding.basis is not Basis.MEASURED:
        return finding
    note = say("Counted in a seeded sample: {rows} rows.", rows=part_of(ctx.records.n_rows, ctx.records.table.n_rows))
    return replace(finding, basis=Basis.SAMPLED, caveat=f"{finding.caveat} {note}" if finding.caveat else note)


def _cut(finding: Finding) -> Finding:
    if len(finding.evidence.ids) <= MAX_IDS:
        return finding
    note = say("Only the first {n} keys are listed.", n=MAX_IDS)
    evidence = replace(finding.evidence, ids=finding.evidence.ids[:MAX_IDS])
    return replace(finding, evidence=evidence, caveat=f"{finding.caveat} {note}" if finding.caveat else note)


def _suppression(finding: Finding, config: Config) -> Mapping[str, Any] | None:
    """Return the rule that suppresses a finding today, None when none does."""
    for rule in config.suppress:
        unknown = sorted(set(rule) - {"code", "reason", "until", "table", "column", "value", "file", "function"})
        if unknown or "code" not in rule or not str(rule.get("reason", "")).strip():
            raise ConfigError(
                f"suppress: {dict(rule)} needs code and reason"
                + (f", and has no key {unknown[0]}" if unknown else "")
                + ".",
                "Further keys: until (a day), table, column, value, file, function.",
            )
        until = rule.get("until")
        if until is not None and not isinstance(until, date):
            raise ConfigError(f"suppress: until = {until!r} is no day.", "Write it without quotes: until = 2027-03-31.")
        if isinstance(until, datetime):
            until = until.date()
        same = rule["code"] == finding.code and all(
            str(finding.subject.get(key)) == str(rule[key])
            for key in ("table", "column", "value", "file", "function")
            if key in rule
        )
        if same and (until is None or date.today() <= until):
            return rule
    return None


def _breakdowns(
    ctx: Context, probes: Sequence[Probe], results: Mapping[str, ProbeResult], tell: Progress
) -> list[Section]:
    """Repeat every probe's tables for the parts of each `--by` column."""
    sections: list[Section] = []
    for column in ctx.config.by or ():
        parts = _parts(ctx, column)
        for value, rows in parts[:MAX_PARTS]:
            part = ctx.restricted(rows)
            tell(say("by {column}: {value}", column=column, value=str(value)))
            for probe in probes:
                if probe.name not in results or not results[probe.name].sections:
                    continue
                outcome = _outcome(part, probe, tuple(probe.codes))
                if isinstance(outcome, NotRun):
                    continue
                sections += [_part_section(s, column, value, len(rows)) for s in outcome.sections]
    return sections


def _parts(ctx: Context, column: str) -> list[tuple[Any, Any]]:
    if column == "language" and "language" not in ctx.records.column_names:
        from memaudit.text import language

        rows: dict[str, list[int]] = {}
        for row, text in enumerate(ctx.records.texts):
            rows.setdefault(language(text), []).append(row)
        ordered = sorted(rows.items(), key=lambda item: -len(item[1]))
        return [(value, np.array(found, dtype=np.int64)) for value, found in ordered]
    return list(ctx.rows_by_value(column).items())


def _part_section(section: Section, column: str, value: Any, n_rows: int) -> Section:
    name = f"{section.key}[{column}={value}]"
    tables = tuple(replace(t, name=f"{t.name}[{column}={value}]") for t in section.tables)
    title = say(
        "{title}: {column} = {value}, {rows}",
        title=section.title,
        column=column,
        value=str(value),
        rows=plural(n_rows, "row"),
    )
    return replace(section, key=name, title=title, tables=tables, examples=())


def _verdict_input(
    ctx: Context,
    findings: Sequence[Finding],
    not_run: Sequence[NotRun],
    figures: Mapping[str, Any],
    looked: frozenset[str],
    n_probes: int,
) -> VerdictInput:
    clusters = {t: figures.get(f"clusters@{t:g}") for t in ctx.config.thresholds}
    week = figures.get("rows_last_week"), figures.get("new_clusters_last_week")
    evaluated = figures.get("query_set_can_decide")
    return VerdictInput(
        rows=ctx.records.n_rows,
        distinct=figures.get("distinct_values"),
        clusters={t: c for t, c in clusters.items() if c is not None},
        domain=figures.get("domain_size"),
        fallback_share=figures.get("share_on_fallback"),
        field_name=ctx.roles.value_field or "",
        findings=findings,
        not_run=not_run,
        n_probes=n_probes,
        looked=looked,
        evaluated=evaluated,
        new_clusters=None if None in week else (int(week[0] or 0), int(week[1] or 0)),
        value_field_guessed="value_field" in ctx.roles.guessed,
    )


def _store_info(ctx: Context) -> StoreInfo:
    store, records = ctx.store, ctx.records
    first, last = _span(records)
    others = tuple({"table": t.name, "rows": t.n_rows} for t in store.tables if t.name != records.table.name)
    return StoreInfo(
        store.path,
        store.kind,
        records.table.name,
        records.table.n_rows,
        records.n_rows,
        roles=records.roles.shown(),
        guessed=dict(records.roles.guessed),
        first_time=first,
        last_time=last,
        sha256=store.sha256,
        other_tables=others,
        notes=store.notes,
    )


def _span(records: Records) -> tuple[str | None, str | None]:
    """Return the first and the last time of writing as ISO days and seconds, None without times."""
    if records.roles.time is None:
        return None, None
    times = [t for t in map(parse_time, records.column(records.roles.time)) if t is not None]
    if not times:
        return None, None
    return min(times).isoformat(timespec="seconds"), max(times).isoformat(timespec="seconds")


def _unread_keys(config: Config, probes: Sequence[Probe]) -> tuple[str, ...]:
    """Name configured inputs that no probe of this version reads, so that nobody takes silence for an answer."""
    read = {need.value for probe in probes for need in probe.needs}
    inputs = (
        "generator",
        "code",
        "queries",
        "runs",
        "predictions",
        "traces",
        "keyword_index",
        "supersedes",
        "history",
        "baseline",
    )
    known = read | {name for probe in probes for name in getattr(probe, "reads", ())}
    unread = [name for name in inputs if getattr(config, name) is not None and name not in known]
    if not unread:
        return ()
    return (say("No probe of this version reads these settings: {names}.", names=", ".join(unread)),)


def _versions() -> dict[str, str]:
    import sqlite3

    return {
        "memaudit": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
    }
