"""A GitHub Actions workflow."""

from __future__ import annotations

import json
import shlex

from memaudit.schedule.job import Entry, Job
from memaudit.schedule.when import on_clock, zone
from memaudit.wording import say

_PATH = ".github/workflows/memaudit.yml"


def entry(job: Job) -> Entry:
    """Return the workflow: the history is carried from run to run in the cache, the page is an artifact.

    The service's clock is UTC; without `tz` the time is taken as UTC.
    """
    utc = zone("UTC")
    when = on_clock(job.when, zone(job.tz), utc) if job.tz else job.when
    days = "*" if when.daily else ",".join(str((day + 1) % 7) for day in when.days)
    meant = f" ({job.when} {job.tz})" if job.tz else ""
    audits = job.audits
    options = shlex.join(("--history", audits, "--out", audits, "--fail-on", "new", *job.options))
    notify = (
        (
            "      - name: notify\n"
            "        if: failure()\n"
            f"        run: {_scalar(f'echo memaudit found something new or failed | {job.notify}')}\n"
        )
        if job.notify
        else ""
    )
    text = f"""\
# memaudit: weekly audit of the agent's memory
# The clock is UTC. The service may start a run late, and stops the schedule of a public repository after 60 days
# without activity; `memaudit history {audits} --max-age 8d` anywhere else notices that.
# Cache and artifact hold memory text: in a public repository add --redact to the audit.
name: memaudit
on:
  schedule:
    - cron: '{when.minute} {when.hour} * * {days}'  # {when} UTC{meant}
  workflow_dispatch: {{}}
permissions:
  contents: read
concurrency:
  group: memaudit
  cancel-in-progress: false
jobs:
  audit:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: '3.12'
      # Once it is published; until then name a checkout: pip install PATH-OR-URL
      - name: install
        run: python -m pip install 'agent-memaudit[sentence-transformers]'
      - name: earlier audits
        uses: actions/cache/restore@v4
        with:
          path: {_scalar(audits)}
          key: memaudit-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: memaudit-
      - name: audit
        run: {_scalar(f"memaudit run {options}")}
      - name: keep this audit
        if: always()
        uses: actions/cache/save@v4
        with:
          path: {_scalar(audits)}
          key: memaudit-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
      - name: page
        if: always()
        uses: actions/upload-artifact@v4
        with:
          name: memaudit-report
          path: {_scalar(audits)}
          if-no-files-found: warn
{notify}"""
    return Entry(((_PATH, text),), say("Commit it as {path}.", path=_PATH))


def _scalar(text: str) -> str:
    """Write a text as a YAML scalar; JSON's double quotes are YAML's, and `${{` would be an expression."""
    return json.dumps(text.replace("${{", "$ {{"), ensure_ascii=False)
