import json
import sqlite3
from typing import Any

import pytest

from memaudit.evaluation.scores import direction, kept_at, min_score_of, separation, sweep
from memaudit.model import Severity
from memaudit.probes.eval_scores import PROBE

DISTANCES = [0.12, 0.30, 0.45, 0.61, 1.2]
SIMILARITIES = [0.91, 0.85, 0.62, 0.60, 0.31]


def runs(scores: Any, n: Any = 10, arm: Any = "vector") -> Any:
    return {arm: {f"q{i}": {"ranking": list("abcde"), "scores": scores} for i in range(n)}}


def test_direction_when_the_score_is_a_distance_then_high_with_what_the_filter_keeps(
    evaluation_context: Any, found: Any
) -> None:
    result = PROBE.run(evaluation_context(None, runs(DISTANCES), filters=("score >= 0.6",)))
    finding = found(result, "MA508")
    names = (
        "queries",
        "queries_where_score_grows_with_rank",
        "rank1_kept",
        "rank5_kept",
        "min_score",
        "scores_above_1",
    )
    assert [finding.figures[n] for n in names] == [10, 10, 0, 10, 0.6, 10]
    assert (finding.figures["lowest_score"], finding.figures["highest_score"]) == (0.12, 1.2)
    assert finding.severity is Severity.HIGH
    assert finding.subject == {"arm": "vector"}


def test_direction_when_no_filter_is_known_then_medium_and_what_it_keeps_is_unknown(
    evaluation_context: Any, found: Any
) -> None:
    finding = found(PROBE.run(evaluation_context(None, runs(DISTANCES))), "MA508")
    assert finding.severity is Severity.MEDIUM
    assert (finding.figures["rank1_kept"], finding.figures["min_score"]) == (None, None)


def test_direction_when_the_bound_is_in_the_production_configuration_then_read(
    evaluation_context: Any, found: Any, tmp_path: Any
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"recall": {"min_score": 0.5}}), encoding="utf-8")
    finding = found(PROBE.run(evaluation_context(None, runs(DISTANCES), config="config.json")), "MA508")
    assert (finding.figures["min_score"], finding.figures["rank1_kept"]) == (0.5, 0)


@pytest.mark.parametrize("scores", [SIMILARITIES, [0.5] * 5, [0.9, 0.2, 0.8, 0.1, 0.5]])
def test_direction_when_scores_fall_or_stay_then_silent(evaluation_context: Any, scores: Any) -> None:
    assert PROBE.run(evaluation_context(None, runs(scores))).findings == ()


def test_direction_when_two_queries_grow_then_too_few(evaluation_context: Any) -> None:
    assert PROBE.run(evaluation_context(None, runs(DISTANCES, 2))).findings == ()


def test_direction_when_there_are_no_scores_then_not_looked(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(None, {"v": {"q1": ["a"]}}))
    assert set(result.not_looked) == {"MA508", "MA715"}


def test_direction_when_the_log_of_recalls_grows_then_found(tmp_path: Any, found: Any) -> None:
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
        connection.executemany("INSERT INTO memories VALUES (?, ?)", [(i, f"记忆 {i} text") for i in range(1, 9)])
        connection.execute("CREATE TABLE recalls (query TEXT, memory_id INTEGER, rank INTEGER, score REAL)")
        rows = [(f"what about {q}", r + 1, r + 1, DISTANCES[r]) for q in range(4) for r in range(5)]
        connection.executemany("INSERT INTO recalls VALUES (?, ?, ?, ?)", rows)
    connection.close()
    from memaudit.config import Config
    from memaudit.engine import run_audit

    audit = run_audit(
        Config(base=tmp_path, store="store.db", table="memories", retrieval_log="recalls", select=("eval-scores",))
    )
    finding = next(f for f in audit.findings if f.code == "MA508")
    assert finding.subject == {"arm": "recalls"}
    assert (finding.figures["queries"], finding.figures["queries_where_score_grows_with_rank"]) == (4, 4)


def test_pure_functions_of_scores() -> None:
    found = direction({"a": [1.0, 2.0, 2.0], "b": [0.5, 0.5], "c": [3.0, 1.0], "d": [1.0, 3.0, 2.0], "e": []})
    assert (found.n, found.growing, found.falling, found.above_one) == (3, ("a",), ("c",), 5)
    assert kept_at({"a": [0.6], "b": [0.59], "c": []}, 1, 0.6) == 1
    assert min_score_of(["agent = ?", "score >= 0.6"]) == 0.6
    assert min_score_of(["score <= 0.6", "score_kind = 'x'", "importance > 3"]) is None


def test_separation_when_counted_by_hand() -> None:
    # pairs (weak, healthy): 1<2 1<3 2=2 2<3 = 3.5 of 4
    assert separation([1, 2], [2, 3]) == 0.875
    assert separation([], [1]) is None


# -- MA715 --


def stepped(healthy_scores: Any, weak_scores: Any) -> Any:
    """The step turns every weak miss into a hit and every healthy hit into a miss."""
    queries, off, on = [], {}, {}
    for name, scores in (("rules", healthy_scores), ("口语", weak_scores)):
        for i, score in enumerate(scores):
            q = f"{name}{i}"
            queries.append({"id": q, "text": f"text {q}", "gold": ["d"], "set": name})
            healthy = name == "rules"
            off[q] = {"ranking": ["d" if healthy else "x", "y"], "scores": [score, 0.01]}
            on[q] = {"ranking": ["x" if healthy else "d", "y"]}
    return queries, {"off": off, "on": on}


def test_threshold_when_the_scores_overlap_then_not_separable(evaluation_context: Any, found: Any) -> None:
    # 20 weak at .10, 10 healthy of which 4 at .09: below .11 all weak and 4 of 10 healthy are triggered
    queries, runs = stepped([0.09] * 4 + [0.5] * 6, [0.10] * 20)
    finding = found(PROBE.run(evaluation_context(queries, runs, compare=("off", "on"), k=1)), "MA715")
    assert finding.figures["triggered"] == {"rules": 4, "口语": 20}
    assert finding.figures["triggered_share_of_healthy"] == pytest.approx(0.4)
    # 6 of 10 healthy scores are above every weak one
    assert finding.figures["auc"] == pytest.approx(0.6)
    assert finding.figures["hits_always_on"] == {"rules": 0, "口语": 20}
    assert finding.severity is Severity.MEDIUM


def test_threshold_when_the_scores_separate_then_silent(evaluation_context: Any, found: Any) -> None:
    queries, runs = stepped([0.5] * 10, [0.1] * 20)
    assert found(PROBE.run(evaluation_context(queries, runs, compare=("off", "on"), k=1)), "MA715") is None


def test_sweep_when_nothing_is_below_then_the_step_does_not_run() -> None:
    steps = sweep(
        {"a": 0.1, "b": 0.9}, {"a": "s", "b": "s"}, {"a": False, "b": True}, {"a": True, "b": False}, [0.0, 0.5, 1]
    )
    assert [(s.triggered["s"], s.total) for s in steps] == [(0, 1), (1, 2), (2, 1)]
