"""How alike the rows of each group are: one event recorded again and again, or different things under one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from memaudit import cluster
from memaudit.context import Context, Need
from memaudit.measures.group_figures import TIGHT_COS, GroupFigures, measured_groups
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
from memaudit.wording import part_of, plural, say, sentences

#: From this mean cosine on a group says one thing (the article's shell group: 0.983).
REPEATED_COS = 0.95
#: Fewer rows are a coincidence, not a habit of recording.
REPEATED_ROWS = 5
#: From this share of the store on a repeated group costs quality (vocabulary of findings).
REPEATED_SHARE = 0.20
#: Below this mean a group is about different things (the article's parameter and file groups: 0.72, 0.79).
MERGED_COS = 0.80
MERGED_ROWS = 3
#: A mean over fewer rows than this is a hint.
HINT_ROWS = 5


#: Groups that the page shows, largest first.
GROUPS_ON_PAGE = 10


class GroupsProbe:
    """Cosines within each group of the key that groups or labels rows."""

    name: ClassVar[str] = "groups"
    title: ClassVar[str] = "Are the rows of a group about one thing, and how often was it recorded?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA303": "repeated-collection",
        "MA304": "group-merges-different-things",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.VECTORS, Need.GROUP_FIELD})
    lanes: ClassVar[frozenset[str]] = frozenset({"generator", "data collection"})
    reads: ClassVar[frozenset[str]] = frozenset({"group_field", "value_field_role", "hits", "retrieval_log"})

    def run(self, ctx: Context) -> ProbeResult:
        """Measure every group, then judge the tight and the wide ones."""
        column = str(ctx.group_column)
        groups = measured_groups(ctx)
        repeated = _repeated(ctx, groups)
        merged = _merged(ctx, groups)
        findings, proposals = [], []
        if repeated:
            findings.append(_repeated_finding(ctx, column, groups, repeated))
            proposals += [
                Proposal(
                    "review",
                    tuple(ctx.records.keys[r] for r in g.rows.tolist()[1:]),
                    say("`{value}` was recorded {rows}; the first row is left out here", value=str(g.value),
                        rows=plural(g.n_rows, "time")),
                    "MA303",
                )
                for g in repeated
                if not g.readings
            ]  # fmt: skip
        is_broad = _is_broad(ctx, groups, merged)
        if merged and not (is_broad and ctx.config.value_field_role):
            findings.append(_merged_finding(ctx, column, groups, merged))
        section = _section(ctx, column, groups, repeated, merged, is_broad=is_broad)
        return ProbeResult(tuple(findings), (section,) if section else (), proposals=tuple(proposals))


def _repeated(ctx: Context, groups: Sequence[GroupFigures]) -> list[GroupFigures]:
    min_cos = ctx.limit("MA303", "min_mean_cos", REPEATED_COS)
    min_rows = ctx.limit("MA303", "min_rows", REPEATED_ROWS)
    return [g for g in groups if len(g.places) >= min_rows and g.mean_cos is not None and g.mean_cos >= min_cos]


def _merged(ctx: Context, groups: Sequence[GroupFigures]) -> list[GroupFigures]:
    max_cos = ctx.limit("MA304", "max_mean_cos", MERGED_COS)
    min_rows = ctx.limit("MA304", "min_rows", MERGED_ROWS)
    return [g for g in groups if len(g.places) >= min_rows and g.mean_cos is not None and g.mean_cos < max_cos]


def _is_broad(ctx: Context, groups: Sequence[GroupFigures], merged: Sequence[GroupFigures]) -> bool:
    """Say whether the field is a broad category: every larger group is wide, and it was not named as a key.

    A key named for grouping claims that the rows of a group belong together; a label may well be broad.
    """
    large = [g for g in groups if len(g.places) >= ctx.limit("MA304", "min_rows", MERGED_ROWS)]
    return ctx.config.group_field is None and len(large) >= 3 and len(merged) == len(large)


def _repeated_finding(
    ctx: Context, column: str, groups: Sequence[GroupFigures], repeated: Sequence[GroupFigures]
) -> Finding:
    n = ctx.records.n_rows
    events = [g for g in repeated if not g.readings]
    blamed = events or list(repeated)
    largest = max(blamed, key=lambda g: g.n_rows)
    later = sum(len(g.places) - 1 for g in repeated)
    first_cos = sum((g.first_cos or 0.0) * (len(g.places) - 1) for g in repeated) / later
    share = ctx.limit("MA303", "min_share", REPEATED_SHARE)
    notes = []
    if not events:
        severity = Severity.INFO
        notes.append(say("The rows of these groups differ in numbers or dates only: readings, not lost differences."))
    elif largest.readings is None:
        severity = Severity.LOW
        notes.append(say("There is no text column, so readings cannot be told from repeated events."))
    else:
        severity = Severity.MEDIUM if largest.n_rows >= share * n else Severity.LOW
    if events and len(events) < len(repeated):
        named = ", ".join(str(g.value) for g in repeated if g.readings)
        notes.append(say("Readings that differ in numbers only, not blamed: {named}.", named=named))
    notes.append(
        say(
            "Counted: groups of at least {rows} rows with a mean cosine of at least {cos:.2f}; medium from {share:.0f} "
            "% of the rows.",
            rows=int(ctx.limit("MA303", "min_rows", REPEATED_ROWS)),
            cos=ctx.limit("MA303", "min_mean_cos", REPEATED_COS),
            share=100 * share,
        )
    )
    if _without_vector([largest]):
        notes.append(say("`{value}`: {rows}{left}.", value=str(largest.value), rows=plural(largest.n_rows, "row"),
                         left=_without_vector([largest])))  # fmt: skip
    values = ctx.records.column(column)
    figures: dict[str, Any] = {
        "rows": n,
        "distinct_values": len({v for v in values if v is not None}),
        **{
            f"clusters@{t:g}": cluster.cluster_sizes(ctx.cluster_labels(t)).clusters
            for t in sorted(set(ctx.config.thresholds), reverse=True)
        },
        "group": largest.value,
        "group_rows": largest.n_rows,
        "group_mean": largest.mean_cos,
        "group_min": largest.min_cos,
        "hit_share": None if largest.recalled is None else largest.recalled / largest.n_rows,
        "cosine_first_to_others": first_cos,
        "groups": {str(g.value): g.shown() for g in repeated},
    }
    return Finding(
        "MA303",
        "repeated-collection",
        severity,
        {"table": ctx.table_name, "column": column, "values": [g.value for g in repeated]},
        _repeated_title(n, largest, repeated, events),
        figures,
        _evidence(ctx, repeated, largest),
        fix=""
        if severity is Severity.INFO
        else say(
            "Before writing, look whether a row this near is already there, and count it there instead of adding one. "
            "Then solve what `{value}` keeps running into.",
            value=str(largest.value),
        ),
        caveat=sentences(*notes),
        lane="data collection",
    )


def _repeated_title(
    n: int, largest: GroupFigures, repeated: Sequence[GroupFigures], events: Sequence[GroupFigures]
) -> str:
    if not events:
        return say(
            "{groups} near-identical readings (the largest, `{value}`: {rows}, mean cosine {mean:.3f}).",
            groups=say("1 group holds") if len(repeated) == 1 else say("{n} groups hold", n=len(repeated)),
            value=str(largest.value),
            rows=plural(largest.n_rows, "row"),
            mean=largest.mean_cos,
        )
    more = len(events) - 1
    return say(
        "`{value}` is one event recorded again and again: {rows} rows, mean cosine {mean:.3f}{hits}{more}.",
        value=str(largest.value),
        rows=part_of(largest.n_rows, n),
        mean=largest.mean_cos,
        hits=""
        if largest.recalled is None
        else say(", {recalled} ever recalled", recalled=part_of(largest.recalled, largest.n_rows)),
        more="" if not more else say("; {more} like it", more=plural(more, "smaller group")),
    )


def _merged_finding(
    ctx: Context, column: str, groups: Sequence[GroupFigures], merged: Sequence[GroupFigures]
) -> Finding:
    solid = [g for g in merged if len(g.places) >= HINT_ROWS]
    worst = min(solid or merged, key=lambda g: g.mean_cos if g.mean_cos is not None else 1.0)
    severity, notes = _merged_severity(ctx, column, groups, merged, bool(solid))
    notes.append(
        say(
            "Counted: groups of at least {rows} rows whose mean cosine over all pairs is below {cos:.2f}.",
            rows=int(ctx.limit("MA304", "min_rows", MERGED_ROWS)),
            cos=ctx.limit("MA304", "max_mean_cos", MERGED_COS),
        )
    )
    if _without_vector([worst]):
        notes.append(say("`{value}`: {rows}{left}.", value=str(worst.value), rows=plural(worst.n_rows, "row"),
                         left=_without_vector([worst])))  # fmt: skip
    rest = len(merged) - 1
    return Finding(
        "MA304",
        "group-merges-different-things",
        severity,
        {"table": ctx.table_name, "column": column, "values": [g.value for g in merged]},
        say(
            "The {rows} of `{value}` are about different things: mean cosine {mean:.3f}, smallest {least:.3f}{rest}.",
            value=str(worst.value),
            rows=plural(worst.n_rows, "row"),
            mean=worst.mean_cos,
            least=worst.min_cos,
            rest="" if not rest else say("; {rest} like it", rest=plural(rest, "other value")),
        ),
        {
            "rows": ctx.records.n_rows,
            "group": worst.value,
            "group_rows": worst.n_rows,
            "within_group_cosine_mean": worst.mean_cos,
            "within_group_cosine_min": worst.min_cos,
            "groups": {
                str(g.value): {
                    "group_rows": g.n_rows,
                    "within_group_cosine_mean": g.mean_cos,
                    "within_group_cosine_min": g.min_cos,
                }
                for g in merged
            },
        },
        _evidence(ctx, merged, worst),
        fix=""
        if severity is Severity.INFO
        else say(
            "Split `{value}`: give `{column}` a value for what happened, and do not merge, drop or count rows by it "
            "until then.",
            value=str(worst.value),
            column=column,
        ),
        caveat=sentences(*notes),
        lane="generator",
    )


def _merged_severity(
    ctx: Context, column: str, groups: Sequence[GroupFigures], merged: Sequence[GroupFigures], solid: bool
) -> tuple[Severity, list[str]]:
    """Judge wide groups: a broad category of a healthy store has nothing but wide groups."""
    notes = []
    small = sum(len(g.places) < HINT_ROWS for g in merged)
    if small:
        notes.append(
            say("A hint only where a group has fewer than {hint} rows: {small}.", hint=HINT_ROWS,
                small=plural(small, "group"))
        )  # fmt: skip
    role = "group_field" if ctx.roles.group_field is not None else "value_field"
    if role in ctx.roles.guessed and column not in (ctx.config.group_field, ctx.config.value_field):
        notes.append(say("The field was found by looking: it may be a category that is meant to be broad."))
        return Severity.INFO, notes
    if ctx.config.value_field_role:
        notes.append(
            say("The values are meant to be: {role}. Then wide groups are right.", role=ctx.config.value_field_role)
        )
        return Severity.LOW, notes
    if _is_broad(ctx, groups, merged):
        notes.append(
            say("Every one of the {n} larger groups is this wide: `{column}` looks like a broad category. If it is "
                "meant to be one, say so with `value_field_role`.", n=len(merged), column=column)
        )  # fmt: skip
        return Severity.LOW, notes
    return (Severity.MEDIUM if solid else Severity.LOW), notes


def _evidence(ctx: Context, groups: Sequence[GroupFigures], shown: GroupFigures) -> Evidence:
    """Give all rows of the groups, and the first row of one of them beside those farthest from it."""
    rows = sorted(r for g in groups for r in g.rows.tolist())
    cos = cluster.cosine_to(ctx.vectors.matrix[shown.places], 0)
    farthest = [i for i in np.argsort(cos, kind="stable").tolist() if i != 0]
    examples = []
    for i in [0, *farthest][: ctx.config.max_examples]:
        row = int(ctx.vectors.rows[shown.places[i]])
        note = say("first row of the group") if i == 0 else say("cosine {cos:.3f} to the first row", cos=float(cos[i]))
        examples.append(Example(ctx.records.texts[row], ctx.records.keys[row], note))
    return Evidence(tuple(examples), len(rows), tuple(ctx.records.keys[r] for r in rows))


def _without_vector(groups: Sequence[GroupFigures]) -> str:
    """Say how many rows of the groups no cosine is about, "" for none."""
    left = sum(g.n_rows - len(g.places) for g in groups)
    return say(", {n} of them without a vector", n=left) if left else ""


def _reading(
    group: GroupFigures, repeated: Sequence[GroupFigures], merged: Sequence[GroupFigures], *, is_broad: bool
) -> str:
    if group.mean_cos is None:
        return say("one row") if group.n_rows == 1 else say("too few vectors")
    if group in repeated:
        return say("readings: numbers differ") if group.readings else say("repeated collection")
    if group in merged:
        return say("wide, as all are") if is_broad else say("merges different things")
    if group.min_cos is not None and group.min_cos >= TIGHT_COS:
        return say("tight")
    return say("mixed")


def _section(
    ctx: Context,
    column: str,
    groups: Sequence[GroupFigures],
    repeated: Sequence[GroupFigures],
    merged: Sequence[GroupFigures],
    *,
    is_broad: bool,
) -> Section | None:
    shown = [g for g in groups if g.mean_cos is not None]
    if not shown:
        return None
    rows = [
        {
            "value": g.value,
            "rows": g.n_rows,
            "span": (g.min_cos, g.mean_cos),
            "min": g.min_cos,
            "mean": g.mean_cos,
            "recalled": None if g.recalled is None else f"{g.recalled:,}/{g.n_rows:,}",
            "reading": _reading(g, repeated, merged, is_broad=is_broad),
            **({"_mark": "hot"} if (g in merged and not is_broad) or (g in repeated and not g.readings) else {}),
        }
        for g in shown
    ]
    columns = [
        Column("value", column, Cell.VALUE),
        Column("rows", say("rows"), Cell.COUNT),
        Column("span", say("smallest and mean cosine"), Cell.SPAN),
        Column("min", say("smallest"), Cell.COSINE),
        Column("mean", say("mean"), Cell.COSINE),
        Column("recalled", say("recalled")),
        Column("reading", say("reading")),
    ]
    if all(g.recalled is None for g in shown):
        columns = [c for c in columns if c.key != "recalled"]
    singles = len(groups) - len(shown)
    caption = say(
        "Groups of `{column}` with at least two vectors, largest first; n = {groups}, {rows}",
        column=column,
        groups=plural(len(shown), "group"),
        rows=plural(sum(g.n_rows for g in shown), "row") + _without_vector(shown),
    )
    table = Table("groups", caption, tuple(columns), tuple(rows), reference=TIGHT_COS, show=GROUPS_ON_PAGE)
    return Section(
        "groups",
        say("Within groups"),
        say("Are the rows that share a value of `{column}` about one thing?", column=column),
        _answer(ctx, repeated, merged, len(shown), is_broad=is_broad),
        ("MA303", "MA304"),
        (table,),
        (
            say("Smallest and mean cosine over all pairs of rows of the group that have a vector."),
            say(
                "Repeated collection: mean at least {high:.2f} and {rows} rows. Merges different things: mean below "
                "{low:.2f} and {few} rows; where all larger groups are so, they are called wide. Others: tight when no pair is below {tight:.2f}, else mixed.",
                high=ctx.limit("MA303", "min_mean_cos", REPEATED_COS),
                rows=int(ctx.limit("MA303", "min_rows", REPEATED_ROWS)),
                low=ctx.limit("MA304", "max_mean_cos", MERGED_COS),
                few=int(ctx.limit("MA304", "min_rows", MERGED_ROWS)),
                tight=TIGHT_COS,
            ),
            *(
                [say("{singles} with fewer than two vectors not shown.", singles=plural(singles, "group"))]
                * (singles > 0)
            ),
        ),
    )


def _answer(
    ctx: Context,
    repeated: Sequence[GroupFigures],
    merged: Sequence[GroupFigures],
    n_groups: int,
    *,
    is_broad: bool,
) -> str:
    n = ctx.records.n_rows
    events = [g for g in repeated if not g.readings]
    parts = []
    if events:
        held = sum(g.n_rows for g in events)
        parts.append(
            say("{groups} one event recorded again and again ({rows} rows).",
                groups=plural(len(events), "group is", "groups are"), rows=part_of(held, n))
        )  # fmt: skip
    if len(events) < len(repeated):
        parts.append(
            say("{groups} readings that differ in numbers only.",
                groups=plural(len(repeated) - len(events), "group holds", "groups hold"))
        )  # fmt: skip
    if merged and is_broad:
        parts.append(say("All {n} larger groups are as wide as those of a broad category.", n=len(merged)))
    elif merged:
        held = sum(g.n_rows for g in merged)
        parts.append(
            say("{groups} different things ({rows} rows).",
                groups=plural(len(merged), "group merges", "groups merge"), rows=part_of(held, n))
        )  # fmt: skip
    if not parts:
        return say("None of {groups} is repeated collection or merges different things.",
                   groups=plural(n_groups, "group"))  # fmt: skip
    return sentences(*parts)


PROBE = GroupsProbe()
