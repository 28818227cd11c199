"""Names of relations that say that one memory supersedes another, in either direction."""

from __future__ import annotations

import re
from enum import Enum


class Direction(Enum):
    """Which side of a relation is the new one."""

    NEW_TO_OLD = "new to old"
    OLD_TO_NEW = "old to new"


# "Replaces", "overrides" and "updates" are left out: between the things that a graph speaks of they are facts about these
# things, and both facts go on holding.
_ACTIVE = re.compile(r"supersedes?|取代(了)?")
_PASSIVE = re.compile(r"(is |was |been |has been )?superseded( by)?|被[^，。]{0,4}取代|superseder")


def supersede_direction(name: str) -> Direction | None:
    """Return the direction of a relation by its name (`supersedes`, `SUPERSEDED_BY`, `supersededBy`); None for any other."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    words = re.sub(r"[\s_-]+", " ", words).strip().lower()
    if _PASSIVE.fullmatch(words):
        return Direction.OLD_TO_NEW
    return Direction.NEW_TO_OLD if _ACTIVE.fullmatch(words) else None
