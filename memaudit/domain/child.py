"""Entry of the child process: read a job from standard input, run it, write JSON lines to standard output.

Started by :mod:`memaudit.domain.child_process` as a file, with an empty environment. The only process in which the user's
code runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from json import dumps, loads  # kept here: the target may replace those in `json`
from typing import Any


def main() -> int:
    """Run one job; the last line written is `{"result": ...}` or `{"error": ...}`."""
    job = loads(sys.stdin.buffer.read())
    # The channel becomes private; what the target prints goes to standard error, which the parent caps.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.dont_write_bytecode = True
    sys.path[:] = [job["root"], *sys.path[1:]]  # never the folder of this file: it holds our modules' names

    def send(message: dict[str, Any]) -> None:
        channel.write(dumps(message).encode() + b"\n")
        channel.flush()

    from memaudit.wording import language

    with language(job["lang"]):
        return _answer(job, channel, send)


def _answer(job: dict[str, Any], channel: Any, send: Any) -> int:
    from memaudit.wording import say

    try:
        result = _run(job, send)
    except _loading_error() as error:
        send({"error": {"message": error.message, "hint": error.hint}})
        return 0
    except MemoryError:
        send({"error": {"message": say("the memory limit was reached while the target was examined."), "hint": ""}})
        return 0
    except Exception as error:  # ours, not the target's: say so instead of ending without an answer
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        reason = f"{type(error).__name__}: {error} ({place})"
        hint = say("This is a fault of memaudit; please report it.")
        if os.path.realpath(last.filename) == os.path.realpath(job["file"]):  # a trace or hook of the target
            hint = say("The target changes how Python itself runs: name a function of a module that does not.")
        send({"error": {"message": say("the examination failed: {reason}.", reason=reason), "hint": hint}})
        return 0
    send({"result": result})
    channel.close()
    # Threads and exit handlers of the target have no say any more.
    os._exit(0)


def _loading_error() -> Any:
    from memaudit.domain.loading import LoadError

    return LoadError


def _run(job: dict[str, Any], send: Any) -> dict[str, Any]:
    from pathlib import Path

    from memaudit.domain import calling, guard, lending, purity, standins
    from memaudit.domain.loading import load
    from memaudit.domain.replaying import Replayer
    from memaudit.domain.sweep import Limits, Sweep
    from memaudit.wording import say

    started = time.monotonic()
    unlimited = guard.limit(job["memory_bytes"], job["cpu_s"])
    guard.watch()
    lending.install(job.get("databases", {}), job["project"])
    sys.path[:] = [
        *job["import_path"],
        *(entry for entry in sys.path if entry != job["root"] or job["root_is_site"]),
    ]
    standins.install(job["stubs"])
    project = [Path(folder) for folder in job["project"]]
    send({"phase": "import"})
    guard.phase = "import"
    with contextlib.redirect_stdout(sys.stderr):
        loaded = load(
            Path(job["file"]),
            job["module"],
            job["qualname"],
            mode=job["mode"],
            factory=job["factory"],
            project=project,
        )
        guard.phase = "idle"
        if loaded.mode != "import":
            guard.refusals.clear()  # of a module that the function was then cut out of
        send({"phase": "call", "mode": loaded.mode})
        if job["task"] == "values":
            clock = guard.CallClock(job["call_s"])
            returned = purity.values(loaded, job["inputs"], clock)
            return {"values": returned, "mode": loaded.mode, "refused": guard.refusals}
        if job["task"] == "calls":
            return {"calls": calling.call_all(loaded, job["inputs"], guard.CallClock(job["call_s"]))}
        left = job["sweep_s"] - (time.monotonic() - started)
        sweep = Sweep(loaded, project, job["given"], Limits(max(left, 1.0), job["call_s"], job["max_calls"]))
        if job["task"] == "replay":
            rows = Replayer(sweep, job["known"]).rows(job["rows"], started + job["sweep_s"])
            return {"rows": rows, "mode": loaded.mode, "parameters": list(sweep.shapes)}
        result = sweep.run()
    refused = [text for phase, text in guard.events if phase == "import" and "(refused)" in text]
    result["notes"] += [say("while the module was imported: {text}", text=text) for text in dict.fromkeys(refused)]
    result["unlimited"] = unlimited
    return result


if __name__ == "__main__":
    sys.exit(main())
