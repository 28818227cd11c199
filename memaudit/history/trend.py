"""The course of every figure over the kept audits, with the places where it is not comparable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from memaudit.changes import Break, Course, Trend
from memaudit.history.settings import Settings, differences

#: Audits on one page: half a year of weeks. Older ones stay in the history and are counted.
MAX_RUNS = 26


@dataclass(frozen=True)
class Point:
    """One audit of a series: when it ran, its figures, and what they depend on."""

    started: str
    figures: dict[str, float] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)


def trend(points: Sequence[Point], max_runs: int = MAX_RUNS) -> Trend | None:
    """Line up the figures of several audits.

    Parameters
    ----------
    points
        Complete audits of one series, oldest first, the present one last.
    max_runs
        Only so many of the newest are shown.

    Returns
    -------
    None for fewer than two audits: one point is no course. Figures are in the order of the newest audit that has
    them; one that an audit lacks is None there. A break stands before each audit whose encoder, thresholds or
    settings differ from the audit before it.
    """
    if len(points) < 2:
        return None
    shown = list(points[-max_runs:])
    names = list(dict.fromkeys(name for point in reversed(shown) for name in point.figures))
    breaks = []
    for i, (before, after) in enumerate(pairwise(shown), 1):
        reasons = differences(before.settings, after.settings)
        if reasons:
            breaks.append(Break(i, reasons))
    return Trend(
        runs=tuple(point.started for point in shown),
        courses=tuple(Course(name, tuple(point.figures.get(name) for point in shown)) for name in names),
        breaks=tuple(breaks),
        runs_before=len(points) - len(shown),
    )
