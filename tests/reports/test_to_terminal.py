from __future__ import annotations

import re
from dataclasses import replace
from types import ModuleType

import pytest

from memaudit.model import RowsLeftOut
from memaudit.reports import RENDERERS, to_terminal
from memaudit.reports.shown_text import cell_width
from memaudit.reports.to_terminal import with_ascii_signs

SGR = re.compile(r"\x1b\[[0-9;]*m")


def test_to_terminal_when_published_case_then_the_shape_of_the_design(samples: ModuleType) -> None:
    lines = to_terminal(samples.published_audit(), width=110).splitlines()
    assert lines[0] == "memaudit 0.1.0  experiences.db › experiences › abstract_pattern   175 rows, all used"
    assert lines[2] == "BOTTLENECK  the generator: 24 values for about 70 situations."
    text = "\n".join(lines)
    first = next(line for line in lines if "MA101" in line)
    assert first.startswith("  ■ MA101  high    88.0 % of rows carry a fallback value of the generator ")
    assert first.endswith(" 154 of 175 rows")
    assert "  ◌ MA501  info    Without" in text
    assert "[under-powered]" in text
    assert "src/core/experience_store.py:212" in text
    assert "  – MA701, MA702, MA503: no evaluation set given (--queries FILE)" in lines
    assert "  ✕ MA008 failed: ValueError: day out of range" in lines
    assert "1 finding suppressed: MA009" in text
    assert lines[-1] == "next: memaudit explain MA101"


@pytest.mark.parametrize("name", ["published_audit", "quiet_audit", "hostile_audit"])
@pytest.mark.parametrize("width", [20, 60, 80, 140])
def test_to_terminal_when_any_audit_then_lines_fit_and_nothing_steers(
    samples: ModuleType, name: str, width: int
) -> None:
    text = to_terminal(getattr(samples, name)(), width=width)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", text)
    text.encode("utf-8")
    assert max(cell_width(line) for line in text.splitlines()) <= max(40, width)


@pytest.mark.parametrize("name", ["published_audit", "hostile_audit"])
def test_to_terminal_when_ascii_only_then_ascii(samples: ModuleType, name: str) -> None:
    text = to_terminal(getattr(samples, name)(), width=100, ascii_only=True)
    assert text.isascii()


def test_to_terminal_when_ascii_only_then_signs_stay_apart(samples: ModuleType) -> None:
    text = to_terminal(samples.published_audit(), width=100, ascii_only=True)
    for start in ("  # MA101", "  ! MA302", "  . MA402", "  ? MA501", "  - MA701"):
        assert start in text


def test_with_ascii_signs_when_cp936_then_chinese_stays_and_it_can_be_encoded(samples: ModuleType) -> None:
    text = with_ascii_signs(to_terminal(samples.published_audit()) + "工具 ■ ▲ ✕")
    assert text.encode("cp936").decode("cp936").endswith("工具 # ! x")


def test_to_terminal_when_color_then_only_colour_differs(samples: ModuleType) -> None:
    audit = samples.published_audit()
    painted = to_terminal(audit, color=True, width=90)
    assert painted != to_terminal(audit, width=90)
    assert SGR.sub("", painted) == to_terminal(audit, width=90)


def test_to_terminal_when_rows_were_left_out_then_said(samples: ModuleType) -> None:
    audit = samples.published_audit(left_out=(RowsLeftOut(5, "no vector"), RowsLeftOut(1, "empty text")))
    audit = replace(audit, store=replace(audit.store, rows_used=169))
    text = to_terminal(audit)
    assert "169 of 175 rows used" in text
    assert "5 rows left out: no vector" in text
    assert "1 row left out: empty text" in text


def test_to_terminal_when_no_store_or_no_finding_then_still_an_answer(samples: ModuleType) -> None:
    text = to_terminal(replace(samples.quiet_audit(), store=None))
    assert text.startswith("memaudit 0.1.0  no store: query files only\n")
    assert "NO FINDING  No fault found in 1 memory" in text
    assert "next:" not in text


def test_to_terminal_when_many_findings_then_the_rest_is_counted(samples: ModuleType) -> None:
    audit = samples.published_audit()
    text = to_terminal(replace(audit, findings=audit.findings * 7))
    assert "and 20 more findings in report.json" in text


def test_renderers_when_listed_then_each_renders(samples: ModuleType) -> None:
    assert {"html", "json", "text"} <= set(RENDERERS)
    assert all(render(samples.quiet_audit()) for render in RENDERERS.values())
