"""One question in two languages: whether a gap is a matter of language, or of something else (rule R05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.evaluation.query_set import Query
from memaudit.stats.paired import Comparison, compare_hits


@dataclass(frozen=True)
class PairedLanguages:
    """Pairs of queries that ask the same in two languages.

    Parameters
    ----------
    first, second
        The languages, in order of first appearance.
    pairs
        Pair -> (query id in the first, in the second language).
    control
        Pairs whose key words are the same in both languages.
    left_out
        Pairs that do not hold exactly one query of each language.
    """

    first: str
    second: str
    pairs: Mapping[str, tuple[str, str]]
    control: frozenset[str]
    left_out: tuple[str, ...]


def paired_languages(queries: Sequence[Query]) -> PairedLanguages | None:
    """Find the pairs; None when no pair holds two languages.

    Only the two most frequent languages of paired queries are taken.
    """
    by_pair: dict[str, list[Query]] = {}
    for query in queries:
        if query.pair is not None and query.language is not None:
            by_pair.setdefault(query.pair, []).append(query)
    counts: dict[str, int] = {}
    for members in by_pair.values():
        for name in {m.language for m in members if m.language}:
            counts[name] = counts.get(name, 0) + (len({m.language for m in members}) > 1)
    names = sorted((n for n, c in counts.items() if c), key=lambda n: -counts[n])[:2]
    if len(names) < 2:
        return None
    first, second = sorted(names, key=lambda n: next(i for i, q in enumerate(queries) if q.language == n))
    pairs: dict[str, tuple[str, str]] = {}
    control: set[str] = set()
    left_out: list[str] = []
    for pair, members in by_pair.items():
        a = [m for m in members if m.language == first]
        b = [m for m in members if m.language == second]
        if len(a) != 1 or len(b) != 1:
            left_out.append(pair)
            continue
        pairs[pair] = (a[0].id, b[0].id)
        if a[0].control and b[0].control:
            control.add(pair)
    return PairedLanguages(first, second, pairs, frozenset(control), tuple(left_out)) if pairs else None


@dataclass(frozen=True)
class LanguageGap:
    """Hits of some pairs in both languages, compared pair by pair."""

    n: int
    hits_first: int
    hits_second: int
    comparison: Comparison

    @property
    def gap(self) -> float | None:
        """Share of hits of the second language less that of the first; None without pairs."""
        return self.comparison.difference


def language_gap(paired: PairedLanguages, pairs: Sequence[str], hits: Mapping[str, bool], level: float) -> LanguageGap:
    """Compare hits of some pairs."""
    a = {pair: hits[paired.pairs[pair][0]] for pair in pairs}
    b = {pair: hits[paired.pairs[pair][1]] for pair in pairs}
    comparison = compare_hits({p: bool(h) for p, h in a.items()}, {p: bool(h) for p, h in b.items()}, level=level)
    return LanguageGap(len(pairs), sum(a.values()), sum(b.values()), comparison)


def gap_cause(gap: LanguageGap, control: LanguageGap, alpha: float, margin: float) -> str | None:
    """Name what the control class allows to say about a gap.

    Returns
    -------
    None when the gap is not significant; `unknown` without a control class; `language` when the control class has no
    such gap; `other` when it has one too (translation quality or another cause).
    """
    p = gap.comparison.p
    if p is None or p > alpha or not gap.gap:
        return None
    if control.n == 0 or control.comparison.p is None:
        return "unknown"
    small = abs(control.gap or 0.0) <= margin
    return "language" if small or control.comparison.p > alpha else "other"
