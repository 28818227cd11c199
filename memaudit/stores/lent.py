"""Hand a SQLite store to production code so that nothing can be written: neither the file nor anything beside it."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memaudit.stores.sqlite import MAGIC, log_files, open_sqlite


@contextmanager
def lent(path: Path) -> Iterator[dict[str, str]]:
    """Lend a store for the length of the block.

    Parameters
    ----------
    path
        Where production code looks for it.

    Returns
    -------
    Real path -> URI of what may be opened in its place; empty for what is no SQLite file.

    Raises
    ------
    StoreError
        It cannot be read.

    Notes
    -----
    A file alone is opened as immutable. Of one with a live log a snapshot without a log is made, because rows of the log
    would be missing otherwise.
    """
    if not _is_sqlite(path):
        yield {}
        return
    real = path.resolve()
    if not log_files(real, path.name):
        yield {str(real): f"{real.as_uri()}?mode=ro&immutable=1"}
        return
    with tempfile.TemporaryDirectory(prefix="memaudit-") as folder:
        copy = Path(folder) / "store.db"
        store = open_sqlite(real, shown=path.name)
        try:
            with closing(sqlite3.connect(copy)) as plain:
                store.connection.backup(plain)
        finally:
            store.close()
        yield {str(real): f"{copy.resolve().as_uri()}?mode=ro&immutable=1"}


def _is_sqlite(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
