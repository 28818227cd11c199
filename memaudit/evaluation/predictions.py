"""Predictions written down before a run (rule R14): direction, size, and what must not move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from memaudit.errors import ConfigError
from memaudit.evaluation.figures import METRICS
from memaudit.evaluation.jsonl import Line, as_id, read_lines
from memaudit.wording import say

OPERATORS = ("<", "<=", ">", ">=", "==", "between", "unchanged")
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Prediction:
    """One prediction.

    Parameters
    ----------
    metric
        A name of :data:`memaudit.evaluation.figures.METRICS`, or `queries` (queries with a hit, as a count).
    k
        Cut-off; None for the configured one.
    category, arm
        Scope; None for all queries, and for the variant.
    op, value
        What is predicted; two numbers for `between`, none for `unchanged`.
    """

    id: str
    metric: str
    k: int | None
    category: str | None
    op: str
    value: tuple[float, ...]
    arm: str | None = None
    reason: str = ""

    def holds(self, observed: float) -> bool:
        """Say whether the figure observed is as predicted; `unchanged` is judged by single queries instead."""
        low = self.value[0]
        if self.op == "between":
            return low - _TOLERANCE <= observed <= self.value[1] + _TOLERANCE
        return {
            "<": observed < low - _TOLERANCE,
            "<=": observed <= low + _TOLERANCE,
            ">": observed > low + _TOLERANCE,
            ">=": observed >= low - _TOLERANCE,
            "==": abs(observed - low) <= _TOLERANCE,
        }[self.op]

    @property
    def shown(self) -> str:
        """The prediction in short: `<= 0.2`, `unchanged`."""
        if self.op == "unchanged":
            return "unchanged"
        if self.op == "between":
            return f"{self.value[0]:g} to {self.value[1]:g}"
        return f"{self.op} {self.value[0]:g}"


@dataclass(frozen=True)
class Predictions:
    """A file of predictions; `written` is the time the file was last changed (seconds since 1970)."""

    name: str
    sha256: str
    written: float
    predictions: tuple[Prediction, ...]


def read_predictions(path: Path) -> Predictions:
    """Read predictions, one a line.

    Raises
    ------
    ConfigError
        The file cannot be read or a line breaks the format; names file and line.
    """
    file = read_lines(path, say("file of predictions"), "predictions")
    return Predictions(file.name, file.sha256, path.stat().st_mtime, tuple(_prediction(line) for line in file.lines))


def _prediction(line: Line) -> Prediction:
    fields, place = line.fields, line.place
    for name in ("id", "metric", "op"):
        if name not in fields:
            raise ConfigError(
                say("{place}: the prediction has no {name}.", place=place, name=name),
                say("It needs id, metric, op and value."),
            )
    metric = str(fields["metric"]).lower()
    name, _, cut = metric.partition("@")
    if name not in METRICS and name != "queries":
        raise ConfigError(
            say(
                "{place}: metric is {fields}; expected {listed}.",
                place=place,
                fields=repr(fields["metric"]),
                listed=", ".join([*METRICS, "queries"]),
            )
        )
    k = fields.get("k", int(cut) if cut.isdigit() else None)
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise ConfigError(say("{place}: k is {k}; a whole number from 1 on was expected.", place=place, k=repr(k)))
    op = fields["op"]
    if op not in OPERATORS:
        raise ConfigError(
            say(
                "{place}: op is {op}; expected one of {operators}.",
                place=place,
                op=repr(op),
                operators=", ".join(OPERATORS),
            )
        )
    return Prediction(
        id=as_id(fields["id"], place, "id"),
        metric=METRICS.get(name, name),
        k=k,
        category=None if fields.get("category") is None else str(fields["category"]),
        op=op,
        value=_value(fields, op, place),
        arm=None if fields.get("arm") is None else str(fields["arm"]),
        reason=str(fields.get("reason", "")),
    )


def _value(fields: Mapping[str, Any], op: str, place: str) -> tuple[float, ...]:
    if op == "unchanged":
        return ()
    value = fields.get("value")
    listed: list[Any] = value if isinstance(value, list) else [value]
    wanted = 2 if op == "between" else 1
    numbers = [float(v) for v in listed if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(listed) != wanted or len(numbers) != wanted or not all(isfinite(v) for v in numbers):
        raise ConfigError(
            say(
                "{place}: value is {value}; {wanted} finite number(s) were expected for {op}.",
                place=place,
                value=repr(value),
                wanted=wanted,
                op=op,
            )
        )
    return tuple(numbers)
