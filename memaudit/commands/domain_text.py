"""What `memaudit domain` prints: text for a person, JSON for a program."""

from __future__ import annotations

import json
from typing import Any

from memaudit.domain.result import DomainResult, domain_to_json
from memaudit.measures.domain_audit import DomainAudit
from memaudit.wording import part_of, plural, say, term

#: Values listed before the text says how many more there are.
VALUES_SHOWN = 60


def domain_as_text(result: DomainResult, size: int | None = None) -> str:
    """Print an enumeration: values, forms, what is missing, purity; `size` is the domain's with a store's values."""
    lines = [say("{target}  ({file}:{line}, loaded by {mode})", target=result.target, file=result.file,
                 line=str(result.line), mode=result.mode), ""]  # fmt: skip
    if result.status != "ok":
        lines.append(say("unknown: {reason}", reason=result.reason or ""))
        return "\n".join(lines) + "\n"
    forms = say(" and {forms} with a hole", forms=plural(len(result.forms), "form")) if result.forms else ""
    lines.append(say("{values}{forms}, {calls}:", values=plural(len(result.fixed_values), "fixed value"), forms=forms,
                     calls=plural(result.calls, "call")))  # fmt: skip
    shown = [_shown(v) for v in result.fixed_values[:VALUES_SHOWN]] + [f.text for f in result.forms]
    lines += [f"  {value}" for value in shown]
    if len(result.fixed_values) > VALUES_SHOWN:
        lines.append(say("  and {n} more (--format json lists all)", n=len(result.fixed_values) - VALUES_SHOWN))
    lines.append("")
    if result.domain_size is not None:
        lines.append(say("domain size: {n}", n=result.domain_size))
    elif size is not None:
        lines.append(say("domain size: {n}, the holes filled by the values of the store", n=size))
    elif result.forms:
        lines.append(say("domain size: open (holes are filled by the values of a store: --store)"))
    complete = say("complete: every condition was seen true and false, and every statement ran (no proof)")
    lines.append(complete if result.complete else say("not complete:"))
    lines += [f"  {line}" for line in result.missing]
    if not result.pure:
        lines.append(say("not pure (the values are a lower bound):"))
        lines += [f"  {line}" for line in result.impurities]
    for s in result.shadowed:
        lines.append(say("never decides: {keyword} (line {line}), {relation} {by}", keyword=_shown(s.keyword),
                         line=str(s.line), relation=term(s.relation), by=_shown(s.by)))  # fmt: skip
    fallback = [*map(_shown, result.fallback.values), *result.fallback.forms]
    if fallback:
        lines.append(say("fallback: {values}", values=", ".join(fallback)))
    lines += list(result.notes)
    return "\n".join(lines) + "\n"


def audit_as_text(audit: DomainAudit) -> str:
    """Print an enumeration and what the store holds of it."""
    stored = audit.stored
    lines = [
        domain_as_text(audit.domain, audit.size).rstrip(),
        "",
        say("in the store ({rows}):", rows=plural(stored.n_rows, "row")),
    ]
    size = plural(audit.size, "value") if audit.size is not None else say("an unknown number of values")
    if stored.values_seen is None:
        lines.append(say("  values in use: not measured, because it is not known how the field holds them"))
    else:
        lines.append(say("  {seen} of {size} in use", seen=stored.values_seen, size=size))
    if audit.n_on_fallback is not None:
        lines.append(say("  {n} rows on the fallback", n=part_of(audit.n_on_fallback, audit.n_counted)))
    elif stored.why_no_fallback:
        lines.append(say("  rows on the fallback: not measured, because {why}", why=stored.why_no_fallback))
    outside = [(v, n) for v, n in stored.outside if v not in (None, "")]
    if outside:
        certain = say("not producible") if stored.outside_is_certain else say("not found (the domain is not complete)")
        lines.append(say("  {values} {certain}, {rows}", values=plural(len(outside), "value"), certain=certain,
                         rows=plural(sum(n for _, n in outside), "row")))  # fmt: skip
    if audit.replayed is not None:
        never = ", ".join(_shown(k) for k in audit.replayed.never_matched)
        if never:
            lines.append(say("  criteria that match no row: {never}", never=never))
    elif audit.why_not_replayed:
        lines.append(say("  criteria against the texts: not measured, because {why}", why=audit.why_not_replayed))
    return "\n".join(lines) + "\n"


def audit_as_json(result: DomainResult, audit: DomainAudit | None) -> dict[str, Any]:
    """Return the documented object; with a store also what the store holds."""
    document = domain_to_json(result)
    if audit is None:
        return document
    document["domain_size"] = audit.size
    stored = audit.stored
    document["store"] = {
        "rows": stored.n_rows,
        "values_seen": stored.values_seen,
        "values_never_seen": list(stored.values_never_seen),
        "outside": [{"value": v, "rows": n} for v, n in stored.outside],
        "outside_is_certain": stored.outside_is_certain,
        "by_form": [{"form": f.form, "is_form": f.is_form, "rows": f.n_rows} for f in stored.by_form],
        "rows_on_fallback": audit.n_on_fallback,
        "rows_counted": audit.n_counted,
        "counted_by": "replay" if audit.by_replay else "value",
    }
    if audit.replayed is not None:
        document["store"]["keywords"] = [
            {"keyword": k.keyword.text, "rows_matched": k.n_matched, "rows_decided": k.n_decided,
             "places": k.n_places, "inside_word": k.n_inside_word}
            for k in audit.replayed.keywords
        ]  # fmt: skip
    return document


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
