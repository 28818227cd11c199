"""Functions that are called through tables, rules and local names are followed like those called by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.target import enumerate_domain

Enumerate = Callable[..., dict[str, Any]]

FOLLOWED = {
    "a table of handlers": (
        """
def long_or_short(text):
    return "alpha-long" if len(text) > 20 else "alpha"

def loud(text):
    return "beta!" if text.endswith("!") else "beta"

def plain(text):
    return "other"

HANDLERS = {"alpha": long_or_short, "beta": loud}

def label(kind: str, text: str) -> str:
    return HANDLERS.get(kind, plain)(text)
""",
        {"alpha", "alpha-long", "beta", "beta!", "other"},
    ),
    "a table by subscript": (
        """
def one(text):
    return "hot" if "timeout" in text else "cold"

TABLE = {"a": one}

def label(kind: str, text: str) -> str:
    if kind in TABLE:
        return TABLE[kind](text)
    return "none"
""",
        {"hot", "cold", "none"},
    ),
    "rules with lambdas, two in one line": (
        """
RULES = [(lambda t: "panic" in t, "P0"), (lambda t: t.startswith("warn"), "P1"),
         (lambda t: len(t) > 200, "P2")]

def label(text: str) -> str:
    for test, name in RULES:
        if test(text):
            return name
    return "P3"
""",
        {"P0", "P1", "P2", "P3"},
    ),
    "rules that are objects": (
        """
import re
from dataclasses import dataclass

@dataclass(frozen=True)
class Rule:
    name: str
    pattern: str
    def matches(self, text):
        return bool(re.search(self.pattern, text))

RULES = (Rule("url", "https?://"), Rule("mail", "[a-z]+@[a-z]+"))

def label(text: str) -> str:
    return next((rule.name for rule in RULES if rule.matches(text)), "plain")
""",
        {"url", "mail", "plain"},
    ),
    "a function inside": (
        """
def label(text: str) -> str:
    def has(*words):
        return any(word in text for word in words)
    if has("create", "创建"):
        return "write"
    return "read" if has("read") else "none"
""",
        {"write", "read", "none"},
    ),
    "a local name": (
        """
def one(text):
    return "hot" if "timeout" in text else "cold"

def two(text):
    return "big" if len(text) > 300 else "small"

def label(text: str, by_size: bool) -> str:
    pick = two if by_size else one
    return pick(text)
""",
        {"hot", "cold", "big", "small"},
    ),
    "a partial": (
        """
from functools import partial

def named(prefix, text):
    return prefix + ("-hot" if "timeout" in text else "-cold")

note = partial(named, "note")

def label(text: str) -> str:
    return note(text)
""",
        {"note-hot", "note-cold"},
    ),
    "a cached one in a table": (
        """
from functools import lru_cache

@lru_cache
def one(text):
    return "hot" if "timeout" in text else "cold"

TABLE = [one]

def label(text: str) -> str:
    return TABLE[0](text)
""",
        {"hot", "cold"},
    ),
    "static methods in a table of the class": (
        """
class Labels:
    def one(text):
        return "hot" if "timeout" in text else "cold"
    TABLE = {"one": one}

    @classmethod
    def label(cls, kind: str, text: str) -> str:
        return cls.TABLE[kind](text) if kind in cls.TABLE else "none"
""",
        {"hot", "cold", "none"},
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_function_that_the_run_picks_is_followed(name: str, tmp_path: Path, enumerate_here: Enumerate) -> None:
    code, fixed = FOLLOWED[name]
    (tmp_path / "picked.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "picked.py", "Labels.label" if "class Labels" in code else "label")
    assert set(found["fixed_values"]) == fixed
    assert found["forms"] == []
    assert found["complete"], found["missing"]


def test_bound_methods_in_a_table_of_the_object_are_followed(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        """
class Labels:
    def __init__(self):
        self.handlers = {"one": self._one, "two": self._two}

    def _one(self, text):
        return "one-long" if len(text) > 20 else "one"

    def _two(self, text):
        return "two"

    def label(self, kind: str, text: str) -> str:
        handler = self.handlers.get(kind)
        return handler(text) if handler else "none"

def make():
    return Labels()
""",
        encoding="utf-8",
    )
    found = enumerate_domain("made:Labels.label", base=tmp_path, factory="made:make")
    assert set(found.fixed_values) == {"one", "one-long", "two", "none"}
    assert found.complete, found.missing


@pytest.mark.parametrize(
    "code",
    [
        "import json\ndef label(text: str) -> str:\n    read = json.loads\n    return str(read(text))\n",
        "import json\nTABLE = [json.loads]\ndef label(text: str) -> str:\n    return str(TABLE[0](text))\n",
        "from functools import partial\nimport json\nread = partial(json.loads, strict=False)\n"
        "def label(text: str) -> str:\n    return str(read(text))\n",
        "def make(word):\n    return lambda t: 'hot' if word in t else 'cold'\nTEST = make('timeout')\nTABLE = [TEST]\n"
        "def label(text: str) -> str:\n    return TABLE[0](text)\n",
    ],
)
def test_function_that_cannot_be_followed_keeps_the_domain_open(
    code: str, tmp_path: Path, enumerate_here: Enumerate
) -> None:
    (tmp_path / "opaque.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "opaque.py", "label")
    assert not found["complete"]
    assert any("not followed" in line for line in found["missing"])
