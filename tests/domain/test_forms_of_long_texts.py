"""Values made of many pieces of a long text, and two texts compared with each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memaudit.domain.forms import _longest_common

Enumerate = Callable[..., dict[str, Any]]


def test_slug_of_a_long_text_is_found_within_its_time(tmp_path: Path, enumerate_here: Enumerate) -> None:
    """A text of 400 words gives a slug with 400 pieces of it: each was looked for in the whole text."""
    code = "import re\ndef slug(text: str) -> str:\n    return re.sub('[^a-z]+', '-', text.lower()).strip('-') or 'empty'\n"
    (tmp_path / "slugs.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "slugs.py", "slug")
    assert found["calls"] > 20
    assert found["fixed_values"] == ["empty"]
    assert found["forms"]


def test_letter_of_the_input_is_no_keyword_of_the_function(tmp_path: Path, enumerate_here: Enumerate) -> None:
    """A text of one letter was the same with both sets of markers, and so taken for a literal of the function."""
    code = """
def label(a: str, b: str) -> str:
    if a == b:
        return "same"
    if a in b or b in a:
        return "part"
    return "other"
"""
    (tmp_path / "pairs.py").write_text(code, encoding="utf-8")
    found = enumerate_here(tmp_path / "pairs.py", "label")
    assert set(found["fixed_values"]) == {"same", "part", "other"}
    assert [k["text"] for k in found["keywords"] if str(k["text"]).strip()] == []
    assert [s["keyword"] for s in found["shadowed"] if str(s["keyword"]).strip()] == []


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_longest_common_piece_is_the_first_of_the_longest(piece: str, text: str) -> None:
    start, length = _longest_common(piece, text)
    every = [(-(j - i), i) for i in range(len(piece)) for j in range(i + 1, len(piece) + 1) if piece[i:j] in text]
    assert (-length, start) == min(every, default=(0, 0))
