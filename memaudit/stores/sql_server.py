"""Read tables of Postgres and MySQL servers through SQLAlchemy (extras `postgres`, `mysql`).

One read-only transaction sees one state of all tables; rows are fetched through a cursor of the server, a thousand
at a time, and stored in a temporary database here. Credentials are in no message, note or name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from memaudit.errors import ConfigError, StoreError
from memaudit.stores.addresses import without_credentials
from memaudit.stores.assembled import Collection, assembled, notes_by_table
from memaudit.stores.float_blobs import float32_blob
from memaudit.stores.langgraph import langgraph_table
from memaudit.stores.store import Store
from memaudit.wording import plural, say

SCHEMES: Mapping[str, str] = {
    "postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql",
}  # fmt: skip
#: Drivers by database, in the order they are tried: (module, name for SQLAlchemy).
_DRIVERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "postgres": (("psycopg", "postgresql+psycopg"), ("psycopg2", "postgresql+psycopg2")),
    "mysql": (("pymysql", "mysql+pymysql"), ("mysql.connector", "mysql+mysqlconnector")),
}
#: A table of more rows is read only when it is named.
UNNAMED_ROWS = 200_000
#: Columns of the primary keys. The standard's `table_constraints` is empty for a user who may only read.
_PRIMARY_KEYS: Mapping[str, str] = {
    "postgres": (
        "SELECT n.nspname, c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey) WHERE i.indisprimary"
    ),
    "mysql": (
        "SELECT table_schema, table_name, column_name FROM information_schema.columns "
        "WHERE column_key = 'PRI' AND table_schema = DATABASE()"
    ),
}
_BATCH = 1000
_CONNECT_SECONDS = 15
_SYSTEM_SCHEMAS = ("information_schema", "pg_catalog", "mysql", "performance_schema", "sys")
_TEXT_TYPES = ("char", "text", "json", "name")


@dataclass(frozen=True)
class ServerTable:
    """A table of a server as its catalogue describes it."""

    schema: str
    name: str
    columns: tuple[tuple[str, str], ...]
    key: str | None
    shown: str


@dataclass
class _Server:
    """An open connection and what messages may say of it."""

    connection: Any
    kind: str
    shown: str
    clean: Callable[[object], str]
    goes_on: bool = False
    n_read: int = 0

    def quote(self, name: str) -> str:
        """Quote the name of a table or column."""
        sign = "`" if self.kind == "mysql" else '"'
        return sign + name.replace(sign, 2 * sign) + sign

    def rows(self, sql: str) -> Iterator[Sequence[Any]]:
        """Stream the rows of a query; an error of the server says how many rows came before it."""
        options = {"stream_results": True, "yield_per": _BATCH, "no_parameters": True}
        try:
            if self.goes_on:
                self.connection.exec_driver_sql("SAVEPOINT memaudit")
            # Options of the query, not of the connection: a savepoint has no cursor. The text goes to the server as it
            # is: a colon or a per cent sign in a name is no parameter.
            result = self.connection.exec_driver_sql(sql, execution_options=options)
            # Closed by us in every case: a cursor of the server that is dropped half read complains later.
            with closing(result):
                cursor = result.cursor
                try:
                    for row in result:
                        self.n_read += 1
                        yield tuple(row)
                except BaseException:  # also when nobody wants the rest
                    _forget_half_read(cursor)
                    raise
        except Exception as error:  # drivers share no base class
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                say(
                    "{shown}: reading failed after {n} rows: {error}.",
                    shown=self.shown,
                    n=self.n_read,
                    error=self.clean(error),
                ),
                say("Run the audit again; nothing was changed on the server."),
            ) from None

    def recovered(self) -> bool:
        """Go back to before the query that failed; say whether further tables can be read."""
        if not self.goes_on:
            return False
        try:
            self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT memaudit")
            self.connection.exec_driver_sql("SELECT 1")
        except Exception:  # drivers share no base class
            return False
        return True


def is_server(value: str) -> bool:
    """Say whether an address is one of a database server that is read here."""
    return value.partition("://")[0].partition("+")[0].lower() in SCHEMES and "://" in value


def open_server(url: str, table: str | None = None, *, every: bool = False) -> Store:
    """Read the tables of a database server.

    Parameters
    ----------
    url
        `postgresql://user:password@host:port/database`, `mysql://...`; a driver may be named (`postgresql+psycopg`).
    table
        The table to read, `schema.name` or `name`; without it, every table with text of at most 200,000 rows.
    every
        Read on when a table cannot be read: it then stands in `Store.skipped` and `Store.unreadable`.

    Raises
    ------
    StoreError
        No driver installed, no connection, wrong password, or a connection that breaks.
    ConfigError
        No table of that name.
    """
    shown = without_credentials(url)
    kind = SCHEMES[url.partition("://")[0].partition("+")[0].lower()]
    with _connected(url, kind, shown) as server:
        server.goes_on = every
        tables = _tables(server)
        large: dict[str, str] = {}
        failed: dict[str, str] = {}
        collections = []
        for one in _wanted(tables, table, shown):
            try:
                collections += _collections(server, one, tables, table, large)
            except StoreError as error:
                if not server.recovered():
                    hint = (
                        f"It was table {one.shown}. Run the audit again, name another with --table, or pass over what cannot be "
                        "read with --all-tables."
                    )
                    raise StoreError(error.message, hint if table is None and not every else error.hint) from None
                failed[one.shown] = error.message
        if not collections:
            listed = ", ".join([*large, *failed, *(t.shown for t in tables)][:10]) or "none"
            raise StoreError(
                say("{shown}: no table with text was read (tables: {listed}).", shown=shown, listed=listed),
                say("Give --table NAME."),
            )
        store = assembled(shown, kind, collections, skipped={**large, **failed}, goes_on=server.recovered)
        store.unreadable |= set(failed)
        notes = [say("Read in one read-only transaction: {rows}.", rows=plural(server.n_read, "row"))]
    return _chosen(store, notes)


def _collections(
    server: _Server, one: ServerTable, tables: Sequence[ServerTable], named: str | None, large: dict[str, str]
) -> list[Collection]:
    """Make the collection of a table: none for LangGraph's vectors, nor for a large table that was not named."""
    there = {t.name: t for t in tables if t.schema == one.schema}
    if one.name == "store" and {"prefix", "key", "value"} <= set(dict(one.columns)):
        return [_langgraph(server, one, there.get("store_vectors"))]
    if one.name == "store_vectors" and "store" in there and named is None:
        return []
    ((n_rows,),) = list(server.rows(f"SELECT COUNT(*) FROM {_name(server, one)}"))
    if named is None and n_rows > UNNAMED_ROWS:
        large[one.shown] = say("{n} rows: read only when it is named (--table {name})", n=n_rows, name=one.shown)
        return []
    return [_collection(server, one)]


def _chosen(store: Store, notes: list[str]) -> Store:
    """Name the table of memories when its form tells it; among plain tables it is found by what they hold."""
    known = [t for t in store.tables if "text" in store.table_hints.get(t.name, {})]
    store.hints = {}
    store.memories = None
    if known:
        best = max(known, key=lambda t: t.n_rows)
        reason = say("its form is that of a system's memories")
        store.hints = {"table": (best.name, reason), **store.table_hints[best.name]}
        store.table_notes = notes_by_table(store.path, store.tables, known)
        notes += store.table_notes[best.name]
    else:
        store.table_notes = notes_by_table(store.path, store.tables, ())
    store.notes = tuple(notes)
    return store


@contextmanager
def _connected(url: str, kind: str, shown: str) -> Iterator[_Server]:
    address, sqlalchemy = _with_driver(url, kind, shown)
    clean = _cleaner(url)
    argument = {"connect_timeout": _CONNECT_SECONDS}
    try:
        engine = sqlalchemy.create_engine(address, connect_args=argument, poolclass=sqlalchemy.pool.NullPool)
        connection = engine.connect()
    except Exception as error:
        raise StoreError(
            say("{shown} cannot be opened: {error}.", shown=shown, error=clean(error)),
            say("Check address, user and password."),
        ) from None
    try:
        try:
            if kind == "postgres":
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            else:
                # The server's own level may let every query see another state.
                connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                connection.commit()
            connection.exec_driver_sql("SELECT 1")
        except Exception as error:
            raise StoreError(
                say("{shown}: no read-only transaction: {error}.", shown=shown, error=clean(error))
            ) from None
        yield _Server(connection, kind, shown, clean)
    finally:
        # A broken connection cannot be closed; its error was reported already.
        with suppress(Exception):
            connection.close()
        engine.dispose()


def _forget_half_read(cursor: Any) -> None:
    """Keep pymysql from reading all that is left, or what a broken connection will never send, when it is closed."""
    result = getattr(cursor, "_result", None)
    if result is not None and getattr(result, "unbuffered_active", False):
        result.unbuffered_active = False


def _with_driver(url: str, kind: str, shown: str) -> tuple[str, Any]:
    """Return the address for SQLAlchemy with a driver that is installed, and SQLAlchemy itself."""
    hint = f"pip install 'agent-memaudit[{kind}]'"
    try:
        sqlalchemy = import_module("sqlalchemy")
    except ImportError:
        raise StoreError(say("{shown}: SQLAlchemy, which reads it, is not installed.", shown=shown), hint) from None
    scheme, _, rest = url.partition("://")
    if "+" in scheme:
        return url, sqlalchemy
    for module, name in _DRIVERS[kind]:
        try:
            import_module(module)
        except ImportError:
            continue
        return f"{name}://{rest}", sqlalchemy
    raise StoreError(say("{shown}: no driver for it is installed.", shown=shown), hint)


def _cleaner(url: str) -> Callable[[object], str]:
    """Return a function that gives an error in one line, without user, password or address."""
    try:
        parts = urlsplit(url)
        secrets = [s for s in (parts.password, parts.query) if s]
    except ValueError:
        secrets = []
    rest = url.partition("://")[2]
    secrets += [rest.rpartition("@")[0]] if "@" in rest else []
    secrets = sorted({s for s in [*secrets, *map(unquote, secrets)] if s}, key=len, reverse=True)

    def clean(error: object) -> str:
        text = str(getattr(error, "orig", None) or error).strip()
        for secret in secrets:
            text = text.replace(secret, "***")
        first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
        return first.strip().rstrip(".")[:300]

    return clean


def _tables(server: _Server) -> list[ServerTable]:
    names = ", ".join(f"'{s}'" for s in _SYSTEM_SCHEMAS)
    udt = "udt_name" if server.kind == "postgres" else "data_type"
    where = "" if server.kind == "postgres" else " AND c.table_schema = DATABASE()"
    sql = (
        f"SELECT c.table_schema, c.table_name, c.column_name, c.{udt} FROM information_schema.columns c "
        "JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name "
        f"WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ({names}){where} "
        "ORDER BY c.table_schema, c.table_name, c.ordinal_position"
    )
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for schema, table, column, kind in server.rows(sql):
        columns.setdefault((str(schema), str(table)), []).append((str(column), str(kind).lower()))
    keys: dict[tuple[str, str], list[str]] = {}
    for schema, table, column in server.rows(_PRIMARY_KEYS[server.kind]):
        keys.setdefault((str(schema), str(table)), []).append(str(column))
    server.n_read = 0
    schemas = {schema for schema, _ in columns}
    found = []
    for (schema, table), names_types in columns.items():
        key = keys.get((schema, table), [])
        plain = len(schemas) == 1 or (server.kind == "postgres" and schema == "public")
        shown = table if plain else f"{schema}.{table}"
        found.append(ServerTable(schema, table, tuple(names_types), key[0] if len(key) == 1 else None, shown))
    return found


def _wanted(tables: list[ServerTable], named: str | None, shown: str) -> list[ServerTable]:
    if named is not None:
        found = [t for t in tables if named in (t.shown, f"{t.schema}.{t.name}")]
        if not found:
            listed = ", ".join(t.shown for t in tables[:20]) or "none"
            raise ConfigError(
                say('{shown}: table "{named}" not found, or this user may not read it.', shown=shown, named=named),
                say("Tables: {listed}.", listed=listed),
            )
        return found[:1]
    return [t for t in tables if any(any(w in kind for w in _TEXT_TYPES) for _, kind in t.columns)]


def _name(server: _Server, table: ServerTable) -> str:
    return f"{server.quote(table.schema)}.{server.quote(table.name)}"


def _select(server: _Server, table: ServerTable, order: Sequence[str] = ()) -> str:
    """Make the query of a whole table; types that drivers do not know (pgvector's) come as text."""
    cast = ("vector", "halfvec", "sparsevec")
    parts = [f"CAST({server.quote(c)} AS text)" if kind in cast else server.quote(c) for c, kind in table.columns]
    ordered = f" ORDER BY {', '.join(map(server.quote, order))}" if order else ""
    return f"SELECT {', '.join(parts)} FROM {_name(server, table)}{ordered}"


def _collection(server: _Server, table: ServerTable) -> Collection:
    names = [c for c, _ in table.columns]
    vectors = [c for c, kind in table.columns if kind in ("vector", "halfvec")]
    payload = next((c for c, kind in table.columns if c == "payload" and kind in ("json", "jsonb")), None)
    # mem0 and others keep all but the vector in one JSON column: its keys become columns.
    opened = payload if payload is not None and len(names) <= 4 else None
    present: dict[str, int] = {}

    def rows() -> Iterator[Mapping[str, Any]]:
        for values in server.rows(_select(server, table, [table.key] if table.key else [])):
            row = {c: _plain(v) for c, v in zip(names, values, strict=True)}
            for column in vectors:
                row[column] = _packed(row[column])
            inner = row.pop(opened) if opened is not None else None
            inner = _object(inner)
            for key in inner:
                present[str(key)] = present.get(str(key), 0) + 1
            yield {**row, **{(f"payload_{k}" if k in row else str(k)): v for k, v in inner.items()}}

    def hints() -> dict[str, tuple[Any, str]]:
        found: dict[str, tuple[Any, str]] = {}
        if table.key is not None:
            found["id"] = (table.key, say("it is the primary key"))
        if vectors:
            found["embedding"] = (vectors[0], say("the server declares it as a vector"))
            found["embedding_format"] = ("float32 little-endian BLOB", say("the reader wrote the numbers so"))
        if present.get("data") and present.get("hash"):
            found["text"] = ("data", say("mem0 keeps the memory there, and embeds it as it is"))
            if present.get("created_at"):
                found["time"] = ("created_at", say("mem0 writes it when the memory is added"))
            if present.get("user_id") == present["data"]:
                found["isolation_keys"] = (("user_id",), say("every memory has the key"))
        return found

    columns = [n for n in names if n != opened]
    return Collection(table.shown, rows(), hints, columns=columns)


def _langgraph(server: _Server, table: ServerTable, vectors: ServerTable | None) -> Collection:
    there = dict(table.columns)
    columns = [c if c in there else None for c in ("prefix", "key", "value", "created_at", "updated_at", "expires_at")]
    shown = ", ".join("NULL" if c is None else server.quote(c) for c in columns)
    sql = f"SELECT {shown} FROM {_name(server, table)} ORDER BY created_at, prefix, key"
    items = [
        (str(prefix), str(key), value, _plain(created), _plain(updated), _plain(expires))
        for prefix, key, value, created, updated, expires in server.rows(sql)
    ]
    found: list[tuple[Any, ...]] = []
    if vectors is not None:
        sql = f"SELECT prefix, key, field_name, CAST(embedding AS text) FROM {_name(server, vectors)}"
        found = [(p, k, f, _packed(v)) for p, k, f, v in server.rows(sql)]
    return langgraph_table(items, found)


def _plain(value: Any) -> Any:
    """Bring a value of a driver to one of JSON's kinds, or bytes."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, dict, list)):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    number = type(value).__name__ == "Decimal"
    return (int(value) if value == value.to_integral_value() else float(value)) if number else str(value)


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, (str, bytes)):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _packed(value: Any) -> Any:
    """Write pgvector's text (`[1,2,3]`) as float32 little-endian; anything else stays as it is."""
    if not isinstance(value, str) or not value.startswith("["):
        return value
    try:
        return float32_blob([float(part) for part in value[1:-1].split(",")])
    except ValueError:
        return value
