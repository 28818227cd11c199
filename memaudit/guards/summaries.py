"""What functions return, what constants hold, and which function a call means."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from dataclasses import replace

from memaudit.guards.evaluate import Env, Evaluator
from memaudit.guards.flow import Flow, Follower
from memaudit.guards.lattice import (
    Origin,
    Part,
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
from memaudit.guards.names import Class, Constant, External, Local, Module, Project, Unresolved
from memaudit.guards.result import Producer
from memaudit.guards.scopes import CallSite, Function, Scope
from memaudit.guards.signature import (
    Default,
    Filled,
    Given,
    binds_first,
    decorator_names,
    is_dataclass,
    is_transparent,
    match_arguments,
    parameters,
)

_MAX_DEPTH = 12
#: Outside bases that add no truthiness of their own, replace no method and call none of ours.
SAFE_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"}
    | {
        f"builtins.{name}"
        for name, found in vars(builtins).items()
        if isinstance(found, type) and issubclass(found, BaseException)
    }
)
_ANNOTATED = {
    "str": "~str",
    "int": "~num",
    "float": "~num",
    "bool": "~bool",
    "bytes": "~bytes",
    "Literal": "~str",
    "None": "",
}


class World:
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
        self.project = project
        self.watched = watched
        self.fills = fills
        self._flows: dict[Scope, Flow] = {}
        self._running: set[object] = set()
        self._summaries: dict[Function, Value] = {}
        self._constants: dict[tuple[Scope, str], Value] = {}
        self._tables: dict[Constant, Value | None] = {}
        self._parents: dict[Module, dict[str, list[tuple[ast.AST, ast.AST]]]] = {}

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
            found = Flow(unknown("too deeply nested to follow"), {})
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
            arg.arg: parameter(function, arg.arg, annotated_kind(arg.annotation), late)
            for arg in parameters(function)
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
            value = self.flow(function.scope).returns or unknown(f"{function.name}() never returns")
            if function.scope in self._running:
                return unknown("recursion")
        self._summaries[function] = value
        return value

    def _closed_reason(self, function: Function) -> str:
        name = function.name
        if function.is_generator:
            return f"{name}() is a generator"
        if "abc.abstractmethod" in decorator_names(function, self.project) or _is_stub(function.node.body):
            return f"{name}() is abstract"
        if not is_transparent(function, self.project):
            return f"{name}() is decorated"
        if self.is_replaced(function):
            return f"{name}() may be replaced at run time"
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
            value = unknown(f"`{symbol.name}` may be assigned from elsewhere")
        else:
            self._running.add(key)
            try:
                value = Evaluator(symbol.scope, self, {}).eval(symbol.node)
            except RecursionError:
                value = unknown("too deeply nested to follow")
            finally:
                self._running.discard(key)
        value = aged(shared(value), f"the object `{symbol.name}` may be changed")
        self._constants[key] = value
        return value

    def free(self, symbol: Local) -> Value:
        """Give the value of an enclosing function's variable, seen from a function inside it."""
        function, name = symbol.scope.owner, symbol.name
        bindings = symbol.scope.bindings.get(name, [])
        if not isinstance(function, Function) or len(bindings) != 1 or symbol.scope.rebound_inside(name):
            return unknown(f"`{name}` belongs to an enclosing function")
        if bindings[0].kind == "param":
            args = function.node.args
            if name in {arg.arg for arg in (args.vararg, args.kwarg) if arg is not None}:
                return unknown(f"`{name}` belongs to an enclosing function")
            annotation = getattr(bindings[0].node, "annotation", None)
            return parameter(function, name, annotated_kind(annotation), stale=True)
        node = bindings[0].node
        if bindings[0].kind == "assign" and isinstance(node, ast.Constant):
            return Evaluator(symbol.scope, self, {}).eval(node)
        return unknown(f"`{name}` belongs to an enclosing function")

    def table_values(self, node: ast.expr, scope: Scope) -> Value | None:
        """Give what a constant table (a dict literal that nobody changes) can hold."""
        symbol = self.project.resolve(node, scope)
        if not isinstance(symbol, Constant) or not isinstance(symbol.node, ast.Dict):
            return None
        if symbol not in self._tables:
            self._tables[symbol] = self._table(symbol, symbol.node)
        return self._tables[symbol]

    def _table(self, symbol: Constant, node: ast.Dict) -> Value | None:
        if None in node.keys or not self._is_only_read(symbol):
            return None
        evaluator = Evaluator(symbol.scope, self, {})
        values = [evaluator.eval(value) for value in node.values]
        if not values or not all(part.steady for value in values for part in value):
            return None
        return join(*values)

    def _is_only_read(self, symbol: Constant) -> bool:
        """Whether every use of the name in the tree only looks things up."""
        reads = {"get", "items", "keys", "values", "copy"}
        for node, parent in self._uses_with_parents(symbol.name):
            good = (
                (isinstance(parent, ast.Attribute) and parent.attr in reads)
                or (
                    isinstance(parent, ast.Subscript)
                    and parent.value is node
                    and isinstance(parent.ctx, ast.Load)
                )
                or isinstance(parent, (ast.Compare, ast.comprehension, ast.For))
                or (
                    isinstance(parent, ast.Call)
                    and isinstance(parent.func, ast.Name)
                    and parent.func.id
                    in ("len", "sorted", "list", "set", "tuple", "any", "all", "dict", "print")
                )
            )
            if not good:
                return False
        return True

    def _uses_with_parents(self, name: str) -> list[tuple[ast.AST, ast.AST]]:
        found: list[tuple[ast.AST, ast.AST]] = []
        for module in self.project.modules:
            if name in module.words:
                if module not in self._parents:
                    self._parents[module] = _parents(module)
                found += self._parents[module].get(name, [])
        return found

    # -- classes ------------------------------------------------------------------------------------

    def self_class(self, node: ast.expr, scope: Scope) -> Class | None:
        """Give the class whose instance (or class) `node` is by being the first parameter of a method."""
        if not isinstance(node, ast.Name):
            return None
        symbol = self.project.resolve_name(node.id, scope)
        if not isinstance(symbol, Local) or not isinstance(symbol.scope.owner, Function):
            return None
        function = symbol.scope.owner
        if function.klass is None or binds_first(function, self.project) == "static":
            return None
        first = next(iter(parameters(function)), None)
        if first is None or first.arg != node.id or len(symbol.scope.bindings[node.id]) != 1:
            return None
        return function.klass

    def relatives(self, klass: Class) -> list[Class]:
        """Give all classes whose methods `self` in `klass` can mean: its family in the tree."""
        found: list[Class] = []
        for child in self.project.descendants(klass):
            for one in self.project.ancestors(child):
                if one not in found:
                    found.append(one)
        return found

    def method_targets(self, klass: Class, name: str, exact: bool) -> list[Function] | str:
        """Give the functions that `object.name()` can call, or the reason why nobody knows.

        Parameters
        ----------
        exact
            The object is of this very class, of none derived from it.
        """
        targets: list[Function] = []
        for child in [klass] if exact else self.project.descendants(klass):
            linear = True  # one base each: the first definition found is the one that counts
            for one in self.project.ancestors(child):
                found = one.methods.get(name, [])
                if len(found) > 1 or (not found and name in one.scope.bindings):
                    return f"{name} is defined more than once in {one.name}"
                targets += [function for function in found if function not in targets]
                if found and linear:
                    break
                linear = linear and len(one.bases) < 2
                if any(self._may_define(base) for base in one.bases if not isinstance(base, Class)):
                    return f"method of {one.name}'s base outside of the tree"
        return targets or f"method of {klass.name} that is not found"

    @staticmethod
    def _may_define(base: Class | str | None) -> bool:
        return base not in SAFE_BASES

    def instance(self, klass: Class) -> Value:
        """Give what calling a class returns."""
        outside = [base for base in self.project.outside_bases(klass) if base not in SAFE_BASES]
        plain_decorators = not klass.node.decorator_list or is_dataclass(klass, self.project)
        if outside or klass.node.keywords or not plain_decorators or len(klass.node.decorator_list) > 1:
            return unknown(f"an object of {klass.name}, whose base is not in the tree")
        for one in self.project.ancestors(klass):
            if one.node.keywords or any(
                name in one.scope.bindings for name in ("__bool__", "__len__", "__new__")
            ):
                return unknown(f"{one.name} defines its own truthiness")
        return filled("object", owner=klass)

    # -- calls --------------------------------------------------------------------------------------

    def call(self, evaluator: Evaluator, node: ast.Call, values: Mapping[int, Value], awaited: bool) -> Value:
        """Give the result of a call in the tree; `method of ...` is unknown when the receiver is."""
        scope, func = evaluator.scope, node.func
        symbol = self.project.resolve(func, scope)
        if isinstance(symbol, Class):
            return unknown("an awaited object") if awaited else self.instance(symbol)
        if isinstance(symbol, Function):
            if symbol.klass is not None:
                return unknown(f"{symbol.name}() is called inside its class body")
            return self._results([symbol], node, values, awaited, scope, "plain")
        if not isinstance(func, ast.Attribute):
            reason = symbol.reason if isinstance(symbol, Unresolved) else "call of a variable"
            return unknown(reason)
        owner = self.project.resolve(func.value, scope)
        if isinstance(owner, Class):
            targets = self.method_targets(owner, func.attr, exact=True)
            return self._results(targets, node, values, awaited, scope, "class")
        if isinstance(owner, External):
            return unknown(f"{owner.dotted}.{func.attr}() is not in the tree")
        own = self.self_class(func.value, scope)
        if own is not None:
            how = "self" if self.is_instance_name(func.value, scope) else "cls"
            return self._results(
                self.method_targets(own, func.attr, exact=False), node, values, awaited, scope, how
            )
        receiver = self.receiver(evaluator, func.value)
        if receiver is not None:
            klass, exact = receiver
            return self._results(
                self.method_targets(klass, func.attr, exact), node, values, awaited, scope, "self"
            )
        return unknown("method of an object that is not known")

    def is_instance_name(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a first parameter of a method is an instance, not a class."""
        symbol = self.project.resolve_name(getattr(node, "id", ""), scope)
        function = symbol.scope.owner if isinstance(symbol, Local) else None
        return isinstance(function, Function) and binds_first(function, self.project) == "instance"

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

    def attribute_class(self, node: ast.Attribute, scope: Scope) -> Class | None:
        """Give the class of `self.x` when every assignment to an `x` in the tree builds that class."""
        own = self.self_class(node.value, scope)
        stores = self.project.stores.get(node.attr, ())
        if own is None or not stores or node.attr in self.project.stored_strings:
            return None
        if any(node.attr in one.scope.bindings for one in self.relatives(own)):
            return None
        found: set[Class] = set()
        for target, where, value in stores:
            holder = self.self_class(target.value, where)
            if holder is not None and holder not in self.relatives(own):
                continue
            symbol = self.project.resolve(value.func, where) if isinstance(value, ast.Call) else None
            if holder is None or not isinstance(symbol, Class):
                return None
            found.add(symbol)
        return found.pop() if len(found) == 1 else None

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
            return unknown(f"{function.name}() is {'not ' if function.is_async else ''}awaited")
        bound = binds_first(function, self.project)
        skip = bound == "class" or (bound == "instance" and how == "self")
        if bound == "instance" and how == "cls":
            return unknown(f"{function.name}() is called through a class")
        site = CallSite(node, node.func, function.name, scope)
        arguments = match_arguments(function, site, skip)
        if arguments is None:
            return unknown(f"the call does not fit {function.name}()")
        producer = Producer(function.qualname, function.module.file, function.node.lineno)
        parts: list[Part] = []
        for part in self.summary(function):
            if part.origin is None or part.origin.function is not function:
                parts.append(replace(part, origin=Origin(node.lineno, producer=producer)))
                continue
            argument = arguments.get(part.origin.param)
            if isinstance(argument, Given):
                passed = values.get(id(argument.node), unknown("an argument"))
            elif isinstance(argument, Default):
                passed = self.default(function, argument.node)
            elif isinstance(argument, Filled):
                passed = filled("object")
            else:
                passed = unknown("an argument" if argument is None else argument.reason)
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
            return unknown("too deeply nested to follow")
        return aged(shared(value), "a mutable default is kept between calls")


def _parents(module: Module) -> dict[str, list[tuple[ast.AST, ast.AST]]]:
    """Give each reading of a name or attribute in a module with the node it stands in."""
    found: dict[str, list[tuple[ast.AST, ast.AST]]] = {}
    for parent in ast.walk(module.source.tree):
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                found.setdefault(child.id, []).append((child, parent))
            elif isinstance(child, ast.Attribute):
                found.setdefault(child.attr, []).append((child, parent))
            elif isinstance(child, ast.alias) and child.asname:
                # Under another name it would not be found here: no reading that we know.
                found.setdefault(child.name, []).append((child, parent))
    return found


def annotated_kind(annotation: ast.expr | None) -> str:
    """Give the immutable kind an annotation names (`str`, `Optional[str]`, `str | None`), else ""."""
    kinds = _annotated(annotation)
    kinds.discard("")
    return kinds.pop() if len(kinds) == 1 else ""


def _annotated(node: ast.expr | None) -> set[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {"?", "??"}
    if isinstance(node, ast.Constant) and node.value is None:
        return {""}
    if isinstance(node, ast.Name):
        return {_ANNOTATED[node.id]} if node.id in _ANNOTATED else {"?", "??"}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _annotated(node.left) | _annotated(node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
        name = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
        if name == "Optional":
            return _annotated(node.slice)
        if name == "Literal":
            return {"~str"}
    return {"?", "??"}


def init_fields(klass: Class) -> list[str]:
    """Give the fields of a dataclass that its constructor takes, in order."""
    found = []
    for statement in klass.node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        text = ast.unparse(statement.annotation)
        if "ClassVar" in text or "InitVar" in text or "KW_ONLY" in text:
            continue
        value = statement.value
        if isinstance(value, ast.Call) and any(
            keyword.arg == "init"
            and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is True)
            for keyword in value.keywords
        ):
            continue
        found.append(statement.target.id)
    return found


def _is_stub(body: list[ast.stmt]) -> bool:
    """Whether a body says nothing: a docstring, `...`, `pass`, `raise NotImplementedError`."""
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Raise) and "NotImplemented" in ast.dump(statement):
            continue
        return False
    return True
