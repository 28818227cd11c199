"""JUnit: one test a probe, and silence is never a passed test."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as Xml

from memaudit.model import Audit, Basis, Finding, NotRun, RunInfo, Severity, Status, Verdict
from memaudit.reports.to_junit import to_junit


def results_of(audit: Audit) -> dict[str, list[str]]:
    """Read our own text back: test -> the results in it."""
    suite = Xml.fromstring(to_junit(audit)).find("testsuite")
    assert suite is not None
    return {str(t.get("name")): [r.tag for r in t if r.tag != "system-out"] for t in suite.findall("testcase")}


def finding(severity: Severity, probe: str = "diversity", **rest: Any) -> Finding:
    return Finding("MA301", "kind", severity, {"table": "t"}, "Few values", {}, probe=probe, **rest)


def test_junit_when_the_published_case_is_written_then_this_structure(samples: ModuleType) -> None:
    audit = samples.published_audit()
    assert results_of(audit) == {
        "diversity": ["failure"],
        "value-domain": ["failure"],
        "dedup": ["failure"],
        "guarded-code": ["failure"],
        "template": ["failure"],
        "no-ops": [],  # two low findings
        "field-ablation": [],  # under-powered
        "eval-leak": ["skipped"],
        "stages": ["skipped"],
        "timestamps": ["error"],
        "audit": [],
    }
    root = Xml.fromstring(to_junit(audit))
    suite = root.find("testsuite")
    assert suite is not None
    for element in (root, suite):
        assert {n: element.get(n) for n in ("tests", "failures", "errors", "skipped", "time")} == {
            "tests": "11", "failures": "5", "errors": "1", "skipped": "2", "time": "1.234"
        }  # fmt: skip
    assert suite.get("timestamp") == "2026-11-30T12:00:00"
    skipped = suite.find("testcase[@name='eval-leak']/skipped")
    assert skipped is not None
    assert skipped.get("message") == "MA701, MA702 not run: no evaluation set given (option: --queries FILE)"
    low = suite.find("testcase[@name='no-ops']/system-out")
    assert low is not None
    assert low.text is not None
    assert low.text.startswith("MA601 low (measured): `outcome` holds one value")


def test_failure_when_severity_or_basis_is_too_weak_then_passed(samples: ModuleType) -> None:
    base = samples.quiet_audit()

    def results(one: Finding) -> list[str]:
        return results_of(dataclasses.replace(base, findings=(one,)))["diversity"]

    assert results(finding(Severity.MEDIUM)) == ["failure"]
    assert results(finding(Severity.LOW)) == []
    assert results(finding(Severity.HIGH, basis=Basis.UNDER_POWERED, caveat="9 rows")) == []
    assert results(finding(Severity.HIGH, basis=Basis.SAMPLED, caveat="a sample")) == ["failure"]


def test_rules_when_they_did_not_look_then_skipped_beside_the_probe(samples: ModuleType) -> None:
    silent = (NotRun("vectors", ("MA016",), Status.SKIPPED, "no index named", "vectors"),)
    base = dataclasses.replace(samples.quiet_audit(), not_run=silent, run=RunInfo("", 1.0, {"vectors": 0.5}))
    # without a finding nothing says that the other rules looked
    assert results_of(base) == {"vectors": ["skipped"], "audit": []}
    found = dataclasses.replace(base, findings=(finding(Severity.LOW, "vectors"),))
    assert results_of(found) == {"vectors": [], "vectors MA016": ["skipped"], "audit": []}


def test_audit_when_nothing_was_audited_then_not_green(samples: ModuleType) -> None:
    empty = dataclasses.replace(samples.quiet_audit(), verdict=Verdict("nothing-audited", "0 rows."))
    assert results_of(empty)["audit"] == ["skipped"]
    found = dataclasses.replace(empty, findings=(finding(Severity.HIGH, "audit"),))
    assert results_of(found)["audit"] == ["failure"]
    broken = dataclasses.replace(found, incomplete="interrupted by a person")
    assert results_of(broken)["audit"] == ["error"]
