"""Find which column plays which part, and open the rows under audit.

What the configuration names wins and is checked; everything else is found by looking at the data
(:mod:`memaudit.roles.role_guess`), and each guess carries its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from memaudit.config import Config, nearest
from memaudit.errors import ConfigError
from memaudit.model import RowsLeftOut
from memaudit.records import Records, Roles
from memaudit.roles.column_facts import ColumnFacts, name_of, table_facts, unique_in_table
from memaudit.roles.guess import Guess
from memaudit.roles.labels import guess_value_field
from memaudit.roles.role_guess import (
    guess_deleted,
    guess_embedded_text,
    guess_embedding,
    guess_hits,
    guess_id,
    guess_last_access,
    guess_source,
    guess_time,
    is_key_like,
    marks_deleted,
)
from memaudit.roles.store_hints import with_hints
from memaudit.roles.table_choice import choose_table
from memaudit.stores.store import Store, StoreTable, quoted
from memaudit.wording import because, per_cent, plural, say, sentences

#: Values of a mark that mean "no", as SQL texts in lower case.
_NO = "('', '0', '0.0', 'false', 'no', 'n', 'f')"
#: Keys that name columns and are no roles: probes read them, each in its own way.
_OTHER_COLUMNS = (
    "isolation_keys", "scope", "scored_marker", "metadata", "upstream_column", "embedding_model", "generator_args",
)  # fmt: skip


def find_roles(store: Store, config: Config) -> Roles:
    """Find the table and the part that each column plays.

    Parameters
    ----------
    config
        Roles that it names are checked and kept; the others are found by looking.

    Returns
    -------
    Roles; `guessed` gives the reason of each one that was found by looking. A role that was looked for in vain is
    None, and its reason in `guessed` says that it was not found.

    Raises
    ------
    ConfigError
        A named table or column is not there, or several tables may be meant.
    """
    looked, table_reason = choose_table(store, config.table)
    table, columns = looked.table, looked.columns
    _check_other_columns(store, table, columns, config)
    guessed: dict[str, str] = {} if table_reason is None else {"table": because(table.name, table_reason)}
    config, reasons = with_hints(config, store, table.name)
    hints = store.hints_for(table.name)
    found: dict[str, str | None] = {}

    def fill(role: str, guess: Guess) -> None:
        """Take a role from the configuration, the store's own knowledge, or the guess."""
        named = getattr(config, role)
        if named is not None:
            found[role] = checked_column(table, columns, named, role)
        elif role in hints and (hints[role][0] is None or table.has(str(hints[role][0]))):
            value, why = hints[role]
            found[role] = None if value is None else str(value)
            guessed[role] = because(value, why)
        else:
            found[role] = guess.column
            guessed[role] = reason_of(guess)

    if not table.n_rows:
        for role, guess in _by_name(columns, looked.text).items():
            fill(role, guess)
        return _made(table, found, {**guessed, **reasons}, config, store, columns)
    fill("text", looked.text)
    embedded = guess_embedded_text(columns)
    if embedded is not None and found["text"] is not None and embedded[0] != found["text"]:
        fill("embedded_text", Guess(*embedded))
    else:
        fill("embedded_text", Guess(None, say("no column holds the texts of others")))
    fill("id", guess_id(columns, _unique(store, table, columns)))
    fill("time", guess_time(columns))
    fill("embedding", guess_embedding(columns))
    fill("hits", guess_hits(columns))
    fill("last_access", guess_last_access(columns))
    fill("source", guess_source(columns))
    taken = {*found.values(), config.group_field, config.soft_delete, config.active, config.embedding_model}
    # A named key of groups is the field that labels the rows, unless another is named too.
    if config.value_field is None and config.group_field is not None:
        column = checked_column(table, columns, config.group_field, "group_field")
        fill("value_field", Guess(column, say("it is the group_field")))
    else:
        taken |= set(config.isolation_keys or ()) | {config.scope, config.upstream_column, config.merged_into}
        # Texts taken out of a list repeat the other keys of their object: such a repetition is no label.
        unnamed = "table" not in store.hints
        fill("value_field", guess_value_field(columns, taken, unnamed=unnamed))
    return _made(table, found, {**guessed, **reasons}, config, store, columns)


def reason_of(guess: Guess) -> str:
    """Give a guess as the report shows it: `content, because ...`, or `not found: ...`."""
    return because(guess.column, guess.reason)


def _made(
    table: StoreTable,
    found: Mapping[str, str | None],
    guessed: dict[str, str],
    config: Config,
    store: Store,
    columns: Mapping[str, ColumnFacts],
) -> Roles:
    group = config.group_field and checked_column(table, columns, config.group_field, "group_field")
    fields = tuple(checked_column(table, columns, name, "embedded_fields") for name in config.embedded_fields or ())
    if config.embedded_fields and config.embedded_text is None:
        found = {**found, "embedded_text": None}
        guessed.pop("embedded_text", None)
    vectors = _named_vectors(store, config.vectors) if config.vectors else None
    if vectors is not None:
        found = {**found, "embedding": config.embedding}
        guessed.pop("embedding", None)
    elif found.get("embedding") is None and table.n_rows:
        vectors, reason = _vectors_elsewhere(store, table, found.get("id"))
        if vectors is not None:
            guessed.pop("embedding", None)
            guessed["vectors"] = reason
        elif reason:
            guessed["vectors"] = because(None, reason)
    deleted, mark = _deleted_where(store, table, columns, config)
    if mark is not None:
        guessed[mark[0]] = mark[1]
    return Roles(
        table=table.name,
        group_field=group or None,
        embedded_fields=fields,
        embedding_format=config.embedding_format,
        vectors=vectors,
        deleted_where=deleted,
        guessed=guessed,
        **found,
    )


def checked_column(table: StoreTable, columns: Mapping[str, ColumnFacts], name: str, role: str) -> str:
    """Return the name of a column that the user named, in the table's spelling.

    Raises
    ------
    ConfigError
        No such column; names the text columns and the nearest name.
    """
    base, sign, path = name.partition("$")
    for column in table.column_names:
        if column == base:
            return name
    for column in table.column_names:
        if column.lower() == base.lower():
            return f"{column}{sign}{path}"
    texts = [c.name for c in columns.values() if "$" not in c.name and c.natural_share > 0.3]
    if texts:
        listed = say("text columns are: {names}", names=", ".join(texts))
    else:
        listed = say("columns are: {names}", names=", ".join(table.column_names))
    raise ConfigError(
        say(
            "table '{name}' has no column '{base}'; {listed} (set {role}).",
            name=table.name,
            base=base,
            listed=listed,
            role=role,
        ),
        nearest(base, table.column_names) or None,
    )


def _check_other_columns(store: Store, table: StoreTable, columns: Mapping[str, ColumnFacts], config: Config) -> None:
    """Refuse a column that is named for no role of a row and stands in no table of the store: a slip of the pen.

    One in another table is let pass: it may be that of the vectors, or this may be one table of several.
    """
    known = {name.lower() for one in store.tables for name in one.column_names}
    for key in _OTHER_COLUMNS:
        given = getattr(config, key)
        for name in (given,) if isinstance(given, str) else given or ():
            if not {name.lower(), *(name.lower().partition(sign)[0] for sign in "$.")} & known:
                checked_column(table, columns, name, key)


def _unique(store: Store, table: StoreTable, columns: Mapping[str, ColumnFacts]) -> list[str]:
    """Return the columns that may be keys: distinct in the sample first, then counted in the whole table."""
    return [
        name
        for name, column in columns.items()
        if "$" not in name
        and is_key_like(column)
        and column.n_distinct == len(column.values)
        and unique_in_table(store, table, name)
    ]


def _by_name(columns: Mapping[str, ColumnFacts], text: Guess) -> dict[str, Guess]:
    """Guess the roles of a table without rows."""
    why = say("the table is empty: by its name alone")
    patterns = {
        "id": r"id|uuid|key|_id|.*_uuid",
        "time": r"created(_at|_on)?|timestamp|created_time|ts",
        "embedding": r"embedding|vector|embeddings|content_embedding",
        "hits": r"(hit|access|use|usage|recall|relevance)_count|hits",
        "last_access": r"last_(access|accessed|used|seen|recalled)(_at)?",
        "source": r"source",
        "value_field": r"pattern|category|sector|topic|abstract_pattern",
        "embedded_text": r"embedded_text",
    }
    none = Guess(None, say("the table is empty"))
    guesses = {"text": text}
    for role, pattern in patterns.items():
        guesses[role] = next((Guess(c, why) for c in columns if re.fullmatch(pattern, c.lower())), none)
    key = next((c.name for c in columns.values() if c.primary_key), None)
    if key is not None:
        guesses["id"] = Guess(key, say("it is the primary key"))
    return guesses


# -- vectors in another table -------------------------------------------------------------------


def _named_vectors(store: Store, named: Mapping[str, Any]) -> dict[str, str]:
    missing = [key for key in ("table", "ref", "embedding") if not isinstance(named.get(key), str)]
    if missing:
        raise ConfigError(
            say("vectors lacks {missing}.", missing=", ".join(missing)),
            say('The form is {{table = "memory_vectors", ref = "memory_id", embedding = "embedding"}}.'),
        )
    table = store.table(str(named["table"]))
    for key in ("ref", "embedding"):
        if not table.has(str(named[key])):
            raise ConfigError(
                say(
                    "vectors.{key}: table '{name}' has no column '{named}'.", key=key, name=table.name, named=named[key]
                ),
                sentences(
                    nearest(str(named[key]), table.column_names),
                    say("Columns: {column_names}.", column_names=", ".join(table.column_names)),
                ),
            )
    return {"table": table.name, "ref": str(named["ref"]), "embedding": str(named["embedding"])}


def _vectors_elsewhere(store: Store, table: StoreTable, key: str | None) -> tuple[dict[str, str] | None, str]:
    """Find a table whose rows hold one vector each for keys of `table`: (where, reason)."""
    found: list[tuple[float, dict[str, str], str]] = []
    blocked = ""
    for other in store.tables:
        if other.name == table.name or not other.n_rows:
            continue
        columns = table_facts(store, other)
        for vector in (c for c in columns.values() if "$" not in c.name and c.vector_dims):
            if key is None:
                blocked = say(
                    "table {other} holds vectors, but no single column is a key of the rows", other=other.name
                )
                continue
            known = {v for (v,) in store.rows(f"SELECT {quoted(key)} FROM {quoted(table.name)}")}
            for ref in columns.values():
                if ref is vector or "$" in ref.name or not ref.present or ref.vector_dims:
                    continue
                share = sum(v in known for v in ref.present) / len(ref.present)
                # Small integers meet the keys of any table: more than half of the rows must have one.
                enough = other.n_rows >= 0.5 * table.n_rows
                if share >= 0.9 and enough and unique_in_table(store, other, ref.name):
                    named = bool(re.search(r"(^|_)(id|ref|key|hash|uuid|rowid)$", name_of(ref)))
                    own = ref.primary_key and not re.search(r"memory|record|entry|item|experience", name_of(ref))
                    where = {"table": other.name, "ref": ref.name, "embedding": vector.name}
                    reason = say(
                        "{other}.{embedding}, because {share} of the values of {ref} are keys of {table} and the rows "
                        "hold vectors of {dims} numbers",
                        other=other.name,
                        embedding=vector.name,
                        ref=ref.name,
                        share=per_cent(f"{100 * share:.0f}"),
                        table=table.name,
                        dims=vector.vector_dims,
                    )
                    found.append((share + named - 0.5 * own, where, reason))
    if not found:
        return None, blocked
    _, where, reason = max(found, key=lambda item: item[0])
    return where, reason


# -- deleted rows -------------------------------------------------------------------------------


def _deleted_where(
    store: Store, table: StoreTable, columns: Mapping[str, ColumnFacts], config: Config
) -> tuple[str | None, tuple[str, str] | None]:
    """Return the condition, and the configuration key it stands for with its reason when it was guessed."""
    if config.soft_delete is not None:
        return _is_deleted(checked_column(table, columns, config.soft_delete, "soft_delete")), None
    if config.active is not None:
        return _is_inactive(checked_column(table, columns, config.active, "active")), None
    guess = guess_deleted({c.name: _whole_column(store, table, c) for c in columns.values() if marks_deleted(c)})
    if guess is None:
        return None, None
    column, kind, reason = guess
    where = _is_deleted(column) if kind == "deleted" else _is_inactive(column)
    n_deleted = next(store.rows(f"SELECT COUNT(*) FROM {quoted(table.name)} WHERE {where}"))[0]
    if not n_deleted:
        return None, None
    reason = say("{reason}; {rows} marked", reason=reason, rows=plural(n_deleted, "row is", "rows are"))
    return where, ("soft_delete" if kind == "deleted" else "active", because(column, reason))


def _whole_column(store: Store, table: StoreTable, column: ColumnFacts) -> ColumnFacts:
    """Look at the distinct values of a whole column."""
    name = quoted(column.name)
    values = store.rows(f"SELECT DISTINCT {name} FROM {quoted(table.name)} WHERE {name} IS NOT NULL LIMIT 10000")
    return replace(column, values=tuple(value for (value,) in values))


def _as_sql(column: str) -> str:
    base, sign, path = column.partition("$")
    if not sign:
        return quoted(base)
    escaped = path.replace("'", "''")
    return f"json_extract({quoted(base)}, '${escaped}')"


def _is_deleted(column: str) -> str:
    sql = _as_sql(column)
    return f"{sql} IS NOT NULL AND lower(CAST({sql} AS TEXT)) NOT IN {_NO}"


def _is_inactive(column: str) -> str:
    # NULL says nothing: such a row counts as active.
    return f"lower(CAST({_as_sql(column)} AS TEXT)) IN {_NO}"


# -- the rows -----------------------------------------------------------------------------------


def open_records(
    store: Store, roles: Roles, config: Config, rng: np.random.Generator
) -> tuple[Records, tuple[RowsLeftOut, ...]]:
    """Open the rows under audit, and count those left out.

    Left out, in this order: rows that `where` does not meet, deleted rows, and rows that are not in the sample of
    `max_rows`. A sample keeps store order.

    Parameters
    ----------
    rng
        Draws the sample, from nothing else.

    Raises
    ------
    ConfigError
        `where` is no SQL condition for this table.
    """
    table = store.table(roles.table)
    whole = Records(store, table, roles)
    kept = np.arange(table.n_rows, dtype=np.int64)
    left_out: list[RowsLeftOut] = []

    def without(remaining: Iterable[int], reason: str) -> None:
        nonlocal kept
        chosen = np.asarray(sorted(remaining), dtype=np.int64)
        gone = np.setdiff1d(kept, chosen, assume_unique=True)
        if len(gone):
            left_out.append(RowsLeftOut(len(gone), reason, tuple(whole.keys[i] for i in gone)))
        kept = chosen

    if config.where is not None:
        without(store.condition_rows(table, config.where), say("where: {condition} is not met", condition=config.where))
    if roles.deleted_where is not None:
        deleted = set(store.condition_rows(table, roles.deleted_where))
        without((int(i) for i in kept if int(i) not in deleted), say("marked as deleted"))
    pool = None
    if config.max_rows is not None and len(kept) > config.max_rows:
        pool = kept
        chosen = rng.choice(kept, size=config.max_rows, replace=False)
        reason = say(
            "not in the random sample of {n} rows (max_rows, seed {seed})", n=config.max_rows, seed=str(config.seed)
        )
        without(chosen.tolist(), reason)
    if not left_out:
        return whole, ()
    return Records(store, table, roles, kept, pool=pool), tuple(left_out)
