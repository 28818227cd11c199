"""The query set: what is asked, which documents answer it, and where each query comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memaudit.config import nearest
from memaudit.errors import ConfigError
from memaudit.evaluation.jsonl import JsonLines, Line, as_id, as_list, as_text, read_lines
from memaudit.wording import say

#: Where a query may come from.
ORIGINS = ("log", "hand", "heldout", "truncated", "leave_one_out", "llm")
#: Origins that are made from the corpus or by a model: a verdict on them says so.
SYNTHETIC = frozenset({"truncated", "leave_one_out", "llm"})
LANGUAGES = ("zh", "en", "mixed")
_MEANINGS = ("expect_any", "expect_all", "expect_groups", "gold")


@dataclass(frozen=True)
class Item:
    """One expected item: a document by its id, or any document that contains a text."""

    doc: str | None = None
    contains: str | None = None


@dataclass(frozen=True)
class Query:
    """One query.

    Parameters
    ----------
    groups
        Needed groups: every one is needed, any item inside one is enough.
    meaning
        `expect_any` (one group), `expect_all` and `expect_groups` (one group a need), or `gold` (documents whose
        meaning the author did not state: one group each, and both figures are shown).
    pair, group
        The same question in another language or wording; the set of dependent queries it belongs to.
    control
        Member of the control class of the language audit.
    origin
        One of :data:`ORIGINS`; `hand` where the file does not say, then `origin_given` is false.
    exclude
        Documents taken out of this query's ranking.
    fields
        The line as it was written.
    """

    id: str
    text: str
    groups: tuple[tuple[Item, ...], ...]
    meaning: str
    language: str | None = None
    pair: str | None = None
    group: str | None = None
    control: bool = False
    origin: str = "hand"
    origin_given: bool = True
    exclude: frozenset[str] = frozenset()
    fields: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    @property
    def needs_several(self) -> bool:
        """Whether more than one piece of evidence is needed (or may be, for `gold`)."""
        return len(self.groups) > 1

    @property
    def measured_by(self) -> str:
        """`coverage` where the author said that several items are needed, else `hit`."""
        return "coverage" if self.meaning in ("expect_all", "expect_groups") else "hit"

    def category(self, name: str) -> str | None:
        """Return the value of the category field as text, None where it has none."""
        value = self.fields.get(name)
        return None if value is None or isinstance(value, (list, dict)) else str(value)


@dataclass(frozen=True)
class QuerySet:
    """All queries in file order.

    Parameters
    ----------
    n_without_origin
        Queries whose origin the file does not state; they count as written by hand.
    """

    name: str
    sha256: str
    queries: tuple[Query, ...]

    @property
    def n_without_origin(self) -> int:
        """Queries that do not say where they come from."""
        return sum(not q.origin_given for q in self.queries)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids in file order."""
        return tuple(q.id for q in self.queries)

    @property
    def dependence(self) -> dict[str, str]:
        """Query id -> set of dependent queries, for those that name one."""
        return {q.id: str(q.group or q.pair) for q in self.queries if q.group or q.pair}

    @property
    def synthetic(self) -> bool:
        """Whether every query is of synthetic origin."""
        return bool(self.queries) and all(q.origin in SYNTHETIC for q in self.queries)


def read_queries(path: Path) -> QuerySet:
    """Read a query set.

    Raises
    ------
    ConfigError
        The file cannot be read, or a line breaks a rule of the format; names file and line.
    """
    return query_set(read_lines(path, say("query set"), "queries"))


def query_set(file: JsonLines) -> QuerySet:
    """Make a query set of the lines of a file; ids must be unique."""
    queries = tuple(_query(line) for line in file.lines)
    seen: dict[str, str] = {}
    for query in queries:
        if query.id in seen:
            raise ConfigError(
                say(
                    '{place}: the id "{id}" is used in {seen} too.', place=query.place, id=query.id, seen=seen[query.id]
                ),
                say("Ids are unique."),
            )
        seen[query.id] = query.place
    return QuerySet(file.name, file.sha256, queries)


def refuse_collision(queries: QuerySet, documents: Iterable[str]) -> None:
    """Refuse a query whose id is a document's id too: evaluators drop such documents from its ranking.

    Raises
    ------
    ConfigError
        Names the queries.
    """
    known = set(documents)
    both = [q for q in queries.queries if q.id in known]
    if both:
        shown = ", ".join(f'"{q.id}"' for q in both[:3])
        raise ConfigError(
            say(
                "{place}: {n} query ids are ids of documents too: {shown}.",
                place=both[0].place,
                n=len(both),
                shown=shown,
            ),
            say('Give queries ids of their own, such as "q-017".'),
        )


def _query(line: Line) -> Query:
    place, fields = line.place, line.fields
    for name in ("id", "text"):
        if name not in fields:
            raise ConfigError(
                say("{place}: the query has no {name}.", place=place, name=name),
                say("A query needs id, text and what is expected."),
            )
    meaning, groups = _expected(line)
    origin = fields.get("origin", "hand")
    if origin not in ORIGINS:
        raise ConfigError(
            say(
                "{place}: origin is {origin}; expected {origins}.",
                place=place,
                origin=repr(origin),
                origins=", ".join(ORIGINS),
            ),
            nearest(str(origin), ORIGINS) or None,
        )
    language = fields.get("language")
    if language is not None and language not in LANGUAGES:
        raise ConfigError(
            say(
                "{place}: language is {language}; expected {languages}.",
                place=place,
                language=repr(language),
                languages=", ".join(LANGUAGES),
            )
        )
    control = fields.get("control", False)
    if not isinstance(control, bool):
        raise ConfigError(
            say("{place}: control is {control}; true or false was expected.", place=place, control=repr(control))
        )
    exclude = as_list(fields.get("exclude", []), place, "exclude")
    return Query(
        id=as_id(fields["id"], place, "id"),
        text=as_text(fields["text"], place, "text"),
        groups=groups,
        meaning=meaning,
        language=language,
        pair=_optional_id(fields, "pair", place),
        group=_optional_id(fields, "group", place),
        control=control,
        origin=origin,
        origin_given="origin" in fields,
        exclude=frozenset(as_id(value, place, "exclude") for value in exclude),
        fields=dict(fields),
        place=place,
    )


def _optional_id(fields: Mapping[str, Any], name: str, place: str) -> str | None:
    return as_id(fields[name], place, name) if fields.get(name) is not None else None


def _expected(line: Line) -> tuple[str, tuple[tuple[Item, ...], ...]]:
    given = [name for name in _MEANINGS if name in line.fields]
    if len(given) != 1:
        found = ", ".join(given) if given else say("none of them")
        raise ConfigError(
            say(
                "{place}: exactly one of {meanings} was expected, found {found}.",
                place=line.place,
                meanings=", ".join(_MEANINGS),
                found=found,
            ),
            say("expect_any: one of the items is enough; expect_all: every item is needed."),
        )
    name = given[0]
    listed = as_list(line.fields[name], line.place, name)
    if not listed:
        raise ConfigError(
            say("{place}: {name} is empty.", place=line.place, name=name),
            say("Name at least one item, or leave the query out."),
        )
    if name == "expect_groups":
        groups = []
        for group in listed:
            members = as_list(group, line.place, "a group of expect_groups")
            if not members:
                raise ConfigError(
                    say("{place}: a group of expect_groups is empty.", place=line.place), say("Name at least one item.")
                )
            groups.append(_distinct(_item(member, line.place) for member in members))
        return name, tuple(groups)
    if name == "gold":
        items = _distinct(Item(doc=as_id(value, line.place, "gold")) for value in listed)
    else:
        items = _distinct(_item(value, line.place) for value in listed)
    return name, (items,) if name == "expect_any" else tuple((item,) for item in items)


def _item(value: Any, place: str) -> Item:
    if isinstance(value, str):
        return Item(contains=as_text(value, place, "an expected item"))
    if isinstance(value, dict) and len(value) == 1:
        if "doc" in value:
            return Item(doc=as_id(value["doc"], place, "doc"))
        if "contains" in value:
            return Item(contains=as_text(value["contains"], place, "contains"))
    raise ConfigError(
        say("{place}: an expected item is {value}.", place=place, value=repr(value)[:250]),
        say('Write {{"doc": id}} or {{"contains": text}}.'),
    )


def _distinct(items: Iterable[Item]) -> tuple[Item, ...]:
    """Keep the first of equal items: duplicates of one item fill one group once."""
    return tuple(dict.fromkeys(items))
