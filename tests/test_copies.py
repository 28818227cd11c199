from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memaudit.text.copies import Pair, copy_groups, near_rows, pair_differences, safe_merges, word_overlap


def test_copy_groups_when_case_and_space_differ_then_folded_groups_are_larger() -> None:
    groups = copy_groups(["Keep it", "keep  it", "部署", "Keep it", "", "  ", "null", "null", "部署"])
    assert groups.identical == ((0, 3), (2, 8))
    assert groups.folded == ((0, 1, 3), (2, 8))
    assert (groups.extra_identical, groups.extra_folded) == (2, 3)


def test_copy_groups_when_owners_differ_then_no_copies() -> None:
    assert copy_groups(["a b", "a b", "a b"], owners=["x", "y", "x"]).identical == ((0, 2),)


@given(st.lists(st.sampled_from(["a", "A ", "b", "", "部署", "null"]), max_size=12))
def test_extra_copies_are_rows_minus_different_texts(texts: Any) -> None:
    # Slow reference: every row whose folded text stands in an earlier row is an extra copy.
    kept = [" ".join(t.lower().split()) for t in texts if t.strip() and t != "null"]
    extra = sum(text in kept[:i] for i, text in enumerate(kept))
    assert copy_groups(texts).extra_folded == extra


def test_near_rows_when_rows_join_a_cluster_then_sorted_by_how_they_differ() -> None:
    texts = [
        "Deploys go through the blue pipeline",
        "All deployments go through the blue pipeline",  # a rewording
        "Deploys go through the blue pipeline 2",  # a number
        "deploys go through the BLUE pipeline",  # a copy
        "周报按项目分组",  # in the cluster by its vector, but about something else
        "缓存没有清理",  # a cluster of its own
    ]
    found = near_rows(texts, np.array([0, 0, 0, 0, 0, 1]))
    assert (found.reworded, found.differing, found.identical, found.unlike) == ((1,), (2,), (3,), (4,))
    assert found.n_near == 3


def test_pair_differences_count_numbers_negations_and_safe_pairs() -> None:
    texts = [
        "limit is 30",
        "limit is 60",
        "export is allowed",
        "export is not allowed",
        "The limit is 30",
        "开启",
        "关闭",
    ]
    found = pair_differences(texts, [(0, 1, 0.99), (2, 3, 0.99), (0, 4, 0.99), (5, 6, 0.99), (0, 0, 1.0)])
    assert (found.n_numbers, found.n_negation, found.n_safe, found.n_identical) == (1, 2, 2, 1)
    assert [(p.i, p.j) for p in found.differing] == [(0, 1), (2, 3), (5, 6)]


def test_safe_merges_never_rest_on_a_merged_row() -> None:
    # 0-1 and 1-2 are safe, 0-2 is not: 2 may not be merged into 1, which is gone.
    pairs = [Pair(0, 1, 0.99, frozenset()), Pair(1, 2, 0.99, frozenset()), Pair(0, 2, 0.98, frozenset({"number"}))]
    assert safe_merges(["a", "b", "c"], pairs) == {1: 0}


def test_safe_merges_leave_copies_and_other_owners_alone() -> None:
    pairs = [Pair(0, 1, 1.0, frozenset()), Pair(0, 2, 0.99, frozenset())]
    assert safe_merges(["a", "A", "b"], pairs) == {2: 0}
    assert safe_merges(["a", "A", "b"], pairs, owners=["x", "x", "y"]) == {}


def test_word_overlap_by_hand() -> None:
    assert word_overlap("the red door", "the blue door") == 2 / 4
    assert word_overlap("缓存", "缓冲") == 1 / 3
    assert word_overlap("", "!") == 1.0
