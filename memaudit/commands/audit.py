"""Commands that audit a store or show an audit: `run`, `report`, `plan`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from memaudit.commands.shared import (
    ProgressLine,
    config_options,
    key_options,
    lang_option,
    load_config,
    needs_ascii,
    print_note,
    print_result,
    use_color,
    verbosity_options,
)
from memaudit.errors import ConfigError, ExitCode, MemauditError, StoreError
from memaudit.wording import plural, say, sentences

if TYPE_CHECKING:
    from pathlib import Path

    from memaudit.config import Config
    from memaudit.history.archive import Archive
    from memaudit.model import Audit, Finding
    from memaudit.output import Destination

FORMATS_HELP = (
    "FORMAT or FORMAT=PATH (repeatable): text, html, json, jsonl, markdown, sarif, junit, gitlab, github. "
    "Without it: summary, page and its JSON twin."
)


@click.command()
@key_options
@lang_option
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
        on_finding=on_finding,
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
    with ExitStack() as stack:
        history = stack.enter_context(_history(config)) if config.history else None
        row_keys: list[Any] = []
        audit = _audit(config, quiet=quiet, verbose=verbose, row_keys=row_keys if history else None)
        row_marks = None
        if history is not None:
            from memaudit.history.keeping import with_history
            from memaudit.history.row_keys import marks

            series = _series(config, audit)
            row_marks = marks(row_keys[0]) if row_keys else None
            audit = with_history(history, audit, series, row_marks)
        if config.redact:
            from memaudit.reports import redacted

            audit = redacted(audit)
        written = _write(audit, places, quiet=quiet, color=color)
        if history is not None:
            from memaudit.history.keeping import kept

            kept(history, audit, series, row_marks)
    if not no_ci:
        _summarise(audit)
    if on_finding is not None and counting(audit, config):
        _hand_over(on_finding, audit)
    if written and not quiet and not formats:
        size = max(1, round(written[0].stat().st_size / 1000))
        from memaudit.wording import language, say

        with language(audit.lang):
            print_result(say("report: {path} ({size} kB)", path=_short(written[0]), size=size) + "\n")
    if open_page:
        page = next((p.path for p in places if p.format == "html" and p.path), None)
        if page is not None:
            click.launch(page.resolve().as_uri())
    return exit_code(audit, config)


def _summarise(audit: Audit) -> None:
    """Add the audit to the summary of a step of GitHub Actions."""
    from memaudit.ci import append_summary, in_github

    problem = append_summary(audit, os.environ) if in_github(os.environ) else ""
    if problem:
        print_note(say("warning: {message}", message=problem))


@contextmanager
def _history(config: Config) -> Iterator[Archive]:
    """Open the history of the configuration for one audit at a time."""
    from memaudit.history.archive import opened, place_of
    from memaudit.history.lock import only_audit

    place = config.path(config.history or "")
    with only_audit(place_of(place)[0]), opened(place, create=True) as archive:
        yield archive


def _series(config: Config, audit: Audit) -> str:
    from memaudit.history.archive import series_of

    table = config.table if audit.store is None else audit.store.table
    store = config.store or config.queries or config.runs or ""
    return series_of(store, table, config.path(config.history or ""), config.base)


def _hand_over(command: str, audit: Audit) -> None:
    from memaudit.on_finding import hand_over
    from memaudit.reports import to_json

    problem = hand_over(command, to_json(audit))
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


def _audit(config: Config, *, quiet: bool, verbose: int, row_keys: list[Any] | None = None) -> Audit:
    """Run the audit; an unreadable store becomes a report that says so, when there is a file to speak of.

    The keys of the rows, when a column holds them, are put into `row_keys`.
    """
    import shlex

    from memaudit.engine import run_audit, unreadable
    from memaudit.stores.addresses import masked

    progress = ProgressLine(quiet=quiet, verbose=verbose)
    words = (click.get_current_context().obj or {}).get("words", sys.argv[1:])
    command = shlex.join(["memaudit", *map(masked, words)])
    try:
        collect = None if row_keys is None else row_keys.append
        return run_audit(config, command=command, progress=progress, keys=collect)
    except StoreError as error:
        if not (config.store and config.path(config.store).is_file()):
            raise
        progress.clear()
        print_note(say("error: {message}", message=sentences(error.message, error.hint or "")))
        return unreadable(config, error, command)
    finally:
        progress.clear()


def _write(audit: Audit, places: tuple[Destination, ...], *, quiet: bool, color: str) -> list[Path]:
    """Render and write every destination; returns the files, in order."""
    from memaudit.ci import in_github, without_commands
    from memaudit.output import write_whole
    from memaudit.reports import RENDERERS

    written = []
    for place in places:
        if place.path is None and quiet and place.format == "text":
            continue
        options = {"color": use_color(color), "ascii_only": needs_ascii()} if place.format == "text" else {}
        if place.format == "text" and place.path is not None:
            options = {"color": False, "ascii_only": False}
        text = RENDERERS[place.format](audit, **options)
        if place.path is None:
            if place.format in ("text", "junit") and in_github(os.environ):
                text = without_commands(text)
            print_result(text if text.endswith("\n") else text + "\n")
        else:
            write_whole(place.path, text)
            written.append(place.path)
    return written


def exit_code(audit: Audit, config: Config) -> ExitCode:
    """Choose the exit code of an audit; an audit that could not be completed is never green."""
    from memaudit.engine import INTERRUPTED
    from memaudit.wording import language, say

    if audit.incomplete:
        with language(audit.lang):
            return ExitCode.INTERRUPTED if audit.incomplete == say(INTERRUPTED) else ExitCode.INCOMPLETE
    if audit.store is not None and audit.store.rows_used == 0:
        return ExitCode.NOTHING
    if audit.store is None and audit.figures.get("queries") == 0:
        return ExitCode.NOTHING
    if config.fail_on == "never":
        return ExitCode.OK
    return ExitCode.FINDINGS if counting(audit, config) else ExitCode.OK


def counting(audit: Audit, config: Config) -> list[Finding]:
    """Return the findings that count: those that `fail_on` fails for, and with `never` those worth telling.

    Worth telling is what `new` means where there is something to be new against, else every finding above `info`.
    With a baseline, new is what it does not accept; with a history alone, what the last audit did not have or what
    got worse since. The first audit of a history has nothing before it: all of its findings are new.
    """
    from memaudit.model import Basis, Severity

    new_only = config.fail_on == "new" or config.fail_on == "never"
    lowest = Severity.LOW if new_only else Severity.of(config.fail_on)
    against_last = new_only and config.baseline is None and audit.changes is not None
    return [
        f
        for f in audit.findings
        if f.severity >= lowest
        and (f.basis is not Basis.UNDER_POWERED or config.fail_on_underpowered)
        and (not against_last or f.change in ("new", "worse"))
    ]


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

    from memaudit.output import check_writable, destinations
    from memaudit.reports import RENDERERS

    audit = read_report(Path(file))
    if redact:
        from memaudit.reports import redacted

        audit = redacted(audit)
    chosen = formats if formats or out is not None else ("html",)
    places = destinations(chosen, out, tuple(RENDERERS), Path.cwd())
    for place in places:
        if place.path is not None:
            check_writable(place.path, force=force)
    for path in _write(audit, places, quiet=quiet, color=color):
        if not quiet:
            print_note(say("report: {path}", path=_short(path)))


def read_report(path: Path) -> Audit:
    """Read a report.json.

    Raises
    ------
    ConfigError
        No such file, or it is no report of memaudit.
    """
    from memaudit.reports import from_json

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            say("cannot read {path}: {error}.", path=path, error=error),
            say("Give the report.json that `memaudit run` wrote."),
        ) from None
    try:
        return from_json(text)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            say("{path} is no report of memaudit ({error}).", path=path, error=error),
            say("Give the report.json that `memaudit run` wrote."),
        ) from None


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
    from pathlib import Path

    from memaudit.output import check_writable, write_whole
    from memaudit.plan import plan_to_csv, plan_to_json

    path = Path(out) if out else None
    if path is not None:
        if path.suffix not in (".json", ".csv"):
            raise ConfigError(say("--out {out}: .json or .csv was expected.", out=out))
        check_writable(path, force=force)
    if source is not None:
        audit = read_report(Path(source))
    else:
        audit = _audit(load_config(config_file, isolated, settings, keys), quiet=quiet, verbose=verbose)
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
