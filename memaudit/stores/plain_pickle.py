"""Read the plain data in a pickle without loading it.

A pickle is a program. This module walks its instructions with `pickletools.genops`, carries out only those that
build numbers, texts, lists, dicts and sets, and refuses every other one: nothing is imported, nothing is called.
An instance of an allowed class becomes a :class:`PlainObject` that holds its fields.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Larger pickles are no single record.
_MAX_BYTES = 64 << 20
_MAX_OPS = 5_000_000
_MAX_NODES = 2_000_000
_MAX_DEPTH = 60
#: Python refuses to write down a whole number of more than 4,300 digits.
_MAX_BITS = 8192


class RefusedPickleError(ValueError):
    """The pickle holds more than plain data, or is damaged; says what."""


@dataclass
class PlainObject:
    """An instance of an allowed class: its fields, never its behaviour."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Name:
    name: str


_MARK = object()
_VALUES = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
    "SHORT_BINBYTES", "BINBYTES", "BINBYTES8",
})  # fmt: skip
_CONSTANTS: Mapping[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": set,
}  # fmt: skip


def read_plain_pickle(data: bytes, classes: frozenset[str] = frozenset()) -> Any:
    """Return the plain data of a pickle.

    Parameters
    ----------
    data
        The pickle; at most 64 MiB.
    classes
        Full names (`module.Class`) whose instances are read as :class:`PlainObject`.

    Raises
    ------
    RefusedPickleError
        An instruction that calls or imports anything, a damaged or too large pickle, or more than two million
        values once shared parts are counted wherever they stand.
    """
    if len(data) > _MAX_BYTES:
        raise RefusedPickleError(f"larger than {_MAX_BYTES:,} bytes")
    machine = _Machine(classes)
    try:
        for number, (op, argument, _) in enumerate(pickletools.genops(io.BytesIO(data))):
            if number > _MAX_OPS:
                raise RefusedPickleError(f"more than {_MAX_OPS:,} instructions")
            machine.step(op.name, argument)
        result = machine.result()
    except RefusedPickleError:
        raise
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, UnicodeError) as error:
        raise RefusedPickleError(f"damaged ({error})") from None
    _measure(result)
    return result


def _measure(value: Any) -> None:
    """Refuse values that are small in memory because they share parts, but endless once written out."""
    waiting = [(value, 1)]
    seen = 0
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if seen > _MAX_NODES or depth > _MAX_DEPTH:
            raise RefusedPickleError("too many or too deeply nested values")
        if isinstance(item, PlainObject):
            item = item.fields
        if isinstance(item, dict):
            waiting.extend((v, depth + 1) for v in item.values())
        elif isinstance(item, (list, tuple, set)):
            waiting.extend((v, depth + 1) for v in item)


class _Machine:
    """The part of the pickle machine that only builds data."""

    def __init__(self, classes: frozenset[str]) -> None:
        self._classes = classes
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self._stack) != 1 or isinstance(self._stack[0], _Name):
            raise RefusedPickleError("no single value")
        return self._stack[0]

    def step(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in _VALUES:
            if isinstance(argument, int) and argument.bit_length() > _MAX_BITS:
                raise RefusedPickleError("a number of too many digits")
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in ("PROTO", "FRAME", "STOP"):
            pass
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[int(argument)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self._memo[int(argument)])
        elif name in ("APPEND", "SETITEM", "TUPLE1", "TUPLE2", "TUPLE3"):
            self._fixed(name)
        elif name in ("APPENDS", "SETITEMS", "ADDITEMS", "TUPLE", "LIST", "DICT"):
            self._marked(name)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            self._class(name, argument)
        elif name == "NEWOBJ":
            arguments, made = stack.pop(), stack.pop()
            if not isinstance(made, _Name) or arguments != ():
                raise RefusedPickleError("an object made with arguments")
            stack.append(PlainObject(made.name))
        elif name == "BUILD":
            self._build()
        else:
            raise RefusedPickleError(f"instruction {name}, which is not plain data")

    def _fixed(self, name: str) -> None:
        stack = self._stack
        if name == "APPEND":
            value = stack.pop()
            self._top(list).append(value)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            self._top(dict)[_key(key)] = value
        else:
            size = int(name[-1])
            values = tuple(stack[-size:])
            if len(values) < size:
                raise RefusedPickleError("damaged (empty stack)")
            del stack[-size:]
            stack.append(values)

    def _marked(self, name: str) -> None:
        stack = self._stack
        place = next((i for i in range(len(stack) - 1, -1, -1) if stack[i] is _MARK), None)
        if place is None:
            raise RefusedPickleError("damaged (no mark)")
        values = stack[place + 1 :]
        del stack[place:]
        if name == "APPENDS":
            self._top(list).extend(values)
        elif name == "ADDITEMS":
            self._top(set).update(map(_key, values))
        elif name == "SETITEMS":
            self._top(dict).update(zip(map(_key, values[::2]), values[1::2], strict=True))
        elif name == "TUPLE":
            stack.append(tuple(values))
        elif name == "LIST":
            stack.append(values)
        else:
            stack.append(dict(zip(map(_key, values[::2]), values[1::2], strict=True)))

    def _top(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise RefusedPickleError(f"damaged (no {kind.__name__} to fill)")
        return self._stack[-1]

    def _class(self, name: str, argument: Any) -> None:
        if name == "GLOBAL":
            module, _, item = str(argument).partition(" ")
        else:
            item, module = self._stack.pop(), self._stack.pop()
        full = f"{module}.{item}"
        if full not in self._classes:
            raise RefusedPickleError(f"it names {full[:100]}")
        self._stack.append(_Name(full))

    def _build(self) -> None:
        state = self._stack.pop()
        made = self._top(PlainObject)
        if isinstance(state, tuple) and len(state) == 2:
            state = {**(state[0] or {}), **(state[1] or {})}
        if not isinstance(state, dict):
            raise RefusedPickleError("an object whose state is no dict")
        # pydantic keeps the fields one level down.
        fields = state["__dict__"] if isinstance(state.get("__dict__"), dict) else state
        made.fields.update((str(k), v) for k, v in fields.items())


def _key(value: Any) -> Any:
    if not isinstance(value, (str, int, float, bytes, bool, type(None))):
        raise RefusedPickleError("a key that is no plain value")
    return value
