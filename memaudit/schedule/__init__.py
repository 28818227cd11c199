"""Entries for the machine that runs the audit every week: cron, systemd, CI services, launchd, Task Scheduler.

One module a kind, each with `entry(job) -> Entry`. Nothing here installs anything.
"""

from __future__ import annotations

from memaudit.schedule.job import Entry, Job

#: Kinds by the name that `--kind` takes; each is a module of this package.
KINDS = ("cron", "systemd", "github", "gitlab", "launchd", "schtasks")


def entry(kind: str, job: Job) -> Entry:
    """Return the entry of a kind for a job."""
    from importlib import import_module

    made: Entry = import_module(f"memaudit.schedule.{kind}").entry(job)
    return made
