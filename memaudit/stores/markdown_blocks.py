"""Cut a Markdown body into list items and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)$")
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(frozen=True)
class Block:
    """A list item with what is nested in it, or a run of text below a heading.

    Parameters
    ----------
    headings
        Headings above it, outermost first.
    """

    text: str
    headings: tuple[str, ...]
    is_item: bool


def blocks_of(body: str) -> list[Block]:
    """Cut a body at headings, top-level list items and the blank lines around lists.

    Text between lists of one section is one block, over its blank lines; code fences are never cut; headings without
    text below them give no block.
    """
    return [b for b in _blocks(body) if b.text]


def _blocks(body: str) -> Iterator[Block]:
    headings: dict[int, str] = {}
    lines: list[str] = []
    is_item = False
    own_indent = 0
    fence: str | None = None

    def done() -> Block:
        block = Block("\n".join(lines).strip(), tuple(headings[k] for k in sorted(headings)), is_item)
        lines.clear()
        return block

    for line in body.splitlines():
        mark = _FENCE.match(line)
        if mark and (fence is None or mark[1] == fence):
            fence = mark[1] if fence is None else None
            lines.append(line)
            continue
        heading = _HEADING.match(line) if fence is None else None
        item = _ITEM.match(line) if fence is None else None
        if heading:
            yield done()
            is_item = False
            level = len(heading[1])
            headings = {k: v for k, v in headings.items() if k < level} | {level: heading[2]}
        elif item and (not is_item or len(item[1]) <= own_indent):
            yield done()
            is_item, own_indent = True, len(item[1])
            lines.append(item[2])
        elif is_item and fence is None and line.strip() and not line[0].isspace() and lines and not lines[-1].strip():
            # A paragraph at the margin after a blank line is no part of the item.
            yield done()
            is_item = False
            lines.append(line)
        else:
            lines.append(line.strip() if is_item and fence is None else line)
    yield done()
