"""What a value can be: filled, empty or None, each with how sure we are.

A :class:`Value` is a tuple of :class:`Part`, one for each place it can come from. Each part says for the
three states (a true value, a false value that is not None, None) whether it can be in that state: `NO`,
`PERHAPS` (nobody knows) or `YES`. Truthiness and None-ness are two readings of the same three levels,
so that an empty list is never taken for None.

Facts about truthiness last only as long as the object cannot change: a part that is not known to be
immutable and that somebody else can hold is *aged* by every call, see :func:`aged`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from operator import is_
from typing import Any

from memaudit.guards.result import Producer
from memaudit.wording import say

NO, PERHAPS, YES = 0, 1, 2

#: Kinds whose truthiness cannot change. A leading `~` is an annotation's word only: enough to say that
#: nobody empties the object, never enough to say what a method of it returns.
IMMUTABLE = frozenset({"str", "num", "bool", "bytes", "tuple", "object", "opaque", "~str", "~num", "~bool", "~bytes"})
GROWING_KINDS = frozenset({"list", "dict", "set"})


class Truth(Enum):
    """Truthiness of a value."""

    NONEMPTY = "nonempty"
    EMPTY = "empty"
    MAYBE = "maybe"
    UNKNOWN = "unknown"


class Noneness(Enum):
    """Whether a value is None."""

    NONE = "none"
    NOT_NONE = "not-none"
    MAYBE = "maybe"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """Where a part comes from.

    Parameters
    ----------
    line
        Line of the assignment or call; 0 for a parameter.
    function, param
        For the value that a parameter has on entry: the function (compared by identity) and the name.
    producer
        The function whose result it is.
    fill
        It was stored by an earlier guard on the same name.
    """

    line: int = 0
    function: Any = None
    param: str = ""
    producer: Producer | None = None
    fill: bool = False


@dataclass(frozen=True)
class Part:
    """What a value can be when it comes from one place.

    Parameters
    ----------
    filled, empty, none
        `NO`, `PERHAPS` or `YES` for: true; false but not None; None. For a parameter's value on entry
        these are a mask: the states that can still arrive here.
    kind
        `str`, `num`, `list`, ... or "" when not known; see `IMMUTABLE`.
    shared
        Somebody else may hold the object, so that any call may change it.
    stale
        A parameter's value that may have been changed since entry (if it is mutable).
    reason
        Why a level is `PERHAPS`.
    owner
        The class it is an instance of, when known.
    literal
        The constant, or the syntax node of a dict literal; None when not known.
    items
        The values of a tuple's elements, one by one; None when not known.
    """

    filled: int
    empty: int
    none: int
    kind: str = ""
    shared: bool = False
    stale: bool = False
    reason: str = ""
    owner: Any = None
    literal: Any = None
    origin: Origin | None = None
    items: tuple[Value, ...] | None = None

    @property
    def falsy(self) -> int:
        """Level of "is false"."""
        return max(self.empty, self.none)

    @property
    def not_none(self) -> int:
        """Level of "is not None"."""
        return max(self.filled, self.empty)

    @property
    def steady(self) -> bool:
        """Whether no call can change its truthiness."""
        return self.kind in IMMUTABLE or (not self.filled and not self.empty)


Value = tuple[Part, ...]


def filled(kind: str = "", **more: Any) -> Value:
    """Give a value that is always true."""
    return (Part(YES, NO, NO, kind, **more),)


def empty(kind: str = "", **more: Any) -> Value:
    """Give a value that is always false and not None."""
    return (Part(NO, YES, NO, kind, **more),)


def maybe(kind: str = "", none: int = NO) -> Value:
    """Give a value that can be true or false."""
    return (Part(YES, YES, none, kind),)


class Unfollowed(str):
    """Reason for which the body of a method is not looked into: nobody knows which method it is."""

    __slots__ = ()


def unknown(reason: str, none: int = PERHAPS, kind: str = "") -> Value:
    """Give a value of which nothing is known; the object may be held by others."""
    return (Part(PERHAPS, PERHAPS, none, kind, shared=True, reason=reason),)


NONE: Value = (Part(NO, NO, YES),)


def parameter(function: Any, name: str, kind: str, stale: bool) -> Value:
    """Give the value a parameter has on entry: everything that the callers pass."""
    origin = Origin(function=function, param=name)
    return (Part(PERHAPS, PERHAPS, PERHAPS, kind, shared=True, stale=stale, origin=origin),)


def join(*values: Value) -> Value:
    """Give a value that can be any of `values`; parts of the same origin are merged."""
    if len(values) == 2 and (values[0] is values[1] or not values[1]):
        return values[0]
    merged: dict[Origin | None, Part] = {}
    for value in values:
        for part in value:
            seen = merged.get(part.origin)
            if seen is None:
                merged[part.origin] = part
            elif seen is not part and seen != part:
                merged[part.origin] = _merged(seen, part)
    return tuple(merged.values())


def _merged(one: Part, two: Part) -> Part:
    kind = one.kind
    if one.kind != two.kind:
        # None beside a text is still a text: the None state has a level of its own.
        if not one.not_none:
            kind = two.kind
        elif two.not_none:
            kind = ""
    return Part(
        max(one.filled, two.filled),
        max(one.empty, two.empty),
        max(one.none, two.none),
        kind,
        one.shared or two.shared,
        one.stale or two.stale,
        one.reason or two.reason,
        one.owner if one.owner is two.owner else None,
        one.literal if one.literal is two.literal else None,
        one.origin,
        _joined_items(one, two),
    )


def _joined_items(one: Part, two: Part) -> tuple[Value, ...] | None:
    if not one.not_none or not two.not_none:  # None has no elements: those of the other are all there are
        return two.items if two.not_none else one.items
    if one.items is None or two.items is None or len(one.items) != len(two.items):
        return None
    return tuple(join(first, second) for first, second in zip(one.items, two.items, strict=True))


def elements(value: Value, count: int) -> list[Value] | None:
    """Give what each element of a tuple can be that is taken apart into `count`; None when not known."""
    known = [part.items for part in value if part.not_none]
    if not known or any(items is None or len(items) != count for items in known):
        return None
    return [join(*column) for column in zip(*(items for items in known if items is not None), strict=True)]


def tuple_items(values: Iterable[Value]) -> tuple[Value, ...]:
    """Give the elements of a tuple as a caller may know them: what cannot change and is no parameter."""
    kept = []
    for value in values:
        plain = all(part.steady and (part.origin is None or not part.origin.param) for part in value)
        changing = unknown(say("unpacked from a container"))
        kept.append(join(tuple(replace(part, origin=None) for part in value)) if value and plain else changing)
    return tuple(kept)


def _kept(parts: Iterable[Part]) -> Value:
    return tuple(part for part in parts if part.filled or part.empty or part.none)


def when_true(value: Value) -> Value:
    """Give what is left of a value where it is true; () where it never is."""
    return _kept(replace(part, empty=NO, none=NO) if part.falsy else part for part in value)


def when_false(value: Value) -> Value:
    """Give what is left of a value where it is false."""
    return _kept(replace(part, filled=NO) if part.filled else part for part in value)


def when_none(value: Value) -> Value:
    """Give what is left of a value where it is None."""
    return _kept(replace(part, filled=NO, empty=NO) if part.not_none else part for part in value)


def when_not_none(value: Value) -> Value:
    """Give what is left of a value where it is not None."""
    return _kept(replace(part, none=NO) if part.none else part for part in value)


def aged_part(part: Part, reason: str) -> Part:
    """Give a part after a call that may have changed the object it stands for."""
    if part.steady or not part.shared:
        return part
    if part.origin is not None and part.origin.param:
        if part.stale and part.filled and part.empty:
            return part
        return replace(part, filled=PERHAPS, empty=PERHAPS, stale=True)
    if part.filled and part.empty:
        return part
    return replace(
        part,
        filled=part.filled or PERHAPS,
        empty=part.empty or PERHAPS,
        reason=part.reason or reason,
        literal=None,
    )


def mapped(value: Value, change: Callable[[Part], Part]) -> Value:
    """Apply `change` to each part; the same object comes back when nothing changed."""
    changed = tuple(map(change, value))
    return value if all(map(is_, changed, value)) else changed


def aged(value: Value, reason: str = "") -> Value:
    """Give a value after a call: what is shared and can change may now be filled or empty."""
    why = reason or say("it may have been changed by a call")
    return mapped(value, lambda part: aged_part(part, why))


def shared(value: Value) -> Value:
    """Give a value that others can hold from now on."""
    return mapped(value, lambda part: part if part.shared or part.steady else replace(part, shared=True))


def restricted(value: Value, mask: Part) -> Value:
    """Give what of an argument's value can still be there behind a parameter part.

    Parameters
    ----------
    value
        What a caller passes.
    mask
        The parameter's part at the place asked about: states that can arrive, and whether the object
        may have been changed since.
    """
    if mask.stale:
        value = aged(shared(value), say("it may have been changed before the guard"))
    open_mask = mask.filled and mask.empty and mask.none
    return _kept(
        part
        if open_mask and (part.shared or part.steady)
        else replace(
            part,
            filled=part.filled if mask.filled else NO,
            empty=part.empty if mask.empty else NO,
            none=part.none if mask.none else NO,
            shared=part.shared or not part.steady,
        )
        for part in value
    )


def truth(value: Value) -> Truth:
    """Read the truthiness of a value; `UNKNOWN` for one without parts."""
    yes = max((part.filled for part in value), default=PERHAPS)
    no = max((part.falsy for part in value), default=PERHAPS)
    if not no:
        return Truth.NONEMPTY
    if not yes:
        return Truth.EMPTY
    return Truth.MAYBE if yes == no == YES else Truth.UNKNOWN


def noneness(value: Value) -> Noneness:
    """Read the None-ness of a value; `UNKNOWN` for one without parts."""
    yes = max((part.none for part in value), default=PERHAPS)
    no = max((part.not_none for part in value), default=PERHAPS)
    if not no:
        return Noneness.NONE
    if not yes:
        return Noneness.NOT_NONE
    return Noneness.MAYBE if yes == no == YES else Noneness.UNKNOWN
