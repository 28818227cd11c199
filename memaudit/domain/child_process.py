"""The child process in which production code runs, seen from its parent.

It gets an empty environment, a temporary folder, limits on time, memory and file size, and an audit hook that refuses
writes, processes and sockets; it stands in a process group of its own, which is killed at the time limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from memaudit.errors import TargetError
from memaudit.wording import say, sentences

_CHILD = Path(__file__).with_name("child.py")
_MAX_RESULT_BYTES = 256 * 1024**2
_KEPT_NOISE_BYTES = 4_096


def run_child(job: Mapping[str, Any], timeout_s: float, *, hash_seed: int) -> dict[str, Any]:
    """Run one job in a child process and give its result.

    Parameters
    ----------
    job
        What :mod:`memaudit.domain.child` reads.
    timeout_s
        Wall time after which the whole process group is killed.

    Raises
    ------
    TargetError
        The child said why it failed, was killed, or ended without an answer.
    """
    with tempfile.TemporaryDirectory(prefix="memaudit-", ignore_cleanup_errors=True) as folder:
        environment = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
        environment |= {"PYTHONHASHSEED": str(hash_seed), "PYTHONDONTWRITEBYTECODE": "1", "HOME": folder}
        process = subprocess.Popen(
            [sys.executable, "-B", "-X", "utf8", str(_CHILD)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=folder, env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            answer, noise, ran_out = _converse(process, json.dumps(job).encode(), timeout_s)
        finally:
            _kill_group(process)
    return _answer_of(answer, noise, ran_out, process.returncode, job, timeout_s)


def _converse(process: subprocess.Popen[bytes], job: bytes, timeout_s: float) -> tuple[bytes, bytes, bool]:
    """Send the job, collect both outputs with a cap, and stop at the time limit."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the child was started without pipes")
    answer, noise = bytearray(), bytearray()
    threads = [
        threading.Thread(target=_collect, args=(process.stdout, answer, _MAX_RESULT_BYTES), daemon=True),
        threading.Thread(target=_collect, args=(process.stderr, noise, _KEPT_NOISE_BYTES), daemon=True),
        threading.Thread(target=_send, args=(process.stdin, job), daemon=True),
    ]
    for thread in threads:
        thread.start()
    ran_out = False
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        ran_out = True
    _kill_group(process)
    for thread in threads:
        thread.join(5)
    return bytes(answer), bytes(noise), ran_out


def _collect(stream: IO[bytes], into: bytearray, most: int) -> None:
    with contextlib.suppress(ValueError, OSError), stream:
        while chunk := os.read(stream.fileno(), 65_536):
            room = most - len(into)
            if room > 0:
                into += chunk[:room]


def _send(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), stream:
        stream.write(data)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the child's group; the group outlives the child when it left processes behind."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)


def _answer_of(
    answer: bytes, noise: bytes, ran_out: bool, code: int | None, job: Mapping[str, Any], timeout_s: float
) -> dict[str, Any]:
    name = f"{job['module']}:{job['qualname']}"
    phase = "start"
    for line in answer.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict):
            continue
        if isinstance(message.get("result"), dict):
            result: dict[str, Any] = message["result"]
            return result
        if isinstance(message.get("error"), dict):
            error = message["error"]
            raise TargetError(str(error.get("message")), str(error.get("hint")) or None)
        phase = str(message.get("phase", phase))
    while_doing = {"start": say("before the target was loaded"), "import": say("while it was imported")}.get(
        phase, say("while it was called")
    )
    if ran_out or (hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU):
        raise TargetError(
            say(
                "{name} was stopped {while_doing}: it ran longer than {timeout_s:g} s.",
                name=name,
                while_doing=while_doing,
                timeout_s=float(timeout_s),
            ),
            say("Give a longer --timeout, or name a function that does less."),
        )
    if code is not None and code < 0:
        try:
            how = say("was killed by {name}", name=signal.Signals(-code).name)
        except ValueError:
            how = say("was killed by {name}", name=f"signal {-code}")
    else:
        how = say("ended the process itself (exit code {code})", code=code)
    last = noise.decode("utf-8", "replace").strip().splitlines()[-1:]
    said = say("Its last words: {last}", last=last[0][:200]) if last else ""
    raise TargetError(
        sentences(say("{name} {how} {while_doing}.", name=name, how=how, while_doing=while_doing), said),
        say("Name a function that can be called without ending the process."),
    )
