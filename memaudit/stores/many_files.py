"""Read several files of one form (a folder of JSONL or Parquet parts, a glob) as one store."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.files import checked_file
from memaudit.stores.store import Store, StoreTable, quoted
from memaudit.wording import plural, say

_MAX_FILES = 10_000
_SHOWN = 5
#: Column that names the file of a row.
FILE_COLUMN = "source_file"

Opener = Callable[[Path, str], Store]


def is_pattern(value: str) -> bool:
    """Say whether a path is a pattern (`parts/*.jsonl`)."""
    return any(c in value for c in "*?[")


def files_of(pattern: str, base: Path, shown: str) -> list[Path]:
    """List the files of a pattern, sorted by name.

    Raises
    ------
    StoreError
        No file fits, or more than 10,000.
    """
    found = sorted(p for p in glob.iglob(str(base / os.path.expanduser(pattern)), recursive=True) if Path(p).is_file())
    if not found:
        raise StoreError(
            say("no file fits {shown}.", shown=shown), say("Give --store PATH or a pattern such as 'parts/*.jsonl'.")
        )
    if len(found) > _MAX_FILES:
        raise StoreError(
            say(
                "{n} files fit {shown}; at most {most} are read as one store.",
                n=len(found),
                shown=shown,
                most=_MAX_FILES,
            )
        )
    return [Path(p) for p in found]


def memory_table(store: Store) -> StoreTable:
    """Return the table of a file that holds its records: the one its reader names, else the largest."""
    if "table" in store.hints:
        return store.table(str(store.hints["table"][0]))
    return max(store.tables, key=lambda t: t.n_rows)


def open_many(files: list[Path], shown: str, kind: str, opener: Opener, *, alike: bool) -> Store:
    """Read files as one table, in the order of their names; each row names its file.

    Parameters
    ----------
    alike
        Refuse files that share less than half of their columns: they are other things in one folder.

    Raises
    ------
    StoreError
        The files have different columns, or none of them can be read.
    """
    unread: list[str] = []
    known: set[str] | None = None
    hints: dict[str, tuple[Any, str]] = {}
    readable: list[Path] = []
    for file in files:
        try:
            store = opener(checked_file(file, file.name), file.name)
        except StoreError as error:
            unread.append(str(error))
            continue
        table = memory_table(store)
        columns = set(table.column_names)
        if known is None:
            known = columns
            hints = {role: hint for role, hint in store.hints.items() if role not in ("table", "id")}
        elif alike and len(known & columns) < 0.5 * max(len(known), len(columns)):
            store.close()
            listed = ", ".join(f.name for f in files[:_SHOWN])
            raise StoreError(
                say("{shown} is a folder; it holds {n} stores of different columns.", shown=shown, n=len(files)),
                say("Give one of them, or a pattern: {listed}.", listed=listed),
            )
        store.close()
        readable.append(file)
    if not readable:
        raise StoreError(
            say("{shown}: none of {files} can be read.", shown=shown, files=plural(len(files), "file")), unread[0]
        )
    counts: dict[str, int] = {}
    top = Path(os.path.commonpath([str(f.parent) for f in readable]))
    names = {f: f.relative_to(top).as_posix() for f in readable}

    def rows() -> Iterator[Mapping[str, Any]]:
        for file in readable:
            store = opener(checked_file(file, file.name), file.name)
            try:
                table = memory_table(store)
                sql = f"SELECT * FROM {quoted(table.name)} ORDER BY {table.order}"
                counts[names[file]] = table.n_rows
                for values in store.rows(sql):
                    yield {FILE_COLUMN: names[file], **dict(zip(table.column_names, values, strict=True))}
            finally:
                store.close()

    def note() -> str:
        shown_counts = ", ".join(f"{name} {n:,}" for name, n in list(counts.items())[:_SHOWN])
        more = say(" and {n} more", n=len(counts) - _SHOWN) if len(counts) > _SHOWN else ""
        return say("{files} read as one store: {counts}{more}.", files=plural(len(counts), "file"),
                   counts=shown_counts, more=more)  # fmt: skip

    notes = [say("Not read: {error}", error=error) for error in unread[:_SHOWN]]
    if len(unread) > _SHOWN:
        notes.append(say("Further files that are not read: {n}.", n=len(unread) - _SHOWN))
    return assembled(shown, kind, [Collection("records", rows(), hints, note)], notes=notes)
