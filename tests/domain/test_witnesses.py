"""Inputs: covering arrays, markers, texts for patterns."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.domain.predicates import implies, inside_word
from memaudit.domain.preds import Pred
from memaudit.domain.regex_witness import regex_witnesses
from memaudit.domain.shapes import Shape, shape_of_given
from memaudit.domain.witnesses import Builder, Markers, pairwise


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=8))
def test_pairwise_rows_hold_every_pair(sizes: list[int]) -> None:
    rows = pairwise(sizes)
    for i, j in itertools.combinations(range(len(sizes)), 2):
        assert {(row[i], row[j]) for row in rows} == set(itertools.product(range(sizes[i]), range(sizes[j])))


def test_pairwise_of_20_yes_or_no_factors_is_small() -> None:
    assert len(pairwise([2] * 20)) <= 16  # 2**20 rows in full
    assert pairwise([]) == [()]
    assert pairwise([3]) == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\bstep \d", r"^fix(es)?: (\w+)", r"(a|b)c\1", r"[^a-z0-9]{3}", r"foo(?=bar)", r"\d{4}-\d{2}"),
        *("错误|失败", r"(?i)ERR[A-Z]+", r"^\s*$", r"[\u4e00-\u9fff]+", r"a{2,}b*?", r"(?P<n>x)(?P=n)"),
        *(r"\.(py|js)$", r"(?:un)?able", r"\bwhen\b.*\bfails\b"),
    ],
)
def test_witness_is_found_by_its_pattern(pattern: str) -> None:
    for other in (False, True):
        texts = regex_witnesses(pattern, other=other)
        assert texts
        assert all(re.search(pattern, text) for text in texts)


def test_alternatives_give_one_witness_each_and_bad_patterns_none() -> None:
    assert regex_witnesses("错误|失败") == ["错误", "失败"]
    assert regex_witnesses("(") == []
    assert regex_witnesses(r"(?<=a)b(?!b)") == []  # look-behind: nothing is claimed
    assert regex_witnesses(r"#(\d+)") != regex_witnesses(r"#(\d+)", other=True)


def test_markers_keep_clear_of_the_literals() -> None:
    markers = Markers(["q", "x", "timeout", "7", ""], [36, 60, 141])
    words = [markers.word("a", v, k) for v in (0, 1) for k in ("word", "cjk", "digits")] + [markers.word("b", 0)]
    assert len(set(words)) == len(words)
    assert not any(letter in word for word in words[:2] for letter in "qx")
    free = [markers.free_int(leaf, variant) for leaf in (0, 1, 2) for variant in (0, 1)]
    assert len(set(free)) == len(free)
    assert not set(free) & {35, 36, 37, 59, 60, 61, 140, 141, 142}
    assert not markers.clashes(["timeout", "q"])
    assert markers.clashes([markers.word("a", 0)[:3]])


def test_arguments_follow_the_shape() -> None:
    shape = shape_of_given([{"error": "TEXT", "code": "INT", "kind": "fixed"}])
    builder = Builder({"failures": shape, "name": Shape("text")}, Markers([], []))
    arguments, texts = builder.arguments((), 0)
    (item,) = arguments["failures"]
    assert item["kind"] == "fixed"
    assert isinstance(item["code"], int)
    assert texts["name"] == arguments["name"]
    other, _ = builder.arguments((), 1)
    assert other["name"] != arguments["name"]
    assert other["failures"][0]["code"] != item["code"]
    only_name, _ = builder.arguments((), "name")
    assert (only_name["name"], only_name["failures"]) == (other["name"], arguments["failures"])
    assert builder.arguments((("failures#", ("len", 0)),), 0)[0]["failures"] == []


@pytest.mark.parametrize(
    ("strong", "weak", "expected"),
    [
        (("contains", "connection"), ("contains", "connect"), True),
        (("contains", "connect"), ("contains", "connection"), False),
        (("equals", "fix it"), ("prefix", "fix"), True),
        (("prefix", "fix it"), ("prefix", "fix"), True),
        (("contains", "fix it"), ("prefix", "fix"), False),
        (("suffix", ".tar.gz"), ("suffix", ".gz"), True),
        (("equals", "a"), ("equals", "a"), True),
        (("equals", "step 4"), ("regex", (r"step \d", 0, "search")), True),
        (("regex", ("connection", 0, "search")), ("contains", "connect"), True),
        (("regex", ("a|b", 0, "search")), ("contains", "a"), False),
        (("element", "connection"), ("contains", "connect"), False),
    ],
)
def test_implication_by_literals(strong: tuple[str, object], weak: tuple[str, object], expected: bool) -> None:
    assert implies(Pred(0, *strong), Pred(1, *weak)) is expected


def test_keyword_inside_a_longer_word_is_counted_for_latin_letters_only() -> None:
    assert inside_word("contains", "rm", "rm format x-rm term") == (4, 2, 0)  # fo-rm-at and te-rm
    assert inside_word("contains", "超时", "已超时了") == (1, 0, 0)
    assert inside_word("contains", "id", "编号id是id2") == (2, 1, 0)
    assert inside_word("equals", "rm", "rm") == (0, 0, 0)
    assert inside_word("contains", "", "x") == (0, 0, 0)
    # deploys, deployed, redeploy, deployments; plan-ning, plan-et: forms of the word itself are told apart
    assert inside_word("contains", "deploy", "deploys deployed redeploy deployments deploy") == (5, 4, 3)
    assert inside_word("contains", "plan", "planning planet") == (2, 2, 1)
