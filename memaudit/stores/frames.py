"""A pandas DataFrame as a store, for notebooks and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.store import Store
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.wording import say

#: Name of the only table.
TABLE = "frame"


def is_frame(value: Any) -> bool:
    """Whether a value is a pandas DataFrame; pandas is not imported for it."""
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(value).__mro__}
    return "pandas.DataFrame" in kinds


def open_frame(frame: Any, shown: str = "DataFrame") -> Store:
    """Copy a DataFrame into a temporary SQLite database; the frame itself is not changed.

    NaN, NaT and NA, pandas' marks of a missing value, become NULL; times ISO texts; lists, arrays and mappings JSON
    text; an index that is more than a row number becomes columns. Of several columns with one name the later ones
    get a number.

    Raises
    ------
    StoreError
        The frame has no columns.
    """
    import pandas

    notes: list[str] = []
    if frame.index.name is not None or not frame.index.equals(pandas.RangeIndex(len(frame))):
        frame = frame.reset_index(allow_duplicates=True)
        notes.append(say("The index of the frame is audited as columns."))
    if not len(frame.columns):
        raise StoreError(say("{shown} has no columns.", shown=shown), say("Give a frame with one row a memory."))
    names = _unique(_name(column) for column in frame.columns)
    connection = temporary_database()
    loader = TableLoader(connection, TABLE, names)
    for row in frame.itertuples(index=False, name=None):
        loader.add({name: plain(value, pandas.isna) for name, value in zip(names, row, strict=True)})
    table = loader.finish()
    notes += [table.note] if table.note else []
    return finished_store(shown, "dataframe", connection, [table], notes=tuple(notes))


def plain(value: Any, is_missing: Callable[[Any], Any]) -> Any:
    """Bring a cell of a frame to one of JSON's kinds, or bytes; None for what `is_missing` says is missing."""
    if value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item, is_missing) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [plain(item, is_missing) for item in items]
    if hasattr(value, "tolist") and getattr(value, "ndim", None) not in (None, 0):  # an array: a vector, as a rule
        return plain(value.tolist(), is_missing)
    if bool(is_missing(value)):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):  # a scalar of numpy
        value = value.item()
    return value if isinstance(value, (bool, int, float)) else str(value)


def _name(column: Any) -> str:
    """Name a column; the levels of a MultiIndex are joined by points."""
    return ".".join(str(level) for level in column) if isinstance(column, tuple) else str(column)


def _unique(names: Iterable[str]) -> list[str]:
    seen: Counter[str] = Counter()
    made: list[str] = []
    for name in names:
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name}_{seen[name]}"
        while unique in made:
            seen[name] += 1
            unique = f"{name}_{seen[name]}"
        made.append(unique)
    return made
