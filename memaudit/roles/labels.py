"""Which column labels the rows: few short values that repeat, and no owner, state, time or score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from memaudit.roles.column_facts import ColumnFacts, name_of
from memaudit.roles.guess import Guess, by_name
from memaudit.roles.natural import loaded_json
from memaudit.wording import plural, say

_VALUE_NAMES = re.compile(
    r"(^|_)(pattern|category|sector|topic|label|class|classification|theme|trigger|tags?"
    r"|problem_type|memory_type|entity_type)($|_)"
)
_WEAK_VALUE_NAMES = re.compile(
    r"(^|_)(type|kind|group|area|cluster|bucket|intent|concepts?|domain|tool|tool_name)($|_)"
)
_NO_VALUE = re.compile(
    r"(^|_)(id|ids|uuid|key|user|users|owner|agent|tenant|session|chat|project|workspace|team|org|organization|account"
    r"|customer|client|channel|thread|conversation|namespace|prefix|scope|store|collection|database|role|speaker|actor"
    r"|author|lang|language|locale|status|state|stage|outcome|success|result|event|active|deleted|enabled|flag|pinned"
    r"|source|origin|provenance|model|version|encoding|format|host|hostname|platform|env|environment|path|file|url"
    r"|uri|hash|time|date|at|level|priority|score|confidence|importance|weight|rank|count|hits|year|month|day|week"
    r"|learner|student|pupil|patient|player|npc|person|member|contact|device|sensor|gender|country|title|name|subject|by|of|into|ref|pending|raw)($|_)|^(is|has|was)_"
)


#: With fewer values each may stand together by chance.
_LEAST_ORIGINS = 4


def guess_value_field(
    columns: Mapping[str, ColumnFacts], taken: Iterable[str | None], *, unnamed: bool = True
) -> Guess:
    """Choose the field of labels: few short values that repeat, and no owner, state, time or score.

    Parameters
    ----------
    taken
        Columns that play another part.
    unnamed
        Whether a column may be chosen whose name says nothing, if it is the only one.
    """
    used = {name for name in taken if name}
    named: list[tuple[float, ColumnFacts]] = []
    others: list[ColumnFacts] = []
    unlikely: list[ColumnFacts] = []
    for column in columns.values():
        name = name_of(column)
        if column.name in used or not _labels(column):
            continue
        if _VALUE_NAMES.search(name):
            # A list of tags in one cell, or what set a memory off, is a poorer label than a category; so is a column
            # with almost as many values as rows. Where each cell is a list, any other label is better.
            weight = 0.5 if _holds_lists(column) else 2.5 if name.endswith(("tags", "trigger")) else 3.0
            named.append((weight - ("$" in column.name) - column.n_distinct / len(column.present), column))
        elif _NO_VALUE.search(name) or "$" in column.name or column.n_distinct < 2:
            continue
        elif _WEAK_VALUE_NAMES.search(name):
            named.append((1, column))
        elif column.n_distinct <= len(column.present) / 3:
            (unlikely if _holds_lists(column) or _names_origins(column) else others).append(column)
    if named:
        best = max(named, key=lambda item: (item[1].n_distinct > 1, item[0]))[1]
        rest = ", ".join(c.name for _, c in named if c is not best)
        reason = by_name(best, label_reason(best))
        return Guess(best.name, reason + (say("; others like it: {names}", names=rest) if rest else ""))
    if len(others) == 1 and unnamed:
        return Guess(others[0].name, label_reason(others[0]))
    if others or unlikely:
        names = ", ".join(c.name for c in (others + unlikely)[:5])
        return Guess(None, say("columns hold labels, but no name tells that they are meant ({names})", names=names))
    return Guess(None, say("no column holds a few short labels that repeat"))


def _holds_lists(column: ColumnFacts) -> bool:
    """Say whether most values are lists of labels: JSON, or words joined by commas."""
    lists = sum(
        count
        for value, count in column.counts.items()
        if isinstance(loaded_json(value), (dict, list))
        or (isinstance(value, str) and "," in value and ", " not in value)
    )
    return lists > 0.5 * len(column.present)


def _names_origins(column: ColumnFacts) -> bool:
    """Say whether all rows of a value stand together: who or what they came from, one origin written after the other.

    Situations come again; in a table that is sorted by its labels the name has to tell.
    """
    return column.n_distinct >= _LEAST_ORIGINS and column.n_stretches == column.n_distinct


def label_reason(column: ColumnFacts) -> str:
    """Say why a column is taken for labels: how many values it has, in how many rows."""
    return say(
        "it holds {values} in {rows}",
        values=plural(column.n_distinct, "short value"),
        rows=plural(len(column.present), "row looked at", "rows looked at")
        if column.sampled
        else plural(len(column.present), "row"),
    )


def _labels(column: ColumnFacts) -> bool:
    present = column.present
    if len(present) < max(4, 0.5 * len(column.values)) or column.text_share < 1 or column.primary_key:
        return False
    if column.is_numeric or column.time_share > 0.1 or column.vector_dims:
        return False
    if max(map(len, column.texts), default=0) > 120 or column.mean_chars > 60 or any("\n" in t for t in column.texts):
        return False
    # Each value in two rows or more on average: otherwise it is a text or a key of its own.
    return (
        column.n_distinct <= len(present) / 2
        and (set(column.counts) - {"true", "false", "True", "False", "null"}) != set()
    )
