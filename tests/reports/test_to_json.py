from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import jsonschema
import numpy as np
import pytest

import memaudit.reports
from memaudit.model import Evidence, Proposal, Section, Table
from memaudit.reports import from_json, to_html, to_json, to_terminal

SCHEMA = json.loads(Path(memaudit.reports.__file__).with_name("report.schema.json").read_text("utf-8"))
ALL = ("published_audit", "quiet_audit", "hostile_audit")


def test_schema_when_checked_then_it_is_a_2020_12_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["published_audit", "quiet_audit"])
def test_to_json_when_written_then_it_meets_the_schema(samples: ModuleType, name: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(to_json(getattr(samples, name)())))


def test_schema_when_an_under_powered_finding_has_no_caveat_then_refused(samples: ModuleType) -> None:
    document = json.loads(to_json(samples.published_audit()))
    document["findings"][-1]["caveat"] = None
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


@pytest.mark.parametrize("name", ALL)
def test_from_json_when_read_back_then_audit_and_all_views_are_equal(samples: ModuleType, name: str) -> None:
    audit = getattr(samples, name)()
    back = from_json(to_json(audit))
    assert back == audit
    assert to_json(back) == to_json(audit)
    assert to_html(back) == to_html(audit)
    assert to_terminal(back) == to_terminal(audit)


def test_to_json_when_published_case_then_keys_are_those_of_the_vocabulary(samples: ModuleType) -> None:
    document = json.loads(to_json(samples.published_audit()))
    first = document["findings"][0]
    assert (first["code"], first["kind"], first["severity"]) == ("MA101", "value-domain-fallback", "high")
    assert first["figures"]["rows_on_fallback"] == 154
    assert first["evidence"]["ids"] == list(range(1, 155))
    assert document["verdict"]["lanes"][2]["state"] == "not-enough-data"
    assert document["sections"][1]["tables"] == ["groups"]
    assert document["tables"]["groups"]["rows"][0]["span"] == [0.946, 0.983]
    assert next(iter(document)) == "schema_version"


def test_to_json_when_numbers_are_not_finite_then_null_and_numpy_becomes_plain(samples: ModuleType) -> None:
    figures = {
        "nan": float("nan"),
        "inf": np.float64("inf"),
        "n": np.int64(7),
        "half": np.float32(0.5),
        "yes": np.bool_(True),
        "list": np.array([1.0, np.nan]),
        "kinds": {"b", "a"},
        "by": {1: "int", "1": "text", None: 0},
    }
    text = to_json(samples.published_audit(figures=figures))
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text)["figures"] == {
        "nan": None,
        "inf": None,
        "n": 7,
        "half": 0.5,
        "yes": True,
        "list": [1.0, None],
        "kinds": ["a", "b"],
        "by": {"1": "int", "1 (str)": "text", "null": 0},
    }


def test_to_json_when_keys_are_bytes_then_they_come_back(samples: ModuleType) -> None:
    audit = samples.published_audit(plan=(Proposal("delete", (b"\x00\xff", "b"), "copies", "MA305"),))
    assert from_json(to_json(audit)).plan[0].ids == (b"\x00\xff", "b")
    long = samples.published_audit(plan=(Proposal("delete", (b"\x01" * 1000,), "copies", "MA305"),))
    assert json.loads(to_json(long))["plan"][0]["ids"] == [{"bytes": "01" * 64, "length": 1000}]


def test_to_json_when_text_is_hostile_then_ascii_controls_and_bidi_are_escaped(samples: ModuleType) -> None:
    text = to_json(samples.hostile_audit())
    text.encode("utf-8")
    assert not set(text) & set("\x00\x1b\x9b\u202e\u200b")
    assert "记记" in text  # Chinese stays readable


def test_to_json_when_two_tables_share_a_name_then_both_are_kept(samples: ModuleType) -> None:
    one = Section("a", "A", "?", "!", tables=(Table("t", "first", (), ()),))
    two = Section("b", "B", "?", "!", tables=(Table("t", "second", (), ()), Table("t", "first", (), ())))
    audit = samples.published_audit(sections=(one, two), breakdowns=())
    assert set(json.loads(to_json(audit))["tables"]) == {"t", "t~2"}
    assert from_json(to_json(audit)) == audit


def test_to_json_when_no_store_and_no_encoder_then_null(samples: ModuleType) -> None:
    audit = samples.published_audit(store=None, encoder=None)
    document = json.loads(to_json(audit))
    assert document["store"] is None
    assert document["encoder"] is None
    assert from_json(to_json(audit)) == audit
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[1]", "no memaudit report"),
        ('{"a": 1}', "no memaudit report"),
        ('{"schema_version": "2.0", "verdict": {}}', "has schema 2.0"),
        ('{"schema_version": "1.0", "verdict": {}}', "lacks"),
    ],
)
def test_from_json_when_it_is_no_report_then_one_clear_line(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_json(text)


def test_from_json_when_a_minor_version_is_newer_then_new_keys_are_passed_over(
    samples: ModuleType,
) -> None:
    audit = samples.published_audit()
    document = json.loads(to_json(audit))
    document["schema_version"] = "1.7"
    document["new"] = document["store"]["new"] = document["findings"][0]["new"] = 1
    back = from_json(json.dumps(document))
    assert replace(back, schema_version=audit.schema_version) == audit


def test_to_json_when_100_000_keys_then_one_line_of_them(samples: ModuleType) -> None:
    finding = samples.published_audit().findings[0]
    finding = replace(finding, evidence=Evidence((), 100_000, tuple(range(100_000))))
    text = to_json(samples.published_audit(findings=(finding,)))
    assert sum(1 for line in text.splitlines() if '"ids"' in line and "99999" in line) == 1
