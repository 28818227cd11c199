"""Latency of two arms: analysis of paired timings with an A/A control, and its sentences.

How to take the timings: :mod:`memaudit.stats.timing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from memaudit.errors import DataError
from memaudit.stats.intervals import MIN_N_BOOTSTRAP, min_n_for_quantile_upper, normal_quantile
from memaudit.stats.resample import N_RESAMPLES, FloatArray, finite_vector, median_ratio_interval
from memaudit.wording import plural, say

# A ratio within 5 % of 1 is no verdict, and a control further away than that is no control.
TOLERATED = 0.05


@dataclass(frozen=True)
class LatencyRatios:
    """Ratios B/A; below 1 means that B takes less time.

    Attributes
    ----------
    p50_ratio, p95_ratio
        Ratio of the quantiles over queries; None without a time above 0 below the fraction bar.
    median_pair_ratio
        Median over queries of their own ratio; None if a time of A is 0.
    """

    p50_ratio: float | None
    p95_ratio: float | None
    median_pair_ratio: float | None


def latency_ratios(a_ms: ArrayLike, b_ms: ArrayLike) -> LatencyRatios:
    """Give the ratios of paired times.

    Parameters
    ----------
    a_ms, b_ms
        (n,) times of the same queries in the same order, any unit, 0 or more.

    Returns
    -------
    The ratios, all None for no queries.

    Raises
    ------
    DataError
        Lengths differ, or a time is negative or not finite.
    """
    a, b = _paired(a_ms, b_ms)
    if a.size == 0:
        return LatencyRatios(None, None, None)
    return LatencyRatios(
        _ratio(float(np.median(b)), float(np.median(a))),
        _ratio(float(np.quantile(b, 0.95)), float(np.quantile(a, 0.95))),
        float(np.median(b / a)) if (a > 0.0).all() else None,
    )


class LatencyVerdict(str, Enum):
    """Outcome of a comparison of times."""

    NOT_MEASURED = "not_measured"
    NO_INTERVAL = "no_interval"
    NO_CONTROL = "no_control"
    NOT_TRUSTWORTHY = "not_trustworthy"
    FASTER = "faster"
    SLOWER = "slower"
    NOT_MEASURABLE = "not_measurable"


@dataclass(frozen=True)
class LatencyComparison:
    """Times of two arms, compared.

    Attributes
    ----------
    verdict
        What may be said.
    n
        Queries; repeats of one query do not count.
    p50_a, p50_b
        Medians over queries in ms; None for n = 0.
    p95_a, p95_b
        95th percentiles in ms; None below 72 queries, where they have no upper limit at 95 %.
    max_a, max_b
        Longest times in ms, to be shown where there is no p95.
    ratios
        Ratios B/A; p95_ratio is None below 72 queries.
    interval
        Percentile bootstrap interval of p50_ratio; None below 10 queries or without times above 0.
    control_ratio, control_interval
        p50 ratio of A again to A, and its interval; None without a control arm.
    """

    verdict: LatencyVerdict
    n: int
    p50_a: float | None
    p50_b: float | None
    p95_a: float | None
    p95_b: float | None
    max_a: float | None
    max_b: float | None
    ratios: LatencyRatios
    interval: tuple[float, float] | None
    control_ratio: float | None
    control_interval: tuple[float, float] | None


def compare_latency(
    a_ms: ArrayLike,
    b_ms: ArrayLike,
    a_again_ms: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> LatencyComparison:
    """Judge paired times of two arms.

    Parameters
    ----------
    a_ms, b_ms
        (n,) milliseconds of the same queries in the same order.
    a_again_ms
        (n,) the baseline timed a second time in the same rounds; without it there is no verdict.
    level
        Level of the intervals.
    seed, n_resamples
        Of the bootstrap over queries, pairs kept.

    Returns
    -------
    "faster" and "slower" only when the interval of the p50 ratio excludes 1, the ratio is outside
    [0.95, 1.05] and the control is nearer to 1 than the ratio, with an interval not more than 5 % off 1.

    Raises
    ------
    DataError
        Lengths differ, or a time is negative or not finite.

    Notes
    -----
    Source of the bootstrap: B. Efron, Ann. Stat. 7 (1979) 1-26.
    """
    a, b = _paired(a_ms, b_ms)
    normal_quantile(level)
    again = None if a_again_ms is None else _paired(a_ms, a_again_ms)[1]
    n = int(a.size)
    ratios = latency_ratios(a, b)
    if n == 0:
        return LatencyComparison(
            LatencyVerdict.NOT_MEASURED, 0, None, None, None, None, None, None, ratios, None, None, None
        )
    interval = control_interval = control_ratio = None
    if n >= MIN_N_BOOTSTRAP:
        interval = median_ratio_interval(b, a, level, seed, n_resamples)
    if again is not None:
        control_ratio = _ratio(float(np.median(again)), float(np.median(a)))
        if n >= MIN_N_BOOTSTRAP:
            control_interval = median_ratio_interval(again, a, level, seed, n_resamples)
    has_p95 = n >= min_n_for_quantile_upper(0.95, level, two_sided=True)
    if not has_p95:
        ratios = LatencyRatios(ratios.p50_ratio, None, ratios.median_pair_ratio)
    return LatencyComparison(
        verdict=_latency_verdict(ratios.p50_ratio, interval, again is not None, control_ratio, control_interval),
        n=n,
        p50_a=float(np.median(a)),
        p50_b=float(np.median(b)),
        p95_a=float(np.quantile(a, 0.95)) if has_p95 else None,
        p95_b=float(np.quantile(b, 0.95)) if has_p95 else None,
        max_a=float(a.max()),
        max_b=float(b.max()),
        ratios=ratios,
        interval=interval,
        control_ratio=control_ratio,
        control_interval=control_interval,
    )


def _latency_verdict(
    ratio: float | None,
    interval: tuple[float, float] | None,
    controlled: bool,
    control_ratio: float | None,
    control_interval: tuple[float, float] | None,
) -> LatencyVerdict:
    if ratio is None or interval is None:
        return LatencyVerdict.NO_INTERVAL
    if not controlled:
        return LatencyVerdict.NO_CONTROL
    if control_ratio is None or control_interval is None:
        return LatencyVerdict.NOT_TRUSTWORTHY
    noise, effect = abs(control_ratio - 1.0), abs(ratio - 1.0)
    # A control that is exactly 1 shows no noise, even beside an effect of exactly 0.
    if noise > 0.0 and noise >= effect:
        return LatencyVerdict.NOT_TRUSTWORTHY
    if control_interval[0] > 1.0 + TOLERATED or control_interval[1] < 1.0 - TOLERATED:
        return LatencyVerdict.NOT_TRUSTWORTHY
    if interval[1] < 1.0 and ratio < 1.0 - TOLERATED:
        return LatencyVerdict.FASTER
    if interval[0] > 1.0 and ratio > 1.0 + TOLERATED:
        return LatencyVerdict.SLOWER
    return LatencyVerdict.NOT_MEASURABLE


def latency_sentence(comparison: LatencyComparison, timed: str, variant: str = "B", units: str | None = None) -> str:
    """Give what may be said about the times.

    Parameters
    ----------
    comparison
        The judged times.
    timed
        What was timed: corpus encoding, query encoding, search, end to end.
    variant
        Name of the arm compared with the baseline.
    units
        How many of what were timed, in words; queries where nothing is said.

    Returns
    -------
    Verdict and figures, plain text.
    """
    ratio, interval = comparison.ratios.p50_ratio, comparison.interval
    if comparison.n == 0 or comparison.p50_a is None or comparison.p50_b is None:
        return say("{timed}: not measured.", timed=timed)
    figures = say(
        "p50 {a:.1f} -> {b:.1f} ms over {units}",
        a=comparison.p50_a,
        b=comparison.p50_b,
        units=units or plural(comparison.n, "query", "queries"),
    )
    if ratio is None or interval is None:
        return say(
            "{timed}: {figures}; no interval: at least {needed} of them with a time above 0 are needed.",
            timed=timed,
            figures=figures,
            needed=MIN_N_BOOTSTRAP,
        )
    values = {
        "timed": timed,
        "variant": variant,
        "figures": figures,
        "ratio": f"{ratio:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]",
    }
    if comparison.verdict is LatencyVerdict.NO_CONTROL:
        return say("{timed}: {figures}, ratio {ratio}; no control arm, so no verdict.", **values)
    control = "-" if comparison.control_ratio is None else f"{comparison.control_ratio:.3f}"
    if comparison.verdict is LatencyVerdict.NOT_TRUSTWORTHY:
        return say(
            "{timed}: timing not trustworthy on this machine: {figures}, ratio {ratio}, but the baseline "
            "against itself gives {control}.",
            control=control,
            **values,
        )
    if comparison.verdict is LatencyVerdict.FASTER:
        return say(
            "{timed}: {variant} is faster, {figures}, ratio {ratio} (control {control}).",
            control=control,
            **values,
        )
    if comparison.verdict is LatencyVerdict.SLOWER:
        return say(
            "{timed}: {variant} is slower, {figures}, ratio {ratio} (control {control}).",
            control=control,
            **values,
        )
    return say(
        "{timed}: a change in time was not measurable, {figures}, ratio {ratio} (control {control}).",
        control=control,
        **values,
    )


def summary_ratio_sentence(a_ms: float, b_ms: float) -> str:
    """Give the ratio of two published times whose raw values were not kept.

    Raises
    ------
    DataError
        A time is not above 0 (baseline) or is negative (variant).
    """
    if not (a_ms > 0.0 and b_ms >= 0.0):
        raise DataError(f"times {a_ms} and {b_ms} give no ratio.", "Give milliseconds above 0.")
    ratio = b_ms / a_ms
    return say(
        "{a:.1f} -> {b:.1f} ms, ratio {ratio:.3f} ({change:+.1f} %); no interval: raw timings not kept.",
        a=float(a_ms),
        b=float(b_ms),
        ratio=ratio,
        change=100.0 * (ratio - 1.0),
    )


def _paired(a_ms: ArrayLike, b_ms: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = finite_vector(a_ms, "times of A"), finite_vector(b_ms, "times of B")
    if a.size != b.size:
        raise DataError(f"{a.size} times of A and {b.size} of B.", "Time the same queries in both arms.")
    if (a < 0.0).any() or (b < 0.0).any():
        raise DataError("a time is negative.", "Use a clock that never goes back.")
    return a, b


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0.0 else None
