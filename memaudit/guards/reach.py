"""Whether an expression that is called or used means a certain function."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from memaudit.guards.names import External, Unresolved
from memaudit.guards.scopes import CallSite, Class, Function, Module, Scope, Use
from memaudit.guards.signature import Argument, binds_first
from memaudit.guards.summaries import World
from memaudit.wording import key, say, term

#: Method names that Python's own types have: a call of one says nothing about whose method it is.
_COMMON = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float, object, Exception)
    for name in dir(kind)
    if not name.startswith("__")
) | {"close", "read", "write", "open", "send", "run", "start", "stop", "submit", "result", "search", "match"}
AMBIGUOUS = key("ambiguous-name: several classes have a method of this name")


@dataclass(frozen=True)
class Site:
    """A call that reaches a function for sure, or perhaps.

    Parameters
    ----------
    arguments
        What each parameter gets.
    doubt
        Why it may not be a call of this function at all; empty when it is for sure.
    """

    call: CallSite
    arguments: Mapping[str, Argument]
    doubt: str = ""


@dataclass(frozen=True)
class Doubt:
    """A way to call the function that the scan cannot follow."""

    file: str
    line: int
    reason: str


class Reach:
    """Resolves callees to functions of the tree, with a doubt where the receiver is not known."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.project = world.project

    def reaches(self, function: Function, callee: ast.expr, scope: Scope) -> tuple[str, bool | None] | None:
        """Say whether an expression means the function: (doubt, first argument bound), None for no."""
        symbol = self.project.resolve(callee, scope)
        if symbol is function:
            return "", False
        if function.klass is None:
            if isinstance(symbol, Unresolved) and self.may_be(callee, scope):
                return say("`{name}` is not resolved: {reason}", name=ast.unparse(callee), reason=symbol.reason), False
            return None
        if not isinstance(callee, ast.Attribute) or not isinstance(symbol, Unresolved):
            return None
        return self._reaches_method(function, function.klass, callee, scope)

    def may_be(self, callee: ast.expr, scope: Scope) -> bool:
        """Whether an unresolved name can mean a function at the top of some module."""
        if isinstance(callee, ast.Name):
            return True
        if isinstance(callee, ast.Attribute):
            owner = self.project.resolve(callee.value, scope)
            if isinstance(owner, Unresolved):
                # An imported module that is not found; any other object holds no module's functions.
                root = callee.value
                while isinstance(root, ast.Attribute):
                    root = root.value
                return isinstance(root, ast.Name) and "is not a plain name" not in owner.reason
            return isinstance(owner, Module)
        return False

    def _reaches_method(
        self, function: Function, klass: Class, callee: ast.Attribute, scope: Scope
    ) -> tuple[str, bool | None] | None:
        world, receiver = self.world, callee.value
        bound = binds_first(function, self.project)
        owner = self.project.resolve(receiver, scope)
        family = world.relatives(klass)
        if isinstance(owner, Class):
            meant = owner in family and self._may_mean(function, owner, exact=True)
            return ("", bound == "class") if meant else None
        if isinstance(owner, (Module, External)):
            return None
        own = world.self_class(receiver, scope)
        if own is not None:
            if own not in family or not self._may_mean(function, own, exact=False):
                return None
            through_class = isinstance(receiver, ast.Name) and not world.is_instance_name(receiver, scope)
            return "", bound == "class" or (bound == "instance" and not through_class)
        if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super":
            doubt = self.through_super(enclosing_class(scope), klass)
            return None if doubt is None else (doubt, bound != "static")
        exact = self._exact_class(receiver, scope)
        if exact is not None:
            meant = klass in self.project.ancestors(exact) and self._may_mean(function, exact, exact=True)
            return ("", bound != "static") if meant else None
        if (
            bound == "instance"
            and isinstance(receiver, ast.Name)
            and (receiver.id in ("cls", "klass") or receiver.id[:1].isupper())
        ):
            return "", None
        declared = world.declared_class(receiver, scope)
        if declared is not None and declared in family:
            # An annotation takes a doubt away; it rules nobody out, for nothing enforces it.
            doubt = "" if self._may_mean(function, declared, exact=False) else term(AMBIGUOUS)
            return doubt, bound != "static"
        definers = self.project.methods.get(function.name, [])
        if function.name in _COMMON or any(one.klass is None or one.klass not in family for one in definers):
            return term(AMBIGUOUS), bound != "static"
        return "", bound != "static"

    def _may_mean(self, function: Function, klass: Class, *, exact: bool) -> bool:
        """Whether a method of an object of a class can be this one: not where the class has its own."""
        if self.world.is_replaced(function) or any(map(self.world.is_rewritten, self.world.relatives(klass))):
            return True
        targets = self.world.method_targets(klass, function.name, exact)
        return isinstance(targets, str) or function in targets

    def through_super(self, inside: Class | None, klass: Class) -> str | None:
        """Say whether `super()` in a class can mean another: "" for sure, a doubt, or None for no."""
        if inside is None or klass in self.project.descendants(inside):
            return None  # super() goes up: never to the class itself nor to one derived from it
        if klass in self.project.ancestors(inside):
            return ""
        if klass in self.world.relatives(inside):
            return say("super() in a class that is combined with it by multiple inheritance")
        return None

    def _exact_class(self, receiver: ast.expr, scope: Scope) -> Class | None:
        if isinstance(receiver, ast.Attribute):
            found = self.world.attribute_class(receiver, scope)
            if found is not None:
                return found
        seen = self.world.flow(scope.unit).seen.get(id(receiver), ())
        first = seen[0].owner if seen else None
        same = all(part.owner is first and not part.none for part in seen)
        return first if same and isinstance(first, Class) else None


def is_super(callee: ast.expr) -> bool:
    """Whether a callee is `super().something`."""
    return (
        isinstance(callee, ast.Attribute)
        and isinstance(callee.value, ast.Call)
        and getattr(callee.value.func, "id", "") == "super"
    )


def enclosing_class(scope: Scope) -> Class | None:
    """Give the class whose body a scope stands in."""
    here: Scope | None = scope
    while here is not None:
        if isinstance(here.owner, Class):
            return here.owner
        here = here.parent
    return None


def doubt_at(at: CallSite | Use, reason: str) -> Doubt:
    """Give a doubt at the place of a call or a use."""
    return Doubt(at.scope.module.file, at.node.lineno, reason)
