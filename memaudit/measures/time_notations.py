"""In which notation a stored time is written, and which moment it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any


class Notation(str, Enum):
    """How a time is written; each value has exactly one."""

    ISO_UTC = "iso_utc"
    ISO_WITH_OFFSET = "iso_with_offset"
    ISO_WITHOUT_ZONE = "iso_without_zone"
    EPOCH_SECONDS = "epoch_seconds"
    EPOCH_MILLISECONDS = "epoch_milliseconds"
    EPOCH_FINER = "epoch_finer"
    LOCAL = "other_local_format"
    UNPARSEABLE = "unparseable"
    EMPTY = "empty_or_null"


#: Notations that name a moment.
TIMES = tuple(n for n in Notation if n not in (Notation.UNPARSEABLE, Notation.EMPTY))

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MISSING = frozenset({"", "null", "none", "nil", "nan", "nat", "n/a", "na", "undefined", "-"})
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)?"
    r"(?:\s?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?(?:\[[\w/+-]+\])?)?"
)
_COMPACT_ISO = re.compile(
    r"(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,](\d{1,12}))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?"
)
#: 20260501, 202605011200 or 20260501120000: a date written as a number.
_DIGITS = re.compile(r"((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?:([01]\d|2[0-3])([0-5]\d)([0-5]\d)?)?")
_CLOCK = r"(?:[T ,日]*\s*(上午|下午|晚上)?\s*(\d{1,2})[:时点](\d\d)(?:[:分](\d\d))?[.\d]*[分秒]?\s*([AaPp]\.?[Mm]\.?)?)?\s*(?:[A-Z]{2,4}|[+-]\d\d:?\d\d)?"
_YEAR_FIRST = re.compile(r"(\d{4})\s*[/.年-]\s*(\d{1,2})\s*[/.月-]\s*(\d{1,2})\s*日?" + _CLOCK)
_YEAR_LAST = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})" + _CLOCK)
_MONTHS = {
    m: i + 1 for i, m in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
}
_MONTH_NAME = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?(?:(\d{1,2})(?:st|nd|rd|th)?[\s-]+([A-Za-z]{3,9})\.?|([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?)"
    r",?[\s-]+(\d{4})" + _CLOCK
)
#: `Fri May  1 10:00:00 2026`, as C and git write it.
_CTIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})(?: ([+-]\d{4}))?")
#: Seconds, milliseconds and microseconds part at these magnitudes: 1e11 s is the year 5138, 1e11 ms is 1973.
_MILLISECONDS_FROM, _MICROSECONDS_FROM, _NANOSECONDS_FROM = 1e11, 1e14, 1e17
#: Julian days of 1900 to 2200, as SQLite's julianday() gives them.
_JULIAN = (2_415_020.5, 2_524_593.5)


@dataclass(frozen=True)
class WrittenTime:
    """A stored time.

    Parameters
    ----------
    moment
        In UTC; a text without a zone is taken as UTC. None where it cannot be told (a date such as 05/04/2026 may
        name two days), is missing or unparseable.
    offset
        Minutes from UTC of an ISO text with a zone, else None.
    """

    notation: Notation
    moment: datetime | None = None
    offset: int | None = None


def written_time(value: Any) -> WrittenTime:
    """Read a stored time and name its notation.

    Parameters
    ----------
    value
        As stored. Numbers, and texts of a number, are epochs by their magnitude, dates written as digits, or Julian
        days; texts are ISO 8601 (RFC 3339 and the blank of SQLite included) or a local format.

    Returns
    -------
    The notation with the moment; `EMPTY` for NULL, an empty text or a word for a missing value.
    """
    if value is None:
        return WrittenTime(Notation.EMPTY)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return WrittenTime(Notation.UNPARSEABLE)
    if not isinstance(value, str):
        return _number(float(value), str(value))
    text = value.strip()
    if text.lower() in _MISSING:
        return WrittenTime(Notation.EMPTY)
    if re.fullmatch(r"[+-]?\d+(?:\.\d*)?(?:[eE]\+?\d+)?", text):
        return _number(float(text), text)
    match = _ISO.fullmatch(text) or _COMPACT_ISO.fullmatch(text)
    if match is not None:
        return _iso(*match.groups())
    return _local(text)


def _number(number: float, written: str) -> WrittenTime:
    digits = _DIGITS.fullmatch(written)
    if digits is not None:
        moment = _moment(*(int(part or 0) for part in digits.groups()))
        if moment is not None:
            return WrittenTime(Notation.LOCAL, moment)
    if number != number or abs(number) == float("inf"):
        return WrittenTime(Notation.UNPARSEABLE)
    if "." in written and _JULIAN[0] <= number <= _JULIAN[1]:
        return WrittenTime(Notation.LOCAL, _EPOCH + timedelta(days=number - 2_440_587.5))
    size = abs(number)
    notation, unit = Notation.EPOCH_SECONDS, 1.0
    if size >= _NANOSECONDS_FROM:
        notation, unit = Notation.EPOCH_FINER, 1e9
    elif size >= _MICROSECONDS_FROM:
        notation, unit = Notation.EPOCH_FINER, 1e6
    elif size >= _MILLISECONDS_FROM:
        notation, unit = Notation.EPOCH_MILLISECONDS, 1e3
    try:
        return WrittenTime(notation, _EPOCH + timedelta(seconds=number / unit))
    except OverflowError:
        return WrittenTime(Notation.UNPARSEABLE)


def _iso(
    year: str, month: str, day: str, hour: str | None, minute: str | None, second: str | None, part: str | None,
    zone: str | None,
) -> WrittenTime:  # fmt: skip
    moment = _moment(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    if moment is None:
        return WrittenTime(Notation.UNPARSEABLE)
    moment += timedelta(microseconds=int((part or "0")[:6].ljust(6, "0")))
    if zone is None:
        return WrittenTime(Notation.ISO_WITHOUT_ZONE, moment)
    offset = _offset(zone)
    if offset is None:
        return WrittenTime(Notation.UNPARSEABLE)
    notation = Notation.ISO_WITH_OFFSET if offset else Notation.ISO_UTC
    try:
        return WrittenTime(notation, moment - timedelta(minutes=offset), offset)
    except OverflowError:
        return WrittenTime(Notation.UNPARSEABLE)


def _offset(zone: str) -> int | None:
    """Return minutes from UTC, None for a zone beyond 18 hours."""
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return None if minutes > 18 * 60 else (-minutes if zone[0] == "-" else minutes)


def _moment(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime | None:
    try:
        # A leap second is the last second of its minute for our purpose.
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
    except ValueError:
        return None


def _local(text: str) -> WrittenTime:
    if len(text) > 60:
        return WrittenTime(Notation.UNPARSEABLE)
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day, *clock = match.groups()
        return _made(int(year), int(month), int(day), *clock)
    if match := _YEAR_LAST.fullmatch(text):
        first, sign, second, year, *clock = match.groups()
        a, b = int(first), int(second)
        made = [w for m, d in ((b, a), (a, b)) if (w := _made(int(year), m, d, *clock)).notation is Notation.LOCAL]
        if not made:
            return WrittenTime(Notation.UNPARSEABLE)
        # With dots the day stands first (DIN 5008); a slash says nothing unless a part is above 12.
        return made[0] if sign == "." or len(made) == 1 or a == b else WrittenTime(Notation.LOCAL)
    if match := _MONTH_NAME.fullmatch(text):
        d1, m1, m2, d2, year, *clock = match.groups()
        number = _MONTHS.get((m1 or m2)[:3].lower())
        if number is not None:
            return _made(int(year), number, int(d1 or d2), *clock)
    if match := _CTIME.fullmatch(text):
        month, day, hour, minute, second, year, zone = match.groups()
        number = _MONTHS.get(month.lower())
        moment = _moment(int(year), number, int(day), int(hour), int(minute), int(second)) if number else None
        if moment is not None:
            return WrittenTime(Notation.LOCAL, moment - timedelta(minutes=_offset(zone) or 0 if zone else 0))
    try:
        read = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return WrittenTime(Notation.UNPARSEABLE)
    return WrittenTime(
        Notation.LOCAL, read.astimezone(timezone.utc) if read.tzinfo else read.replace(tzinfo=timezone.utc)
    )


def _made(
    year: int, month: int, day: int, half: str | None = None, hour: str | None = None, minute: str | None = None,
    second: str | None = None, am_pm: str | None = None,
) -> WrittenTime:  # fmt: skip
    hours = int(hour or 0)
    afternoon = half in ("下午", "晚上") or (am_pm or "").lower().startswith("p")
    if afternoon and hours < 12:
        hours += 12
    elif (am_pm or "").lower().startswith("a") and hours == 12:
        hours = 0
    moment = _moment(year, month, day, hours, int(minute or 0), int(second or 0))
    return WrittenTime(Notation.UNPARSEABLE) if moment is None else WrittenTime(Notation.LOCAL, moment)


def rows_sorted_wrong(stored: Sequence[Any], moments: Sequence[datetime | None]) -> int:
    """Count the rows that stand in a wrong place when the column is sorted as it is stored.

    Parameters
    ----------
    stored
        Values as SQLite keeps and sorts them: numbers, then texts by code point, then blobs.
    moments
        The moment of each; rows without one take no part.

    Returns
    -------
    The least number of rows to be taken out so that the others stand in order of time: n minus the longest
    non-decreasing subsequence (Fredman, Discrete Mathematics 11, 1975). 0 for no rows.

    Notes
    -----
    O(n log n).
    """
    from bisect import bisect_right

    pairs = [(_sort_key(value), moment) for value, moment in zip(stored, moments, strict=True) if moment is not None]
    pairs.sort()
    tails: list[datetime] = []
    for _, moment in pairs:
        place = bisect_right(tails, moment)
        if place == len(tails):
            tails.append(moment)
        else:
            tails[place] = moment
    return len(pairs) - len(tails)


def _sort_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value.encode("utf-8", "surrogateescape")) if isinstance(value, str) else (2, bytes(value))
