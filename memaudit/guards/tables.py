"""Constant tables: module-level dict literals that the whole tree only looks things up in."""

from __future__ import annotations

import ast

from memaudit.guards.names import Constant, Project
from memaudit.guards.scopes import Module


class Readings:
    """Where each name and attribute of the tree is read, by module, found when asked for."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._parents: dict[Module, dict[str, list[tuple[ast.AST, ast.AST]]]] = {}

    def is_only_read(self, symbol: Constant) -> bool:
        """Whether every use of the name in the tree only looks things up."""
        reads = {"get", "items", "keys", "values", "copy"}
        for node, parent in self._uses_with_parents(symbol.name):
            good = (
                (isinstance(parent, ast.Attribute) and parent.attr in reads)
                or (isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load))
                or isinstance(parent, (ast.Compare, ast.comprehension, ast.For))
                or (
                    isinstance(parent, ast.Call)
                    and isinstance(parent.func, ast.Name)
                    and parent.func.id in ("len", "sorted", "list", "set", "tuple", "any", "all", "dict", "print")
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
