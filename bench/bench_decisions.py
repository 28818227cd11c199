"""How often the decision table is wrong: by exact enumeration for hits, by simulation for graded figures.

    python bench/bench_decisions.py [--full | --runs N]

For A/A arms (no true difference) and for a true drop of exactly the margin: how often the table says "improves" or
"no harm"/"equivalent", and how often the interval holds the true difference. The goals are those of the statistics
page: false "improves" at most 2.5 %, false "no harm" at most 3.5 %, intervals that cover at least 93 %.

Hits are enumerated: every split of n queries into lost, gained and unchanged, with its probability. So are graded
figures at a true drop, where a change takes two values only; the bootstrap of each split is drawn with several seeds where
there are few splits, so that no single draw decides.
Graded A/A arms take four values and are simulated; their standard error stands beside each share.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from goals import share_goal

from memaudit.stats.decision import Verdict, decide
from memaudit.stats.paired import Comparison, compare_counts, compare_scores

MARGIN = 0.05
SIZES = (24, 60, 219)
CHURN = (0.1, 0.2, 0.4)
SHARES = (0.2, 0.4)
SAFE = (Verdict.NO_HARM, Verdict.EQUIVALENT)
MAX_IMPROVES, MAX_SAFE, MIN_COVER = 0.025, 0.035, 0.93
#: Runs of a graded A/A arm; fewer for the largest set, where a run takes longest.
RUNS, RUNS_LARGEST = 2_000, 500
#: Seeds of each split times n.
SPLITS_DRAWN = 240
#: Splits less likely than this are left out: together less than one in a hundred thousand.
LEAST_LIKELY = 1e-9


@dataclass(frozen=True)
class Rates:
    """Shares of "improves", of "no harm" or "equivalent", and of intervals that hold the truth."""

    improves: float
    safe: float
    covers: float


def splits(n: int, p_lost: float, p_gained: float) -> Iterator[tuple[int, int, float]]:
    """Yield (lost, gained, probability) of n independent queries."""
    p_same = 1 - p_lost - p_gained
    for lost in range(n + 1):
        for gained in range(n - lost + 1):
            same = n - lost - gained
            if (lost and p_lost <= 0) or (gained and p_gained <= 0) or (same and p_same <= 0):
                continue
            log = math.lgamma(n + 1) - math.lgamma(lost + 1) - math.lgamma(gained + 1) - math.lgamma(same + 1)
            for count, p in ((lost, p_lost), (gained, p_gained), (same, p_same)):
                log += count * math.log(p) if count else 0.0
            if log > math.log(LEAST_LIKELY):
                yield lost, gained, math.exp(log)


def enumerated(
    n: int,
    p_lost: float,
    p_gained: float,
    truth: float,
    compare: Callable[[int, int, int], Comparison],
    n_seeds: int = 1,
) -> Rates:
    """Sum over all splits; `compare` gets lost, gained and a seed."""
    improves = safe = covers = 0.0
    for lost, gained, p in splits(n, p_lost, p_gained):
        for seed in range(n_seeds):
            comparison = compare(lost, gained, seed)
            verdict = decide(comparison, margin=MARGIN).verdict
            improves += p / n_seeds * (verdict is Verdict.IMPROVES)
            safe += p / n_seeds * (verdict in SAFE)
            covers += p / n_seeds * holds(comparison, truth)
    return Rates(improves, safe, covers)


def hits(n: int, difference: float, churn: float) -> Rates:
    """Give the exact rates for hits: a share `churn` of the queries flips, with a true difference."""
    return enumerated(
        n, (churn - difference) / 2, (churn + difference) / 2, difference, lambda lost, gained, _: compare_counts(n, lost, gained)
    )  # fmt: skip


def holds(comparison: Comparison, difference: float) -> bool:
    """Say whether the interval of a comparison holds the true difference."""
    interval = comparison.interval
    return interval is not None and interval.low - 1e-9 <= difference <= interval.high + 1e-9


def graded_drop(n: int, share: float) -> Rates:
    """Give the rates for a graded figure that truly drops by the margin: losses are 1.0, gains 0.5."""
    # Chances of a loss and of a gain with 0.5 * gain - loss = -MARGIN and loss + gain = share.
    p_loss = (0.5 * share + MARGIN) / 1.5

    def compare(lost: int, gained: int, seed: int) -> Comparison:
        before = {str(i): float(i < lost) for i in range(n)}
        after = {str(i): 0.5 if lost <= i < lost + gained else 0.0 for i in range(n)}
        # Another draw for each split: one seed for all would shift them together.
        return compare_scores(before, after, seed=(seed * n + lost) * n + gained)

    return enumerated(n, p_loss, share - p_loss, -MARGIN, compare, max(1, SPLITS_DRAWN // n))


def graded_same(n: int, share: float, runs: int, seed: int) -> Rates:
    """Simulate two arms of one distribution: a share changes by 0.5 or 1.0, as likely up as down."""
    rng = np.random.default_rng(seed)
    steps = (-1.0, -0.5, 0.5, 1.0)
    improves = safe = covers = 0
    for run in range(runs):
        change = rng.choice((*steps, 0.0), size=n, p=(*(share / 4,) * 4, 1 - share))
        before = {str(i): 1.0 if change[i] < 0 else 0.0 for i in range(n)}
        after = {str(i): before[str(i)] + float(change[i]) for i in range(n)}
        comparison = compare_scores(before, after, seed=run)
        verdict = decide(comparison, margin=MARGIN).verdict
        improves += verdict is Verdict.IMPROVES
        safe += verdict in SAFE
        covers += holds(comparison, 0.0)
    return Rates(improves / runs, safe / runs, covers / runs)


def show(name: str, same: Rates, drop: Rates, runs: int | None = None) -> None:
    """Print the lines of one size and share of changed queries; `runs` where the A/A arms were simulated."""
    share_goal(f'{name}, no difference: false "improves"', same.improves, MAX_IMPROVES, runs=runs)
    share_goal(f"{name}, no difference: interval covers", same.covers, MIN_COVER, at_least=True, runs=runs)
    # Every split is counted; the bootstrap of a split is still drawn.
    how = "enumerated" if runs else "exact"
    share_goal(f'{name}, true drop of 5 points: false "no harm"', drop.safe, MAX_SAFE, how=how)
    share_goal(f"{name}, true drop of 5 points: interval covers", drop.covers, MIN_COVER, at_least=True, how=how)


def main() -> None:
    """Print every rate."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--full", action="store_true", help=f"{RUNS:,} runs at every n")
    options.add_argument("--runs", type=int, help="runs at every n")
    given = options.parse_args()
    for n in SIZES:
        for churn in CHURN:
            show(f"hits, n = {n}, {churn:.0%} change", hits(n, 0.0, churn), hits(n, -MARGIN, churn))
    for n in SIZES:
        runs = given.runs or (RUNS_LARGEST if n == max(SIZES) and not given.full else RUNS)
        for share in SHARES:
            show(f"graded, n = {n}, {share:.0%} change", graded_same(n, share, runs, 1), graded_drop(n, share), runs)


if __name__ == "__main__":
    main()
