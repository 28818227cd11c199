"""Whether a function depends on its arguments alone and changes nothing: what can be observed of it."""

from __future__ import annotations

import datetime
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memaudit.domain import guard
from memaudit.domain.codec import key_of, pack, short_repr, to_json, unpack
from memaudit.domain.engine import call_untouched
from memaudit.domain.guard import CallClock
from memaudit.domain.loading import Loaded
from memaudit.wording import say

#: Functions that ask the clock only when they are not given a time, and at which place they are given it.
_TIMED = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
_SOURCES: dict[str, tuple[str, ...]] = {
    "time": ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "process_time", *_TIMED),
    "random": (
        "random", "randint", "choice", "choices", "shuffle", "sample", "uniform", "randrange", "getrandbits",
    ),
    "uuid": ("uuid1", "uuid4"),
    "secrets": ("choice", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe"),
    "os": ("urandom", "getpid", "stat", "getcwd", "cpu_count", "getlogin"),
    "platform": ("node", "system", "platform", "machine"),
    "socket": ("gethostname",),
    "getpass": ("getuser",),
    "locale": ("getlocale",),
}  # fmt: skip
#: Kept before `time` is watched: our own look at the clock is not the target's.
_now = time.monotonic
_CODE_SUFFIXES = (".py", ".pyc", ".so", ".pyd", ".pth")


def snapshot(loaded: Loaded) -> dict[str, str]:
    """Give the state that the function could change: module variables, class attributes, its object."""
    found = {say("module variable {name}", name=name): _state(value) for name, value in _own(loaded.names)}
    if loaded.owner is not None:
        found |= {say("class attribute {name}", name=name): _state(value) for name, value in _own(vars(loaded.owner))}
    if loaded.before and not isinstance(loaded.before[0], type):
        state = getattr(loaded.before[0], "__dict__", {})
        found |= {say("object attribute {name}", name=name): _state(value) for name, value in state.items()}
    return found


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Name what differs between two snapshots."""
    return [
        say("changes the {name}", name=name)
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def examine(
    loaded: Loaded, inputs: Sequence[Any], clock: CallClock, project: Sequence[Path], until: float
) -> list[str]:
    """Call the untouched function twice for each input and watch.

    Parameters
    ----------
    inputs
        Packed arguments.
    project
        Folders whose modules may hold `from random import choice` and the like.
    until
        Monotonic time at which the inputs not yet called are left out.

    Returns
    -------
    Impurities in words, each once.
    """
    for packed in inputs[:1]:  # lazy imports and caches of the interpreter are not the function's own doing
        call_untouched(loaded.call, unpack(packed, loaded.names), clock)
    found: list[str] = []
    del guard.events[:]
    guard.phase = "call"
    hits: list[str] = []
    with _recorded(loaded, project, hits):
        for packed in inputs:
            if _now() > until:
                break
            found += _twice(loaded, packed, clock)
    guard.phase = "idle"
    found += hits
    found += [
        say("does {text}", text=text) for phase, text in guard.events if phase == "call" and not _reads_code(text)
    ]
    return list(dict.fromkeys(found))


def values(loaded: Loaded, inputs: Sequence[Any], clock: CallClock) -> list[str | None]:
    """Give the comparable value of each call, None where it raised."""
    out: list[str | None] = []
    for packed in inputs:
        value, error = call_untouched(loaded.call, unpack(packed, loaded.names), clock)
        out.append(key_of(to_json(value)) if error is None else None)
    return out


def _twice(loaded: Loaded, packed: Any, clock: CallClock) -> list[str]:
    arguments = unpack(packed, loaded.names)
    value, error = call_untouched(loaded.call, arguments, clock)
    again, error_again = call_untouched(loaded.call, unpack(packed, loaded.names), clock)
    found = []
    one = error or key_of(to_json(value))
    two = error_again or key_of(to_json(again))
    if one != two:
        found.append(say("2 calls with equal input gave {one} and {two}", one=_short(one), two=_short(two)))
    fresh = unpack(packed, loaded.names)
    for name, argument in arguments.items():
        try:
            same = key_of(pack(argument)) == key_of(pack(fresh[name]))
        except TypeError:
            same = short_repr(argument) == short_repr(fresh[name])
        if not same:
            found.append(say("changes its argument {name}", name=name))
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _own(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(names.items()):
        if not (name.startswith("__") and name.endswith("__")):
            yield name, value


def _state(value: Any, depth: int = 0) -> str:
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, (list, tuple, dict, set, frozenset)) and depth < 4 and len(value) <= 5_000:
        if isinstance(value, dict):
            inner = [f"{_state(k, depth + 1)}={_state(v, depth + 1)}" for k, v in value.items()]
        else:
            inner = [_state(item, depth + 1) for item in value]
        if isinstance(value, (set, frozenset)):
            inner.sort()
        return f"{type(value).__name__}[{','.join(inner)}]"
    return f"{type(value).__name__}@{id(value)}"


def _reads_code(text: str) -> bool:
    if not text.startswith("open(") or "(refused)" in text:
        return False
    path = text[5:-1].strip("'\"b")
    return path.endswith(_CODE_SUFFIXES) or path.startswith((sys.prefix + os.sep + "lib", os.path.dirname(os.__file__)))


# -- sources of chance, time and surroundings ------------------------------------------------------------
@contextmanager
def _recorded(loaded: Loaded, project: Sequence[Path], hits: list[str]) -> Iterator[None]:
    """Let the known sources say when they are asked, without changing what they answer."""
    undo: list[tuple[Any, str, Any]] = []
    depth = [0]

    def note(text: str) -> None:
        if text not in hits:
            hits.append(text)

    def wrapped(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*args: Any, **kwargs: Any) -> Any:
            # A log line bears the time; that says nothing about the value.
            is_log = sys._getframe(1).f_globals.get("__name__") == "logging"
            if depth[0] == 0 and not is_log and not _is_given_time(name, args):
                note(say("asks {name}", name=name))
            depth[0] += 1
            try:
                return original(*args, **kwargs)
            finally:
                depth[0] -= 1

        return ask

    replaced: dict[int, Any] = {}
    originals: list[Any] = []
    for module_name, names in _SOURCES.items():
        module = sys.modules.get(module_name)
        for name in names:
            original = getattr(module, name, None)
            if callable(original):
                undo.append((module, name, original))
                originals.append(original)
                replaced[id(original)] = wrapped(f"{module_name}.{name}", original)
                setattr(module, name, replaced[id(original)])
    for kind in (datetime.datetime, datetime.date):
        stand_in = _clock_class(kind, note)
        undo.append((datetime, kind.__name__, kind))
        replaced[id(kind)] = stand_in
        setattr(datetime, kind.__name__, stand_in)
    environ = os.environ
    stand_in_environ = _Environ(environ, note)
    undo.append((os, "environ", environ))
    replaced[id(environ)] = stand_in_environ
    os.environ = stand_in_environ  # type: ignore[assignment]  # noqa: B003
    dicts = [loaded.names, *_project_globals(project)]
    undone: list[tuple[dict[str, Any], str, Any]] = []
    for names_of in dicts:
        for name, value in list(names_of.items()):
            if id(value) in replaced and not name.startswith("__"):
                undone.append((names_of, name, value))
                names_of[name] = replaced[id(value)]
    try:
        yield
    finally:
        for owner, name, value in undo:
            setattr(owner, name, value)
        for names_of, name, value in undone:
            names_of[name] = value


def _is_given_time(name: str, args: tuple[Any, ...]) -> bool:
    module, _, function = name.partition(".")
    place = _TIMED.get(function) if module == "time" else None
    return place is not None and len(args) > place and args[place] is not None


def _project_globals(project: Sequence[Path]) -> Iterator[dict[str, Any]]:
    roots = tuple(str(folder).rstrip(os.sep) + os.sep for folder in project)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        ours = name.startswith("memaudit.")  # a checkout of memaudit may stand in the project: it asks the time itself
        if isinstance(file, str) and file.startswith(roots) and "site-packages" not in file and not ours:
            yield vars(module)


def _clock_class(kind: type, note: Callable[[str], None]) -> type:
    class Meta(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, kind)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return kind(*args, **kwargs)

    def asking(name: str) -> classmethod[Any, Any, Any]:
        def ask(cls: type, *args: Any, **kwargs: Any) -> Any:
            note(say("asks {name}", name=f"datetime.{kind.__name__}.{name}"))
            return getattr(kind, name)(*args, **kwargs)

        return classmethod(ask)

    body = {name: asking(name) for name in ("now", "utcnow", "today") if hasattr(kind, name)}
    return Meta(kind.__name__, (kind,), dict(body))


class _Environ:
    """The environment, which says when it is read."""

    def __init__(self, real: Any, note: Callable[[str], None]) -> None:
        self._real, self._note = real, note

    def __getattr__(self, name: str) -> Any:
        self._note(say("reads the environment (os.environ)"))
        return getattr(self._real, name)

    def __getitem__(self, key: str) -> Any:
        self._note(say("reads the environment (os.environ)"))
        return self._real[key]

    def __contains__(self, key: str) -> bool:
        self._note(say("reads the environment (os.environ)"))
        return key in self._real

    def __iter__(self) -> Iterator[str]:
        self._note(say("reads the environment (os.environ)"))
        return iter(self._real)

    def __setitem__(self, key: str, value: str) -> None:
        self._note(say("changes the environment (os.environ)"))
        self._real[key] = value
