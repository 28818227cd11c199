"""One line a goal, printed alike by every benchmark: met or missed, what was measured, the goal.

A figure that was drawn carries its Monte-Carlo standard error. Nearer to the goal than two of them, neither "met" nor
"missed" can be told, and the line says `near`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import sqrt

MET, MISSED, NEAR = "met", "missed", "near"
#: Standard errors within which a drawn figure says nothing about its goal.
_WIDTH = 2.0


def judged(measured: float, goal: float, *, at_least: bool = False, error: float = 0.0) -> str:
    """Hold a figure against its goal, an upper limit unless `at_least`; `error` is its standard error."""
    room = measured - goal if at_least else goal - measured
    if abs(room) < _WIDTH * error:
        return NEAR
    return MET if room >= 0 else MISSED


def share_error(share: float, runs: int) -> float:
    """Give the standard error of a share of runs; one run in place of none or all, which are no certainty."""
    inside = min(max(share, 1 / runs), 1 - 1 / runs)
    return sqrt(inside * (1 - inside) / runs)


def goal(what: str, measured: float, limit: float, unit: str, *, at_least: bool = False, more: str = "") -> None:
    """Print a line of a goal whose figure was counted or timed.

    Parameters
    ----------
    unit
        Written behind both numbers: `times`, `s`.
    more
        Said behind the figure: the counts that it rests on.
    """
    word = "least" if at_least else "most"
    digits = 1 if measured >= 10 else 2 if measured >= 0.1 else 3
    print(f"{judged(measured, limit, at_least=at_least):6}  {what}: {measured:.{digits}f} {unit} "
          f"(goal at {word} {limit:g}){f'; {more}' if more else ''}", flush=True)  # fmt: skip


def share_goal(
    what: str, share: float, limit: float, *, at_least: bool = False, runs: int | None = None, how: str = "exact"
) -> None:
    """Print a line of a goal whose figure is a share: of so many runs, or worked out as `how` says."""
    word = "least" if at_least else "most"
    error = share_error(share, runs) if runs else 0.0
    how = f"s.e. {100 * error:.2f}, {runs:,} runs" if runs else how
    print(f"{judged(share, limit, at_least=at_least, error=error):6}  {what}: {100 * share:.2f} % ({how}; "
          f"goal at {word} {100 * limit:g} %)", flush=True)  # fmt: skip


def counted(lines: Iterable[str]) -> Counter[str]:
    """Count the lines of goals in what the benchmarks printed."""
    return Counter(word for line in lines if (word := line.partition(" ")[0]) in (MET, MISSED, NEAR))
