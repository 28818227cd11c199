"""The identity of a finding across audits: its rule and its place, never a line number, a count or a row key.

New rows, a moved function or one more value under a rule leave the fingerprint as it is, so that one fault
is told once and an accepted finding stays accepted. Pure, and it imports the model only: reports may use it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from memaudit.model import Finding, Json

#: Keys of a subject that grow with the store or move with an edit: where in the place, not which place.
_MOVING = frozenset({"line", "lines", "template_lines", "ids", "id", "values", "filters", "rows", "count"})
#: Keys whose value names a place even where it is a number.
_NAMES = frozenset({"k", "value", "category", "task", "trajectory", "stage", "part", "filter", "arm"})
#: Lists that a person configured; any other list is data.
_LISTS = frozenset({"tables", "files", "arms", "compare", "fields"})
_PATHS = frozenset({"file", "files", "path"})
#: Lists that tell apart several findings of one rule at one place.
_MOVING_LISTS = ("values", "filters", "template_lines")
#: Hexadecimal digits kept: 64 bits, no collision to be expected among millions of findings.
DIGITS = 16


def fingerprint(code: str, subject: Mapping[str, Json]) -> str:
    """Return the fingerprint of a rule at a place: 16 hexadecimal digits, the same on every machine.

    Parameters
    ----------
    code
        The rule.
    subject
        Place of the finding. `line`, `ids`, `values` and other keys that move with the data are passed over,
        numbers too unless the key names something (`k`, `value`, `category`); paths are written with `/`.
    """
    pairs = [(key, text) for key, value in subject.items() if (text := _named(key, value)) is not None]
    identity = json.dumps((("code", code), *sorted(pairs)), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(identity.encode("ascii")).hexdigest()[:DIGITS]


def fingerprints(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the fingerprints of the findings of one audit, in their order, each of them once.

    Where several findings share rule and place, the lists that they name (`values`, `filters`) tell them
    apart, and after that their order. A finding that brings its own fingerprint keeps it.
    """
    plain = [f.fingerprint or fingerprint(f.code, f.subject) for f in findings]
    times = Counter(plain)
    taken: set[str] = set()
    made = []
    for finding, mark in zip(findings, plain, strict=True):
        if times[mark] > 1:
            told_apart = {f"{key} ": _joined(finding.subject.get(key)) for key in _MOVING_LISTS}
            mark = fingerprint(finding.code, {**finding.subject, **told_apart})
        n, first = 1, mark
        while mark in taken:
            n += 1
            mark = f"{first}-{n}"
        taken.add(mark)
        made.append(mark)
    return tuple(made)


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings of one audit with their fingerprints, in the given order."""
    listed = list(findings)
    return [replace(f, fingerprint=mark) for f, mark in zip(listed, fingerprints(listed), strict=True)]


def _named(key: str, value: Json) -> str | None:
    if key in _MOVING or value is None:
        return None
    if isinstance(value, list | tuple):
        return json.dumps(sorted(_text(key, item) for item in value)) if key in _LISTS else None
    if isinstance(value, bool | str) or key in _NAMES:
        return _text(key, value)
    return None


def _text(key: str, value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text.replace("\\", "/").removeprefix("./") if key in _PATHS else text


def _joined(value: Json) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, default=str)
