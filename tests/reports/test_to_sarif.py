"""SARIF: what the standard requires, and a reader that is not ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memaudit.model import Audit, Basis, Evidence, Example, Finding, Severity
from memaudit.reports.to_sarif import message, to_sarif, uri_of

LEVELS = {"none", "note", "warning", "error"}


def log_of(audit: Audit) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(to_sarif(audit))
    return log


def messages(value: Any) -> Iterator[str]:
    """Yield every `text` of a message object."""
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        for item in value.values():
            yield from messages(item)
    elif isinstance(value, list):
        for item in value:
            yield from messages(item)


def check(log: dict[str, Any]) -> None:
    """Hold a log against what SARIF 2.1.0 requires of the objects that we write (sections in brackets)."""
    assert log["version"] == "2.1.0"  # 3.13.2
    assert isinstance(log["runs"], list)  # 3.13.4
    for run in log["runs"]:
        driver = run["tool"]["driver"]  # 3.14.6, 3.18.2
        assert driver["name"]  # 3.19.8
        ids = [rule["id"] for rule in driver["rules"]]  # 3.49.3
        assert len(set(ids)) == len(ids)  # 3.19.23: unique
        for rule in driver["rules"]:
            assert rule["help"]["text"]
            assert "helpUri" not in rule
        notes = [d["id"] for d in driver["notifications"]]
        for artifact in run["artifacts"]:
            assert artifact["location"]["uri"]
        assert isinstance(run["results"], list)  # 3.14.23: present when the tool ran
        for result in run["results"]:
            assert result["message"]["text"]  # 3.27.11, 3.11.8
            assert ids[result["ruleIndex"]] == result["ruleId"]  # 3.27.6
            assert result["level"] in LEVELS  # 3.27.10
            assert isinstance(result["suppressions"], list)  # 3.27.23: all results or none
            for suppression in result["suppressions"]:
                assert suppression["kind"] in ("inSource", "external")  # 3.35.2
            for location in result["locations"]:
                physical = location.get("physicalLocation")
                if physical is not None:
                    uri = physical["artifactLocation"]["uri"]  # 3.29.3
                    assert re.fullmatch(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+", uri), uri  # RFC 3986
                    assert "\\" not in uri
                    assert physical.get("region", {"startLine": 1})["startLine"] >= 1  # 3.30.5
                for logical in location.get("logicalLocations", []):
                    assert logical["name"]
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)  # 3.20.14
            started = invocation.get("startTimeUtc", "2026-01-01T00:00:00Z")
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", started)  # 3.9
            for note in invocation["toolExecutionNotifications"]:
                assert note["message"]["text"]  # 3.58.5
                assert note["level"] in LEVELS
                assert note["descriptor"]["id"] in notes
    for text in messages(log):
        bare = text.replace("{{", "").replace("}}", "")
        assert "{" not in bare, text  # 3.11.5: no placeholder
        assert "}" not in bare, text
        assert "](" not in text  # 3.11.6: no link


def test_sarif_when_written_then_holds_what_the_standard_requires(samples: ModuleType) -> None:
    for audit in (samples.published_audit(), samples.quiet_audit(), samples.hostile_audit()):
        check(log_of(audit))
    check(log_of(samples.published_audit(store=None, config={})))


def test_sarif_when_read_by_another_tool_then_the_same_counts(samples: ModuleType, tmp_path: Path) -> None:
    loader = pytest.importorskip("sarif.loader", reason="sarif-tools is not installed")
    path = tmp_path / "memaudit.sarif"
    path.write_text(to_sarif(samples.published_audit()), encoding="utf-8")
    read = loader.load_sarif_file(str(path))
    assert read.get_distinct_tool_names() == ["memaudit"]
    counts = read.get_report()
    records = read.get_records()
    # by hand: 2 high, 4 medium, 3 low, 1 info; the suppressed one is a note more, where the tool counts it
    seen = [(record["Severity"], record["Code"].split(" ")[0]) for record in records]
    assert sorted(code for severity, code in seen if severity == "error") == ["MA101", "MA301"]
    assert sorted(code for severity, code in seen if severity == "warning") == ["MA201", "MA302", "MA303", "MA401"]
    assert {"MA402", "MA501", "MA601", "MA602"} <= {code for severity, code in seen if severity == "note"}
    assert [counts.get_issue_count_for_severity(level) for level in ("error", "warning")] == [2, 4]
    at = {record["Code"].split(" ")[0]: (record["Location"], record["Line"]) for record in records}
    assert at["MA201"] == ("src/core/experience_store.py", 212)
    assert at["MA302"][0] == "data/experiences.db"


def test_results_when_written_then_place_level_and_figures(samples: ModuleType) -> None:
    run = log_of(samples.published_audit())["runs"][0]
    by_code = {result["ruleId"]: result for result in run["results"]}
    assert by_code["MA201"]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/core/experience_store.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 212},
            },
            "logicalLocations": [{"name": "record", "fullyQualifiedName": "record", "kind": "function"}],
        }
    ]
    (place,) = by_code["MA302"]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "data/experiences.db"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "experiences.abstract_pattern"
    assert [by_code[c]["level"] for c in ("MA101", "MA302", "MA601", "MA501")] == ["error", "warning", "note", "note"]
    assert by_code["MA302"]["properties"]["figures"]["rows_dropped"] == 151
    assert by_code["MA501"]["properties"]["basis"] == "under-powered"
    (accepted,) = by_code["MA009"]["suppressions"]
    assert accepted == {"kind": "external", "justification": "known"}
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [(n["level"], n["descriptor"]["id"]) for n in notes] == [
        ("note", "not-run"), ("note", "not-run"), ("error", "failed"), ("note", "note")
    ]  # fmt: skip
    assert notes[0]["message"]["text"] == "MA701, MA702 not run: no evaluation set given (option: --queries FILE)"


def test_level_when_under_powered_then_note_whatever_the_severity(samples: ModuleType) -> None:
    weak = Finding("MA501", "k", Severity.HIGH, {}, "t", {}, basis=Basis.UNDER_POWERED, caveat="few")
    (result,) = log_of(samples.quiet_audit().__class__(**{**vars(samples.quiet_audit()), "findings": (weak,)}))["runs"][
        0
    ]["results"]
    assert result["level"] == "note"


def test_place_when_only_the_evidence_names_the_line_then_taken_for_code_rules_alone(samples: ModuleType) -> None:
    evidence = Evidence((Example("if not value:", "src/记录/recorder.py:17"),), 1)
    subject = {"table": "t", "column": "c"}
    findings = tuple(Finding(c, "k", Severity.LOW, subject, "t", {}, evidence) for c in ("MA103", "MA302"))
    audit = samples.published_audit(findings=findings, suppressed=())
    code, other = log_of(audit)["runs"][0]["results"]
    physical = code["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "src/%E8%AE%B0%E5%BD%95/recorder.py"
    assert physical["region"] == {"startLine": 17}
    assert other["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "data/experiences.db"


def test_fingerprint_when_counts_and_lines_move_then_stays(samples: ModuleType) -> None:
    def marks(rows: int, line: int) -> list[Any]:
        finding = Finding(
            "MA201", "dead-branch", Severity.LOW, {"file": "a.py", "line": line, "function": "f"}, f"{rows} rows", {}
        )
        results = log_of(samples.published_audit(findings=(finding,), suppressed=()))["runs"][0]["results"]
        return [result["partialFingerprints"] for result in results]

    assert marks(3, 10) == marks(400, 99)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("data/a b.db", "data/a%20b.db"),
        ("/srv/a.db", "file:///srv/a.db"),
        ("C:/x/a.db", "file:///C:/x/a.db"),
        ("a:b/c.db", "a%3Ab/c.db"),
        ("postgres://host:5432/db x", "postgres://host:5432/db%20x"),
        ("nul\x00\ud800", "nul%00%ED%A0%80"),
    ],
)
def test_uri_when_made_then_valid(path: str, uri: str) -> None:
    assert uri_of(path) == uri


def test_message_when_text_holds_braces_and_links_then_neither_comes_to_life() -> None:
    assert message("{0} [x](https://e.example) 工具") == {"text": "{{0}} [x] (https://e.example) 工具"}
    assert message("") == {"text": "-"}
