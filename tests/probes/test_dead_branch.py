"""MA201-MA203: guards of small code folders, joined with the rows of a store."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config_file import load
from memaudit.engine import run_audit
from memaudit.model import Audit, Finding, Severity

COLUMNS = "id INTEGER PRIMARY KEY, content TEXT, label TEXT, source_type TEXT"

STORE = """
    def make_label(text):
        return "label of " + text

    def record(content, label="", source_type="tool"):
        if not label:
            label = make_label(content)
        return (content, label, source_type)
"""


@pytest.fixture
def audited(write_store: Callable[..., Path], tmp_path: Path) -> Callable[..., Audit]:
    """Return a function that audits rows (content, label, source_type) with code given as files."""

    def audit(files: dict[str, str], rows: list[tuple[Any, ...]], **options: Any) -> Audit:
        for name, text in files.items():
            path = tmp_path / "app" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        store = write_store([(i + 1, *row) for i, row in enumerate(rows)], COLUMNS)
        options = {"store": str(store), "text": "content", "value_field": "label", "code": ("app",), **options}
        return run_audit(load(isolated=True, start=tmp_path, options={**options, "select": ("dead-branch",)}))

    return audit


def by_code(audit: Audit) -> dict[str, Finding]:
    return {f.code: f for f in audit.findings}


ROWS = [(f"text {i}", f"label {i}", "tool") for i in range(19)] + [("a note", "own", "manual")]


def test_guard_when_the_only_caller_always_passes_a_value_then_dead(audited: Callable[..., Audit]) -> None:
    caller = """
        from store import record

        def save(text):
            return record(text, label=f"kind: {text}", source_type="tool")
    """
    finding = by_code(audited({"store.py": STORE, "caller.py": caller}, ROWS))["MA201"]
    assert finding.subject["file"] == "app/store.py"
    assert finding.subject["function"] == "record"
    assert "make_label" in finding.title


def test_guard_when_one_of_two_callers_can_be_empty_then_rows_decide(audited: Callable[..., Audit]) -> None:
    files = {
        "store.py": STORE,
        "a.py": 'from store import record\n\ndef save(t):\n    return record(t, label=f"k: {t}", source_type="tool")\n',
        "b.py": 'from store import record\n\ndef note(d):\n    return record(d["t"], label=d.get("l", ""), source_type="manual")\n',
    }
    # 19 of 20 rows came from the caller that never passes an empty label: 95 %, above 90 %.
    finding = by_code(audited(files, ROWS))["MA201"]
    assert finding.figures["rows"] == 20
    assert finding.figures["rows_reaching_branch"] == 1
    assert finding.figures["share_unreachable"] == pytest.approx(0.95)
    assert (finding.figures["callers_dead"], finding.figures["callers_live"]) == (1, 1)
    assert finding.severity is Severity.MEDIUM
    # With half of the rows from each it is a partial guard, and low.
    half = [(f"text {i}", f"label {i}", "tool" if i % 2 else "manual") for i in range(20)]
    found = by_code(audited(files, half))
    assert "MA201" not in found
    assert found["MA203"].figures["rows_reaching_branch"] == 10
    assert found["MA203"].severity is Severity.LOW


def test_guard_when_the_value_can_be_empty_then_silent(audited: Callable[..., Audit]) -> None:
    caller = 'from store import record\n\ndef save(d):\n    return record(d["text"], label=d.get("label", ""))\n'
    assert not by_code(audited({"store.py": STORE, "caller.py": caller}, ROWS))


def test_guard_when_it_asks_for_none_and_the_value_is_empty_then_rows_left_empty(audited: Callable[..., Audit]) -> None:
    code = """
        def parse(raw):
            if not raw:
                return []
            return [t for t in raw.split(",") if t]

        def enrich(row):
            label = parse(row.get("raw"))
            if label is None:
                label = [row["content"][:5]]
            return {**row, "label": label}
    """
    rows = [("text", "[]", None)] * 14 + [("text", '["a"]', "a")] * 6
    finding = by_code(audited({"enrich.py": code}, rows))["MA201"]
    assert finding.figures["rows_left_empty"] == 14
    assert finding.figures["share_left_empty"] == pytest.approx(0.7)
    assert finding.severity is Severity.HIGH
    assert "not for None" in finding.fix


def test_guard_when_of_another_variable_then_low_and_without_rows(audited: Callable[..., Audit]) -> None:
    code = """
        def title_of(text):
            title = "memo: " + text
            if not title:
                title = "untitled"
            return title
    """
    finding = by_code(audited({"other.py": code}, ROWS))["MA201"]
    assert finding.severity is Severity.LOW
    assert finding.figures["rows"] is None


def test_code_when_missing_then_one_clear_error(audited: Callable[..., Audit]) -> None:
    from memaudit.errors import ConfigError

    with pytest.raises(ConfigError, match="nowhere"):
        audited({"store.py": STORE}, ROWS, code=("nowhere",))


def test_deadcode_command_when_asked_for_json_then_the_documented_object(
    memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "m.py").write_text(
        'def f(text):\n    title = "memo: " + text\n    if not title:\n        title = "untitled"\n    return title\n'
    )
    ran = memaudit("deadcode", "app", "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    (guard,) = document["guards"]
    assert (guard["file"], guard["line"], guard["function"], guard["form"]) == ("app/m.py", 3, "f", "if-not")
    assert (guard["target"], guard["verdict"], guard["callers"]) == ("title", "dead", [])
    assert (document["files"], document["skipped"]) == (1, [])
    assert memaudit("deadcode", "app", "--fail-on-dead").code == 1
    assert memaudit("deadcode", "nowhere").code == 2


@pytest.mark.parametrize(
    "line",
    [
        "label = named(row) or guess(row['content'])",
        "row['label'] = named(row) or guess(row['content'])",
        "row.label = named(row) if named(row) else guess(row['content'])",
        "row.update(label=named(row) or guess(row['content']))",
        "row.update({'label': named(row) or guess(row['content'])})",
        "label: str = named(row) or guess(row['content'])",
    ],
)
def test_guard_when_its_value_goes_into_the_audited_field_then_rows_are_counted(
    audited: Callable[..., Audit], line: str
) -> None:
    code = f"""
        NAMES = {{"cli": "terminal", "网页": "浏览器"}}

        def named(row):
            return NAMES.get(row["kind"], "unknown")

        def guess(text):
            return "voice" if "call" in text else "typed"

        def prepare(row):
            {line}
            return dict(row)
    """
    finding = by_code(audited({"prepare.py": code}, ROWS))["MA201"]
    assert finding.figures["rows"] == 20
    assert finding.figures["rows_reaching_branch"] == 0
    assert finding.severity is Severity.MEDIUM


def test_guard_when_its_value_goes_elsewhere_then_no_rows_are_counted(audited: Callable[..., Audit]) -> None:
    code = """
        def prepare(row):
            owner = f"team {row['team']}" or "nobody"
            return dict(row, owner=owner, label=len(row))
    """
    finding = by_code(audited({"prepare.py": code}, ROWS))["MA201"]
    assert finding.figures["rows"] is None
    assert finding.severity is Severity.LOW


def test_guard_when_it_asks_about_something_else_than_the_upstream_column_then_its_rows_say_nothing(
    audited: Callable[..., Audit],
) -> None:
    code = "def prepare(row):\n    label = row.get('title') or 'none'\n    return dict(row, label=label)\n"
    assert by_code(audited({"prepare.py": code}, ROWS, upstream_column="source_type")) == {}
