"""Files as readers see them: regular files only, described in one line when they cannot be read."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from memaudit.errors import StoreError
from memaudit.wording import say, sentences

#: What memaudit reads, for messages.
#: A larger file is not hashed: a second pass over it would cost more than the audit.
HASHED_UP_TO_BYTES = 1 << 30


def reads() -> str:
    """Say what memaudit reads, the hint of most errors about stores."""
    return say("memaudit reads SQLite, CSV, JSONL, JSON, Parquet and the stores that `memaudit stores` lists.")


def checked_file(path: Path, shown: str) -> Path:
    """Return the real path of a regular, readable file.

    Raises
    ------
    StoreError
        Nothing there, a folder, a device or pipe, or no permission.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise StoreError(
                say("{shown} is a link to {target}, which is not there.", shown=shown, target=os.readlink(path))
            ) from None
        raise StoreError(
            say("no such store: {shown}.", shown=shown), say("Give --store PATH, or set store in memaudit.toml.")
        ) from None
    except OSError as error:
        raise StoreError(say("{shown} cannot be read: {reason}.", shown=shown, reason=error.strerror)) from None
    if stat.S_ISDIR(status.st_mode):
        raise StoreError(
            say("{shown} is a folder, not a store.", shown=shown), sentences(say("Give the file in it."), reads())
        )
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(say("{shown} is no regular file (a device, pipe or socket).", shown=shown), reads())
    first_bytes(path, shown, 1)
    return path.resolve()


def first_bytes(path: Path, shown: str, count: int) -> bytes:
    """Return the first bytes of a file; an error of the system becomes :class:`StoreError`."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except PermissionError:
        raise StoreError(
            say("{shown} cannot be read: permission denied.", shown=shown),
            say("Let the user that runs memaudit read it."),
        ) from None
    except OSError as error:
        raise StoreError(say("{shown} cannot be read: {reason}.", shown=shown, reason=error.strerror)) from None


def shown_bytes(head: bytes) -> str:
    """Describe the first bytes of a file for a message: the first line of a text, else hexadecimal."""
    line = head[:40].splitlines()[0] if head.strip() else b""
    try:
        text = line[:24].decode("ascii")
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable():
        return say('first bytes: "{text}"', text=text)
    return say("first bytes: {text}", text=head[:8].hex(" "))


def sha256_of(path: Path) -> tuple[str | None, tuple[str, ...]]:
    """Return the hash of a file and notes; no hash above 1 GiB."""
    if path.stat().st_size > HASHED_UP_TO_BYTES:
        return None, (say("The store is larger than 1 GiB: no sha256 was computed."),)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest(), ()


def stamp(path: Path) -> tuple[int, int] | None:
    """Return size and time of change, None when there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
