"""Judge a guard by the values that reach it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memaudit.guards.callers import Callers, Entry
from memaudit.guards.find import IS_NONE, MISSING, Form
from memaudit.guards.lattice import NO, YES, Part, Value, restricted, unknown
from memaudit.guards.result import (
    ALWAYS,
    DEAD,
    PARTIAL,
    REACHABLE,
    SIDE_DEAD,
    SIDE_LIVE,
    SIDE_UNKNOWN,
    UNKNOWN,
    Caller,
    Guard,
    Producer,
)
from memaudit.wording import plural, say


@dataclass(frozen=True)
class _Feed:
    """One thing that feeds a guard: a caller's argument, an assignment, or a hidden way to call.

    Parameters
    ----------
    enters, misses
        Levels of "the branch is entered" and "it is not".
    sure
        It does reach the guard's function (a call of an ambiguous name may not).
    caller
        It is a call (or a hidden way to call), not an assignment.
    """

    file: str
    line: int
    enters: int
    misses: int
    caller: bool
    sure: bool = True
    reason: str = ""
    fill: bool = False
    producers: tuple[Producer, ...] = ()
    entry: Entry | None = None

    @property
    def side(self) -> str:
        if self.enters == NO:
            return SIDE_DEAD
        return SIDE_LIVE if self.enters == YES and self.sure else SIDE_UNKNOWN

    @property
    def always(self) -> bool:
        return self.sure and self.enters == YES and self.misses == NO


def judge(form: Form, value: Value | None, callers: Callers) -> Guard:
    """Give the verdict on one guard.

    Parameters
    ----------
    value
        Everything its operand can be where it stands; None when the analysis never got there.
    """
    if form.unit.runs_code:
        return _guard(form, UNKNOWN, say("exec, eval, locals or vars stand in the same function"))
    if not value:
        return _guard(form, UNKNOWN, say("the analysis does not get to this line"))
    if form.asks == MISSING:
        return _judge_key(form, value)
    feeds: list[_Feed] = []
    for part in value:
        feeds += _feeds(form, part, callers)
    return _decide(form, feeds)


def _levels(form: Form) -> Callable[[Value], tuple[int, int]]:
    if form.asks == IS_NONE:
        return lambda value: (_top(p.none for p in value), _top(p.not_none for p in value))
    return lambda value: (_top(p.falsy for p in value), _top(p.filled for p in value))


def _top(levels: Iterable[int]) -> int:
    return max(levels, default=NO)


def _feeds(form: Form, part: Part, callers: Callers) -> list[_Feed]:
    levels, file = _levels(form), form.unit.module.file
    origin = part.origin
    if origin is None or not origin.param:
        enters, misses = levels((part,))
        line = form.line if origin is None else origin.line
        producers = (origin.producer,) if origin is not None and origin.producer is not None else ()
        filled = origin is not None and origin.fill
        return [_Feed(file, line, enters, misses, False, True, part.reason, filled, producers)]
    enters, misses = levels(restricted(unknown(""), part))
    if enters == NO:  # whatever is passed: a test on the way has sorted it out
        return [_Feed(file, form.line, NO, misses, False, True, say("tested before"))]
    found = callers.entries(origin.function, origin.param)
    feeds: list[_Feed] = []
    for entry in found.entries:
        value = restricted(entry.value, part)
        if not value:
            continue  # what this caller passes never gets as far as the guard
        enters, misses = levels(value)
        reason = entry.doubt or next((p.reason for p in value if p.reason), "")
        made = tuple(
            sorted(
                {p.origin.producer for p in value if p.origin is not None and p.origin.producer is not None},
                key=lambda producer: (producer.file, producer.line),
            )
        )
        feeds.append(_Feed(entry.file, entry.line, enters, misses, True, not entry.doubt, reason, False, made, entry))
    for doubt in found.doubts:
        value = restricted(unknown(doubt.reason), part)
        if value:
            enters, misses = levels(value)
            feeds.append(_Feed(doubt.file, doubt.line, enters, misses, True, True, doubt.reason))
    if not found.entries and not found.doubts:
        for one in callers.uncalled(origin.function, origin.param):
            value = restricted(one, part)
            if value:
                enters, misses = levels(value)
                reason = next((p.reason for p in value if p.reason), "")
                line = origin.function.node.lineno
                feeds.append(_Feed(file, line, enters, misses, False, True, reason))
    return feeds


def _decide(form: Form, feeds: list[_Feed]) -> Guard:
    shown = _shown([feed for feed in feeds if feed.caller])
    dead = [feed for feed in feeds if feed.side == SIDE_DEAD]
    live = [feed for feed in feeds if feed.side == SIDE_LIVE]
    hidden = [feed for feed in feeds if feed.side == SIDE_UNKNOWN]
    calls = [feed for feed in feeds if feed.caller]
    producer = _one(feed.producers for feed in feeds)
    if not feeds:
        return _guard(form, UNKNOWN, say("no value gets to this line"))
    if not live and not hidden:
        return _decide_dead(form, feeds, calls, shown, producer)
    if any(feed.caller for feed in dead) and any(feed.caller for feed in live):
        n_dead = len({(f.file, f.line) for f in dead if f.caller and f.sure})
        n_live = len({(f.file, f.line) for f in live if f.caller})
        if n_dead:
            reason = say(
                "{dead} can never enter the branch, {live} can",
                dead=plural(n_dead, "caller"),
                live=plural(n_live, "caller"),
            )
            return _guard(form, PARTIAL, reason, shown, producer)
    # The guard's own fallback of an earlier turn of a loop is no other path.
    fills = [f for f in dead if f.fill and not f.caller and not form.line <= f.line <= form.end_line]
    if fills and live and not calls:
        reason = say(
            "never entered where line {line} filled it before; can be entered otherwise",
            line=str(fills[0].line),
        )
        return _guard(form, PARTIAL, reason, _shown(feeds), _one(feed.producers for feed in fills))
    if live:
        if calls == feeds and not form.conditional and all(feed.always for feed in feeds):
            n_calls = len({(feed.file, feed.line) for feed in feeds})
            if n_calls == 1:
                reason = say("the only caller in this tree always enters the branch")
            else:
                reason = say("all {n} callers in this tree always enter the branch", n=n_calls)
            return _guard(form, ALWAYS, reason, shown)
        return _guard(form, REACHABLE, _why_live(form, live), shown)
    return _guard(form, UNKNOWN, _main_reason(hidden), shown)


def _decide_dead(
    form: Form,
    feeds: list[_Feed],
    calls: list[_Feed],
    shown: tuple[Caller, ...],
    producer: Producer | None,
) -> Guard:
    if calls and not any(feed.sure for feed in calls):
        return _guard(form, UNKNOWN, _main_reason(calls), shown)
    never = say("None") if form.asks == IS_NONE else say("empty")
    if calls:
        n_calls = len({(feed.file, feed.line) for feed in calls})
        if n_calls == 1:
            reason = say("never {never}: the only caller in this tree passes something else", never=never)
        else:
            reason = say("never {never}: all {n} callers in this tree pass something else", never=never, n=n_calls)
        return _guard(form, DEAD, reason, shown, producer)
    if producer is not None:
        reason = say(
            "never {never}: {function}() in {file}:{line} always returns something else in this tree",
            never=never,
            function=producer.function,
            file=producer.file,
            line=str(producer.line),
        )
    elif all(feed.reason == say("tested before") for feed in feeds):
        reason = say("never {never}: a test on the way here rules it out", never=never)
    else:
        lines = sorted({feed.line for feed in feeds})
        reason = say(
            "never {never}: every assignment that gets here says otherwise (line {lines})",
            never=never,
            lines=", ".join(map(str, lines)),
        )
    return _guard(form, DEAD, reason, shown, producer)


def _judge_key(form: Form, value: Value) -> Guard:
    part = value[0]
    literal = part.literal if len(value) == 1 else None
    if not isinstance(literal, ast.Dict) or None in literal.keys or not isinstance(form.key, ast.Constant):
        return _guard(form, UNKNOWN, say("which keys the mapping holds is not known"))
    wanted = form.key.value
    keys = [key.value for key in literal.keys if isinstance(key, ast.Constant)]
    if any(type(key) is type(wanted) and key == wanted for key in keys):
        return _guard(form, DEAD, say("the key is in the mapping since line {line}", line=str(literal.lineno)))
    if len(keys) == len(literal.keys):
        return _guard(form, REACHABLE, say("the mapping does not hold the key"))
    return _guard(form, UNKNOWN, say("which keys the mapping holds is not known"))


def _guard(
    form: Form,
    verdict: str,
    reason: str,
    callers: tuple[Caller, ...] = (),
    producer: Producer | None = None,
) -> Guard:
    return Guard(
        file=form.unit.module.file,
        line=form.line,
        function=form.unit.qualname,
        form=form.form,
        target=form.target,
        asks=form.asks,
        fallback=form.fallback,
        verdict=verdict,
        reason=reason,
        callers=callers,
        producer=producer,
        into=form.into,
    )


def _shown(feeds: Iterable[_Feed]) -> tuple[Caller, ...]:
    """Give one entry for each place, the less certain side first where a place has two."""
    rank = {SIDE_UNKNOWN: 0, SIDE_LIVE: 1, SIDE_DEAD: 2}
    found: dict[tuple[str, int], Caller] = {}
    for feed in sorted(feeds, key=lambda feed: rank[feed.side]):
        reason = feed.reason if feed.side == SIDE_UNKNOWN else ""
        function = "" if feed.entry is None else feed.entry.function
        passes = () if feed.entry is None else feed.entry.passes
        caller = Caller(feed.file, feed.line, feed.side, reason, function, passes)
        found.setdefault((feed.file, feed.line), caller)
    return tuple(found[place] for place in sorted(found))


def _one(groups: Iterable[tuple[Producer, ...]]) -> Producer | None:
    found = {producer for group in groups for producer in group}
    return found.pop() if len(found) == 1 else None


def _why_live(form: Form, live: list[_Feed]) -> str:
    feed = live[0]
    what = say("None") if form.asks == IS_NONE else say("empty or None")
    if feed.caller:
        return say("can be {what}: a call in {file}:{line}", what=what, file=feed.file, line=str(feed.line))
    return say("can be {what}: line {line}", what=what, line=str(feed.line))


def _main_reason(hidden: list[_Feed]) -> str:
    reasons = Counter(feed.reason or say("nothing is known of the value") for feed in hidden)
    return reasons.most_common(1)[0][0]
