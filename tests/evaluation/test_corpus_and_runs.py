import json
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.errors import ConfigError
from memaudit.evaluation.corpus import corpus_of_rows, read_corpus
from memaudit.evaluation.figures import arm_results, query_result, summary, tied_at
from memaudit.evaluation.inputs import read_inputs
from memaudit.evaluation.query_set import Item, Query
from memaudit.evaluation.resolve import Expected, resolve, with_duplicates
from memaudit.evaluation.runs import Ranking, Runs, read_runs


@pytest.fixture
def write(tmp_path: Any) -> Any:
    def make(name: Any, *lines: Any) -> Any:
        (tmp_path / name).write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
        return tmp_path / name

    return make


def run(query: Any, ids: Any, arm: Any = "a", **more: Any) -> Any:
    return {"arm": arm, "query": query, "ranking": ids, **more}


def query(number: Any, *groups: Any, **more: Any) -> Any:
    return Query(number, f"text of {number}", tuple(groups), more.pop("meaning", "gold"), **more)


def doc(*ids: Any) -> Any:
    return tuple(Item(doc=i) for i in ids)


# -- corpus --


def test_corpus_when_read_then_fields_and_fingerprint_without_order(write: Any) -> None:
    a = read_corpus(write("a.jsonl", {"id": 1, "text": "一"}, {"id": "2", "text": "", "path": "x/y"}))
    b = read_corpus(write("b.jsonl", {"id": "2", "text": ""}, {"id": "1", "text": "一"}))
    assert a.documents["2"].fields == {"path": "x/y"}
    assert a.fingerprint == b.fingerprint
    assert (a.fingerprint.rows, len(a.fingerprint.sha256)) == (2, 64)


def test_fingerprint_when_a_character_moves_between_id_and_text_then_differs() -> None:
    assert corpus_of_rows("t", ["ab"], ["c"]).fingerprint != corpus_of_rows("t", ["a"], ["bc"]).fingerprint


def test_corpus_of_rows_when_keys_are_numbers_then_texts(write: Any) -> None:
    corpus = corpus_of_rows("memories", [7, 8], ["x", "y"], {"source": ["a", None]})
    assert list(corpus.documents) == ["7", "8"]
    assert corpus.values("source") == {"7": "a"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"id": "d", "text": "a"}, {"id": "d", "text": "b"}], r'c.jsonl:2: the document id "d" comes twice'),
        ([{"id": "d"}], "c.jsonl:1: the document has no text"),
        ([{"id": "d", "text": None}], "c.jsonl:1: text is null"),
    ],
)
def test_corpus_when_a_line_is_wrong_then_an_error_names_it(write: Any, lines: Any, words: Any) -> None:
    with pytest.raises(ConfigError, match=words):
        read_corpus(write("c.jsonl", *lines))


# -- runs --


def test_runs_when_a_query_has_no_line_anywhere_then_missing_and_a_miss(write: Any) -> None:
    runs = read_runs(write("r.jsonl", run("q1", ["d1"])), ["q1", "q2"])
    assert runs.missing == ("q2",)
    queries = (query("q1", doc("d1")), query("q2", doc("d2")))
    results = arm_results(queries, resolve(queries, None), runs, "a", 5)
    assert [r.hit for r in results.values()] == [True, False]
    assert summary(results.values()).hits == 1


def test_runs_when_a_query_is_in_one_arm_only_then_an_error_by_id(write: Any) -> None:
    path = write("r.jsonl", run("q1", []), run("q2", []), run("q1", [], arm="b"))
    with pytest.raises(ConfigError, match=r'arm "b" has no line for 1 query that another arm has: q2'):
        read_runs(path, ["q1", "q2"])


def test_runs_when_a_query_is_not_in_the_set_then_an_error_by_id(write: Any) -> None:
    with pytest.raises(ConfigError, match=r"not in the query set: 1 query \(q9\)"):
        read_runs(write("r.jsonl", run("q9", [])), ["q1"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"arm": "a", "query": "q1"}, "has no ranking"),
        (run("q1", "d1"), "ranking is a text; a list"),
        (run("q1", ["d1"], scores=[1, 2]), "2 scores for 1 documents"),
        (run("q1", ["d1"], scores=["x"]), "a score is 'x'"),
        (run("q1", ["d1"], latency_ms=-1), "latency_ms is -1"),
    ],
)
def test_runs_when_a_line_is_wrong_then_an_error_names_it(write: Any, line: Any, words: Any) -> None:
    with pytest.raises(ConfigError, match=r"r\.jsonl:1") as error:
        read_runs(write("r.jsonl", line), ["q1"])
    assert words in str(error.value)


def test_runs_when_arm_and_query_come_twice_then_refused(write: Any) -> None:
    with pytest.raises(ConfigError, match=r'r\.jsonl:2: arm "a" has query "q1" twice'):
        read_runs(write("r.jsonl", run("q1", []), run("q1", [])), ["q1"])


def test_runs_when_a_ranking_repeats_a_document_then_counted_and_its_best_rank_counts(write: Any) -> None:
    runs = read_runs(write("r.jsonl", run("q1", ["d2", "d2", "d1"])), ["q1"])
    assert runs.n_repeated == 1
    # d2 stands at rank 1, d1 moves up to 2
    assert query_result(query("q1", doc("d1")), Expected((frozenset({"d1"}),)), runs.ranking("a", "q1"), 5).ranks == (
        2,
    )


# -- figures --


def test_figures_when_all_are_needed_then_hit_coverage_and_rank() -> None:
    # needed d1, d2, d3; ranking d9 d2 d8 d1: d2 at 2, d1 at 4; k = 3: 1 of 3, first at rank 2
    found = query_result(
        query("q", doc("d1"), doc("d2"), doc("d3")),
        Expected((frozenset({"d1"}), frozenset({"d2"}), frozenset({"d3"}))),
        Ranking(("d9", "d2", "d8", "d1")),
        3,
    )
    assert (found.ranks, found.hit, found.coverage, found.rr) == ((4, 2, None), True, pytest.approx(1 / 3), 0.5)
    assert not found.complete


def test_figures_when_the_row_itself_is_excluded_then_others_move_up() -> None:
    asked = query("q", doc("d1"), exclude=frozenset({"d0"}))
    assert query_result(asked, Expected((frozenset({"d1"}),)), Ranking(("d0", "d1")), 1).hit


def test_ties_when_the_cut_falls_between_equal_scores_then_declared() -> None:
    assert tied_at(Ranking(("a", "b", "c"), (0.9, 0.5, 0.5)), 2)
    assert not tied_at(Ranking(("a", "b", "c"), (0.9, 0.5, 0.5)), 1)
    assert not tied_at(Ranking(("a", "b"), (0.5, 0.5)), 2)
    assert not tied_at(Ranking(("a", "b", "c")), 2)


# -- resolve --


def test_contains_when_forms_differ_then_found_after_nfkc_with_case_kept() -> None:
    corpus = corpus_of_rows("c", ["1", "2", "3"], ["模型：ＡＢＣ１", "模型:abc1", "else"])
    asked = query("q", (Item(contains="模型:ABC1"),), meaning="expect_any")
    assert resolve([asked], corpus)["q"].groups == (frozenset({"1"}),)


def test_resolve_when_items_are_gone_then_listed_and_the_group_stays() -> None:
    corpus = corpus_of_rows("c", ["1"], ["one"])
    asked = query("q", doc("1"), doc("9"), (Item(contains="nowhere"),), meaning="expect_all")
    found = resolve([asked], corpus)["q"]
    assert (found.missing, found.unmatched) == (("9",), ("nowhere",))
    assert found.groups == (frozenset({"1"}), frozenset(), frozenset())


@pytest.mark.parametrize(("n", "common"), [(5, ()), (6, (("the", 6),))])
def test_contains_when_in_more_than_five_documents_then_common(n: Any, common: Any) -> None:
    corpus = corpus_of_rows("c", list(range(n)), ["the text"] * n)
    assert resolve([query("q", (Item(contains="the"),))], corpus)["q"].common == common


def test_contains_when_there_is_no_corpus_then_refused() -> None:
    with pytest.raises(ConfigError, match="needs a corpus"):
        resolve([query("q", (Item(contains="x"),))], None)


def test_duplicates_when_clusters_are_handed_in_then_any_member_is_right() -> None:
    expected = {"q": Expected((frozenset({"1"}), frozenset({"9"})))}
    wide = with_duplicates(expected, {"1": "A", "2": "A", "3": "B"})
    assert wide["q"].groups == (frozenset({"1", "2"}), frozenset({"9"}))


# -- inputs --


def files(write: Any, **more: Any) -> Any:
    write("queries.jsonl", {"id": "q1", "text": "t", "gold": ["d1"]})
    write("runs.jsonl", run("q1", ["d1"], arm="old"), run("q1", ["d2"], arm="new"))
    return {"queries": "queries.jsonl", "runs": "runs.jsonl", **more}


def test_inputs_when_two_arms_have_natural_names_then_they_are_compared(write: Any, tmp_path: Any) -> None:
    assert read_inputs(Config(base=tmp_path, **files(write))).compare == ("old", "new")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"compare": ("old", "nwe")}, r'there is no arm "nwe" in runs\.jsonl\. Arms: old, new'),
        ({"compare": ("old", "old")}, "two different arms"),
        ({"k": 0}, "k is 0"),
        ({"metric": "hits"}, 'Did you mean "hit"'),
    ],
)
def test_inputs_when_a_setting_is_wrong_then_refused(write: Any, tmp_path: Any, setting: Any, words: Any) -> None:
    with pytest.raises(ConfigError, match=words):
        read_inputs(Config(base=tmp_path, **files(write, **setting)))


def test_inputs_when_rows_of_a_store_are_given_then_they_are_the_corpus(write: Any, tmp_path: Any) -> None:
    class Rows:
        n_rows = 2
        keys = (1, "d1")

        def column(self, name: Any) -> Any:
            return ("x", "y")

    write("queries.jsonl", {"id": "q1", "text": "t", "gold": ["1"]})
    found = read_inputs(Config(base=tmp_path, queries="queries.jsonl"), Rows(), ("one", "two"), "memories", "origin")
    assert found.corpus.documents["1"].text == "one"
    assert found.corpus.documents["d1"].fields == {"origin": "y"}
    assert not found.stale.missing


def test_runs_when_made_by_hand_then_depth_and_absent_ranking() -> None:
    runs = Runs("r", "", {"a": {"q1": Ranking(("x", "y"))}})
    assert (runs.depth("a"), runs.ranking("a", "q2").ids) == (2, ())
