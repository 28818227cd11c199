"""A slice holds what the function needs and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memaudit.domain.slicing import cut

SOURCE = """
from __future__ import annotations
import os, absent_gui
import re
from absent_db import Client, helper_type
from typing import Any

UNUSED = absent_gui.start()
PREFIX = "tag"
WORDS = {"bug": [PREFIX + "1"]}
WORDS["wish"] = ["please"]
OTHER = {}
OTHER["x"] = absent_gui
try:
    import absent_speedup as speed
except ImportError:
    speed = None

def helper(text: Client) -> helper_type:
    return re.sub(r"\\s+", " ", text)

def unused(text):
    return absent_gui.show(text)

class Base:
    LABELS = ("a", "b")

@absent_gui.register
class Labeller(Base, absent_gui.Window):
    DEFAULT = PREFIX + "!"
    STATE = absent_gui.state()

    def __init__(self):
        absent_gui.open()

    @classmethod
    @absent_gui.traced
    def label(cls, text: Client) -> str:
        for name, words in WORDS.items():
            if any(word in helper(text) for word in words):
                return cls._format(name)
        return cls.DEFAULT if speed is None else cls.LABELS[0]

    @staticmethod
    def _format(name):
        return name.upper()
"""


def test_slice_holds_the_needed_names_only() -> None:
    piece = cut(ast.parse(SOURCE), "Labeller.label", Path("m.py"))
    text = "\n".join(ast.unparse(statement) for statement in piece.statements)
    assert "absent_gui" not in text
    assert "absent_db" not in text
    assert "import os" not in text
    assert "unused" not in text
    for needed in (
        "import re",
        "PREFIX",
        "WORDS['wish']",
        "def helper",
        "_format",
        "DEFAULT",
        "absent_speedup",
    ):
        assert needed in text
    assert "class Base" in text  # LABELS comes from there
    assert any("@absent_gui.traced" in line for line in piece.dropped)


def test_slice_keeps_source_lines() -> None:
    piece = cut(ast.parse(SOURCE), "helper", Path("m.py"))
    (helper,) = [s for s in piece.statements if isinstance(s, ast.FunctionDef)]
    assert SOURCE.splitlines()[helper.lineno - 1].startswith("def helper")


def test_slice_runs_and_gives_the_values(tmp_path: Path, enumerate_here: Callable[..., dict[str, Any]]) -> None:
    file = tmp_path / "sliced.py"
    file.write_text(SOURCE, encoding="utf-8")
    found = enumerate_here(file, "Labeller.label")
    assert found["mode"] == "slice"
    # "wish" and "bug" by their words, else the default: `speed` is None here, so LABELS is not reached.
    assert found["fixed_values"] == ["BUG", "WISH", "tag!"]
    assert any("absent_gui.traced" in note for note in found["notes"])
