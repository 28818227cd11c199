from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.reports.shown_text import (
    cell_width,
    common_prefix,
    cut,
    language,
    shown,
    visible,
    wrap_cells,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=80)  # lone surrogates too


@pytest.mark.parametrize(
    ("stored", "seen"),
    [
        ("right\u202eto left", "right⟨U+202E⟩to left"),
        ("nul\x00", "nul⟨U+0000⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\x1b[31m", "⟨U+001B⟩[31m"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("a\nb\tc\r\nd", "a⏎b⇥c⏎d"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("hidden\ufe0f", "hidden⟨U+FE0F⟩"),
        ("\u2028", "⟨U+2028⟩"),
        ("\uffff", "⟨U+FFFF⟩"),
        ("a" + "\u0301" * 200, "a" + "\u0301" * 4 + "⟨+196⟩"),
    ],
)
def test_visible_when_a_character_steers_or_hides_then_it_is_written_out(stored: str, seen: str) -> None:
    assert visible(stored) == seen


@pytest.mark.parametrize(
    "stored",
    [
        "plain text, 中文，标点。",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "heart \u2764\ufe0f and 1\ufe0f\u20e3",
        "می\u200cخواهم",  # Persian spelling needs the joiner
        "क\u094d\u200dष",
        "flag \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "e\u0301",
    ],
)
def test_visible_when_characters_do_their_proper_work_then_nothing_changes(stored: str) -> None:
    assert visible(stored) == stored


@given(ANY_TEXT)
def test_visible_when_any_text_then_it_encodes_and_holds_no_control_or_bidi(text: str) -> None:
    seen = visible(text)
    seen.encode("utf-8")
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in seen)
    assert not set(seen) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b")


def test_cut_when_text_fits_then_it_stays() -> None:
    assert cut("记忆" * 100, 200) == ("记忆" * 100, None)


@pytest.mark.parametrize(
    ("text", "limit", "head"),
    [
        ("abcde\u0301fgh", 5, "abcd"),  # not between e and its accent
        ("ab\U0001f468\u200d\U0001f469cd", 4, "ab"),  # not inside the couple
        ("ab\U0001f1e9\U0001f1eacd", 3, "ab"),  # not inside the flag
        ("x\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7y", 3, "x\U0001f1e9\U0001f1ea"),  # but between two flags
        ("\U0001f44d\U0001f3fdok", 1, "\U0001f44d"),  # a grapheme longer than the limit is cut: no other way
    ],
)
def test_cut_when_limit_falls_inside_a_grapheme_then_it_moves_back(text: str, limit: int, head: str) -> None:
    assert cut(text, limit) == (head, len(text))


@given(ANY_TEXT, st.integers(1, 40))
def test_cut_when_any_text_then_never_longer_than_the_limit(text: str, limit: int) -> None:
    head, full = cut(text, limit)
    assert len(head) <= limit
    assert text.startswith(head)
    assert full == (None if len(text) <= limit else len(text))


def test_shown_when_long_then_full_length_is_stated() -> None:
    piece = shown("记" * 5000)
    assert (len(piece.text), piece.lang, piece.cut_from) == (200, "zh", 5000)


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("工具重试成功", "zh"),
        ("shell工具重试成功", "zh"),
        ("shell.run 失败", ""),
        ("これは漢字", ""),
        ("", ""),
        ("12 %", ""),
    ],
)
def test_language_when_most_letters_are_han_then_zh(text: str, lang: str) -> None:
    # "shell工具重试成功": 6 Han of 11 letters; "shell.run 失败": 2 of 10
    assert language(text) == lang


def test_common_prefix_when_all_share_it_then_it_ends_before_the_difference() -> None:
    values = ["工具试错模式: shell工具重试成功", "工具试错模式: stock_query工具重试成功"]
    assert common_prefix(values) == "工具试错模式: "  # not "…: s": a Latin word is not cut


@pytest.mark.parametrize("values", [["工具试错模式: a"], ["abc1", "abd2"], ["same text"] * 2, [], ["abcdef", "xbcdef"]])
def test_common_prefix_when_short_or_alone_then_none(values: list[str]) -> None:
    assert common_prefix(values) == ""


@given(st.lists(st.text("ab工具:. ", max_size=12), min_size=2, max_size=5))
def test_common_prefix_when_any_values_then_all_begin_with_it(values: list[str]) -> None:
    prefix = common_prefix(values)
    assert all(value.startswith(prefix) for value in values)
    assert prefix == "" or len(prefix) >= 4


def test_cell_width_when_mixed_then_cjk_counts_two() -> None:
    assert cell_width("shell工具") == 5 + 4
    assert cell_width("e\u0301") == 1


@given(st.text(st.sampled_from("ab 工具。-"), max_size=60), st.integers(8, 30))
def test_wrap_cells_when_any_text_then_lines_fit_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrap_cells(text, width)
    assert all(cell_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
