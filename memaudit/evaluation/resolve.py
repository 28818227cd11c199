"""From expected items to documents: done once for a snapshot of the corpus."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memaudit.errors import ConfigError
from memaudit.evaluation.corpus import Corpus
from memaudit.evaluation.query_set import Item, Query
from memaudit.wording import say

#: A text that stands in more documents than this does not tell them apart (retrieval-evaluation rule R18).
MAX_MATCHES = 5


@dataclass(frozen=True)
class Expected:
    """Documents that answer a query.

    Parameters
    ----------
    groups
        One set of documents for each needed group; an empty one can never be found.
    missing
        Documents named that the corpus does not hold.
    unmatched
        Texts that no document contains.
    common
        Text -> number of documents that contain it, where those are more than :data:`MAX_MATCHES`.
    """

    groups: tuple[frozenset[str], ...]
    missing: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    common: tuple[tuple[str, int], ...] = ()

    @property
    def documents(self) -> frozenset[str]:
        """All documents of all groups."""
        return frozenset().union(*self.groups)


def resolve(queries: Iterable[Query], corpus: Corpus | None) -> dict[str, Expected]:
    """Find the documents that each query expects.

    Parameters
    ----------
    corpus
        None when there is none: documents are then taken as named, and nothing can be missing.

    Returns
    -------
    Query id -> documents. A text is looked for after Unicode normalisation (NFKC), its case kept.

    Raises
    ------
    ConfigError
        An item is a text and there is no corpus to look for it.
    """
    listed = tuple(queries)
    texts = dict.fromkeys(i.contains for q in listed for g in q.groups for i in g if i.contains is not None)
    if texts and corpus is None:
        place = next(q.place for q in listed for g in q.groups for i in g if i.contains is not None)
        raise ConfigError(
            say('{place}: "contains" needs a corpus to look in.', place=place), say("Give --corpus FILE, or a store.")
        )
    found = _containing(texts, corpus) if corpus is not None else {}
    return {q.id: _expected(q, corpus, found) for q in listed}


def _containing(texts: Iterable[str], corpus: Corpus) -> dict[str, frozenset[str]]:
    normal = {doc: unicodedata.normalize("NFKC", d.text) for doc, d in corpus.documents.items()}
    return {
        text: frozenset(doc for doc, whole in normal.items() if unicodedata.normalize("NFKC", text) in whole)
        for text in texts
    }


def _expected(query: Query, corpus: Corpus | None, found: Mapping[str, frozenset[str]]) -> Expected:
    missing: list[str] = []
    unmatched: list[str] = []
    common: list[tuple[str, int]] = []

    def documents(item: Item) -> frozenset[str]:
        if item.doc is not None:
            if corpus is not None and item.doc not in corpus:
                missing.append(item.doc)
                return frozenset()
            return frozenset({item.doc})
        text = item.contains or ""
        matched = found[text]
        if not matched:
            unmatched.append(text)
        elif len(matched) > MAX_MATCHES:
            common.append((text, len(matched)))
        return matched

    groups = tuple(frozenset().union(*(documents(item) for item in group)) for group in query.groups)
    return Expected(groups, tuple(missing), tuple(unmatched), tuple(common))


def with_duplicates(expected: Mapping[str, Expected], cluster_of: Mapping[str, object]) -> dict[str, Expected]:
    """Let near-duplicates of an expected document count as well.

    Parameters
    ----------
    cluster_of
        Document -> cluster of near-duplicates (cosine 0.98 or more), for documents that have one.

    Notes
    -----
    With 47 rows alike, naming one of them makes a right answer a miss 46 times out of 47.
    """
    members: dict[object, set[str]] = {}
    for doc, cluster in cluster_of.items():
        members.setdefault(cluster, set()).add(doc)

    def widened(group: frozenset[str]) -> frozenset[str]:
        return group.union(*(members[cluster_of[doc]] for doc in group if doc in cluster_of))

    return {
        query: Expected(tuple(widened(g) for g in e.groups), e.missing, e.unmatched, e.common)
        for query, e in expected.items()
    }
