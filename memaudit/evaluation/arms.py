"""What the names of recorded arms say: keyword, vector, fused, reranked, production, evaluation; before and after."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memaudit.evaluation.runs import Runs

_SPLIT = re.compile(r"[^a-z0-9\u4e00-\u9fff]+")
_KINDS: Mapping[str, re.Pattern[str]] = {
    "reranked": re.compile(r"rerank|re rank|cross ?encoder|重排"),
    "fused": re.compile(r"hybrid|fus(?:ed|ion)|rrf|combined|merged|ensemble|混合|融合"),
    "keyword": re.compile(r"keyword|bm25|lexical|sparse|fts\d?|tf ?idf|full ?text|关键词"),
    "vector": re.compile(r"vector|dense|embed|semantic|knn|ann\b|cosine|向量|语义"),
    "production": re.compile(r"\bprod(?:uction)?\b|\blive\b|生产"),
    "evaluation": re.compile(r"\beval(?:uation)?\b|\boffline\b|\bharness\b|评测"),
}
#: Pairs of names that say which arm came first.
_PAIRS = (("before", "after"), ("old", "new"), ("baseline", "variant"), ("baseline", "candidate"), ("a", "b"))


def kind_of(arm: str) -> str:
    """Return the kind that an arm's name says it is, `other` when it says nothing."""
    name = " ".join(_SPLIT.split(arm.lower()))
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(name)), "other")


def of_kind(arms: Iterable[str], kind: str) -> tuple[str, ...]:
    """Return the arms of a kind, in order."""
    return tuple(arm for arm in arms if kind_of(arm) == kind)


def natural_pair(arms: Sequence[str]) -> tuple[str, str] | None:
    """Return (before, after) when there are two arms and their names say which is which."""
    if len(arms) != 2:
        return None
    by_name = {arm.strip().lower(): arm for arm in arms}
    return next(((by_name[b], by_name[a]) for b, a in _PAIRS if b in by_name and a in by_name), None)


@dataclass(frozen=True)
class Agreement:
    """How alike the rankings of two arms are.

    Parameters
    ----------
    n
        Queries that both arms answered with at least one document.
    same_order, same_set, different
        Same ids in the same order in the top k; the same ids in another order; other ids.
    first_difference
        Query id -> first 1-based rank at which the two differ.
    one_empty
        Queries that only one of the two arms answered: not compared, never "equal".
    both_empty
        Queries that neither answered.
    """

    n: int
    same_order: int
    same_set: int
    different: int
    first_difference: Mapping[str, int]
    one_empty: tuple[str, ...]
    both_empty: tuple[str, ...]


def agreement(runs: Runs, first: str, second: str, k: int | None = None) -> Agreement:
    """Compare the rankings of two arms query by query, down to rank k (None: whole rankings)."""
    return rankings_agreement(
        {q: r.ids for q, r in runs.arms[first].items()}, {q: r.ids for q, r in runs.arms[second].items()}, k
    )


def rankings_agreement(
    first: Mapping[str, Sequence[str]], second: Mapping[str, Sequence[str]], k: int | None = None
) -> Agreement:
    """Compare two sets of rankings; a query that one side lacks counts as unanswered there."""
    same_order = same_set = different = 0
    differences: dict[str, int] = {}
    one_empty: list[str] = []
    both_empty: list[str] = []
    for query in dict.fromkeys((*first, *second)):
        a, b = tuple(first.get(query, ()))[:k], tuple(second.get(query, ()))[:k]
        if not a and not b:
            both_empty.append(query)
        elif not a or not b:
            one_empty.append(query)
        elif a == b:
            same_order += 1
        else:
            same = set(a) == set(b)
            same_set += same
            different += not same
            differences[query] = next(
                (i + 1 for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)) + 1
            )
    n = same_order + same_set + different
    return Agreement(n, same_order, same_set, different, differences, tuple(one_empty), tuple(both_empty))


@dataclass(frozen=True)
class Union:
    """Queries hit by each of two arms.

    Parameters
    ----------
    only_first, only_second, both, neither
        Query ids.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    both: tuple[str, ...]
    neither: tuple[str, ...]

    @property
    def hits_of_either(self) -> int:
        """Queries that an oracle choosing between the two arms would hit."""
        return len(self.only_first) + len(self.only_second) + len(self.both)


def union_of(first: Mapping[str, bool], second: Mapping[str, bool]) -> Union:
    """Sort the queries by which of two arms hits them."""
    parts: dict[tuple[bool, bool], list[str]] = {(a, b): [] for a in (True, False) for b in (True, False)}
    for query in first:
        parts[bool(first[query]), bool(second[query])].append(query)
    only_first, only_second = parts[True, False], parts[False, True]
    return Union(tuple(only_first), tuple(only_second), tuple(parts[True, True]), tuple(parts[False, False]))
