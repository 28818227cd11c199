"""The abstract value of an expression at one place of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from memaudit.guards import known
from memaudit.guards.invoke import Invocation
from memaudit.guards.lattice import (
    PERHAPS,
    Origin,
    Value,
    empty,
    filled,
    join,
    maybe,
    shared,
    tuple_items,
    unknown,
    when_false,
    when_none,
    when_not_none,
    when_true,
)
from memaudit.guards.names import Constant, External, Local, Project, Symbol, Unresolved
from memaudit.guards.scopes import Class, Function, Module, Scope
from memaudit.guards.state import Env, State, join_envs
from memaudit.wording import say

_NO_NONE = frozenset(
    f"builtins.{name}" for name in ("str", "bytes", "int", "float", "bool", "list", "tuple", "dict", "set")
)


class Knowledge(Protocol):
    """What an evaluator asks of the rest of the tree."""

    project: Project

    def constant(self, symbol: Constant) -> Value:
        """Give the value of a module's or class's constant."""

    def free(self, symbol: Local) -> Value:
        """Give the value of a variable of an enclosing function."""

    def call(self, evaluator: Evaluator, node: ast.Call, values: Mapping[int, Value], awaited: bool) -> Value:
        """Give the result of a call of something that is not a builtin."""

    def table_values(self, node: ast.expr, scope: Scope) -> Value | None:
        """Give what a constant table of the tree can hold, None if it is none."""

    def class_constant(self, node: ast.expr, scope: Scope) -> Constant | None:
        """Give what an attribute of a class means when it is set once and for all."""

    def table_columns(self, node: ast.expr, scope: Scope) -> list[Value] | None:
        """Give what each place of a row can hold when a constant table is looped over; None for anything else."""


class Evaluator(State):
    """Evaluates expressions in one unit; subclasses run statements."""

    def __init__(self, unit: Scope, knowledge: Knowledge, watched: Mapping[int, object]) -> None:
        super().__init__(unit, watched)
        self.knowledge = knowledge
        self.project = knowledge.project
        self._invocation = Invocation(self)
        self.elements: dict[int, Value] = {}  # what each generator expression yields

    def eval(self, node: ast.expr, safe: bool = False) -> Value:
        """Give the value of an expression.

        Parameters
        ----------
        safe
            The object is only looked at: nobody keeps it.
        """
        if self.env is None:
            return ()
        handler = _HANDLERS.get(type(node))
        if handler is None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.eval(child)
            value = unknown(say("an expression that is not followed"))
        else:
            value = handler(self, node, safe)
        if id(node) in self.watched:
            self.record(node, value)
        return value

    def _on_constant(self, node: ast.Constant, safe: bool) -> Value:
        return known.constant(node.value)

    def _on_name(self, node: ast.Name, safe: bool) -> Value:
        name = node.id
        if self.is_volatile(name):
            return unknown(say("`{name}` can be set by other code", name=name))
        if name == self.tracked_self:
            self.forget_self()
        if self.env is not None and name in self.env:
            if not safe:
                self.share(node)
            return self.env[name]
        symbol = self.project.resolve_name(name, self.scope)
        if isinstance(symbol, Local) and symbol.scope is self.unit:
            return unknown(say("`{name}` may not be set", name=name))
        return self.symbol_value(symbol)

    def symbol_value(self, symbol: Symbol) -> Value:
        """Give the value of what a name means."""
        if isinstance(symbol, Constant):
            return self.knowledge.constant(symbol)
        if isinstance(symbol, Local):
            return self.knowledge.free(symbol)
        if isinstance(symbol, (Function, Module)):
            return filled("object")
        if isinstance(symbol, Class):
            return filled("object") if not symbol.node.keywords else unknown(say("a class with a metaclass"))
        if isinstance(symbol, Unresolved):
            return unknown(symbol.reason)
        return unknown(say("{dotted} is not in the tree", dotted=symbol.dotted))

    def _on_attribute(self, node: ast.Attribute, safe: bool) -> Value:
        key = self.key(node)
        if key and self.env is not None and key in self.env:
            if not safe:
                self.share(node)
            return self.env[key]
        symbol: Symbol | None = self.knowledge.class_constant(node, self.scope)
        if key and symbol is None:
            return unknown(say("an attribute can be set from anywhere"))
        symbol = symbol or self.project.resolve(node, self.scope)
        if isinstance(symbol, Constant):
            return self.knowledge.constant(symbol)
        value = self.eval(node.value)
        if node.attr == "hex" and known.kind_of(value) == "opaque":
            return filled("str")
        return unknown(say("an attribute can be set from anywhere"))

    def _on_subscript(self, node: ast.Subscript, safe: bool) -> Value:
        value = self.eval(node.value, safe=True)
        if isinstance(node.slice, ast.Slice):
            for bound in (node.slice.lower, node.slice.upper, node.slice.step):
                if bound is not None:
                    self.eval(bound)
            kind = known.kind_of(value)
            if kind != "str":
                return maybe("", none=PERHAPS)
            upper = node.slice.upper
            starts = (
                node.slice.lower is None
                and node.slice.step is None
                and (
                    upper is None
                    or (isinstance(upper, ast.Constant) and isinstance(upper.value, int) and upper.value > 0)
                )
            )
            return filled("str") if starts and known.is_filled(value) else maybe("str")
        self.eval(node.slice)
        held = self.knowledge.table_values(node.value, self.scope) or self._invocation.literal_entry(value, node.slice)
        return held or unknown(say("an element of a container"))

    def _on_joined(self, node: ast.JoinedStr, safe: bool) -> Value:
        full = False
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                full |= bool(piece.value)
            elif isinstance(piece, ast.FormattedValue):
                value = self.eval(piece.value, safe=True)
                if piece.format_spec is not None:
                    self.eval(piece.format_spec, safe=True)
                elif known.kind_of(value) in ("num", "opaque") or (
                    known.kind_of(value) == "str" and known.is_filled(value)
                ):
                    full = True
        return filled("str") if full else maybe("str")

    def _on_binary(self, node: ast.BinOp, safe: bool) -> Value:
        left, right = self.eval(node.left, safe=True), self.eval(node.right, safe=True)
        kinds = (known.kind_of(left), known.kind_of(right))
        if isinstance(node.op, ast.Add):
            texts = [kind for kind in kinds if kind in ("str", "list", "tuple", "bytes")]
            for value, kind in zip((left, right), kinds, strict=True):
                if kind in texts and known.is_filled(value):
                    return filled(kind)
            if texts:
                return maybe(texts[0])
        if isinstance(node.op, ast.Mod) and kinds[0] == "str":
            return known.percent_format(left)
        if "num" in kinds and all(kind in ("num", "bool") for kind in kinds):
            return maybe("num")
        return unknown(say("result of an operator"))

    def _on_unary(self, node: ast.UnaryOp, safe: bool) -> Value:
        if isinstance(node.op, ast.Not):
            return self.tested(node)
        value = self.eval(node.operand, safe=True)
        part = known.only_part(value)
        if isinstance(node.op, ast.USub) and part is not None and isinstance(part.literal, (int, float)):
            return known.constant(-part.literal)
        return maybe("num") if known.kind_of(value) == "num" else unknown(say("result of an operator"))

    def _on_compare(self, node: ast.Compare, safe: bool) -> Value:
        if _none_test(node) is not None:
            return self.tested(node)
        for side in (node.left, *node.comparators):
            self.eval(side, safe=True)
        return maybe("bool")

    def tested(self, node: ast.expr) -> Value:
        """Evaluate a condition for its value, keeping both outcomes of the state."""
        _, yes, no = self.branch(node)
        self.env = join_envs(yes, no)
        return maybe("bool")

    def _on_bool(self, node: ast.BoolOp, safe: bool) -> Value:
        value, yes, no = self.branch(node, safe)
        self.env = join_envs(yes, no)
        return value

    def _on_ternary(self, node: ast.IfExp, safe: bool) -> Value:
        _, yes, no = self.branch(node.test)
        self.env = yes
        one = self.eval(node.body, safe)
        yes = self.env
        self.env = no
        two = self.eval(node.orelse, safe)
        self.env = join_envs(yes, self.env)
        return join(one, two)

    def _on_walrus(self, node: ast.NamedExpr, safe: bool) -> Value:
        value = self.eval(node.value)
        value = self.with_line(value, node)
        if self.scope.kind == "comp":
            value = join(value, unknown(say("assigned inside a comprehension")))
        self.bind(node.target.id, value if safe else shared(value))
        return value

    def with_line(self, value: Value, node: ast.expr | ast.stmt, fill: bool = False) -> Value:
        """Say where a value was assigned, for parts that do not know where they come from."""
        line = Origin(line=node.lineno, fill=fill)
        return join(
            tuple(
                replace(part, origin=line)
                if part.origin is None
                else replace(part, origin=replace(part.origin, fill=True))
                if fill and not part.origin.param
                else part
                for part in value
            )
        )

    def _on_container(self, node: ast.List | ast.Tuple | ast.Set, safe: bool) -> Value:
        kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
        values = [self.eval(e.value if isinstance(e, ast.Starred) else e) for e in node.elts]
        is_plain = not any(isinstance(element, ast.Starred) for element in node.elts)
        if not is_plain:
            self.touch()  # unpacking a generator runs its code
        if any(not isinstance(element, ast.Starred) for element in node.elts):
            return filled(kind, items=tuple_items(values) if kind == "tuple" and is_plain else None)
        return maybe(kind) if node.elts else empty(kind)

    def _on_dict(self, node: ast.Dict, safe: bool) -> Value:
        for part in (*node.keys, *node.values):
            if part is not None:
                self.record(part, self.eval(part))
        if any(key is not None for key in node.keys):
            return filled("dict", literal=node)
        return maybe("dict") if node.keys else empty("dict", literal=node)

    def _on_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp, safe: bool) -> Value:
        self.inside(node, [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        return maybe({ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}[type(node)])

    def _on_generator(self, node: ast.GeneratorExp, safe: bool) -> Value:
        self.elements[id(node)] = self.inside(node, [node.elt])
        return filled("object")

    def inside(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, results: list[ast.expr]
    ) -> Value:
        """Evaluate a comprehension's parts, its own names hidden behind unknown elements or the rows of a table."""
        before, outer = self.env, self.scope
        self.scope = self._inner.get(id(node), self.scope)
        hidden = {name: (before or {}).get(name) for name in self.scope.bindings}
        self.env = None if before is None else {**before, **{name: unknown(say("an element")) for name in hidden}}
        for generator in node.generators:
            self.eval(generator.iter, safe=True)
            where = outer if generator is node.generators[0] else self.scope
            columns, target = self.knowledge.table_columns(generator.iter, where), generator.target
            if self.env is not None and columns and isinstance(target, ast.Tuple) and len(columns) == len(target.elts):
                named = zip(target.elts, columns, strict=True)
                self.env = {**self.env, **{one.id: column for one, column in named if isinstance(one, ast.Name)}}
            for test in generator.ifs:
                _, self.env, _ = self.branch(test)
        found = join(*(self.eval(result) for result in results))
        self.scope = outer
        after = self.env
        if after is not None:
            for name, value in hidden.items():
                after.pop(name, None)
                if value is not None:
                    after[name] = value
        self.env = join_envs(before, after)
        self.touch()
        return found

    def _on_lambda(self, node: ast.Lambda, safe: bool) -> Value:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.eval(default)
        # The body runs later: its own parameters and whatever it reads from here are not known.
        outer = (self.env, self.scope, self.collectors, self.tracked_self)
        self.scope = self._inner.get(id(node), self.scope)
        names = {*self.unit.bindings, *self.scope.bindings, *(outer[0] or {})}
        self.env = {name: unknown(say("inside a lambda")) for name in names}
        self.collectors, self.tracked_self = [], ""
        self.eval(node.body)
        self.env, self.scope, self.collectors, self.tracked_self = outer
        return filled("object")

    def _on_await(self, node: ast.Await, safe: bool) -> Value:
        if isinstance(node.value, ast.Call):
            value = self._invocation.value(node.value, awaited=True)
        else:
            self.eval(node.value)
            value = unknown(say("an awaited object"))
        self.touch()
        return value

    def _on_yield(self, node: ast.Yield | ast.YieldFrom, safe: bool) -> Value:
        if node.value is not None:
            self.eval(node.value)
        self.touch()
        return unknown(say("sent into a generator"))

    def _on_call(self, node: ast.Call, safe: bool) -> Value:
        return self._invocation.value(node, awaited=False)

    # -- conditions ---------------------------------------------------------------------------------

    def branch(self, node: ast.expr, safe: bool = True) -> tuple[Value, Env | None, Env | None]:
        """Evaluate a condition; give its value and the states where it is true and where it is false."""
        if self.env is None:
            return (), None, None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            _, yes, no = self.branch(node.operand)
            return self._noted(node, maybe("bool")), no, yes
        if isinstance(node, ast.BoolOp):
            value, yes, no = self._branch_bool(node, safe)
            return self._noted(node, value), yes, no
        operand = _none_test(node) if isinstance(node, ast.Compare) else None
        if operand is not None and isinstance(node, ast.Compare):
            value = self.eval(operand, safe=True)
            is_none = self._narrowed(operand, value, when_none)
            not_none = self._narrowed(operand, value, when_not_none)
            if isinstance(node.ops[0], (ast.Is, ast.Eq)):
                return self._noted(node, maybe("bool")), is_none, not_none
            return self._noted(node, maybe("bool")), not_none, is_none
        value = self.eval(node, safe)
        tested = self._tested_type(node)
        yes = self._narrowed(node, value, when_true) if tested is None else self._narrowed(tested, (), when_not_none)
        return value, yes, self._narrowed(node, value, when_false)

    def _tested_type(self, node: ast.expr) -> ast.expr | None:
        """Give what `isinstance` asks about when None is none of the types."""
        if not isinstance(node, ast.Call) or len(node.args) != 2:
            return None
        kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        names = [self.project.resolve(part, self.scope) for part in (node.func, *kinds)]
        dotted = [name.dotted if isinstance(name, External) else "" for name in names]
        return node.args[0] if dotted[0] == "builtins.isinstance" and set(dotted[1:]) <= _NO_NONE else None

    def _noted(self, node: ast.expr, value: Value) -> Value:
        if id(node) in self.watched:
            self.record(node, value)
        return value

    def _branch_bool(self, node: ast.BoolOp, safe: bool) -> tuple[Value, Env | None, Env | None]:
        stops_on_true = isinstance(node.op, ast.Or)
        result: Value = ()
        ends: list[Env | None] = []
        for index, operand in enumerate(node.values):
            value, yes, no = self.branch(operand, safe)
            if index == len(node.values) - 1:
                result = join(result, value)
                # The last operand goes on to both sides.
                first, second = (yes, no) if stops_on_true else (no, yes)
                stopped = join_envs(*ends, first)
                return (result, stopped, second) if stops_on_true else (result, second, stopped)
            result = join(result, (when_true if stops_on_true else when_false)(value))
            ends.append(yes if stops_on_true else no)
            self.env = no if stops_on_true else yes
        return result, None, None

    def _narrowed(self, node: ast.expr, value: Value, narrow: Callable[[Value], Value]) -> Env | None:
        if self.env is None or (value and not narrow(value)):
            return None
        env = dict(self.env)
        key = self.key(node)
        if key in env and not self.is_volatile(key):
            left = narrow(env[key])
            if not left:
                return None
            env[key] = left
        return env


def _none_test(node: ast.Compare) -> ast.expr | None:
    """Give the operand of `x is None` and its like, None for another comparison."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return None
    other = node.comparators[0]
    if isinstance(other, ast.Constant) and other.value is None:
        return node.left
    return None


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: Evaluator._on_constant,
    ast.Name: Evaluator._on_name,
    ast.Attribute: Evaluator._on_attribute,
    ast.Subscript: Evaluator._on_subscript,
    ast.JoinedStr: Evaluator._on_joined,
    ast.BinOp: Evaluator._on_binary,
    ast.UnaryOp: Evaluator._on_unary,
    ast.Compare: Evaluator._on_compare,
    ast.BoolOp: Evaluator._on_bool,
    ast.IfExp: Evaluator._on_ternary,
    ast.NamedExpr: Evaluator._on_walrus,
    ast.List: Evaluator._on_container,
    ast.Tuple: Evaluator._on_container,
    ast.Set: Evaluator._on_container,
    ast.Dict: Evaluator._on_dict,
    ast.ListComp: Evaluator._on_comprehension,
    ast.SetComp: Evaluator._on_comprehension,
    ast.DictComp: Evaluator._on_comprehension,
    ast.GeneratorExp: Evaluator._on_generator,
    ast.Lambda: Evaluator._on_lambda,
    ast.Await: Evaluator._on_await,
    ast.Yield: Evaluator._on_yield,
    ast.YieldFrom: Evaluator._on_yield,
    ast.Call: Evaluator._on_call,
}
