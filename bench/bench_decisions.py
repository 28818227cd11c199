"""How often the decision table is wrong: by exact enumeration for hits, by simulation for graded figures.

Prints, for A/A arms (no true difference) and for a true drop of exactly the margin, how often the table says
"improves" or "no harm"/"equivalent", and how often the interval holds the true difference. The goals are those of the
statistics page: false "improves" at most 2.5 %, false "no harm" at most 3.5 %, intervals that cover at least 93 %.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np

from memaudit.stats.decision import Verdict, decide
from memaudit.stats.paired import Comparison, compare_counts, compare_scores

MARGIN = 0.05
SIZES = (24, 60, 219)
CHURN = (0.1, 0.2, 0.4)
SAFE = (Verdict.NO_HARM, Verdict.EQUIVALENT)


def splits(n: int, p_lost: float, p_gained: float) -> Iterator[tuple[int, int, float]]:
    """Yield (lost, gained, probability) of n independent queries; splits below 1e-12 are left out."""
    p_same = 1 - p_lost - p_gained
    for lost in range(n + 1):
        for gained in range(n - lost + 1):
            same = n - lost - gained
            if (lost and p_lost <= 0) or (gained and p_gained <= 0) or (same and p_same <= 0):
                continue
            log = math.lgamma(n + 1) - math.lgamma(lost + 1) - math.lgamma(gained + 1) - math.lgamma(same + 1)
            for count, p in ((lost, p_lost), (gained, p_gained), (same, p_same)):
                log += count * math.log(p) if count else 0.0
            if log > -27.6:
                yield lost, gained, math.exp(log)


def rates(n: int, difference: float, churn: float) -> tuple[float, float, float]:
    """Return the exact shares of "improves", of "no harm"/"equivalent", and of intervals that hold the truth."""
    improves = safe = covers = 0.0
    for lost, gained, p in splits(n, (churn - difference) / 2, (churn + difference) / 2):
        comparison = compare_counts(n, lost, gained)
        verdict = decide(comparison, margin=MARGIN).verdict
        improves += p * (verdict is Verdict.IMPROVES)
        safe += p * (verdict in SAFE)
        covers += p * holds(comparison, difference)
    return improves, safe, covers


def holds(comparison: Comparison, difference: float) -> bool:
    """Say whether the interval of a comparison holds the true difference."""
    interval = comparison.interval
    return interval is not None and interval.low - 1e-9 <= difference <= interval.high + 1e-9


def graded(n: int, drop: bool, share: float, runs: int, seed: int) -> tuple[float, float, float]:
    """Simulate a graded figure of which a share of the queries changes.

    Without a drop both arms are drawn from one distribution, so that changes of 0.5 and 1.0 are as likely up as down.
    With one, losses are 1.0 and gains 0.5, and the true mean difference is -MARGIN.
    """
    rng = np.random.default_rng(seed)
    if drop:
        # Chances of a loss and of a gain with 0.5 * gain - loss = -MARGIN and loss + gain = share.
        p_loss = (0.5 * share + MARGIN) / 1.5
        steps, chances = (-1.0, 0.5), (p_loss, share - p_loss)
    else:
        steps, chances = (-1.0, -0.5, 0.5, 1.0), (share / 4,) * 4
    truth = sum(step * chance for step, chance in zip(steps, chances, strict=True))
    improves = safe = covers = 0
    for run in range(runs):
        change = rng.choice((*steps, 0.0), size=n, p=(*chances, 1 - sum(chances)))
        before = {str(i): 1.0 if change[i] < 0 else 0.0 for i in range(n)}
        after = {str(i): before[str(i)] + float(change[i]) for i in range(n)}
        comparison = compare_scores(before, after, seed=run)
        verdict = decide(comparison, margin=MARGIN).verdict
        improves += verdict is Verdict.IMPROVES
        safe += verdict in SAFE
        covers += holds(comparison, truth)
    return improves / runs, safe / runs, covers / runs


def main() -> None:
    """Print both tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print("hits, exact:      n  churn   false improves   false no harm at a drop of 5 points   coverage (0; -5 points)")
    for n in SIZES:
        for churn in CHURN:
            improves, _, covers = rates(n, 0.0, churn)
            _, safe, covers_drop = rates(n, -MARGIN, churn)
            print(f"{n:19d} {churn:6.1f} {improves:16.2%} {safe:38.2%} {covers:13.1%}; {covers_drop:.1%}")
    print(
        f"graded, {runs} runs:   n  share   false improves   false no harm at a drop of 5 points   coverage (0; -5 points)"
    )
    for n in SIZES:
        for share in (0.2, 0.4):
            improves, _, covers = graded(n, False, share, runs, 1)
            _, safe, covers_drop = graded(n, True, share, runs, 2)
            print(f"{n:19d} {share:6.2f} {improves:16.2%} {safe:38.2%} {covers:13.1%}; {covers_drop:.1%}")


if __name__ == "__main__":
    main()
