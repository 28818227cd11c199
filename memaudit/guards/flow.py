"""Follow the statements of one function: which values reach which place.

Every path that the syntax allows is taken into account: both sides of conditions (narrowed by them),
loops until nothing changes, handlers with every state their `try` can be left in.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from memaudit.guards.evaluate import Evaluator, Knowledge
from memaudit.guards.lattice import (
    NO,
    NONE,
    PERHAPS,
    Value,
    elements,
    filled,
    join,
    mapped,
    shared,
    unknown,
)
from memaudit.guards.names import External
from memaudit.guards.scopes import Scope
from memaudit.guards.state import Env, join_envs
from memaudit.wording import say

#: Entry of the state that says what falling off the end here would return.
_END = "<end>"
_MAX_ROUNDS = 8
_MAX_DEPTH = 60
#: Context managers that never swallow an exception.
_PLAIN_MANAGERS = frozenset({"open", "fdopen", "TemporaryDirectory", "NamedTemporaryFile", "closing", "lock"})


@dataclass(frozen=True)
class Flow:
    """What a pass over one unit found.

    Parameters
    ----------
    returns
        Everything the function can return, with the None of falling off its end.
    seen
        Values of call arguments and watched expressions by node id; absent when never reached.
    """

    returns: Value
    seen: Mapping[int, Value]


@dataclass
class _Loop:
    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


class Follower(Evaluator):
    """Runs statements on abstract values."""

    def __init__(
        self,
        unit: Scope,
        knowledge: Knowledge,
        watched: Mapping[int, object],
        fills: Mapping[int, str],
    ) -> None:
        super().__init__(unit, knowledge, watched)
        self.fills = fills
        self.loops: list[_Loop] = []
        self.returned: list[Value] = []
        self.depth = 0

    def follow(self, body: list[ast.stmt], entry: Env) -> Flow:
        """Follow a unit's body from its entry state."""
        self.env = {**entry, _END: NONE}
        self.block(body)
        if self.env is not None:
            self.returned.append(self.env[_END])
        return Flow(join(*self.returned), self.seen)

    def block(self, body: list[ast.stmt]) -> None:
        """Run statements until one leaves the block."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise RecursionError(say("too deeply nested"))
        for statement in body:
            if self.env is None:
                break
            handler = _STATEMENTS.get(type(statement))
            if handler is not None:
                handler(self, statement)
        self.depth -= 1

    # -- assignments --------------------------------------------------------------------------------

    def _on_assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            self.unpack(node.targets[0], node.value)
            return
        value = self.with_line(self.eval(node.value), node, id(node) in self.fills)
        for target in node.targets:
            self.store(target, shared(value) if len(node.targets) > 1 else value)

    def unpack(self, target: ast.Tuple, source: ast.expr) -> None:
        """Assign element by element where both sides are written out, else something unknown."""
        if (
            isinstance(source, ast.Tuple)
            and len(source.elts) == len(target.elts)
            and not any(isinstance(e, ast.Starred) for e in (*target.elts, *source.elts))
        ):
            values = [self.with_line(self.eval(element), element) for element in source.elts]
            for element, value in zip(target.elts, values, strict=True):
                self.store(element, value)
            return
        value = self.eval(source)
        columns = elements(value, len(target.elts))
        if columns is not None and all(isinstance(element, ast.Name) for element in target.elts):
            for element, column in zip(target.elts, columns, strict=True):
                self.store(element, self.with_line(column, element))
            return
        self.touch()  # unpacking a generator runs its code
        self.store(target, unknown(say("unpacked from a container")))

    def _on_annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.with_line(self.eval(node.value), node, id(node) in self.fills))

    def _on_augmented(self, node: ast.AugAssign) -> None:
        load: ast.expr | None = None
        if isinstance(node.target, ast.Name):
            load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        if load is None:
            self.eval(node.value)
            self.store(node.target, unknown(say("changed in place")))
            return
        value = self._on_binary(ast.copy_location(ast.BinOp(load, node.op, node.value), node), False)
        if not all(part.steady for part in value):
            self.change(load, grows=False)
        self.store(node.target, self.with_line(shared(value), node))

    def store(self, target: ast.expr, value: Value) -> None:
        """Give a target a value; a store into an object may change what others hold."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Starred):
            self.store(target.value, unknown(say("unpacked from a container")))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.store(element, unknown(say("unpacked from a container")))
        elif isinstance(target, ast.Attribute):
            key = self.key(target)
            if key and self.env is not None and key in self.env:
                self.bind(key, shared(value))
            else:
                if not key:
                    self.eval(target.value, safe=True)
                self.touch()
        elif isinstance(target, ast.Subscript):
            self.eval(target.slice)
            self.eval(target.value, safe=True)
            self.change(target.value, grows=not isinstance(target.slice, ast.Slice))

    def _on_delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                if self.env is not None:
                    self.env[target.id] = unknown(say("`{name}` is deleted", name=target.id))
            elif isinstance(target, ast.Subscript):
                self.eval(target.slice)
                self.change(target.value, grows=False)
            else:
                self.store(target, unknown("deleted"))

    def _on_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                continue
            name = alias.asname or alias.name.split(".")[0]
            # An imported name can be any object, a number or an empty text too.
            imported = isinstance(node, ast.ImportFrom)
            self.bind(name, unknown(say("imported from elsewhere")) if imported else filled("object"))

    def _on_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.eval(decorator)
        if isinstance(node, ast.ClassDef):
            for base in (*node.bases, *(keyword.value for keyword in node.keywords)):
                self.eval(base)
        else:
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    self.eval(default)
        plain = not node.decorator_list and not (isinstance(node, ast.ClassDef) and node.keywords)
        self.bind(node.name, filled("object") if plain else unknown("decorated"))

    # -- paths --------------------------------------------------------------------------------------

    def _on_expression(self, node: ast.Expr) -> None:
        self.eval(node.value, safe=True)
        if isinstance(node.value, ast.Call):
            func = node.value.func
            if (
                isinstance(func, ast.Attribute)
                and func.attr == "exit"
                and getattr(self.project.resolve(func, self.scope), "dotted", "") == "sys.exit"
            ):
                self.env = None

    def _on_return(self, node: ast.Return) -> None:
        value = NONE if node.value is None else self.eval(node.value)
        if self.env is not None:
            self.returned.append(value)
        self.env = None

    def _on_raise(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.eval(part)
        self.env = None

    def _on_assert(self, node: ast.Assert) -> None:
        # Python -O leaves assertions out: they prove nothing about production.
        self.eval(node.test, safe=True)
        before = self.env
        if node.msg is not None:
            self.eval(node.msg)
        self.env = before

    def _on_if(self, node: ast.If) -> None:
        _, yes, no = self.branch(node.test)
        self.env = yes
        self.block(node.body)
        yes = self.env
        self.env = no
        self.block(node.orelse)
        self.env = join_envs(yes, self.env)

    def _on_while(self, node: ast.While) -> None:
        def turn() -> tuple[Env | None, Env | None]:
            _, yes, no = self.branch(node.test)
            return yes, no

        self.loop(turn, node.body, node.orelse)

    def _on_for(self, node: ast.For | ast.AsyncFor) -> None:
        source = node.iter
        elements: Value | None = None
        if isinstance(source, (ast.Tuple, ast.List)) and source.elts:
            if not any(isinstance(element, ast.Starred) for element in source.elts):
                elements = shared(join(*(self.eval(element) for element in source.elts)))
        else:
            self.eval(source, safe=True)
        columns = None if isinstance(node, ast.AsyncFor) else self.knowledge.table_columns(source, self.scope)

        def turn() -> tuple[Env | None, Env | None]:
            self.touch()
            before = None if self.env is None else dict(self.env)
            if isinstance(node.target, (ast.Tuple, ast.List)) and columns and len(columns) == len(node.target.elts):
                for target, column in zip(node.target.elts, columns, strict=True):
                    self.store(target, self.with_line(column, target))
                return self.env, before
            value = elements or unknown(say("an element of what is looped over"))
            self.store(node.target, self.with_line(value, node.target))
            return self.env, before

        self.loop(turn, node.body, node.orelse)

    def loop(
        self,
        turn: Callable[[], tuple[Env | None, Env | None]],
        body: list[ast.stmt],
        orelse: list[ast.stmt],
    ) -> None:
        """Repeat a loop body until its entry state stops growing."""
        head = self.env
        outs: list[Env] = []
        end: Env | None = None
        for round_ in range(_MAX_ROUNDS + 1):
            frame = _Loop()
            self.loops.append(frame)
            self.env = None if head is None else dict(head)
            inside, end = turn()
            self.env = inside
            self.block(body)
            self.loops.pop()
            outs += frame.breaks
            grown = join_envs(head, self.env, *frame.continues)
            if grown == head:
                break
            if round_ == _MAX_ROUNDS - 1 and grown is not None:
                grown = {name: unknown(say("changes in a loop")) for name in grown}
            head = grown
        self.env = end
        self.block(orelse)
        self.env = join_envs(self.env, *outs)

    def _on_break(self, node: ast.Break) -> None:
        if self.loops and self.env is not None:
            self.loops[-1].breaks.append(self.env)
        self.env = None

    def _on_continue(self, node: ast.Continue) -> None:
        if self.loops and self.env is not None:
            self.loops[-1].continues.append(self.env)
        self.env = None

    def _on_try(self, node: ast.Try) -> None:
        entry = self.env
        outer = self.collectors
        anywhere: Env = dict(entry or {})  # every state in which the statement as a whole can be left
        within: Env = dict(entry or {})  # every state in which the body can be left by an exception
        self.collectors = [*outer, anywhere, within]
        self.block(node.body)
        self.collectors = [*outer, anywhere]
        self.block(node.orelse)
        ends = [self.env]
        for handler in node.handlers:
            self.env = dict(within)
            if handler.type is not None:
                self.eval(handler.type, safe=True)
            if handler.name:
                self.bind(handler.name, self._caught(handler.type))
            self.block(handler.body)
            ends.append(self.env)
        self.collectors = outer
        normal = join_envs(*ends)
        if not node.finalbody:
            self.env = normal
            return
        # Once for leaving by an exception or a return, once for going on.
        self.env = anywhere
        self.block(node.finalbody)
        self.env = normal
        self.block(node.finalbody)

    def _caught(self, node: ast.expr | None) -> Value:
        """Give a caught exception: one of Python's own is true, another may define its truthiness."""
        types = node.elts if isinstance(node, ast.Tuple) else [node]
        for part in types:
            symbol = None if part is None else self.project.resolve(part, self.scope)
            if not isinstance(symbol, External) or not symbol.dotted.startswith("builtins."):
                return unknown(say("a caught exception"), none=NO)
        return filled("object")

    def _on_with(self, node: ast.With | ast.AsyncWith) -> None:
        plain = True
        for item in node.items:
            self.eval(item.context_expr)
            plain &= _is_plain_manager(item.context_expr)
            if item.optional_vars is not None:
                self.store(item.optional_vars, unknown(say("result of a context manager")))
        self.touch()
        if plain:
            self.block(node.body)
            self.touch()
            return
        # `suppress` and its like go on after the block from any state the block was in.
        within: Env = dict(self.env or {})
        outer = self.collectors
        self.collectors = [*outer, within]
        self.block(node.body)
        self.collectors = outer
        swallowed = {
            name: mapped(
                value,
                lambda part: replace(
                    part,
                    filled=min(part.filled, PERHAPS),
                    empty=min(part.empty, PERHAPS),
                    none=min(part.none, PERHAPS),
                    reason=part.reason or say("a `with` block may swallow an exception"),
                ),
            )
            for name, value in within.items()
        }
        self.env = join_envs(self.env, swallowed)
        self.touch()

    def _on_match(self, node: ast.Match) -> None:
        self.eval(node.subject)
        ends: list[Env | None] = []
        for case in node.cases:
            before = None if self.env is None else dict(self.env)
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.bind(name, unknown(say("captured by a match")))
            if case.guard is not None:
                self.eval(case.guard, safe=True)
            self.block(case.body)
            ends.append(self.env)
            self.env = before
            if _is_wildcard(case):
                self.env = None
        self.env = join_envs(self.env, *ends)


def _is_wildcard(case: ast.match_case) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _is_plain_manager(node: ast.expr) -> bool:
    target = node.func if isinstance(node, ast.Call) else node
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name in _PLAIN_MANAGERS or name.lower().endswith("lock")


_STATEMENTS: dict[type, Callable[..., None]] = {
    ast.Assign: Follower._on_assign,
    ast.AnnAssign: Follower._on_annotated,
    ast.AugAssign: Follower._on_augmented,
    ast.Delete: Follower._on_delete,
    ast.Import: Follower._on_import,
    ast.ImportFrom: Follower._on_import,
    ast.FunctionDef: Follower._on_definition,
    ast.AsyncFunctionDef: Follower._on_definition,
    ast.ClassDef: Follower._on_definition,
    ast.Expr: Follower._on_expression,
    ast.Return: Follower._on_return,
    ast.Raise: Follower._on_raise,
    ast.Assert: Follower._on_assert,
    ast.If: Follower._on_if,
    ast.While: Follower._on_while,
    ast.For: Follower._on_for,
    ast.AsyncFor: Follower._on_for,
    ast.Break: Follower._on_break,
    ast.Continue: Follower._on_continue,
    ast.Try: Follower._on_try,
    ast.With: Follower._on_with,
    ast.AsyncWith: Follower._on_with,
    ast.Match: Follower._on_match,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = Follower._on_try
