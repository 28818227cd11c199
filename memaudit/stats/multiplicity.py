"""Adjustment of p-values for a family of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from memaudit.errors import DataError


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false claim in the family stays at alpha.

    Parameters
    ----------
    p_values
        Raw p of every comparison that may receive a verdict in this run, any order.

    Returns
    -------
    Adjusted p in the order of the input, each at most 1; an empty list for an empty family.

    Raises
    ------
    DataError
        A p-value is outside 0..1 or not a number.

    Notes
    -----
    The smallest p is multiplied by the size of the family, the next by one less, and so on; no adjusted p is
    below that of a smaller raw p. Valid under any dependence.
    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6 (1979)
    65-70.
    """
    for p in p_values:
        if not 0.0 <= p <= 1.0:
            raise DataError(f"p-value {p} is not between 0 and 1.", "Leave out comparisons without a test.")
    n = len(p_values)
    adjusted = [1.0] * n
    highest = 0.0
    for place, index in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (n - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted
