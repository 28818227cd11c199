import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.model import Severity
from memaudit.probes.recall_loops import PROBE, has_recall_block
from memaudit.text.containment import MIN_WIDTH, comparable, earlier_rows_inside, width

FACT = "The export fails on Fridays at noon."
FACT_ZH = "退款审批需要财务和客服两方确认"  # 15 Han characters: width 30


def _slow(texts):
    """Compare each row with each earlier one."""
    compared = [comparable(t) for t in texts]
    inside = {}
    for row, text in enumerate(compared):
        for earlier in dict.fromkeys(compared[:row]):
            if earlier != text and width(earlier) >= MIN_WIDTH and earlier in text:
                inside.setdefault(row, []).append(compared.index(earlier))
    return {row: tuple(rows) for row, rows in inside.items()}


def test_earlier_rows_inside_when_nested_then_depth_by_hand() -> None:
    texts = [
        FACT,
        "Relevant memories:\n- The export fails on Fridays at noon",  # contains 0: depth 1
        "Builds run in Docker",
        "User: why? Assistant: Relevant memories:\n- The export fails on Fridays at noon\nbecause of the lock",  # 0 and 1: 2
        FACT_ZH,
        f"根据记忆：{FACT_ZH}。还需要邮件通知。",  # contains 4: depth 1
        FACT.upper(),  # a copy
    ]
    found = earlier_rows_inside(texts)
    assert found.inside == {1: (0,), 3: (0, 1), 5: (4,)}
    assert found.depth == {1: 1, 3: 2, 5: 1}
    assert found.deepest == 2


def test_earlier_rows_inside_when_earlier_row_is_short_or_cut_by_a_word_then_silent() -> None:
    texts = ["User likes tea", "User likes tea and biscuits in the afternoon",  # 14 characters
             "The deploy is on mondays", "The deploy is on monday", "We heard the deploy is on mondayish days"]  # fmt: skip
    assert earlier_rows_inside(texts).inside == {}


def test_earlier_rows_inside_when_the_longer_row_came_first_then_silent() -> None:
    assert earlier_rows_inside(["He said: the export fails on Fridays at noon", FACT]).inside == {}
    # By time it came later.
    assert earlier_rows_inside(["He said: the export fails on Fridays at noon", FACT], [1, 0]).inside == {0: (1,)}


@given(st.lists(st.text("ab c", min_size=0, max_size=60), max_size=12))
def test_earlier_rows_inside_when_compared_with_the_slow_way_then_never_more(texts) -> None:
    slow = _slow(texts)
    for row, rows in earlier_rows_inside(texts).inside.items():
        assert set(rows) <= set(slow[row])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.randoms())
def test_earlier_rows_inside_when_made_of_whole_sentences_then_equal_to_the_slow_way(picks, rng: random.Random) -> None:
    sentences = [
        f"Sentence number {word} says something of its own"
        for word in ("alpha", "beta", "gamma", "delta", "omega", "zeta")
    ]
    texts = [", ".join(rng.sample(sentences, 1 + pick % 3)) for pick in picks]
    assert earlier_rows_inside(texts).inside == _slow(texts)


def test_earlier_rows_inside_when_twenty_thousand_rows_then_found() -> None:
    rng = random.Random(1)
    words = [f"w{i}" for i in range(3000)]
    texts = ["In this attempt I was told to " + " ".join(rng.choices(words, k=25)) for _ in range(20_000)]
    texts += [f"Recalled: {texts[7]} and so on", "a" * 30_000, *("a" * n for n in range(20, 400))]
    found = earlier_rows_inside(texts)
    assert found.inside[20_000] == (7,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Relevant memories:\n1. likes tea\n2. lives in Bonn\nUser: hi", True),
        ("<relevant-memories>likes tea</relevant-memories> hi", True),
        ("以下是相关记忆：\n- 喜欢茶\n- 住在杭州", True),
        ("Relevant memories: at most five a prompt", False),
        ("The memory block is cut at 2,000 tokens", False),
        ("记忆召回最多返回五条", False),
    ],
)
def test_has_recall_block_when_read_then_only_with_items(text: str, expected: bool) -> None:
    assert has_recall_block(text) is expected


def test_probe_when_a_loop_is_stored_then_figures(make_context, found) -> None:
    notes = [f"Note {i}: the {w} team meets in room {i}" for i, w in enumerate(["红", "blue", "green", "gold"] * 4)]
    texts = [FACT, *notes, f"Recalled: {FACT}", f"I recall that Recalled: {FACT} Still true."]
    finding = found(PROBE.run(make_context({"id": [f"m{i}" for i in range(len(texts))], "content": texts})), "MA802")
    # 2 of 19 rows = 10.5 %; the second contains the first loop: nesting 2.
    assert finding.figures["rows"] == 19
    assert finding.figures["rows_containing_an_earlier_row_whole"] == 2
    assert finding.figures["share"] == pytest.approx(2 / 19)
    assert finding.figures["deepest_nesting"] == 2
    assert finding.figures["ids"] == ["m17", "m18"]
    assert finding.severity is Severity.MEDIUM
    assert finding.figures["rows_equal_to_just_recalled"] is None


def _quoting(form: str, more: dict[str, list[object]] | None = None) -> dict[str, list[object]]:
    """Return ten rows of which four quote the first behind other words."""
    plain = [
        FACT,
        *(f"Note {i}: the {w} team meets on Monday" for i, w in enumerate(["红", "blue", "green", "gold", "grey"])),
    ]
    quotes = [form.format(fact=FACT, n=n) for n in range(4)]
    return {"id": list(range(10)), "content": [*plain, *quotes], **(more or {})}


def test_probe_when_no_recall_is_seen_then_medium_at_most(make_context, found) -> None:
    finding = found(PROBE.run(make_context(_quoting("Chapter {n} of the manual. {fact} See the appendix."))), "MA802")
    assert finding.figures["rows_containing_an_earlier_row_whole"] == 4  # 40 %, twice what high asks for
    assert finding.figures["rows_with_recall_seen"] == 0
    assert finding.severity is Severity.MEDIUM
    assert "a recall is seen for 0 of 4 (0 %)" in finding.caveat  # the count stands beside the limit


@pytest.mark.parametrize("form", ["Turn {n}, recalled: {fact} Noted.", "第 {n} 轮，召回内容：{fact} 已记录。"])
def test_probe_when_the_rows_say_that_they_recall_then_high(make_context, found, form: str) -> None:
    finding = found(PROBE.run(make_context(_quoting(form))), "MA802")
    assert finding.figures["rows_with_recall_seen"] == 4
    assert finding.severity is Severity.HIGH


def test_probe_when_the_fact_itself_speaks_of_recall_then_that_is_none(make_context, found) -> None:
    fact = "The recall endpoint fails on Fridays at noon."
    columns = _quoting("Chapter {n} of the manual. " + fact + " See the appendix.")
    columns["content"][0] = fact
    finding = found(PROBE.run(make_context(columns)), "MA802")
    assert (finding.figures["rows_with_recall_seen"], finding.severity) == (0, Severity.MEDIUM)


def test_probe_when_the_counter_shows_a_recall_of_the_quoted_row_then_high(make_context, found) -> None:
    form = "Chapter {n} of the manual. {fact} See the appendix."
    ctx = make_context(_quoting(form, {"hits": [3, *[0] * 9]}), hits="hits")
    assert found(PROBE.run(ctx), "MA802").severity is Severity.HIGH
    ctx = make_context(_quoting(form, {"hits": [0, 3, *[0] * 8]}), hits="hits")  # another row was recalled
    assert found(PROBE.run(ctx), "MA802").severity is Severity.MEDIUM


def test_probe_when_a_row_was_only_extended_then_low(make_context, found) -> None:
    texts = ["Deploys need one approval", "Deploys need one approval, on Fridays two", "合同编号的前两位代表分公司"]
    finding = found(PROBE.run(make_context({"id": [1, 2, 3], "content": texts})), "MA802")
    assert finding.severity is Severity.LOW
    assert finding.figures["rows_only_extending"] == 1


def test_probe_when_healthy_or_empty_then_silent(make_context) -> None:
    texts = [
        "Deploys need one approval",
        "每次部署前先备份数据库",
        "Deploys need two approvals",
        "",
        "null",
        "ok",
        "ok then",
    ]
    assert PROBE.run(make_context({"id": list(range(7)), "content": texts})).findings == ()
    assert PROBE.run(make_context({"id": [], "content": []})).findings == ()


def test_probe_when_written_right_after_a_recall_then_counted(make_context, found) -> None:
    ctx = make_context(
        {
            "id": [1, 2, 3],
            "content": ["short fact", "short fact", "short fact"],
            "at": ["2026-05-01T10:00:00Z", "2026-05-02T10:05:00Z", "2026-05-03T12:00:00Z"],
        },
        {"retrieval_log": "recalls"},
        time="at",
    )
    ctx.store.connection.execute("CREATE TABLE recalls (memory_id, recalled_at)")
    # Row 2 was written five minutes after row 1 was recalled, row 3 a day after.
    ctx.store.connection.execute("INSERT INTO recalls VALUES (1, '2026-05-02T10:00:00Z'), (2, '2026-05-02T11:00:00Z')")
    from memaudit.stores.store import StoreTable, TableColumn

    ctx.store.tables += (StoreTable("recalls", (TableColumn("memory_id"), TableColumn("recalled_at")), 2),)
    finding = found(PROBE.run(ctx), "MA802")
    assert finding.figures["rows_equal_to_just_recalled"] == 1
    assert finding.evidence.ids == (2,)


def test_probe_when_a_set_phrase_is_repeated_once_in_many_rows_then_silent(make_context, found) -> None:
    notes = [f"Note {i} about the {'parser' if i % 2 else '合同'}" for i in range(150)]
    texts = ["谢谢你的建议，我会去尝试", *notes, "好的，谢谢你的建议，我会去尝试一下。"]
    assert PROBE.run(make_context({"id": list(range(152)), "content": texts})).findings == ()
    # In a small store one row is more than 1 %.
    assert found(PROBE.run(make_context({"id": [1, 2], "content": [texts[0], texts[-1]]})), "MA802") is not None


def test_probe_when_owners_differ_then_not_compared(make_context, found) -> None:
    columns = {
        "id": [1, 2, 3],
        "user": ["a", "b", "a"],
        "content": [FACT, f"Recalled: {FACT}", f"Recalled again: {FACT}"],
    }
    finding = found(PROBE.run(make_context(columns, {"isolation_keys": ("user",)})), "MA802")
    assert finding.figures["ids"] == [3]
