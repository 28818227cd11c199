from typing import Any

import pytest

from memaudit.model import Severity
from memaudit.probes.contents import PROBE, blanks
from memaudit.text import is_placeholder


def test_content_blank_when_rows_are_blank_and_placeholders_then_counts_each(make_context: Any, found: Any) -> None:
    texts = ["", None, "  \n", "null", "undefined", "undefined", "{{name}}", "周报按项目分组", "Deploy on Friday", "ok"]
    ctx = make_context({"id": list(range(1, 11)), "content": texts})
    result = PROBE.run(ctx)
    finding = found(result, "MA003")
    # 3 blank, 4 placeholders, 3 usable of 10
    assert finding.figures == {
        "rows": 10,
        "blank_rows": 3,
        "placeholder_rows": 4,
        "placeholders": {"undefined": 2, "null": 1, "{{name}}": 1},
        "usable_rows": 3,
        "share_blank": pytest.approx(0.3),
        "share_usable": pytest.approx(0.3),
    }
    assert finding.severity is Severity.HIGH
    assert finding.evidence.ids == (1, 2, 3, 4, 5, 6, 7)
    assert finding.lane == "data collection"
    assert [(p.action, p.ids) for p in result.proposals] == [("delete", (1, 2, 3)), ("review", (4, 5, 6, 7))]


@pytest.mark.parametrize(("n_blank", "severity"), [(1, Severity.LOW), (2, Severity.MEDIUM), (20, Severity.HIGH)])
def test_content_blank_severity_by_share(make_context: Any, found: Any, n_blank: Any, severity: Any) -> None:
    ctx = make_context({"content": [""] * n_blank + [f"note {i}" for i in range(100 - n_blank)]})
    assert found(PROBE.run(ctx), "MA003").severity is severity


def test_content_blank_when_the_limit_is_set_then_it_decides(make_context: Any, found: Any) -> None:
    ctx = make_context({"content": ["", *["note"] * 99]}, config={"limits": {"MA003": {"high_share": 0.01}}})
    assert found(PROBE.run(ctx), "MA003").severity is Severity.HIGH


@pytest.mark.parametrize(
    "text",
    ["the value is null", "None of the tests ran", "无法连接", "空调已关", "N", "{a: 1}", "naïve", "42", "\U0001f642",
     "Loading the data takes 3 s", "{name} prefers tea", "否"],
)  # fmt: skip
def test_a_text_that_only_contains_a_placeholder_is_none(text: Any) -> None:
    assert not is_placeholder(text)
    assert blanks([text]).blank == ()


@pytest.mark.parametrize(
    "text",
    ["null", "NULL", " None ", "undefined", "[object Object]", "NaN", "N/A", '""', "{}", "[]", "{ }", "{name}",
     "{{ user.name }}", "${x}", "%s", "无", "暂无", "---", "..."],
)  # fmt: skip
def test_placeholders(text: Any) -> None:
    assert is_placeholder(text)


def test_contents_when_every_text_says_something_then_silent(make_context: Any) -> None:
    result = PROBE.run(make_context({"content": ["用户希望周报按项目分组", "Only the release manager may tag"]}))
    assert (result.findings, result.sections, result.proposals) == ((), (), ())


def test_contents_of_an_empty_store_is_silent(make_context: Any) -> None:
    assert PROBE.run(make_context({"content": []})).findings == ()


def test_text_not_utf8_when_bytes_are_gbk_then_names_the_rows(make_context: Any, found: Any) -> None:
    gbk = "部署失败".encode("gbk")
    ctx = make_context({"id": ["a", "b", "c"], "content": ["部署失败", gbk, "deploy failed"]})
    finding = found(PROBE.run(ctx), "MA004")
    assert finding.figures["undecodable_rows"] == 1
    assert finding.figures["ids"] == ["b"]
    assert finding.evidence.ids == ("b",)
    assert "\ufffd" in finding.evidence.shown[0].text  # shown with replacement characters
    assert finding.severity is Severity.MEDIUM


def test_text_not_utf8_when_text_is_valid_with_odd_signs_then_silent(make_context: Any, found: Any) -> None:
    ctx = make_context({"content": ["\ufffd already lost elsewhere", "emoji \U0001f468\u200d\U0001f469", "Ünï"]})
    assert found(PROBE.run(ctx), "MA004") is None


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["", "null", "a note"], "2 of 3 (67 %) memories say nothing: 1 is blank, 1 is a placeholder."),
        (["null", "undefined", "a note"], "2 of 3 (67 %) memories say nothing: 0 are blank, 2 are placeholders."),
    ],
)
def test_content_blank_when_one_of_a_kind_then_said_in_the_singular(
    make_context: Any, found: Any, texts: Any, said: str
) -> None:
    assert found(PROBE.run(make_context({"content": texts})), "MA003").title == said
