"""Files larger than memory: rows go by one after the other, and what has no end is bounded and counted."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import StoreError
from memaudit.stores import delimited, json_files, json_stream, mcp_memory
from memaudit.stores.delimited import open_delimited
from memaudit.stores.json_files import open_json, open_jsonl
from memaudit.stores.json_rows import tables_of
from memaudit.stores.json_stream import ArrayElements, JsonLines
from memaudit.stores.mcp_memory import open_mcp_memory
from memaudit.stores.store import Store, quoted
from memaudit.stores.text_lines import lines_of

LONG = "Deploys to the staging cluster need one approval."


def contents(store: Store) -> dict[str, Any]:
    """Return everything that a store says: tables, rows, hints, notes."""
    found = {
        t.name: (t.column_names, t.note, list(store.rows(f"SELECT * FROM {quoted(t.name)} ORDER BY {t.order}")))
        for t in store.tables
    }
    return {"tables": found, "hints": dict(store.hints), "notes": store.notes}


# -- lines ------------------------------------------------------------------------------------------


def test_lines_when_one_is_too_long_then_none_in_its_place_and_the_others_whole() -> None:
    text = "short\n" + "x" * 25 + "\n二\r\n" + "y" * 10 + "\n" + "z" * 30
    assert list(lines_of(io.StringIO(text, newline="\n"), 10)) == [
        (1, "short\n"), (2, None), (3, "二\r\n"), (4, None), (5, None),
    ]  # fmt: skip
    # Ten characters and the line's end are eleven: longer than ten.
    assert list(lines_of(io.StringIO("y" * 9 + "\n", newline="\n"), 10)) == [(1, "y" * 9 + "\n")]
    assert list(lines_of(io.StringIO("a\rb\r\nc", newline=""), 10)) == [(1, "a\r"), (2, "b\r\n"), (3, "c")]


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 8))
def test_lines_when_compared_with_all_of_them_then_the_same_numbers(text: str, longest: int) -> None:
    expected = [
        (n, line if len(line) <= longest else None) for n, line in enumerate(io.StringIO(text, newline="\n"), 1)
    ]
    assert list(lines_of(io.StringIO(text, newline="\n"), longest)) == expected


# -- JSONL --------------------------------------------------------------------------------------------


def _peak(open_it: Callable[[], Store]) -> tuple[Store, int]:
    tracemalloc.start()
    try:
        store = open_it()
        return store, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_jsonl_when_larger_than_what_may_be_held_then_streamed(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    row = {"content": LONG, "more": "x" * 4000}
    with path.open("w") as file:
        for n in range(6000):
            file.write(json.dumps({"id": n, **row}) + "\n")
    size = path.stat().st_size
    assert size > 24_000_000
    store, peak = _peak(lambda: open_jsonl(path, "m.jsonl"))
    assert store.tables[0].n_rows == 6000
    # A batch of 1,000 rows and blocks of a mebibyte; never the file.
    assert peak < size / 2
    store.close()


def test_jsonl_when_a_line_is_too_long_then_counted_apart_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(
        json.dumps({"a": 1}) + "\n" + json.dumps({"a": "x" * 500}) + "\n[1]\n" + json.dumps({"a": 2}) + "\n"
    )
    lines = JsonLines(path, "utf-8", 10, longest=100)
    assert list(lines) == [{"a": 1}, {"a": 2}]
    assert (lines.n_rows, lines.n_bad, lines.n_long, lines.first_bad) == (2, 2, 1, [2, 3])
    assert list(lines) == [{"a": 1}, {"a": 2}]  # and once more, counted anew
    assert lines.n_bad == 2
    monkeypatch.setattr(json_files, "JsonLines", lambda *args: JsonLines(*args, longest=100))
    store = open_jsonl(path, "m.jsonl")
    assert store.tables[0].note == "2 lines are no JSON object and not read (2, 3). Of these, longer than 64 MiB: 1."
    store.close()


@pytest.mark.parametrize(
    "rows",
    [
        [{"name": "env", "memory": [LONG, LONG + " 2"]}, {"name": "dev", "memory": []}, {"name": "x", "n": 1}],
        [{"name": "same", "key": "k", "memory": [{"text": LONG, "t": 1}]}, {"name": "same", "memory": [LONG]}],
        [{"id": 1, "content": LONG, "tags": ["a", "b"]}, {"id": 2, "content": None}],
    ],
)
def test_rows_with_lists_when_streamed_then_as_a_document_of_the_same_rows(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    store = open_jsonl(path, "t.jsonl")
    expected = tables_of("t", rows)
    assert [t.name for t in store.tables] == [t.name for t in expected]
    assert [t.n_rows for t in store.tables] == [len(list(t.rows)) for t in expected]
    assert store.hints == next((t.hints for t in expected if t.hints), {})
    store.close()


# -- JSON lists ---------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def tiny_chunks() -> Iterator[None]:
    """Read seven characters at a time, so that every element is cut somewhere."""
    before = json_stream._CHUNK
    json_stream._CHUNK = 7
    yield
    json_stream._CHUNK = before


@given(data=st.lists(VALUES, max_size=6), indent=st.sampled_from([None, 2]))
def test_elements_when_read_in_pieces_then_those_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("array") / "a.json"
    path.write_text(
        "\n " + json.dumps(data, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8", errors="surrogatepass"
    )
    before = json_stream._CHUNK
    json_stream._CHUNK = 7
    try:
        assert list(ArrayElements(path, "utf-8", "a.json")) == json.loads(json.dumps(data))
    finally:
        json_stream._CHUNK = before


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize("number", ["10.5", "1e-3", "-2.5E+10", "10", "true", "NaN", "-Infinity"])
@pytest.mark.parametrize("before", range(8))
def test_numbers_when_cut_anywhere_then_whole(tmp_path: Path, number: str, before: int) -> None:
    path = tmp_path / "a.json"
    path.write_text(f"[{' ' * before}{number}, {number}]", encoding="utf-8")
    assert str(list(ArrayElements(path, "utf-8", "a.json"))) == str([json.loads(number)] * 2)


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, {"a": 2}', "after element 1 of its list"),
        ('[{"a": 1} {"a": 2}]', "after element 1 of its list"),
        ('[{"a": 1}, {"a": ]', "after element 1 of its list"),
        ("[", "after element 0 of its list"),
        ("[1, 2", "after element 1 of its list"),
        ('{"a": 1}', "after element 0 of its list"),
    ],
)
def test_list_when_broken_then_one_line_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(StoreError, match=said):
        list(ArrayElements(path, "utf-8", "a.json"))


@pytest.mark.usefixtures("tiny_chunks")
def test_element_when_it_does_not_end_then_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[1, "' + "x" * 500 + '"]')
    with pytest.raises(StoreError, match="element 2 of the list is longer than"):
        list(ArrayElements(path, "utf-8", "a.json", longest=100))
    assert list(ArrayElements(path, "utf-8", "a.json", longest=1000)) == [1, "x" * 500]


@pytest.mark.parametrize(
    "data",
    [
        [{"id": n, "content": f"{LONG} {n}"} for n in range(50)],
        [{"name": f"e{n}", "memory": [LONG, f"{LONG} {n}"]} for n in range(20)],
        [LONG, "图片上传前先压缩到一兆以内。", LONG],
        ["a", 1, None],
        [{"a": 1}, "loose", 7, {"a": 2}],
    ],
)
def test_document_when_it_is_a_large_list_then_the_same_store_as_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: list[Any]
) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    whole = open_json(path, "d.json")
    monkeypatch.setattr(json_files, "_STREAMED_FROM", 10)
    streamed = open_json(path, "d.json")
    assert contents(streamed) == contents(whole)
    whole.close()
    streamed.close()


def test_document_when_too_large_and_no_list_then_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"a": LONG}))
    monkeypatch.setattr(json_files, "_STREAMED_FROM", 10)
    monkeypatch.setattr(json_files, "_LARGEST_DOCUMENT", 20)
    with pytest.raises(StoreError, match="larger than 1 GiB, and no list") as caught:
        open_json(path, "d.json")
    assert "JSONL" in str(caught.value)


# -- CSV and MCP files --------------------------------------------------------------------------------


def test_csv_when_a_quote_is_never_closed_then_bounded_and_the_lines_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_LONGEST_FIELD", 200)
    path = tmp_path / "m.csv"
    rows = [f"{n},Text number {n} of the file\n" for n in range(1, 41)]
    rows[4] = '5,"never closed\n'
    path.write_text("id,content\n" + "".join(rows))
    store = open_delimited(path, "m.csv", "csv")
    ids = [i for (i,) in store.rows("SELECT id FROM m")]
    n_lost = 40 - len(ids)
    # The cell begins in line 6 and ends where 200 characters are full: every line is a row or counted.
    assert ids[:4] == [1, 2, 3, 4]
    assert ids[4:] == list(range(5 + n_lost, 41))
    assert 5 < n_lost < 12
    assert store.tables[0].note == f"{n_lost} lines could not be read (6-{5 + n_lost})."
    store.close()


def test_csv_when_a_line_has_no_end_then_counted_and_the_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_LONGEST_FIELD", 100)
    path = tmp_path / "m.csv"
    path.write_text("id,content\n1,one\n2," + "x" * 300 + "\n3,three\n")
    store = open_delimited(path, "m.csv", "csv")
    assert list(store.rows("SELECT id, content FROM m")) == [(1, "one"), (3, "three")]
    assert store.tables[0].note == "1 line could not be read (3)."
    store.close()


def test_mcp_file_when_too_large_then_one_line_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_memory, "_LARGEST_FILE", 20)
    path = tmp_path / "memory.jsonl"
    path.write_text(json.dumps({"type": "entity", "name": "a", "entityType": "t", "observations": [LONG]}))
    with pytest.raises(StoreError, match="store_kind=jsonl"):
        open_mcp_memory(path, "memory.jsonl")
