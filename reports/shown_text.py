"""Text from a store made visible and safe: the one place for it, used by the page and the terminal.

Escaping for HTML is left to the templates; this module decides *which characters* are shown. Whatever
could steer a terminal, turn the reading direction round or hide itself is written out as `⟨U+202E⟩`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

#: Store text is cut here on the page; the full length is always stated.
TEXT_LIMIT = 200

# Invisible without being of category Cf: fillers, the Mongolian separators, variation selectors, tags.
_SUSPECT = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PICTOGRAPHS = re.compile(
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Scripts in which a joiner between two letters is spelling, not trickery.
_JOINING = re.compile(
    "[\u0600-\u07ff\u0840-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]"
)
_HAN = re.compile("[\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u1100-\u11ff]")
# Marks stacked without end paint over the lines around them; no script stacks more than four.
_STACKED = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_ZWNJ, _ZWJ, _VS15, _VS16, _BLACK_FLAG, _TAG_END = (
    "\u200c",
    "\u200d",
    "\ufe0e",
    "\ufe0f",
    "\U0001f3f4",
    "\U000e007f",
)


class Shown(NamedTuple):
    """A piece of store text as it may be shown.

    Parameters
    ----------
    text
        Visible characters only; not yet escaped for HTML.
    lang
        "zh" when most letters are Han (and none is kana or Hangul), else "".
    cut_from
        Full length in characters where the text was cut, else None.
    """

    text: str
    lang: str = ""
    cut_from: int | None = None


def shown(value: Any, limit: int = TEXT_LIMIT, *, lines: bool = False) -> Shown:
    """Make a stored value visible, at most `limit` characters of it.

    Parameters
    ----------
    value
        Text, bytes, a number or anything JSON knows.
    limit
        In code points of the stored text; the cut falls between two graphemes.
    lines
        Keep line ends and tabs (for blocks that keep white space); else they are drawn as `⏎` and `⇥`.
    """
    text = as_text(value)
    head, cut_from = cut(text, limit)
    return Shown(visible(head, lines=lines), language(head), cut_from)


def as_text(value: Any) -> str:
    """Give a stored value as text: bytes as hexadecimal, None as "-"."""
    if isinstance(value, str):
        return value
    if value is None:
        return "-"
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return f"bytes {raw[:16].hex()}{'…' if len(raw) > 16 else ''} ({len(raw):,})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence):
        return ", ".join(as_text(item) for item in value[:20]) + (", …" if len(value) > 20 else "")
    return str(value)


def visible(text: str, *, lines: bool = False) -> str:
    """Write out every character that steers, hides or reverses; joiners inside words and emoji stay.

    Raises nothing: lone surrogates, NUL and non-characters are written out too, so the result can always
    be encoded as UTF-8. Of marks stacked on one letter four stay: `⟨+196⟩`.
    """

    def write_out(match: re.Match[str]) -> str:
        character = match.group()
        if character == "\n":
            return "\n" if lines else "⏎"
        if character == "\t":
            return "\t" if lines else "⇥"
        if _belongs(text, match.start(), character):
            return character
        return f"⟨U+{ord(character):04X}⟩"

    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return _STACKED.sub(lambda match: f"{match[1]}⟨+{len(match[0]) - 4}⟩", _SUSPECT.sub(write_out, text))


def _belongs(text: str, at: int, character: str) -> bool:
    """Whether an invisible character does its proper work here."""
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if character in (_ZWJ, _ZWNJ):
        if _JOINING.match(before) and _JOINING.match(after):
            return True
        emoji_before = _PICTOGRAPHS.match(before) or before == _VS16
        return character == _ZWJ and bool(emoji_before and _PICTOGRAPHS.match(after))
    if character in (_VS15, _VS16):
        return bool(_PICTOGRAPHS.match(before)) or before in set("#*0123456789")
    if "\ufe00" <= character <= "\ufe0d" or "\U000e0100" <= character <= "\U000e01ef":
        return bool(_HAN.match(before))
    if "\u180b" <= character <= "\u180f":
        return bool(_JOINING.match(before))
    if "\U000e0020" <= character <= _TAG_END:
        flag = re.search(f"{_BLACK_FLAG}[\U000e0020-\U000e007e]*$", text[max(0, at - 8) : at])
        return bool(flag) and _TAG_END in text[at : at + 8]
    return False


def cut(text: str, limit: int) -> tuple[str, int | None]:
    """Cut to at most `limit` code points, between two graphemes.

    Returns
    -------
    The text and None where it fits; else the head and the full length. A single grapheme longer than the
    limit (stacked accents without end) is cut inside: safety of the page comes first.
    """
    if len(text) <= limit:
        return text, None
    end = limit
    while end > max(0, limit - 40) and not _boundary(text, end):
        end -= 1
    if end <= 0 or not _boundary(text, end):
        end = limit
    return text[:end], len(text)


def _boundary(text: str, at: int) -> bool:
    """Whether a reader sees two characters around `at` (a small form of Unicode's grapheme rules)."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    joins = (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or after in (_ZWJ, _ZWNJ)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= _TAG_END
        or (before == _ZWJ and bool(_PICTOGRAPHS.match(after)))
        or (before == "\r" and after == "\n")
        or (_is_conjoining(before) and _is_conjoining(after))
    )
    if joins:
        return False
    if _is_regional(after):
        run = 0
        while run < at and _is_regional(text[at - 1 - run]):
            run += 1
        return run % 2 == 0
    return True


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_conjoining(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"


def language(text: str) -> str:
    """Give "zh" when most letters are Han and none is kana or Hangul, else ""."""
    head = text[:2000]
    han = len(_HAN.findall(head))
    if not han or _KANA_OR_HANGUL.search(head):
        return ""
    letters = sum(1 for character in head if character.isalpha())
    return "zh" if 2 * han > letters else ""


def common_prefix(values: Sequence[str], at_least: int = 4) -> str:
    """Give the beginning that all values share, "" when it is shorter than `at_least` characters.

    The prefix ends neither inside a grapheme nor inside a word of Latin letters or digits: `tool: s` of
    `tool: shell` and `tool: search` becomes `tool: `. Fewer than two different values share nothing.
    """
    if len(values) < 2 or len(set(values)) < 2:
        return ""
    low, high = min(values), max(values)
    end = next((i for i, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))

    def splits(at: int) -> bool:
        if any(not _boundary(value, at) for value in values):
            return True
        inside = low[at - 1].isascii() and low[at - 1].isalnum()
        return inside and any(v[at : at + 1].isascii() and v[at : at + 1].isalnum() for v in values)

    while end >= at_least and splits(end):
        end -= 1
    return low[:end] if end >= at_least else ""


def cell_width(text: str) -> int:
    """Count the terminal cells of a text: East Asian wide characters take two, combining marks none."""
    return sum(_cells(character) for character in text)


def padded(text: str, width: int) -> str:
    """Fill a text with blanks up to `width` cells."""
    return text + " " * max(0, width - cell_width(text))


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


# What a line may be broken between; a full-width sign that closes something never begins a line.
_CLOSING = "[，。、；：！？）」』”’》]"
_PIECES = re.compile(rf"[^\S\n]+|\n|[!-~]+{_CLOSING}{{0,2}}|.{_CLOSING}{{0,2}}")


def _first_cells(text: str, width: int) -> str:
    """Give as many characters as fit into `width` cells, at least one."""
    used = 0
    for at, character in enumerate(text):
        used += _cells(character)
        if used > width and at:
            return text[:at]
    return text


def wrap_cells(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells: at blanks, between CJK characters, else hard.

    Returns
    -------
    At least one line; a `width` below 8 counts as 8.
    """
    width = max(8, width)
    lines: list[str] = []
    line, used = "", 0
    for piece in _PIECES.findall(text):
        size = 0 if piece == "\n" else cell_width(piece)
        if piece == "\n" or (used + size > width and line):
            lines.append(line.rstrip())
            line, used = "", 0
            if piece.isspace():
                continue
        while size > width:
            head = _first_cells(piece, width)
            lines.append(head)
            piece = piece[len(head) :]
            size = cell_width(piece)
        line += piece
        used += size
    lines.append(line.rstrip())
    return lines
