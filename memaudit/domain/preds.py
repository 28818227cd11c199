"""Conditions of the target as data: a place, a kind and a literal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Kinds of predicates that say something about a text or a value of the input: a *keyword* of the target.
KEYWORD_KINDS = frozenset({"contains", "prefix", "suffix", "regex", "equals", "member", "key", "entry", "element"})
#: Kinds whose being true is a criterion that held; a key of several values (`TABLE[kind, level]`) is no keyword.
HIT_KINDS = KEYWORD_KINDS | {"compound"}

PredKey = tuple[int, str, str]
Event = tuple[int, str, str, bool]


@dataclass
class Pred:
    """One condition of the target with one literal: `"timeout" in text` at one place.

    Parameters
    ----------
    site
        Index of the place in the code.
    kind
        A keyword kind, or: within (the text of the input in a constant), part (a separator, no condition),
        compound (a key of several values), compare (numbers), truth, type, none, same (two inputs), has-key, index.
    literal
        The constant side; for a regex (pattern, flags, function); None where there is none.
    leaves
        Leaves of the input whose text was seen on the other side.
    group
        (site, literals) of the `any(...)` or `or` that the condition is one alternative of.
    variants
        Marker sets under which it was seen: a literal seen under one only comes from the input.
    usual
        It was seen with an input of the expected type.
    relation
        Leaves that are compared with each other.
    """

    site: int
    kind: str
    literal: Any
    leaves: set[str] = field(default_factory=set)
    group: tuple[int, tuple[str, ...]] | None = None
    variants: set[int] = field(default_factory=set)
    usual: bool = False
    relation: set[str] = field(default_factory=set)

    key: PredKey = field(init=False)

    def __post_init__(self) -> None:
        # Asked for in every inner loop; the three parts never change.
        self.key = (self.site, self.kind, literal_key(self.literal))


def literal_key(literal: Any) -> str:
    """Give a text that tells literals apart, also 1, True and "1"."""
    return f"{type(literal).__name__}:{literal!r}" if not isinstance(literal, type) else f"type:{literal.__name__}"
