"""The outcome of an enumeration and of a replay, as plain frozen data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memaudit.wording import key

#: A value as JSON: None is null; what JSON cannot hold is `{"repr": ...}`.
Json = Any


@dataclass(frozen=True)
class Form:
    """A value with holes that arguments fill.

    Parameters
    ----------
    parts
        (is a hole, constant text or name of the parameter), in order.
    exact
        The arguments stand in the holes as they are; else they were changed on the way.
    is_json
        The values are no texts; the form is that of their JSON.
    """

    parts: tuple[tuple[bool, str], ...]
    exact: bool = True
    is_json: bool = False

    @property
    def text(self) -> str:
        """The form with `{name}` for each hole."""
        return "".join("{" + text + "}" if is_hole else text for is_hole, text in self.parts)

    @property
    def holes(self) -> tuple[str, ...]:
        """Names of the holes, each once, in order."""
        return tuple(dict.fromkeys(text for is_hole, text in self.parts if is_hole))

    @property
    def is_anything(self) -> bool:
        """Whether the form has no constant text: it admits every value."""
        return all(is_hole for is_hole, _ in self.parts)

    def pattern(self) -> re.Pattern[str]:
        """Give a pattern that its instances match in full; one group for each hole."""
        return re.compile("".join("(.*?)" if is_hole else re.escape(t) for is_hole, t in self.parts), re.DOTALL)

    def filled(self, values: Mapping[str, str]) -> str:
        """Put values into the holes."""
        return "".join(values[text] if is_hole else text for is_hole, text in self.parts)


@dataclass(frozen=True)
class Witness:
    """An input that gives a value; `form` is the text of the form that the value is an instance of."""

    value: Json
    arguments: Mapping[str, Json]
    form: str | None = None


@dataclass(frozen=True)
class Keyword:
    """One criterion of the target.

    Parameters
    ----------
    text
        As written: keyword, pattern or table key.
    kind
        contains, prefix, suffix, regex, equals, member, key, entry, element.
    file, line
        Where it is asked.
    group
        Criteria with the same number are alternatives of one decision.
    parameter
        Path of the argument it looks into (`failures[].error`), None when not known.
    raw
        What the replay needs to know it again.
    """

    text: Json
    kind: str
    file: str
    line: int
    group: int
    parameter: str | None
    raw: Mapping[str, Any]


#: Words of `Shadowed.relation`, said to the reader in his language.
RELATIONS = (key("earlier-branch"), key("same-group"), key("case"))


@dataclass(frozen=True)
class Shadowed:
    """A criterion that can never decide.

    Parameters
    ----------
    relation
        `earlier-branch`: `by` holds whenever it does and is asked first; `same-group`: an alternative that
        `by` makes needless; `case`: the text is lower- or upper-cased before (`by` is None).
    """

    keyword: Json
    by: Json
    relation: str
    file: str
    line: int
    by_line: int | None


@dataclass(frozen=True)
class Fallback:
    """What the target gives when no criterion holds, and in its `except` parts.

    Parameters
    ----------
    values
        Fixed values.
    forms
        Texts of forms.
    separable
        True: no criterion leads to it; False: rows on it cannot be told by their value, only by replay;
        None: the target has no criteria, or its neutral input raises.
    points, neutral
        For the replay: statements on the way, and look-ups that the neutral input makes, too.
    """

    values: tuple[Json, ...] = ()
    forms: tuple[str, ...] = ()
    separable: bool | None = None
    points: tuple[int, ...] = ()
    neutral: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class DomainResult:
    """All values that were found, and how far that can be trusted.

    Parameters
    ----------
    mode
        `import` or `slice`.
    fixed_values
        Values that the target says itself, in the order of their JSON text.
    domain_size
        Fixed values plus the forms filled with the given values; None when not complete, or when a form has
        a hole that no values were given for.
    complete
        Every condition was seen both ways, every statement ran, nothing is missing. No proof.
    missing
        What keeps it from being complete, one line each.
    pure, impurities
        Whether anything was seen that depends on more than the arguments or changes something.
    shadowed
        Criteria that can never decide.
    outside_annotation
        Fixed values that only inputs outside the declared type gave.
    calls, failed_calls
        Calls made, and those of them that raised.
    status, reason
        `unknown` when no call succeeded: then the other fields say nothing.
    notes
        Assumptions and what was left off, for the reader.
    unlimited
        Limits that this system does not have.
    comparable
        False when the values are objects and it is not known how the field holds them.
    """

    target: str
    mode: str
    file: str
    line: int
    module: str
    parameters: tuple[str, ...]
    fixed_values: tuple[Json, ...]
    forms: tuple[Form, ...]
    domain_size: int | None
    complete: bool
    missing: tuple[str, ...]
    pure: bool
    impurities: tuple[str, ...]
    witnesses: tuple[Witness, ...]
    shadowed: tuple[Shadowed, ...]
    keywords: tuple[Keyword, ...]
    fallback: Fallback
    outside_annotation: tuple[Json, ...]
    calls: int
    failed_calls: int
    errors: tuple[str, ...]
    status: str
    reason: str | None
    notes: tuple[str, ...]
    unlimited: tuple[str, ...] = ()
    comparable: bool = True


@dataclass(frozen=True)
class RowReplay:
    """What one row did.

    Parameters
    ----------
    value
        Returned value; None also when the call raised (see `error`).
    hits
        Indexes of keywords that hold for the row's text, decisive or not.
    decided
        Indexes of keywords that the target asked and found true.
    inside
        Keyword index -> (places, places inside a longer word, those that are a form of the keyword itself).
    not_looked
        Indexes of keywords whose text is not known for this row: neither a hit nor a miss.
    on_fallback
        None when the target has no fallback or the call raised.
    """

    value: Json
    error: str | None
    hits: tuple[int, ...]
    decided: tuple[int, ...]
    inside: Mapping[int, tuple[int, int, int]]
    not_looked: tuple[int, ...]
    on_fallback: bool | None


@dataclass(frozen=True)
class ReplayResult:
    """The rows in the order given; None for rows that the time limit left out."""

    rows: tuple[RowReplay | None, ...]
    mode: str
    keywords: tuple[Keyword, ...]

    @property
    def n_replayed(self) -> int:
        """Rows that were called."""
        return sum(row is not None for row in self.rows)


def domain_to_json(result: DomainResult) -> dict[str, Any]:
    """Give the JSON that `memaudit domain --format json` prints."""
    return {
        "target": result.target,
        "mode": result.mode,
        "file": result.file,
        "line": result.line,
        "fixed_values": list(result.fixed_values),
        "forms": [{"text": form.text, "holes": list(form.holes), "exact": form.exact} for form in result.forms],
        "domain_size": result.domain_size,
        "complete": result.complete,
        "missing": list(result.missing),
        "pure": result.pure,
        "impurities": list(result.impurities),
        "witnesses": [
            {"value": w.value, "arguments": dict(w.arguments)} | ({} if w.form is None else {"form": w.form})
            for w in result.witnesses
        ],
        "shadowed": [
            {"keyword": s.keyword, "by": s.by, "relation": s.relation, "file": s.file, "line": s.line}
            for s in result.shadowed
        ],
        "keywords": [{"keyword": k.text, "kind": k.kind, "line": k.line, "group": k.group} for k in result.keywords],
        "fallback": {
            "values": list(result.fallback.values),
            "forms": list(result.fallback.forms),
            "separable": result.fallback.separable,
        },
        "outside_annotation": list(result.outside_annotation),
        "calls": result.calls,
        "failed_calls": result.failed_calls,
        "status": result.status,
        "reason": result.reason,
        "notes": list(result.notes),
        "unlimited": list(result.unlimited),
    }


def domain_from_child(raw: Mapping[str, Any], *, target: str, file: str, line: int, module: str) -> DomainResult:
    """Read what the child wrote; KeyError, TypeError or ValueError when it is not of that form."""
    found = raw["fallback"]
    return DomainResult(
        target=target,
        mode=str(raw["mode"]),
        file=file,
        line=line,
        module=module,
        parameters=tuple(map(str, raw["parameters"])),
        fixed_values=tuple(raw["fixed_values"]),
        forms=tuple(
            Form(
                tuple((bool(hole), str(text)) for hole, text in f["parts"]),
                bool(f["exact"]),
                bool(f["is_json"]),
            )
            for f in raw["forms"]
        ),
        domain_size=None,
        complete=bool(raw["complete"]),
        missing=tuple(map(str, raw["missing"])),
        pure=bool(raw["pure"]),
        impurities=tuple(map(str, raw["impurities"])),
        witnesses=tuple(Witness(w["value"], w["arguments"], w.get("form")) for w in raw["witnesses"]),
        shadowed=tuple(
            Shadowed(s["keyword"], s["by"], s["relation"], s["file"], s["line"], s["by_line"]) for s in raw["shadowed"]
        ),
        keywords=tuple(
            Keyword(k["text"], k["kind"], k["file"], int(k["line"]), int(k["group"]), k["leaf"], k)
            for k in raw["keywords"]
        ),
        fallback=Fallback(
            tuple(found["values"]),
            tuple(found["forms"]),
            found["separable"],
            tuple(map(int, found["points"])),
            tuple(tuple(event) for event in found.get("neutral", ())),
        ),
        outside_annotation=tuple(raw["outside_annotation"]),
        calls=int(raw["calls"]),
        failed_calls=int(raw["failed_calls"]),
        errors=tuple(map(str, raw["errors"])),
        status=str(raw["status"]),
        reason=raw["reason"],
        notes=tuple(map(str, raw["notes"])),
        unlimited=tuple(map(str, raw.get("unlimited", ()))),
    )


def replay_from_child(raw: Mapping[str, Any], keywords: tuple[Keyword, ...]) -> ReplayResult:
    """Read what the child wrote."""
    rows = tuple(
        None
        if row is None
        else RowReplay(
            row["value"],
            row["error"],
            tuple(row["hits"]),
            tuple(row["decided"]),
            {int(index): (int(places), int(inside), int(forms)) for index, places, inside, forms in row["inside"]},
            tuple(row["not_looked"]),
            row["fallback"],
        )
        for row in raw["rows"]
    )
    return ReplayResult(rows, str(raw["mode"]), keywords)


def known_for_replay(result: DomainResult) -> dict[str, Any]:
    """Give what the replay in the child needs of an enumeration."""
    return {
        "keywords": [dict(keyword.raw) for keyword in result.keywords],
        "forms": [{"text": form.text, "parts": [list(part) for part in form.parts]} for form in result.forms],
        "fixed_values": list(result.fixed_values),
        "fallback": {
            "values": list(result.fallback.values),
            "forms": list(result.fallback.forms),
            "separable": result.fallback.separable,
            "points": list(result.fallback.points),
            "neutral": [list(event) for event in result.fallback.neutral],
        },
    }
