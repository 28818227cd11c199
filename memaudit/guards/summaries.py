"""What functions return, what constants hold, and which function a call means."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from memaudit.guards.classes import Families
from memaudit.guards.declared import annotated_kind, init_fields, is_dataclass, is_stub
from memaudit.guards.evaluate import Evaluator
from memaudit.guards.flow import Flow, Follower
from memaudit.guards.lattice import (
    Origin,
    Part,
    Unfollowed,
    Value,
    aged,
    filled,
    join,
    mapped,
    maybe,
    parameter,
    restricted,
    shared,
    unknown,
)
from memaudit.guards.names import Constant, External, Local, Project, Unresolved
from memaudit.guards.result import Producer
from memaudit.guards.scopes import CallSite, Class, Function, Scope
from memaudit.guards.signature import (
    Default,
    Filled,
    Given,
    binds_first,
    decorator_names,
    is_transparent,
    match_arguments,
    parameters,
)
from memaudit.guards.state import Env
from memaudit.guards.tables import Readings, looped, rows_of
from memaudit.wording import say

_MAX_DEPTH = 12


class World(Families):
    """Lazy, cached facts about a tree of code; implements `Knowledge` for the evaluators.

    Parameters
    ----------
    project
        The indexed tree.
    watched
        Expressions whose values the caller wants to see, by node id.
    fills
        Assignments that are the fallback of a guard on the same name, by node id.
    """

    def __init__(self, project: Project, watched: Mapping[int, object], fills: Mapping[int, str]) -> None:
        super().__init__(project)
        self.watched = watched
        self.fills = fills
        self._flows: dict[Scope, Flow] = {}
        self._running: set[object] = set()
        self._summaries: dict[Function, Value] = {}
        self._constants: dict[tuple[Scope, str], Value] = {}
        self._tables: dict[Constant, Value | None] = {}
        self._readings = Readings(project)

    # -- units --------------------------------------------------------------------------------------

    def flow(self, unit: Scope) -> Flow:
        """Follow a function, class body or module once; an empty flow while it is being followed."""
        found = self._flows.get(unit)
        if found is not None:
            return found
        if unit in self._running or len(self._running) > _MAX_DEPTH:
            return Flow(unknown("recursion"), {})
        self._running.add(unit)
        try:
            follower = Follower(unit, self, self.watched, self.fills)
            found = follower.follow(unit.node.body, self._entry(unit, follower))  # type: ignore[attr-defined]
        except RecursionError:
            found = Flow(unknown(say("too deeply nested to follow")), {})
        finally:
            self._running.discard(unit)
        self._flows[unit] = found
        return found

    def _entry(self, unit: Scope, follower: Follower) -> Env:
        function = unit.owner
        if not isinstance(function, Function):
            return {}
        late = function.is_async or function.is_generator  # arguments can change before the body runs
        entry: Env = {
            arg.arg: parameter(function, arg.arg, annotated_kind(arg.annotation), late) for arg in parameters(function)
        }
        args = function.node.args
        if args.vararg is not None:
            entry[args.vararg.arg] = maybe("tuple")
        if args.kwarg is not None:
            entry[args.kwarg.arg] = maybe("dict")
        klass = function.klass
        if function.name == "__post_init__" and klass is not None and is_dataclass(klass, self.project):
            first = next(iter(entry), "")
            if first and not unit.used_inside(first):
                follower.tracked_self = first
                for name in init_fields(klass):
                    entry[f"{first}.{name}"] = parameter(function, name, "", False)
        return entry

    # -- summaries ----------------------------------------------------------------------------------

    def summary(self, function: Function) -> Value:
        """Give everything a function can return; parameters stay symbolic."""
        found = self._summaries.get(function)
        if found is not None:
            return found
        reason = self._closed_reason(function)
        if reason:
            value = unknown(reason)
        elif function.scope in self._running or len(self._running) > _MAX_DEPTH:
            return unknown("recursion")
        else:
            value = self.flow(function.scope).returns or unknown(say("{name}() never returns", name=function.name))
            if function.scope in self._running:
                return unknown("recursion")
        self._summaries[function] = value
        return value

    def _closed_reason(self, function: Function) -> str:
        name = function.name
        if function.is_generator:
            return say("{name}() is a generator", name=name)
        if "abc.abstractmethod" in decorator_names(function, self.project) or is_stub(function.node.body):
            return say("{name}() is abstract", name=name)
        if not is_transparent(function, self.project):
            return say("{name}() is decorated", name=name)
        if function.klass is not None and any(map(self.is_rewritten, self.relatives(function.klass))):
            return say("{name}() is a method of a decorated class", name=name)
        if self.is_replaced(function):
            return say("{name}() may be replaced at run time", name=name)
        return ""

    def is_replaced(self, function: Function) -> bool:
        """Whether somebody assigns to an attribute of the function's name (`module.f = ...`)."""
        name = function.name
        if name in self.project.stored_strings:
            return True
        if self.project.dynamic_store and name in self.project.strings:
            return True
        family = set() if function.klass is None else set(self.relatives(function.klass))
        for target, scope, _ in self.project.stores.get(name, ()):
            owner = self.self_class(target.value, scope)
            if owner is None or owner in family:
                return True
        return False

    # -- names --------------------------------------------------------------------------------------

    def constant(self, symbol: Constant) -> Value:
        """Give the value of a name that is assigned once at the top of a module or class."""
        key = (symbol.scope, symbol.name)
        if key in self._constants:
            return self._constants[key]
        if key in self._running or len(self._running) > _MAX_DEPTH:
            return unknown("recursion")
        if symbol.scope.unit.runs_code or any(
            self.self_class(target.value, scope) is None
            for target, scope, _ in self.project.stores.get(symbol.name, ())
        ):
            value = unknown(say("`{name}` may be assigned from elsewhere", name=symbol.name))
        else:
            self._running.add(key)
            try:
                value = Evaluator(symbol.scope, self, {}).eval(symbol.node)
            except RecursionError:
                value = unknown(say("too deeply nested to follow"))
            finally:
                self._running.discard(key)
        value = aged(shared(value), say("the object `{name}` may be changed", name=symbol.name))
        self._constants[key] = value
        return value

    def free(self, symbol: Local) -> Value:
        """Give the value of an enclosing function's variable, seen from a function inside it."""
        function, name = symbol.scope.owner, symbol.name
        bindings = symbol.scope.bindings.get(name, [])
        if not isinstance(function, Function) or len(bindings) != 1 or symbol.scope.rebound_inside(name):
            return unknown(say("`{name}` belongs to an enclosing function", name=name))
        if bindings[0].kind == "param":
            args = function.node.args
            if name in {arg.arg for arg in (args.vararg, args.kwarg) if arg is not None}:
                return unknown(say("`{name}` belongs to an enclosing function", name=name))
            annotation = getattr(bindings[0].node, "annotation", None)
            return parameter(function, name, annotated_kind(annotation), stale=True)
        node = bindings[0].node
        if bindings[0].kind == "assign" and isinstance(node, ast.Constant):
            return Evaluator(symbol.scope, self, {}).eval(node)
        return unknown(say("`{name}` belongs to an enclosing function", name=name))

    def table_values(self, node: ast.expr, scope: Scope) -> Value | None:
        """Give what a constant table (a dict literal that nobody changes) can hold."""
        symbol = self.project.resolve(node, scope)
        if not isinstance(symbol, Constant) or not isinstance(symbol.node, ast.Dict):
            return None
        if symbol not in self._tables:
            self._tables[symbol] = self._table(symbol, symbol.node)
        return self._tables[symbol]

    def _table(self, symbol: Constant, node: ast.Dict) -> Value | None:
        if None in node.keys or not self._readings.is_only_read(symbol):
            return None
        evaluator = Evaluator(symbol.scope, self, {})
        values = [evaluator.eval(value) for value in node.values]
        if not values or not all(part.steady for value in values for part in value):
            return None
        return join(*values)

    def table_columns(self, node: ast.expr, scope: Scope) -> list[Value] | None:
        """Give what each place of a row can hold when a constant table is looped over; None for anything else."""
        table, view = looped(node)
        symbol = self.class_constant(table, scope) or self.project.resolve(table, scope)
        constant = symbol if isinstance(symbol, Constant) else None
        if constant is not None and not self._readings.is_only_read(constant):
            return None
        rows = rows_of(table if constant is None else constant.node, view)
        if rows is None or (constant is None and not all(isinstance(e, ast.Constant) for row in rows for e in row)):
            return None  # of a table written into the loop only literals are known here
        evaluator = Evaluator(scope if constant is None else constant.scope, self, {})
        columns = [join(*(evaluator.eval(element) for element in column)) for column in zip(*rows, strict=True)]
        changing = unknown(say("an element of a container"))
        return [column if all(part.steady for part in column) else changing for column in columns]

    # -- calls --------------------------------------------------------------------------------------

    def call(self, evaluator: Evaluator, node: ast.Call, values: Mapping[int, Value], awaited: bool) -> Value:
        """Give the result of a call in the tree; `method of ...` is unknown when the receiver is."""
        scope, func = evaluator.scope, node.func
        symbol = self.project.resolve(func, scope)
        if isinstance(symbol, Class):
            return unknown(say("an awaited object")) if awaited else self.instance(symbol)
        if isinstance(symbol, Function):
            if symbol.klass is not None:
                return unknown(say("{name}() is called inside its class body", name=symbol.name))
            return self._results([symbol], node, values, awaited, scope, "plain")
        if not isinstance(func, ast.Attribute):
            reason = symbol.reason if isinstance(symbol, Unresolved) else say("call of a variable")
            return unknown(reason)
        owner = self.project.resolve(func.value, scope)
        if isinstance(owner, Class):
            targets = self.method_targets(owner, func.attr, exact=True)
            return self._results(targets, node, values, awaited, scope, "class")
        if isinstance(owner, External):
            return unknown(say("{dotted}.{attr}() is not in the tree", dotted=owner.dotted, attr=func.attr))
        own = self.self_class(func.value, scope)
        if own is not None:
            how = "self" if self.is_instance_name(func.value, scope) else "cls"
            return self._results(self.method_targets(own, func.attr, exact=False), node, values, awaited, scope, how)
        receiver = self.receiver(evaluator, func.value)
        if receiver is not None:
            klass, exact = receiver
            return self._results(self.method_targets(klass, func.attr, exact), node, values, awaited, scope, "self")
        return unknown(Unfollowed(say("method of an object that is not known")))

    def receiver(self, evaluator: Evaluator, node: ast.expr) -> tuple[Class, bool] | None:
        """Give the class of a receiver, and whether it is exactly of it: built here, or `self.x = C()`."""
        env = evaluator.env or {}
        value = env.get(evaluator.key(node), ()) if evaluator.key(node) else ()
        if not value and isinstance(node, ast.Call):
            symbol = self.project.resolve(node.func, evaluator.scope)
            value = self.instance(symbol) if isinstance(symbol, Class) else ()
        if len(value) == 1 and isinstance(value[0].owner, Class):
            return value[0].owner, True
        if isinstance(node, ast.Attribute):
            klass = self.attribute_class(node, evaluator.scope)
            return None if klass is None else (klass, True)
        return None

    def _results(
        self,
        targets: list[Function] | str,
        node: ast.Call,
        values: Mapping[int, Value],
        awaited: bool,
        scope: Scope,
        how: str,
    ) -> Value:
        if isinstance(targets, str):
            return unknown(targets)
        return join(*(self._result(target, node, values, awaited, scope, how) for target in targets))

    def _result(
        self,
        function: Function,
        node: ast.Call,
        values: Mapping[int, Value],
        awaited: bool,
        scope: Scope,
        how: str,
    ) -> Value:
        if function.is_async != awaited:
            return unknown(
                say("{name}() is not awaited" if function.is_async else "{name}() is awaited", name=function.name)
            )
        bound = binds_first(function, self.project)
        skip = bound == "class" or (bound == "instance" and how == "self")
        if bound == "instance" and how == "cls":
            return unknown(say("{name}() is called through a class", name=function.name))
        site = CallSite(node, node.func, function.name, scope)
        arguments = match_arguments(function, site, skip)
        if arguments is None:
            return unknown(say("the call does not fit {name}()", name=function.name))
        producer = Producer(function.qualname, function.module.file, function.node.lineno)
        parts: list[Part] = []
        for part in self.summary(function):
            if part.origin is None or part.origin.function is not function:
                parts.append(replace(part, origin=Origin(node.lineno, producer=producer)))
                continue
            argument = arguments.get(part.origin.param)
            if isinstance(argument, Given):
                passed = values.get(id(argument.node), unknown(say("an argument")))
            elif isinstance(argument, Default):
                passed = self.default(function, argument.node)
            elif isinstance(argument, Filled):
                passed = filled("object")
            else:
                passed = unknown(say("an argument") if argument is None else argument.reason)
            for given in restricted(passed, part):
                if given.origin is None:
                    given = replace(given, origin=Origin(node.lineno, producer=producer))
                parts.append(given)
        # The callee may keep what it returns: a list from a call can change with the next call.
        return mapped(join(tuple(parts)), lambda part: replace(part, shared=not part.steady))

    def default(self, function: Function, node: ast.expr) -> Value:
        """Give the value of a default: one object for all calls, so a mutable one may have been filled."""
        if isinstance(node, ast.Constant):
            return Evaluator(function.outer, self, {}).eval(node)
        try:
            value = Evaluator(function.outer.unit, self, {}).eval(node)
        except RecursionError:
            return unknown(say("too deeply nested to follow"))
        return aged(shared(value), say("a mutable default is kept between calls"))
