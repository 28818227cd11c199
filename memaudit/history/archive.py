"""`--history DIR|FILE`: every audit kept in one SQLite file, written whole or not at all.

Tables: `runs` (one row an audit, its report.json compressed), `figures` (headline numbers by name), `findings`
(one row a finding and audit, with its fingerprint). Times are UTC. The file is never the audited store.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memaudit.errors import ConfigError, MemauditError
from memaudit.fingerprint import with_fingerprints
from memaudit.history.measure import measure, number
from memaudit.history.row_keys import packed, unpacked
from memaudit.history.settings import Settings, settings_from, settings_of, settings_text
from memaudit.model import Audit, Finding
from memaudit.reports.to_json import from_json, to_json
from memaudit.wording import say

if TYPE_CHECKING:
    from sqlite_utils import Database

FILE_NAME = "history.db"
PAGES = "pages"
#: `PRAGMA user_version` of the file; a file of a later version is refused, an earlier one is migrated here.
SCHEMA = 1
#: `PRAGMA application_id`: "mAud", so that no other database is taken for a history.
APPLICATION_ID = 0x6D417564
_WAIT_S = 30.0
_FILE_ENDINGS = (".db", ".sqlite", ".sqlite3")


@dataclass(frozen=True)
class KeptRun:
    """One kept audit, without its report.

    Parameters
    ----------
    series
        Which store and table it audited: only runs of one series are compared.
    counts
        Findings by severity, most severe first.
    page
        File name of the kept page under `pages/`, "" for none.
    """

    number: int
    series: str
    started: str
    memaudit: str
    verdict: str
    rows: int | None
    complete: bool
    counts: dict[str, int]
    page: str = ""
    settings: Settings = field(default_factory=Settings)


class Archive:
    """The kept audits of a folder or a file; opened by :func:`opened`."""

    def __init__(self, database: Database, path: Path, folder: Path | None) -> None:
        self._database = database
        self.path = path
        self.folder = folder

    def runs(self, series: str | None = None) -> list[KeptRun]:
        """Return the kept audits, oldest first."""
        sql = "SELECT number, series, started, memaudit, verdict, rows, complete, counts, page, settings FROM runs"
        where = "" if series is None else " WHERE series = ?"
        rows = self._connection.execute(
            f"{sql}{where} ORDER BY started, number", () if series is None else (series,)
        ).fetchall()
        return [
            KeptRun(
                number=row[0], series=row[1], started=row[2], memaudit=row[3], verdict=row[4], rows=row[5],
                complete=bool(row[6]), counts=json.loads(row[7]), page=row[8], settings=settings_from(row[9]),
            )
            for row in rows
        ]  # fmt: skip

    def report(self, run: int) -> Audit:
        """Return a kept audit.

        Raises
        ------
        MemauditError
            There is no such run, or what was kept cannot be read.
        """
        row = self._connection.execute("SELECT report FROM runs WHERE number = ?", (run,)).fetchone()
        if row is None:
            raise ConfigError(say("the history holds no run {run}.", run=run), say("See `memaudit history`."))
        try:
            return from_json(zlib.decompress(row[0]).decode("utf-8"))
        except (zlib.error, ValueError) as error:
            raise MemauditError(
                say("run {run} of {path} cannot be read: {error}.", run=run, path=self.path, error=error)
            ) from None

    def row_keys(self, run: int) -> frozenset[int] | None:
        """Return the marks of a run's row keys, None where they were not known."""
        row = self._connection.execute("SELECT row_keys FROM runs WHERE number = ?", (run,)).fetchone()
        return None if row is None or row[0] is None else unpacked(row[0])

    def figures(self, series: str) -> dict[int, dict[str, float]]:
        """Return the numbers of every run of a series: headlines by name, findings as `CODE place figure`."""
        found: dict[int, dict[str, float]] = {}
        sql = "SELECT run, name, value FROM figures JOIN runs ON run = number WHERE series = ? ORDER BY figures.rowid"
        for run, name, value in self._connection.execute(sql, (series,)):
            found.setdefault(run, {})[name] = value
        return found

    def keep(self, audit: Audit, series: str, row_keys: frozenset[int] | None = None, page: str = "") -> int:
        """Keep an audit; returns its number.

        Trend and changes are left out of the kept report: they are made again from the runs, and would let every
        report hold all reports before it.
        """
        plain = replace(audit, trend=None, changes=None)
        counts: dict[str, int] = {}
        for finding in audit.findings:
            counts[finding.severity.label] = counts.get(finding.severity.label, 0) + 1
        with self.writing():
            cursor = self._connection.execute(
                "INSERT INTO runs (series, started, memaudit, verdict, rows, complete, counts, page, settings,"
                " row_keys, report)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    series,
                    _utc(audit.run.started),
                    audit.memaudit,
                    audit.verdict.sentence,
                    None if audit.store is None else audit.store.rows,
                    is_complete(audit),
                    json.dumps(counts),
                    page,
                    settings_text(settings_of(audit)),
                    None if row_keys is None else packed(row_keys),
                    zlib.compress(to_json(plain).encode("utf-8", "backslashreplace"), 6),
                ),
            )
            run = int(cursor.lastrowid or 0)
            rows = [{"run": run, "name": name, "value": value} for name, value in run_figures(audit).items()]
            self._connection.executemany("INSERT INTO figures VALUES (:run, :name, :value)", rows)
            self._connection.executemany(
                "INSERT INTO findings VALUES (:run, :fingerprint, :code, :severity, :title, :change, :suppressed)",
                [{"run": run, **row} for row in _finding_rows(audit)],
            )
        return run

    def prune(self, keep: int) -> list[KeptRun]:
        """Drop all but the newest `keep` runs of each series; returns the dropped ones, oldest first.

        The newest complete run of a series always stays: the next audit is compared with it.
        """
        dropped = []
        for series in sorted({run.series for run in self.runs()}):
            runs = self.runs(series)
            last = max((i for i, run in enumerate(runs) if run.complete), default=-1)
            dropped += [run for i, run in enumerate(runs) if i < len(runs) - keep and i != last]
        with self.writing():
            for run in dropped:
                for table in ("figures", "findings"):
                    self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.number,))
                self._connection.execute("DELETE FROM runs WHERE number = ?", (run.number,))
        if dropped:
            self._database.vacuum()
        return dropped

    def page_path(self, run: KeptRun) -> Path | None:
        """Return where the page of a run lies, None when none was kept."""
        safe = self.folder is not None and re.fullmatch(r"[0-9A-Za-z-]+\.html", run.page)
        return self.folder / PAGES / run.page if self.folder is not None and safe else None

    @property
    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection = self._database.conn
        return connection

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write in one transaction, taken before anything is read: two audits at once wait for each other."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def is_complete(audit: Audit) -> bool:
    """Whether an audit answered: nothing crashed or was interrupted, and there were rows."""
    return not audit.incomplete and audit.verdict.state != "nothing-audited"


def run_figures(audit: Audit) -> dict[str, float]:
    """Return the numbers of an audit that have a course: headlines, then the figure of each finding and place."""
    found = {name: value for name, item in audit.figures.items() if (value := number(item)) is not None}
    for finding in with_fingerprints(audit.findings):
        size = measure(finding)
        if size.value is None or found.get(size.name) == size.value:
            continue
        name = " ".join((finding.code, *_place(finding), size.name))
        if name in found:  # two findings of a rule at one place, told apart by what they are about
            name = " ".join((finding.code, *_place(finding), finding.fingerprint[:6], size.name))
        found[name] = size.value
    return found


def _place(finding: Finding) -> tuple[str, ...]:
    """Return the column, function or setting of a finding, never text from the store."""
    places = (finding.subject.get(key) for key in ("column", "field", "function", "config", "arm"))
    named = (place for place in places if isinstance(place, str))
    return tuple(place if len(place) <= 40 else f"{place[:39]}…" for place in named)[:1]


def _finding_rows(audit: Audit) -> list[dict[str, Any]]:
    rows = [
        {"fingerprint": f.fingerprint, "code": f.code, "severity": f.severity.label, "title": f.title,
         "change": f.change, "suppressed": ""}
        for f in with_fingerprints(audit.findings)
    ]  # fmt: skip
    for item in audit.suppressed:
        texts = {key: str(item.get(key, "")) for key in ("fingerprint", "code", "severity", "title")}
        rows.append({**texts, "change": "", "suppressed": str(item.get("reason") or "-")})
    return rows


def _utc(started: str) -> str:
    try:
        time = datetime.fromisoformat(started.replace("Z", "+00:00"))
    except ValueError:
        time = datetime.now(timezone.utc)
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc).isoformat()


def place_of(history: Path) -> tuple[Path, Path | None]:
    """Return the database of `--history` and the folder for pages, None when a file was named.

    An existing file, or a name that ends like a database, is a file; everything else is a folder.
    """
    if history.is_file() or (not history.is_dir() and history.suffix.lower() in _FILE_ENDINGS):
        return history, None
    return history / FILE_NAME, history


def series_of(store: str, table: str | None, history: Path, base: Path) -> str:
    """Name what an audit is an audit of: the store's place as seen from the history, and the table.

    Relative, so that a project that is moved, or checked out elsewhere, keeps its history.
    """
    place = store
    if "://" not in store:
        try:
            start = place_of(history)[0].resolve().parent
            place = os.path.relpath((base / os.path.expanduser(store)).resolve(), start)
        except ValueError:  # another drive on Windows
            place = str((base / store).resolve())
    return f"{place.replace(os.sep, '/')} › {table or '-'}"


def refuse_another_database(path: Path) -> None:
    """Refuse the file of somebody else before a lock is laid beside it, or SQLite opens it for writing.

    To open a store in write-ahead mode for writing is enough to change it; `immutable` leaves its log alone.

    Raises
    ------
    ConfigError
        The file is no database, or one of something else. What else may be wrong with it is told by who opens it.
    """
    if not os.path.isfile(path) or not path.stat().st_size:
        return
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    except sqlite3.Error as error:
        if "not a database" not in str(error):
            return
        raise ConfigError(
            say("{path} is no history: {error}.", path=path, error=error), say("Name another file.")
        ) from None
    if owner != APPLICATION_ID:  # a history is never without it: it is written with the first table
        raise ConfigError(
            say("{path} is a database, but no history of memaudit.", path=path), say("Name another file.")
        )


@contextmanager
def opened(history: Path, *, create: bool = False) -> Iterator[Archive]:
    """Open a history; with `create` it is made when it is not there.

    Raises
    ------
    ConfigError
        There is no history, or the file is a database of something else.
    MemauditError
        The file cannot be made, or was written by a later memaudit.
    """
    from sqlite_utils import Database

    path, folder = place_of(history)
    refuse_another_database(path)
    if not path.is_file() and not create:
        raise ConfigError(
            say("no history at {history}.", history=history),
            say("Keep one with `memaudit run --history {history}`.", history=history),
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds memory text
        connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise MemauditError(say("cannot open the history {path}: {error}.", path=path, error=error)) from None
    try:
        database = Database(connection)
        archive = Archive(database, path, folder)
        _prepare(archive, database)
        yield archive
    except sqlite3.Error as error:
        raise MemauditError(say("the history {path} cannot be used: {error}.", path=path, error=error)) from None
    finally:
        connection.close()


def _prepare(archive: Archive, database: Database) -> None:
    """Make the tables of a new file, and refuse the file of somebody else."""
    connection = database.conn
    try:
        connection.execute("BEGIN")  # one look: another audit may make the file between two of these questions
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = int(connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0])
        owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise ConfigError(
            say("{path} is no history: {error}.", path=archive.path, error=error), say("Name another file.")
        ) from None
    if tables and owner != APPLICATION_ID:
        raise ConfigError(
            say("{path} is a database, but no history of memaudit.", path=archive.path), say("Name another file.")
        )
    if version > SCHEMA:
        raise MemauditError(
            say(
                "{path} was written by a later memaudit (history schema {version}).", path=archive.path, version=version
            ),
            say("Update it."),
        )
    if version == SCHEMA:
        return
    with archive.writing():
        if int(connection.execute("PRAGMA user_version").fetchone()[0]) == SCHEMA:
            return  # another audit was faster
        _make_tables(database)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _make_tables(database: Database) -> None:
    text, whole, real = str, int, float
    database.table("runs").create(
        {"number": whole, "series": text, "started": text, "memaudit": text, "verdict": text, "rows": whole,
         "complete": whole, "counts": text, "page": text, "settings": text, "row_keys": bytes, "report": bytes},
        pk="number",
    )  # fmt: skip
    database.table("figures").create({"run": whole, "name": text, "value": real})
    database.table("findings").create(
        {"run": whole, "fingerprint": text, "code": text, "severity": text, "title": text, "change": text,
         "suppressed": text}
    )  # fmt: skip
    for table in ("figures", "findings"):
        database.table(table).create_index(["run"])
    database.table("findings").create_index(["fingerprint"])
