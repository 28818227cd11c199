"""Accepted findings: silent until their figure worsens by more than a tenth, never forgotten without a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memaudit.arrange import arranged
from memaudit.changes import ChangeState
from memaudit.config import Config
from memaudit.errors import ConfigError
from memaudit.fingerprint import with_fingerprints
from memaudit.history.against_baseline import against_baseline
from memaudit.history.baseline import Accepted, baseline_notes, baseline_text, judged, read_baseline, updated, worsened
from memaudit.model import NotRun, Status
from memaudit.reports.since_page import summary

Make = Callable[..., Any]
DAY = date(2026, 8, 3)


def share(value: float) -> dict[str, Any]:
    return {"rows": 200, "share_extra": value}


@pytest.fixture
def accepted(make_audit: Make, make_finding: Make) -> tuple[Accepted, ...]:
    """Return the baseline of one finding, accepted at 10 %."""
    return updated((), make_audit(make_finding(figures=share(0.10))), reason="ticket 41", today=DAY).entries


def marked(finding: Any) -> Any:
    return with_fingerprints([finding])[0]


def test_updated_when_first_written_then_figure_reason_and_day_are_kept(accepted: tuple[Accepted, ...]) -> None:
    (entry,) = accepted
    assert (entry.code, entry.figure, entry.value, entry.reason) == ("MA305", "share_extra", 0.10, "ticket 41")
    assert (entry.since, entry.probe) == ("2026-08-03", "duplicates")


@pytest.mark.parametrize(("now", "opens"), [(0.10, False), (0.05, False), (0.1099, False), (0.1101, True), (0.9, True)])
def test_judged_when_the_figure_worsens_by_more_than_a_tenth_then_open_again(
    accepted: tuple[Accepted, ...], make_finding: Make, now: float, opens: bool
) -> None:
    finding = marked(make_finding(figures=share(now), title="重复的记忆"))
    entry, shown = judged(finding, {e.fingerprint: e for e in accepted})
    assert (entry is None) is opens
    assert ("open again" in (shown.caveat or "")) is opens
    assert worsened(accepted[0], finding) is opens


def test_judged_when_another_place_or_rule_then_not_accepted(
    accepted: tuple[Accepted, ...], make_finding: Make
) -> None:
    entries = {e.fingerprint: e for e in accepted}
    other = marked(make_finding(subject={"table": "notes", "column": "content"}))
    assert judged(other, entries)[0] is None
    stolen = marked(make_finding("MA306", fingerprint=accepted[0].fingerprint))
    assert judged(stolen, entries)[0] is None
    moved = marked(
        make_finding(
            subject={"table": "memories", "column": "content", "line": 9, "values": ["新"]}, figures=share(0.1)
        )
    )
    assert judged(moved, entries)[0] is accepted[0]


def test_judged_when_the_finding_has_no_figure_then_stays_accepted(make_audit: Make, make_finding: Make) -> None:
    state = make_finding("MA602", "low", figures={"share_of_limit": 0.3})
    (entry,) = updated((), make_audit(state)).entries
    assert (entry.figure, entry.value) == ("", None)
    grown = marked(make_finding("MA602", "low", figures={"share_of_limit": 0.9}))
    assert judged(grown, {entry.fingerprint: entry})[0] is entry


def test_updated_when_written_again_then_old_reasons_stay_and_figures_follow(
    accepted: tuple[Accepted, ...], make_audit: Make, make_finding: Make
) -> None:
    fact = make_finding("MA002", "info")
    result = updated(
        accepted, make_audit(make_finding(figures=share(0.04)), make_finding("MA306"), fact), today=date(2026, 9, 1)
    )
    by_code = {e.code: e for e in result.entries}
    assert set(by_code) == {"MA305", "MA306"}  # there is nothing to accept in a fact
    assert (by_code["MA305"].value, by_code["MA305"].reason, by_code["MA305"].since) == (
        0.04,
        "ticket 41",
        "2026-08-03",
    )
    assert by_code["MA306"].reason == "known on 2026-09-01"
    assert [e.code for e in result.added] == ["MA306"]
    assert [e.code for e in result.moved] == ["MA305"]
    again = updated(
        result.entries, make_audit(make_finding(figures=share(0.04)), make_finding("MA306")), today=date(2026, 9, 9)
    )
    assert (again.added, again.moved, again.silent) == ((), (), ())


def test_updated_when_the_baseline_hid_it_in_the_report_then_still_firing(
    accepted: tuple[Accepted, ...], make_audit: Make
) -> None:
    hidden = {
        "code": "MA305", "kind": "exact-duplicates", "title": "t", "fingerprint": accepted[0].fingerprint, "by": "baseline",
        "figure": "share_extra", "figure_value": 0.02, "probe": "duplicates",
    }  # fmt: skip
    result = updated(accepted, make_audit(suppressed=(hidden,)), prune=True, accept=False)
    assert result.entries == accepted
    assert updated(accepted, make_audit(suppressed=(hidden,))).entries[0].value == 0.02


def test_updated_when_pruned_then_only_what_no_longer_fires_goes(
    accepted: tuple[Accepted, ...], make_audit: Make, make_finding: Make
) -> None:
    gone = updated(accepted, make_audit(), prune=True, accept=False)
    assert (gone.entries, [e.code for e in gone.dropped]) == ((), ["MA305"])
    blind = make_audit(not_run=(NotRun("duplicates", ("MA305",), Status.SKIPPED, "no text"),))
    assert updated(accepted, blind, prune=True, accept=False).entries == accepted
    kept = updated(accepted, make_audit(make_finding("MA306")))
    assert [e.code for e in kept.silent] == ["MA305"]
    assert {e.code for e in kept.entries} == {"MA305", "MA306"}


def test_updated_when_rules_are_chosen_then_only_those(make_audit: Make, make_finding: Make) -> None:
    audit = make_audit(make_finding("MA305"), make_finding("MA602", "low"))
    assert [e.code for e in updated((), audit, select=("MA3",)).entries] == ["MA305"]


def test_notes_when_an_entry_no_longer_fires_then_said_and_when_nobody_looked_too(
    accepted: tuple[Accepted, ...], make_audit: Make, make_finding: Make
) -> None:
    assert baseline_notes(accepted, make_audit(make_finding())) == ()
    (note,) = baseline_notes(accepted, make_audit())
    assert "not found any more: MA305" in note
    blind = make_audit(not_run=(NotRun("duplicates", ("MA305",), Status.SKIPPED, "no text"),))
    (note,) = baseline_notes(accepted, blind)
    assert "the rule did not look: MA305" in note


def test_baseline_when_written_and_read_then_equal_and_sorted(tmp_path: Path) -> None:
    entries = (
        Accepted("b" * 16, "MA602", "k", "标题", "平台规定", "", None, "2026-08-03", "capacity"),
        Accepted("a" * 16, "MA305", "k", "t", "r", "share_extra", 0.1 + 0.2, "2026-08-03", "duplicates"),
    )
    path = tmp_path / "memaudit-baseline.json"
    path.write_text(baseline_text(entries), "utf-8")
    assert read_baseline(path) == entries[::-1]
    assert baseline_text(entries) == baseline_text(entries[::-1])
    assert "平台规定" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("[]", "no baseline"),
        ('{"accepted": []}', "version None"),
        ('{"memaudit_baseline": 9, "accepted": []}', "version 9"),
        (
            '{"memaudit_baseline": 1, "accepted": [{"fingerprint": "a", "code": "MA1"}]}',
            "needs fingerprint, code and reason",
        ),
        (
            '{"memaudit_baseline": 1, "accepted": [{"fingerprint": "a", "code": "MA1", "reason": " "}]}',
            "needs fingerprint",
        ),
        ('{"memaudit_baseline": 1, "accepted": [3]}', "needs fingerprint"),
    ],
)
def test_baseline_when_it_is_none_then_refused_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_baseline(path)


def test_baseline_when_missing_then_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="memaudit baseline"):
        read_baseline(tmp_path / "none.json")


def test_baseline_when_a_number_is_no_number_then_no_figure(tmp_path: Path) -> None:
    entry = {"fingerprint": "a", "code": "MA1", "reason": "r", "value": True}
    (tmp_path / "b.json").write_text(json.dumps({"memaudit_baseline": 1, "accepted": [entry]}))
    assert read_baseline(tmp_path / "b.json")[0].value is None


# -- against the baseline -------------------------------------------------------------------------


def test_against_baseline_when_each_kind_is_there_then_named_and_the_steady_unchanged(
    make_audit: Make, make_finding: Make
) -> None:
    places = {
        name: marked(make_finding(subject={"table": name}, figures=share(0.1)))
        for name in ("grown", "shrunk", "steady", "gone")
    }
    entries = updated((), make_audit(*places.values()), reason="ticket 41", today=DAY).entries
    grown, shrunk, steady = (
        replace(places[name], figures=share(value))
        # 10 % of 0.10 is 0.01: 0.111 is beyond it, 0.089 too, 0.0901 within
        for name, value in (("grown", 0.111), ("shrunk", 0.089), ("steady", 0.0901))
    )
    shown, silent = arranged(
        [grown, shrunk, steady, make_finding("MA306"), make_finding("MA002", "info")],
        Config(), rows=200, baseline=entries,
    )  # fmt: skip
    audit = make_audit(*shown, suppressed=tuple(silent))
    changes = against_baseline(entries, audit, "known.json")
    assert [(c.state.value, c.code, c.before, c.after) for c in changes.findings] == [
        ("new", "MA306", None, 0.1),
        ("worse", "MA305", 0.1, 0.111),
        ("better", "MA305", 0.1, 0.089),
        ("fixed", "MA305", 0.1, None),
        ("unchanged", "MA305", 0.1, 0.0901),
    ]
    assert (changes.against, changes.since, changes.breaks) == ("known.json", "", ())
    assert summary(changes) == "Against the baseline known.json: 1 new, 1 worse, 1 better, 1 fixed, 1 unchanged."


def test_against_baseline_when_nobody_looked_or_it_was_broken_off_then_not_fixed(
    accepted: tuple[Accepted, ...], make_audit: Make
) -> None:
    for parts in ({"probes": {"summary": 0.1}}, {"incomplete": "interrupted by a person"}):
        (change,) = against_baseline(accepted, make_audit(**parts), "b").findings
        assert (change.state, bool(change.reason)) == (ChangeState.NOT_COMPARED, True)


def test_baseline_when_the_audit_is_of_another_table_then_neither_fixed_nor_dropped(
    accepted: tuple[Accepted, ...], make_audit: Make
) -> None:
    audit = make_audit()
    assert audit.store is not None
    other = replace(audit, store=replace(audit.store, table="other"))
    (change,) = against_baseline(accepted, other, "b").findings
    assert (change.state, change.reason) == (
        ChangeState.NOT_COMPARED, f"it was accepted in the table {accepted[0].table}"
    )  # fmt: skip
    assert updated(accepted, other, prune=True, accept=False).entries == accepted
    (note,) = baseline_notes(accepted, other)
    assert note.startswith("Accepted in the baseline, but for another table: MA305")
    older = (replace(accepted[0], table=""),)  # a file that does not say
    assert against_baseline(older, other, "b").findings[0].state is ChangeState.FIXED


def test_against_baseline_when_the_configuration_suppresses_it_then_left_out(
    accepted: tuple[Accepted, ...], make_audit: Make, make_finding: Make
) -> None:
    rule = {"code": "MA305", "reason": "platform"}
    shown, silent = arranged([make_finding(figures=share(0.1))], Config(suppress=(rule,)), rows=200, baseline=accepted)
    assert against_baseline(accepted, make_audit(*shown, suppressed=tuple(silent)), "b").findings == ()
