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
from memaudit.stores.delimited import looks_delimited, open_delimited
from memaudit.stores.encodings import find_encoding
from memaudit.stores.files import READS, checked_file, first_bytes, shown_bytes
from memaudit.stores.json_files import open_json, open_jsonl
from memaudit.stores.parquet import open_parquet
from memaudit.stores.sqlite import MAGIC, open_sqlite
from memaudit.stores.store import Store

_READERS: dict[str, Callable[[Path, str], Store]] = {
    "sqlite": lambda path, shown: open_sqlite(path, shown=shown),
    "csv": lambda path, shown: open_delimited(path, shown, "csv"),
    "tsv": lambda path, shown: open_delimited(path, shown, "tsv"),
    "jsonl": open_jsonl,
    "json": open_json,
    "parquet": open_parquet,
}
#: Names of the kinds that `store_kind` may be.
KINDS = tuple(_READERS)
_ENDINGS = {
    ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db3": "sqlite", ".csv": "csv", ".tsv": "tsv",
    ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_TEXT_KINDS = ("csv", "tsv", "json", "jsonl")
_OTHERS = (
    (b"\x1f\x8b", "compressed by gzip", "Unpack it first."),
    (b"PK\x03\x04", "a ZIP archive", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Unpack it first."),
    (b"\x80\x04", "a Python pickle", "memaudit never unpickles: that would run code out of the store."),
    (b"\x80\x05", "a Python pickle", "memaudit never unpickles: that would run code out of the store."),
    (b"DUCK", "a DuckDB file", READS),
)
_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_LOOKED_AT = 20


def without_credentials(value: str) -> str:
    """Remove user, password, query and fragment from a URL; any other text is returned as it is."""
    if not _URL.match(value):
        return value
    # By hand: `urlsplit` refuses some addresses, and a message about them must not leak the password either.
    scheme, _, rest = value.partition("://")
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    if "@" in path:  # a password with a slash in it
        host, slash, path = rest.rpartition("@")[2].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def open_store(value: str, kind: str | None = None, base: Path = Path()) -> Store:
    """Open a store by its content; the file's name only decides between forms that look alike.

    Parameters
    ----------
    value
        Path of the store (`~` is expanded), or a `file://` address.
    kind
        Name of a reader, where detection is wrong.
    base
        Folder that a relative path starts from.

    Raises
    ------
    StoreError
        Nothing there, a folder, a device, another kind of file, or a damaged one.
    ConfigError
        `kind` is no reader.
    """
    if kind is not None and kind not in _READERS:
        raise ConfigError(
            f'store_kind "{kind}" is not known.', f"{nearest(kind, KINDS)} Kinds: {', '.join(KINDS)}.".strip()
        )
    shown = without_credentials(value)
    path = _local_path(value, shown, base)
    if path.is_dir():
        raise _folder_error(path, shown)
    if not path.exists() and not path.is_symlink():
        raise _missing_error(path, shown, base)
    real = checked_file(path, shown)
    return _READERS[kind or find_kind(real, shown)](real, shown)


def _local_path(value: str, shown: str, base: Path) -> Path:
    match = _URL.match(value)
    if match is None:
        try:
            return base / Path(value).expanduser()
        except RuntimeError:
            return base / value
    if match[1].lower() != "file":
        raise StoreError(
            f"{shown}: stores behind {match[1].lower()}:// are not read by this version.",
            f"Export the rows to a file. {READS}",
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
        f"no such store: {shown} (current folder: {place}/).",
        f"{near} Give --store PATH, or set store in memaudit.toml.".strip(),
    )


def _folder_error(path: Path, shown: str) -> StoreError:
    """Say what a folder holds; one readable store in it is named."""
    try:
        entries = sorted(p for p in islice(path.iterdir(), 1000) if not p.name.startswith("."))
    except OSError as error:
        return StoreError(f"{shown} is a folder that cannot be read: {error.strerror}.")
    stores = []
    for entry in entries:
        if entry.is_file() and not entry.is_symlink():
            try:
                if find_kind(entry, entry.name) in _READERS and entry.suffix.lower() != ".md":
                    stores.append(entry.name)
            except StoreError:
                continue
    if len(stores) == 1:
        return StoreError(f"{shown} is a folder; it holds one store.", f"Give --store {Path(shown) / stores[0]}.")
    if stores:
        listed = ", ".join(stores[:10]) + (f" and {len(stores) - 10} more" if len(stores) > 10 else "")
        return StoreError(f"{shown} is a folder; it holds {len(stores)} stores.", f"Give one of them: {listed}.")
    listed = ", ".join(p.name for p in entries[:10]) or "nothing"
    return StoreError(f"{shown} is a folder without a store (it holds: {listed}).", READS)


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
        raise StoreError(f"{shown} is empty (0 bytes): there is nothing to audit.", "Give the right file.")
    for magic, what, hint in _OTHERS:
        if head.startswith(magic) or (magic == b"DUCK" and head[8:12] == magic):
            raise StoreError(f"{shown} is {what}, not a store.", hint)
    if named == "sqlite":
        return "sqlite"  # its reader says what is wrong
    encoding = find_encoding(path)
    # One NUL in a file that is called a table of texts is a fault of one line, not of the file.
    if b"\0" in head and not encoding.startswith("utf-16") and named not in _TEXT_KINDS:
        raise StoreError(f"{shown} is no store that memaudit knows ({shown_bytes(head)}).", READS)
    kind = _json_kind(path, encoding, named)
    if kind is not None:
        return kind
    if named in _TEXT_KINDS:
        return named
    if path.suffix.lower() != ".md" and looks_delimited(path, encoding):
        return "csv"
    raise StoreError(f"{shown} is not a SQLite database ({shown_bytes(head)}).", READS)


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
