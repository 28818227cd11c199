"""A call through a parameter (or an attribute filled from one) that is annotated with a class of the tree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memaudit.guards import Guard

STORE = """
class MemoryStore:
    def add(self, content, summary=""):
        if not summary:
            summary = make(content)
        return content, summary

class Other:
    def add(self, content, summary=""):
        return content
"""
CALLERS = {
    "parameter": "def save(store: {a}, text):\n    store.add(text, {passed})\n",
    "attribute": (
        "class Writer:\n    def __init__(self, store: {a}):\n        self.store = store\n"
        "    def save(self, text):\n        self.store.add(text, {passed})\n"
    ),
}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("annotation", ["MemoryStore", "'MemoryStore'", "MemoryStore | None", "Optional[MemoryStore]"])
def test_annotated_receiver_is_of_that_class(caller: str, annotation: str, guard: Callable[..., Guard]) -> None:
    head = "from typing import Optional\n" + STORE
    filled = guard(head + CALLERS[caller].format(a=annotation, passed="f'about {text}'"), "summary")
    assert (filled.verdict, [c.side for c in filled.callers]) == ("dead", ["dead"])
    empty = guard(head + CALLERS[caller].format(a=annotation, passed="''"), "summary")
    assert [c.side for c in empty.callers] == ["live"]


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(
    "annotation", ["Other", "Any", "list", "MemoryStore | Other", "type[MemoryStore]", "1 + 1", "'('"]
)
def test_receiver_of_another_annotation_stays_in_doubt(
    caller: str, annotation: str, guard: Callable[..., Guard]
) -> None:
    code = "from typing import Any\n" + STORE + CALLERS[caller].format(a=annotation, passed="f'about {text}'")
    assert guard(code, "summary").verdict == "unknown"


@pytest.mark.parametrize(
    "more",
    [
        "def save(store: MemoryStore, text):\n    store = pick(store)\n    store.add(text, f'about {text}')\n",
        (
            "class Writer:\n    def __init__(self, store: MemoryStore):\n        self.store = store\n"
            "    def swap(self, other):\n        self.store = other\n"
            "    def save(self, text):\n        self.store.add(text, f'about {text}')\n"
        ),
    ],
)
def test_receiver_that_is_set_again_stays_in_doubt(more: str, guard: Callable[..., Guard]) -> None:
    assert guard(STORE + more, "summary").verdict == "unknown"
