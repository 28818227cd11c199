"""Find the source of a named function without importing anything."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memaudit.errors import ExitCode, TargetError
from memaudit.wording import say

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class TargetUsageError(TargetError):
    """A target that is named in a way that cannot work; no code was run."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class TargetSpec:
    """Where a target is.

    Parameters
    ----------
    target
        As the user wrote it.
    file
        Absolute path of its source.
    module
        Dotted name under which the file is imported.
    qualname
        `function` or `Class.method`.
    line
        Line of `def`.
    binding
        `function`, `static`, `class` or `instance`.
    import_path
        Folders to put in front of `sys.path`, absolute.
    """

    target: str
    file: Path
    module: str
    qualname: str
    line: int
    binding: str
    import_path: tuple[Path, ...]


def parse_target(target: str, base: Path, code_path: Sequence[Path] = (), *, has_factory: bool = False) -> TargetSpec:
    """Resolve `pkg.mod:Class.fn` or `path/file.py:Class.fn`.

    Parameters
    ----------
    target
        Module or file, a colon, the dotted name inside it.
    base
        Folder that relative paths start from; searched first for modules, then `base/src`, `code_path` and
        the interpreter's own path.
    code_path
        More folders that modules are looked up in.
    has_factory
        Whether instance methods are allowed.

    Raises
    ------
    TargetUsageError
        No such form, nested function, instance method without a factory.
    TargetError
        No such file, module, class or function; the file is no Python.
    """
    place, colon, qualname = target.rpartition(":")
    if not colon or not place or not qualname or not all(p.isidentifier() for p in qualname.split(".")):
        if "<locals>" in qualname:
            raise _nested(qualname.replace(".<locals>", ""))
        raise TargetUsageError(
            say('cannot read the target "{target}".', target=target),
            say("Write pkg.mod:Class.fn or path/to/file.py:Class.fn."),
        )
    folders = _folders(base, code_path)
    if _is_path(place):
        file = _file_of(place, base, folders)
        module, root = _module_of(file)
        roots = [root, *folders]
    else:
        file, root = _find_module(place, folders)
        module, roots = place, [root, *folders]
    tree = parse_file(file)
    node, owners = find_function(tree, qualname, file)
    binding = binding_of(node, owners)
    if binding == "instance" and not has_factory:
        raise TargetUsageError(
            say("{qualname} is an instance method. memaudit does not build objects by guessing.", qualname=qualname),
            say("Give --factory pkg.mod:make, or name a static method or function."),
        )
    return TargetSpec(target, file, module, qualname, node.lineno, binding, tuple(dict.fromkeys(roots)))


def with_factory(
    spec: TargetSpec, factory: str | None, base: Path, code_path: Sequence[Path] = ()
) -> tuple[TargetSpec, str | None]:
    """Give a factory as `pkg.mod:make`, and the target with the folder that its module is imported from.

    Parameters
    ----------
    factory
        `pkg.mod:make` or `path/file.py:make`, as a target is written.
    """
    place, _, name = (factory or "").rpartition(":")
    if not _is_path(place):
        return spec, factory
    module, root = _module_of(_file_of(place, base, _folders(base, code_path)))
    return replace(spec, import_path=tuple(dict.fromkeys((*spec.import_path, root)))), f"{module}:{name}"


def _folders(base: Path, code_path: Sequence[Path]) -> list[Path]:
    folders = [base, base / "src", *(base / folder for folder in code_path)]
    return [folder.resolve() for folder in folders if folder.is_dir()]


def _is_path(place: str) -> bool:
    return place.endswith(".py") or "/" in place or "\\" in place


def parse_file(file: Path) -> ast.Module:
    """Parse a source file; TargetError names the line when it is no Python."""
    try:
        return ast.parse(file.read_bytes(), filename=str(file))
    except OSError as error:
        raise TargetError(say("cannot read {file}: {reason}.", file=file, reason=error.strerror)) from error
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise TargetError(
            say(
                "{place} is not Python that {version} can read: {reason}.",
                place=file.name if line is None else f"{file.name}:{line}",
                version=".".join(map(str, sys.version_info[:2])),
                reason=getattr(error, "msg", error),
            ),
            say("Run memaudit with the Python version of the agent."),
        ) from error


def find_function(tree: ast.Module, qualname: str, file: Path) -> tuple[FunctionNode, list[ast.ClassDef]]:
    """Find the definition of a dotted name: the last one wins, as it does at run time.

    Returns
    -------
    The function and the classes around it, outermost first.
    """
    body: list[ast.stmt] = tree.body
    owners: list[ast.ClassDef] = []
    parts = qualname.split(".")
    for depth, part in enumerate(parts):
        here = {node.name: node for node in _definitions(body)}
        node = here.get(part)
        if node is None:
            near = difflib.get_close_matches(part, here, n=1)
            where = ".".join(parts[:depth]) or file.name
            raise TargetError(
                say("{where} has no {part}.", where=where, part=part),
                say('Did you mean "{name}"?', name=near[0])
                if near
                else say("It defines: {here}.", here=", ".join(sorted(here)[:12]) or say("nothing")),
            )
        last = depth == len(parts) - 1
        if isinstance(node, ast.ClassDef):
            if last:
                raise TargetUsageError(
                    say("{qualname} is a class.", qualname=qualname), say("Name one of its functions: Class.fn.")
                )
            owners.append(node)
            body = node.body
        elif last:
            return node, owners
        else:
            raise _nested(qualname)
    raise TargetUsageError(say('cannot read the target "{qualname}".', qualname=qualname))


def _nested(qualname: str) -> TargetUsageError:
    return TargetUsageError(
        say("{qualname} is defined inside another function and cannot be called from outside.", qualname=qualname),
        say("Name the outer function, or move the inner one to the module."),
    )


def _definitions(body: Sequence[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """List what a body defines, also below `if` and `try`, in source order."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(node)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                found.extend(_definitions(getattr(node, part, [])))
            for handler in getattr(node, "handlers", []):
                found.extend(_definitions(handler.body))
    return found


def binding_of(node: FunctionNode, owners: Sequence[ast.ClassDef]) -> str:
    """Tell how a function is bound, from its decorators."""
    if not owners:
        return "function"
    names = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
    if "staticmethod" in names:
        return "static"
    return "class" if "classmethod" in names else "instance"


def _file_of(place: str, base: Path, folders: Sequence[Path]) -> Path:
    for folder in [base, *folders]:
        file = folder / place
        if file.is_file():
            return file.resolve()
    raise TargetError(
        say("no such file: {place} (looked in {base}).", place=place, base=base),
        say("Give the path of the production code."),
    )


def _module_of(file: Path) -> tuple[str, Path]:
    """Give the dotted name of a file and the folder it is imported from."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def _find_module(name: str, folders: Sequence[Path]) -> tuple[Path, Path]:
    parts = name.split(".")
    searched = [*folders, *(Path(entry) for entry in sys.path if entry)]
    for folder in searched:
        for file in (folder.joinpath(*parts[:-1], parts[-1] + ".py"), folder.joinpath(*parts, "__init__.py")):
            if file.is_file():
                return file.resolve(), folder.resolve()
    shown = ", ".join(str(folder) for folder in folders) or "no folder"
    raise TargetError(
        say(
            "cannot find the module {name} (looked in {shown} and this interpreter's own path).", name=name, shown=shown
        ),
        say("Run memaudit in the folder of the agent's code, or give --code-path DIR."),
    )
