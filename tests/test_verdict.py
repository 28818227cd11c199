"""The verdict's rule, row by row."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from memaudit.model import Basis, Finding, LaneState, NotRun, Severity, Status
from memaudit.verdict import COLLECTION, GENERATOR, RETRIEVAL, VerdictInput, decide

ABOVE = {0.98: 93, 0.95: 70, 0.90: 40, 0.85: 27}


def finding(code: str, lane: str, severity: Severity = Severity.MEDIUM, **changes: Any) -> Finding:
    return Finding(code, code.lower(), severity, {}, f"Title of {code}", {}, fix=f"Mend {code}.", lane=lane, **changes)


FULL = VerdictInput(
    rows=175,
    distinct=24,
    clusters=ABOVE,
    domain=50,
    on_fallback=(154, 175),
    field_name="abstract_pattern",
    findings=(finding("MA101", GENERATOR, Severity.HIGH), finding("MA301", GENERATOR)),
    looked=frozenset({COLLECTION, GENERATOR}),
    n_probes=13,
)


def rows_of(share: float | None) -> tuple[int, int] | None:
    return None if share is None else (round(100 * share), 100)


def states(given: VerdictInput) -> tuple[str, dict[str, LaneState]]:
    verdict = decide(given)
    return verdict.state, {lane.lane: lane.state for lane in verdict.lanes}


def test_verdict_when_clusters_exceed_and_rows_fall_back_then_generator() -> None:
    state, lanes = states(FULL)
    assert state == "generator"
    assert lanes == {
        COLLECTION: LaneState.NO_FINDING,
        GENERATOR: LaneState.BOTTLENECK,
        RETRIEVAL: LaneState.NOT_RUN,
    }
    assert decide(FULL).sentence == "The bottleneck is the generator: 24 values for about 70 situations."


def test_generator_when_it_could_not_be_run_then_its_lane_is_not_green() -> None:
    given = dataclasses.replace(FULL, findings=(finding("MA902", "", Severity.HIGH),), domain=None, on_fallback=None)
    assert "1 high and 0 medium findings." in decide(given).lead
    lane = next(lane for lane in decide(given).lanes if lane.lane == GENERATOR)
    assert (lane.state, lane.sentence, lane.do) == (LaneState.NOT_RUN, "Title of MA902.", "Mend MA902.")


def test_verdict_when_one_event_repeats_too_then_both_and_collection_is_a_problem() -> None:
    given = dataclasses.replace(FULL, findings=(*FULL.findings, finding("MA303", COLLECTION)))
    state, lanes = states(given)
    assert state == "both"
    assert (lanes[COLLECTION], lanes[GENERATOR]) == (LaneState.PROBLEM, LaneState.BOTTLENECK)


@pytest.mark.parametrize(
    ("share", "domain", "expected"),
    [
        (0.20, 50, "generator"),  # 20 % is enough
        (0.19, 50, "undecided"),  # and 19 % is not; 24 < 50/2 would be collection, but its lane has no finding
        (0.05, 28, "generator"),  # V = 28 <= 24 * 1.2 = 28.8: no room
        (0.05, 29, "undecided"),  # V = 29 > 28.8: room
        (None, None, "undecided"),  # nothing known of the code
    ],
)
def test_verdict_when_the_generator_is_known_then_by_fallback_or_room(
    share: float | None, domain: int | None, expected: str
) -> None:
    assert states(dataclasses.replace(FULL, on_fallback=rows_of(share), domain=domain))[0] == expected


@pytest.mark.parametrize(
    ("clusters", "domain", "share", "expected"),
    [
        ({0.98: 30, 0.95: 24, 0.90: 20}, None, None, "data-collection"),  # C(0.95) = D
        ({0.98: 30, 0.95: 25, 0.90: 20}, None, None, "undecided"),  # the thresholds disagree
        (ABOVE, 49, 0.1, "data-collection"),  # D = 24 < 49 / 2
        (ABOVE, 48, 0.1, "undecided"),  # D = 24 is not below 48 / 2
    ],
)
def test_verdict_when_collection_has_a_finding_then_by_clusters_or_domain(
    clusters: dict[float, int], domain: int | None, share: float | None, expected: str
) -> None:
    given = dataclasses.replace(
        FULL, clusters=clusters, domain=domain, on_fallback=rows_of(share), findings=(finding("MA305", COLLECTION),)
    )
    assert states(given)[0] == expected


def test_verdict_when_no_finding_is_serious_then_no_lane_is_a_bottleneck() -> None:
    low = (finding("MA101", GENERATOR, Severity.LOW), finding("MA303", COLLECTION, Severity.INFO))
    for given in (
        dataclasses.replace(FULL, findings=low),
        dataclasses.replace(FULL, findings=low, clusters={0.98: 14, 0.95: 14, 0.9: 14, 0.85: 14}),
        dataclasses.replace(FULL, findings=()),
    ):
        state, lanes = states(given)
        assert state == "no-finding"
        assert LaneState.BOTTLENECK not in lanes.values()


def test_verdict_when_a_finding_is_under_powered_then_it_does_not_count() -> None:
    weak = (finding("MA101", GENERATOR, Severity.HIGH, basis=Basis.UNDER_POWERED),)
    assert states(dataclasses.replace(FULL, findings=weak))[0] == "no-finding"


def test_verdict_when_the_field_was_guessed_then_no_bottleneck_is_named() -> None:
    assert states(dataclasses.replace(FULL, value_field_guessed=True))[0] == "undecided"


def test_verdict_when_nothing_can_be_decided_then_the_sentence_is_still_an_answer() -> None:
    given = VerdictInput(rows=92, findings=(finding("MA305", COLLECTION),), n_probes=9)
    assert decide(given).sentence == "Title of MA305."
    blind = tuple(NotRun(f"p{i}", ("MA1",), Status.SKIPPED, "no input") for i in range(3))
    clean = decide(VerdictInput(rows=92, not_run=blind, n_probes=9))
    assert clean.sentence == "No fault found in 92 memories; 3 of 9 probes could not look in full."
    assert clean.state == "no-finding"
    for verdict in (decide(given), clean):
        assert "undecided" not in verdict.sentence.lower()


def test_verdict_when_no_text_was_found_then_not_green() -> None:
    blind = (NotRun("stored-secrets", ("MA803",), Status.SKIPPED, "no column with the memory's text", "text"),)
    given = VerdictInput(rows=92, not_run=blind, n_probes=9)
    verdict = decide(given)
    assert verdict.state == "not-enough-data"
    assert verdict.sentence == "Hardly anything was audited in 92 memories: no column with their text was found."
    assert "--text" in verdict.do_first
    # Vectors without a text can be compared; a serious finding is the verdict.
    assert decide(dataclasses.replace(given, looked=frozenset({COLLECTION}))).state == "no-finding"
    assert decide(dataclasses.replace(given, findings=(finding("MA601", ""),))).state == "undecided"


def test_verdict_when_there_are_no_rows_then_nothing_was_audited() -> None:
    verdict = decide(VerdictInput(rows=0))
    assert verdict.state == "nothing-audited"
    assert {lane.state for lane in verdict.lanes} == {LaneState.NOT_RUN}
    assert "healthy" not in (verdict.sentence + verdict.lead).lower()


def test_retrieval_when_the_query_set_cannot_show_anything_then_not_enough_data() -> None:
    assert states(dataclasses.replace(FULL, evaluated=False))[1][RETRIEVAL] is LaneState.NOT_ENOUGH_DATA
    assert states(dataclasses.replace(FULL, evaluated=True, looked=frozenset({RETRIEVAL})))[1][RETRIEVAL] is (
        LaneState.NO_FINDING
    )


def test_retrieval_when_only_the_query_set_is_found_wanting_then_not_enough_data() -> None:
    small = dataclasses.replace(FULL, evaluated=False, findings=[*FULL.findings, finding("MA703", RETRIEVAL)])
    assert states(small)[1][RETRIEVAL] is LaneState.NOT_ENOUGH_DATA
    # A fault of recall beside it is a problem, and so is a set that could decide and was judged.
    leak = dataclasses.replace(small, findings=[*small.findings, finding("MA701", RETRIEVAL)])
    assert states(leak)[1][RETRIEVAL] is LaneState.PROBLEM
    assert states(dataclasses.replace(small, evaluated=True))[1][RETRIEVAL] is LaneState.PROBLEM


def test_collection_when_weeks_are_known_then_says_whether_collecting_adds_variety() -> None:
    lane = decide(dataclasses.replace(FULL, new_clusters=(20, 1))).lanes[0]
    assert "The last full week added 20 rows and 1 new cluster." in lane.sentence
