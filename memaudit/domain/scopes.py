"""Which names of a function are its own, and which of these only ever hold constants of the module."""

from __future__ import annotations

import ast

from memaudit.domain.target_spec import FunctionNode

_MUTATORS = frozenset(
    {"append", "add", "extend", "update", "insert", "pop", "remove", "clear", "setdefault", "discard", "sort",
     "reverse", "appendleft", "popleft", "subtract"}
)  # fmt: skip


def local_names(node: FunctionNode) -> set[str]:
    """List every name that a function binds, nested scopes included."""
    names = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            names.add(part.id)
        elif isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            names.add(part.rest)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and part is not node:
            names.add(part.name)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in part.names)
    return names


def constant_locals(node: FunctionNode, local: set[str]) -> set[str]:
    """Find locals whose every value is made from constants of the module, and which nothing changes."""
    sources: dict[str, list[ast.expr | None]] = {}
    parameters = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}

    def bind(target: ast.expr, source: ast.expr | None) -> None:
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                sources.setdefault(part.id, []).append(source)

    for part in ast.walk(node):
        if isinstance(part, ast.Assign):
            for target in part.targets:
                bind(target, part.value)
        elif isinstance(part, ast.AnnAssign):
            bind(part.target, part.value)
        elif isinstance(part, (ast.For, ast.AsyncFor, ast.comprehension)):
            bind(part.target, part.iter)
        elif isinstance(part, ast.NamedExpr):
            bind(part.target, part.value)
        elif isinstance(part, ast.AugAssign):
            bind(part.target, None)
        elif isinstance(part, (ast.Subscript, ast.Attribute)) and isinstance(part.ctx, ast.Store):
            bind(part.value, None)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _MUTATORS:
            bind(part.func.value, None)
    constant = {name for name in local if name in sources and name not in parameters}
    while True:
        kept = {
            name
            for name in constant
            if all(
                source is not None
                and not any(
                    isinstance(p, ast.Name) and p.id in local and p.id not in constant for p in ast.walk(source)
                )
                for source in sources[name]
            )
        }
        if kept == constant:
            return constant
        constant = kept
