"""Facts that were replaced but are still active, and subjects with several active values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.supersession import (
    Edges,
    OldSide,
    active_rows,
    edges_of_columns,
    edges_of_table,
    old_side_active,
)
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
from memaudit.text import detail_differences, is_blank, normalised
from memaudit.wording import part_of, plural, say, sentences

MAX_ROWS_SHOWN = 20
#: With more values a subject, pairs are not compared for rewordings.
_MAX_VALUES_COMPARED = 30
#: From this mean number of values in most subjects on, the key looks like a topic rather than a subject.
_TOPIC_VALUES, _TOPIC_SHARE = 3.0, 0.5

#: Column of a fact table with the value itself.
_VALUE = ("value", "fact_value", "object", "object_value", "val", "answer")


def edges_of(ctx: Context) -> Edges | None:
    """Return the supersede edges: those of the configured table, else those found by looking; None when there are none."""
    if ctx.config.supersedes is not None:
        return edges_of_table(ctx.store, ctx.config.supersedes)
    return edges_of_columns(ctx.records)


class Superseded:
    """MA805 and MA806."""

    name: ClassVar[str] = "superseded"
    title: ClassVar[str] = "Are replaced or contradicting facts still active?"
    codes: ClassVar[Mapping[str, str]] = {"MA805": "superseded-still-active", "MA806": "contradicting-active-facts"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)
    reads: ClassVar[frozenset[str]] = frozenset({"supersedes", "subject_key", "active", "soft_delete"})

    def run(self, ctx: Context) -> ProbeResult:
        """Follow the edges to their old side, then compare the active values of each subject."""
        findings: list[Finding] = []
        sections: list[Section] = []
        proposals: list[Proposal] = []
        not_looked: dict[str, tuple[str, str]] = {}
        active = active_rows(ctx.records, ctx.config.active)
        edges = edges_of(ctx)
        if edges is not None and edges.hidden:
            active = [a and str(key) not in edges.hidden for a, key in zip(active, ctx.records.keys, strict=True)]
        if edges is None:
            not_looked["MA805"] = (
                say("no table of supersede edges was named, and no column names a replacing row"),
                "supersedes",
            )
        elif edges.pairs:
            old = old_side_active(ctx.records.keys, active, edges.pairs)
            if old.rows:
                findings.append(_superseded(ctx, edges, old))
                sections.append(_superseded_section(ctx, old, findings[-1]))
                proposals.append(
                    Proposal(
                        "review", findings[-1].evidence.ids, say("replaced by another row, but still active"), "MA805"
                    )
                )
        subjects = self._subjects(ctx, active, not_looked)
        if subjects is not None and subjects.differing:
            findings.append(_contradicting(ctx, subjects))
            sections.append(_contradicting_section(ctx, subjects, findings[-1]))
            proposals.append(
                Proposal("review", findings[-1].evidence.ids, say("one subject, several active values"), "MA806")
            )
        return ProbeResult(tuple(findings), tuple(sections), not_looked=not_looked, proposals=tuple(proposals))

    def _subjects(
        self, ctx: Context, active: Sequence[bool], not_looked: dict[str, tuple[str, str]]
    ) -> Subjects | None:
        if ctx.config.subject_key is None:
            not_looked["MA806"] = (say("no column that names what a fact is about was given"), "subject_key")
            return None
        column = value_column(ctx)
        if column is None:
            not_looked["MA806"] = ctx.missing(Need.TEXT) or (say("no text"), "text")
            return None
        owners = [name for name in ctx.config.isolation_keys or () if name in ctx.records.column_names]
        keys = list(zip(*(ctx.records.column(name) for name in (*owners, ctx.config.subject_key)), strict=True))
        return several_values(keys, ctx.records.as_texts(column), active)


# -- replaced rows ------------------------------------------------------------------------------


def _superseded(ctx: Context, edges: Edges, old: OldSide) -> Finding:
    keys = ctx.records.keys
    ids = tuple(keys[row] for row in old.rows)
    notes = [say("Edges from `{place}`. A row is active when it is not marked as deleted, no column of state says that it is "
                 "over, and no end of its validity has passed.", place=edges.place)]  # fmt: skip
    if edges.left_out:
        notes.append(say("{edges} of other kinds in that table are not counted.", edges=plural(edges.left_out, "edge")))
    if old.n_without_new:
        notes.append(say("Of {n} the replacing row is not active itself.", n=plural(old.n_without_new, "row")))
    return Finding(
        "MA805",
        "superseded-still-active",
        Severity.MEDIUM,
        {"table": ctx.table_name, **({"column": ctx.roles.text} if ctx.roles.text else {})},
        say("{old} still active although another row replaced them ({edges}).",
            old=plural(len(old.rows), "row is", "rows are"),
            edges=plural(len(edges.pairs), "supersede edge")),
        {
            "rows": ctx.records.n_rows,
            "supersede_edges": len(edges.pairs),
            "old_side_still_active": len(old.rows),
            "old_ids": list(ids),
            "new_side_not_active": old.n_without_new,
        },
        Evidence(
            tuple(
                Example(ctx.records.texts[r], keys[r], say("replaced by {new}", new=", ".join(map(str, old.replaced_by[r][:3]))))
                for r in old.rows[: ctx.config.max_examples]
            ),
            len(ids),
            ids,
        ),
        fix=say("Mark the old row when the edge is written, in the same transaction, and leave marked rows out of every recall."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _superseded_section(ctx: Context, old: OldSide, finding: Finding) -> Section:
    keys, texts = ctx.records.keys, ctx.records.texts
    row_of = {str(key): row for row, key in enumerate(keys)}
    rows = []
    for row in old.rows[:MAX_ROWS_SHOWN]:
        new = row_of.get(str(old.replaced_by[row][0]))
        rows.append({"key": str(keys[row]), "old": texts[row], "new": texts[new] if new is not None else None})
    table = Table(
        "superseded",
        say("Replaced rows that are still active, {n} in all", n=len(old.rows)),
        (Column("key", say("row"), Cell.CODE), Column("old", say("old, still active"), Cell.VALUE), Column("new", say("replaced by"), Cell.VALUE)),
        tuple(rows),
    )  # fmt: skip
    return Section(
        "superseded",
        say("Replaced facts"),
        say("Are facts that were replaced still recalled?"),
        finding.title,
        ("MA805",),
        (table,),
        (finding.caveat or "",),
    )


# -- subjects --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subjects:
    """Active values by subject.

    Parameters
    ----------
    n_subjects
        Subjects with an active value.
    differing
        Subject (owner columns first) -> rows of each different value, in row order; two values or more.
    """

    n_subjects: int
    differing: Mapping[tuple[Any, ...], tuple[tuple[int, ...], ...]]


def value_column(ctx: Context) -> str | None:
    """Return the column with a fact's value: one that is called so, else the text."""
    for name in ctx.records.column_names:
        if name.lower() in _VALUE and name != ctx.config.subject_key:
            return name
    return ctx.roles.text


def several_values(keys: Sequence[tuple[Any, ...]], values: Sequence[str], active: Sequence[bool]) -> Subjects:
    """Group active values by subject; values that differ in no detail and no word of content are one value.

    Rows without a subject or a value belong nowhere.
    """
    subjects: dict[tuple[Any, ...], dict[str, list[int]]] = {}
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        if active[row] and key[-1] is not None and str(key[-1]).strip() and not is_blank(value):
            subjects.setdefault(key, {}).setdefault(_bare(value), []).append(row)
    differing = {}
    for key, by_value in subjects.items():
        groups = _without_rewordings(by_value, values)
        if len(groups) > 1:
            differing[key] = tuple(tuple(group) for group in groups)
    return Subjects(len(subjects), differing)


def _bare(value: str) -> str:
    return normalised(value).strip(" .。!！;；,，\"'“”")


def _without_rewordings(by_value: Mapping[str, list[int]], values: Sequence[str]) -> list[list[int]]:
    groups: list[list[int]] = []
    for rows in by_value.values():
        text = values[rows[0]]
        same = None
        if len(groups) <= _MAX_VALUES_COMPARED:
            same = next(
                (g for g in groups if len(text.split()) > 1 and not detail_differences(text, values[g[0]])), None
            )
        if same is None:
            groups.append(list(rows))
        else:
            same.extend(rows)
    return [sorted(group) for group in groups]


def _contradicting(ctx: Context, subjects: Subjects) -> Finding:
    keys = ctx.records.keys
    n_differing = len(subjects.differing)
    rows = sorted(row for groups in subjects.differing.values() for group in groups for row in group)
    mean = sum(len(g) for g in subjects.differing.values()) / n_differing
    is_topic = mean > _TOPIC_VALUES and n_differing > _TOPIC_SHARE * subjects.n_subjects
    notes = [say("Candidates: a subject may have several values that hold at once (two languages, two children). Values that differ "
                 "in case, spacing or small words only are one value.")]  # fmt: skip
    if is_topic:
        notes.append(
            say(
                "Low, because most subjects hold {mean:.1f} values each: the column looks like a topic, not a subject.",
                mean=mean,
            )
        )
    names = {key: " / ".join(str(part) for part in key) for key in subjects.differing}
    shown = [
        Example(ctx.records.texts[group[0]], keys[group[0]], say("subject {subject}", subject=names[key]))
        for key, groups in subjects.differing.items()
        for group in groups
    ][: ctx.config.max_examples]
    return Finding(
        "MA806",
        "contradicting-active-facts",
        Severity.LOW if is_topic else Severity.MEDIUM,
        {"table": ctx.table_name, "column": ctx.config.subject_key, "values": list(names.values())[:1_000]},
        say("{subjects} subjects have several active values.", subjects=part_of(n_differing, subjects.n_subjects)),
        {
            "rows": ctx.records.n_rows,
            "subjects": subjects.n_subjects,
            "subjects_with_several_active_values": n_differing,
            "rows_concerned": len(rows),
            "most_values": max(len(g) for g in subjects.differing.values()),
        },
        Evidence(tuple(shown), len(rows), tuple(keys[row] for row in rows)),
        fix=say("Let a person or a rule decide which value holds, mark the others as replaced, and look up the subject before a "
                "new value is written."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _contradicting_section(ctx: Context, subjects: Subjects, finding: Finding) -> Section:
    column = value_column(ctx)
    values = ctx.records.as_texts(column) if column is not None else ()
    by_number = Counter({key: len(groups) for key, groups in subjects.differing.items()}).most_common(MAX_ROWS_SHOWN)
    table = Table(
        "contradicting",
        say("Subjects with several active values, {n} in all", n=len(subjects.differing)),
        (
            Column("subject", say("subject"), Cell.VALUE),
            Column("n_values", say("values"), Cell.COUNT),
            Column("first", say("one value"), Cell.VALUE),
            Column("last", say("the latest in the store"), Cell.VALUE),
        ),
        tuple(
            {
                "subject": " / ".join(str(part) for part in key),
                "n_values": count,
                "first": values[subjects.differing[key][0][0]],
                "last": values[max(row for group in subjects.differing[key] for row in group)],
            }
            for key, count in by_number
        ),
    )
    return Section(
        "contradicting",
        say("Contradicting facts"),
        say("Does one subject have several values at once?"),
        finding.title,
        ("MA806",),
        (table,),
        (finding.caveat or "",),
    )


PROBE = Superseded()
