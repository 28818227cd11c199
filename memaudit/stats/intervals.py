"""Intervals of one figure: shares, means of a graded metric, quantiles.

Nothing here imports scipy at module level: the Wilson interval is a closed formula.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from memaudit.errors import DataError


def normal_quantile(level: float) -> float:
    """Give z so that a standard normal lies within +-z with probability `level`.

    Raises
    ------
    DataError
        `level` is not strictly between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise DataError(
            f"confidence level {level} is not between 0 and 1.", "Give a share, for example 0.95 for 95 %."
        )
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def check_share(k: int, n: int) -> None:
    """Refuse counts that cannot be k of n."""
    if n < 0 or not 0 <= k <= n:
        raise DataError(f"{k} of {n} is not a share.", "The part must lie between 0 and the whole.")


def wilson_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Give the Wilson score interval of a share.

    Parameters
    ----------
    k
        Cases that have the property, 0..n.
    n
        Cases looked at.
    level
        Two-sided confidence level, 0..1, both ends open.

    Returns
    -------
    (low, high) as shares within [0, 1]; None for n = 0 (not measured). Exactly 0 at the lower end for k = 0
    and exactly 1 at the upper end for k = n.

    Raises
    ------
    DataError
        k is outside 0..n, n is negative, or the level is not between 0 and 1.

    Notes
    -----
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    J. Am. Stat. Assoc. 22 (1927) 209-212; recommended by Brown, Cai and DasGupta,
    Stat. Sci. 16 (2001) 101-133.
    """
    check_share(k, n)
    z = normal_quantile(level)
    if n == 0:
        return None
    share = k / n
    scale = 1.0 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n)) / scale
    # The ends are set, not computed: rounding would leave [0, 1] by one unit in the last place.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return low, high
