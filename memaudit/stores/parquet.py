"""Read Parquet files (extra `parquet`)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.files import sha256_of
from memaudit.stores.store import Store
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.wording import say

_BATCH = 1000


def open_parquet(path: Path, shown: str) -> Store:
    """Load a Parquet file; times become ISO texts, lists and structures JSON text.

    Raises
    ------
    StoreError
        pyarrow is not installed, or the file is damaged.
    """
    try:
        pyarrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise StoreError(
            say("{shown} is a Parquet file, and pyarrow, which reads it, is not installed.", shown=shown),
            "pip install 'agent-memaudit[parquet]'",
        ) from None
    connection = temporary_database()
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            loader = TableLoader(connection, path.stem, list(dict.fromkeys(names)))
            for batch in file.iter_batches(batch_size=_BATCH):
                columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
                for row in zip(*columns, strict=True):
                    # Of two columns with one name the first is kept: the others could not be told apart.
                    loader.add({n: _plain(v) for n, v in reversed(list(zip(names, row, strict=True)))})
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        connection.close()
        raise StoreError(
            say("{shown} cannot be read as Parquet: {error}.", shown=shown, error=str(error).splitlines()[0])
        ) from error
    table = loader.finish()
    sha256, notes = sha256_of(path)
    notes += (table.note,) if table.note else ()
    return finished_store(shown, "parquet", connection, [table], notes=notes, sha256=sha256)


def _plain(value: Any) -> Any:
    """Bring a value of pyarrow to one of JSON's kinds, or bytes."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, dict):
        return {str(k): _inner(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_inner(v) for v in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _inner(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else _plain(value)
