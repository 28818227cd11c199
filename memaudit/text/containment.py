"""Find texts that contain an earlier text whole: memories that were recalled and stored again.

An index of short pieces makes it linear in the characters: a text can only stand where one of its own pieces does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memaudit.text import normalised

#: A contained text has at least this width; a Han character counts twice (ten of them say as much as twenty letters).
MIN_WIDTH = 20
#: Characters of an indexed piece; texts of `MIN_WIDTH` in Han characters are this long.
_PIECE = 10
#: Pieces of a text among which the rarest is indexed.
_PIECES_TRIED = 5
#: So many comparisons a row: no text can make the search slow. Rows beyond it are counted.
_MAX_COMPARISONS = 20_000
#: So many characters of a row are read.
MAX_CHARS = 200_000

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]")
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>+|[-*•·]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_ENDS = " .,;:!?…。，；：！？、\"'“”‘’「」`*"


@dataclass(frozen=True)
class Containment:
    """Which rows contain which earlier ones.

    Parameters
    ----------
    inside
        Row -> the earlier rows whose text it contains whole, in row order; the first row of each distinct text.
    depth
        Row -> how many levels of earlier rows stand inside it: 1 for a row that contains a plain one.
    starts
        Row -> whether each earlier text in it stands at its beginning: a text that was extended.
    unread
        Rows that were not read in full.
    """

    inside: dict[int, tuple[int, ...]]
    depth: dict[int, int]
    starts: dict[int, bool]
    unread: tuple[int, ...]

    @property
    def deepest(self) -> int:
        """The deepest nesting; 0 when no row contains another."""
        return max(self.depth.values(), default=0)

    def renumbered(self, numbers: Sequence[int]) -> Containment:
        """Return the same rows under other numbers."""
        return Containment(
            {numbers[row]: tuple(numbers[r] for r in inside) for row, inside in self.inside.items()},
            {numbers[row]: depth for row, depth in self.depth.items()},
            {numbers[row]: start for row, start in self.starts.items()},
            tuple(numbers[row] for row in self.unread),
        )


def joined(parts: Iterable[Containment]) -> Containment:
    """Put findings about different rows together, in row order."""
    parts = tuple(parts)
    inside = {row: rows for part in parts for row, rows in part.inside.items()}
    return Containment(
        {row: inside[row] for row in sorted(inside)},
        {row: depth for part in parts for row, depth in part.depth.items()},
        {row: start for part in parts for row, start in part.starts.items()},
        tuple(sorted(row for part in parts for row in part.unread)),
    )


def comparable(text: str) -> str:
    """Return the text as it is compared: case, white space, marks of quotes and lists, and JSON escapes aside."""
    if "\\" in text:
        text = text.replace("\\r", "").replace("\\n", "\n").replace('\\"', '"')
    return normalised(_QUOTE_MARKS.sub("", text)).strip(_ENDS)


def width(text: str) -> int:
    """Count characters, wide ones (Han, kana, Hangul) twice."""
    return len(text) + len(_WIDE.findall(text))


def earlier_rows_inside(
    texts: Sequence[str], order: Sequence[int] | None = None, min_width: int = MIN_WIDTH
) -> Containment:
    """Find the rows that contain the whole text of an earlier row, and say how deep they are nested.

    Parameters
    ----------
    texts
        One a row, any text.
    order
        Row numbers from the earliest to the latest; row order when None.
    min_width
        Least :func:`width` of a contained text; shorter ones occur by chance.

    Notes
    -----
    Equal texts (as compared) do not contain each other: they are copies. A contained text stands at the limits of
    words. About a second for two million characters.
    """
    order = range(len(texts)) if order is None else order
    compared = [comparable(text[:MAX_CHARS]) for text in texts]
    place = {row: p for p, row in enumerate(order)}
    first: dict[str, int] = {}
    for row in order:
        first.setdefault(compared[row], row)
    index = _index([text for text in first if width(text) >= min_width])
    inside_text: dict[str, tuple[list[str], bool]] = {}
    for text in first:
        found, complete = _found(text, index)
        inside_text[text] = (sorted(found, key=lambda t: place[first[t]]), complete)
    inside: dict[int, tuple[int, ...]] = {}
    depth: dict[int, int] = {}
    depth_of_text: dict[str, int] = {}
    starts: dict[int, bool] = {}
    unread = [row for row in order if not inside_text[compared[row]][1] or len(texts[row]) > MAX_CHARS]
    for row in order:
        text = compared[row]
        earlier = [t for t in inside_text[text][0] if place[first[t]] < place[row]]
        if earlier:
            inside[row] = tuple(first[t] for t in earlier)
            depth[row] = 1 + max(depth_of_text.get(t, 0) for t in earlier)
            starts[row] = all(text.startswith(t) for t in earlier)
        # The first row of a text stands for it: a copy of it that came later may be nested deeper.
        depth_of_text.setdefault(text, depth.get(row, 0))
    return Containment({row: inside[row] for row in sorted(inside)}, depth, starts, tuple(sorted(unread)))


#: Piece -> texts by (place of the piece in the text, length).
_Index = dict[str, dict[tuple[int, int], set[str]]]


def _index(texts: Sequence[str]) -> _Index:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({text[at : at + _PIECE] for at in _places(text)})
    index: _Index = defaultdict(lambda: defaultdict(set))
    for text in texts:
        at = min(_places(text), key=lambda p: (counts[text[p : p + _PIECE]], p))
        index[text[at : at + _PIECE]][at, len(text)].add(text)
    return index


def _places(text: str) -> list[int]:
    last = len(text) - _PIECE
    return sorted({round(last * k / (_PIECES_TRIED - 1)) for k in range(_PIECES_TRIED)})


def _found(text: str, index: _Index) -> tuple[set[str], bool]:
    """Return the indexed texts inside a text, and whether it was read to the end."""
    found: set[str] = set()
    left = _MAX_COMPARISONS
    for position in range(len(text) - _PIECE + 1):
        shapes = index.get(text[position : position + _PIECE])
        if shapes is None:
            continue
        for (at, length), candidates in shapes.items():
            left -= 1
            start = position - at
            if start < 0 or start + length > len(text) or length == len(text):
                continue
            part = text[start : start + length]
            if part in candidates and part not in found and _at_word_limits(text, start, start + length):
                found.add(part)
        if left <= 0:
            return found, False
    return found, True


def _at_word_limits(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return not (_joins(before) and _joins(text[start])) and not (_joins(after) and _joins(text[end - 1]))


def _joins(c: str) -> bool:
    return c.isascii() and (c.isalnum() or c == "_")
