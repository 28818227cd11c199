"""The pytest plugin, tried in test runs of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return an empty project whose pytest has the plugin, as the entry point would load it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return pytester


def plugin() -> tuple[str, str]:
    """Name the plugin: its entry point where memaudit is installed, for pytest takes no plugin twice."""
    installed = entry_points(group="pytest11", name="memaudit")
    return "-p", "memaudit" if installed else "memaudit.pytest_plugin"


def store_of(folder: Path, texts: list[str]) -> None:
    with closing(sqlite3.connect(folder / "experiences.db")) as connection, connection:
        connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
        connection.executemany("INSERT INTO memories (content) VALUES (?)", [(t,) for t in texts])
    connection.close()


def run(project: pytest.Pytester, body: str) -> pytest.RunResult:
    project.makepyfile(test_memory=f"def test_memory(memaudit):\n    {body}\n")
    return project.runpytest_inprocess(*plugin(), "-p", "no:cacheprovider")


CHECK = 'assert not memaudit.run("experiences.db", isolated=True, select=["MA305", "MA302"]).above("medium")'


def test_plugin_when_the_store_has_findings_then_fails_and_lists_them(project: pytest.Pytester) -> None:
    store_of(project.path, ["Run stopped: 任务被阻止。"] * 20)
    result = run(project, CHECK)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*assert not <1 finding: MA305 medium>*",
            "*- memaudit: experiences.db -*",
            "MA305 medium: 19 of 20 (95.0 %) rows are identical extra copies*(memories.content)",
            "not run: MA302",
        ]
    )


def test_plugin_when_the_store_is_clean_then_passes_silently(project: pytest.Pytester, healthy: Path) -> None:
    (project.path / "experiences.db").write_bytes(healthy.read_bytes())
    result = run(project, CHECK)
    result.assert_outcomes(passed=1)
    assert "MA305" not in result.stdout.str()


def test_plugin_when_nothing_was_audited_then_fails(project: pytest.Pytester) -> None:
    store_of(project.path, [])
    body = 'assert not memaudit.run("experiences.db", isolated=True).above("medium")'
    result = run(project, body)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*memaudit: nothing was audited: 0 rows.*"])
    allowed = 'memaudit.run("experiences.db", isolated=True, allow_incomplete=True)'
    run(project, allowed).assert_outcomes(passed=1)


def test_plugin_when_the_project_has_such_a_fixture_then_that_one_wins(project: pytest.Pytester) -> None:
    project.makeconftest("import pytest\n\n\n@pytest.fixture\ndef memaudit():\n    return 'ours'\n")
    run(project, "assert memaudit == 'ours'").assert_outcomes(passed=1)


def test_plugin_when_fixtures_are_listed_then_documented(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(*plugin(), "--fixtures")  # and once as users run it
    result.stdout.fnmatch_lines(["memaudit -- *pytest_plugin.py*", "*Audit stores of an agent's memory*"])


def test_fixture_when_our_own_tests_use_it_then_the_command_line(memaudit: Callable[..., Any]) -> None:
    assert memaudit("--version").out.startswith("memaudit")
