"""The value of a call, and what the call may have changed."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from memaudit.guards import known
from memaudit.guards.lattice import Unfollowed, Value, aged, join, shared, unknown
from memaudit.guards.names import External
from memaudit.guards.scopes import Class, Function
from memaudit.wording import say

if TYPE_CHECKING:
    from memaudit.guards.evaluate import Evaluator

_BUILTIN_KINDS = frozenset({"str", "bytes", "list", "dict", "set", "tuple", "num", "opaque"})


class Invocation:
    """Evaluates calls for an evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.at = evaluator

    def value(self, node: ast.Call, awaited: bool) -> Value:
        """Evaluate the callee, the arguments in order, the result, then the effects."""
        func = node.func
        symbol = self.at.project.resolve(func, self.at.scope)
        dotted = symbol.dotted if isinstance(symbol, External) else ""
        builtin = dotted.removeprefix("builtins.") if dotted.startswith("builtins.") else ""
        method = func.attr if isinstance(func, ast.Attribute) else ""
        receiver: Value = ()
        if isinstance(func, ast.Attribute):
            # A method of `self` may set any attribute: evaluating the name itself forgets them.
            receiver = self.at.eval(func.value, safe=True)
            if any(part.owner is not None for part in receiver):
                self.at.record(func.value, receiver)
        elif not isinstance(func, ast.Name):
            self.at.eval(func)
        pure = (
            builtin in known.PURE_BUILTINS
            or builtin.endswith(("Error", "Exception"))
            or known.is_logging(func)
            or (
                method in known.PURE_METHODS
                and (method not in self.at.project.methods or known.kind_of(receiver) in _BUILTIN_KINDS)
                and not isinstance(symbol, (Function, Class))
            )
        )
        arguments = [a.value if isinstance(a, ast.Starred) else a for a in node.args]
        arguments += [keyword.value for keyword in node.keywords]
        values: dict[int, Value] = {}
        counts: dict[int, int] = {}
        for argument in arguments:
            values[id(argument)] = self.at.eval(argument, safe=pure)
            counts[id(argument)] = self.at.touches
        for argument in arguments:
            if counts[id(argument)] != self.at.touches:
                values[id(argument)] = aged(shared(values[id(argument)]))
            self.at.record(argument, values[id(argument)])
        if pure and (builtin or method) in known.CONSUMERS:
            pure = all(
                isinstance(argument, ast.GeneratorExp) or known.kind_of(values[id(argument)]) in _BUILTIN_KINDS
                for argument in arguments
            )
        value = self._result(node, builtin, dotted, receiver, values, awaited)
        self._effects(node, pure, method)
        return value

    def _result(
        self,
        node: ast.Call,
        builtin: str,
        dotted: str,
        receiver: Value,
        values: Mapping[int, Value],
        awaited: bool,
    ) -> Value:
        star = any(isinstance(a, ast.Starred) for a in node.args)
        positional = [values[id(a)] for a in node.args if not isinstance(a, ast.Starred)]
        if builtin == "next" and len(positional) == 2 and not star and isinstance(node.args[0], ast.GeneratorExp):
            first = self.at.elements.get(id(node.args[0]), unknown(say("an element")))
            if all(part.steady for part in first):
                return join(first, positional[1])
        if builtin:
            return known.builtin_result(builtin, positional, [k.arg for k in node.keywords], star)
        if dotted:
            found = None if awaited else known.outside_result(dotted, len(node.args))
            return found if found is not None else unknown(say("{dotted}() is not in the tree", dotted=dotted))
        value = self.at.knowledge.call(self.at, node, values, awaited)
        if isinstance(node.func, ast.Attribute) and not star and not awaited and _is_unfollowed(value):
            name = node.func.attr
            if name == "get" and node.args:
                held = self.literal_entry(receiver, node.args[0])
                if held:
                    return held
            if name == "get" and len(positional) == 2:
                table = self.at.knowledge.table_values(node.func.value, self.at.scope)
                if table is None:
                    table = self._literal_values(receiver)
                if table is not None:
                    return join(table, positional[1])
            project = self.at.project
            in_tree = name in project.methods or name in project.stores
            found = known.method_result(name, receiver, positional, node, in_tree)
            if found is not None:
                return found
        return value

    def literal_entry(self, receiver: Value, key: ast.expr) -> Value:
        """Give what a dict literal that nobody else holds has under a constant key; () when not known."""
        part = known.only_part(receiver)
        if part is None or part.shared or not isinstance(part.literal, ast.Dict):
            return ()
        if None in part.literal.keys or not isinstance(key, ast.Constant):
            return ()
        for one, value in zip(reversed(part.literal.keys), reversed(part.literal.values), strict=True):
            if not isinstance(one, ast.Constant):
                return ()
            if type(one.value) is type(key.value) and one.value == key.value:
                held = self.at.seen.get(id(value), ())
                return held if _steady(held) else ()
        return ()

    def _literal_values(self, receiver: Value) -> Value | None:
        """Give the values of a dict literal that nobody else holds; None if one can change."""
        part = known.only_part(receiver)
        if part is None or part.shared or not isinstance(part.literal, ast.Dict):
            return None
        held = [self.at.seen.get(id(value), ()) for value in part.literal.values]
        if None in part.literal.keys or not all(value and _steady(value) for value in held):
            return None
        return join(*held)

    def _effects(self, node: ast.Call, pure: bool, method: str) -> None:
        if self.at.tracked_self and isinstance(node.func, ast.Name) and node.func.id in ("super", "vars"):
            self.at.forget_self()
        if pure:
            return
        if method and isinstance(node.func, ast.Attribute):
            self.at.change(node.func.value, grows=method in known.GROWING_METHODS)
        else:
            self.at.touch()


def _steady(value: Value) -> bool:
    return all(part.steady for part in value)


def _is_unfollowed(value: Value) -> bool:
    return len(value) == 1 and isinstance(value[0].reason, Unfollowed)
