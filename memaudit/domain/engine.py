"""Run the instrumented copy on assignments and remember what was seen."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from memaudit.domain.codec import Record, key_of, to_json
from memaudit.domain.guard import CallClock, CallTimeoutError
from memaudit.domain.preds import Event, Pred, PredKey
from memaudit.domain.trace import Recorder
from memaudit.domain.witnesses import Assignment, Builder
from memaudit.wording import say

_KEPT_REACH = 8
_KEPT_LOOKS = 400
_MAX_STEPS = 2_000
#: Conditions whose every literal must be seen true, and false once for the whole place.
TABLE_KINDS = frozenset({"member", "key"})
#: Look-ups that fail when the key is missing: only the hits are goals.
ENTRY_KINDS = frozenset({"entry", "index"})
#: Conditions judged by place, whatever the literal.
PLACE_KINDS = frozenset({"type", "none", "same", "truth"})


class StopSweepError(Exception):
    """The sweep must end now; the reason is its message."""


@dataclass(frozen=True)
class Outcome:
    """What one call did: `key` is the value as comparable text, None when it raised."""

    key: str | None
    value: Any
    error: str | None
    events: frozenset[Event]
    points: frozenset[int]
    exit: int | None


def drive(result: Any) -> Any:
    """Run a coroutine to its end without an event loop; anything else is given back."""
    if not inspect.iscoroutine(result):
        return result
    try:
        for _ in range(_MAX_STEPS):
            result.send(None)
    except StopIteration as stop:
        return stop.value
    finally:
        result.close()
    raise RuntimeError("the coroutine waits for something outside")


def call_untouched(call: Callable[..., Any], arguments: dict[str, Any], clock: CallClock) -> tuple[Any, str | None]:
    """Call with arguments by name (positional-only ones by position).

    Returns
    -------
    The value and None, or None and the exception in words.
    """
    try:
        return clock.run(lambda: drive(apply(call, (), arguments))), None
    except CallTimeoutError:
        return None, f"CallTimeout: ran longer than {clock.seconds:g} s"
    except BaseException as error:
        return None, words(error)


def words(error: BaseException) -> str:
    """Give an exception in one line."""
    try:
        text = " ".join(str(error)[:1000].split())[:200]  # in one line
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def apply(function: Callable[..., Any], before: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
    """Call by name; positional-only parameters by position."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    positional = code.co_varnames[: code.co_posonlyargcount] if code is not None else ()
    first = [arguments[name] for name in positional if name in arguments]
    rest = {name: value for name, value in arguments.items() if name not in positional}
    return function(*before, *first, **rest)


class Engine:
    """Runs assignments; every call is made once.

    Parameters
    ----------
    copy
        Instrumented copy, unbound.
    before
        What binding puts in front of the arguments.
    """

    def __init__(
        self, copy: Callable[..., Any], before: tuple[Any, ...], builder: Builder, recorder: Recorder,
        clock: CallClock, deadline: float, max_calls: int,
    ) -> None:  # fmt: skip
        self.builder, self.recorder = builder, recorder
        self._copy, self._before, self._clock = copy, before, clock
        self._deadline, self._max_calls = deadline, max_calls
        self.cache: dict[tuple[Assignment, int | str], Outcome] = {}
        self.seen: dict[Event, Assignment] = {}
        self.place_seen: set[tuple[int, str, bool]] = set()
        self.reach: dict[PredKey, list[Assignment]] = {}
        self.place_reach: dict[int, list[Assignment]] = {}
        self.points: set[int] = set()
        self.errors: dict[str, int] = {}
        #: Texts that each place looked into, by call, for the first calls: equal texts make two places one.
        self.looked: dict[int, dict[int, tuple[str, ...]]] = {}
        #: The only inputs that work have types that nothing in the code tells.
        self.odd_is_usual = False
        self.n_calls = self.n_ok = self._timeouts = 0

    def both(self, assignment: Assignment) -> Outcome:
        """Run with both marker sets; gives the outcome under the first."""
        first = self.run(assignment, 0)
        self.run(assignment, 1)
        return first

    def run(self, assignment: Assignment, variant: int | str) -> Outcome:
        """Run one call, or give what it gave before.

        Raises
        ------
        StopSweepError
            Out of time or calls, or the target hangs.
        """
        found = self.cache.get((assignment, variant))
        if found is not None:
            return found
        if self.n_calls >= self._max_calls:
            raise StopSweepError(say("the limit of {max_calls} calls was reached", max_calls=self._max_calls))
        if time.monotonic() > self._deadline:
            raise StopSweepError(say("the time limit was reached before all inputs were tried"))
        outcome = self._call(assignment, variant)
        self.cache[(assignment, variant)] = outcome
        self._remember(assignment, outcome)
        return outcome

    def _call(self, assignment: Assignment, variant: int | str) -> Outcome:
        arguments, texts = self.builder.arguments(assignment, variant)
        recorder = self.recorder
        number = variant if isinstance(variant, int) else 1
        ints = {v for v in texts.values() if isinstance(v, int) and not isinstance(v, bool)}
        ids = {id(value) for value in containers(arguments.values())}
        odd = not self.odd_is_usual and any(choice[0] == "wild" for _, choice in assignment)
        exact = any(choice[0] in ("lit", "size", "len") for _, choice in assignment)
        recorder.start(number, self._marker_list(texts, variant), ints, ids, odd=odd, exact=exact)
        self.n_calls += 1
        value, error = None, None
        try:
            value = self._clock.run(lambda: drive(apply(self._copy, self._before, arguments)))
        except CallTimeoutError:
            self._timeouts += 1
            error = f"CallTimeout: ran longer than {self._clock.seconds:g} s"
        except BaseException as raised:
            error = words(raised)
        events, points = frozenset(recorder.events), frozenset(recorder.points)
        if self.n_calls <= _KEPT_LOOKS:
            for site, texts_seen in recorder.haystacks.items():
                self.looked.setdefault(site, {})[self.n_calls] = tuple(dict.fromkeys(texts_seen))
        if error is not None:
            self.errors[error] = self.errors.get(error, 0) + 1
            if self._timeouts >= 3:
                raise StopSweepError(
                    say("3 calls ran longer than {seconds:g} s each", seconds=float(self._clock.seconds))
                )
            return Outcome(None, None, error, events, points, None)
        self.n_ok += 1
        encoded = to_json(value)
        return Outcome(key_of(encoded), encoded, None, events, points, recorder.exit)

    def _marker_list(self, texts: dict[str, Any], variant: int | str) -> list[tuple[str, str]]:
        markers = self.builder.markers
        found = []
        for path, text in texts.items():
            path = path.rstrip("#")
            if isinstance(text, str):
                number = self.builder._variant(path, variant)
                found += [(path, markers.word(path, number, kind).lower()) for kind in ("word", "cjk", "digits")]
        return found

    def _remember(self, assignment: Assignment, outcome: Outcome) -> None:
        self.points |= outcome.points
        for event in outcome.events:
            if event not in self.seen:
                self.seen[event] = assignment
                self.place_seen.add((event[0], event[1], event[3]))
            for kept in (self.reach.setdefault(event[:3], []), self.place_reach.setdefault(event[0], [])):
                if len(kept) < _KEPT_REACH and assignment not in kept:
                    kept.append(assignment)

    def lift_limits(self, extra_s: float) -> None:
        """Allow some more time and calls, to sort what was found."""
        self._deadline = time.monotonic() + extra_s
        self._max_calls = self.n_calls + 10_000

    # -- goals ------------------------------------------------------------------------------------------
    def stable(self, pred: Pred) -> bool:
        """Tell whether the literal is the target's own: seen with both marker sets, on usual inputs."""
        return pred.usual and {0, 1} <= pred.variants

    def goals(self) -> list[tuple[Pred, bool]]:
        """List what must still be seen: each condition true and false, each table key found."""
        out = []
        starred: set[tuple[int, str]] = set()
        for pred in list(self.recorder.preds.values()):
            if pred.kind in ("has-key", "part") or not pred.usual:
                continue
            by_place = pred.kind in PLACE_KINDS or not self.stable(pred)
            for wanted in (True, False):
                if not wanted and pred.kind in ENTRY_KINDS:
                    continue
                if by_place or (not wanted and pred.kind in TABLE_KINDS):
                    if pred.kind in TABLE_KINDS | ENTRY_KINDS and wanted:
                        continue
                    done = (pred.site, pred.kind, wanted) in self.place_seen
                    name = (pred.site, f"{pred.kind}{wanted}")
                    if done or name in starred:
                        continue
                    starred.add(name)
                elif (*pred.key, wanted) in self.seen:
                    continue
                out.append((pred, wanted))
        return out

    def reached(self, pred: Pred, wanted: bool) -> bool:
        """Tell whether a goal has been seen."""
        if pred.kind in PLACE_KINDS or not self.stable(pred) or (not wanted and pred.kind in TABLE_KINDS):
            return (pred.site, pred.kind, wanted) in self.place_seen
        return (*pred.key, wanted) in self.seen

    def same_text(self, first: int, second: int) -> bool:
        """Tell whether two places looked into the same texts in every call that came to both."""
        if first == second:
            return True
        one, two = self.looked.get(first, {}), self.looked.get(second, {})
        common = one.keys() & two.keys()
        return bool(common) and all(one[call] == two[call] for call in common)

    def bases(self, pred: Pred) -> list[Assignment]:
        """Give assignments that came to a condition."""
        found = [*self.reach.get(pred.key, ()), *self.place_reach.get(pred.site, ())]
        return list(dict.fromkeys(found))


def containers(values: Iterable[Any]) -> Iterable[Any]:
    """Give every list, tuple, set and dict in the arguments."""
    for value in values:
        if isinstance(value, (list, tuple, set)):
            yield value
            yield from containers(value)
        elif isinstance(value, dict):
            yield value
            yield from containers(value.values())
        elif isinstance(value, Record):
            yield from containers(vars(value).values())
