"""In a CI service: the step's summary, logs that obey commands, and every format from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from memaudit.ci import SUMMARY_BYTES, without_commands
from memaudit.output import check_writable

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the service that runs these tests out of them."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the summary file of a step of GitHub Actions, not yet there."""
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    return summary


def test_summary_when_in_actions_then_appended(memaudit: Run, healthy: Path, step: Path) -> None:
    step.write_text("# before\n")
    assert memaudit("run", "--store", healthy, "-q").code == 0
    text = step.read_text()
    assert text.startswith("# before\n\n<!-- memaudit -->\n\n## memaudit: No fault found in 24 memories")
    assert memaudit("run", "--store", healthy, "-q").code == 0
    assert step.read_text().count("## memaudit") == 2


def test_summary_when_refused_or_outside_actions_then_nothing(
    memaudit: Run, healthy: Path, step: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memaudit("run", "--store", healthy, "-q", "--no-ci").code == 0
    assert not step.exists()
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert memaudit("run", "--store", healthy, "-q").code == 0
    assert not step.exists()


def test_summary_when_full_or_not_writable_then_a_warning_and_the_same_exit_code(
    memaudit: Run, healthy: Path, step: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step.write_bytes(b"x" * (SUMMARY_BYTES - 10))
    ran = memaudit("run", "--store", healthy)
    assert ran.code == 0
    assert "warning: the step's summary holds 1,048,566 bytes already" in ran.err
    assert step.stat().st_size == SUMMARY_BYTES - 10
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step.parent / "missing" / "summary.md"))
    ran = memaudit("run", "--store", healthy)
    assert ran.code == 0
    assert "warning: the step's summary cannot be written" in ran.err


def test_summary_when_redacted_then_no_store_text(memaudit: Run, write_store: Run, step: Path) -> None:
    store = write_store([(i, "Run stopped: the task is blocked.", "2026-05-01", None) for i in range(20)])
    assert memaudit("run", "--store", store, "--redact", "-q").code == 0
    assert "MA305" in step.read_text()
    assert "task is blocked" not in step.read_text()


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\n  ::error::x", "a\n  : :error::x"),
        ("::stop-commands::t", ": :stop-commands::t"),
        ("a ##[add-path]b", "a ## [add-path]b"),
        ("std::string, 12:30 ## x", "std::string, 12:30 ## x"),
    ],
)
def test_commands_when_in_a_text_then_broken(text: str, safe: str) -> None:
    assert without_commands(text) == safe


def test_text_when_printed_in_actions_then_gives_no_order(
    memaudit: Run, copies: Path, step: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memaudit("run", "--store", copies, "--format", "json=r.json", "--no-ci")
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    report["findings"][0]["title"] = "word " * 20 + "::error::boo ##[error]boo"
    Path("r.json").write_text(json.dumps(report), encoding="utf-8")
    assert "## [error]" in memaudit("report", "r.json", "--format", "text").out
    monkeypatch.setenv("GITHUB_ACTIONS", "")
    assert "##[error]" in memaudit("report", "r.json", "--format", "text").out


FORMATS = ("text", "html", "json", "jsonl", "markdown", "sarif", "junit", "gitlab", "github")


@pytest.fixture
def copies(write_store: Run) -> Path:
    """Return a store of copies: MA305 and more."""
    store: Path = write_store([(i, "Run stopped: 任务被阻止。", "2026-05-01", None) for i in range(20)])
    return store


def test_formats_when_all_are_asked_for_then_all_written_and_again(memaudit: Run, copies: Path, tmp_path: Path) -> None:
    words = [w for name in FORMATS for w in ("--format", f"{name}={tmp_path / 'out' / name}.x")]
    for _ in range(2):  # what memaudit wrote it may write again
        ran = memaudit("run", "--store", copies, *words)
        assert (ran.code, ran.out) == (0, "")
        assert sorted(p.stem for p in (tmp_path / "out").iterdir()) == sorted(FORMATS)
    for name in FORMATS:
        assert "MA305" in (tmp_path / "out" / f"{name}.x").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_report_when_rendered_again_then_as_the_run_wrote_it(
    memaudit: Run, copies: Path, tmp_path: Path, name: str
) -> None:
    memaudit("run", "--store", copies, "--format", "json=r.json", "--format", f"{name}=first.x")
    ran = memaudit("report", "r.json", "--format", f"{name}=again.x")
    assert ran.code == 0
    assert (tmp_path / "again.x").read_bytes() == (tmp_path / "first.x").read_bytes()


def test_format_when_without_a_path_then_pure_on_stdout(memaudit: Run, copies: Path) -> None:
    assert json.loads(memaudit("run", "--store", copies, "--format", "sarif", "-v").out)["version"] == "2.1.0"
    assert Xml.fromstring(memaudit("run", "--store", copies, "--format", "junit").out).tag == "testsuites"
    assert memaudit("run", "--store", copies, "--format", "github").out.startswith("::notice title=memaudit")


def test_code_quality_when_empty_then_written_over(tmp_path: Path) -> None:
    (tmp_path / "cq.json").write_text("[]\n")
    check_writable(tmp_path / "cq.json", force=False)


def test_formats_when_the_help_is_shown_then_each_is_named(memaudit: Run) -> None:
    for command in ("run", "report"):
        text = memaudit(command, "--help").out
        assert all(name in text for name in FORMATS)
