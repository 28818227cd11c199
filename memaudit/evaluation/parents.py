"""Right whole, wrong part: the top k holds another part of the document that is expected (rule R11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.evaluation.corpus import PARENT_FIELDS, Corpus
from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.evaluation.runs import Ranking


def parents_of(corpus: Corpus) -> tuple[str, dict[str, str]] | None:
    """Return the field that names the whole of a part, and document -> whole; None when there is no such field.

    A field counts when at least half of the documents share their whole with another document, and there are several
    wholes.
    """
    for name in PARENT_FIELDS:
        values = corpus.values(name)
        sizes = Counter(values.values())
        shared = sum(n for n in sizes.values() if n > 1)
        if len(sizes) > 1 and len(corpus) and 2 * shared >= len(corpus):
            return name, values
    return None


@dataclass(frozen=True)
class LooseHits:
    """Strict and loose hits at k.

    Parameters
    ----------
    strict, loose
        Queries with an expected document in the top k, and with any document of the same whole.
    loose_only
        Query id -> best rank of an expected document, None where it was not returned at all.
    """

    n: int
    strict: int
    loose: int
    loose_only: Mapping[str, int | None]

    @property
    def gap(self) -> float:
        """Loose less strict, as a share of the queries; 0.0 for none."""
        return (self.loose - self.strict) / self.n if self.n else 0.0


def loose_hits(
    queries: Sequence[Query],
    expected: Mapping[str, Expected],
    rankings: Mapping[str, Ranking],
    parents: Mapping[str, str],
    k: int,
) -> LooseHits:
    """Count hits of documents, and of any part of the same whole."""
    strict = loose = 0
    loose_only: dict[str, int | None] = {}
    for query in queries:
        ids = [d for d in dict.fromkeys(rankings.get(query.id, Ranking()).ids) if d not in query.exclude]
        wanted = expected[query.id].documents
        wholes = {parents[d] for d in wanted if d in parents}
        hit = any(d in wanted for d in ids[:k])
        near = hit or any(parents.get(d) in wholes for d in ids[:k])
        strict += hit
        loose += near
        if near and not hit:
            loose_only[query.id] = next((i for i, d in enumerate(ids, start=1) if d in wanted), None)
    return LooseHits(len(queries), strict, loose, loose_only)
