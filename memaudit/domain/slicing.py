"""Cut one function out of its module: what it names, what these name in turn, and nothing else.

So the function can be run where the project's dependencies are missing or its import does things.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memaudit.domain.target_spec import FunctionNode, find_function
from memaudit.wording import say

_BINDINGS = frozenset({"staticmethod", "classmethod"})


@dataclass(frozen=True)
class Slice:
    """The statements to run, in source order with their own line numbers.

    Parameters
    ----------
    statements
        Top-level statements; imports are split into one name each.
    dropped
        Decorators left off and base classes not followed, in words.
    """

    statements: tuple[ast.stmt, ...]
    dropped: tuple[str, ...]


def cut(tree: ast.Module, qualname: str, file: Path) -> Slice:
    """Cut the function named `qualname` out of a parsed file; the tree is not changed."""
    return _Cutter(copy.deepcopy(tree), qualname, file).cut()


class _Cutter:
    def __init__(self, tree: ast.Module, qualname: str, file: Path) -> None:
        self._node, self._owners = find_function(tree, qualname, file)
        self._body = _flat(tree.body)
        self._binders: dict[str, list[int]] = {}
        for index, statement in enumerate(self._body):
            for name in _bound_names(statement):
                self._binders.setdefault(name, []).append(index)
        self._top = self._owners[0] if self._owners else None
        self._dropped: list[str] = []
        self._kept: set[int] = set()
        self._members: set[str] = set()
        self._needed: list[str] = []
        self._seen: set[str] = set()

    def cut(self) -> Slice:
        self._trim_decorators(self._node)
        if self._top is None:
            self._keep(self._node)
        else:
            self._reduce_owner()
        for name in self._enum_annotations():
            self._need(name)
        self._close()
        statements = []
        for index in sorted(self._kept):
            statement = self._body[index]
            statements.append(statement)
        return Slice(tuple(statements), tuple(self._dropped))

    def _close(self) -> None:
        while True:
            while self._needed:
                for index in self._binders.get(self._needed.pop(), ()):
                    if index not in self._kept:
                        self._kept.add(index)
                        self._read(self._body[index])
            # Statements that change a needed table at module level belong to it.
            for index, statement in enumerate(self._body):
                if index not in self._kept and _changes(statement) & self._seen:
                    self._kept.add(index)
                    self._read(statement)
            if not self._needed:
                return

    def _keep(self, node: ast.stmt) -> None:
        for index, statement in enumerate(self._body):
            if any(part is node for part in ast.walk(statement)):
                self._kept.add(index)
                self._seen.update(_bound_names(statement))
                self._read(statement)

    def _need(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            self._needed.append(name)

    def _read(self, node: ast.AST) -> None:
        for name in _names_read(node):
            self._need(name)

    def _trim_decorators(self, node: FunctionNode) -> None:
        kept: list[ast.expr] = []
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Name) and decorator.id in _BINDINGS:
                kept.append(decorator)
            else:
                self._dropped.append(
                    say(
                        "decorator @{decorator} (line {line}) left off",
                        decorator=ast.unparse(decorator),
                        line=str(decorator.lineno),
                    )
                )
        node.decorator_list = kept

    # -- classes ----------------------------------------------------------------------------------------
    def _reduce_owner(self) -> None:
        """Keep of the class only the target and the members it names through self, cls or the class."""
        assert self._top is not None
        for outer, inner in zip(self._owners, self._owners[1:], strict=False):
            outer.body = [inner]
            outer.bases, outer.keywords, outer.decorator_list = [], [], []
        owner = self._owners[-1]
        members: dict[str, list[ast.stmt]] = {}
        for statement in owner.body:
            for name in _bound_names(statement):
                members.setdefault(name, []).append(statement)
        wanted, kept = [self._node.name], set()
        names = {owner.name}
        missing: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name not in members:
                missing.add(name)
                continue
            for statement in members[name]:
                if id(statement) in kept:
                    continue
                kept.add(id(statement))
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    own = _first_argument(statement)
                    wanted += _attributes_of(statement, names | own)
                else:
                    wanted += [n for n in _names_read(statement) if n in members]
        owner.body = [statement for statement in owner.body if id(statement) in kept]
        is_enum = any("Enum" in ast.unparse(base) for base in owner.bases)
        local = {name for name in self._binders if isinstance(self._body[self._binders[name][-1]], ast.ClassDef)}
        if not is_enum:
            bases = [base for base in owner.bases if isinstance(base, ast.Name) and base.id in local]
            if not missing:
                bases = []
            if len(bases) < len(owner.bases) and missing:
                self._dropped.append(say("base classes of {name} not followed", name=owner.name))
            owner.bases, owner.keywords = list(bases), []
            owner.decorator_list = []
        self._keep(self._top)

    def _enum_annotations(self) -> Iterator[str]:
        """Name the enums of this file that declare a parameter: their members are inputs to try."""
        for argument in [*self._node.args.posonlyargs, *self._node.args.args, *self._node.args.kwonlyargs]:
            for part in ast.walk(argument):
                if isinstance(part, ast.Name) and part.id in self._binders:
                    statement = self._body[self._binders[part.id][-1]]
                    if isinstance(statement, ast.ClassDef) and any(
                        ast.unparse(base).endswith("Enum") for base in statement.bases
                    ):
                        yield part.id


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    """Split imports into one name each, so that an unneeded one is not run."""
    out: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Import):
            out += [ast.copy_location(ast.Import([alias]), statement) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            for alias in statement.names:
                new = ast.ImportFrom(statement.module, [alias], statement.level)
                out.append(ast.copy_location(new, statement))
        else:
            out.append(statement)
    return out


def _bound_names(statement: ast.stmt) -> set[str]:
    """List the names a statement binds in its own scope."""
    names: set[str] = set()
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            stack.extend(ast.iter_child_nodes(node))
    return names


def _names_read(node: ast.AST) -> set[str]:
    """List the names that running a statement, or calling what it defines, may read (no annotations)."""
    names: set[str] = set()
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            names.add(part.id)
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack += [*part.body, *part.decorator_list, *part.args.defaults]
            stack += [default for default in part.args.kw_defaults if default is not None]
        elif isinstance(part, ast.AnnAssign):
            stack += [part.target] if part.value is None else [part.target, part.value]
        else:
            stack.extend(ast.iter_child_nodes(part))
    return names


def _changes(statement: ast.stmt) -> set[str]:
    """Name the module variables that a top-level statement changes in place."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = [t for t in statement.targets if isinstance(t, (ast.Subscript, ast.Attribute))]
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if isinstance(statement.value.func, ast.Attribute):
            targets = [statement.value.func.value]
    elif isinstance(statement, (ast.For, ast.If, ast.With, ast.Try)):
        inner = [part for part in ast.walk(statement) if isinstance(part, ast.stmt) and part is not statement]
        return set().union(*(_changes(part) for part in inner)) if inner else set()
    names = set()
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names


def _first_argument(node: FunctionNode) -> set[str]:
    if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list):
        return set()
    arguments = [*node.args.posonlyargs, *node.args.args]
    return {arguments[0].arg} if arguments else set()


def _attributes_of(node: ast.AST, owners: set[str]) -> list[str]:
    return [
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in owners
    ]
