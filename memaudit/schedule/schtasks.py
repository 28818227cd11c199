"""A task for the Windows Task Scheduler, as XML."""

from __future__ import annotations

import subprocess
from xml.sax.saxutils import escape

from memaudit.errors import ConfigError
from memaudit.schedule.job import LOG_BYTES, Entry, Job
from memaudit.schedule.when import on_clock, zone
from memaudit.wording import say

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def entry(job: Job) -> Entry:
    """Return the task: one at a time, caught up when missed, stopped after two hours.

    The file names no encoding: UTF-8 is what XML means then, and PowerShell's UTF-16 is known by its first bytes.
    """
    when = on_clock(job.when, zone(job.tz), None) if job.tz else job.when
    days = "".join(f"<{_DAYS[day]} />" for day in when.days)
    text = f"""\
<?xml version="1.0"?>
<!-- memaudit: weekly audit of the agent's memory -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Audit of the agent's memory (memaudit)</Description>
  </RegistrationInfo>
  <Triggers>
    <CalendarTrigger>
      <StartBoundary>2026-01-05T{when.clock}:00</StartBoundary>
      <Enabled>true</Enabled>
      <ScheduleByWeek>
        <DaysOfWeek>{days}</DaysOfWeek>
        <WeeksInterval>1</WeeksInterval>
      </ScheduleByWeek>
    </CalendarTrigger>
  </Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT2H</ExecutionTimeLimit>
    <Priority>7</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>cmd.exe</Command>
      <Arguments>{escape(_arguments(job))}</Arguments>
      <WorkingDirectory>{escape(str(job.folder))}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
"""
    return Entry(
        (("memaudit-task.xml", text),), say("Register it: schtasks /create /tn memaudit /xml memaudit-task.xml")
    )


def _arguments(job: Job) -> str:
    """Return the command for cmd.exe: own log, put aside when large, notification, exit code kept.

    `/v:on` makes `!c!` the code of the audit; a `!` in a path would be lost, so it is refused.
    """
    home = job.audits.replace("/", "\\")
    plain = f"{home}\\memaudit.log"
    log, home = f'"{plain}"', f'"{home}"'
    variables = "".join(f'set "{name}={value}"& ' for name, value in sorted(job.environment.items()))
    command = subprocess.list2cmdline(job.arguments)
    if "!" in f"{log}{variables}{command}{job.notify}":
        raise ConfigError(say("a path or option holds '!'; cmd.exe cannot take that."))
    rotate = f'for %F in ({log}) do @if %~zF GTR {LOG_BYTES} move /y {log} "{job.log}.1" >nul'
    tell = f'(if not "!c!"=="0" (type {log} | {job.notify})) & ' if job.notify else ""
    return (
        f'/d /v:on /c "(if not exist {home} mkdir {home}) & (if exist {log} ({rotate})) & {variables}'
        f'{command} >>{log} 2>&1 & set c=!errorlevel!& {tell}exit !c!"'
    )
