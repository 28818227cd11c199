"""A table of past recalls: which memory, when, with what score; columns found by looking."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from memaudit.records import Records, Roles
from memaudit.roles.column_facts import ColumnFacts, name_of, table_facts
from memaudit.roles.guess import Guess
from memaudit.roles.natural import loaded_json
from memaudit.stores.store import Store, StoreTable
from memaudit.wording import because, per_cent, say

_REF = re.compile(
    r"(memory|mem|record|entry|item|row|experience|doc|document|result|hit|recalled|retrieved|chunk)s?_?(id|ref|key|hash|uuid)?s?"
)
_SCORE = re.compile(r"(^|_)(score|similarity|sim|distance|dist|relevance|cosine|bm25)($|_)")
_RANK = re.compile(r"(^|_)(rank|position|pos|place)($|_)")
_QUERY = re.compile(r"(^|_)(query|question|prompt|search|text|input|q)($|_)")
_SESSION = re.compile(r"(^|_)(session|conversation|thread|chat|dialog(ue)?|trajectory)(_?(id|key|uuid))?$")
_NOT_REF = re.compile(r"(^|_)(rank|position|score|query|user|session|agent|count|k|limit|top)($|_)")


@dataclass(frozen=True)
class RetrievalLog:
    """Past recalls.

    Parameters
    ----------
    memory_ref
        Column with the key of the recalled memory, or with a JSON list of keys.
    score, rank, time, query, session
        Columns, None where there is none.
    reasons
        Column of this class -> why it was chosen, or why none was.
    own_keys
        Key of a memory as text -> the key itself, for logs that write keys as another type.
    """

    table: StoreTable
    records: Records
    memory_ref: str | None
    score: str | None
    rank: str | None
    time: str | None
    query: str | None
    reasons: Mapping[str, str]
    own_keys: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the log; a row may name several memories."""
        return self.table.n_rows

    @cached_property
    def _recalled(self) -> frozenset[Any]:
        return frozenset(key for keys in self.keys_by_row for key in keys)

    @cached_property
    def keys_by_row(self) -> tuple[tuple[Any, ...], ...]:
        """Keys that each row of the log names, as the memories have them; none where no column names memories."""
        if self.memory_ref is None:
            return ((),) * self.n_rows
        own = set(self.own_keys.values())
        return tuple(
            tuple(key if key in own else self.own_keys.get(str(key), key) for key in keys_in(value))
            for value in self.records.column(self.memory_ref)
        )

    @cached_property
    def recalls(self) -> tuple[tuple[int, ...], ...] | None:
        """Rows of each recall, best rank first, the recalls in the order of the log; None where that cannot be told.

        A row that names several memories is a recall of its own. Else a new recall begins where the query, the time
        or the session changes, or the rank starts again.
        """
        every = range(self.n_rows)
        if any(len(keys) > 1 for keys in self.keys_by_row):
            return tuple((row,) for row in every)
        if self.rank is None and self.query is None and self.time is None:
            return None
        marks = [self.records.column(name) for name in (self.query, self.time, self.session) if name is not None]
        ranks = self.records.column(self.rank) if self.rank is not None else (None,) * self.n_rows
        found: list[list[tuple[float, int]]] = []
        last: tuple[tuple[Any, ...], float] | None = None
        for row in every:
            mark, rank = tuple(column[row] for column in marks), ranks[row]
            ranked = isinstance(rank, (int, float))
            place = float(rank or 0) if ranked else float(len(found[-1]) if found else 0)
            if last is None or last[0] != mark or (ranked and place <= last[1]):
                found.append([])
                place = place if ranked else 0.0
            found[-1].append((place, row))
            last = (mark, place)
        return tuple(tuple(row for _, row in sorted(recall)) for recall in found)

    def recalled_keys(self) -> set[Any]:
        """Return the keys that occur in the log; empty when no column names memories.

        A key that belongs to a memory is given as the memory has it (`1`, also where the log says `"1"`), any other
        as the log writes it.
        """
        return set(self._recalled)


def keys_in(value: Any) -> tuple[Any, ...]:
    """Return the keys that a value names: itself, or the members of a JSON list (of keys, or of objects with one)."""
    listed = loaded_json(value)
    if not isinstance(listed, list):
        return () if value is None else (value,)
    keys: list[Any] = []
    for item in listed:
        if isinstance(item, dict):
            item = next((item[k] for k in ("id", "memory_id", "key", "record_id", "doc_id") if k in item), None)
        if isinstance(item, (str, int, float)):
            keys.append(item)
    return tuple(keys)


def read_log(store: Store, name: str, keys: Sequence[Any]) -> RetrievalLog:
    """Read a table of past recalls.

    Parameters
    ----------
    name
        The table.
    keys
        Keys of the memories; the column most of whose values are among them names the recalled memory. Keys stored
        as text in one table and as integers in the other count too.

    Raises
    ------
    ConfigError
        No such table.
    """
    table = store.table(name)
    columns = table_facts(store, table)
    plain = {n: c for n, c in columns.items() if "$" not in n}
    ref = _memory_ref(plain, keys)
    rest = {n: c for n, c in plain.items() if n != ref.column and not c.primary_key}
    time = _named(rest, None, lambda c: c.time_share >= 0.9 and not _plain_number(c), say("it holds times"))
    rank = _named(rest, _RANK, _is_rank, say("it holds small whole numbers"))
    rest = {n: c for n, c in rest.items() if n not in (time.column, rank.column)}
    session = next((n for n, c in rest.items() if c.present and _SESSION.search(name_of(c))), None)
    score = _score({n: c for n, c in rest.items() if n != session})
    query = _query({n: c for n, c in rest.items() if n != score.column})
    guesses = {"memory_ref": ref, "score": score, "rank": rank, "time": time, "query": query}
    reasons = {part: because(g.column or None, g.reason) for part, g in guesses.items()}
    return RetrievalLog(
        table,
        Records(store, table, Roles(table=table.name)),
        **{part: guess.column for part, guess in guesses.items()},
        reasons=reasons,
        own_keys={str(key): key for key in keys},
        session=session,
    )


def _memory_ref(columns: Mapping[str, ColumnFacts], keys: Sequence[Any]) -> Guess:
    known = {*keys, *(str(k) for k in keys)}
    if not any(c.present for c in columns.values()):
        named = next((n for n, c in columns.items() if _REF.fullmatch(name_of(c)) and not c.primary_key), None)
        return Guess(named, say("the table is empty: by its name alone") if named else say("the table is empty"))
    best: tuple[tuple[float, ...], str, float] | None = None
    for name, column in columns.items():
        is_ref = bool(_REF.fullmatch(name_of(column)))
        # Row numbers, ranks and query numbers meet integer keys by chance.
        if not is_ref and (column.primary_key or _NOT_REF.search(name_of(column))):
            continue
        found = [k for v in column.present for k in keys_in(v)]
        if not found:
            continue
        share = sum(k in known or str(k) in known for k in found) / len(found)
        if share >= 0.5 and (best is None or (is_ref, share) > best[0]):
            best = ((is_ref, share), name, share)
    if best is None:
        return Guess(None, say("no column holds keys of the memories"))
    return Guess(best[1], say("{share} of its values are keys of the memories", share=per_cent(f"{100 * best[2]:.0f}")))


def _plain_number(column: ColumnFacts) -> bool:
    return column.is_numeric and not re.search(r"time|date|_at$|^at$|ts|epoch|when", name_of(column))


def _is_rank(column: ColumnFacts) -> bool:
    return column.is_numeric and all(n.is_integer() and 0 <= n <= 1000 for n in column.numbers)


def _named(columns: Mapping[str, ColumnFacts], pattern: re.Pattern[str] | None, fits: Any, reason: str) -> Guess:
    for name, column in columns.items():
        if column.present and (pattern is None or pattern.search(name_of(column))) and fits(column):
            return Guess(name, reason)
    return Guess(None, say("no such column"))


def _score(columns: Mapping[str, ColumnFacts]) -> Guess:
    named = [n for n, c in columns.items() if _SCORE.search(name_of(c)) and c.is_numeric]
    if named:
        return Guess(named[0], say("it holds numbers, and its name says so"))
    # Without a telling name: fractions, which no counter, rank or key is.
    fractions = [n for n, c in columns.items() if c.is_numeric and any(not v.is_integer() for v in c.numbers)]
    if len(fractions) == 1:
        return Guess(fractions[0], say("it is the only column with fractions"))
    return Guess(None, say("no column holds scores"))


def _query(columns: Mapping[str, ColumnFacts]) -> Guess:
    texts = [c for c in columns.values() if c.texts and c.natural_share > 0.3]
    named = [c for c in texts if _QUERY.search(name_of(c))]
    if named:
        return Guess(named[0].name, say("it holds text, and its name says so"))
    if texts:
        return Guess(texts[0].name, say("it holds text"))
    ids = [n for n, c in columns.items() if c.present and re.search(r"(^|_)(query|question)", name_of(c))]
    return Guess(ids[0], say("its name says so")) if ids else Guess(None, say("no column holds queries"))
