"""Commands that audit a store or show an audit: `run`, `report`, `plan`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from memaudit.commands.outcome import audits_of, counting, each_audit, outcome, table_of, why_not_green
from memaudit.commands.shared import (
    ProgressLine,
    config_options,
    key_options,
    lang_option,
    load_config,
    needs_ascii,
    print_note,
    print_result,
    summary_width,
    use_color,
    verbosity_options,
)
from memaudit.errors import ConfigError, ExitCode, MemauditError, StoreError
from memaudit.wording import plural, say, sentences

if TYPE_CHECKING:
    from pathlib import Path

    from memaudit.config import Config
    from memaudit.history.archive import Archive
    from memaudit.model import Audit, Audits
    from memaudit.output import Destination

FORMATS_HELP = (
    "FORMAT or FORMAT=PATH (repeatable): text, html, json, jsonl, markdown, sarif, junit, gitlab, github. "
    "Without it: summary, page and its JSON twin."
)


@click.command()
@key_options
@lang_option
@click.option("--all-tables", is_flag=True, help="Audit every table of memories, one after the other, into one page.")
@click.option("--out", metavar="PATH", help="Folder for page and twin, or NAME.html.")
@click.option("--format", "formats", multiple=True, metavar="FORMAT[=PATH]", help=FORMATS_HELP)
@click.option("--history", metavar="DIR|FILE", help="Keep each audit here, and say what changed since the last one.")
@click.option("--baseline", metavar="FILE", help="Accepted findings: silent until their figure worsens by 10 %.")
@click.option("--on-finding", metavar="CMD", help="Run CMD with the JSON on stdin when a finding counts.")
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@click.option("--force", is_flag=True, help="Overwrite files that memaudit did not write.")
@click.option("--no-ci", is_flag=True, help="Add nothing to the summary of a step of GitHub Actions.")
@config_options
@verbosity_options
def run(
    all_tables: bool,
    formats: tuple[str, ...],
    out: str | None,
    on_finding: str | None,
    open_page: bool,
    force: bool,
    no_ci: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
    quiet: bool,
    verbose: int,
    color: str,
    **keys: Any,
) -> None:
    """Audit a store: all probes that can run, the verdict, one page.

    \b
    Example:
      memaudit run --store experiences.db
    """
    config = load_config(config_file, isolated, settings, keys)
    code = perform(
        config, formats, out, open_page=open_page, force=force, quiet=quiet, verbose=verbose, color=color, no_ci=no_ci,
        on_finding=on_finding, all_tables=all_tables,
    )  # fmt: skip
    sys.exit(code)


def perform(
    config: Config,
    formats: tuple[str, ...],
    out: str | None,
    *,
    open_page: bool,
    force: bool,
    quiet: bool,
    verbose: int,
    color: str,
    no_ci: bool = False,
    on_finding: str | None = None,
    all_tables: bool = False,
) -> ExitCode:
    """Audit, write what was asked for, and return the exit code."""
    from pathlib import Path

    from memaudit.output import check_writable, destinations
    from memaudit.reports import RENDERERS

    places = destinations(formats, out, tuple(RENDERERS), Path.cwd())
    for place in places:
        if place.path is not None:
            check_writable(place.path, force=force)
    _check_fail_on(config)
    if all_tables:
        _check_all_tables(config)
    with ExitStack() as stack:
        history = stack.enter_context(_history(config)) if config.history else None
        row_keys: dict[str, Any] = {}
        made = _audit(
            config, quiet=quiet, verbose=verbose, row_keys=row_keys if history else None, all_tables=all_tables
        )
        if history is not None:
            from memaudit.history.keeping import with_history
            from memaudit.history.row_keys import marks

            row_marks = {table: marks(keys) for table, keys in row_keys.items()}
            made = each_audit(made, lambda a: with_history(history, a, _series(config, a), row_marks.get(table_of(a))))
        if config.redact:
            made = _redacted(made)
        written = _write(made, places, quiet=quiet, color=color)
        if history is not None:
            from memaudit.history.keeping import kept

            for audit in audits_of(made):
                kept(history, audit, _series(config, audit), row_marks.get(table_of(audit)))
    if not no_ci:
        _summarise(made)
    if on_finding is not None and any(counting(audit, config) for audit in audits_of(made)):
        _hand_over(on_finding, made)
    if written and not quiet and not formats:
        size = max(1, round(written[0].stat().st_size / 1000))
        from memaudit.wording import language, say

        with language(made.lang):
            print_result(say("report: {path} ({size} kB)", path=_short(written[0]), size=size) + "\n")
    for line in why_not_green(made, config):
        print_note(line)
    if open_page:
        page = next((p.path for p in places if p.format == "html" and p.path), None)
        if page is not None:
            click.launch(page.resolve().as_uri())
    return outcome(made, config)


def _redacted(made: Audit | Audits) -> Audit | Audits:
    from dataclasses import replace

    from memaudit.reports import redacted

    return replace(each_audit(made, redacted), redacted=True)


def _check_all_tables(config: Config) -> None:
    """Refuse what cannot go with all tables, in one line with the remedy."""
    if config.origins.get("table", "").startswith("--"):
        raise ConfigError(say("--all-tables and --table exclude each other."), say("Leave one of them out."))
    if config.baseline is not None:
        raise ConfigError(
            say("--all-tables does not go with a baseline, which is that of one table."),
            say("Audit the table alone with --table NAME, or use --history."),
        )


def _summarise(made: Audit | Audits) -> None:
    """Add the audit to the summary of a step of GitHub Actions."""
    from memaudit.ci import append_summary, in_github

    problem = append_summary(made, os.environ) if in_github(os.environ) else ""
    if problem:
        print_note(say("warning: {message}", message=problem))


@contextmanager
def _history(config: Config) -> Iterator[Archive]:
    """Open the history of the configuration for one audit at a time."""
    from memaudit.history.archive import opened, place_of, refuse_another_database
    from memaudit.history.lock import only_audit

    place = config.path(config.history or "")
    refuse_another_database(place_of(place)[0])
    with only_audit(place_of(place)[0]), opened(place, create=True) as archive:
        yield archive


def _series(config: Config, audit: Audit) -> str:
    from memaudit.history.archive import series_of

    table = config.table if audit.store is None else audit.store.table
    store = config.store or config.queries or config.runs or ""
    return series_of(store, table, config.path(config.history or ""), config.base)


def _hand_over(command: str, made: Audit | Audits) -> None:
    from memaudit.on_finding import hand_over
    from memaudit.reports import rendered

    problem = hand_over(command, rendered(made, "json"))
    if problem:
        print_note(
            say(
                "warning: --on-finding {command} {problem}. The audit itself is not affected.",
                command=repr(command),
                problem=problem,
            )
        )


def _short(path: Path) -> str:
    from pathlib import Path

    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _audit(
    config: Config,
    *,
    quiet: bool,
    verbose: int,
    row_keys: dict[str, Any] | None = None,
    all_tables: bool = False,
) -> Audit | Audits:
    """Run the audit; an unreadable store becomes a report that says so, when there is a file to speak of.

    The keys of the rows, when a column holds them, are put into `row_keys` under the name of their table.
    """
    import shlex

    from memaudit.engine import run_audit, unreadable
    from memaudit.stores.addresses import masked

    progress = ProgressLine(quiet=quiet, verbose=verbose)
    words = (click.get_current_context().obj or {}).get("words", sys.argv[1:])
    command = shlex.join(["memaudit", *map(masked, words)])
    try:
        if all_tables:
            from memaudit.every_table import audit_every_table

            collect = None if row_keys is None else row_keys.__setitem__
            return audit_every_table(config, command=command, progress=progress, keys=collect)
        found: list[Any] = []
        audit = run_audit(config, command=command, progress=progress, keys=None if row_keys is None else found.append)
        if row_keys is not None and found:
            row_keys[table_of(audit)] = found[0]
        return audit
    except StoreError as error:
        if not (config.store and os.path.isfile(config.path(config.store))):  # Path.is_file raises without permission
            raise
        progress.clear()
        print_note(say("error: {message}", message=sentences(error.message, error.hint or "")))
        return unreadable(config, error, command)
    finally:
        progress.clear()


def _write(made: Audit | Audits, places: tuple[Destination, ...], *, quiet: bool, color: str) -> list[Path]:
    """Render and write every destination; returns the files, in order."""
    from memaudit.ci import in_github, without_commands
    from memaudit.output import write_whole
    from memaudit.reports import rendered

    written = []
    for place in places:
        if place.path is None and quiet and place.format == "text":
            continue
        options: dict[str, Any] = {}
        if place.format == "text":
            options = {"color": use_color(color), "ascii_only": needs_ascii(), "width": summary_width()}
        if place.format == "text" and place.path is not None:
            options = {"color": False, "ascii_only": False}
        text = rendered(made, place.format, **options)
        if place.path is None:
            if place.format in ("text", "junit") and in_github(os.environ):
                text = without_commands(text)
            print_result(text if text.endswith("\n") else text + "\n")
        else:
            write_whole(place.path, text)
            written.append(place.path)
    return written


def _check_fail_on(config: Config) -> None:
    if config.fail_on == "new" and config.baseline is None and config.history is None:
        raise ConfigError(say("--fail-on new: new against what?"), say("Give --baseline FILE or --history DIR."))


@click.command()
@click.argument("file", metavar="FILE.json")
@click.option("--format", "formats", multiple=True, metavar="FORMAT[=PATH]", help=FORMATS_HELP)
@click.option("--out", metavar="PATH", help="Folder for page and twin, or NAME.html.")
@click.option("--redact", is_flag=True, help="Show no store text at all.")
@click.option("--force", is_flag=True, help="Overwrite files that memaudit did not write.")
@verbosity_options
def report(
    file: str,
    formats: tuple[str, ...],
    out: str | None,
    redact: bool,
    force: bool,
    quiet: bool,
    verbose: int,
    color: str,
) -> None:
    """Render a report.json again, without auditing again.

    \b
    Example:
      memaudit report report.json --format html=again.html
    """
    from pathlib import Path

    from memaudit.commands.report_file import misused_parts_refused, read_any_report
    from memaudit.output import check_writable, destinations
    from memaudit.reports import RENDERERS

    made = read_any_report(Path(file))
    if redact:
        made = _redacted(made)
    chosen = formats if formats or out is not None else ("html",)
    places = destinations(chosen, out, tuple(RENDERERS), Path.cwd())
    for place in places:
        if place.path is not None:
            check_writable(place.path, force=force)
    with misused_parts_refused(Path(file)):
        written = _write(made, places, quiet=quiet, color=color)
    for path in written:
        if not quiet:
            print_note(say("report: {path}", path=_short(path)))


@click.command()
@key_options
@click.option("--from", "source", metavar="FILE.json", help="Take the proposals of a report instead of auditing again.")
@click.option("--out", metavar="PATH", help="PLAN.json or PLAN.csv; stdout (JSON) without it.")
@click.option("--force", is_flag=True, help="Overwrite a file that memaudit did not write.")
@config_options
@verbosity_options
@lang_option
def plan(
    source: str | None,
    out: str | None,
    force: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
    quiet: bool,
    verbose: int,
    color: str,
    **keys: Any,
) -> None:
    """List the rows to merge, delete, re-embed or review. A proposal: memaudit never carries it out.

    \b
    Example:
      memaudit plan --store experiences.db --out plan.csv
    """
    from dataclasses import replace
    from pathlib import Path

    from memaudit.commands.report_file import read_report
    from memaudit.config import Config
    from memaudit.output import check_writable, write_whole
    from memaudit.plan import plan_to_csv, plan_to_json

    path = Path(out) if out else None
    if path is not None:
        if path.suffix not in (".json", ".csv"):
            raise ConfigError(say("--out {out}: .json or .csv was expected.", out=out))
        check_writable(path, force=force)
    config = Config()
    if source is not None:
        audit = read_report(Path(source))
    else:
        config = load_config(config_file, isolated, settings, keys)
        (audit,) = audits_of(_audit(config, quiet=quiet, verbose=verbose))
    if audit.store is None:
        raise MemauditError(audit.verdict.lead or say("the store could not be read."))
    if path is not None and path.suffix == ".csv":
        text = plan_to_csv(audit.plan)
    else:
        text = plan_to_json(audit.plan, audit.store.path, audit.store.table)
    if path is None:
        print_result(text)
    else:
        write_whole(path, text)
    if not quiet:
        rows = sum(len(p.ids) for p in audit.plan)
        print_note(
            say(
                "plan: {proposals} for {rows}. Nothing was changed in the store."
                if path is None
                else "plan: {proposals} for {rows}: {path}. Nothing was changed in the store.",
                proposals=plural(len(audit.plan), "proposal"),
                rows=plural(rows, "row"),
                path="" if path is None else _short(path),
            )
        )
    for line in why_not_green(audit, config):
        print_note(line)
    sys.exit(outcome(audit, replace(config, fail_on="never")))
