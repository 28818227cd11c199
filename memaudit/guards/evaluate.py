"""The abstract value of an expression at one place of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from memaudit.guards import known
from memaudit.guards.lattice import (
    GROWING_KINDS,
    NO,
    PERHAPS,
    YES,
    Origin,
    Part,
    Value,
    aged,
    empty,
    filled,
    join,
    mapped,
    maybe,
    shared,
    unknown,
    when_false,
    when_none,
    when_not_none,
    when_true,
)
from memaudit.guards.names import Class, Constant, External, Local, Module, Project, Symbol, Unresolved
from memaudit.guards.scopes import Function, Scope

Env = dict[str, Value]
_BUILTIN_KINDS = frozenset({"str", "bytes", "list", "dict", "set", "tuple", "num", "opaque"})


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


def join_envs(*envs: Env | None) -> Env | None:
    """Give the state where several paths meet; None is a path that does not get there."""
    reached = [env for env in envs if env is not None]
    if not reached:
        return None
    result = dict(reached[0])
    for env in reached[1:]:
        for name, value in env.items():
            seen = result.get(name)
            if seen is None:
                result[name] = value
            elif seen is not value:
                result[name] = join(seen, value)
    return result


class Evaluator:
    """Evaluates expressions in one unit (function, class body or module) and keeps its state.

    Attributes
    ----------
    env
        Value of each local name where the evaluation stands; None where the code is not reached.
    seen
        For the arguments of calls and the watched expressions: all values they had, by node id.
    """

    def __init__(self, unit: Scope, knowledge: Knowledge, watched: Mapping[int, object]) -> None:
        self.unit = unit
        self.scope = unit
        self.knowledge = knowledge
        self.project = knowledge.project
        self.watched = watched
        self.env: Env | None = {}
        self.collectors: list[Env] = []
        self.seen: dict[int, Value] = {}
        self.touches = 0
        self.tracked_self = ""  # name of `self` while its attributes are followed
        self._volatile: dict[str, bool] = {}
        self._captured: dict[str, bool] = {}
        self._inner = {id(scope.node): scope for scope in _inner_scopes(unit)}

    # -- state --------------------------------------------------------------------------------------

    def key(self, node: ast.expr) -> str:
        """Give the name under which the value of an expression is kept, "" for none."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.NamedExpr):
            return node.target.id
        if (
            self.tracked_self
            and isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.tracked_self
        ):
            return f"{self.tracked_self}.{node.attr}"
        return ""

    def bind(self, name: str, value: Value) -> None:
        """Give a name a value; handlers of an enclosing try see it as well."""
        if self.env is None:
            return
        if not value:
            value = unknown("nothing is known of it")
        if self._is_captured(name):
            value = shared(value)
        self.env[name] = value
        for collector in self.collectors:
            collector[name] = join(collector[name], value) if name in collector else value

    def touch(self) -> None:
        """Let a call happen: what others hold and can change may have changed."""
        self.touches += 1
        for env in (self.env, *self.collectors):
            if env is not None:
                for name, value in env.items():
                    if not all(part.steady or not part.shared for part in value):
                        env[name] = aged(value)

    def change(self, node: ast.expr, grows: bool) -> None:
        """Let the object a name stands for be changed in place."""
        key = self.key(node)
        if self.env is not None and key in self.env:
            self.bind(key, mapped(self.env[key], lambda part: _changed(part, grows)))
        self.touch()

    def share(self, node: ast.expr) -> None:
        """Let somebody else hold the object a name stands for."""
        key = self.key(node)
        for env in (self.env, *self.collectors):
            if env is not None and key in env:
                env[key] = shared(env[key])

    def forget_self(self) -> None:
        """Drop what is known of the attributes of `self`: others hold it from now on."""
        for env in (self.env, *self.collectors):
            for name in env or ():
                if env is not None and name.startswith(f"{self.tracked_self}."):
                    env[name] = unknown("an attribute can be set from anywhere")
        self.tracked_self = ""

    def is_volatile(self, name: str) -> bool:
        """Whether code outside of this unit's own statements can give the name another value."""
        if name not in self._volatile:
            self._volatile[name] = (
                self.unit.runs_code
                or name in self.unit.nonlocal_names
                or name in self.unit.global_names
                or self.unit.rebound_inside(name)
                or (self.unit.kind == "module" and name in self.unit.module.global_writes)
            )
        return self._volatile[name]

    def _is_captured(self, name: str) -> bool:
        """Whether a function inside this one reads the name: it may change the object when it runs."""
        if name not in self._captured:
            self._captured[name] = self.unit.used_inside(name)
        return self._captured[name]

    def record(self, node: ast.expr, value: Value) -> None:
        """Remember a value of an expression; a loop visits it more than once."""
        seen = self.seen.get(id(node))
        self.seen[id(node)] = value if seen is None else join(seen, value)

    # -- expressions --------------------------------------------------------------------------------

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
            value = unknown("an expression that is not followed")
        else:
            value = handler(self, node, safe)
        if id(node) in self.watched:
            self.record(node, value)
        return value

    def on_constant(self, node: ast.Constant, safe: bool) -> Value:
        return known.constant(node.value)

    def on_name(self, node: ast.Name, safe: bool) -> Value:
        name = node.id
        if self.is_volatile(name):
            return unknown(f"`{name}` can be set by other code")
        if name == self.tracked_self:
            self.forget_self()
        if self.env is not None and name in self.env:
            if not safe:
                self.share(node)
            return self.env[name]
        symbol = self.project.resolve_name(name, self.scope)
        if isinstance(symbol, Local) and symbol.scope is self.unit:
            return unknown(f"`{name}` may not be set")
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
            return filled("object") if not symbol.node.keywords else unknown("a class with a metaclass")
        if isinstance(symbol, Unresolved):
            return unknown(symbol.reason)
        return unknown(f"{symbol.dotted} is not in the tree")

    def on_attribute(self, node: ast.Attribute, safe: bool) -> Value:
        key = self.key(node)
        if key and self.env is not None and key in self.env:
            if not safe:
                self.share(node)
            return self.env[key]
        if key:
            return unknown("an attribute can be set from anywhere")
        symbol = self.project.resolve(node, self.scope)
        if isinstance(symbol, Constant):
            return self.knowledge.constant(symbol)
        value = self.eval(node.value)
        if node.attr == "hex" and known.kind_of(value) == "opaque":
            return filled("str")
        return unknown("an attribute can be set from anywhere")

    def on_subscript(self, node: ast.Subscript, safe: bool) -> Value:
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
        held = self.knowledge.table_values(node.value, self.scope)
        return held if held is not None else unknown("an element of a container")

    def on_joined(self, node: ast.JoinedStr, safe: bool) -> Value:
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

    def on_binary(self, node: ast.BinOp, safe: bool) -> Value:
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
        return unknown("result of an operator")

    def on_unary(self, node: ast.UnaryOp, safe: bool) -> Value:
        if isinstance(node.op, ast.Not):
            return self.tested(node)
        value = self.eval(node.operand, safe=True)
        part = known.only_part(value)
        if isinstance(node.op, ast.USub) and part is not None and isinstance(part.literal, (int, float)):
            return known.constant(-part.literal)
        return maybe("num") if known.kind_of(value) == "num" else unknown("result of an operator")

    def on_compare(self, node: ast.Compare, safe: bool) -> Value:
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

    def on_bool(self, node: ast.BoolOp, safe: bool) -> Value:
        value, yes, no = self.branch(node, safe)
        self.env = join_envs(yes, no)
        return value

    def on_ternary(self, node: ast.IfExp, safe: bool) -> Value:
        _, yes, no = self.branch(node.test)
        self.env = yes
        one = self.eval(node.body, safe)
        yes = self.env
        self.env = no
        two = self.eval(node.orelse, safe)
        self.env = join_envs(yes, self.env)
        return join(one, two)

    def on_walrus(self, node: ast.NamedExpr, safe: bool) -> Value:
        value = self.eval(node.value)
        value = self.with_line(value, node)
        if self.scope.kind == "comp":
            value = join(value, unknown("assigned inside a comprehension"))
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

    def on_container(self, node: ast.List | ast.Tuple | ast.Set, safe: bool) -> Value:
        kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
        for element in node.elts:
            self.eval(element.value if isinstance(element, ast.Starred) else element)
        if any(not isinstance(element, ast.Starred) for element in node.elts):
            return filled(kind)
        return maybe(kind) if node.elts else empty(kind)

    def on_dict(self, node: ast.Dict, safe: bool) -> Value:
        for part in (*node.keys, *node.values):
            if part is not None:
                self.record(part, self.eval(part))
        if any(key is not None for key in node.keys):
            return filled("dict", literal=node)
        return maybe("dict") if node.keys else empty("dict", literal=node)

    def on_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp, safe: bool) -> Value:
        self.inside(node, [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        return maybe({ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}[type(node)])

    def on_generator(self, node: ast.GeneratorExp, safe: bool) -> Value:
        self.inside(node, [node.elt])
        return filled("object")

    def inside(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, results: list[ast.expr]
    ) -> None:
        """Evaluate a comprehension's parts with its own names hidden behind unknown elements."""
        before, outer = self.env, self.scope
        self.scope = self._inner.get(id(node), self.scope)
        hidden = {name: (before or {}).get(name) for name in self.scope.bindings}
        self.env = None if before is None else {**before, **{name: unknown("an element") for name in hidden}}
        for generator in node.generators:
            self.eval(generator.iter, safe=True)
            for test in generator.ifs:
                _, self.env, _ = self.branch(test)
        for result in results:
            self.eval(result)
        self.scope = outer
        after = self.env
        if after is not None:
            for name, value in hidden.items():
                after.pop(name, None)
                if value is not None:
                    after[name] = value
        self.env = join_envs(before, after)
        self.touch()

    def on_lambda(self, node: ast.Lambda, safe: bool) -> Value:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.eval(default)
        # The body runs later: its own parameters and whatever it reads from here are not known.
        outer = (self.env, self.scope, self.collectors, self.tracked_self)
        self.scope = self._inner.get(id(node), self.scope)
        names = {*self.unit.bindings, *self.scope.bindings, *(outer[0] or {})}
        self.env = {name: unknown("inside a lambda") for name in names}
        self.collectors, self.tracked_self = [], ""
        self.eval(node.body)
        self.env, self.scope, self.collectors, self.tracked_self = outer
        return filled("object")

    def on_await(self, node: ast.Await, safe: bool) -> Value:
        if isinstance(node.value, ast.Call):
            value = self.on_call(node.value, False, awaited=True)
        else:
            self.eval(node.value)
            value = unknown("an awaited object")
        self.touch()
        return value

    def on_yield(self, node: ast.Yield | ast.YieldFrom, safe: bool) -> Value:
        if node.value is not None:
            self.eval(node.value)
        self.touch()
        return unknown("sent into a generator")

    def on_call(self, node: ast.Call, safe: bool, awaited: bool = False) -> Value:
        func = node.func
        symbol = self.project.resolve(func, self.scope)
        dotted = symbol.dotted if isinstance(symbol, External) else ""
        builtin = dotted.removeprefix("builtins.") if dotted.startswith("builtins.") else ""
        method = func.attr if isinstance(func, ast.Attribute) else ""
        receiver: Value = ()
        if isinstance(func, ast.Attribute):
            # A method of `self` may set any attribute: evaluating the name itself forgets them.
            receiver = self.eval(func.value, safe=True)
            if any(part.owner is not None for part in receiver):
                self.record(func.value, receiver)
        elif not isinstance(func, ast.Name):
            self.eval(func)
        pure = (
            builtin in known.PURE_BUILTINS
            or builtin.endswith(("Error", "Exception"))
            or known.is_logging(func)
            or (
                method in known.PURE_METHODS
                and (method not in self.project.methods or known.kind_of(receiver) in _BUILTIN_KINDS)
                and not isinstance(symbol, (Function, Class))
            )
        )
        arguments = [a.value if isinstance(a, ast.Starred) else a for a in node.args]
        arguments += [keyword.value for keyword in node.keywords]
        values: dict[int, Value] = {}
        counts: dict[int, int] = {}
        for argument in arguments:
            values[id(argument)] = self.eval(argument, safe=pure)
            counts[id(argument)] = self.touches
        for argument in arguments:
            if counts[id(argument)] != self.touches:
                values[id(argument)] = aged(shared(values[id(argument)]))
            self.record(argument, values[id(argument)])
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
        if builtin:
            return known.builtin_result(builtin, positional, [k.arg for k in node.keywords], star)
        if dotted:
            found = None if awaited else known.outside_result(dotted, len(node.args))
            return found if found is not None else unknown(f"{dotted}() is not in the tree")
        value = self.knowledge.call(self, node, values, awaited)
        if isinstance(node.func, ast.Attribute) and not star and not awaited and _is_unfollowed(value):
            name = node.func.attr
            if name == "get" and node.args:
                held = self._literal_entry(receiver, node.args[0])
                if held:
                    return held
            if name == "get" and len(positional) == 2:
                table = self.knowledge.table_values(node.func.value, self.scope)
                if table is None:
                    table = self._literal_values(receiver)
                if table is not None:
                    return join(table, positional[1])
            found = known.method_result(name, receiver, positional, node)
            if found is not None:
                return found
        return value

    def _literal_entry(self, receiver: Value, key: ast.expr) -> Value:
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
                held = self.seen.get(id(value), ())
                return held if _steady(held) else ()
        return ()

    def _literal_values(self, receiver: Value) -> Value | None:
        """Give the values of a dict literal that nobody else holds; None if one can change."""
        part = known.only_part(receiver)
        if part is None or part.shared or not isinstance(part.literal, ast.Dict):
            return None
        held = [self.seen.get(id(value), ()) for value in part.literal.values]
        if None in part.literal.keys or not all(value and _steady(value) for value in held):
            return None
        return join(*held)

    def _effects(self, node: ast.Call, pure: bool, method: str) -> None:
        if self.tracked_self and isinstance(node.func, ast.Name) and node.func.id in ("super", "vars"):
            self.forget_self()
        if pure:
            return
        if method and isinstance(node.func, ast.Attribute):
            self.change(node.func.value, grows=method in known.GROWING_METHODS)
        else:
            self.touch()

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
        return value, self._narrowed(node, value, when_true), self._narrowed(node, value, when_false)

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


def _changed(part: Part, grows: bool) -> Part:
    """Give a part whose object was changed in place."""
    if part.steady:
        return part
    if part.origin is not None and part.origin.param:
        return replace(part, filled=PERHAPS, empty=PERHAPS, stale=True)
    if part.kind in GROWING_KINDS:
        still_full = grows and not part.empty
        return replace(part, filled=YES, empty=NO if still_full else YES, literal=None)
    return replace(
        part,
        filled=part.filled or PERHAPS,
        empty=part.empty or PERHAPS,
        literal=None,
        reason=part.reason or "it is changed in place",
    )


def _none_test(node: ast.Compare) -> ast.expr | None:
    """Give the operand of `x is None` and its like, None for another comparison."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return None
    other = node.comparators[0]
    if isinstance(other, ast.Constant) and other.value is None:
        return node.left
    return None


def _steady(value: Value) -> bool:
    return all(part.steady for part in value)


def _is_unfollowed(value: Value) -> bool:
    return len(value) == 1 and value[0].reason.startswith("method of")


def _inner_scopes(unit: Scope) -> list[Scope]:
    found: list[Scope] = []
    stack = [unit]
    while stack:
        for child in stack.pop().children:
            if child.kind in ("lambda", "comp"):
                found.append(child)
                stack.append(child)
    return found


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: Evaluator.on_constant,
    ast.Name: Evaluator.on_name,
    ast.Attribute: Evaluator.on_attribute,
    ast.Subscript: Evaluator.on_subscript,
    ast.JoinedStr: Evaluator.on_joined,
    ast.BinOp: Evaluator.on_binary,
    ast.UnaryOp: Evaluator.on_unary,
    ast.Compare: Evaluator.on_compare,
    ast.BoolOp: Evaluator.on_bool,
    ast.IfExp: Evaluator.on_ternary,
    ast.NamedExpr: Evaluator.on_walrus,
    ast.List: Evaluator.on_container,
    ast.Tuple: Evaluator.on_container,
    ast.Set: Evaluator.on_container,
    ast.Dict: Evaluator.on_dict,
    ast.ListComp: Evaluator.on_comprehension,
    ast.SetComp: Evaluator.on_comprehension,
    ast.DictComp: Evaluator.on_comprehension,
    ast.GeneratorExp: Evaluator.on_generator,
    ast.Lambda: Evaluator.on_lambda,
    ast.Await: Evaluator.on_await,
    ast.Yield: Evaluator.on_yield,
    ast.YieldFrom: Evaluator.on_yield,
    ast.Call: Evaluator.on_call,
}
