"""Which value the function gives when none of its keywords holds."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps
from typing import Any

from memaudit.domain.engine import Engine, Outcome
from memaudit.domain.forms import Form, Value, form_pattern
from memaudit.domain.preds import HIT_KINDS, Event
from memaudit.domain.sites import Tables
from memaudit.domain.witnesses import Assignment, with_choice

_TABLE_HITS = frozenset({"member", "key", "entry", "element", "compound"})


@dataclass
class Fallback:
    """The fallback of a target.

    Parameters
    ----------
    values
        Keys of fixed values.
    forms
        Texts of forms.
    points
        Statements that run on the way to it.
    separable
        Whether no keyword leads to the same value; None when there is no fallback.
    """

    values: list[str]
    forms: list[str]
    points: set[int]
    separable: bool | None
    neutral: frozenset[Event] = frozenset()

    def taken(self, outcome: Outcome, fixed_key: str | None, form_text: str | None) -> bool:
        """Tell whether a call ended on the fallback."""
        if fixed_key not in self.values and form_text not in self.forms:
            return False
        hits = [event[1] for event in outcome.events - self.neutral if event[3] and event[1] in HIT_KINDS]
        if not hits:
            return True
        return outcome.points <= self.points and not _TABLE_HITS & set(hits)


def find_fallback(engine: Engine, base: Assignment, fixed: list[Value], forms: list[Form], tables: Tables) -> Fallback:
    """Give the values of the neutral input and of the `except` parts.

    A target without keywords has no fallback; nor has one whose neutral input raises.
    """
    none = Fallback([], [], set(), None)
    if not any(p.kind in HIT_KINDS and engine.stable(p) for p in engine.recorder.preds.values()):
        return none
    for leaf in engine.builder.leaves:
        if leaf.kind == "choice":  # every declared value is a criterion; neutral is a value outside
            base = with_choice(base, leaf.path, ("wild", "text", None), engine.builder.defaults)
    start = engine.both(base)
    if start.key is None:
        return none
    neutral = start.events | engine.run(base, 1).events
    points = set(start.points) | set(engine.run(base, 1).points)
    outcomes = [o for (_, variant), o in engine.cache.items() if variant == 0 and o.key is not None]
    handlers = {i for i, point in enumerate(tables.points) if point.in_handler}
    falling = [start]
    for outcome in outcomes:
        if outcome.points & handlers and not _hits(outcome, neutral):
            falling.append(outcome)
            points |= outcome.points
    known = {value.key for value in fixed}
    result = Fallback([], [], points, True, neutral)
    for outcome in falling:
        form = None if outcome.key in known else form_of(outcome.value, forms)
        if outcome.key in known and outcome.key not in result.values:
            result.values.append(str(outcome.key))
        elif form is not None and form.text not in result.forms:
            result.forms.append(form.text)
    for outcome in outcomes:
        if _hits(outcome, neutral) and (outcome.key in result.values or _in_forms(outcome, forms, result)):
            key = outcome.key if outcome.key in known else None
            if not result.taken(outcome, key, result.forms[0] if key is None and result.forms else None):
                result.separable = False
                break
    if not result.values and not result.forms:
        return none
    return result


def form_of(value: Any, forms: list[Form]) -> Form | None:
    """Find the form with the most constant text that a value is an instance of."""
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False, sort_keys=True)
    fitting = [form for form in forms if form_pattern(form.parts).fullmatch(text)]
    return max(fitting, key=lambda f: sum(len(t) for hole, t in f.parts if not hole), default=None)


def _in_forms(outcome: Outcome, forms: list[Form], fallback: Fallback) -> bool:
    form = form_of(outcome.value, forms) if fallback.forms else None
    return form is not None and form.text in fallback.forms


def _hits(outcome: Outcome, neutral: frozenset[Event]) -> bool:
    """Tell whether a criterion held that does not hold for the neutral input (tables of labels do)."""
    return any(held and kind in HIT_KINDS for _, kind, _, held in outcome.events - neutral)
