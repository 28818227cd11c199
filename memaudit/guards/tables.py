"""Constant tables: module-level literals that the whole tree only looks things up in or loops over."""

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


def looped(node: ast.expr) -> tuple[ast.expr, str]:
    """Take a view (`items`, `keys`, `values`) off what a loop runs over; the view is empty without one."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("items", "keys", "values")
        and not (node.args or node.keywords)
    ):
        return node.func.value, node.func.attr
    return node, ""


def rows_of(node: ast.expr, view: str) -> list[list[ast.expr]] | None:
    """Give the rows of a table that is written out, all of one length; None for anything else."""
    if isinstance(node, ast.Dict):
        keys = [key for key in node.keys if key is not None]
        if len(keys) < len(node.keys):
            return None
        places = {"items": (keys, node.values), "values": (node.values,)}.get(view, (keys,))
        return [list(row) for row in zip(*places, strict=True)] or None
    if view or not isinstance(node, (ast.Tuple, ast.List)):
        return None
    rows = [element.elts if isinstance(element, (ast.Tuple, ast.List)) else [element] for element in node.elts]
    uneven = len({len(row) for row in rows}) != 1 or any(isinstance(e, ast.Starred) for row in rows for e in row)
    return None if uneven else rows


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
