"""What a query tokenizer loses: queries with other answers that become the same tokens (rule R13)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.text.scripts import HAN_CHARACTER

#: Kinds of characters whose loss changes what is asked.
CLASSES: Mapping[str, re.Pattern[str]] = {
    "digits": re.compile(r"\d+"),
    "Han characters": HAN_CHARACTER,
    "identifiers": re.compile(r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b"),
    "emoji": re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]"),
}


@dataclass(frozen=True)
class Collapse:
    """Queries that the tokenizer makes equal.

    Parameters
    ----------
    queries
        Query ids, in order.
    answers
        How many different sets of expected documents they have.
    tokens
        The tokens they share, sorted.
    """

    queries: tuple[str, ...]
    answers: int
    tokens: tuple[str, ...]

    @property
    def best_hit1(self) -> float:
        """Largest share of them that can be right at rank 1 when no two answers share a document."""
        return 1.0 / self.answers


def collapsed(tokens: Mapping[str, Sequence[str]], expected: Mapping[str, frozenset[str]]) -> list[Collapse]:
    """Find groups of queries with equal token multisets and answers that have no document in common.

    Parameters
    ----------
    tokens
        Query id -> tokens as production makes them.
    expected
        Query id -> expected documents.
    """
    groups: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for query, own in tokens.items():
        groups.setdefault(tuple(sorted(Counter(own).items())), []).append(query)
    found = []
    for key, members in groups.items():
        answers: list[frozenset[str]] = []
        for query in members:
            if all(not (expected[query] & other) for other in answers):
                answers.append(expected[query])
        if len(answers) > 1:
            found.append(Collapse(tuple(members), len(answers), tuple(t for t, n in key for _ in range(n))))
    return found


def same_tokens(tokens: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Find documents that differ in their texts and not in their tokens.

    Parameters
    ----------
    tokens
        Document id -> tokens as production makes them.
    texts
        Document id -> text; copies but for case and white space are one text.

    Returns
    -------
    Groups of ids, one document a text, in order.
    """
    groups: dict[tuple[tuple[str, int], ...], dict[str, str]] = {}
    for doc, own in tokens.items():
        plain = " ".join(texts[doc].lower().split())
        groups.setdefault(tuple(sorted(Counter(own).items())), {}).setdefault(plain, doc)
    return [tuple(members.values()) for members in groups.values() if len(members) > 1]


def vanished(texts: Mapping[str, str], tokens: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return kind of character -> queries in which a part of that kind is in no token.

    Case is ignored; a part counts as kept when a token contains it.
    """
    lost: dict[str, list[str]] = {name: [] for name in CLASSES}
    for query, text in texts.items():
        kept = [t.lower() for t in tokens.get(query, ())]
        for name, pattern in CLASSES.items():
            if any(all(part.lower() not in token for token in kept) for part in pattern.findall(text)):
                lost[name].append(query)
    return {name: tuple(ids) for name, ids in lost.items() if ids}
