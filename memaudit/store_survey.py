"""What the readers find in a path: the store it is, or each store in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from memaudit.config import Config
from memaudit.errors import MemauditError
from memaudit.roles import find_roles
from memaudit.stores.detect import open_store
from memaudit.stores.registry import READERS, SERVERS

_MAX_ENTRIES = 500
_DEEPEST = 3


def readers() -> list[dict[str, Any]]:
    """List the readers: name, what each recognises, the extra it needs (None for none) and whether that is here."""
    listed: list[tuple[str, str, str | None]] = [(r.name, r.recognises, r.extra) for r in READERS]
    listed += [(name, what, extra) for name, what, extra in SERVERS]
    return [
        {"name": name, "reads": what, "extra": extra, "installed": _installed(extra)} for name, what, extra in listed
    ]


def _installed(extra: str | None) -> bool:
    from importlib.util import find_spec

    needed = {
        "parquet": ["pyarrow"],
        "lancedb": ["lancedb"],
        "postgres": ["sqlalchemy"],
        "mysql": ["sqlalchemy", "pymysql"],
    }
    names = needed.get(extra or "", [])
    there = all(find_spec(name) is not None for name in names)
    return there and (extra != "postgres" or any(find_spec(n) is not None for n in ("psycopg", "psycopg2")))


def survey(path: str, base: Path = Path()) -> list[dict[str, Any]]:
    """Open a path, or, when a folder is no single store, each entry of it.

    Returns
    -------
    One entry a store: `path`, and either `kind`, `table`, `rows`, `tables`, `text`, `notes`, or `error`. Entries of
    a folder, three levels deep, that are no stores are left out; a store that needs an extra is named with its error.
    """
    return _survey(path, base, _DEEPEST)


def _survey(path: str, base: Path, depth: int) -> list[dict[str, Any]]:
    whole = _looked_at(path, base)
    folder = base / os.path.expanduser(path)
    # The only store among the files of a folder says nothing of the folders in it.
    is_whole = "pip install" in whole["error"] if "error" in whole else whole["path"] == path
    if is_whole or "://" in path or not folder.is_dir() or not depth:
        return [whole]
    found = [
        one
        for entry in _entries(folder)
        for one in _survey(str(Path(path) / entry.name), base, depth - 1)
        if "kind" in one or "pip install" in one["error"]
    ]
    return found or [whole]


def _entries(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(p for p in islice(folder.iterdir(), _MAX_ENTRIES) if not p.name.startswith("."))
    except OSError:
        return
    for entry in entries:
        # Links are followed only for the path that was named.
        if not entry.is_symlink() and (entry.is_dir() or entry.is_file()):
            yield entry


def _looked_at(path: str, base: Path) -> dict[str, Any]:
    try:
        store = open_store(path, base=base)
    except MemauditError as error:
        from memaudit.stores.addresses import without_credentials

        return {"path": without_credentials(path), "error": str(error)}
    try:
        tables = [{"table": t.name, "rows": t.n_rows} for t in store.tables]
        found: dict[str, Any] = {"path": store.path, "kind": store.kind, "table": None, "rows": None, "text": None}
        try:
            roles = find_roles(store, Config())
            found |= {"table": roles.table, "rows": store.table(roles.table).n_rows, "text": roles.text}
        except MemauditError as error:
            found["undecided"] = str(error)
        return {**found, "tables": tables, "notes": list(store.notes)}
    finally:
        store.close()
