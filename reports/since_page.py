"""What changed since the last audit, laid out for the page: words, numbers and the geometry of sparklines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.changes import Change, Changes, ChangeState, Course, Move, Trend
from memaudit.model import Audit, Severity
from memaudit.reports.shown_numbers import SEVERITY_SIGNS, figure, in_words, share, word
from memaudit.reports.shown_text import shown
from memaudit.reports.table_page import Caps
from memaudit.wording import plural, say, space_between

#: Sign and word of a state: never colour alone. A finding that is as it was has no mark.
STATE_SIGNS: Mapping[ChangeState, str] = {
    ChangeState.NEW: "+",
    ChangeState.WORSE: "↑",
    ChangeState.BETTER: "↓",
    ChangeState.FIXED: "✓",
    ChangeState.ACCEPTED: "~",
    ChangeState.UNCHANGED: "=",
    ChangeState.NOT_COMPARED: "?",
}
# Height of a sparkline in pixels, and what stays free of it above, below (pixels) and on both sides (per cent).
HEIGHT = 30
_EDGE = 5.0
_SIDE = 3.0
#: Characters of a figure's name: the name holds a column's, and columns of people can be long.
_NAME_SHOWN = 120
#: Values written out beside a sparkline.
_VALUES_SHOWN = 4


@dataclass(frozen=True)
class SparkView:
    """A sparkline: segments and dots as (x in per cent, y in pixels); `breaks` are x of broken comparisons."""

    segments: tuple[tuple[float, float, float, float], ...]
    dots: tuple[tuple[float, float], ...]
    last: tuple[float, float] | None
    breaks: tuple[float, ...]

    @property
    def path(self) -> str:
        """The segments as one SVG path, x in units of a hundredth: a tenth of the size of as many lines."""
        words: list[str] = []
        at: tuple[float, float] | None = None
        for x1, y1, x2, y2 in self.segments:
            if at != (x1, y1):
                words.append(f"M{x1:g} {y1:g}")
            words.append(f"L{x2:g} {y2:g}")
            at = (x2, y2)
        return "".join(words)


@dataclass(frozen=True)
class CourseView:
    """One figure: its name, its course and its last values in text."""

    name: str
    spark: SparkView
    values: str
    low: str
    high: str


@dataclass(frozen=True)
class ChangeView:
    """One finding that is not as it was."""

    state: str
    sign: str
    words: str
    severity: str
    severity_word: str
    severity_sign: str
    code: str
    href: str
    title: str
    figure: str
    reason: str


@dataclass(frozen=True)
class SinceView:
    """The section "Since the last audit", or "Against the baseline"."""

    heading: str
    summary: str
    rows: str
    breaks: tuple[str, ...]
    changes: tuple[ChangeView, ...]
    changes_more: int
    courses: tuple[CourseView, ...]
    courses_more: int
    steady: tuple[tuple[str, str], ...]
    steady_more: int
    caption: str
    earlier_breaks: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def since_view(audit: Audit, anchors: Mapping[str, str], caps: Caps) -> SinceView | None:
    """Lay out changes and trend; None for an audit without an earlier one.

    Parameters
    ----------
    anchors
        Where each finding stands on the page, by fingerprint.
    """
    if audit.changes is None and audit.trend is None:
        return None
    changes = audit.changes or Changes(since="")
    told = [c for c in changes.findings if c.state is not ChangeState.UNCHANGED]
    trend = audit.trend
    moved, steady = _split(trend) if trend is not None else ([], [])
    if trend is None:  # an audit before this one, but no course: the two values are the course
        trend = Trend((changes.since, audit.run.started), ())
        moved = [_pair(move) for move in changes.figures]
    return SinceView(
        heading=say("Against the baseline") if changes.against else say("Since the last audit"),
        summary=summary(changes),
        rows=rows_sentence(changes),
        breaks=changes.breaks[: caps.notes],
        changes=tuple(_change_view(c, anchors) for c in told[: caps.rows]),
        changes_more=max(0, len(told) - caps.rows),
        courses=tuple(_course_view(course, trend) for course in moved[: caps.figures]),
        courses_more=max(0, len(moved) - caps.figures),
        steady=tuple(
            (_name(course.name), value_text(course.name, course.values[-1])) for course in steady[: caps.figures]
        ),
        steady_more=max(0, len(steady) - caps.figures),
        caption=_caption(trend),
        earlier_breaks=tuple(
            (moment(trend.runs[item.run]), "; ".join(item.reasons))
            for item in trend.breaks[: caps.notes]
            if item.run < len(trend.runs) - 1
        ),
        notes=changes.notes[: caps.notes],
    )


def summary(changes: Changes) -> str:
    """Say in one sentence what became of the findings; states without a finding are left out."""
    counts = [
        say("{n} {state}", n=n, state=in_words(state.value))
        for state in ChangeState
        if (n := sum(1 for c in changes.findings if c.state is state))
    ]
    found = say(", ").join(counts) if counts else say("no findings then or now")
    if changes.against:
        return say("Against the baseline {name}: {found}.", name=shown(changes.against, 60).text, found=found)
    return say("Since {time}: {found}.", time=moment(changes.since), found=found)


def rows_sentence(changes: Changes) -> str:
    """Say how many rows there were and are, and how many were added and removed when their keys are known."""
    before, after = changes.rows_before, changes.rows_after
    if before is None or after is None:
        return ""
    if changes.rows_added is not None and changes.rows_removed is not None:
        return say(
            "Rows: {before} then, {after} now; {added} added, {removed} removed.",
            before=before, after=after, added=changes.rows_added, removed=changes.rows_removed,
        )  # fmt: skip
    return say(
        "Rows: {before} then, {after} now. How many were added and removed is not known: no keys to compare.",
        before=before, after=after,
    )  # fmt: skip


def moment(time: str) -> str:
    """Give a time of an audit to the minute: `2026-11-30 06:00 UTC`."""
    text = shown(time, 40).text
    day, letter, clock = text.partition("T")
    if not letter:
        return text
    zone = say("UTC") if clock.endswith(("+00:00", "Z")) else clock[8:].lstrip(".0123456789")
    return f"{day} {clock[:5]} {zone}".rstrip()


def value_text(name: str, value: float | None) -> str:
    """Give a figure of the trend by what its name says it is; a ratio is shown as per cent."""
    plain = name.rpartition(" ")[2]
    if value is None:
        return "-"
    if "/" in plain:
        return share(value)
    return shown(figure(plain, int(value) if value.is_integer() and abs(value) > 1 else value, {}), 40).text


def change_text(change: Change) -> str:
    """Give the figure of a change: `share_below_090 37.7 % → 45.1 %`, "" when none was compared."""
    if not change.figure or (change.before is None and change.after is None):
        return ""
    name = change.figure.replace("evidence/rows", say("rows concerned"))
    values = [value_text(change.figure, v) for v in (change.before, change.after) if v is not None]
    return f"`{name}` " + " → ".join(values)


def _change_view(change: Change, anchors: Mapping[str, str]) -> ChangeView:
    return ChangeView(
        state=change.state.value,
        sign=STATE_SIGNS[change.state],
        words=in_words(change.state.value),
        severity=change.severity,
        severity_word=word(change.severity),
        severity_sign=SEVERITY_SIGNS[Severity.of(change.severity)],
        code=shown(change.code, 20).text,
        href=anchors.get(change.fingerprint, ""),
        title=change.title,
        figure=change_text(change),
        reason=change.reason,
    )


def _split(trend: Trend) -> tuple[list[Course], list[Course]]:
    """Part figures that ever moved from those that are the same in every audit shown."""
    moved = [course for course in trend.courses if len(set(course.values)) > 1]
    return moved, [course for course in trend.courses if len(set(course.values)) == 1]


def _pair(move: Move) -> Course:
    return Course(move.name, (float(move.before), float(move.after)))


def _name(name: str) -> str:
    made = shown(name, _NAME_SHOWN)
    return made.text if made.cut_from is None else f"{made.text}…"


def _course_view(course: Course, trend: Trend) -> CourseView:
    numbers = [value for value in course.values if value is not None]
    broken = {item.run for item in trend.breaks}
    return CourseView(
        name=_name(course.name),
        spark=sparkline(course.values, broken),
        values=_last_values(course, broken),
        low=value_text(course.name, min(numbers, default=None)),
        high=value_text(course.name, max(numbers, default=None)),
    )


def _last_values(course: Course, broken: set[int]) -> str:
    n = len(course.values)
    text = "… " if n > _VALUES_SHOWN else ""
    for i in range(max(0, n - _VALUES_SHOWN), n):
        if i > max(0, n - _VALUES_SHOWN):
            text += " ‖ " if i in broken else " → "
        text += value_text(course.name, course.values[i])
    return text


def sparkline(values: Sequence[float | None], broken: set[int]) -> SparkView:
    """Draw a course from its own lowest to its own highest value.

    Parameters
    ----------
    values
        Oldest first; None leaves a gap.
    broken
        Indices that are not comparable with the one before: no line leads to them.

    Returns
    -------
    Points one to the other by lines; a point without a neighbour is a dot; the last value is a dot of its own.
    """
    numbers = [value for value in values if value is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    n = len(values)

    def x(i: float) -> float:
        return round(_SIDE + (100 - 2 * _SIDE) * (i / (n - 1) if n > 1 else 0.5), 2)

    def y(value: float) -> float:
        part = (value - low) / (high - low) if high > low else 0.5
        return round(HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * part, 1)

    segments = []
    joined = set()
    for i in range(1, n):
        before, after = values[i - 1], values[i]
        if before is not None and after is not None and i not in broken:
            segments.append((x(i - 1), y(before), x(i), y(after)))
            joined |= {i - 1, i}
    last = values[-1] if values else None
    return SparkView(
        segments=tuple(segments),
        dots=tuple(
            (x(i), y(value)) for i, value in enumerate(values) if value is not None and i not in joined and i != n - 1
        ),
        last=None if last is None else (x(n - 1), y(last)),
        breaks=tuple(x(i - 0.5) for i in sorted(broken) if 0 < i < n),
    )


def _caption(trend: Trend) -> str:
    text = say(
        "Course of each figure over {audits}, {first} to {last}: one point an audit, from its lowest to its highest value.",
        audits=plural(len(trend.runs), "audit"), first=moment(trend.runs[0])[:10], last=moment(trend.runs[-1])[:10],
    )  # fmt: skip
    if any(None in course.values for course in trend.courses):
        text += space_between() + say("“-”: no such finding or figure in that audit.")
    if trend.breaks:
        text += space_between() + say("A dashed line and ‖ mark where values are not comparable.")
    if trend.runs_before:
        text += space_between() + say("{n} older audits are in the history.", n=trend.runs_before)
    return text
