from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memaudit.guards import Guard, GuardReport, find_guards


@pytest.fixture
def scan(tmp_path: Path) -> Callable[..., GuardReport]:
    """Write some files and search them."""

    def write_and_scan(files: Mapping[str, str] | str) -> GuardReport:
        sources = {"mod.py": files} if isinstance(files, str) else files
        for name, text in sources.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return find_guards([tmp_path / "tree"], base=tmp_path / "tree")

    return write_and_scan


@pytest.fixture
def guard(scan: Callable[..., GuardReport]) -> Callable[..., Guard]:
    """Write some files and give the one guard on a target (the last of them by line)."""

    def only_guard(files: Mapping[str, str] | str, target: str, line: int | None = None) -> Guard:
        report = scan(files)
        found = [g for g in report.guards if g.target == target and line in (None, g.line)]
        assert found, [(g.target, g.line) for g in report.guards]
        return found[-1]

    return only_guard


@pytest.fixture
def verdict(guard: Callable[..., Guard]) -> Callable[..., str]:
    """Write some files and give the verdict on a target."""

    def only_verdict(files: Mapping[str, str] | str, target: str, line: int | None = None) -> str:
        return guard(files, target, line).verdict

    return only_verdict
