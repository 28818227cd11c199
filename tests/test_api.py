"""The audit from Python, and pandas DataFrames as stores."""

from __future__ import annotations

import datetime as dt
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import memaudit as package
from memaudit.api import AuditResult, Findings
from memaudit.errors import ConfigError, StoreError
from memaudit.model import Audit, Basis, Finding, RunInfo, Severity, Verdict
from memaudit.stores.frames import is_frame, open_frame

Write = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("closed_stores")


@pytest.fixture
def copies(write_store: Write) -> Path:
    """Return a store of twenty copies of one text."""
    return write_store([(i, "Run stopped: 任务被阻止。", "2026-05-01", None) for i in range(20)])


def result_of(*findings: Finding, **changes: Any) -> AuditResult:
    parts: dict[str, Any] = {
        "memaudit": "0", "store": None, "encoder": None, "verdict": Verdict("undecided", "Undecided <b>."),
        "findings": findings, "sections": (), "not_run": (), "figures": {}, "notes": (), "left_out": (), "plan": (),
        "config": {}, "versions": {}, "run": RunInfo("", 0.0),
    }  # fmt: skip
    return AuditResult(Audit(**{**parts, **changes}))


def test_import_when_light_then_no_numpy_and_no_engine() -> None:
    code = (
        "import sys, memaudit; memaudit.__version__;"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('numpy', 'pandas', 'click') or m == 'memaudit.engine'];"
        "assert not bad, bad; memaudit.audit; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(package.__file__).parents[1])
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def test_audit_when_a_path_is_given_then_as_the_command_line(
    copies: Path, memaudit: Callable[..., Any], unchanged: Callable[[Path], None]
) -> None:
    unchanged(copies)
    result = package.audit(copies, select=["MA305"])
    ran = memaudit("run", "--store", copies, "--select", "MA305", "--format", "json")
    ours, theirs = json.loads(result.to_json()), json.loads(ran.out)
    for part in ("verdict", "figures", "config", "not_run"):
        assert ours[part] == theirs[part]
    (mine,), (its,) = ours["findings"], theirs["findings"]
    assert mine.pop("reproduce") == f"memaudit.audit({str(copies)!r}, select=['MA305'])"
    assert its.pop("reproduce").endswith(" --select MA305 --format text")
    assert mine == its
    assert result.findings.codes == ("MA305",)
    assert result.verdict.sentence == theirs["verdict"]["sentence"]
    assert result.figures["rows"] == 20
    assert result.problem == ""
    assert ours["command"] == f"memaudit.audit({str(copies)!r}, select=('MA305',))"


def test_audit_when_wrong_then_the_errors_of_the_command_line(copies: Path) -> None:
    with pytest.raises(ConfigError, match=r'unknown key "tabel".*Did you mean "table"'):
        package.audit(copies, tabel="x")
    with pytest.raises(ConfigError, match='table "memorys" not found'):
        package.audit(copies, table="memorys")
    with pytest.raises(StoreError, match="no such store"):
        package.audit("missing.db")
    with pytest.raises(ConfigError, match="store is a list; a path or a pandas DataFrame"):
        package.audit([1, 2])


def test_audit_when_a_configuration_is_there_then_read_unless_isolated(
    copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copies.parent / "memaudit.toml").write_text('[memaudit]\nstore = "store.db"\nselect = ["MA305"]\n')
    monkeypatch.chdir(copies.parent)
    assert package.audit().findings.codes == ("MA305",)
    assert package.audit(config_file="memaudit.toml").findings.codes == ("MA305",)
    assert package.audit("store.db", isolated=True, ignore=["MA305"]).findings.codes != ("MA305",)
    with pytest.raises(ConfigError, match="no store was given"):
        package.audit(isolated=True)


def test_audit_when_redacted_then_no_store_text_anywhere(copies: Path) -> None:
    result = package.audit(copies, redact=True, isolated=True)
    for text in (result.to_html(), result.to_json(), str(result), str(result.findings), result._repr_html_()):
        assert "任务被阻止" not in text


def test_above_when_asked_then_what_fail_on_counts() -> None:
    strong = Finding("MA305", "k", Severity.MEDIUM, {}, "t", {})
    low = Finding("MA601", "k", Severity.LOW, {}, "t", {})
    weak = Finding("MA501", "k", Severity.HIGH, {}, "t", {}, basis=Basis.UNDER_POWERED, caveat="few")
    result = result_of(weak, strong, low)
    assert result.above() == result.above("medium") == (strong,)
    assert result.above("low") == (strong, low)
    assert result.above("high") == ()
    assert result.above("high", underpowered=True) == (weak,)
    assert not result.above("high")
    assert repr(result.above("low")) == "<2 findings: MA305 medium, MA601 low>"
    assert repr(Findings()) == "<no findings>"
    assert str(Findings()) == "no findings"
    with pytest.raises(ConfigError, match="info, low, medium or high"):
        result.above("severe")


def test_problem_when_incomplete_or_empty_then_said(write_store: Write) -> None:
    assert result_of(incomplete="probe x failed").problem == "the audit is incomplete: probe x failed"
    assert package.audit(write_store([]), isolated=True).problem == "nothing was audited: 0 rows."


def test_save_when_the_ending_is_known_then_that_format_and_private(copies: Path, tmp_path: Path) -> None:
    result = package.audit(copies, isolated=True)
    starts = {
        "a.html": "<!doctype html>", "a.json": "{", "a.jsonl": '{"type": "audit"', "a.md": "<!-- memaudit -->",
        "a.sarif": '{\n "$schema"', "a.xml": "<?xml", "a.txt": "memaudit ",
    }  # fmt: skip
    for name, start in starts.items():
        path = result.save(tmp_path / "out" / name)
        assert path.read_text(encoding="utf-8").startswith(start)
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert result.save(tmp_path / "cq.json", "gitlab").read_text().startswith("[")
    with pytest.raises(ConfigError, match="names no format"):
        result.save(tmp_path / "a.pdf")
    with pytest.raises(ConfigError, match='unknown format "pdf"'):
        result.save(tmp_path / "a.pdf", "pdf")
    (tmp_path / "mine.md").write_text("my notes")
    with pytest.raises(ConfigError, match="was not written by memaudit"):
        result.save(tmp_path / "mine.md")
    assert "MA305" in result.save(tmp_path / "mine.md", force=True).read_text(encoding="utf-8")


def test_notebook_when_shown_then_a_frame_that_can_do_nothing(copies: Path) -> None:
    result = package.audit(copies, isolated=True)
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))

    Reader().feed(result._repr_html_())
    ((tag, attributes),) = tags  # nothing of the page stands outside of the attribute
    assert tag == "iframe"
    assert attributes["sandbox"] == ""
    assert attributes["srcdoc"] == result.to_html()
    assert "<script" not in result.to_html()
    assert repr(result).startswith("<AuditResult ")


# -- DataFrames ----------------------------------------------------------------------------------


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    store = open_frame(frame)
    (table,) = store.tables
    names = [f'"{name}"' for name in table.column_names]
    return [
        dict(zip(table.column_names, row, strict=True))
        for row in store.rows(f'SELECT {", ".join(names)} FROM "{table.name}" ORDER BY {table.order}')
    ]


def test_frame_when_opened_then_cells_as_the_other_readers_store_them() -> None:
    frame = pd.DataFrame(
        {
            "id": np.array([1, 2], dtype="int64"),
            "text": ["工具 failed", None],
            "score": [0.5, float("nan")],
            "flag": [True, False],
            "at": [pd.Timestamp("2026-05-01T06:00:00Z"), pd.NaT],
            "day": [dt.date(2026, 5, 1), dt.date(2026, 5, 2)],
            "vector": [np.array([1.0, 0.5], dtype="float32"), np.array([0.0, 0.25], dtype="float32")],
            "meta": [{"k": [1, "二"]}, None],
            "raw": [b"\x00\xff", b""],
            "big": [2**70, 3],
        }
    )
    first, second = rows_of(frame)
    assert first == {
        "id": 1, "text": "工具 failed", "score": 0.5, "flag": 1, "at": "2026-05-01T06:00:00+00:00",
        "day": "2026-05-01", "vector": "[1.0, 0.5]", "meta": '{"k": [1, "二"]}', "raw": b"\x00\xff",
        "big": str(2**70),
    }  # fmt: skip
    assert second["text"] is second["score"] is second["at"] is second["meta"] is None
    assert second["vector"] == "[0.0, 0.25]"
    assert "vector" in frame
    assert len(frame.columns) == 10  # not changed


def test_frame_when_the_index_says_something_then_columns() -> None:
    frame = pd.DataFrame({"text": ["a", "b"]}, index=pd.Index(["x", "y"], name="key"))
    assert rows_of(frame) == [{"key": "x", "text": "a"}, {"key": "y", "text": "b"}]
    assert rows_of(pd.DataFrame({"text": ["a", "b"]})[::-1])[0] == {"index": 1, "text": "b"}
    assert rows_of(pd.DataFrame({"text": ["a"]})) == [{"text": "a"}]


def test_frame_when_names_repeat_or_are_no_texts_then_told_apart() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "a", 7, "a_2"])
    assert rows_of(frame) == [{"a": 1, "a_2": 2, "7": 3, "a_2_2": 4}]
    assert rows_of(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("x", "y")]))) == [{"x.y": 1}]


def test_frame_when_empty_then_nothing_audited_and_without_columns_an_error() -> None:
    assert package.audit(pd.DataFrame({"text": []}), isolated=True).problem == "nothing was audited: 0 rows."
    with pytest.raises(StoreError, match="DataFrame has no columns"):
        package.audit(pd.DataFrame(), isolated=True)
    assert not is_frame(pd.Series([1]))
    assert not is_frame("x.db")


def test_frame_when_audited_then_the_findings_of_the_same_rows_in_a_file(copies: Path) -> None:
    frame = pd.DataFrame({"id": range(20), "content": ["Run stopped: 任务被阻止。"] * 20})
    from_frame = package.audit(frame, isolated=True, select=["MA305"])
    from_file = package.audit(copies, isolated=True, select=["MA305"])
    assert [f.figures for f in from_frame.findings] == [f.figures for f in from_file.findings]
    assert from_frame.audit.store is not None
    assert (from_frame.audit.store.path, from_frame.audit.store.kind) == ("DataFrame", "dataframe")
    assert from_frame.audit.command == "memaudit.audit(DataFrame, select=('MA305',))"
