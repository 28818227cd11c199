"""Rows of JSON files that may be larger than memory: lines of JSONL, elements of a JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.text_lines import LONGEST_LINE, lines_of
from memaudit.wording import say

_CHUNK = 1 << 20
#: A longer element of an array is no record.
_LONGEST_ELEMENT = 64 << 20
_OF_NUMBERS = "+-.0123456789eE"
_BLANK = " \t\n\r"


class JsonLines:
    """The objects of a JSONL file; the file is read again each time they are gone through.

    After a whole pass `n_rows` is their number, `bad` the number of lines that are no object, `first_bad` the numbers
    of the first of these, and `n_long` how many of them are longer than a line may be.
    """

    def __init__(self, path: Path, encoding: str, n_shown: int, longest: int = LONGEST_LINE) -> None:
        self._path = path
        self._encoding = encoding
        self._n_shown = n_shown
        self._longest = longest
        self.n_rows = self.n_bad = self.n_long = 0
        self.first_bad: list[int] = []

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        self.n_rows = self.n_bad = self.n_long = 0
        self.first_bad = []
        with self._path.open(encoding=self._encoding, errors="surrogateescape", newline="\n") as file:
            for number, line in lines_of(file, self._longest):
                if line is not None and not line.strip():
                    continue
                row = None if line is None else _loaded(line)
                if isinstance(row, dict):
                    self.n_rows += 1
                    yield row
                    continue
                self.n_bad += 1
                self.n_long += line is None
                if len(self.first_bad) < self._n_shown:
                    self.first_bad.append(number)


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class ArrayElements:
    """The elements of a file that holds one JSON array; the file is read again each time they are gone through.

    Raises
    ------
    StoreError
        While it is gone through: the file is no array, not valid JSON, or an element is longer than 64 MiB.
    """

    def __init__(self, path: Path, encoding: str, shown: str, longest: int = _LONGEST_ELEMENT) -> None:
        self._path = path
        self._encoding = encoding
        self._shown = shown
        self._longest = longest

    def __iter__(self) -> Iterator[Any]:
        decoder = json.JSONDecoder()
        number = 0
        with self._path.open(encoding=self._encoding, errors="surrogateescape") as file:
            text, at, ended = file.read(_CHUNK), 0, False

            def more() -> bool:
                """Read on, and drop what was used; False at the end of the file."""
                nonlocal text, at, ended
                # A part that was tried in vain is tried again only when it has doubled.
                block = file.read(max(_CHUNK, len(text) - at))
                text, at, ended = text[at:] + block, 0, not block
                return bool(block)

            def sign() -> str:
                """Return the next character that is no blank, "" at the end; it is not used up."""
                nonlocal at
                while True:
                    while at < len(text) and text[at] in _BLANK:
                        at += 1
                    if at < len(text):
                        return text[at]
                    if not more():
                        return ""

            if sign() != "[":
                raise self._wrong(number)
            at += 1
            if sign() == "]":
                return
            while True:
                if not sign():
                    raise self._wrong(number)
                try:
                    value, end = decoder.raw_decode(text, at)
                except RecursionError:
                    raise StoreError(say("{shown} is nested too deeply to be read.", shown=self._shown)) from None
                except ValueError:
                    value, end = None, len(text)
                if isinstance(value, (int, float)) and not text[end:].strip(_OF_NUMBERS):
                    end = len(text)
                # What ends where the text ends may go on: `10` and `10.` and `1e` of a number, anything of the rest.
                if end == len(text) and not ended:
                    if len(text) - at > self._longest:
                        raise StoreError(
                            say(
                                "{shown}: element {number} of the list is longer than {longest} MiB, or not valid JSON.",
                                shown=self._shown,
                                number=number + 1,
                                longest=self._longest >> 20,
                            ),
                            say("Convert the file to JSONL, one object a line."),
                        )
                    more()
                    continue
                if end == len(text):
                    raise self._wrong(number)
                number += 1
                at = end
                yield value
                following = sign()
                if following == "]":
                    return
                if following != ",":
                    raise self._wrong(number)
                at += 1

    def _wrong(self, number: int) -> StoreError:
        return StoreError(
            say("{shown} is not valid JSON after element {number} of its list.", shown=self._shown, number=number),
            say("One object a line is JSONL: give --set store_kind=jsonl."),
        )
