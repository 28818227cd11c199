"""Whether the rows that de-duplication drops are redundant: each is held against the row that was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memaudit import cluster
from memaudit.context import Context, Need
from memaudit.measures.dropped_rows import CannotLook, Dropped, FloatArray, dropped_rows, left_out_rows
from memaudit.model import (
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    Proposal,
    Section,
    Severity,
    Table,
)
from memaudit.text import normalised
from memaudit.wording import part_of, plural, say, sentences

#: A dropped row that is farther from the kept one says something else (the published check's line).
MIN_COS = 0.90
HIGH_SHARE, HIGH_ROWS, MEDIUM_SHARE = 0.20, 5, 0.05


#: Groups that the page shows, largest first.
GROUPS_ON_PAGE = 8


@dataclass
class DroppedGroup:
    """Dropped rows of one value of the key.

    Parameters
    ----------
    n_dropped
        All dropped rows, also those that could not be compared.
    cos
        Cosine to the kept row of each compared row, by its position in the list of dropped rows.
    below
        Positions of those below the threshold.
    vectors
        Compared dropped rows and the rows kept for them, each once.
    """

    value: Any
    n_dropped: int = 0
    cos: dict[int, float] = field(default_factory=dict)
    below: list[int] = field(default_factory=list)
    vectors: list[FloatArray] = field(default_factory=list)
    kept: dict[int, None] = field(default_factory=dict)


def compared(
    dropped: Dropped, kept_vectors: Mapping[int, FloatArray], min_cos: float, kept_texts: Sequence[str] = ()
) -> list[DroppedGroup]:
    """Hold every dropped row against its kept row.

    Parameters
    ----------
    kept_vectors
        Unit vector by row number of the audited table.
    min_cos
        A cosine below it counts as "not redundant".
    kept_texts
        Text by row number of the audited table, when the vectors were made of nothing but the texts: a dropped row
        that is its kept one after case, white space and the sign at its end is a repeat, whatever an encoder that
        reads case makes of it.

    Returns
    -------
    One group for each value that has dropped rows, in order of first appearance.
    """
    pairs = [
        (i, row, vector)
        for i, (row, vector) in enumerate(zip(dropped.kept, dropped.vectors, strict=True))
        if row is not None and vector is not None and row in kept_vectors
    ]
    cosines: dict[int, float] = {}
    if pairs:
        cos = cluster.exact_cos(
            np.array([vector for _, _, vector in pairs]), np.array([kept_vectors[row] for _, row, _ in pairs])
        )
        cosines = {i: float(c) for (i, _, _), c in zip(pairs, cos, strict=True)}
    groups: dict[Any, DroppedGroup] = {}
    for value in dropped.values:
        groups.setdefault(value, DroppedGroup(value)).n_dropped += 1
    for i, row, vector in pairs:
        group = groups[dropped.values[i]]
        group.cos[i] = cosines[i]
        if cosines[i] < min_cos and not (kept_texts and _folded(dropped.texts[i]) == _folded(kept_texts[row])):
            group.below.append(i)
        if row not in group.kept:
            group.kept[row] = None
            group.vectors.append(kept_vectors[row])
        group.vectors.append(vector)
    return list(groups.values())


def severity_of(n_below: int, n_compared: int, limits: tuple[float, float, float]) -> Severity:
    """Judge the share of dropped rows that were not redundant; `limits` are high share, high rows, medium share."""
    high_share, high_rows, medium_share = limits
    share = n_below / n_compared
    if share >= high_share and n_below >= high_rows:
        return Severity.HIGH
    return Severity.MEDIUM if share >= medium_share else Severity.LOW


class DeduplicationProbe:
    """Cosine of each dropped row to the kept one, by value of the key."""

    name: ClassVar[str] = "deduplication"
    title: ClassVar[str] = "Are the rows that de-duplication drops redundant?"
    codes: ClassVar[Mapping[str, str]] = {"MA302": "dedup-key-too-coarse"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.VECTORS})
    lanes: ClassVar[frozenset[str]] = frozenset({"generator"})
    reads: ClassVar[frozenset[str]] = frozenset({"dropped_table", "dropped_kept_ref", "dedup", "group_field", "hits"})

    def run(self, ctx: Context) -> ProbeResult:
        """Find the dropped rows and compare each with the row that was kept."""
        dropped = dropped_rows(ctx)
        if isinstance(dropped, CannotLook):
            return ProbeResult(not_looked={"MA302": (dropped.reason, dropped.option)})
        if not dropped.values:
            return ProbeResult(figures={"rows_dropped": 0})
        min_cos = ctx.limit("MA302", "min_cos", MIN_COS)
        place = {row: i for i, row in enumerate(ctx.vectors.rows.tolist())}
        kept_vectors = {
            row: ctx.vectors.matrix[place[row]] for row in set(dropped.kept) if row is not None and row in place
        }
        groups = compared(dropped, kept_vectors, min_cos, _encoded_texts(ctx))
        n_compared = sum(len(g.cos) for g in groups)
        left_out = left_out_rows(dropped, n_compared)
        if not n_compared:
            reason = say("none of the {rows} could be compared with the row that was kept",
                         rows=plural(len(dropped.values), "dropped row"))  # fmt: skip
            return ProbeResult(not_looked={"MA302": (reason, "dropped_kept_ref")}, left_out=left_out)
        n_below = sum(len(g.below) for g in groups)
        figures = {
            "rows_dropped": len(dropped.values),
            "dropped_below_090": n_below,
            "share_below_090": n_below / n_compared,
        }
        shown = {str(g.value): _group_figures(ctx, g) for g in groups}
        section = _section(ctx, dropped, groups, shown, figures, n_compared, min_cos)
        if not n_below:
            return ProbeResult((), (section,), figures, left_out=left_out)
        finding = _finding(ctx, dropped, groups, shown, figures, n_compared, min_cos)
        proposal = Proposal(
            "review",
            finding.evidence.ids,
            say("dropped from {table} as repeats of `{column}`, but below {cos:.2f} to the row that was kept",
                table=dropped.table, column=dropped.column, cos=min_cos),
            "MA302",
        )  # fmt: skip
        return ProbeResult((finding,), (section,), figures, left_out=left_out, proposals=(proposal,))


def _folded(text: str) -> str:
    return normalised(text).rstrip(" .!。！…")


def _encoded_texts(ctx: Context) -> Sequence[str]:
    """Return the texts of the rows when they are all that was encoded here, else nothing."""
    others = ctx.roles.embedded_text is not None or ctx.roles.embedded_fields
    return () if others or ctx.vectors.encoder.name == "stored" else ctx.records.texts


# -- what is shown ------------------------------------------------------------------------------


def _group_figures(ctx: Context, group: DroppedGroup) -> dict[str, Any]:
    cos = cluster.within_group(np.array(group.vectors)) if group.vectors else None
    hits = [ctx.hits[row] for row in group.kept] if ctx.hits is not None else [None]
    known = [int(h) if h == int(h) else h for h in hits if h is not None]
    return {
        "dropped": group.n_dropped,
        "below": len(group.below),
        "compared": len(group.cos),
        "cosine_to_kept": float(np.mean(list(group.cos.values()))) if group.cos else None,
        "group_mean": cos.mean_cos if cos is not None else None,
        "group_min": cos.min_cos if cos is not None else None,
        "hits_on_kept": sum(known) if known and len(known) == len(hits) else None,
    }


def _finding(
    ctx: Context,
    dropped: Dropped,
    groups: Sequence[DroppedGroup],
    shown: Mapping[str, Mapping[str, Any]],
    figures: Mapping[str, Any],
    n_compared: int,
    min_cos: float,
) -> Finding:
    blamed = sorted((g for g in groups if g.below), key=lambda g: -len(g.below))
    below = sorted(i for g in blamed for i in g.below)
    limits = (
        ctx.limit("MA302", "high_share", HIGH_SHARE),
        ctx.limit("MA302", "high_rows", HIGH_ROWS),
        ctx.limit("MA302", "medium_share", MEDIUM_SHARE),
    )
    worst = blamed[0]
    notes = [
        say("Severity: high from {high:.0f} % and {rows} rows, medium from {medium:.0f} % of the compared rows.",
            high=100 * limits[0], rows=int(limits[1]), medium=100 * limits[2])
    ]  # fmt: skip
    if ctx.config.dropped_table is None:
        notes.append(say("Dropped means here: every row of a group but the first in row order, which stays."))
    if n_compared < len(dropped.values):
        notes.append(
            say("{rows} could not be compared.", rows=plural(len(dropped.values) - n_compared, "dropped row"))
        )  # fmt: skip
    return Finding(
        "MA302",
        "dedup-key-too-coarse",
        severity_of(len(below), n_compared, limits),
        {"table": dropped.table, "column": dropped.column, "values": [g.value for g in blamed]},
        say(
            "De-duplication by `{column}` drops {below} rows that are no repeats: cosine below {cos:.2f} to the row "
            "that stays.",
            below=part_of(len(below), n_compared),
            column=dropped.column,
            cos=min_cos,
        ),
        {**figures, "compared": n_compared, "min_cos": min_cos, "groups": dict(shown)},
        Evidence(
            tuple(_example(ctx, dropped, worst, i) for i in worst.below[: ctx.config.max_examples]),
            len(below),
            tuple(dropped.keys[i] for i in below),
        ),
        fix=say(
            "Do not drop by `{column}` alone: require a cosine of at least {cos:.2f} to the kept row as well, or make "
            "the key finer. Look through the rows listed here before they are gone.",
            column=dropped.column,
            cos=min_cos,
        ),
        caveat=sentences(*notes),
        lane="generator",
    )


def _example(ctx: Context, dropped: Dropped, group: DroppedGroup, i: int) -> Example:
    row = dropped.kept[i]
    key = "" if row is None else str(ctx.records.keys[row])
    note = say("cosine {cos:.3f} to kept row {key}", cos=group.cos[i], key=key)
    return Example(dropped.texts[i], dropped.keys[i], note)


def _section(
    ctx: Context,
    dropped: Dropped,
    groups: Sequence[DroppedGroup],
    shown: Mapping[str, Mapping[str, Any]],
    figures: Mapping[str, Any],
    n_compared: int,
    min_cos: float,
) -> Section:
    ordered = sorted(groups, key=lambda g: (-len(g.below), -g.n_dropped))
    rows = []
    for group in ordered:
        own = shown[str(group.value)]
        rows.append(
            {
                "value": group.value,
                "dropped": group.n_dropped,
                "below": len(group.below),
                "cosine": own["cosine_to_kept"],
                "span": None if own["group_mean"] is None else (own["group_min"], own["group_mean"]),
                "hits": own["hits_on_kept"],
                **({"_mark": "hot"} if group.below else {}),
            }
        )
    columns = [
        Column("value", dropped.column, Cell.VALUE),
        Column("dropped", say("dropped"), Cell.COUNT),
        Column("below", say("below {cos:.2f}", cos=min_cos), Cell.COUNT),
        Column("cosine", say("mean cosine to the kept row"), Cell.COSINE),
        Column("span", say("smallest and mean cosine of the group"), Cell.SPAN),
        Column("hits", say("recalls of the kept row"), Cell.COUNT),
    ]
    if ctx.hits is None:
        columns.pop()
    below = figures["dropped_below_090"]
    answer = (
        say("{below} dropped rows are below {cos:.2f} to the row that stays: they were no repeats.",
            below=part_of(below, n_compared), cos=min_cos)
        if below
        else say("None of {rows} is below {cos:.2f} to the row that stays.",
                 rows=plural(n_compared, "dropped row"), cos=min_cos)
    )  # fmt: skip
    caption = say("Dropped rows by value, worst first; n = {n} compared of {all}", n=n_compared,
                  all=plural(len(dropped.values), "dropped row"))  # fmt: skip
    how = (
        say("Dropped rows: every row of a group but the first in row order.")
        if ctx.config.dropped_table is None
        else say("Dropped rows: table {table}; kept row: {how}.", table=dropped.table,
                 how=ctx.config.dropped_kept_ref or say("first row of the same value"))
    )  # fmt: skip
    return Section(
        "deduplication",
        say("Dropped as repeats"),
        say("Are the rows that de-duplication by `{column}` drops redundant?", column=dropped.column),
        answer,
        ("MA302",),
        (
            Table(
                "dropped",
                caption,
                tuple(columns),
                tuple(rows),
                reference=min_cos,
                show=GROUPS_ON_PAGE,
            ),
        ),
        (
            how,
            say("Smallest and mean cosine over all pairs of the group, the kept row included."),
            say("A row counts as no repeat when its cosine to the kept row is below {cos:.2f}.", cos=min_cos),
        ),
    )


PROBE = DeduplicationProbe()
