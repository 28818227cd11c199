"""Put an audit beside the earlier ones: compare, draw the trend, keep it, and list what is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from memaudit.errors import ConfigError
from memaudit.history.archive import PAGES, Archive, KeptRun, run_figures
from memaudit.history.compare import compare, with_changes
from memaudit.history.settings import settings_of
from memaudit.history.trend import Point, trend
from memaudit.model import Audit
from memaudit.wording import language, say

INDEX = "index.html"


def with_history(archive: Archive, audit: Audit, series: str, keys: frozenset[int] | None) -> Audit:
    """Add changes and trend to an audit, from the kept audits of the same store and table.

    It is compared with the newest complete audit, or with the newest of all when none is complete. The first audit
    says in its notes that there is nothing to compare it with.
    """
    with language(audit.lang):
        runs = archive.runs(series)
        if not runs:
            note = say("This is the first audit of this store in the history: there is nothing to compare it with.")
            return replace(audit, notes=(*audit.notes, note))
        complete = [run for run in runs if run.complete]
        last = (complete or runs)[-1]
        changes = compare(archive.report(last.number), audit, old_keys=archive.row_keys(last.number), new_keys=keys)
        figures = archive.figures(series)
        points = [Point(run.started, figures.get(run.number, {}), run.settings) for run in complete]
        points.append(Point(audit.run.started, run_figures(audit), settings_of(audit)))
        return replace(with_changes(audit, changes), trend=trend(points))


def kept(archive: Archive, audit: Audit, series: str, keys: frozenset[int] | None) -> int:
    """Keep an audit, with its page and a new index page when the history is a folder; returns the run's number."""
    with language(audit.lang):
        if archive.folder is None:
            return archive.keep(audit, series, keys)
        from memaudit.output import write_whole
        from memaudit.reports import to_html

        name = _page_name(archive, audit.run.started)
        write_whole(archive.folder / PAGES / name, to_html(audit))
        number = archive.keep(audit, series, keys, page=name)
        write_index(archive)
        return number


def _page_name(archive: Archive, started: str) -> str:
    """Name the page after the time of its audit; a second audit within the second gets a number."""
    stem = re.sub(r"[^0-9A-Za-z]+", "-", started.replace("+00:00", "Z")).strip("-") or "audit"
    taken = {run.page for run in archive.runs()}
    n, name = 1, f"{stem}.html"
    while name in taken:
        n += 1
        name = f"{stem}-{n}.html"
    return name


def write_index(archive: Archive) -> None:
    """Write the page that links the kept pages, newest first."""
    if archive.folder is None:
        return
    from memaudit.output import write_whole
    from memaudit.reports.to_index import IndexEntry, to_index

    entries = [
        IndexEntry(
            started=run.started,
            series=run.series,
            verdict=run.verdict,
            rows=run.rows,
            counts=run.counts,
            complete=run.complete,
            link=f"{PAGES}/{run.page}" if (path := archive.page_path(run)) is not None and path.is_file() else "",
        )
        for run in reversed(archive.runs())
    ]
    write_whole(archive.folder / INDEX, to_index(entries))


def pruned(archive: Archive, keep: int) -> list[KeptRun]:
    """Drop all but the newest `keep` audits of each store with their pages; returns the dropped ones."""
    dropped = archive.prune(keep)
    for run in dropped:
        path = archive.page_path(run)
        if path is not None:
            path.unlink(missing_ok=True)
    write_index(archive)
    return dropped


_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def age_of(text: str) -> timedelta:
    """Read an age: `90m`, `36h`, `8d`, `2w`.

    Raises
    ------
    ConfigError
        It has another form, or is zero.
    """
    match = re.fullmatch(r"\s*(\d{1,6})\s*([mhdw])\s*", text)
    if match is None or int(match.group(1)) == 0:
        raise ConfigError(say("{text} is no age.", text=repr(text)), say("Write a number and m, h, d or w: 36h, 8d."))
    return int(match.group(1)) * _UNITS[match.group(2)]


def newest_complete(runs: Sequence[KeptRun]) -> KeptRun | None:
    """Return the newest audit that gave an answer."""
    return next((run for run in reversed(runs) if run.complete), None)


def age(run: KeptRun, now: datetime | None = None) -> timedelta:
    """Return how long ago an audit started; a time in the future counts as now."""
    started = datetime.fromisoformat(run.started)
    return max(timedelta(0), (now or datetime.now(timezone.utc)) - started)
