"""`--on-finding CMD`: hand a report to a command of the user; what it does never changes the audit's exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from memaudit.wording import say

#: A command that mails or posts is done in seconds; one that hangs must not hang the audit.
TIME_LIMIT_S = 60.0


def hand_over(command: str, report: str, time_limit_s: float = TIME_LIMIT_S) -> str:
    """Run a shell command with a report on its standard input.

    Parameters
    ----------
    command
        As typed by the user; runs in the shell, with the user's environment. Its output goes to stderr, so that
        results on stdout stay pure.
    report
        Text of report.json.

    Returns
    -------
    "" when the command succeeded, else what went wrong, in words.
    """
    try:
        process = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=_stderr(),
            stderr=_stderr(),
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        return say("could not start: {reason}", reason=error.strerror or error)
    try:
        process.communicate(report.encode("utf-8", "backslashreplace"), timeout=time_limit_s)
    except subprocess.TimeoutExpired:
        _stop(process)
        return say("did not end within {time_limit_s:g} s and was stopped", time_limit_s=float(time_limit_s))
    except KeyboardInterrupt:
        _stop(process)
        raise
    if process.returncode:
        return say("ended with exit code {returncode}", returncode=process.returncode)
    return ""


def _stderr() -> int:
    """Return the descriptor of stderr; a closed or replaced one means nothing is shown."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the shell and what it started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
