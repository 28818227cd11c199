"""How many documents a query chooses among: with k of them or more, every ranking is a hit (MA705)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.evaluation.corpus import Corpus
from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.evaluation.runs import Runs

#: Shares of the queries that any ranking answers, from which on MA705 is high and medium: half of a figure, a tenth.
HIGH_SHARE, MEDIUM_SHARE = 0.50, 0.10

_LISTS = ("candidates", "candidate_ids", "haystack", "haystack_ids", "haystack_session_ids", "pool")
#: Fields that queries and documents may share without a search being limited by them.
_NO_SCOPES = frozenset({
    "id", "text", "category", "language", "lang", "origin", "topic", "type", "kind", "tags", "title", "time", "date",
    "created_at", "author", "source", "path", "file", "corpus", "set", "metric", "answer",
})  # fmt: skip


@dataclass(frozen=True)
class Candidates:
    """Candidates of each query and where they come from.

    Parameters
    ----------
    documents
        Query id -> documents it chooses among; only queries for which they are known.
    origin
        `named` (a field of the queries), `scope` (a field that queries and documents share), `rankings` (rankings
        shorter than k), or `corpus` (all documents).
    field
        The field, where there is one.
    """

    documents: Mapping[str, frozenset[str]]
    origin: str
    field: str | None = None

    def covered(self, k: int) -> tuple[str, ...]:
        """Return queries with at most k candidates."""
        return tuple(q for q, docs in self.documents.items() if len(docs) <= k)

    def all_expected(self, expected: Mapping[str, Expected]) -> tuple[str, ...]:
        """Return queries whose every candidate is an expected document."""
        return tuple(q for q, docs in self.documents.items() if docs and docs == expected[q].documents)

    def met(self, k: int, expected: Mapping[str, Expected]) -> tuple[str, ...]:
        """Return queries that any ranking answers: k covers the candidates, or every candidate is expected."""
        equal = set(self.all_expected(expected))
        return tuple(q for q, docs in self.documents.items() if len(docs) <= k or q in equal)

    @property
    def largest(self) -> int | None:
        """Size of the largest set of candidates; None when none is known."""
        return max((len(docs) for docs in self.documents.values()), default=None)


def candidates_of(
    queries: Sequence[Query], expected: Mapping[str, Expected], corpus: Corpus | None, runs: Runs | None, k: int
) -> Candidates | None:
    """Find out among which documents each query chooses.

    Returns
    -------
    Candidates that the queries name, else those of a shared scope, else rankings that end early, else the whole corpus;
    None when nothing is known.
    """
    for name in _LISTS:
        named = {q.id: frozenset(map(str, q.fields[name])) for q in queries if isinstance(q.fields.get(name), list)}
        if named:
            return Candidates(named, "named", name)
    if corpus is not None and len(corpus):
        scope = _scoped(queries, expected, corpus)
        if scope is not None:
            return scope
    from_rankings = None if corpus is not None and len(corpus) <= k else _from_rankings(queries, expected, runs, k)
    if from_rankings is not None or corpus is None or not len(corpus):
        return from_rankings
    every = frozenset(corpus.documents)
    return Candidates({q.id: every - q.exclude if q.exclude else every for q in queries}, "corpus")


def _scoped(queries: Sequence[Query], expected: Mapping[str, Expected], corpus: Corpus) -> Candidates | None:
    """Find a field that limits the search: every query has it, and its expected documents share its value."""
    names = dict.fromkeys(name for query in queries for name in query.fields)
    for name in names:
        values = {q.id: str(q.fields[name]) for q in queries if isinstance(q.fields.get(name), (str, int))}
        if name in _NO_SCOPES or not values or len(values) < len(queries):
            continue
        by_value: dict[str, set[str]] = {}
        for doc, value in corpus.values(name).items():
            by_value.setdefault(value, set()).add(doc)
        scopes = {q: frozenset(by_value.get(value, ())) for q, value in values.items()}
        # An equal name alone proves nothing: what a query expects has to lie inside its scope.
        if len(by_value) > 1 and all(docs and expected[q].documents <= docs for q, docs in scopes.items()):
            return Candidates(scopes, "scope", name)
    return None


def _from_rankings(
    queries: Sequence[Query], expected: Mapping[str, Expected], runs: Runs | None, k: int
) -> Candidates | None:
    """Take rankings for candidates where all arms end before k and every one holds all that is expected."""
    if runs is None or not runs.arms:
        return None
    found = {}
    for query in queries:
        returned = [frozenset(runs.ranking(arm, query.id).ids) for arm in runs.arms]
        if all(r and len(r) < k and expected[query.id].documents <= r for r in returned):
            found[query.id] = frozenset().union(*returned)
    # A few short rankings are those of a threshold; most of them are a pool that is too small.
    return Candidates(found, "rankings") if 2 * len(found) > len(queries) else None
