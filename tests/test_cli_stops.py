"""What stops a command: one line with the remedy, and the documented exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.commands.shared import summary_width

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["rnu"], "error: No such command 'rnu'. Did you mean 'run'? See `memaudit --help`."),
        (["explain"], "error: Missing argument 'CODE'. See `memaudit explain --help`."),
        (["run", "--store"], "error: Option '--store' requires an argument. See `memaudit --help`."),
    ],
)
def test_usage_when_wrong_then_one_line_with_the_page_that_helps(memaudit: Run, words: list[str], line: str) -> None:
    ran = memaudit(*words)
    assert (ran.code, ran.out, ran.err.splitlines()) == (2, "", [line])


def test_choice_when_unknown_then_the_list_of_them_stays_in_the_line(memaudit: Run) -> None:
    ran = memaudit("queries")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert "template, log, heldout" in ran.err


@pytest.mark.skipif(os.name == "nt", reason="names of files differ")
@pytest.mark.parametrize("option", ["--store", "--config", "--history", "--out"])
def test_name_when_the_system_refuses_it_then_one_line_and_3(memaudit: Run, healthy: Path, option: str) -> None:
    named = [] if option == "--store" else ["--store", healthy]
    ran = memaudit("run", *named, option, 300 * "x")
    assert ran.code == 3
    assert len(ran.err.splitlines()) == 1
    assert "File name too long" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_stdout_when_full_then_one_line_and_3(memaudit_process: Run, healthy: Path) -> None:
    code = "import sys; sys.stdout = open('/dev/full', 'w'); from memaudit.cli import main; main(sys.argv[1:])"
    done = memaudit_process("run", "--store", healthy, "--select", "MA0", python=code)
    assert done.returncode == 3
    assert done.stderr.decode().splitlines() == ["error: the output: No space left on device."]


def test_streams_when_closed_then_the_audit_goes_on(memaudit_process: Run, healthy: Path) -> None:
    code = "import sys; sys.stdout = sys.stderr = None; from memaudit.cli import main; main(sys.argv[1:])"
    assert memaudit_process("run", "--store", healthy, "--select", "MA0", python=code).returncode == 0
    assert memaudit_process("run", "--store", "missing.db", python=code).returncode == 3


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed")
def test_current_folder_when_gone_then_one_line_and_3(memaudit_process: Run, tmp_path: Path, healthy: Path) -> None:
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.chdir('gone'); os.rmdir('../gone'); from memaudit.cli import main; main(sys.argv[1:])"
    done = memaudit_process("run", "--store", healthy, python=code)
    assert done.returncode == 3
    assert done.stderr.decode().splitlines() == ["error: the current folder cannot be used: No such file or directory."]


def test_incomplete_or_empty_when_quiet_then_stderr_says_why(memaudit: Run, healthy: Path) -> None:
    ran = memaudit("run", "--store", healthy, "--quiet", "--encoder", "no-such-model")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: model no-such-model is not on this disk, and downloads are off. Give --encoder")
    assert len(ran.err.splitlines()) == 1
    reasons = [one["reason"] for one in json.loads((healthy.parent / "report.json").read_text())["not_run"]]
    assert "model no-such-model is not on this disk, and the store holds no vectors of production's" in reasons
    ran = memaudit("run", "--store", healthy, "--quiet", "--select", "MA0", "--set", "where=1=0")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "note: nothing to audit: 0 of 24 rows of table memories are used.\n"


def test_store_when_its_user_or_scheme_is_unknown_then_one_line_with_the_remedy(memaudit: Run) -> None:
    ran = memaudit("run", "--store", "~nobody-of-this-name/s.db")
    assert (ran.code, len(ran.err.splitlines())) == (3, 1)
    assert ran.err.startswith("error: no such store: ~nobody-of-this-name/s.db")
    ran = memaudit("run", "--store", "sqlite:///s.db")
    assert (ran.code, len(ran.err.splitlines())) == (3, 1)
    assert "Give the path of the file." in ran.err


def test_plan_when_the_audit_is_incomplete_or_empty_then_not_0(memaudit: Run, healthy: Path) -> None:
    ran = memaudit("plan", "--store", healthy, "--encoder", "no-such-model", "--out", "plan.json")
    assert (ran.code, (healthy.parent / "plan.json").is_file()) == (3, True)
    assert "error: model no-such-model is not on this disk" in ran.err
    ran = memaudit("plan", "--store", healthy, "--set", "where=1=0")
    assert ran.code == 4
    assert "note: nothing to audit" in ran.err


@pytest.mark.parametrize(("part", "format_"), [("subject", "github"), ("figures", "html=p.html"), ("lane", "sarif")])
def test_report_when_a_part_was_changed_to_another_type_then_one_line_and_2(
    memaudit: Run, healthy: Path, part: str, format_: str
) -> None:
    twin = healthy.parent / "report.json"
    memaudit("run", "--store", healthy, "--select", "MA0")
    report = json.loads(twin.read_text())
    report["findings"][0][part] = -1.5
    twin.write_text(json.dumps(report))
    ran = memaudit("report", twin, "--format", format_)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "is no report of memaudit" in ran.err


def test_out_when_a_file_stands_in_the_way_then_refused_before_the_audit(memaudit: Run, healthy: Path) -> None:
    for words in (["--out", healthy], ["--format", f"json={healthy}/report.json"]):
        ran = memaudit("run", "--store", healthy, *words)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"error: {healthy} is a file; a folder was expected. Name another place.\n"


def test_summary_when_the_terminal_is_narrow_then_as_wide_as_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert summary_width() == 40
    monkeypatch.setenv("COLUMNS", "220")
    assert summary_width() == 100
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert summary_width() == 100
