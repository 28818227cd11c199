"""Which function, class, module or constant a name means, across the files of a tree."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from memaudit.guards.index import index_module
from memaudit.guards.scopes import (
    Binding,
    CallSite,
    Class,
    Function,
    ImportTarget,
    Module,
    Scope,
    Use,
)
from memaudit.guards.tree import Tree
from memaudit.wording import say

_MAX_IMPORT_HOPS = 6
_BUILTIN_NAMES = frozenset(dir(builtins))


@dataclass(frozen=True)
class Constant:
    """A name that a module or class gives exactly one value."""

    module: Module
    scope: Scope
    name: str
    node: ast.expr


@dataclass(frozen=True)
class External:
    """Something outside of the tree, by its dotted name."""

    dotted: str


@dataclass(frozen=True)
class Local:
    """A variable of a function, or a parameter."""

    scope: Scope
    name: str


@dataclass(frozen=True)
class Unresolved:
    """A name that could mean several things, or that is not found."""

    reason: str


Symbol = Function | Class | Module | Constant | External | Local | Unresolved


class Project:
    """All modules of a tree with their names resolved; the analyses keep their results elsewhere."""

    def __init__(self, tree: Tree) -> None:
        self.modules = [index_module(source) for source in tree.sources]
        self.unread = tree.unread
        self._by_dotted: dict[str, list[Module]] = defaultdict(list)
        self._by_parts: dict[tuple[str, tuple[str, ...]], Module] = {}
        self.calls: dict[str, list[CallSite]] = defaultdict(list)
        self.uses: dict[str, list[Use]] = defaultdict(list)
        self.stores: dict[str, list[tuple[ast.Attribute, Scope, ast.expr | None]]] = defaultdict(list)
        self.methods: dict[str, list[Function]] = defaultdict(list)
        self.words: set[str] = set()
        self._enter_modules()
        self._enter_classes()
        self._enter_uses()
        self.dynamic_access = any(module.dynamic_access for module in self.modules)
        self.dynamic_store = any(module.dynamic_store for module in self.modules)
        self.strings = set().union(*(module.strings for module in self.modules))
        self.named_strings = set().union(*(module.named_strings for module in self.modules))
        self.stored_strings = set().union(*(module.stored_strings for module in self.modules))
        self.name_prefixes = tuple(
            sorted(prefix for module in self.modules for prefix in module.name_prefixes if prefix)
        )

    # -- building ---------------------------------------------------------------------------------

    def _enter_modules(self) -> None:
        packages = {(self._anchor(module), module.source.parts[:-1]) for module in self.modules if module.is_package}
        for module in self.modules:
            anchor, parts = self._anchor(module), module.source.parts
            if module.is_package:
                parts = parts[:-1]
            self.words.update(parts)
            self._by_parts[(anchor, parts)] = module
            # A package's module is imported by its full name below the package's folder; a folder
            # without __init__.py may itself be on the path, so every shorter name counts there.
            top = len(parts) if module.is_package else len(parts) - 1
            while top > 0 and (anchor, parts[:top]) in packages:
                top -= 1
            for start in range(min(top, len(parts) - 1) + 1) if parts else ():
                self._by_dotted[".".join(parts[start:])].append(module)

    @staticmethod
    def _anchor(module: Module) -> str:
        path = module.source.path
        return str(path.parents[len(module.source.parts) - 1])

    def _enter_classes(self) -> None:
        by_name: dict[str, list[Class]] = defaultdict(list)
        for module in self.modules:
            for klass in module.classes:
                by_name[klass.name].append(klass)
        for module in self.modules:
            for klass in module.classes:
                for base in klass.node.bases:
                    expression = base.value if isinstance(base, ast.Subscript) else base
                    symbol = self.resolve(expression, klass.outer)
                    if isinstance(symbol, Class):
                        klass.bases.append(symbol)
                        symbol.children.append(klass)
                        continue
                    klass.bases.append(symbol.dotted if isinstance(symbol, External) else None)
                    if not isinstance(symbol, External):
                        # Not found, but of this name: take it for a subclass of each.
                        name = getattr(expression, "attr", getattr(expression, "id", ""))
                        for parent in by_name.get(name, ()):
                            parent.children.append(klass)
                for name, found in klass.methods.items():
                    self.methods[name].extend(found)

    def _enter_uses(self) -> None:
        for module in self.modules:
            for site in module.calls:
                self.calls[site.name].append(site)
            for use in module.uses:
                self.uses[use.node.id if isinstance(use.node, ast.Name) else use.node.attr].append(use)
            for store in module.attribute_stores:
                self.stores[store[0].attr].append(store)
        for module in self.modules:
            for scope in _scopes(module.scope):
                for name, bindings in scope.bindings.items():
                    for binding in bindings:
                        target = binding.target
                        if isinstance(target, ImportTarget) and target.name and target.name != name:
                            self._enter_alias(name, target.name, module, scope)

    def _enter_alias(self, alias: str, name: str, module: Module, scope: Scope) -> None:
        self.calls[name].extend(site for site in module.calls if site.name == alias)
        self.uses[name].extend(use for use in module.uses if isinstance(use.node, ast.Name) and use.node.id == alias)

    # -- resolving --------------------------------------------------------------------------------

    def resolve(self, node: ast.expr, scope: Scope) -> Symbol:
        """Say what a name or dotted name means where it stands."""
        if isinstance(node, ast.Name):
            return self.resolve_name(node.id, scope)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value, scope)
            if isinstance(owner, Module):
                return self.lookup(owner, node.attr)
            if isinstance(owner, External):
                return External(f"{owner.dotted}.{node.attr}")
        return Unresolved(say("not a plain name"))

    def resolve_name(self, name: str, scope: Scope) -> Symbol:
        """Say what a plain name means in a scope: the nearest binding, then the module, then builtins."""
        here: Scope | None = scope
        while here is not None and here.kind != "module":
            if name in here.global_names:
                break
            # The names of a class body are seen by the body itself, not by what stands inside it.
            if name in here.bindings and (here.kind != "class" or here is scope):
                return self._bound(here, name, 0) or Local(here, name)
            here = here.parent
        return self.lookup(scope.module, name)

    def lookup(self, module: Module, name: str, hops: int = 0) -> Symbol:
        """Say what a name means at the top level of a module; imports are followed."""
        if name in module.global_writes:
            return Unresolved(say("`{name}` is assigned through `global`", name=name))
        if name in module.scope.bindings:
            first = module.scope.bindings[name][0].node
            if module.last_star_line > getattr(first, "lineno", 0):
                return Unresolved(say("`{name}` may be replaced by a star import", name=name))
            return self._bound(module.scope, name, hops) or Unresolved(
                say("`{name}` is bound more than once", name=name)
            )
        if module.is_package:
            parts = (*module.source.parts[:-1], name)
            inside = self._by_parts.get((self._anchor(module), parts))
            if inside is not None:
                return inside
        if module.star_imports:
            return self._from_star(module, name, hops)
        if name in _BUILTIN_NAMES and hops == 0:
            return External(f"builtins.{name}")
        return Unresolved(say("`{name}` is not found", name=name))

    def _from_star(self, module: Module, name: str, hops: int) -> Symbol:
        """Look a name up in the modules of `from x import *`, if all of them are in the tree."""
        found: set[Symbol] = set()
        for target in module.star_imports:
            source = self.find_module(target.module, target.level, module)
            if not isinstance(source, Module) or source is module or hops > _MAX_IMPORT_HOPS:
                return Unresolved(say("`{name}` may come from a star import", name=name))
            listed = _listed(source)
            if name in listed if listed is not None else not name.startswith("_"):
                symbol = self.lookup(source, name, hops + 1)
                if not isinstance(symbol, Unresolved) or name in source.scope.bindings:
                    found.add(symbol)
        if len(found) == 1:
            return found.pop()
        return Unresolved(say("`{name}` may come from a star import", name=name))

    def _bound(self, scope: Scope, name: str, hops: int) -> Symbol | None:
        bindings = [binding for binding in scope.bindings[name] if not _is_overload(binding)]
        if len(bindings) > 1:
            symbols = {
                self._symbol(binding, scope, name, hops) if binding.kind == "import" else None for binding in bindings
            }
            only = symbols.pop() if len(symbols) == 1 else None
            return only if not isinstance(only, Unresolved) else None
        if not bindings:
            return None
        return self._symbol(bindings[0], scope, name, hops)

    def _symbol(self, binding: Binding, scope: Scope, name: str, hops: int) -> Symbol | None:
        target = binding.target
        if isinstance(target, (Function, Class)):
            return target
        if isinstance(target, ImportTarget):
            return self._imported(target, scope.module, hops)
        if binding.kind == "assign" and scope.kind in ("module", "class") and isinstance(binding.node, ast.expr):
            return Constant(scope.module, scope, name, binding.node)
        return None

    def _imported(self, target: ImportTarget, module: Module, hops: int) -> Symbol:
        if hops > _MAX_IMPORT_HOPS:
            return Unresolved(say("imported through too many modules"))
        found = self.find_module(target.module, target.level, module)
        if isinstance(found, Module) and target.name is not None:
            symbol = self.lookup(found, target.name, hops + 1)
            if isinstance(symbol, Unresolved):
                return Unresolved(f"{symbol.reason} in {found.file}")
            return symbol
        if isinstance(found, Module):
            return found
        if isinstance(found, External):
            return External(f"{found.dotted}.{target.name}") if target.name else found
        if target.name is not None:
            inside = self.find_module(
                f"{target.module}.{target.name}" if target.module else target.name, target.level, module
            )
            if isinstance(inside, Module):
                return inside
        return found

    def find_module(self, dotted: str, level: int, module: Module) -> Module | External | Unresolved:
        """Find the module an import statement names."""
        if level:
            parts = module.source.parts[:-1]
            up = level - 1
            if up > len(parts):
                return Unresolved(say("relative import out of the tree"))
            parts = parts[: len(parts) - up] if up else parts
            parts = (*parts, *dotted.split(".")) if dotted else parts
            found = self._by_parts.get((self._anchor(module), parts))
            return found or Unresolved(say("relative import of {dotted} is not found", dotted=dotted or "."))
        candidates = self._by_dotted.get(dotted, [])
        head = dotted.split(".")[0]
        if head in sys.stdlib_module_names:
            return (
                Unresolved(say("{dotted} is in the tree and in Python", dotted=dotted))
                if candidates
                else External(dotted)
            )
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            return Unresolved(say("{dotted} is found {n} times", dotted=dotted, n=len(candidates)))
        if self.words.isdisjoint(dotted.split(".")):
            return External(dotted)
        return Unresolved(say("{dotted} is not found in the tree", dotted=dotted))

    # -- classes ----------------------------------------------------------------------------------

    def ancestors(self, klass: Class) -> list[Class]:
        """Give the class and its bases in the tree, nearest first; each once."""
        found: list[Class] = []
        queue = [klass]
        while queue:
            here = queue.pop(0)
            if here not in found:
                found.append(here)
                queue.extend(base for base in here.bases if isinstance(base, Class))
        return found

    def descendants(self, klass: Class) -> list[Class]:
        """Give the class and everything in the tree that is derived from it."""
        found: list[Class] = []
        queue = [klass]
        while queue:
            here = queue.pop()
            if here not in found:
                found.append(here)
                queue.extend(here.children)
        return found

    def outside_bases(self, klass: Class) -> list[str | None]:
        """Give the bases that are not in the tree of a class and its ancestors."""
        return [base for one in self.ancestors(klass) for base in one.bases if not isinstance(base, Class)]


def _listed(module: Module) -> list[str] | None:
    """Give the names of `__all__`, None when it is not a plain list."""
    bindings = module.scope.bindings.get("__all__", [])
    node = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    return [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def _is_overload(binding: Binding) -> bool:
    node = binding.node
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
        getattr(decorator, "attr", getattr(decorator, "id", "")) == "overload" for decorator in node.decorator_list
    )


def _scopes(scope: Scope) -> Iterable[Scope]:
    stack = [scope]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(here.children)
