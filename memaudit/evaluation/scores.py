"""Scores beside ranks: a distance taken for a score, and a step that a score is meant to trigger (rule R12)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_MIN_SCORE = re.compile(
    r"\b(?:score|similarity|sim|relevance|cosine)\w*\s*(>=?|<=?)\s*(-?\d+(?:\.\d+)?)", re.IGNORECASE
)
#: Queries on either side of a score from which on it is no accident that a step changed one side only.
_MIN_SIDE = 5


@dataclass(frozen=True)
class Direction:
    """Which way scores run along the ranks.

    Parameters
    ----------
    n
        Queries with at least two different scores.
    growing
        Of these, queries whose score never falls from rank to rank.
    falling
        Queries whose score never grows.
    lowest, highest
        Over all scores; None without scores.
    above_one
        Scores above 1: no cosine is.
    """

    n: int
    growing: tuple[str, ...]
    falling: tuple[str, ...]
    lowest: float | None
    highest: float | None
    above_one: int


def direction(scores: Mapping[str, Sequence[float]]) -> Direction:
    """Look at the scores of each query, best rank first."""
    growing: list[str] = []
    falling: list[str] = []
    n = 0
    for query, own in scores.items():
        if len(own) < 2 or own[0] == own[-1]:
            continue
        n += 1
        if all(a <= b for a, b in pairwise(own)):
            growing.append(query)
        elif all(a >= b for a, b in pairwise(own)):
            falling.append(query)
    every = [s for own in scores.values() for s in own]
    return Direction(
        n,
        tuple(growing),
        tuple(falling),
        min(every, default=None),
        max(every, default=None),
        sum(s > 1.0 for s in every),
    )


def kept_at(scores: Mapping[str, Sequence[float]], rank: int, min_score: float) -> int:
    """Count queries whose document at a rank (from 1) passes `score >= min_score`."""
    return sum(len(own) >= rank and own[rank - 1] >= min_score for own in scores.values())


def min_score_of(filters: Iterable[str]) -> float | None:
    """Return the lower bound that a recall filter sets on a score (`score >= 0.6`); None when none does."""
    for condition in filters:
        found = _MIN_SCORE.search(condition)
        if found is not None and found[1].startswith(">"):
            return float(found[2])
    return None


@dataclass(frozen=True)
class Step:
    """What a step does at one threshold: it runs where the top score is below it.

    Parameters
    ----------
    triggered, hits
        By set: queries that trigger the step, and hits with the step where triggered and without it elsewhere.
    """

    threshold: float
    triggered: Mapping[str, int]
    hits: Mapping[str, int]

    @property
    def total(self) -> int:
        """Hits over all sets."""
        return sum(self.hits.values())


def sweep(
    top_scores: Mapping[str, float],
    sets: Mapping[str, str],
    without: Mapping[str, bool],
    with_step: Mapping[str, bool],
    thresholds: Sequence[float],
) -> list[Step]:
    """Try thresholds of a conditional step.

    Parameters
    ----------
    top_scores
        Query -> score of the first document without the step.
    sets
        Query -> the set it belongs to.
    without, with_step
        Query -> hit, without and with the step.
    """
    names = list(dict.fromkeys(sets.values()))
    steps = []
    for threshold in thresholds:
        triggered = dict.fromkeys(names, 0)
        hits = dict.fromkeys(names, 0)
        for query, score in top_scores.items():
            runs = score < threshold
            triggered[sets[query]] += runs
            hits[sets[query]] += with_step[query] if runs else without[query]
        steps.append(Step(threshold, triggered, hits))
    return steps


def switched_at(top_scores: Mapping[str, float], changed: Collection[str]) -> float | None:
    """Give the score below which a step ran, read from what it changed.

    Parameters
    ----------
    top_scores
        Query -> score of the first document without the step.
    changed
        Queries whose ranking the step changed.

    Returns
    -------
    The lowest score of an unchanged query when every changed one lies below it; None where they are mixed, or fewer than
    five lie on either side. By chance the k lowest of n are the changed ones in 1 of C(n, k) sets, at most 1 of 252.
    """
    below = [score for query, score in top_scores.items() if query in changed]
    above = [score for query, score in top_scores.items() if query not in changed]
    if min(len(below), len(above)) < _MIN_SIDE or max(below) >= min(above):
        return None
    return min(above)


def separation(low: Sequence[float], high: Sequence[float]) -> float | None:
    """Give the probability that a score of the second set is above one of the first (AUC); ties count half.

    Returns
    -------
    0..1, 0.5 for sets that cannot be told apart; None when a set is empty.

    Notes
    -----
    Source: D. Bamber, J. Math. Psychol. 12 (1975) 387-415.
    """
    if not low or not high:
        return None
    wins = sum((b > a) + 0.5 * (b == a) for a in low for b in high)
    return wins / (len(low) * len(high))
