"""The structure of the published case: a recorder that always labels, and a store that refills."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memaudit.guards import Guard

RECORDER = """
    from store import ExperienceStore

    KEYWORDS = {
        "network": ("timeout", "connection"),
        "permission": ("denied", "forbidden"),
        "parsing": ("json", "syntax"),
    }

    class Recorder:
        def __init__(self, store: ExperienceStore):
            self.store = store

        @staticmethod
        def _generate_abstract_pattern(text, tool):
            tags = [tag for tag, words in KEYWORDS.items() if any(w in text for w in words)]
            if not tags:
                return f"{tool} failed"
            return "problem with " + " and ".join(tags)

        ASYNC def on_failure(self, tool, text):
            pattern = self._generate_abstract_pattern(text, tool)
            AWAIT self.store.record(text, abstract_pattern=pattern)
"""
STORE = """
    class ExperienceStore:
        def __init__(self, db, model):
            self.db = db
            self.model = model

        ASYNC def record(self, text, abstract_pattern=""):
            if not abstract_pattern:
                abstract_pattern = AWAIT self._abstract(text)
            AWAIT self.db.execute("INSERT INTO experiences VALUES (?, ?)", (text, abstract_pattern))

        ASYNC def _abstract(self, text):
            return AWAIT self.model.complete(text)
"""
MANUAL = """
    ASYNC def add_by_hand(store, text, abstract_pattern=""):
        AWAIT store.record(text, abstract_pattern=abstract_pattern.strip())
"""
ALWAYS_FILLED = """
    ASYNC def add_by_hand(store, text):
        AWAIT store.record(text, abstract_pattern=f"by hand: {text}")
"""


def kind(text: str, is_async: bool) -> str:
    return text.replace("ASYNC ", "async " if is_async else "").replace("AWAIT ", "await " if is_async else "")


@pytest.mark.parametrize("is_async", [True, False])
def test_refill_behind_a_recorder_that_always_labels_is_dead(guard: Callable[..., Guard], is_async: bool) -> None:
    files = {"recorder.py": kind(RECORDER, is_async), "store.py": kind(STORE, is_async)}
    found = guard(files, "abstract_pattern")
    assert (found.file, found.line, found.function, found.form) == (
        "store.py",
        8,
        "ExperienceStore.record",
        "if-not",
    )
    assert found.verdict == "dead"
    assert "in this tree" in found.reason
    assert [(c.file, c.line, c.side) for c in found.callers] == [("recorder.py", 23, "dead")]
    assert found.producer is not None
    assert (found.producer.function, found.producer.file, found.producer.line) == (
        "Recorder._generate_abstract_pattern",
        "recorder.py",
        15,
    )


@pytest.mark.parametrize("is_async", [True, False])
def test_second_caller_that_can_pass_an_empty_text_makes_it_partial(
    guard: Callable[..., Guard], is_async: bool
) -> None:
    files = {
        "recorder.py": kind(RECORDER, is_async),
        "store.py": kind(STORE, is_async),
        "manual.py": kind(MANUAL, is_async),
    }
    found = guard(files, "abstract_pattern")
    assert found.verdict == "partial"
    assert [(c.file, c.line, c.side) for c in found.callers] == [
        ("manual.py", 3, "live"),
        ("recorder.py", 23, "dead"),
    ]
    assert "1 caller" in found.reason


def test_second_caller_that_always_fills_leaves_it_dead(guard: Callable[..., Guard]) -> None:
    files = {
        "recorder.py": kind(RECORDER, True),
        "store.py": kind(STORE, True),
        "manual.py": kind(ALWAYS_FILLED, True),
    }
    found = guard(files, "abstract_pattern")
    assert found.verdict == "dead"
    assert [c.side for c in found.callers] == ["dead", "dead"]


def test_recorder_whose_fallback_can_be_empty_is_not_dead(verdict: Callable[..., str]) -> None:
    recorder = kind(RECORDER, True).replace('return f"{tool} failed"', "return tool")
    files = {"recorder.py": recorder, "store.py": kind(STORE, True)}
    assert verdict(files, "abstract_pattern") != "dead"


def test_recorder_that_can_forget_to_return_is_not_dead(verdict: Callable[..., str]) -> None:
    recorder = kind(RECORDER, True).replace('return f"{tool} failed"', "pass")
    recorder = recorder.replace('return "problem with "', 'if tags: return "problem with "')
    files = {"recorder.py": recorder, "store.py": kind(STORE, True)}
    assert verdict(files, "abstract_pattern") in ("reachable", "unknown")


def test_mixed_chinese_and_english_labels_are_dead(verdict: Callable[..., str]) -> None:
    recorder = kind(RECORDER, True).replace('"problem with " + ', '"问题：" + ').replace("failed", "失败")
    files = {"recorder.py": recorder, "store.py": kind(STORE, True)}
    assert verdict(files, "abstract_pattern") == "dead"
