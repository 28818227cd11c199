"""MA101-MA106, MA902, MA903: which values the production generator can return, and which the store holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.domain.against_store import KeywordRows
from memaudit.errors import TargetError
from memaudit.measures.domain_audit import DomainAudit, audited_domain, generator_file
from memaudit.measures.domain_section import domain_section
from memaudit.model import (
    Basis,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    Severity,
)
from memaudit.wording import part_of, plural, say, term

#: From this share of rows on the fallback on the field says little (the published case: 0.88).
FALLBACK_SHARE = 0.20
#: Below this share a value such as "other" does its job: up to a third is usual for a category.
MEDIUM_FALLBACK_SHARE = 1 / 3
#: From here on most rows carry no information of their own.
HIGH_FALLBACK_SHARE = 0.50
#: A value outside the domain is a leftover below the first share, another writer above the second.
OUTSIDE_MEDIUM, OUTSIDE_HIGH = 0.02, 0.10
#: Share of keywords that match no row from which on the criteria were written for other texts.
NEVER_MEDIUM = 0.50
#: Share of matches inside longer words worth a finding, and how many there must be.
INSIDE_SHARE, INSIDE_ROWS = 0.10, 2
#: Share of the domain in use from which on it is called saturated.
SATURATED_SHARE = 0.90


class ValueDomain:
    """Enumerate the production generator and hold the stored values against it."""

    name: ClassVar[str] = "value-domain"
    title: ClassVar[str] = "Which values can the production generator return, and which does the store hold?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA101": "value-domain-fallback",
        "MA102": "value-outside-domain",
        "MA103": "keywords-never-match",
        "MA104": "keywords-shadowed",
        "MA105": "keyword-inside-word",
        "MA106": "domain-saturated",
        "MA902": "generator-not-importable",
        "MA903": "generator-impure",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.VALUE_FIELD, Need.GENERATOR})
    lanes: ClassVar[frozenset[str]] = frozenset({"generator"})

    def run(self, ctx: Context) -> ProbeResult:
        """Enumerate, compare, and replay the rows where columns feed the parameters."""
        rules = ("MA101", "MA102", "MA103", "MA104", "MA105", "MA106")
        try:
            audit = audited_domain(ctx)
        except TargetError as error:
            return ProbeResult(
                (_not_importable(ctx, error),),
                not_looked={code: (str(error), "generator") for code in rules},
                incomplete=str(error),
            )
        if audit.domain.status != "ok":
            reason = say("the generator could not be called: {reason}", reason=audit.domain.reason or "")
            hint = say("Name its inputs with generator_inputs, or another function that can be called by itself.")
            return ProbeResult(
                (_not_importable(ctx, TargetError(f"{reason}.", hint)),),
                not_looked={code: (reason, "generator_inputs") for code in rules},
                incomplete=reason,
            )
        findings = [
            f
            for f in (
                _fallback(ctx, audit),
                _outside(ctx, audit),
                _never_match(ctx, audit),
                _shadowed(ctx, audit),
                _inside_word(ctx, audit),
                _saturated(ctx, audit),
                _impure(ctx, audit),
            )
            if f is not None
        ]
        not_looked = _blind(audit)
        figures: dict[str, Any] = {
            "domain_size": audit.size,
            "values_seen": audit.stored.values_seen,
            "rows_on_fallback": audit.n_on_fallback,
        }
        if audit.n_on_fallback is not None and audit.n_counted:
            figures["rows_counted"] = audit.n_counted
            figures["share_on_fallback"] = audit.n_on_fallback / audit.n_counted
        return ProbeResult(tuple(findings), (domain_section(audit),), figures, not_looked=not_looked)


def _blind(audit: DomainAudit) -> dict[str, tuple[str, str]]:
    """Say which rules could not look, and what would make them."""
    not_looked: dict[str, tuple[str, str]] = {}
    if audit.n_on_fallback is None:
        reason = audit.stored.why_no_fallback or say("it is not known which values are the fallback")
        not_looked["MA101"] = (reason, "generator_args")
    if not audit.domain.comparable:
        reason = say("the values are objects, and it is not known how the field holds them")
        not_looked |= dict.fromkeys(("MA102", "MA106"), (reason, "generator"))
    elif not audit.stored.outside_is_certain and audit.stored.outside:
        reason = say("the enumeration is not complete ({why}), so a value not found is no proof",
                     why="; ".join(audit.domain.missing[:2]))  # fmt: skip
        not_looked["MA102"] = (reason, "generator_inputs")
    if audit.size is None:
        reason = say("the number of values that the generator can return is not known")
        not_looked["MA106"] = (reason, "generator_inputs")
    if audit.domain.keywords and audit.replayed is None:
        for code in ("MA103", "MA105"):
            not_looked[code] = (audit.why_not_replayed, "generator_args")
    return not_looked


def _subject(ctx: Context, **more: Any) -> dict[str, Any]:
    return {"table": ctx.table_name, "column": ctx.roles.value_field, **more}


def _place(audit: DomainAudit) -> dict[str, Any]:
    """Return where the generator stands: module, function and file with its line."""
    function = audit.domain.target.rpartition(":")[2]
    return {
        "module": audit.domain.module,
        "function": function,
        "file": generator_file(audit),
        "line": audit.domain.line,
    }


def _fallback(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA101: too many rows carry the value that says "no criterion matched"."""
    n, rows = audit.n_on_fallback, audit.n_counted
    if n is None or not rows:
        return None
    share = n / rows
    least = ctx.limit("MA101", "share_on_fallback", FALLBACK_SHARE)
    if share < least or not n:
        return None
    n_cjk, n_cjk_on = audit.n_cjk
    fallback = [*audit.domain.fallback.values, *audit.domain.fallback.forms]
    value = fallback[0] if len(fallback) == 1 else fallback
    stored = audit.stored
    used = set(map(str, stored.fallback_values))
    columns = ctx.records.column(ctx.roles.value_field or "")
    on = [i for i, v in enumerate(columns) if str(v) in used] if not audit.by_replay else []
    sentence = say("{n} rows carry the fallback of the generator.", n=part_of(n, rows))
    if n_cjk and n_cjk_on == n_cjk and n_cjk < rows:
        sentence = say("{n} rows carry the fallback of the generator, all {cjk} Chinese ones among them.",
                       n=part_of(n, rows), cjk=n_cjk)  # fmt: skip
    medium = ctx.limit("MA101", "medium_share", MEDIUM_FALLBACK_SHARE)
    caveat = say("Limit: {least:.0%} of the rows (medium from {medium:.0%}, high from {high:.0%}).", least=least,
                 medium=medium, high=HIGH_FALLBACK_SHARE)  # fmt: skip
    if audit.by_replay and not audit.domain.comparable:
        caveat = say("Counted by running the stored rows through the generator, because it is not known how the field "
                     "holds its values.") + " " + caveat  # fmt: skip
    elif audit.by_replay:
        caveat = say("Counted by running the stored rows through the generator, because another criterion gives the "
                     "same value.") + " " + caveat  # fmt: skip
    return Finding(
        "MA101",
        "value-domain-fallback",
        Severity.HIGH if share >= HIGH_FALLBACK_SHARE else Severity.MEDIUM if share >= medium else Severity.LOW,
        _subject(ctx, **_place(audit)),
        sentence,
        {
            "domain_size": audit.size,
            "values_seen": stored.values_seen,
            "values_never_seen": list(stored.values_never_seen)[:100],
            "fallback_value": value,
            "rows": rows,
            "rows_on_fallback": n,
            "share_on_fallback": share,
            "cjk_rows": n_cjk,
            "cjk_rows_on_fallback": n_cjk_on,
        },
        Evidence(
            tuple(
                Example(ctx.records.texts[i], ctx.records.keys[i])
                for i in on[: ctx.config.max_examples]
            ),
            n,
            tuple(ctx.records.keys[i] for i in on),
        ),
        fix=say("Make the criteria of `{function}` match the texts that really occur: the table of criteria shows which "
                "match nothing.", function=_place(audit)["function"]),
        caveat=caveat,
        lane="generator",
    )  # fmt: skip


def _outside(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA102: stored values that the function cannot produce."""
    outside = [(value, n) for value, n in audit.stored.outside if value not in (None, "")]
    if not outside or not audit.stored.outside_is_certain:
        return None
    n = sum(count for _, count in outside)
    rows = audit.stored.n_rows
    share = n / rows
    values = [value for value, _ in outside]
    column = ctx.records.column(ctx.roles.value_field or "")
    wanted = set(map(str, values))
    concerned = [i for i, v in enumerate(column) if str(v) in wanted]
    severity = Severity.LOW
    if share >= ctx.limit("MA102", "medium_share", OUTSIDE_MEDIUM):
        severity = Severity.MEDIUM
    if share >= ctx.limit("MA102", "high_share", OUTSIDE_HIGH):
        severity = Severity.HIGH
    return Finding(
        "MA102",
        "value-outside-domain",
        severity,
        _subject(ctx, values=values[:50], **_place(audit)),
        say("{n} rows hold a value that `{function}` cannot return ({values}).", n=part_of(n, rows),
            function=_place(audit)["function"], values=plural(len(values), "value")),
        {
            "domain": list(audit.domain.fixed_values)[:100] + [f.text for f in audit.domain.forms],
            "domain_size": audit.size,
            "outside_values": values[:100],
            "rows": rows,
            "rows_outside": n,
            "share_outside": share,
            "groups": {str(value): {"rows": count} for value, count in outside[:50]},
        },
        Evidence(
            tuple(
                Example(str(column[i]), ctx.records.keys[i])
                for i in concerned[: ctx.config.max_examples]
            ),
            n,
            tuple(ctx.records.keys[i] for i in concerned),
        ),
        fix=say("Find who else writes `{column}`: an older version of the function, an import, or a person. Then "
                "migrate the rows, or name the second writer.", column=ctx.roles.value_field),
        lane="generator",
    )  # fmt: skip


def _never_match(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA103: criteria that match no stored text."""
    replayed = audit.replayed
    if replayed is None or not replayed.keywords or not replayed.n_replayed:
        return None
    never = [k for k in replayed.keywords if k.n_looked == replayed.n_replayed and k.n_matched == 0]
    if not never:
        return None
    total = len(replayed.keywords)
    share = len(never) / total
    medium = ctx.limit("MA103", "medium_share", NEVER_MEDIUM)
    which = [k.keyword.text for k in never]
    return Finding(
        "MA103",
        "keywords-never-match",
        Severity.MEDIUM if share >= medium else Severity.LOW,
        _subject(ctx, **_place(audit)),
        say("{never} of {total} criteria match none of the {rows} stored texts.", never=len(never), total=total,
            rows=replayed.n_replayed),
        {"patterns_total": total, "patterns_never_matching": len(never), "which": which, "rows": replayed.n_replayed},
        Evidence(tuple(Example(str(k.keyword.text), note=_line(k)) for k in never[: ctx.config.max_examples]), len(never)),
        fix=say("Read twenty rows on the fallback and write criteria for what stands there, in its language."),
        caveat=say("Never matched in the rows replayed; other texts may still match. Medium from {share:.0%} of the "
                   "criteria.", share=medium),
        lane="generator",
    )  # fmt: skip


def _line(keyword: KeywordRows) -> str:
    return say("{kind}, line {line}", kind=keyword.keyword.kind, line=str(keyword.keyword.line))


def _shadowed(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA104: criteria that can never decide, because an earlier one holds whenever they do."""
    shadowed = audit.domain.shadowed
    if not shadowed:
        return None
    decisive = [s for s in shadowed if s.relation != "same-group"]
    named = (decisive or shadowed)[0]
    keyword, by = str(named.keyword), str(named.by)
    if not decisive:
        title = say("{n} can be left out: `{by}` holds whenever `{keyword}` does.",
                    n=plural(len(shadowed), "criterion", "criteria"), keyword=keyword, by=by)  # fmt: skip
    elif named.by is None:
        title = say("{n} can never decide: `{keyword}` never gets its turn.",
                    n=plural(len(decisive), "criterion", "criteria"), keyword=keyword)  # fmt: skip
    else:
        title = say("{n} can never decide: `{keyword}` stands behind `{by}`.",
                    n=plural(len(decisive), "criterion", "criteria"), keyword=keyword, by=by)  # fmt: skip
    return Finding(
        "MA104",
        "keywords-shadowed",
        Severity.MEDIUM if decisive else Severity.LOW,
        _subject(ctx, **_place(audit)),
        title,
        {
            "shadowed": [s.keyword for s in shadowed],
            "by": [s.by for s in shadowed],
            "relations": [s.relation for s in shadowed],
            "in_the_same_group": len(shadowed) - len(decisive),
        },
        Evidence(
            tuple(
                Example(str(s.keyword), note=say("line {line}: {relation} `{by}`", line=str(s.line),
                                                 relation=term(s.relation), by=str(s.by)))
                for s in shadowed[: ctx.config.max_examples]
            ),
            len(shadowed),
        ),
        fix=say("Put the longer criterion before the shorter one, or remove it."),
        caveat=say("A criterion needless inside its own group changes no value: low. One behind an earlier branch, or in "
                   "the wrong case, changes values: medium."),
        lane="generator",
    )  # fmt: skip


def _inside_word(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA105: matches that are part of a longer word (`rm` in `format`)."""
    if audit.replayed is None:
        return None
    matches = sum(k.n_places for k in audit.replayed.keywords)
    inside = sum(k.n_inside_word for k in audit.replayed.keywords)
    n_forms = sum(k.n_forms for k in audit.replayed.keywords)
    least = ctx.limit("MA105", "share_inside_word", INSIDE_SHARE)
    if not matches or inside < INSIDE_ROWS or inside / matches < least or inside == n_forms:
        return None
    which = {str(k.keyword.text): k for k in audit.replayed.keywords if k.n_inside_word}
    return Finding(
        "MA105",
        "keyword-inside-word",
        Severity.MEDIUM if (inside - n_forms) / matches >= 2 * least else Severity.LOW,
        _subject(ctx, **_place(audit)),
        say("{inside} matches of criteria are a piece of a longer word (`{keyword}`).", inside=part_of(inside, matches),
            keyword=max(which, key=lambda name: which[name].n_inside_word - which[name].n_forms)),
        {
            "matches": matches,
            "inside_word": inside,
            "share_inside_word": inside / matches,
            "forms_of_the_keyword": n_forms,
            "which": list(which),
            "groups": {n: {"matches": k.n_places, "inside_word": k.n_inside_word} for n, k in which.items()},
        },
        Evidence(tuple(Example(n, note=_line(k)) for n, k in list(which.items())[: ctx.config.max_examples]), inside),
        fix=say("Match whole words: `\\bword\\b` in a regular expression, or a split into words."),
        caveat=say("Limit: {least:.0%} of the matches, at least {rows}. {forms} of them are forms of the keyword itself "
                   "(`deploys` for `deploy`) and do no harm: medium from {medium:.0%} without them.",
                   least=least, rows=INSIDE_ROWS, forms=n_forms, medium=2 * least),
        lane="generator",
    )  # fmt: skip


def _saturated(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA106: the store already holds almost every value that the function can return."""
    seen = audit.stored.values_seen
    if audit.size is None or audit.size < 2 or seen is None:
        return None
    least = ctx.limit("MA106", "share_seen", SATURATED_SHARE)
    if seen / audit.size < least:
        return None
    return Finding(
        "MA106",
        "domain-saturated",
        Severity.INFO if ctx.config.value_field_role else Severity.LOW,
        _subject(ctx, **_place(audit)),
        say("{seen} values that `{function}` can return are in use: more rows cannot widen the pool.",
            seen=part_of(seen, audit.size), function=_place(audit)["function"]),
        {"domain_size": audit.size, "values_seen": seen, "rows": audit.stored.n_rows},
        fix=say("When more distinctions are wanted, add criteria; collecting more rows adds none."),
        caveat=say("Limit: {least:.0%} of the values.", least=least),
        lane="generator",
    )  # fmt: skip


def _impure(ctx: Context, audit: DomainAudit) -> Finding | None:
    """MA903: the function depends on more than its arguments, or changes something."""
    if audit.domain.pure:
        return None
    return Finding(
        "MA903",
        "generator-impure",
        Severity.LOW,
        _subject(ctx, **_place(audit)),
        say("`{function}` is not pure: {what}.", function=_place(audit)["function"],
            what=audit.domain.impurities[0].rstrip(".") if audit.domain.impurities else say("reason not known")),
        {"impurities": list(audit.domain.impurities), "calls": audit.domain.calls},
        Evidence(tuple(Example(line) for line in audit.domain.impurities[: ctx.config.max_examples]),
                 len(audit.domain.impurities)),
        fix=say("Make the value depend on the arguments alone, so that equal input gives an equal label."),
        caveat=say("The enumerated values are a lower bound."),
        basis=Basis.SAMPLED,
        lane="generator",
    )  # fmt: skip


def _not_importable(ctx: Context, error: TargetError) -> Finding:
    """MA902: the generator cannot be found, loaded or run to the end."""
    return Finding(
        "MA902",
        "generator-not-importable",
        Severity.HIGH,
        _subject(ctx, function=ctx.config.generator),
        say("The generator `{target}` could not be run.", target=ctx.config.generator),
        {"target": ctx.config.generator},
        fix=error.hint or "",
        caveat=error.message,
        lane="",
    )


PROBE = ValueDomain()
