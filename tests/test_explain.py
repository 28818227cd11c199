"""`memaudit explain`: our pages, pages of other distributions, and probes that ship none."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
PROBE = """
class Long:
    name = "long-texts"
    title = "Do a few memories take the room of many?"
    codes = {"XL001": "text-far-longer"}
    needs = frozenset()

    def run(self, ctx):
        raise AssertionError("explain runs no probe")

PROBE = Long()
"""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of an installed distribution with one probe and no page."""
    folder = tmp_path / "site"
    (folder / "xl_probes").mkdir(parents=True)
    (folder / "xl_probes" / "__init__.py").write_text(PROBE)
    info = folder / "xl_probes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: xl-probes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[memaudit.probes]\nlong-texts = xl_probes:PROBE\n")
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    yield folder
    sys.modules.pop("xl_probes", None)


@pytest.mark.parametrize("word", ["XL001", "xl001", "long-texts"])
def test_explain_when_the_probe_of_others_ships_no_page_then_says_so_and_shows_what_it_declares(
    memaudit: Run, other: Path, word: str
) -> None:
    ran = memaudit("explain", word)
    assert ran.code == 0
    for part in (
        "# long-texts", "module `xl_probes`, which ships no page", "take the room of many?", "- XL001 text-far-longer",
        "needs: nothing more",
    ):  # fmt: skip
        assert part in ran.out
    assert ('code = "XL001"' in ran.out) is (word != "long-texts")  # a rule can be suppressed, a probe cannot


def test_explain_when_the_probe_of_others_ships_a_page_then_that_page(memaudit: Run, other: Path) -> None:
    (other / "xl_probes" / "long_texts.md").write_text("# Long texts\n\n## XL001 text-far-longer\n长文本。\n", "utf-8")
    ran = memaudit("explain", "XL001", "--format", "json")
    document = json.loads(ran.out)
    assert document["page"] == "long-texts"
    assert document["text"].startswith("# Long texts\n\n## XL001 text-far-longer\n长文本。\n")
    assert "ships no page" not in document["text"]


def test_explain_when_no_rule_has_the_name_then_the_nearest_of_others_too(memaudit: Run, other: Path) -> None:
    ran = memaudit("explain", "XL002")
    assert (ran.code, "XL001" in ran.err) == (2, True)


def test_explain_when_a_probe_of_others_is_broken_then_our_pages_are_still_printed(memaudit: Run, other: Path) -> None:
    (other / "xl_probes" / "__init__.py").write_text("raise ImportError('broken')\n")
    assert memaudit("explain", "MA302").code == 0
    assert memaudit("explain", "XL001").code == 3


def test_explain_when_a_probe_begins_like_a_rule_then_nothing_to_suppress(memaudit: Run) -> None:
    assert "How to suppress" not in memaudit("explain", "machine-text").out
    assert 'code = "MA302"' in memaudit("explain", "ma302").out
