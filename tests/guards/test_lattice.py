from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memaudit.guards.lattice import (
    NONE,
    Noneness,
    Part,
    Truth,
    Value,
    aged,
    empty,
    filled,
    join,
    maybe,
    noneness,
    restricted,
    shared,
    truth,
    unknown,
    when_false,
    when_none,
    when_not_none,
    when_true,
)

levels = st.integers(0, 2)
parts = st.builds(
    Part,
    levels,
    levels,
    levels,
    kind=st.sampled_from(["", "str", "list", "object"]),
    shared=st.booleans(),
    stale=st.booleans(),
)
values = st.lists(parts, max_size=4).map(lambda found: tuple(found))


def states(value: Value) -> set[str]:
    found = set()
    for part in value:
        found |= {name for name in ("filled", "empty", "none") if getattr(part, name)}
    return found


def test_the_two_readings_are_kept_apart() -> None:
    assert (truth(empty("list")), noneness(empty("list"))) == (Truth.EMPTY, Noneness.NOT_NONE)
    assert (truth(NONE), noneness(NONE)) == (Truth.EMPTY, Noneness.NONE)
    assert (truth(filled("str")), noneness(filled("str"))) == (Truth.NONEMPTY, Noneness.NOT_NONE)
    assert (truth(maybe("str")), noneness(maybe("str"))) == (Truth.MAYBE, Noneness.NOT_NONE)
    assert (truth(unknown("x")), noneness(unknown("x"))) == (Truth.UNKNOWN, Noneness.UNKNOWN)
    assert truth(join(filled(), unknown("x"))) is Truth.UNKNOWN
    assert noneness(join(filled(), NONE)) is Noneness.MAYBE
    assert (truth(()), noneness(())) == (Truth.UNKNOWN, Noneness.UNKNOWN)


@given(values, values)
def test_join_has_the_states_of_both(one: Value, two: Value) -> None:
    assert states(join(one, two)) == states(one) | states(two)
    assert states(join(one, two)) == states(join(two, one))


@given(values)
def test_narrowing_splits_the_states_without_losing_one(value: Value) -> None:
    assert states(when_true(value)) | states(when_false(value)) == states(value)
    assert states(when_none(value)) | states(when_not_none(value)) == states(value)
    assert states(when_true(value)) <= {"filled"}
    assert "none" not in states(when_not_none(value))


@given(values)
def test_ageing_only_adds_states(value: Value) -> None:
    assert states(value) <= states(aged(value))
    assert ("none" in states(value)) == ("none" in states(aged(value)))


def test_ageing_leaves_what_cannot_change() -> None:
    assert aged(shared(filled("str"))) == filled("str")
    assert truth(aged(filled("list"))) is Truth.NONEMPTY  # nobody else holds it
    assert truth(aged(shared(filled("list")))) is Truth.UNKNOWN


@given(values, parts)
def test_restricting_never_adds_a_state_that_cannot_come_by_change(value: Value, mask: Part) -> None:
    left = states(restricted(value, mask))
    allowed = {name for name in ("filled", "empty", "none") if getattr(mask, name)}
    assert left <= allowed
    if not mask.stale:
        assert left == states(value) & allowed
