"""Word overlap of a query with what it expects: how much of the answer the question already says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memaudit.evaluation.corpus import Corpus
from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.text import words

#: Mean overlap from which on a set says nothing about paraphrases.
KNOWN_ITEM_OVERLAP = 0.8


def overlaps(queries: Sequence[Query], expected: Mapping[str, Expected], corpus: Corpus) -> dict[str, float]:
    """Return the share of each query's distinct words that its best expected document holds.

    Returns
    -------
    Query id -> share in 0..1; queries without words or without an expected document in the corpus are left out. A Han
    character is a word of its own.
    """
    of_doc: dict[str, frozenset[str]] = {}
    found = {}
    for query in queries:
        asked = frozenset(words(query.text))
        docs = [d for d in expected[query.id].documents if d in corpus]
        if not asked or not docs:
            continue
        for doc in docs:
            if doc not in of_doc:
                of_doc[doc] = frozenset(words(corpus.documents[doc].text))
        found[query.id] = max(len(asked & of_doc[doc]) for doc in docs) / len(asked)
    return found


def halves(values: Mapping[str, float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split queries into the half with the lower and the half with the higher value; equal values stay together.

    Both are empty when all values are equal: there are no halves then.
    """
    ordered = sorted(values, key=lambda q: (values[q], q))
    if not ordered:
        return (), ()
    middle = values[ordered[len(ordered) // 2]]
    low = tuple(q for q in ordered if values[q] < middle)
    high = tuple(q for q in ordered if values[q] >= middle)
    if not low:
        low, high = tuple(q for q in ordered if values[q] <= middle), tuple(q for q in ordered if values[q] > middle)
    return (low, high) if low and high else ((), ())
