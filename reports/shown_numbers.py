"""Numbers, states and sizes as the reader sees them: one wording for the page and the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memaudit.model import Finding, Json, LaneState, Severity
from memaudit.reports.shown_text import as_text
from memaudit.wording import key, per_cent, plural, say, term

#: Shape and word of a severity: never colour alone.
SEVERITY_SIGNS: Mapping[Severity, str] = {
    Severity.HIGH: "■",
    Severity.MEDIUM: "▲",
    Severity.LOW: "●",
    Severity.INFO: "○",
}
LANE_SIGNS: Mapping[LaneState, str] = {
    LaneState.BOTTLENECK: "■",
    LaneState.PROBLEM: "▲",
    LaneState.NO_FINDING: "✓",
    LaneState.NOT_ENOUGH_DATA: "◌",
    LaneState.NOT_RUN: "–",
}

#: Codes of the model that a person reads as words; JSON keeps the codes.
_WORDS = (
    key("high"), key("medium"), key("low"), key("info"),
    key("measured"), key("sampled"), key("under-powered"),
    key("ok"), key("skipped"), key("failed"),
    key("bottleneck"), key("problem"), key("no finding"), key("not enough data"), key("not run"),
    key("new"), key("worse"), key("better"), key("fixed"), key("accepted"), key("unchanged"), key("not compared"),
    key("data collection"), key("generator"), key("retrieval"),
)  # fmt: skip

# What "how big is it?" means for a rule, in the figure names of the vocabulary. A rule that is not here is
# sized by its rows: `rows_affected` of `rows`, else the rows of its evidence.
_SIZES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "MA101": (key("{rows_on_fallback} of {rows} rows"), ("rows_on_fallback", "rows")),
    "MA102": (key("{rows_outside} of {rows} rows"), ("rows_outside", "rows")),
    "MA201": (key("{rows_reaching_branch} of {rows} rows reach it"), ("rows_reaching_branch", "rows")),
    "MA301": (
        key("{clusters} clusters, {values} values"),
        ("clusters=clusters@0.95", "values=distinct_values"),
    ),
    "MA302": (key("{dropped_below_090} of {compared} dropped rows"), ("dropped_below_090", "compared")),
    "MA303": (key("{group_rows} of {rows} rows"), ("group_rows", "rows")),
    "MA305": (key("{extra_copies_identical} of {rows} rows"), ("extra_copies_identical", "rows")),
    "MA306": (key("{near_rows} of {valid_rows} rows"), ("near_rows", "valid_rows")),
    "MA310": (key("{never_hit} of {rows} rows"), ("never_hit", "rows")),
    "MA401": (
        key("{template_constant_chars} of {embedded_chars} characters"),
        ("template_constant_chars", "embedded_chars"),
    ),
    "MA402": (key("{variables} variables"), ("variables",)),
    "MA501": (key("{queries} queries"), ("queries",)),
    "MA503": (key("{lists_changed} of {queries} lists changed"), ("lists_changed", "queries")),
    "MA601": (key("{distinct} distinct in {rows} rows"), ("distinct", "rows")),
    "MA602": (key("{rows} of {limit} rows"), ("rows", "limit")),
    "MA603": (key("{rows} rows, limit {limit}"), ("rows", "limit")),
}
# The ids of evidence name rows, except in rules about query sets: queries, or what stands here.
_ABOUT_QUERIES = ("MA5", "MA7")
_OTHER_EVIDENCE: Mapping[str, tuple[str, str]] = {
    "MA702": ("document", "documents"),
    "MA708": ("document", "documents"),
    "MA717": ("prediction", "predictions"),
    "MA722": ("document", "documents"),
}
# Figures that a share of the same finding may be a share of.
_BASES = ("rows", "valid_rows", "rows_dropped", "group_rows", "scored_rows", "queries")
_COSINE_NAMES = ("cos", "cosine", "group_mean", "group_min", "within_group")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number (a bool is none)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def number(value: Any) -> str:
    """Give any number as it is: separators, at most six significant digits behind the point."""
    if not is_number(value):
        return "-" if value is None or isinstance(value, float) else as_text(value)
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    if abs(value) >= 1e6:
        return f"{value:,.0f}"
    if abs(value) >= 1:
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return f"{value:.6g}"


def cosine(value: Any) -> str:
    """Give a cosine with three decimals."""
    return f"{value:.3f}" if is_number(value) else number(value)


def share(value: Any, whole: int | None = None) -> str:
    """Give a fraction 0..1 as per cent: one decimal, none when the base is known to be below 20."""
    if not is_number(value):
        return number(value)
    decimals = 0 if whole is not None and whole < 20 else 1
    return per_cent(f"{100 * value:.{decimals}f}")


def figure(name: str, value: Json, figures: Mapping[str, Json]) -> str:
    """Give one figure of a finding by what its name says it is; the raw number stands in report.json."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {figure(str(key), inner, value)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(figure(name, item, figures) for item in value[:20]) + (", …" if len(value) > 20 else "")
    if is_number(value) and not isinstance(value, int):
        if name.startswith("share") or name.endswith("_share"):
            wholes = [figures[base] for base in _BASES if is_number(figures.get(base))]
            return share(value, int(min(wholes)) if wholes else None)
        if any(part in name for part in _COSINE_NAMES):
            return cosine(value)
    return number(value)


def size_of(finding: Finding) -> str:
    """Give the size of a finding as count and base, "" where its figures do not tell.

    Evidence without row keys may be lines of code: it is never called rows.
    """
    figures = finding.figures
    sentence, names = _SIZES.get(finding.code, ("", ()))
    # `field=figure` where a figure's name cannot stand in a sentence
    parts = {name.partition("=")[0]: figures.get(name.rpartition("=")[2]) for name in names}
    if parts and all(is_number(part) for part in parts.values()):
        return say(sentence, **parts)
    rows, affected = figures.get("rows"), figures.get("rows_affected")
    if isinstance(rows, int) and isinstance(affected, int) and affected <= rows:
        return say("{n} of {rows} rows", n=affected, rows=rows)
    total = finding.evidence.total
    if finding.evidence.ids and len(finding.evidence.ids) <= total:
        if finding.code.startswith(_ABOUT_QUERIES):
            return _size_in_queries(finding)
        if isinstance(rows, int) and not isinstance(rows, bool) and total <= rows:
            return say("{n} of {rows} rows", n=total, rows=rows)
        return say("{n} rows", n=total) if total != 1 else say("1 row")
    return ""


def _size_in_queries(finding: Finding) -> str:
    total, queries = finding.evidence.total, finding.figures.get("queries")
    if finding.code in _OTHER_EVIDENCE:
        return plural(total, *_OTHER_EVIDENCE[finding.code])
    if isinstance(queries, int) and not isinstance(queries, bool) and total < queries:
        return say("{n} of {queries} queries", n=total, queries=queries)
    return plural(total, "query", "queries")


def in_words(state: str) -> str:
    """Give a state of the vocabulary with blanks, in the reader's language: `not enough data`."""
    return term(state.replace("-", " "))


def word(code: str) -> str:
    """Give a severity, a basis or a lane in the reader's language."""
    return term(code)
