"""The lines of `make bench`: what is met, what is missed, and what a simulation cannot tell."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).resolve().parents[1] / "bench" / "goals.py"


@pytest.fixture(scope="module")
def goals() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_goals", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("measured", "limit", "at_least", "error", "word"),
    [
        (1.3, 1.3, False, 0.0, "met"),
        (1.31, 1.3, False, 0.0, "missed"),
        (20.0, 20.0, True, 0.0, "met"),
        (19.9, 20.0, True, 0.0, "missed"),
        # 2.85 % of 2,000 runs: s.e. sqrt(.0285 * .9715 / 2000) = .37 points, .65 points below 3.5 %: within two of them
        (0.0285, 0.035, False, 0.00372, "near"),
        (0.0247, 0.035, False, 0.00372, "met"),
        (0.928, 0.93, True, 0.00578, "near"),
        (0.90, 0.93, True, 0.00578, "missed"),
    ],
)
def test_goal_when_judged_then_a_drawn_figure_near_it_is_neither(
    goals: ModuleType, measured: float, limit: float, at_least: bool, error: float, word: str
) -> None:
    assert goals.judged(measured, limit, at_least=at_least, error=error) == word


def test_error_of_a_share_when_none_was_seen_then_not_zero(goals: ModuleType) -> None:
    # sqrt(.5 * .5 / 400) = .025; none of 400 is taken as one of 400: sqrt(.0025 * .9975 / 400)
    assert goals.share_error(0.5, 400) == pytest.approx(0.025)
    assert goals.share_error(0.0, 400) == pytest.approx(0.0024969, abs=1e-7)


def test_lines_when_printed_then_counted(goals: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    goals.goal("start", 1.234, 1.5, "times", more="2 against 1 s")
    goals.share_goal("false", 0.0135, 0.025, runs=2_000)
    goals.share_goal("covers", 0.91, 0.93, at_least=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "met     start: 1.23 times (goal at most 1.5); 2 against 1 s",
        "met     false: 1.35 % (s.e. 0.26, 2,000 runs; goal at most 2.5 %)",
        "missed  covers: 91.00 % (exact; goal at least 93 %)",
    ]
    assert goals.counted(["-- a.py", *lines, "        beside"]) == {"met": 2, "missed": 1}
