"""Entries that really work: run by the real shell and cron, checked by the tools of each service."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from xml.etree import ElementTree

import pytest

from memaudit.errors import ConfigError
from memaudit.schedule import KINDS, entry
from memaudit.schedule.job import LOG_BYTES, Job, shell_script, stale_test
from memaudit.schedule.when import parse_when

ROOT = Path(__file__).resolve().parents[2]
posix_only = pytest.mark.skipif(os.name != "posix", reason="for /bin/sh")
WINDOWS = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


SERVER = PurePosixPath("/srv/agent")


def job(folder: PurePath = SERVER, **parts: Any) -> Job:
    defaults: dict[str, Any] = {
        "program": ("/srv/agent/.venv/bin/python", "-m", "memaudit"),
        "when": parse_when("Mon 06:00"),
    }
    return Job(folder=folder, **{**defaults, **parts})


def real_job(folder: Path, **parts: Any) -> Job:
    """Return a job that starts this memaudit."""
    program = (sys.executable, "-m", "memaudit")
    return job(folder, program=program, environment={"PYTHONPATH": str(ROOT)}, **parts)


def command_of(text: str) -> str:
    """Return the command of the weekly crontab line, as cron hands it to the shell."""
    line = next(line for line in text.splitlines() if re.match(r"\d", line))
    return line.split(None, 5)[5].replace(r"\%", "%")


# -- the shell line -------------------------------------------------------------------------------


@posix_only
@pytest.mark.parametrize(("found", "code"), [("exit 0", 0), ("exit 1", 1), ("exit 4", 4)])
def test_script_when_run_by_sh_then_log_notice_and_exit_code(
    request: pytest.FixtureRequest, found: str, code: int
) -> None:
    # A short place: a crontab line holds no more than 998 characters, and temporary folders have long names.
    short = Path(tempfile.mkdtemp(prefix="m"))
    request.addfinalizer(lambda: shutil.rmtree(short, ignore_errors=True))
    folder = short / "agent's 100% 'store' $HOME"
    folder.mkdir()
    fake = folder / "fake.sh"
    fake.write_text(f'#!/bin/sh\necho "in $(pwd): $*"\necho oops >&2\n{found}\n')
    fake.chmod(0o755)
    mailed = short / "mailed 100%"
    made = job(folder, program=(str(fake),), options=("--store", "a b.db"), notify=f"cat > {shlex.quote(str(mailed))}")
    for script in (shell_script(made), command_of(entry("cron", made).files[0][1])):
        mailed.unlink(missing_ok=True)
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
        log = (folder / "audits" / "memaudit.log").read_text()
        assert f"in {folder}: run --history audits --out audits --fail-on new --store a b.db" in log
        assert "oops" in log
        assert mailed.exists() is (code != 0)
        if code:
            assert mailed.read_text().startswith(f"memaudit: exit code {code} in {folder}, log ")
            assert "oops" in mailed.read_text()


@posix_only
def test_script_when_the_folder_is_gone_then_3_and_told(tmp_path: Path) -> None:
    script = shell_script(job(tmp_path / "gone", program=("true",)))
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3
    assert "exit code 3" in done.stdout


@posix_only
def test_script_when_the_log_is_large_then_put_aside_and_kept_to_its_owner(tmp_path: Path) -> None:
    made = job(tmp_path, program=("echo",))
    log = tmp_path / "audits" / "memaudit.log"
    log.parent.mkdir()
    log.write_text("x" * (LOG_BYTES + 1))
    for _ in range(2):
        assert subprocess.run(["/bin/sh", "-c", shell_script(made)], timeout=120, check=False).returncode == 0
    assert log.stat().st_size < 1000
    assert log.read_text().count("run --history") == 2
    assert log.with_name("memaudit.log.1").stat().st_size == LOG_BYTES + 1
    assert log.stat().st_mode & 0o077 == 0


@posix_only
def test_stale_test_when_a_run_was_missed_then_fails(
    tmp_path: Path, healthy: Path, memaudit: Callable[..., Any]
) -> None:
    made = real_job(tmp_path)

    def stale() -> int:
        return subprocess.run(["/bin/sh", "-c", stale_test(made)], timeout=120, check=False).returncode

    assert stale() != 0
    assert memaudit("run", "--store", healthy, "--history", "audits", "-q", "--select", "contents").code == 0
    assert stale() == 0
    assert "--max-age 169h" in stale_test(made)


# -- cron -----------------------------------------------------------------------------------------


def test_cron_when_printed_then_percent_is_escaped_and_the_days_are_crons() -> None:
    made = job(PurePosixPath("/srv/100%"), notify="mail -s 50% a@b", when=parse_when("Sun,Wed 23:05"))
    text = entry("cron", made).files[0][1]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines[0].startswith("5 23 * * 3,0  ")
    assert lines[1].startswith("@reboot  ")
    for line in lines:
        assert re.search(r"(?<!\\)%", line) is None
        assert r"/srv/100\%" in line
    daily = entry("cron", job(when=parse_when("06:00"))).files[0][1]
    assert "\n0 6 * * *  " in daily


def test_cron_when_the_line_is_too_long_then_refused() -> None:
    with pytest.raises(ConfigError, match="cron takes 990"):
        entry("cron", job(options=("--set", "x" * 900)))


# -- systemd --------------------------------------------------------------------------------------


def test_systemd_when_printed_then_caught_up_and_exit_code_1_is_no_failure() -> None:
    service, timer = (text for _, text in entry("systemd", job(tz="Asia/Shanghai", notify="mail x")).files)
    assert "SuccessExitStatus=1\n" in service
    assert 'ExecStopPost=/bin/sh -c "if [ \\"$$EXIT_STATUS\\" != 0 ]' in service
    assert "OnCalendar=Mon *-*-* 06:00:00 Asia/Shanghai\n" in timer
    for line in ("Persistent=true", "RandomizedDelaySec=15m", "WantedBy=timers.target"):
        assert line in timer.splitlines()


def test_systemd_when_a_word_holds_signs_then_they_mean_themselves() -> None:
    made = job(PurePosixPath("/srv/a b 100%"), options=("--store", 'say "$x".db'), environment={"P": "/a $b"})
    service = entry("systemd", made).files[0][1]
    assert "WorkingDirectory=/srv/a b 100%%\n" in service
    assert 'Environment="P=/a $b"\n' in service
    assert '--store "say \\"$$x\\".db"' in service


def test_systemd_when_verified_then_no_complaint(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    folder = tmp_path / "agent 100%"
    folder.mkdir()
    paths = []
    for name, text in entry("systemd", real_job(folder, notify='mail -s "5% $x" a@b', tz="Asia/Shanghai")).files:
        paths.append(tmp_path / name)
        paths[-1].write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, paths)], capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip
    own = [line for line in (done.stdout + done.stderr).splitlines() if "memaudit" in line]
    assert (done.returncode, own) == (0, [])


# -- the services' own schemas --------------------------------------------------------------------


def check_schema(path: Path, *options: str) -> None:
    tool = shutil.which("check-jsonschema", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if tool is None:
        pytest.skip("check-jsonschema is not installed (python -m pip install check-jsonschema)")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [tool, *options, str(path)], capture_output=True, text=True, timeout=120, check=False, env=environment
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


HOSTILE = ("--set", "where=a: b # \"c\" 'd' ${{ secrets.X }}")


@pytest.mark.parametrize("parts", [{}, {"options": HOSTILE, "notify": "mail -s \"a: b\" '{x}'", "tz": "Europe/Berlin"}])
def test_github_when_printed_then_meets_the_schema(tmp_path: Path, parts: dict[str, Any]) -> None:
    ((name, text),) = entry("github", job(**parts)).files
    assert name == ".github/workflows/memaudit.yml"
    path = tmp_path / "memaudit.yml"
    path.write_text(text)
    assert "secrets.X }}" not in text or "${{ secrets" not in text
    check_schema(path, "--builtin-schema", "vendor.github-workflows")


def test_github_when_printed_then_kept_uploaded_and_utc() -> None:
    text = entry("github", job(when=parse_when("Mon 06:17"), tz="Asia/Shanghai")).files[0][1]
    assert "    - cron: '17 22 * * 0'  # Sun 22:17 UTC (Mon 06:17 Asia/Shanghai)\n" in text
    assert "permissions:\n  contents: read\n" in text
    assert "concurrency:\n  group: memaudit\n" in text
    # what was found is kept and uploaded also when the audit fails
    for step in ("actions/cache/save", "actions/upload-artifact"):
        before = text[: text.index(step)]
        assert before.rstrip().endswith("uses:")
        assert before.splitlines()[-2].strip() == "if: always()"


@pytest.mark.parametrize("parts", [{}, {"options": HOSTILE, "notify": "mail -s \"a: b\" '{x}'", "tz": "Europe/Berlin"}])
def test_gitlab_when_printed_then_meets_the_schema(tmp_path: Path, parts: dict[str, Any]) -> None:
    ((name, text),) = entry("gitlab", job(**parts)).files
    path = tmp_path / name
    path.write_text(text)
    assert "0 6 * * 1" in text
    check_schema(path, "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci")


@posix_only
@pytest.mark.parametrize(("kind", "step"), [("github", "        run: "), ("gitlab", "    - ")])
def test_workflow_when_its_own_command_is_run_by_bash_then_every_word_arrives(
    tmp_path: Path, kind: str, step: str
) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not here")
    options = ("--set", "where=a: b # \"c\" 'd' $HOME `e`")
    text = entry(kind, job(options=options)).files[0][1]
    (line,) = [line for line in text.splitlines() if line.startswith(f'{step}"memaudit run')]
    command = json.loads(line.removeprefix(step))  # a double-quoted scalar of YAML without escapes of its own is JSON
    (tmp_path / "memaudit").write_text('#!/bin/sh\nprintf "%s\\n" "$@" >words\nexit 1\n')
    (tmp_path / "memaudit").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-eo", "pipefail", "-c", command], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 1  # what the audit said is what the job says
    words = ["run", "--history", "audits", "--out", "audits", "--fail-on", "new", *options]
    assert (tmp_path / "words").read_text().splitlines() == words


# -- launchd, Task Scheduler ----------------------------------------------------------------------

#: Keys of launchd.plist(5) that an entry may use, and what their values must be.
LAUNCHD: dict[str, Callable[[Any], bool]] = {
    "Label": lambda v: isinstance(v, str) and re.fullmatch(r"[A-Za-z0-9.-]+", v) is not None,
    "ProgramArguments": lambda v: isinstance(v, list) and all(isinstance(word, str) for word in v) and v[0][0] == "/",
    "StartCalendarInterval": lambda v: all(
        set(moment) <= {"Minute", "Hour", "Day", "Weekday", "Month"}
        and all(type(n) is int for n in moment.values())
        and 0 <= moment["Minute"] < 60
        and 0 <= moment["Hour"] < 24
        and 0 <= moment.get("Weekday", 0) <= 7
        for moment in v
    ),
    "WorkingDirectory": lambda v: isinstance(v, str) and v.startswith("/"),
    "Nice": lambda v: type(v) is int and -20 <= v <= 20,
    "ProcessType": lambda v: v in ("Background", "Standard", "Adaptive", "Interactive"),
}


@pytest.mark.parametrize("when", ["Mon 06:00", "Mon,Sun 23:59", "06:30"])
def test_launchd_when_read_then_documented_keys_with_values_of_their_kind(when: str) -> None:
    plist = plistlib.loads(entry("launchd", job(when=parse_when(when), tz="Asia/Shanghai")).files[0][1].encode())
    assert set(plist) <= set(LAUNCHD)
    assert [key for key, value in plist.items() if not LAUNCHD[key](value)] == []


@posix_only
def test_launchd_when_its_program_is_run_then_the_audit_is_kept(tmp_path: Path, healthy: Path) -> None:
    (tmp_path / "memaudit.toml").write_text(f'[memaudit]\nstore = "{healthy}"\nselect = ["contents"]\n')
    plist = plistlib.loads(entry("launchd", real_job(tmp_path, options=("--fail-on", "never"))).files[0][1].encode())
    done = subprocess.run(plist["ProgramArguments"], cwd=plist["WorkingDirectory"], timeout=120, check=False)
    assert done.returncode == 0, (tmp_path / "audits" / "memaudit.log").read_text()
    assert len(list((tmp_path / "audits" / "pages").iterdir())) == 1


def test_launchd_when_parsed_then_days_and_script() -> None:
    made = job(PurePosixPath("/Users/me/my <agent> & co"), when=parse_when("Mon,Sun 06:30"), notify="mail 'a & b'")
    ((name, text),) = entry("launchd", made).files
    plist = plistlib.loads(text.encode())
    assert name == f"{plist['Label']}.plist" == "memaudit.my-agent-co.plist"
    assert plist["StartCalendarInterval"] == [
        {"Hour": 6, "Minute": 30, "Weekday": 1},
        {"Hour": 6, "Minute": 30, "Weekday": 0},
    ]
    assert plist["ProgramArguments"] == ["/bin/sh", "-c", shell_script(made)]
    daily = plistlib.loads(entry("launchd", job(when=parse_when("06:30"))).files[0][1].encode())
    assert daily["StartCalendarInterval"] == [{"Hour": 6, "Minute": 30}]


def test_schtasks_when_read_then_elements_stand_where_the_schema_has_them() -> None:
    """The order that Task Scheduler's schema asks for; the elements of `Settings` may come in any."""
    root = ElementTree.fromstring(entry("schtasks", job(PureWindowsPath("C:\\agent"))).files[0][1])

    def below(path: str) -> list[str]:
        found = root.find("/".join(f"{WINDOWS}{part}" for part in path.split("/"))) if path else root
        assert found is not None, path
        return [child.tag.removeprefix(WINDOWS) for child in found]

    assert below("") == ["RegistrationInfo", "Triggers", "Settings", "Actions"]
    assert below("Triggers/CalendarTrigger") == ["StartBoundary", "Enabled", "ScheduleByWeek"]
    assert below("Triggers/CalendarTrigger/ScheduleByWeek") == ["DaysOfWeek", "WeeksInterval"]
    assert below("Actions/Exec") == ["Command", "Arguments", "WorkingDirectory"]
    settings = {child.tag.removeprefix(WINDOWS): child.text for child in root.iterfind(f"{WINDOWS}Settings/*")}
    assert settings == {
        "MultipleInstancesPolicy": "IgnoreNew",
        "DisallowStartIfOnBatteries": "false",
        "StopIfGoingOnBatteries": "false",  # a laptop that is unplugged must not cut the audit off
        "StartWhenAvailable": "true",
        "ExecutionTimeLimit": "PT2H",
        "Priority": "7",
    }
    assert root.attrib == {"version": "1.2"}


def test_schtasks_when_its_arguments_are_read_then_quotes_and_brackets_are_closed() -> None:
    made = job(PureWindowsPath("C:\\a b (c) & d"), program=("C:\\p q\\python.exe", "-m", "memaudit"), notify="tell.exe",
               options=("--set", "where=kind = 'x y'"))  # fmt: skip
    ((_, text),) = entry("schtasks", made).files
    arguments = ElementTree.fromstring(text).findtext(f".//{WINDOWS}Arguments") or ""
    assert arguments.startswith('/d /v:on /c "')
    inner = arguments.removeprefix('/d /v:on /c "').removesuffix('"')
    assert inner.count('"') % 2 == 0
    bare = re.sub(r'"[^"]*"', "", inner)
    assert bare.count("(") == bare.count(")")
    assert "where=kind = 'x y'" in inner


def test_schtasks_when_parsed_then_caught_up_one_at_a_time_and_exit_code_kept() -> None:
    folder = PureWindowsPath("C:\\agent & co")
    made = job(
        folder,
        program=("C:\\Program Files\\py\\python.exe", "-m", "memaudit"),
        when=parse_when("Mon,Fri 06:00"),
        notify="tell.exe",
    )
    ((_, text),) = entry("schtasks", made).files
    root = ElementTree.fromstring(text)

    def value(path: str) -> str:
        found = root.find("/".join(f"{WINDOWS}{part}" for part in path.split("/")))
        assert found is not None, path
        return found.text or ""

    assert value("Triggers/CalendarTrigger/StartBoundary").endswith("T06:00:00")
    days = root.find(f"{WINDOWS}Triggers/{WINDOWS}CalendarTrigger/{WINDOWS}ScheduleByWeek/{WINDOWS}DaysOfWeek")
    assert days is not None
    assert [day.tag.removeprefix(WINDOWS) for day in days] == ["Monday", "Friday"]
    assert value("Settings/StartWhenAvailable") == "true"
    assert value("Settings/MultipleInstancesPolicy") == "IgnoreNew"
    assert value("Actions/Exec/WorkingDirectory") == "C:\\agent & co"
    command = value("Actions/Exec/Arguments")
    assert '"C:\\Program Files\\py\\python.exe" -m memaudit run --history audits --out audits --fail-on new' in command
    assert '>>"audits\\memaudit.log" 2>&1 & set c=!errorlevel!& ' in command
    assert command.endswith('exit !c!"')
    with pytest.raises(ConfigError, match="'!'"):
        entry("schtasks", replace(made, options=("--store", "wow!.db")))


# -- all kinds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_entry_when_made_then_runs_the_history_and_fails_on_new_only(kind: str) -> None:
    made = entry(kind, job(options=("--store", "notes.db")))
    text = "\n".join(text for _, text in made.files)
    assert re.search(r"run --history \S*audits\"? --out \S*audits\"? --fail-on new --store notes\.db", text)
    assert "memaudit" in text[:4096]  # known as ours when it is overwritten
    assert made.where


def test_job_when_a_path_holds_a_line_end_then_refused() -> None:
    with pytest.raises(ConfigError, match="line end"):
        job(PurePosixPath("/srv/a\nb"))
    with pytest.raises(ConfigError, match="line end"):
        job(notify="mail\n0 0 * * * rm")
