"""The texts of every variant, written out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import ConfigError
from memaudit.evaluation.variants import Parts, parts_of_fields, parts_of_template, variants

FIELDS = {"topic": ["网络", "disk"], "body": ["超时 30 s", "is full"], "owner": ["li", ""]}


def texts(parts: Parts, ablate: list[str] | None = None) -> dict[str, tuple[str, ...]]:
    return {v.name: v.texts for v in variants(parts, ablate)}


def test_fields_when_nothing_is_named_then_each_left_out_and_each_alone() -> None:
    made = variants(parts_of_fields(FIELDS))
    assert {v.name: v.texts for v in made} == {
        "full": ("网络 超时 30 s li", "disk is full"),
        "without_topic": ("超时 30 s li", "is full"),
        "without_body": ("网络 li", "disk"),
        "without_owner": ("网络 超时 30 s", "disk is full"),
        "only_topic": ("网络", "disk"),
        "only_body": ("超时 30 s", "is full"),
        "only_owner": ("li", ""),
    }
    assert [v.judged for v in made] == [False, True, True, True, False, False, False]
    assert made[0].n_chars == 13 + 12


def test_fields_when_combinations_are_named_then_only_those() -> None:
    parts = parts_of_fields(FIELDS)
    made = variants(parts, ["owner", "topic+owner", "only:body+topic", "owner"])
    assert {v.name: v.texts for v in made[1:]} == {
        "without_owner": ("网络 超时 30 s", "disk is full"),
        "without_topic+owner": ("超时 30 s", "is full"),
        "only_body+topic": ("网络 超时 30 s", "disk is full"),  # the order of the embedded text stays
    }
    assert all(v.judged for v in made[1:])
    assert texts(parts, ["topic+body+owner"])["without_topic+body+owner"] == ("", "")


def test_fields_when_a_name_is_wrong_then_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="'ownr'") as error:
        variants(parts_of_fields(FIELDS), ["ownr"])
    assert "owner" in str(error.value.hint)
    with pytest.raises(ConfigError, match="template"):
        variants(parts_of_fields(FIELDS), ["template"])


def test_template_of_lines_when_a_field_goes_then_its_line_goes() -> None:
    literals, holes = ("Topic: ", "\nBody: ", " (", ")\n-- end"), ("topic", "body", "topic")
    full = ("Topic: a\nBody: b\nb2 (a)\n-- end", "other")
    made = texts(parts_of_template(full, literals, holes, [("a", "b\nb2", "a"), None]))
    assert made["without_topic"] == ("Body: b\nb2 ()\n-- end", "other")  # the second line varies by more than the topic
    assert made["without_body"] == ("Topic: a\n (a)\n-- end".replace("\n (a)", "\nBody:  (a)"), "other")
    assert made["without_template"] == ("a b\nb2", "other")
    assert made["only_topic"] == ("a", "other")
    assert texts(parts_of_template(full, literals, holes, [("a", "b\nb2", "a"), None]), ["topic+body"])[
        "without_topic+body"
    ] == ("-- end", "other")


def test_template_of_one_line_when_a_field_goes_then_only_its_value() -> None:
    parts = parts_of_template(("工具 x 失败 2 次",), ("工具 ", " 失败 ", " 次"), ("tool", ""), [("x", "2")])
    assert list(parts.fields) == ["tool", "hole 2"]
    made = texts(parts)
    assert made["without_tool"] == ("工具  失败 2 次",)
    assert made["without_hole 2"] == ("工具 x 失败  次",)
    assert made["without_template"] == ("x 2",)
    # Without all that varies the constants stay: the line is the whole text.
    assert texts(parts, ["tool+hole 2"])["without_tool+hole 2"] == ("工具  失败  次",)


def test_template_when_rows_follow_it_not_then_counted() -> None:
    parts = parts_of_template(("a", "b"), ("", ""), ("x",), [("a",), None])
    assert parts.n_whole == 1
    assert parts_of_fields(FIELDS).n_whole == 0


@given(st.lists(st.lists(st.text(max_size=4), min_size=3, max_size=3), max_size=5))
def test_fields_when_drawn_then_all_kept_is_the_full_text(rows: list[list[str]]) -> None:
    columns = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
    made = texts(parts_of_fields(columns), ["only:a+b+c", "a"])
    assert made["only_a+b+c"] == made["full"] == tuple(" ".join(p for p in row if p) for row in rows)
    assert made["without_a"] == tuple(" ".join(p for p in row[1:] if p) for row in rows)
