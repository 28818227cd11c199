"""Workflow commands and code quality entries: one line or entry a finding, whatever stands in the store."""

from __future__ import annotations

import dataclasses
import json
from types import ModuleType

import pytest

from memaudit.model import Basis, Finding, NotRun, Severity, Status
from memaudit.reports.to_github import escaped, escaped_property, to_github
from memaudit.reports.to_gitlab import to_gitlab
from memaudit.reports.to_jsonl import to_jsonl


def test_commands_when_written_then_these_lines(samples: ModuleType) -> None:
    lines = to_github(samples.published_audit()).splitlines()
    assert len(lines) == 1 + 10 + 1 + 1  # verdict, findings, what did not run, suppressed
    assert lines[5] == (
        "::warning file=src/core/experience_store.py,line=212,title=MA201 dead-branch record::"
        "A guarded generator call is never reached for 174 of 175 rows (99.4 %25)"
    )
    assert lines[1].startswith("::error title=MA101 value-domain-fallback experiences.abstract_pattern::88.0 %25 of")
    assert lines[10].startswith("::notice title=MA501")


def test_command_when_store_text_holds_line_ends_then_stays_one_command(samples: ModuleType) -> None:
    attack = "x\n::add-mask::a\r\n::stop-commands::t\x85::error::y\u2028::error::z,title=q::w"
    finding = Finding("MA601", "k", Severity.HIGH, {"table": attack, "file": attack, "line": 3}, attack, {})
    audit = dataclasses.replace(
        samples.quiet_audit(),
        findings=(finding,),
        not_run=(NotRun("p", ("MA1",), Status.SKIPPED, attack, attack),),
    )
    lines = to_github(audit).splitlines()
    assert [line[:9] for line in lines] == ["::notice ", "::error f", "::notice "]
    head = lines[1].split("::")[1]
    assert head.count(",") == 2  # file, line, title: nothing of the attack became a property
    assert "line=3" in head


def test_escapes_when_applied_then_as_the_runner_reads_them() -> None:
    assert escaped("50 %\r\na:b,c") == "50 %25%0D%0Aa:b,c"
    assert escaped_property("50 %\na:b,c") == "50 %25%0Aa%3Ab%2Cc"
    assert escaped("%0A") == "%250A"


def test_finding_when_under_powered_then_a_notice_and_info(samples: ModuleType) -> None:
    weak = Finding("MA501", "k", Severity.HIGH, {}, "t", {}, basis=Basis.UNDER_POWERED, caveat="24 queries")
    audit = dataclasses.replace(samples.quiet_audit(), findings=(weak,))
    assert to_github(audit).splitlines()[1] == "::notice title=MA501 k::t [under-powered]"
    (entry,) = json.loads(to_gitlab(audit))
    assert entry["severity"] == "info"


def test_entries_when_written_then_what_gitlab_asks_for(samples: ModuleType) -> None:
    entries = json.loads(to_gitlab(samples.published_audit()))
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["location"]["lines"]["begin"] >= 1
        assert not entry["location"]["path"].startswith("./")
    marks = [entry["fingerprint"] for entry in entries]
    assert len(set(marks)) == len(marks)  # of two equal ones GitLab shows the first
    severities = [entry["severity"] for entry in entries]
    # by hand: 2 high, 4 medium, 3 low, 1 info; 3 rules or probes without an answer, 1 note
    assert {s: severities.count(s) for s in set(severities)} == {"critical": 2, "major": 4, "minor": 3, "info": 5}
    by_code = {entry["check_name"]: entry["location"] for entry in entries}
    assert by_code["memaudit/MA201"] == {"path": "src/core/experience_store.py", "lines": {"begin": 212}}
    assert by_code["memaudit/MA302"] == {"path": "data/experiences.db", "lines": {"begin": 1}}


@pytest.mark.parametrize("times", [1, 3])
def test_entries_when_one_reason_comes_again_then_none_is_swallowed(samples: ModuleType, times: int) -> None:
    silent = (NotRun("p", ("MA016",), Status.SKIPPED, "no index"),) * times
    entries = json.loads(to_gitlab(dataclasses.replace(samples.quiet_audit(), not_run=silent)))
    assert len({entry["fingerprint"] for entry in entries}) == times


def test_lines_when_written_then_the_findings_of_the_report(samples: ModuleType) -> None:
    audit = samples.published_audit()
    header, *findings = (json.loads(line) for line in to_jsonl(audit).splitlines())
    assert header["findings"] == len(findings) == 10
    assert header["store"]["rows"] == 175
    assert [item["status"] for item in header["not_run"]] == ["skipped", "skipped", "failed"]
    assert findings[2]["figures"]["rows_dropped"] == 151
    assert findings[2]["evidence"]["ids"] == list(range(100, 157))
    assert len({finding["fingerprint"] for finding in findings}) == 10
