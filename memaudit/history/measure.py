"""The one figure of a finding that says whether it got worse, and which way worse is.

Shares are preferred to counts: a store that grows by a tenth with the same faults has not got worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from memaudit.model import Finding, Json, Severity

#: A figure has moved for the worse (or the better) when it moved by more than this, relative to what it was.
MOVED_BY = 0.10


class Measure(NamedTuple):
    """A figure, its value, and the direction of "worse": +1 up, -1 down, 0 neither.

    `cases` is what a share is a share of in numbers (rows concerned), None where that is not known or the figure
    is no share.
    """

    name: str
    value: float | None
    worse: int
    cases: float | None = None


#: Rule -> figure, or `part/whole` of two figures; a leading `-` where a fall is worse.
_MEASURES: Mapping[str, str] = {
    "MA003": "share_blank",
    "MA004": "undecodable_rows/rows",
    "MA010": "share",
    "MA011": "share",
    "MA015": "rows_in_groups/rows",
    "MA016": "share_orphan",
    "MA017": "unknown_token_share_cjk",
    "MA018": "median_pairwise_cosine",
    "MA019": "share_chars_never_embedded",
    "MA101": "share_on_fallback",
    "MA102": "share_outside",
    "MA103": "patterns_never_matching/patterns_total",
    "MA106": "values_seen/domain_size",
    "MA201": "share_unreachable",
    "MA301": "clusters_per_value_at_090",
    "MA302": "share_below_090",
    "MA303": "group_rows/rows",
    "MA304": "-within_group_cosine_mean",
    "MA305": "share_extra",
    "MA306": "extra_rows_at_095/valid_rows",
    "MA308": "groups_without_survivor/duplicate_groups",
    "MA309": "share_across_owner",
    "MA310": "share_never_hit",
    "MA401": "share_constant",
    "MA508": "queries_where_score_grows_with_rank/queries",
    "MA509": "terms_never_found/terms",
    "MA603": "share_of_limit",
    "MA605": "never_matching/filters",
    "MA606": "share_at_default",
    "MA608": "share_without_rule",
    "MA701": "share",
    "MA801": "share_in_all",
    "MA802": "share",
    "MA803": "credential_rows",
    "MA804": "candidates/rows",
    "MA805": "old_side_still_active/supersede_edges",
    "MA806": "subjects_with_several_active_values/subjects",
}
#: Rules whose finding is a state, not a size: no figure of theirs is better or worse.
_WITHOUT = frozenset({"MA001", "MA104", "MA402", "MA505", "MA506", "MA601", "MA602", "MA604", "MA607", "MA609"})


def measure(finding: Finding) -> Measure:
    """Return the figure by which a finding is compared.

    Returns
    -------
    By rule; for a rule that is not listed its only share, else its rows as a share of all rows. An empty name
    and None where no figure has a direction (facts of severity `info`, states).
    """
    if finding.severity is Severity.INFO or finding.code in _WITHOUT:
        return Measure("", None, 0)
    figures = finding.figures
    names = [rule] if (rule := _MEASURES.get(finding.code)) is not None else []
    shares = [name for name in figures if name == "share" or name.startswith("share_")]
    names += shares if len(shares) == 1 else []
    for name in (*names, "rows_affected/rows", "rows_affected"):
        plain = name.removeprefix("-")
        value = _value(figures, plain)
        if value is not None:
            return Measure(plain, value, -1 if name.startswith("-") else 1, _cases(finding, plain))
    total, rows = finding.evidence.total, number(figures.get("rows"))
    if total > 0:
        if rows and total <= rows:
            return Measure("evidence/rows", total / rows, 1, float(total))
        return Measure("evidence", float(total), 1)
    return Measure("", None, 0)


def _cases(finding: Finding, name: str) -> float | None:
    """Return how many a share stands for: the part of a ratio, else the rows of the evidence."""
    if "/" in name:
        return number(finding.figures.get(name.partition("/")[0]))
    return float(finding.evidence.total) if name.startswith("share") and finding.evidence.total > 0 else None


def _value(figures: Mapping[str, Json], name: str) -> float | None:
    part, slash, whole = name.partition("/")
    value = number(figures.get(part))
    if not slash or value is None:
        return value
    base = number(figures.get(whole))
    return value / base if base else None


def number(value: Any) -> float | None:
    """Return a finite number as a float, None for everything else (True is no number)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def worsened_by(before: float, after: float, worse: int) -> float:
    """Return how far a figure moved for the worse, relative to what it was; negative for the better.

    A figure that was 0 and is not any more moved by infinity.
    """
    moved = (after - before) * worse
    if moved == 0:
        return 0.0
    return moved / abs(before) if before else math.copysign(math.inf, moved)
