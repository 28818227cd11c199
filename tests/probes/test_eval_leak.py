import json
from typing import Any

import pytest

from memaudit.model import Severity
from memaudit.probes.eval_leak import PROBE

TEXTS = [
    "which cluster needs one approval before deploys",
    "when does the nightly export fail",
    "退款审批需要哪两方确认",
    "短信验证码的有效期是几分钟",
    "how many events does the offline queue keep",
    "who may tag a version in the repository",
]


def queries(n: Any = 6) -> Any:
    return [{"id": f"q{i}", "text": TEXTS[i], "gold": [f"d{i}"]} for i in range(n)]


CORPUS = {f"d{i}": f"memory number {i}: 记忆的内容" for i in range(6)}


def test_leak_when_queries_were_stored_as_memories_then_high_with_the_copies(
    evaluation_context: Any, found: Any
) -> None:
    corpus = CORPUS | {f"log{i}": f"User asked: {TEXTS[i]}?" for i in range(4)}
    runs = {"v": {f"q{i}": [f"log{i}", f"d{i}"] if i < 3 else [f"d{i}"] for i in range(6)}}
    finding = found(PROBE.run(evaluation_context(queries(), runs, corpus, k=1)), "MA701")
    names = ("queries", "queries_found_word_for_word_in_corpus", "of_these_ranked_first", "gold_among_the_copies")
    assert [finding.figures[n] for n in names] == [6, 4, 3, 0]
    assert finding.figures["share"] == pytest.approx(4 / 6)
    # with the copies 3 of 6 are right at rank 1; without them all 6
    assert (finding.figures["hit1"], finding.figures["hit1_without_these_documents"]) == (3, 6)
    assert finding.severity is Severity.HIGH
    assert finding.evidence.ids == ("q0", "q1", "q2", "q3")


def test_leak_when_the_evaluation_file_is_indexed_then_high(evaluation_context: Any, found: Any) -> None:
    corpus = CORPUS | {"eval": json.dumps([{"q": t} for t in TEXTS])}
    finding = found(PROBE.run(evaluation_context(queries(), corpus=corpus)), "MA701")
    assert finding.severity is Severity.HIGH
    assert finding.subject["values"] == ["eval"]
    assert finding.title == "1 document of the corpus gives answers of 6 of 6 (100 %) queries away."
    assert finding.figures["of_these_ranked_first"] is None


def test_leak_when_one_query_stands_in_one_other_document_then_info(evaluation_context: Any, found: Any) -> None:
    corpus = CORPUS | {"note": f"see also: {TEXTS[0]}"}
    assert found(PROBE.run(evaluation_context(queries(), corpus=corpus)), "MA701").severity is Severity.INFO


def test_leak_when_answers_hold_their_own_questions_then_a_known_item_set(evaluation_context: Any, found: Any) -> None:
    corpus = {f"d{i}": f"Q: {TEXTS[i]} A: yes" for i in range(6)}
    finding = found(PROBE.run(evaluation_context(queries(), corpus=corpus)), "MA701")
    assert finding.severity is Severity.LOW
    assert (finding.figures["gold_among_the_copies"], finding.figures["queries_found_word_for_word_in_corpus"]) == (
        6,
        6,
    )


def test_leak_when_texts_differ_then_silent(evaluation_context: Any) -> None:
    corpus = CORPUS | {"x": "deploys to the cluster need approval", "y": "退款需要两方确认"}
    assert PROBE.run(evaluation_context(queries(), corpus=corpus)).findings == ()


def test_leak_when_it_blocks_then_the_decision_is_suspended(evaluation_context: Any) -> None:
    corpus = CORPUS | {"eval": json.dumps(TEXTS)}
    runs = {"before": {f"q{i}": ["x"] for i in range(6)}, "after": {f"q{i}": [f"d{i}"] for i in range(6)}}
    assert evaluation_context(queries(), runs, corpus).evaluation.decision.verdict.value == "not_trustworthy"
    assert evaluation_context(queries(), runs, CORPUS).evaluation.decision.verdict.value == "improves"


def test_ids_when_they_say_answer_then_high(evaluation_context: Any, found: Any) -> None:
    gold = [f"answer_{i:02d}" for i in range(6)]
    asked = [{"id": f"q{i}", "text": TEXTS[i], "gold": [gold[i]]} for i in range(6)]
    corpus = {d: "文本" for d in gold} | {f"s_{i}": "text" for i in range(20)}
    finding = found(PROBE.run(evaluation_context(asked, corpus=corpus)), "MA702")
    assert finding.figures == {
        "gold_ids_with_prefix": 6,
        "other_ids_with_prefix": 0,
        "prefix": "answer_",
        "gold_ids": 6,
        "other_ids": 20,
    }
    assert finding.severity is Severity.HIGH


def test_ids_when_all_are_of_one_form_then_silent(evaluation_context: Any, found: Any) -> None:
    corpus = {f"d{i}": "text" for i in range(40)}
    assert found(PROBE.run(evaluation_context(queries(), corpus=corpus)), "MA702") is None


def test_overlap_when_queries_repeat_their_answers_then_said(evaluation_context: Any) -> None:
    corpus = {f"d{i}": f"Q: {TEXTS[i]} A: yes" for i in range(6)}
    result = PROBE.run(evaluation_context(queries(), corpus=corpus))
    assert result.figures["query_overlap_mean"] == 1.0
    assert "says nothing about paraphrases" in result.sections[-1].answer


def test_overlap_when_words_differ_then_counted(evaluation_context: Any) -> None:
    # "alpha beta 退款" has 4 words, of which alpha, 退 and 款 stand in d1; nothing of q2 stands in d2
    asked = [
        {"id": "q1", "text": "alpha beta 退款", "gold": ["d1"], "category": "a"},
        {"id": "q2", "text": "gamma", "gold": ["d2"], "origin": "log"},
    ]
    result = PROBE.run(evaluation_context(asked, corpus={"d1": "Alpha 款退", "d2": "delta", "d3": "beta"}))
    assert [(r["origin"], r["overlap"]) for r in result.sections[-1].tables[0].rows] == [("hand", 0.75), ("log", 0.0)]
    assert "paraphrases" not in result.sections[-1].answer


def test_probe_when_the_set_is_empty_then_not_looked(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context([], corpus=CORPUS))
    assert (result.findings, set(result.not_looked)) == ((), {"MA701", "MA702"})


def test_leak_when_some_queries_are_short_then_said_and_when_all_are_not_looked(evaluation_context: Any) -> None:
    # "why" and "how" have three characters; the third query has 28
    asked = [
        {"id": f"q{i}", "text": t, "gold": ["d"]} for i, t in enumerate(("why", "how", "what is the timeout of jobs?"))
    ]
    result = PROBE.run(evaluation_context(asked, corpus={"d": "nothing of it"}))
    assert result.notes[0].startswith("MA701 passed over 2 of 3 (67 %) queries: shorter than 12 characters")
    assert "MA701" not in result.not_looked
    result = PROBE.run(evaluation_context(asked[:2], corpus={"d": "nothing of it"}))
    assert result.not_looked["MA701"][0] == "every query and expected text is shorter than 12 characters"


@pytest.mark.parametrize(("n_gold", "n_others", "looked"), [(4, 20, False), (5, 9, False), (5, 10, True)])
def test_ids_when_there_are_too_few_then_not_looked(
    evaluation_context: Any, n_gold: int, n_others: int, looked: bool
) -> None:
    asked = [{"id": f"q{i}", "text": f"question {i}", "gold": [f"{i}g"]} for i in range(n_gold)]
    corpus = {f"{i}g": "text" for i in range(n_gold)} | {f"{i}x": "other" for i in range(n_others)}
    assert ("MA702" not in PROBE.run(evaluation_context(asked, corpus=corpus)).not_looked) is looked
