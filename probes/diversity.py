"""How many different situations the store holds, held against the values that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, ClassVar

import numpy as np

from memaudit import cluster
from memaudit.context import Context, Need
from memaudit.model import (
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    Section,
    Severity,
    Table,
)
from memaudit.records import IntArray
from memaudit.times import parse_time
from memaudit.wording import plural, say, sentences, space_between

#: Clusters a value is given at this cosine, and new clusters are counted at it: the middle of the default
#: thresholds, where rewordings of one situation mostly fall together.
WEEK_COS = 0.90
#: The threshold that the verdict speaks about: the only one whose other orders are tried in a large store.
MAIN_COS = 0.95
#: Row orders tried; fewer for large stores, none where all pairs would take minutes.
ORDERS, ORDERS_LARGE, LARGE_ROWS, HUGE_ROWS = 20, 5, 5_000, 20_000
#: Weeks shown on the page, the newest ones.
WEEKS_SHOWN = 26
#: Weeks that the page shows, the last ones.
WEEKS_ON_PAGE = 6
#: Below this many rows a cluster more or less says nothing about a field.
MIN_ROWS = 10


@dataclass(frozen=True)
class Week:
    """Rows written in an ISO week and the clusters that appeared in it for the first time."""

    week: str
    monday: date
    rows: int
    new_clusters: int


def weekly_growth(times: Sequence[datetime | None], labels: IntArray) -> tuple[Week, ...]:
    """Count rows and first appearances of clusters by ISO week (UTC).

    Parameters
    ----------
    times
        (n,) time of writing of each row, None where it is not known: such rows are left out.
    labels
        (n,) cluster of each row.

    Returns
    -------
    One entry for each week from the first to the last, empty weeks included (only weeks with rows when there
    are more than 1,000 weeks between them); () without times. A cluster is new in the week of its earliest row.
    """
    first_seen: dict[int, date] = {}
    rows: Counter[date] = Counter()
    for time, label in zip(times, labels.tolist(), strict=True):
        if time is None:
            continue
        monday = time.date() - timedelta(days=time.weekday())
        rows[monday] += 1
        first_seen[label] = min(monday, first_seen.get(label, monday))
    if not rows:
        return ()
    new = Counter(first_seen.values())
    first, last = min(rows), max(rows)
    n_weeks = (last - first).days // 7 + 1
    mondays = [first + timedelta(weeks=w) for w in range(n_weeks)] if n_weeks <= 1_000 else sorted(rows)
    return tuple(Week(_iso_week(m), m, rows[m], new[m]) for m in mondays)


def last_full_week(weeks: Sequence[Week], times: Sequence[datetime | None]) -> Week | None:
    """Return the last week that the data covers from Monday to Sunday, None when there is none."""
    known = [t.date() for t in times if t is not None]
    if not known:
        return None
    full = [w for w in weeks if w.monday >= min(known) and w.monday + timedelta(days=6) <= max(known)]
    return full[-1] if full else None


def _iso_week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


class DiversityProbe:
    """Clusters at several cosines, the values of the audited field beside them, and growth by week."""

    name: ClassVar[str] = "diversity"
    title: ClassVar[str] = "How many different situations are there, and does the field tell them apart?"
    codes: ClassVar[Mapping[str, str]] = {"MA301": "generator-compresses"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.VECTORS})
    lanes: ClassVar[frozenset[str]] = frozenset({"generator", "data collection"})
    reads: ClassVar[frozenset[str]] = frozenset({"thresholds", "value_field", "value_field_role", "time"})

    def run(self, ctx: Context) -> ProbeResult:
        """Count clusters at every threshold and hold them against the distinct values."""
        thresholds = tuple(sorted(set(ctx.config.thresholds), reverse=True))
        sizes = {t: cluster.cluster_sizes(ctx.cluster_labels(t)) for t in thresholds}
        spread, orders = _spread(ctx, thresholds)
        weeks, full = _weeks(ctx)
        field = ctx.roles.value_field
        values = [v for v in ctx.records.column(field) if v is not None] if field is not None else None
        figures: dict[str, Any] = {"rows_with_vector": len(ctx.vectors.rows)}
        if values is not None:
            figures["distinct_values"] = len(set(values))
        for t in thresholds:
            figures[f"clusters@{t:g}"] = sizes[t].clusters
            figures[f"largest@{t:g}"] = sizes[t].largest
            figures[f"singletons@{t:g}"] = sizes[t].singletons
        figures["order_spread"] = {f"{t:g}": list(s) for t, s in spread.items()} if spread else None
        figures["new_clusters_by_week"] = {w.week: {"rows": w.rows, "new_clusters": w.new_clusters} for w in weeks}
        figures["rows_last_week"] = full.rows if full else None
        figures["new_clusters_last_week"] = full.new_clusters if full else None
        not_looked = {}
        findings: tuple[Finding, ...] = ()
        if field is None:
            not_looked["MA301"] = (say("no field whose values are to be audited was found or named"), "value_field")
        else:
            finding, reason = _compresses(ctx, field, thresholds)
            findings = (finding,) if finding is not None else ()
            if reason:
                not_looked["MA301"] = (reason, "value_field")
        section = _section(ctx, sizes, figures, spread, orders, weeks, full)
        return ProbeResult(findings, (section,), figures, not_looked=not_looked)


def _spread(ctx: Context, thresholds: Sequence[float]) -> tuple[dict[float, cluster.OrderSpread], int]:
    """Count clusters over shuffled row orders.

    Finding the near pairs costs most and is done for each threshold: above 5,000 rows one threshold is tried, above
    20,000 none.
    """
    n = len(ctx.vectors.rows)
    if n > HUGE_ROWS or not thresholds:
        return {}, 0
    orders, tried = ORDERS, tuple(thresholds)
    if n > LARGE_ROWS:
        orders, tried = ORDERS_LARGE, (min(thresholds, key=lambda t: abs(t - MAIN_COS)),)
    rng = ctx.rng("diversity")
    return {t: cluster.order_spread(ctx.vectors.matrix, t, rng, orders) for t in tried}, orders


def _weeks(ctx: Context) -> tuple[tuple[Week, ...], Week | None]:
    if ctx.roles.time is None:
        return (), None
    column = ctx.records.column(ctx.roles.time)
    times = [parse_time(column[row]) for row in ctx.vectors.rows.tolist()]
    weeks = weekly_growth(times, ctx.cluster_labels(WEEK_COS))
    if ctx.records.drawn_from is not None:  # what a week added cannot be told from a few of its rows
        return weeks, None
    return weeks, last_full_week(weeks, times)


def _labelled_clusters(ctx: Context, field: str, thresholds: Sequence[float]) -> tuple[IntArray, dict[float, IntArray]]:
    """Cluster the rows that have both a vector and a value: rows without a label cannot accuse the labels."""
    column = ctx.records.column(field)
    places = np.array([i for i, row in enumerate(ctx.vectors.rows.tolist()) if column[row] is not None], dtype=np.int64)
    if len(places) == len(ctx.vectors.rows):
        return places, {t: ctx.cluster_labels(t) for t in thresholds}
    return places, cluster.leader_clusters_at(ctx.vectors.matrix[places], thresholds)


def _compresses(ctx: Context, field: str, thresholds: Sequence[float]) -> tuple[Finding | None, str]:
    """Return MA301 when clusters exceed the values at every threshold, or the reason why it cannot be judged."""
    distinct = len({v for v in ctx.records.column(field) if v is not None})
    wanted = tuple(dict.fromkeys((*thresholds, WEEK_COS)))
    places, labels = _labelled_clusters(ctx, field, wanted)
    min_rows = int(ctx.limit("MA301", "min_rows", MIN_ROWS))
    if len(places) < min_rows:
        return None, say(
            "only {rows} with a vector and a value of `{field}`; {least} are needed",
            rows=plural(len(places), "row"),
            field=field,
            least=min_rows,
        )
    counts = {t: cluster.cluster_sizes(labels[t]).clusters for t in wanted}
    if not all(counts[t] > distinct for t in thresholds):
        return None, ""
    # A field that was named as the key of groups was named, although the role was filled from it.
    guessed = "value_field" in ctx.roles.guessed and field != ctx.config.group_field
    role = ctx.config.value_field_role
    severity = Severity.INFO if guessed else Severity.LOW if role else Severity.MEDIUM
    n = ctx.records.n_rows
    shown = " / ".join(f"{counts[t]:,}" for t in thresholds)
    at = " / ".join(f"{t:g}" for t in thresholds)
    figures: dict[str, Any] = {
        "rows": n,
        "rows_with_vector_and_value": len(places),
        "distinct_values": distinct,
        **{f"clusters@{t:g}": counts[t] for t in thresholds},
        "clusters_per_value_at_090": counts[WEEK_COS] / distinct,
    }
    notes = []
    if guessed:
        notes.append(say("The field was found by looking, not named: whether it is meant to tell rows apart is open."))
    elif role:
        notes.append(say("The values are meant to be: {role}. Then fewer values than situations is right.", role=role))
    else:
        notes.append(
            say(
                "If `{field}` is a broad category on purpose, say so with `value_field_role`: this is then low.",
                field=field,
            )
        )
    if len(places) < n:
        notes.append(
            say("Left out: {rows} without a vector or a value.", rows=plural(n - len(places), "row"))
        )  # fmt: skip
    return (
        Finding(
            "MA301",
            "generator-compresses",
            severity,
            {"table": ctx.table_name, "column": field},
            say(
                "`{field}` has {values} for {shown} clusters (cosine {at}): more situations than values at every "
                "threshold.",
                field=field,
                values=plural(distinct, "distinct value"),
                shown=shown,
                at=at,
            ),
            figures,
            _mixed_examples(ctx, field, places, labels[WEEK_COS]),
            fix=_fix(field, severity),
            caveat=sentences(*notes) or None,
            lane="generator",
        ),
        "",
    )


def _fix(field: str, severity: Severity) -> str:
    if severity is Severity.INFO:
        return ""
    if severity is Severity.LOW:
        return say(
            "Keep `{field}` out of de-duplication keys: it groups rows, it does not tell them apart.",
            field=field,
        )
    return say(
        "Let the code that fills `{field}` read what the row says, not only where it came from, and give it a form for "
        "each situation.",
        field=field,
    )


def _mixed_examples(ctx: Context, field: str, places: IntArray, labels: IntArray) -> Evidence:
    """Show one row of each cluster of the value that holds the most clusters."""
    column = ctx.records.column(field)
    rows = [int(ctx.vectors.rows[p]) for p in places]
    clusters: dict[Any, dict[int, int]] = {}
    for row, label in zip(rows, labels.tolist(), strict=True):
        clusters.setdefault(column[row], {}).setdefault(label, row)
    # One value may hold several clusters: those are the rows that the field cannot tell apart.
    split = {value for value, found in clusters.items() if len(found) > 1}
    concerned = [row for row in rows if column[row] in split]
    worst = max(clusters, key=lambda value: len(clusters[value]))
    shown = [
        Example(ctx.records.texts[row], ctx.records.keys[row], say("{field} = {value}", field=field, value=str(worst)))
        for row in list(clusters[worst].values())[: ctx.config.max_examples]
    ]
    return Evidence(tuple(shown), len(concerned), tuple(ctx.records.keys[row] for row in concerned))


def _section(
    ctx: Context,
    sizes: Mapping[float, cluster.ClusterCount],
    figures: Mapping[str, Any],
    spread: Mapping[float, cluster.OrderSpread],
    orders: int,
    weeks: Sequence[Week],
    full: Week | None,
) -> Section:
    n = len(ctx.vectors.rows)
    distinct = figures.get("distinct_values")
    bars: list[dict[str, Any]] = [{"what": say("rows with a vector"), "n": n}]
    for t, size in sizes.items():
        bar = {
            "what": say("clusters at cosine {t}", t=f"{t:g}"),
            "n": size.clusters,
            "largest": size.largest,
            "singletons": size.singletons,
        }
        if t in spread:
            bar["orders"] = f"{spread[t].low:,}-{spread[t].high:,}"
        bars.append(bar)
    if distinct is not None:
        bars.append({"what": say("distinct values of {field}", field=ctx.roles.value_field), "n": distinct})
    tables = [
        Table(
            "pool",
            say("Rows, clusters and values; n = {rows} with a vector", rows=plural(n, "row")),
            (
                Column("what", say("what is counted")),
                Column("n", say("number"), Cell.BAR),
                Column("largest", say("rows of the largest"), Cell.COUNT),
                Column("singletons", say("of one row"), Cell.COUNT),
                Column("orders", say("in other row orders")),
            ),
            tuple(bars),
            reference=distinct,
            reference_label=say("distinct values") if distinct is not None else "",
        )
    ]
    if weeks:
        tables.append(
            Table(
                "growth",
                say("New clusters (cosine {t}) by week of writing, the last one first; n = {rows} with a vector and a time",
                    t=f"{WEEK_COS:g}", rows=plural(sum(w.rows for w in weeks), "row")),
                (
                    Column("week", say("week")),
                    Column("rows", say("rows written"), Cell.COUNT),
                    Column("new", say("new clusters"), Cell.BAR),
                ),
                tuple({"week": w.week, "rows": w.rows, "new": w.new_clusters} for w in reversed(weeks[-WEEKS_SHOWN:])),
                show=WEEKS_ON_PAGE,
            )
        )  # fmt: skip
    return Section(
        "pool",
        say("Different situations"),
        say("How many different situations does the store hold, and does collecting still add new ones?"),
        _answer(ctx, sizes, distinct, full),
        ("MA301",),
        tuple(tables),
        tuple(_method(n, spread, orders, weeks)),
    )


def _answer(ctx: Context, sizes: Mapping[float, cluster.ClusterCount], distinct: int | None, full: Week | None) -> str:
    shown = " / ".join(f"{size.clusters:,}" for size in sizes.values())
    at = " / ".join(f"{t:g}" for t in sizes)
    rows = plural(len(ctx.vectors.rows), "row")
    if distinct is None:
        answer = say("{rows} form {shown} clusters at cosine {at}.", rows=rows, shown=shown, at=at)
    else:
        answer = say(
            "{rows} form {shown} clusters at cosine {at}; `{field}` names them with {values}.",
            rows=rows,
            shown=shown,
            at=at,
            field=ctx.roles.value_field,
            values=plural(distinct, "value"),
        )
    if full is not None:
        answer += space_between() + say(
            "The last full week ({week}) added {rows} and {new}.",
            week=full.week,
            rows=plural(full.rows, "row"),
            new=plural(full.new_clusters, "new cluster"),
        )
    return answer


def _method(n: int, spread: Mapping[float, cluster.OrderSpread], orders: int, weeks: Sequence[Week]) -> list[str]:
    lines = [
        say("Greedy leader clustering in row order: a row joins the first leader that is near enough, else it leads."),
        say("MA301 is raised only when clusters exceed the distinct values at every threshold."),
    ]
    if spread:
        each = "; ".join(
            say("{t}: {low}-{high}, median {median:g}", t=f"{t:g}", low=s.low, high=s.high, median=s.median)
            for t, s in spread.items()
        )
        lines.append(say("The numbers depend on the row order. Over {orders} shuffled orders: {each}.",
                         orders=orders, each=each))  # fmt: skip
        if n > LARGE_ROWS:
            lines.append(
                say("With more than {large} rows only {orders} orders of one threshold are tried instead of {full} of "
                    "each.", large=LARGE_ROWS, orders=orders, full=ORDERS)
            )  # fmt: skip
    else:
        lines.append(say("Other row orders were not tried: there are more than {huge} rows.", huge=HUGE_ROWS))
    if weeks:
        timed = sum(w.rows for w in weeks)
        lines.append(
            say("A cluster is new in the ISO week (UTC) of its earliest row. A week is full when the data reaches from "
                "its Monday to its Sunday.")
        )  # fmt: skip
        if timed < n:
            lines.append(say("{rows} without a readable time are not in the weeks.", rows=plural(n - timed, "row")))
        if len(weeks) > WEEKS_SHOWN:
            lines.append(say("The table shows the last {shown} of {all} weeks.", shown=WEEKS_SHOWN, all=len(weeks)))
    return lines


PROBE = DiversityProbe()
