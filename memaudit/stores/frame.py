"""A data frame as a store, for the Python interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memaudit.stores.float_blobs import float32_blob
from memaudit.stores.store import Store
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.wording import say

if TYPE_CHECKING:
    import pandas


def store_of_frame(frame: pandas.DataFrame, name: str = "frame") -> Store:
    """Load a pandas data frame; it is not changed.

    Parameters
    ----------
    frame
        One row a memory. Missing values become NULL, times ISO texts, arrays of numbers vectors, other lists and
        objects JSON text. An index with a name becomes the first column.
    name
        Name of the table.
    """
    named_index = frame.index.name is not None
    columns = [*([str(frame.index.name)] if named_index else []), *map(str, frame.columns)]
    # Two columns of one name are two columns: the second gets a number.
    keys = [c if columns.index(c) == i else f"{c}_{i + 1}" for i, c in enumerate(columns)]
    connection = temporary_database()
    loader = TableLoader(connection, name, keys)
    for row in frame.itertuples(index=named_index, name=None):
        loader.add({key: _plain(value) for key, value in zip(keys, row, strict=True)})
    table = loader.finish()
    notes = (table.note,) if table.note else ()
    return finished_store(say("a data frame"), "frame", connection, [table], notes=notes)


def _plain(value: Any) -> Any:
    """Bring a cell to one of JSON's kinds, or bytes."""
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
        if isinstance(value, list) and value and all(isinstance(v, (int, float)) for v in value):
            return float32_blob(value)
    if isinstance(value, (float, int, str, bytes, bool)):
        return None if value != value else value
    if isinstance(value, (list, dict, tuple)):
        return list(value) if isinstance(value, tuple) else value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
