"""CSV, JSON, JSONL and Parquet as tables; every value that is changed or left out is counted."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.errors import StoreError
from memaudit.stores.delimited import find_delimiter, open_delimited
from memaudit.stores.encodings import find_encoding
from memaudit.stores.json_files import open_json, open_jsonl
from memaudit.stores.json_rows import tables_of
from memaudit.stores.parquet import open_parquet
from memaudit.stores.store import Store, quoted
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database

pytestmark = pytest.mark.usefixtures("closed_stores")


def rows_of(store: Store, table: str | None = None) -> list[tuple[Any, ...]]:
    found = store.tables[0] if table is None else store.table(table)
    return list(store.rows(f"SELECT * FROM {quoted(found.name)} ORDER BY {found.order}"))


def csv_store(tmp_path: Path, data: bytes, name: str = "store.csv") -> Store:
    path = tmp_path / name
    path.write_bytes(data)
    before = path.stat().st_mtime_ns
    store = open_delimited(path, path.name, "csv")
    assert path.read_bytes() == data
    assert path.stat().st_mtime_ns == before
    return store


# -- the loader ---------------------------------------------------------------------------------


def loaded(rows: list[Mapping[str, Any]], **options: Any) -> Store:
    connection = temporary_database()
    loader = TableLoader(connection, "t", **options)
    for row in rows:
        loader.add(row)
    return finished_store("t", "json", connection, [loader.finish()])


def test_values_keep_their_kind() -> None:
    store = loaded([{"a": 1, "b": 1.5, "c": True, "d": None, "e": "007", "f": {"x": [1]}, "g": [0.5, 2], "h": b"\0"}])
    assert rows_of(store) == [(1, 1.5, 1, None, "007", '{"x": [1]}', "[0.5, 2]", b"\0")]


def test_numbers_that_sqlite_cannot_hold_become_text_and_are_counted() -> None:
    store = loaded([{"a": 2**63}, {"a": 2**63 - 1}, {"a": -(2**63)}, {"a": float("nan")}, {"a": float("inf")}])
    assert rows_of(store) == [("9223372036854775808",), (2**63 - 1,), (-(2**63),), ("NaN",), (float("inf"),)]
    assert "1 numbers are NaN" in store.tables[0].note
    assert "1 whole numbers beyond 64 bits" in store.tables[0].note


def test_missing_keys_are_null_and_counted_apart_from_null() -> None:
    store = loaded([{"a": 1}, {"a": None, "b": 2}, {"b": 3, "c": 4}])
    assert store.tables[0].column_names == ("a", "b", "c")  # as first seen
    assert rows_of(store) == [(1, None, None), (None, 2, None), (None, 3, 4)]
    assert store.tables[0].note == "Absent, not null: a in 1 row, b in 1 row, c in 2 rows."


def test_names_that_collide_or_cannot_be_used_are_renamed_with_a_note() -> None:
    store = loaded([{"Name": 1, "name": 2, "": 3, "a$b": 4, "rowid": 5}])
    assert store.tables[0].column_names == ("Name", "name_2", "column_3", "a_b", "rowid")
    assert store.tables[0].order == "_rowid_"
    assert '"name" is called name_2' in store.tables[0].note
    assert rows_of(store) == [(1, 2, 3, 4, 5)]


def test_columns_beyond_the_limit_are_counted() -> None:
    store = loaded([{f"c{i}": i for i in range(2000)}])
    assert len(store.tables[0].columns) == 1900
    assert "100 values in columns beyond the first 1,900" in store.tables[0].note


def test_half_characters_survive_as_undecodable_bytes() -> None:
    store = loaded([{"a": "x\ud800y"}, {"a": "x\udcffy"}])
    # U+D800 as bytes is ED A0 80, which no UTF-8 text may hold.
    assert rows_of(store) == [("x\udced\udca0\udc80y",), ("x\udcffy",)]


def test_columns_that_come_after_the_first_batch_are_added() -> None:
    store = loaded([*({"a": i} for i in range(1500)), {"a": 1500, "b": "late"}])
    assert store.tables[0].n_rows == 1501
    assert rows_of(store)[-1] == (1500, "late")
    assert rows_of(store)[0] == (0, None)


def test_no_rows_and_no_columns_give_an_empty_table() -> None:
    store = loaded([])
    assert (store.tables[0].n_rows, store.tables[0].column_names) == (0, ("value",))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.text(alphabet="abcAB_记", max_size=3),
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False)
            | st.text(max_size=9),
            max_size=5,
        ),
        max_size=20,
    )
)
def test_every_row_comes_back(rows: list[dict[str, Any]]) -> None:
    store = loaded(list(rows))
    assert store.tables[0].n_rows == len(rows)
    back = rows_of(store)
    # Keys in the order in which they were first seen are the columns, whatever they are called now.
    keys = list(dict.fromkeys(k for row in rows for k in row))
    assert [tuple(row.get(k) for k in keys) for row in rows] == [row[: len(keys)] for row in back]
    store.close()


# -- CSV ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    text = "id,content\n1,数据库被锁，等待后重试\n2,plain text\n"
    store = csv_store(tmp_path, text.encode(encoding))
    assert store.tables[0].column_names == ("id", "content")
    assert rows_of(store) == [(1, "数据库被锁，等待后重试"), (2, "plain text")]


def test_one_broken_byte_does_not_make_the_file_gb18030(tmp_path: Path) -> None:
    store = csv_store(tmp_path, "id,content\n1,数据库被锁\n2,".encode() + b"a\xffb\n")
    assert rows_of(store) == [(1, "数据库被锁"), (2, "a\udcffb")]


def test_utf8_with_broken_bytes_that_happens_to_be_valid_gb18030_stays_utf8(tmp_path: Path) -> None:
    data = "id,content\n1,数据库里的锁".encode() + b"\xb0\xa1\n"
    assert data.decode("gb18030").startswith("id,content\n1,鏁版嵁")  # what the other reading would show
    assert rows_of(csv_store(tmp_path, data)) == [(1, "数据库里的锁\udcb0\udca1")]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiters_are_found_despite_commas_in_the_text(tmp_path: Path, delimiter: str) -> None:
    text = f'a{delimiter}b\n1{delimiter}"x, y; z"\n2{delimiter}"line\nbreak"\n'
    store = csv_store(tmp_path, text.encode())
    assert rows_of(store) == [(1, "x, y; z"), (2, "line\nbreak")]


def test_ragged_records_are_kept_and_counted(tmp_path: Path) -> None:
    store = csv_store(tmp_path, b"a,b\n1,x\n2\n\n3,y,extra\n")
    assert store.tables[0].column_names == ("a", "b", "column_3")
    assert rows_of(store) == [(1, "x", None), (2, None, None), (3, "y", "extra")]
    assert "2 records have more or fewer fields than the header (lines 3, 5)" in store.tables[0].note


def test_columns_of_numbers_become_numbers_only_without_loss(tmp_path: Path) -> None:
    text = (
        "n,score,price,zip,version,mixed,empty\n1,0.5,0.50,007,1.9,1,\n20,0.25,1.10,123,1.10,x,\n,1.75,2.00,1,2.0,3,\n"
    )
    store = csv_store(tmp_path, text.encode())
    assert rows_of(store) == [
        (1, 0.5, 0.5, "007", "1.9", "1", ""),
        (20, 0.25, 1.1, "123", "1.10", "x", ""),
        (None, 1.75, 2.0, "1", "2.0", "3", ""),
    ]


def test_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    store = csv_store(tmp_path, b"id,content\n")
    assert (store.tables[0].n_rows, store.tables[0].column_names) == (0, ("id", "content"))


def test_repeated_and_empty_header_names_stay_apart(tmp_path: Path) -> None:
    store = csv_store(tmp_path, b"a,a,,A\nx,y,z,w\n")
    assert store.tables[0].column_names == ("a", "a_2", "column_3", "A_3")
    assert rows_of(store) == [("x", "y", "z", "w")]


def test_cells_larger_than_the_csv_default_are_read(tmp_path: Path) -> None:
    store = csv_store(tmp_path, b"a,b\n1," + b"x" * 200_000 + b"\n")
    assert len(rows_of(store)[0][1]) == 200_000


def test_blank_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no text"):
        csv_store(tmp_path, b"\n \n")


def test_sentences_have_no_delimiter() -> None:
    assert find_delimiter(["Just a line\n", "and another\n"]) is None


def test_encoding_of_ascii_is_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"plain")
    assert find_encoding(path) == "utf-8"


# -- JSON ---------------------------------------------------------------------------------------

LONG = "I should have cleaned the plate before I put it on the countertop."
OTHER = "下一次先检查水槽，再去拿盘子，最后放到台面上。"


def json_store(tmp_path: Path, data: Any, name: str = "trials.json") -> Store:
    path = tmp_path / name
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return open_json(path, name)


def test_texts_in_lists_are_one_record_each(tmp_path: Path) -> None:
    store = json_store(
        tmp_path,
        [
            {"name": "env_0", "memory": [LONG, OTHER], "is_success": False},
            {"name": "env_1", "memory": [], "is_success": True},
            {"name": "env_2", "memory": [LONG], "is_success": True},
            {"name": "env_3", "is_success": True},
        ],
    )
    assert store.tables[0].name == "trials.memory"
    assert store.tables[0].column_names == ("key", "memory", "name", "is_success")
    assert rows_of(store) == [
        ("env_0#0", LONG, "env_0", 0),
        ("env_0#1", OTHER, "env_0", 0),
        ("env_2#0", LONG, "env_2", 1),
    ]
    assert store.tables[0].note == (
        "Each text in the lists under memory is one record. "
        "Objects with an empty list, which give no record: 1 of 4 (25 %). "
        "Objects without such a list, which give no record: 1 of 4 (25 %)."
    )
    assert store.hints["table"][0] == "trials.memory"
    assert store.hints["text"][0] == "memory"
    # The objects as they are stay readable.
    assert len(rows_of(store, "trials")) == 4
    assert rows_of(store, "trials")[0][1] == json.dumps([LONG, OTHER], ensure_ascii=False)


def test_lists_of_tags_are_no_texts(tmp_path: Path) -> None:
    store = json_store(
        tmp_path, [{"id": 1, "content": LONG, "tags": ["a", "b"]}, {"id": 2, "content": OTHER, "tags": []}]
    )
    assert [t.name for t in store.tables] == ["trials"]
    assert rows_of(store)[0] == (1, LONG, '["a", "b"]')


def test_a_plain_text_beside_a_list_of_sentences_stays_the_text_unless_the_list_is_called_memory() -> None:
    rows = [{"id": i, "content": f"{LONG} {i}", "sentences": [LONG, OTHER]} for i in range(3)]
    assert [t.name for t in tables_of("t", rows)] == ["t"]
    rows = [{"id": i, "prompt": f"{LONG} {i}", "reflections": [LONG]} for i in range(3)]
    assert [t.name for t in tables_of("t", rows)] == ["t.reflections", "t"]


def test_objects_in_lists_give_their_text_and_keep_their_other_keys(tmp_path: Path) -> None:
    data = [{"name": "x", "observations": [{"text": LONG, "timestamp": "2026-01-01"}]}]
    store = json_store(tmp_path, data)
    assert store.tables[0].column_names == ("key", "observations", "name", "observations.timestamp")
    assert rows_of(store) == [("x#0", LONG, "x", "2026-01-01")]


def test_names_that_are_not_unique_are_no_keys() -> None:
    rows = [{"name": "same", "memory": [LONG]}, {"name": "same", "memory": [OTHER]}]
    assert [row["key"] for row in tables_of("t", rows)[0].rows] == ["1#0", "2#0"]


def test_object_of_objects_is_a_table_with_the_keys(tmp_path: Path) -> None:
    store = json_store(tmp_path, {"m1": {"content": LONG}, "m2": {"content": OTHER, "key": "k"}})
    assert store.tables[0].column_names == ("key", "content", "record_key")
    assert rows_of(store) == [("m1", LONG, None), ("k", OTHER, "m2")]


def test_object_of_lists_of_texts_gives_one_record_a_text(tmp_path: Path) -> None:
    store = json_store(tmp_path, {"ana": [LONG, OTHER], "林涛": [OTHER]})
    keys = [row[0] for row in rows_of(store)]
    assert keys == ["ana#0", "ana#1", "林涛#0"]


def test_object_with_lists_of_objects_gives_one_table_a_list(tmp_path: Path) -> None:
    store = json_store(tmp_path, {"version": 1, "memories": [{"content": LONG}], "edges": [{"from": 1, "to": 2}]})
    assert [t.name for t in store.tables] == ["trials.memories", "trials.edges"]
    assert store.tables[0].note == "Other keys of the document are no table and not read: version."
    store = json_store(tmp_path, {"facts": [LONG, OTHER], "events": [{"a": 1}], "tags": ["x"]})
    assert [t.name for t in store.tables] == ["trials.facts", "trials.events"]


def test_list_of_texts_is_a_table_of_one_column(tmp_path: Path) -> None:
    store = json_store(tmp_path, [LONG, OTHER])
    assert rows_of(store) == [(LONG,), (OTHER,)]
    assert store.hints["text"][0] == "value"


def test_items_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    store = json_store(tmp_path, [{"content": LONG}, 3, None])
    assert store.tables[0].note == "2 items are no object and not read."


@pytest.mark.parametrize("data", [[], {}])
def test_empty_documents_have_no_rows(tmp_path: Path, data: Any) -> None:
    assert json_store(tmp_path, data).tables[0].n_rows == 0


def test_nan_and_infinity_of_python_writers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": NaN, "v": [1.0, NaN]}, {"a": Infinity, "v": []}]')
    assert rows_of(open_json(path, "a.json")) == [("NaN", "[1.0, NaN]"), (float("inf"), "[]")]


def test_deep_nesting_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(StoreError, match=r"deep\.json is nested too deeply"):
        open_json(path, "deep.json")


def test_invalid_json_names_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('[{"a": 1},\n {"a": ')
    with pytest.raises(StoreError, match=r"not valid JSON: .*line 2, column"):
        open_json(path, "cut.json")


def test_bad_lines_are_counted_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    deep = "[" * 100_000
    path.write_text(f'{{"content": "{LONG}"}}\n\nnot json\n[1]\n{deep}\n{{"content": "{OTHER}"}}', encoding="utf-8")
    store = open_jsonl(path, "m.jsonl")
    assert [t for (t,) in rows_of(store)] == [LONG, OTHER]
    assert "3 lines are no JSON object and not read (3, 4, 5)." in store.tables[0].note
    assert store.notes == (store.tables[0].note,)


def test_file_of_bad_lines_only_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text("a\nb\n")
    with pytest.raises(StoreError, match="none of 2 lines is a JSON object"):
        open_jsonl(path, "m.jsonl")


def test_line_separators_of_unicode_do_not_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"content": "a\u2028b\x0bc"}\n'.replace("\x0b", "\\u000b"), encoding="utf-8")
    assert rows_of(open_jsonl(path, "m.jsonl")) == [("a\u2028b\x0bc",)]


# -- Parquet ------------------------------------------------------------------------------------


def test_parquet_is_read_with_its_kinds(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    import datetime

    path = tmp_path / "m.parquet"
    table = pyarrow.table(
        {
            "id": [1, 2],
            "content": [LONG, None],
            "flag": [True, None],
            "vector": pyarrow.array([[0.5, 1.5], [2.0, 3.0]], pyarrow.list_(pyarrow.float32(), 2)),
            "at": [datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc), None],
            "meta": [{"a": 1}, {"a": None}],
            "raw": [b"\x00\xff", b""],
        }
    )
    parquet.write_table(table, path)
    store = open_parquet(path, "m.parquet")
    assert rows_of(store) == [
        (1, LONG, 1, "[0.5, 1.5]", "2026-01-02T03:04:00+00:00", '{"a": 1}', b"\x00\xff"),
        (2, None, None, "[2.0, 3.0]", None, '{"a": null}', b""),
    ]


def test_damaged_parquet_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "m.parquet"
    path.write_bytes(b"PAR1" + b"x" * 40 + b"PAR1")
    with pytest.raises(StoreError, match=r"m\.parquet cannot be read as Parquet"):
        open_parquet(path, "m.parquet")


def test_missing_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "m.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"pip install 'agent-memaudit\[parquet\]'"):
        open_parquet(path, "m.parquet")
