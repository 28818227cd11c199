"""Permissive stand-ins for modules that are not here (`--stub`), which tell when they were used."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

#: Names of stand-ins used since the last `clear()`.
touched: set[str] = set()


class StandIn:
    """Answers everything with another stand-in; as a decorator it gives back what it decorates."""

    def __init__(self, name: str) -> None:
        self._memaudit_name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        touched.add(self._memaudit_name)
        return StandIn(f"{self._memaudit_name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Give what is decorated, else another stand-in."""
        touched.add(self._memaudit_name)
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return StandIn(f"{self._memaudit_name}()")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __bool__(self) -> bool:
        touched.add(self._memaudit_name)
        return True

    def __eq__(self, other: object) -> bool:
        touched.add(self._memaudit_name)
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, key: Any) -> Any:
        touched.add(self._memaudit_name)
        return StandIn(f"{self._memaudit_name}[]")

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __iter__(self) -> Iterator[Any]:
        touched.add(self._memaudit_name)
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *details: Any) -> None:
        return None

    def __repr__(self) -> str:
        touched.add(self._memaudit_name)
        return f"<stand-in for {self._memaudit_name}>"


class _StandInModule(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Take the named modules."""
        if any(fullname == name or fullname.startswith(name + ".") for name in self._names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        """Give a module that answers everything."""
        return _StandInModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""


def install(names: Sequence[str]) -> None:
    """Let every import of these modules (and of what lies below them) give a stand-in."""
    if names:
        sys.meta_path.insert(0, _Finder(names))
