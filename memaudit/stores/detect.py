"""Decide by its content what a store is, and open it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from memaudit.config import nearest
from memaudit.errors import ConfigError, StoreError
from memaudit.stores.addresses import URL, without_credentials
from memaudit.stores.delimited import looks_delimited
from memaudit.stores.encodings import find_encoding
from memaudit.stores.files import checked_file, first_bytes, reads, shown_bytes
from memaudit.stores.llamaindex import is_llamaindex
from memaudit.stores.many_files import files_of, is_pattern, open_many
from memaudit.stores.markdown import is_markdown_memory
from memaudit.stores.mcp_memory import is_mcp_memory
from memaudit.stores.qdrant_server import is_qdrant_server, open_qdrant_server
from memaudit.stores.registry import FOLDER_READERS, KINDS, open_known_sqlite, reader
from memaudit.stores.sql_server import is_server, open_server
from memaudit.stores.sqlite import MAGIC
from memaudit.stores.store import Store
from memaudit.wording import key, plural, say, sentences, term

_ENDINGS = {
    ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db3": "sqlite", ".csv": "csv", ".tsv": "tsv",
    ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_TEXT_KINDS = ("csv", "tsv", "json", "jsonl")
_OTHERS = (
    (b"\x1f\x8b", key("compressed by gzip"), key("Unpack it first.")),
    (b"PK\x03\x04", key("a ZIP archive"), key("Unpack it first.")),
    (b"\x28\xb5\x2f\xfd", key("compressed by zstd"), key("Unpack it first.")),
    (b"\x80\x04", key("a Python pickle"), key("memaudit never unpickles: that would run code out of the store.")),
    (b"\x80\x05", key("a Python pickle"), key("memaudit never unpickles: that would run code out of the store.")),
    (b"DUCK", key("a DuckDB file"), ""),
)
_LOOKED_AT = 20


def open_store(
    value: str, kind: str | None = None, base: Path = Path(), table: str | None = None, *, every: bool = False
) -> Store:
    """Open a store by its content; the file's name only decides between forms that look alike.

    Parameters
    ----------
    value
        Path of the store (`~` is expanded), a pattern of files, a `file://` address, or that of a database server.
    kind
        Name of a reader, where detection is wrong.
    base
        Folder that a relative path starts from.
    table
        Table to read; only a server's reader needs to know it beforehand.
    every
        Read every table, also where a server's reader would read the largest only.

    Raises
    ------
    StoreError
        Nothing there, a folder without a store, a device, another kind of file, or a damaged one.
    ConfigError
        `kind` is no reader.
    """
    if kind is not None and kind not in KINDS:
        raise ConfigError(
            say('store_kind "{kind}" is not known.', kind=kind),
            sentences(nearest(kind, KINDS), say("Kinds: {kinds}.", kinds=", ".join(KINDS))),
        )
    shown = without_credentials(value)
    if is_server(value):
        return open_server(value, table, every=every)
    if is_qdrant_server(value):
        return open_qdrant_server(value, table, every=every)
    path = _local_path(value, shown, base)
    there = _stands(path, shown)
    if is_pattern(value) and not there:
        files = files_of(value, base, shown)
        return open_many(files, shown, kind or find_kind(files[0], files[0].name), _opened(kind), alike=False)
    if path.is_dir():
        return _open_folder(path, shown, kind)
    if not there:
        raise _missing_error(path, shown, base)
    return _open_file(checked_file(path, shown), shown, kind)


def _stands(path: Path, shown: str) -> bool:
    """Say whether anything stands under a name, a broken link included; a name that cannot be looked up is an error."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path.is_symlink()
    except ValueError:  # a NUL character: no file is called so
        return False
    except OSError as error:
        raise StoreError(say("{shown} cannot be read: {reason}.", shown=shown, reason=error.strerror)) from None
    return True


def _open_file(path: Path, shown: str, kind: str | None) -> Store:
    """Open a file: by its first bytes, then by what its tables or objects are."""
    if kind is not None:
        return reader(kind).open(path, shown)
    found = find_kind(path, shown)
    if found == "sqlite":
        return open_known_sqlite(path, shown)
    return reader(found).open(path, shown)


def _opened(kind: str | None) -> Callable[[Path, str], Store]:
    return lambda path, shown: _open_file(path, shown, kind)


def _open_folder(path: Path, shown: str, kind: str | None) -> Store:
    """Open a folder that a system writes, several files of one form, or the only store in it."""
    try:
        next(path.iterdir(), None)
    except OSError as error:
        raise StoreError(
            say("{shown} is a folder that cannot be read: {reason}.", shown=shown, reason=error.strerror)
        ) from None
    if kind is not None:
        return reader(kind).open(path, shown)
    for one in FOLDER_READERS:
        if one.recognises_folder(path):
            store = one.open(path, shown)
            others = [n for n in _stores_in(path, shown) if not re.fullmatch(one.own_files, n)]
            if others:
                listed = ", ".join(others[:10]) + (" ..." if len(others) > 10 else "")
                store.notes = (*store.notes, say("Other stores in the folder, not looked at: {names}.", names=listed))
            return store
    stores = _stores_in(path, shown)
    if len(stores) == 1:
        name = next(iter(stores))
        store = _open_file(checked_file(path / name, f"{shown}/{name}"), str(Path(shown) / name), None)
        folders = sum(p.is_dir() and not p.is_symlink() for p in path.iterdir())
        more = say(" Not looked at: {folders} in it.", folders=plural(folders, "folder")) if folders else ""
        store.notes = (*store.notes, say("The folder holds one store, {name}.{more}", name=name, more=more))
        return store
    kinds = set(stores.values())
    if len(kinds) == 1 and kinds <= {"jsonl", "parquet"}:
        return open_many([path / n for n in stores], shown, kinds.pop(), _opened(None), alike=True)
    raise _folder_error(path, shown, list(stores))


def _local_path(value: str, shown: str, base: Path) -> Path:
    match = URL.match(value)
    if match is None:
        try:
            return base / Path(value).expanduser()
        except RuntimeError:
            return base / value
    if match[1].lower() != "file":
        raise StoreError(
            say(
                "{shown}: stores behind {scheme}:// are not read by this version.", shown=shown, scheme=match[1].lower()
            ),
            sentences(
                say("Give the path of the file.")
                if match[1].lower() == "sqlite"
                else say("Export the rows to a file."),
                reads(),
            ),
        )
    from urllib.request import url2pathname  # not at the top: it imports all of HTTP

    return Path(url2pathname(urlsplit(value).path))


def _missing_error(path: Path, shown: str, base: Path) -> StoreError:
    folder = path.parent
    names: list[str] = []
    if folder.is_dir():
        try:
            names = sorted(p.name for p in islice(folder.iterdir(), 1000) if p.is_file())
        except OSError:
            names = []
    near = nearest(path.name, names)
    place = base.resolve().name or str(base.resolve())
    return StoreError(
        say("no such store: {shown} (current folder: {place}/).", shown=shown, place=place),
        sentences(near, say("Give --store PATH, or set store in memaudit.toml.")),
    )


def _stores_in(path: Path, shown: str) -> dict[str, str]:
    """Return name and kind of the readable files of a folder; links are not followed."""
    try:
        entries = sorted(p for p in islice(path.iterdir(), 1000) if not p.name.startswith("."))
    except OSError as error:
        raise StoreError(
            say("{shown} is a folder that cannot be read: {reason}.", shown=shown, reason=error.strerror)
        ) from None
    found = {}
    for entry in entries:
        if entry.is_file() and not entry.is_symlink():
            try:
                kind = find_kind(entry, entry.name)
            except StoreError:
                continue
            if entry.suffix.lower() != ".md":
                found[entry.name] = kind
    return found


def _folder_error(path: Path, shown: str, stores: list[str]) -> StoreError:
    if stores:
        listed = ", ".join(stores[:10]) + (say(" and {n} more", n=len(stores) - 10) if len(stores) > 10 else "")
        return StoreError(
            say("{shown} is a folder; it holds {n} stores.", shown=shown, n=len(stores)),
            say("Give one of them: {listed}.", listed=listed),
        )
    entries = sorted(p.name for p in islice(path.iterdir(), 1000) if not p.name.startswith("."))
    listed = ", ".join(entries[:10]) or say("nothing")
    return StoreError(
        say("{shown} is a folder without a store (it holds: {listed}).", shown=shown, listed=listed), reads()
    )


def find_kind(path: Path, shown: str) -> str:
    """Return the kind of a file by its first bytes.

    Raises
    ------
    StoreError
        None of the kinds that are read; names the first bytes.
    """
    head = first_bytes(path, shown, 4096)
    named = _ENDINGS.get(path.suffix.lower())
    if head.startswith(MAGIC):
        return "sqlite"
    if head.startswith(b"PAR1"):
        return "parquet"
    if not head:
        # Rows may stand in the log only; the reader of SQLite knows, and has the better words otherwise.
        if path.with_name(path.name + "-wal").exists() or named == "sqlite":
            return "sqlite"
        raise StoreError(
            say("{shown} is empty (0 bytes): there is nothing to audit.", shown=shown), say("Give the right file.")
        )
    for magic, what, hint in _OTHERS:
        if head.startswith(magic) or (magic == b"DUCK" and head[8:12] == magic):
            raise StoreError(
                say("{shown} is {what}, not a store.", shown=shown, what=term(what)), term(hint) or reads()
            )
    if named == "sqlite":
        return "sqlite"  # its reader says what is wrong
    encoding = find_encoding(path)
    # One NUL in a file that is called a table of texts is a fault of one line, not of the file.
    if b"\0" in head and not encoding.startswith("utf-16") and named not in _TEXT_KINDS:
        raise StoreError(
            say("{shown} is no store that memaudit knows ({first}).", shown=shown, first=shown_bytes(head)), reads()
        )
    kind = _json_kind(path, encoding, named)
    if kind is not None:
        if is_mcp_memory(path):
            return "mcp-memory"
        return "llamaindex" if kind == "json" and is_llamaindex(path) else kind
    if path.suffix.lower() == ".md" and is_markdown_memory(path):
        return "markdown"
    if named in _TEXT_KINDS:
        return named
    if path.suffix.lower() != ".md" and looks_delimited(path, encoding):
        return "csv"
    raise StoreError(say("{shown} is not a SQLite database ({first}).", shown=shown, first=shown_bytes(head)), reads())


def _json_kind(path: Path, encoding: str, named: str | None) -> str | None:
    """Tell JSONL from JSON by the first lines; None for neither."""
    with path.open(encoding=encoding, errors="surrogateescape") as file:
        # A line of gigabytes is a whole document; only its beginning matters here.
        lines = [line for line in (file.readline(1 << 20) for _ in range(_LOOKED_AT)) if line.strip()]
    if not lines or lines[0].lstrip()[0] not in "{[":
        return None
    whole = sum(_is_object(line) for line in lines)
    if whole >= 2 or (named == "jsonl" and (whole or not lines[0].lstrip().startswith("["))):
        return "jsonl"
    return "json" if named in ("json", None) or whole == len(lines) or lines[0].lstrip()[0] == "[" else None


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
