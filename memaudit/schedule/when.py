"""When an audit runs: days of the week and a time of day, and the same moment on another clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone, tzinfo

from memaudit.errors import ConfigError
from memaudit.wording import say

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FULL = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _forms() -> str:
    return say('Write "Mon 06:00", "Mon,Thu 06:00", "Mon-Fri 06:00" or "06:00" (every day).')


@dataclass(frozen=True)
class When:
    """A weekly moment.

    Parameters
    ----------
    days
        0 is Monday, ascending; all seven for every day.
    """

    days: tuple[int, ...]
    hour: int
    minute: int

    @property
    def daily(self) -> bool:
        """Whether it is every day."""
        return len(self.days) == 7

    @property
    def longest_gap(self) -> int:
        """Days between two runs, at most."""
        following = (*self.days[1:], self.days[0] + 7)
        return max(after - before for before, after in zip(self.days, following, strict=True))

    @property
    def day_names(self) -> tuple[str, ...]:
        """English short names of the days."""
        return tuple(DAYS[day] for day in self.days)

    @property
    def clock(self) -> str:
        """Time of day, `06:00`."""
        return f"{self.hour:02d}:{self.minute:02d}"

    def __str__(self) -> str:
        return f"{'every day' if self.daily else ','.join(self.day_names)} {self.clock}"


def parse_when(text: str) -> When:
    """Read `Mon 06:00`.

    Raises
    ------
    ConfigError
        Another form, an unknown day, or no time of day.
    """
    match = re.fullmatch(r"\s*(?:([A-Za-z,\- ]*?)\s+)?(\d{1,2}):(\d{2})\s*", text)
    if match is None or int(match.group(2)) > 23 or int(match.group(3)) > 59:
        raise ConfigError(say("--at {text} is no time of the week.", text=repr(text)), _forms())
    days: set[int] = set()
    words = (match.group(1) or "daily").strip()
    for word in re.split(r"\s*[, ]\s*", words):
        first, dash, last = word.partition("-")
        if word.lower() in ("daily", "every", "day"):
            days |= set(range(7))
        elif dash:
            start, end = _day(first, text), _day(last, text)
            days |= {(start + i) % 7 for i in range((end - start) % 7 + 1)}
        else:
            days.add(_day(word, text))
    return When(tuple(sorted(days)), int(match.group(2)), int(match.group(3)))


def _day(word: str, text: str) -> int:
    for number, full in enumerate(_FULL):
        if len(word) >= 3 and full.startswith(word.strip().lower()):
            return number
    raise ConfigError(say("--at {text}: {word} is no day.", text=repr(text), word=repr(word)), _forms())


def zone(name: str) -> tzinfo:
    """Return a time zone by its name in the tz database.

    Raises
    ------
    ConfigError
        There is none of that name on this machine.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name.upper() == "UTC":
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            say("--tz {name}: no such time zone here.", name=name),
            say("Write it as in Europe/Berlin or Asia/Shanghai."),
        ) from None


def on_clock(when: When, source: tzinfo, target: tzinfo | None, now: datetime | None = None) -> When:
    """Return the moment on another clock, as the offsets of both are at its next occurrence.

    Parameters
    ----------
    source
        Zone in which `when` is meant.
    target
        Zone of the machine that keeps the clock; None is this machine's own.
    """
    today = (now or datetime.now(timezone.utc)).astimezone(source).date()
    moments = []
    for day in when.days:
        date = today + timedelta(days=(day - today.weekday()) % 7)
        moments.append(datetime.combine(date, time(when.hour, when.minute), source).astimezone(target))
    return When(tuple(sorted({m.weekday() for m in moments})), moments[0].hour, moments[0].minute)
