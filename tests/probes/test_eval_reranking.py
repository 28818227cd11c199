from typing import Any

import pytest

from memaudit.evaluation.reranking import rank_bands
from memaudit.model import Severity
from memaudit.probes.eval_reranking import PROBE
from memaudit.stats.ranking import candidate_depth, rerank_ceiling


def queries(n: Any) -> Any:
    return [{"id": f"q{i:02d}", "text": f"问题 {i}", "gold": ["d"]} for i in range(n)]


def ranking(place: Any, depth: Any, key: Any = "") -> Any:
    """Put the expected document at a 1-based place of a list of other ids; nowhere for 0."""
    ids = [f"x{key}{j}" for j in range(depth)]
    if place:
        ids[place - 1] = "d"
    return ids


# -- MA507 --


def reranked(places: Any, pool: Any, cut: Any = 10) -> Any:
    """Reorder only the first `cut` of the pool: they are turned round."""
    before = {f"q{i:02d}": ranking(p, pool, i) for i, p in enumerate(places)}
    return before, {q: r[:cut][::-1] for q, r in before.items()}


def test_reranker_when_it_sees_only_the_cut_then_it_cannot_help(evaluation_context: Any, found: Any) -> None:
    # 40 queries: 20 in the top 10 (at 1), 12 at 30, 8 not in the pool of 80
    places = [1] * 20 + [30] * 12 + [0] * 8
    before, after = reranked(places, 80)
    runs = {
        "hybrid": {q: {"ranking": r, "latency_ms": 100} for q, r in before.items()},
        "reranked": {q: {"ranking": r, "latency_ms": 400} for q, r in after.items()},
    }
    finding = found(PROBE.run(evaluation_context(queries(40), runs, k=10)), "MA507")
    names = ("queries", "same_set_at_10", "same_first_row", "hit10_before", "hit10_after", "h1_before", "h1_after")
    assert [finding.figures[n] for n in names] == [40, 40, 0, 20, 20, 20, 0]
    assert (finding.figures["gold_in_pool_of_80"], finding.figures["reachable_if_reranked_before_cut"]) == (32, 12)
    assert finding.figures["latency_share_of_reranking"] == pytest.approx(0.75)
    assert finding.severity is Severity.MEDIUM
    assert finding.evidence.ids == tuple(f"q{i}" for i in range(20, 32))


def test_reranker_when_no_k_is_named_then_the_length_of_its_lists_is(evaluation_context: Any, found: Any) -> None:
    before, after = reranked([1] * 10, 80)
    figures = found(PROBE.run(evaluation_context(queries(10), {"hybrid": before, "rerank": after})), "MA507").figures
    assert figures["same_set_at_10"] == 10


def test_reranker_when_the_pool_lacks_the_answers_then_it_cannot_help(evaluation_context: Any, found: Any) -> None:
    # 20 misses, 2 of them in the pool
    places = [1] * 10 + [30] * 2 + [0] * 18
    before = {f"q{i:02d}": ranking(p, 40, i) for i, p in enumerate(places)}
    after = {q: [*r[5:40], *r[:5]] for q, r in before.items()}
    after |= {f"q{i:02d}": before[f"q{i:02d}"] for i in range(10)}
    finding = found(PROBE.run(evaluation_context(queries(30), {"first": before, "rerank": after}, k=5)), "MA507")
    assert finding.figures["gold_in_pool_of_40"] == 12
    assert "a reranker cannot find what the pool lacks" in finding.title


def test_reranker_when_it_finds_more_then_silent(evaluation_context: Any, found: Any) -> None:
    before = {f"q{i:02d}": ranking(20, 40, i) for i in range(30)}
    after = {q: ["d", *[x for x in r if x != "d"]][:10] for q, r in before.items()}
    assert found(PROBE.run(evaluation_context(queries(30), {"first": before, "rerank": after}, k=10)), "MA507") is None


def test_reranker_when_only_the_first_place_gains_then_info(evaluation_context: Any, found: Any) -> None:
    before = {f"q{i:02d}": ranking(2, 10, i) for i in range(30)}
    after = {q: ["d", *[x for x in r if x != "d"]] for q, r in before.items()}
    finding = found(PROBE.run(evaluation_context(queries(30), {"first": before, "rerank": after}, k=10)), "MA507")
    assert (finding.severity, finding.figures["h1_after"]) == (Severity.INFO, 30)


def test_pair_when_names_do_not_say_rerank_then_only_a_pure_reordering_counts(evaluation_context: Any) -> None:
    before, after = reranked([1] * 12, 10)
    result = PROBE.run(evaluation_context(queries(12), {"before": before, "after": after}, k=10))
    assert "MA507" not in result.not_looked
    other = {q: [f"z{q}{i}" for i in range(10)] for q in before}
    result = PROBE.run(evaluation_context(queries(12), {"before": before, "after": other}, k=10))
    assert "MA507" in result.not_looked


# -- MA711 --


def lists(depth: Any, n: Any = 12) -> Any:
    return {
        "vector": {f"q{i:02d}": [f"c{j}" for j in range(depth)] for i in range(n)},
        "bm25": {f"q{i:02d}": [f"c{j}" for j in range(depth - 1, -1, -1)] for i in range(n)},
        "rrf": {f"q{i:02d}": [f"c{j}" for j in range(10)] for i in range(n)},
    }


CORPUS = {"d": "expected"} | {f"c{j}": f"文本 text {j}" for j in range(212)}


def test_depth_when_lists_hold_a_quarter_of_the_corpus_then_medium(evaluation_context: Any, found: Any) -> None:
    # 50 of 213 = 23.5 %, 50 * 50 / 213 = 11.7 by chance
    finding = found(PROBE.run(evaluation_context(queries(12), lists(50), CORPUS, k=10)), "MA711")
    assert finding.figures["depth_share"] == pytest.approx(0.2347, abs=1e-4)
    assert finding.figures["overlap_expected_by_chance"] == pytest.approx(11.74, abs=0.01)
    assert finding.figures["overlap_measured"] == 50
    assert finding.severity is Severity.MEDIUM


@pytest.mark.parametrize(
    ("depth", "k", "severity"),
    [
        (22, 10, Severity.LOW),  # 10.3 %, 2.3 by chance of 10
        (26, 10, Severity.LOW),  # 12.2 %, 3.2 by chance
        (27, 10, Severity.MEDIUM),  # 12.7 %
        (22, 2, Severity.MEDIUM),  # chance alone fills the two places
    ],
)
def test_depth_when_near_its_limit_then_low(
    evaluation_context: Any, found: Any, depth: Any, k: Any, severity: Any
) -> None:
    finding = found(PROBE.run(evaluation_context(queries(12), lists(depth), CORPUS, k=k)), "MA711")
    assert finding.severity is severity


@pytest.mark.parametrize(("depth", "share", "chance"), [(20, 9.4, 1.9), (11, 5.2, 0.6)])
def test_depth_when_lists_are_short_then_silent(
    evaluation_context: Any, found: Any, depth: Any, share: Any, chance: Any
) -> None:
    assert found(PROBE.run(evaluation_context(queries(12), lists(depth), CORPUS, k=10)), "MA711") is None
    measured = candidate_depth(depth, 213)
    assert (round(100 * measured.depth_share, 1), round(measured.expected_overlap, 1)) == (share, chance)


def test_depth_when_lists_end_at_k_then_not_looked(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(queries(12), lists(10), CORPUS, k=10))
    assert result.not_looked["MA711"][0] == "the keyword and vector lists end at rank 10, not beyond k = 10"


def test_depth_when_one_arm_is_recorded_then_not_looked(evaluation_context: Any) -> None:
    result = PROBE.run(evaluation_context(queries(12), {"vector": lists(50)["vector"]}, CORPUS))
    assert "MA711" in result.not_looked


# -- MA712 --

WORKED = [[84, 40, 52, 60], [6, 7], [6, 12], [12, 20]]


def test_ceiling_when_ranks_are_known_then_the_worked_example() -> None:
    # k = 5; of the first 20: 0/4, 2/2, 2/2, 2/2 = 75 %; of 50: 1/4 + 3 = 81.25 %; of 100 all
    assert [rerank_ceiling(WORKED, depth, 5) for depth in (5, 20, 50, 100)] == [0.0, 0.75, 0.8125, 1.0]


def test_bands_when_counted_then_they_add_up() -> None:
    bands = rank_bands([*WORKED, [1, None]], 5, 50)
    assert bands.counts == {"1-5": 1, "6-50": 7, "51-100": 3, "over 100": 0, "not found": 1}
    assert (bands.items, bands.misses, bands.misses_within) == (12, 11, 7)
    assert sum(bands.counts.values()) == bands.items


def test_bands_when_published_then_counts_and_shares() -> None:
    # 36 expected items: 15 / 17 / 4 / 0 = 42 / 47 / 11 / 0 %
    bands = rank_bands([[rank] for rank in [1] * 15 + [50] * 17 + [51] * 4], 5, 50)
    counts = [bands.counts[name] for name in ("1-5", "6-50", "51-100", "over 100")]
    assert counts == [15, 17, 4, 0]
    assert [round(100 * count / bands.items) for count in counts] == [42, 47, 11, 0]


def test_ceiling_when_a_reranker_was_recorded_then_what_it_ate_of_the_headroom(
    evaluation_context: Any, found: Any
) -> None:
    # The four worked queries: 0 % now, 81.25 % of the first 50. The reranker brings both items of one query up: 25 points.
    asked = [
        {"id": f"q{i}", "text": f"q {i}", "expect_all": [{"doc": f"d{i}-{rank}"} for rank in ranks]}
        for i, ranks in enumerate(WORKED)
    ]
    first = {
        f"q{i}": [f"d{i}-{place}" if place in ranks else f"x{place}" for place in range(1, 101)]
        for i, ranks in enumerate(WORKED)
    }
    rerank = {**first, "q1": ["d1-6", "d1-7", *first["q1"]][:100]}
    result = PROBE.run(evaluation_context(asked, {"first": first, "rerank": rerank}, k=5))
    figures = found(result, "MA712").figures
    assert (figures["coverage_now"], figures["headroom"]) == (0.0, pytest.approx(0.8125))
    assert (figures["gain"], figures["eaten"]) == (pytest.approx(0.25), pytest.approx(0.25 / 0.8125))
    answer = result.sections[0].answer
    assert "rerank gained +25.0 of 81.2 points" in answer
    assert "(30.8 %; mean coverage@5 over 4 queries)" in answer


def test_ceiling_when_no_reranker_was_recorded_then_nothing_was_eaten(evaluation_context: Any, found: Any) -> None:
    asked = [{"id": f"q{i}", "text": f"q {i}", "expect_any": [{"doc": "d"}]} for i in range(6)]
    runs = {"first": {f"q{i}": [*(f"x{j}" for j in range(9)), "d"] for i in range(6)}}
    figures = found(PROBE.run(evaluation_context(asked, runs, k=5)), "MA712").figures
    assert (figures["gain"], figures["eaten"]) == (None, None)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ([1] * 5 + [12] * 8 + [0] * 2, "a reranker can help"),  # 8 of 10 misses within 30
        ([1] * 5 + [12] * 2 + [0] * 8, "a reranker cannot help"),  # 2 of 10
    ],
)
def test_ceiling_when_the_misses_are_near_or_gone_then_order_or_recall(
    evaluation_context: Any, found: Any, places: Any, words: Any
) -> None:
    runs = {"vector": {f"q{i:02d}": ranking(p, 30, i) for i, p in enumerate(places)}}
    finding = found(PROBE.run(evaluation_context(queries(15), runs, k=5)), "MA712")
    assert words in finding.title
    assert finding.severity is Severity.INFO
    assert finding.figures["coverage_now"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("places", [[1] * 15, [1] * 5 + [12] * 5 + [0] * 5, [1] * 11 + [12] * 4])
def test_ceiling_when_open_or_few_misses_then_silent(evaluation_context: Any, found: Any, places: Any) -> None:
    runs = {"vector": {f"q{i:02d}": ranking(p, 30, i) for i, p in enumerate(places)}}
    assert found(PROBE.run(evaluation_context(queries(15), runs, k=5)), "MA712") is None


# -- MA713 --


def texts(short_wanted: Any = True) -> Any:
    corpus = {f"s{j}": "短" * 50 for j in range(40)} | {f"l{j}": "long " * 100 for j in range(40)}
    return corpus | {"d": "short" if short_wanted else "long " * 100}


def slots(short_before: Any, short_after: Any, n: Any = 20) -> Any:
    def one(short: Any) -> Any:
        return {f"q{i:02d}": [*(f"s{j}" for j in range(short)), *(f"l{j}" for j in range(5 - short))] for i in range(n)}

    return {"first": one(short_before), "rerank": one(short_after)}


def test_length_when_short_texts_are_pushed_out_then_medium(evaluation_context: Any, found: Any) -> None:
    finding = found(PROBE.run(evaluation_context(queries(20), slots(3, 1), texts(), k=5)), "MA713")
    names = ("slots_before", "short_before", "short_after", "median_chars_before", "median_chars_after")
    assert [finding.figures[n] for n in names] == [100, 60, 20, 50, 500]
    assert finding.figures["fall"] == pytest.approx(2 / 3)
    assert "while 1 of 1 (100 %) expected documents are short" in finding.title
    assert finding.severity is Severity.MEDIUM


def test_length_when_published_then_36_and_14_of_300_slots(evaluation_context: Any, found: Any) -> None:
    # 60 queries x 5: 36 of 300 short before (12.0 %), 14 after (4.7 %): a fall of 61 %. 22 queries lose their short text:
    # two-sided p = 2 / 2^22, at most 1 / 10,000 as drawn.
    short, long = [f"s{j}" for j in range(40)], [f"l{j}" for j in range(40)]
    before = {f"q{i:02d}": [short[i % 40] if i < 36 else long[4], *long[:4]] for i in range(60)}
    after = {f"q{i:02d}": [short[i % 40] if i < 14 else long[4], *long[:4]] for i in range(60)}
    finding = found(
        PROBE.run(evaluation_context(queries(60), {"first": before, "rerank": after}, texts(), k=5)), "MA713"
    )
    names = ("slots_before", "short_before", "slots_after", "short_after")
    assert [finding.figures[n] for n in names] == [300, 36, 300, 14]
    assert "36 of 300 (12.0 %) before, 14 of 300 (4.7 %) after" in finding.title
    assert finding.figures["fall"] == pytest.approx(22 / 36)
    assert finding.figures["p"] <= 1e-4


def test_length_when_expected_documents_are_long_then_silent(evaluation_context: Any, found: Any) -> None:
    result = PROBE.run(evaluation_context(queries(20), slots(3, 1), texts(short_wanted=False), k=5))
    assert found(result, "MA713") is None


def test_length_when_little_changes_then_silent(evaluation_context: Any, found: Any) -> None:
    # 4 places to 3 is 25 %, below 30
    assert found(PROBE.run(evaluation_context(queries(20), slots(4, 3), texts(), k=5)), "MA713") is None


def test_length_when_few_queries_then_silent(evaluation_context: Any, found: Any) -> None:
    # 5 queries that all fall: p = 2 / 32, not significant
    assert found(PROBE.run(evaluation_context(queries(5), slots(3, 1, 5), texts(), k=5)), "MA713") is None


def test_probe_when_the_set_is_empty_then_nothing(evaluation_context: Any) -> None:
    assert PROBE.run(evaluation_context([], {})).findings == ()
