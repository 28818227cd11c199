from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memaudit.config_file import load
from memaudit.encoders.counting import MAX_CHARS, TokenCounter, token_counter
from memaudit.engine import run_audit
from memaudit.model import Audit
from memaudit.probes.recall_cost import PROBE, Cost, Recall, nearest_rank_95, recall_cost
from tests.probes.builders import make_context

ROLES = {"text": "content"}


@pytest.fixture(autouse=True)
def _words_are_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the probe count words in place of tokens, so that every figure can be worked out by hand."""
    counter = TokenCounter("words", lambda text: len(text.split()))
    monkeypatch.setattr("memaudit.probes.recall_cost.token_counter", lambda encoder: counter)


def memories(*texts: str) -> list[dict[str, Any]]:
    return [{"id": i + 1, "content": text} for i, text in enumerate(texts)]


def logged(*lines: tuple[str, str, int], session: bool = False) -> list[dict[str, Any]]:
    """Write log rows from (query, session, memory)."""
    return [
        {"query": query, "memory_id": memory, **({"session_id": of} if session else {})} for query, of, memory in lines
    ]


def measured(texts: list[str], log: list[dict[str, Any]], **config: Any) -> Any:
    ctx = make_context(memories(*texts), roles=ROLES, tables={"log": log}, retrieval_log="log", **config)
    return PROBE.run(ctx)


# -- arithmetic ------------------------------------------------------------------------------------


def test_cost_when_worked_out_by_hand_then_equal() -> None:
    # Rows: 0 "a" 5 tokens, 1 "A " (the same text) 5, 2 "b" 3, 3 "c" 7; 2 and 3 are of one template, 2 tokens each.
    texts, tokens = {0: "a", 1: "A ", 2: "b", 3: "c"}, {0: 5, 1: 5, 2: 3, 3: 7}
    constants = {2: ("t", 2), 3: ("t", 2)}
    recalls = [Recall((0, 1, 2), "s"), Recall((0, 3, 2), "s"), Recall((3,), "other"), Recall((2,), "s")]
    # 13 + 15 + 7 + 3. Twice in one recall: row 1. Template: the second of (3, 2) in the second recall.
    # Followed: the second (15) and the last (3); given before: 0 and 2 (5 + 3), then 2 (3).
    assert recall_cost(recalls, texts, tokens, constants) == Cost((13, 15, 7, 3), 5, 2, 18, 11)
    assert recall_cost(recalls, texts, tokens, None).template is None


def test_cost_when_no_session_is_known_then_nothing_was_given_before() -> None:
    cost = recall_cost([Recall((0,)), Recall((0,))], {0: "a"}, {0: 4}, {})
    assert (cost.total, cost.repeated, cost.followed, cost.given_before) == (8, 0, 0, 0)


def test_percentile_when_few_then_none() -> None:
    assert nearest_rank_95(range(19)) is None
    assert nearest_rank_95(range(1, 21)) == 19
    assert nearest_rank_95(range(1, 101)) == 95


def test_counter_when_a_text_is_very_long_then_taken_from_its_beginning() -> None:
    seen: list[int] = []

    def half(text: str) -> int:
        seen.append(len(text))
        return len(text) // 2

    counter = TokenCounter("n", half)
    assert counter.count("x" * 100) == 50
    assert counter.count("x" * (3 * MAX_CHARS)) == 3 * MAX_CHARS // 2
    assert seen == [100, MAX_CHARS]


# -- with a log ------------------------------------------------------------------------------------


def test_log_when_one_text_comes_back_twice_then_counted() -> None:
    texts = ["deploys need one approval", "Deploys need  one approval", "the map is blue", "退款 审批 需要 财务"]
    log = logged(("q1", "", 1), ("q1", "", 2), ("q1", "", 3), ("q2", "", 4))
    result = measured(texts, log)
    figures = result.figures
    assert result.findings == ()
    assert figures["recalls_counted"] == 2  # q1: 4 + 4 + 4 tokens, q2: 4
    assert (figures["recall_tokens_median"], figures["recall_tokens_max"]) == (8, 12)
    assert figures["recall_tokens_total"] == 16
    assert figures["recall_share_repeated"] == 4 / 16
    assert figures["recall_tokens_p95"] is None
    assert figures["recall_share_given_before"] is None
    assert figures["recall_share_template"] is None  # three different texts show no template
    assert figures["recall_tokenizer"] == "words"
    (section,) = result.sections
    assert section.answer == (
        "A recall hands over 8 tokens (median of 2 recalls; the largest 12), 16 tokens in all. "
        "4 of 16 (25 %) of them stand twice in the same recall."
    )
    assert "tokenizer of words" in section.method[0]
    assert any("names a session" in part for part in section.method)
    by_row = {row["key"]: (row["times"], row["tokens"], row["all"]) for row in section.tables[1].rows}
    assert by_row == {str(i): (1, 4, 4) for i in (1, 2, 3, 4)}


def test_log_when_texts_differ_in_a_number_then_nothing_repeats() -> None:
    result = measured(["keep 3 copies", "keep 4 copies"], logged(("q", "", 1), ("q", "", 2)))
    assert result.figures["recall_share_repeated"] == 0.0
    assert result.figures["recall_tokens_total"] == 6


def test_log_when_it_has_sessions_then_the_turn_before_counts() -> None:
    texts = ["one two three", "four five"]
    log = logged(("q1", "a", 1), ("q2", "a", 1), ("q2", "a", 2), ("q3", "b", 1), session=True)
    result = measured(texts, log)
    # q2 follows q1 in session a: 5 tokens, 3 of them given before. q3 is the first of session b.
    assert result.figures["recall_share_given_before"] == 3 / 5
    assert "3 of 5 (60 %) of the tokens of later recalls" in result.sections[0].answer


def test_log_when_one_query_is_asked_in_two_sessions_then_two_recalls() -> None:
    log = logged(("q", "a", 1), ("q", "b", 1), session=True)
    assert measured(["one two", "three"], log).figures["recalls_counted"] == 2


def test_log_when_a_row_names_several_memories_then_it_is_a_recall() -> None:
    log = [{"query": "q", "results": json.dumps([1, 2])}, {"query": "q", "results": json.dumps([{"id": 2}, {"id": 9}])}]
    result = measured(["one two three", "four"], log)
    assert result.figures["recalls_counted"] == 2
    assert result.figures["recall_tokens_total"] == 5
    assert any("1 of 4 (25 %) of the memories named in the log" in part for part in result.sections[0].method)


def test_log_when_texts_follow_a_template_then_its_second_use_counts() -> None:
    things = ("kettle", "lamp", "door", "window", "radio", "oven", "fan", "clock", "shelf", "stove")
    texts = [f"Summary of the device report: {thing}" for thing in things]
    result = measured(texts, [{"query": "q", "memory_id": i + 1} for i in range(len(texts))])
    # 6 words a row, of which about 5 are constant (30 of 34 to 37 characters): 9 rows repeat them.
    assert result.figures["recall_tokens_total"] == 60
    assert result.figures["recall_share_template"] == pytest.approx(45 / 60)
    assert result.figures["recall_share_repeated"] == 0.0


def test_log_when_its_rows_cannot_be_told_apart_then_not_measured_and_said() -> None:
    result = measured(["one two", "three"], [{"memory_id": 1}, {"memory_id": 2}])
    assert (result.figures, result.sections) == ({}, ())
    assert "nothing in log tells which rows belong to one recall" in result.notes[0]


# -- without a log ---------------------------------------------------------------------------------


def test_store_when_k_is_known_then_estimated_and_said() -> None:
    texts = ["one", "one two three", "一 二 三 四 五", "", "one two three four"]
    result = PROBE.run(make_context(memories(*texts), roles=ROLES, k=3))
    # 1, 3, 5 and 4 tokens: median 3.5; three rows cost 10.5.
    assert result.figures["recall_tokens_estimated"] == 10.5
    assert result.figures["row_tokens_median"] == 3.5
    assert result.sections[0].answer.startswith("Estimated from the store: a recall of 3 rows costs about 10.5 tokens")
    assert any("no table with past recalls was named" in part for part in result.sections[0].method)


def test_store_when_it_holds_fewer_rows_than_k_then_no_more_are_paid() -> None:
    result = PROBE.run(make_context(memories("one two", "one two three four"), roles=ROLES, k=50))
    assert result.figures["recall_rows_assumed"] == 2
    assert result.figures["recall_tokens_estimated"] == 6


def test_store_when_production_names_top_k_then_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "production.json").write_text('{"recall": {"top_k": 2}}', encoding="utf-8")
    ctx = make_context(memories("a b", "c d", "e f"), roles=ROLES, config="production.json", base=tmp_path)
    result = PROBE.run(ctx)
    assert result.figures["recall_tokens_estimated"] == 4
    assert any("`top_k` says 2 rows" in part for part in result.sections[0].method)


def test_store_when_neither_is_there_then_not_measured() -> None:
    result = PROBE.run(make_context(memories("a b"), roles=ROLES))
    assert (result.findings, result.sections, result.figures) == ((), (), {})
    assert result.notes == (
        "What a recall costs in tokens was not measured, because no table with past recalls was named, and no k says "
        "how many rows a recall returns.",
    )


# -- in an audit -----------------------------------------------------------------------------------


def ran(healthy: Path, *settings: str, **options: Any) -> Audit:
    return run_audit(
        load(isolated=True, start=healthy.parent, settings=settings, options={"store": str(healthy), **options})
    )


def test_audit_when_the_probe_is_named_then_it_runs_alone(healthy: Path) -> None:
    audit = ran(healthy, "k=5", select=("recall-cost",))
    assert [s.key for s in audit.sections] == ["recall-cost"]
    assert "recall_tokens_estimated" not in ran(healthy, "k=5", select=("MA305",)).figures
    assert "recall_tokens_estimated" not in ran(healthy, "k=5", ignore=("recall-cost",)).figures
    assert "recall_tokens_estimated" in ran(healthy, "k=5", ignore=("MA3",)).figures


def test_audit_when_the_store_is_empty_then_listed_as_not_run(write_store: Callable[..., Path]) -> None:
    audit = ran(write_store([]), "k=5", select=("recall-cost",))
    assert [(item.probe, item.codes) for item in audit.not_run] == [("recall-cost", ())]


def test_tokenizer_when_nothing_is_named_then_the_built_in_one_counts() -> None:
    counter = token_counter(None)
    assert counter.name == "Universal Sentence Encoder multilingual v3"
    assert counter.count("") == 0
    english, chinese = counter.count("The review meets on Tuesday."), counter.count("会议纪要统一放在共享盘")
    assert 5 <= english <= 10  # five words and a full stop, few of them cut
    assert 3 <= chinese <= 11  # eleven characters, several of them in words
    assert counter.count("The review meets on Tuesday. " * 100) == pytest.approx(100 * english, abs=2)
    assert token_counter("no model of this name").name == counter.name


def test_audit_when_a_sample_then_recalls_are_not_counted_but_their_column_is_known(
    write_store: Callable[..., Path],
) -> None:
    store = write_store([(i, f"memory number {i} about deploys", 0) for i in range(100)],
                        "id INTEGER PRIMARY KEY, content TEXT, hits INTEGER")  # fmt: skip
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("CREATE TABLE log (query TEXT, memory_id INTEGER)")
        connection.executemany("INSERT INTO log VALUES (?, ?)", [(f"q{i // 4}", i * 7 % 100) for i in range(80)])
    connection.close()
    named = ('hits="hits"', 'retrieval_log="log"')
    chosen = ("recall-cost", "use-counter")
    whole = ran(store, *named, select=chosen)
    assert whole.figures["recalls_counted"] == 20
    drawn = ran(store, *named, select=chosen, max_rows=10)
    assert "recalls_counted" not in drawn.figures
    assert any("rows that were not drawn" in note for note in drawn.notes)
    (finding,) = [f for f in drawn.findings if f.code == "MA607"]
    assert finding.figures["memories_in_log"] is not None
