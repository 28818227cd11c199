"""Fields that carry no information: one value in every row, or a score left at its default."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.conditions import is_gone_name, is_score_name, names_in, read_filters, snake_case
from memaudit.measures.field_spread import (
    DEFAULT_ROWS,
    DEFAULT_SHARE,
    OWNER_NAME,
    PARTLY_SHARE,
    UNSCORED_SHARE,
    Constant,
    MostlyDefault,
    constant,
    mostly_default,
    owners_elsewhere,
)
from memaudit.measures.filter_effect import audited_where, filled_by_deletion, lets_nothing_through
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, Section, Severity, Table
from memaudit.records import Records
from memaudit.text.template import read_template, template_lines
from memaudit.wording import part_of, percent, plural, say, sentences, space_between

#: With fewer rows one value is no surprise.
MIN_ROWS = 5
#: From this share on a score says nothing (vocabulary of findings, MA606).
MEDIUM_SHARE = 0.90
MAX_SHOWN_CHARS = 200

# One value is what one expects: facts about the whole store, not about a row.
_EXPECTED = re.compile(
    r"(^|_)(version|schema|format|model|encoder|embedder|lang|language|locale|encoding|charset|unit|units|currency"
    r"|timezone|tz|dim|dims|dimension|dimensions|provider|algorithm)($|_)|版本|语言|模型"
)
_EXPIRY = re.compile(r"(^|_)(expires?|expiry|expired|expiration)($|_)|过期|失效时间")


class ConstantFieldsProbe:
    """Columns, template lines and scores that say nothing about a row."""

    name: ClassVar[str] = "constant-fields"
    title: ClassVar[str] = "Which fields are the same in every row?"
    codes: ClassVar[Mapping[str, str]] = {"MA601": "field-single-value", "MA606": "field-mostly-default"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[frozenset[str]] = frozenset(
        {"isolation_keys", "dedup", "group_field", "filters", "retrieval_log", "template", "scored_marker"}
    )

    def run(self, ctx: Context) -> ProbeResult:
        """Look through the columns of the audited table, the scores of the log, and the lines of the template."""
        filtered = _filtered_names(ctx)
        findings = []
        not_looked = {}
        min_rows = int(ctx.limit("MA601", "min_rows", MIN_ROWS))
        partly = ctx.limit("MA601", "partly_share", PARTLY_SHARE)
        if ctx.records.n_rows >= min_rows:
            constants = [c for name in _columns(ctx) if (c := constant(ctx.records, name, partly)) is not None]
            findings += [_constant_finding(ctx, c, filtered) for c in constants]
        else:
            reason = say("{rows}; {least} are needed", rows=plural(ctx.records.n_rows, "row"), least=min_rows)
            not_looked["MA601"] = (reason, "store")
        if _has_few_scores(ctx):
            least = int(ctx.limit("MA606", "min_rows", DEFAULT_ROWS))
            not_looked["MA606"] = (
                say("{rows} with scores; {least} are needed", rows=plural(ctx.records.n_rows, "row"), least=least),
                "store",
            )
        log = _log_records(ctx)
        log_scores = _log_scores(ctx, log) if log is not None and log.n_rows >= min_rows else []
        if log is not None:
            found = [c for name in log_scores if (c := constant(log, name, partly)) is not None]
            findings += [_constant_finding(ctx, c, filtered, in_log=True) for c in found]
        lines = _template_finding(ctx, min_rows)
        findings += [lines] if lines is not None else []
        findings += [_default_finding(ctx, d, in_log=False) for d in _defaults(ctx, ctx.records, None)]
        if log is not None:
            findings += [_default_finding(ctx, d, in_log=True) for d in _defaults(ctx, log, log_scores)]
        return ProbeResult(tuple(findings), () if _is_part(ctx) else _sections(findings, partly), not_looked=not_looked)


# -- where to look ------------------------------------------------------------------------------


def _is_part(ctx: Context) -> bool:
    """Say whether these are the rows of one value of a `by` column, where a constant is no news."""
    if not ctx.config.by:
        return False
    whole = ctx.store.condition_count(ctx.records.table, audited_where(ctx), "1")
    return ctx.records.n_rows < min(whole, ctx.config.max_rows or whole)


def _columns(ctx: Context) -> list[str]:
    """Return the columns that may be constant by fault: not the parts that have probes of their own."""
    roles, config = ctx.roles, ctx.config
    own = {roles.id, roles.embedding, roles.hits, roles.last_access, config.soft_delete, config.active}
    own |= {name.partition("$")[0] for name in (roles.text, roles.embedded_text) if name}
    # A column that the rows were chosen by has one value because of that.
    chosen = " ".join(filter(None, (roles.deleted_where, config.where)))
    chosen_by = {name.lower() for name in names_in(chosen)}
    names = [c for c in ctx.records.column_names if c not in own and c.lower() not in chosen_by]
    return [c for c in names if not filled_by_deletion(ctx, c)]


def _filtered_names(ctx: Context) -> frozenset[str]:
    names = {n for f in read_filters(ctx.config) for n in names_in(f.condition)}
    return frozenset(part.lower() for n in names for part in (n, n.rpartition(".")[2]))


def _has_few_scores(ctx: Context) -> bool:
    few = ctx.records.n_rows < ctx.limit("MA606", "min_rows", DEFAULT_ROWS)
    return few and any(is_score_name(c) for c in ctx.records.column_names)


def _log_records(ctx: Context) -> Records | None:
    return ctx.other_table(ctx.config.retrieval_log) if ctx.config.retrieval_log is not None else None


def _log_scores(ctx: Context, log: Records) -> list[str]:
    found = ctx.log.score if ctx.log is not None else None
    return [c for c in log.column_names if c == found or is_score_name(c)]


def _defaults(ctx: Context, records: Records, names: Sequence[str] | None) -> list[MostlyDefault]:
    marker = ctx.config.scored_marker if names is None else None
    columns = [c for c in records.column_names if is_score_name(c) and c != marker] if names is None else names
    found = (
        mostly_default(
            records.table.name,
            column,
            records.column(column),
            records.column(marker) if marker is not None else None,
            min_share=ctx.limit("MA606", "min_share", DEFAULT_SHARE),
            min_rows=int(ctx.limit("MA606", "min_rows", DEFAULT_ROWS)),
            unscored_share=ctx.limit("MA606", "unscored_share", UNSCORED_SHARE),
        )
        for column in columns
    )
    return [d for d in found if d is not None]


# -- one value ----------------------------------------------------------------------------------


def _part_of_column(ctx: Context, name: str, filtered: frozenset[str]) -> str:
    """Name the part that a column plays: what makes its one value cost something."""
    lower = name.lower()
    if lower in {k.lower() for k in ctx.config.isolation_keys or ()}:
        return "isolation"
    if is_score_name(name):
        return "filtering score" if lower in filtered else "score"
    if ctx.config.group_field == name or lower in re.findall(r"[^\W]+", (ctx.config.dedup or "").lower()):
        return "dedup"
    if lower not in filtered:
        return ""
    return "empty filter" if lets_nothing_through(ctx, read_filters(ctx.config), name) else "filter"


def _severity(found: Constant, part: str, in_log: bool) -> Severity:
    severity = _severity_in_all_rows(found, part, in_log)
    # Rows without the value are kept apart from the others at least.
    return min(severity, Severity.MEDIUM if part == "isolation" else Severity.LOW) if _is_partial(found) else severity


def _is_partial(found: Constant) -> bool:
    return bool(found.distinct and found.null_rows)


def _severity_in_all_rows(found: Constant, part: str, in_log: bool) -> Severity:
    if part in ("isolation", "filtering score") or (in_log and found.distinct):
        return Severity.HIGH
    if part == "filter" and is_gone_name(found.column):
        # No row is gone yet, and the filter lets them all through: only a time of expiry is missed by something.
        return Severity.LOW if _EXPIRY.search(snake_case(found.column)) and not found.distinct else Severity.INFO
    if part in ("dedup", "filter", "empty filter"):
        return Severity.MEDIUM
    if part == "score":
        return Severity.LOW  # whether anything is ranked by it is not known
    name = snake_case(found.column)
    if _EXPECTED.search(name) and found.distinct:
        return Severity.INFO
    if is_gone_name(found.column) or (OWNER_NAME.search(name) and found.distinct):
        return Severity.INFO
    return Severity.LOW


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return say("{n} bytes", n=len(value))
    if isinstance(value, str) and len(value) > MAX_SHOWN_CHARS:
        return value[:MAX_SHOWN_CHARS] + "..."
    return value


def _constant_finding(ctx: Context, found: Constant, filtered: frozenset[str], *, in_log: bool = False) -> Finding:
    part = _part_of_column(ctx, found.column, filtered)
    severity = _severity(found, part, in_log)
    figures: dict[str, Any] = {
        "rows": found.rows,
        "distinct": found.distinct,
        "value": _shown(found.value),
        "null_rows": found.null_rows,
    }
    title = _said(found)
    caveat = None
    if part == "isolation":
        owners = owners_elsewhere(ctx.records, found.column)
        if owners is None:
            caveat = say("Right only if the store serves one owner; no other column says how many there are.")
        else:
            other, names, begins = owners
            figures |= {"owners_in_other_column": len(names)}
            title += (
                say(", although `{other}` begins with {n} different names", other=other, n=len(names))
                if begins
                else say(", although `{other}` names {n}", other=other, n=len(names))
            )
    return Finding(
        "MA601",
        "field-single-value",
        severity,
        {"table": found.table, "column": found.column},
        title + _consequence(found, part, in_log) + say("."),
        figures,
        Evidence(total=found.rows),
        fix=_constant_fix(found, part, severity),
        caveat=caveat,
        lane="retrieval" if in_log or part == "filtering score" else "",
    )


def _said(found: Constant) -> str:
    if not found.distinct:
        return say("`{column}` is NULL in all {rows}", column=found.column, rows=plural(found.rows, "row"))
    value = str(_shown(found.value))
    if _is_partial(found):
        return say(
            "`{column}` has one value, `{value}`, in {part} rows; {none} have none",
            column=found.column, value=value, part=part_of(found.rows - found.null_rows, found.rows),
            none=found.null_rows,
        )  # fmt: skip
    return say("`{column}` has the single value `{value}` in all {rows}", column=found.column, value=value,
               rows=plural(found.rows, "row"))  # fmt: skip


def _consequence(found: Constant, part: str, in_log: bool) -> str:
    if _is_partial(found) and part:
        return say(": all that it separates is rows with it from rows without")
    if part == "isolation":
        return say(": it keeps nobody apart")
    if part == "dedup":
        return say(": de-duplication by it cannot work")
    if part == "empty filter":
        return say(": any filter on it returns nothing")
    if part in ("filter", "filtering score"):
        return say(": the filter on it separates nothing")
    if in_log:
        return say(": it ranks nothing")
    if part == "score":
        return say(": nothing can be ranked by it")
    return ""


def _constant_fix(found: Constant, part: str, severity: Severity) -> str:
    if severity is Severity.INFO:
        return ""
    if part == "isolation":
        return say("Fill `{column}` from the caller's identity where rows are written, and repair the rows that are there "
                   "before anybody else uses the store.", column=found.column)  # fmt: skip
    if part:
        return say("Find the place that should fill `{column}` and does not, or take out what relies on it.",
                   column=found.column)  # fmt: skip
    return say("Fill `{column}` with something that differs between rows, or drop it.", column=found.column)


def _template_finding(ctx: Context, min_rows: int) -> Finding | None:
    """Return the labelled lines of the template that say the same in every row, as one finding."""
    if ctx.config.template is None:
        return None
    template = read_template(ctx.config.path(ctx.config.template))
    lines = template_lines(template, ctx.embedded_texts)
    labels = [line.strip() for line in template.splitlines()]
    same = [
        line
        for line in lines
        if line.n_distinct == 1 and line.n_rows >= min_rows and any(_is_label(line.label, text) for text in labels)
    ]
    if not same:
        return None
    n_rows = same[0].n_rows
    values = {line.label: _shown(next(iter(line.values))) for line in same}
    names = ", ".join(values)
    left_out = ctx.records.n_rows - n_rows
    return Finding(
        "MA601",
        "field-single-value",
        Severity.LOW,
        {
            "table": ctx.table_name,
            "column": ctx.roles.embedded_text or ctx.roles.text,
            "template_lines": list(values),
        },
        say("{lines} of the embedded text ({names}) say the same in all {rows}.",
            lines=plural(len(same), "line"), names=names, rows=plural(n_rows, "row")),
        {
            "rows": n_rows,
            "distinct": 1,
            "value": next(iter(values.values())) if len(set(values.values())) == 1 else None,
            "null_rows": 0,
            "values": values,
            "chars": sum(line.n_chars for line in same),
        },
        Evidence((Example(ctx.embedded_texts[0], ctx.records.keys[0]),) if ctx.records.n_rows else (), n_rows),
        fix=say("Leave these lines out of the text that is embedded; keep them as columns if they are needed."),
        caveat=say("{rows} do not follow the template and were left out.", rows=plural(left_out, "row"))
        if left_out
        else None,
    )  # fmt: skip


def _is_label(label: str, line: str) -> bool:
    return line.startswith(label) and line[len(label) :].lstrip()[:1] in (":", "：")


# -- left at its default ------------------------------------------------------------------------


def _default_finding(ctx: Context, found: MostlyDefault, *, in_log: bool) -> Finding:
    records = ctx.other_table(found.table) if in_log else ctx.records
    medium = ctx.limit("MA606", "medium_share", MEDIUM_SHARE)
    left = found.unscored_at_default
    by_marker = bool(left) and left is not None and left >= UNSCORED_SHARE * len(found.values)
    severity = Severity.MEDIUM if found.share >= medium or by_marker else Severity.LOW
    scored = None if found.scored is None else {v for i in found.scored if (v := found.values[i]) is not None}
    title = say(
        "`{column}` is {default:g} in {rows} rows",
        column=found.column,
        default=found.default,
        rows=part_of(len(found.at_default), found.n_valued),
    )
    if left is not None and found.unscored is not None:
        title += say(
            "; {left} that were never scored stand at it",
            left=part_of(left, len(found.unscored)) + space_between() + say("rows"),
        )
    n_null = len(found.values) - found.n_valued
    notes = [
        say("Counted from {share:.0f} % of at least {rows} rows; medium from {medium:.0f} %.",
            share=100 * ctx.limit("MA606", "min_share", DEFAULT_SHARE),
            rows=int(ctx.limit("MA606", "min_rows", DEFAULT_ROWS)), medium=100 * medium)
    ]  # fmt: skip
    if n_null:
        notes.append(say("{rows} without a number are left out.", rows=plural(n_null, "row")))
    if found.scored is None and not in_log:
        notes.append(say("Which rows were really scored is not known (`scored_marker`)."))
    return Finding(
        "MA606",
        "field-mostly-default",
        severity,
        {"table": found.table, "column": found.column},
        title + say("."),
        {
            "rows": len(found.values),
            "null_rows": n_null,
            "rows_at_default": len(found.at_default),
            "share_at_default": found.share,
            "default": found.default,
            "scored_rows": None if found.scored is None else len(found.scored),
            "scored_distinct_values": None if scored is None else len(scored),
            "unscored_rows": None if found.unscored is None else len(found.unscored),
            "unscored_at_default": left,
        },
        Evidence(
            tuple(
                Example(str(found.values[i]) if in_log else records.texts[i], records.keys[i])
                for i in found.at_default[: ctx.config.max_examples]
            ),
            len(found.at_default),
            tuple(records.keys[i] for i in found.at_default),
        ),
        fix=say(
            "Compute `{column}` for every row when it is written, or rank by something else: rows at the default are in no "
            "order.",
            column=found.column,
        ),
        caveat=sentences(*notes),
        lane="retrieval" if in_log else "",
    )


def _sections(findings: Sequence[Finding], partly: float) -> tuple[Section, ...]:
    if not findings:
        return ()
    rows = []
    for finding in findings:
        figures = finding.figures
        is_default = finding.code == "MA606"
        rows.append(
            {
                "table": finding.subject["table"],
                "column": ", ".join(finding.subject.get("template_lines", ())) or finding.subject["column"],
                "value": figures["default"] if is_default else figures["value"],
                "share": percent(figures["rows_at_default"], figures["rows"] - figures["null_rows"])
                if is_default
                else percent(figures["rows"] - (figures["null_rows"] if figures["distinct"] else 0), figures["rows"]),
                "rows": figures["rows"],
                "severity": finding.severity.label,
                **({"_mark": "hot"} if finding.severity >= Severity.MEDIUM else {}),
            }
        )
    table = Table(
        "constant-fields",
        say("Fields with one value, or with mostly one; n = {fields}", fields=plural(len(rows), "field")),
        (
            Column("table", say("table"), Cell.CODE),
            Column("column", say("field"), Cell.CODE),
            Column("value", say("value (- for NULL)"), Cell.VALUE),
            Column("share", say("rows at it")),
            Column("rows", say("rows"), Cell.COUNT),
            Column("severity", say("severity")),
        ),
        tuple(rows),
    )
    serious = sum(f.severity >= Severity.MEDIUM for f in findings)
    return (
        Section(
            "constant-fields",
            say("Fields that say nothing"),
            say("Which fields are the same in every row, or almost?"),
            say("Fields that carry no information about a row: {fields}; relied on: {serious}.",
                fields=len(rows), serious=serious),
            ("MA601", "MA606"),
            (table,),
            (
                say("One value: at most one value in all rows, NULL everywhere included; or one value in at least {share:.3g} % of "
                    "the rows and NULL in the others, unless it says no more than yes. Else a column that is set in some rows "
                    "and NULL in others tells rows apart.", share=100 * partly),
                say("Left out: keys, texts, vectors, the use counter, and columns by which the rows were chosen."),
            ),
        ),
    )  # fmt: skip


PROBE = ConstantFieldsProbe()
