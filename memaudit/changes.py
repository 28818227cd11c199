"""What differs between audits of one store: plain frozen data, a part of :mod:`memaudit.model`.

This module imports nothing of ours; how audits are compared stands in `memaudit.history`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class ChangeState(str, Enum):
    """What became of a finding since an earlier audit."""

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    FIXED = "fixed"
    ACCEPTED = "accepted"  # still there, but put into the baseline or suppressed since
    UNCHANGED = "unchanged"
    NOT_COMPARED = "not-compared"  # gone without an answer, or its figure is not comparable: `reason` says why


@dataclass(frozen=True)
class Change:
    """One finding in two audits.

    Parameters
    ----------
    figure
        The figure that was compared, "" when none has a direction.
    before, after
        Its values, None where there is none.
    reason
        Why it stands where it stands, when that is not plain from the figure.
    """

    state: ChangeState
    code: str
    kind: str
    severity: str
    title: str
    fingerprint: str
    figure: str = ""
    before: float | None = None
    after: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Move:
    """One headline figure that is not what it was."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Changes:
    """What differs from an earlier audit of the same store, or from what is accepted in a baseline.

    Parameters
    ----------
    since
        When the earlier audit started; "" against a baseline.
    against
        Name of the baseline, "" against an earlier audit.
    breaks
        Why figures of the two audits cannot be compared; empty when they can.
    findings
        Most urgent state first; findings that are as they were stand here too.
    rows_added, rows_removed
        By row key; None where the keys are not known for both audits.
    """

    since: str
    breaks: tuple[str, ...] = ()
    findings: tuple[Change, ...] = ()
    figures: tuple[Move, ...] = ()
    rows_before: int | None = None
    rows_after: int | None = None
    rows_added: int | None = None
    rows_removed: int | None = None
    notes: tuple[str, ...] = ()
    against: str = ""


@dataclass(frozen=True)
class Course:
    """One figure over the kept audits, oldest first; None where an audit has no value."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Break:
    """Between the audits `run - 1` and `run` figures are not comparable."""

    run: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Trend:
    """The course of every figure; `runs` are the times of the audits, oldest first, this one last."""

    runs: tuple[str, ...]
    courses: tuple[Course, ...]
    breaks: tuple[Break, ...] = ()
    runs_before: int = 0
