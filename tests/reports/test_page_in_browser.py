"""The page in real headless chromium: accessibility, width, network. See tests/browser/check_page.mjs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memaudit.model import Audits, TableLeftOut
from memaudit.reports import redacted, to_html
from memaudit.reports.to_html import tables_to_html

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "browser" / "check_page.mjs"

pytestmark = pytest.mark.browser


def _needed() -> dict[str, str]:
    """Find what the check needs, or skip with what is missing."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    chromium = os.environ.get("MEMAUDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium is not installed (or name it in MEMAUDIT_CHROMIUM)")
    modules = Path(os.environ.get("MEMAUDIT_NODE_MODULES", ROOT / "build" / "browser" / "node_modules"))
    missing = [name for name in ("puppeteer-core", "axe-core") if not (modules / name).is_dir()]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not in {modules.name}: npm install --prefix build/browser")
    return {"node": node, "chromium": chromium, "modules": str(modules)}


def _check(html: str, folder: Path) -> list[dict[str, Any]]:
    needed = _needed()
    page = folder / "report.html"
    page.write_text(html, "utf-8")
    done = subprocess.run(
        [needed["node"], str(SCRIPT), str(page), "--chromium", needed["chromium"]],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "MEMAUDIT_NODE_MODULES": needed["modules"]},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    states: list[dict[str, Any]] = json.loads(done.stdout)["states"]
    return states


@pytest.mark.parametrize("name", ["published_audit", "hostile_audit", "quiet_audit", "redacted", "chinese", "several"])
def test_page_when_opened_in_chromium_then_accessible_silent_and_as_wide_as_the_window(
    samples: ModuleType, tmp_path: Path, name: str
) -> None:
    if name == "redacted":
        audit = redacted(samples.published_audit())
    elif name == "chinese":
        audit = samples.published_audit(lang="zh")
    elif name == "several":
        audit = samples.published_audit()
    else:
        audit = getattr(samples, name)()
    if name == "several":
        hostile = samples.hostile_audit()
        hostile = replace(hostile, sections=hostile.sections[:5], breakdowns=())  # the others repeat their titles
        three = (audit, samples.quiet_audit(), hostile)
        several = Audits("0.1.0", audit.store.path, "sqlite", three, (TableLeftOut("t", 0, "it holds no rows"),))
        states = _check(tables_to_html(several), tmp_path)
    else:
        states = _check(to_html(audit), tmp_path)
    assert [(state["width"], state["scheme"]) for state in states] == [
        (1280, "light"),
        (1280, "dark"),
        (390, "light"),
        (390, "dark"),
    ]
    for state in states:
        assert state["violations"] == []
        assert state["passes"] > 30
        assert state["document_width"] == state["document_width_open"] == state["width"]
        for none in ("requests", "scripts", "style_attributes", "event_handlers", "dialogs"):
            assert state[none] == 0, none
        ending = "{} 的 memaudit 报告" if name == "chinese" else "memaudit report for {}"
        assert state["title"].endswith(ending.format(_file(audit)))
        assert state["link_opens_fold"] in (True, None)
    assert states[0]["background"] != states[1]["background"]  # light and dark are followed


def _file(audit: Any) -> str:
    return str(audit.store.path).rsplit("/", 1)[-1]
