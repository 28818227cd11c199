import json
from contextlib import closing
from typing import Any

import pytest


@pytest.fixture
def evaluation_files(tmp_path: Any) -> Any:
    def write(name: Any, lines: Any) -> None:
        (tmp_path / name).write_text("".join(json.dumps(x, ensure_ascii=False) + "\n" for x in lines), encoding="utf-8")

    queries = [{"id": f"q{i}", "text": f"问题 {i} ?", "gold": [f"d{i}", "d9"][: 1 + i % 2]} for i in range(8)]
    write("q.jsonl", queries)
    write("c.jsonl", [{"id": f"d{i}", "text": f"memory {i} 记忆"} for i in range(10)])
    write("r.jsonl", [{"arm": a, "query": q["id"], "ranking": q["gold"][: n]} for a, n in (("before", 0), ("after", 1))
                      for q in queries])  # fmt: skip
    return tmp_path


def test_eval_when_files_are_given_then_the_same_engine_without_a_store(memaudit: Any, evaluation_files: Any) -> None:
    ran = memaudit(
        "eval", "--queries", "q.jsonl", "--corpus", "c.jsonl", "--runs", "r.jsonl", "--k", "3", "--format", "json"
    )
    assert ran.code == 0
    report = json.loads(ran.out)
    assert report["store"] is None
    kinds = {f["kind"] for f in report["findings"]}
    assert {"hit-vs-coverage", "improvement", "arm-did-not-run"} <= kinds
    assert report["config"]["k"] == 3
    assert {n["probe"] for n in report["not_run"]} <= {p for p in report["config"]["select"]}


def test_eval_when_no_format_is_named_then_page_and_twin(memaudit: Any, evaluation_files: Any) -> None:
    ran = memaudit("eval", "--queries", "q.jsonl", "--runs", "r.jsonl", "--compare", "before,after")
    assert ran.code == 0
    assert (evaluation_files / "memaudit-report.html").is_file()
    assert json.loads((evaluation_files / "report.json").read_text(encoding="utf-8"))["findings"]
    assert "MA505" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no query set and no rankings were given"),
        (["--queries", "none.jsonl"], "there is no such file"),
        (["--queries", "q.jsonl", "--runs", "r.jsonl", "--compare", "x"], "two arms were expected"),
        (["--queries", "q.jsonl", "--runs", "r.jsonl", "--compare", "after,befor"], 'there is no arm "befor"'),
        (["--queries", "q.jsonl", "--corpus", "r.jsonl"], "the document has no id"),
    ],
)
def test_eval_when_input_is_bad_then_one_line_and_exit_2(
    memaudit: Any, evaluation_files: Any, words: Any, message: Any
) -> None:
    ran = memaudit("eval", *words)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_eval_when_fail_on_is_set_then_exit_1(memaudit: Any, evaluation_files: Any) -> None:
    assert (
        memaudit("eval", "--queries", "q.jsonl", "--runs", "r.jsonl", "--fail-on", "high", "--format", "json").code == 1
    )


def test_eval_when_the_query_set_is_empty_then_exit_4(memaudit: Any, tmp_path: Any) -> None:
    (tmp_path / "q.jsonl").write_text("")
    ran = memaudit("eval", "--queries", "q.jsonl", "--format", "json")
    assert ran.code == 4
    assert [f["code"] for f in json.loads(ran.out)["findings"]] == ["MA703"]


def test_eval_when_redacted_then_figures_and_words_stay_and_texts_go(memaudit: Any, evaluation_files: Any) -> None:
    words = ["--queries", "q.jsonl", "--corpus", "c.jsonl", "--runs", "r.jsonl", "--set", "redact=true"]
    ran = memaudit("eval", *words, "--format", "json")
    report = json.loads(ran.out)
    titles = {f["code"]: f["title"] for f in report["findings"]}
    assert titles["MA706"].startswith("hit@5 is 8 of 8 (100 %)")
    assert "问题" not in ran.out
    assert "记忆" not in ran.out


def test_eval_when_a_store_is_configured_then_it_is_left_alone(
    memaudit: Any, evaluation_files: Any, healthy: Any
) -> None:
    (evaluation_files / "memaudit.toml").write_text('[memaudit]\nstore = "store.db"\nqueries = "q.jsonl"\n')
    report = json.loads(memaudit("eval", "--format", "json").out)
    assert report["store"] is None


def test_run_when_a_query_set_is_given_then_rows_are_the_corpus(
    memaudit: Any, evaluation_files: Any, healthy: Any
) -> None:
    line = {"id": "q-1", "text": "谁可以打版本标签", "expect_any": [{"contains": "release manager"}, {"doc": "99"}]}
    (evaluation_files / "own.jsonl").write_text(json.dumps(line), encoding="utf-8")
    ran = memaudit("run", "--store", healthy, "--queries", "own.jsonl", "--select", "MA7", "--format", "json")
    stale = next(f for f in json.loads(ran.out)["findings"] if f["code"] == "MA720")
    assert stale["figures"]["missing"] == {"q-1": ["99"]}


def test_run_when_tables_are_repeated_by_language_then_the_set_is_judged_once(
    memaudit: Any, evaluation_files: Any, healthy: Any
) -> None:
    line = {"id": "q-1", "text": "谁可以打版本标签", "expect_any": [{"contains": "release manager"}]}
    (evaluation_files / "own.jsonl").write_text(json.dumps(line), encoding="utf-8")
    ran = memaudit("run", "--store", healthy, "--queries", "own.jsonl", "--by", "language", "--format", "json")
    assert ran.code == 0
    assert not [f for f in json.loads(ran.out)["findings"] if f["code"] == "MA720"]
    assert not [s for s in json.loads(ran.out)["breakdowns"] if s["key"].startswith("eval")]


# -- queries --


def test_template_when_made_then_lines_on_stdout_and_words_on_stderr(memaudit: Any, healthy: Any) -> None:
    ran = memaudit("queries", "template", "--store", healthy, "--n", "4")
    lines = [json.loads(x) for x in ran.out.splitlines()]
    assert ran.code == 0
    assert len(lines) == 4
    assert {x["text"] for x in lines} == {""}
    assert "60 queries: 13 points" in ran.err
    assert memaudit("queries", "template", "--store", healthy, "--n", "4").out == ran.out


def test_template_when_nobody_has_written_the_texts_then_eval_refuses_it(memaudit: Any, healthy: Any) -> None:
    assert memaudit("queries", "template", "--store", healthy, "--out", "t.jsonl").code == 0
    ran = memaudit("eval", "--queries", "t.jsonl")
    assert ran.code == 2
    assert "t.jsonl:1: text is empty" in ran.err


def test_truncated_when_made_then_a_query_set_that_eval_reads(memaudit: Any, healthy: Any) -> None:
    assert memaudit("queries", "truncated", "--store", healthy, "--n", "5", "--out", "t.jsonl", "-q").err == ""
    ran = memaudit("eval", "--queries", "t.jsonl", "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["figures"]["queries"] == 15


def test_out_when_the_file_is_there_then_not_overwritten(memaudit: Any, healthy: Any, tmp_path: Any) -> None:
    (tmp_path / "t.jsonl").write_text("written by a person\n")
    assert memaudit("queries", "template", "--store", healthy, "--out", "t.jsonl").code == 2
    assert (tmp_path / "t.jsonl").read_text() == "written by a person\n"
    assert memaudit("queries", "template", "--store", healthy, "--out", "t.jsonl", "--force").code == 0


@pytest.fixture
def labelled(write_store: Any) -> Any:
    rows = [
        (i, f"stored text {i}", f"2026-05-{i:02d}T00:00:00Z", f"topic{i % 2}", f"fault{i % 3}", f"raw 错误 {i}")
        for i in range(1, 13)
    ]
    columns = "id INTEGER PRIMARY KEY, content TEXT, created_at TEXT, topic TEXT, fault TEXT, seen TEXT"
    return write_store(rows, columns=columns, name="labelled.db")


def test_heldout_when_split_by_time_then_later_raw_texts_ask_for_earlier_rows(memaudit: Any, labelled: Any) -> None:
    words = [
        "--store",
        labelled,
        "--text",
        "content",
        "--label",
        "fault",
        "--query-text",
        "seen",
        "--split",
        "2026-05-10",
    ]
    lines = [json.loads(x) for x in memaudit("queries", "heldout", *words).out.splitlines()]
    assert [x["text"] for x in lines] == ["raw 错误 10", "raw 错误 11", "raw 错误 12"]
    assert lines[0]["expect_any"] == [{"doc": "1"}, {"doc": "4"}, {"doc": "7"}]
    assert lines[0]["exclude"] == ["10", "11", "12"]


def test_leave_one_out_when_the_label_is_audited_then_exit_2(memaudit: Any, labelled: Any) -> None:
    words = ["--store", labelled, "--text", "content", "--value-field", "topic", "--label"]
    ran = memaudit("queries", "leave_one_out", *words, "topic")
    assert (ran.code, ran.out) == (2, "")
    assert "is the audited field" in ran.err
    assert len(memaudit("queries", "leave_one_out", *words, "fault").out.splitlines()) == 12


def test_log_when_a_table_is_named_then_its_queries_once(memaudit: Any, healthy: Any) -> None:
    import sqlite3

    with closing(sqlite3.connect(healthy)) as connection, connection:
        connection.execute("CREATE TABLE recalls (query TEXT, memory_id INTEGER)")
        connection.executemany(
            "INSERT INTO recalls VALUES (?, ?)",
            [("who may tag", 18), ("who may tag", 3), ("退款谁批", 11), ("who may tag", 5)],
        )
    connection.close()
    ran = memaudit("queries", "log", "--store", healthy, "--set", "retrieval_log=recalls")
    assert [(x["text"], x["returned"]) for x in map(json.loads, ran.out.splitlines())] == [
        ("who may tag", ["18", "3", "5"]),
        ("退款谁批", ["11"]),
    ]
    assert "at least two arms" in ran.err
    assert memaudit("queries", "log", "--store", healthy).code == 2


@pytest.mark.parametrize(("form", "file"), [("trec", "all.qrels"), ("beir", "qrels/test.tsv"), ("ranx", "qrels.json")])
def test_export_when_imported_again_then_the_same_expectations(
    memaudit: Any, evaluation_files: Any, form: Any, file: Any
) -> None:
    words = ["--queries", "q.jsonl", "--corpus", "c.jsonl", "--runs", "r.jsonl", "--form", form, "--out", "there"]
    assert memaudit("queries", "export", *words).code == 0
    again = ["queries", "import", f"there/{file}", "--form", form, "--texts", "q.jsonl"]
    refused = memaudit(*again)
    assert refused.code == 2
    assert "--multi any" in refused.err
    lines = [json.loads(x) for x in memaudit(*again, "--multi", "all").out.splitlines()]
    assert lines[1]["expect_all"] == [{"doc": "d1"}, {"doc": "d9"}]
    assert lines[0]["expect_any"] == [{"doc": "d0"}]


def test_import_when_a_run_is_given_then_recorded_rankings(memaudit: Any, tmp_path: Any) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d2 1 0.9 bm25\nq1 Q0 d1 2 0.8 bm25\n")
    line = json.loads(memaudit("queries", "import", "a.run", "--form", "trec").out)
    assert line == {"arm": "bm25", "query": "q1", "ranking": ["d2", "d1"], "scores": [0.9, 0.8]}


@pytest.mark.parametrize("case", ["052-hit-is-not-coverage", "053-difference-of-one-query"])
def test_cases_when_run_from_their_setup_then_the_expected_findings(
    memaudit: Any, shared: Any, tmp_path: Any, case: Any
) -> None:
    folder = shared / "cases" / case
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    words = [w for k, v in expected["setup"].items() for w in ("--set", f"{k}={json.dumps(v)}")
             if k not in ("queries", "corpus", "runs")]  # fmt: skip
    files = [w for k in ("queries", "corpus", "runs") for w in (f"--{k}", folder / expected["setup"][k])]
    findings = json.loads(memaudit("eval", *files, *words, "--format", "json").out)["findings"]
    for want in expected["expect"]["findings"]:
        assert any(f["kind"] == want["kind"] and f["severity"] in want["severity_accept"] for f in findings)
    assert "improvement" not in {f["kind"] for f in findings}


def test_import_when_the_output_is_an_input_then_refused_with_force_too(memaudit: Any, tmp_path: Any) -> None:
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t1\t1\n")
    texts = '{"_id": "q1", "text": "who may tag"}\n'
    (tmp_path / "texts.jsonl").write_text(texts)
    words = ("queries", "import", "qrels.tsv", "--texts", "texts.jsonl", "--multi", "any", "--force", "--out")
    for name in ("texts.jsonl", tmp_path / "qrels.tsv"):
        assert memaudit(*words, name).code == 2
    assert (tmp_path / "texts.jsonl").read_text() == texts
    assert memaudit(*words, "imported.jsonl").code == 0
    assert json.loads((tmp_path / "imported.jsonl").read_text())["text"] == "who may tag"
