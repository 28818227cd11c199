"""Settings that nothing reads: named in the report, wherever they came from; no other setting is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import memaudit as package
from memaudit.config import KEYS, Config
from memaudit.registry import builtin_probes
from memaudit.unread_keys import FOR_PROBES, unread_keys
from tests import manual_pages

Run = Callable[..., Any]
NOTE = "No probe of this version reads these settings: recall_tools, split."


@dataclass
class Reader:
    """A probe as far as this module looks at one."""

    reads: tuple[str, ...] = ()
    needs: frozenset[Any] = field(default_factory=frozenset)


def test_keys_for_probes_when_held_against_the_code_then_none_is_missing_and_a_reader_says_so() -> None:
    unread = set(KEYS) - manual_pages.hooks().keys_read()
    assert unread <= FOR_PROBES  # what nothing reads is announced
    declared = {need.value for p in builtin_probes() for need in p.needs}
    declared |= {name for p in builtin_probes() for name in getattr(p, "reads", ())}
    assert FOR_PROBES - unread <= declared  # what is read is not announced


def test_unread_keys_when_given_then_named_in_order_and_silent_once_a_probe_reads_them() -> None:
    config = Config(split="train", recall_tools=("search",), text="content", seed=0)
    assert unread_keys(config, []) == ("recall_tools", "split")
    assert unread_keys(config, [Reader(reads=("split",))]) == ("recall_tools",)  # type: ignore[list-item]
    assert unread_keys(replace(Config(), text="content", generator="a:b"), []) == ()
    assert unread_keys(Config(), []) == ()


def notes(folder: Path) -> list[str]:
    found: list[str] = json.loads((folder / "report.json").read_text("utf-8"))["notes"]
    return [note for note in found if "reads these settings" in note]


WORDS = ("run", "--store", "store.db", "--select", "MA305")


def test_report_when_a_file_or_set_or_the_environment_gives_them_then_the_same_note(
    memaudit: Run, healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memaudit(*WORDS)
    assert notes(tmp_path) == []
    ran = memaudit(*WORDS, "--set", "split=train", "--set", 'recall_tools=["search"]')
    assert notes(tmp_path) == [NOTE]
    assert "1 note on what was not checked in the report" in ran.out
    assert NOTE in (tmp_path / "memaudit-report.html").read_text("utf-8")
    monkeypatch.setenv("MEMAUDIT_SPLIT", "train")
    (tmp_path / "memaudit.toml").write_text('[memaudit]\nrecall_tools = ["search"]\ntime = "created_at"\n')
    memaudit(*WORDS)
    assert notes(tmp_path) == [NOTE]


def test_report_when_python_gives_them_then_the_same_note(healthy: Path) -> None:
    result = package.audit(healthy, isolated=True, select=["MA305"], split="train", recall_tools=["search"])
    assert [note for note in result.audit.notes if "reads these settings" in note] == [NOTE]
