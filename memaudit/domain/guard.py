"""Limits and an audit hook for the child process.

A guard rail, not a sandbox: compiled extensions can get past it. The parent's time limit, which kills the
whole process group, does not depend on anything here.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class RefusedError(PermissionError):
    """The target tried something that the audit does not allow.

    Parameters
    ----------
    is_usual
        Many modules do it when they are imported: make a folder for logs, load a library, open a database.
    """

    def __init__(self, message: str, *, is_usual: bool = False) -> None:
        super().__init__(message)
        self.is_usual = is_usual


class CallTimeoutError(BaseException):
    """One call took too long; no Exception, so that the target's own handlers let it through."""


_REFUSED = tuple(
    (  # noqa: SIM905 (one event a line would fill a page)
        "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime "
        "os.setxattr os.removexattr shutil. os.system os.exec os.posix_spawn os.spawn os.fork os.forkpty "
        "os.startfile os.kill os.killpg signal.pthread_kill subprocess.Popen pty.spawn socket. winreg. "
        "_winapi. resource. ftplib. smtplib. http.client. urllib.Request webbrowser. "
        "syslog. "
    ).split()
)
#: A socket that is only made, and the name of this machine: many modules do so when they are imported.
_HARMLESS = frozenset({"socket.__new__", "socket.gethostname"})
#: Events that make a function depend on more than its arguments, or that leave a trace.
_NOTED = (
    "open",
    "os.listdir",
    "os.scandir",
    "os.walk",
    "glob.",
    "os.putenv",
    "os.unsetenv",
    "sqlite3.connect",
    "os.chdir",
    "socket.",
)
#: Refusals that change no answer: a log or a cache that is not written.
_ONLY_WRITES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "os.removexattr", "shutil.", "syslog.",
)  # fmt: skip
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

#: (phase, event in words) in order; the phase is set by the child.
events: list[tuple[str, str]] = []
#: What the target was kept from reading or asking since the list was last cleared: its answer may be another one.
refusals: list[str] = []
#: Names under which databases may be opened, because what stands behind them cannot be written.
lent: set[str] = set()
phase = "start"
_MAX_EVENTS = 200
_MAX_REFUSALS = 20


def limit(memory_bytes: int, cpu_s: int) -> list[str]:
    """Set the limits of this process; gives the names of those that this system does not have."""
    try:
        import resource
    except ImportError:
        return ["memory", "CPU time", "file size"]
    refused = []
    for name, kind, value in (
        ("memory", "RLIMIT_AS", memory_bytes),
        ("CPU time", "RLIMIT_CPU", cpu_s),
        ("file size", "RLIMIT_FSIZE", 0),
        ("core files", "RLIMIT_CORE", 0),
    ):
        try:
            resource.setrlimit(getattr(resource, kind), (value, value))
        except (ValueError, OSError, AttributeError):  # macOS has no usable RLIMIT_AS
            refused.append(name)
    return refused


def watch() -> None:
    """Install the audit hook and close the way to `fork_exec` that raises no event."""
    try:
        import _posixsubprocess
    except ImportError:
        pass
    else:
        _posixsubprocess.fork_exec = _refuse_fork
    sys.addaudithook(_hook)


def _refuse_fork(*args: Any) -> int:
    raise _keep(RefusedError("starting a process is not allowed in an audit"))


def _keep(error: RefusedError) -> RefusedError:
    """Remember a refusal, because the target may go on without what it asked for and say nothing."""
    text = str(error)
    if text not in refusals and len(refusals) < _MAX_REFUSALS:
        refusals.append(text)
    return error


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open":
        _opened(args)
    elif event.startswith(_REFUSED) and event not in _HARMLESS:
        _note(f"{event}{_shown(args)} (refused)")
        error = RefusedError(f"{event} is not allowed in an audit", is_usual=event == "os.mkdir")
        raise error if event.startswith(_ONLY_WRITES) else _keep(error)
    elif event == "ctypes.dlopen" and args[0] is not None:
        _note(f"ctypes.dlopen{_shown(args)} (refused)")
        raise _keep(RefusedError("loading a library with ctypes is not allowed in an audit", is_usual=True))
    elif event == "ctypes.dlsym" and not str(args[-1]).startswith(("Py", "_Py")):
        _note(f"ctypes.dlsym({args[-1]!r}) (refused)")
        raise _keep(RefusedError("calling a library with ctypes is not allowed in an audit", is_usual=True))
    elif event == "sqlite3.connect" and args and not _may_open(args[0]):
        _note(f"sqlite3.connect{_shown(args)} (refused)")
        raise _keep(RefusedError("opening a database is not allowed in an audit", is_usual=True))
    elif event.startswith(_NOTED):
        _note(f"{event}{_shown(args)}")


def _may_open(database: Any) -> bool:
    name = os.fsdecode(database) if isinstance(database, bytes) else database  # bytes until Python 3.11
    return name == ":memory:" or name in lent


def _opened(args: tuple[Any, ...]) -> None:
    path, mode, flags = args[0], args[1], args[2]
    writes = (isinstance(mode, str) and any(letter in mode for letter in "wax+")) or bool(
        isinstance(flags, int) and mode is None and flags & _WRITE_FLAGS
    )
    if writes and not isinstance(path, int) and path != os.devnull:
        _note(f"open({path!r}, for writing) (refused)")
        raise RefusedError(f"writing {path!r} is not allowed in an audit", is_usual=True)
    if not isinstance(path, int):
        _note(f"open({path!r})")


def _note(text: str) -> None:
    if phase in ("call", "import") and len(events) < _MAX_EVENTS:
        events.append((phase, text))


def _shown(args: tuple[Any, ...]) -> str:
    return "(" + ", ".join(repr(a)[:60] for a in args[:2] if isinstance(a, (str, bytes, int, list, tuple))) + ")"


class CallClock:
    """Raises :class:`CallTimeoutError` in a call that runs longer than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._usable = hasattr(signal, "setitimer")
        if self._usable:
            signal.signal(signal.SIGALRM, self._ring)

    @staticmethod
    def _ring(number: int, frame: FrameType | None) -> None:
        raise CallTimeoutError

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function under the clock."""
        if not self._usable:
            return function(*args, **kwargs)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            return function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
