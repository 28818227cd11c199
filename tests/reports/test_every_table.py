"""Views of the audits of several tables."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

import memaudit.reports
import memaudit.reports.to_html
from memaudit.model import Audit, Audits, TableLeftOut
from memaudit.reports import TABLE_RENDERERS, from_json, rendered, report_from_json, to_html
from memaudit.reports.to_markdown import MAX_CHARACTERS

SCHEMA = json.loads(Path(memaudit.reports.__file__).with_name("report.schema.json").read_text("utf-8"))
EVIL = '"><script>alert(1)</script> `x` \x1b[31m\u202e表'


def audits_of(*audits: Audit, left: tuple[TableLeftOut, ...] = ()) -> Audits:
    return Audits("0.1.0", "stores/agent.db", "sqlite", audits, left, command="memaudit run --all-tables")


def named(audit: Audit, table: str) -> Audit:
    assert audit.store is not None
    return replace(audit, store=replace(audit.store, table=table))


@pytest.fixture
def three(samples: ModuleType) -> Audits:
    """Return a published, a quiet and a hostile audit, a table that failed and one that was passed over."""
    return audits_of(
        named(samples.published_audit(), "experiences"),
        named(samples.quiet_audit(), EVIL),
        named(samples.hostile_audit(), "hostile"),
        left=(TableLeftOut(EVIL, None, EVIL, failed=True), TableLeftOut("users", 1, "no column holds sentences")),
    )


def test_json_when_read_back_then_equal_and_by_the_schema(three: Audits, samples: ModuleType) -> None:
    text = rendered(three, "json")
    assert report_from_json(text) == three
    assert rendered(report_from_json(text), "json") == text
    plain = audits_of(samples.published_audit(), samples.quiet_audit())
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(rendered(plain, "json")))
    with pytest.raises(ValueError, match="it holds the audits of 3 tables; one was expected"):
        from_json(text)


@pytest.mark.parametrize("part", ["not_audited", "store", "kind", "incomplete"])
def test_schema_when_a_part_is_missing_or_an_audit_broken_then_refused(samples: ModuleType, part: str) -> None:
    document = json.loads(rendered(audits_of(samples.published_audit()), "json"))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(document)
    assert not validator.is_valid({k: v for k, v in document.items() if k != part})
    del document["audits"][0]["verdict"]
    assert not validator.is_valid(document)


def test_page_when_audits_are_hostile_then_escaped_and_every_anchor_once(three: Audits) -> None:
    page = rendered(three, "html")
    ids = Counter(re.findall(r'\bid="([^"]*)"', page))
    assert [i for i, n in ids.items() if n > 1] == []
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert page.count("<h1") == 1
    # The order of the levels: a heading is at most one deeper than the one before it.
    levels = [int(n) for n in re.findall(r"<h([1-6])[ >]", page)]
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_page_of_one_audit_when_compared_then_its_anchors_have_no_prefix(samples: ModuleType) -> None:
    page = to_html(samples.published_audit())
    assert 'id="findings"' in page
    assert 'id="t1-' not in page


@pytest.mark.parametrize("name", sorted(TABLE_RENDERERS))
def test_format_when_written_then_names_every_table_and_the_one_that_failed(three: Audits, name: str) -> None:
    text = rendered(three, name)
    assert "experiences" in text
    assert "hostile" in text
    assert "users" in text
    assert "\x1b[31m" not in text


def test_page_when_there_are_very_many_tables_then_bounded_and_each_keeps_its_line(
    samples: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["memaudit.reports.to_html"], "MAX_BYTES_TOGETHER", 300_000)
    many = audits_of(*(named(samples.hostile_audit(), f"table_{n:03d}") for n in range(9)))
    page = rendered(many, "html")
    assert len(page.encode()) <= 300_000
    assert page.count("<bdi>table_") == 9
    shown = len(re.findall(r'<section class="audit"', page))
    assert 0 < shown < 9
    assert f"the audits of {9 - shown} tables are in <code>report.json</code> only" in page
    # A name in the list is a link where the audit stands below it, and only there.
    assert len(re.findall(r'<a href="#t\d+"><bdi>table_', page)) == shown


def test_markdown_when_there_are_very_many_tables_then_bounded_and_the_others_counted(samples: ModuleType) -> None:
    many = audits_of(*(named(samples.hostile_audit(), f"table_{n:03d}") for n in range(120)))
    text = rendered(many, "markdown")
    assert len(text) <= MAX_CHARACTERS
    shown = len(re.findall(r"(?m)^## table", text))
    assert f"The audits of {120 - shown} tables are in report.json." in text
