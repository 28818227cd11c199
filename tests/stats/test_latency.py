from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from memaudit.errors import DataError
from memaudit.stats.latency import LatencyVerdict, compare_latency, latency_ratios, latency_sentence
from memaudit.stats.timing import measure_interleaved


def _times(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(80.0, 120.0, n)


def test_arms_are_interleaved_and_the_warm_up_is_dropped() -> None:
    calls: list[tuple[str, str]] = []
    ticks = count(step=1_000_000)
    found = measure_interleaved(
        lambda query: calls.append(("A", query)),
        lambda query: calls.append(("B", query)),
        ["第一", "second"],
        clock=lambda: next(ticks),
    )
    assert found.n_rounds == 5
    # One tick between start and stop of every call.
    assert found.a_ms == found.b_ms == found.a_again_ms == (1.0, 1.0)
    # Six passes (one dropped) over two queries in three arms.
    assert len(calls) == 36
    blocks = [calls[i : i + 3] for i in range(0, 36, 3)]
    for block in blocks:
        assert sorted(arm for arm, _ in block) == ["A", "A", "B"]
        assert len({query for _, query in block}) == 1
    assert len({tuple(arm for arm, _ in block) for block in blocks}) == 3


def test_times_are_the_median_over_the_counted_rounds() -> None:
    now = [0]
    n_calls = {"A": 0, "B": 0}

    def arm(name: str) -> None:
        n_calls[name] += 1
        # The warm-up call takes a second, later calls of B 2, 3, 4, 5 and 100 ms.
        if name == "B":
            now[0] += [1000, 2, 3, 4, 5, 100][n_calls["B"] - 1] * 1_000_000
        else:
            now[0] += (1000 if n_calls["A"] <= 2 else 7) * 1_000_000

    found = measure_interleaved(lambda _: arm("A"), lambda _: arm("B"), ["q"], clock=lambda: now[0])
    assert (found.a_ms, found.b_ms, found.a_again_ms) == ((7.0,), (4.0,), (7.0,))


def test_the_order_depends_on_the_seed_only() -> None:
    def order(seed: int) -> list[str]:
        calls: list[str] = []
        measure_interleaved(lambda q: calls.append(f"A{q}"), lambda q: calls.append(f"B{q}"), list("abcd"), seed=seed)
        return calls

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_too_few_rounds_are_refused_and_no_queries_give_no_times() -> None:
    with pytest.raises(DataError, match="4 rounds"):
        measure_interleaved(print, print, ["q"], n_rounds=4)
    assert measure_interleaved(print, print, []).a_ms == ()


def test_ratios_of_proportional_times() -> None:
    found = latency_ratios([100, 120, 140, 200], [75, 90, 105, 150])
    assert (found.p50_ratio, found.p95_ratio, found.median_pair_ratio) == pytest.approx((0.75, 0.75, 0.75))


def test_a_time_of_zero_below_the_bar_is_undefined() -> None:
    found = latency_ratios([0.0, 0.0, 5.0], [1.0, 1.0, 1.0])
    assert (found.p50_ratio, found.median_pair_ratio) == (None, None)
    assert compare_latency(np.zeros(20), _times(20), np.zeros(20)).verdict is LatencyVerdict.NO_INTERVAL


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0, 2.0]), ([1.0], [-1.0]), ([float("nan")], [1.0])])
def test_times_that_cannot_be_paired_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(DataError):
        latency_ratios(a, b)
    with pytest.raises(DataError):
        compare_latency(a, b)


def test_a_clear_and_controlled_difference_gets_a_verdict() -> None:
    a = _times(40)
    faster = compare_latency(a, 0.6 * a, 1.001 * a)
    assert faster.verdict is LatencyVerdict.FASTER
    assert faster.interval == pytest.approx((0.6, 0.6))
    assert compare_latency(a, 1.5 * a, 1.001 * a).verdict is LatencyVerdict.SLOWER
    assert "B is faster, p50" in latency_sentence(faster, "search")


def test_a_ratio_within_five_percent_gets_none() -> None:
    a = _times(40)
    found = compare_latency(a, 0.96 * a, 1.001 * a)
    assert found.verdict is LatencyVerdict.NOT_MEASURABLE
    assert compare_latency(a, a, a).verdict is LatencyVerdict.NOT_MEASURABLE
    assert "a change in time was not measurable" in latency_sentence(found, "search")


def test_a_control_as_far_off_as_the_effect_takes_the_verdict_away() -> None:
    a = _times(40)
    assert compare_latency(a, 0.8 * a, 1.2 * a).verdict is LatencyVerdict.NOT_TRUSTWORTHY
    # The control's interval is within 5 %, but it is further from 1 than the effect.
    assert compare_latency(a, 0.97 * a, 1.04 * a).verdict is LatencyVerdict.NOT_TRUSTWORTHY
    # The effect is larger, but the baseline is 10 % off itself.
    far = compare_latency(a, 0.5 * a, 1.1 * a)
    assert far.verdict is LatencyVerdict.NOT_TRUSTWORTHY
    assert "timing not trustworthy on this machine" in latency_sentence(far, "search")


def test_without_control_or_with_nine_queries_there_is_no_verdict() -> None:
    a = _times(40)
    alone = compare_latency(a, 0.5 * a)
    assert alone.verdict is LatencyVerdict.NO_CONTROL
    assert "no control arm, so no verdict" in latency_sentence(alone, "search")
    few = compare_latency(a[:9], 0.5 * a[:9], a[:9])
    assert (few.verdict, few.interval) == (LatencyVerdict.NO_INTERVAL, None)


def test_p95_is_left_out_below_72_queries() -> None:
    below, enough = compare_latency(_times(71), _times(71, 1)), compare_latency(_times(72), _times(72, 1))
    assert (below.p95_a, below.p95_b, below.ratios.p95_ratio) == (None, None, None)
    assert below.max_a == _times(71).max()
    assert enough.p95_a == pytest.approx(np.quantile(_times(72), 0.95))
    assert enough.ratios.p95_ratio is not None


def test_no_times_are_not_measured() -> None:
    found = compare_latency([], [], [])
    assert (found.verdict, found.p50_a, found.interval) == (LatencyVerdict.NOT_MEASURED, None, None)
    assert latency_sentence(found, "query encoding") == "query encoding: not measured."


def test_noise_in_the_pairs_keeps_an_interval_around_one() -> None:
    a = _times(60)
    noise = np.random.default_rng(9).uniform(0.9, 1.1, 60)
    found = compare_latency(a, a * noise, a * noise[::-1])
    assert found.interval is not None
    assert found.interval[0] < 1.0 < found.interval[1]
    assert found.verdict in (LatencyVerdict.NOT_MEASURABLE, LatencyVerdict.NOT_TRUSTWORTHY)
