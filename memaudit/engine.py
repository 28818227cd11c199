"""Run the probes over a store, one by one, and put an audit together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from memaudit import __version__
from memaudit.arrange import arranged, by_severity, check_suppressions
from memaudit.blas import fitting_threads
from memaudit.breakdown import breakdowns, rows_without_tables
from memaudit.config import Config
from memaudit.context import Context
from memaudit.embedding import UnitVectors
from memaudit.errors import ConfigError, EncoderError, StoreError
from memaudit.fingerprint import with_fingerprints
from memaudit.history.against_baseline import against_baseline
from memaudit.history.baseline import Accepted, baseline_notes, read_baseline
from memaudit.history.compare import with_changes
from memaudit.history.silent import is_accepted
from memaudit.masking import masked_audit
from memaudit.model import (
    Audit,
    Evidence,
    Finding,
    NotRun,
    ProbeResult,
    RowsLeftOut,
    RunInfo,
    Severity,
    Status,
    Verdict,
)
from memaudit.probe_run import Progress, outcome
from memaudit.records import Roles
from memaudit.registry import Probe, all_probes, chosen
from memaudit.reproduction import reproducible
from memaudit.roles import find_roles, open_records
from memaudit.roles.store_hints import with_hints
from memaudit.self_audit import OWN_CODES, findings_of_the_audit, store_info, versions
from memaudit.stores.addresses import without_credentials
from memaudit.stores.detect import open_store
from memaudit.stores.store import Store, no_store
from memaudit.unread_keys import unread_keys
from memaudit.verdict import VerdictInput, decide
from memaudit.wording import key, plural, say, spoken

RowKeys = Callable[[Sequence[Any]], None]


@spoken
def run_audit(
    config: Config,
    *,
    command: str = "",
    progress: Progress | None = None,
    opened: Store | None = None,
    keep_open: bool = False,
    keys: RowKeys | None = None,
) -> Audit:
    """Audit one store.

    Parameters
    ----------
    config
        What to read and how.
    command
        The command line, for the report.
    progress
        Called with a short sentence before each longer step.
    opened
        A store that is open already (a DataFrame); `config.store` names it for the report.
    keep_open
        Leave the store open, for the audit of another of its tables; else it is closed here.
    keys
        Called with the keys of the rows under audit when a column holds them, for the history.

    Raises
    ------
    ConfigError
        A named table, column, probe or condition is not there.
    StoreError
        The store cannot be opened or read; :func:`unreadable` makes a report of it.
    """
    started = datetime.now(timezone.utc)
    clock = time.perf_counter()
    tell = progress or (lambda sentence: None)
    given = config
    if not config.store and not (config.queries or config.runs):
        raise ConfigError(say("no store was given."), say("Give --store PATH, or set store in memaudit.toml."))
    probes = all_probes()
    wanted = chosen(probes, config.select, config.ignore)
    check_suppressions(config, [*(code for p in probes for code in p.codes), *OWN_CODES])
    tell(say("opening {path}", path=without_credentials(config.store or config.queries or "")))
    store = opened or _store(config)
    try:
        roles = find_roles(store, config) if config.store else Roles(table="none")
        records, left_out = open_records(store, roles, config, np.random.default_rng(config.seed))
        if config.store:
            config, _ = with_hints(config, store, roles.table)
        ctx = Context(config, store, records, has_store=bool(config.store))
        _check_names(ctx)
        accepted = read_baseline(config.path(config.baseline)) if config.baseline else ()
        with fitting_threads(records.n_rows):
            looked = _look(ctx, probes, wanted, tell)
        parts = [] if looked.incomplete else breakdowns(ctx, probes, looked.results, tell)
        audit = _put_together(ctx, probes, looked, left_out, accepted)
        not_in_parts = rows_without_tables(ctx) if parts else ()
        if keys is not None and ctx.has_store and records.roles.id is not None:
            keys(records.keys)
    finally:
        if not keep_open:
            store.close()
    seconds = round(time.perf_counter() - clock, 3)
    run = replace(audit.run, started=started.isoformat(timespec="seconds"), seconds=seconds)
    # Notes about the store are complete only after it was closed: it may have changed while it was read.
    head = replace(audit.store, notes=store.notes_for(roles.table)) if audit.store is not None else None
    notes = audit.notes + not_in_parts + _unread(given, probes) + baseline_notes(accepted, audit)
    whole = replace(audit, command=command, run=run, store=head, breakdowns=tuple(parts), notes=notes)
    shown = masked_audit(reproducible(whole))
    if not config.baseline:
        return shown
    return with_changes(shown, against_baseline(accepted, shown, config.baseline))


def _store(config: Config) -> Store:
    if not config.store:
        return no_store()
    return open_store(config.store, config.store_kind, config.base, config.table)


@spoken
def unreadable(config: Config, error: StoreError, command: str = "") -> Audit:
    """Return the audit of a store that cannot be read: one finding, and nothing else looked at."""
    finding = Finding(
        "MA901",
        "store-unreadable",
        Severity.HIGH,
        {"path": without_credentials(config.store or "")},
        say("The store could not be read, so nothing was audited."),
        {"rows": None},
        Evidence(),
        fix=error.hint or "",
        caveat=error.message,
        probe="audit",
    )
    not_run = tuple(
        NotRun(p.name, tuple(sorted(p.codes)), Status.SKIPPED, say("the store could not be read")) for p in all_probes()
    )
    return Audit(
        memaudit=__version__,
        store=None,
        encoder=None,
        verdict=Verdict("nothing-audited", finding.title, lead=error.message, do_first=error.hint or ""),
        findings=(finding,),
        sections=(),
        not_run=not_run,
        figures={},
        notes=(),
        left_out=(),
        plan=(),
        config=config.resolved(),
        versions=versions(),
        run=RunInfo(datetime.now(timezone.utc).isoformat(timespec="seconds"), 0.0),
        command=command,
        incomplete=error.message,
        lang=config.lang,
    )


def _check_names(ctx: Context) -> None:
    """Refuse configured tables and columns that the store does not have before any work is done."""
    if not ctx.has_store:
        return
    for name in (ctx.config.retrieval_log, ctx.config.dropped_table):
        if name is not None:
            ctx.store.table(name)
    for table in (ctx.config.vectors, ctx.config.supersedes):
        if table is not None and "table" in table:
            ctx.store.table(str(table["table"]))
    for name in ctx.config.by or ():
        if name != "language" and name not in ctx.records.column_names:
            raise ConfigError(
                say("--by: table '{table_name}' has no column '{name}'.", table_name=ctx.table_name, name=name),
                say("Columns: {column_names}, and language.", column_names=", ".join(ctx.records.column_names)),
            )


@dataclass
class _Looked:
    """What the probes returned."""

    results: dict[str, ProbeResult] = field(default_factory=dict)
    not_run: list[NotRun] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    incomplete: str = ""


def _look(ctx: Context, probes: Sequence[Probe], wanted: Mapping[str, set[str]], tell: Progress) -> _Looked:
    looked = _Looked()
    asked = [p for p in probes if p.name in wanted]
    for number, probe in enumerate(asked):
        codes = tuple(sorted(wanted[probe.name]))
        tell(say("probe {number} of {n}: {name}", number=number + 1, n=len(asked), name=probe.name))
        clock = time.perf_counter()
        try:
            result = outcome(ctx, probe, codes)
        except KeyboardInterrupt:
            looked.not_run += [
                NotRun(p.name, tuple(sorted(wanted[p.name])), Status.SKIPPED, say("interrupted"))
                for p in asked[number:]
            ]
            looked.incomplete = say(INTERRUPTED)
            break
        looked.seconds[probe.name] = round(time.perf_counter() - clock, 3)
        if isinstance(result, NotRun):
            looked.not_run.append(result)
            if result.status is Status.FAILED and not looked.incomplete:
                looked.incomplete = say("probe {name} failed: {reason}", name=probe.name, reason=result.reason)
            continue
        looked.results[probe.name] = result
        looked.incomplete = looked.incomplete or result.incomplete
        looked.not_run += [
            NotRun(probe.name, (code,), Status.SKIPPED, reason, option)
            for code, (reason, option) in sorted(result.not_looked.items())
            if code in codes
        ]
    return looked


#: `Audit.incomplete` of an audit that a person stopped.
INTERRUPTED = key("interrupted by a person")


def _put_together(
    ctx: Context,
    probes: Sequence[Probe],
    looked: _Looked,
    left_out: tuple[RowsLeftOut, ...],
    accepted: Sequence[Accepted],
) -> Audit:
    results = looked.results
    vectors = ctx.vectors_if_made
    used = vectors if isinstance(vectors, UnitVectors) else None
    encoder = ctx.text_encoder_if_used
    encoder_error = str(vectors) if isinstance(vectors, EncoderError) else ""
    incomplete = looked.incomplete
    if encoder_error and ctx.config.encoder is not None:
        incomplete = incomplete or encoder_error
    every_left_out = _distinct(
        (*left_out, *(used.left_out if used else ()), *(out for r in results.values() for out in r.left_out))
    )
    own = findings_of_the_audit(ctx, every_left_out, encoder_error) if ctx.has_store else []
    findings = [f for r in results.values() for f in r.findings] + [f for f in own if not _ignored(f, ctx.config)]
    shown, suppressed = arranged(
        findings, ctx.config, rows=ctx.records.n_rows, drawn_from=ctx.records.drawn_from, baseline=accepted
    )
    figures: dict[str, Any] = {"rows": ctx.records.n_rows} if ctx.has_store else {}
    for result in results.values():
        figures.update(result.figures)
    # An accepted fault is silent, not gone: the verdict still rests on it. A suppressed one is no fault.
    in_baseline = {item["fingerprint"] for item in suppressed if is_accepted(item)}
    known = [f for f in with_fingerprints(by_severity(findings)) if f.fingerprint in in_baseline]
    blind = {p.name for p in probes if p.name in results and set(p.codes) <= set(results[p.name].not_looked)}
    lanes = frozenset(
        lane for p in probes if p.name in results and p.name not in blind for lane in getattr(p, "lanes", ())
    )
    return Audit(
        memaudit=__version__,
        store=store_info(ctx) if ctx.has_store else None,
        encoder=used.encoder if used else None,
        verdict=_with_silent(
            decide(_verdict_input(ctx, by_severity([*shown, *known]), looked.not_run, figures, lanes, len(probes))),
            len(suppressed),
        ),
        findings=tuple(shown),
        sections=tuple(s for r in results.values() for s in r.sections),
        not_run=tuple(looked.not_run),
        figures=figures,
        notes=tuple(n for r in results.values() for n in r.notes),
        left_out=every_left_out,
        plan=tuple(p for r in results.values() for p in r.proposals),
        config=ctx.config.resolved(),
        versions=versions(),
        run=RunInfo("", 0.0, looked.seconds, encoder.n_encoded if encoder else 0, encoder.n_cached if encoder else 0),
        suppressed=tuple(suppressed),
        incomplete=incomplete,
        lang=ctx.config.lang,
    )


def _with_silent(verdict: Verdict, n: int) -> Verdict:
    """Say beneath the verdict that findings are silent, so that nobody takes silence for health."""
    if n == 0:
        return verdict
    note = say("{findings} suppressed or accepted, folded below.", findings=plural(n, "finding"))
    return replace(verdict, lead=f"{verdict.lead} {note}".strip())


def _ignored(finding: Finding, config: Config) -> bool:
    return any(finding.code.startswith(word.upper()) for word in config.ignore or ())


def _distinct(left_out: Iterable[RowsLeftOut]) -> tuple[RowsLeftOut, ...]:
    """Keep one entry a reason: several probes leave the same rows out."""
    return tuple({(out.reason, out.rows): out for out in left_out}.values())


def _verdict_input(
    ctx: Context,
    findings: Sequence[Finding],
    not_run: Sequence[NotRun],
    figures: Mapping[str, Any],
    lanes: frozenset[str],
    n_probes: int,
) -> VerdictInput:
    clusters = {t: figures.get(f"clusters@{t:g}") for t in ctx.config.thresholds}
    week = figures.get("rows_last_week"), figures.get("new_clusters_last_week")
    return VerdictInput(
        rows=ctx.records.n_rows if ctx.has_store else None,
        distinct=figures.get("distinct_values"),
        clusters={t: c for t, c in clusters.items() if c is not None},
        domain=figures.get("domain_size"),
        on_fallback=(figures["rows_on_fallback"], figures["rows_counted"]) if figures.get("rows_counted") else None,
        field_name=ctx.roles.value_field or "",
        findings=findings,
        not_run=not_run,
        n_probes=n_probes,
        looked=lanes,
        evaluated=figures.get("query_set_can_decide"),
        new_clusters=None if None in week else (int(week[0] or 0), int(week[1] or 0)),
        value_field_guessed="value_field" in ctx.roles.guessed and ctx.config.group_field is None,
    )


def _unread(config: Config, probes: Sequence[Probe]) -> tuple[str, ...]:
    """Name the settings that somebody gave and that no probe of this version reads."""
    names = unread_keys(config, probes)
    return (say("No probe of this version reads these settings: {names}.", names=", ".join(names)),) if names else ()
