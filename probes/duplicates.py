"""Texts stored more than once: exact copies, near copies, and near copies that must not be merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.field_spread import owners_by_name
from memaudit.measures.group_figures import series_sizes, without_numbers
from memaudit.measures.near_copies import (
    NEAR_COS,
    PAIR_COS,
    WORDS_COS,
    NearCopies,
    NotMeasured,
    measured_near_copies,
)
from memaudit.measures.near_section import distinct_examples, near_section
from memaudit.model import (
    Basis,
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
from memaudit.text.copies import SAME_WORDS, CopyGroups, Pair, copy_groups, safe_merges
from memaudit.wording import part_of, plural, say, sentences, space_between, term

#: Severity of MA305 and MA306: findings.md.
EXTRA_SHARE = 0.05
NEAR_SHARE, REWORDED_SHARE = 0.20, 0.10
#: Keys of rows kept in a subject; `evidence.ids` holds all of them.
MAX_SUBJECT_IDS = 1_000
#: Fewer of the pairs that differ than this are chance finds among readings.
CONTRADICTING_SHARE = 0.02
#: Below this share of the rows, pairs that differ in a number or a date alone are found by chance.
CHANCE_SHARE = 0.01
#: So many texts that are the same but for their numbers are a series of readings.
SERIES_ROWS = 3
MAX_ROWS_SHOWN = 20


class Duplicates:
    """MA305-MA307."""

    name: ClassVar[str] = "duplicates"
    title: ClassVar[str] = "Is the same memory stored more than once?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA305": "exact-duplicates",
        "MA306": "near-duplicates",
        "MA307": "near-identical-differs-in-detail",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)

    def run(self, ctx: Context) -> ProbeResult:
        """Group equal texts, then read the pairs that are near by cosine."""
        findings: list[Finding] = []
        sections: list[Section] = []
        proposals: list[Proposal] = []
        not_looked: dict[str, tuple[str, str]] = {}
        column = _text_column(ctx)
        texts = ctx.records.texts if ctx.roles.text is not None else ctx.embedded_texts
        whole, owners = _whole_texts(ctx, texts), _owners(ctx)
        # Rows are never merged over a column that looks like one of owners, named or not.
        apart = owners if owners is not None else owners_by_name(ctx.records)
        if column is None:
            not_looked["MA305"] = ctx.missing(Need.TEXT) or (say("no text"), "text")
        else:
            groups = copy_groups(texts, owners)
            if groups.folded:
                findings.append(_exact_finding(ctx, texts, column, groups, apart if owners is None else None))
                sections.append(_exact_section(ctx, texts, groups, findings[0]))
                proposals += _exact_proposals(ctx, whole, groups, apart)
        near = measured_near_copies(ctx, whole)
        if isinstance(near, NotMeasured):
            not_looked.update(dict.fromkeys(("MA306", "MA307"), (near.reason, near.option)))
            return ProbeResult(tuple(findings), tuple(sections), not_looked=not_looked, proposals=tuple(proposals))
        found = []
        if near.rows.n_near or near.by_words:
            found.append(_near_finding(ctx, texts, near))
        if near.compared.differing:
            found.append(_detail_finding(ctx, texts, near))
        if found:
            sections.append(near_section(ctx, texts, near, found))
            proposals += _near_proposals(ctx, whole, near, apart)
        return ProbeResult(
            (*findings, *found),
            tuple(sections),
            not_looked=not_looked,
            left_out=ctx.vectors.left_out,
            proposals=tuple(proposals),
        )


def _text_column(ctx: Context) -> str | None:
    fields = ctx.roles.embedded_fields
    return ctx.roles.text or ctx.roles.embedded_text or (fields[0] if fields else None)


def _whole_texts(ctx: Context, texts: Sequence[str]) -> Sequence[str]:
    """Return all that a merge would lose: the text, with the other embedded fields where there are some."""
    if not ctx.roles.embedded_fields:
        return texts
    return [
        f"{text}\n{other}" if text and other else text for text, other in zip(texts, ctx.embedded_texts, strict=True)
    ]


def _owners(ctx: Context) -> list[tuple[Any, ...]] | None:
    names = [name for name in ctx.config.isolation_keys or () if name in ctx.records.column_names]
    return list(zip(*(ctx.records.column(name) for name in names), strict=True)) if names else None


# -- exact copies --------------------------------------------------------------------------------


def _exact_finding(
    ctx: Context, texts: Sequence[str], column: str, groups: CopyGroups, apart: Sequence[tuple[Any, ...]] | None
) -> Finding:
    """Judge the copies; those of another owner, by a column that nobody named for it (`apart`), are counted and told."""
    rows = ctx.records.n_rows
    share = groups.extra_folded / rows
    medium = ctx.limit("MA305", "share_extra", EXTRA_SHARE)
    own = groups.extra_folded if apart is None else copy_groups(texts, apart).extra_folded
    members = sorted(row for group in groups.folded for row in group)
    ids = tuple(ctx.records.keys[i] for i in members)
    largest = max((len(g) for g in groups.identical or groups.folded), default=0)
    if groups.extra_identical:
        title = say("{rows} rows are identical extra copies (largest group: {largest}).",
                    rows=part_of(groups.extra_identical, rows), largest=plural(largest, "row"))  # fmt: skip
        if groups.extra_folded > groups.extra_identical:
            title += space_between() + say("With case and spacing aside: {n}.", n=groups.extra_folded)
    else:
        title = say("{rows} rows are extra copies but for case and spacing (largest group: {largest}).",
                    rows=part_of(groups.extra_folded, rows), largest=plural(largest, "row"))  # fmt: skip
    notes = [say("Medium from {medium:.3g} % extra copies (here {part}, case and spacing aside), else low. Blank texts and "
                 "placeholders are not counted.", medium=100 * medium, part=part_of(groups.extra_folded, rows))]  # fmt: skip
    if ctx.config.dedup:
        notes.append(say("De-duplication is said to be: {dedup}.", dedup=ctx.config.dedup))
    if own < groups.extra_folded:
        notes.append(say("{part} of the copies are of another owner: if owners are kept apart, name the column in "
                         "`isolation_keys`, and these are no copies.",
                         part=part_of(groups.extra_folded - own, groups.extra_folded)))  # fmt: skip
    if ctx.config.isolation_keys:
        notes.append(say("The same text of two owners ({keys}) is no copy.", keys=", ".join(ctx.config.isolation_keys)))
    by_size = sorted(groups.folded, key=len, reverse=True)
    return Finding(
        "MA305",
        "exact-duplicates",
        Severity.MEDIUM if share >= medium else Severity.LOW,
        {"table": ctx.table_name, "column": column, "ids": list(ids[:MAX_SUBJECT_IDS])},
        title,
        {
            "rows": rows,
            "groups_identical": len(groups.identical),
            "extra_copies_identical": groups.extra_identical,
            "groups_after_case_and_space": len(groups.folded),
            "extra_copies_after_case_and_space": groups.extra_folded,
            "largest_group": largest,
            "share_extra": share,
            **({"extra_copies_of_one_owner": own} if own < groups.extra_folded else {}),
        },
        Evidence(
            tuple(
                Example(texts[g[0]], ctx.records.keys[g[0]], say("{n} copies", n=len(g)))
                for g in by_size[: ctx.config.max_examples]
            ),
            len(members),
            ids,
        ),
        fix=say("Compare the text without case and spacing before writing, and keep the first row of each group "
                "(`memaudit plan` lists the others)."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _exact_section(ctx: Context, texts: Sequence[str], groups: CopyGroups, finding: Finding) -> Section:
    by_size = sorted(groups.folded, key=len, reverse=True)
    caption = say("Texts stored more than once, {n} rows in all", n=ctx.records.n_rows)
    if len(by_size) > MAX_ROWS_SHOWN:
        caption += say("; {more} more groups are not listed", more=len(by_size) - MAX_ROWS_SHOWN)
    table = Table(
        "exact-duplicates",
        caption,
        (
            Column("text", say("text"), Cell.VALUE),
            Column("rows", say("rows"), Cell.BAR),
            Column("spellings", say("spellings"), Cell.COUNT),
        ),
        tuple(
            {"text": texts[g[0]], "rows": len(g), "spellings": len({texts[i] for i in g})}
            for g in by_size[:MAX_ROWS_SHOWN]
        ),
    )
    return Section(
        "exact-duplicates",
        say("Exact copies"),
        say("How many rows say word for word what another row says?"),
        finding.title,
        ("MA305",),
        (table,),
        (say("Two texts are equal when they are identical, or when only case and white space differ."),
         finding.caveat or ""),
    )  # fmt: skip


def _exact_proposals(
    ctx: Context, whole: Sequence[str], groups: CopyGroups, owners: Sequence[tuple[Any, ...]] | None
) -> list[Proposal]:
    """Propose to merge rows that are equal in all embedded fields, and to review the other rows of a group."""
    keys = ctx.records.keys
    merges = [
        Proposal("merge", tuple(keys[i] for i in g[1:]), say("identical text"), "MA305", keep=keys[g[0]])
        for g in copy_groups(whole, owners).identical
    ]
    reviews = []
    for group in groups.folded:
        first_of_each: dict[str, int] = {}
        for row in group:
            first_of_each.setdefault(whole[row], row)
        others = [row for row in first_of_each.values() if row != group[0]]
        if others:
            ids = tuple(keys[i] for i in others)
            reason = say(
                "the same text as row {key}, but case, spacing or another field differs", key=str(keys[group[0]])
            )
            reviews.append(Proposal("review", ids, reason, "MA305", keep=keys[group[0]]))
    return merges + reviews


# -- near copies ---------------------------------------------------------------------------------


def _subject(ctx: Context) -> dict[str, Any]:
    return {"table": ctx.table_name, "column": _text_column(ctx)}


def _near_finding(ctx: Context, texts: Sequence[str], near: NearCopies) -> Finding:
    rows = ctx.records.n_rows
    extra = near.n_valid - near.clusters[NEAR_COS]
    near_share = ctx.limit("MA306", "share_near", NEAR_SHARE)
    reworded_share = ctx.limit("MA306", "share_reworded", REWORDED_SHARE)
    n_reworded = len(near.rows.reworded)
    is_medium = extra / rows >= near_share and n_reworded / rows >= reworded_share
    by_cosine = sorted((*near.rows.reworded, *near.rows.differing, *near.rows.unlike))
    members = sorted((*by_cosine, *near.by_words))
    title = sentences(
        say(
            "{rows} rows are near copies of an earlier one (cosine {cos:g} or more): {reworded} reworded, {other} "
            "different in a detail or in words.",
            rows=part_of(len(by_cosine), rows),
            cos=NEAR_COS,
            reworded=n_reworded,
            other=len(by_cosine) - n_reworded,
        )
        if by_cosine
        else "",
        say(
            "{rows} rows below cosine {cos:g} say the same as an earlier one: they share at least {share:.3g} % of the words, and "
            "no detail differs.",
            rows=part_of(len(near.by_words), rows),
            cos=NEAR_COS,
            share=100 * SAME_WORDS,
        )
        if near.by_words
        else "",
    )
    notes = [
        say(
            "Medium when the extra rows are at least {near:.3g} % of the rows and the rewordings {reworded:.3g} %, "
            "else low.",
            near=100 * near_share,
            reworded=100 * reworded_share,
        )
    ]
    if near.rows.identical:
        notes.append(
            say(
                "The extra rows hold {n} with a text that occurs earlier word for word; MA305 counts those.",
                n=len(near.rows.identical),
            )
        )
    if near.by_words:
        notes.append(
            say(
                "Rows that say the same were looked for from cosine {low:g} to {cos:g}; they take no part in the severity.",
                low=WORDS_COS,
                cos=NEAR_COS,
            )
        )
    notes.append(say("Vectors from: {encoder}.", encoder=ctx.vectors.encoder.name))
    figures = {
        "rows": rows,
        "valid_rows": near.n_valid,
        "pairs_at_098": near.n_pairs,
        "extra_rows_at_098": near.n_valid - near.clusters[PAIR_COS],
        "extra_rows_at_095": extra,
        "largest_cluster": near.largest[NEAR_COS],
        "largest_cluster_at_098": near.largest[PAIR_COS],
        **{f"clusters@{t:g}": near.clusters[t] for t in ctx.config.thresholds},
        "near_rows": len(members),
        "reworded_rows": n_reworded,
        "same_words_rows": len(near.by_words),
        "identical_rows": len(near.rows.identical),
    }
    shown = (near.rows.reworded or near.by_words or members)[: ctx.config.max_examples]
    return Finding(
        "MA306",
        "near-duplicates",
        Severity.MEDIUM if is_medium else Severity.LOW,
        _subject(ctx),
        title,
        figures,
        Evidence(
            tuple(Example(texts[i], ctx.records.keys[i]) for i in shown),
            len(members),
            tuple(ctx.records.keys[i] for i in members),
        ),
        fix=say("Look for a near row before writing, and merge only pairs that differ in no detail; `memaudit plan` "
                "lists them. Rows that differ in a number or a date are readings, not copies."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _detail_finding(ctx: Context, texts: Sequence[str], near: NearCopies) -> Finding:
    compared = near.compared
    merges = bool(ctx.config.dedup)
    differing = compared.differing
    surely, perhaps = _contradicting(texts, differing)
    contradicting = surely + perhaps
    share = ctx.limit("MA307", "contradicting_share", CONTRADICTING_SHARE)
    # Two records that differ in a number are found by chance in any large store; a negation is not.
    enough = perhaps >= CHANCE_SHARE * ctx.records.n_rows
    serious = contradicting >= max(1.0, share * len(differing)) and bool(surely or enough)
    kinds: dict[str, int] = {}
    for pair in differing:
        for kind in sorted(pair.kinds):
            kinds[kind] = kinds.get(kind, 0) + 1
    n_read = len(compared.pairs)
    title = say(
        "{differing} pairs at cosine {cos:g} or more differ in a detail and must not be merged: {numbers} in numbers, "
        "{negation} by a negation or an opposite, {other} in other details.",
        differing=part_of(len(differing), n_read),
        cos=PAIR_COS,
        numbers=compared.n_numbers,
        negation=compared.n_negation,
        other=compared.n_other,
    )
    caveat = say(
        "Safe to merge means that no number, date, version, unit, name, negation or opposite differs and no word took "
        "the place of another; {n} pairs have equal texts.",
        n=compared.n_identical,
    )
    if merges:
        caveat += space_between() + say("Medium because this store is de-duplicated.")
    elif serious:
        caveat += space_between() + say(
            "Medium because {pairs} may contradict each other: a negation, an opposite, or a number in texts that are "
            "no series of readings.",
            pairs=plural(contradicting, "pair"),
        )
    if near.is_cut:
        caveat += space_between() + say("Of {all} pairs only {n} were read.", n=n_read, all=near.n_pairs)
    members = sorted({row for pair in differing for row in (pair.i, pair.j)})
    shown = tuple(
        Example(texts[row], ctx.records.keys[row], _told(pair))
        for pair in distinct_examples(differing, texts)[: max(1, ctx.config.max_examples // 2)]
        for row in (pair.i, pair.j)
    )
    return Finding(
        "MA307",
        "near-identical-differs-in-detail",
        Severity.MEDIUM if merges or serious else Severity.LOW,
        _subject(ctx),
        title,
        {
            "rows": ctx.records.n_rows,
            "pairs_at_098": near.n_pairs,
            "pairs_read": n_read,
            "pairs_differing": len(differing),
            "pairs_that_may_contradict": contradicting,
            "pairs_differing_in_numbers": compared.n_numbers,
            "pairs_differing_by_negation": compared.n_negation,
            "pairs_differing_otherwise": compared.n_other,
            "pairs_safe_to_merge": compared.n_safe,
            "pairs_with_equal_texts": compared.n_identical,
            "pairs_by_kind": kinds,
        },
        Evidence(shown, len(members), tuple(ctx.records.keys[i] for i in members)),
        fix=say("Do not merge by cosine alone: compare numbers, dates, names and negations first, and keep both rows "
                "when one of them differs."),
        caveat=caveat,
        basis=Basis.SAMPLED if near.is_cut else Basis.MEASURED,
    )  # fmt: skip


def _told(pair: Pair) -> str:
    kinds = say(", ").join(map(term, sorted(pair.kinds - {"word"}) or sorted(pair.kinds))) or say("nothing")
    return say("cosine {cos:.3f}; differs in: {kinds}", cos=pair.cos, kinds=kinds)


def _contradicting(texts: Sequence[str], pairs: Sequence[Pair]) -> tuple[int, int]:
    """Count pairs that contradict each other by a negation or an opposite, and those that may by a number or a date.

    A number or a date may unless three texts of the store or more are the same
    but for their numbers: those are readings of a series, meant to differ. Most of a series may be less near than the
    pairs compared here, so that all texts are counted.
    """
    surely = sum(bool(pair.kinds & {"negation", "opposite"}) for pair in pairs)
    perhaps = [p for p in pairs if p.kinds & {"number", "date", "version"} and not p.kinds & {"negation", "opposite"}]
    masked = {row: without_numbers(texts[row]) for pair in perhaps for row in (pair.i, pair.j)}
    sizes = series_sizes(texts, masked)
    return surely, sum(
        masked[pair.i] == masked[pair.j] and max(sizes[pair.i], sizes[pair.j]) < SERIES_ROWS for pair in perhaps
    )


def _near_proposals(
    ctx: Context, texts: Sequence[str], near: NearCopies, owners: Sequence[tuple[Any, ...]] | None
) -> list[Proposal]:
    keys = ctx.records.keys
    merged = safe_merges(texts, near.compared.pairs, owners)
    by_kept: dict[int, list[int]] = {}
    for row, kept in sorted(merged.items()):
        by_kept.setdefault(kept, []).append(row)
    reason = say("nearly the same text (cosine {cos:g} or more), and no detail differs", cos=PAIR_COS)
    proposals = [
        Proposal("merge", tuple(keys[i] for i in rows), reason, "MA306", keep=keys[kept])
        for kept, rows in sorted(by_kept.items())
    ]
    doubtful = sorted({row for p in near.compared.differing for row in (p.i, p.j)})
    if doubtful:
        reason = say("near another row by cosine, but a detail differs: not to be merged")
        proposals.append(Proposal("review", tuple(keys[i] for i in doubtful), reason, "MA307"))
    return proposals


PROBE = Duplicates()
