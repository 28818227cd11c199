"""Resolution of a paired comparison: what n queries can and cannot show.

Differences are shares (0.05 is 5 points) unless a name says points.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memaudit.errors import DataError
from memaudit.stats.intervals import normal_quantile

# The exact search looks at n up to this multiple of the normal approximation.
_SEARCH_FACTOR = 3


def one_query_points(n: int, expected_items: int = 1) -> float | None:
    """Give the points that one query (one of its expected items) moves the figure by.

    Parameters
    ----------
    n
        Queries.
    expected_items
        Items each query needs; 1 for a hit rate.

    Returns
    -------
    100 / (n * expected_items) points; None for n = 0.

    Raises
    ------
    DataError
        n is negative or expected_items below 1.
    """
    if n < 0 or expected_items < 1:
        raise DataError(f"{n} queries with {expected_items} items cannot be.", "Count queries and their items.")
    return None if n == 0 else 100.0 / (n * expected_items)


def min_discordant(alpha: float = 0.05, family_size: int = 1) -> int:
    """Give the fewest changed queries, all one way, that can be significant.

    Parameters
    ----------
    alpha
        Level, 0..1, both ends open.
    family_size
        Comparisons in the family (K).

    Returns
    -------
    Smallest m with 2^(1 - m) <= alpha / K: 6 for one comparison at 0.05, 7 for three, 8 for five.

    Raises
    ------
    DataError
        alpha is not between 0 and 1, or the family is empty.

    Notes
    -----
    The exact test of m changes in one direction has p = 2 * 0.5^m.
    """
    _check_open("alpha", alpha)
    if family_size < 1:
        raise DataError(f"a family of {family_size} comparisons cannot be.", "Count this comparison too.")
    m = 1
    # Multiplied out: powers of two are exact, so alpha = 1/32 is reached by m = 6.
    while family_size * 2.0 ** (1 - m) > alpha:
        m += 1
    return m


def power_mcnemar(n: int, discordance: float, difference: float, alpha: float = 0.05) -> float:
    """Give the power of the exact McNemar test to find a true difference, in its direction.

    Parameters
    ----------
    n
        Queries, 0 or more.
    discordance
        True share of queries that change either way (psi), 0..1.
    difference
        True difference of the shares; its size is at most the discordance, its sign has no effect.
    alpha
        Level of the test.

    Returns
    -------
    Probability in [0, 1] of p <= alpha with the right sign; 0 where no outcome can be significant.

    Raises
    ------
    DataError
        Shares that cannot be.

    Notes
    -----
    The number of changes is binomial (n, psi), gains among them are binomial; both are summed out exactly.
    Source: J. T. Duffy, "Asymptotic and exact power for the McNemar test", Biometrics 40 (1984) 1005-1015.
    """
    _check_effect(discordance, difference)
    _check_open("alpha", alpha)
    if n < 0:
        raise DataError(f"{n} queries cannot be.", "Give 0 or more.")
    if n == 0 or discordance == 0.0:
        return 0.0
    return _power(n, discordance, _power_by_changes(n, discordance, difference, alpha))


def mde_best_case(n: int, alpha: float = 0.05, power: float = 0.8, family_size: int = 1) -> float | None:
    """Give the smallest true gain that n queries detect if no query gets worse.

    Parameters
    ----------
    n
        Queries.
    alpha, family_size
        As for :func:`min_discordant`.
    power
        Chance of detection.

    Returns
    -------
    Share d with P(Binomial(n, d) >= m) = power, m the smallest significant count; None where n < m, because
    then no result can be significant.

    Raises
    ------
    DataError
        alpha or power is not between 0 and 1.

    Notes
    -----
    The binomial tail is an incomplete beta function, inverted directly.
    """
    _check_open("power", power)
    m = min_discordant(alpha, family_size)
    if n < m:
        return None
    from scipy.special import betaincinv

    return float(betaincinv(m, n - m + 1, power))


def mde_mcnemar(n: int, discordance: float, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Give the smallest true difference that n queries detect at a given share of changes.

    Parameters
    ----------
    n
        Queries.
    discordance
        True share of queries that change either way.
    alpha, power
        Level of the test and chance of detection.

    Returns
    -------
    The difference, at most the discordance; None where even all changes in one direction are not detected
    often enough.

    Raises
    ------
    DataError
        Shares that cannot be.
    """
    _check_open("power", power)
    if power_mcnemar(n, discordance, discordance, alpha) < power:
        return None
    if power_mcnemar(n, discordance, 0.0, alpha) >= power:
        return 0.0
    from scipy.optimize import brentq

    found: Any = brentq(
        lambda difference: power_mcnemar(n, discordance, difference, alpha) - power,
        0.0,
        discordance,
        xtol=1e-12,
    )
    return float(found)


def needed_n_mcnemar(discordance: float, difference: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Give the queries needed to detect a difference of hit rates, by the normal approximation.

    Parameters
    ----------
    discordance
        Share of queries expected to change either way; the observed share where nothing better is known.
    difference
        Difference to detect; its size is at most the discordance.
    alpha, power
        Level of the test (divide it by the size of a family) and chance of detection.

    Returns
    -------
    n, rounded up; None for a difference of 0, which no n detects.

    Raises
    ------
    DataError
        Shares that cannot be.

    Notes
    -----
    Some 5 % below the exact search. Source: R. J. Connor, "Sample size for testing differences in proportions
    for the paired-sample design", Biometrics 43 (1987) 207-211.
    """
    _check_effect(discordance, difference)
    _check_open("alpha", alpha)
    _check_open("power", power)
    if difference == 0.0:
        return None
    z_alpha, z_power = normal_quantile(1.0 - alpha), NormalDist().inv_cdf(power)
    root = z_alpha * sqrt(discordance) + z_power * sqrt(discordance - difference**2)
    return ceil(root**2 / difference**2)


def needed_n_mcnemar_exact(
    discordance: float, difference: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Give the smallest n whose exact power reaches the goal; slower, to check the approximation.

    Returns
    -------
    n; None for a difference of 0 and where no n up to three times the approximation (plus 100) is enough.

    Notes
    -----
    Arguments and errors as for :func:`needed_n_mcnemar`. The power given the number of changes does not
    depend on n and is computed once; the search is then one weighted sum for each n (0.3 s at n = 650).
    """
    approximate = needed_n_mcnemar(discordance, difference, alpha, power)
    if approximate is None:
        return None
    largest = _SEARCH_FACTOR * approximate + 100
    by_changes = _power_by_changes(largest, discordance, difference, alpha)
    for n in range(min_discordant(alpha), largest + 1):
        if _power(n, discordance, by_changes[: n + 1]) >= power:
            return n
    return None


def needed_n_paired_mean(sd: float, difference: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Give the queries needed to detect a mean difference of a graded metric.

    Parameters
    ----------
    sd
        Standard deviation of the paired differences, 0 or more.
    difference
        Mean difference to detect.
    alpha, power
        Level and chance of detection.

    Returns
    -------
    n, rounded up; None for a difference of 0.

    Raises
    ------
    DataError
        sd is negative, or alpha or power is not between 0 and 1.

    Notes
    -----
    (z_alpha + z_power)^2 sd^2 / d^2 + 2; the 2 stands for the t instead of the normal distribution.
    Source: T. Sakai, "Topic set size design", Inf. Retrieval J. 19 (2016) 256-283.
    """
    if not sd >= 0.0:
        raise DataError(f"standard deviation {sd} cannot be.", "Give 0 or more.")
    _check_open("alpha", alpha)
    _check_open("power", power)
    if difference == 0.0:
        return None
    z_sum = normal_quantile(1.0 - alpha) + NormalDist().inv_cdf(power)
    return ceil((z_sum * sd / difference) ** 2 + 2.0)


def needed_n_no_change(margin: float, alpha: float = 0.05) -> int | None:
    """Give the queries needed to exclude a drop beyond the margin when no query changes.

    Parameters
    ----------
    margin
        Largest drop that would not matter, as a share.
    alpha
        Level; the interval is at 1 - alpha.

    Returns
    -------
    Smallest n with z^2 / (n + z^2) < margin: 73 for 5 points; None for a margin of 0, which no n excludes.

    Raises
    ------
    DataError
        The margin is outside 0..1.
    """
    if not 0.0 <= margin <= 1.0:
        raise DataError(f"margin {margin} is not a share.", "Give points / 100: 0.05 for 5 points.")
    _check_open("alpha", alpha)
    if margin == 0.0:
        return None
    z_squared = normal_quantile(1.0 - alpha) ** 2
    # Strictly inside the margin, as the decision table asks; one query at least.
    return max(1, floor(z_squared * (1.0 - margin) / margin) + 1)


def needed_n_all_hits(min_share: float, level: float = 0.95) -> int:
    """Give the queries, all hits, after which the lower Wilson bound reaches a share.

    Parameters
    ----------
    min_share
        Share that the lower bound must reach, 0..1, both ends open.
    level
        Two-sided confidence level.

    Returns
    -------
    z^2 L / (1 - L), rounded up: 35 for 90 %, 73 for 95 %.

    Raises
    ------
    DataError
        A share that is not between 0 and 1.
    """
    _check_open("min_share", min_share)
    return max(1, ceil(normal_quantile(level) ** 2 * min_share / (1.0 - min_share)))


def _power(n: int, discordance: float, by_changes: NDArray[np.float64]) -> float:
    from scipy.stats import binom

    weights = binom.pmf(np.arange(n + 1), n, discordance)
    return min(1.0, float(weights @ by_changes))


@lru_cache(maxsize=8)
def _power_by_changes(n_max: int, discordance: float, difference: float, alpha: float) -> NDArray[np.float64]:
    from scipy.stats import binom

    changes = np.arange(n_max + 1)
    # Most losses with p <= alpha for each number of changes; -1 where there is none, which makes the power 0.
    # The tolerance keeps a level that is a power of two, which the sum may miss in the last place.
    limit = alpha / 2.0 * (1.0 + 1e-12)
    most_losses = binom.ppf(alpha / 2.0, changes, 0.5)
    most_losses = np.where(binom.cdf(most_losses, changes, 0.5) > limit, most_losses - 1, most_losses)
    gain_share = (discordance + abs(difference)) / (2.0 * discordance)
    return np.asarray(binom.sf(changes - most_losses - 1, changes, min(1.0, gain_share)), dtype=np.float64)


def _check_open(name: str, share: float) -> None:
    if not 0.0 < share < 1.0:
        raise DataError(f"{name} is {share}, expected a value between 0 and 1.", "Give a share, not per cent.")


def _check_effect(discordance: float, difference: float) -> None:
    if not 0.0 <= abs(difference) <= discordance <= 1.0:
        raise DataError(
            f"a difference of {difference} with {discordance} of the queries changing cannot be.",
            "The difference is at most the share of queries that change.",
        )
