"""Ids that give the answer away: a prefix that expected documents have and others do not (MA702)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

#: Words that say "this is the answer" whatever else the id says.
TELLING = re.compile(
    r"answer|gold|evidence|relevant|target|correct|positive|truth|expected|答案|证据|正确", re.IGNORECASE
)
#: With fewer expected and other ids a common prefix can be chance.
MIN_GOLD, MIN_OTHERS = 5, 10
#: A word for an answer says it although some others have it, too (answers of questions that are not asked here): so many
#: times as many others may have it.
_TELLING_TIMES = 5
_ENDS = re.compile(r"[-_:/.#|]+|(?<=[^\W\d_])(?=\d)")


@dataclass(frozen=True)
class IdPrefix:
    """A prefix, and how many expected and other documents have it."""

    prefix: str
    gold_with: int
    gold: int
    others_with: int
    others: int

    @property
    def telling(self) -> bool:
        """Whether the prefix is a word for an answer."""
        return TELLING.search(self.prefix) is not None


def telling_prefix(
    gold: Collection[str],
    documents: Iterable[str],
    *,
    min_gold: int = MIN_GOLD,
    min_others: int = MIN_OTHERS,
    min_gold_share: float = 0.8,
    max_other_share: float = 0.02,
) -> IdPrefix | None:
    """Find the shortest prefix that tells expected documents from the others by their ids.

    Parameters
    ----------
    gold
        Ids of expected documents.
    documents
        Ids of all documents.

    Returns
    -------
    The prefix that most expected ids have; None when there is none, or too few ids to tell.
    """
    known = set(documents)
    inside = sorted(set(gold) & known)
    others = sorted(known - set(gold))
    if len(inside) < min_gold or len(others) < min_others:
        return None
    counts: dict[str, int] = {}
    for doc in inside:
        for prefix in _prefixes(doc):
            counts[prefix] = counts.get(prefix, 0) + 1
    best: IdPrefix | None = None
    for prefix, n in sorted(counts.items(), key=lambda item: (-item[1], len(item[0]), item[0])):
        if n < min_gold_share * len(inside):
            break
        n_others = sum(doc.startswith(prefix) for doc in others)
        found = IdPrefix(prefix, n, len(inside), n_others, len(others))
        allowed = max_other_share * (_TELLING_TIMES if found.telling else 1)
        if n_others <= allowed * len(others) and (best is None or n > best.gold_with):
            best = found
    return best


def _prefixes(doc: str) -> list[str]:
    return [doc[: m.end()] for m in _ENDS.finditer(doc) if 0 < m.end() < len(doc)]
