"""Answers in the corpus: documents that hold the queries or their expected texts word for word (rule R01)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memaudit.evaluation.corpus import Corpus
from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.text.scripts import HAN_CHARACTER

#: Shorter texts stand in documents by chance; a Han character counts as two.
MIN_CHARS = 12
#: Near copies: shorter texts have too few 5-grams.
MIN_CHARS_NEAR = 30
#: Share of the 5-grams from which on a text counts as nearly there: a light edit of a Chinese error text scores .82,
#: another text of the same template .35.
MIN_CONTAINMENT = 0.8
#: A document matched by so many queries is an answer key, or a log of the evaluation.
MIN_QUERIES = 3

_GRAM = 5
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[\"\\/bfnrt])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", '"': '"', "\\": "\\", "/": "/"}


def normal_form(text: str) -> str:
    """Return the text as it is compared: NFKC, lower case, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def unescaped(text: str) -> str:
    """Undo the escapes of JSON strings once; a text without a backslash comes back as it is."""

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED[code]

    # Surrogate pairs become one character again.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def weighted_length(text: str) -> int:
    """Return the number of characters, a Han character counted as two."""
    return len(text) + len(HAN_CHARACTER.findall(text))


@dataclass(frozen=True)
class Copy:
    """A document that holds a text of a query.

    Parameters
    ----------
    kind
        `query` (its text) or `expected` (a text that answers it).
    verbatim
        Word for word after normalisation; else most of its 5-grams.
    expected_document
        Whether the document answers the query.
    escaped
        Found only after JSON escapes were undone: the form of an indexed evaluation file.
    """

    query: str
    doc: str
    kind: str
    verbatim: bool
    expected_document: bool
    escaped: bool = False


@dataclass(frozen=True)
class Leak:
    """What was found.

    Parameters
    ----------
    copies
        Every copy, documents in corpus order.
    leaked_documents
        Documents that give answers away: matched by three queries or more that they do not answer, or holding the
        text of a query together with its answer.
    n_expected_texts, n_expected_leaked
        Expected texts (`contains` items), and those that stand in a leaked document.
    n_queries, n_looked_for
        Queries, and those of which a text was long enough to be looked for.
    """

    copies: tuple[Copy, ...]
    leaked_documents: tuple[str, ...]
    n_expected_texts: int
    n_expected_leaked: int

    n_queries: int = 0
    n_looked_for: int = 0

    @property
    def copied(self) -> tuple[str, ...]:
        """Queries whose text stands word for word in a document that does not answer them."""
        return self.copied_queries(answering=False)

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries that are given away: by a leaked document, or by a copy of their text."""
        leaked = set(self.leaked_documents)
        return tuple(dict.fromkeys((*(c.query for c in self.copies if c.doc in leaked), *self.copied)))

    @property
    def documents(self) -> tuple[str, ...]:
        """Documents that give something away, in corpus order."""
        copies = {c.doc for c in self.copies if c.kind == "query" and c.verbatim and not c.expected_document}
        leaked = set(self.leaked_documents)
        return tuple(dict.fromkeys(c.doc for c in self.copies if c.doc in leaked or c.doc in copies))

    @property
    def serious(self) -> bool:
        """Whether the figures mean nothing: an answer key, or a tenth of the queries (three at least) copied."""
        return bool(self.leaked_documents) or len(self.copied) >= max(3, 0.1 * self.n_queries)

    def copied_queries(self, *, answering: bool | None = None) -> tuple[str, ...]:
        """Return queries whose text stands word for word in a document (that answers them, or does not)."""
        return tuple(
            dict.fromkeys(
                c.query
                for c in self.copies
                if c.kind == "query" and c.verbatim and (answering is None or c.expected_document is answering)
            )
        )


def find_leak(
    queries: Sequence[Query],
    expected: Mapping[str, Expected],
    corpus: Corpus,
    *,
    min_chars: int = MIN_CHARS,
    min_queries: int = MIN_QUERIES,
    min_containment: float = MIN_CONTAINMENT,
) -> Leak:
    """Look for the texts of queries and their answers in the documents.

    Each document is looked at as it is and with JSON escapes undone: an indexed evaluation file holds them escaped.
    """
    needles: dict[str, list[tuple[str, str]]] = {}
    n_texts = 0
    for query in queries:
        _add(needles, query.text, (query.id, "query"), min_chars)
        texts = {item.contains for group in query.groups for item in group if item.contains is not None}
        n_texts += len(texts)
        for text in sorted(texts):
            _add(needles, text, (query.id, "expected"), min_chars)
    matches = _matches(list(needles), corpus, min_containment)
    copies = [
        Copy(query, doc, kind, verbatim, doc in expected[query].documents, escaped)
        for doc, text, verbatim, escaped in matches
        for query, kind in needles[text]
    ]
    leaked = _leaked(copies, min_queries)
    in_leaked = {
        (text, query) for doc, text, _, _ in matches if doc in leaked for query, k in needles[text] if k != "query"
    }
    order = [doc for doc in corpus.documents if doc in leaked]
    looked_for = {query for owners in needles.values() for query, _ in owners}
    return Leak(tuple(copies), tuple(order), n_texts, len(in_leaked), len(queries), len(looked_for))


def _add(needles: dict[str, list[tuple[str, str]]], text: str, owner: tuple[str, str], min_chars: int) -> None:
    plain = normal_form(text)
    if weighted_length(plain) >= min_chars:
        needles.setdefault(plain, []).append(owner)


def _matches(needles: Sequence[str], corpus: Corpus, min_containment: float) -> list[tuple[str, str, bool, bool]]:
    """Return (document, needle, verbatim, escaped); documents in corpus order, needles in their own."""
    grams = [_grams(n) for n in needles]
    sizes = np.array([len(own) for own in grams], dtype=np.float64)
    listed: dict[str, list[int]] = {}
    for number, own in enumerate(grams):
        for gram in own:
            listed.setdefault(gram, []).append(number)
    # Queries of one template share most of their 5-grams: counted one by one, they are millions.
    groups = list(dict.fromkeys(map(tuple, listed.values())))
    owners = [np.array(group, dtype=np.intp) for group in groups]
    group_numbers = {group: number for number, group in enumerate(groups)}
    group_of = {gram: group_numbers[tuple(numbers)] for gram, numbers in listed.items()}
    found = []
    for doc, document in corpus.documents.items():
        plain = normal_form(document.text)
        forms = {plain, normal_form(unescaped(document.text))} if "\\" in document.text else {plain}
        common = Counter(group_of[gram] for gram in group_of.keys() & _grams(*forms))
        if not common:
            continue
        held = [owners[group] for group in common]
        n_grams = np.repeat(np.array(list(common.values())), [len(group) for group in held])
        containment = np.bincount(np.concatenate(held), weights=n_grams, minlength=len(needles)) / sizes
        for number in np.flatnonzero(containment >= min_containment).tolist():
            verbatim = containment[number] == 1.0 and any(needles[number] in form for form in forms)
            if verbatim or len(needles[number]) >= MIN_CHARS_NEAR:
                found.append((doc, needles[number], bool(verbatim), bool(verbatim and needles[number] not in plain)))
    return found


def _grams(*texts: str) -> set[str]:
    return {text[i : i + _GRAM] for text in texts for i in range(max(1, len(text) - _GRAM + 1))}


def _leaked(copies: Iterable[Copy], min_queries: int) -> set[str]:
    by_doc: dict[str, list[Copy]] = {}
    holders: dict[str, set[str]] = {}
    for copy in copies:
        by_doc.setdefault(copy.doc, []).append(copy)
        if copy.kind == "expected":
            holders.setdefault(copy.query, set()).add(copy.doc)

    def suspicion(doc: str) -> tuple[int, int]:
        return len({c.query for c in by_doc[doc]}), sum(c.escaped for c in by_doc[doc])

    leaked: set[str] = set()
    # The fullest document first: once an answer key is known, it no longer makes the documents it copies from suspect.
    for doc in sorted(by_doc, key=suspicion, reverse=True):
        own = by_doc[doc]
        asked = {c.query for c in own if c.kind == "query"}
        answered = {c.query for c in own if c.kind == "expected"}
        # A document that contains an expected text answers by definition; it is suspect where another one does too.
        shared = {q for q in answered if len(holders[q] - leaked) > 1}
        strange = {c.query for c in own if not c.expected_document} | shared
        if asked & shared or len(strange) >= min_queries:
            leaked.add(doc)
    return leaked
