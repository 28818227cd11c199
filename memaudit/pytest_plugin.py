"""Plugin for pytest: the fixture `memaudit` audits a store inside a test.

def test_memory_is_healthy(memaudit):
    assert not memaudit.run("experiences.db").above("medium")
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from memaudit.api import AuditResult, Findings

#: Findings listed under a failed test; the whole report is one `save` away.
SHOWN = 20
_AUDITS = pytest.StashKey["list[tuple[str, AuditResult]]"]()


class Audits:
    """What the fixture `memaudit` gives: audits whose findings are listed when the test fails."""

    def __init__(self, made: list[tuple[str, AuditResult]]) -> None:
        self._made = made

    def run(self, store: Any = None, *, allow_incomplete: bool = False, **keys: Any) -> AuditResult:
        """Audit a store: a path, a DataFrame, or what the project's configuration names.

        Parameters
        ----------
        allow_incomplete
            Take an audit that is incomplete or had no rows: without it such an audit fails the test, for no
            finding means nothing there.
        keys
            Configuration keys, and `config_file` and `isolated`, as in `memaudit.audit`.
        """
        from memaudit.api import audit

        result = audit(store, **keys)
        shown = result.audit.store.path if result.audit.store is not None else "without a store"
        self._made.append((shown, result))
        if result.problem and not allow_incomplete:
            pytest.fail(f"memaudit: {result.problem}", pytrace=False)
        return result


@pytest.fixture
def memaudit(request: pytest.FixtureRequest) -> Audits:
    """Audit stores of an agent's memory: `assert not memaudit.run("experiences.db").above("medium")`."""
    made: list[tuple[str, AuditResult]] = []
    request.node.stash[_AUDITS] = made
    return Audits(made)


@pytest.hookimpl(hookwrapper=True)  # the newer form would break every run of an older pytest
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """List the findings of the audits under the report of a failed test: an assertion shows one short line only."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for store, result in item.stash.get(_AUDITS, []):
            report.sections.append((f"memaudit: {store}", _listing(result.findings, result)))


def _listing(findings: Findings, result: AuditResult) -> str:
    lines = [result.verdict.sentence, str(type(findings)(findings[:SHOWN]))]
    if len(findings) > SHOWN:
        lines.append(f"and {len(findings) - SHOWN} more findings")
    silent = ", ".join(dict.fromkeys(code for part in result.audit.not_run for code in part.codes))
    if silent:
        lines.append(f"not run: {silent}")
    return "\n".join(lines)
