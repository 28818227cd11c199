"""A recall pipeline taken apart: which stages change a result list, added in order and left out one at a time.

A *stage* maps a list of results to a list of results. A *list* here is the tuple of ids that the agent would get.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from memaudit.evaluation.runs import Ranking

Lists = Mapping[str, tuple[str, ...]]

#: Arms that hold the whole pipeline, beside arms without a stage.
_WHOLE = ("full", "all", "pipeline", "production", "baseline")
_WITHOUT = re.compile(r"^(?:without|no|minus)[ _:\-]+(.+)$|^-(.+)$", re.IGNORECASE)


@dataclass(frozen=True)
class StageEffect:
    """What one stage does.

    Parameters
    ----------
    name
        Of the stage.
    n
        Queries compared.
    changed_in_order
        Queries whose list it changes where it stands in the pipeline; None where that was not seen.
    changed_without
        Queries whose final list changes when it is left out; None where that was not seen.
    failed
        Queries on which it raised or returned no list; they are not compared.
    before, without
        Final lists with the whole pipeline and without the stage; None where that was not seen.
    ms
        Median time of a call; None where it was not measured.
    """

    name: str
    n: int
    changed_in_order: tuple[str, ...] | None
    changed_without: tuple[str, ...] | None
    failed: tuple[str, ...] = ()
    before: Lists | None = None
    without: Lists | None = None
    ms: float | None = None

    @property
    def changed(self) -> tuple[str, ...]:
        """Queries with any list changed, in the order of the queries."""
        return tuple(dict.fromkeys((*(self.changed_in_order or ()), *(self.changed_without or ()))))


def changed_lists(a: Lists, b: Lists) -> tuple[str, ...]:
    """Name the queries of both whose lists differ, in the order of `a`."""
    return tuple(q for q, own in a.items() if q in b and own != b[q])


# -- recorded arms --------------------------------------------------------------------------------


def recorded_stages(
    arms: Mapping[str, Mapping[str, Ranking]], stages: Sequence[str] | None = None
) -> tuple[StageEffect, ...]:
    """Read the effect of stages from recorded rankings.

    Parameters
    ----------
    arms
        Arm -> query -> ranking.
    stages
        Names of arms that hold the list after each stage, in order; None to look for arms without a stage only.

    Returns
    -------
    Stages after the first one (which has nothing before it), and stages `X` with an arm `without X` (`no_X`, `-X`)
    beside an arm `full`; empty where there is neither. A query is compared where either of both arms returned
    something.
    """
    found: dict[str, StageEffect] = {}
    order = [name for name in stages or () if name in arms]
    if len(order) > 1 and len(order) == len(stages or ()):
        for before, name in itertools.pairwise(order):
            a, b = _lists(arms[before], arms[name])
            found[name] = StageEffect(name, len(a), changed_lists(a, b), None, ms=_latency(arms[name]))
    whole, less = arms_without(tuple(arms))
    if whole is not None:
        for arm, name in less.items():
            a, b = _lists(arms[whole], arms[arm])
            seen = found.get(name)
            found[name] = StageEffect(
                name, len(a), seen.changed_in_order if seen else None, changed_lists(a, b), before=a, without=b,
                ms=seen.ms if seen else None,
            )  # fmt: skip
    return tuple(found.values())


def arms_without(arms: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Name the arm with everything, and the arms that lack a part: arm -> part (`without_owner` -> `owner`)."""
    whole = next((arm for arm in arms if arm.lower() in _WHOLE), None)
    found = {arm: match[1] or match[2] for arm in arms if (match := _WITHOUT.match(arm)) is not None}
    return whole, found


def stage_arms(arms: Sequence[str], stages: Sequence[str] | None = None) -> frozenset[str]:
    """Name the arms that are parts of one pipeline (what :func:`recorded_stages` reads), not variants to choose from."""
    listed = {name for name in stages or () if name in arms}
    whole, less = arms_without(arms)
    return frozenset(listed | (set(less) if whole is not None else set()))


def _lists(a: Mapping[str, Ranking], b: Mapping[str, Ranking]) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    queries = [q for q in a if q in b and (a[q].ids or b[q].ids)]
    return {q: a[q].ids for q in queries}, {q: b[q].ids for q in queries}


def _latency(arm: Mapping[str, Ranking]) -> float | None:
    times = [r.latency_ms for r in arm.values() if r.latency_ms is not None]
    return median(times) if times else None


# -- stages that can be called --------------------------------------------------------------------


def run_stages(
    stages: Sequence[str],
    start: Mapping[str, list[Any]],
    call: Callable[[str, Sequence[tuple[str, list[Any]]]], Sequence[tuple[list[Any] | None, float]]],
    ids: Callable[[list[Any]], tuple[str, ...]],
    k: int,
) -> tuple[StageEffect, ...]:
    """Run a pipeline in order, and once more without each stage.

    Parameters
    ----------
    stages
        Names in order.
    start
        Query id -> results before the first stage.
    call
        Runs one stage on many (query id, results) at once: one entry a pair, None where the stage raised or returned
        no list.
    ids
        Ids of a list of results.
    k
        Results that the agent gets: final lists are compared down to here.

    Returns
    -------
    One effect a stage. In order, whole lists are compared; left out, the first k of the final lists. A query on which
    any stage failed is compared for no stage behind it.
    """
    # Pipelines run side by side: the whole one (None) and the one without stage i; level by level, one batch a stage.
    lists: dict[int | None, dict[str, list[Any]]] = {None: dict(start)}
    in_order: list[tuple[str, ...]] = []
    compared: list[int] = []
    failed: list[tuple[str, ...]] = []
    times: list[float | None] = []
    for number, stage in enumerate(stages):
        lists[number] = dict(lists[None])
        jobs = [(line, q) for line in lists if line != number for q in lists[line]]
        answers = call(stage, [(q, lists[line][q]) for line, q in jobs])
        after: dict[int | None, dict[str, list[Any]]] = {line: {} for line in lists if line != number}
        own: list[float] = []
        for (line, q), (value, ms) in zip(jobs, answers, strict=True):
            if value is not None:
                after[line][q] = value
            if line is None:
                own.append(ms)
        before = lists[None]
        in_order.append(tuple(q for q, new in after[None].items() if ids(new) != ids(before[q])))
        compared.append(len(after[None]))
        failed.append(tuple(q for q in before if q not in after[None]))
        times.append(median(own) if own else None)
        lists |= after
    final = {line: {q: ids(own)[:k] for q, own in queries.items()} for line, queries in lists.items()}
    whole = final[None]
    effects = []
    for number, stage in enumerate(stages):
        both = {q: own for q, own in whole.items() if q in final[number]}
        without = {q: final[number][q] for q in both}
        effects.append(
            StageEffect(
                stage, compared[number], in_order[number], changed_lists(both, without), failed[number], both, without,
                times[number],
            )
        )  # fmt: skip
    return tuple(effects)
