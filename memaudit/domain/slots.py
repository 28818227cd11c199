"""What is known about one place in an argument while the code is read."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from typing import Any

from memaudit.domain.shapes import Shape

LISTS = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence", "Iterator"})
_TUPLES = frozenset({"tuple", "Tuple"})
_SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet"})
_DICTS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "DefaultDict", "OrderedDict"})


class Slot:
    """What is known about one place in an argument while the code is read."""

    def __init__(self) -> None:
        self.declared: str | None = None
        self.votes: dict[str, int] = {}
        self.optional = False
        self.values: list[Any] = []
        self.keys: dict[str, Slot] = {}
        self.attrs: dict[str, Slot] = {}
        self.may_lack: set[str] = set()
        self._item: Slot | None = None

    @property
    def item(self) -> Slot:
        """The elements, when the place is a list."""
        if self._item is None:
            self._item = Slot()
        return self._item

    def vote(self, kind: str, weight: int = 1) -> None:
        """Count a hint."""
        self.votes[kind] = self.votes.get(kind, 0) + weight

    def shape(self, depth: int = 0) -> Shape:
        """Decide."""
        kind = self._kind()
        if depth > 6:
            return Shape("text")
        found = Shape(kind, self.optional, values=list(self.values))
        if kind in ("list", "tuple", "set"):
            found.item = self.item.shape(depth + 1)
            if found.item.kind == "any":
                found.item.kind = "text"
        elif kind in ("dict", "object"):
            source = self.keys if kind == "dict" else self.attrs
            found.keys = {name: slot.shape(depth + 1) for name, slot in source.items()}
            for inner in found.keys.values():
                if inner.kind == "any":
                    inner.kind = "text"
            found.may_lack = set(self.may_lack) & set(found.keys)
        return found

    def _kind(self) -> str:
        if self.declared and self.declared != "object":
            return self.declared
        if self.keys:
            return "dict"
        if self.attrs:
            return "object"
        # A class that we do not know and of which no attribute is read may be an alias of anything.
        if self._item is not None and self.votes.get("text", 0) < 2 * self.votes.get("list", 0) + 1:
            return "list"
        if self.votes:
            return max(self.votes, key=lambda kind: self.votes[kind])
        return "any"


def annotate(slot: Slot, node: ast.expr, look_up: Callable[[str], Any]) -> None:
    """Put what an annotation declares into a slot."""
    if isinstance(node, ast.Constant):
        if node.value is None:
            slot.optional = True
        elif isinstance(node.value, str):
            try:
                annotate(slot, ast.parse(node.value, mode="eval").body, look_up)
            except SyntaxError:
                return
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        annotate(slot, node.left, look_up)
        annotate(slot, node.right, look_up)
    elif isinstance(node, ast.Subscript):
        _annotate_generic(slot, node, look_up)
    else:
        _annotate_name(slot, node, look_up)


def _annotate_generic(slot: Slot, node: ast.Subscript, look_up: Callable[[str], Any]) -> None:
    name = last_name(node.value)
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        slot.declared = "choice"
        slot.values += [part.value for part in inner if isinstance(part, ast.Constant)]
    elif name in ("Optional", "Union"):
        slot.optional = slot.optional or name == "Optional"
        for part in inner:
            annotate(slot, part, look_up)
    elif name in ("Annotated", "Final"):
        annotate(slot, inner[0], look_up)
    elif name in LISTS | _TUPLES | _SETS:
        _declare(slot, "list" if name in LISTS else "tuple" if name in _TUPLES else "set")
        annotate(slot.item, inner[0], look_up)
    elif name in _DICTS:
        _declare(slot, "dict")


def _annotate_name(slot: Slot, node: ast.expr, look_up: Callable[[str], Any]) -> None:
    name = last_name(node)
    simple = {"str": "text", "int": "int", "float": "float", "bool": "bool"}
    if name in simple:
        _declare(slot, simple[name])
    elif name in LISTS | _TUPLES | _SETS:
        _declare(slot, "list" if name in LISTS else "tuple" if name in _TUPLES else "set")
    elif name in _DICTS:
        _declare(slot, "dict")
    elif name and name not in ("Any", "object"):
        found = look_up(ast.unparse(node))
        if isinstance(found, type) and issubclass(found, Enum):
            slot.declared = "choice"
            slot.values += list(found)
        else:
            slot.declared = slot.declared or "object"


def _declare(slot: Slot, kind: str) -> None:
    # Of a union the first member that we can build is taken; the others are reached by isinstance tests.
    slot.declared = slot.declared or kind


def kind_of(value: Any) -> str:
    """Name the kind of a constant."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    return "text" if isinstance(value, str) else "any"


def last_name(node: ast.expr) -> str:
    """Give the last part of a dotted name, empty for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
