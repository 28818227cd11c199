"""The figure by which a finding is compared, and which way worse is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from memaudit.history.measure import measure, worsened_by
from memaudit.model import Evidence

Make = Callable[..., Any]


def test_measure_when_the_rule_is_known_then_its_figure(make_finding: Make) -> None:
    assert measure(make_finding("MA305", figures={"share_extra": 0.12, "rows": 50})) == ("share_extra", 0.12, 1, None)
    # 3 of 60 rows
    assert measure(make_finding("MA303", figures={"group_rows": 3, "rows": 60})) == ("group_rows/rows", 0.05, 1, 3.0)
    # a mean cosine that falls is worse
    assert measure(make_finding("MA304", figures={"within_group_cosine_mean": 0.7})) == (
        "within_group_cosine_mean",
        0.7,
        -1,
        None,
    )


def test_measure_when_a_known_figure_is_missing_then_the_next_best(make_finding: Make) -> None:
    finding = make_finding("MA302", figures={"share_below_090": None, "rows": 10}, evidence=Evidence(total=4))
    assert measure(finding) == ("evidence/rows", 0.4, 1, 4.0)
    assert measure(make_finding("MA303", figures={"group_rows": 3, "rows": 0})) == ("", None, 0, None)


def test_measure_when_the_rule_is_unknown_then_its_only_share_or_its_rows(make_finding: Make) -> None:
    assert measure(make_finding("XX1", figures={"share_late": 0.3})) == ("share_late", 0.3, 1, None)
    two = {"share_a": 0.3, "share_b": 0.2}
    assert measure(make_finding("XX1", figures=two)) == ("", None, 0, None)
    assert measure(make_finding("XX1", figures={"rows_affected": 5, "rows": 20})) == (
        "rows_affected/rows",
        0.25,
        1,
        5.0,
    )
    assert measure(make_finding("XX1", figures={}, evidence=Evidence(total=7))) == ("evidence", 7.0, 1, None)


def test_measure_when_a_fact_or_a_state_then_none(make_finding: Make) -> None:
    assert measure(make_finding("MA002", "info", figures={"share_x": 0.5})) == ("", None, 0, None)
    assert measure(make_finding("MA602", figures={"share_of_limit": 0.35, "rows": 175})) == ("", None, 0, None)
    assert measure(make_finding("MA305", figures={"share_extra": True})) == ("", None, 0, None)
    assert measure(make_finding("MA305", figures={"share_extra": math.nan})) == ("", None, 0, None)


@pytest.mark.parametrize(
    ("before", "after", "worse", "expected"),
    [
        (0.10, 0.12, 1, 0.2),  # 0.02 of 0.10
        (0.10, 0.08, 1, -0.2),
        (0.80, 0.72, -1, 0.1),  # a cosine that falls by 0.08 of 0.80
        (0.0, 0.01, 1, math.inf),
        (0.0, 0.0, 1, 0.0),
        (0.5, 0.9, 0, 0.0),
    ],
)
def test_worsened_by_when_moved_then_relative_to_before(
    before: float, after: float, worse: int, expected: float
) -> None:
    assert worsened_by(before, after, worse) == pytest.approx(expected)
