"""One audit at a time for a history: a lock that the system takes away when its holder dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memaudit.errors import MemauditError
from memaudit.wording import say


@contextmanager
def only_audit(path: Path) -> Iterator[None]:
    """Hold the lock file beside a history while an audit runs.

    Raises
    ------
    MemauditError
        Another audit holds it; the message names its process. Nothing waits: a scheduled audit that overlaps the
        next one must be seen, not queued.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise MemauditError(
            say("cannot make the lock {lock}: {reason}.", lock=lock, reason=error.strerror or error)
        ) from None
    try:
        if not _take(handle):
            holder = os.pread(handle, 40, 0).decode("ascii", "replace").strip() if hasattr(os, "pread") else ""
            place = path.parent if path.parent.name else path
            raise MemauditError(
                say("another audit is writing to {place} (process {holder}).", holder=holder, place=place)
                if holder
                else say("another audit is writing to {place}.", place=place),
                say("Wait for it, or give the audits different --history places."),
            )
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode("ascii"))
        yield
    finally:
        os.close(handle)  # gives the lock back; the file stays, for removing it would race with the next holder


def _take(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte far behind the process number: locked bytes cannot be read on Windows.
            os.lseek(handle, 1 << 20, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
