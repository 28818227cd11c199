from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from memaudit.errors import ConfigError
from memaudit.evaluation.builders import (
    Row,
    from_log,
    heldout,
    joined,
    leave_one_out,
    masked,
    size_sentence,
    template,
    tokens_of,
    truncated,
)


def rng() -> Any:
    return np.random.default_rng(0)


def test_size_when_said_then_the_table_of_the_statistics() -> None:
    # P(Bin(n, d) >= 6) = 0.8: 12.9 points for 60, 30.9 for 24 and 40.4 for 18
    assert size_sentence(18).endswith("18 queries: 40 points; 60 queries: 13 points; 24 queries: 31 points.")
    assert "5 queries: none at all" in size_sentence(5)


def test_template_when_drawn_then_every_stratum_is_there_and_texts_are_left_to_a_person() -> None:
    rows = [Row(f"big{i}", f"text {i}", ("big",)) for i in range(50)] + [
        Row("s1", "小", ("small",), duplicates=("s2",))
    ]
    built = template(rows, 4, rng())
    keys = [line["expect_any"][0]["doc"] for line in built.lines]
    assert len(keys) == 4
    assert "s1" in keys
    line = built.lines[keys.index("s1")]
    assert (line["text"], line["origin"], line["expect_any"]) == ("", "hand", [{"doc": "s1"}, {"doc": "s2"}])


def test_template_when_rows_are_blank_or_few_then_only_what_there_is() -> None:
    assert template([Row("1", " "), Row("2", "x")], 9, rng()).lines[0]["expect_any"] == [{"doc": "2"}]
    assert template([], 9, rng()).lines == ()


def test_log_when_a_text_comes_again_then_once_with_all_keys_and_no_label() -> None:
    built = from_log([("How to  deploy", ["1"]), ("how to deploy", ["2", "1"]), (" ", ["3"]), ("部署", [])])
    assert [(x["text"], x["returned"], x["expect_any"]) for x in built.lines] == [
        ("How to  deploy", ["1", "2"], []),
        ("部署", [], []),
    ]
    assert "Left out, without a text: 1 recall." in built.said


def test_heldout_when_a_problem_comes_back_then_its_raw_text_asks_for_the_earlier_rows() -> None:
    rows = [
        Row("1", "stored one", label="A", time=1.0, raw="err A"),
        Row("2", "stored two", label="A", time=2.0, raw="err A2"),
        Row("3", "stored", label="A", time=10.0, raw="超时 A3"),
        Row("4", "stored", label="new", time=11.0, raw="err"),
        Row("5", "stored", label="A", time=None, raw="err"),
    ]
    built = heldout(rows, 5.0)
    assert [x["text"] for x in built.lines] == ["超时 A3"]
    assert built.lines[0]["expect_any"] == [{"doc": "1"}, {"doc": "2"}]
    assert built.lines[0]["exclude"] == ["3", "4"]
    assert built.said[0].startswith("1 of 2 later events came back")
    assert "Left out, without a readable time: 1 row." in built.said


def test_heldout_when_only_the_stored_text_is_there_then_refused() -> None:
    with pytest.raises(ConfigError, match="--query-text"):
        heldout([Row("1", "stored", label="A", time=1.0)], 0.5)


def test_leave_one_out_when_a_label_is_shared_then_others_are_expected() -> None:
    rows = [Row("1", "a", label="x"), Row("2", "b", label="x"), Row("3", "c", label="y"), Row("4", "d")]
    built = leave_one_out(rows, "topic", "abstract_pattern")
    assert [(x["exclude"], x["expect_any"]) for x in built.lines] == [(["1"], [{"doc": "2"}]), (["2"], [{"doc": "1"}])]
    assert built.said[1].endswith("2 rows.")


def test_leave_one_out_when_the_label_is_under_audit_then_refused() -> None:
    with pytest.raises(ConfigError, match='"abstract_pattern" is the audited field'):
        leave_one_out([Row("1", "a", label="x")], "abstract_pattern", "abstract_pattern")


def test_truncated_when_a_ladder_is_made_then_each_step_is_part_of_the_one_above() -> None:
    text = "File /srv/app/run.py failed at line 42 数据库迁移超时 retry later please now"
    built = truncated([Row("1", text)], 1, rng())
    assert [x["category"] for x in built.lines] == ["kept 75 %", "kept 50 %", "kept 25 %"]
    steps = [tokens_of(x["text"]) for x in built.lines]
    # 18 tokens: File # failed at line # + 7 Han + retry later please now = 17
    assert [len(s) for s in steps] == [13, 8, 4]
    for upper, lower in pairwise(steps):
        assert not [t for t in lower if lower.count(t) > upper.count(t)]
    assert {x["group"] for x in built.lines} == {"1"}
    assert not any(c.isdigit() or "/" in c for x in built.lines for c in x["text"])


def test_truncated_when_a_word_is_in_every_row_then_dropped_as_constant() -> None:
    rows = [Row(str(i), f"Trigger: alpha{c} beta{c} gamma{c} delta{c} omega{c}") for i, c in enumerate("abcde")]
    built = truncated(rows, 5, rng())
    assert built.lines
    assert not any("Trigger" in x["text"] for x in built.lines)


def test_truncated_when_too_short_then_counted() -> None:
    built = truncated([Row("1", "短文")], 5, rng())
    assert built.lines == ()
    assert built.said[1].endswith("1 row.")


def test_tokens_when_joined_then_han_without_blanks() -> None:
    assert joined(tokens_of("修复 the 数据库 bug")) == "修复 the 数据库 bug".replace("修复 ", "修复 ")
    assert joined(["数", "据", "x1", "库"]) == "数据 x1 库"
    assert masked("see /a/b/c.py and src/x.py at 12:30") == "see # and # at #:#"
