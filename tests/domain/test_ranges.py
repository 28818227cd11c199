"""Ranges of numbers: `200 <= code < 300` is tried at its borders, and no value is met without being listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Enumerate = Callable[..., dict[str, Any]]

RANGES = {
    "a chain beside a form": (
        """
def status(code: int) -> str:
    if 200 <= code < 300:
        return "fine"
    if 300 <= code < 400:
        return "moved"
    return f"code-{code}"
""",
        {"fine", "moved"},
        ["code-{code}"],
    ),
    "a chain with a call in the middle": (
        """
def status(text: str) -> str:
    if 150 <= len(text) < 160:
        return "card"
    return "note"
""",
        {"card", "note"},
        [],
    ),
    "a chain of texts": (
        """
def status(text: str) -> str:
    if any("\\u4e00" <= c <= "\\u9fff" for c in text):
        return "zh"
    return "en"
""",
        {"zh", "en"},
        [],
    ),
    "a short text with a keyword": (
        """
def status(text: str) -> str:
    if "deploy" in text:
        return "brief" if len(text) < 10 else "release"
    return "other"
""",
        {"brief", "release", "other"},
        [],
    ),
    "a long text that starts with a keyword": (
        """
def status(text: str) -> str:
    if text.startswith("fix") and len(text) == 72:
        return "exact"
    return "other"
""",
        {"exact", "other"},
        [],
    ),
    "many lines": (
        """
def status(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) >= 12:
        return "document"
    return "words" if len(text.split()) > 30 else "note"
""",
        {"document", "words", "note"},
        [],
    ),
    "a chain that one border decides": (
        """
def status(text: str) -> str:
    if 0 <= len(text) < 40:
        return "short"
    return "long"
""",
        {"short", "long"},
        [],
    ),
    "a chain whose operand raises inside another": (
        """
def number(text):
    try:
        return 1 if 0 < int(text) < 7 else 9
    except ValueError:
        return 5

def status(text: str) -> str:
    if 4 < number(text) < 6:
        return "word"
    return "number"
""",
        {"word", "number"},
        [],
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_range_of_numbers_gives_every_value(name: str, tmp_path: Path, enumerate_here: Enumerate) -> None:
    code, fixed, forms = RANGES[name]
    (tmp_path / "ranges.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "ranges.py", "status")
    assert set(found["fixed_values"]) == fixed
    assert [form["text"] for form in found["forms"]] == forms
    assert found["complete"], found["missing"]


def test_value_met_while_sorting_is_listed(tmp_path: Path, enumerate_here: Enumerate) -> None:
    """Only sorting the form tries 138, so that the other side of the condition is seen there first."""
    code = """
def status(code: int) -> str:
    if abs(code - 140) <= 3:
        return "inside"
    return f"code-{code}"
"""
    (tmp_path / "sorted.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "sorted.py", "status")
    assert set(found["fixed_values"]) == {"inside"}
