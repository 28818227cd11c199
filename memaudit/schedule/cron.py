"""A line for a user's crontab."""

from __future__ import annotations

import shlex

from memaudit.errors import ConfigError
from memaudit.schedule.job import Entry, Job, shell_script, stale_test
from memaudit.schedule.when import on_clock, zone
from memaudit.wording import say

#: Debian's cron cuts a command at 1,000 characters.
_LONGEST = 990


def entry(job: Job) -> Entry:
    """Return the line with its comment.

    Raises
    ------
    ConfigError
        The command is longer than cron can hold.
    """
    when = on_clock(job.when, zone(job.tz), None) if job.tz else job.when
    days = "*" if when.daily else ",".join(str((day + 1) % 7) for day in when.days)
    script = shell_script(job)
    lines = (
        f"{when.minute} {when.hour} * * {days}  {script}",
        f"@reboot  sleep 300; {stale_test(job)} || {{ {script}; }}",
    )
    longest = max(len(line.replace("%", r"\%")) for line in lines)
    if longest > _LONGEST:
        raise ConfigError(
            say("the line is {n} characters long; cron takes {most}.", n=longest, most=_LONGEST),
            say("Put the options into memaudit.toml, or take --kind systemd."),
        )
    zones = (
        f"# {job.when} {job.tz} is {when} on this machine's clock now; cron knows one clock only, so look again\n"
        "# when either changes to or from summer time.\n"
        if job.tz
        else ""
    )
    text = (
        "# memaudit: audit of the agent's memory. Add these lines with `crontab -e`.\n"
        "# Exit code 0: nothing new; else the end of the log is sent"
        + (" to the command after the bar" if job.notify else ", by cron as a mail where mail is set up")
        + ".\n"
        "# The second line catches up a run that was missed while the machine was off, after its next start.\n"
        "# Whether audits still come: memaudit history "
        + shlex.quote(str(job.folder / job.audits))
        + " --max-age 8d\n"
        + zones
        + "# m h dom mon dow  command\n"
        + "".join(line.replace("%", r"\%") + "\n" for line in lines)
    )
    return Entry((("memaudit.crontab", text),), say("Add it with `crontab -e`."))
