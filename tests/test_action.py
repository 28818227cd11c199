"""The GitHub Action and the pre-commit hook: their own scripts run here, and the services' schemas hold them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
ACTION = ROOT / "action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"

pytestmark = pytest.mark.skipif(not ACTION.is_file(), reason="not a checkout of the repository")


def script_of(step: str) -> str:
    """Return the script of a step, read by its indentation: no YAML reader is needed for it."""
    lines = ACTION.read_text(encoding="utf-8").split(f"- name: {step}\n", 1)[1].splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip().startswith("run: "))
    if not lines[at].strip().endswith("run: |"):
        return lines[at].strip().removeprefix("run: ")
    depth = len(lines[at]) - len(lines[at].lstrip())
    block = []
    for line in lines[at + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            break
        block.append(line)
    return textwrap.dedent("\n".join(block))


@pytest.fixture
def step(tmp_path: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]]:
    """Return a function that runs a step's script as the runner does, and gives its outputs."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not here")
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    python = bin_ / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)

    def run(name: str, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        outputs = tmp_path / "outputs"
        outputs.write_text("")
        environment = {
            **os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), **inputs,
        }  # fmt: skip
        done = subprocess.run(
            [bash, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script_of(name)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return done, dict(line.split("=", 1) for line in outputs.read_text().splitlines())

    return run


def test_action_when_a_finding_fails_then_reports_first_and_the_code_at_the_end(
    step: Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]],
    write_store: Callable[..., Path],
    tmp_path: Path,
) -> None:
    store = write_store([(i, "Run stopped: the task is blocked.", "2026-05-01", None) for i in range(20)])
    inputs = {"STORE": store.name, "ARGUMENTS": "--select MA305\n--isolated", "REDACT": "true"}
    done, outputs = step("Audit", **inputs, FAIL_ON="medium", REPORT=str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr  # the reports are uploaded before the job fails
    assert outputs == {"exit-code": "1", "report": str(tmp_path / "report"), "sarif": "true"}
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert names == {"memaudit-report.html", "report.json", "memaudit.sarif", "memaudit.xml"}
    assert [f["code"] for f in json.loads((tmp_path / "report" / "report.json").read_text())["findings"]] == ["MA305"]
    assert "::warning title=MA305" in done.stdout
    assert "## memaudit" in (tmp_path / "summary.md").read_text()
    assert "task is blocked" not in done.stdout + (tmp_path / "summary.md").read_text()
    assert step("Result", CODE=outputs["exit-code"])[0].returncode == 1


def test_action_when_nothing_fails_then_the_job_is_green(
    step: Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]], healthy: Path, tmp_path: Path
) -> None:
    inputs = {"STORE": healthy.name, "ARGUMENTS": "--isolated", "REDACT": "true", "FAIL_ON": "low"}
    done, outputs = step("Audit", **inputs, REPORT=str(tmp_path / "report"))
    assert (done.returncode, outputs["exit-code"]) == (0, "0"), done.stderr
    assert "::error" not in done.stdout
    assert "No fault found in 24 memories" in (tmp_path / "summary.md").read_text()
    assert step("Result", CODE=outputs["exit-code"])[0].returncode == 0


def test_action_when_it_installs_then_its_own_version_or_what_was_named(
    step: Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]], tmp_path: Path
) -> None:
    default = ACTION.read_text(encoding="utf-8").split("\n  install:\n", 1)[1].split("default: ", 1)[1].splitlines()[0]
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin" / "python").write_text('#!/bin/sh\necho "$@"\n')
    for package, installed in ((default, "/actions/memaudit"), ("agent-memaudit==1.0", "agent-memaudit==1.0")):
        done, _ = step("Install", PACKAGE=package, GITHUB_ACTION_PATH="/actions/memaudit")
        assert done.stdout.split() == ["-m", "pip", "install", "--quiet", installed]


def test_action_when_there_is_no_store_then_3_and_no_sarif(
    step: Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]], tmp_path: Path
) -> None:
    inputs = {"STORE": "missing.db; touch owned", "ARGUMENTS": "--isolated", "REDACT": "false", "FAIL_ON": "never"}
    done, outputs = step("Audit", **inputs, REPORT=str(tmp_path / "report"))
    assert done.returncode == 0
    assert outputs["exit-code"] == "3"
    assert "sarif" not in outputs
    assert not (tmp_path / "owned").exists()
    assert step("Result", CODE="3")[0].returncode == 3
    assert step("Result", CODE="")[0].returncode == 3


def test_scripts_when_read_then_hold_no_expression() -> None:
    """An input written into a script could give orders to the shell."""
    for name in ("Install", "Audit", "Result"):
        assert "${{" not in script_of(name)


def test_files_when_checked_then_meet_the_services_schemas() -> None:
    check = shutil.which("check-jsonschema", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if check is None:
        pytest.skip("check-jsonschema is not installed")
    subprocess.run([check, "--builtin-schema", "vendor.github-actions", str(ACTION)], check=True)


def test_hook_when_read_by_pre_commit_then_valid() -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)], check=True)


def test_hook_when_its_command_runs_then_fails_for_a_dead_guard_only(
    memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    lines = [line.strip() for line in HOOKS.read_text(encoding="utf-8").splitlines()]
    (entry,) = [line.removeprefix("entry: ") for line in lines if line.startswith("entry: ")]
    arguments: list[str]
    (arguments,) = [json.loads(line.removeprefix("args: ")) for line in lines if line.startswith("args: ")]
    program, *words = [*entry.split(), *arguments]
    assert program == "memaudit"
    code = """
        def label():
            return "other"


        def record(text, value):
            if not value:
                value = label()
            return text, value


        def main(text, given):
            record(text, {passed})
        """
    module = tmp_path / "recorder.py"
    module.write_text(textwrap.dedent(code.replace("{passed}", '"tool error"')))
    dead = memaudit(*words)
    assert dead.code == 1
    assert "recorder.py:7" in dead.out
    module.write_text(textwrap.dedent(code.replace("{passed}", '""')))
    assert memaudit(*words).code == 0
