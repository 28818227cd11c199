"""Tables whose keys are several values: every key is found, or the domain is not complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Enumerate = Callable[..., dict[str, Any]]

TABLES = {
    "get of two texts": (
        """
TABLE = {("user", "high"): "page", ("user", "low"): "mail", ("bot", "high"): "ticket"}
def label(who: str, level: str) -> str:
    return TABLE.get((who, level), "ignore")
""",
        {"page", "mail", "ticket", "ignore"},
    ),
    "membership, then subscript, in lower case": (
        """
TABLE = {("user", "high"): "page", ("bot", "high"): "ticket"}
def label(who: str, level: str) -> str:
    key = who.strip().lower(), level.lower()
    return TABLE[key] if key in TABLE else "ignore"
""",
        {"page", "ticket", "ignore"},
    ),
    "a text and a bool": (
        """
TABLE = {("read", True): "seen", ("read", False): "missed", ("write", True): "kept"}
def label(action: str, done: bool) -> str:
    return TABLE.get((action, done), "other")
""",
        {"seen", "missed", "kept", "other"},
    ),
    "members of an enum": (
        """
from enum import Enum
class Who(Enum):
    USER = 1
    BOT = 2
TABLE = {(Who.USER, "low"): "mail", (Who.BOT, "low"): "log"}
def label(who: Who, level: str) -> str:
    return TABLE.get((who, level), "other")
""",
        {"mail", "log", "other"},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_key_of_several_values_is_found(name: str, tmp_path: Path, enumerate_here: Enumerate) -> None:
    code, fixed = TABLES[name]
    (tmp_path / "tables.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "tables.py", "label")
    assert set(found["fixed_values"]) == fixed
    assert found["complete"], found["missing"]
    assert found["fallback"]["values"] == [min(fixed & {"ignore", "other"})]
    assert found["fallback"]["separable"] is True


@pytest.mark.parametrize(
    "code",
    [
        "TABLE = {('a', 'b'): 'x', ('c', 'd'): 'y'}\n"
        "def label(text: str) -> str:\n    return TABLE.get(tuple(text.split('::')[1:3]), 'z')\n",
        "TABLE = {frozenset({'a', 'b'}): 'x'}\n"
        "def label(text: str) -> str:\n    return TABLE.get(frozenset(text.split(',')), 'z')\n",
    ],
)
def test_key_that_no_input_makes_keeps_the_domain_open(code: str, tmp_path: Path, enumerate_here: Enumerate) -> None:
    (tmp_path / "open.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "open.py", "label")
    values = {"x", "y", "z"} if "'y'" in code else {"x", "z"}
    assert not found["complete"] or set(found["fixed_values"]) == values
