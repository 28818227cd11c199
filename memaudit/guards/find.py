# ruff: noqa: SIM905  (word lists are easier to read as text)
"""Find guarded fallbacks: code that runs only when a value is empty, None, or a key is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from memaudit.guards.names import Project
from memaudit.guards.scopes import Class, Function, Module, Scope

EMPTY, IS_NONE, MISSING = "empty", "none", "missing"
_MAX_TEXT = 80
#: Nodes that hold no guard and nothing that could: most of a tree.
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.arg, ast.alias})
_BOOLEAN_CALLS = frozenset(
    "isinstance issubclass hasattr callable any all bool startswith endswith exists is_file is_dir".split()
)
#: Places where `a or b` is a condition, not a value.
_CONDITIONS = (
    ast.If,
    ast.While,
    ast.Assert,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.comprehension,
)


@dataclass(frozen=True, eq=False)
class Form:
    """A guard as it is written.

    Parameters
    ----------
    operand
        The expression asked about; for `setdefault` the mapping.
    conditional
        A further condition stands beside it: the branch can be missed for another reason.
    key
        The key of a `setdefault`.
    into
        The name, attribute, key or keyword argument that gets the value of `a or b` or `a if a else b`.
    """

    unit: Scope
    operand: ast.expr
    line: int
    end_line: int
    column: int
    form: str
    target: str
    asks: str
    fallback: str
    conditional: bool = False
    key: ast.expr | None = None
    into: str = ""


@dataclass(frozen=True)
class Forms:
    """All guards of a tree, and the assignments that are the fallback of a guard on the same name."""

    forms: tuple[Form, ...]
    fills: dict[int, str]


def find_forms(project: Project) -> Forms:
    """Find the guards of all modules, functions and class bodies, in order of file, line and column."""
    forms: list[Form] = []
    fills: dict[int, str] = {}
    for module in project.modules:
        for unit in _units(module):
            finder = _Finder(unit, fills)
            finder.block(unit.node.body)  # type: ignore[attr-defined]
            forms += finder.forms
    return Forms(tuple(sorted(forms, key=lambda f: (f.unit.module.file, f.line, f.column))), fills)


def _units(module: Module) -> Iterator[Scope]:
    yield module.scope
    yield from (klass.scope for klass in module.classes)
    yield from (function.scope for function in module.functions)


class _Finder:
    def __init__(self, unit: Scope, fills: dict[int, str]) -> None:
        self.unit = unit
        self.fills = fills
        self.forms: list[Form] = []
        owner = unit.owner
        self.in_post_init = isinstance(owner, Function) and owner.name == "__post_init__"
        self.in_class = isinstance(owner, Class)

    def block(self, body: list[ast.stmt]) -> None:
        stack: list[tuple[ast.AST, ast.AST | None]] = []
        self._statements(body, stack)
        while stack:
            node, parent = stack.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                stack += [(child, node) for child in (*node.decorator_list, *node.args.defaults)]
                stack += [(child, node) for child in node.args.kw_defaults if child is not None]
                continue
            if isinstance(node, ast.ClassDef):
                stack += [(child, node) for child in (*node.decorator_list, *node.bases)]
                continue
            self._expression(node, parent)
            for name, value in ast.iter_fields(node):
                if name in ("annotation", "returns"):
                    continue
                if isinstance(value, list):
                    if value and isinstance(value[0], ast.stmt):
                        self._statements(value, stack)
                    else:
                        stack += [(c, node) for c in value if isinstance(c, ast.AST) and type(c) not in _LEAVES]
                elif isinstance(value, ast.AST) and type(value) not in _LEAVES:
                    stack.append((value, node))

    def _statements(self, body: list[ast.stmt], stack: list[tuple[ast.AST, ast.AST | None]]) -> None:
        for index, statement in enumerate(body):
            if isinstance(statement, ast.If):
                self._if(statement, body[index + 1 :])
            stack.append((statement, None))

    def add(
        self,
        operand: ast.expr,
        at: ast.expr | ast.stmt,
        form: str,
        asks: str,
        fallback: ast.AST | None,
        conditional: bool = False,
        key: ast.expr | None = None,
        into: str = "",
    ) -> None:
        shown = operand.target if isinstance(operand, ast.NamedExpr) else operand
        if isinstance(operand, ast.NamedExpr):
            form = "walrus"
        elif self.in_post_init and isinstance(operand, ast.Attribute):
            form = "post-init"
        text = _text(shown) if key is None else f"{_text(shown)}[{_text(key)}]"
        self.forms.append(
            Form(
                self.unit,
                operand,
                at.lineno,
                at.end_lineno or at.lineno,
                at.col_offset,
                form,
                text,
                asks,
                "" if fallback is None else _text(fallback),
                conditional,
                key,
                into,
            )
        )

    # -- statements ---------------------------------------------------------------------------------

    def _if(self, node: ast.If, rest: list[ast.stmt]) -> None:
        test, conditional = node.test, False
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            test, conditional = test.values[0], True
        asked = _asked(test)
        if asked is None:
            return
        operand, asks, when_missing = asked
        if conditional and not when_missing:
            return
        target = operand.target if isinstance(operand, ast.NamedExpr) else operand
        missing, present = (node.body, node.orelse) if when_missing else (node.orelse, node.body)
        fill = _fill(missing, target, self.fills)
        if fill is not None:
            self.add(operand, node, "if-not" if asks == EMPTY else "is-none", asks, fill, conditional)
        elif when_missing and not present and missing and isinstance(missing[-1], ast.Return):
            value = missing[-1].value
            if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
                self.add(operand, node, "early-return", asks, value, conditional)
        elif not when_missing and len(present) == 1 and isinstance(present[0], ast.Return):
            follow = missing or rest
            if present[0].value is not None and _mentions(present[0].value, target) and follow:
                self.add(operand, node, "early-return", asks, follow[0])

    # -- expressions --------------------------------------------------------------------------------

    def _expression(self, node: ast.AST, parent: ast.AST | None) -> None:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            self._or(node, parent)
        elif isinstance(node, ast.IfExp):
            self._ternary(node, parent)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setdefault"
            and len(node.args) == 2
        ):
            self.add(node.func.value, node, "setdefault", MISSING, node.args[1], key=node.args[0])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.value
            if (
                isinstance(target, ast.Name)
                and isinstance(value, ast.BoolOp)
                and isinstance(value.values[0], ast.Name)
                and value.values[0].id == target.id
            ):
                self.fills[id(node)] = target.id

    def _or(self, node: ast.BoolOp, parent: ast.AST | None) -> None:
        if isinstance(parent, _CONDITIONS) and not (
            isinstance(parent, (ast.IfExp, ast.comprehension))
            and node is not getattr(parent, "test", None)
            and node not in getattr(parent, "ifs", [])
        ):
            return
        if any(_is_boolean(value) for value in node.values):
            return
        for index, operand in enumerate(node.values[:-1]):
            get = isinstance(operand, ast.Call) and getattr(operand.func, "attr", "") == "get"
            self.add(
                operand, operand, "get-or" if get else "or", EMPTY, node.values[index + 1], into=_into(node, parent)
            )

    def _ternary(self, node: ast.IfExp, parent: ast.AST | None) -> None:
        asked = _asked(node.test)
        if asked is None:
            return
        operand, asks, when_missing = asked
        target = operand.target if isinstance(operand, ast.NamedExpr) else operand
        present, missing = (node.orelse, node.body) if when_missing else (node.body, node.orelse)
        if _mentions(present, target):
            self.add(operand, node, "ternary", asks, missing, into=_into(node, parent))


def _into(node: ast.expr, parent: ast.AST | None) -> str:
    """Give the name that a value goes to: that of a variable, an attribute, a key, or a keyword argument."""
    if isinstance(parent, ast.keyword):
        return parent.arg or ""
    target: ast.expr | None = None
    if isinstance(parent, ast.Dict):
        target = next((k for k, v in zip(parent.keys, parent.values, strict=True) if v is node), None)
    elif isinstance(parent, ast.Assign):
        target = parent.targets[0]
    elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
        target = parent.target
    if isinstance(target, ast.Subscript):
        target = target.slice
    if isinstance(target, ast.Constant):
        return target.value if isinstance(target.value, str) else ""
    return getattr(target, "attr", getattr(target, "id", ""))


def _asked(test: ast.expr) -> tuple[ast.expr, str, bool] | None:
    """Read a condition: what it asks about, how, and whether it is true when the value is missing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asked(test.operand)
        return None if inner is None else (inner[0], inner[1], not inner[2])
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        other = test.comparators[0]
        if not (isinstance(other, ast.Constant) and other.value is None):
            return None
        if isinstance(test.ops[0], (ast.Is, ast.Eq)):
            return test.left, IS_NONE, True
        if isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
            return test.left, IS_NONE, False
        return None
    if isinstance(test, (ast.Name, ast.Attribute, ast.Subscript, ast.NamedExpr)):
        return test, EMPTY, False
    if isinstance(test, ast.Call) and not _is_boolean(test):
        return test, EMPTY, False
    return None


def _fill(body: list[ast.stmt], target: ast.expr, fills: dict[int, str]) -> ast.expr | None:
    """Find what a branch assigns to the target; the assignments to a plain name are noted as fills."""
    wanted = ast.dump(_loaded(target))
    found: ast.expr | None = None
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                if any(ast.dump(_loaded(one)) == wanted for one in node.targets):
                    found = found or node.value
                    if isinstance(target, ast.Name):
                        fills[id(node)] = target.id
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                if ast.dump(_loaded(node.target)) == wanted:
                    found = found or node.value
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "__setattr__"
                and len(node.args) == 3
                and isinstance(target, ast.Attribute)
                and isinstance(node.args[1], ast.Constant)
                and node.args[1].value == target.attr
            ):
                found = found or node.args[2]
    return found


def _loaded(node: ast.expr) -> ast.expr:
    """Give an assignment target as it would be read."""
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Load())
    if isinstance(node, ast.Subscript):
        return ast.Subscript(node.value, node.slice, ast.Load())
    return node


def _mentions(node: ast.expr, target: ast.expr) -> bool:
    wanted = ast.dump(_loaded(target))
    return any(isinstance(part, type(target)) and ast.dump(_loaded(part)) == wanted for part in ast.walk(node))


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.And)
    if isinstance(node, ast.Call):
        func = node.func
        return getattr(func, "attr", getattr(func, "id", "")) in _BOOLEAN_CALLS
    return False


def _text(node: ast.AST) -> str:
    try:
        text = " ".join(ast.unparse(node).split())
    except (RecursionError, ValueError):
        return "..."
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."
