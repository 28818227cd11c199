"""A systemd service and its timer, for a user or for the system."""

from __future__ import annotations

import re

from memaudit.schedule.job import Entry, Job
from memaudit.schedule.when import zone
from memaudit.wording import say


def entry(job: Job) -> Entry:
    """Return `memaudit.service` and `memaudit.timer`.

    The journal is the log, rotated by systemd; a service that still runs is not started again; `Persistent` catches
    up a run that was missed.
    """
    if job.tz:
        zone(job.tz)
    environment = "".join(
        f"Environment={_word(f'{name}={value}', command=False)}\n" for name, value in sorted(job.environment.items())
    )
    script = 'if [ "$EXIT_STATUS" != 0 ]; then echo "memaudit: exit code $EXIT_STATUS" | ' + job.notify + "; fi"
    notify = f"ExecStopPost=/bin/sh -c {_word(script)}\n" if job.notify else ""
    service = (
        "# memaudit.service: one audit of the agent's memory\n"
        "[Unit]\n"
        "Description=Audit of the agent's memory (memaudit)\n\n"
        "[Service]\n"
        "Type=oneshot\n"
        f"WorkingDirectory={_specifiers(str(job.folder))}\n"
        f"{environment}"
        f"ExecStart={' '.join(_word(word) for word in job.arguments)}\n"
        f"{notify}"
        "# 1 says that something new was found: the audit itself succeeded.\n"
        "SuccessExitStatus=1\n"
        "UMask=0077\n"
        "Nice=10\n"
    )
    days = "" if job.when.daily else ",".join(job.when.day_names) + " "
    timer = (
        "# memaudit.timer: starts memaudit.service\n"
        "# Both files into ~/.config/systemd/user/, then: systemctl --user enable --now memaudit.timer\n"
        "# (and once `loginctl enable-linger`, so that it runs while nobody is logged in)\n"
        "[Unit]\n"
        "Description=Audit of the agent's memory, weekly (memaudit)\n\n"
        "[Timer]\n"
        f"OnCalendar={days}*-*-* {job.when.clock}:00{' ' + job.tz if job.tz else ''}\n"
        "Persistent=true\n"
        "RandomizedDelaySec=15m\n\n"
        "[Install]\n"
        "WantedBy=timers.target\n"
    )
    where = say("Put both files into ~/.config/systemd/user/, then: systemctl --user enable --now memaudit.timer")
    return Entry((("memaudit.service", service), ("memaudit.timer", timer)), where)


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _word(text: str, *, command: bool = True) -> str:
    """Write one word: `%` and, in a command, `$` mean themselves; blanks and quotes are kept."""
    text = _specifiers(text)
    if command:
        text = text.replace("$", "$$")
    if re.fullmatch(r"[\w@%+=:,./$-]+", text, re.ASCII):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
