"""Pickles are read, never loaded: what would run code is refused, and it does not run."""

from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.stores.plain_pickle import PlainObject, RefusedPickleError, read_plain_pickle

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


class Runs:
    """An object whose pickle runs a command when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@settings(max_examples=150, deadline=None)
@given(_VALUES, st.integers(3, 5))
def test_plain_values_when_pickled_then_read_back_equal(value: Any, protocol: int) -> None:
    # Below protocol 3 bytes are written as a call of `_codecs.encode`, which is refused.
    assert read_plain_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(6))
def test_text_and_numbers_when_of_any_protocol_then_read(protocol: int) -> None:
    value = {
        "text": "部署 needs 'approval'\n",
        "n": [1, -70000, 2**70, 1.5, True, None],
        "t": ((1,), (1, 2), (1, 2, 3, 4)),
    }
    assert read_plain_pickle(pickle.dumps(value, protocol)) == value


def test_shared_parts_and_sets_when_pickled_then_read() -> None:
    one = ["x"]
    assert read_plain_pickle(pickle.dumps([one, one, {"a", "b"}])) == [["x"], ["x"], {"a", "b"}]


@pytest.mark.parametrize("protocol", range(6))
def test_hostile_pickle_when_read_then_refused_and_it_does_not_run(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "ran"
    data = pickle.dumps({"payload": Runs(mark)}, protocol)
    with pytest.raises(RefusedPickleError):
        read_plain_pickle(data, frozenset({"posix.system", "nt.system"}))  # even when its name is allowed
    with pytest.raises(RefusedPickleError, match="it names"):
        read_plain_pickle(data)
    assert not mark.exists()
    pickle.loads(data)  # noqa: S301 - the same bytes do run when they are loaded: the test above is no accident
    assert mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",  # GLOBAL and REDUCE
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",  # STACK_GLOBAL
        b"(S'true'\nios\nsystem\n.",  # INST
        b"\x80\x02\x82\x01.",  # EXT1
        b"P0\n.",  # PERSID
        b"\x80\x05\x96\x04\x00\x00\x00\x00\x00\x00\x00abcd.",  # BYTEARRAY8
    ],
)
def test_instructions_that_are_not_plain_data_are_refused(data: bytes) -> None:
    list(pickletools.genops(data))  # well formed
    with pytest.raises(RefusedPickleError):
        read_plain_pickle(data, frozenset({"os.path"}))


@pytest.mark.parametrize("data", [b"", b".", b"\x80\x04", b"N", b"NN.", b"a.", b"h\x05.", b"(u.", b"\x80\x04]\x94Kb"])
def test_damaged_pickles_are_refused_not_crashed(data: bytes) -> None:
    with pytest.raises(RefusedPickleError):
        read_plain_pickle(data)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_when_read_then_plain_or_refused(data: bytes) -> None:
    with contextlib.suppress(RefusedPickleError):
        read_plain_pickle(data)


def test_bomb_of_shared_lists_is_refused() -> None:
    value: list[Any] = ["x"]
    for _ in range(40):  # 2 ** 40 values once written out, 40 lists in memory
        value = [value, value]
    with pytest.raises(RefusedPickleError, match="too many"):
        read_plain_pickle(pickle.dumps(value))
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(RefusedPickleError, match="too many"):
        read_plain_pickle(pickle.dumps(ring))


def test_number_of_too_many_digits_is_refused() -> None:
    assert read_plain_pickle(pickle.dumps(2**8000)) == 2**8000
    with pytest.raises(RefusedPickleError, match="too many digits"):
        read_plain_pickle(pickle.dumps(2**9000))


class Point:
    """Stands for a class of another package."""

    def __init__(self) -> None:
        self.payload = {"data": "text"}


def test_instances_when_their_class_is_allowed_then_fields_only() -> None:
    name = f"{Point.__module__}.{Point.__qualname__}"
    found = read_plain_pickle(pickle.dumps(Point(), 4), frozenset({name}))
    assert found == PlainObject(name, {"payload": {"data": "text"}})
    with pytest.raises(RefusedPickleError, match="it names"):
        read_plain_pickle(pickle.dumps(Point(), 4))
