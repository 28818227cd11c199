"""Classes of the tree: families, which method a call means, what building an object gives."""

from __future__ import annotations

import ast
import builtins

from memaudit.guards.declared import is_dataclass, named_class
from memaudit.guards.lattice import Unfollowed, Value, filled, unknown
from memaudit.guards.names import Constant, External, Local, Project
from memaudit.guards.scopes import Class, Function, Scope
from memaudit.guards.signature import binds_first, parameters
from memaudit.wording import say

#: Outside bases that add no truthiness of their own, replace no method and call none of ours.
SAFE_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"}
    | {
        f"builtins.{name}"
        for name, found in vars(builtins).items()
        if isinstance(found, type) and issubclass(found, BaseException)
    }
)


_PLAIN_CLASS_DECORATORS = frozenset(
    {"dataclasses.dataclass", "functools.total_ordering", "typing.final", "typing.runtime_checkable"}
)


#: Methods that may answer for any attribute.
_LOOKUPS = frozenset({"__getattribute__", "__getattr__", "__setattr__", "__slots__"})


class Families:
    """Questions about classes that the index of names alone answers."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._relatives: dict[Class, list[Class]] = {}
        self._opens_objects = any(module.words & {"__dict__", "vars"} for module in project.modules)

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
        if klass not in self._relatives:
            found: dict[Class, None] = {}
            for child in self.project.descendants(klass):
                found.update(dict.fromkeys(self.project.ancestors(child)))
            self._relatives[klass] = list(found)
        return self._relatives[klass]

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
                    return say("{name} is defined more than once in {owner}", name=name, owner=one.name)
                targets += [function for function in found if function not in targets]
                if found and linear:
                    break
                linear = linear and len(one.bases) < 2
                if any(self._may_define(base) for base in one.bases if not isinstance(base, Class)):
                    return Unfollowed(say("method of {name}'s base outside of the tree", name=one.name))
        return targets or Unfollowed(say("method of {name} that is not found", name=klass.name))

    def is_rewritten(self, klass: Class) -> bool:
        """Whether a decorator or a metaclass may replace methods of a class."""
        for decorator in klass.node.decorator_list:
            node = decorator.func if isinstance(decorator, ast.Call) else decorator
            symbol = self.project.resolve(node, klass.outer)
            if not isinstance(symbol, External) or symbol.dotted not in _PLAIN_CLASS_DECORATORS:
                return True
        for keyword in klass.node.keywords:
            symbol = self.project.resolve(keyword.value, klass.outer)
            if keyword.arg == "metaclass" and getattr(symbol, "dotted", "") != "abc.ABCMeta":
                return True
        return False

    @staticmethod
    def _may_define(base: Class | str | None) -> bool:
        return base not in SAFE_BASES

    def instance(self, klass: Class) -> Value:
        """Give what calling a class returns."""
        outside = [base for base in self.project.outside_bases(klass) if base not in SAFE_BASES]
        plain_decorators = not klass.node.decorator_list or is_dataclass(klass, self.project)
        if outside or klass.node.keywords or not plain_decorators or len(klass.node.decorator_list) > 1:
            return unknown(say("an object of {name}, whose base is not in the tree", name=klass.name))
        for one in self.project.ancestors(klass):
            if one.node.keywords or any(name in one.scope.bindings for name in ("__bool__", "__len__", "__new__")):
                return unknown(say("{name} defines its own truthiness", name=one.name))
        return filled("object", owner=klass)

    def is_instance_name(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a first parameter of a method is an instance, not a class."""
        symbol = self.project.resolve_name(getattr(node, "id", ""), scope)
        function = symbol.scope.owner if isinstance(symbol, Local) else None
        return isinstance(function, Function) and binds_first(function, self.project) == "instance"

    def class_constant(self, node: ast.expr, scope: Scope) -> Constant | None:
        """Give what `cls.X`, `self.X` or `Class.X` means when the class sets it once and nobody else ever does."""
        if not isinstance(node, ast.Attribute):
            return None
        named = self.project.resolve(node.value, scope)
        klass = named if isinstance(named, Class) else self.self_class(node.value, scope)
        if klass is None or klass.scope.unit.runs_code or self._is_set_from_outside(node.attr):
            return None
        family = {klass, *self.relatives(klass)}
        definers = [one for one in family if node.attr in one.scope.bindings]
        if len(definers) != 1 or definers[0] not in self.project.ancestors(klass):
            return None
        if any(self._may_set_attributes(one) for one in family):
            return None
        symbol = self.project.resolve_name(node.attr, definers[0].scope)
        return symbol if isinstance(symbol, Constant) else None

    def _may_set_attributes(self, klass: Class) -> bool:
        """Whether a class's objects may get attributes that no line of the tree sets: fields, hooks, other bases."""
        hooks = _LOOKUPS & klass.scope.bindings.keys()
        outside = [base for base in self.project.outside_bases(klass) if base not in SAFE_BASES]
        return bool(hooks or outside) or self.is_rewritten(klass) or is_dataclass(klass, self.project)

    def _is_set_from_outside(self, name: str) -> bool:
        """Whether somebody in the tree sets an attribute of that name, on whatever object."""
        project = self.project
        by_any_name = project.dynamic_store or self._opens_objects
        return by_any_name or name in project.stored_strings or bool(project.stores.get(name))

    def declared_class(self, node: ast.expr | None, scope: Scope) -> Class | None:
        """Give the class that a parameter is annotated with, or the parameter that every assignment gives `self.x`."""
        if isinstance(node, ast.Name):
            symbol = self.project.resolve_name(node.id, scope)
            bindings = symbol.scope.bindings.get(node.id, []) if isinstance(symbol, Local) else []
            if len(bindings) != 1 or bindings[0].kind != "param":
                return None
            annotation = named_class(getattr(bindings[0].node, "annotation", None))
            found = None if annotation is None else self.project.resolve(annotation, scope)
            return found if isinstance(found, Class) else None
        own = self.self_class(node.value, scope) if isinstance(node, ast.Attribute) else None
        if own is None or not isinstance(node, ast.Attribute):
            return None
        declared = set()
        for target, where, value in self.project.stores.get(node.attr, ()):
            holder = self.self_class(target.value, where)
            if holder is None or holder in self.relatives(own):
                declared.add(None if holder is None else self.declared_class(value, where))
        return declared.pop() if len(declared) == 1 else None

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
