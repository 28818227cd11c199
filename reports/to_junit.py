"""The audit as JUnit XML, for every service that shows test results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from memaudit.model import Audit, Audits, Basis, Finding, NotRun, Severity, Status
from memaudit.reports.every_table import failures, passed_over, passed_over_line, table_name
from memaudit.reports.pointers import code_place, names_of, sentence, silences, without_answer
from memaudit.reports.shown_numbers import word
from memaudit.reports.shown_text import as_text, visible
from memaudit.wording import plural, say, spoken

#: A finding fails its test from here on; low and info findings are listed in the output of a passed test.
FAILS_FROM = Severity.MEDIUM
_STARTED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


@spoken
def to_junit(audit: Audit) -> str:
    """Write an audit as JUnit XML: one test a probe.

    A test *fails* for findings of medium severity or above, except under-powered ones, which never fail anything.
    It is *skipped*, with the reason, when its probe gave no answer, and an *error* when the probe crashed. A
    probe that looked but left single rules out has one more skipped test for each of them. The test `audit`
    speaks about the audit itself: an error when it is incomplete, skipped when nothing was audited.
    """
    return _written([_suite(audit, "memaudit")], audit.run.seconds)


@spoken
def tables_to_junit(audits: Audits) -> str:
    """Write one suite a table, named after it, and one for the tables that were not audited: errors and skipped."""
    suites = [_suite(audit, f"memaudit {sentence(table_name(audit), 200)}") for audit in audits.audits]
    failed, left = failures(audits), passed_over(audits)
    if failed or left:
        suite = Xml.Element("testsuite", name="memaudit tables")
        for one in audits.not_audited:
            test = Xml.SubElement(suite, "testcase", classname="memaudit tables", name=sentence(one.table, 200) or "-")
            test.set("time", "0.000")
            if one.failed:
                Xml.SubElement(test, "error", type="table-failed", message=sentence(one.reason))
            else:
                Xml.SubElement(test, "skipped", message=sentence(passed_over_line(one)))
        _counted(suite, [suite], 0.0)
        suites.append(suite)
    return _written(suites, sum(audit.run.seconds for audit in audits.audits))


def _written(parts: Sequence[Xml.Element], seconds: float) -> str:
    suites = Xml.Element("testsuites", name="memaudit")
    _counted(suites, parts, seconds)
    suites.extend(parts)
    _clean(suites)
    Xml.indent(suites, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suites, encoding="unicode") + "\n"


def _counted(element: Xml.Element, suites: Sequence[Xml.Element], seconds: float) -> None:
    """Write the numbers of tests in some suites, and how long they took, upon an element."""
    for name, path in (("tests", ""), ("failures", "/failure"), ("errors", "/error"), ("skipped", "/skipped")):
        element.set(name, str(sum(len(suite.findall(f"testcase{path}")) for suite in suites)))
    element.set("time", f"{seconds:.3f}")


def _suite(audit: Audit, name: str) -> Xml.Element:
    suite = Xml.Element("testsuite", name=name)
    properties = Xml.SubElement(suite, "properties")
    for key, value in _properties(audit):
        Xml.SubElement(properties, "property", name=key, value=value)
    for probe in _probes(audit):
        _test(suite, probe, audit)
    _test_of_the_audit(suite, audit)
    _output(suite, [*_suppressions(audit), *silences(audit)])
    _counted(suite, [suite], audit.run.seconds)
    started = _STARTED.match(audit.run.started)
    if started is not None:
        suite.set("timestamp", started.group())
    return suite


def fails(finding: Finding) -> bool:
    """Whether a finding fails the test of its probe."""
    return finding.severity >= FAILS_FROM and finding.basis is not Basis.UNDER_POWERED


def _properties(audit: Audit) -> list[tuple[str, str]]:
    found = [("memaudit", sentence(audit.memaudit, 100)), ("verdict", sentence(audit.verdict.sentence))]
    if audit.store is not None:
        found.append(("store", sentence(audit.store.path)))
        found.append(("table", sentence(audit.store.table, 200)))
        found.append(("rows", str(audit.store.rows)))
        found.append(("rows_used", str(audit.store.rows_used)))
    return found


def _probes(audit: Audit) -> list[str]:
    """Name every probe that ran, found something or gave no answer, in that order of knowledge; not the audit."""
    named = [*audit.run.probe_seconds, *(f.probe for f in audit.findings), *(item.probe for item in audit.not_run)]
    return [name for name in dict.fromkeys(named) if name != "audit"]


def _test(suite: Xml.Element, probe: str, audit: Audit) -> None:
    findings = [f for f in audit.findings if f.probe == probe]
    silent = [item for item in audit.not_run if item.probe == probe]
    crashed = [item for item in silent if item.status is Status.FAILED]
    test = _case(suite, probe, audit)
    if crashed:
        error = Xml.SubElement(test, "error", type="probe-failed", message=without_answer(crashed[0]))
        error.text = crashed[0].traceback or crashed[0].reason
    _fill(test, [f for f in findings if fails(f)], blocked=bool(crashed))
    if silent and not findings and not crashed:
        # Without a finding nothing tells "looked and found nothing" from "did not look": never call that passed.
        Xml.SubElement(test, "skipped", message="; ".join(without_answer(item) for item in silent))
    _output(test, [_line(f) for f in findings if crashed or not fails(f)])
    if findings or crashed:
        for item in silent:
            if item not in crashed:
                _skipped_rules(suite, item, audit)


def _fill(test: Xml.Element, failing: Sequence[Finding], *, blocked: bool) -> None:
    """Put all failing findings into one failure: several services read only the first."""
    if not failing or blocked:
        return
    worst = failing[0]
    text = f"{worst.code}: {sentence(worst.title, 300)}"
    if len(failing) > 1:
        text = say("{findings}, first {first}", findings=plural(len(failing), "finding"), first=text)
    failure = Xml.SubElement(test, "failure", type=f"{worst.code} {sentence(worst.kind, 100)}", message=text)
    failure.text = "\n".join(_line(f) for f in failing)
    place = code_place(worst)
    if place is not None:
        test.set("file", sentence(place.file, 400))
        if place.line is not None:
            test.set("line", str(place.line))


def _skipped_rules(suite: Xml.Element, item: NotRun, audit: Audit) -> None:
    test = _case(suite, f"{item.probe} {', '.join(item.codes)}", audit, timed=False)
    Xml.SubElement(test, "skipped", message=without_answer(item))


def _test_of_the_audit(suite: Xml.Element, audit: Audit) -> None:
    findings = [f for f in audit.findings if f.probe == "audit"]
    silent = [item for item in audit.not_run if item.probe == "audit"]
    test = _case(suite, "audit", audit)
    failing = [f for f in findings if fails(f)]
    if audit.incomplete:
        error = Xml.SubElement(test, "error", type="incomplete", message=sentence(audit.incomplete))
        error.text = sentence(audit.verdict.sentence)
    elif audit.verdict.state == "nothing-audited" and not failing:
        Xml.SubElement(test, "skipped", message=sentence(audit.verdict.sentence))
    _fill(test, failing, blocked=bool(audit.incomplete))
    _output(test, [_line(f) for f in findings if audit.incomplete or not fails(f)])
    for item in silent:
        _skipped_rules(suite, item, audit)


def _case(suite: Xml.Element, name: str, audit: Audit, *, timed: bool = True) -> Xml.Element:
    test = Xml.SubElement(suite, "testcase", classname="memaudit", name=sentence(name, 200) or "-")
    seconds = audit.run.probe_seconds.get(name, 0.0) if timed else 0.0
    test.set("time", f"{seconds:.3f}")
    return test


def _line(finding: Finding) -> str:
    place, names = code_place(finding), names_of(finding)
    where = f"{place.file}:{place.line}" if place and place.line else (place.file if place else ".".join(names))
    parts = [f"{finding.code} {word(finding.severity.label)} ({word(finding.basis.value)}): {sentence(finding.title)}"]
    parts += [f"  {sentence(text)}" for text in (where, finding.caveat, finding.fix) if text]
    return "\n".join(parts)


def _suppressions(audit: Audit) -> list[str]:
    return [
        sentence(
            say(
                "suppressed: {code}: {title} ({reason})",
                code=as_text(item.get("code")),
                title=as_text(item.get("title")),
                reason=as_text(item.get("reason")),
            )
        )
        for item in audit.suppressed
    ]


def _output(element: Xml.Element, lines: Sequence[str]) -> None:
    if lines:
        Xml.SubElement(element, "system-out").text = "\n".join(lines)


def _clean(root: Xml.Element) -> None:
    """Write out what XML cannot hold, wherever it came from: one such character makes the whole file unreadable."""
    for element in root.iter():
        element.text = visible(element.text, lines=True) if element.text else element.text
        for name, value in element.attrib.items():
            element.set(name, visible(value))
