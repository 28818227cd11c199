"""Which argument of a call becomes which parameter."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from memaudit.guards.names import External, Project
from memaudit.guards.scopes import CallSite, Function
from memaudit.wording import say

#: Decorators that change neither the arguments nor the result, by dotted name.
_TRANSPARENT = frozenset(
    {
        "builtins.staticmethod",
        "builtins.classmethod",
        "functools.lru_cache",
        "functools.cache",
        "typing.final",
        "typing.override",
        "typing_extensions.override",
        "typing_extensions.final",
        "typing.overload",
    }
)


@dataclass(frozen=True)
class Default:
    """The parameter is left out: its default holds."""

    node: ast.expr


@dataclass(frozen=True)
class Given:
    """The parameter is given this expression."""

    node: ast.expr


@dataclass(frozen=True)
class Filled:
    """The parameter is given an object that is always true (the function behind a bare decorator)."""


@dataclass(frozen=True)
class Opaque:
    """What the parameter gets cannot be read from the call."""

    reason: str


Argument = Default | Given | Filled | Opaque


def decorator_names(function: Function, project: Project) -> list[str]:
    """Give the dotted names of the decorators; "" for one that is not a plain outside name."""
    found = []
    for decorator in function.node.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        symbol = project.resolve(node, function.outer)
        found.append(symbol.dotted if isinstance(symbol, External) else "")
    return found


def is_transparent(function: Function, project: Project) -> bool:
    """Whether calling the name is calling the body: no decorator that could wrap or register it."""
    return all(name in _TRANSPARENT for name in decorator_names(function, project))


def binds_first(function: Function, project: Project) -> str:
    """Say how a method is bound: `instance`, `class`, `static`, or "" for a plain function."""
    if function.klass is None:
        return ""
    names = decorator_names(function, project)
    if "builtins.staticmethod" in names or function.name == "__new__":
        return "static"
    if "builtins.classmethod" in names or function.name in ("__init_subclass__", "__class_getitem__"):
        return "class"
    return "instance"


def parameters(function: Function) -> list[ast.arg]:
    """Give the named parameters in order, keyword-only ones last; no `*args`, no `**kwargs`."""
    args = function.node.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def defaults(function: Function) -> dict[str, ast.expr]:
    """Give the default expression of each parameter that has one."""
    args = function.node.args
    positional = [*args.posonlyargs, *args.args]
    start = len(positional) - len(args.defaults)
    found = {arg.arg: node for arg, node in zip(positional[start:], args.defaults, strict=True)}
    for arg, node in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if node is not None:
            found[arg.arg] = node
    return found


def match_arguments(function: Function, site: CallSite, skip_first: bool) -> Mapping[str, Argument] | None:
    """Say what each parameter gets in a call.

    Parameters
    ----------
    skip_first
        The first parameter is bound (`self`, `cls`) and not among the call's arguments.

    Returns
    -------
    One entry for each named parameter, or None when the call does not fit the signature: then it does
    not call this function.
    """
    args = function.node.args
    positional = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    if skip_first:
        if not positional and args.vararg is None:
            return None
        positional = positional[1:]
    only_positional = {arg.arg for arg in args.posonlyargs}
    names = [*positional, *(arg.arg for arg in args.kwonlyargs)]
    found: dict[str, Argument] = {}
    star = double_star = False
    if site.bare == "decorator":
        if not positional and args.vararg is None:
            return None
        found.update({name: Filled() for name in positional[:1]})
    elif isinstance(site.node, ast.Call) and not site.bare:
        for index, node in enumerate(site.node.args):
            if isinstance(node, ast.Starred):
                star = True
                break
            if index < len(positional):
                found[positional[index]] = Given(node)
            elif args.vararg is None:
                return None
        for keyword in site.node.keywords:
            if keyword.arg is None:
                double_star = True
            elif keyword.arg in names and keyword.arg not in only_positional:
                if keyword.arg in found:
                    return None
                found[keyword.arg] = Given(keyword.value)
            elif args.kwarg is None:
                return None
    standing = defaults(function)
    for name in names:
        if name in found:
            continue
        if double_star and name not in only_positional:
            found[name] = Opaque(say("it may be passed through **kwargs"))
        elif star and name in positional:
            found[name] = Opaque(say("it may be passed through *args"))
        elif name in standing:
            found[name] = Default(standing[name])
        else:
            return None
    return found
