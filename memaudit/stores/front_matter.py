"""Read the front matter of Markdown files: the simple part of YAML that memory files use, and nothing else.

Tags, anchors, aliases and references are never resolved: they stay text.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"(\s*)([^\s#:\-\[\]{}&*!|>'\"%@`][^:]*?|\"[^\"]*\"|'[^']*')\s*:(?:\s+(.*))?$")
_ITEM = re.compile(r"(\s*)-\s+(.*)$")
#: One part of `a, "b, c", d`.
_PART = re.compile(r"\s*\"[^\"]*\"\s*|\s*'[^']*'\s*|[^,]+")
#: Longer front matter is no head of a memory; the file is then read as if it had none.
_MAX_LINES = 200


def split_front_matter(text: str) -> tuple[dict[str, Any], str, int]:
    """Return (front matter, body, lines of the head that were not understood).

    A file without a closed `---` block at its beginning has no front matter: ({}, text, 0).
    """
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text, 0
    end = next((i for i, line in enumerate(lines[1 : _MAX_LINES + 1], 1) if line.strip() in ("---", "...")), None)
    if end is None:
        return {}, text, 0
    head, unread = parse_simple_yaml(lines[1:end])
    return head, "\n".join(lines[end + 1 :]), unread


def parse_simple_yaml(lines: list[str]) -> tuple[dict[str, Any], int]:
    """Read mappings (nested by indentation), lists, quoted and plain scalars, `|` and `>` blocks.

    Returns
    -------
    The mapping, and the number of lines that are none of these.
    """
    reader = _Reader([line for line in lines if line.strip() and not line.lstrip().startswith("#")])
    return reader.mapping(-1), reader.unread + len(reader.lines) - reader.place


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.place = 0
        self.unread = 0

    def mapping(self, outside: int, depth: int = 0) -> dict[str, Any]:
        """Read the keys that are indented deeper than `outside`."""
        found: dict[str, Any] = {}
        own: int | None = None
        while self.place < len(self.lines):
            line = self.lines[self.place]
            indent = _indent(line)
            if indent <= outside:
                break
            match = _KEY.match(line)
            if match is None or (own is not None and indent != own):
                self.unread += 1
                self.place += 1
                continue
            own = indent
            self.place += 1
            found[_scalar(match[2])] = self._value((match[3] or "").strip(), indent, depth)
        return found

    def _value(self, text: str, indent: int, depth: int) -> Any:
        if re.fullmatch(r"[|>][+-]?", text):
            return self._block(indent, "\n" if text[0] == "|" else " ")
        if text:
            return _value(text)
        if self.place < len(self.lines):
            following = self.lines[self.place]
            if _ITEM.match(following) and _indent(following) >= indent:
                return self._items(_indent(following))
            if _indent(following) > indent and depth < 5:
                return self.mapping(indent, depth + 1)
        return None

    def _items(self, indent: int) -> list[Any]:
        found = []
        while self.place < len(self.lines):
            match = _ITEM.match(self.lines[self.place])
            if match is None or len(match[1]) != indent:
                break
            found.append(_value(match[2].strip()))
            self.place += 1
        return found

    def _block(self, indent: int, joint: str) -> str:
        kept = []
        while self.place < len(self.lines) and _indent(self.lines[self.place]) > indent:
            kept.append(self.lines[self.place].strip())
            self.place += 1
        return joint.join(kept)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1].strip()
        return [_scalar(part.strip()) for part in _PART.findall(inner) if part.strip()]
    return _scalar(text)


def _scalar(text: str) -> str:
    """Take quotes and a trailing comment off; every scalar stays text: `no` is a word here, not a flag."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return re.sub(r"\s+#.*$", "", text)
