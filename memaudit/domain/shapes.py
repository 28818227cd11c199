"""What an argument looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Text in `generator_inputs` that stands for a leaf to be varied.
PLACEHOLDERS = {"TEXT": "text", "INT": "int", "FLOAT": "float", "BOOL": "bool"}


@dataclass
class Shape:
    """The form of one argument or of a part of it.

    Parameters
    ----------
    kind
        text, int, float, bool, choice, list, tuple, set, dict, object, const, any.
    optional
        None is admitted.
    item
        Form of the elements of a list.
    keys
        Fields of a dict or attributes of an object.
    may_lack
        Fields that the code reads with `.get`, so that they may be missing.
    values
        The values of a choice (declared by `Literal` or an enum), or the one of a const.
    """

    kind: str
    optional: bool = False
    item: Shape | None = None
    keys: dict[str, Shape] = field(default_factory=dict)
    may_lack: set[str] = field(default_factory=set)
    values: list[Any] = field(default_factory=list)


def shape_of_given(given: Any) -> Shape:
    """Read one entry of `generator_inputs`.

    `"TEXT"`, `"INT"`, `"FLOAT"` and `"BOOL"` are places to vary; a dict gives fields; a list with one
    element gives the form of its elements; anything else is that very value.
    """
    if isinstance(given, str) and given in PLACEHOLDERS:
        return Shape(PLACEHOLDERS[given])
    if isinstance(given, Mapping):
        return Shape("dict", keys={str(key): shape_of_given(value) for key, value in given.items()})
    if isinstance(given, list) and len(given) == 1:
        return Shape("list", item=shape_of_given(given[0]))
    return Shape("const", values=[given])
