"""Copies of the target and of the project functions it calls, rewritten to report to a recorder.

The untouched functions stay as they are; the copies run in a copied set of module globals.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import inspect
import os
import re
import types
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from memaudit.domain.dispatch import lambda_of, reachable_functions
from memaudit.domain.rewrite import Replacement, Rewriter
from memaudit.domain.sites import Tables
from memaudit.domain.target_spec import FunctionNode
from memaudit.domain.trace import WATCHED, Recorder

#: Standard modules whose functions work on texts and numbers and choose no labels of their own.
_TRANSPARENT = frozenset(
    [
        "re",
        "math",
        "string",
        "textwrap",
        "html",
        "copy",
        "itertools",
        "operator",
        "functools",
        "collections",
        "pathlib",
        "posixpath",
        "ntpath",
        "genericpath",
        "hashlib",
        "_hashlib",
        "_sha1",
        "_sha2",
        "_sha256",
        "_sha512",
        "_md5",
        "_blake2",
        "base64",
        "binascii",
        "datetime",
        "time",
        "random",
        "_random",
        "uuid",
        "secrets",
        "decimal",
        "fractions",
        "statistics",
        "typing",
        "dataclasses",
        "logging",
        "warnings",
        "contextlib",
        "asyncio",
        "enum",
        "abc",
        "urllib.parse",
        "_operator",
        "_collections_abc",
        "numbers",
        "types",
    ]
)
_ALLOWED = frozenset(
    {"json.dumps", "unicodedata.normalize", "os.getenv", "os.urandom", "os.getpid", "os.fspath", "ast.parse"}
)
_OPAQUE_BUILTINS = frozenset({"open", "input", "eval", "exec", "__import__", "globals", "locals", "vars"})
_KNOWN_METHODS = (
    frozenset(
        name
        for kind in (str, list, dict, set, tuple, bytes, int, float, Path)
        for name in dir(kind)
        if not name.startswith("__")
    )
    | frozenset(
        [
            "search",
            "match",
            "fullmatch",
            "findall",
            "finditer",
            "sub",
            "subn",
            "group",
            "groups",
            "groupdict",
            "span",
            "start",
            "end",
            "most_common",
            "total",
            "appendleft",
            "popleft",
            "hexdigest",
            "digest",
            "update",
            "date",
            "time",
            "isoformat",
            "strftime",
            "timestamp",
            "value",
            "name",
        ]
    )
    | WATCHED
)


class Instrumenter:
    """Makes and keeps the copies.

    Parameters
    ----------
    recorder
        Receives what the copies report.
    project
        Folders whose code is the user's own: calls into it are followed.
    """

    def __init__(self, recorder: Recorder, project: Sequence[Path]) -> None:
        self.recorder = recorder
        self.tables = Tables()
        self.opaque: list[str] = []
        #: Object that a factory made.
        self.instance: Any = None
        #: Texts and integers that stand in the rewritten code.
        self.texts: set[str] = set()
        self.numbers: set[int] = set()
        self._project = tuple(str(folder) for folder in project)
        self._overlays: dict[int, dict[str, Any]] = {}
        self._made: dict[types.CodeType, str | None] = {}
        self._trees: dict[str, ast.Module] = {}
        recorder.left_const = self.tables.left_const
        recorder.right_const = self.tables.right_const
        recorder.group_site = self.tables.group_site

    def definition(self, function: types.FunctionType) -> FunctionNode | None:
        """Find the source of a function object by file and line; None for generated code."""
        file = function.__code__.co_filename
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse(Path(file).read_bytes(), filename=file)
            except (OSError, SyntaxError, ValueError):
                self._trees[file] = ast.Module([], [])
        if function.__code__.co_name == "<lambda>":
            return lambda_of(function, self._trees[file])
        for node in ast.walk(self._trees[file]):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function.__code__.co_name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if function.__code__.co_firstlineno in (first, node.lineno):
                    return node
        return None

    def in_project(self, function: Any) -> bool:
        """Tell whether a function object comes from the user's own code."""
        if not isinstance(function, types.FunctionType):
            return False
        file = function.__code__.co_filename
        standard = os.path.dirname(os.__file__)
        if "site-packages" in file or file.startswith(standard + os.sep):
            return False
        return any(file.startswith(folder) for folder in self._project)

    def copy_of(self, function: types.FunctionType, owner: type | None) -> Any:
        """Give the rewritten copy of a function (unbound), or None when it has no usable source."""
        name = self._copy_name(function, owner)
        return None if name is None else self._overlays[id(function.__globals__)][name]

    def _copy_name(self, function: types.FunctionType, owner: type | None) -> str | None:
        code = function.__code__
        if code in self._made:
            return self._made[code]
        node = self.definition(function)
        if node is None or any(name != "__class__" for name in code.co_freevars):
            self._made[code] = None
            return None
        name = f"memaudit_copy_{len(self._made)}"
        self._made[code] = name  # before the body is read: functions may call themselves
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                self.texts.add(part.value)
            elif isinstance(part, ast.Constant) and type(part.value) is int:
                self.numbers.add(part.value)
        overlay = self._overlay(function.__globals__)
        kind = self._kind(function, owner)
        bound = node.args.args[0].arg if kind in ("instance", "class") and node.args.args else None
        resolver = _Resolver(self, function.__globals__, owner, bound, kind)
        rewriter = Rewriter(self.tables, Path(code.co_filename).name, node, bound, resolver.replacement)
        new = rewriter.rewrite(node)
        new.decorator_list = []
        body: list[ast.stmt] = [new]
        if owner is not None:  # private names are mangled with the name of the class around them
            wrapper = ast.ClassDef(owner.__name__, [], [], body, [])
            if "type_params" in ast.ClassDef._fields:  # 3.12 refuses to compile without it
                wrapper.type_params = []  # type: ignore[attr-defined,unused-ignore]
            body = [wrapper]
        module = ast.fix_missing_locations(ast.Module(body, []))
        space: dict[str, Any] = {}
        exec(compile(module, code.co_filename, "exec", dont_inherit=True), overlay, space)
        made = space[node.name] if owner is None else vars(space[owner.__name__])[_mangled(node.name, owner)]
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        if owner is not None and made.__closure__:
            made.__closure__[0].cell_contents = owner
        overlay[name] = made
        for helper, kind_of_helper in reachable_functions(node, function.__globals__, owner, self.instance):
            if self.in_project(helper):
                self._copy_name(helper, kind_of_helper)
        return name

    def follow(self, label: str, counts: bool, callee: Any) -> Any:
        """Give the copy of a function that only the run tells: from a table, of a rule, under a local name."""
        if isinstance(callee, functools.partial):
            return functools.partial(self.follow(label, counts, callee.func), *callee.args, **callee.keywords)
        plain = inspect.unwrap(callee) if hasattr(callee, "__wrapped__") else callee
        function = plain.__func__ if isinstance(plain, types.MethodType) else plain
        if not isinstance(function, types.FunctionType):
            if counts and not _is_plain_callable(callee):
                self.note(label)
            return callee
        if any(function.__globals__ is overlay for overlay in self._overlays.values()):
            return callee  # a copy, or defined inside one
        name = self._made.get(function.__code__)
        if name is None:
            if counts:
                self.note(label)
            return callee
        copy = self._overlays[id(function.__globals__)][name]
        return types.MethodType(copy, plain.__self__) if isinstance(plain, types.MethodType) else copy

    def note(self, label: str) -> None:
        """Keep a call whose inside cannot be seen."""
        if label not in self.opaque:
            self.opaque.append(label)

    def _overlay(self, space: dict[str, Any]) -> dict[str, Any]:
        if id(space) not in self._overlays:
            self._overlays[id(space)] = {**space, **self.recorder.names(), "memaudit_follow": self.follow}
        return self._overlays[id(space)]

    @staticmethod
    def _kind(function: types.FunctionType, owner: type | None) -> str:
        if owner is None:
            return "function"
        for base in owner.__mro__:
            for value in vars(base).values():
                if isinstance(value, staticmethod) and value.__func__ is function:
                    return "static"
                if isinstance(value, classmethod) and value.__func__ is function:
                    return "class"
        return "instance"

    def share(self, function: types.FunctionType, owner: type | None, into: dict[str, Any]) -> str | None:
        """Make the copy of a helper known in the globals of its caller; give its name there."""
        name = self._copy_name(function, owner)
        if name is None:
            return None
        # A function that is being rewritten right now lies in the same globals as its caller or is found
        # there once it is ready: recursion across modules is left to the untouched function.
        source = self._overlay(function.__globals__)
        target = self._overlay(into)
        if source is not target:
            if name not in source:
                return None
            target[name] = source[name]
        return name


_UNKNOWN = object()


class _Resolver:
    """Tells what a call in one function leads to."""

    def __init__(
        self, maker: Instrumenter, space: dict[str, Any], owner: type | None, bound: str | None, kind: str
    ) -> None:
        self._maker, self._space, self._owner, self._bound, self._kind = maker, space, owner, bound, kind

    def replacement(self, func: ast.expr, local: set[str], used: bool) -> Replacement | None:
        """Give the copy to call instead; notes calls whose inside cannot be seen when the result counts."""
        is_call_target = used or not isinstance(func, ast.Name)
        found = self._object(func, local)
        if found is _UNKNOWN:
            if isinstance(func, ast.Attribute) and func.attr in _KNOWN_METHODS:
                return None
            return Replacement("", label=_label(func)) if is_call_target else None
        if isinstance(found, functools.partial):
            return Replacement("", label=_label(func)) if is_call_target else None
        plain = inspect.unwrap(found) if callable(found) and not isinstance(found, type) else found
        if isinstance(plain, (staticmethod, classmethod)):
            plain = plain.__func__
        if self._maker.in_project(plain):
            owner = self._owner_of(func, local)
            name = self._maker.share(plain, owner, self._space)
            if name is None:
                if used:
                    self._note(func)
                return None
            return Replacement(name, self._before(func, plain, owner))
        if used and is_call_target and not self._transparent(func, found, local):
            self._note(func)
        return None

    def _note(self, func: ast.expr) -> None:
        self._maker.note(_label(func))

    def _object(self, node: ast.expr, local: set[str]) -> Any:
        if isinstance(node, ast.Name):
            if node.id == self._bound:
                return self._owner if self._owner is not None else _UNKNOWN
            if node.id in local:
                return _UNKNOWN
            return self._space.get(node.id, getattr(builtins, node.id, _UNKNOWN))
        if isinstance(node, ast.Attribute):
            base = self._object(node.value, local)
            if isinstance(base, type):
                name = _mangled(node.attr, self._owner) if self._owner is not None else node.attr
                found = inspect.getattr_static(base, name, _UNKNOWN)
                return found if isinstance(found, (staticmethod, classmethod)) or callable(found) else _UNKNOWN
            if isinstance(base, types.ModuleType):
                return vars(base).get(node.attr, _UNKNOWN)
        return _UNKNOWN

    def _owner_of(self, func: ast.expr, local: set[str]) -> type | None:
        base = self._object(func.value, local) if isinstance(func, ast.Attribute) else None
        return base if isinstance(base, type) else None

    def _before(self, func: ast.expr, plain: Any, owner: type | None) -> tuple[ast.expr, ...]:
        """Give the argument that binding would have added."""
        if owner is None or not isinstance(func, ast.Attribute):
            return ()
        kind = self._maker._kind(plain, owner)
        if kind == "static":
            return ()
        through_instance = isinstance(func.value, ast.Name) and func.value.id == self._bound
        if kind == "class" and through_instance and self._kind == "instance":
            return (ast.Call(ast.Name("type", ast.Load()), [func.value], []),)
        if kind == "class" or (through_instance and self._kind == "instance"):
            return (func.value,)
        return ()

    def _transparent(self, func: ast.expr, found: Any, local: set[str]) -> bool:
        if isinstance(found, type):
            if found.__module__ == "builtins" or issubclass(found, (BaseException, Enum)):
                return True
            if found.__module__ in _TRANSPARENT:
                return True
            if issubclass(found, tuple) and "_field_defaults" in vars(found):
                return True  # a named tuple
            plain = "__post_init__" not in vars(found) and "__new__" not in vars(found)
            return plain and (dataclasses.is_dataclass(found) or "__init__" not in vars(found))
        if isinstance(func, ast.Attribute):
            base = self._object(func.value, local)
            if isinstance(base, types.ModuleType):
                return base.__name__ in _TRANSPARENT or f"{base.__name__}.{func.attr}" in _ALLOWED
            if func.attr in _KNOWN_METHODS:
                return True
        module = getattr(found, "__module__", None)
        if module == "builtins":
            return getattr(found, "__name__", "") not in _OPAQUE_BUILTINS
        if module is None:
            module = type(getattr(found, "__self__", None)).__module__
        return module in _TRANSPARENT or f"{module}.{getattr(found, '__name__', '')}" in _ALLOWED


def _label(func: ast.expr) -> str:
    return f"{ast.unparse(func)} (line {func.lineno})"


def _is_plain_callable(callee: Any) -> bool:
    """Whether a callable works on texts and numbers alone and chooses no labels of its own."""
    owner = getattr(callee, "__self__", None)
    if isinstance(owner, (str, bytes, int, float, list, tuple, dict, set, frozenset, re.Pattern)):
        return True
    module = getattr(callee, "__module__", None)
    if module == "builtins":
        return getattr(callee, "__name__", "") not in _OPAQUE_BUILTINS
    return module in _TRANSPARENT and not isinstance(callee, functools.partial)


def _mangled(name: str, owner: type) -> str:
    if name.startswith("__") and not name.endswith("__"):
        return f"_{owner.__name__.lstrip('_')}{name}"
    return name
