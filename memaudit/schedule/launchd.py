"""A launchd agent for macOS."""

from __future__ import annotations

import plistlib
import re

from memaudit.schedule.job import Entry, Job, shell_script
from memaudit.schedule.when import on_clock, zone
from memaudit.wording import say


def entry(job: Job) -> Entry:
    """Return the property list.

    launchd starts no second copy while one runs, and starts a run that was missed while the machine slept when it
    wakes (not one that was missed while it was off).
    """
    when = on_clock(job.when, zone(job.tz), None) if job.tz else job.when
    label = "memaudit." + (re.sub(r"[^A-Za-z0-9-]+", "-", job.folder.name).strip("-") or "audit")
    moment = {"Hour": when.hour, "Minute": when.minute}
    moments = [moment] if when.daily else [{**moment, "Weekday": (day + 1) % 7} for day in when.days]
    text = plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": ["/bin/sh", "-c", shell_script(job)],
            "StartCalendarInterval": moments,
            "WorkingDirectory": str(job.folder),
            "Nice": 10,
            "ProcessType": "Background",
        },
        sort_keys=False,
    ).decode("utf-8")
    name = f"{label}.plist"
    where = say(
        "Put it into ~/Library/LaunchAgents/, then: launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/{name}",
        name=name,
    )
    return Entry(((name, text),), where)
