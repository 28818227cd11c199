"""Read the shapes of arguments from annotations and from how the code uses them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from memaudit.domain.shapes import Shape
from memaudit.domain.slots import LISTS, Slot, annotate, kind_of, last_name
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
_MAX_HELPER_DEPTH = 4


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

    def _parameters(self, node: FunctionNode, skip_first: bool) -> dict[str, Slot]:
        positional = [*node.args.posonlyargs, *node.args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(node.args.defaults))
        pairs = list(zip(positional, [*defaults, *node.args.defaults], strict=False))[1 if skip_first else 0 :]
        pairs += list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=False))
        slots: dict[str, Slot] = {}
        for argument, default in pairs:
            slot = slots[argument.arg] = Slot()
            if argument.annotation is not None:
                annotate(slot, argument.annotation, self._look_up)
            if isinstance(default, ast.Constant):
                if default.value is None:
                    slot.optional = True
                else:
                    slot.vote(kind_of(default.value))
        return slots

    # -- statements -------------------------------------------------------------------------------------
    def _walk(self, body: list[ast.stmt], names: dict[str, Slot]) -> None:
        for statement in body:
            self._statement(statement, names)

    def _statement(self, node: ast.stmt, names: dict[str, Slot]) -> None:
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

    def _child(self, node: ast.AST, names: dict[str, Slot]) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node, names)
        elif isinstance(node, ast.expr):
            self._value(node, names)
        else:
            for child in ast.iter_child_nodes(node):
                self._child(child, names)

    def _bind(self, target: ast.expr, slot: Slot | None, names: dict[str, Slot]) -> None:
        if isinstance(target, ast.Name):
            if slot is not None:
                names[target.id] = slot
            else:
                names.pop(target.id, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._bind(part, None, names)

    def _loop(self, target: ast.expr, source: ast.expr, names: dict[str, Slot]) -> None:
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
    def _value(self, node: ast.expr, names: dict[str, Slot]) -> Slot | None:
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self._value(node.value, names)
            if base is None:
                return None
            return base.attrs.setdefault(node.attr, Slot())
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
            made = Slot()
            made._item = self._value(node.elt, inner)
            return made if made._item is not None else None
        if isinstance(node, ast.Await):
            return self._value(node.value, names)
        for child in ast.iter_child_nodes(node):
            self._child(child, names)
        return None

    def _subscript(self, node: ast.Subscript, names: dict[str, Slot]) -> Slot | None:
        base = self._value(node.value, names)
        if not isinstance(node.slice, (ast.Constant, ast.Slice)):
            self._value(node.slice, names)
        if base is None:
            return None
        if isinstance(node.slice, ast.Slice):
            return base
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return base.keys.setdefault(node.slice.value, Slot())
        if base.declared == "text" or base.votes.get("text", 0) > 0:
            return base
        base.vote("list")
        return base.item

    def _call(self, node: ast.Call, names: dict[str, Slot]) -> Slot | None:
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
                first.vote(kind.get(last_name(part), "list" if last_name(part) in LISTS else "any"))
            return None
        if name in ("str", "sorted", "list", "reversed", "tuple", "set", "iter"):
            return first
        self._helper(node, arguments, names)
        return None

    def _method(self, node: ast.Call, func: ast.Attribute, names: dict[str, Slot]) -> Slot | None:
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
            slot = base.keys.setdefault(first.value, Slot())
            base.may_lack.add(first.value)
            if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value is not None:
                slot.vote(kind_of(node.args[1].value))
            return slot
        if func.attr in ("items", "keys", "values"):
            base.vote("dict", 2)
            return base
        if func.attr in _TEXT_METHODS:
            base.vote("text", 1 if func.attr in _NOT_TEXT_ALONE else 2)
            if func.attr in ("split", "splitlines", "rsplit", "partition", "rpartition"):
                parts = Slot()
                parts._item = base
                parts.vote("list", 2)
                return parts
            return base if func.attr in _TEXT_TO_TEXT else None
        return None

    def _helper(self, node: ast.Call, arguments: list[Slot | None], names: dict[str, Slot]) -> None:
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

    def _either(self, node: ast.BoolOp, names: dict[str, Slot]) -> Slot | None:
        slots = [self._value(value, names) for value in node.values]
        first = slots[0]
        default = node.values[-1]
        if first is not None and isinstance(node.op, ast.Or):
            if isinstance(default, ast.Constant) and default.value is not None:
                first.vote(kind_of(default.value))
            elif isinstance(default, (ast.List, ast.Tuple)):
                first.vote("list")
            elif isinstance(default, ast.Dict):
                first.vote("dict")
        return first

    def _compare(self, node: ast.Compare, names: dict[str, Slot]) -> None:
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
                    slot.vote(kind_of(other.value), 2)

    def _membership(self, slot: Slot, other: ast.expr, is_left: bool) -> None:
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
                slot.vote(kind_of(element))
