"""Recorded rankings: what each arm returned for each query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from memaudit.errors import ConfigError
from memaudit.evaluation.jsonl import Line, as_id, as_list, read_lines
from memaudit.wording import plural, say

_MAX_NAMED = 5


@dataclass(frozen=True)
class Ranking:
    """Answer of one arm to one query.

    Parameters
    ----------
    ids
        Documents, best first; empty when the arm returned nothing.
    scores
        One a document, None where none were recorded.
    latency_ms
        Time of the query, None where it was not recorded.
    corpus
        What the line says about the corpus it was made on, None where it says nothing.
    """

    ids: tuple[str, ...] = ()
    scores: tuple[float, ...] | None = None
    latency_ms: float | None = None
    corpus: str | None = None


@dataclass(frozen=True)
class Runs:
    """Rankings by arm and query.

    Parameters
    ----------
    arms
        Arm -> query id -> ranking, in file order; every arm has the same queries.
    missing
        Queries of the set without a line in any arm: misses, never left out.
    n_repeated
        Rankings that name a document more than once; its best rank counts.
    """

    name: str
    sha256: str
    arms: Mapping[str, Mapping[str, Ranking]]
    missing: tuple[str, ...] = ()
    n_repeated: int = 0

    def ranking(self, arm: str, query: str) -> Ranking:
        """Return a ranking; an empty one for a query without a line."""
        return self.arms[arm].get(query, Ranking())

    def depth(self, arm: str) -> int:
        """Return the length of the longest ranking of an arm, 0 for none."""
        return max((len(r.ids) for r in self.arms[arm].values()), default=0)


def read_runs(path: Path, queries: Iterable[str] | None = None) -> Runs:
    """Read recorded rankings.

    Parameters
    ----------
    queries
        Ids of the query set; None when there is none.

    Raises
    ------
    ConfigError
        The file cannot be read; a line breaks the format or repeats (arm, query); a query is in one arm only or
        not in the query set: named by id.
    """
    file = read_lines(path, say("file of recorded rankings"), "runs")
    arms: dict[str, dict[str, Ranking]] = {}
    n_repeated = 0
    for line in file.lines:
        for name in ("arm", "query", "ranking"):
            if name not in line.fields:
                raise ConfigError(
                    say("{place}: the line has no {name}.", place=line.place, name=name),
                    say("A line needs arm, query and ranking."),
                )
        arm = as_id(line.fields["arm"], line.place, "arm")
        query = as_id(line.fields["query"], line.place, "query")
        ranking = _ranking(line)
        n_repeated += len(set(ranking.ids)) < len(ranking.ids)
        if query in arms.setdefault(arm, {}):
            raise ConfigError(
                say('{place}: arm "{arm}" has query "{query}" twice.', place=line.place, arm=arm, query=query),
                say("One line an arm and query."),
            )
        arms[arm][query] = ranking
    known = None if queries is None else tuple(queries)
    _check_same_queries(file.name, arms, known)
    listed = {query for rankings in arms.values() for query in rankings}
    missing = () if known is None else tuple(q for q in known if q not in listed)
    return Runs(file.name, file.sha256, arms, missing, n_repeated)


def _check_same_queries(name: str, arms: Mapping[str, Mapping[str, Any]], known: tuple[str, ...] | None) -> None:
    listed = dict.fromkeys(query for rankings in arms.values() for query in rankings)
    if known is not None:
        in_set = set(known)
        strange = [q for q in listed if q not in in_set]
        if strange:
            raise ConfigError(
                say(
                    "{name}: not in the query set: {queries} ({named}).",
                    name=name,
                    queries=plural(len(strange), "query", "queries"),
                    named=_named(strange),
                ),
                say("Rankings and query set must be of the same evaluation."),
            )
    for arm, rankings in arms.items():
        lacking = [q for q in listed if q not in rankings]
        if lacking:
            raise ConfigError(
                say(
                    '{name}: arm "{arm}" has no line for {queries} that another arm has: {named}.',
                    name=name,
                    arm=arm,
                    queries=plural(len(lacking), "query", "queries"),
                    named=_named(lacking),
                ),
                say(
                    "Arms are compared query by query. Write a line with an empty ranking where an arm returned nothing."
                ),
            )


def _named(ids: list[str]) -> str:
    return ", ".join(ids[:_MAX_NAMED]) + (", ..." if len(ids) > _MAX_NAMED else "")


def _ranking(line: Line) -> Ranking:
    fields, place = line.fields, line.place
    ids = tuple(as_id(value, place, "a member of ranking") for value in as_list(fields["ranking"], place, "ranking"))
    scores = None
    if fields.get("scores") is not None:
        scores = tuple(_number(v, place, "a score") for v in as_list(fields["scores"], place, "scores"))
        if len(scores) != len(ids):
            raise ConfigError(
                say("{place}: {n} scores for {documents} documents.", place=place, n=len(scores), documents=len(ids)),
                say("Give one score a document."),
            )
    latency = None
    if fields.get("latency_ms") is not None:
        latency = _number(fields["latency_ms"], place, "latency_ms")
        if latency < 0:
            raise ConfigError(
                say("{place}: latency_ms is {latency}.", place=place, latency=latency), say("A time is 0 or more.")
            )
    corpus = next((fields[n] for n in ("corpus", "corpus_sha256", "corpus_rows") if fields.get(n) is not None), None)
    return Ranking(ids, scores, latency, None if corpus is None else str(corpus))


def _number(value: Any, place: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise ConfigError(
            say("{place}: {name} is {value}; a number was expected.", place=place, name=name, value=repr(value))
        )
    return float(value)
