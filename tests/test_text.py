from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.text import (
    KINDS,
    cjk_share,
    detail_differences,
    details,
    differ_in_digits,
    is_blank,
    language,
    normalised,
    words,
)

_ANY = st.text(max_size=60)
# Texts of the stuff that the rules look for: more likely to hit a rule than any text.
_LIKELY = st.lists(
    st.sampled_from(
        [
            "not",
            "never",
            "不",
            "没有",
            "30",
            "3.5",
            "s",
            "min",
            "小时",
            "2026-05-01",
            "v1.2",
            "Monday",
            "周三",
            "三次",
            "enable",
            "disable",
            "开启",
            "关闭",
            "SQLite",
            "the",
            "cache",
            "“报表”",
            "8f21c0",
            "²",
            "，",
            ". ",
            "\n",
        ]
    ),
    max_size=8,
).map(" ".join)


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("Timeout is 30 s.", "Timeout is 60 s.", "number"),
        ("cold room A: 3.9 on day 1", "cold room A: 4.1 on day 2", "number"),
        ("数据库迁移在两点执行", "数据库迁移在三点执行", "number"),
        ("the base is x²", "the base is x³", "number"),
        ("the base is x²", "the base is x2", "number"),
        ("Timeout is 30 s.", "Timeout is 30 min.", "unit"),
        ("预算五百元", "预算五百美元", "unit"),
        ("It costs $5", "It costs €5", "unit"),
        ("released 2026-05-01", "released 2026-05-02", "date"),
        ("每周三例会", "每周四例会", "date"),
        ("The meeting is on Monday", "The meeting is on Tuesday", "date"),
        ("due May 5, 2026", "due May 6, 2026", "date"),
        ("upgrade to v1.2", "upgrade to v1.3", "version"),
        ("numpy 1.26.4 works", "numpy 1.26.5 works", "version"),
        ("Users may export.", "Users may not export.", "negation"),
        ("It works with the proxy", "It doesn't work with the proxy", "negation"),
        ("用户可以导出报表。", "用户不可以导出报表。", "negation"),
        ("部署已完成", "部署未完成", "negation"),
        ("Enable the cache.", "Disable the cache.", "opposite"),
        ("Turn the light on", "Turn the light off", "opposite"),
        ("the door is available", "the door is unavailable", "opposite"),
        ("The key rotates daily", "The key rotates weekly", "opposite"),
        ("All users see it", "Only admins see it", "opposite"),
        ("测试通过", "测试失败", "opposite"),
        ("密钥每天轮换", "密钥每周轮换", "opposite"),
        ("开启缓存", "关闭缓存", "opposite"),
        ("价格上调百分之五", "价格下调百分之五", "opposite"),
        ("We use PostgreSQL here", "We use MySQL here", "name"),
        ("用 redis 做缓存最快", "用 mongo 做缓存最快", "name"),
        ("commit 8f21c0 is bad", "commit 8f21d0 is bad", "name"),
        ("打开“月报”文件", "打开“周报”文件", "name"),
        ("Backup before deploy", "Deploy before backup", "order"),
        ("Alice likes tea", "Bob likes tea", "word"),
        ("联系 王小明 确认", "联系 陈思远 确认", "word"),
        ("The user is vegetarian", "The user loves steak", "word"),
        ("价格 不 涨", "价格 不 涨 not", "negation"),
    ],
)
def test_detail_differences_when_a_detail_differs_then_names_its_kind(first: Any, second: Any, kind: Any) -> None:
    assert kind in detail_differences(first, second)
    assert kind in detail_differences(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Keep answers under five lines.", "  keep answers under FIVE lines"),
        ("Never use the cache here", "Do not use the cache here"),
        ("三次重试之后停止", "3次重试之后停止"),
        ("Three retries are made", "3 retries are made"),
        ("The limit is 1,000 rows", "The limit is 1000 rows"),
        ("Deploys go through the blue pipeline.", "All deployments go through the blue pipeline."),
        ("开启缓存", "开启缓存，关闭日志"),  # both switch the cache on
        ("是不是要重启服务", "要重启服务"),  # a question, no negation
        ("非常重要的规则，不过有例外", "重要的规则，有例外"),  # 非常 and 不过 negate nothing
        ("Switch on the lamp that stands on it", "Switch on the lamp that stands on it now"),
    ],
)
def test_detail_differences_when_only_the_wording_differs_then_none(first: Any, second: Any) -> None:
    assert detail_differences(first, second) == frozenset()


def test_detail_differences_when_a_long_text_differs_behind_the_limit_then_word() -> None:
    long = "a b " * 6000  # 24,000 characters, 4,000 behind the limit
    assert detail_differences(long, long + "c") == {"word"}


def test_details_when_text_is_mixed_then_finds_each() -> None:
    found = details("在 2026-05-01 用 PostgreSQL v16.1 重试三次，每次 30 秒，不要停")
    assert found.dates == ("2026-05-01",)
    assert found.versions == ("16.1",)
    assert found.numbers == ("3", "30")
    assert found.units == ("s", "time")
    assert "postgresql" in found.names
    assert found.n_negations == 1


def test_differ_in_digits_when_only_the_weekday_differs_then_false() -> None:
    assert not differ_in_digits("on Monday at 3", "on Tuesday at 3")
    assert differ_in_digits("on 2026-05-01", "on 2026-05-02")
    assert differ_in_digits("重试三次", "重试四次")
    assert differ_in_digits("会议定在三月五日。", "会议定在三月六日。")
    assert not differ_in_digits("每逢周三开会", "每逢星期四开会")
    assert not differ_in_digits("三月五日昨天", "三月五日今天")


@given(_ANY | _LIKELY, _ANY | _LIKELY)
def test_detail_differences_are_symmetric_and_of_known_kinds(first: Any, second: Any) -> None:
    found = detail_differences(first, second)
    assert found == detail_differences(second, first)
    assert found <= set(KINDS)


@given(_ANY | _LIKELY)
def test_detail_differences_of_a_text_with_itself_are_none(text: Any) -> None:
    assert detail_differences(text, text) == frozenset()
    assert not differ_in_digits(text, text)


@given(_ANY | _LIKELY, st.sampled_from([" not", " 不", " 42", " v9.9"]))
def test_detail_differences_when_a_detail_is_added_then_never_empty(text: Any, added: Any) -> None:
    assert detail_differences(text, text + " x" + added)


@given(_ANY)
def test_normalised_is_idempotent_and_ignores_outer_space(text: Any) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert normalised(f" \n{text}\u3000") == once


def test_normalised_when_signs_mean_something_else_then_keeps_them_apart() -> None:
    assert normalised("  Keep answers  under five lines.") == normalised("keep answers under five lines.")
    assert normalised("x²") != normalised("x2")
    assert normalised("Maße") != normalised("Masse")
    assert normalised("前端　构建") == normalised("前端 构建")
    assert normalised("café") == normalised("cafe\u0301")


@pytest.mark.parametrize("text", ["", "  ", "\u3000\n\t", "\u200b", " \ufeff \u200d "])
def test_is_blank_when_nothing_can_be_seen_then_true(text: Any) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["0", "。", "无", "\U0001f642", "null"])
def test_is_blank_when_anything_can_be_seen_then_false(text: Any) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("text", "expected", "share"),
    [
        ("你好世界", "zh", 1.0),
        ("hello, world 42", "en", 0.0),
        ("你好 hello", "mixed", 2 / 7),
        ("Straße nach Köln", "en", 0.0),
        ("12:30 --", "other", 0.0),
        ("", "other", 0.0),
        ("привет", "other", 0.0),
        ("こんにちは世界", "other", 1.0),
    ],
)
def test_language_and_cjk_share_by_letters(text: Any, expected: Any, share: Any) -> None:
    assert language(text) == expected
    assert cjk_share(text) == pytest.approx(share)


@given(_ANY)
def test_cjk_share_is_a_share_and_words_never_fail(text: Any) -> None:
    assert 0.0 <= cjk_share(text) <= 1.0
    assert all(word for word in words(text))
