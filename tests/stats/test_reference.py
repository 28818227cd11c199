"""All cases of the statistics reference, each through one function of ours."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from memaudit.stats import counts, intervals, latency, multiplicity, paired, power, ranking, resample
from memaudit.stats.decision import decide_family

N_CASES = 177


def _reference() -> Path | None:
    given = os.environ.get("MEMAUDIT_SHARED")
    roots = [Path(given)] if given else []
    # The reference stands beside the checkout, or beside the folder that holds several checkouts.
    roots += [folder / "shared" for folder in Path(__file__).resolve().parents[2:6]]
    for root in roots:
        path = root / "data" / "statistics-reference.json"
        if path.is_file():
            return path
    return None


def _low_high(found: Any) -> dict[str, Any]:
    if found is None:
        return {"low": None, "high": None}
    if isinstance(found, tuple):
        return {"low": found[0], "high": found[1]}
    return {"low": found.low, "high": found.high}


def _proportion(k: int, n: int, level: float = 0.95, method: str = "wilson") -> dict[str, Any]:
    make = {"wilson": intervals.wilson_interval, "clopper_pearson": intervals.clopper_pearson_interval}[method]
    return {"estimate": k / n if n else None, **_low_high(make(k, n, level))}


def _mcnemar(lost: int, gained: int) -> dict[str, Any]:
    found = counts.mcnemar(lost, gained)
    return {"discordant": found.n_discordant, "p_exact": found.p_exact, "p_mid": found.p_mid}


def _paired_difference(n: int, lost: int, gained: int) -> dict[str, Any]:
    found = paired.compare_counts(n, lost, gained)
    return {"difference": found.difference, **_low_high(found.interval)}


def _p_range(n: int, hits_a: int, hits_b: int) -> dict[str, Any]:
    found = counts.p_range_from_totals(n, hits_a, hits_b)
    return asdict(found) if found else dict.fromkeys(("p_min", "p_max", "lost_min", "lost_max"))


def _permutation(diffs: list[float]) -> dict[str, Any]:
    found = resample.sign_flip_test(diffs)
    assert found.exact
    return {"nonzero": found.n_changed, "p": found.p}


def _quantile_interval(values: list[float], p: float) -> dict[str, Any]:
    found = intervals.quantile_interval(values, p)
    return asdict(found) if found else dict.fromkeys(("estimate", "low", "high"))


def _verdict(n: int, lost: int, gained: int, margin: float, family_p: list[float]) -> dict[str, Any]:
    others = {f"other {i}": _with_p(p) for i, p in enumerate(family_p)}
    mine = paired.compare_counts(n, lost, gained)
    found = decide_family({"mine": mine, **others}, margin=margin)["mine"]
    common = {
        "verdict": found.verdict.value,
        "claim_no_observed_contribution": found.no_observed_contribution,
    }
    if n == 0:
        return common
    return {**common, "p": mine.p, "p_adjusted": found.p_adjusted, **_low_high(mine.interval)}


def _with_p(p: float) -> paired.Comparison:
    made = paired.compare_counts(100, 1, 1)
    return paired.Comparison(**{**vars(made), "p": p})


def _metrics(k: int, groups: list[int | None]) -> dict[str, Any]:
    found = ranking.metrics_from_ranks(groups, k)
    assert found is not None
    return asdict(found)


def _candidate_depth(depth: int, corpus: int) -> dict[str, Any]:
    found = ranking.candidate_depth(depth, corpus)
    assert found is not None
    return {
        "share": found.depth_share,
        "expected_chance_overlap": found.expected_overlap,
        "worst_rank_in_both_that_beats_rank1_in_one": found.worst_rank_beating_first,
    }


OURS: dict[str, Callable[..., dict[str, Any]]] = {
    "proportion": _proportion,
    "mcnemar": _mcnemar,
    "paired_difference": _paired_difference,
    "p_range_from_totals": _p_range,
    "max_losses_for_net_gain": lambda net: {"max_losses": counts.max_losses_for_net_gain(net)},
    "min_discordant": lambda alpha, family: {"exact": power.min_discordant(alpha, family)},
    "sign_test": lambda wins, losses: {"p": counts.sign_test(wins, losses)},
    "paired_permutation": _permutation,
    "holm": lambda p_values: {"adjusted": multiplicity.holm(p_values)},
    "bootstrap_binary_percentile": lambda k, n: _low_high(intervals.bootstrap_share_percentiles(k, n)),
    "bootstrap_mean": lambda values, method: _low_high(intervals.mean_interval(values, method)),
    "count_bound": lambda n, losses, wins: _low_high(intervals.count_bound(n, losses, wins)),
    "power_mcnemar": lambda **inputs: {"power": power.power_mcnemar(**inputs)},
    "mde_best_case": lambda n: {"mde": power.mde_best_case(n)},
    "mde_mcnemar": lambda n, discordance: {"mde": power.mde_mcnemar(n, discordance)},
    "needed_n_mcnemar": lambda **inputs: {
        "n_approx": power.needed_n_mcnemar(**inputs),
        "n_exact": power.needed_n_mcnemar_exact(**inputs),
    },
    "needed_n_paired_mean": lambda **inputs: {"n": power.needed_n_paired_mean(**inputs)},
    "needed_n_no_change": lambda margin: {"n": power.needed_n_no_change(margin)},
    "one_query": lambda n, expected_items: {"points": power.one_query_points(n, expected_items)},
    "quantile_interval": _quantile_interval,
    "min_n_for_quantile_upper": lambda p: {"n": intervals.min_n_for_quantile_upper(p)},
    "latency_ratio": lambda a, b: asdict(latency.latency_ratios(a, b)),
    "verdict": _verdict,
    "metrics_from_ranks": _metrics,
    "rerank_ceiling": lambda depth, k, groups: {"ceiling": ranking.rerank_ceiling(groups, depth, k)},
    "candidate_depth": _candidate_depth,
    "context_cost": lambda **inputs: asdict(ranking.context_cost(**inputs)),
}


def _wrong(found: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, list):
        return len(found) != len(expected) or any(map(_wrong, found, expected, [tolerance] * len(expected)))
    if expected is None or isinstance(expected, (bool, str)):
        return found is not expected if not isinstance(expected, str) else found != expected
    return found is None or isinstance(found, bool) or not abs(found - expected) <= tolerance


def test_every_reference_case_gives_its_values() -> None:
    path = _reference()
    if path is None:
        pytest.skip("statistics-reference.json is not beside this checkout (set MEMAUDIT_SHARED)")
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    failures, run, used = [], set(), set()
    for case in cases:
        found = OURS[case["function"]](**case["inputs"])
        expected = case["expected"]
        assert set(found) == set(expected), case["id"]
        failures += [
            f"{case['id']} {name}: {found[name]!r}, expected {value!r}"
            for name, value in expected.items()
            if _wrong(found[name], value, case["tolerance"])
        ]
        run.add(case["id"])
        used.add(case["function"])
    assert not failures, "\n".join(failures)
    assert len(run) == len(cases) == N_CASES
    assert used == set(OURS)
