"""Thresholds of single rules: known by name, and numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memaudit.errors import ConfigError
from memaudit.limit_names import LIMIT_NAMES, check_limits

ROOT = Path(__file__).parent.parent


def test_names_are_those_that_the_source_asks_for() -> None:
    asked = {("MA011", "share"), ("MA012", "share")}  # asked for under one call, with the code in a variable
    for path in [*(ROOT / "memaudit").rglob("*.py"), *(ROOT / "probes").glob("*.py")]:
        asked |= set(re.findall(r'\blimit\(\s*"(MA\d{3})",\s*"(\w+)"', path.read_text(encoding="utf-8")))
    assert {(code, name) for code, names in LIMIT_NAMES.items() for name in names.split()} == asked


def test_names_that_the_pages_give_are_known() -> None:
    known = {f"{code}.{name}" for code, names in LIMIT_NAMES.items() for name in names.split()}
    pages = [*(ROOT / "probes").glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    named = {m for page in pages for m in re.findall(r"\bMA\d{3}\.[a-z]\w*", page.read_text(encoding="utf-8"))}
    assert named <= known


def test_thresholds_of_a_rule_stand_on_its_page() -> None:
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "probes").glob("*.md")]
    for code, names in LIMIT_NAMES.items():
        (page,) = [text for text in texts if re.search(rf"^## {code}\b", text, re.MULTILINE)]
        assert [name for name in names.split() if not re.search(rf"\b{name}\b", page)] == [], code


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"MA305": {"shareextra": 0.3}}, 'no threshold "MA305.shareextra" in x. Did you mean "MA305.share_extra"?'),
        ({"MA305.shareextra": 0.3}, "Thresholds of MA305: "),
        ({"MA999": {"share": 0.3}}, 'limits has no threshold "MA999.share" in x.'),
        ({"MA305": 3}, 'limits has no threshold "MA305" in x.'),
        ({"MA305": {"share_extra": "much"}}, "limits.MA305.share_extra is 'much'; a number was expected."),
        ({"MA305": {"share_extra": True}}, "a number was expected"),
        ({"MA305": {"share_extra": float("nan")}}, "a number was expected"),
        ({"XY1": {"own": "much"}}, "limits.XY1.own is 'much'"),
    ],
)
def test_limits_when_wrong_then_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_limits(limits, "x")
    assert message in str(caught.value)


def test_limits_of_ours_and_of_other_distributions_when_right_then_pass() -> None:
    check_limits({"MA305": {"share_extra": 0.3}, "MA101.share_on_fallback": 1, "XY1": {"own": 2}}, "x")
