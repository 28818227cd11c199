"""Conditions with an open value inside a larger expression: what holds whatever the value is.

With NULL in its place a comparison is neither true nor false, and AND, OR and NOT carry that on: what comes out true
(or false) all the same is true (or false) for every value. That does not hold where something looks at NULL itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from memaudit.measures.conditions import Part, parts_of

#: Words before a bracket that call no function.
_JOINING = frozenset({"and", "or", "not", "in", "between", "like", "glob", "where", "when"})
_LOOKING_AT_NULL = frozenset({"case", "exists", "select", "isnull", "notnull"})


def with_open_as_null(condition: str) -> str | None:
    """Put NULL in the place of every open value; None where that would not stand for any value."""
    parts = parts_of(condition)
    if not _carries_null_on([part for part in parts if part.kind != "space"]):
        return None
    return "".join("NULL" if part.kind == "hole" else part.text for part in parts)


def _carries_null_on(parts: Sequence[Part]) -> bool:
    """Whether AND, OR, NOT and comparisons are all that an open value goes through."""
    groups: list[_Group] = [_Group("")]
    closed_open = False
    for i, part in enumerate(parts):
        before = parts[i - 1] if i else Part("", "")
        word = part.text.lower() if part.kind == "name" else ""
        after = parts[i + 1].text.lower() if i + 1 < len(parts) else ""
        if word in _LOOKING_AT_NULL or (word == "not" and after == "null" and before.text.lower() != "is"):
            return False
        if part.kind == "hole":
            if any(group.function for group in groups):
                return False
            for group in groups:
                group.is_open = True
        elif part.text == "(":
            is_call = before.kind == "name" and before.text.lower() not in _JOINING
            groups.append(_Group(before.text if is_call else ""))
        elif part.text == ")" and len(groups) > 1:
            closed_open = groups.pop().is_open
        elif word == "is" and (before.kind == "hole" or (before.text == ")" and closed_open) or _is_asked(parts, i)):
            return False
    return True


class _Group:
    """An open bracket: the function that it belongs to, and whether an open value stands in it."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.is_open = False


def _is_asked(parts: Sequence[Part], at: int) -> bool:
    """Whether what stands behind IS is anything but a word or a literal."""
    after = next((p for p in parts[at + 1 :] if p.text.lower() not in ("not", "distinct", "from")), None)
    return after is None or after.kind not in ("name", "string", "number")
