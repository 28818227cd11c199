"""Which table of a store holds the memories, by what the tables hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.errors import ConfigError, StoreError
from memaudit.roles.column_facts import ColumnFacts, name_of, table_facts
from memaudit.roles.guess import Guess
from memaudit.roles.role_guess import TEXT_NAMES, guess_embedded_text, guess_text, text_score
from memaudit.stores.store import Store, StoreTable, quoted
from memaudit.wording import plural, say

#: A table wins when its score is this much above that of every other: the weight of a telling name.
_MARGIN = 2.0
_MEMORY_NAME = re.compile(r"memor|experienc|lesson|reflection|insight|observation|fact|note|episod|knowledge|belief")
_SATELLITE_NAME = re.compile(
    r"(^|_)(logs?|dropped|archived?|history|backup|old|events?|messages?|migrations?|queue|sessions?|cache|configs?"
    r"|settings?|evictions?|audit|meta|metadata|prompts?|users?|agents?|feedback|runs?|jobs?|errors?|edges?|links?"
    r"|relations?|versions?|schema\w*|chunks?|queries|retriev\w*|recalls?|tmp|temp|test)($|_)"
)
#: Tables of the program around a memory: who uses it, how it is set, what it did. Messages and events may be memories.
_PROGRAM_NAME = re.compile(
    r"(.*_)?(users?|accounts?|settings?|configs?|migrations?|schema_\w+|jobs?|runs?|queue|cache|audit(_logs?)?)"
)
_REFERENCE = re.compile(
    r"(kept|memory|mem|record|entry|item|row|experience|original|target|parent|doc|document)_?(id|ref|key|hash|uuid)"
)
_CHROMA = {"embeddings", "embedding_metadata", "collections", "segments"}


@dataclass(frozen=True)
class TableFacts:
    """A table with what was seen in it."""

    table: StoreTable
    columns: Mapping[str, ColumnFacts]
    text: Guess
    score: float


def choose_table(store: Store, named: str | None) -> tuple[TableFacts, str | None]:
    """Return the table to audit, and the reason when it was not named.

    Raises
    ------
    ConfigError
        No such table, or several that may be meant.
    StoreError
        The store holds no table.
    """
    if named is not None:
        return look_at(store, store.table(named)), None
    if "table" in store.hints:
        value, reason = store.hints["table"]
        return look_at(store, store.table(str(value))), reason
    if not store.tables:
        skipped = ", ".join(f"{name} ({reason})" for name, reason in list(store.skipped.items())[:5])
        raise StoreError(
            say("{path} holds no table that can be read.", path=store.path),
            say("Not read: {skipped}.", skipped=skipped) if skipped else None,
        )
    if {t.name for t in store.tables} >= _CHROMA:
        raise ConfigError(
            say(
                "{path} is a Chroma store: its rows are spread over key-value tables, which this version does not put together.",
                path=store.path,
            ),
            say(
                "To audit its documents as plain rows: --table embedding_metadata --set text=string_value --set where=\"key = 'chroma:document'\"."
            ),
        )
    if len(store.tables) == 1:
        return look_at(store, store.tables[0]), say("it is the only table")
    filled = [t for t in store.tables if t.n_rows] or list(store.tables)
    looked = [look_at(store, t) for t in filled]
    candidates = [c for c in looked if c.text.column is not None]
    if not candidates:
        shown = ", ".join(f"{t.name} ({plural(t.n_rows, 'row')})" for t in store.tables[:10])
        raise ConfigError(
            say("the store has {n} tables, none of them with a column of sentences.", n=len(store.tables)),
            say("Give --table; tables: {shown}.", shown=shown),
        )
    if len(candidates) == 1:
        return candidates[0], say("no other table with rows holds text") if candidates[0].table.n_rows else say(
            "no other table has a text column"
        )
    scores = {c.table.name: _score(store, c, candidates) for c in candidates}
    ranked = sorted(candidates, key=lambda c: -scores[c.table.name])
    if scores[ranked[0].table.name] - scores[ranked[1].table.name] < _MARGIN:
        shown = ", ".join(f"{c.table.name} ({plural(c.table.n_rows, 'row')})" for c in ranked[:10])
        raise ConfigError(
            say("the store has {n} tables and none was named.", n=len(store.tables)),
            say("Give --table; candidates by text columns: {shown}.", shown=shown),
        )
    best = ranked[0]
    others = ", ".join(c.table.name for c in ranked[1:4])
    return best, say("its column {column} is the likeliest memory text; less likely: {others}",
                     column=best.text.column, others=others)  # fmt: skip


def look_at(store: Store, table: StoreTable) -> TableFacts:
    """Look at the columns of a table and at its best text column."""
    columns = table_facts(store, table)
    if not table.n_rows:
        name = next((c.name for c in table.columns if TEXT_NAMES.fullmatch(name_of(c))), None)
        return TableFacts(table, columns, Guess(name, say("the table is empty: by its name alone")), 0.0)
    embedded = guess_embedded_text(columns)
    text = guess_text(columns, embedded[0] if embedded else None)
    score = text_score(columns[text.column.removesuffix("$.")]) if text.column is not None else 0.0
    return TableFacts(table, columns, text, score)


def _score(store: Store, one: TableFacts, candidates: list[TableFacts]) -> float:
    # Capped: a dump of long logs is no likelier a memory than a paragraph.
    score = min(one.score, 6.0)
    name = one.table.name.lower()
    if _MEMORY_NAME.search(name):
        score += _MARGIN
    if _SATELLITE_NAME.search(name):
        score -= 2 * _MARGIN
    if any(_refers(store, one, other) for other in candidates if other is not one):
        score -= 2 * _MARGIN
    return score


def about_other(store: Store, one: TableFacts, candidates: Sequence[TableFacts]) -> str | None:
    """Return the table that the rows of `one` are about, where both its name and its keys say so."""
    if not _SATELLITE_NAME.search(one.table.name.lower()):
        return None
    return next((o.table.name for o in candidates if o is not one and _refers(store, one, o)), None)


def serves_program(one: TableFacts, candidates: Sequence[TableFacts]) -> str | None:
    """Return the table that holds the memories by its name, where the name of `one` is that of a part of the program."""
    if not _PROGRAM_NAME.fullmatch(one.table.name.lower()) or _MEMORY_NAME.search(one.table.name.lower()):
        return None
    return next((o.table.name for o in candidates if _MEMORY_NAME.search(o.table.name.lower())), None)


def _refers(store: Store, one: TableFacts, other: TableFacts) -> bool:
    """Say whether a column of `one` holds keys of `other`, so that its rows are about those of `other`."""
    whole = other.table.name.lower()
    called = f"{re.escape(whole)}|{re.escape(whole.removesuffix('s').replace('memorie', 'memory'))}"
    for column in one.columns.values():
        name = name_of(column)
        if column.primary_key or "$" in column.name or not column.present:
            continue
        if not (_REFERENCE.fullmatch(name) or re.fullmatch(rf"({called})_?(id|ref|key|hash|uuid)", name)):
            continue
        for key in other.columns.values():
            if not key.primary_key:
                continue
            known = {v for (v,) in store.rows(f"SELECT {quoted(key.name)} FROM {quoted(other.table.name)}")}
            if sum(v in known for v in column.present) >= 0.9 * len(column.present):
                return True
    return False
