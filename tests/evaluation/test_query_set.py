import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import ConfigError
from memaudit.evaluation.query_set import Item, read_queries, refuse_collision


@pytest.fixture
def read(tmp_path: Any) -> Any:
    def make(*lines: Any) -> Any:
        path = tmp_path / "queries.jsonl"
        path.write_text("".join(x if isinstance(x, str) else json.dumps(x) + "\n" for x in lines), encoding="utf-8")
        return read_queries(path)

    return make


BASE = {"id": "q1", "text": "哪个嵌入模型?"}


def test_query_when_any_is_enough_then_one_group(read: Any) -> None:
    query = read({**BASE, "expect_any": [{"doc": "m1"}, {"contains": "MODEL = "}, "bare text"]}).queries[0]
    assert query.groups == ((Item(doc="m1"), Item(contains="MODEL = "), Item(contains="bare text")),)
    assert (query.measured_by, query.needs_several, query.origin, query.origin_given) == ("hit", False, "hand", False)


def test_query_when_all_are_needed_then_a_group_each_and_equal_items_once(read: Any) -> None:
    query = read({**BASE, "expect_all": [{"doc": 17}, {"doc": "18"}, {"doc": "17"}]}).queries[0]
    assert query.groups == ((Item(doc="17"),), (Item(doc="18"),))
    assert query.measured_by == "coverage"


def test_query_when_groups_are_given_then_kept(read: Any) -> None:
    query = read({**BASE, "expect_groups": [[{"doc": "a"}, {"doc": "b"}], [{"doc": "c"}]]}).queries[0]
    assert query.groups == ((Item(doc="a"), Item(doc="b")), (Item(doc="c"),))


def test_query_when_gold_then_measured_by_hit_and_may_need_several(read: Any) -> None:
    query = read({**BASE, "gold": ["d1", "d2"]}).queries[0]
    assert (query.meaning, query.measured_by, query.needs_several) == ("gold", "hit", True)


GOOD = {**BASE, "gold": ["d1"]}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{bad\n", "no JSON"),
        ("[1]\n", "a list where an object"),
        ({"text": "t", "gold": ["d"]}, "has no id"),
        ({"id": "q", "gold": ["d"]}, "has no text"),
        ({**GOOD, "text": "  "}, "text is empty"),
        ({**GOOD, "text": 3}, "text is a number"),
        ({**GOOD, "id": None}, "id is null"),
        ({**GOOD, "id": True}, "id is true or false"),
        (BASE, "exactly one of"),
        ({**GOOD, "expect_any": [{"doc": "d"}]}, "expect_any, gold"),
        ({**BASE, "expect_all": []}, "expect_all is empty"),
        ({**BASE, "expect_any": "d1"}, "expect_any is a text; a list"),
        ({**BASE, "expect_any": [{"doc": "a", "contains": "b"}]}, "an expected item is"),
        ({**BASE, "expect_any": [7]}, "an expected item is 7"),
        ({**BASE, "expect_groups": [[]]}, "a group of expect_groups is empty"),
        ({**BASE, "expect_groups": ["a"]}, "a list was expected"),
        ({**GOOD, "origin": "handd"}, 'Did you mean "hand"'),
        ({**GOOD, "language": "de"}, "expected zh, en, mixed"),
        ({**GOOD, "control": "yes"}, "true or false was expected"),
        ({**GOOD, "exclude": "d1"}, "exclude is a text; a list"),
        ('{"id": "q", "text": "t", "gold": [NaN]}\n', "NaN is no JSON number"),
    ],
)
def test_line_when_it_breaks_the_format_then_one_error_with_its_place(read: Any, line: Any, words: Any) -> None:
    with pytest.raises(ConfigError) as error:
        read({**GOOD, "id": "q0"}, "\n", line)
    assert "queries.jsonl:3" in str(error.value)
    assert words in str(error.value)


def test_ids_when_used_twice_then_both_lines_are_named(read: Any) -> None:
    with pytest.raises(ConfigError, match=r'queries.jsonl:2: the id "q1" is used in queries.jsonl:1'):
        read(GOOD, GOOD)


def test_query_set_when_the_file_is_empty_then_no_queries(read: Any) -> None:
    assert read("").queries == ()


def test_query_set_when_a_text_holds_line_separators_then_one_line(read: Any) -> None:
    assert read({**GOOD, "text": "a\u2028b\u0085c"}).queries[0].text == "a\u2028b\u0085c"


def test_file_when_absent_or_no_utf8_then_an_error_names_it(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the query set .*none\.jsonl: there is no such file"):
        read_queries(tmp_path / "none.jsonl")
    (tmp_path / "gbk.jsonl").write_bytes(b"{}\n" + "查询".encode("gbk"))
    with pytest.raises(ConfigError, match=r"gbk\.jsonl:2: the query set is not UTF-8"):
        read_queries(tmp_path / "gbk.jsonl")


def test_collision_when_a_query_has_a_document_id_then_refused(read: Any) -> None:
    found = read(GOOD)
    refuse_collision(found, ["d1", "d2"])
    with pytest.raises(ConfigError, match='1 query ids are ids of documents too: "q1"'):
        refuse_collision(found, ["q1"])


def test_dependence_when_pair_or_group_then_group_wins(read: Any) -> None:
    found = read({**GOOD, "pair": "p"}, {**GOOD, "id": "q2", "pair": "p", "group": "g"}, {**GOOD, "id": "q3"})
    assert found.dependence == {"q1": "p", "q2": "g"}


def test_synthetic_when_all_are_made_then_true(read: Any) -> None:
    made = {**GOOD, "origin": "llm"}
    assert read(made, {**made, "id": "q2", "origin": "truncated"}).synthetic
    assert not read(made, {**GOOD, "id": "q2"}).synthetic


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4))
def test_query_whatever_its_texts_then_read_back_as_written(tmp_path_factory: Any, text: Any, gold: Any) -> None:
    path = tmp_path_factory.mktemp("q") / "q.jsonl"
    path.write_text(json.dumps({"id": "q", "text": text, "gold": gold}), encoding="utf-8")
    query = read_queries(path).queries[0]
    assert query.text == text
    assert [i.doc for g in query.groups for i in g] == list(dict.fromkeys(gold))
