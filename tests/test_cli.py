"""The command line: exit codes, messages, where results go."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memaudit.errors import ExitCode

Run = Callable[..., Any]


# -- one test a row of the table of exit codes ---------------------------------------------------


def test_exit_when_nothing_fails_then_0_with_page_and_twin(memaudit: Run, healthy: Path, unchanged: Run) -> None:
    unchanged(healthy)
    ran = memaudit("run", "--store", healthy)
    assert ran.code == 0
    assert "No fault found in 24 memories" in ran.out
    page, twin = healthy.parent / "memaudit-report.html", healthy.parent / "report.json"
    assert page.read_text().startswith("<!doctype html>")
    report = json.loads(twin.read_text())
    assert report["schema_version"] == "1.0"
    assert report["store"]["rows"] == report["store"]["rows_used"] == 24
    if os.name == "posix":
        assert stat.S_IMODE(page.stat().st_mode) == stat.S_IMODE(twin.stat().st_mode) == 0o600


def test_exit_when_a_finding_reaches_fail_on_then_1(memaudit: Run, write_store: Run) -> None:
    store = write_store([(i, "Run stopped: the task is blocked.", "2026-05-01", None) for i in range(20)])
    assert memaudit("run", "--store", store, "--select", "MA305", "--fail-on", "medium").code == 1
    assert memaudit("run", "--store", store, "--select", "MA305", "--fail-on", "high").code == 0
    assert memaudit("run", "--store", store, "--select", "MA305").code == 0


def test_exit_when_used_wrongly_then_2(memaudit: Run, healthy: Path) -> None:
    for words in (
        ["run", "--nonsense"],
        ["run", "--store", healthy, "--table", "memorys"],
        ["run", "--store", healthy, "--text", "body"],
        ["run", "--store", healthy, "--set", "treshold=1"],
        ["run", "--store", healthy, "--select", "MA999"],
        ["run", "--store", healthy, "--format", "pdf"],
        ["run", "--store", healthy, "--fail-on", "severe"],
        ["run"],
        ["explain", "MA999"],
        ["report", "missing.json"],
    ):
        ran = memaudit(*words)
        assert ran.code == 2, words
        assert "Traceback" not in ran.err
        assert len(ran.err.strip().splitlines()) <= 6


def test_exit_when_the_store_is_unreadable_then_3_and_the_report_says_so(memaudit: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("# Notes\n")
    ran = memaudit("run", "--store", "notes.db", "--format", "json=out.json")
    assert ran.code == 3
    assert "notes.db" in ran.err
    report = json.loads((tmp_path / "out.json").read_text())
    assert [f["code"] for f in report["findings"]] == ["MA901"]
    assert report["verdict"]["state"] == "nothing-audited"
    assert all(n["status"] == "skipped" for n in report["not_run"])


def test_exit_when_a_probe_crashes_then_3_and_the_others_go_on(
    memaudit: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memaudit.probes.contents import PROBE

    monkeypatch.setattr(type(PROBE), "run", lambda self, ctx: 1 / 0)
    ran = memaudit("run", "--store", healthy, "--format", "json=out.json")
    assert ran.code == 3
    report = json.loads((healthy.parent / "out.json").read_text())
    failed = [n for n in report["not_run"] if n["status"] == "failed"]
    assert [n["probe"] for n in failed] == ["contents"]
    assert "ZeroDivisionError" in failed[0]["traceback"]
    assert {f["code"] for f in report["findings"]} >= {"MA002"}


def test_exit_when_there_are_no_rows_then_4_and_the_report_is_written(memaudit: Run, write_store: Run) -> None:
    store = write_store([])
    ran = memaudit("run", "--store", store)
    assert ran.code == 4
    report = json.loads((store.parent / "report.json").read_text())
    assert [f["code"] for f in report["findings"]] == ["MA001"]
    assert "healthy" not in (store.parent / "memaudit-report.html").read_text().lower()


def test_exit_when_interrupted_then_130_and_the_partial_report_is_kept(
    memaudit: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memaudit.probes.duplicates import PROBE

    def interrupted(self: object, ctx: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(PROBE), "run", interrupted)
    ran = memaudit("run", "--store", healthy)
    assert ran.code == 130
    report = json.loads((healthy.parent / "report.json").read_text())
    assert any(n["reason"] == "interrupted" for n in report["not_run"])
    assert {f["code"] for f in report["findings"]} >= {"MA002"}


def test_help_when_shown_then_holds_every_exit_code(memaudit: Run) -> None:
    for words in (["--help"], ["run", "--help"], ["explain", "--help"], ["plan", "--help"]):
        text = memaudit(*words).out
        for code in ExitCode:
            assert f"{code.value:>3}  {code.meaning.split(';')[0]}" in text


# -- bad input: one line that names the thing, the reason and the remedy --------------------------


def assert_one_clear_line(ran: Any, *words: str) -> None:
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]


def test_store_when_missing_then_named_and_not_created(memaudit: Run, healthy: Path, tmp_path: Path) -> None:
    ran = memaudit("run", "--store", "experiences.db")
    assert ran.code == 3
    assert_one_clear_line(ran, "experiences.db", "--store")
    assert not (tmp_path / "experiences.db").exists()
    assert not (tmp_path / "report.json").exists()


def test_store_when_no_database_then_says_what_it_is(memaudit: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    ran = memaudit("run", "--store", "notes.md")
    assert ran.code == 3
    assert_one_clear_line(ran, "notes.md", "SQLite")


def test_store_when_empty_file_then_said(memaudit: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    ran = memaudit("run", "--store", "empty.db")
    assert ran.code in (3, 4)
    assert_one_clear_line(ran, "empty.db")


def test_store_when_cut_then_said(memaudit: Run, healthy: Path) -> None:
    whole = healthy.read_bytes()
    healthy.write_bytes(whole[: len(whole) // 2])
    ran = memaudit("run", "--store", healthy)
    assert ran.code == 3
    assert_one_clear_line(ran, "store.db")


def test_store_when_a_folder_then_said(memaudit: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ran = memaudit("run", "--store", "folder")
    assert ran.code == 3
    assert_one_clear_line(ran, "folder")


def test_store_when_not_permitted_then_said(memaudit: Run, healthy: Path) -> None:
    if os.name != "posix" or os.geteuid() == 0:
        pytest.skip("this user may read everything")
    healthy.chmod(0)
    ran = memaudit("run", "--store", healthy)
    healthy.chmod(0o600)
    assert ran.code == 3
    assert_one_clear_line(ran, "store.db")


def test_table_when_missing_then_the_nearest_and_all_are_named(memaudit: Run, healthy: Path) -> None:
    ran = memaudit("run", "--store", healthy, "--table", "memory")
    assert ran.code == 2
    assert_one_clear_line(ran, '"memory" not found in store.db', 'Did you mean "memories"?', "Tables: memories")


def test_table_when_several_fit_then_the_candidates_are_named(memaudit: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "two.db")) as connection, connection:
        for table in ("experiences", "lessons"):
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, content TEXT)")
            rows = [(f"{table}: sentence number {i} about something else",) for i in range(10)]
            connection.executemany(f"INSERT INTO {table}(content) VALUES (?)", rows)
    connection.close()
    ran = memaudit("run", "--store", "two.db")
    assert ran.code == 2
    assert_one_clear_line(ran, "experiences", "lessons", "--table")


def test_config_when_a_key_is_unknown_then_line_and_nearest_are_named(memaudit: Run, tmp_path: Path) -> None:
    (tmp_path / "memaudit.toml").write_text('[memaudit]\nstore = "a.db"\ntreshold = [0.9]\n')
    ran = memaudit("run")
    assert ran.code == 2
    assert_one_clear_line(ran, 'unknown key "treshold" in memaudit.toml:3', 'Did you mean "thresholds"?')


# -- where results go ------------------------------------------------------------------------------


def test_format_json_when_on_stdout_then_pure_also_with_verbose(memaudit: Run, healthy: Path) -> None:
    ran = memaudit("run", "--store", healthy, "--format", "json", "-v")
    assert json.loads(ran.out)["memaudit"]
    assert ran.err
    assert not (healthy.parent / "memaudit-report.html").exists()


def test_quiet_when_html_then_no_byte_on_stdout(memaudit: Run, healthy: Path) -> None:
    ran = memaudit("run", "--store", healthy, "-q", "--format", "html")
    assert (ran.out, ran.err) == ("", "")
    assert (healthy.parent / "memaudit-report.html").exists()


def test_out_when_a_folder_or_a_name_then_page_and_twin_lie_there(memaudit: Run, healthy: Path, tmp_path: Path) -> None:
    assert memaudit("run", "--store", healthy, "--out", "audits/new").code == 0
    assert {p.name for p in (tmp_path / "audits/new").iterdir()} == {"memaudit-report.html", "report.json"}
    assert memaudit("run", "--store", healthy, "--out", "week.html").code == 0
    assert (tmp_path / "week.html").exists()
    assert (tmp_path / "week.json").exists()


def test_file_of_others_when_in_the_way_then_kept_without_force(memaudit: Run, healthy: Path, tmp_path: Path) -> None:
    mine = tmp_path / "report.json"
    mine.write_text('{"title": "my quarterly report"}')
    ran = memaudit("run", "--store", healthy)
    assert ran.code == 2
    assert_one_clear_line(ran, "report.json", "--force")
    assert "quarterly" in mine.read_text()
    assert memaudit("run", "--store", healthy, "--force").code == 0
    assert memaudit("run", "--store", healthy).code == 0  # now it is ours


def test_two_formats_when_both_on_stdout_then_refused(memaudit: Run, healthy: Path) -> None:
    assert memaudit("run", "--store", healthy, "--format", "json", "--format", "text").code == 2


def test_report_when_rendered_again_then_equals_the_first_page(memaudit: Run, healthy: Path, tmp_path: Path) -> None:
    memaudit("run", "--store", healthy)
    first = (tmp_path / "memaudit-report.html").read_text()
    assert memaudit("report", "report.json", "--format", "html=again.html").code == 0
    assert (tmp_path / "again.html").read_text() == first


def test_json_when_audited_twice_then_equal_but_for_the_run(memaudit: Run, healthy: Path) -> None:
    reports = [json.loads(memaudit("run", "--store", healthy, "--format", "json").out) for _ in range(2)]
    for report in reports:
        del report["run"]
    assert reports[0] == reports[1]


def test_plan_when_there_are_copies_then_rows_to_merge_are_listed(
    memaudit: Run, write_store: Run, tmp_path: Path
) -> None:
    store = write_store(
        [(i, f"memory number {i} about {'abcdefghij'[i % 10] * 5}", "2026-05-01", None) for i in range(20)]
        + [(20, "", "2026-05-02", None), (21, "memory number 0 about aaaaa", "2026-05-02", None)]
    )
    ran = memaudit("plan", "--store", store, "--out", "plan.csv", "--select", "MA305,MA003")
    assert ran.code == 0
    lines = (tmp_path / "plan.csv").read_text().splitlines()
    assert lines[0] == "memaudit_action,id,keep,code,reason"
    assert any(line.startswith("merge,21,0,MA305,") for line in lines)
    assert any(line.startswith("delete,20,,MA003,") for line in lines)
    plan = json.loads(memaudit("plan", "--store", store, "-q").out)
    assert {p["action"] for p in plan["proposals"]} >= {"merge", "delete"}


# -- environment -----------------------------------------------------------------------------------


def test_output_when_not_a_terminal_then_without_escape_codes(memaudit_process: Run, healthy: Path) -> None:
    done = memaudit_process("run", "--store", healthy)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr
    coloured = memaudit_process("run", "--store", healthy, env={"FORCE_COLOR": "1"})
    assert b"\x1b[" in coloured.stdout
    plain = memaudit_process("run", "--store", healthy, env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert b"\x1b" not in plain.stdout


def test_output_when_the_encoding_is_ascii_then_no_crash(memaudit_process: Run, healthy: Path) -> None:
    done = memaudit_process("run", "--store", healthy, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_network_when_audited_then_never_touched(memaudit: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        raise AssertionError("the audit opened a socket")

    monkeypatch.setattr(socket, "socket", refused)
    assert memaudit("run", "--store", healthy).code == 0


def test_start_when_help_is_asked_then_nothing_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom memaudit.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted(m for m in ('numpy', 'scipy', 'pandas', 'jinja2', 'torch', 'sqlite_utils') if m in sys.modules))"
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.rstrip().endswith("[]")


# -- the commands that only look -------------------------------------------------------------------


def test_probes_when_a_store_is_named_then_says_which_can_run(memaudit: Run, healthy: Path) -> None:
    rows = json.loads(memaudit("probes", "--store", healthy, "--format", "json").out)
    by_name = {row["name"]: row for row in rows}
    assert by_name["contents"]["can_run"] is True
    assert by_name["capacity"]["can_run"] is False
    assert by_name["capacity"]["option"] == "capacity"


def test_explain_when_asked_for_each_code_then_answers(memaudit: Run) -> None:
    from memaudit.registry import builtin_probes

    for probe in builtin_probes():
        for code, kind in probe.codes.items():
            text = memaudit("explain", code).out
            assert f"## {code} {kind}" in text
            assert "How to fix" in text


def test_init_when_written_then_the_audit_runs_from_it(memaudit: Run, healthy: Path, tmp_path: Path) -> None:
    assert memaudit("init", "--store", healthy, "--write").code == 0
    text = (tmp_path / "memaudit.toml").read_text()
    assert 'text = "content"' in text
    assert memaudit("run").code == 0
    ran = memaudit("init", "--store", healthy, "--write")
    assert ran.code == 2
    assert_one_clear_line(ran, "memaudit.toml", "--force")


def test_config_when_shown_then_values_have_their_origin(memaudit: Run, tmp_path: Path) -> None:
    (tmp_path / "memaudit.toml").write_text('[memaudit]\nstore = "a.db"\nseed = 3\n')
    rows = json.loads(memaudit("config", "--format", "json", "--set", "seed=4").out)
    assert (rows["store"]["value"], rows["store"]["from"]) == ("a.db", "memaudit.toml")
    assert (rows["seed"]["value"], rows["seed"]["from"]) == (4, "--set seed")
    assert rows["table"]["from"] == "default"
