"""What differs between two audits, and what must not be claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memaudit.changes import ChangeState
from memaudit.fingerprint import with_fingerprints
from memaudit.history.compare import compare, looked, with_changes
from memaudit.history.row_keys import marks, packed, unpacked
from memaudit.history.settings import differences, settings_from, settings_of, settings_text
from memaudit.model import EncoderInfo, Evidence, NotRun, Severity, Status

Make = Callable[..., Any]


def states(changes: Any) -> dict[str, str]:
    return {c.code: c.state.value for c in changes.findings}


def share(value: float) -> dict[str, Any]:
    return {"rows": 200, "share_extra": value}


def test_compare_when_equal_then_all_unchanged_and_nothing_moved(make_audit: Make, make_finding: Make) -> None:
    audit = make_audit(make_finding())
    changes = compare(audit, audit)
    assert states(changes) == {"MA305": "unchanged"}
    assert (changes.figures, changes.breaks, changes.notes) == ((), (), ())
    assert (changes.rows_before, changes.rows_after, changes.rows_added) == (200, 200, None)


def test_compare_when_one_is_fixed_and_one_is_new_then_exactly_that(make_audit: Make, make_finding: Make) -> None:
    stays = make_finding("MA306", kind="near-duplicates")
    changes = compare(make_audit(make_finding(), stays), make_audit(stays, make_finding("MA307", "low")))
    assert [(c.code, c.state.value) for c in changes.findings] == [
        ("MA307", "new"), ("MA305", "fixed"), ("MA306", "unchanged"),
    ]  # fmt: skip
    assert [c.reason for c in changes.findings] == ["", "", ""]


@pytest.mark.parametrize(
    ("after", "state"),
    # 10 % of 0.10 is 0.01: 0.1099 is within it, 0.1101 beyond
    [(0.1099, "unchanged"), (0.1101, "worse"), (0.0901, "unchanged"), (0.0899, "better")],
)
def test_compare_when_a_figure_moves_then_worse_or_better_beyond_a_tenth(
    make_audit: Make, make_finding: Make, after: float, state: str
) -> None:
    old, new = (make_audit(make_finding(figures=share(value))) for value in (0.10, after))
    change = compare(old, new).findings[0]
    assert (change.state.value, change.figure, change.before, change.after) == (state, "share_extra", 0.10, after)


def test_compare_when_a_share_moves_but_its_count_does_not_then_unchanged(make_audit: Make, make_finding: Make) -> None:
    def blank(count: int, rows: int) -> Any:
        figures = {"undecodable_rows": count, "rows": rows}
        return make_audit(make_finding("MA004", figures=figures), rows=rows)

    # 3 of 40 rows, then 3 of 30: nothing got worse, ten other rows went away; and the other way round
    for old, new in ((blank(3, 40), blank(3, 30)), (blank(3, 30), blank(3, 40)), (blank(3, 40), blank(2, 20))):
        change = compare(old, new).findings[0]
        assert (change.state.value, change.reason) == ("unchanged", "the share moved because the number of rows did")
    assert states(compare(blank(3, 40), blank(4, 40))) == {"MA004": "worse"}
    assert states(compare(blank(4, 40), blank(3, 40))) == {"MA004": "better"}
    # with the rows of the evidence where the figure is a share of its own
    few, more = Evidence(total=20), Evidence(total=30)
    old = make_audit(make_finding(figures=share(0.1), evidence=few))
    assert states(compare(old, make_audit(make_finding(figures=share(0.2), evidence=few)))) == {"MA305": "unchanged"}
    assert states(compare(old, make_audit(make_finding(figures=share(0.2), evidence=more)))) == {"MA305": "worse"}


def test_compare_when_the_severity_changes_then_worse_or_better(make_audit: Make, make_finding: Make) -> None:
    low, high = make_audit(make_finding(severity="low")), make_audit(make_finding(severity="high"))
    assert states(compare(low, high)) == {"MA305": "worse"}
    assert compare(high, low).findings[0].reason == "high before, low now"
    assert states(compare(high, low)) == {"MA305": "better"}


def test_compare_when_only_values_come_and_go_then_unchanged_and_said(make_audit: Make, make_finding: Make) -> None:
    old, new = (
        make_audit(make_finding(subject={"table": "memories", "values": values}))
        for values in (["甲", "乙"], ["乙", "丙", "d"])
    )
    change = compare(old, new).findings[0]
    assert (change.state.value, change.reason) == ("unchanged", "2 values more, 1 value fewer")


def test_compare_when_facts_come_and_go_then_neither_new_nor_fixed(make_audit: Make, make_finding: Make) -> None:
    fact = make_finding("MA002", "info")
    assert compare(make_audit(fact), make_audit()).findings == ()
    assert compare(make_audit(), make_audit(fact)).findings == ()


# -- gone, but not fixed --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "new",
    [
        {"not_run": (NotRun("duplicates", ("MA305",), Status.SKIPPED, "no text"),)},
        {"not_run": (NotRun("duplicates", ("MA305", "MA306"), Status.FAILED, "crashed"),)},
        {"probes": {"summary": 0.1}},
        {"config": {"select": ["MA0"]}},
        {"config": {"ignore": ["duplicates"]}},
        {"config": {"ignore": ["ma305"]}},
        {"config": {"min_severity": "high"}},
        {"config": {"text": "body"}},
        {"incomplete": "interrupted by a person"},
        {"encoder": EncoderInfo("embedded", 512)},
    ],
)  # fmt: skip
def test_compare_when_gone_but_nobody_looked_then_not_fixed(
    make_audit: Make, make_finding: Make, new: dict[str, Any]
) -> None:
    change = compare(make_audit(make_finding()), make_audit(**new)).findings[0]
    assert change.state is ChangeState.NOT_COMPARED
    assert change.reason


def test_compare_when_select_still_names_the_rule_then_fixed(make_audit: Make, make_finding: Make) -> None:
    for words in (["MA3"], ["MA305"], ["duplicates"]):
        assert states(compare(make_audit(make_finding()), make_audit(config={"select": words}))) == {"MA305": "fixed"}


def silent(finding: Any, **parts: Any) -> dict[str, Any]:
    """Return a finding as an audit that keeps it silent lists it: accepted in the baseline, at 12 % now."""
    return {
        "code": finding.code, "kind": finding.kind, "severity": finding.severity.label, "title": finding.title,
        "subject": dict(finding.subject), "figures": share(0.12), "figure": "share_extra", "figure_value": 0.12,
        "probe": finding.probe, "fingerprint": finding.fingerprint, "reason": "ticket 41", "by": "baseline", **parts,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("by", "reason"), [("baseline", "in the baseline: ticket 41"), ("configuration", "suppressed: ticket 41")]
)
def test_compare_when_accepted_in_between_then_accepted_with_its_figure_not_fixed_nor_not_compared(
    make_audit: Make, make_finding: Make, by: str, reason: str
) -> None:
    finding = with_fingerprints([make_finding(figures=share(0.1))])[0]
    changes = compare(make_audit(finding), make_audit(suppressed=(silent(finding, by=by),)))
    found = changes.findings[0]
    assert (found.state, found.reason) == (ChangeState.ACCEPTED, reason)
    assert (found.figure, found.before, found.after) == ("share_extra", 0.1, 0.12)
    # Near miss: another finding is accepted, this one was found no more.
    other = with_fingerprints([make_finding("MA306")])[0]
    assert states(compare(make_audit(finding), make_audit(suppressed=(silent(other),)))) == {"MA305": "fixed"}


def test_compare_when_accepted_under_other_settings_then_accepted_without_a_figure_of_now(
    make_audit: Make, make_finding: Make
) -> None:
    finding = with_fingerprints([make_finding(figures=share(0.1))])[0]
    found = compare(make_audit(finding), make_audit(suppressed=(silent(finding),), config={"where": "a"})).findings[0]
    assert (found.state, found.before, found.after) == (ChangeState.ACCEPTED, 0.1, None)


def test_compare_when_accepted_before_and_shown_again_then_new_with_that_reason(
    make_audit: Make, make_finding: Make
) -> None:
    finding = with_fingerprints([make_finding()])[0]
    back = compare(make_audit(suppressed=(silent(finding),)), make_audit(finding)).findings[0]
    assert (back.state, back.reason) == (ChangeState.NEW, "in the baseline before: ticket 41")
    back = compare(make_audit(suppressed=(silent(finding, by="configuration"),)), make_audit(finding)).findings[0]
    assert (back.state, back.reason) == (ChangeState.NEW, "suppressed before: ticket 41")


def test_compare_when_accepted_in_both_then_counted_in_a_note_and_not_listed(
    make_audit: Make, make_finding: Make
) -> None:
    finding = with_fingerprints([make_finding()])[0]
    audit = make_audit(suppressed=(silent(finding),))
    changes = compare(audit, audit)
    assert changes.findings == ()
    assert changes.notes == ("1 finding is accepted or suppressed in both audits and not listed here.",)


def test_compare_when_accepted_then_and_gone_now_then_fixed_where_its_rule_looked(
    make_audit: Make, make_finding: Make
) -> None:
    finding = with_fingerprints([make_finding()])[0]
    old = make_audit(suppressed=(silent(finding),))
    gone = compare(old, make_audit())
    assert [(c.code, c.state, c.before, c.reason) for c in gone.findings] == [
        ("MA305", ChangeState.FIXED, 0.12, "it was accepted or suppressed"),
    ]  # fmt: skip
    assert gone.notes == ()
    assert states(compare(old, make_audit(probes={"summary": 0.1}))) == {"MA305": "not-compared"}
    fact = make_audit(suppressed=(silent(with_fingerprints([make_finding("MA002", "info")])[0]),))
    assert compare(fact, make_audit()).findings == ()


def test_compare_when_the_rule_did_not_look_before_then_new_with_that_reason(
    make_audit: Make, make_finding: Make
) -> None:
    old = make_audit(not_run=(NotRun("duplicates", ("MA305",), Status.SKIPPED, "no text"),))
    change = compare(old, make_audit(make_finding())).findings[0]
    assert (change.state, change.reason) == (ChangeState.NEW, "the rule did not look before")


def test_looked_when_the_audit_speaks_of_itself_then_only_with_a_store(make_audit: Make) -> None:
    assert looked(make_audit(), "MA906", "audit")
    assert not looked(make_audit(store=None), "MA906", "audit")
    assert not looked(make_audit(config={"ignore": ["MA9"]}), "MA906", "audit")


# -- breaks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "named"),
    [
        ({"encoder": EncoderInfo("embedded", 512)}, ["`encoder` was stored, is embedded", "`dimensions` was 32, is 512"]),
        ({"encoder": EncoderInfo("stored", 32, "r2")}, ["`revision` was not set, is r2"]),
        ({"config": {"thresholds": [0.9]}}, ["`thresholds` was [0.98, 0.95], is [0.9]"]),
        ({"config": {"limits": {"MA305.share": 0.2}}}, ["`limits` was not set, is {'MA305.share': 0.2}"]),
        ({"config": {"where": "a = 1"}}, ["`where` was not set, is a = 1"]),
        ({"config": {"max_rows": 50}}, ["`max_rows` was not set, is 50"]),
        ({"store": None}, ["only one of the two audits read a store"]),
    ],
)  # fmt: skip
def test_compare_when_settings_differ_then_the_break_is_named_and_no_figure_compared(
    make_audit: Make, make_finding: Make, new: dict[str, Any], named: list[str]
) -> None:
    figures = {"rows": 400, "clusters@0.95": 70}
    old, later = (
        make_audit(make_finding(figures=share(0.1))),
        make_audit(make_finding(figures=share(0.9)), figures=figures, **new),
    )
    changes = compare(old, later)
    assert list(changes.breaks) == named
    assert changes.figures == ()
    assert states(changes) == {"MA305": "not-compared"}


@pytest.mark.parametrize(
    "shown_only",
    [
        {"fail_on": "new"}, {"redact": True}, {"lang": "zh"}, {"suppress": [{"code": "MA1"}]}, {"by": ["agent"]},
        {"history": "audits"}, {"baseline": "b.json"}, {"store": "/elsewhere/store.db"}, {"max_examples": 9},
    ],
)  # fmt: skip
def test_compare_when_only_what_is_shown_differs_then_no_break(make_audit: Make, shown_only: dict[str, Any]) -> None:
    assert compare(make_audit(), make_audit(config=shown_only)).breaks == ()


def test_compare_when_one_audit_made_no_vectors_then_no_break(make_audit: Make) -> None:
    assert compare(make_audit(encoder=None), make_audit()).breaks == ()


def test_settings_when_written_and_read_then_equal(make_audit: Make) -> None:
    settings = settings_of(make_audit(config={"where": "名 = '一'"}))
    assert settings_from(settings_text(settings)) == settings
    assert differences(settings, settings_from(settings_text(settings))) == ()


def test_compare_when_versions_or_names_differ_then_a_note(make_audit: Make) -> None:
    old, new = make_audit(), make_audit(memaudit="0.2.0")
    assert new.store is not None
    new = replace(new, store=replace(new.store, path="backup/copy.db"))
    notes = compare(old, new).notes
    assert "Written by memaudit 0.1.0 before and 0.2.0 now." in notes
    assert "The store is named copy.db; it was store.db." in notes


# -- figures and rows -----------------------------------------------------------------------------


def test_compare_when_figures_move_then_named_and_texts_and_nests_passed_over(make_audit: Make) -> None:
    old = make_audit(figures={"rows": 200, "a": 1, "b": 0.1 + 0.2, "c": {"x": 1}, "d": None, "e": True})
    new = make_audit(figures={"rows": 210, "a": 1, "b": 0.3, "c": {"x": 2}, "d": 5, "e": False, "f": 3})
    assert [(m.name, m.before, m.after) for m in compare(old, new).figures] == [("rows", 200, 210)]


def test_compare_when_row_keys_are_known_then_added_and_removed_are_counted(make_audit: Make) -> None:
    old, new = marks([1, 2, 3, "4"]), marks([2, 3, 4, 5, "六"])
    changes = compare(make_audit(rows=4), make_audit(rows=5), old_keys=old, new_keys=new)
    # 1 and the text "4" are gone; the number 4, 5 and 六 are new
    assert (changes.rows_added, changes.rows_removed) == (3, 2)
    for other in ({"where": "a"}, {"id": "uuid"}, {"max_rows": 3}):
        changes = compare(make_audit(), make_audit(config=other), old_keys=old, new_keys=new)
        assert (changes.rows_added, changes.rows_removed) == (None, None)
    assert compare(make_audit(), make_audit(), old_keys=old).rows_added is None


def test_marks_when_packed_then_come_back_and_too_many_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = marks([1, 2, 2, "一", 1.5, None])
    assert found is not None
    assert len(found) == 5
    assert unpacked(packed(found)) == found
    assert unpacked(packed(frozenset())) == frozenset()
    monkeypatch.setattr("memaudit.history.row_keys.MAX_ROWS", 3)
    assert marks(range(3)) is not None
    assert marks(range(4)) is None


def test_with_changes_when_put_in_then_findings_are_marked(make_audit: Make, make_finding: Make) -> None:
    new = make_audit(make_finding(), make_finding("MA002", "info"))
    marked = with_changes(new, compare(make_audit(), new))
    assert [(f.code, f.change, f.severity) for f in marked.findings] == [
        ("MA305", "new", Severity.MEDIUM), ("MA002", "", Severity.INFO),
    ]  # fmt: skip
    assert marked.changes is not None
