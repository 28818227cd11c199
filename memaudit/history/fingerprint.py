"""The identity of a finding across audits: its rule and its place, never a line number, a count or a row key.

New rows, a moved function or one more value under a rule leave the fingerprint as it is, so that one fault
is told once and an accepted finding stays accepted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from memaudit.model import Finding, Json

#: Keys of a subject that grow with the store or move with an edit: where in the place, not which place.
_MOVING = frozenset({"line", "lines", "template_lines", "ids", "id", "values", "filters", "rows", "count"})
#: Keys whose value names a place even where it is a number.
_NAMES = frozenset({"k", "value", "category", "task", "trajectory", "stage", "part", "filter", "arm"})
#: Lists that a person configured; any other list is data.
_LISTS = frozenset({"tables", "files", "arms", "compare", "fields"})
_PATHS = frozenset({"file", "files", "path"})
#: Hexadecimal digits kept: 64 bits, no collision to be expected among millions of findings.
DIGITS = 16


def identity(code: str, subject: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Return what makes a finding the same one next week, as sorted (key, text) pairs, the code first.

    Parameters
    ----------
    code
        The rule.
    subject
        Place of the finding. `line`, `ids`, `values` and other keys that move with the data are passed over,
        numbers too unless the key names something (`k`, `value`, `category`); paths are written with `/`.
    """
    pairs = [(key, text) for key, value in subject.items() if (text := _named(key, value)) is not None]
    return (("code", code), *sorted(pairs))


def _named(key: str, value: Json) -> str | None:
    if key in _MOVING or value is None:
        return None
    if isinstance(value, list | tuple):
        if key not in _LISTS:
            return None
        texts = sorted(_text(key, item) for item in value)
        return json.dumps(texts)
    if isinstance(value, bool | str) or key in _NAMES:
        return _text(key, value)
    return None


def _text(key: str, value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text.replace("\\", "/").removeprefix("./") if key in _PATHS else text


def fingerprint(code: str, subject: Mapping[str, Json]) -> str:
    """Return the fingerprint of a rule at a place: 16 hexadecimal digits, the same on every machine."""
    text = json.dumps(identity(code, subject), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:DIGITS]


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with their fingerprints, in the given order.

    Where several findings of one audit share rule and place, the lists that they name (`values`, `filters`)
    tell them apart, and after that their order.
    """
    listed = list(findings)
    plain = [f.fingerprint or fingerprint(f.code, f.subject) for f in listed]
    taken: set[str] = set()
    made = []
    for finding, mark in zip(listed, plain, strict=True):
        if plain.count(mark) > 1:
            told_apart = {**finding.subject, **{f"{key} ": _joined(finding.subject.get(key)) for key in _MOVING_LISTS}}
            mark = fingerprint(finding.code, told_apart)
        n, first = 1, mark
        while mark in taken:
            n += 1
            mark = f"{first}-{n}"
        taken.add(mark)
        made.append(replace(finding, fingerprint=mark))
    return made


_MOVING_LISTS = ("values", "filters", "template_lines")


def _joined(value: Json) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, default=str)
