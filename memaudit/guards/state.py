"""The state of an evaluation: what each local name can be, and who else can change it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from memaudit.guards.lattice import (
    GROWING_KINDS,
    NO,
    PERHAPS,
    YES,
    Part,
    Value,
    aged,
    join,
    mapped,
    shared,
    unknown,
)
from memaudit.guards.scopes import Scope
from memaudit.wording import say

Env = dict[str, Value]


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


class State:
    """State of one unit (function, class body or module) where its evaluation stands.

    Attributes
    ----------
    env
        Value of each local name where the evaluation stands; None where the code is not reached.
    seen
        For the arguments of calls and the watched expressions: all values they had, by node id.
    """

    def __init__(self, unit: Scope, watched: Mapping[int, object]) -> None:
        self.unit = unit
        self.scope = unit
        self.watched = watched
        self.env: Env | None = {}
        self.collectors: list[Env] = []
        self.seen: dict[int, Value] = {}
        self.touches = 0
        self.tracked_self = ""  # name of `self` while its attributes are followed
        self._volatile: dict[str, bool] = {}
        self._captured: dict[str, bool] = {}
        self._inner = {id(scope.node): scope for scope in _inner_scopes(unit)}

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
            value = unknown(say("nothing is known of it"))
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
                    env[name] = unknown(say("an attribute can be set from anywhere"))
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
        reason=part.reason or say("it is changed in place"),
    )


def _inner_scopes(unit: Scope) -> list[Scope]:
    found: list[Scope] = []
    stack = [unit]
    while stack:
        for child in stack.pop().children:
            if child.kind in ("lambda", "comp"):
                found.append(child)
                stack.append(child)
    return found
