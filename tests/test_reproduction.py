"""The command beside a finding, run as it stands, shows that finding again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from memaudit.reproduction import command_for


@pytest.mark.parametrize(
    ("command", "again"),
    [
        ("memaudit run --store 'my store.db'", "memaudit run --store 'my store.db' --select MA305 --format text"),
        ("memaudit run --select MA3 --ignore=MA306 --by lang", "memaudit run --by lang --select MA305 --format text"),
        ("memaudit run --select=MA3 --ignore MA306 --open", "memaudit run --select MA305 --format text"),
        (
            "memaudit run --config a.toml --out q -q --format json=x.json --history=h --on-finding 'mail me' -vv --no-ci",
            "memaudit run --config a.toml --select MA305 --format text",
        ),
        ("memaudit eval --queries q.jsonl", "memaudit eval --queries q.jsonl --select MA305 --format text"),
        ("memaudit.audit('x.db', text='body')", "memaudit.audit('x.db', text='body', select=['MA305'])"),
        (
            "memaudit.audit('x.db', select=('MA3', 'MA5'), text='b')",
            "memaudit.audit('x.db', text='b', select=['MA305'])",
        ),
        ("memaudit.audit(<20 rows>, text='body')", "memaudit.audit(..., select=['MA305'])"),
        ("memaudit mcp", "memaudit run --select MA305 --format text"),
        ("", "memaudit run --select MA305 --format text"),
        ("memaudit run --where \"a = 'b", "memaudit run --select MA305 --format text"),
    ],
)
def test_command_when_one_rule_is_wanted_then_inputs_stay_and_the_selection_goes(command: str, again: str) -> None:
    assert command_for("MA305", command) == again


def test_command_when_the_rule_comes_with_every_run_then_the_selection_stays() -> None:
    assert command_for("", "memaudit run --select MA3 --out q -q") == "memaudit run --select MA3 --format text"
    assert command_for("", "memaudit.audit('x.db')") == "memaudit.audit('x.db')"


def test_findings_of_code_when_reproduced_then_by_the_run_itself(
    write_store: Callable[..., Path], memaudit_process: Callable[..., CompletedProcess[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "gen.py").write_text(
        "def label(text):\n    if 'deploy' in text:\n        return 'deploy'\n    return 'other'\n"
    )
    rows = [(i, f"note {i}", "other") for i in range(20)] + [(20, "deploy now", "deploy")]
    store = write_store(rows, "id INTEGER PRIMARY KEY, content TEXT, kind TEXT")
    generator = ("--value-field", "kind", "--generator", "gen.py:label", "--set", 'generator_args=["content"]')
    first = memaudit_process("run", "--store", store, *generator)
    assert first.returncode == 0, first.stderr
    findings = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["findings"]
    (finding,) = [one for one in findings if one["code"] == "MA101"]
    again = memaudit_process(*shlex.split(finding["reproduce"])[1:])
    assert b"20 of 21" in again.stdout


def test_findings_when_their_commands_are_run_then_each_comes_again(
    write_store: Callable[..., Path], memaudit_process: Callable[..., CompletedProcess[bytes]], tmp_path: Path
) -> None:
    texts = [f"deploy number {i} of the billing service failed" for i in range(20)] + ["the same text"] * 6 + ["", " "]
    store = write_store([(i + 1, text, None, None) for i, text in enumerate(texts)])
    first = memaudit_process("run", "--store", store, "--select", "contents", "--select", "duplicates")
    assert first.returncode == 0, first.stderr
    findings = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["findings"]
    assert {"MA003", "MA305"} <= {finding["code"] for finding in findings}
    for finding in findings:
        words = shlex.split(finding["reproduce"])
        assert words[0] == "memaudit"
        assert words[-2:] == ["--format", "text"]
        assert memaudit_process(*words[1:-2]).returncode == 0
        again = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["findings"]
        (same,) = [one for one in again if one["fingerprint"] == finding["fingerprint"]]
        assert (same["title"], same["figures"]) == (finding["title"], finding["figures"])
