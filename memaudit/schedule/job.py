"""What is to be run, as every kind of schedule sees it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from memaudit.errors import ConfigError
from memaudit.schedule.when import When
from memaudit.wording import say

#: A log is put aside at this size and one older log is kept: two megabytes at most, whatever happens.
LOG_BYTES = 1_000_000


@dataclass(frozen=True)
class Job:
    """One audit, every week.

    Parameters
    ----------
    folder
        Where it runs: absolute, the configuration is found from there.
    program
        The command that starts memaudit, absolute: `/srv/agent/.venv/bin/python -m memaudit`.
    options
        Options of `memaudit run` that somebody gave.
    audits
        Folder of history, pages and log, as seen from `folder`.
    environment
        Variables without which `program` does not start.
    notify
        Shell command that gets the end of the log on its standard input when the exit code is not 0; "" for none.
    tz
        Zone in which `when` is meant; "" for the clock of the machine that runs the job.
    """

    folder: PurePath
    program: tuple[str, ...]
    when: When
    options: tuple[str, ...] = ()
    audits: str = "audits"
    environment: Mapping[str, str] = field(default_factory=dict)
    notify: str = ""
    tz: str = ""

    def __post_init__(self) -> None:
        """Refuse what no kind of entry can hold."""
        texts = [str(self.folder), self.audits, *self.program, *self.options, self.notify, *self.environment.values()]
        if any(character in text for text in texts for character in "\n\r\0"):
            raise ConfigError(say("a path or option holds a line end; no schedule can hold that."))

    @property
    def log(self) -> str:
        """The job's own log, as seen from `folder`."""
        return f"{self.audits}/memaudit.log"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The whole command, as run in `folder`: newest page, history, and only what is new fails."""
        places = ("--history", self.audits, "--out", self.audits)
        return (*self.program, "run", *places, "--fail-on", "new", *self.options)


@dataclass(frozen=True)
class Entry:
    """Files of an entry: name and text; `where` says in a sentence what to do with them."""

    files: tuple[tuple[str, str], ...]
    where: str


def shell_script(job: Job) -> str:
    """Return the job as one line for /bin/sh: own log, rotated; notification; the exit code of the audit kept.

    Two audits at once are kept apart by the lock of the history. 3 (not completed) is the code when the folder is
    not there.
    """
    command = _command(job, job.arguments)
    rotate = f'if [ -f "$L" ] && [ "$(wc -c <"$L")" -gt {LOG_BYTES} ]; then mv -f "$L" "$L.1"; fi'
    told = 'echo "memaudit: exit code $c in $D, log $L"; if [ -f "$L" ]; then tail -n 40 "$L"; fi'
    tell = f"{{ {told}; }} | {job.notify}" if job.notify else f"{{ {told}; }}"
    return (
        f"D={shlex.quote(str(job.folder))}; L={shlex.quote(job.log)}; umask 077; "
        f'if cd "$D" && mkdir -p {shlex.quote(job.audits)}; then {rotate}; {command} >>"$L" 2>&1; c=$?; else c=3; fi; '
        f'if [ "$c" -ne 0 ]; then {tell}; fi; exit "$c"'
    )


def stale_test(job: Job) -> str:
    """Return a shell command that succeeds when no run was missed: the newest audit is young enough."""
    hours = 24 * job.when.longest_gap + 1
    look = _command(job, (*job.program, "history", job.audits, "--max-age", f"{hours}h", "--quiet"))
    return f"cd {shlex.quote(str(job.folder))} && {look} 2>/dev/null"


def _command(job: Job, words: tuple[str, ...]) -> str:
    prefix = "".join(f"{name}={shlex.quote(value)} " for name, value in sorted(job.environment.items()))
    return prefix + shlex.join(words)
