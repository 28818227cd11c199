"""Read the shapes of arguments from annotations and from how the code uses them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from typing import Any

from memaudit.domain.shapes import Shape
from memaudit.domain.target_spec import FunctionNode

_TEXT_METHODS = frozenset(name for name in dir(str) if not name.startswith("_"))
_TEXT_TO_TEXT = frozenset(
    [
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "casefold",
        "title",
        "capitalize",
        "replace",
        "removeprefix",
        "removesuffix",
        "swapcase",
        "expandtabs",
        "zfill",
        "center",
        "ljust",
        "rjust",
        "translate",
    ]
)
_NOT_TEXT_ALONE = frozenset({"index", "count"})
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence", "Iterator"})
_TUPLES = frozenset({"tuple", "Tuple"})
_SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet"})
_DICTS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "DefaultDict", "OrderedDict"})
_MAX_HELPER_DEPTH = 4


class _Slot:
    """What is known about one place in an argument while the code is read."""

    def __init__(self) -> None:
        self.declared: str | None = None
        self.votes: dict[str, int] = {}
        self.optional = False
        self.values: list[Any] = []
        self.keys: dict[str, _Slot] = {}
        self.attrs: dict[str, _Slot] = {}
        self.may_lack: set[str] = set()
        self._item: _Slot | None = None

    @property
    def item(self) -> _Slot:
        if self._item is None:
            self._item = _Slot()
        return self._item

    def vote(self, kind: str, weight: int = 1) -> None:
        self.votes[kind] = self.votes.get(kind, 0) + weight

    def shape(self, depth: int = 0) -> Shape:
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
        if self.declared:
            return self.declared
        if self._item is not None and self.votes.get("text", 0) < 2 * self.votes.get("list", 0) + 1:
            return "list"
        if self.votes:
            return max(self.votes, key=lambda kind: self.votes[kind])
        return "any"


class ShapeReader:
    """Reads the shapes of the parameters of one function.

    Parameters
    ----------
    look_up
        Gives the object behind a dotted name of the module, or None.
    function_of
        Gives the definition that a call of a same-module helper leads to, or None.
    """

    def __init__(self, look_up: Callable[[str], Any], function_of: Callable[[ast.expr], FunctionNode | None]) -> None:
        self._look_up = look_up
        self._function_of = function_of
        self._depth = 0

    def read(self, node: FunctionNode, skip_first: bool) -> dict[str, Shape]:
        """Give the shape of each named parameter, in order; `*args` and `**kwargs` are left out."""
        slots = self._parameters(node, skip_first)
        self._walk(node.body, dict(slots))
        return {name: slot.shape() for name, slot in slots.items()}

    def _parameters(self, node: FunctionNode, skip_first: bool) -> dict[str, _Slot]:
        positional = [*node.args.posonlyargs, *node.args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(node.args.defaults))
        pairs = list(zip(positional, [*defaults, *node.args.defaults], strict=False))[1 if skip_first else 0 :]
        pairs += list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=False))
        slots: dict[str, _Slot] = {}
        for argument, default in pairs:
            slot = slots[argument.arg] = _Slot()
            if argument.annotation is not None:
                self._annotate(slot, argument.annotation)
            if isinstance(default, ast.Constant):
                if default.value is None:
                    slot.optional = True
                else:
                    slot.vote(_kind_of(default.value))
        return slots

    # -- annotations ------------------------------------------------------------------------------------
    def _annotate(self, slot: _Slot, node: ast.expr) -> None:
        if isinstance(node, ast.Constant):
            if node.value is None:
                slot.optional = True
            elif isinstance(node.value, str):
                try:
                    self._annotate(slot, ast.parse(node.value, mode="eval").body)
                except SyntaxError:
                    return
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            self._annotate(slot, node.left)
            self._annotate(slot, node.right)
        elif isinstance(node, ast.Subscript):
            self._annotate_generic(slot, node)
        else:
            self._annotate_name(slot, node)

    def _annotate_generic(self, slot: _Slot, node: ast.Subscript) -> None:
        name = _last_name(node.value)
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            slot.declared = "choice"
            slot.values += [part.value for part in inner if isinstance(part, ast.Constant)]
        elif name in ("Optional", "Union"):
            slot.optional = slot.optional or name == "Optional"
            for part in inner:
                self._annotate(slot, part)
        elif name in ("Annotated", "Final"):
            self._annotate(slot, inner[0])
        elif name in _LISTS | _TUPLES | _SETS:
            self._declare(slot, "list" if name in _LISTS else "tuple" if name in _TUPLES else "set")
            self._annotate(slot.item, inner[0])
        elif name in _DICTS:
            self._declare(slot, "dict")

    def _annotate_name(self, slot: _Slot, node: ast.expr) -> None:
        name = _last_name(node)
        simple = {"str": "text", "int": "int", "float": "float", "bool": "bool"}
        if name in simple:
            self._declare(slot, simple[name])
        elif name in _LISTS | _TUPLES | _SETS:
            self._declare(slot, "list" if name in _LISTS else "tuple" if name in _TUPLES else "set")
        elif name in _DICTS:
            self._declare(slot, "dict")
        elif name and name not in ("Any", "object"):
            found = self._look_up(ast.unparse(node))
            if isinstance(found, type) and issubclass(found, Enum):
                slot.declared = "choice"
                slot.values += list(found)
            else:
                slot.declared = slot.declared or "object"

    @staticmethod
    def _declare(slot: _Slot, kind: str) -> None:
        # Of a union the first member that we can build is taken; the others are reached by isinstance tests.
        slot.declared = slot.declared or kind

    # -- statements -------------------------------------------------------------------------------------
    def _walk(self, body: list[ast.stmt], names: dict[str, _Slot]) -> None:
        for statement in body:
            self._statement(statement, names)

    def _statement(self, node: ast.stmt, names: dict[str, _Slot]) -> None:
        if isinstance(node, ast.Assign):
            slot = self._value(node.value, names)
            for target in node.targets:
                self._bind(target, slot, names)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, self._value(node.value, names), names)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._loop(node.target, node.iter, names)
            self._walk([*node.body, *node.orelse], names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._walk(node.body, dict(names))
        else:
            for child in ast.iter_child_nodes(node):
                self._child(child, names)

    def _child(self, node: ast.AST, names: dict[str, _Slot]) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node, names)
        elif isinstance(node, ast.expr):
            self._value(node, names)
        else:
            for child in ast.iter_child_nodes(node):
                self._child(child, names)

    def _bind(self, target: ast.expr, slot: _Slot | None, names: dict[str, _Slot]) -> None:
        if isinstance(target, ast.Name):
            if slot is not None:
                names[target.id] = slot
            else:
                names.pop(target.id, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._bind(part, None, names)

    def _loop(self, target: ast.expr, source: ast.expr, names: dict[str, _Slot]) -> None:
        call = source if isinstance(source, ast.Call) else None
        name = call.func.id if call and isinstance(call.func, ast.Name) else ""
        if call and name == "enumerate" and call.args and isinstance(target, ast.Tuple):
            self._loop(target.elts[-1], call.args[0], names)
            return
        slot = self._value(source, names)
        if slot is None or (
            call and isinstance(call.func, ast.Attribute) and call.func.attr in ("items", "keys", "values")
        ):
            self._bind(target, None, names)
        elif slot.votes.get("text", 0) > 0 and slot._item is None and slot.declared is None:
            self._bind(target, slot, names)  # a loop over the characters or words of a text
        elif slot.declared == "text":
            self._bind(target, slot, names)
        else:
            slot.vote("list")
            self._bind(target, slot.item, names)

    # -- expressions ------------------------------------------------------------------------------------
    def _value(self, node: ast.expr, names: dict[str, _Slot]) -> _Slot | None:
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self._value(node.value, names)
            if base is None:
                return None
            return base.attrs.setdefault(node.attr, _Slot())
        if isinstance(node, ast.Subscript):
            return self._subscript(node, names)
        if isinstance(node, ast.Call):
            return self._call(node, names)
        if isinstance(node, ast.BoolOp):
            return self._either(node, names)
        if isinstance(node, ast.Compare):
            self._compare(node, names)
            return None
        if isinstance(node, ast.NamedExpr):
            slot = self._value(node.value, names)
            self._bind(node.target, slot, names)
            return slot
        if isinstance(node, ast.IfExp):
            self._value(node.test, names)
            first, second = self._value(node.body, names), self._value(node.orelse, names)
            return first or second
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
            inner = dict(names)
            for part in node.generators:
                self._loop(part.target, part.iter, inner)
                for condition in part.ifs:
                    self._value(condition, inner)
            made = _Slot()
            made._item = self._value(node.elt, inner)
            return made if made._item is not None else None
        if isinstance(node, ast.Await):
            return self._value(node.value, names)
        for child in ast.iter_child_nodes(node):
            self._child(child, names)
        return None

    def _subscript(self, node: ast.Subscript, names: dict[str, _Slot]) -> _Slot | None:
        base = self._value(node.value, names)
        if not isinstance(node.slice, (ast.Constant, ast.Slice)):
            self._value(node.slice, names)
        if base is None:
            return None
        if isinstance(node.slice, ast.Slice):
            return base
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return base.keys.setdefault(node.slice.value, _Slot())
        if base.declared == "text" or base.votes.get("text", 0) > 0:
            return base
        base.vote("list")
        return base.item

    def _call(self, node: ast.Call, names: dict[str, _Slot]) -> _Slot | None:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, names)
        arguments = [self._value(argument, names) for argument in node.args]
        for keyword in node.keywords:
            self._value(keyword.value, names)
        first = arguments[0] if arguments else None
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "isinstance" and first is not None and len(node.args) == 2:
            for part in node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]:
                kind = {"str": "text", "int": "int", "float": "float", "bool": "bool", "dict": "dict"}
                first.vote(kind.get(_last_name(part), "list" if _last_name(part) in _LISTS else "any"))
            return None
        if name in ("str", "sorted", "list", "reversed", "tuple", "set", "iter"):
            return first
        self._helper(node, arguments, names)
        return None

    def _method(self, node: ast.Call, func: ast.Attribute, names: dict[str, _Slot]) -> _Slot | None:
        base = self._value(func.value, names)
        arguments = [self._value(argument, names) for argument in node.args]
        for keyword in node.keywords:
            self._value(keyword.value, names)
        first = node.args[0] if node.args else None
        if func.attr == "join" and arguments and arguments[0] is not None:
            joined = arguments[0]
            if joined._item is None:
                joined.vote("list")
            joined.item.vote("text", 2)
            return joined.item
        if base is None:
            self._helper(node, arguments, names)
            return None
        if func.attr == "get" and isinstance(first, ast.Constant) and isinstance(first.value, str):
            slot = base.keys.setdefault(first.value, _Slot())
            base.may_lack.add(first.value)
            if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value is not None:
                slot.vote(_kind_of(node.args[1].value))
            return slot
        if func.attr in ("items", "keys", "values"):
            base.vote("dict", 2)
            return base
        if func.attr in _TEXT_METHODS:
            base.vote("text", 1 if func.attr in _NOT_TEXT_ALONE else 2)
            if func.attr in ("split", "splitlines", "rsplit", "partition", "rpartition"):
                parts = _Slot()
                parts._item = base
                parts.vote("list", 2)
                return parts
            return base if func.attr in _TEXT_TO_TEXT else None
        return None

    def _helper(self, node: ast.Call, arguments: list[_Slot | None], names: dict[str, _Slot]) -> None:
        definition = self._function_of(node.func)
        if definition is None or self._depth >= _MAX_HELPER_DEPTH:
            return
        parameters = [p.arg for p in [*definition.args.posonlyargs, *definition.args.args]]
        if parameters[:1] in (["self"], ["cls"]):
            parameters = parameters[1:]
        inner = {name: slot for name, slot in zip(parameters, arguments, strict=False) if slot is not None}
        for keyword in node.keywords:
            slot = self._value(keyword.value, names)
            if keyword.arg and slot is not None:
                inner[keyword.arg] = slot
        self._depth += 1
        self._walk(definition.body, inner)
        self._depth -= 1

    def _either(self, node: ast.BoolOp, names: dict[str, _Slot]) -> _Slot | None:
        slots = [self._value(value, names) for value in node.values]
        first = slots[0]
        default = node.values[-1]
        if first is not None and isinstance(node.op, ast.Or):
            if isinstance(default, ast.Constant) and default.value is not None:
                first.vote(_kind_of(default.value))
            elif isinstance(default, (ast.List, ast.Tuple)):
                first.vote("list")
            elif isinstance(default, ast.Dict):
                first.vote("dict")
        return first

    def _compare(self, node: ast.Compare, names: dict[str, _Slot]) -> None:
        operands = [node.left, *node.comparators]
        slots = [self._value(operand, names) for operand in operands]
        for index, operator in enumerate(node.ops):
            left, right = operands[index], operands[index + 1]
            for slot, other, is_left in ((slots[index], right, True), (slots[index + 1], left, False)):
                if slot is None:
                    continue
                if isinstance(operator, (ast.Is, ast.IsNot)):
                    # Where a type is declared without None, only the search for this condition tries it.
                    is_none = isinstance(other, ast.Constant) and other.value is None
                    slot.optional = slot.optional or (is_none and slot.declared is None)
                elif isinstance(operator, (ast.In, ast.NotIn)):
                    self._membership(slot, other, is_left)
                elif isinstance(other, ast.Constant) and other.value is not None:
                    slot.vote(_kind_of(other.value), 2)

    def _membership(self, slot: _Slot, other: ast.expr, is_left: bool) -> None:
        if not is_left:
            slot.vote("text")
            return
        elements: list[Any] = []
        if isinstance(other, (ast.Tuple, ast.List, ast.Set)):
            elements = [part.value for part in other.elts if isinstance(part, ast.Constant)]
        elif isinstance(other, (ast.Name, ast.Attribute)):
            found = self._look_up(ast.unparse(other))
            elements = list(found)[:5] if isinstance(found, (tuple, list, set, frozenset, dict)) else []
        for element in elements:
            if element is not None:
                slot.vote(_kind_of(element))


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    return "text" if isinstance(value, str) else "any"


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
