"""Two arms on the same queries: from results a query to one comparison with p and interval.

A *group* here is a set of dependent queries (paraphrases, two languages, one source). Where there are groups
they are the units: signs are flipped and resamples drawn a group at a time, and every rule about small
numbers counts groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memaudit.errors import DataError
from memaudit.stats.counts import mcnemar, sign_test, tango_interval
from memaudit.stats.intervals import MIN_N_BOOTSTRAP, Interval, count_bound
from memaudit.stats.resample import N_RESAMPLES, TIE, FloatArray, bootstrap_ratio, sign_flip_test

# With fewer changed units a bootstrap cannot see the losses that the sample happened not to contain.
MIN_CHANGED_BOOTSTRAP = 6
_MAX_NAMED = 3


@dataclass(frozen=True)
class Comparison:
    """What two arms did on the same queries.

    Attributes
    ----------
    n
        Paired queries.
    lost, gained
        Queries whose result fell or rose from A to B.
    difference
        Mean of B - A over queries, -1..1; None for n = 0.
    interval
        Interval of the difference; None for n = 0.
    p
        Raw two-sided p of the gate (exact McNemar or sign flip); None for n = 0.
    p_beside
        Shown beside the gate, never used: mid-p for hits, sign test else; None for n = 0.
    n_units
        Independent units: queries, or groups of dependent queries.
    n_changed
        Units whose result changed.
    sd
        Standard deviation of the differences of units (n - 1); None below two units.
    level
        Confidence level of the interval.
    graded
        Whether the metric takes values between 0 and 1, not hits only.
    seed
        Seed of whatever was drawn.
    """

    n: int
    lost: int
    gained: int
    difference: float | None
    interval: Interval | None
    p: float | None
    p_beside: float | None
    n_units: int
    n_changed: int
    sd: float | None
    level: float
    graded: bool
    seed: int


def compare_counts(n: int, lost: int, gained: int, level: float = 0.95) -> Comparison:
    """Compare paired hits of independent queries by their counts.

    Parameters
    ----------
    n
        Paired queries.
    lost, gained
        Queries that A hit and B missed, and the other way.
    level
        Level of the interval, 1 - alpha.

    Returns
    -------
    Exact McNemar p, mid-p beside it, Tango's interval.

    Raises
    ------
    DataError
        Counts that cannot be.
    """
    bounds = tango_interval(n, lost, gained, level)
    if bounds is None:
        return _nothing(level, graded=False, seed=0)
    test = mcnemar(lost, gained)
    net, changed = gained - lost, gained + lost
    sd = ((changed - net * net / n) / (n - 1)) ** 0.5 if n > 1 else None
    interval = Interval(bounds[0], bounds[1], "tango")
    return Comparison(n, lost, gained, net / n, interval, test.p_exact, test.p_mid, n, changed, sd, level, False, 0)


def compare_hits(
    a: Mapping[str, bool | None],
    b: Mapping[str, bool | None],
    groups: Mapping[str, str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> Comparison:
    """Compare hit or miss of the same queries in two arms.

    Parameters
    ----------
    a, b
        Query id to hit, for the baseline and the variant; None (no ranking was returned) is a miss.
    groups
        Query id to group of dependent queries; an id without an entry stands alone.
    level
        Level of the interval, 1 - alpha.
    seed, n_resamples
        Used only where groups hold several queries.

    Returns
    -------
    As :func:`compare_counts` when every query stands alone; else as :func:`compare_scores` with groups.

    Raises
    ------
    DataError
        A query is in one arm only.
    """
    scores_a = {query: float(bool(hit)) for query, hit in a.items()}
    scores_b = {query: float(bool(hit)) for query, hit in b.items()}
    differences, totals, sizes = _units(scores_a, scores_b, groups)
    if totals.size == differences.size:
        return compare_counts(int(differences.size), int((differences < 0).sum()), int((differences > 0).sum()), level)
    return _compare(differences, totals, sizes, level, False, seed, n_resamples)


def compare_scores(
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    groups: Mapping[str, str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> Comparison:
    """Compare a graded metric (coverage, reciprocal rank, nDCG) of the same queries in two arms.

    Parameters
    ----------
    a, b
        Query id to value in 0..1; None (no ranking was returned) counts as 0. The order has no effect.
    groups
        Query id to group of dependent queries; an id without an entry stands alone.
    level
        Level of the interval, 1 - alpha.
    seed, n_resamples
        Of the sampled signs and the bootstrap.

    Returns
    -------
    Sign-flip p, sign test beside it. The interval is BCa (percentile where BCa is not defined) with at least
    10 units of which at least 6 changed, not all alike; else the count bound.

    Raises
    ------
    DataError
        A query is in one arm only, or a value is not a number in 0..1.

    Notes
    -----
    Source of the choice of test: J. Urbano, H. Lima and A. Hanjalic, SIGIR (2019) 505-514; M. D. Smucker,
    J. Allan and B. Carterette, CIKM (2007) 623-632.
    """
    differences, totals, sizes = _units(_checked(a, "A"), _checked(b, "B"), groups)
    return _compare(differences, totals, sizes, level, True, seed, n_resamples)


def _compare(
    differences: FloatArray,
    totals: FloatArray,
    sizes: FloatArray,
    level: float,
    graded: bool,
    seed: int,
    n_resamples: int,
) -> Comparison:
    n, n_units = int(differences.size), int(totals.size)
    if n == 0:
        return _nothing(level, graded, seed)
    test = sign_flip_test(totals, seed, n_resamples)
    losses, wins = int((totals < -TIE).sum()), int((totals > TIE).sum())
    interval = None
    if n_units >= MIN_N_BOOTSTRAP and losses + wins >= MIN_CHANGED_BOOTSTRAP:
        found = bootstrap_ratio(totals, sizes, "BCa", level, seed, n_resamples)
        interval = None if found is None else Interval(*found)
    if interval is None:
        interval = _bounded(n_units, losses, wins, sizes, level)
    # The spread of what each unit adds to the mean: D_g / mean size, around its share of the difference.
    mean = float(totals.sum() / sizes.sum())
    residuals = (totals - mean * sizes) / sizes.mean()
    sd = float(np.sqrt((residuals**2).sum() / (n_units - 1))) if n_units > 1 else None
    return Comparison(
        n=n,
        lost=int((differences < -TIE).sum()),
        gained=int((differences > TIE).sum()),
        difference=mean,
        interval=interval,
        p=test.p,
        p_beside=sign_test(wins, losses),
        n_units=n_units,
        n_changed=test.n_changed,
        sd=sd,
        level=level,
        graded=graded,
        seed=seed,
    )


def _bounded(n_units: int, losses: int, wins: int, sizes: FloatArray, level: float) -> Interval:
    bound = count_bound(n_units, losses, wins, level)
    if bound is None:
        raise ValueError("a bound needs at least one unit")
    # Lost groups may be the large ones: the share of queries they hold is at most this many times higher.
    weight = float(sizes.max() / sizes.mean())
    return Interval(max(-1.0, weight * bound[0]), min(1.0, weight * bound[1]), "count bound")


def _units(
    a: Mapping[str, float], b: Mapping[str, float], groups: Mapping[str, str] | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    _check_same_queries(a, b)
    # Sorted, so that a seed gives the same draw whatever the order of the input.
    queries = sorted(a)
    differences = np.array([b[query] - a[query] for query in queries], dtype=np.float64)
    # A query alone must not share its unit with a group of the same name.
    keys = [(1, groups[query]) if groups and query in groups else (0, query) for query in queries]
    number = {key: i for i, key in enumerate(sorted(set(keys)))}
    members = np.array([number[key] for key in keys], dtype=np.int64)
    totals = np.bincount(members, weights=differences, minlength=len(number)).astype(np.float64)
    sizes = np.bincount(members, minlength=len(number)).astype(np.float64)
    return differences, totals, sizes


def _check_same_queries(a: Mapping[str, float], b: Mapping[str, float]) -> None:
    for here, there, name in ((a, b, "A"), (b, a, "B")):
        alone = sorted(query for query in here if query not in there)
        if alone:
            shown = ", ".join(alone[:_MAX_NAMED]) + (", ..." if len(alone) > _MAX_NAMED else "")
            raise DataError(
                f"{len(alone)} queries are in arm {name} only: {shown}.",
                "Both arms need every query; one that returned nothing is given as a miss.",
            )


def _checked(scores: Mapping[str, float | None], arm: str) -> dict[str, float]:
    values = {query: 0.0 if score is None else float(score) for query, score in scores.items()}
    wrong = sorted(query for query, value in values.items() if not -TIE <= value <= 1.0 + TIE)
    if wrong:
        query = wrong[0]
        raise DataError(
            f"query {query} of arm {arm} has the value {values[query]}, expected 0 to 1.",
            "Give the metric as a share.",
        )
    return values


def _nothing(level: float, graded: bool, seed: int) -> Comparison:
    return Comparison(0, 0, 0, None, None, None, None, 0, 0, None, level, graded, seed)
