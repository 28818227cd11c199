"""Open a SQLite file without ever writing it, its folder, or a lock.

A file alone is opened as immutable. One with rows in its write-ahead log, or with a rollback journal, is copied
together with it into a private folder, and the copy is opened: SQLite then recovers the copy, never the original.
Neither way takes a lock, so a store that another process has locked is read in its last committed state; only a
copy that is never still is waited for. `mode=ro` is not used: it leaves `-wal` and `-shm` files beside the store,
and changes the `-shm` that is there.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
import time
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from memaudit.errors import StoreError
from memaudit.stores.files import checked_file, first_bytes, reads, sha256_of, shown_bytes, stamp
from memaudit.stores.sqlite_tables import read_tables
from memaudit.stores.store import Store
from memaudit.wording import say, sentences

MAGIC = b"SQLite format 3\0"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
#: How long a copy that changes while it is made is tried again.
WAIT_S = 5.0
_HEADER_BYTES = 100
_WAL_HEADER_BYTES = 32


def open_sqlite(path: Path, *, shown: str | None = None, wait_s: float = WAIT_S) -> Store:
    """Open a SQLite file read-only.

    Parameters
    ----------
    path
        The file.
    shown
        Its name in messages; the path itself by default.
    wait_s
        How long to wait for a store that is being written.

    Raises
    ------
    StoreError
        No file, no SQLite database, cut, damaged, or written all the time.

    Notes
    -----
    When the file changed while it was read, `Store.close` adds a sentence to `Store.notes`.
    """
    shown = shown or str(path)
    real = checked_file(path, shown)
    sidecars = log_files(real, shown)
    head = first_bytes(real, shown, _HEADER_BYTES)
    if not sidecars:
        _check_header(real, head, shown)
    sha256, notes = sha256_of(real)
    before = _stamps(real)
    if not sidecars:
        connection = _connected(f"{real.as_uri()}?immutable=1", shown)
        folder = None
    else:
        folder = Path(tempfile.mkdtemp(prefix="memaudit-"))
        try:
            copy = _private_copy(real, sidecars, folder, shown, wait_s)
            _check_header(copy, first_bytes(copy, shown, _HEADER_BYTES), shown, may_grow=True)
            connection = _connected(copy.as_uri(), shown)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        before = _stamps(real)
        notes += (_copy_note(sidecars),)
    try:
        tables, skipped, full_text = read_tables(connection, shown)
    except BaseException:
        connection.close()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    store = Store(shown, "sqlite", connection, tables, skipped=skipped, full_text=full_text, notes=notes, sha256=sha256)

    def on_close() -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if _stamps(real) != before:
            changed = (
                say("The store changed while it was read. Figures are from the snapshot taken at the start.")
                if folder is not None
                else say("The store changed while it was read: figures may mix two states. Run the audit again.")
            )
            store.notes = (*store.notes, changed)

    store.on_close = on_close
    return store


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _stamps(path: Path) -> tuple[object, ...]:
    return stamp(path), stamp(_beside(path, "-wal")), stamp(_beside(path, "-journal"))


def log_files(path: Path, shown: str) -> tuple[str, ...]:
    """Return the endings of the files that hold a part of the store: `-wal` with frames, a `-journal` in use."""
    found = []
    for ending, needed in (("-wal", _WAL_HEADER_BYTES), ("-journal", 512)):
        beside = _beside(path, ending)
        size = (stamp(beside) or (0, 0))[0]
        if not size:
            continue
        if beside.is_symlink() or not beside.is_file():
            raise StoreError(
                say("{shown}{ending} is no regular file: the store is not read.", shown=shown, ending=ending)
            )
        # A journal that was ended by zeroing its header (journal_mode = PERSIST) holds nothing.
        if ending == "-journal" and first_bytes(beside, shown + ending, 8) != _JOURNAL_MAGIC:
            continue
        if size > needed:
            found.append(ending)
    return tuple(found)


def _copy_note(sidecars: tuple[str, ...]) -> str:
    if "-journal" in sidecars:
        return say(
            "A rollback journal lies beside the store: a private copy was read in its last committed state; "
            "the sha256 is that of the main file."
        )
    return say(
        "The store has a live write-ahead log: a private copy of both was read; the sha256 is that of the main file."
    )


def _check_header(path: Path, head: bytes, shown: str, *, may_grow: bool = False) -> None:
    """Say in one line what is wrong with a file that cannot be a whole database."""
    size = path.stat().st_size
    if size == 0:
        if may_grow:
            return
        raise StoreError(
            say("{shown} is empty (0 bytes): no database was ever written to it.", shown=shown),
            say("Give the right file."),
        )
    if head[:16] != MAGIC:
        hint = reads()
        if path.suffix in (".db", ".sqlite", ".sqlite3", ".db3") and not head[:16].isascii():
            hint = sentences(hint, say("An encrypted database must be decrypted first."))
        raise StoreError(say("{shown} is not a SQLite database ({first}).", shown=shown, first=shown_bytes(head)), hint)
    if len(head) < _HEADER_BYTES:
        raise StoreError(
            say("{shown} is cut: {size} bytes, less than the header of a SQLite database.", shown=shown, size=size)
        )
    page = struct.unpack(">H", head[16:18])[0]
    page = 65536 if page == 1 else page
    pages = struct.unpack(">I", head[28:32])[0]
    known = head[24:28] == head[92:96]  # else the count was written by an old version and means nothing
    if known and not may_grow and size < pages * page:
        raise StoreError(
            say("{shown} is cut: {size} of {whole} bytes are there.", shown=shown, size=size, whole=pages * page),
            say("Copy the store again, or use a backup."),
        )


def _private_copy(path: Path, sidecars: tuple[str, ...], folder: Path, shown: str, wait_s: float) -> Path:
    """Copy a store and its log so that the copy is one state of it; tried again while it changes."""
    endings = ("", *sidecars)
    needed = sum((stamp(_beside(path, e)) or (0, 0))[0] for e in endings)
    free = shutil.disk_usage(folder).free
    if free < 2 * needed:
        raise StoreError(
            say(
                "{shown} has a live log and must be copied, but {parent} has only {free} bytes free of {needed} needed.",
                shown=shown,
                parent=folder.parent,
                free=free,
                needed=2 * needed,
            ),
            say("Set TMPDIR to a folder with more space, or close the program that uses the store."),
        )
    copy = folder / "store.db"
    end = time.monotonic() + wait_s
    while True:
        try:
            before = [_state(path, e) for e in endings]
            for ending in endings:
                shutil.copyfile(_beside(path, ending), _beside(copy, ending))
            after = [_state(path, e) for e in endings]
            # A log that only grew is fine: every frame has a checksum, and frames after the last commit are ignored.
            grew = sidecars == ("-wal",) and before[0] == after[0] and before[1][2] == after[1][2]
            if before == after or (grew and after[1][0] >= before[1][0]):
                return copy
        except FileNotFoundError:
            # The writer closed and took its log away: what is left is a whole file.
            endings = ("", *log_files(path, shown))
            for old in ("-wal", "-journal"):
                _beside(copy, old).unlink(missing_ok=True)
            sidecars = endings[1:]
            if time.monotonic() < end:
                continue
        except PermissionError:
            if time.monotonic() >= end:
                raise StoreError(say("{shown} cannot be read: permission denied or locked.", shown=shown)) from None
        if time.monotonic() >= end:
            raise StoreError(
                say(
                    "{shown} is being written without a pause: no still copy could be made in {wait_s:g} s.",
                    shown=shown,
                    wait_s=float(wait_s),
                ),
                say("Stop the program that writes it, or audit a backup."),
            )
        time.sleep(min(0.05, wait_s))


def _state(path: Path, ending: str) -> tuple[int, int, bytes]:
    """Return size, time of change and header of a file; one that is gone, or a log emptied, is an error."""
    beside = _beside(path, ending)
    found = stamp(beside)
    if found is None or (ending and not found[0]):
        raise FileNotFoundError(beside)
    with beside.open("rb") as file:
        return *found, file.read(_WAL_HEADER_BYTES)


def _connected(uri: str, shown: str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise StoreError(say("{shown} cannot be opened: {error}.", shown=shown, error=error)) from error
    connection.text_factory = _text
    # The schema may come from anybody: its functions are not to be trusted, and nothing may be written.
    if not _json_called_unsafe():
        connection.execute("PRAGMA trusted_schema = OFF")
    try:
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error as error:
        connection.close()
        raise StoreError(
            say("{shown} cannot be read: {error}.", shown=shown, error=error),
            say("It may be damaged or encrypted; use a backup, or decrypt it first."),
        ) from error
    return connection


@lru_cache(maxsize=1)
def _json_called_unsafe() -> bool:
    """Say whether this SQLite refuses its own JSON functions in a schema that is not trusted, as 3.38 to 3.40 do.

    A store with a generated column that takes a key of a JSON value could not be opened at all. What such a schema
    could call there are SQLite's own functions only: no extension is loaded and no function is added before it is read.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        try:
            connection.execute("CREATE TABLE t (a TEXT, b TEXT GENERATED ALWAYS AS (json_extract(a, '$.b')))")
            connection.execute("SELECT b FROM t").fetchall()
        except sqlite3.Error as error:
            return "unsafe use" in str(error)
    return False


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
