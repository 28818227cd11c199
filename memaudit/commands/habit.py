"""Commands for audits that come again and again: `diff`, `baseline`, `history`, `schedule`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memaudit.commands.shared import (
    config_options,
    lang_given,
    lang_option,
    load_config,
    needs_ascii,
    print_note,
    print_result,
)
from memaudit.errors import ConfigError, ExitCode
from memaudit.wording import plural, say, sentences, term

if TYPE_CHECKING:
    from pathlib import Path

    from memaudit.history.archive import Archive, KeptRun
    from memaudit.model import Audit

    Keys = frozenset[int] | None

QUIET = click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit code tells.")
KINDS = ("cron", "systemd", "github", "gitlab", "launchd", "schtasks")


@click.command()
@click.argument("old", metavar="OLD.json|HISTORY")
@click.argument("new", metavar="[NEW.json]", required=False)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="How to print it."
)
@click.option(
    "--fail-on",
    type=click.Choice(["never", "new"]),
    default="never",
    help="new: exit 1 when something is new or worse.",
)
@QUIET
@lang_option
def diff(old: str, new: str | None, format_: str, fail_on: str, quiet: bool) -> None:
    """Compare two audits: findings new, fixed, worse, better; figures that moved.

    With one argument, the two newest complete audits of a history are compared.

    \b
    Example:
      memaudit diff last-week.json report.json
      memaudit diff audits --fail-on new
    """
    from dataclasses import replace
    from pathlib import Path

    from memaudit.commands.report_file import read_report
    from memaudit.history.compare import compare, with_changes
    from memaudit.reports.to_diff import diff_to_json, diff_to_markdown, diff_to_text
    from memaudit.wording import language

    if new is None:
        earlier, later, keys = _newest_two(Path(old))
    else:
        earlier, later, keys = read_report(Path(old)), read_report(Path(new)), (None, None)
    later = replace(later, lang=lang_given() or later.lang)
    changes = compare(earlier, later, old_keys=keys[0], new_keys=keys[1])
    if not quiet:
        with language(later.lang):
            if format_ == "text":
                print_result(diff_to_text(changes, ascii_only=needs_ascii()))
            else:
                print_result(diff_to_json(changes) if format_ == "json" else diff_to_markdown(changes))
    if fail_on == "new":
        from memaudit.model import Basis, Severity

        failing = [
            f
            for f in with_changes(later, changes).findings
            if f.change in ("new", "worse") and f.severity >= Severity.LOW and f.basis is not Basis.UNDER_POWERED
        ]
        sys.exit(ExitCode.FINDINGS if failing else ExitCode.OK)


def _newest_two(place: Path) -> tuple[Audit, Audit, tuple[Keys, Keys]]:
    """Return the newest complete audit of a history behind the one before it of the same store, and their row keys."""
    from memaudit.history.archive import opened
    from memaudit.history.keeping import newest_complete

    if place.is_file() and place.suffix.lower() == ".json":
        raise ConfigError(
            say("{place} is one report; two are needed.", place=place), say("Give OLD.json NEW.json, or a history.")
        )
    with opened(place) as archive:
        last = newest_complete(archive.runs())
        runs = [] if last is None else [run for run in archive.runs(last.series) if run.complete]
        if len(runs) < 2:
            raise ConfigError(
                say(
                    "the history {place} holds {n} complete audits of one store; two are needed.",
                    place=place,
                    n=len(runs),
                )
            )
        old, new = runs[-2], runs[-1]
        keys = archive.row_keys(old.number), archive.row_keys(new.number)
        return archive.report(old.number), archive.report(new.number), keys


@click.command()
@click.option(
    "--from", "source", metavar="FILE.json", default="report.json", help="Report to accept (default: report.json)."
)
@click.option(
    "--baseline", metavar="FILE", help="Baseline to write (default: the configured one, or memaudit-baseline.json)."
)
@click.option("--reason", metavar="TEXT", default="", help="Why it is accepted.")
@click.option("--select", metavar="IDS", multiple=True, help="Accept only these rules: MA302, MA6 (comma or repeated).")
@click.option("--prune", is_flag=True, help="Accept nothing; drop entries that no longer fire.")
@QUIET
@config_options
@lang_option
def baseline(
    source: str,
    baseline: str | None,
    reason: str,
    select: tuple[str, ...],
    prune: bool,
    quiet: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
) -> None:
    """Accept the findings of a report: silent from now on, until their figure worsens by more than 10 %.

    \b
    Example:
      memaudit baseline --from report.json --reason "known, ticket 41"
    """
    from pathlib import Path

    from memaudit.commands.report_file import read_report
    from memaudit.history.baseline import FILE_NAME, baseline_text, read_baseline, updated
    from memaudit.output import write_whole

    config = load_config(config_file, isolated, settings, {"baseline": baseline})
    path = config.path(config.baseline) if config.baseline else Path(FILE_NAME)
    audit = read_report(Path(source))
    if audit.incomplete:
        print_note(say("warning: {source} is of an incomplete audit: {reason}", source=source, reason=audit.incomplete))
    words = [word.strip().upper() for group in select for word in group.split(",") if word.strip()]
    if words:
        chosen = tuple(f for f in audit.findings if any(f.code.startswith(word) for word in words))
        if not chosen and not prune:
            raise ConfigError(
                say("--select {words}: no finding of {source} has such an id.", words=",".join(words), source=source)
            )
    entries = read_baseline(path) if path.exists() else ()
    if prune and not path.exists():
        read_baseline(path)  # says that there is none, and how to write one
    result = updated(entries, audit, reason=reason, prune=prune, accept=not prune, select=tuple(words))
    write_whole(path, baseline_text(result.entries))
    if quiet:
        return
    verb = say("dropped") if prune else say("added")
    for entry in result.dropped if prune else result.added:
        print_result(f"  {verb} {entry.code}  {entry.title}\n")
    for entry in result.moved:
        print_result(f"  {say('updated')} {entry.code}  {entry.title}\n")
    for entry in result.silent:
        name = f"{entry.code} ({entry.fingerprint})"
        print_note(say("note: {name} was not found any more; --prune drops it.", name=name))
    print_note(say("baseline: {path} ({n} accepted)", path=path, n=len(result.entries)))


@click.command()
@click.argument("place", metavar="[DIR|FILE]", required=False)
@click.option("--max-age", metavar="AGE", help="Exit 3 when the newest complete audit is older: 36h, 8d, 2w.")
@click.option(
    "--prune", "keep", type=click.IntRange(min=1), metavar="KEEP", help="Drop all but the newest KEEP of each store."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@QUIET
@config_options
@lang_option
def history(
    place: str | None,
    max_age: str | None,
    keep: int | None,
    format_: str,
    quiet: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
) -> None:
    """List the kept audits, drop old ones, or check that audits still come.

    \b
    Example:
      memaudit history audits
      memaudit history audits --max-age 8d || echo "the weekly audit has stopped"
    """
    from memaudit.history.archive import opened
    from memaudit.history.keeping import age_of, pruned

    config = load_config(config_file, isolated, settings, {"history": place})
    if config.history is None:
        raise ConfigError(
            say("no history was given."), say("Name its folder or file, or set history in memaudit.toml.")
        )
    limit = age_of(max_age) if max_age is not None else None
    with opened(config.path(config.history)) as archive:
        if keep is not None:
            dropped = pruned(archive, keep)
            if not quiet:
                print_note(say("{dropped} dropped, {kept} kept", dropped=len(dropped), kept=len(archive.runs())))
        if not quiet:
            print_result(_listed(archive, format_))
        if limit is not None:
            problem = _stale(archive.runs(), limit, max_age or "")
            if problem:
                print_note(say("error: {message}", message=problem))
                sys.exit(ExitCode.INCOMPLETE)


def _listed(archive: Archive, format_: str) -> str:
    import json

    runs = archive.runs()
    if format_ == "json":
        rows: list[dict[str, Any]] = []
        for run in runs:
            page = archive.page_path(run)
            rows.append(
                {"number": run.number, "started": run.started, "series": run.series, "memaudit": run.memaudit,
                 "verdict": run.verdict, "rows": run.rows, "complete": run.complete, "findings": run.counts,
                 "page": None if page is None else str(page)}
            )  # fmt: skip
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    from memaudit.reports.shown_text import cut, visible
    from memaudit.reports.since_page import moment

    if not runs:
        return say("no audits kept") + "\n"
    lines = []
    for run in runs:
        counts = say(", ").join(say("{n} {state}", n=n, state=term(word)) for word, n in run.counts.items())
        state = "" if run.complete else "  " + say("INCOMPLETE")
        rows_text = "-" if run.rows is None else plural(run.rows, "row")
        lines.append(f"{run.number:>4}  {moment(run.started)}  {rows_text:>14}  {counts or say('no findings')}{state}")
        lines.append(f"      {visible(run.series)}: {visible(cut(run.verdict, 140)[0])}")
    text = "\n".join(lines) + "\n"
    return text.encode("ascii", "backslashreplace").decode("ascii") if needs_ascii() else text


def _stale(runs: list[KeptRun], limit: Any, said: str) -> str:
    """Say why the audits have stopped, "" when the newest complete one is young enough."""
    from memaudit.history.keeping import age, newest_complete
    from memaudit.reports.since_page import moment

    newest = newest_complete(runs)
    if newest is None:
        return say("the history holds no complete audit, and {n} incomplete ones.", n=len(runs))
    old = age(newest)
    if old <= limit:
        return ""
    later = len(runs) - runs.index(newest) - 1
    days = old.total_seconds() / 86400
    return sentences(
        say(
            "the newest complete audit is {days:,.1f} days old ({time}), more than {limit}.",
            days=days,
            time=moment(newest.started),
            limit=said,
        ),
        say("{n} later ones are incomplete.", n=later) if later else "",
    )


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--kind", type=click.Choice(KINDS), default="cron", help="What runs it (default: cron).")
@click.option("--at", "moment", metavar="WHEN", help='"Mon 06:00", "Mon,Thu 06:00", "06:00" (default: Mon 06:00).')
@click.option(
    "--tz",
    metavar="ZONE",
    default="",
    help="Time zone of --at: Europe/Berlin (default: that of the machine; UTC for github).",
)
@click.option("--audits", metavar="DIR", default="audits", help="Folder of history, pages and log (default: audits).")
@click.option(
    "--notify",
    metavar="CMD",
    default="",
    help="Command that gets the end of the log on stdin when the exit code is not 0.",
)
@click.option("--write", metavar="PATH", help="Write it there instead of printing it (systemd: a folder).")
@click.option("--force", is_flag=True, help="Overwrite a file that memaudit did not write.")
@click.argument("options", nargs=-1, metavar="[-- OPTIONS OF RUN]")
@lang_option
def schedule(
    kind: str,
    moment: str | None,
    tz: str,
    audits: str,
    notify: str,
    write: str | None,
    force: bool,
    options: tuple[str, ...],
) -> None:
    """Print an entry that audits the store of this folder every week. Installs nothing.

    \b
    Example:
      memaudit schedule --kind cron --at "Mon 06:00" --notify "mail -s memaudit ops@example.org"
      memaudit schedule --kind systemd -- --store memory.db --on-finding ./tell.sh
    """
    from pathlib import Path

    from memaudit.commands.audit import run
    from memaudit.schedule import entry
    from memaudit.schedule.job import Job
    from memaudit.schedule.when import parse_when

    run.make_context("memaudit run", list(options))  # a slip would be told once a week, to nobody
    # Not on the full hour where everybody's jobs start at once.
    default = "Mon 06:17" if kind == "github" else "Mon 06:00"
    program, environment = _program()
    job = Job(
        folder=Path.cwd(), program=program, when=parse_when(moment or default), options=options, audits=audits,
        environment=environment, notify=notify, tz=tz,
    )  # fmt: skip
    made = entry(kind, job)
    if not any(word == "--store" or word.startswith("--store=") for word in options) and not _store_is_named():
        print_note(
            say("warning: no store is configured in this folder; add -- --store PATH, or write one with memaudit init.")
        )
    if write is None:
        print_result("\n".join(text for _, text in made.files))
        print_note(made.where)
        return
    for path, text in _places(Path(write), made.files, force):
        _write_entry(path, text)
        print_note(say("written: {path}", path=path))
    print_note(made.where)


def _store_is_named() -> bool:
    config = load_config(None, False, (), {})
    return bool(config.store or config.queries or config.runs)


def _program() -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command that starts this memaudit, and what it needs from the environment.

    A checkout that is not installed is found through PYTHONPATH only.
    """
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path

    import memaudit

    program = (sys.executable, "-m", "memaudit")
    try:
        distribution("agent-memaudit")
    except PackageNotFoundError:
        return program, {"PYTHONPATH": str(Path(memaudit.__file__).resolve().parents[1])}
    return program, {}


def _places(target: Path, files: tuple[tuple[str, str], ...], force: bool) -> list[tuple[Path, str]]:
    """Work out where each file goes, and refuse to overwrite what memaudit did not write."""
    from memaudit.output import check_writable

    if len(files) > 1 and target.is_file():
        raise ConfigError(
            say("{target} is a file; {n} files are to be written.", target=target, n=len(files)), say("Name a folder.")
        )
    as_folder = target.is_dir() or len(files) > 1
    places = [(target / name if as_folder else target, text) for name, text in files]
    for path, _ in places:
        check_writable(path, force=force)
    return places


def _write_entry(path: Path, text: str) -> None:
    from memaudit.output import write_whole

    write_whole(path, text)
    path.chmod(0o644)  # no memory text in it, and the system's manager must read it
