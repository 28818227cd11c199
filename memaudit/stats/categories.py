"""How a share is shown by the size of its category, and when a category is too small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memaudit.stats.intervals import check_share, wilson_interval
from memaudit.stats.power import one_query_points
from memaudit.wording import percent, plural, say

# A share of one to four is an anecdote; from 20 on one query moves the figure by 5 points or less.
MIN_N_PERCENT = 5
MIN_N_CATEGORY = 20
MAX_INTERVAL_WIDTH = 0.30
# All hits of 35 exclude a true rate below 90 %; with fewer the bound belongs into the sentence.
MIN_N_EXTREME = 35


@dataclass(frozen=True)
class CategoryCell:
    """What is shown for one category.

    Attributes
    ----------
    count
        `k/n`; "-" for n = 0.
    share
        Per cent; None where no percentage may be shown.
    interval
        Wilson interval as shares; None where none is shown.
    tag
        "anecdote" or the small-n remark; None from 20 queries on.
    note
        Sentence with the bound of 0 % and 100 % in small categories; None else.
    """

    count: str
    share: str | None
    interval: tuple[float, float] | None
    tag: str | None
    note: str | None

    @property
    def text(self) -> str:
        """The cell in one line: `23/24 = 95.8 % [79.8, 99.3]`."""
        if self.share is None or self.interval is None:
            return self.count
        low, high = (100.0 * bound for bound in self.interval)
        return f"{self.count} = {self.share} [{low:.1f}, {high:.1f}]"


@dataclass(frozen=True)
class SmallCategory:
    """The category whose figure says least, when any is too small.

    Attributes
    ----------
    name
        The worst category: no query at all, else the widest interval.
    n
        Its queries.
    width
        Width of its 95 % interval as a share; None for n = 0.
    needed_n
        Queries that would halve the width (4 n); 20 for n = 0.
    n_small
        Categories that are too small.
    n_categories
        Categories looked at.
    """

    name: str
    n: int
    width: float | None
    needed_n: int
    n_small: int
    n_categories: int


def category_cell(k: int, n: int, level: float = 0.95) -> CategoryCell:
    """Give what may be shown for k hits of n queries.

    Parameters
    ----------
    k
        Hits, 0..n.
    n
        Queries of the category.
    level
        Level of the interval.

    Returns
    -------
    n = 0: a dash; 1-4: the count; 5-19: count, percentage, interval and a tag; from 20 on without the tag.

    Raises
    ------
    DataError
        k is outside 0..n.
    """
    check_share(k, n)
    if n == 0:
        return CategoryCell("-", None, None, None, None)
    count = f"{k:,}/{n:,}"
    if n < MIN_N_PERCENT:
        return CategoryCell(count, None, None, say("anecdote"), None)
    interval = wilson_interval(k, n, level)
    tag = None
    if n < MIN_N_CATEGORY:
        tag = say("small n: one query = {points} points", points=f"{one_query_points(n) or 0.0:.1f}")
    note = None
    if interval is not None and n < MIN_N_EXTREME:
        if k == n:
            note = say("{k} of {n}: the true rate may be as low as {low} %.", k=k, n=n, low=_whole(interval[0]))
        elif k == 0:
            note = say("{k} of {n}: the true rate may be as high as {high} %.", k=k, n=n, high=_whole(interval[1]))
    return CategoryCell(count, percent(k, n), interval, tag, note)


def small_category(categories: Mapping[str, tuple[int, int]], level: float = 0.95) -> SmallCategory | None:
    """Find the worst category when any has fewer than 20 queries or an interval wider than 30 points.

    Parameters
    ----------
    categories
        Name to (hits, queries).
    level
        Level of the intervals.

    Returns
    -------
    The worst one; None when every category is large enough, and for no categories.

    Raises
    ------
    DataError
        Hits outside 0..n.
    """
    widths: dict[str, float | None] = {}
    for name, (k, n) in categories.items():
        interval = wilson_interval(k, n, level)
        width = None if interval is None else interval[1] - interval[0]
        if width is None or n < MIN_N_CATEGORY or width > MAX_INTERVAL_WIDTH:
            widths[name] = width
    if not widths:
        return None

    def badness(name: str) -> tuple[float, int, str]:
        width = widths[name]
        return (-2.0 if width is None else -width, categories[name][1], name)

    worst = min(widths, key=badness)
    n = categories[worst][1]
    return SmallCategory(worst, n, widths[worst], 4 * n or MIN_N_CATEGORY, len(widths), len(categories))


def small_category_sentence(small: SmallCategory) -> str:
    """Name the worst category and the number of queries that would make its figure usable."""
    if small.width is None:
        return say(
            "{n_small} of {total} are too small to read; '{name}' has no query and needs at least {needed}.",
            n_small=small.n_small,
            total=plural(small.n_categories, "category", "categories"),
            name=small.name,
            needed=small.needed_n,
        )
    return say(
        "{n_small} of {total} are too small to read; worst is '{name}' with {queries}, an interval of "
        "{width} points; {needed} would halve it.",
        n_small=small.n_small,
        total=plural(small.n_categories, "category", "categories"),
        name=small.name,
        queries=plural(small.n, "query", "queries"),
        width=f"{100.0 * small.width:.0f}",
        needed=plural(small.needed_n, "query", "queries"),
    )


def _whole(share: float) -> str:
    return f"{100.0 * share:.0f}"
