"""A list whose items differ: what comes from one of them is a hole, whichever item it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Enumerate = Callable[..., dict[str, Any]]

LISTS = {
    "the first of several": (
        """
def label(tags: list[str]) -> str:
    if not tags:
        return "untagged"
    if "critical" in tags:
        return "critical"
    if len(tags) > 3:
        return "many"
    return tags[0]
""",
        {"untagged", "critical", "many"},
        {"{tags[]}"},
    ),
    "a field of the last": (
        """
def label(rows: list[dict]) -> str:
    if not rows:
        return "none"
    if rows[-1]["kind"] == "err":
        return "failed"
    return f"k:{rows[-1]['kind']}"
""",
        {"none", "failed"},
        {"k:{rows[].kind}"},
    ),
    "two side by side": (
        """
def label(tags: list[str]) -> str:
    if len(tags) < 2:
        return "one"
    return tags[0] + "/" + tags[1]
""",
        {"one"},
        {"{tags[]}/{tags[]}"},
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_item_of_a_list_is_one_hole_whatever_text_it_has(name: str, tmp_path: Path, enumerate_here: Enumerate) -> None:
    code, fixed, forms = LISTS[name]
    (tmp_path / "lists.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "lists.py", "label")
    assert set(found["fixed_values"]) == fixed
    assert {form["text"] for form in found["forms"]} == forms
    assert all(form["exact"] for form in found["forms"])
    assert found["complete"], found["missing"]
