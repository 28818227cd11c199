import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.text.skeleton import skeletons, tokens, weight

_THINGS = [
    "pump house", "冷库门", "billing queue", "登录页面", "map widget", "会议室", "export job", "缓存层",
    "search index", "退款流程", "night backup", "短信网关",
]  # fmt: skip


@given(st.text(max_size=60))
def test_tokens_lose_nothing(text):
    assert "".join(tokens(text)) == text


def test_weight_by_hand():
    assert weight("Body: ") == 5  # four letters and a colon
    assert weight("经过 ") == 4
    assert weight(" ,.- ") == 0


@pytest.mark.parametrize(
    "wrap",
    [
        ("Note about ", ": it was checked."),
        ("关于", "的记录：已经检查完毕。"),
        ("Title: ", "\nState: checked\n"),
    ],
)
def test_skeletons_when_texts_share_a_wrapper_then_it_is_found(wrap):
    texts = [f"{wrap[0]}{thing} number {i}{wrap[1]}" for i, thing in enumerate(_THINGS)]
    (found,) = skeletons(texts)
    assert found.members == tuple(range(12))
    assert found.template.literals[0].startswith(wrap[0])
    assert found.template.literals[-1].endswith(wrap[1])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("abcdefgh ", min_size=5, max_size=30), min_size=12, max_size=20, unique=True))
def test_skeletons_when_filled_with_anything_then_the_share_is_near_the_true_one(fillings):
    texts = list(
        dict.fromkeys(f"[Recorded experience] {f.strip()} [End of record]" for f in fillings if len(f.strip()) > 4)
    )
    found = skeletons(texts)
    if len(texts) >= 8:
        # The wrapper has 22 + 16 characters; a shared first or last letter of the fillings may join it.
        assert sum(len(s.members) for s in found) == len(texts)
        assert found[0].template.n_constant >= 38


def test_skeletons_when_two_wrappers_then_both_are_found():
    one = [f"Incident report for {thing}: resolved by hand." for thing in _THINGS]
    two = [f"用户反馈（{thing}）：请尽快处理。" for thing in _THINGS]
    found = skeletons([*one, *two])
    assert sorted(len(s.members) for s in found) == [12, 12]
    assert {i for s in found for i in s.members} == set(range(24))


def test_skeletons_when_texts_are_readings_then_none():
    texts = [f"cold room A temperature: {i / 10} on day {i}" for i in range(30)]
    assert skeletons(texts) == ()


def test_skeletons_when_half_of_the_texts_follow_none_then_none():
    texts = [f"Incident report for {thing}: resolved by hand." for thing in _THINGS]
    texts += [
        f"{thing} 的负责人是 {i} 号同事，有事先问他" * 1 for i, thing in enumerate(reversed("甲乙丙丁戊己庚辛壬癸子丑"))
    ]
    free = [
        "Logs move to cold storage",
        "库存每天同步",
        "Ask before deleting",
        "周五做备份演练",
        "Use metric units",
    ] * 4
    assert skeletons([*texts[:12], *(f"{t} {i}" for i, t in enumerate(free))]) == ()


def test_skeletons_when_few_texts_then_none():
    assert skeletons([f"Title: note {i}\nBody: text" for i in "abcdefg"]) == ()
    assert skeletons([]) == ()


def test_skeletons_when_sentences_share_a_phrase_in_the_middle_then_none():
    texts = [
        f"{thing} was found stuck in a loop again on visit {i} of {thing[::-1]}" for i, thing in enumerate(_THINGS)
    ]
    assert skeletons(texts) == ()
    (found,) = skeletons([f"{text}: stuck" for text in texts])  # a label at the end makes it a template
    assert found.template.literals[-1] == ": stuck"


def test_skeletons_of_free_sentences_then_none():
    texts = [
        "The user likes short answers.", "The user works at night.", "The invoice number is unique.", "用户喜欢短回答。",
        "The map needs a height.", "The linter is strict.", "用户在夜里工作。", "The user asked for the weekly report.",
        "发票编号是唯一的。", "The cache is warm.", "The user moved to Berlin.", "The user owns two cats.",
    ]  # fmt: skip
    assert skeletons(texts) == ()


def test_skeletons_of_long_logs_are_found() -> None:
    # 40 dumps of 200,000 characters behind one header; comparing every run with every whole text took minutes.
    words = ["alpha", "beta", "系统", "retry", "socket", "index"]
    texts = [
        f"Log of the nightly run, part {i}\n"
        + " ".join(f"{words[(i * j) % 6]}{(i + 7) * j % 997}" for j in range(25_000))
        for i in range(40)
    ]
    (found,) = skeletons(texts)
    assert found.template.literals[0] == "Log of the nightly run, part "
    assert len(found.members) == 40
