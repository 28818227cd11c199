"""Signs of an order that say little alone: any is common in plain advice, two different ones in one place are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memaudit.text.order_cues import CUES, Cue
from memaudit.text.scripts import HAN_CHARACTER

#: Signs that together make an order: the sum of the weights of different ones.
ENOUGH = 2
#: Characters between the first and the last of them.
_REACH = 320


def signs(text: str) -> Iterator[tuple[Cue, re.Match[str]]]:
    """Yield every sign in a text with its place; none where all that may be there cannot be enough."""
    lower = text.lower()
    is_chinese = HAN_CHARACTER.search(text) is not None
    possible = [cue for cue in CUES if is_chinese or any(stem in lower for stem in cue.stems)]
    # Heavy ones first, and the one whose shapes cost most last: it is not looked for where it would be the only one.
    possible.sort(key=lambda cue: (-cue.weight, cue.name == "harm"))
    left, seen = sum(cue.weight for cue in possible), 0
    for cue in possible:
        if seen + left < ENOUGH:
            return
        left -= cue.weight
        shapes = [cue.han] if is_chinese else []
        if any(stem in lower for stem in cue.stems):
            shapes.append(cue.latin)
        found = [match for shape in shapes for match in shape.finditer(text)]
        seen += cue.weight if found else 0
        for match in found:
            yield cue, match


def enough(found: list[tuple[Cue, re.Match[str]]]) -> tuple[Cue, re.Match[str]] | None:
    """Return the heaviest of the signs that stand together with enough weight, the first of equals; None if there are none."""
    ordered = sorted(found, key=lambda item: item[1].start())
    for i, (_, first) in enumerate(ordered):
        weights: dict[str, int] = {}
        counted: list[tuple[Cue, re.Match[str]]] = []
        heaviest = ordered[i]
        for cue, match in ordered[i:]:
            if match.end() - first.start() > _REACH:
                break
            # The same words are one sign, whatever they may be a sign of.
            if any(match.start() < m.end() and m.start() < match.end() for c, m in counted if c.name != cue.name):
                continue
            counted.append((cue, match))
            weights[cue.name] = cue.weight
            heaviest = (cue, match) if cue.weight > heaviest[0].weight else heaviest
        if sum(weights.values()) >= ENOUGH:
            return heaviest
    return None
