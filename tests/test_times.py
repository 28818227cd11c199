"""Times as stores write them; expected values worked out with `date -u -d @N`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.times import parse_time

MAY = datetime(2026, 5, 1, 10, 15, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "value",
    [
        "2026-05-01T10:15:00+00:00", "2026-05-01T10:15:00Z", "2026-05-01 10:15:00", "2026-05-01 10:15:00 UTC",
        " 2026-05-01T18:15:00+08:00 ", "2026-05-01T10:15:00.0Z", "2026-05-01T10:15:00.000000000+00:00",
        b"2026-05-01T10:15:00Z", 1777630500, 1777630500.0, 1777630500000, "1777630500", "1777630500.0", "1777630500000",
    ],
)  # fmt: skip
def test_notations_of_one_moment_are_equal(value: Any) -> None:
    assert parse_time(value) == MAY


def test_dates_and_fractions_are_read() -> None:
    assert parse_time("2026-05-01") == datetime(2026, 5, 1, tzinfo=timezone.utc)
    assert parse_time("2026-05-01T10:15:00.1234567Z") == MAY + timedelta(microseconds=123456)
    assert parse_time("2026-05-01T10:15:00.5+08:00") == MAY + timedelta(hours=-8, milliseconds=500)


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, "", "  ", "nan", "inf", "tomorrow", "五月一日", 0, 1, 2026, -5, 42.5, 1e30, float("nan"),
        float("inf"), "2026-13-01", "2026-05-01T25:00:00", [], {}, "0001-01-01T00:00:00+14:00", b"\xff",
    ],
)  # fmt: skip
def test_other_values_are_no_times(value: Any) -> None:
    assert parse_time(value) is None


@given(st.datetimes(min_value=datetime(1974, 1, 1), max_value=datetime(2100, 1, 1)))
def test_seconds_milliseconds_and_iso_agree(moment: datetime) -> None:
    whole = moment.replace(microsecond=0, tzinfo=timezone.utc)
    seconds = int(whole.timestamp())
    assert parse_time(seconds) == parse_time(seconds * 1000) == parse_time(whole.isoformat()) == whole


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary()))
def test_nothing_stored_raises(value: Any) -> None:
    found = parse_time(value)
    assert found is None or found.tzinfo is timezone.utc
