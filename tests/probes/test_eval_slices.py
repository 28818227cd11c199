from typing import Any

import pytest

from memaudit.evaluation.language_gap import gap_cause, language_gap, paired_languages
from memaudit.evaluation.query_set import Item, Query
from memaudit.model import Severity
from memaudit.probes.eval_slices import PROBE
from memaudit.stats.counts import p_range_from_totals


def asks(name: Any, doc: Any = "d", **more: Any) -> Any:
    return {"id": name, "text": f"text {name}", "gold": [doc], **more}


def test_category_when_it_has_three_queries_then_the_worst_and_medium(evaluation_context: Any) -> None:
    queries = [asks(f"r{i}", category="rare") for i in range(3)] + [asks(f"c{i}", category="常见") for i in range(23)]
    result = PROBE.run(evaluation_context(queries, {"v": {q["id"]: ["d"] for q in queries}}, k=1))
    small = [f for f in result.findings if f.code == "MA704"]
    assert [(f.subject["category"], f.severity, f.figures["queries"]) for f in small] == [("rare", Severity.MEDIUM, 3)]
    # 3 of 3: 3 / (3 + 3.8415) = 43.9 %
    assert small[0].figures["wilson95"] == [pytest.approx(0.4385, abs=1e-4), 1.0]
    assert small[0].figures["needed_queries"] == 20
    assert small[0].evidence.ids == ("r0", "r1", "r2")


def test_category_when_several_are_small_then_the_worst_is_medium_and_others_low(evaluation_context: Any) -> None:
    queries = [asks(f"{c}{i}", category=c) for c, n in (("a", 6), ("b", 2), ("c", 30)) for i in range(n)]
    result = PROBE.run(evaluation_context(queries, {"v": {q["id"]: ["d"] for q in queries}}))
    assert [(f.subject["category"], f.severity.label) for f in result.findings if f.code == "MA704"] == [
        ("a", "low"),
        ("b", "medium"),
    ]


def test_category_when_the_interval_is_wide_then_too_small_although_20_queries(evaluation_context: Any) -> None:
    # 20 of 40: Wilson 35.2 to 64.8, 29.6 wide; 12 of 25: 30.0 to 66.5, 36.5 wide
    queries = [asks(f"{c}{i:02d}", category=c) for c, n in (("a", 40), ("b", 25)) for i in range(n)]
    hits = {"a": 20, "b": 12}
    runs = {"v": {q["id"]: ["d"] if int(q["id"][1:]) < hits[q["category"]] else ["x"] for q in queries}}
    result = PROBE.run(evaluation_context(queries, runs))
    assert [f.subject["category"] for f in result.findings if f.code == "MA704"] == ["b"]


def test_category_when_only_its_interval_is_wide_then_low(evaluation_context: Any) -> None:
    # 15 of 30: 33.2 to 66.8, 33.6 wide; 8 of 8: 67.6 to 100, 32.4 wide but of 8 queries
    queries = [asks(f"{c}{i:02d}", category=c) for c, n in (("a", 30), ("b", 8), ("c", 60)) for i in range(n)]
    hits = {"a": 15, "b": 8, "c": 54}
    runs = {"v": {q["id"]: ["d"] if int(q["id"][1:]) < hits[q["category"]] else ["x"] for q in queries}}
    result = PROBE.run(evaluation_context(queries, runs))
    small = [(f.subject["category"], f.severity.label) for f in result.findings if f.code == "MA704"]
    assert small == [("a", "low"), ("b", "medium")]


@pytest.mark.parametrize("queries", [[asks("q1"), asks("q2")], [asks("q1", category="one")]])
def test_category_when_there_is_none_or_one_then_silent(evaluation_context: Any, found: Any, queries: Any) -> None:
    result = PROBE.run(evaluation_context(queries, {"v": {q["id"]: ["d"] for q in queries}}))
    assert found(result, "MA704") is None


def test_category_when_another_field_is_named_then_it_is_read(evaluation_context: Any, found: Any) -> None:
    queries = [asks(f"q{i}", kind="x" if i else "y", category="same") for i in range(30)]
    result = PROBE.run(evaluation_context(queries, category="kind"))
    assert found(result, "MA704").subject["category"] == "y"


def test_the_published_growth_from_28_to_60_queries_stays_inside_the_interval_printed_before() -> None:
    from memaudit.stats.intervals import wilson_interval

    for before, n, after in ((6, 6, 11 / 14), (8, 8, 13 / 16), (1, 3, 0.46)):
        low, high = wilson_interval(before, n)
        assert low <= after <= high


# -- languages --


def pairs(rows: Any, control: Any = False) -> Any:
    """Make (zh, en) queries of (zh hit, en hit) rows, and the ranking of each."""
    queries, runs = [], {}
    for i, (zh, en) in enumerate(rows):
        for language, hit in (("zh", zh), ("en", en)):
            name = f"{'c' if control else 'p'}{i}-{language}"
            pair = name[:-3]
            queries.append(asks(name, language=language, pair=pair, control=control, category="semantic"))
            runs[name] = ["d"] if hit else ["x"]
    return queries, runs


def languages(evaluation_context: Any, rows: Any, control: Any) -> Any:
    q1, r1 = pairs(rows)
    q2, r2 = pairs(control, control=True)
    return PROBE.run(evaluation_context(q1 + q2, {"v": r1 | r2}))


SEMANTIC = [(True, True)] * 3 + [(False, True)] * 10 + [(False, False)] * 3
CONTROL = [(True, True)] * 14 + [(False, True)]


def test_gap_when_the_control_has_none_then_the_language(evaluation_context: Any, found: Any) -> None:
    # 3/16 and 13/16, 10 gained: p = 2 / 1024; control 14/15 and 15/15: p = 1
    finding = found(languages(evaluation_context, SEMANTIC, CONTROL), "MA710")
    assert finding.figures["language_is_the_cause"] is True
    assert [finding.figures[n] for n in ("pairs", "hit5_zh", "hit5_en", "control_hit5_zh", "control_hit5_en")] == [
        16,
        3,
        13,
        14,
        15,
    ]
    assert finding.figures["p"] == pytest.approx(2 / 1024)


def test_gap_when_the_control_has_one_too_then_no_language(evaluation_context: Any, found: Any) -> None:
    finding = found(languages(evaluation_context, SEMANTIC, [(False, True)] * 12 + [(True, True)] * 3), "MA710")
    assert finding.figures["language_is_the_cause"] is False
    assert "not the language" in finding.title


def test_gap_when_the_control_differs_within_the_margin_then_the_language() -> None:
    from memaudit.evaluation.language_gap import LanguageGap
    from memaudit.stats.paired import compare_counts

    # control: 6 of 200 gained, none lost: significant (p = 2 / 64), and 3 points, within the margin of 5
    gap = LanguageGap(16, 3, 13, compare_counts(16, 0, 10))
    control = LanguageGap(200, 100, 106, compare_counts(200, 0, 6))
    assert gap_cause(gap, control, 0.05, 0.05) == "language"
    assert gap_cause(gap, control, 0.05, 0.02) == "other"


def test_gap_when_there_is_no_control_then_no_cause(evaluation_context: Any, found: Any) -> None:
    finding = found(languages(evaluation_context, SEMANTIC, []), "MA710")
    assert finding.figures["language_is_the_cause"] is None
    assert finding.figures["control_gap"] is None


@pytest.mark.parametrize("rows", [[(True, True)] * 10, [(False, True)] * 5 + [(True, True)] * 11, []])
def test_gap_when_not_significant_then_silent(evaluation_context: Any, found: Any, rows: Any) -> None:
    assert found(languages(evaluation_context, rows, CONTROL), "MA710") is None


def test_gap_when_queries_have_no_pair_then_not_looked(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context([asks("q1", language="zh")], {"v": {"q1": ["d"]}}))
    assert "MA710" in result.not_looked


def test_pairs_when_a_language_is_asked_twice_then_left_out() -> None:
    def query(name: Any, language: Any, pair: Any) -> Any:
        return Query(name, "t", ((Item(doc="d"),),), "gold", language=language, pair=pair)

    found = paired_languages(
        [
            query("1", "zh", "a"),
            query("2", "en", "a"),
            query("3", "zh", "b"),
            query("4", "zh", "b"),
            query("5", "en", "b"),
        ]
    )
    assert (found.first, found.second, found.left_out) == ("zh", "en", ("b",))
    gap = language_gap(found, ["a"], {"1": True, "2": True}, 0.95)
    assert gap_cause(gap, gap, 0.05, 0.05) is None


def test_published_totals_give_the_published_ranges_of_p() -> None:
    ranges = [p_range_from_totals(n, a, b) for n, a, b in ((15, 14, 15), (16, 3, 13), (14, 5, 11))]
    rounded = [(round(r.p_min, 3), round(r.p_max, 3)) for r in ranges]
    assert rounded == [(1.0, 1.0), (0.002, 0.021), (0.031, 0.146)]


# -- wholes --


def test_loose_when_the_whole_is_found_and_the_part_is_not_then_info(evaluation_context: Any, found: Any) -> None:
    corpus = {f"{p}{i}": {"text": "t", "document": p} for p in "abcd" for i in range(3)}
    queries = [asks(f"q{i}", doc="a0") for i in range(10)]
    runs = {"v": {f"q{i}": ["a1", "b0", "a0"] if i < 3 else ["a0", "b0"] for i in range(10)}}
    finding = found(PROBE.run(evaluation_context(queries, runs, corpus, k=2)), "MA714")
    assert [finding.figures[n] for n in ("strict", "loose", "loose_only", "right_item_median_rank")] == [7, 10, 3, 3]
    assert finding.figures["gap"] == pytest.approx(0.3)
    assert finding.severity is Severity.INFO


def test_loose_when_every_document_is_its_own_whole_then_not_looked(evaluation_context: Any) -> None:
    corpus = {f"a{i}": {"text": "t", "document": str(i)} for i in range(9)}
    assert "MA714" in PROBE.run(evaluation_context([asks("q", "a1")], {"v": {"q": ["a0"]}}, corpus)).not_looked


def test_probe_when_the_set_is_empty_then_nothing(evaluation_context: Any) -> None:
    assert PROBE.run(evaluation_context([], {"v": {}})).findings == ()


def test_category_when_there_is_one_then_not_looked_and_nothing_is_said_of_its_size(evaluation_context: Any) -> None:
    # It used to say that every category had 20 queries.
    result = PROBE.run(
        evaluation_context([asks(f"q{i}", category="a") for i in range(3)], {"v": {f"q{i}": ["d"] for i in range(3)}})
    )
    assert "all queries are of one category" in result.not_looked["MA704"][0]
    assert result.sections == ()


def test_gap_when_all_pairs_are_control_then_not_looked(evaluation_context: Any) -> None:
    # It used to say "hit 0/0 in zh and 0/0 in en".
    asked, ranked = pairs(CONTROL, control=True)
    result = PROBE.run(evaluation_context(asked, {"v": ranked}))
    assert result.not_looked["MA710"][0] == "every pair is in the control class"
