"""A GitLab CI job that runs in scheduled pipelines only."""

from __future__ import annotations

import json
import shlex

from memaudit.schedule.job import Entry, Job
from memaudit.schedule.when import zone
from memaudit.wording import say

_NAME = "memaudit.gitlab-ci.yml"


def entry(job: Job) -> Entry:
    """Return the job. The time itself is no part of the file: GitLab keeps schedules in the project's settings."""
    if job.tz:
        zone(job.tz)
    days = "*" if job.when.daily else ",".join(str((day + 1) % 7) for day in job.when.days)
    cron = f"{job.when.minute} {job.when.hour} * * {days}"
    options = shlex.join(("--history", job.audits, "--out", job.audits, "--fail-on", "new", *job.options))
    command = f"memaudit run {options}"
    notify = ""
    if job.notify:
        script = (
            f'if [ "$CI_JOB_STATUS" != success ]; then echo "memaudit $CI_JOB_STATUS $CI_JOB_URL" | {job.notify}; fi'
        )
        notify = f"  after_script:\n    - {_scalar(script)}\n"
    text = f"""\
# memaudit: weekly audit of the agent's memory
# The time is set under Build > Pipeline schedules: interval pattern  {cron}  time zone  {job.tz or "UTC"}
# ({job.when}). Cache and artifacts hold memory text: in a public project add --redact to the audit.
memaudit:
  image: python:3.12-slim
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
  # One audit at a time; the history is carried on in the cache, also by an audit that found something.
  resource_group: memaudit
  cache:
    key: memaudit
    paths:
      - {_scalar(job.audits + "/")}
    when: always
  script:
    # Once it is published; until then name a checkout: pip install PATH-OR-URL
    - python -m pip install 'agent-memaudit[sentence-transformers]'
    - {_scalar(command)}
{notify}  artifacts:
    when: always
    expire_in: 90 days
    paths:
      - {_scalar(job.audits + "/")}
"""
    return Entry(((_NAME, text),), say("Include it from .gitlab-ci.yml, and add a pipeline schedule."))


def _scalar(text: str) -> str:
    """Write a text as a YAML scalar; JSON's double quotes are YAML's."""
    return json.dumps(text, ensure_ascii=False)
