"""How the values of a column are spread: one value in every row, or a score left at its default."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memaudit.records import Records

#: A score that is not spread: from this share on one value, over so many rows at least.
DEFAULT_SHARE, DEFAULT_ROWS = 0.80, 20
#: With a marker of real scores: rows that were never scored and rank at the default, as a share of all rows.
UNSCORED_SHARE = 0.20

#: Columns that may name owners. A store of one person has one: no fault unless they are meant to be kept apart.
OWNER_NAME = re.compile(
    r"(^|_)(user|owner|chat|session|thread|agent|tenant|author|sender|account|person|member|channel|conversation|client"
    r"|customer|project|workspace|namespace|team|org|organization|app|bot)(s|_?id|_?key|_?name)?($|_)|用户|租户"
)
#: Of these, the names of people and of those they work for, whose memories are no copies of one another.
_PEOPLE = re.compile(
    r"(user|owner|tenant|account|person|member|client|customer|workspace|org|organization)(_?(id|key|uuid|name))?|(用户|租户)(编号|名)?"
)
_SESSION = re.compile(r"(^|_)(chat|session|thread|conversation|channel)")
_SEPARATOR = re.compile(r"[-:/#|@]")
#: Below this share one value beside NULL is a mark that some rows carry.
PARTLY_SHARE = 0.5
_YES = ("1", "1.0", "true", "yes", "y", "t", "on", "x", "是", "真")
_NOT_SET = (0, "", "0", "0.0", "false", "no", "n", "f", "none", "null")


@dataclass(frozen=True)
class Constant:
    """A column with at most one value: `distinct` is 0 when all rows are NULL; `null_rows` may stand beside a value."""

    table: str
    column: str
    rows: int
    distinct: int
    value: Any
    null_rows: int


@dataclass(frozen=True)
class MostlyDefault:
    """A score most rows of which hold one value.

    Parameters
    ----------
    scored, unscored
        Row numbers by the marker; None without one.
    """

    table: str
    column: str
    values: tuple[float | None, ...]
    default: float
    at_default: tuple[int, ...]
    scored: tuple[int, ...] | None
    unscored: tuple[int, ...] | None

    @property
    def n_valued(self) -> int:
        """Rows that hold a number."""
        return sum(v is not None for v in self.values)

    @property
    def share(self) -> float:
        """Share of them at the default."""
        return len(self.at_default) / self.n_valued

    @property
    def unscored_at_default(self) -> int | None:
        """Rows that were never scored and hold the default; None without a marker."""
        if self.unscored is None:
            return None
        at = set(self.at_default)
        return sum(row in at for row in self.unscored)


def constant(records: Records, column: str, min_share: float = PARTLY_SHARE) -> Constant | None:
    """Return a column as a constant, None when it tells rows apart.

    One value in some rows and NULL in the others is a mark (set or not set) where the value stands in less than
    `min_share` of the rows or says no more than yes; else it is one value that some rows lack. What is one value in a
    sample is looked up in all rows: chance leaves a rare value out.
    """
    values = records.column(column)
    present = [v for v in values if v is not None]
    distinct = set(present)
    n_null = len(values) - len(present)
    if len(distinct) > 1:
        return None
    value = next(iter(distinct)) if distinct else None
    if distinct and n_null and (len(present) < min_share * len(values) or _is_yes(value)):
        return None
    if records.drawn_from is not None:
        return constant(records.undrawn, column, min_share)
    return Constant(records.table.name, column, len(values), len(distinct), value, n_null)


def _is_yes(value: Any) -> bool:
    return str(value).strip().lower() in _YES


def mostly_default(
    table: str,
    column: str,
    values: Sequence[Any],
    marker: Sequence[Any] | None,
    *,
    min_share: float = DEFAULT_SHARE,
    min_rows: int = DEFAULT_ROWS,
    unscored_share: float = UNSCORED_SHARE,
) -> MostlyDefault | None:
    """Return a numeric column as mostly default, None when its values are spread, or are all the same.

    Parameters
    ----------
    marker
        One value a row that is set when the score was really computed; None when there is no such column.
    min_share, min_rows
        Share of one value, and rows with a number.
    unscored_share
        With a marker: share of all rows that were never scored and hold one value.
    """
    numbers = tuple(_number(v) for v in values)
    valued = [v for v in numbers if v is not None]
    # Text that holds no numbers is no score; a few unreadable values are left out.
    present = sum(v is not None for v in values)
    if len(valued) < min_rows or len(valued) < 0.9 * present or len(set(valued)) < 2:
        return None
    scored = unscored = None
    counted = valued
    if marker is not None:
        scored = tuple(i for i, m in enumerate(marker) if _is_set(m))
        unscored = tuple(i for i, m in enumerate(marker) if not _is_set(m))
        never = [v for i in unscored if (v := numbers[i]) is not None]
        counted = never or valued
    default = Counter(counted).most_common(1)[0][0]
    at_default = tuple(i for i, v in enumerate(numbers) if v == default)
    found = MostlyDefault(table, column, numbers, default, at_default, scored, unscored)
    n_unscored = found.unscored_at_default
    left = (
        n_unscored is not None
        and unscored is not None
        and n_unscored >= unscored_share * len(values)
        and n_unscored >= 0.9 * len(unscored)
    )
    return found if found.share >= min_share or left else None


def _number(value: Any) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if value == value else None
    return None


def _is_set(value: Any) -> bool:
    plain = value.strip().lower() if isinstance(value, str) else value
    return value is not None and plain not in _NOT_SET


def owners_by_name(records: Records) -> list[tuple[Any, ...]] | None:
    """Return the owner of each row by the columns that are called like one; None where no such column tells rows apart.

    A column with nearly as many values as rows names no owners.
    """
    columns = [
        records.column(n) for n in records.column_names if _PEOPLE.fullmatch(n.lower()) and n != records.roles.id
    ]
    columns = [c for c in columns if 1 < len({str(v) for v in c}) <= len(c) / 2]
    return [tuple(map(str, row)) for row in zip(*columns, strict=True)] if columns else None


def owners_elsewhere(records: Records, key: str) -> tuple[str, tuple[str, ...], bool] | None:
    """Return another column that names several owners, the names, and whether they only begin its values."""
    best: tuple[str, tuple[str, ...], bool] | None = None
    for column in records.column_names:
        if column in (key, records.roles.id, records.roles.text) or not OWNER_NAME.search(column.lower()):
            continue
        values = [v for v in records.column(column) if isinstance(v, str) and v.strip()]
        distinct = list(dict.fromkeys(values))
        begins = list(dict.fromkeys(_SEPARATOR.split(v)[0] for v in values))
        if all(_SEPARATOR.search(v) for v in distinct) and 2 <= len(begins) < len(distinct):
            return column, tuple(begins), True
        # A chat or session of its own for every talk says nothing about how many people there are.
        if 2 <= len(distinct) <= len(values) / 3 and not _SESSION.search(column.lower()) and best is None:
            best = column, tuple(distinct), False
    return best
