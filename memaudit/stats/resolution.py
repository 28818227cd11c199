"""What stands beside every comparison: its resolution, and what totals alone allow to say."""

from __future__ import annotations

from memaudit.stats.counts import p_range_from_totals
from memaudit.stats.paired import Comparison
from memaudit.stats.power import mde_best_case, one_query_points
from memaudit.stats.shown import p_text, points, units_text
from memaudit.wording import say, space_between


def resolution_sentence(comparison: Comparison, alpha: float = 0.05, family_size: int = 1) -> str:
    """Give what stands beside every comparison: the weight of one query and the smallest gain found.

    Parameters
    ----------
    comparison
        What was observed.
    alpha, family_size
        Of the run.

    Returns
    -------
    Two sentences; "Not measured." for no queries.
    """
    one = one_query_points(comparison.n)
    if one is None:
        return say("Not measured.")
    net = comparison.gained - comparison.lost
    first = say(
        "One query = {one} points; difference in queries {net} ({gained} gained, {lost} lost, of {n}).",
        one=points(one / 100.0),
        net=f"{net:+,}" if net else "0",
        gained=comparison.gained,
        lost=comparison.lost,
        n=comparison.n,
    )
    detectable = mde_best_case(comparison.n_units, alpha, 0.8, family_size)
    units = units_text(comparison, comparison.n_units)
    if detectable is None:
        return first + space_between() + say("With {units} no result can be significant.", units=units)
    return (
        first
        + " "
        + say(
            "With {units} a true change of {mde} points is found in 8 of 10 runs, at best (all changes one way).",
            units=units,
            mde=points(detectable),
        )
    )


def totals_sentence(n: int, hits_a: int, hits_b: int, alpha: float = 0.05, a: str = "A", b: str = "B") -> str:
    """Give what two totals allow to say when the results of single queries were not kept.

    Parameters
    ----------
    n
        Queries, the same in both arms.
    hits_a, hits_b
        Hits of each arm.
    alpha
        Level of the test.
    a, b
        Names of the arms.

    Returns
    -------
    Range of p with one of three conclusions; "Not measured." for n = 0.

    Raises
    ------
    DataError
        Hits outside 0..n.
    """
    allowed = p_range_from_totals(n, hits_a, hits_b)
    if allowed is None:
        return say("Not measured.")
    values = {
        "a": a,
        "b": b,
        "hits_a": f"{hits_a:,}/{n:,}",
        "hits_b": f"{hits_b:,}/{n:,}",
        "p_min": p_text(allowed.p_min, alpha).removeprefix("= "),
        "p_max": p_text(allowed.p_max, alpha).removeprefix("= "),
    }
    if allowed.p_max <= alpha:
        return say(
            "Only totals are known, {a} {hits_a}, {b} {hits_b}: significant whichever queries flipped "
            "(p between {p_min} and {p_max}).",
            **values,
        )
    if allowed.p_min > alpha:
        return say(
            "Only totals are known, {a} {hits_a}, {b} {hits_b}: not significant whichever queries flipped "
            "(p between {p_min} and {p_max}).",
            **values,
        )
    return say(
        "Only totals are known, {a} {hits_a}, {b} {hits_b}: it depends on which queries flipped "
        "(p between {p_min} and {p_max}), so there is no verdict.",
        **values,
    )
