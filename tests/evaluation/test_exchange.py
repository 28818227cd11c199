import json
from typing import Any

import pytest

from memaudit.errors import ConfigError
from memaudit.evaluation.corpus import corpus_of_rows
from memaudit.evaluation.exchange import (
    jsonl,
    parse_qrels,
    parse_ranx,
    parse_texts,
    parse_trec_run,
    query_lines,
    to_beir,
    to_ranx,
    to_trec,
    trec_run,
)
from memaudit.evaluation.query_set import Item, Query
from memaudit.evaluation.resolve import resolve
from memaudit.evaluation.runs import Ranking, Runs


def query(name: Any, meaning: Any, *groups: Any) -> Any:
    fields = {"id": name, "text": f"问 {name}", "category": "c"}
    return Query(name, fields["text"], tuple(tuple(Item(doc=d) for d in g) for g in groups), meaning, fields=fields)


QUERIES = (
    query("q1", "expect_any", ["d1", "d2"]),
    query("q2", "expect_all", ["d1"], ["d3"]),
    query("q3", "expect_groups", ["d1", "d2"], ["d3"]),
    query("q4", "gold", ["d4"]),
)
EXPECTED = resolve(QUERIES, None)


def test_trec_when_any_and_all_then_a_file_each() -> None:
    made = to_trec(QUERIES, EXPECTED)
    assert made.files["any.qrels"] == "q1 0 d1 1\nq1 0 d2 1\nq4 0 d4 1\n"
    assert made.files["all.qrels"] == "q2 0 d1 1\nq2 0 d3 1\nq4 0 d4 1\n"
    assert any("q3" in note for note in made.lost)
    assert [json.loads(x)["id"] for x in made.files["queries.jsonl"].splitlines()] == ["q1", "q2", "q3", "q4"]


def test_trec_run_when_written_then_scores_fall_strictly_whatever_the_ids() -> None:
    text = trec_run({"q1": Ranking(("d9", "d1", "d9", "d5"))}, "arm one")
    assert text == "q1 Q0 d9 1 1 arm_one\nq1 Q0 d1 2 0.5 arm_one\nq1 Q0 d5 3 0.333333333333 arm_one\n"
    assert parse_trec_run(text, "x").lines[0]["ranking"] == ["d9", "d1", "d5"]


def test_trec_run_when_scores_are_tied_then_read_as_evaluators_do() -> None:
    # three documents tied at 1.0: ordered by id, descending, so that d1 comes last
    found = parse_trec_run("q1 Q0 d1 1 1.0 t\nq1 Q0 d9 2 1.0 t\nq1 Q0 d5 3 1.0 t\n", "x")
    assert found.lines[0]["ranking"] == ["d9", "d5", "d1"]
    assert "Tied scores in 1 ranking" in found.notes[0]


def test_trec_when_an_id_has_a_blank_then_refused() -> None:
    bad = (query("q 1", "gold", ["d1"]),)
    with pytest.raises(ConfigError, match="'q 1' holds white space"):
        to_trec(bad, resolve(bad, None))


def test_beir_when_written_then_header_and_metadata() -> None:
    made = to_beir(QUERIES, EXPECTED, corpus_of_rows("c", ["d1"], ["文本"]))
    assert made.files["qrels/test.tsv"].startswith("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    lines = [json.loads(x) for x in made.files["queries.jsonl"].splitlines()]
    assert [x["metadata"]["expect"] for x in lines] == ["any", "all", "all", "not stated"]
    assert json.loads(made.files["corpus.jsonl"]) == {"_id": "d1", "title": "", "text": "文本"}


def test_ranx_when_written_then_integers_and_scores() -> None:
    made = to_ranx(QUERIES, EXPECTED, Runs("r", "", {"a": {"q1": Ranking(("d2", "d1"))}}))
    assert json.loads(made.files["qrels.json"])["q1"] == {"d1": 1, "d2": 1}
    assert json.loads(made.files["a.run.json"]) == {"q1": {"d2": 1.0, "d1": 0.5}}


def test_import_when_several_documents_then_the_user_must_say_what_they_mean() -> None:
    relevant = {"q1": ["d1", "d2"], "q2": ["d3"]}
    texts = {"q1": "a", "q2": "b"}
    with pytest.raises(ConfigError, match=r'1 queries have more than one.*first: "q1".*--multi any'):
        query_lines(relevant, texts, None)
    assert [list(x)[2] for x in query_lines(relevant, texts, "all").lines] == ["expect_all", "expect_any"]
    assert [list(x)[2] for x in query_lines(relevant, texts, "any").lines] == ["expect_any", "expect_any"]
    assert query_lines({"q2": ["d3"]}, texts, None).notes == ("With a text and no judgement: 1 query.",)


def test_import_when_a_query_has_no_text_then_refused() -> None:
    with pytest.raises(ConfigError, match="1 queries have no text: q1"):
        query_lines({"q1": ["d"]}, {}, None)


def test_qrels_when_trec_or_beir_then_only_relevant_documents() -> None:
    assert parse_qrels("q1 0 d1 1\nq1 0 d2 0\n\nq2 0 d3 2\n", "x") == {"q1": ["d1"], "q2": ["d3"]}
    assert parse_qrels("query-id\tcorpus-id\tscore\nq 1\td 1\t1\n", "x") == {"q 1": ["d 1"]}
    with pytest.raises(ConfigError, match="x:1: no judgement"):
        parse_qrels("q1 d1\n", "x")


def test_ranx_when_read_then_relevant_documents_or_an_error() -> None:
    assert parse_ranx({"q1": {"d1": 1, "d2": 0}}, "x") == {"q1": ["d1"]}
    for bad in ([], {"q1": ["d1"]}, {"q1": {"d1": "1"}}):
        with pytest.raises(ConfigError):
            parse_ranx(bad, "x")


def test_texts_when_jsonl_or_tab_then_read() -> None:
    texts, more = parse_texts('{"_id": "q1", "text": "问", "metadata": {"category": "c"}}\nq2\ttwo\n', "x")
    assert texts == {"q1": "问", "q2": "two"}
    assert more["q1"] == {"category": "c"}
    with pytest.raises(ConfigError, match="x:1"):
        parse_texts("{}", "x")


def test_round_trip_when_exported_and_imported_then_the_same_expectations() -> None:
    made = to_beir(QUERIES[:2], EXPECTED, None)
    texts, more = parse_texts(made.files["queries.jsonl"], "q")
    relevant = parse_qrels(made.files["qrels/test.tsv"], "t")
    back = query_lines({"q2": relevant["q2"]}, texts, "all", more).lines
    assert back[0]["expect_all"] == [{"doc": "d1"}, {"doc": "d3"}]
    assert back[0]["category"] == "c"
    assert jsonl(back).count("\n") == 1
