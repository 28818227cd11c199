"""Functions that are called through a table, an attribute of a rule or a local name: which they can be.

`HANDLERS.get(kind, other)(text)`, `for test, label in RULES: if test(text)`, `rule.matches(text)`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.domain.target_spec import FunctionNode

_MAX_DEPTH = 4
_MAX_ITEMS = 600


def reachable_functions(
    node: FunctionNode, space: Mapping[str, Any], owner: type | None, instance: Any = None
) -> Iterator[tuple[types.FunctionType, type | None]]:
    """Give the functions in the tables that a definition names, with the class each is a method of.

    Parameters
    ----------
    space
        Globals of the definition.
    owner
        Class of a method: its attributes are tables, too.
    instance
        Object of a method, for tables that its `__init__` made.
    """
    called = {
        part.func.attr for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
    }
    for part in ast.walk(node):
        found: Any = None
        if isinstance(part, ast.Name):
            found = space.get(part.id)
        elif isinstance(part, ast.Attribute) and part.attr in getattr(instance, "__dict__", {}):
            found = vars(instance)[part.attr]
        elif isinstance(part, ast.Attribute) and owner is not None:
            found = inspect.getattr_static(owner, part.attr, None)
        if isinstance(found, (dict, list, tuple, set, frozenset, functools.partial)):
            yield from _inside(found, called, 0)


def _inside(value: Any, called: set[str], depth: int) -> Iterator[tuple[types.FunctionType, type | None]]:
    if isinstance(value, functools.partial):
        yield from _inside(value.func, called, depth)
    elif hasattr(value, "__wrapped__") or isinstance(value, types.FunctionType):
        plain = inspect.unwrap(value)
        if isinstance(plain, types.FunctionType):
            yield plain, None
    elif isinstance(value, types.MethodType):
        bound = value.__self__
        for function, _ in _inside(value.__func__, called, depth):
            yield function, bound if isinstance(bound, type) else type(bound)
    elif isinstance(value, (staticmethod, classmethod)):
        yield from _inside(value.__func__, called, depth)
    elif isinstance(value, (dict, list, tuple, set, frozenset)) and depth < _MAX_DEPTH:
        items = [*value.keys(), *value.values()] if isinstance(value, dict) else list(value)
        for item in items[:_MAX_ITEMS]:
            yield from _inside(item, called, depth + 1)
        if type(value) is not tuple or not hasattr(value, "_fields"):
            return
    if not isinstance(value, type) and type(value).__module__ != "builtins":
        for kind in type(value).__mro__:
            for name in called & vars(kind).keys():
                method = vars(kind)[name]
                if isinstance(method, types.FunctionType):
                    yield method, kind


def lambda_of(function: types.FunctionType, tree: ast.Module) -> ast.FunctionDef | None:
    """Give a lambda as a definition; of several in one line one that is compiled to the same code."""
    code = function.__code__
    for part in ast.walk(tree):
        if isinstance(part, ast.Lambda) and part.lineno == code.co_firstlineno and _same(part, code):
            body: list[ast.stmt] = [ast.copy_location(ast.Return(part.body), part.body)]
            made = ast.FunctionDef("memaudit_lambda", part.args, body, [])
            if "type_params" in ast.FunctionDef._fields:  # 3.12 refuses to compile without it
                made.type_params = []  # type: ignore[attr-defined,unused-ignore]
            return ast.fix_missing_locations(ast.copy_location(made, part))
    return None


def _same(node: ast.Lambda, code: types.CodeType) -> bool:
    made = compile(ast.Expression(node), Path(code.co_filename).name, "eval", dont_inherit=True).co_consts[0]
    if not isinstance(made, types.CodeType):
        return False
    facts = [(c.co_code, _plain(c.co_consts), c.co_names, c.co_varnames, c.co_freevars) for c in (made, code)]
    return facts[0] == facts[1]


def _plain(constants: tuple[Any, ...]) -> list[str]:
    return [repr(value) for value in constants if not isinstance(value, types.CodeType)]
