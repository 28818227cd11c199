from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import ConfigError
from memaudit.text.template import fitting_template, match_template, parse_template, read_template, template_lines

_LINES = "Area: Retail\nState: {state}\nBody: {body}\n"


def test_parse_template_when_holes_have_formats_then_finds_their_names() -> None:
    template = parse_template("{a}-{b!r:>8} {{ c.d }} {} {not a hole} {1x}")
    assert template.holes == ("a", "b", "c.d", "")
    assert template.literals == ("", "-", " ", " ", " {not a hole} {1x}")


def test_match_template_when_text_follows_it_then_counts_its_constants() -> None:
    match = match_template(parse_template("工具 {tool} 失败：{error}。"), "工具 shell 失败：超时。")
    assert match.values == ("shell", "超时")
    # "工具 " 3, " 失败：" 4, "。" 1
    assert match.n_constant == 8
    assert "".join(text for text, _ in match.parts) == "工具 shell 失败：超时。"


@pytest.mark.parametrize(
    "text", ["", "Area: Retail", "area: Retail\nState: x\nBody: y", "Area: Retail\nBody: y\nState: x"]
)
def test_match_template_when_text_does_not_follow_it_then_none(text: Any) -> None:
    assert match_template(parse_template(_LINES.rstrip("\n")), text) is None


def test_match_template_when_the_empty_end_was_stripped_then_still_matches() -> None:
    template = parse_template("State: {state}\nBody: {body}")
    assert match_template(template, "State: New\nBody:").values == ("New", "")
    assert match_template(template, "State: New\nBody:x") is None


def test_match_template_when_the_last_literal_overlaps_the_first_then_none() -> None:
    assert match_template(parse_template("aba{x}aba"), "ababa") is None
    assert match_template(parse_template("aba{x}aba"), "abaaba").values == ("",)


@given(st.lists(st.text("ab{}\n", max_size=4), min_size=1, max_size=4), st.lists(st.text("xy", max_size=3), min_size=3))
def test_a_filled_template_always_matches_and_keeps_every_character(literals: Any, values: Any) -> None:
    text = "".join(part + value for part, value in zip(literals, [*values, ""] * 4, strict=False))
    template = type(parse_template(""))((*literals, ""), tuple("h" for _ in literals))
    match = match_template(template, text)
    assert match is not None
    assert "".join(part for part, _ in match.parts) == text


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_as_template_never_fails(template: Any, text: Any) -> None:
    lines = template_lines(template, [text, template])
    assert all(line.n_rows <= 2 for line in lines)


def test_fitting_template_when_braces_are_doubled_then_reads_them_as_one() -> None:
    template = fitting_template('{{"text": "{body}"}}\n', ['{"text": "a"}', '{"text": "b"}'])
    assert template.literals == ('{"text": "', '"}')


def test_template_lines_when_a_line_never_changes_then_one_value() -> None:
    texts = ["Area: Retail\nState: New\nBody: 第一行\n第二行", "Area: Retail\nState: New\nBody: ", "something else"]
    area, state, body = template_lines(_LINES, texts)
    assert (area.label, dict(area.values), area.n_rows) == ("Area", {"Retail": 2}, 2)
    assert (state.label, state.n_distinct) == ("State", 1)
    assert dict(body.values) == {"第一行\n第二行": 1, "": 1}
    # "Area: Retail" and its line feed: 13 characters in each of two rows
    assert area.n_chars == 26


def test_template_lines_when_a_line_has_no_label_then_it_is_numbered() -> None:
    assert [line.label for line in template_lines("{a}\n\n写于 {b}", ["x\n\n写于 y"])] == ["line 1", "line 3"]


def test_read_template_when_the_file_is_missing_then_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"t\.txt"):
        read_template(tmp_path / "t.txt")
