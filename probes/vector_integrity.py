"""Vectors that cannot be searched: missing, zero, not finite, of another length; and a scale that says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.cluster import cluster_sizes
from memaudit.context import Context, Need
from memaudit.measures.background import MIN_TEXTS, is_high, limits, measured_background
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
from memaudit.text import is_blank
from memaudit.times import parse_time
from memaudit.vectors import StoredVectors, VectorStatus
from memaudit.wording import part_of, plural, say, sentences, space_between

#: Share of rows without a vector from which on MA010 is high: one memory in twenty cannot be found.
MISSING_SHARE = 0.05
#: Share of zero or non-finite vectors from which on MA011 and MA012 are high.
BROKEN_SHARE = 0.01

_CODES = {
    "MA010": "embedding-missing",
    "MA011": "embedding-zero",
    "MA012": "embedding-not-finite",
    "MA013": "embedding-dimension-mixed",
    "MA018": "background-cosine-high",
}


@dataclass(frozen=True)
class Period:
    """When some rows were written.

    Parameters
    ----------
    first, last
        Earliest and latest time as stored; None when no time could be read.
    contiguous
        Whether two rows or more are affected and no other row was written between the first and the last of them.
    newest
        Whether no other row was written after the first of them.
    """

    first: str | None
    last: str | None
    contiguous: bool
    newest: bool


def affected_period(times: Sequence[Any], affected: Sequence[int]) -> Period:
    """Find out when the affected rows were written.

    Parameters
    ----------
    times
        Stored times, one a row; those that cannot be read take no part.
    affected
        Row numbers.
    """
    chosen = set(affected)
    read = [(time, i) for i, value in enumerate(times) if (time := parse_time(value)) is not None]
    mine = [(time, i) for time, i in read if i in chosen]
    if not mine:
        return Period(None, None, False, False)
    (first, i), (last, j) = min(mine), max(mine)
    others = [time for time, k in read if k not in chosen]
    between = any(first <= time <= last for time in others)
    after = any(time >= first for time in others)
    all_read = len(mine) == len(chosen)
    contiguous = all_read and len(mine) >= 2 and not between and bool(others)
    return Period(str(times[i]), str(times[j]), contiguous, all_read and not after and bool(others))


class VectorIntegrity:
    """MA010-MA013 and MA018."""

    name: ClassVar[str] = "vector-integrity"
    title: ClassVar[str] = "Can every row be found by its vector?"
    codes: ClassVar[Mapping[str, str]] = _CODES
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[tuple[str, ...]] = ("retrieval",)

    def run(self, ctx: Context) -> ProbeResult:
        """Look at the stored vectors, then at the cosines."""
        findings: list[Finding] = []
        not_looked: dict[str, tuple[str, str]] = {}
        proposals: list[Proposal] = []
        sections: list[Section] = []
        missing = ctx.missing(Need.STORED_VECTORS)
        stored = None if missing else ctx.stored_vectors
        if stored is None:
            reason = missing or (say("the store holds no vectors"), "embedding")
            not_looked.update({code: reason for code in _CODES if code != "MA018"})
        else:
            findings += _integrity_findings(ctx, stored)
            proposals += [Proposal("re-embed", f.evidence.ids, _REASONS[f.code], f.code) for f in findings]
            if findings:
                sections.append(_states_section(ctx, stored, findings))
        no_vectors = ctx.missing(Need.VECTORS)
        if no_vectors:
            not_looked["MA018"] = no_vectors
        else:
            found, why_not = _background(ctx)
            if found is not None:
                findings.append(found)
                sections.append(_background_section(ctx, found))
            elif why_not is not None:
                not_looked["MA018"] = why_not
        return ProbeResult(tuple(findings), tuple(sections), not_looked=not_looked, proposals=tuple(proposals))


_REASONS = {
    "MA010": "the row has no vector",
    "MA011": "the vector is zero",
    "MA012": "the vector holds NaN or infinity",
    "MA013": "the vector has another length than most, or cannot be decoded",
}


def _integrity_findings(ctx: Context, stored: StoredVectors) -> list[Finding]:
    by_status: dict[VectorStatus, list[int]] = {}
    for row, status in enumerate(stored.status):
        by_status.setdefault(status, []).append(row)
    rows = len(stored.status)
    findings = []
    missing, zero = by_status.get(VectorStatus.MISSING, []), by_status.get(VectorStatus.ZERO, [])
    nan, inf = by_status.get(VectorStatus.NAN, []), by_status.get(VectorStatus.INF, [])
    malformed, other = by_status.get(VectorStatus.MALFORMED, []), by_status.get(VectorStatus.WRONG_DIMENSION, [])
    if missing:
        findings.append(_missing_finding(ctx, missing, rows))
    if zero:
        figures = {"rows": rows, "rows_affected": len(zero), "share": len(zero) / rows, "ids": _keys(ctx, zero)}
        title = say("{rows} vectors are all zero: no search can rank these rows.", rows=part_of(len(zero), rows))
        fix = say(
            "Embed these rows again, and refuse a zero vector when writing: it is what a failed call left behind."
        )
        findings.append(_broken(ctx, "MA011", zero, rows, title, figures, fix))
    if nan or inf:
        both = sorted((*nan, *inf))
        figures = {"rows": rows, "nan_rows": len(nan), "inf_rows": len(inf), "ids": _keys(ctx, both)}
        title = say(
            "{rows} vectors are not finite: NaN in {nan}, infinity in {inf}.",
            rows=part_of(len(both), rows),
            nan=len(nan),
            inf=len(inf),
        )
        fix = say("Embed these rows again, and check vectors for NaN before writing: one of them can spoil a whole "
                  "result list.")  # fmt: skip
        findings.append(_broken(ctx, "MA012", both, rows, title, figures, fix))
    if malformed or len(stored.dims) > 1:
        findings.append(_dimension_finding(ctx, stored, malformed, other))
    return findings


def _keys(ctx: Context, rows: Sequence[int]) -> list[Any]:
    return [ctx.records.keys[i] for i in rows]


def _subject(ctx: Context) -> dict[str, Any]:
    where = ctx.roles.vectors
    if where is not None:
        return {"table": ctx.table_name, "column": where["embedding"], "tables": [ctx.table_name, where["table"]]}
    return {"table": ctx.table_name, "column": ctx.roles.embedding}


def _evidence(ctx: Context, rows: Sequence[int]) -> Evidence:
    examples = tuple(Example(ctx.records.texts[i], ctx.records.keys[i]) for i in rows[: ctx.config.max_examples])
    return Evidence(examples, len(rows), tuple(_keys(ctx, rows)))


def _missing_finding(ctx: Context, missing: Sequence[int], rows: int) -> Finding:
    high = ctx.limit("MA010", "share", MISSING_SHARE)
    share = len(missing) / rows
    n_blank = sum(is_blank(ctx.embedded_texts[i]) for i in missing)
    time = ctx.roles.time
    period = affected_period(ctx.records.column(time), missing) if time else Period(None, None, False, False)
    title = say("{rows} rows have no vector: search cannot find them.", rows=part_of(len(missing), rows))
    if len(missing) == rows:
        title = say("None of the {rows} rows has a vector: search cannot find them.", rows=rows)
    elif period.contiguous and period.newest:
        title += space_between() + say("They are the newest rows, from {first} on.", first=period.first)
    elif period.contiguous:
        title += space_between() + say("All were written between {first} and {last}, and no other row was: an outage.",
                           first=period.first, last=period.last)  # fmt: skip
    elif period.first is not None and len(missing) > 1:
        title += space_between() + say("They were written between {first} and {last}, with rows that have one between them.",
                           first=period.first, last=period.last)  # fmt: skip
    severity = Severity.HIGH if share >= high else Severity.MEDIUM
    notes = [say("High from {high:.3g} % of the rows, else medium.", high=100 * high)]
    if n_blank == len(missing):
        severity = Severity.LOW
        notes = [say("All of them have nothing to embed: their text is blank.")]
    elif n_blank:
        notes.append(say("{n} of them have a blank text.", n=n_blank))
    if time is None:
        notes.append(say("When they were written is not known: no column with the time was found or named."))
    figures = {
        "rows": rows,
        "rows_affected": len(missing),
        "share": share,
        "first_time": period.first,
        "last_time": period.last,
        "one_period": period.contiguous if period.first is not None else None,
        "rows_blank": n_blank,
    }
    return Finding(
        "MA010",
        _CODES["MA010"],
        severity,
        _subject(ctx),
        title,
        figures,
        _evidence(ctx, missing),
        fix=say("Embed these rows now (`memaudit plan` lists them), and let the writer retry instead of storing a row "
                "without a vector."),
        caveat=sentences(*notes),
        lane="retrieval",
    )  # fmt: skip


def _broken(
    ctx: Context, code: str, affected: Sequence[int], rows: int, title: str, figures: Mapping[str, Any], fix: str
) -> Finding:
    high = ctx.limit(code, "share", BROKEN_SHARE)
    return Finding(
        code,
        _CODES[code],
        Severity.HIGH if len(affected) / rows >= high else Severity.MEDIUM,
        _subject(ctx),
        title,
        figures,
        _evidence(ctx, affected),
        fix=fix,
        caveat=say("High from {high:.3g} % of the rows, else medium.", high=100 * high),
        lane="retrieval",
    )


def _dimension_finding(ctx: Context, stored: StoredVectors, malformed: Sequence[int], other: Sequence[int]) -> Finding:
    dims = {str(d): n for d, n in sorted(stored.dims.items(), key=lambda item: (-item[1], item[0]))}
    affected = sorted((*malformed, *other))
    lengths = ", ".join(say("{d} ({rows})", d=d, rows=plural(n, "row")) for d, n in dims.items()) or "-"
    title = say("Vectors of {n} lengths in one column: {lengths}.", n=len(dims), lengths=lengths)
    if malformed:
        bad = say("{rows} rows cannot be decoded.", rows=part_of(len(malformed), len(stored.status)))
        title = f"{title} {bad}" if len(dims) > 1 else bad[:-1] + say(" as a vector.")
    return Finding(
        "MA013",
        _CODES["MA013"],
        Severity.HIGH,
        _subject(ctx),
        title,
        {
            "rows": len(stored.status),
            "dims": dims,
            "malformed_rows": len(malformed),
            "malformed_ids": _keys(ctx, malformed),
            "rows_of_another_length": len(other),
        },
        _evidence(ctx, affected),
        fix=say("Embed the rows of another length again with the model in use, and keep the model's name with each "
                "vector."),
        caveat=say("Format: {reason}.", reason=stored.reason),
        lane="retrieval",
    )  # fmt: skip


def _states_section(ctx: Context, stored: StoredVectors, findings: Sequence[Finding]) -> Section:
    labels = {
        VectorStatus.MISSING: say("no vector"),
        VectorStatus.ZERO: say("all zero"),
        VectorStatus.NAN: say("NaN"),
        VectorStatus.INF: say("infinity"),
        VectorStatus.MALFORMED: say("cannot be decoded"),
        VectorStatus.WRONG_DIMENSION: say("another length"),
    }
    n = len(stored.status)
    counts = {label: sum(s is status for s in stored.status) for status, label in labels.items()}
    rows: list[dict[str, Any]] = [{"state": say("usable"), "rows": n - sum(counts.values())}]
    rows += [{"state": label, "rows": count, "_mark": "hot"} for label, count in counts.items() if count]
    table = Table(
        "vector-states",
        say("State of the stored vectors, {n} rows", n=n),
        (
            Column("state", say("vector"), Cell.TEXT),
            Column("rows", say("rows"), Cell.BAR),
            Column("share", say("share"), Cell.SHARE),
        ),
        tuple({**row, "share": row["rows"] / n} for row in rows),
        scale=float(n),
    )
    return Section(
        "vector-integrity",
        say("Stored vectors"),
        say("Can every row be found by its vector?"),
        sentences(*(f.title for f in findings[:2])),
        tuple(f.code for f in findings),
        (table,),
        (say("Vectors were read as: {reason}.", reason=stored.reason),),
        findings[0].evidence.shown,
    )


def _background(ctx: Context) -> tuple[Finding | None, tuple[str, str] | None]:
    """Look for MA018; the second is why it could not be looked for."""
    measured = ctx.once(measured_background)
    if measured is None:
        least = int(ctx.limit("MA018", "min_texts", MIN_TEXTS))
        return None, (say("fewer than {least} different texts have a vector", least=least), "")
    limit, floor, overlap = limits(ctx)
    if not is_high(measured, limit, floor, overlap):
        return None, None
    field = ctx.roles.value_field
    column = ctx.records.column(field) if field else None
    clusters = {f"clusters@{t:g}": cluster_sizes(ctx.cluster_labels(t)).clusters for t in ctx.config.thresholds}
    distinct = len(set(column) - {None}) if column is not None else None
    figures = {
        "rows": ctx.records.n_rows,
        "median_pairwise_cosine": measured.median_cos,
        **clusters,
        "distinct_values": distinct,
        "distinct_texts": measured.n_texts,
        "pairs": measured.n_pairs,
        "cosine_reached_by_95_percent": measured.low_cos,
        "median_cosine_across_values": measured.across_cos,
        "median_word_overlap": measured.overlap,
    }
    title = say(
        "Two different memories have a cosine of {median:.3f} anyway (median), so a threshold near it says nothing.",
        median=measured.median_cos,
    )
    caveat = say(
        "Reported from a median of {limit:g}, when 19 of 20 pairs reach {floor:g} and the median pair shares at most "
        "{overlap:.3g} % of its words (here {shared:.3g} %). If all rows are about one thing, the cosines are right.",
        limit=limit,
        floor=floor,
        overlap=100 * overlap,
        shared=100 * measured.overlap,
    )
    if measured.sampled:
        caveat += space_between() + say("Measured on {pairs} pairs drawn by chance.", pairs=measured.n_pairs)
    finding = Finding(
        "MA018",
        _CODES["MA018"],
        Severity.MEDIUM,
        {"table": ctx.table_name, "column": _subject(ctx)["column"]},
        title,
        figures,
        fix=say("Choose thresholds from pairs that a person has judged, not from habit; centre the vectors, shorten "
                "the constant text around the memory, or use another encoder."),
        caveat=caveat,
        basis=Basis.SAMPLED if measured.sampled else Basis.MEASURED,
        lane="retrieval",
    )  # fmt: skip
    return finding, None


def _background_section(ctx: Context, finding: Finding) -> Section:
    rows = tuple({"threshold": t, "clusters": finding.figures[f"clusters@{t:g}"]} for t in ctx.config.thresholds)
    table = Table(
        "background-cosine",
        say("Clusters of rows at each threshold; the median pair of {n} different texts has cosine {median:.3f}",
            n=finding.figures["distinct_texts"], median=finding.figures["median_pairwise_cosine"]),
        (
            Column("threshold", say("cosine at least"), Cell.NUMBER),
            Column("clusters", say("clusters"), Cell.COUNT),
        ),
        rows,
    )  # fmt: skip
    return Section(
        "background-cosine",
        say("Cosine of unrelated memories"),
        say("How near are two memories that have nothing to do with each other?"),
        finding.title,
        ("MA018",),
        (table,),
        (finding.caveat or "", say("Vectors from: {encoder}.", encoder=ctx.vectors.encoder.name)),
    )


PROBE = VectorIntegrity()
