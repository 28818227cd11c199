"""Bring the target to life in the child process: by its real import, or as a slice of its file."""

from __future__ import annotations
import __future__

import ast
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memaudit.domain.guard import RefusedError
from memaudit.domain.slicing import cut
from memaudit.domain.target_spec import parse_file
from memaudit.wording import say, sentences


class LoadError(Exception):
    """The target cannot be loaded: what happened, and what to do.

    `is_surroundings`: its module needs something around it (a package, a file, a variable) that the function may not.
    """

    def __init__(self, message: str, hint: str = "", *, is_surroundings: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.is_surroundings = message, hint, is_surroundings


@dataclass
class Loaded:
    """A target that can be called.

    Parameters
    ----------
    mode
        `import` or `slice`.
    call
        The untouched callable, bound.
    function
        The function object below decorators and binding.
    owner
        Its class, or None.
    before
        What binding adds in front of the arguments (the class or the object).
    names
        Globals of its module.
    """

    mode: str
    call: Any
    function: types.FunctionType
    owner: type | None
    before: tuple[Any, ...]
    names: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def load(
    file: Path, module: str, qualname: str, *, mode: str = "auto", factory: str | None = None,
    project: Sequence[Path] = (),
) -> Loaded:  # fmt: skip
    """Load the target; `auto` takes the slice when the import fails for something around the function."""
    if mode != "slice":
        try:
            return _by_import(file, module, qualname, factory, project)
        except LoadError as error:
            if mode == "import" or factory or not error.is_surroundings:
                raise
            loaded = load_slice(file, module, qualname, project)
            loaded.notes.insert(
                0, say("the real import failed ({message}); the function was cut out", message=error.message)
            )
            return loaded
    if factory:
        raise LoadError(say("a factory needs the real import; it cannot be used with a slice."))
    return load_slice(file, module, qualname, project)


def load_slice(file: Path, module: str, qualname: str, project: Sequence[Path] = ()) -> Loaded:
    """Run only the statements that the function needs, one by one, with their own line numbers."""
    piece = cut(parse_file(file), qualname, file)
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    space = types.ModuleType(module)
    space.__dict__.update({"__file__": str(file), "__package__": package})
    # Dataclasses and enums look their module up.
    sys.modules.setdefault(module, space)
    flags = __future__.annotations.compiler_flag
    for statement in piece.statements:
        tree = ast.fix_missing_locations(ast.Module([statement], []))
        try:
            exec(compile(tree, str(file), "exec", flags, dont_inherit=True), space.__dict__)
        except BaseException as error:
            raise _failure(error, module, file, project) from error
    loaded = _find("slice", space.__dict__, qualname, None)
    loaded.notes += piece.dropped
    return loaded


def _by_import(file: Path, module: str, qualname: str, factory: str | None, project: Sequence[Path]) -> Loaded:
    try:
        found = _import(file, module)
    except BaseException as error:
        raise _failure(error, module, file, project) from error
    instance = None
    if factory:
        place, _, name = factory.partition(":")
        try:
            maker: Any = importlib.import_module(place)
            for part in name.split("."):
                maker = getattr(maker, part)
            instance = maker()
        except BaseException as error:
            raise LoadError(
                say("the factory {factory} raised {error}.", factory=factory, error=_words(error)),
                say("It must work without arguments."),
            ) from error
    return _find("import", vars(found), qualname, instance)


def _import(file: Path, module: str) -> types.ModuleType:
    if "." in module:
        found = importlib.import_module(module)
        origin = getattr(found, "__file__", None)
        if origin is None or Path(origin).resolve() == file:
            return found
    # A single file may bear the name of a standard module; its own path decides.
    spec = importlib.util.spec_from_file_location(module, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {file}")
    made = importlib.util.module_from_spec(spec)
    if module not in sys.stdlib_module_names:
        sys.modules[module] = made
    spec.loader.exec_module(made)
    return made


def _find(mode: str, names: dict[str, Any], qualname: str, instance: Any) -> Loaded:
    parts = qualname.split(".")
    owner: Any = None
    value: Any = names.get(parts[0])
    for part in parts[1:]:
        owner, value = value, getattr(value, part, None)
    if value is None:
        raise LoadError(
            say("{qualname} is not there after the module was loaded.", qualname=qualname),
            say("Is it defined under a condition?"),
        )
    before: tuple[Any, ...] = ()
    notes: list[str] = []
    if instance is not None:
        owner = type(instance)
        value = getattr(instance, parts[-1])
        before = (instance,)
        notes.append(say("called on the object that the factory made: its state is taken as given"))
    raw = inspect.getattr_static(owner, parts[-1], value) if owner is not None else value
    if isinstance(raw, property):
        raise LoadError(say("{qualname} is a property.", qualname=qualname), say("Name a function or method."))
    if isinstance(raw, staticmethod):
        before = ()
    elif isinstance(raw, classmethod):
        before = (owner,)
    inner = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
    function = inspect.unwrap(inner)
    if not isinstance(function, types.FunctionType):
        raise LoadError(
            say("{qualname} is no Python function but {name}.", qualname=qualname, name=type(function).__name__)
        )
    if function is not inner:
        notes.append(
            say("{qualname} is decorated; conditions inside the decorator are not followed", qualname=qualname)
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise LoadError(
            say("{qualname} is a generator function: it returns no value.", qualname=qualname),
            say("Name the function that returns the label."),
        )
    return Loaded(mode, value, function, owner, before, names, notes)


def _asks_environment(error: BaseException) -> bool:
    """Tell whether a variable of the environment is missing: the child has none."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, KeyError) and bool(frames) and frames[-1].filename in (os.__file__, "<frozen os>")


def _words(error: BaseException) -> str:
    text = str(error)[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _failure(error: BaseException, module: str, file: Path, project: Sequence[Path]) -> LoadError:
    """Say what was raised and where: the deepest line of the user's own code."""
    roots = tuple(str(folder) for folder in (*project, file.parent))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(roots)]
    frames = [f for f in frames if "site-packages" not in f.filename] or frames
    if isinstance(error, SyntaxError) and error.filename:
        place = say("It was raised at {place}.", place=f"{Path(error.filename).name}:{error.lineno}")
    elif frames:
        place = say("It was raised at {place}.", place=f"{Path(frames[-1].filename).name}:{frames[-1].lineno}")
    else:
        place = ""
    # Folders for logs, libraries behind ctypes, files, variables of the environment: they are not the function's.
    surroundings = isinstance(error, (ImportError, OSError)) or _asks_environment(error)
    if isinstance(error, RefusedError):
        surroundings = error.is_usual
    name = (error.name or "").split(".")[0] if isinstance(error, ImportError) else ""
    hint = say("Run memaudit in the agent's own environment.")
    if name:
        hint = say("Run memaudit in the agent's own environment, or use --stub {name}.", name=name)
    if not isinstance(error, ImportError):
        hint = say("Importing production code runs it: name a target whose module can be imported.")
    return LoadError(
        sentences(say("cannot import {module}: {reason}.", module=module, reason=_words(error)), place),
        hint,
        is_surroundings=surroundings,
    )
