"""What declarations say: annotations, dataclass fields, bodies that are only a stub."""

from __future__ import annotations

import ast

from memaudit.guards.names import External, Project
from memaudit.guards.scopes import Class, Function

_ANNOTATED = {
    "str": "~str",
    "int": "~num",
    "float": "~num",
    "bool": "~bool",
    "bytes": "~bytes",
    "Literal": "~str",
    "None": "",
}


def is_dataclass(klass: Class, project: Project) -> bool:
    """Whether the class is decorated with the standard `dataclass`."""
    for decorator in klass.node.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        symbol = project.resolve(node, klass.outer)
        if isinstance(symbol, External) and symbol.dotted == "dataclasses.dataclass":
            return True
    return False


def annotated_kind(annotation: ast.expr | None) -> str:
    """Give the immutable kind an annotation names (`str`, `Optional[str]`, `str | None`), else ""."""
    kinds = _annotated(annotation)
    kinds.discard("")
    return kinds.pop() if len(kinds) == 1 else ""


def _annotated(node: ast.expr | None) -> set[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {"?", "??"}
    if isinstance(node, ast.Constant) and node.value is None:
        return {""}
    if isinstance(node, ast.Name):
        return {_ANNOTATED[node.id]} if node.id in _ANNOTATED else {"?", "??"}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _annotated(node.left) | _annotated(node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
        name = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
        if name == "Optional":
            return _annotated(node.slice)
        if name == "Literal":
            return {"~str"}
    return {"?", "??"}


def named_class(annotation: ast.expr | None) -> ast.expr | None:
    """Give the one name that an annotation stands for (`C`, `"C"`, `Optional[C]`, `C | None`), else None."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return named_class(ast.parse(annotation.value, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = [
            side
            for side in (annotation.left, annotation.right)
            if not (isinstance(side, ast.Constant) and side.value is None)
        ]
        return named_class(sides[0]) if len(sides) == 1 else None
    if isinstance(annotation, ast.Subscript):
        name = getattr(annotation.value, "attr", getattr(annotation.value, "id", ""))
        return named_class(annotation.slice) if name == "Optional" else None
    return annotation if isinstance(annotation, (ast.Name, ast.Attribute)) else None


def init_fields(klass: Class) -> list[str]:
    """Give the fields of a dataclass that its constructor takes, in order."""
    found = []
    for statement in klass.node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        text = ast.unparse(statement.annotation)
        if "ClassVar" in text or "InitVar" in text or "KW_ONLY" in text:
            continue
        value = statement.value
        if isinstance(value, ast.Call) and any(
            keyword.arg == "init" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is True)
            for keyword in value.keywords
        ):
            continue
        found.append(statement.target.id)
    return found


def is_stub(body: list[ast.stmt]) -> bool:
    """Whether a body says nothing: a docstring, `...`, `pass`, `raise NotImplementedError`."""
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Raise) and "NotImplemented" in ast.dump(statement):
            continue
        return False
    return True


def field_defaults(function: Function) -> dict[str, ast.expr]:
    """Give the defaults of the dataclass fields behind a `__post_init__`."""
    found: dict[str, ast.expr] = {}
    if function.klass is None:
        return found
    wanted = set(init_fields(function.klass))
    for statement in function.klass.node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        node = statement.value
        if statement.target.id not in wanted or node is None:
            continue
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "field":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if "default" in given:
                found[statement.target.id] = given["default"]
            elif "default_factory" in given:
                found[statement.target.id] = ast.copy_location(ast.Call(given["default_factory"], [], []), node)
        else:
            found[statement.target.id] = node
    return found


def synthetic_init(function: Function, klass: Class) -> Function:
    """Give a function with the signature that `dataclass` writes for the class."""
    standing = field_defaults(function)
    names = init_fields(klass)
    # A field without a default behind one with a default is no valid dataclass: Python refuses it.
    node = ast.FunctionDef(
        name="__init__",
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(name) for name in names],
            vararg=None,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=None,
            defaults=[standing[name] for name in names if name in standing],
        ),
        body=[],
        decorator_list=[],
        lineno=function.node.lineno,
        col_offset=0,
    )
    made = Function(node, function.qualname, function.module, klass.scope, klass)
    made.scope = function.scope
    return made


def is_keyword_only(klass: Class) -> bool:
    """Whether a dataclass has fields that are not positional."""
    written = [*klass.node.decorator_list]
    for statement in klass.node.body:
        if isinstance(statement, ast.AnnAssign):
            written += [statement.annotation, *([statement.value] if statement.value else [])]
    return any(word in ast.unparse(node) for node in written for word in ("kw_only", "KW_ONLY"))
