from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.counts import sign_test
from memaudit.stats.intervals import count_bound
from memaudit.stats.paired import compare_counts, compare_hits, compare_scores


def _ids(values: list[float]) -> dict[str, float | None]:
    return {f"q-{i:03d}": value for i, value in enumerate(values)}


def test_hits_are_counted_a_query_and_a_missing_ranking_is_a_miss() -> None:
    a = {"q1": True, "q2": True, "问3": None, "q4": False}
    b = {"q4": True, "q1": True, "q2": None, "问3": None}
    found = compare_hits(a, b)
    assert (found.n, found.lost, found.gained, found.n_changed) == (4, 1, 1, 2)
    assert found == compare_counts(4, 1, 1)


def test_a_query_in_one_arm_only_is_named() -> None:
    with pytest.raises(DataError, match=r"2 queries are in arm B only: q2, 问3"):
        compare_hits({"q1": True}, {"q1": True, "问3": True, "q2": False})
    with pytest.raises(DataError, match=r"arm A only: q1, q2, q3, \.\.\."):
        compare_scores({"q4": 1.0, "q3": 1.0, "q2": 1.0, "q1": 1.0}, {})


def test_no_queries_are_undefined_not_zero() -> None:
    for found in (compare_hits({}, {}), compare_scores({}, {}), compare_counts(0, 0, 0)):
        assert found.n == 0
        assert (found.difference, found.interval, found.p, found.p_beside, found.sd) == (None,) * 5


@pytest.mark.parametrize("value", [1.5, -0.2, float("nan"), float("inf")])
def test_a_metric_outside_zero_to_one_is_refused_by_id(value: float) -> None:
    with pytest.raises(DataError, match="query q2 of arm B"):
        compare_scores({"q1": 1.0, "q2": 0.5}, {"q1": 1.0, "q2": value})


def test_few_changes_get_the_count_bound() -> None:
    # 24 reciprocal ranks, one 1/2 -> 1: mean +.0208, one win, no loss.
    found = compare_scores(_ids([1.0] * 23 + [0.5]), _ids([1.0] * 24))
    assert found.difference == pytest.approx(0.5 / 24)
    assert found.p == 1.0
    assert found.interval is not None
    assert found.interval.method == "count bound"
    assert (found.interval.low, found.interval.high) == count_bound(24, 0, 1)


@pytest.mark.parametrize(
    ("n", "n_changed", "method"),
    [(10, 6, "BCa"), (10, 5, "count bound"), (9, 6, "count bound"), (60, 5, "count bound")],
)
def test_the_bootstrap_starts_at_ten_queries_and_six_changes(n: int, n_changed: int, method: str) -> None:
    gains = [0.1 * (1 + i) for i in range(n_changed)] + [0.0] * (n - n_changed)
    found = compare_scores(_ids([0.0] * n), _ids(gains))
    assert found.interval is not None
    assert found.interval.method == method


def test_changes_that_are_all_alike_get_the_count_bound() -> None:
    found = compare_scores(_ids([0.5] * 12), _ids([0.6] * 12))
    assert found.interval is not None
    assert found.interval.method == "count bound"
    # A bootstrap would give [0.1, 0.1].
    assert found.interval.low < 0.0


def test_graded_hits_give_the_same_p_as_counted_hits() -> None:
    a, b = [1.0] * 10 + [0.0] * 20, [0.0] * 3 + [1.0] * 7 + [1.0] * 12 + [0.0] * 8
    graded = compare_scores(_ids(a), _ids(b))
    counted = compare_hits({k: bool(v) for k, v in _ids(a).items()}, {k: bool(v) for k, v in _ids(b).items()})
    assert graded.p == counted.p
    assert graded.sd == pytest.approx(counted.sd)
    assert (graded.lost, graded.gained) == (counted.lost, counted.gained) == (3, 12)
    assert graded.p_beside == sign_test(12, 3)


def test_dependent_queries_count_as_one_unit() -> None:
    # Twelve gains, but in six pairs (two languages of one question): p of 6, not of 12.
    a, b = _ids([0.0] * 40), _ids([1.0] * 12 + [0.0] * 28)
    groups = {f"q-{i:03d}": f"g-{i // 2}" for i in range(40)}
    alone, grouped = compare_scores(a, b), compare_scores(a, b, groups)
    assert alone.p == 2 / 2**12
    assert grouped.p == 2 / 2**6
    assert (grouped.n, grouped.n_units, grouped.gained, grouped.n_changed) == (40, 20, 12, 6)
    hits = compare_hits({k: bool(v) for k, v in a.items()}, {k: bool(v) for k, v in b.items()}, groups, seed=0)
    assert (hits.p, hits.interval, hits.graded) == (grouped.p, grouped.interval, False)


def test_groups_of_one_change_nothing() -> None:
    a, b = {"q1": True, "q2": False, "q3": True}, {"q1": False, "q2": False, "q3": True}
    assert compare_hits(a, b, {"q1": "x", "q2": "y"}) == compare_hits(a, b)
    # A query alone whose id is the name of a group does not join it.
    assert compare_hits(a, b, {"q1": "q2"}).n_units == 3


def test_unequal_groups_widen_the_count_bound() -> None:
    # One group of four and eight alone: 9 units, mean size 12 / 9; the largest is 3 times that.
    a = _ids([1.0] * 12)
    groups = {f"q-{i:03d}": "g" for i in range(4)}
    found = compare_scores(a, a, groups)
    bound = count_bound(9, 0, 0)
    assert found.interval is not None
    assert bound is not None
    assert found.interval.low == pytest.approx(max(-1.0, 3.0 * bound[0]))


def test_gains_and_losses_inside_a_group_cancel() -> None:
    a, b = {"zh": True, "en": False, "other": True}, {"zh": False, "en": True, "other": True}
    found = compare_hits(a, b, {"zh": "pair", "en": "pair"})
    assert (found.lost, found.gained, found.n_changed, found.p) == (1, 1, 0, 1.0)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=30))
@settings(deadline=None, max_examples=40)
def test_swapping_the_arms_mirrors_and_order_has_no_effect(rows: list[tuple[float, float, int]]) -> None:
    a, b = _ids([row[0] for row in rows]), _ids([row[1] for row in rows])
    groups = {f"q-{i:03d}": str(row[2]) for i, row in enumerate(rows)}
    found = compare_scores(a, b, groups, n_resamples=199)
    swapped = compare_scores(b, a, groups, n_resamples=199)
    shuffled = compare_scores(
        dict(reversed(a.items())), dict(reversed(b.items())), dict(reversed(groups.items())), n_resamples=199
    )
    assert shuffled == found
    assert (swapped.lost, swapped.gained) == (found.gained, found.lost)
    assert swapped.p == pytest.approx(found.p)
    assert swapped.difference == pytest.approx(-(found.difference or 0.0))
    assert found.interval is not None
    assert -1.0 <= found.interval.low <= found.interval.high <= 1.0
