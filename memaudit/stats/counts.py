"""Exact tests on counts of changed queries: McNemar, sign test, what totals alone allow.

All p-values here are exact: the binomial sums are integers, so that a p of 0.03125 is that number and a
comparison with alpha never depends on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, sqrt

from memaudit.errors import DataError
from memaudit.stats.intervals import check_share, normal_quantile

# Above this many changed queries the integers get slow (0.1 s), and scipy's sums are right to 1e-12.
_MAX_EXACT_PAIRS = 20_000


@dataclass(frozen=True)
class McNemar:
    """Exact McNemar test of paired hits.

    Attributes
    ----------
    n_discordant
        Queries that hit in one arm only.
    p_exact
        Two-sided exact p: the gate.
    p_mid
        Two-sided mid-p: shown beside it, never the gate.
    """

    n_discordant: int
    p_exact: float
    p_mid: float


@dataclass(frozen=True)
class TotalsRange:
    """What two totals over the same queries allow.

    Attributes
    ----------
    p_min, p_max
        Smallest and largest exact McNemar p.
    lost_min, lost_max
        Smallest and largest number of queries that A hit and B missed.
    """

    p_min: float
    p_max: float
    lost_min: int
    lost_max: int


def exact_sign_p(wins: int, losses: int) -> float:
    """Give the two-sided exact p of `wins` against `losses` under even odds.

    Parameters
    ----------
    wins, losses
        Counts, 0 or more; ties are left out before.

    Returns
    -------
    p in (0, 1]; 1 when there are neither wins nor losses. (Underflows to 0.0 beyond some 1,075 one-way
    changes.)

    Raises
    ------
    DataError
        A count is negative.

    Notes
    -----
    Source: W. J. Dixon and A. M. Mood, "The statistical sign test", J. Am. Stat. Assoc. 41 (1946) 557-566.
    """
    _check_counts(wins, losses)
    m = wins + losses
    if wins == losses:
        return 1.0
    if m > _MAX_EXACT_PAIRS:
        from scipy.stats import binom

        tail = float(binom.cdf(min(wins, losses), m, 0.5))
        return min(1.0, 2.0 * tail)
    term = total = 1
    for i in range(min(wins, losses)):
        term = term * (m - i) // (i + 1)
        total += term
    # Both are whole numbers, so this division rounds once, correctly.
    p: float = 2 * total / 2**m
    return min(1.0, p)


def sign_test(wins: int, losses: int) -> float:
    """Give the two-sided sign test: shown beside a graded metric, never the gate.

    Notes
    -----
    The sign test rejects too often on large sets: Urbano, Lima and Hanjalic (SIGIR 2019), Ihemelandu and
    Ekstrand (2023). See :func:`exact_sign_p` for arguments and result.
    """
    return exact_sign_p(wins, losses)


def mcnemar(lost: int, gained: int) -> McNemar:
    """Test paired hits for a change, exactly.

    Parameters
    ----------
    lost
        Queries that A hit and B missed.
    gained
        Queries that A missed and B hit.

    Returns
    -------
    Exact p and mid-p, both 1 when no query changed.

    Raises
    ------
    DataError
        A count is negative.

    Notes
    -----
    Source: Q. McNemar, Psychometrika 12 (1947) 153-157; the mid-p: M. W. Fagerland, S. Lydersen and
    P. Laake, BMC Med. Res. Methodol. 13 (2013) 91.
    """
    p_exact = exact_sign_p(gained, lost)
    m = lost + gained
    if m == 0:
        return McNemar(0, 1.0, 1.0)
    if m > _MAX_EXACT_PAIRS:
        from scipy.stats import binom

        point = float(binom.pmf(lost, m, 0.5))
    else:
        point = float(comb(m, lost) / 2**m)
    p_mid = 1.0 - point / 2.0 if lost == gained else p_exact - point
    return McNemar(m, p_exact, max(0.0, p_mid))


def tango_interval(n: int, lost: int, gained: int, level: float = 0.95) -> tuple[float, float] | None:
    """Give the score interval of a paired difference of shares, (gained - lost) / n.

    Parameters
    ----------
    n
        Paired queries.
    lost, gained
        Queries that changed; their sum is at most n.
    level
        Two-sided confidence level.

    Returns
    -------
    (low, high) within [-1, 1]; None for n = 0. Without any change the interval is +-z^2 / (n + z^2):
    identical results on few queries do not exclude a loss.

    Raises
    ------
    DataError
        Counts that cannot be, or a level not between 0 and 1.

    Notes
    -----
    The bounds are the differences whose score statistic is +-z, found by bisection to the last digit.
    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design", Stat. Med. 17 (1998) 891-908.
    """
    _check_counts(lost, gained)
    if n < 0 or lost + gained > n:
        raise DataError(f"{lost} lost and {gained} gained of {n} queries cannot be.", "Count each query once.")
    z = normal_quantile(level)
    if n == 0:
        return None
    if lost == gained == 0:
        bound = z * z / (n + z * z)
        return -bound, bound
    # Mirrored arms give mirrored bounds, so one direction is enough.
    return _tango_low(n, lost, gained, z), -_tango_low(n, gained, lost, z)


def _tango_low(n: int, lost: int, gained: int, z: float) -> float:
    def excess(difference: float) -> float:
        a = 2.0 * n
        b = -lost - gained + (2.0 * n - gained + lost) * difference
        c = -lost * difference * (1.0 - difference)
        root = sqrt(max(0.0, b * b - 4.0 * a * c))
        # The form without cancellation; both give the larger root.
        q = (root - b) / (2.0 * a) if b <= 0.0 else -2.0 * c / (b + root)
        variance = n * (2.0 * q + difference * (1.0 - difference))
        # Multiplied out, because the variance is 0 at the ends of [-1, 1].
        return gained - lost - n * difference - z * sqrt(max(0.0, variance))

    below, above = -1.0, (gained - lost) / n
    while True:
        middle = (below + above) / 2.0
        if middle in (below, above):
            return middle
        if excess(middle) > 0.0:
            below = middle
        else:
            above = middle


def p_range_from_totals(n: int, hits_a: int, hits_b: int) -> TotalsRange | None:
    """Give the exact p-values that two totals over the same n queries allow.

    Parameters
    ----------
    n
        Queries, the same in both arms.
    hits_a, hits_b
        Hits of the baseline and of the variant.

    Returns
    -------
    The range; None for n = 0. A verdict is allowed only when the whole range is on one side of alpha.

    Raises
    ------
    DataError
        Hits outside 0..n.

    Notes
    -----
    For a fixed net change p grows with the number of losses, so the two ends are enough.
    """
    check_share(hits_a, n)
    check_share(hits_b, n)
    if n == 0:
        return None
    net = hits_b - hits_a
    lost_min, lost_max = max(0, -net), min(hits_a, n - hits_b)
    return TotalsRange(
        exact_sign_p(lost_min + net, lost_min), exact_sign_p(lost_max + net, lost_max), lost_min, lost_max
    )


def max_losses_for_net_gain(net: int, alpha: float = 0.05) -> int | None:
    """Give the most lost queries with which a net gain is still significant.

    Parameters
    ----------
    net
        Gained minus lost, 0 or more.
    alpha
        Level of the exact McNemar test.

    Returns
    -------
    Largest number of losses with p <= alpha; None when even no loss at all is not enough.
    """
    _check_counts(net, 0)
    if exact_sign_p(net, 0) > alpha or net == 0:
        return None
    enough, too_many = 0, 1
    while exact_sign_p(net + too_many, too_many) <= alpha:
        enough, too_many = too_many, 2 * too_many
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if exact_sign_p(net + middle, middle) <= alpha:
            enough = middle
        else:
            too_many = middle
    return enough


def fisher_p(a: int, b: int, c: int, d: int) -> float:
    """Give the two-sided exact p that the rows (a, b) and (c, d) of a table have the same shares.

    Parameters
    ----------
    a, b, c, d
        Counts, 0 or more.

    Returns
    -------
    p in (0, 1]: the probability, all margins kept, of a table that is at most as probable as this one; 1 where a row
    or a column is empty. Whole numbers are added, so that equally probable tables are all counted.

    Notes
    -----
    O(n) products of whole numbers: n is a count of queries.
    Source: R. A. Fisher, "Statistical Methods for Research Workers" (5th ed. 1934), section 21.02.
    """
    _check_counts(min(a, b), min(c, d))
    first, left, n = a + b, a + c, a + b + c + d
    weights = [comb(left, x) * comb(n - left, first - x) for x in range(max(0, first + left - n), min(first, left) + 1)]
    seen = comb(left, a) * comb(n - left, b)
    return sum(w for w in weights if w <= seen) / sum(weights)


def _check_counts(first: int, second: int) -> None:
    if first < 0 or second < 0:
        raise DataError(f"counts {first} and {second}: a count cannot be negative.", "Count queries, not shares.")
