"""The page's section on a generator's value domain: forms against rows, criteria against texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memaudit.domain.against_store import KeywordRows, StoreComparison
from memaudit.measures.domain_audit import DomainAudit, generator_file
from memaudit.model import Cell, Column, Example, Section, Table
from memaudit.wording import part_of, percent, plural, say, sentences

#: Criteria that the page shows when fewer of them match.
KEYWORDS_ON_PAGE = 10


def domain_section(audit: DomainAudit) -> Section:
    """Show the forms against the rows, the criteria against the texts, and how the domain was found."""
    tables = [_form_table(audit)] if audit.domain.comparable else []
    if audit.replayed is not None and audit.replayed.keywords:
        tables.append(_criteria_table(audit.replayed.keywords, audit.replayed.n_replayed))
    return Section(
        "value-domain",
        say("Value domain of `{function}`", function=audit.domain.target.rpartition(":")[2]),
        say("Which values can the function return, and which of them does the store hold?"),
        _answer(audit),
        ("MA101", "MA102", "MA103", "MA104", "MA105", "MA106", "MA903"),
        tuple(tables),
        tuple(_method(audit)),
        tuple(
            Example(str(w.value), note=say("given {arguments}", arguments=str(dict(w.arguments))[:160]))
            for w in audit.domain.witnesses[:5]
        ),
    )


def form_rows(stored: StoreComparison, audit: DomainAudit) -> list[dict[str, Any]]:
    """Return the rows of the table: criteria, fallback, not producible, total; each with values and rows."""
    domain = audit.domain
    fallback_fixed = {str(v) for v in domain.fallback.values}
    fallback_forms = set(domain.fallback.forms)
    criteria = [f for f in stored.by_form if not _on_fallback(f.form, f.is_form, fallback_fixed, fallback_forms)]
    fallback = [f for f in stored.by_form if _on_fallback(f.form, f.is_form, fallback_fixed, fallback_forms)]
    outside = [(v, n) for v, n in stored.outside if v not in (None, "")]
    blank = sum(n for v, n in stored.outside if v in (None, ""))
    open_criteria = sum(f.is_form for f in criteria)
    reachable_criteria = None if open_criteria else sum(not f.is_form for f in criteria)
    reachable_fallback = None
    if audit.size is not None and reachable_criteria is not None:
        reachable_fallback = audit.size - reachable_criteria
    rows: list[dict[str, Any]] = [
        {
            "form": say("a criterion matched"),
            "reachable": reachable_criteria,
            "seen": _seen(criteria),
            "rows": sum(f.n_rows for f in criteria),
        },
        {
            "form": say("fallback: no criterion matched"),
            "reachable": reachable_fallback,
            "seen": _seen(fallback),
            "rows": sum(f.n_rows for f in fallback),
            "_mark": "hot",
        },
        {
            "form": say("not producible by this function"),
            "reachable": None,
            "seen": len(outside),
            "rows": sum(n for _, n in outside),
        },
    ]
    if blank:
        rows.append({"form": say("no value"), "reachable": None, "seen": None, "rows": blank})
    total = sum(int(r["rows"]) for r in rows)
    for row in rows:
        row["share"] = row["rows"] / total if total else None
    distinct = sum(int(r["seen"] or 0) for r in rows)
    rows.append({"form": say("total"), "reachable": audit.size, "seen": distinct, "rows": total,
                 "share": 1.0 if total else None})  # fmt: skip
    return rows


def _on_fallback(form: Any, is_form: bool, fixed: set[str], forms: set[str]) -> bool:
    return (str(form) in forms) if is_form else (str(form) in fixed)


def _seen(forms: Sequence[Any]) -> int:
    return sum(len([v for v in f.values if f.n_rows]) for f in forms)


def _form_table(audit: DomainAudit) -> Table:
    return Table(
        "value-domain",
        say("Enumerated values against the store, {rows}; {calls} calls", rows=plural(audit.stored.n_rows, "row"),
            calls=audit.domain.calls),
        (
            Column("form", say("form")),
            Column("reachable", say("can return"), Cell.COUNT),
            Column("seen", say("values in the store"), Cell.COUNT),
            Column("rows", say("rows"), Cell.BAR),
            Column("share", say("share of rows"), Cell.SHARE),
        ),
        tuple(form_rows(audit.stored, audit)),
        scale=float(audit.stored.n_rows),
    )  # fmt: skip


def _criteria_table(keywords: Sequence[KeywordRows], n_rows: int) -> Table:
    ordered = sorted(keywords, key=lambda k: (-k.n_matched, k.keyword.line))
    return Table(
        "criteria",
        say("Criteria against the texts of {rows}", rows=plural(n_rows, "row")),
        (
            Column("keyword", say("criterion"), Cell.CODE),
            Column("line", say("line")),
            Column("matched", say("rows matched"), Cell.BAR),
            Column("decided", say("rows decided"), Cell.COUNT),
            Column("note", say("note")),
        ),
        tuple(
            {
                "keyword": str(k.keyword.text),
                "line": str(k.keyword.line),
                "matched": k.n_matched,
                "decided": k.n_decided,
                "note": _note(k),
            }
            for k in ordered
        ),
        scale=float(n_rows),
        show=max(KEYWORDS_ON_PAGE, sum(k.n_matched > 0 for k in ordered)),
    )


def _note(keyword: KeywordRows) -> str:
    notes = []
    if keyword.n_matched == 0:
        notes.append(say("matches nothing"))
    if keyword.shadowed_by is not None:
        notes.append(say("needless: `{by}` holds whenever it does", by=str(keyword.shadowed_by)))
    if keyword.n_inside_word:
        notes.append(say("{matches} inside a longer word", matches=plural(keyword.n_inside_word, "match", "matches")))
    return "; ".join(notes)


def _answer(audit: DomainAudit) -> str:
    rows = audit.stored.n_rows
    size = say("It can return {size}", size=plural(audit.size, "value")) if audit.size is not None else say(
        "How many values it can return is not known"
    )  # fmt: skip
    parts = [say("{size}; {seen} of them are in the store.", size=size, seen=audit.stored.values_seen)]
    if not audit.domain.comparable:
        parts = [say("{size}; how the field holds them is not known.", size=size)]
    if audit.n_on_fallback is not None:
        parts.append(say("{n} rows sit on its fallback.", n=part_of(audit.n_on_fallback, audit.n_counted)))
        n_cjk, n_cjk_on = audit.n_cjk
        if n_cjk and n_cjk_on is not None and n_cjk < rows:
            other = audit.n_counted - n_cjk
            parts.append(
                say(
                    "Of the {cjk} with Chinese text {on} do ({share}), of the {other} others {other_on} ({other_share}).",
                    cjk=plural(n_cjk, "row"),
                    on=n_cjk_on,
                    share=percent(n_cjk_on, n_cjk),
                    other=other,
                    other_on=audit.n_on_fallback - n_cjk_on,
                    other_share=percent(audit.n_on_fallback - n_cjk_on, other),
                )
            )
    return sentences(*parts)


def _method(audit: DomainAudit) -> list[str]:
    domain = audit.domain
    how = {"import": say("the module was imported in a child process"),
           "slice": say("the function and what it names were compiled alone, in a child process")}  # fmt: skip
    lines = [
        say("{target}, {file}:{line}: {how}. Inputs were made from the function's own conditions.",
            target=f"`{domain.target}`", file=generator_file(audit), line=str(domain.line), how=how.get(domain.mode, domain.mode)),
        say("Every value listed was returned by the function on an input that is kept as its witness.")
        + " "
        + (
            say("The enumeration is complete: each condition was seen true and false and each statement ran.")
            if domain.complete
            else say("The enumeration is not complete: {missing}.", missing="; ".join(domain.missing[:4]))
        ),
        say("Complete is no proof: combinations that no input tried, arguments of another shape, the state of an object, "
            "environment and locale can add values."),
    ]  # fmt: skip
    if audit.columns:
        lines.append(
            say(
                "Parameters fed by columns: {columns}.",
                columns=", ".join(f"{p} = `{c}`" for p, c in audit.columns.items()),
            )
        )
    if audit.replayed is not None:
        r = audit.replayed
        called, failed = plural(r.n_replayed, "row"), r.n_failed
        line = say("The stored rows were run through the function: {called}, {failed} raised.", called=called,
                   failed=failed)  # fmt: skip
        if r.n_agree is not None:
            line = say(
                "The stored rows were run through the function: {called}, {failed} raised; {agree} gave the stored value.",
                called=called,
                failed=failed,
                agree=part_of(r.n_agree, r.n_replayed - r.n_failed),
            )
        lines.append(line)
    elif audit.why_not_replayed:
        lines.append(say("The stored rows were not run through it: {why}.", why=audit.why_not_replayed))
    lines += list(domain.notes)
    lines += [say("Not limited on this system: {what}.", what=what) for what in domain.unlimited]
    return lines
