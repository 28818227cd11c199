"""Whether a limit of rows ever acted, and whether it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.config import nearest
from memaudit.context import Context, Need
from memaudit.measures.owner_limits import fullest_owner, owner_of_limit
from memaudit.model import Basis, Finding, ProbeResult, Severity
from memaudit.production import walk
from memaudit.times import parse_time
from memaudit.wording import per_cent, plural, say

#: From this share of the limit on the limit is about to act: no finding.
NEAR_SHARE = 0.90
#: Stores that evict in batches stand a little above their limit between two runs.
TOLERANCE = 0.05
HIGH_OVER_SHARE = 0.20
_DAYS_A_YEAR = 365.25


@dataclass(frozen=True)
class Size:
    """A store and its limit.

    Parameters
    ----------
    evictions
        Rows ever evicted; None when that is not recorded.
    days
        Days between the first and the last row; None when not known.
    owner_column
        The column whose fullest value the rows are those of; empty for a limit of the whole table.
    """

    rows: int
    limit: float
    evictions: int | None
    days: float | None
    owner_column: str = ""

    @property
    def share(self) -> float:
        """Rows as a share of the limit."""
        return self.rows / self.limit

    @property
    def years_to_limit(self) -> float | None:
        """Years until the limit is met when rows come as they came so far; None when that is not known."""
        if not self.days or self.days <= 0 or not self.rows or self.rows >= self.limit:
            return None
        return (self.limit - self.rows) / (self.rows / self.days) / _DAYS_A_YEAR


def judged(size: Size, *, near_share: float, tolerance: float, high_over_share: float) -> tuple[str, Severity] | None:
    """Judge a limit.

    Parameters
    ----------
    near_share
        From this share of the limit on a limit that never acted is about to.
    tolerance
        Share above the limit that is let pass where evictions are on record.
    high_over_share
        Share above the limit from which on it is `high`.

    Returns
    -------
    `MA602` or `MA603` with its severity; None when the limit acts, or is about to.
    """
    if size.rows > size.limit:
        over_share = (size.rows - size.limit) / size.limit
        if size.evictions and over_share <= tolerance:
            return None
        return "MA603", Severity.HIGH if over_share >= high_over_share else Severity.MEDIUM
    if size.evictions or size.share >= near_share:
        return None
    return "MA602", Severity.LOW


class CapacityProbe:
    """Rows against the configured limit."""

    name: ClassVar[str] = "capacity"
    title: ClassVar[str] = "Did the limit of rows ever act?"
    codes: ClassVar[Mapping[str, str]] = {"MA602": "capacity-never-reached", "MA603": "capacity-exceeded"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.CAPACITY})
    lanes: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[frozenset[str]] = frozenset({"capacity", "config", "evictions", "isolation_keys", "time"})

    def run(self, ctx: Context) -> ProbeResult:
        """Hold the live rows of the whole table against the limit."""
        limit, key, reason, option = _limit(ctx)
        if limit is None:
            return ProbeResult(not_looked={code: (reason, option) for code in self.codes})
        subject: dict[str, Any] = {"table": ctx.table_name, "config": key}
        evictions, note = _evictions(ctx)
        owner = owner_of_limit(key)
        if not owner:
            size = Size(_live_rows(ctx), limit, evictions, _days(ctx))
        else:
            fullest = fullest_owner(ctx, owner)
            if fullest is None:
                reason = say("the limit {key} is one for each {owner}, and no column tells them apart", key=key,
                             owner=owner)  # fmt: skip
                return ProbeResult(not_looked={code: (reason, "isolation_keys") for code in self.codes})
            size = Size(fullest.rows, limit, evictions, None, fullest.column)
            subject |= {"column": fullest.column, "value": fullest.value}
        verdict = judged(
            size,
            near_share=ctx.limit("MA602", "near_share", NEAR_SHARE),
            tolerance=ctx.limit("MA603", "tolerance", TOLERANCE),
            high_over_share=ctx.limit("MA603", "high_over_share", HIGH_OVER_SHARE),
        )
        if verdict is None:
            return ProbeResult()
        code, severity = verdict
        made = _never_reached if code == "MA602" else _exceeded
        return ProbeResult((made(size, severity, subject, note),))


def _limit(ctx: Context) -> tuple[float | None, str, str, str]:
    """Return the limit, the key it stands under, or why there is none and the option that would help."""
    given = ctx.config.capacity
    key = "capacity"
    value: Any = given
    if isinstance(given, str):
        key = given
        value = ctx.production_value(given)
        if value is None:
            plain = _number(given)
            if plain is not None:
                value, key = plain, "capacity"
            elif ctx.config.config is None:
                return None, key, say('no production configuration was given to look "{key}" up in', key=key), "config"
            else:
                known = [path for path, _ in walk(ctx.production_config)]
                hint = nearest(key, known)
                return None, key, say('the production configuration has no key "{key}". {hint}', key=key,
                                      hint=hint).strip(), "capacity"  # fmt: skip
    number = _number(value)
    if number is None:
        return None, key, say("the limit {key} is {value}, no number", key=key, value=repr(value)), "capacity"
    if number <= 0:
        return None, key, say("the limit {key} is {value:g}: there is no limit", key=key, value=number), "capacity"
    return number, key, "", ""


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.replace(",", "").replace("_", ""))
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) and value == value else None


def _live_rows(ctx: Context) -> int:
    """Count the rows of the whole table that are not deleted: a limit knows nothing of samples and conditions."""
    table = ctx.records.table
    if ctx.roles.deleted_where is None:
        return table.n_rows
    return ctx.store.condition_count(table, "1", f"({ctx.roles.deleted_where}) IS NOT TRUE")


def _days(ctx: Context) -> float | None:
    """Return the days between the first and the last row of the table; None when fewer than two times are known."""
    if ctx.roles.time is None:
        return None
    column = ctx.other_table(ctx.table_name).column(ctx.roles.time)
    times = [t for t in map(parse_time, column) if t is not None]
    return (max(times) - min(times)).total_seconds() / 86_400 if len(times) > 1 else None


def _evictions(ctx: Context) -> tuple[int | None, str]:
    """Return rows ever evicted: a number, the rows of a table, a key of the configuration, or a column's sum."""
    given = ctx.config.evictions
    if given is None:
        return None, say("Evictions are not recorded, so whether the limit ever acted is judged by the rows alone.")
    if isinstance(given, int):
        return given, ""
    for table in ctx.store.tables:
        if table.name.lower() == given.lower():
            return table.n_rows, say("Evictions: rows of table {table}.", table=table.name)
    number = _number(ctx.production_value(given))
    if number is not None:
        return int(number), say("Evictions: {key} of the configuration.", key=given)
    name, _, column = given.rpartition(".")
    for table in ctx.store.tables:
        if (table.name == name or (not name and table.name == ctx.table_name)) and table.has(column):
            counted = [_number(v) for v in ctx.other_table(table.name).column(column)]
            total = int(sum(v for v in counted if v is not None))
            return total, say("Evictions: sum of `{column}` of table {table}.", column=column, table=table.name)
    return None, say("{given} is no table, key or column, so evictions are not known.", given=given)


def _figures(size: Size) -> dict[str, Any]:
    return {
        "rows": size.rows,
        "limit": int(size.limit) if size.limit == int(size.limit) else size.limit,
        "share_of_limit": size.share,
        "evictions": size.evictions,
        "days_covered": size.days,
        "years_to_limit_at_this_rate": size.years_to_limit,
    }


def _share(size: Size) -> str:
    """Give the share of the limit with as many decimals as it takes to show that it is not zero."""
    return per_cent(f"{100 * size.share:.2f}" if size.share < 0.01 else f"{100 * size.share:.1f}")


def _evicted(size: Size) -> str:
    if size.evictions is None:
        return say("evictions are not recorded")
    return say("no row was ever evicted") if not size.evictions else plural(size.evictions, "eviction")


def _rows(size: Size) -> str:
    counted = plural(size.rows, "row")
    return say("{rows} of one `{column}`", rows=counted, column=size.owner_column) if size.owner_column else counted


def _never_reached(size: Size, severity: Severity, subject: Mapping[str, Any], note: str) -> Finding:
    years = size.years_to_limit
    when = "" if years is None else say("; at this rate it is met in {years}", years=_in_years(years))
    return Finding(
        "MA602",
        "capacity-never-reached",
        severity,
        subject,
        say("{rows} against a limit of {limit:,.0f} ({share}): {evicted}{when}.", rows=_rows(size),
            limit=size.limit, share=_share(size), evicted=_evicted(size), when=when),
        _figures(size),
        fix=say(
            "Do not count on this limit to keep the store clean: what it should remove has to be removed another way, "
            "or the limit has to fit the rate of writing."
        ),
        caveat=note or None,
    )  # fmt: skip


def _in_years(years: float) -> str:
    if years < 1:
        return say("about {months}", months=plural(max(1, round(12 * years)), "month"))
    return say("about {years}", years=plural(round(years), "year"))


def _exceeded(size: Size, severity: Severity, subject: Mapping[str, Any], note: str) -> Finding:
    over = size.rows - size.limit
    return Finding(
        "MA603",
        "capacity-exceeded",
        severity,
        subject,
        say("{rows} against a limit of {limit:,.0f}: {over:,.0f} too many ({percent:.1f} %), {evicted}.",
            rows=_rows(size), limit=size.limit, over=over, percent=100 * over / size.limit,
            evicted=_evicted(size)),
        {**_figures(size), "over_by": int(over) if over == int(over) else over},
        fix=say("Enforce the limit where rows are written, and look why the present check does not see all rows."),
        caveat=note or None,
        basis=Basis.MEASURED,
    )  # fmt: skip


PROBE = CapacityProbe()
