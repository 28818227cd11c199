"""Template text in the embedding: characters that every row shares, and fields that say the same again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.template_filling import template_filled
from memaudit.model import (
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    RowsLeftOut,
    Section,
    Severity,
    Table,
)
from memaudit.text import is_blank
from memaudit.text.skeleton import MIN_TEXTS
from memaudit.text.template import Match, TemplateLine, fitting_template, read_template, template_lines
from memaudit.text.template_share import Cut, Repetition, cut_by_data, cut_by_template, joined, repetitions
from memaudit.wording import part_of, percent, plural, say, sentences, space_between

#: Shares of constant characters: high (most of what the encoder reads says nothing), medium, and the least worth telling.
HIGH_SHARE, MEDIUM_SHARE, LOW_SHARE = 0.50, 0.30, 0.10
#: MA402: share of the rows in which a field must repeat all variables of another.
REPEATING_SHARE = 0.90
_BODY_NAMES = ("body", "content", "text", "memory", "message")


@dataclass(frozen=True)
class Embedded:
    """Embedded texts cut into constant and variable parts.

    Parameters
    ----------
    texts
        Embedded text of each row.
    matches
        One a row; None for a row that follows no template or embeds nothing.
    counted
        Row numbers whose characters are counted.
    left_out
        Row numbers that do not follow the given template.
    how
        Where the constants come from, as a sentence.
    fields
        Name and cut of each embedded field, when they were looked at one by one.
    lines
        Lines of the given template, else none.
    is_filled
        Whether the texts were made here, from the template and its columns.
    """

    texts: tuple[str, ...]
    matches: tuple[Match | None, ...]
    counted: tuple[int, ...]
    left_out: tuple[int, ...]
    how: str
    fields: tuple[tuple[str, Cut], ...] = ()
    lines: tuple[TemplateLine, ...] = ()
    is_filled: bool = False


class TemplateNoise:
    """MA401 and MA402."""

    name: ClassVar[str] = "template-noise"
    title: ClassVar[str] = "How much of the embedded text differs from row to row?"
    codes: ClassVar[Mapping[str, str]] = {"MA401": "template-noise", "MA402": "field-repeats-variables"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ("template",)

    def run(self, ctx: Context) -> ProbeResult:
        """Cut every embedded text into what all rows share and what is its own."""
        not_looked: dict[str, tuple[str, str]] = {}
        columns = [(name, ctx.records.as_texts(name)) for name in ctx.roles.embedded_fields]
        cuts = [(name, cut_by_data(texts)) for name, texts in columns]
        embedded, notes, why_not = _embedded(ctx, cuts)
        findings: list[Finding] = []
        sections: list[Section] = []
        left_out: tuple[RowsLeftOut, ...] = ()
        if embedded is None:
            not_looked["MA401"] = why_not
        else:
            if embedded.left_out:
                keys = tuple(ctx.records.keys[i] for i in embedded.left_out)
                left_out = (RowsLeftOut(len(keys), say("does not follow the template"), keys),)
            finding = _noise_finding(ctx, embedded, notes)
            if finding is not None:
                findings.append(finding)
        if len(columns) < 2:
            not_looked["MA402"] = (say("fewer than two embedded fields were named"), "embedded_fields")
        else:
            findings += _repetition_findings(ctx, [texts for _, texts in columns], cuts)
        if embedded is not None and findings:
            sections.append(_section(ctx, embedded, findings))
        figures = {}
        if findings and findings[0].code == "MA401":
            figures = {"template_share": findings[0].figures["share_constant"]}
        return ProbeResult(
            tuple(findings), tuple(sections), figures, notes=notes, not_looked=not_looked, left_out=left_out
        )


def _embedded(
    ctx: Context, cuts: Sequence[tuple[str, Cut]]
) -> tuple[Embedded | None, tuple[str, ...], tuple[str, str]]:
    """Cut the embedded texts; the second are notes, the third says why there is nothing to cut."""
    made = template_filled(ctx)
    texts = made or ctx.embedded_texts
    filled = tuple(i for i, text in enumerate(texts) if text.strip())
    notes: list[str] = []
    if not filled:
        return None, (), ctx.missing(Need.TEXT) or (say("no row has a text to embed"), "embedded_text")
    if ctx.config.template is not None:
        template = read_template(ctx.config.path(ctx.config.template))
        cut = cut_by_template(template, texts)
        matching = tuple(i for i in filled if cut.matches[i] is not None)
        if matching:
            others = tuple(i for i in filled if cut.matches[i] is None)
            how = (
                say("Constants are the literal text of the template that was given, filled from its columns.")
                if made
                else say("Constants are the literal text of the template that was given; {rows} rows follow it.",
                         rows=part_of(len(matching), len(filled)))
            )  # fmt: skip
            lines = template_lines(template, [texts[i] for i in matching])
            cutting = Embedded(texts, cut.matches, matching, others, how, lines=lines, is_filled=made is not None)
            return cutting, (), ("", "")
        notes.append(say("No row follows the template that was given; constants were looked for in the texts instead."))
    if len({texts[i] for i in filled}) < MIN_TEXTS:
        reason = say("fewer than {n} different embedded texts: what they share cannot be told from chance", n=MIN_TEXTS)
        return None, tuple(notes), (reason, "template")
    if cuts:
        values = [ctx.records.as_texts(name) for name, _ in cuts]
        how = say("Constants were found in the texts, field by field: segments that nearly all different values of a field "
                  "hold in one order, and the blanks between fields.")  # fmt: skip
        cutting = Embedded(texts, joined([c for _, c in cuts], values), filled, (), how, tuple(cuts))
        return cutting, tuple(notes), ("", "")
    cut = cut_by_data(texts)
    how = say("Constants were found in the texts: segments that nearly all different texts hold in one order.")
    return Embedded(texts, cut.matches, filled, (), how), tuple(notes), ("", "")


def _rows_without_body(ctx: Context, embedded: Embedded) -> int | None:
    """Count rows that embed something although their own text is blank; None when no column holds that text alone."""
    texts = embedded.texts
    own = ctx.roles.text
    if own is not None and (
        embedded.is_filled or ctx.roles.embedded_text not in (None, own) or ctx.roles.embedded_fields
    ):
        return sum(is_blank(ctx.records.texts[i]) and not is_blank(texts[i]) for i in range(len(texts)))
    if ctx.config.template is not None and embedded.lines:
        template = fitting_template(read_template(ctx.config.path(ctx.config.template)), texts)
        bodies = [number for number, hole in enumerate(template.holes) if hole.lower() in _BODY_NAMES]
        if len(bodies) == 1:
            matches = [embedded.matches[i] for i in embedded.counted]
            return sum(match is not None and is_blank(match.values[bodies[0]]) for match in matches)
    return None


def _noise_finding(ctx: Context, embedded: Embedded, notes: Sequence[str]) -> Finding | None:
    texts = embedded.texts
    n_chars = sum(len(texts[i]) for i in embedded.counted)
    matches = [embedded.matches[i] for i in embedded.counted]
    n_constant = sum(match.n_constant for match in matches if match is not None)
    share = n_constant / n_chars
    high = ctx.limit("MA401", "high_share", HIGH_SHARE)
    medium = ctx.limit("MA401", "medium_share", MEDIUM_SHARE)
    low = ctx.limit("MA401", "low_share", LOW_SHARE)
    if share < low:
        return None
    n_bare = _rows_without_body(ctx, embedded)
    title = say(
        "{chars} characters of the embedded text are the same in every row.", chars=part_of(n_constant, n_chars)
    )
    if n_bare:
        title += space_between() + say("{rows} rows embed nothing else of their own text: it is blank.",
                           rows=part_of(n_bare, ctx.records.n_rows))  # fmt: skip
    caveats = [embedded.how, *notes]
    if embedded.left_out:
        caveats.append(
            say("{rows} do not follow the template and are left out.", rows=plural(len(embedded.left_out), "row"))
        )
    if n_bare is None:
        caveats.append(say("Whether rows have a body is not known: no column holds the memory's own text."))
    caveats.append(say("High from {high:.3g} %, medium from {medium:.3g} %, silent below {low:.3g} %.",
                       high=100 * high, medium=100 * medium, low=100 * low))  # fmt: skip
    ids = tuple(ctx.records.keys[i] for i in embedded.counted if embedded.matches[i] is not None)
    severity = Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW
    if ctx.config.template is None and ctx.roles.embedded_text is None and not ctx.roles.embedded_fields:
        severity = min(severity, Severity.MEDIUM)
        caveats.append(
            say("What is embedded was not named: the text column was taken for it, so this is at most medium.")
        )
    return Finding(
        "MA401",
        "template-noise",
        severity,
        _subject(ctx),
        title,
        {
            "rows": ctx.records.n_rows,
            "rows_counted": len(embedded.counted),
            "rows_with_template": len(ids),
            "embedded_chars": n_chars,
            "template_constant_chars": n_constant,
            "share_constant": share,
            "rows_without_body": n_bare,
        },
        Evidence(
            tuple(Example(texts[i], ctx.records.keys[i]) for i in embedded.counted[: ctx.config.max_examples]),
            len(ids),
            ids,
        ),
        fix=say("Embed the variables and the memory's own words, not the labels and fixed sentences around them; keep the "
                "template for what is shown to the model."),
        caveat=sentences(*caveats),
    )  # fmt: skip


def _subject(ctx: Context) -> dict[str, Any]:
    subject: dict[str, Any] = {"table": ctx.table_name}
    fields = ctx.roles.embedded_fields
    if ctx.roles.embedded_text is None and fields:
        return {**subject, "column": ", ".join(fields)}
    return {**subject, "column": ctx.roles.embedded_text or ctx.roles.text}


def _repetition_findings(
    ctx: Context, values: Sequence[Sequence[str]], cuts: Sequence[tuple[str, Cut]]
) -> list[Finding]:
    share = ctx.limit("MA402", "share_rows", REPEATING_SHARE)
    names = [name for name, _ in cuts]
    found = repetitions([cut for _, cut in cuts], values, share)
    return [_repetition_finding(ctx, names[r.field], names[r.of], values[r.field], r, share) for r in found]


def _repetition_finding(
    ctx: Context, name: str, of: str, texts: Sequence[str], repetition: Repetition, share: float
) -> Finding:
    title = say(
        "`{name}` carries nothing of its own: its {variables} also in `{of}`, in {rows}.",
        name=name,
        of=of,
        variables=plural(repetition.n_variables, "variable stands", "variables stand"),
        rows=part_of(repetition.n_repeating, repetition.n_rows) + space_between() + say("rows"),
    )
    filled = [i for i, text in enumerate(texts) if text.strip()]
    return Finding(
        "MA402",
        "field-repeats-variables",
        Severity.LOW,
        {"table": ctx.table_name, "column": name, "field": of},
        title,
        {
            "variables": repetition.n_variables,
            "rows": ctx.records.n_rows,
            "rows_compared": repetition.n_rows,
            "rows_repeating": repetition.n_repeating,
        },
        Evidence(
            tuple(Example(texts[i], ctx.records.keys[i]) for i in filled[: ctx.config.max_examples]),
            repetition.n_repeating,
        ),
        fix=say("Leave `{name}` out of the embedded text and measure whether results change (MA501).", name=name),
        caveat=say("Reported when every variable word of the field stands in the other one in at least {share:.3g} % of "
                   "the rows that fill both.", share=100 * share),
    )  # fmt: skip


# -- the page ------------------------------------------------------------------------------------


def _section(ctx: Context, embedded: Embedded, findings: Sequence[Finding]) -> Section:
    tables = [_share_table(embedded), _sample_table(embedded)]
    if embedded.fields:
        tables.insert(1, _field_table(ctx, embedded))
    if len(embedded.lines) > 1:
        tables.insert(1, _line_table(ctx, embedded))
    return Section(
        "template-noise",
        say("Template text in the embedding"),
        say("How much of the embedded text differs from row to row?"),
        sentences(*(f.title for f in findings)),
        tuple(f.code for f in findings),
        tuple(tables),
        tuple(f.caveat or "" for f in findings),
    )


def _counts(embedded: Embedded) -> tuple[int, int]:
    n_chars = sum(len(embedded.texts[i]) for i in embedded.counted)
    matches = [embedded.matches[i] for i in embedded.counted]
    return sum(match.n_constant for match in matches if match is not None), n_chars


def _part_columns() -> tuple[Column, Column]:
    return Column("chars", say("characters"), Cell.BAR), Column("share", say("share"), Cell.SHARE)


def _share_table(embedded: Embedded) -> Table:
    n_constant, n_chars = _counts(embedded)
    rows = (
        {"part": say("template constants"), "chars": n_constant, "_mark": "hot"},
        {"part": say("variables"), "chars": n_chars - n_constant},
    )
    return Table(
        "template-share",
        say("Characters of the embedded text, {n} rows", n=len(embedded.counted)),
        (Column("part", say("part"), Cell.TEXT), *_part_columns()),
        tuple({**row, "share": int(str(row["chars"])) / n_chars} for row in rows),
        scale=float(n_chars),
    )


def _field_table(ctx: Context, embedded: Embedded) -> Table:
    rows = []
    for name, cut in embedded.fields:
        texts = ctx.records.as_texts(name)
        n = sum(map(len, texts))
        rows.append({"field": name, "chars": n, "bar": cut.n_constant, "share": cut.n_constant / n if n else None})
    return Table(
        "template-fields",
        say("Constant characters by embedded field, {n} rows", n=len(embedded.counted)),
        (
            Column("field", say("field"), Cell.CODE),
            Column("chars", say("characters"), Cell.COUNT),
            Column("bar", say("constant characters"), Cell.BAR),
            Column("share", say("constant share"), Cell.SHARE),
        ),
        tuple(rows),
    )


def _line_table(ctx: Context, embedded: Embedded) -> Table:
    total = sum(line.n_chars for line in embedded.lines)
    return Table(
        "template-lines",
        say("Lines of the template, {n} rows", n=len(embedded.counted)),
        (
            Column("line", say("line"), Cell.VALUE),
            Column("distinct", say("distinct values"), Cell.COUNT),
            *_part_columns(),
        ),
        tuple(
            {
                "line": line.label,
                "distinct": line.n_distinct,
                "chars": line.n_chars,
                "share": line.n_chars / total if total else None,
                **({"_mark": "hot"} if line.n_distinct == 1 else {}),
            }
            for line in embedded.lines
        ),
        scale=float(total) if total else None,
    )


def _sample_table(embedded: Embedded) -> Table:
    """Show one row of middle length, cut into its parts."""
    matched = [i for i in embedded.counted if embedded.matches[i] is not None] or list(embedded.counted)
    row = sorted(matched, key=lambda i: (len(embedded.texts[i]), i))[len(matched) // 2]
    match = embedded.matches[row]
    parts = match.parts if match is not None else ((embedded.texts[row], False),)
    constant = sum(len(text) for text, is_constant in parts if is_constant)
    whole = sum(len(text) for text, _ in parts)
    return Table(
        "template-sample",
        say("One row as it is embedded: {share} of it constant", share=percent(constant, whole)),
        (Column("text", say("constants are underlined"), Cell.PARTS),),
        ({"text": [[text, is_constant] for text, is_constant in parts]},),
    )


PROBE = TemplateNoise()
