"""Moments of the week, and the same moment on another clock."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import ConfigError
from memaudit.schedule.when import When, on_clock, parse_when, zone

UTC = timezone.utc


@pytest.mark.parametrize(
    ("text", "days", "clock"),
    [
        ("Mon 06:00", (0,), "06:00"), ("sunday 23:59", (6,), "23:59"), ("Mon,Thu 6:05", (0, 3), "06:05"),
        ("Mon Thu 06:00", (0, 3), "06:00"), ("Mon-Fri 06:00", (0, 1, 2, 3, 4), "06:00"), ("Sat-Mon 00:00", (0, 5, 6), "00:00"),
        ("06:00", tuple(range(7)), "06:00"), ("daily 06:00", tuple(range(7)), "06:00"), ("Thurs 06:00", (3,), "06:00"),
    ],
)  # fmt: skip
def test_parse_when_written_then_read(text: str, days: tuple[int, ...], clock: str) -> None:
    when = parse_when(text)
    assert (when.days, when.clock) == (days, clock)


@pytest.mark.parametrize(
    "text", ["", "Mon", "Mon 24:00", "Mon 06:60", "Mo 06:00", "Montag 06:00", "0 6 * * 1", "06:00 Mon"]
)
def test_parse_when_no_moment_then_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ConfigError, match="Mon 06:00"):
        parse_when(text)


def test_longest_gap_when_days_are_listed_then_the_longest_between_two() -> None:
    assert parse_when("Mon 06:00").longest_gap == 7
    assert parse_when("Mon,Thu 06:00").longest_gap == 4  # Thursday to Monday
    assert parse_when("06:00").longest_gap == 1


def test_on_clock_when_another_zone_then_day_and_hour_move() -> None:
    now = datetime(2026, 8, 5, tzinfo=UTC)
    # Shanghai is eight hours ahead of UTC all year: Monday 06:00 there is Sunday 22:00.
    assert on_clock(parse_when("Mon 06:00"), zone("Asia/Shanghai"), UTC, now) == When((6,), 22, 0)
    # Berlin is two hours ahead in August, one in December.
    assert on_clock(parse_when("Mon 06:00"), zone("Europe/Berlin"), UTC, now) == When((0,), 4, 0)
    winter = datetime(2026, 12, 1, tzinfo=UTC)
    assert on_clock(parse_when("Mon 06:00"), zone("Europe/Berlin"), UTC, winter) == When((0,), 5, 0)
    assert on_clock(parse_when("Mon-Tue 23:30"), zone("America/New_York"), UTC, winter) == When((1, 2), 4, 30)


def test_zone_when_unknown_then_refused() -> None:
    for name in ("Mars/Olympus", "../etc/passwd", "/etc/passwd"):
        with pytest.raises(ConfigError, match="no such time zone"):
            zone(name)


@given(st.sets(st.integers(0, 6), min_size=1), st.integers(0, 23), st.integers(0, 59))
def test_on_clock_when_there_and_back_then_the_same(days: set[int], hour: int, minute: int) -> None:
    when = When(tuple(sorted(days)), hour, minute)
    shanghai, now = zone("Asia/Shanghai"), datetime(2026, 8, 5, tzinfo=UTC)
    assert on_clock(on_clock(when, shanghai, UTC, now), UTC, shanghai, now) == when
    assert parse_when(str(when).replace("every day", "daily")) == when
