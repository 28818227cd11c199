"""Read LanceDB folders, such as CrewAI's memory (extra `lancedb`).

Lance files are columnar and need the library that wrote them; a folder is recognised without it.
Source: CrewAI 1.15 `LanceDBStorage`, lancedb 0.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.float_blobs import float32_blob
from memaudit.stores.store import Store
from memaudit.wording import say

_BATCH = 1000
_CREWAI = {"content", "scope", "categories_str", "metadata_str"}


def lance_tables(folder: Path) -> list[Path]:
    """List the tables of a LanceDB folder (`NAME.lance` with versions in it); the folder itself may be one."""
    places = [folder, *sorted(p for p in folder.iterdir() if p.is_dir())] if folder.is_dir() else []
    return [p for p in places if p.suffix == ".lance" and not p.is_symlink() and (p / "_versions").is_dir()][:200]


def lancedb_folder(folder: Path) -> Path | None:
    """Return the named folder or the one in it that holds Lance tables; None when there is none."""
    if lance_tables(folder):
        return folder
    # A folder around the store, and nothing else, is the store too; beside other things it is one of several.
    inner = [p for p in sorted(folder.iterdir()) if not p.name.startswith(".") and p.suffix.lower() != ".md"]
    only = len(inner) == 1 and inner[0].is_dir() and not inner[0].is_symlink() and lance_tables(inner[0])
    return inner[0] if only else None


def open_lancedb(folder: Path, shown: str) -> Store:
    """Read the tables of a LanceDB folder in their newest version.

    Raises
    ------
    StoreError
        lancedb is not installed, or cannot read a table.
    """
    place = lancedb_folder(folder) or folder
    tables = lance_tables(place)
    try:
        lancedb = import_module("lancedb")
    except ImportError:
        names = ", ".join(t.stem for t in tables[:5])
        raise StoreError(
            say(
                "{shown} is a LanceDB folder (tables: {names}), and lancedb, which reads it, is not installed.",
                shown=shown,
                names=names,
            ),
            "pip install 'agent-memaudit[lancedb]'",
        ) from None
    collections = []
    for path in tables:
        try:
            database = lancedb.connect(str(path.parent))
            opened = database.open_table(path.stem)
            schema = opened.schema
            batches = _batches(opened, int(opened.count_rows()), f"{shown}: table {path.stem}")
        except Exception as error:  # the library's own errors share no base class
            raise StoreError(
                say(
                    "{shown}: table {name} cannot be read: {error}.",
                    shown=shown,
                    name=path.stem,
                    error=str(error).splitlines()[0],
                )
            ) from error
        collections.append(_table(path.stem, list(schema.names), _vector_column(schema), batches))
    return assembled(shown, "lancedb", collections)


def _batches(opened: Any, n_rows: int, shown: str) -> Iterator[Any]:
    """Give a table in pieces; versions of the library that cannot do so give it whole.

    Raises
    ------
    StoreError
        Fewer or more rows came than the table says it has.
    """
    n_read = 0
    try:
        query = opened.search()
        if hasattr(query, "to_batches"):
            batches = query.limit(None).to_batches(batch_size=_BATCH)
        else:
            batches = opened.to_arrow().to_batches(max_chunksize=_BATCH)
        for batch in batches:
            n_read += batch.num_rows
            yield batch
    except Exception as error:  # the library's own errors share no base class
        reason = str(error).splitlines()[0]
        raise StoreError(
            say("{shown} cannot be read after {n} rows: {reason}.", shown=shown, n=n_read, reason=reason)
        ) from error
    if n_read != n_rows:
        raise StoreError(
            say("{shown} has {n} rows, but {n_read} were read.", shown=shown, n=n_rows, n_read=n_read),
            say("Was it written meanwhile? Run again."),
        )


def _vector_column(schema: Any) -> str | None:
    """Return the column of fixed-size lists of floats, the one called `vector` first."""
    found = [f.name for f in schema if str(f.type).startswith("fixed_size_list") and "float" in str(f.type)]
    return "vector" if "vector" in found else (found[0] if found else None)


def _table(name: str, columns: list[str], vector: str | None, batches: Any) -> Collection:
    def rows() -> Iterator[Mapping[str, Any]]:
        for batch in batches:
            for row in batch.to_pylist():
                values = row.get(vector) if vector else None
                if isinstance(values, list) and values and all(isinstance(v, (int, float)) for v in values):
                    row[vector] = float32_blob(values)
                yield {k: (v.isoformat() if hasattr(v, "isoformat") else v) for k, v in row.items()}

    hints: dict[str, tuple[Any, str]] = {}
    if vector is not None:
        hints["embedding"] = (vector, say("it is the table's column of fixed-size vectors"))
        hints["embedding_format"] = ("float32 little-endian BLOB", say("the reader wrote the numbers so"))
    if set(columns) >= _CREWAI:
        why = say("CrewAI writes it so")
        hints |= {role: (c, why) for role, c in (("id", "id"), ("text", "content"), ("time", "created_at"),
                  ("last_access", "last_accessed"), ("value_field", "categories_str"), ("source", "source"))
                  if c in columns}  # fmt: skip
    return Collection(name, rows(), hints, columns=columns)
