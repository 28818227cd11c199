"""The page with a trend, and the list of kept audits, in real headless chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.changes import Break, Course, Trend
from memaudit.history.compare import compare, with_changes
from memaudit.reports import to_html
from memaudit.reports.to_index import IndexEntry, to_index

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[..., Any]

pytestmark = pytest.mark.browser


def check(html: str, folder: Path) -> list[dict[str, Any]]:
    """Return what `tests/browser/check_page.mjs` sees at two widths in two schemes, or skip with what is missing."""
    node, chromium = shutil.which("node"), shutil.which("chromium") or shutil.which("google-chrome")
    if node is None or chromium is None:
        pytest.skip("node and chromium are needed")
    modules = Path(os.environ.get("MEMAUDIT_NODE_MODULES", ROOT / "build" / "browser" / "node_modules"))
    if not (modules / "axe-core").is_dir():
        pytest.skip("axe-core is not there: npm install --prefix build/browser")
    page = folder / "page.html"
    page.write_text(html, "utf-8")
    done = subprocess.run(
        [node, str(ROOT / "tests" / "browser" / "check_page.mjs"), str(page), "--chromium", chromium],
        capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "MEMAUDIT_NODE_MODULES": str(modules)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    states: list[dict[str, Any]] = json.loads(done.stdout)["states"]
    return states


def assert_sound(states: list[dict[str, Any]]) -> None:
    assert [state["width"] for state in states] == [1280, 1280, 390, 390]
    for state in states:
        assert state["violations"] == []
        assert state["document_width"] == state["document_width_open"] == state["width"]
        assert (state["requests"], state["scripts"], state["style_attributes"]) == (0, 0, 0)


def test_trend_when_opened_then_accessible_and_as_wide_as_the_window(
    make_audit: Make, make_finding: Make, tmp_path: Path
) -> None:
    old = make_audit(make_finding("MA306"), make_finding(figures={"share_extra": 0.1}))
    new = make_audit(make_finding("MA302", title="一二三" * 200), make_finding(figures={"share_extra": 0.3}))
    runs = tuple(f"2026-08-{day:02d}T06:00:00+00:00" for day in range(1, 27))
    courses = (
        Course("a_figure_with_a_very_long_name_" * 2, tuple(float(i % 5) for i in range(26))),
        Course("share_extra", (None, *(i / 26 for i in range(24)), None)),
    )
    from dataclasses import replace

    audit = replace(
        with_changes(new, compare(old, new)), trend=Trend(runs, courses, (Break(9, ("`where` was a, is b",)),))
    )
    assert_sound(check(to_html(audit), tmp_path))


def test_index_when_opened_then_accessible_and_as_wide_as_the_window(tmp_path: Path) -> None:
    counts = {"high": 1, "medium": 2, "low": 3, "info": 4}
    entries = [
        IndexEntry(f"2026-08-{day:02d}T06:00:00+00:00", "../data/" + "deep/" * 30 + "store.db › memories", "一句话。" * 40, 10**6, counts, day % 3 > 0, "pages/a.html")
        for day in range(1, 20)
    ]  # fmt: skip
    assert_sound(check(to_index(entries), tmp_path))
