"""For random keyword classifiers the enumerated values equal those of brute force."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

# Words that contain each other, two languages, upper case: what real keyword lists look like.
WORDS = (
    "timeout", "time", "connect", "connection", "超时", "超时了", "权限", "deny", "denied", "404", "no such",
    "Error", "parse", "id", "网络", "rm",
)  # fmt: skip
LABELS = ("alpha", "beta", "gamma", "delta", "eps", "zeta")


@st.composite
def _condition(draw: Any, words: list[str]) -> str:
    kind = draw(st.sampled_from(["any", "any", "in", "or", "and", "not", "prefix", "suffix", "equal", "member"]))
    some = draw(st.lists(st.sampled_from(words), min_size=1, max_size=3, unique=True))
    first = some[0]
    texts = {
        "any": f"any(k in t for k in {some!r})",
        "in": f"{first!r} in t",
        "or": " or ".join(f"{word!r} in t" for word in some),
        "and": " and ".join(f"{word!r} in t" for word in some),
        "not": f"{first!r} not in t",
        "prefix": f"t.startswith({first!r})",
        "suffix": f"t.endswith({first!r})",
        "equal": f"t == {first!r}",
        "member": f"t in {tuple(some)!r}",
    }
    return texts[kind]


@st.composite
def first_match(draw: Any, words: list[str]) -> str:
    """Nested if/elif/else, each arm returns or assigns a label."""
    lines = ["def label(text):", "    t = text.lower()" if draw(st.booleans()) else "    t = text"]
    for index in range(draw(st.integers(1, 4))):
        lines.append(f"    {'el' if index else ''}if {draw(_condition(words))}:")
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"        if {draw(_condition(words))}:")
            lines.append(f"            return {draw(st.sampled_from(LABELS))!r}")
        lines.append(f"        return {draw(st.sampled_from(LABELS))!r}")
    lines.append(f"    return {draw(st.sampled_from([*LABELS, 'other', '']))!r}")
    return "\n".join(lines) + "\n"


@st.composite
def combination(draw: Any, words: list[str]) -> str:
    """Tags that are joined."""
    lines = ["def label(text):", "    t = text.lower()", "    tags = []"]
    for index in range(draw(st.integers(1, 5))):
        lines.append(f"    if {draw(_condition(words))}:")
        lines.append(f"        tags.append({LABELS[index]!r})")
    lines.append("    return '+'.join(tags) if tags else 'none'")
    return "\n".join(lines) + "\n"


@st.composite
def table(draw: Any, words: list[str]) -> str:
    """A loop over a table of groups: the first that matches wins."""
    rows = []
    left = list(words)
    for index in range(draw(st.integers(1, 4))):
        some = draw(st.lists(st.sampled_from(left), min_size=1, max_size=3, unique=True))
        rows.append((LABELS[index], some))
    lines = [f"RULES = {rows!r}", "def label(text):", "    for name, keys in RULES:"]
    lines += ["        if any(k in text for k in keys):", "            return name", "    return 'rest'"]
    return "\n".join(lines) + "\n"


@st.composite
def classifiers(draw: Any) -> str:
    """Give the source of one classifier named `label`."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=3, max_size=7, unique=True))
    source: str = draw(draw(st.sampled_from([first_match, combination, table]))(words))
    return source


def brute_force(source: str) -> set[str]:
    """Call the plain function on every arrangement of its words that can matter, without our engine."""
    space: dict[str, Any] = {}
    exec(source, space)
    label: Callable[[str], str] = space["label"]
    words = [word for word in WORDS if repr(word) in source]
    values = set()
    for size in range(len(words) + 1):
        for some in itertools.combinations(words, size):
            middle = " ".join(some)
            for start in ("", *words):
                for end in ("", *words):
                    values.add(label(f"{start}%{middle}%{end}"))
    for word in ("", *words):
        values.add(label(word))
    for one, two in itertools.product(words, repeat=2):
        values |= {label(one + two), label(f"{one} {two}")}
    return values


@seed(20)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(source=classifiers())
def test_enumerated_values_equal_brute_force(
    source: str, enumerate_here: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file: Path = tmp_path_factory.getbasetemp() / "random_classifier.py"
    file.write_text(source, encoding="utf-8")
    found = enumerate_here(file, "label")
    assert found["forms"] == []
    assert set(found["fixed_values"]) == brute_force(source)
    # Never more than is there, whatever the certificate says; a witness is a real input.
    space: dict[str, Any] = {}
    exec(source, space)
    for witness in found["witnesses"]:
        assert space["label"](**witness["arguments"]) == witness["value"]


def test_most_random_classifiers_get_a_certificate(
    enumerate_here: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Always answering "not complete" would be no answer."""
    complete = []

    @seed(21)
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(source=classifiers())
    def run(source: str) -> None:
        file = tmp_path / "random_classifier.py"
        file.write_text(source, encoding="utf-8")
        complete.append(enumerate_here(file, "label")["complete"])

    run()
    # The others hold branches that no text reaches, through several conditions: said, not guessed.
    assert sum(complete) / len(complete) > 0.65
