"""What a guess at a role is: a column or none, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from memaudit.roles.column_facts import ColumnFacts
from memaudit.wording import say


@dataclass(frozen=True)
class Guess:
    """A column for a role, or None, and the reason in one sentence."""

    column: str | None
    reason: str


def by_name(column: ColumnFacts, says: str) -> str:
    """Add the help of the name to a reason."""
    return say("{says}, and its name says so", says=says)
