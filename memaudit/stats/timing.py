"""Interleaved timing of two functions, with the baseline as its own control.

Measured on identical code: timing all of A and then all of B gives ratios of 0.61 to 1.64 on a busy machine,
interleaved 0.95 to 1.06. Hence the random order, and a third arm that is A again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from memaudit.errors import DataError

Query = TypeVar("Query")

MIN_ROUNDS = 5


@dataclass(frozen=True)
class PairedTimings:
    """Times of each query in three arms, the median over the rounds.

    Attributes
    ----------
    a_ms, b_ms
        Milliseconds of baseline and variant, in the order of the queries.
    a_again_ms
        Milliseconds of the baseline as its own control.
    n_rounds
        Rounds behind each median.
    """

    a_ms: tuple[float, ...]
    b_ms: tuple[float, ...]
    a_again_ms: tuple[float, ...]
    n_rounds: int


def measure_interleaved(
    run_a: Callable[[Query], object],
    run_b: Callable[[Query], object],
    queries: Sequence[Query],
    n_rounds: int = MIN_ROUNDS,
    seed: int = 0,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> PairedTimings:
    """Time two functions on the same queries so that load of the machine hits both alike.

    Parameters
    ----------
    run_a, run_b
        Called with one query; the result is thrown away.
    queries
        The same for both arms; may be empty.
    n_rounds
        Rounds, at least 5; a warm-up pass before them is dropped.
    seed
        Seed of the order.
    clock
        Nanoseconds, never going back.

    Returns
    -------
    Median over the rounds for each query and arm.

    Raises
    ------
    DataError
        Fewer than 5 rounds.

    Notes
    -----
    Each round shuffles the queries and runs A, B and A again back to back in random order, which is
    3 (n_rounds + 1) calls a query in all. An error of an arm is not caught: a failed call has no time.
    Source of the design: T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM (2013).
    """
    if n_rounds < MIN_ROUNDS:
        raise DataError(f"{n_rounds} rounds are too few to time anything.", f"Give at least {MIN_ROUNDS}.")
    arms = (run_a, run_b, run_a)
    rng = random.Random(seed)
    times: list[list[list[int]]] = [[[] for _ in queries] for _ in arms]
    for n_round in range(n_rounds + 1):
        order = list(range(len(queries)))
        rng.shuffle(order)
        for i in order:
            turn = [0, 1, 2]
            rng.shuffle(turn)
            for arm in turn:
                start = clock()
                arms[arm](queries[i])
                stop = clock()
                if n_round > 0:
                    times[arm][i].append(stop - start)
    a_ms, b_ms, a_again_ms = (tuple(median(rounds) / 1e6 for rounds in arm) for arm in times)
    return PairedTimings(a_ms, b_ms, a_again_ms, n_rounds)
