import os
from typing import Any

import pytest

from memaudit.errors import ConfigError
from memaudit.evaluation.token_estimate import estimated_tokens
from memaudit.evaluation.tokens import collapsed, vanished
from memaudit.model import Severity
from memaudit.probes.eval_practice import PROBE
from memaudit.stats.ranking import context_cost, turn_that_overflows


def queries(n: Any, **more: Any) -> Any:
    return [
        {"id": f"q{i}", "text": f"问题 {i}", "gold": ["d"], "category": "a" if i % 2 else "b", **more} for i in range(n)
    ]


def arm(n: Any, hits: Any) -> Any:
    return {f"q{i}": ["d", "y"] if i in hits else ["x", "y"] for i in range(n)}


# -- MA716: arithmetic only --


def test_tokens_when_digits_are_lost_then_two_questions_become_one() -> None:
    # a pattern that needs a leading letter keeps 第, 关 and drops the digit
    tokens = {"q2": ["第", "关"], "q9": ["第", "关"], "qx": ["关", "卡"], "qy": ["关", "卡"]}
    expected = {"q2": frozenset({"l2"}), "q9": frozenset({"l9"}), "qx": frozenset({"l2"}), "qy": frozenset({"l2"})}
    found = collapsed(tokens, expected)
    assert [(c.queries, c.answers, c.best_hit1) for c in found] == [(("q2", "q9"), 2, 0.5)]
    texts = {"q2": "第 2 关", "q9": "第 9 关", "qx": "关卡", "qy": "关卡"}
    assert vanished(texts, tokens) == {"digits": ("q2", "q9")}


def test_tokens_when_kept_then_nothing_vanishes() -> None:
    text = "Set FILE_TOOLS in parseConfig v2 关"
    assert vanished({"q": text}, {"q": ["set", "file_tools", "in", "parseconfig", "v2", "关"]}) == {}
    assert vanished({"q": text}, {"q": ["set", "file", "tools", "parseconfig", "2", "关"]}) == {"identifiers": ("q",)}
    assert vanished({}, {}) == {}
    assert collapsed({}, {}) == []


CODE = """
import re

def tokens(text):
    return re.findall(r"[A-Za-z]\\w+|[\u4e00-\u9fff]", text)

def keeps(text):
    return re.findall(r"\\w", text)

def pair(text):
    return (text,)

def short_only(text):
    import socket
    return tokens(text) if len(text) < 20 else socket.getaddrinfo("localhost", 80)

def recall(query, k=10):
    return ["d", "y", "x"][:k]

def evaluated(query, top_k):
    return [{"id": "d"}, {"id": "y" if "1" not in query else "z"}][:top_k]

def failing(query):
    raise OSError("no key")

def connecting(query):
    import sqlite3
    return sqlite3.connect("store.db").execute("SELECT 1").fetchall()

def hiding(query):
    try:
        return connecting(query)
    except Exception:
        return ["d", "another"]
"""


@pytest.fixture
def production(tmp_path: Any) -> None:
    (tmp_path / "prod.py").write_text(CODE, encoding="utf-8")


LEVELS = [
    {"id": "q2", "text": "第 2 关", "gold": ["l2"]},
    {"id": "q9", "text": "第 9 关", "gold": ["l9"]},
    {"id": "q3", "text": "how to deploy", "gold": ["l2"]},
]


@pytest.mark.usefixtures("production")
def test_tokenizer_when_it_drops_digits_then_named_with_its_groups(evaluation_context: Any, found: Any) -> None:
    finding = found(PROBE.run(evaluation_context(LEVELS, query_tokenizer="prod:tokens")), "MA716")
    assert finding.figures["groups"] == [{"queries": ["q2", "q9"], "tokens": ["关", "第"], "best_hit1": 0.5}]
    assert finding.figures["queries_losing_digits"] == 2
    assert finding.severity is Severity.MEDIUM
    assert finding.evidence.ids == ("q2", "q9")


@pytest.mark.usefixtures("production")
def test_tokenizer_when_two_expected_documents_become_one_then_named(evaluation_context: Any, found: Any) -> None:
    # The queries keep apart; their answers are equal but for the digit that is lost. A copy of an answer is no other text.
    asked = [
        {"id": "q1", "text": "how to pass", "gold": ["l2"]},
        {"id": "q2", "text": "where to wait", "gold": ["l9"]},
        {"id": "q3", "text": "what to wear", "gold": ["hat", "copy"]},
    ]
    corpus = {"l2": "过第 2 关", "l9": "过第 9 关", "hat": "a red hat", "copy": "A red  hat", "other": "过第 7 关"}
    finding = found(PROBE.run(evaluation_context(asked, corpus=corpus, query_tokenizer="prod:tokens")), "MA716")
    assert finding.figures["document_groups"] == [["l2", "l9"]]
    assert (finding.figures["documents"], finding.figures["collapsed_documents"]) == (4, 2)
    assert finding.figures["collapsed_queries"] == 0
    assert finding.evidence.ids == ("q1", "q2")
    assert finding.title == (
        "2 of 4 (50 %) expected documents become the same tokens as another one with another text, in 1 group."
    )


@pytest.mark.usefixtures("production")
def test_tokenizer_when_documents_cannot_be_asked_then_said(evaluation_context: Any) -> None:
    corpus = {"l2": "过第 2 关 " * 9, "l9": "过第 9 关"}
    result = PROBE.run(evaluation_context(LEVELS[:1], corpus=corpus, query_tokenizer="prod:short_only"))
    assert result.notes[0].startswith("The expected documents could not be tokenized: prod:short_only was stopped")


@pytest.mark.usefixtures("production")
def test_tokenizer_when_documents_keep_apart_then_silent(evaluation_context: Any) -> None:
    corpus = {"l2": "过第 2 关", "l9": "过第 9 关"}
    assert PROBE.run(evaluation_context(LEVELS[:2], corpus=corpus, query_tokenizer="prod:keeps")).findings == ()


@pytest.mark.usefixtures("production")
def test_tokenizer_when_it_keeps_everything_then_silent(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(LEVELS[:2], query_tokenizer="prod:keeps"))
    assert result.findings == ()
    assert "MA716" not in result.not_looked


@pytest.mark.usefixtures("production")
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "no production tokenizer was given"),
        ({"query_tokenizer": "prod:absent"}, "has no absent"),
        ({"query_tokenizer": "prod:pair"}, "does not return a list of texts"),
    ],
)
def test_tokenizer_when_it_cannot_be_asked_then_not_looked(evaluation_context: Any, config: Any, words: Any) -> None:
    reason, option = PROBE.run(evaluation_context(queries(3), **config)).not_looked["MA716"]
    assert words in reason
    assert option == "query_tokenizer"


@pytest.mark.usefixtures("production")
def test_path_when_functions_are_given_then_called_and_compared(evaluation_context: Any, found: Any) -> None:
    ctx = evaluation_context(queries(4), k=2, recall="prod:recall", eval_recall="prod:evaluated")
    finding = found(PROBE.run(ctx), "MA718")
    # only the query with a 1 differs, from rank 2 on
    assert [finding.figures[n] for n in ("queries", "same_order", "different")] == [4, 3, 1]
    assert finding.evidence.ids == ("q1",)
    assert ctx.evaluation.blocked is not None


@pytest.mark.usefixtures("production")
@pytest.mark.parametrize("name", ["failing", "connecting", "hiding"])
def test_path_when_one_function_only_fails_then_not_compared(evaluation_context: Any, found: Any, name: Any) -> None:
    result = PROBE.run(evaluation_context(queries(3), recall="prod:recall", eval_recall=f"prod:{name}"))
    assert found(result, "MA718") is None
    assert result.not_looked["MA718"][0].startswith("not compared")
    refused = "opening a database is not allowed in an audit. Record what it returns instead."
    assert (refused in result.not_looked["MA718"][0]) is (name != "failing")


# -- MA718 --


def test_path_when_the_evaluation_returns_something_else_then_high_and_no_verdict(
    evaluation_context: Any, found: Any
) -> None:
    runs = {"production": arm(10, {1, 2}), "evaluation": arm(10, {1, 2, 3}) | {"q5": ["y", "x"], "q6": []}}
    ctx = evaluation_context(queries(10), runs, k=2, compare=("production", "evaluation"))
    finding = found(PROBE.run(ctx), "MA718")
    names = ("queries", "same_order", "same_set", "different", "first_differing_rank", "answered_by_one_only")
    assert [finding.figures[n] for n in names] == [9, 7, 1, 1, 1, 1]
    assert finding.severity is Severity.HIGH
    assert finding.evidence.ids == ("q3", "q5")
    assert ctx.evaluation.decision.verdict.value == "not_trustworthy"


def test_path_when_both_agree_then_silent(evaluation_context: Any, found: Any) -> None:
    runs = {"prod": arm(10, {1}), "eval": arm(10, {1})}
    assert found(PROBE.run(evaluation_context(queries(10), runs)), "MA718") is None


def test_path_when_some_queries_are_answered_by_one_only_then_counted_although_the_rest_agrees(
    evaluation_context: Any, found: Any
) -> None:
    runs = {"prod": arm(10, {1}) | {"q4": [], "q5": [], "q6": []}, "eval": arm(10, {1}) | {"q6": []}}
    result = PROBE.run(evaluation_context(queries(10), runs))
    assert found(result, "MA718") is None
    assert result.notes == (
        "prod and eval: 7 of 10 queries compared; 2 were answered by one of them only, 1 by neither.",
    )


def test_path_when_one_side_is_empty_then_not_compared(evaluation_context: Any) -> None:
    runs = {"prod": {f"q{i}": [] for i in range(5)}, "eval": arm(5, {1})}
    reason, _ = PROBE.run(evaluation_context(queries(5), runs)).not_looked["MA718"]
    assert reason.startswith("not compared")


# -- MA717 --

PREDICTED = [
    {"id": "p1", "metric": "hit", "k": 1, "category": "a", "op": ">=", "value": 0.5, "reason": "prefix helps"},
    {"id": "p2", "metric": "hit@1", "category": "b", "op": "unchanged"},
    {"id": "p3", "metric": "queries", "k": 1, "op": "==", "value": 3},
    {"id": "p4", "metric": "coverage", "op": "between", "value": [0.1, 0.2], "arm": "before"},
    {"id": "p5", "metric": "hit", "category": "none", "op": "<", "value": 1},
]


def test_predictions_when_held_against_results_then_scope_by_single_queries(
    evaluation_context: Any, found: Any
) -> None:
    # a = odd, b = even; before hits 1 and 2, after hits 1, 3 and 4: the total of b stays 1 and two queries moved
    runs = {"before": arm(10, {1, 2}), "after": arm(10, {1, 3, 4})}
    result = PROBE.run(evaluation_context(queries(10), runs, predictions=PREDICTED, k=1))
    rows = {r["id"]: (r["observed"], r["held"]) for r in result.sections[0].tables[0].rows}
    assert rows == {
        "p1": ("0.4", "failed"),
        "p2": ("2", "failed"),
        "p3": ("3", "held"),
        "p4": ("0.2", "held"),
        "p5": (None, "not judged"),
    }
    finding = found(result, "MA717")
    assert finding.severity is Severity.INFO
    assert [finding.figures[n] for n in ("predictions", "judged", "held", "failed")] == [5, 4, 2, 2]
    assert len(finding.figures["sha256"]) == 64


def test_predictions_when_all_hold_then_silent(evaluation_context: Any, found: Any) -> None:
    result = PROBE.run(evaluation_context(queries(10), {"v": arm(10, {1, 2, 4})}, predictions=PREDICTED[2:3], k=1))
    assert found(result, "MA717") is None
    assert result.sections[0].answer == "1 of 1 predictions held."


def test_predictions_when_changed_after_the_run_then_medium(evaluation_context: Any, found: Any, tmp_path: Any) -> None:
    ctx = evaluation_context(queries(10), {"v": arm(10, {1, 2, 4})}, predictions=PREDICTED[2:3], k=1)
    os.utime(tmp_path / "runs.jsonl", (1_700_000_000, 1_700_000_000))
    os.utime(tmp_path / "predictions.jsonl", (1_700_000_100, 1_700_000_100))
    assert found(PROBE.run(ctx), "MA717").severity is Severity.MEDIUM


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"id": "p", "metric": "hit"}, "has no op"),
        ({"id": "p", "metric": "hits", "op": "<", "value": 1}, "metric is 'hits'"),
        ({"id": "p", "metric": "hit", "op": "~", "value": 1}, "op is '~'"),
        ({"id": "p", "metric": "hit", "op": "<"}, "value is None"),
        ({"id": "p", "metric": "hit", "op": "between", "value": 1}, "2 finite"),
        ({"id": "p", "metric": "hit", "op": "<", "value": 1, "k": 0}, "k is 0"),
    ],
)
def test_predictions_when_a_line_is_wrong_then_an_error_names_it(
    evaluation_context: Any, line: Any, words: Any
) -> None:
    with pytest.raises(ConfigError, match=r"predictions\.jsonl:1") as error:
        PROBE.run(evaluation_context(queries(2), {"v": arm(2, set())}, predictions=[line]))
    assert words in str(error.value)


# -- MA719 --


def test_cost_when_the_published_numbers_are_put_in_then_the_models_differ() -> None:
    cost = context_cost(52_480, 1_231, 10, 3.0)
    assert round(cost.single_ratio, 1) == 42.6
    assert round(100 * cost.single_share, 2) == 2.35
    assert (cost.all_in_readded_total, cost.all_in_once_total) == (2_886_400, 524_800)
    assert turn_that_overflows(52_480, 200_000) == 4


def test_cost_when_a_window_is_named_then_info(evaluation_context: Any, found: Any) -> None:
    # 10 documents of 400 Latin characters: 100 tokens each, 1,000 in all; the top 2 hold 200
    corpus = {f"c{i}": "word" * 100 for i in range(10)}
    runs = {"v": {f"q{i}": ["c1", "c2", "c3"] for i in range(3)}}
    asked = [{"id": f"q{i}", "text": "t", "gold": ["c1"]} for i in range(3)]
    ctx = evaluation_context(asked, runs, corpus, k=2, context_window=3500, prices={"input": 2.0})
    finding = found(PROBE.run(ctx), "MA719")
    names = ("corpus_tokens", "retrieved_tokens", "ratio_one_turn", "turn_over_window_corpus_added")
    assert [finding.figures[n] for n in names] == [1000, 200, 5.0, 4]
    # 1,000 tokens in each of 10 turns at 2 a million
    assert finding.figures["price_corpus_once"] == pytest.approx(0.02)
    assert "passes the window at turn 4" in finding.title


def test_cost_when_no_window_is_named_then_not_looked(evaluation_context: Any) -> None:
    assert PROBE.run(evaluation_context(queries(2))).not_looked["MA719"][1] == "context_window"


def test_tokens_when_estimated_then_han_one_by_one() -> None:
    assert [estimated_tokens(t) for t in ("", "abcd", "abcde", "数据库", "数据库abcd")] == [0, 1, 2, 3, 4]
