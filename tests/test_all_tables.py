"""`memaudit run --all-tables`: each table as its own audit, one page, one twin, the worst exit code."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

import memaudit.reports
from memaudit.every_table import alone
from tests.conftest import SENTENCES

Run = Callable[..., Any]
SCHEMA = json.loads(Path(memaudit.reports.__file__).with_name("report.schema.json").read_text("utf-8"))


def several(path: Path, copies: int = 0) -> Path:
    """Write a store of 24 notes and 20 lessons, of which the last `copies` repeat the first; and tables beside them."""
    with closing(sqlite3.connect(path)) as c, c:
        c.executescript("""
            CREATE TABLE lessons (id INTEGER PRIMARY KEY, lesson TEXT);
            CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT, created_at TEXT);
            CREATE TABLE recall_log (id INTEGER PRIMARY KEY, note_id INTEGER, query TEXT);
            CREATE TABLE ideas (id INTEGER PRIMARY KEY, content TEXT);
            CREATE TABLE settings (name TEXT PRIMARY KEY, n INTEGER);
            INSERT INTO settings VALUES ('limit', 5);
        """)
        c.executemany(
            "INSERT INTO notes VALUES (?, ?, ?)",
            [(i, text, f"2026-05-{1 + i:02d}T08:00:00Z") for i, text in enumerate(SENTENCES)],
        )
        lessons = [f"Lesson {i}: {text}" for i, text in enumerate(SENTENCES[:20])]
        lessons[20 - copies :] = [lessons[0]] * copies
        c.executemany("INSERT INTO lessons VALUES (?, ?)", enumerate(lessons))
        c.executemany(
            "INSERT INTO recall_log VALUES (?, ?, ?)", [(i, i % 24, f"What did we learn about {i}?") for i in range(30)]
        )
    c.close()
    return path


def twin(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "report.json").read_text("utf-8"))
    return found


def without_what_differs(report: dict[str, Any]) -> dict[str, Any]:
    """Leave out the times, the command, and what only an audit of one table says of the others."""
    kept = {k: v for k, v in report.items() if k not in ("run", "command", "config")}
    kept["store"] = {k: v for k, v in kept["store"].items() if k not in ("notes", "other_tables")}
    kept["findings"] = [{k: v for k, v in f.items() if k != "reproduce"} for f in kept["findings"]]
    return kept


def test_tables_when_audited_together_then_each_as_if_it_were_audited_alone(memaudit: Run, tmp_path: Path) -> None:
    store = several(tmp_path / "several.db", copies=10)
    ran = memaudit("run", "--store", store.name, "--all-tables")
    assert ran.code == 0, ran.err
    together = twin(tmp_path)
    jsonschema.Draft202012Validator(SCHEMA).validate(together)
    assert [(a["store"]["table"], a["store"]["rows"]) for a in together["audits"]] == [("notes", 24), ("lessons", 20)]
    assert together["not_audited"] == [
        {"table": "ideas", "rows": 0, "reason": "it holds no rows", "failed": False},
        {"table": "settings", "rows": 1, "reason": "no column holds sentences", "failed": False},
        {
            "table": "recall_log",
            "rows": 30,
            "reason": "its name and its keys say that its rows are about those of notes",
            "failed": False,
        },
    ]
    assert (together["store"], together["kind"], together["incomplete"]) == ("several.db", "sqlite", "")
    for audit in together["audits"]:
        table = audit["store"]["table"]
        memaudit("run", "--store", store.name, "--table", table)
        assert without_what_differs(audit) == without_what_differs(twin(tmp_path)), table
    lessons = together["audits"][1]
    # 10 of the 20 lessons repeat the first one.
    assert next(f for f in lessons["findings"] if f["code"] == "MA305")["figures"]["extra_copies_identical"] == 10
    assert "MA305" not in [f["code"] for f in together["audits"][0]["findings"]]
    assert [t["table"] for t in lessons["store"]["other_tables"]] == ["recall_log", "ideas", "settings"]


def test_page_when_made_then_one_list_and_anchors_that_all_lead_somewhere(memaudit: Run, tmp_path: Path) -> None:
    memaudit("run", "--store", several(tmp_path / "several.db", copies=10), "--all-tables")
    page = (tmp_path / "memaudit-report.html").read_text("utf-8")
    ids = Counter(re.findall(r'\bid="([^"]*)"', page))
    assert [i for i, n in ids.items() if n > 1] == []
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert '<a href="#t1"><bdi>notes</bdi></a>' in page
    assert '<a href="#t2"><bdi>lessons</bdi></a>' in page
    assert page.count("default-src 'none'") == page.count("<h1") == page.count("<title>") == page.count("<main") == 1
    assert "<script" not in page
    assert "2 tables of several.db audited, each on its own" in page
    labels = Counter(re.findall(r'aria-label="([^"]*)"', page))
    assert [label for label, n in labels.items() if n > 1] == []


def test_terminal_when_printed_then_a_line_and_a_summary_a_table(memaudit: Run, tmp_path: Path) -> None:
    ran = memaudit("run", "--store", several(tmp_path / "s.db", copies=10), "--all-tables", "--format", "text")
    lines = ran.out.splitlines()
    assert lines[0].endswith("2 tables of s.db audited, each on its own")
    assert any(line.startswith("  notes: 24 rows, findings: ") for line in lines)
    assert any(line.startswith("  lessons: 20 rows, findings: ") for line in lines)
    assert "Not audited: 3 tables" in lines
    assert [line.partition(" › ")[2].split()[0] for line in lines if " › " in line] == ["notes", "lessons"]


@pytest.mark.parametrize(("copies", "level", "code"), [(10, "medium", 1), (10, "never", 0), (0, "medium", 0)])
def test_exit_when_one_table_has_a_finding_then_that_of_the_worst(
    memaudit: Run, tmp_path: Path, copies: int, level: str, code: int
) -> None:
    store = several(tmp_path / "s.db", copies)
    words = ["run", "--store", store, "--all-tables", "--select", "MA305", "--fail-on", level]
    assert memaudit(*words).code == code
    # The larger table alone never has one.
    assert memaudit("run", "--store", store, "--table", "notes", "--select", "MA305", "--fail-on", level).code == 0


def damage(path: Path, table: str) -> None:
    """Break the pages of a table of 400 long rows; the schema and the other tables stay whole."""
    with closing(sqlite3.connect(path)) as c, c:
        c.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, content TEXT)")
        c.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(i, f"Belief {i}. " + "word " * 200) for i in range(400)])
        (page,) = c.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = c.execute("PRAGMA page_size").fetchone()
    c.close()
    raw = bytearray(path.read_bytes())
    raw[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(raw)


def test_table_when_damaged_then_a_line_on_the_page_and_the_others_are_audited(memaudit: Run, tmp_path: Path) -> None:
    store = several(tmp_path / "s.db")
    damage(store, "beliefs")
    ran = memaudit("run", "--store", store, "--all-tables")
    assert ran.code == 3
    report = twin(tmp_path)
    assert [a["store"]["table"] for a in report["audits"]] == ["notes", "lessons"]
    (failed,) = [one for one in report["not_audited"] if one["failed"]]
    assert failed["table"] == "beliefs"
    assert failed["reason"].startswith("damaged: only 0 rows can be read")
    assert report["incomplete"].startswith("beliefs: damaged")
    page = (tmp_path / "memaudit-report.html").read_text("utf-8")
    assert "<code>beliefs</code> could not be audited: damaged: only 0 rows can be read" in page
    assert "2 tables of s.db audited, each on its own; 1 table failed" in page
    assert "beliefs could not be audited: damaged" in ran.out


def test_column_when_named_and_only_one_table_has_it_then_the_other_failed(memaudit: Run, tmp_path: Path) -> None:
    store = several(tmp_path / "s.db")
    ran = memaudit("run", "--store", store, "--all-tables", "--text", "lesson", "--select", "MA002")
    assert ran.code == 3
    report = twin(tmp_path)
    assert [a["store"]["table"] for a in report["audits"]] == ["lessons"]
    (failed,) = [one for one in report["not_audited"] if one["failed"]]
    assert failed["table"] == "notes"
    assert failed["reason"].startswith("table 'notes' has no column 'lesson'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "notes"], "--all-tables and --table exclude each other"),
        (["--set", "table=notes"], "--all-tables and --table exclude each other"),
        (["--baseline", "b.json"], "--all-tables does not go with a baseline"),
        (["--select", "MA999"], "MA999"),
        (["--text", "body"], "has no column 'body'"),
        (["--format", "pdf"], 'unknown format "pdf"'),
    ],
)
def test_options_when_they_cannot_go_together_then_one_line_and_2(
    memaudit: Run, tmp_path: Path, words: list[str], said: str
) -> None:
    ran = memaudit("run", "--store", several(tmp_path / "s.db"), "--all-tables", *words)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "report.json").exists()


def test_tables_when_the_configuration_names_them_for_another_part_then_left_out_with_the_key(
    memaudit: Run, tmp_path: Path
) -> None:
    store = several(tmp_path / "s.db")
    with closing(sqlite3.connect(store)) as c, c:
        c.execute("CREATE TABLE dropped (id INTEGER PRIMARY KEY, kept INTEGER, content TEXT)")
        c.executemany("INSERT INTO dropped VALUES (?, ?, ?)", [(i, i, SENTENCES[i]) for i in range(10)])
    c.close()
    words = ["run", "--store", store, "--all-tables", "--select", "MA002"]
    assert memaudit(*words).code == 0
    # Nothing tells that the table holds what was dropped: it is audited as one of memories.
    assert [a["store"]["table"] for a in twin(tmp_path)["audits"]] == ["notes", "lessons", "dropped"]
    settings = ["--set", "dropped_table=dropped", "--set", "dropped_kept_ref=kept"]
    assert memaudit(*words, *settings, "--force").code == 0
    report = twin(tmp_path)
    assert [a["store"]["table"] for a in report["audits"]] == ["notes", "lessons"]
    assert {
        "table": "dropped",
        "rows": 10,
        "reason": "the configuration names it as dropped_table",
        "failed": False,
    } in (report["not_audited"])


def test_table_of_users_when_beside_notes_then_left_out_and_alone_audited(memaudit: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(several(tmp_path / "s.db"))) as c, c:
        c.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, bio TEXT)")
        c.execute("CREATE TABLE user_preferences (id INTEGER PRIMARY KEY, preference TEXT)")
        c.executemany("INSERT INTO users VALUES (?, ?)", [(i, "Works night shifts at a hospital.") for i in range(20)])
        c.executemany("INSERT INTO user_preferences VALUES (?, ?)", enumerate(SENTENCES[:12]))
    c.close()
    assert memaudit("run", "--store", tmp_path / "s.db", "--all-tables", "--fail-on", "medium").code == 0
    assert [a["store"]["table"] for a in twin(tmp_path)["audits"]] == ["notes", "lessons", "user_preferences"]
    reasons = {n["table"]: n["reason"] for n in twin(tmp_path)["not_audited"]}
    assert reasons["users"] == "its name is that of a part of the program; lessons holds memories"
    with closing(sqlite3.connect(tmp_path / "s.db")) as c, c:
        c.executescript("DROP TABLE notes; DROP TABLE lessons")
    c.close()
    assert memaudit("run", "--store", tmp_path / "s.db", "--all-tables", "--select", "MA002", "--force").code == 0
    assert "users" in [a["store"]["table"] for a in twin(tmp_path)["audits"]]


def test_table_of_the_configuration_file_when_all_are_asked_for_then_all_are_audited(
    memaudit: Run, tmp_path: Path
) -> None:
    several(tmp_path / "s.db")
    (tmp_path / "memaudit.toml").write_text('[memaudit]\nstore = "s.db"\ntable = "notes"\n')
    assert memaudit("run", "--all-tables", "--select", "MA002").code == 0
    assert [a["store"]["table"] for a in twin(tmp_path)["audits"]] == ["notes", "lessons"]


def test_store_when_it_has_one_table_or_none_then_the_form_stays_and_nothing_is_green(
    memaudit: Run, write_store: Run, tmp_path: Path
) -> None:
    rows = [(i, text, "2026-05-01", None) for i, text in enumerate(SENTENCES)]
    assert memaudit("run", "--store", write_store(rows), "--all-tables", "--select", "MA002").code == 0
    assert [a["store"]["table"] for a in twin(tmp_path)["audits"]] == ["memories"]
    assert twin(tmp_path)["not_audited"] == []
    ran = memaudit("run", "--store", write_store([]), "--all-tables")
    assert ran.code == 4
    assert [a["verdict"]["state"] for a in twin(tmp_path)["audits"]] == ["nothing-audited"]
    assert twin(tmp_path)["not_audited"] == []


def test_store_when_all_tables_are_damaged_then_3(memaudit: Run, tmp_path: Path) -> None:
    damage(tmp_path / "s.db", "beliefs")
    ran = memaudit("run", "--store", "s.db", "--all-tables")
    assert ran.code == 3
    assert "no table can be read: beliefs" in ran.err


def test_audit_when_interrupted_then_130_and_what_was_done_is_kept(
    memaudit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memaudit.probes.duplicates import PROBE

    def interrupted(self: object, ctx: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(PROBE), "run", interrupted)
    ran = memaudit("run", "--store", several(tmp_path / "s.db"), "--all-tables")
    assert ran.code == 130
    report = twin(tmp_path)
    assert [a["store"]["table"] for a in report["audits"]] == ["notes"]
    assert [(o["table"], o["reason"]) for o in report["not_audited"] if o["failed"]] == [
        ("lessons", "interrupted by a person")
    ]


def test_formats_when_written_then_each_holds_both_tables(memaudit: Run, tmp_path: Path) -> None:
    store = several(tmp_path / "s.db", copies=10)
    damage(store, "beliefs")
    names = ("jsonl", "markdown", "sarif", "junit", "gitlab", "github")
    words = [w for name in names for w in ("--format", f"{name}={name}.out")]
    assert memaudit("run", "--store", store, "--all-tables", *words).code == 3
    text = {name: (tmp_path / f"{name}.out").read_text("utf-8") for name in names}

    lines = [json.loads(line) for line in text["jsonl"].splitlines()]
    assert (lines[0]["type"], lines[0]["audits"]) == ("audits", 2)
    assert [line["store"]["table"] for line in lines if line["type"] == "audit"] == ["notes", "lessons"]

    assert text["markdown"].count("<!-- memaudit -->") == 1
    assert [line.split(":")[0] for line in text["markdown"].splitlines() if line.startswith("## ")] == [
        "## memaudit", "## notes", "## lessons",
    ]  # fmt: skip
    assert "`beliefs` could not be audited: damaged" in text["markdown"]

    runs = json.loads(text["sarif"])["runs"]
    assert [run["automationDetails"]["id"] for run in runs] == ["memaudit/notes/", "memaudit/lessons/", "memaudit//"]
    assert "MA305" in [r["ruleId"] for r in runs[1]["results"]]
    assert "MA305" not in [r["ruleId"] for r in runs[0]["results"]]
    assert [run["invocations"][0]["executionSuccessful"] for run in runs] == [True, True, False]

    root = ElementTree.fromstring(text["junit"])
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["memaudit notes", "memaudit lessons", "memaudit tables"]
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(name, "")) == sum(int(suite.get(name, "")) for suite in suites), name
    assert (suites[2].get("errors"), suites[2].get("skipped")) == ("1", "3")
    assert int(root.get("tests", "")) == len(root.findall("testsuite/testcase"))

    entries = json.loads(text["gitlab"])
    marks = [entry["fingerprint"] for entry in entries]
    assert len(set(marks)) == len(marks)
    assert [e["severity"] for e in entries if "beliefs" in e["description"]] == ["major"]
    assert [e["description"].split(":")[0] for e in entries if e["check_name"] == "memaudit/MA305"] == ["lessons"]

    assert "::error title=memaudit::`beliefs` could not be audited" in text["github"]
    assert {f"::notice title=memaudit {store} {t}::" in text["github"] for t in ("notes", "lessons")} == {True}


def test_report_when_rendered_again_then_the_same_page_and_other_commands_refuse(memaudit: Run, tmp_path: Path) -> None:
    memaudit("run", "--store", several(tmp_path / "s.db", copies=10), "--all-tables")
    assert memaudit("report", "report.json", "--format", "html=again.html").code == 0
    page = (tmp_path / "memaudit-report.html").read_text("utf-8")
    assert (tmp_path / "again.html").read_text("utf-8") == page
    for words in (
        ["plan", "--from", "report.json"],
        ["diff", "report.json", "report.json"],
        ["baseline"],
    ):
        ran = memaudit(*words)
        assert ran.code == 2, words
        assert "holds the audits of 2 tables; one was expected" in ran.err


def test_redaction_when_asked_for_then_no_text_of_any_table(memaudit: Run, tmp_path: Path) -> None:
    memaudit("run", "--store", several(tmp_path / "s.db", copies=10), "--all-tables", "--redact")
    assert twin(tmp_path)["redacted"] is True
    written = (tmp_path / "report.json").read_text("utf-8") + (tmp_path / "memaudit-report.html").read_text("utf-8")
    assert "staging cluster" not in written


def test_history_when_kept_then_every_table_is_compared_with_itself(memaudit: Run, tmp_path: Path) -> None:
    store = several(tmp_path / "s.db")
    words = ["run", "--store", store, "--all-tables", "--history", "kept", "--select", "MA3", "--fail-on", "new"]
    assert memaudit(*words).code in (0, 1)
    assert memaudit(*words, "--force").code == 0
    with closing(sqlite3.connect(store)) as c, c:
        c.execute("UPDATE lessons SET lesson = 'Lesson 0: the same again' WHERE id >= 10")
    c.close()
    assert memaudit(*words, "--force").code == 1
    changes = {a["store"]["table"]: a["changes"]["findings"] for a in twin(tmp_path)["audits"]}
    assert "MA305" in [c["code"] for c in changes["lessons"] if c["state"] == "new"]
    assert [c for c in changes["notes"] if c["state"] == "new"] == []


def test_finding_when_handed_over_then_the_report_of_all_tables(memaudit: Run, tmp_path: Path) -> None:
    store = several(tmp_path / "s.db", copies=10)
    memaudit(
        "run", "--store", store, "--all-tables", "--select", "MA305", "--on-finding", f"cat > {tmp_path}/told.json"
    )
    assert [a["store"]["table"] for a in json.loads((tmp_path / "told.json").read_text())["audits"]] == [
        "notes",
        "lessons",
    ]


def test_command_when_narrowed_to_a_table_then_quoted_and_without_the_option() -> None:
    assert alone("memaudit run --store a.db --all-tables -q", "my notes") == (
        "memaudit run --store a.db --table 'my notes' -q"
    )
    assert alone("memaudit run --store a.db", "t") == "memaudit run --store a.db"
    assert alone("", "t") == ""
