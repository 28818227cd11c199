"""Sentences in the reader's language: what is looked up, filled in, counted and joined."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from memaudit.wording import (
    because,
    current_language,
    language,
    part_of,
    per_cent,
    percent,
    plural,
    say,
    sentences,
    spoken,
    term,
)


def test_say_when_no_language_was_chosen_then_english() -> None:
    assert say("{n} rows", n=1200) == "1,200 rows"
    assert current_language() == "en"


def test_say_when_chinese_then_the_sentence_of_the_catalogue() -> None:
    with language("zh"):
        assert say("{n} rows", n=1200) == "1,200 行"
        assert say("{seconds:.1f} s", seconds=2.25) == "2.2 秒"
        assert current_language() == "zh"


def test_say_when_the_catalogue_lacks_a_sentence_then_english_of_another_distribution() -> None:
    with language("zh"):
        assert say("a sentence of a probe from elsewhere: {n}", n=3) == "a sentence of a probe from elsewhere: 3"


def test_language_when_nested_and_left_by_an_error_then_the_outer_one_is_back() -> None:
    with language("zh"):
        with language("en"):
            assert say("1 row") == "1 row"
        with pytest.raises(KeyError), language("en"):
            say("{absent}")
        assert say("1 row") == "1 行"
    assert say("1 row") == "1 row"


def test_language_when_unknown_then_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="en, zh"), language("xx"):
        pass


def test_term_when_a_text_of_somebody_else_then_nothing_is_filled_in() -> None:
    with language("zh"):
        assert term("high") == "高"
        assert term("{display.__class__}") == "{display.__class__}"


def test_say_when_a_value_looks_like_a_key_or_a_field_then_untouched() -> None:
    with language("zh"):
        assert say("table `{table}`", table="rows {n}") == "表 `rows {n}`"


def test_counts_when_chinese_then_measure_words_and_no_plural() -> None:
    assert (plural(1, "row"), plural(3, "memory", "memories")) == ("1 row", "3 memories")
    with language("zh"):
        assert (plural(1, "row"), plural(1234, "memory", "memories")) == ("1 行", "1,234 条记忆")
        assert plural(2, "gadget") == "2 gadgets"


def test_shares_when_chinese_then_no_blank_before_the_sign() -> None:
    # 154 / 175 = 0.88
    assert (part_of(154, 175), percent(0, 0)) == ("154 of 175 (88.0 %)", "-")
    with language("zh"):
        assert (part_of(154, 175), percent(3, 6), percent(0, 0), per_cent("12")) == (
            "154 / 175（88.0%）",
            "50%",
            "-",
            "12%",
        )


def test_say_when_a_share_has_a_form_of_its_own_then_the_sign_stands_as_everywhere() -> None:
    assert say("Limit: {least:.0%} of the values.", least=0.2) == "Limit: 20 % of the values."
    assert say("{a:.1%}, {b:.2f}, {c}", a=0.125, b=0.5, c=0.25) == "12.5 %, 0.50, 0.25"
    with language("zh"):
        assert "20%" in say("Limit: {least:.0%} of the values.", least=0.2)


def test_say_when_a_value_ends_in_a_full_width_sign_then_no_blank_follows() -> None:
    key = "{rows} rows have no value."
    with language("zh"):
        assert say(key, rows=part_of(3, 30)) == "3 / 30（10.0%）行没有取值。"
        assert say(key, rows=3) == "3 行没有取值。"


def test_sentences_when_joined_then_as_the_language_does() -> None:
    assert sentences("One.", "", "Two.") == "One. Two."
    assert because("content", "it holds text") == "content, because it holds text"
    assert because(None, "no such column") == "not found: no such column"
    with language("zh"):
        assert sentences("一。", "", "二。") == "一。二。"
        assert because("content", say("it holds text")) == "content，因为其内容是文本"


def test_spoken_when_the_first_argument_has_a_language_then_the_function_speaks_it() -> None:
    @dataclass(frozen=True)
    class About:
        lang: str

    @spoken
    def told(about: About, n: int, *, noun: str) -> str:
        return plural(n, noun)

    assert (told(About("zh"), 2, noun="query"), told(About("en"), 1, noun="query")) == ("2 条查询", "1 query")
    assert current_language() == "en"
