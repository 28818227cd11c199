"""What the rows of a group have in common: cosines, whether they are readings, and whether they were recalled."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memaudit import cluster
from memaudit.context import Context
from memaudit.records import IntArray
from memaudit.text import details, normalised
from memaudit.text.details import MAX_CHARS

#: Share of the rows that must say the same, numbers taken out, for a group of readings.
READINGS_SHARE = 0.90
#: From this mean cosine on the rows of a group say nearly the same.
TIGHT_COS = 0.90

_NUMBER = re.compile(r"[-+−]?\d+(?:[.,:/-]\d+)*")
# A text that reports a failure is about the failure, whatever number it carries; a *count* of failures is a reading.
_FAILURE = re.compile(
    r"(?:not found|no such|denied|refused|exception|traceback|timed? ?out|errno|\berror\b|\bfail(?:ed|s|ure)?\b|cannot"
    r"|could not|unable to|unreachable|失败|报错|错误|异常|找不到|未找到|超时|拒绝|不存在|无法|不是内部或外部命令)"
    r"(?!\s*(?:rates?|counts?|ratio|share|logins|requests|jobs|tests|率|次数|数|计数|占比))"
)


@dataclass(frozen=True)
class GroupFigures:
    """One group: a value of the field and its rows.

    Parameters
    ----------
    rows
        (k,) row numbers in store order, with or without a vector.
    places
        Places of those with a vector in the matrix of vectors.
    mean_cos, min_cos
        Over all pairs of rows with a vector; None below two of them.
    first_cos
        Mean cosine of the later rows to the first one.
    readings
        The rows differ in numbers or dates only, and report no failure; None when there are no texts.
    recalled
        Rows ever recalled, None when use is not recorded.
    """

    value: Any
    rows: IntArray
    places: IntArray
    mean_cos: float | None
    min_cos: float | None
    first_cos: float | None
    readings: bool | None
    recalled: int | None

    @property
    def n_rows(self) -> int:
        """Rows of the group."""
        return len(self.rows)

    def shown(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "rows": self.n_rows,
            "group_mean": self.mean_cos,
            "group_min": self.min_cos,
            "cosine_first_to_others": self.first_cos,
            "recalled": self.recalled,
            "readings": self.readings,
        }


def without_numbers(text: str) -> str:
    """Return a text with its numbers, dates and times taken out: what readings of one series share."""
    plain = normalised(unicodedata.normalize("NFKC", text))
    # Dates are read in the same part of a text as details are; behind it a log dump would cost seconds a row.
    head, tail = plain[:MAX_CHARS], plain[MAX_CHARS:]
    for date in sorted(details(head).dates, key=len, reverse=True):
        head = head.replace(date, "#")
    return re.sub(r"#(?:\s*#)+", "#", _NUMBER.sub("#", head + tail))


def series_sizes(texts: Sequence[str], masked: Mapping[int, str]) -> dict[int, int]:
    """Return row -> how many of all texts are the same as the row's but for numbers and dates, itself included.

    Parameters
    ----------
    texts
        All texts of the store.
    masked
        Row -> its text by `without_numbers`, for the rows asked about. Dates in words (`Monday`, `五月`) are read in
        these alone: reading them costs 0.1 ms a text, and a store may hold a hundred thousand.
    """
    if not masked:
        return {}
    in_digits = Counter(map(_without_digits, texts))
    in_words = Counter(masked.values())
    return {row: max(in_digits[_without_digits(texts[row])], in_words[text]) for row, text in masked.items()}


def _without_digits(text: str) -> str:
    return _NUMBER.sub("#", normalised(unicodedata.normalize("NFKC", text)))


def are_readings(texts: Sequence[str], *, min_share: float = READINGS_SHARE) -> bool:
    """Say whether texts are readings of few series: equal but for numbers and dates, which are their point.

    Parameters
    ----------
    texts
        Texts of one group, at least two.
    min_share
        Share of the texts that must belong to a series of three or more.

    Returns
    -------
    False when most texts are identical (they differ in nothing), when they differ in words, paths or names, or
    when what they share reports a failure (`line 3: command not found`): that is one event met again.
    """
    if len(texts) < 2:
        return False
    counts = Counter(normalised(text) for text in texts)
    if 2 * len(counts) <= len(texts) and len(counts) < 3:
        return False
    shared = {text: without_numbers(text) for text in counts}
    series: Counter[str] = Counter()
    for text, n in counts.items():
        series[shared[text]] += n
    # Only texts with a number can be readings, and only several of them are a series.
    in_series = {s for s, n in series.items() if n >= min(3, len(texts)) and "#" in s}
    if sum(series[s] for s in in_series) < min_share * len(texts):
        return False
    changes = sum(s in in_series for s in shared.values()) > len(in_series)
    return changes and not any(_FAILURE.search(s) for s in in_series)


def measured_groups(ctx: Context) -> tuple[GroupFigures, ...]:
    """Measure the cosines within every group, largest group first; blank values are no group."""
    place = {row: i for i, row in enumerate(ctx.vectors.rows.tolist())}
    recalled = recalled_rows(ctx)
    has_text = ctx.roles.text is not None
    found = []
    for value, rows in ctx.groups.items():
        if isinstance(value, str) and not value.strip():
            continue  # rows whose field was left empty share nothing
        places = np.array([place[r] for r in rows.tolist() if r in place], dtype=np.int64)
        vectors = ctx.vectors.matrix[places]
        cos = cluster.within_group(vectors)
        first = float(np.mean(cluster.cosine_to(vectors, 0)[1:])) if len(places) > 1 else None
        readings = None
        if has_text and cos.mean_cos is not None and cos.mean_cos >= TIGHT_COS:
            readings = are_readings([ctx.records.texts[r] for r in rows.tolist()])
        n_recalled = None if recalled is None else sum(r in recalled for r in rows.tolist())
        found.append(GroupFigures(value, rows, places, cos.mean_cos, cos.min_cos, first, readings, n_recalled))
    return tuple(found)


def recalled_rows(ctx: Context) -> frozenset[int] | None:
    """Return the rows that were ever recalled, by the log, else by a counter that is alive; None without either."""
    if ctx.log is not None and ctx.log.memory_ref is not None:
        keys = {str(k) for k in ctx.log.recalled_keys()}
        return frozenset(i for i, key in enumerate(ctx.records.keys) if str(key) in keys)
    hits = ctx.hits
    if hits is None or len({h for h in hits if h is not None}) < 2:
        return None
    return frozenset(i for i, h in enumerate(hits) if h)
