"""Which note of a Markdown folder supersedes which: relation lines and front matter, resolved to the notes' keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memaudit.stores.supersede_words import Direction, supersede_direction

_LINE = re.compile(r"(?P<name>[\w ]{1,60})\s\[\[(?P<target>[^\]\[|#]+)(?:[|#][^\]]*)?\]\]")
_BRACKETS = re.compile(r"\[\[([^\]\[|#]+)(?:[|#][^\]]*)?\]\]")
#: Keys of front matter that name a note.
_NAMES = ("title", "permalink", "name", "id", "slug")


class SupersedeLinks:
    """Links as they are read, by the names that the notes use; :meth:`pairs` resolves them."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str, Direction]] = []
        self._files: dict[str, str] = {}

    def add_file(self, file: str, head: Mapping[str, Any]) -> None:
        """Take the names of a note and the links in its front matter."""
        path = Path(file)
        for name in (file, path.with_suffix("").as_posix(), path.stem, *(head.get(key) for key in _NAMES)):
            if isinstance(name, (str, int)) and str(name).strip():
                self._files.setdefault(_plain(str(name)), file)
        for key, value in head.items():
            direction = supersede_direction(str(key))
            if direction is None:
                continue
            for text in _texts(value):
                self._found += [(file, name, direction) for name in _BRACKETS.findall(text) or [text]]

    def add_line(self, file: str, line: str) -> None:
        """Take a relation line (`supersedes [[Old note]]`) of a note; any other line is passed over."""
        match = _LINE.match(line.strip())
        direction = supersede_direction(match["name"]) if match is not None else None
        if match is not None and direction is not None:
            self._found.append((file, match["target"], direction))

    def pairs(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
        """Give (key of the new note's first memory, key of each memory of the old note), each pair once.

        A link to a note that is not there names no row of the store and is left out where the old side is missing; where
        the new side is, its name stands for it.
        """
        keys: dict[str, list[str]] = {}
        for row in rows:
            keys.setdefault(str(row["file"]), []).append(str(row["key"]))
        seen: set[tuple[str, str]] = set()
        for file, target, direction in self._found:
            other = self._files.get(_plain(target), target)
            new, old = (file, other) if direction is Direction.NEW_TO_OLD else (other, file)
            for key in keys.get(old, []):
                pair = (keys[new][0] if new in keys else new, key)
                if new != old and pair not in seen:
                    seen.add(pair)
                    yield {"new": pair[0], "old": pair[1]}


def _texts(value: Any) -> Iterator[str]:
    """Give the texts of a value of front matter: `[[Old note]]` without quotes is a list in a list there."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _plain(name: str) -> str:
    return name.strip().lower().removeprefix("./")
