"""What a filter does to a store: how many rows it keeps, and why it never matches."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memaudit.context import Context
from memaudit.errors import ConfigError
from memaudit.measures.conditions import (
    Comparison,
    RecallFilter,
    comparison,
    conjuncts,
    has_hole,
    names_in,
    quoted_texts,
    rewritten,
)
from memaudit.measures.open_values import with_open_as_null
from memaudit.stores.store import StoreTable, quoted
from memaudit.times import parse_time
from memaudit.wording import say

_METADATA_NAME = re.compile(r"(^|_)(metadata|meta|attributes|attrs|properties|props|extra|payload)($|_)", re.IGNORECASE)
#: Distinct values read to say why a filter never matches.
MAX_VALUES = 2_000
_RANGE = ("<", "<=", ">", ">=", "BETWEEN")
_EQUALITY = ("=", "IS", "IN", "LIKE")


@dataclass(frozen=True)
class Effect:
    """What a filter does.

    Parameters
    ----------
    matching
        Rows that meet it; None when that depends on the open value.
    keeps_all, never
        Whatever the open value: every row that has one of the stored values, or none.
    cause, why
        Of a filter that never matches: `type`, `path`, `notation`, `list`, `null`, `together`, `range` or `absent`, and
        the sentence.
    names
        Columns and keys that it looks at.
    open_value, by_other_part
        It leaves a value open; which does not matter, because of another part of the same expression.
    """

    given: RecallFilter
    table: str
    rows: int
    matching: int | None
    keeps_all: bool
    never: bool
    names: tuple[str, ...]
    open_value: bool = False
    by_other_part: bool = False
    cause: str = ""
    why: str = ""


@dataclass(frozen=True)
class NotEvaluated:
    """A filter that could not be tried, why, and the option that may help."""

    given: RecallFilter
    reason: str
    option: str = "filters"


@dataclass(frozen=True)
class Target:
    """A table that a filter is tried on: its names, and where the keys of its JSON column stand.

    Parameters
    ----------
    metadata
        SQL of the JSON column; None without one.
    keys
        Paths of keys in that column with the rows that have them.
    """

    table: StoreTable
    where: str
    metadata: str | None = None
    keys: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def column(self, name: str) -> str | None:
        """Return the column of that name, in the table's spelling."""
        plain = name.removeprefix(f"{self.table.name}.")
        return next((c for c in self.table.column_names if c.lower() == plain.lower()), None)

    def path(self, name: str) -> tuple[str, ...]:
        """Return the path of a key: one key with dots in it when there is such a key, else key by key."""
        parts = tuple(name.split("."))
        if self.column(parts[0]) is not None and self.is_metadata(parts[0]):
            parts = parts[1:]
        return (name,) if (name,) in self.keys else parts

    def is_metadata(self, name: str) -> bool:
        """Say whether a name is that of the JSON column itself."""
        column = self.column(name)
        return column is not None and self.metadata is not None and self.metadata.startswith(quoted(column))

    def knows(self, name: str) -> bool:
        """Say whether a name is a column, or a key that at least one row has."""
        return self.column(name) is not None or (self.metadata is not None and self.path(name) in self.keys)

    def expression(self, name: str) -> str | None:
        """Return the SQL that reads a column or key; NULL everywhere for a key that no row has."""
        column = self.column(name)
        if column is not None:
            return quoted(column)
        base = self.column(name.partition(".")[0])
        if base is not None and not self.is_metadata(base):
            return _json_sql(quoted(base), tuple(name.split(".")[1:]))
        return _json_sql(self.metadata, self.path(name)) if self.metadata is not None else None


def _json_sql(column: str, path: Sequence[str]) -> str:
    steps = "".join(f'."{step}"' for step in path).replace("'", "''")
    # A row whose text is no JSON has no keys; without the guard it would stop the whole query.
    return f"CASE WHEN json_valid({column}) THEN json_extract({column}, '${steps}') END"


# -- which table --------------------------------------------------------------------------------


def audited_where(ctx: Context) -> str:
    """Return the SQL condition that the rows under audit meet: those of `where` that are not deleted."""
    conditions = [f"({ctx.config.where})"] if ctx.config.where else []
    conditions += [f"({ctx.roles.deleted_where}) IS NOT TRUE"] if ctx.roles.deleted_where else []
    return " AND ".join(conditions) or "1"


def filled_by_deletion(ctx: Context, column: str) -> bool:
    """Say whether only deleted rows have a value in a column: why, when or for what they were deleted."""
    deleted = ctx.roles.deleted_where
    if deleted is None or any(value is not None for value in ctx.records.column(column)):
        return False
    return ctx.store.condition_count(ctx.records.table, deleted, f"{quoted(column)} IS NOT NULL") > 0


def audited_target(ctx: Context) -> Target:
    """Return the audited table with its JSON column: the named one, else one that looks like it."""
    where = audited_where(ctx)
    named = ctx.config.metadata
    table = ctx.records.table
    candidates = [named] if named else [c for c in table.column_names if _METADATA_NAME.search(c)]
    if not named and ctx.roles.text is not None and "$" in ctx.roles.text:
        candidates.append(ctx.roles.text.partition("$")[0])  # the text itself is a key of a JSON column
    for name in candidates:
        keys = _key_paths(ctx.records.column(name))
        if named or keys:
            base, sign, path = name.partition("$")
            sql = _json_sql(quoted(base), [p for p in path.split(".") if p]) if sign else quoted(base)
            return Target(table, where, sql, keys)
    return Target(table, where)


def _key_paths(values: Iterable[Any]) -> dict[tuple[str, ...], int]:
    """Count the rows that have each key of their JSON object, by path; lists are not entered."""
    found: Counter[tuple[str, ...]] = Counter()
    for value in values:
        if isinstance(value, (bytes, str)):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                continue
        stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
        while stack:
            path, item = stack.pop()
            if isinstance(item, Mapping):
                for key, inner in item.items():
                    found[(*path, str(key))] += 1
                    stack.append(((*path, str(key)), inner))
    return dict(found)


def _target_of(ctx: Context, audited: Target, given: RecallFilter, names: Sequence[str]) -> Target | NotEvaluated:
    unknown = [n for n in names if not audited.knows(n)]
    if not unknown:
        return audited
    if ctx.config.retrieval_log is not None:
        log = Target(ctx.store.table(ctx.config.retrieval_log), "1")
        if all(log.column(n) is not None for n in names):
            return log
    if audited.metadata is not None and (ctx.config.metadata or all(_elsewhere(audited, n) for n in unknown)):
        return audited
    reason = say(
        "{names} is no column of {table}{metadata}",
        names=", ".join(unknown),
        table=audited.table.name,
        metadata=say(" and no key of its JSON column") if audited.metadata is not None else "",
    )
    return NotEvaluated(given, reason, "metadata" if audited.metadata is None else "filters")


# -- trying it ----------------------------------------------------------------------------------


def effect_of(ctx: Context, audited: Target, given: RecallFilter) -> Effect | NotEvaluated:
    """Try a filter on the table that has its names.

    Raises nothing that the user's condition causes: what cannot be run is returned with the reason.
    """
    if given.problem:
        return NotEvaluated(given, given.problem)
    texts = quoted_texts(given.condition)
    names = [n for n in names_in(given.condition) if not (n in texts and not audited.knows(n))]
    target = _target_of(ctx, audited, given, names)
    if isinstance(target, NotEvaluated):
        return target
    try:
        return _tried(ctx, target, given, tuple(names), texts)
    except ConfigError as error:
        return NotEvaluated(given, error.message)


def _tried(
    ctx: Context, target: Target, given: RecallFilter, names: tuple[str, ...], texts: frozenset[str]
) -> Effect | NotEvaluated:
    def sql(condition: str) -> str:
        return rewritten(condition, lambda n: None if n in texts and not target.knows(n) else target.expression(n))

    def count(condition: str) -> int:
        return ctx.store.condition_count(target.table, target.where, condition)

    rows = count("1")
    parts = conjuncts(given.condition)
    is_open = has_hole(given.condition)
    by_other_part = False
    if not is_open:
        matching: int | None = count(sql(given.condition))
        keeps_all, never = matching == rows, matching == 0
    else:
        kept, met = [], []
        for part in parts:
            if not has_hole(part):
                n = count(sql(part))
                kept.append(n == rows)
                met.append(n > 0)
                continue
            simple = comparison(part)
            if simple is None:
                certain = with_open_as_null(part)
                keeps = certain is not None and count(sql(certain)) == rows
                if not keeps and (certain is None or count(f"NOT ({sql(certain)})") < rows):
                    return NotEvaluated(
                        given, say("it leaves a value open inside a larger expression: {part}", part=part)
                    )
                kept.append(keeps)
                met.append(keeps)
                by_other_part = True
                continue
            left = sql(simple.left)
            met.append(count(f"({left}) IS NOT NULL") > 0)
            first = f"(SELECT {left} FROM {quoted(target.table.name)} WHERE ({target.where}) AND ({left}) IS NOT NULL LIMIT 1)"
            kept.append(simple.operator in _EQUALITY and count(f"({left}) = {first}") == rows)
        keeps_all, never = all(kept), not all(met)
        matching = rows if keeps_all else 0 if never else None
    cause = why = ""
    if never and rows:
        empty = [p for p in parts if has_hole(p) or count(sql(p)) == 0]
        cause, why = _why(ctx, target, empty, given.condition)
    return Effect(given, target.table.name, rows, matching, keeps_all and rows > 0, never and rows > 0, names,
                  is_open, by_other_part, cause, why)  # fmt: skip


def lets_nothing_through(ctx: Context, filters: Sequence[RecallFilter], name: str) -> bool:
    """Say whether no row meets what the filters ask of a column: each part of them that names it, alone."""
    audited = audited_target(ctx)
    parts = [part for given in filters for part in conjuncts(given.condition)]
    tried = [
        effect_of(ctx, audited, RecallFilter(part, part))
        for part in parts
        if name.lower() in {n.rpartition(".")[2].lower() for n in names_in(part)}
    ]
    return bool(tried) and all(isinstance(effect, Effect) and effect.never for effect in tried)


# -- why it never matches -----------------------------------------------------------------------


def _why(ctx: Context, target: Target, empty: Sequence[str], condition: str) -> tuple[str, str]:
    """Say why the first part that no row meets is met by none."""
    if not empty:
        return "together", say("each of its parts matches rows, but never the same ones")
    found = []
    for part in empty:
        simple = comparison(part)
        name = _looked_at(simple) if simple is not None else next(iter(names_in(part)), "")
        expression = target.expression(name) if name else None
        if expression is None:
            continue
        values = _values(ctx, target, expression)
        if all(v is None for v in values):
            other = "" if target.column(name) is not None else _elsewhere(target, name)
            if other:
                found.append(("path", say("no row has the key {name}: it stands at {other}", name=name, other=other)))
            elif target.column(name) is None:
                found.append(("path", say("no row has the key {name}", name=name)))
            else:
                found.append(("null", say("{name} is NULL in every row", name=name)))
        elif simple is not None and not simple.has_hole:
            found.append(cause_of(simple, name, [v for v in values if v is not None]))
    return found[0] if found else ("absent", say("no row meets it"))


def _looked_at(simple: Comparison) -> str:
    """Return the column or key that a comparison looks at, through `json_extract` and `->>` too."""
    if simple.name:
        return simple.name
    by_function = re.fullmatch(
        r"json_extract\s*\(\s*[\"\[`]?([^\W\d]\w*)[\"\]`]?\s*,\s*'\$\.([^']+)'\s*\)", simple.left, re.I
    )
    by_arrow = re.fullmatch(r"[\"\[`]?([^\W\d]\w*)[\"\]`]?\s*->>?\s*'(?:\$\.)?([^']+)'", simple.left)
    found = by_function or by_arrow
    return f"{found.group(1)}.{found.group(2)}".replace('"', "") if found else ""


def _values(ctx: Context, target: Target, expression: str) -> list[Any]:
    sql = (
        f"SELECT {expression}, COUNT(*) FROM {quoted(target.table.name)} WHERE {target.where} "
        f"GROUP BY 1 ORDER BY 2 DESC LIMIT {MAX_VALUES}"
    )
    return [value for value, _ in ctx.store.rows(sql)]


def _elsewhere(target: Target, name: str) -> str:
    """Return where a key that no row has stands under another path or spelling; empty when nowhere."""
    wanted = target.path(name)
    last = _folded(wanted[-1]).replace(".", "")
    places = [p for p in target.keys if _folded(p[-1]) == last and p != wanted]
    # userId for user_id first, then the same key deeper or higher.
    places.sort(key=lambda p: (-target.keys[p], len(p)))
    return ".".join(places[0]) if places else ""


def cause_of(simple: Comparison, name: str, stored: Sequence[Any]) -> tuple[str, str]:
    """Say why no stored value meets a comparison.

    Parameters
    ----------
    stored
        Distinct values other than NULL, at least one.

    Returns
    -------
    The cause and a sentence; the sentence quotes no stored value.
    """
    asked = [v for v in simple.values if v is not None]
    numbers = [v for v in stored if isinstance(v, (int, float))]
    texts = [v for v in stored if isinstance(v, str)]
    ranged = simple.operator in _RANGE
    for value in asked:
        if isinstance(value, str) and (
            any(_same_number(value, n) for n in numbers) or (ranged and numbers and not texts)
        ):
            return "type", say("{name} is stored as a number, the filter compares with a text", name=name)
        if not isinstance(value, str) and (
            any(_same_number(t, value) for t in texts) or (ranged and texts and not numbers)
        ):
            return "type", say("{name} is stored as a text, the filter compares with a number", name=name)
        if _as_truth(value) is not None and any(_as_truth(v) == _as_truth(value) for v in stored if v != value):
            return "type", say("{name} is stored as another kind of yes and no than the filter asks for", name=name)
        if any(_in_list(value, t) for t in texts):
            return "list", say("{name} holds a list, and the filter compares the whole of it with one value", name=name)
    for value in asked:
        kind = _notation(value, stored, ranged)
        if kind:
            return "notation", say("{name} holds the value in another notation ({kind})", name=name, kind=kind)
    if ranged and len(numbers) == len(stored):
        return "range", say("no value of {name} lies there: they run from {least:g} to {most:g}", name=name,
                            least=min(numbers), most=max(numbers))  # fmt: skip
    return "absent", say("no row has this value of {name}", name=name)


def _same_number(text: Any, number: Any) -> bool:
    try:
        return float(text) == float(number)
    except (TypeError, ValueError):
        return False


def _as_truth(value: Any) -> bool | None:
    plain = value.strip().lower() if isinstance(value, str) else value
    if plain in ("true", "yes", 1):
        return True
    return False if plain in ("false", "no", 0) else None


def _in_list(value: Any, text: str) -> bool:
    if not text.lstrip().startswith("["):
        return False
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(items, list) and (value in items or str(value) in [str(i) for i in items])


def _folded(text: str) -> str:
    return re.sub(r"[\s_\-./]+", "", unicodedata.normalize("NFKC", text).casefold())


def _notation(asked: Any, stored: Sequence[Any], ranged: bool) -> str:
    """Name the difference of notation between a value and a stored one that means the same; empty for none."""
    when = parse_time(asked)
    if when is not None:
        times = [parse_time(v) for v in stored]
        known = [t for t in times if t is not None]
        if known and (ranged or when in known):
            return say("time")
    if isinstance(asked, str) and not ranged:
        for value in stored:
            if not isinstance(value, str) or _folded(value) != _folded(asked):
                continue
            if value.strip() == asked.strip():
                return say("blanks around it")
            if value.strip().lower() == asked.strip().lower():
                return say("upper and lower case")
            if unicodedata.normalize("NFKC", value).lower() == unicodedata.normalize("NFKC", asked).lower():
                return say("full-width letters")
            return say("blanks, dashes or underscores inside it")
    return ""
