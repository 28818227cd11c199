"""A text that a regular expression matches, found by walking its parsed form."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

# The parser is no public interface; it has moved once (3.11) and keeps its opcodes.
if sys.version_info >= (3, 11):
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as codes
    import sre_parse as parser

_CATEGORY = {
    "CATEGORY_DIGIT": "4", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "n",
    "CATEGORY_NOT_DIGIT": "n", "CATEGORY_NOT_SPACE": "n", "CATEGORY_NOT_WORD": "-",
}  # fmt: skip
_OTHER_CATEGORY = {**_CATEGORY, "CATEGORY_DIGIT": "7", "CATEGORY_WORD": "v", "CATEGORY_NOT_DIGIT": "v",
                   "CATEGORY_NOT_SPACE": "v", "CATEGORY_NOT_WORD": "+"}  # fmt: skip
_OTHERS = "nae4 -_/.:中Z%"
_MAX_REPEAT = 60


def regex_witnesses(pattern: str, flags: int = 0, *, other: bool = False) -> list[str]:
    """Give texts that the pattern finds, one for each top-level alternative; each was tried with `search`.

    Parameters
    ----------
    other
        Take other letters, and more of them, where the pattern leaves that open.

    Returns
    -------
    Empty when the pattern does not compile or none of our texts match (look-behind, conditionals).
    """
    try:
        compiled = re.compile(pattern, flags)
        parsed = parser.parse(pattern, flags)
    except (re.error, ValueError, OverflowError, RecursionError):
        return []
    texts: list[str] = []
    for choice in range(_alternatives(parsed)):
        # Between two words, `.*` has to hold a blank: `\bwhen\b.*\bfails\b`.
        for pad, dot in (("", ""), (" ", ""), ("", " "), (" ", " ")):
            try:
                text = _text(parsed, choice, {}, other, dot)
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            text = pad + text + pad
            if compiled.search(text) is not None:
                if text not in texts:
                    texts.append(text)
                break
    return texts


def anchors(pattern: str) -> tuple[bool, bool]:
    """Tell whether a pattern is tied to the start and to the end of the text (by how it is written)."""
    bare = pattern.strip()
    return bare.startswith(("^", "\\A")), bare.endswith(("$", "\\Z")) and not bare.endswith("\\$")


def _alternatives(parsed: Any) -> int:
    return max([len(argument[1]) for code, argument in parsed if code is codes.BRANCH], default=1)


def _text(parsed: Any, choice: int, groups: dict[int, str], other: bool, dot: str) -> str:
    return "".join(_piece(code, argument, choice, groups, other, dot) for code, argument in parsed)


def _piece(code: Any, argument: Any, choice: int, groups: dict[int, str], other: bool, dot: str) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.NOT_LITERAL:
        return next(letter for letter in _letters(other) if letter != chr(argument))
    if code is codes.ANY:
        return dot or _letters(other)[0]
    if code is codes.IN:
        return _one_of(argument, other)
    if code is codes.BRANCH:
        branches = argument[1]
        return _text(branches[min(choice, len(branches) - 1)], 0, groups, other, dot)
    if code is codes.SUBPATTERN:
        text = _text(argument[-1], choice if _alternatives(argument[-1]) > choice else 0, groups, other, dot)
        if argument[0] is not None:
            groups[argument[0]] = text
        return text
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) or str(code) == "POSSESSIVE_REPEAT":
        low, high, inner = argument
        if low > _MAX_REPEAT:
            raise ValueError("repeat too long")
        # One occurrence of a repeated part makes the text readable; an optional part is left out.
        times = max(low, 0 if high == 1 else min(1, int(high)))
        if other and times:
            times = min(times + 2, int(high))
        repeated: str = _text(inner, choice, groups, other, dot) * times
        return repeated
    if str(code) == "ATOMIC_GROUP":
        return _text(argument, choice, groups, other, dot)
    if code is codes.GROUPREF:
        return groups[argument]
    if code is codes.ASSERT and argument[0] > 0:
        return _text(argument[1], choice, groups, other, dot)
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return ""
    raise ValueError(str(code))


def _one_of(items: Sequence[Any], other: bool) -> str:
    negated = bool(items) and items[0][0] is codes.NEGATE
    if negated:
        refused = "[^" + "".join(_class_part(code, argument) for code, argument in items[1:]) + "]"
        allowed = re.compile(refused)
        return next(letter for letter in _letters(other) if allowed.match(letter))
    code, argument = items[-1 if other else 0]
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.RANGE:
        return chr(min(argument[0] + 2, argument[1]) if other else argument[0])
    name: str = (_OTHER_CATEGORY if other else _CATEGORY)[str(argument)]
    return name


def _letters(other: bool) -> str:
    return _OTHERS[::-1] if other else _OTHERS


def _class_part(code: Any, argument: Any) -> str:
    if code is codes.LITERAL:
        return re.escape(chr(argument))
    if code is codes.RANGE:
        return re.escape(chr(argument[0])) + "-" + re.escape(chr(argument[1]))
    names = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
    name = str(argument).removeprefix("CATEGORY_")
    return "\\" + (names[name[4:]].upper() if name.startswith("NOT_") else names[name])
