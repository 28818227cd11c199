import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.config import Config
from memaudit.errors import ConfigError
from memaudit.measures.conditions import (
    Comparison,
    comparison,
    conjuncts,
    has_hole,
    is_gone_name,
    is_score_name,
    names_in,
    quoted_texts,
    read_filters,
    rewritten,
)


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("score >= 0.6", ("score",)),
        ("topic = ? AND (a = 1 OR b = 'x and y')", ("topic", "a", "b")),
        ("metadata.user.id = '5'", ("metadata.user.id",)),
        ("json_extract(metadata, '$.a') = 5", ("metadata",)),
        ("CAST(a AS TEXT) = '5' COLLATE NOCASE", ("a",)),
        ('"user name" = 1 and [k] = 2 and `q` is not null', ("user name", "k", "q")),
        ("用户 = '甲'", ("用户",)),
        ("1 = 1", ()),
        ("", ()),
    ],
)
def test_names_when_read_then_columns_and_keys_only(condition: Any, names: Any) -> None:
    assert names_in(condition) == names


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a = 1 AND b BETWEEN 1 AND 5 AND c = 2", ("a = 1", "b BETWEEN 1 AND 5", "c = 2")),
        ("a = 1 OR b = 2 AND c = 3", ("a = 1 OR b = 2 AND c = 3",)),
        ("(a = ? AND b = ?)", ("a = ?", "b = ?")),
        ("(a = 1) AND (b = 2 OR c = 3)", ("(a = 1)", "(b = 2 OR c = 3)")),
        ("a = 'x AND y'", ("a = 'x AND y'",)),
    ],
)
def test_conjuncts_when_split_then_only_at_outer_ands(condition: Any, parts: Any) -> None:
    assert conjuncts(condition) == parts


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("a = 'it''s'", Comparison("a", "a", "=", ("it's",), False)),
        ("a == 3", Comparison("a", "a", "=", (3,), False)),
        ("a.b < -2.5", Comparison("a.b", "a.b", "<", (-2.5,), False)),
        ("lower(a) = ?", Comparison("lower(a)", "", "=", (None,), True)),
        ("a NOT IN (1, 2)", Comparison("a", "a", "NOT IN", (1, 2), False)),
        ("a BETWEEN ? AND ?", Comparison("a", "a", "BETWEEN", (None, None), True)),
        ("a = true", Comparison("a", "a", "=", (1,), False)),
    ],
)
def test_comparison_when_simple_then_read(part: Any, expected: Any) -> None:
    assert comparison(part) == expected


@pytest.mark.parametrize("part", ["a = b", "NOT a = 1", "a IS NOT NULL", "a", ""])
def test_comparison_when_anything_else_then_none(part: Any) -> None:
    assert comparison(part) is None


@pytest.mark.parametrize("hole", ["?", "?1", ":name", "@x", "$1", "%s", "{user}"])
def test_hole_when_written_in_any_way_then_seen(hole: Any) -> None:
    assert has_hole(f"a = {hole}")
    assert not has_hole(f"a = '{hole}'")


def test_rewritten_when_a_name_is_unknown_then_double_quotes_become_a_text() -> None:
    assert quoted_texts('status = "active"') == {"active"}
    sql = rewritten('status = "active"', lambda n: '"status"' if n == "status" else None)
    assert sql == "\"status\" = 'active'"


@given(st.text(alphabet="ab.'\"[]`()?=<>! \n中$:%{}-,0.5ANDORINLIKE", max_size=40))
def test_conditions_when_odd_then_never_an_error_and_nothing_is_lost(condition: Any) -> None:
    names_in(condition)
    comparison(condition)
    conjuncts(condition)
    assert rewritten(condition, lambda name: None).replace("'", '"') == condition.replace("'", '"') or '"' in condition


def read(tmp_path: Any, data: Any) -> Any:
    (tmp_path / "filters.json").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return [(f.name, f.condition) for f in read_filters(Config(filters="filters.json", base=tmp_path))]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (["a = 1"], [("", "a = 1")]),
        ({"filters": ["a = 1"]}, [("", "a = 1")]),
        ({"mine": "user = ?", "new": {"at": {"$gt": "2026"}}}, [("mine", "user = ?"), ("new", "\"at\" > '2026'")]),
        ([{"name": "n", "where": "b > 3"}], [("n", "b > 3")]),
        ([{"name": "n", "filter": {"主题": "运维"}}], [("n", "\"主题\" = '运维'")]),
        ([{"name": "n", "topic": "ops"}], [("n", "\"topic\" = 'ops'")]),
        ([{"name": "n", "sql": "a = ?", "params": ["it's"]}], [("n", "a = 'it''s'")]),
        ([{"a": {"$eq": 1}, "b": None, "c": True}], [("", '"a" = 1 AND "b" IS NULL AND "c" = 1')]),
        ([{"$or": [{"a": 1}, {"b": {"$in": [1, "x"]}}]}], [("", '(("a" = 1) OR ("b" IN (1, \'x\')))')]),
        ([{"user": {"id": 5}}], [("", '"user.id" = 5')]),
        ([{"must": [{"key": "n", "range": {"gte": 3, "lt": 9}}]}], [("", '"n" >= 3 AND "n" < 9')]),
        ([{"field": "p", "op": ">=", "value": 5}], [("", '"p" >= 5')]),
        ([{"a": {"$exists": False}}], [("", '"a" IS NULL')]),
        ([{"topic": "?"}], [("", '"topic" = ?')]),
    ],
)
def test_file_when_read_then_every_form_becomes_a_condition(tmp_path: Any, data: Any, expected: Any) -> None:
    assert read(tmp_path, data) == expected


def test_file_when_an_operator_is_unknown_then_the_filter_keeps_its_problem(tmp_path: Any) -> None:
    (tmp_path / "f.json").write_text('[{"a": {"$near": [1, 2]}}, 7]')
    first, second = read_filters(Config(filters="f.json", base=tmp_path))
    assert "$near" in first.problem
    assert "int" in second.problem


@pytest.mark.parametrize("content", ["no json", "[]", "{}"])
def test_file_when_it_holds_no_filter_then_an_error_names_it(tmp_path: Any, content: Any) -> None:
    (tmp_path / "f.json").write_text(content)
    with pytest.raises(ConfigError, match=r"f\.json"):
        read_filters(Config(filters="f.json", base=tmp_path))


def test_file_when_missing_then_an_error(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"filters\.json"):
        read_filters(Config(filters="filters.json", base=tmp_path))


def test_filters_when_given_in_place_then_as_they_are() -> None:
    assert [f.condition for f in read_filters(Config(filters=("a = 1", "b = ?")))] == ["a = 1", "b = ?"]
    assert [f.condition for f in read_filters(Config(filters="score >= 0.6"))] == ["score >= 0.6"]
    assert read_filters(Config()) == ()


@pytest.mark.parametrize("name", ["score", "importance_score", "relevanceScore", "priority", "重要程度"])
def test_score_names_when_read_then_known(name: Any) -> None:
    assert is_score_name(name)


@pytest.mark.parametrize("name", ["score_id", "scored_at", "access_count", "topic", "score_version", "underscore"])
def test_other_names_when_read_then_no_scores(name: Any) -> None:
    assert not is_score_name(name)


def test_gone_names_when_read_then_known() -> None:
    assert all(map(is_gone_name, ("deleted", "is_deleted", "deleted_at", "isActive", "expires_at", "archived")))
    assert not any(map(is_gone_name, ("status", "activity", "undeletable", "topic")))
