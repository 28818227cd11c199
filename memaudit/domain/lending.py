"""Databases that the target may open: what is handed over in their place cannot be written.

Runs in the child process. SQLite takes the flags from the connection's own name (`mode=ro&immutable=1`), so that neither
a row nor a log beside the file can be made. Nothing can be attached to any connection: SQL is no event that the audit
hook sees, and attaching makes the file that is not there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from memaudit.domain import guard

#: Place of `uri` among the positional arguments of `sqlite3.connect`, the database being the first.
_URI_PLACE = 7


def install(databases: Mapping[str, str], folders: Sequence[str]) -> None:
    """Let `sqlite3.connect` open what stands for a database.

    Parameters
    ----------
    databases
        Real path of a database -> URI of what is opened for it, read-only.
    folders
        Folders in which a relative name is looked up; the child's own folder is empty.
    """
    guard.lent.update(databases.values())
    opened = sqlite3.connect

    def connect(database: Any, *args: Any, **named: Any) -> Any:
        uri = _lent(database, databases, folders)
        if uri is None:
            connection = opened(database, *args, **named)
        else:
            connection = opened(uri, *args[: _URI_PLACE - 1], **{**named, "uri": True})
            # Sorting must not want a temporary file: none can be written here.
            connection.execute("PRAGMA temp_store = MEMORY")
        connection.set_authorizer(_attaches_nothing)
        return connection

    for module in (sqlite3, sqlite3.dbapi2):
        vars(module)["connect"] = connect


def _attaches_nothing(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


def _lent(database: Any, databases: Mapping[str, str], folders: Sequence[str]) -> str | None:
    try:
        name = os.fsdecode(database)
    except TypeError:
        return None
    if name.startswith("file:"):
        name = unquote(name[5:].partition("?")[0].partition("#")[0])
        name = name[2:].partition("/")[1] + name[2:].partition("/")[2] if name.startswith("//") else name
    places = [os.path.join(folder, name) for folder in folders] if not os.path.isabs(name) else [name]
    return next((databases[real] for place in places if (real := os.path.realpath(place)) in databases), None)
