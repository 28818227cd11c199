"""Stored vectors: every notation, and every way in which a row cannot be used."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import ConfigError
from memaudit.vectors import StoredVectors, VectorStatus, decode_vectors
from memaudit.vectors.detection import detect_format
from memaudit.vectors.formats import Notation, VectorFormat, parse_format

SHARED = Path(os.environ.get("MEMAUDIT_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def embeddings(n: int = 20, dim: int = 32, scale: float | None = None) -> npt.NDArray[np.float64]:
    """Rows of unit length, or with a standard deviation of `scale`."""
    rows = np.random.default_rng(7).standard_normal((n, dim))
    rows *= scale if scale is not None else 1 / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def statuses(found: StoredVectors) -> list[str]:
    return [status.value for status in found.status]


def npy(array: npt.NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


WRITERS: dict[str, Callable[[npt.NDArray[Any]], bytes]] = {
    "<f4": lambda row: row.astype("<f4").tobytes(),
    ">f4": lambda row: row.astype(">f4").tobytes(),
    "<f8": lambda row: row.astype("<f8").tobytes(),
    ">f8": lambda row: row.astype(">f8").tobytes(),
    "<f2": lambda row: row.astype("<f2").tobytes(),
    ">f2": lambda row: row.astype(">f2").tobytes(),
    # float32 numbers kept as float64: half of the bytes are nearly empty.
    "<f8 of float32": lambda row: row.astype("<f4").astype("<f8").tobytes(),
    "<f8 of float16": lambda row: row.astype("<f2").astype("<f8").tobytes(),
    # A model run in bfloat16: the lower half of each float32 is zero.
    "<f4 of bfloat16": lambda row: (row.astype("<f4").view("<u4") & 0xFFFF0000).astype("<u4").tobytes(),
}


@pytest.mark.parametrize("scale", [None, 0.3, 5.0], ids=["unit", "small", "large"])
@pytest.mark.parametrize("dim", [8, 33, 384])
@pytest.mark.parametrize("writer", WRITERS)
def test_decode_vectors_finds_the_type_of_bytes_by_looking(writer: str, dim: int, scale: float | None) -> None:
    rows = embeddings(40, dim, scale)
    found = decode_vectors([WRITERS[writer](row) for row in rows])
    assert found.format == VectorFormat(Notation.BYTES, writer[:3])
    assert found.dim == dim
    np.testing.assert_allclose(found.matrix, rows, rtol=1e-2, atol=1e-2 * rows.std())
    assert set(found.status) == {VectorStatus.OK}
    assert ("have length 1" in found.reason) == (scale is None)


@pytest.mark.parametrize("dim", [2, 16])
@pytest.mark.parametrize("writer", ["<f4", "<f8"])
def test_decode_vectors_finds_the_type_of_rows_with_a_single_one(writer: str, dim: int) -> None:
    found = decode_vectors([WRITERS[writer](row) for row in np.eye(dim)])
    assert found.format == VectorFormat(Notation.BYTES, writer)
    np.testing.assert_array_equal(found.matrix, np.eye(dim))


TEXT_WRITERS: dict[Notation, Callable[[npt.NDArray[Any]], Any]] = {
    Notation.JSON: lambda row: json.dumps(row.tolist()),
    Notation.COMMA: lambda row: ",".join(map(str, row.tolist())),
    Notation.BASE64: lambda row: base64.b64encode(row.astype("<f4").tobytes()).decode(),
    Notation.LIST: lambda row: row.tolist(),
    Notation.NPY: lambda row: npy(row.astype("<f4")),
}


@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize("notation", TEXT_WRITERS)
def test_decode_vectors_finds_text_notations_by_looking(notation: Notation, as_bytes: bool) -> None:
    rows = embeddings()
    values = [TEXT_WRITERS[notation](row) for row in rows]
    if as_bytes:  # LangGraph declares text and stores bytes
        values = [value.encode() if isinstance(value, str) else value for value in values]
    found = decode_vectors(values)
    assert found.format is not None
    assert found.format.notation is notation
    np.testing.assert_allclose(found.matrix, rows, atol=1e-7)
    assert found.reason


@pytest.mark.parametrize(
    "value",
    ["[0.6,0.8]", "[0.6, 0.8]", "{0.6,0.8}", "0.6 0.8", "[0.6 0.8]", " 0.6; 0.8 ", [0.6, 0.8], (0.6, 0.8),
     np.array([0.6, 0.8]), np.array([[0.6, 0.8]]), "[[0.6, 0.8]]", memoryview(struct.pack("<2f", 0.6, 0.8))],
)  # fmt: skip
def test_decode_vectors_reads_what_programs_print(value: object) -> None:
    found = decode_vectors([value])
    np.testing.assert_allclose(found.matrix, [[0.6, 0.8]], atol=1e-7)


def test_decode_vectors_when_a_format_is_declared_do_not_look() -> None:
    # 8 bytes are one float64 or two float32; the words decide, also against the data.
    rows = [row.astype("<f4").tobytes() for row in embeddings(6, 8)]
    assert decode_vectors(rows, "float32 little-endian BLOB").dim == 8
    as_float64 = decode_vectors(rows, "float64 little-endian BLOB")
    assert as_float64.dim == 4
    assert as_float64.reason == "read as float64 little-endian bytes, as configured"


def test_decode_vectors_when_the_value_contradicts_the_declared_format_is_malformed() -> None:
    found = decode_vectors(["[0.6, 0.8]", struct.pack("<2f", 0.6, 0.8)], "float32 little-endian BLOB")
    assert statuses(found) == ["malformed", "ok"]
    assert found.malformed == {0: "text where float32 little-endian bytes was expected"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("float32 little-endian BLOB", VectorFormat(Notation.BYTES, "<f4")),
        ("float32", VectorFormat(Notation.BYTES, "<f4")),
        ("FLOAT64 big-endian", VectorFormat(Notation.BYTES, ">f8")),
        ("half, big endian", VectorFormat(Notation.BYTES, ">f2")),
        ("<f8", VectorFormat(Notation.BYTES, "<f8")),
        ("JSON list", VectorFormat(Notation.JSON)),
        ("pgvector text", VectorFormat(Notation.JSON)),
        ("base64 of float32", VectorFormat(Notation.BASE64, "<f4")),
        ("base64 float64", VectorFormat(Notation.BASE64, "<f8")),
        ("comma separated", VectorFormat(Notation.COMMA)),
        ("npy", VectorFormat(Notation.NPY)),
        ("float64 array", VectorFormat(Notation.BYTES, "<f8")),
        ("list of numbers", VectorFormat(Notation.LIST)),
    ],
)
def test_parse_format_reads_the_words_of_the_configuration(words: str, expected: VectorFormat) -> None:
    assert parse_format(words) == expected


def test_parse_format_of_unknown_words_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="'int8 quantised' names no format"):
        decode_vectors([b"1234"], "int8 quantised")


def test_decode_vectors_gives_every_row_one_status() -> None:
    good = embeddings(6, 4).astype("<f4")
    nan, inf, both = good[0].copy(), good[1].copy(), good[2].copy()
    nan[1], inf[2], both[:2] = np.nan, -np.inf, (np.inf, np.nan)
    values: list[object] = [
        good[0].tobytes(),
        None,
        b"",
        nan.tobytes(),
        inf.tobytes(),
        both.tobytes(),
        np.zeros(4, "<f4").tobytes(),
        good[1].tobytes()[:-1],
        good[2].tobytes(),
        np.ones(3, "<f4").tobytes(),
        "文本 text",
        float("nan"),
        17,
        good[3].tobytes(),
    ]
    found = decode_vectors(values)
    assert statuses(found) == [
        "ok", "missing", "missing", "nan", "inf", "nan", "zero", "malformed", "ok", "wrong_dimension",
        "malformed", "missing", "malformed", "ok",
    ]  # fmt: skip
    assert found.rows.tolist() == [0, 8, 13]
    np.testing.assert_array_equal(found.matrix, good[[0, 2, 3]])
    assert (found.dim, dict(found.dims)) == (4, {4: 7, 3: 1})
    assert (found.n_nan, found.n_inf, found.n_with(VectorStatus.MISSING)) == (2, 1, 3)
    assert found.rows_with(VectorStatus.ZERO) == (6,)
    assert found.malformed[7] == "15 bytes, which is no whole number of 4-byte floats"
    assert found.malformed[10] == "text where float32 little-endian bytes was expected"
    assert "int" in found.malformed[12]
    assert np.isfinite(found.unit).all()


def test_decode_vectors_never_opens_a_pickle(tmp_path: Path) -> None:
    flag = tmp_path / "opened"

    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return (open, (str(flag), "w"))

    pickles = [pickle.dumps(Hostile(), protocol) for protocol in (2, 3, 4, 5)]
    objects = npy(np.array([Hostile()], dtype=object))
    for values in (
        pickles,
        [objects] * 3,
        [*pickles, *[row.astype("<f4").tobytes() for row in embeddings()]],
    ):
        found = decode_vectors(values)
        assert statuses(found)[:3] == ["malformed"] * 3
    assert not flag.exists()
    assert "pickle" in decode_vectors(pickles).malformed[0]
    assert "pickle" in found.malformed[0]
    assert len(found.rows) == 20


def test_decode_vectors_when_floats_begin_like_a_pickle_read_them() -> None:
    rows = embeddings().astype("<f4")
    raw = [row.tobytes() for row in rows]
    raw[3] = b"\x80\x04" + raw[3][2:]
    assert set(decode_vectors(raw).status) == {VectorStatus.OK}


@pytest.mark.parametrize(
    "value",
    [
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\x05\x00hello",
        npy(np.ones((2, 3), "<f4")),
        npy(np.array(["a"])),
        # The header claims 10**12 numbers: nothing of that size may be allocated.
        npy(np.ones(3, "<f4")).replace(b"(3,)", b"(1000000000000,)", 1),
        "[" * 100_000,
        "[1, 2",
        "[1, true]",
        '["1", "2"]',
        "[1, null]",
        "[1e400, [2]]",
        '{"a": 1}',
        "1_000, 2",
        "这不是向量",
        [1, "x"],
        [[1, 2], [3, 4]],
        np.ones((2, 2)),
        {"vector": [1.0]},
    ],
)
def test_decode_vectors_when_a_value_is_no_vector_gives_a_reason(value: object) -> None:
    lists: list[object] = ["[0.6, 0.8]"] * 5
    found = decode_vectors([*lists, value])
    assert statuses(found) == ["ok"] * 5 + ["malformed"]
    assert found.malformed[5]
    alone = decode_vectors([value])
    assert statuses(alone) == ["malformed"]
    assert (alone.format, alone.dim, len(alone.rows)) == (None, None, 0)


@pytest.mark.parametrize(
    "values",
    [
        ["Sleep four hours before retrying", "重试前先等待", "a", "b"],
        ["d3b07384d113edec49eaa6238ad5ff00d3b07384d113edec49eaa6238ad5ff0a"] * 3,
        [b"plain text kept as bytes, no vector at all"] * 3,
        [struct.pack("<8q", *range(100, 108))] * 3,  # row numbers of a shadow table
        [bytes(range(256))] * 3,
        ['["tag", "another"]'] * 3,
        ["abcdefghijklmnop"] * 3,
        [1, 2, 3],
        ["5", "6", "7"],
    ],
)
def test_detect_format_of_other_columns_is_none(values: list[object]) -> None:
    assert detect_format(values) is None


@pytest.mark.parametrize("values", [[], [None, None], ["", "null", "[]", b"", []]])
def test_decode_vectors_of_rows_without_any_vector(values: list[object]) -> None:
    found = decode_vectors(values)
    assert statuses(found) == ["missing"] * len(values)
    assert (found.dim, dict(found.dims), found.format) == (None, {}, None)
    assert found.matrix.shape == found.unit.shape == (0, 0)
    assert found.not_unit_share is None
    assert found.reason == "no row holds a vector"


def test_decode_vectors_when_all_are_zero_use_none() -> None:
    found = decode_vectors([b"\0" * 16, b"\0" * 16])
    assert statuses(found) == ["zero", "zero"]
    assert (found.dim, dict(found.dims), len(found.rows)) == (None, {4: 2}, 0)


def test_decode_vectors_normalises_a_copy_and_says_how_many_were_not_unit() -> None:
    # (3, 4) has length 5, (.6, .8) length 1: 2 of 3 were not of unit length.
    found = decode_vectors(["[3, 4]", "[0.6, 0.8]", "[30, 40]"])
    np.testing.assert_allclose(found.unit, [[0.6, 0.8]] * 3, atol=1e-7)
    np.testing.assert_allclose(found.norms, [5, 1, 50])
    np.testing.assert_array_equal(found.matrix, np.array([[3, 4], [0.6, 0.8], [30, 40]], dtype=np.float32))
    assert (found.n_not_unit, found.not_unit_share) == (2, 2 / 3)


def test_decode_vectors_of_sizes_at_the_ends_of_floats() -> None:
    # 1e300 is no float32; 1e-60 rounds to zero there; 1e-30 has a length whose square underflows.
    found = decode_vectors([[1e300, 1.0], [1e-60, 0.0], [3e-30, 4e-30], [3e30, 4e30], [-(10**400), 1]])
    assert statuses(found) == ["inf", "zero", "ok", "ok", "inf"]
    np.testing.assert_allclose(found.unit, [[0.6, 0.8]] * 2, atol=1e-6)


def test_decode_vectors_when_most_vectors_are_broken_still_find_the_type() -> None:
    rows = embeddings(20, 384).astype("<f4")
    rows[:9, 5] = np.nan
    found = decode_vectors([row.tobytes() for row in rows])
    assert found.format == VectorFormat(Notation.BYTES, "<f4")
    assert (found.n_nan, len(found.rows)) == (9, 11)


ANYTHING = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.text(max_size=20),
    st.lists(st.floats(), max_size=4),
    st.integers(),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ANYTHING, max_size=8))
def test_decode_vectors_of_anything_accounts_for_every_row(values: list[object]) -> None:
    found = decode_vectors(values)
    assert len(found.status) == len(values)
    assert found.rows.tolist() == list(found.rows_with(VectorStatus.OK))
    assert found.matrix.shape[0] == len(found.rows)
    assert set(found.malformed) == set(found.rows_with(VectorStatus.MALFORMED))
    assert all(found.malformed.values())
    assert np.isfinite(found.unit).all()
    np.testing.assert_allclose(np.linalg.norm(found.unit.astype(np.float64), axis=1), 1.0, atol=1e-5)


def test_decode_vectors_of_real_stores() -> None:
    stores = SHARED / "data" / "stores"
    if not stores.exists():
        pytest.skip("the shared stores are not beside this checkout")
    uri = f"{(stores / 'langgraph-sqlite' / 'langgraph_store.db').as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    values = [row[0] for row in connection.execute("select embedding from store_vectors order by rowid")]
    texts = [row[0] for row in connection.execute("select value from store order by rowid")]
    connection.close()
    found = decode_vectors(values)
    # Its README: 130 float32 little-endian blobs of 384 dimensions, unit length.
    assert (len(found.rows), found.dim, found.n_not_unit) == (130, 384, 0)
    assert found.format == VectorFormat(Notation.BYTES, "<f4")
    assert detect_format(texts) is None
    nodes = json.loads((stores / "llamaindex" / "default__vector_store.json").read_text(encoding="utf-8"))
    lists = decode_vectors(list(nodes["embedding_dict"].values()))
    assert (len(lists.rows), lists.dim, lists.format) == (82, 384, VectorFormat(Notation.LIST))
