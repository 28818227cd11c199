"""The command line of audits that come again and again: run --history, diff, baseline, history, schedule."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
posix_only = pytest.mark.skipif(os.name != "posix", reason="the commands are for /bin/sh")


@pytest.fixture
def store(write_store: Run) -> Path:
    """Return a store of 40 memories, 4 of which (10 %) are exact copies of the first."""
    subjects = [
        "lighthouse",
        "orchard",
        "compiler",
        "violin",
        "glacier",
        "pottery",
        "submarine",
        "falcon",
        "embroidery",
        "vineyard",
        "turbine",
        "monsoon",
    ]
    rows = [
        (i, f"{subjects[i % 12]} {subjects[(i * 5 + i // 12) % 12]} 第{i}条记忆", f"2026-05-{1 + i % 28:02d}", None)
        for i in range(36)
    ]
    made: Path = write_store([*rows, *((100 + i, rows[0][1], "2026-06-01", None) for i in range(4))])
    return made


def change(store: Path, *statements: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


BLANK = "UPDATE memories SET content = '' WHERE id IN (5, 6, 7)"
RULES = ("--select", "MA003,MA305")


def codes(findings: list[dict[str, Any]]) -> list[str]:
    return [f["code"] for f in findings]


def report(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    return loaded


# -- history --------------------------------------------------------------------------------------


def test_history_when_kept_then_only_what_is_new_fails(memaudit: Run, store: Path, tmp_path: Path) -> None:
    words = ("run", "--store", store, *RULES, "--history", "audits", "--fail-on", "new")
    assert memaudit(*words).code == 1  # the first audit: everything is new
    assert memaudit(*words).code == 0
    change(store, BLANK)
    ran = memaudit(*words)
    assert ran.code == 1
    assert "1 new, 1 unchanged." in ran.out
    assert "[new] " in ran.out
    assert {f["code"]: f["change"] for f in report(tmp_path)["findings"]} == {
        "MA003": "new", "MA305": "unchanged", "MA906": "",  # a fact is neither new nor old
    }  # fmt: skip
    assert memaudit(*words).code == 0
    change(store, "DELETE FROM memories WHERE id >= 100")
    ran = memaudit(*words)
    assert ran.code == 0
    assert "fixed: MA305" in ran.out
    assert "40 then, 36 now; 0 added, 4 removed." in ran.out


def test_history_when_a_finding_worsens_then_it_fails(memaudit: Run, store: Path) -> None:
    words = ("run", "--store", store, *RULES, "--history", "audits.db", "--fail-on", "new")
    memaudit(*words)
    change(store, "UPDATE memories SET content = (SELECT content FROM memories WHERE id = 0) WHERE id IN (30, 31)")
    ran = memaudit(*words)
    assert (ran.code, "1 worse" in ran.out) == (1, True)  # 4 of 40 extra copies, then 6 of 40


def test_history_when_settings_differ_then_the_break_is_named(memaudit: Run, store: Path, tmp_path: Path) -> None:
    memaudit("run", "--store", store, *RULES, "--history", "audits")
    ran = memaudit("run", "--store", store, *RULES, "--history", "audits", "--set", "thresholds=[0.9]")
    assert "not comparable: `thresholds` was [0.98, 0.95, 0.9, 0.85], is [0.9]" in ran.out
    assert report(tmp_path)["changes"]["figures"] == []
    assert report(tmp_path)["trend"]["breaks"][0]["run"] == 1


def test_history_when_two_stores_share_it_then_never_compared(
    memaudit: Run, store: Path, tmp_path: Path, unchanged: Run
) -> None:
    (tmp_path / "a").mkdir()
    moved = tmp_path / "a" / "store.db"
    moved.write_bytes(store.read_bytes())
    unchanged(store)
    unchanged(moved)
    memaudit("run", "--store", store, *RULES, "--history", "audits")
    memaudit("run", "--store", moved, *RULES, "--history", "audits")
    assert report(tmp_path)["changes"] is None


def test_history_when_the_audit_is_redacted_then_what_is_kept_is_too(
    memaudit: Run, store: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        assert memaudit("run", "--store", store, *RULES, "--history", "audits", "--redact").code == 0
    assert report(tmp_path)["changes"]["findings"][0]["state"] == "unchanged"  # the fingerprint is that of the text
    import zlib

    with closing(sqlite3.connect(tmp_path / "audits" / "history.db")) as connection, connection:
        kept = [zlib.decompress(row[0]).decode() for row in connection.execute("SELECT report FROM runs")]
        titles = [row[0] for row in connection.execute("SELECT title FROM findings")]
    connection.close()
    pages = [p.read_text("utf-8") for p in (tmp_path / "audits" / "pages").iterdir()]
    assert not [text for text in [*kept, *titles, *pages] if "第0条记忆" in text or "lighthouse" in text]


def test_history_when_the_store_is_unreadable_then_kept_as_incomplete(
    memaudit: Run, store: Path, tmp_path: Path
) -> None:
    words = ("run", "--store", store, *RULES, "--history", "audits", "--fail-on", "new")
    memaudit(*words)
    whole = store.read_bytes()
    store.write_text("# Notes\n" * 100)
    assert memaudit(*words).code == 3
    store.write_bytes(whole)
    assert memaudit(*words).code == 0  # compared with the complete one
    rows = json.loads(memaudit("history", "audits", "--format", "json").out)
    assert [row["complete"] for row in rows] == [True, False, True]


def test_history_when_locked_then_3_and_nothing_is_kept(memaudit: Run, store: Path, tmp_path: Path) -> None:
    from memaudit.history.lock import only_audit

    with only_audit(tmp_path / "audits" / "history.db"):
        ran = memaudit("run", "--store", store, *RULES, "--history", "audits")
    assert ran.code == 3
    assert "another audit is writing" in ran.err
    assert not (tmp_path / "report.json").exists()


def test_history_when_listed_pruned_and_looked_at_for_its_age(memaudit: Run, store: Path, tmp_path: Path) -> None:
    for _ in range(3):
        memaudit("run", "--store", store, *RULES, "--history", "audits")
    listed = memaudit("history", "audits").out
    assert listed.count("store.db › memories") == 3
    ran = memaudit("history", "audits", "--prune", "2")
    assert (ran.code, ran.out.count("store.db › memories"), "1 dropped, 2 kept" in ran.err) == (0, 2, True)
    assert memaudit("history", "audits", "--max-age", "8d", "-q").code == 0
    change_started = "UPDATE runs SET started = '2026-01-05T06:00:00+00:00'"
    change(tmp_path / "audits" / "history.db", change_started)
    ran = memaudit("history", "audits", "--max-age", "8d", "-q")
    assert ran.code == 3
    assert "days old (2026-01-05 06:00 UTC), more than 8d" in ran.err
    assert memaudit("history", "audits", "--max-age", "eight").code == 2


def test_history_when_the_newest_failed_then_its_age_does_not_count(memaudit: Run, store: Path, tmp_path: Path) -> None:
    store.write_text("# Notes\n" * 100)
    memaudit("run", "--store", store, "--history", "audits")
    ran = memaudit("history", "audits", "--max-age", "8d", "-q")
    assert ran.code == 3
    assert "no complete audit, and 1 incomplete" in ran.err


def test_history_when_none_is_there_or_named_then_2(memaudit: Run) -> None:
    assert memaudit("history").code == 2
    assert memaudit("history", "nowhere").code == 2
    assert memaudit("history", "nowhere", "--max-age", "8d").code == 2


def test_fail_on_new_when_there_is_nothing_to_be_new_against_then_2_before_any_work(
    memaudit: Run, store: Path, tmp_path: Path
) -> None:
    ran = memaudit("run", "--store", store, "--fail-on", "new")
    assert ran.code == 2
    assert "--baseline FILE or --history" in ran.err
    assert not (tmp_path / "report.json").exists()


# -- diff -----------------------------------------------------------------------------------------


def test_diff_when_two_reports_then_said_in_three_formats(memaudit: Run, store: Path, tmp_path: Path) -> None:
    memaudit("run", "--store", store, *RULES, "--out", "one")
    change(store, BLANK, "DELETE FROM memories WHERE id >= 100")
    memaudit("run", "--store", store, *RULES, "--out", "two")
    ran = memaudit("diff", "one/report.json", "two/report.json")
    assert ran.code == 0
    assert "1 new, 1 fixed." in ran.out
    assert "How many were added and removed is not known" in ran.out
    document = json.loads(memaudit("diff", "one/report.json", "two/report.json", "--format", "json").out)
    assert [(c["state"], c["code"]) for c in document["findings"]] == [("new", "MA003"), ("fixed", "MA305")]
    assert "| new | MA003 |" in memaudit("diff", "one/report.json", "two/report.json", "--format", "markdown").out
    assert memaudit("diff", "one/report.json", "two/report.json", "--fail-on", "new", "-q").code == 1
    assert memaudit("diff", "two/report.json", "two/report.json", "--fail-on", "new", "-q").code == 0


def test_diff_when_a_history_then_the_two_newest_and_rows_by_key(memaudit: Run, store: Path) -> None:
    memaudit("run", "--store", store, *RULES, "--history", "audits")
    assert memaudit("diff", "audits").code == 2  # one audit is not two
    change(
        store,
        "DELETE FROM memories WHERE id = 102",
        "INSERT INTO memories VALUES (200, '新的记忆', '2026-07-01', NULL)",
    )
    memaudit("run", "--store", store, *RULES, "--history", "audits")
    ran = memaudit("diff", "audits")
    assert ran.code == 0
    assert "Rows: 40 then, 40 now; 1 added, 1 removed." in ran.out


def test_diff_when_findings_were_accepted_in_between_then_listed_as_accepted_and_counted(
    memaudit: Run, store: Path
) -> None:
    memaudit("run", "--store", store, *RULES, "--out", "one")
    memaudit("baseline", "--from", "one/report.json", "--reason", "ticket 41", "-q")
    memaudit("run", "--store", store, *RULES, "--baseline", "memaudit-baseline.json", "--out", "two")
    ran = memaudit("diff", "one/report.json", "two/report.json")
    assert "1 accepted." in ran.out.splitlines()[0]
    assert "not compared" not in ran.out
    assert "~ accepted" in ran.out
    assert "in the baseline: ticket 41" in ran.out
    # From then on it is silent in both, and that is counted.
    again = memaudit("diff", "two/report.json", "two/report.json").out
    assert "no findings then or now" in again
    assert "1 finding is accepted or suppressed in both audits and not listed here." in again


@pytest.mark.parametrize("words", [("none.json", "none.json"), ("none",), ("report.json",), ()])
def test_diff_when_something_is_missing_then_2(memaudit: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "report.json").write_text("{}")
    assert memaudit("diff", *words).code == 2


# -- baseline -------------------------------------------------------------------------------------


def test_baseline_when_accepted_then_silent_until_a_tenth_worse(memaudit: Run, store: Path, tmp_path: Path) -> None:
    words = ("run", "--store", store, *RULES, "--baseline", "memaudit-baseline.json", "--fail-on", "new")
    assert memaudit("run", "--store", store, *RULES).code == 0
    ran = memaudit("baseline", "--reason", "ticket 41")
    assert (ran.code, "added MA305" in ran.out) == (0, True)
    ran = memaudit(*words)
    assert ran.code == 0
    made = report(tmp_path)
    assert (codes(made["findings"]), [(s["code"], s["reason"], s["severity"]) for s in made["suppressed"]]) == (
        [], [("MA305", "ticket 41", "medium")],
    )  # fmt: skip
    # silent, not healthy: the verdict still rests on it
    assert "No fault found" not in ran.out
    assert "1 finding suppressed or accepted" in ran.out
    change(store, "UPDATE memories SET content = (SELECT content FROM memories WHERE id = 0) WHERE id = 30")
    ran = memaudit(*words)  # 5 of 40 extra copies: 12.5 %, a quarter worse than 10 %
    assert ran.code == 1
    assert "Against the baseline memaudit-baseline.json: 1 worse." in ran.out
    assert "Against the baseline" in (tmp_path / "memaudit-report.html").read_text("utf-8")
    assert "open again" in report(tmp_path)["findings"][0]["caveat"]


def test_baseline_when_a_new_finding_comes_then_it_alone_fails(memaudit: Run, store: Path, tmp_path: Path) -> None:
    memaudit("run", "--store", store, *RULES)
    memaudit("baseline", "-q")
    change(store, BLANK)
    words = ("run", "--store", store, *RULES, "--baseline", "memaudit-baseline.json", "--fail-on", "new")
    assert memaudit(*words).code == 1
    assert codes(report(tmp_path)["findings"]) == ["MA003", "MA906"]


def test_baseline_when_an_entry_no_longer_fires_then_a_note_and_prune_drops_it(
    memaudit: Run, store: Path, tmp_path: Path
) -> None:
    memaudit("run", "--store", store, *RULES)
    memaudit("baseline", "-q")
    change(store, "DELETE FROM memories WHERE id >= 100")
    memaudit("run", "--store", store, *RULES, "--baseline", "memaudit-baseline.json")
    assert any("not found any more: MA305" in note for note in report(tmp_path)["notes"])
    before = (tmp_path / "memaudit-baseline.json").read_text()
    ran = memaudit("baseline")
    assert "--prune drops it" in ran.err
    assert (tmp_path / "memaudit-baseline.json").read_text() == before
    assert "dropped MA305" in memaudit("baseline", "--prune").out
    assert json.loads((tmp_path / "memaudit-baseline.json").read_text())["accepted"] == []


def test_baseline_when_there_is_none_or_another_file_then_2(memaudit: Run, store: Path, tmp_path: Path) -> None:
    assert memaudit("run", "--store", store, "--baseline", "none.json").code == 2
    assert memaudit("baseline").code == 2  # no report.json
    memaudit("run", "--store", store, *RULES)
    assert memaudit("baseline", "--prune").code == 2
    assert memaudit("baseline", "--select", "MA9").code == 2
    (tmp_path / "memaudit-baseline.json").write_text('{"mine": true}')
    assert memaudit("baseline").code == 2
    assert (tmp_path / "memaudit-baseline.json").read_text() == '{"mine": true}'


def test_suppression_when_its_day_has_passed_then_the_finding_is_back(
    memaudit: Run, store: Path, tmp_path: Path
) -> None:
    text = f"[memaudit]\nstore = '{store}'\nselect = ['MA305']\n[[memaudit.suppress]]\ncode = 'MA305'\nreason = '已知'\nuntil = %s\n"
    (tmp_path / "memaudit.toml").write_text(text % "2999-12-31", "utf-8")
    assert memaudit("run", "--fail-on", "low").code == 0
    assert report(tmp_path)["suppressed"][0]["reason"] == "已知"
    assert "(until 2999-12-31)" in (tmp_path / "memaudit-report.html").read_text("utf-8")
    (tmp_path / "memaudit.toml").write_text(text % "2020-12-31", "utf-8")
    assert memaudit("run", "--fail-on", "low").code == 1


# -- on finding -----------------------------------------------------------------------------------


@posix_only
def test_on_finding_when_something_is_new_then_the_json_is_handed_over(
    memaudit: Run, store: Path, tmp_path: Path
) -> None:
    got = tmp_path / "got.json"
    words = ("run", "--store", store, *RULES, "--history", "audits", "--on-finding", f"cat > {shlex.quote(str(got))}")
    assert memaudit(*words).code == 0
    assert codes(json.loads(got.read_text("utf-8"))["findings"]) == ["MA305"]
    got.unlink()
    assert memaudit(*words).code == 0
    assert not got.exists()  # nothing is new
    change(store, BLANK)
    assert memaudit(*words).code == 0
    assert got.exists()


@posix_only
def test_on_finding_when_the_command_fails_then_a_warning_and_the_same_code(memaudit: Run, store: Path) -> None:
    for fail_on, code in (("never", 0), ("low", 1)):
        ran = memaudit("run", "--store", store, *RULES, "--fail-on", fail_on, "--on-finding", "exit 9")
        assert ran.code == code
        assert "warning: --on-finding 'exit 9' ended with exit code 9" in ran.err
        assert "report: " in ran.out


@posix_only
def test_on_finding_when_there_is_none_then_not_run(memaudit: Run, healthy: Path, tmp_path: Path) -> None:
    memaudit("run", "--store", healthy, "--on-finding", f"touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()


# -- schedule -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cron", "systemd", "github", "gitlab", "launchd", "schtasks"])
def test_schedule_when_printed_then_on_stdout_and_nothing_is_written(memaudit: Run, tmp_path: Path, kind: str) -> None:
    ran = memaudit("schedule", "--kind", kind, "--at", "Mon 06:00", "--", "--store", "notes.db")
    assert ran.code == 0
    assert "--store notes.db" in ran.out
    assert list(tmp_path.iterdir()) == []
    if kind not in ("github", "gitlab"):
        assert str(tmp_path) in ran.out
        assert sys.executable in ran.out


def test_schedule_when_no_store_is_named_then_warned(memaudit: Run, tmp_path: Path) -> None:
    assert "no store is configured" in memaudit("schedule").err
    (tmp_path / "memaudit.toml").write_text('[memaudit]\nstore = "a.db"\n')
    assert "no store is configured" not in memaudit("schedule").err


def test_schedule_when_written_then_both_units_and_never_over_others(memaudit: Run, tmp_path: Path) -> None:
    assert memaudit("schedule", "--kind", "systemd", "--write", "units", "--", "--store", "a.db").code == 0
    assert {p.name for p in (tmp_path / "units").iterdir()} == {"memaudit.service", "memaudit.timer"}
    assert memaudit("schedule", "--kind", "systemd", "--write", "units", "--", "--store", "a.db").code == 0
    mine = tmp_path / "ci.yml"
    mine.write_text("name: mine\n")
    ran = memaudit("schedule", "--kind", "github", "--write", "ci.yml", "--", "--store", "a.db")
    assert ran.code == 2
    assert mine.read_text() == "name: mine\n"
    assert memaudit("schedule", "--kind", "github", "--write", ".", "--", "--store", "a.db").code == 0
    assert (tmp_path / ".github/workflows/memaudit.yml").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("--at", "Montag 06:00"),
        ("--tz", "Mars/Olympus"),
        ("--kind", "at"),
        ("--notify", "a\nb"),
        ("--", "--stroe", "x"),
        ("--", "a.db"),
    ],
)
def test_schedule_when_used_wrongly_then_2(memaudit: Run, words: tuple[str, ...]) -> None:
    assert memaudit("schedule", *words).code == 2


# -- start ----------------------------------------------------------------------------------------


def test_help_when_asked_then_without_heavy_imports_and_with_exit_codes(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[1]
    heavy = ("numpy", "scipy", "pandas", "jinja2", "sqlite_utils", "sqlite3")
    for command in ("diff", "baseline", "history", "schedule", "run"):
        code = (
            "import sys\nfrom memaudit.cli import main\n"
            f"try:\n    main(['{command}', '--help'])\nexcept SystemExit:\n    pass\n"
            f"print(sorted(m for m in {heavy!r} if m in sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True, check=True
        )  # fmt: skip
        assert done.stdout.rstrip().endswith("[]"), command
        assert "Example" in done.stdout
        assert "130  interrupted" in done.stdout


def test_history_when_it_is_the_store_then_refused_and_nothing_lies_beside_it(
    memaudit: Run, healthy: Path, unchanged: Run
) -> None:
    unchanged(healthy)
    ran = memaudit("run", "--store", healthy, "--history", healthy)
    assert (ran.code, ran.err) == (
        2,
        f"error: {healthy} is a database, but no history of memaudit. Name another file.\n",
    )
