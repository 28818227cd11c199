"""What a paired comparison may claim: the decision table as one pure function.

The rows are tried from top to bottom and the first match wins; alpha, margin and the size of the family are
fixed before the run. The words for each verdict are in :mod:`memaudit.stats.sentences`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from memaudit.errors import DataError
from memaudit.stats.multiplicity import holm
from memaudit.stats.paired import Comparison
from memaudit.stats.power import (
    min_discordant,
    needed_n_mcnemar,
    needed_n_no_change,
    needed_n_paired_mean,
)

_LEVEL_TOLERANCE = 1e-9


class Verdict(str, Enum):
    """Outcome of the decision table, as written into the JSON report."""

    NOT_MEASURED = "not_measured"
    NOT_TRUSTWORTHY = "not_trustworthy"
    IMPROVES = "improves"
    DEGRADES = "degrades"
    EQUIVALENT = "equivalent"
    NO_HARM = "no_harm"
    TOO_FEW = "inconclusive_n_too_small"
    INCONCLUSIVE = "inconclusive"

    @property
    def row(self) -> int:
        """Row of the decision table, 0..6."""
        return _ROWS[self]


_ROWS = {
    Verdict.NOT_MEASURED: 0,
    Verdict.NOT_TRUSTWORTHY: 0,
    Verdict.IMPROVES: 1,
    Verdict.DEGRADES: 2,
    Verdict.EQUIVALENT: 3,
    Verdict.NO_HARM: 4,
    Verdict.TOO_FEW: 5,
    Verdict.INCONCLUSIVE: 6,
}


@dataclass(frozen=True)
class Decision:
    """A verdict with everything it rests on.

    Attributes
    ----------
    verdict
        Outcome of the table.
    comparison
        What was observed.
    p_adjusted
        p after Holm's adjustment, the one compared with alpha; None for n = 0.
    alpha, margin
        Level, and largest difference that would not matter (share); both set before the run.
    family_size
        Comparisons that may receive a verdict in this run.
    m_min
        Fewest changed units, all one way, that can be significant.
    finding
        The open finding that blocks a verdict; None if there is none.
    """

    verdict: Verdict
    comparison: Comparison
    p_adjusted: float | None
    alpha: float
    margin: float
    family_size: int
    m_min: int
    finding: str | None

    @property
    def no_observed_contribution(self) -> bool:
        """Whether an ablation may say "no observed contribution": B, without the part, is not lower."""
        difference = self.comparison.difference
        return (
            self.verdict.row > 0
            and self.verdict is not Verdict.DEGRADES
            and difference is not None
            and difference >= 0.0
        )


def table_verdict(
    *,
    n: int,
    difference: float | None,
    p_adjusted: float | None,
    low: float | None,
    high: float | None,
    n_changed: int,
    m_min: int,
    alpha: float,
    margin: float,
    blocked: bool = False,
) -> Verdict:
    """Read the decision table.

    Parameters
    ----------
    n
        Paired queries.
    difference, low, high
        Observed difference B - A and its interval at level 1 - alpha, as shares; None only for n = 0.
    p_adjusted
        p after adjustment for the family; None only for n = 0.
    n_changed
        Independent units that changed.
    m_min
        Fewest changed units, all one way, that can be significant.
    alpha, margin
        Level, and largest difference that would not matter.
    blocked
        Whether a finding is open that makes the figures meaningless.

    Returns
    -------
    The first row that matches. The interval is not adjusted, so near the border it may exclude 0 while p is
    above alpha: the verdict follows p. A bound that equals the margin does not exclude it.

    Raises
    ------
    ValueError
        A figure is missing although n > 0.
    """
    if n == 0:
        return Verdict.NOT_MEASURED
    if blocked:
        return Verdict.NOT_TRUSTWORTHY
    if difference is None or p_adjusted is None or low is None or high is None:
        raise ValueError("a comparison of at least one query has a difference, an interval and a p")
    if p_adjusted <= alpha and difference > 0.0:
        return Verdict.IMPROVES
    if p_adjusted <= alpha and difference < 0.0:
        return Verdict.DEGRADES
    if low > -margin:
        return Verdict.EQUIVALENT if high < margin else Verdict.NO_HARM
    return Verdict.TOO_FEW if n_changed < m_min else Verdict.INCONCLUSIVE


def decide(
    comparison: Comparison,
    margin: float = 0.05,
    alpha: float = 0.05,
    p_adjusted: float | None = None,
    family_size: int = 1,
    finding: str | None = None,
) -> Decision:
    """Judge one comparison.

    Parameters
    ----------
    comparison
        Made at level 1 - alpha.
    margin
        Largest difference that would not matter, as a share.
    alpha
        Level of the test.
    p_adjusted
        p after adjustment for the family; the raw p for a family of one.
    family_size
        Comparisons that may receive a verdict in this run (K).
    finding
        Words of an open finding that blocks a verdict (answers in the corpus, another code path than
        production, expected items missing), or None.

    Returns
    -------
    The verdict with what it rests on.

    Raises
    ------
    DataError
        alpha or margin is no share, the interval is at another level, or a family of several comes without
        an adjusted p.
    """
    m_min = min_discordant(alpha, family_size)
    if not 0.0 <= margin <= 1.0:
        raise DataError(f"margin {margin} is not a share.", "Give points / 100: 0.05 for 5 points.")
    if abs(comparison.level - (1.0 - alpha)) > _LEVEL_TOLERANCE:
        raise DataError(
            f"the interval is at level {comparison.level}, alpha is {alpha}.",
            "Compare the arms again with level = 1 - alpha.",
        )
    if p_adjusted is None:
        if family_size > 1 and comparison.n > 0:
            raise DataError(
                f"a family of {family_size} comparisons needs an adjusted p.", "Judge the family as a whole."
            )
        p_adjusted = comparison.p
    interval = comparison.interval
    verdict = table_verdict(
        n=comparison.n,
        difference=comparison.difference,
        p_adjusted=p_adjusted,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        n_changed=comparison.n_changed,
        m_min=m_min,
        alpha=alpha,
        margin=margin,
        blocked=finding is not None,
    )
    return Decision(verdict, comparison, p_adjusted, alpha, margin, family_size, m_min, finding)


def decide_family(
    comparisons: Mapping[str, Comparison],
    margin: float = 0.05,
    alpha: float = 0.05,
    findings: Mapping[str, str] | None = None,
) -> dict[str, Decision]:
    """Judge all comparisons of the primary metric of one run together.

    Parameters
    ----------
    comparisons
        Name of the variant (or variant and category) to comparison.
    margin, alpha
        As for :func:`decide`.
    findings
        Name to the words of a finding that blocks this comparison.

    Returns
    -------
    Name to decision, in the order of the input. The family that Holm adjusts for holds the comparisons that
    can receive a verdict: neither blocked nor empty.

    Raises
    ------
    DataError
        As for :func:`decide`, or a finding for a comparison that is not there.
    """
    blocked = dict(findings or {})
    unknown = sorted(set(blocked) - set(comparisons))
    if unknown:
        raise DataError(f"a finding blocks {unknown[0]!r}, which was not compared.", "Use the same names.")
    raw = {
        name: comparison.p
        for name, comparison in comparisons.items()
        if comparison.p is not None and name not in blocked
    }
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    family_size = max(1, len(raw))
    return {
        name: decide(
            comparison,
            margin,
            alpha,
            # A blocked comparison is outside the family; its raw p is kept for the record.
            adjusted.get(name, comparison.p),
            family_size,
            blocked.get(name),
        )
        for name, comparison in comparisons.items()
    }


@dataclass(frozen=True)
class NeededQueries:
    """How many queries would settle an open comparison.

    Attributes
    ----------
    n
        Queries, or groups where queries are dependent.
    assumption
        "none-changes": nothing changes; "as-observed": as much changes as here; "margin-changes": the share
        that changes equals the margin, because fewer changed here than a difference of the margin needs.
    """

    n: int
    assumption: str


def needed_queries(decision: Decision) -> NeededQueries | None:
    """Give the size of the set that would tell a difference of the margin (80 % power).

    Parameters
    ----------
    decision
        A decision of row 5 or 6.

    Returns
    -------
    The size and what it assumes; None where n = 0, the margin is 0, or the formula gives no more than there
    is already.
    """
    comparison, margin = decision.comparison, decision.margin
    if comparison.n_units == 0 or margin == 0.0:
        return None
    alpha = decision.alpha / decision.family_size
    assumption = "as-observed"
    if comparison.n_changed == 0:
        needed, assumption = needed_n_no_change(margin, decision.alpha), "none-changes"
    elif comparison.graded or comparison.n_units < comparison.n:
        needed = needed_n_paired_mean(comparison.sd or 0.0, margin, alpha)
        # With few changes the count bound stands in for the bootstrap, and it needs at least this many.
        needed = max(needed or 0, needed_n_no_change(margin, decision.alpha) or 0)
    else:
        discordance = comparison.n_changed / comparison.n
        if discordance < margin:
            discordance, assumption = margin, "margin-changes"
        needed = needed_n_mcnemar(discordance, margin, alpha)
    if needed is None or needed <= comparison.n_units:
        return None
    return NeededQueries(needed, assumption)
