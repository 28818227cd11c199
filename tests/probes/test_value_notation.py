"""What the function returns against how the field writes it: enums, lists as JSON, bools, objects."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config_file import load
from memaudit.engine import run_audit
from memaudit.model import Audit

ENUM = """
    import enum
    class Kind(enum.{base}):
        HOT = {hot}
        COLD = {cold}
    def kind(content):
        return Kind.HOT if "timeout" in content else Kind.COLD
"""
RETURNING = """
    {head}
    def kind(content):
        return {hot} if "timeout" in content else {cold}
"""
#: source, stored when a timeout is named, stored otherwise
WRITTEN = {
    "enum by value": (ENUM.format(base="Enum", hot="'h'", cold="'c'"), "h", "c"),
    "enum by name": (ENUM.format(base="Enum", hot="'h'", cold="'c'"), "HOT", "COLD"),
    "enum with numbers": (ENUM.format(base="IntEnum", hot="2", cold="1"), 2, 1),
    "enum with numbers in a column of texts": (ENUM.format(base="IntEnum", hot="2", cold="1"), "2", "1"),
    "text enum": (ENUM.format(base="Enum", hot="'h'", cold="'c'").replace("(enum.", "(str, enum."), "h", "c"),
    "list as JSON": (RETURNING.format(head="", hot="['hot', '热']", cold="['cold']"), '["hot", "\\u70ed"]', '["cold"]'),
    "mapping as JSON": (RETURNING.format(head="", hot="{'k': 'h', 'n': 1}", cold="{'k': 'c', 'n': 0}"),
                        '{"n":1,"k":"h"}', '{"n":0,"k":"c"}'),
    "bool as number": (RETURNING.format(head="", hot="True", cold="False"), 1, 0),
    "bool as word": (RETURNING.format(head="", hot="True", cold="False"), "True", "False"),
    "bool in lower case": (RETURNING.format(head="", hot="True", cold="False"), "true", "false"),
    "number in a column of texts": (RETURNING.format(head="", hot="0.9", cold="0.5"), "0.9", "0.5"),
}  # fmt: skip
OBJECTS = {
    "a pair": RETURNING.format(head="", hot="('hot', 2)", cold="('cold', 1)"),
    "a named tuple": RETURNING.format(
        head="from typing import NamedTuple\n    class Label(NamedTuple):\n        name: str\n",
        hot="Label('hot')",
        cold="Label('cold')",
    ),
    "a mapping of which one entry is stored": RETURNING.format(head="", hot="{'k': 'hot'}", cold="{'k': 'cold'}"),
}


@pytest.fixture
def audited(write_store: Callable[..., Path], tmp_path: Path) -> Callable[..., Audit]:
    def audit(source: str, hot: Any, cold: Any, *more: Any) -> Audit:
        (tmp_path / "gen.py").write_text(textwrap.dedent(source), encoding="utf-8")
        rows = [(i, f"run {i} " + ("timeout" if i % 4 == 0 else "went fine")) for i in range(40)]
        rows = [(i, text, hot if "timeout" in text else cold) for i, text in rows]
        rows += [(100 + i, "run of another writer", value) for i, value in enumerate(more)]
        column = "INTEGER" if isinstance(hot, int) else "TEXT"
        store = write_store(rows, f"id INTEGER PRIMARY KEY, content TEXT, kind {column}")
        options = {"store": str(store), "generator": "gen.py:kind", "value_field": "kind", "text": "content",
                   "generator_args": ("content",), "select": ("value-domain",)}  # fmt: skip
        return run_audit(load(isolated=True, start=tmp_path, options=options))

    return audit


@pytest.mark.parametrize("name", WRITTEN)
def test_value_written_otherwise_than_returned_is_in_the_domain(name: str, audited: Callable[..., Audit]) -> None:
    source, hot, cold = WRITTEN[name]
    audit = audited(source, hot, cold)
    found = {finding.code: finding for finding in audit.findings}
    assert "MA102" not in found
    assert found["MA101"].figures["rows_on_fallback"] == 30
    assert found["MA101"].figures["values_seen"] == found["MA101"].figures["domain_size"] == 2
    assert len(found["MA101"].evidence.ids) == 30


@pytest.mark.parametrize("name", ["enum by name", "bool as number", "list as JSON", "enum by value"])
def test_value_of_another_writer_is_outside_whatever_the_notation(name: str, audited: Callable[..., Audit]) -> None:
    source, hot, cold = WRITTEN[name]
    other = 7 if isinstance(hot, int) else '["mild"]'
    audit = audited(source, hot, cold, other, other)
    outside = next(finding for finding in audit.findings if finding.code == "MA102")
    assert outside.figures["outside_values"] == [other]
    assert outside.figures["rows_outside"] == 2
    assert outside.evidence.ids == (100, 101)


@pytest.mark.parametrize("name", OBJECTS)
def test_object_of_which_a_part_is_stored_is_counted_by_replay_alone(name: str, audited: Callable[..., Audit]) -> None:
    audit = audited(OBJECTS[name], "hot", "cold")
    found = {finding.code: finding for finding in audit.findings}
    assert "MA102" not in found
    assert found["MA101"].figures["rows_on_fallback"] == 30
    assert found["MA101"].figures["values_seen"] is None
    assert "how the field holds" in (found["MA101"].caveat or "")
    reasons = {code: entry.reason for entry in audit.not_run for code in entry.codes}
    assert "objects" in reasons["MA102"]
    assert "objects" in reasons["MA106"]


def test_text_in_another_case_is_outside_all_the_same(audited: Callable[..., Audit]) -> None:
    """Plain texts are compared as they are: a changed case is a change."""
    audit = audited(RETURNING.format(head="", hot="'Hot'", cold="'Cold'"), "hot", "cold")
    assert next(f for f in audit.findings if f.code == "MA102").figures["rows_outside"] == 40
