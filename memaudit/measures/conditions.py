"""Filters used at recall time: read from the configuration, taken apart, and written for a table.

A filter is a SQL condition, or a metadata filter as vector stores write them (`{"key": {"$gte": 3}}`); both end
as a SQL condition whose names still have to be found. Nothing here runs a condition.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memaudit.config import Config
from memaudit.errors import ConfigError
from memaudit.wording import say, unread

_TOKEN = re.compile(
    r"""(?P<string>[xX]?'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])
    |(?P<hole>\?\d*|[:@$][^\W\d]\w*|\$\d+|%s|%\(\w+\)s|\{\w*\})
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    |(?P<name>[^\W\d]\w*(?:\s*\.\s*(?:[^\W\d]\w*|"[^"]*"))*)
    |(?P<operator>->>|->|<>|!=|<=|>=|==|\|\||[=<>])
    |(?P<space>\s+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(
    (
        "and", "or", "not", "null", "is", "in", "like", "glob", "between", "exists", "case", "when", "then", "else", "end",
        "escape", "collate", "nocase", "binary", "rtrim", "true", "false", "cast", "as", "match", "regexp", "isnull",
        "notnull", "distinct", "from", "select", "where", "limit", "order", "by", "asc", "desc", "current_timestamp",
        "current_date", "current_time",
    )
)  # fmt: skip
_TYPES = frozenset(("text", "integer", "int", "real", "numeric", "blob"))
#: Keys of an object that say something about a filter rather than in it.
_ABOUT = ("name", "description", "comment", "note", "purpose")
_CONDITION_KEYS = ("condition", "where", "filter", "sql", "expression", "expr")
_OPERATORS = {
    "$eq": "=", "eq": "=", "=": "=", "==": "=", "is": "=", "equals": "=",
    "$ne": "<>", "ne": "<>", "!=": "<>", "<>": "<>",
    "$gt": ">", "gt": ">", ">": ">", "$gte": ">=", "gte": ">=", ">=": ">=",
    "$lt": "<", "lt": "<", "<": "<", "$lte": "<=", "lte": "<=", "<=": "<=",
    "$in": "IN", "in": "IN", "$nin": "NOT IN", "nin": "NOT IN", "not in": "NOT IN",
    "$like": "LIKE", "like": "LIKE",
}  # fmt: skip
_GROUPS = {
    "$and": " AND ", "and": " AND ", "must": " AND ", "all": " AND ", "$or": " OR ", "or": " OR ", "should": " OR ",
    "any": " OR ",
}  # fmt: skip
#: Columns whose values rank or cut off results.
_SCORE_NAME = re.compile(
    r"(^|_)(scores?|importance|confidence|quality|priority|rating|weight|salience|strength|relevance|similarity|sim"
    r"|distance|cosine|certainty|utility|usefulness|trust|grade|stars|valence|novelty|bm25|heat|decay)($|_)|重要|置信|评分|得分|优先级|权重|质量"
)
_NO_SCORE = re.compile(r"_(id|at|on|time|date|count|version|model|type|method|source|name|by|reason|rank)$")
#: Marks that take deleted, old or hidden rows out: a store without such rows is no fault.
_GONE_NAME = re.compile(
    r"(^|_)(is|not)?_?(deleted|removed|archived|active|enabled|disabled|expired|expires|expiry|valid|invalid|invalidated"
    r"|superseded|hidden|tombstone|obsolete|retired|deprecated|revoked|merged)($|_)|删除|归档|失效|有效"
)


@dataclass(frozen=True)
class RecallFilter:
    """A filter as it was given.

    Parameters
    ----------
    label
        As shown to the reader: its name and condition, or its JSON.
    condition
        SQL condition; names are those of the filter, not yet of a table.
    problem
        Why it cannot be read as a condition; empty when it can.
    """

    label: str
    condition: str
    name: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Comparison:
    """A simple part of a condition: a name, an operator, and literals (None stands for a hole).

    Parameters
    ----------
    left
        SQL text of the left side.
    name
        The name alone when the left side is nothing else, else empty.
    operator
        Upper case; `==` is written `=`.
    values
        Literals of the right side; None for a hole.
    """

    left: str
    name: str
    operator: str
    values: tuple[Any, ...]
    has_hole: bool


def is_score_name(name: str) -> bool:
    """Say whether a column's name tells that its values rank or cut off rows."""
    plain = snake_case(name)
    return bool(_SCORE_NAME.search(plain)) and not _NO_SCORE.search(plain)


def is_gone_name(name: str) -> bool:
    """Say whether a column's name tells that it marks deleted, old or hidden rows."""
    return bool(_GONE_NAME.search(snake_case(name)))


def snake_case(name: str) -> str:
    """Write the name of a column in lower case, its words parted by `_`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(".", "_")


# -- reading ------------------------------------------------------------------------------------


def read_filters(config: Config) -> tuple[RecallFilter, ...]:
    """Read the filters of the configuration.

    Raises
    ------
    ConfigError
        The file cannot be read or holds no filters.
    """
    given = config.filters
    if not given:
        return ()
    if not isinstance(given, str):
        return tuple(RecallFilter(text, text) for text in given)
    path = config.path(given)
    if not (given.lower().endswith(".json") or path.is_file()):
        return (RecallFilter(given, given),)
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("filters: cannot read {name}: {error}.", name=path.name, error=unread(error))) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(say("filters: {name} is no JSON: {error}.", name=path.name, error=error)) from None
    found = tuple(_filters_in(data))
    if not found:
        raise ConfigError(
            say("filters: {name} holds no filter.", name=path.name),
            say('A list is expected: ["score >= 0.6", {{"topic": "ops"}}].'),
        )
    return found


def _filters_in(data: Any) -> Iterator[RecallFilter]:
    if isinstance(data, list):
        for item in data:
            yield _filter_from(item)
    elif isinstance(data, Mapping):
        inner = data.get("filters")
        if isinstance(inner, (list, Mapping)):
            yield from _filters_in(inner)
        elif data and _is_one_filter(data):
            yield _filter_from(data)
        else:
            for name, item in data.items():
                yield _filter_from(item, str(name))


def _is_one_filter(data: Mapping[str, Any]) -> bool:
    """Tell one filter from an object of named filters: its values are no conditions and no filters themselves."""
    if any(key in data for key in _CONDITION_KEYS) or any(key.lower() in _GROUPS for key in data):
        return True
    return not any(
        _looks_like_condition(v) or (isinstance(v, Mapping) and not _is_operators(v)) or isinstance(v, list)
        for v in data.values()
    )


def _looks_like_condition(value: Any) -> bool:
    return isinstance(value, str) and bool(re.search(r"[=<>?]|\b(is|in|like|between)\b", value, re.IGNORECASE))


def _is_operators(value: Mapping[str, Any]) -> bool:
    known = (*_OPERATORS, "$exists", "$not")
    return bool(value) and all(str(key).lower() in known for key in value)


def _filter_from(item: Any, name: str = "") -> RecallFilter:
    """Read one filter: a text, a named object, or a metadata filter."""
    if isinstance(item, str):
        return RecallFilter(f"{name}: {item}" if name else item, item, name)
    if not isinstance(item, Mapping):
        shown = json.dumps(item, ensure_ascii=False)
        return RecallFilter(shown, "", name, f"a text or an object was expected, not {type(item).__name__}")
    own_name = name or str(item.get("name") or "")
    inner = next((item[key] for key in _CONDITION_KEYS if key in item), None)
    if isinstance(inner, str):
        given: list[Any] = next((item[k] for k in ("params", "values", "args") if isinstance(item.get(k), list)), [])
        return _filter_from(_filled(inner, given), own_name)
    if isinstance(inner, (Mapping, list)):
        return _filter_from({"$and": inner} if isinstance(inner, list) else inner, own_name)
    plain = {k: v for k, v in item.items() if k not in _ABOUT}
    if not plain:  # nothing but a name is a filter on that name
        plain, own_name = dict(item), name
    shown = json.dumps(plain, ensure_ascii=False)
    label = f"{own_name}: {shown}" if own_name else shown
    try:
        return RecallFilter(label, _sql_of(plain), own_name)
    except ValueError as error:
        return RecallFilter(label, "", own_name, str(error))


def _filled(condition: str, values: Sequence[Any]) -> str:
    """Put given values in the place of `?`, when there is one for each."""
    parts = parts_of(condition)
    holes = [i for i, p in enumerate(parts) if p.kind == "hole"]
    texts = [p.text for p in parts]
    if len(holes) == len(values):
        for i, value in zip(holes, values, strict=True):
            texts[i] = _literal(value) if isinstance(value, (str, int, float, type(None))) else texts[i]
    return "".join(texts)


def _sql_of(data: Any, prefix: str = "") -> str:
    """Write a metadata filter as a SQL condition; ValueError names what is not understood."""
    if not isinstance(data, Mapping) or not data:
        raise ValueError("an object with at least one key was expected")
    field = next((data[k] for k in ("field", "key", "column", "path") if isinstance(data.get(k), str)), None)
    if field is not None and ("value" in data or "match" in data or "range" in data):
        if isinstance(data.get("match"), Mapping):
            match = data["match"]
            return _compared(field, "IN", match["any"]) if "any" in match else _compared(field, "=", match.get("value"))
        if isinstance(data.get("range"), Mapping):
            return " AND ".join(_one(field, op, v) for op, v in data["range"].items())
        return _one(field, str(data.get("op") or data.get("operator") or data.get("comparator") or "="), data["value"])
    parts = []
    for key, value in data.items():
        group = _GROUPS.get(str(key).lower())
        if group is not None and isinstance(value, (list, Mapping)):
            inner = [_sql_of(v) for v in (value if isinstance(value, list) else [value])]
            parts.append("(" + group.join(f"({i})" for i in inner) + ")" if len(inner) != 1 else inner[0])
        elif str(key).lower() in ("must_not", "$not", "not") and isinstance(value, (list, Mapping)):
            parts += [f"NOT ({_sql_of(v)})" for v in (value if isinstance(value, list) else [value])]
        elif isinstance(value, Mapping) and not _is_operators(value) and not any(str(k).startswith("$") for k in value):
            parts.append(_sql_of(value, f"{prefix}{key}."))  # {"user": {"id": 5}} looks into an object
        elif isinstance(value, Mapping):
            parts += [_one(f"{prefix}{key}", str(op), v) for op, v in value.items()]
        elif isinstance(value, list):
            parts.append(_compared(f"{prefix}{key}", "IN", value))
        else:
            parts.append(_compared(f"{prefix}{key}", "=", value))
    return " AND ".join(parts)


def _one(field: str, operator: str, value: Any) -> str:
    if operator.lower() == "$exists":
        return f"{_name(field)} IS {'NOT ' if value else ''}NULL"
    sql = _OPERATORS.get(operator.lower())
    if sql is None:
        raise ValueError(f"the operator {operator} is not known")
    return _compared(field, sql, value)


def _compared(field: str, operator: str, value: Any) -> str:
    if value is None and operator in ("=", "<>"):
        return f"{_name(field)} IS {'NOT ' if operator == '<>' else ''}NULL"
    if operator.endswith("IN"):
        if not isinstance(value, list):
            raise ValueError(f"a list was expected for {field}")
        return f"{_name(field)} {operator} ({', '.join(_literal(v) for v in value)})"
    return f"{_name(field)} {operator} {_literal(value)}"


def _name(field: str) -> str:
    return '"' + field.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "?" if value == "?" else "'" + value.replace("'", "''") + "'"
    raise ValueError(f"a value of type {type(value).__name__} cannot be compared")


# -- taking apart -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A word or sign of a condition, with its kind."""

    kind: str
    text: str


def parts_of(condition: str) -> list[Part]:
    """Take a condition apart; the texts of the parts make it up again."""
    return [Part(str(m.lastgroup), m.group()) for m in _TOKEN.finditer(condition)]


def _names(parts: Sequence[Part]) -> Iterator[tuple[int, str]]:
    """Yield place and name of every part that names a column or key."""
    before = ""
    for i, part in enumerate(parts):
        if part.kind == "space":
            continue
        if part.kind == "quoted":
            yield i, part.text[1:-1].replace('""', '"')
        elif part.kind == "name":
            word = part.text.lower()
            following = next((p.text for p in parts[i + 1 :] if p.kind != "space"), "")
            is_type = word in _TYPES and before == "as"
            if word not in _KEYWORDS and following != "(" and not is_type and before != "collate":
                yield i, re.sub(r"\s*\.\s*", ".", part.text).replace('"', "")
        before = part.text.lower()


def names_in(condition: str) -> tuple[str, ...]:
    """Return the names of columns or keys in a condition, each once, in order."""
    return tuple(dict.fromkeys(name for _, name in _names(parts_of(condition))))


def has_hole(condition: str) -> bool:
    """Say whether a condition leaves a value open (`?`, `:name`, `%s`, `{name}`)."""
    return any(part.kind == "hole" for part in parts_of(condition))


def rewritten(condition: str, expression: Callable[[str], str | None]) -> str:
    """Put SQL expressions in the place of the names of a condition.

    Parameters
    ----------
    expression
        Name -> SQL expression. None turns a name in double quotes into a text, as MySQL and hasty writers mean it,
        and leaves any other name.
    """
    parts = parts_of(condition)
    texts = [part.text for part in parts]
    for i, name in _names(parts):
        sql = expression(name)
        if sql is not None:
            texts[i] = sql
        elif parts[i].text.startswith('"'):
            texts[i] = "'" + name.replace("'", "''") + "'"
    return "".join(texts)


def quoted_texts(condition: str) -> frozenset[str]:
    """Return names in double quotes that stand behind an operator: they may be meant as texts."""
    parts = [p for p in parts_of(condition) if p.kind != "space"]
    return frozenset(
        p.text[1:-1].replace('""', '"')
        for before, p in itertools.pairwise(parts)
        if p.kind == "quoted" and p.text.startswith('"') and before.kind == "operator"
    )


def conjuncts(condition: str) -> tuple[str, ...]:
    """Split a condition at the ANDs that stand outside brackets, BETWEEN and CASE; all of it when there are none."""
    parts = parts_of(condition)
    found: list[str] = []
    current = ""
    depth = open_between = open_case = 0
    for part in parts:
        word = part.text.lower()
        if part.kind == "other":
            depth += {"(": 1, ")": -1}.get(part.text, 0)
        elif part.kind == "name":
            open_case += {"case": 1, "end": -1}.get(word, 0)
            open_between += word == "between" and depth == 0
            if depth == 0 and open_case == 0 and word == "or":
                return (condition.strip(),)
            if depth == 0 and open_case == 0 and word == "and":
                if open_between:
                    open_between -= 1
                else:
                    found.append(current.strip())
                    current = ""
                    continue
        current += part.text
    found.append(current.strip())
    if len(found) == 1 and found[0].startswith("(") and _is_wrapped(found[0]):
        return conjuncts(found[0][1:-1])
    return tuple(f for f in found if f)


def _is_wrapped(text: str) -> bool:
    depth = 0
    parts = parts_of(text)
    for i, part in enumerate(parts):
        depth += {"(": 1, ")": -1}.get(part.text, 0) if part.kind == "other" else 0
        if depth == 0:
            return i == len(parts) - 1
    return False


def comparison(conjunct: str) -> Comparison | None:
    """Read a part of a condition as `left operator literal(s)`; None when it is anything else."""
    parts = [p for p in parts_of(conjunct)]
    place = next(
        (
            i
            for i, p in enumerate(parts)
            if (p.kind == "operator" and p.text not in ("->", "->>", "||"))
            or (p.kind == "name" and p.text.lower() in ("in", "like", "is", "between", "not", "glob", "match"))
        ),
        None,
    )
    if not place:
        return None
    left = "".join(p.text for p in parts[:place]).strip()
    words = [p for p in parts[place:] if p.kind != "space"]
    operator = words.pop(0).text.upper()
    while words and words[0].kind == "name" and words[0].text.lower() in ("not", "in", "like", "between"):
        operator += " " + words.pop(0).text.upper()
    values: list[Any] = []
    sign = 1
    for word in words:
        if word.kind == "string" and word.text[0] == "'":
            values.append(word.text[1:-1].replace("''", "'"))
        elif word.kind == "number":
            values.append(sign * (float(word.text) if re.search(r"[.eE]", word.text) else int(word.text)))
        elif word.kind == "hole":
            values.append(None)
        elif word.kind == "quoted" and word.text.startswith('"'):
            values.append(word.text[1:-1].replace('""', '"'))
        elif word.text in ("-", "+"):
            sign = -1 if word.text == "-" else 1
            continue
        elif word.kind == "name" and word.text.lower() in ("true", "false"):
            values.append(int(word.text.lower() == "true"))
        elif word.text.lower() not in ("(", ")", ",", "and"):
            return None
        sign = 1
    named = list(_names(parts[:place]))
    name = named[0][1] if len(named) == 1 and parts[named[0][0]].text.strip() == left else ""
    operator = "=" if operator == "==" else operator
    return Comparison(left, name, operator, tuple(values), any(w.kind == "hole" for w in words))
