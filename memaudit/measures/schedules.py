"""Jobs that a production configuration schedules, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memaudit.production import walk

#: Words of jobs that keep a memory in order; other intervals (heartbeats, polling, retries) are no such job.
MAINTENANCE = re.compile(
    r"consolidat|compact|prun|clean|(^|_)gc($|_)|garbage|decay|dedup|merg|reflect|summari[sz]|distil|expir|evict|vacuum"
    r"|reindex|re_index|rebuild|reembed|re_embed|archiv|maintenance|dream|forget|rescor|retention|整理|合并|清理|去重",
    re.IGNORECASE,
)
_JOB_TABLE = re.compile(r"(^|[._])(jobs?|maintenance|schedules?|scheduler|cron|tasks)$", re.IGNORECASE)
_SCHEDULE_KEY = re.compile(
    r"(?:(?P<job>\w+?)_)?(?P<what>interval|every|period|schedule|cron|frequency|run_every)(?:_(?P<unit>n|[a-z]+))?"
)
_UNITS = {
    "s": 86_400.0, "sec": 86_400.0, "second": 86_400.0, "m": 1_440.0, "min": 1_440.0, "minute": 1_440.0, "h": 24.0,
    "hr": 24.0, "hour": 24.0, "d": 1.0, "day": 1.0, "w": 1 / 7, "week": 1 / 7, "month": 12 / 365.25, "ms": 86_400_000.0,
}  # fmt: skip
_WORDS = {
    "hourly": 24.0, "daily": 1.0, "nightly": 1.0, "weekly": 1 / 7, "monthly": 12 / 365.25, "midnight": 1.0,
    "每天": 1.0, "每日": 1.0, "每周": 1 / 7, "每小时": 24.0,
}  # fmt: skip
_AMOUNT = re.compile(r"(?:every\s+|每)?(\d+(?:\.\d+)?)?\s*(ms|[smhdw]|sec\w*|min\w*|hr\w*|hours?|days?|weeks?|months?)",
                     re.IGNORECASE)  # fmt: skip
#: Cron fields: least and largest value.
_CRON = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@dataclass(frozen=True)
class Job:
    """A configured job.

    Parameters
    ----------
    name
        As the configuration calls it.
    path
        Where it stands there.
    per_day
        Runs a day; None where the schedule cannot be read as a time.
    per_memories
        Memories written between two runs, where it is scheduled by their number.
    """

    name: str
    path: str
    per_day: float | None = None
    per_memories: float | None = None

    def expected(self, days: float | None, memories: int) -> float | None:
        """Return the runs to be expected in so many days with so many memories; None when that is not known."""
        if self.per_memories:
            return memories / self.per_memories
        return self.per_day * days if self.per_day is not None and days is not None else None


def find_jobs(config: Mapping[str, Any]) -> tuple[Job, ...]:
    """Find the jobs of maintenance in a configuration, disabled ones left out; each name once."""
    found: dict[str, Job] = {}
    for job in _jobs(config):
        if job.name not in found:
            found[job.name] = job
    return tuple(found.values())


def _jobs(config: Mapping[str, Any]) -> Iterator[Job]:
    for path, value in [("", config), *walk(config)]:
        if isinstance(value, Mapping):
            if _off(value):
                continue
            yield from _of_mapping(path, value)
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            for entry in value:
                if isinstance(entry, str) and _JOB_TABLE.search(path) and MAINTENANCE.search(entry):
                    yield Job(entry, path)
                if isinstance(entry, Mapping) and not _off(entry):
                    name = next(
                        (entry[k] for k in ("name", "job", "task", "id") if isinstance(entry.get(k), str)), None
                    )
                    rate = _rate_of(entry)
                    if name is not None and rate is not None and _is_maintenance(str(name), path):
                        yield Job(str(name), path, *rate)


def _off(value: Mapping[str, Any]) -> bool:
    return value.get("enabled") is False or value.get("disabled") is True


def _is_maintenance(name: str, path: str) -> bool:
    return bool(MAINTENANCE.search(name) or _JOB_TABLE.search(path))


def _of_mapping(path: str, value: Mapping[str, Any]) -> Iterator[Job]:
    own = path.rsplit(".", 1)[-1]
    parent = path.rsplit(".", 1)[0] if "." in path else ""
    rate = _rate_of(value)
    if rate is not None and own and _is_maintenance(own, parent) and not re.fullmatch(r"jobs|schedules?|cron", own):
        yield Job(own, path, *rate)
    elif rate is None and value.get("enabled") is True and MAINTENANCE.search(own):
        yield Job(own, path)
    for key, setting in value.items():
        key = str(key)
        match = _SCHEDULE_KEY.fullmatch(key)
        where = f"{path}.{key}".lstrip(".")
        if match is not None and match["job"] and MAINTENANCE.search(match["job"]):
            rate = _rate(setting, match["what"], match["unit"])
            if rate is not None and value.get(f"{match['job']}_enabled") is not False:
                yield Job(match["job"], where, *rate)
        elif _JOB_TABLE.search(path) and isinstance(setting, str) and (per_day := _per_day(setting)) is not None:
            yield Job(key, where, per_day)


def _rate_of(value: Mapping[str, Any]) -> tuple[float | None, float | None] | None:
    for key, setting in value.items():
        match = _SCHEDULE_KEY.fullmatch(str(key))
        if match is not None and match["job"] in (None, "run"):
            rate = _rate(setting, match["what"], match["unit"])
            if rate is not None:
                return rate
    return None


def _rate(value: Any, what: str, unit: str | None) -> tuple[float | None, float | None] | None:
    """Return (runs a day, memories a run) of a schedule; None where the value is no schedule."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        per_day = _per_day(value)
        return None if per_day is None else (per_day, None)
    if isinstance(value, Mapping):
        for name, amount in value.items():
            rate = _rate(amount, what, str(name)) if str(name).rstrip("s") in _UNITS else None
            if rate is not None:
                return rate
        return None
    if not isinstance(value, (int, float)) or value <= 0:
        return None
    if unit in ("n", "memories", "rows", "entries", "messages", "turns", "records", "items"):
        return None, float(value)
    a_day = _UNITS.get((unit or "").rstrip("s") or (unit or ""))
    return (a_day / value if a_day is not None else None), None


def _per_day(text: str) -> float | None:
    word = text.strip().lower().lstrip("@")
    if word in _WORDS:
        return _WORDS[word]
    amount = _AMOUNT.fullmatch(word)
    if amount is not None:
        unit = amount[2].lower()
        a_day = _UNITS.get(unit) or _UNITS.get(unit.rstrip("s")) or _UNITS.get(unit[:3])
        number = float(amount[1] or 1)
        return a_day / number if a_day and number > 0 else None
    return cron_runs_a_day(text)


def cron_runs_a_day(text: str) -> float | None:
    """Return the mean number of runs a day of a cron line of five fields; None where it is none."""
    fields = text.split()
    if len(fields) != 5:
        return None
    counts = [_cron_count(f, low, high) for f, (low, high) in zip(fields, _CRON, strict=True)]
    if any(n is None for n in counts):
        return None
    minutes, hours, days, months, weekdays = (n or 0 for n in counts)
    share = 1.0
    by_day, by_weekday = fields[2] != "*", fields[4] != "*"
    if by_day and by_weekday:  # cron takes either
        share = min(1.0, days / 30.44 + weekdays / 7)
    elif by_day:
        share = days / 30.44
    elif by_weekday:
        share = min(1.0, weekdays / 7)
    return float(minutes * hours * share * months / 12)


def _cron_count(text: str, low: int, high: int) -> int | None:
    chosen: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(?:\*|(\d+)(?:-(\d+))?|[A-Za-z]{3}(?:-[A-Za-z]{3})?)(?:/(\d+))?", part)
        if match is None:
            return None
        first, last, step = match.groups()
        if first is None and part[0] != "*":
            names = 5 if "-" in part else 1  # a span of names is taken as the working week
            chosen |= {len(chosen) + i for i in range(names)}
            continue
        start = low if first is None else int(first)
        end = high if first is None or (step and last is None) else int(last or first)
        if not low <= start <= end <= high or (step and int(step) == 0):
            return None
        chosen |= set(range(start, end + 1, int(step or 1)))
    if low == 0 and high == 7:
        chosen = {v % 7 for v in chosen}
    return len(chosen)
