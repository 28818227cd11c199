"""Times as stores write them: ISO texts, dates, epoch seconds and milliseconds."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Above this a number is milliseconds: 1e11 s is the year 5138, 1e11 ms is 1973.
_MILLISECONDS_FROM = 1e11
_LATEST_S = 253402300799.0  # 9999-12-31


def parse_time(value: Any) -> datetime | None:
    """Read one stored time.

    Parameters
    ----------
    value
        ISO text with or without zone (taken as UTC), a date, epoch seconds or milliseconds as a number or
        as text; anything else gives None.

    Returns
    -------
    An aware time in UTC, or None.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _from_epoch(float(value))
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return _from_epoch(float(text))
    except ValueError:
        pass
    iso = text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text
    if iso.endswith(" UTC"):
        iso = iso[:-4] + "+00:00"
    try:
        time = datetime.fromisoformat(_six_digits(iso))
    except ValueError:
        return None
    try:
        return time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time.astimezone(timezone.utc)
    except OverflowError:
        return None


def _six_digits(text: str) -> str:
    """Bring a fraction of a second to six digits: Python 3.10 reads three or six only."""
    head, dot, tail = text.partition(".")
    if not dot:
        return text
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return f"{head}.{tail[:digits][:6].ljust(6, '0')}{tail[digits:]}"


def _from_epoch(number: float) -> datetime | None:
    seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
    # Small numbers are counters, versions or years, not times: 1e8 s is March 1973.
    if not 1e8 <= seconds <= _LATEST_S:
        return None
    return _EPOCH + timedelta(seconds=seconds)
