"""`--on-finding`: the command gets the report on stdin; whatever it does, only a warning comes of it."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from memaudit.on_finding import hand_over

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands of these tests are for /bin/sh")


def test_hand_over_when_the_command_reads_then_it_gets_the_whole_report(tmp_path: Path) -> None:
    report = json.dumps({"title": "标题 \ud800"}, ensure_ascii=False) + "x" * 200_000
    assert hand_over(f"cat > {shlex.quote(str(tmp_path / 'got it'))}", report) == ""
    assert (tmp_path / "got it").read_text("utf-8").endswith("x" * 100)
    assert "标题" in (tmp_path / "got it").read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "problem"),
    [("exit 7", "ended with exit code 7"), ("no-such-command-here 2>/dev/null", "ended with exit code 127")],
)
def test_hand_over_when_the_command_fails_then_said(command: str, problem: str) -> None:
    assert hand_over(command, "{}") == problem


def test_hand_over_when_the_command_does_not_read_then_no_error() -> None:
    assert hand_over("true", "x" * 1_000_000) == ""


def test_hand_over_when_the_command_hangs_then_it_and_its_children_are_stopped(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    child = (
        f"{shlex.quote(sys.executable)} -c \"import time,pathlib; time.sleep(1.5); pathlib.Path('{alive}').touch()\""
    )
    assert hand_over(f"{child} & wait", "{}", time_limit_s=0.3) == "did not end within 0.3 s and was stopped"
    time.sleep(1.6)
    assert not alive.exists()


def test_hand_over_when_the_command_prints_then_stdout_stays_pure(capfd: pytest.CaptureFixture[str]) -> None:
    assert hand_over("echo told", "{}") == ""
    out, err = capfd.readouterr()
    assert out == ""
    assert "told" in err
