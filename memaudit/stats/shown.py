"""Differences, p-values and units as text: how the sentences of a comparison write their numbers."""

from __future__ import annotations

from memaudit.stats.paired import Comparison
from memaudit.wording import plural


def points(share: float) -> str:
    """Give a share in points with one decimal, without a negative zero."""
    text = f"{100.0 * share:.1f}"
    return "0.0" if text == "-0.0" else text


def signed_points(share: float) -> str:
    """Give a difference in points with one decimal and its sign: `+4.2`, `-3.0`, `0.0`."""
    text = points(share)
    return text if text == "0.0" or text.startswith("-") else f"+{text}"


def p_text(p: float, alpha: float) -> str:
    """Give `= 0.031` or `< 0.001`, with as many decimals as show on which side of alpha p lies."""
    if p < min(0.001, alpha):
        return f"< {min(0.001, alpha):g}"
    for decimals in range(3, 12):
        text = f"{p:.{decimals}f}"
        if (float(text) <= alpha) == (p <= alpha):
            break
    return f"= {text}"


def units_text(comparison: Comparison, n: int) -> str:
    """Give `n queries`, or `n independent groups of queries` where the comparison has groups."""
    if comparison.n_units == comparison.n:
        return plural(n, "query", "queries")
    return plural(n, "independent group of queries", "independent groups of queries")
