"""Labels in place of store text, and the search for store text inside our own sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from memaudit.model import Json
from memaudit.reports.own_words import is_ours

_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:[_@][a-z0-9_@.]+)+\Z|[0-9.]+\Z|[a-z]{1,12}\Z")
_QUOTED = re.compile(r"“([^”]{2,})”|‘([^’]{2,})’|\"([^\"]{2,})\"|`([^`]{2,})`|「([^」]{2,})」|'([^']{2,})'")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_CODE = re.compile("`([^`]+)`")
# Stands for a name of ours while a sentence is searched; of private use, so no sentence of ours holds it.
_STAND_IN = "\ue000"
_STAND_INS = 3
# A shorter value (`ok`, `a`, `1`) is replaced inside quotation marks only: it is also an English word.
_SHORT = 4
# Pieces of stored texts this long count as a quotation, Latin ones only when longer: 8 Latin letters are
# ` of the `.
_PIECE = 8
_LATIN_PIECE = 16


def is_identifier(text: str) -> bool:
    """Whether a text looks like a name of ours (`group_mean`, `clusters@0.95`) or is a number."""
    return bool(_IDENTIFIER.match(text))


class Labels:
    """The texts that must not be shown, and the label of each, numbered by first appearance.

    Texts are registered by :meth:`value` and :meth:`row`; after :meth:`close`, :meth:`clean` finds them in
    sentences. Labels never change, so the same store gives the same labels.

    Parameters
    ----------
    own
        Names of ours (columns, functions) that are shown in any case: a stored text that is one of them has no label,
        and where one stands between backticks it is no quotation of a longer text.
    """

    def __init__(self, own: frozenset[str] = frozenset()) -> None:
        self._own = own
        self._values: dict[str, str] = {}
        self._rows: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        self._starts: dict[str, list[str]] = {}
        self._start_sizes: tuple[int, ...] = ()

    def value(self, stored: Json) -> Json:
        """Label a value; None stays, lists are labelled item by item, mappings with their keys."""
        if stored is None:
            return None
        if isinstance(stored, Mapping):
            return {self.value(key): self.value(item) for key, item in stored.items()}
        if isinstance(stored, list | tuple):
            return [self.value(item) for item in stored]
        return self._label(stored, self._values, "value-{:02d}")

    def row(self, key: Json) -> Json:
        """Label the key of a row; integers stay."""
        if key is None or (isinstance(key, int) and not isinstance(key, bool)):
            return key
        return self._label(key, self._rows, "row-{}")

    def rows(self, keys: Json) -> Json:
        """Label one key or a list of them."""
        return [self.row(key) for key in keys] if isinstance(keys, list | tuple) else self.row(keys)

    def _label(self, stored: Json, labels: dict[str, str], form: str) -> str:
        text = stored if isinstance(stored, str) else str(stored)
        if text in self._own:
            return text
        return labels.setdefault(text, form.format(len(labels) + 1))

    def knows(self, text: str) -> bool:
        """Whether a text is one from the store."""
        return text in self._values or text in self._rows

    def close(self) -> None:
        """Prepare the search, after everything was registered."""
        for text, label in self._values.items():
            for piece in _grams(text):
                self._pieces.setdefault(piece, label)
        for text in (*self._rows, *self._values):
            if len(text.strip()) >= _minimum(text):
                self._starts.setdefault(text[:_PIECE], []).append(text)
        for texts in self._starts.values():  # a value that contains another is replaced as a whole
            texts.sort(key=len, reverse=True)
        self._start_sizes = tuple(sorted({len(start) for start in self._starts}, reverse=True))

    def clean(self, sentence: str) -> str:
        """Replace every known text in one of our sentences: whole, quoted in part, or in long pieces."""
        if not self._values and not self._rows:
            return sentence
        if not self._own or _STAND_IN in sentence:  # a text that holds the sign itself is hostile: no name is kept
            return self._cleaned(sentence)
        kept: list[str] = []

        def set_aside(match: re.Match[str]) -> str:
            if match[1] not in self._own:
                return match[0]
            kept.append(match[1])
            return f"`{_STAND_IN * _STAND_INS}`"

        cleaned = self._cleaned(_CODE.sub(set_aside, sentence))
        names = iter(kept)
        return re.sub(_STAND_IN * _STAND_INS, lambda _: next(names), cleaned)

    def _cleaned(self, sentence: str) -> str:
        return self._without_pieces(_QUOTED.sub(self._quoted, self._without_wholes(sentence)))

    def _without_wholes(self, sentence: str) -> str:
        parts: list[str] = []
        at = 0
        while at < len(sentence):
            text = self._whole_at(sentence, at)
            parts.append(sentence[at] if text is None else self._values.get(text) or self._rows[text])
            at += 1 if text is None else len(text)
        return "".join(parts)

    def _whole_at(self, sentence: str, at: int) -> str | None:
        for size in self._start_sizes:
            for text in self._starts.get(sentence[at : at + size], ()):
                if not sentence.startswith(text, at) or not _stands_alone(sentence, at, at + len(text)):
                    continue
                if not is_ours(sentence, at, text):
                    return text
        return None

    def _quoted(self, match: re.Match[str]) -> str:
        inside = next(group for group in match.groups() if group is not None)
        bare = inside.strip().rstrip("….").strip()
        label = self._values.get(inside) or self._values.get(bare)
        if label is None and len(bare) >= 2 and not is_identifier(bare):
            label = next((name for text, name in self._values.items() if text.startswith(bare)), None)
        if label is None:
            label = next((self._pieces[piece] for piece in _grams(bare) if piece in self._pieces), None)
        whole = match.group()
        return whole if label is None else whole[0] + label + whole[-1]

    def _without_pieces(self, sentence: str) -> str:
        grams = list(_grams(sentence))
        parts: list[str] = []
        at = done = 0
        while at < len(grams):
            if grams[at] not in self._pieces:
                at += 1
                continue
            start, label = at, self._pieces[grams[at]]
            while at < len(grams) and grams[at] in self._pieces:
                at += 1
            end = at - 1 + _PIECE
            run = sentence[start:end]
            if len(run) >= _LATIN_PIECE or _CJK.search(run):
                parts += [sentence[done:start], label]
                done = at = end
        return "".join(parts) + sentence[done:]


def _grams(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))


def _minimum(text: str) -> int:
    """From which length a value is searched for outside quotation marks."""
    if _CJK.search(text):
        return 2
    return _PIECE if re.fullmatch(r"[0-9.,+-]+", text) else _SHORT


def _stands_alone(sentence: str, start: int, end: int) -> bool:
    """Whether a match is no part of a longer Latin word or number."""

    def joined(left: str, right: str) -> bool:
        return all(side.isascii() and (side.isalnum() or side == "_") for side in (left, right))

    before = start > 0 and joined(sentence[start - 1], sentence[start])
    after = end < len(sentence) and joined(sentence[end - 1], sentence[end])
    return not before and not after
