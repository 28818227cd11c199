"""What the store holds: rows, values, clusters, span of time. Facts, nothing to fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from memaudit.cluster import cluster_sizes
from memaudit.context import Context, Need
from memaudit.errors import EncoderError
from memaudit.model import Basis, Cell, Column, Evidence, Example, Finding, ProbeResult, Section, Severity, Table
from memaudit.records import Records
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say, sentences

#: Values listed in the table; all of them are counted.
MAX_VALUES = 50
#: Values that the page shows; the groups below it hold the same values once more.
VALUES_ON_PAGE = 8


def time_span(records: Records) -> tuple[str | None, str | None, int]:
    """Return the first and the last time of writing as stored, and the rows whose time could not be read.

    (None, None, 0) when no column holds times.
    """
    if records.roles.time is None:
        return None, None, 0
    stored = records.column(records.roles.time)
    read = [(time, str(value)) for value in stored if (time := parse_time(value)) is not None]
    if not read:
        return None, None, len(stored)
    return min(read)[1], max(read)[1], len(stored) - len(read)


def _readable(stored: str | None) -> str:
    """Turn epoch seconds and milliseconds into a date; other notations stay as they are stored."""
    time = parse_time(stored)
    is_number = stored is not None and stored.replace(".", "", 1).isdigit()
    return time.isoformat(timespec="seconds") if time is not None and is_number else str(stored)


def n_distinct(counts: Mapping[Any, int]) -> int:
    """Count the distinct values; NULL is none."""
    return sum(value is not None for value in counts)


class Summary:
    """MA002 and MA009."""

    name: ClassVar[str] = "summary"
    title: ClassVar[str] = "What does the store hold?"
    codes: ClassVar[Mapping[str, str]] = {"MA002": "store-summary", "MA009": "value-counts"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})

    def run(self, ctx: Context) -> ProbeResult:
        """Count rows, values and clusters."""
        clusters, no_vectors = _clusters(ctx)
        counts = ctx.records.value_counts(ctx.roles.value_field) if ctx.roles.value_field else None
        summary = _summary(ctx, clusters, counts, no_vectors)
        # The verdict reads these two from the audit's headline figures.
        headline = {name: summary.figures[name] for name in ("distinct_values", *clusters)}
        if counts is None:
            missing = ctx.missing(Need.VALUE_FIELD)
            not_looked = {"MA009": missing} if missing else {}
            sections = (_store_section(summary, ctx, None),)
            return ProbeResult((summary,), sections, headline, not_looked=not_looked)
        values = _value_counts(ctx, counts)
        table = _value_table(ctx, counts)
        return ProbeResult((summary, values), (_store_section(summary, ctx, table),), headline)


def _clusters(ctx: Context) -> tuple[dict[str, int | None], str]:
    """Return clusters by figure name, and why there are none."""
    names = {f"clusters@{t:g}": t for t in ctx.config.thresholds}
    try:
        n_vectors = len(ctx.vectors.rows)
    except EncoderError as error:
        return dict.fromkeys(names), str(error)
    if n_vectors == 0:
        return dict.fromkeys(names), say("no row has a vector or a text to encode")
    return {name: cluster_sizes(ctx.cluster_labels(t)).clusters for name, t in names.items()}, ""


def _summary(
    ctx: Context, clusters: Mapping[str, int | None], counts: Mapping[Any, int] | None, no_vectors: str
) -> Finding:
    records = ctx.records
    first, last, n_unread = time_span(records)
    distinct = None if counts is None else n_distinct(counts)
    figures: dict[str, Any] = {
        "rows": records.n_rows,
        "distinct_values": distinct,
        **clusters,
        "first_time": first,
        "last_time": last,
        "rows_clustered": None if no_vectors else len(ctx.vectors.rows),
    }
    parts = [plural(records.n_rows, "row")]
    if distinct is not None:
        parts.append(plural(distinct, "distinct value"))
    if not no_vectors:
        parts.append(say("{counts} clusters at cosine {thresholds}", counts=_joined(clusters.values()),
                         thresholds=_joined(ctx.config.thresholds)))  # fmt: skip
    title = say(", ").join(parts) + say(".")
    if first is not None:
        title = sentences(title, say("Written from {first} to {last}.", first=_readable(first), last=_readable(last)))
    notes = []
    if no_vectors:
        notes.append(say("Clusters were not counted: {reason}.", reason=no_vectors.rstrip(".")))
    elif figures["rows_clustered"] < records.n_rows:
        notes.append(say("Clusters are counted over {rows} rows with a vector.",
                         rows=part_of(figures["rows_clustered"], records.n_rows)))  # fmt: skip
    if n_unread:
        notes.append(say("The time of {rows} rows could not be read.", rows=part_of(n_unread, records.n_rows)))
    return Finding(
        "MA002",
        "store-summary",
        Severity.INFO,
        {"table": ctx.table_name},
        title,
        figures,
        caveat=sentences(*notes) or None,
        basis=Basis.MEASURED,
    )


def _joined(values: Any) -> str:
    return " / ".join(f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in values if v is not None)


def _value_counts(ctx: Context, counts: Mapping[Any, int]) -> Finding:
    column = ctx.roles.value_field
    distinct, n_null = n_distinct(counts), counts.get(None, 0)
    valued = [(value, n) for value, n in counts.items() if value is not None]
    title = say("`{column}` holds {distinct} over {rows}.", column=column, distinct=plural(distinct, "distinct value"),
                rows=plural(ctx.records.n_rows, "row"))  # fmt: skip
    figures = {
        "distinct": distinct,
        "rows": ctx.records.n_rows,
        "null_rows": n_null,
        "rows_of_largest_value": max((n for _, n in valued), default=0),
        "values_of_one_row": sum(n == 1 for _, n in valued),
    }
    examples = tuple(Example(str(value), note=plural(n, "row")) for value, n in valued[: ctx.config.max_examples])
    return Finding(
        "MA009",
        "value-counts",
        Severity.INFO,
        {"table": ctx.table_name, "column": column},
        title,
        figures,
        Evidence(examples, total=distinct),
        caveat=say("{rows} rows have no value.", rows=part_of(n_null, ctx.records.n_rows)) if n_null else None,
    )


def _value_table(ctx: Context, counts: Mapping[Any, int]) -> Table:
    valued = [(value, n) for value, n in counts.items() if value is not None]
    rows = tuple({"value": str(v), "rows": n, "share": n / ctx.records.n_rows} for v, n in valued[:MAX_VALUES])
    more = len(valued) - len(rows)
    caption = say("Values of `{column}` and their rows, {n} rows in all", column=ctx.roles.value_field,
                  n=ctx.records.n_rows)  # fmt: skip
    if more > 0:
        caption += say("; {more} more values are not listed", more=more)
    columns = (
        Column("value", say("value"), Cell.VALUE),
        Column("rows", say("rows"), Cell.BAR),
        Column("share", say("share"), Cell.SHARE),
    )
    return Table("value-counts", caption, columns, rows, show=VALUES_ON_PAGE)


def _store_section(summary: Finding, ctx: Context, values: Table | None) -> Section:
    tables = () if values is None else (values,)
    method = [say("Greedy leader clustering in row order: a row joins the first leader with a cosine at or above the "
                  "threshold, else it becomes a leader.")]  # fmt: skip
    if summary.caveat:
        method.append(summary.caveat)
    return Section(
        "store-summary",
        say("What the store holds"),
        say("How many rows, values and different situations does the store hold?"),
        summary.title,
        ("MA002", "MA009") if values is not None else ("MA002",),
        tables,
        tuple(method),
    )


PROBE = Summary()
