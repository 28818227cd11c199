"""Stage stripping: pipelines small enough to run in the head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memaudit.evaluation.inputs import ids_of
from memaudit.evaluation.runs import Ranking
from memaudit.evaluation.stages import recorded_stages, run_stages

START: dict[str, list[Any]] = {"q1": ["a", "b", "c"], "q2": ["d", "e", "f"], "q3": []}


def pipeline(**functions: Any) -> Any:
    def call(stage: str, jobs: Sequence[tuple[str, list[Any]]]) -> list[tuple[list[Any] | None, float]]:
        return [(functions[stage](list(results)), 1.0) for _, results in jobs]

    return call


def test_stages_when_run_then_in_order_and_left_out() -> None:
    call = pipeline(
        keep=lambda r: r,
        reverse=lambda r: r[::-1],
        drop_b=lambda r: [x for x in r if x != "b"],
    )
    keep, reverse, drop = run_stages(("keep", "reverse", "drop_b"), START, call, ids_of, k=2)
    assert (keep.changed_in_order, keep.changed_without, keep.n) == ((), (), 3)
    assert keep.changed == ()
    # with all stages: q1 c a, q2 f e; without the reversal: q1 a c, q2 d e
    assert reverse.changed_in_order == ("q1", "q2")
    assert reverse.changed_without == ("q1", "q2")
    assert reverse.before == {"q1": ("c", "a"), "q2": ("f", "e"), "q3": ()}
    assert reverse.without == {"q1": ("a", "c"), "q2": ("d", "e"), "q3": ()}
    assert drop.changed_in_order == ("q1",)
    assert drop.without is not None
    assert drop.without["q1"] == ("c", "b")


def test_stages_when_one_repeats_another_then_left_out_alone_changes_nothing() -> None:
    # Each drops b: in its place the first changes a list, but without it the second does the work.
    call = pipeline(one=lambda r: [x for x in r if x != "b"], two=lambda r: [x for x in r if x != "b"])
    one, two = run_stages(("one", "two"), START, call, ids_of, k=3)
    assert (one.changed_in_order, one.changed_without) == (("q1",), ())
    assert (two.changed_in_order, two.changed_without) == ((), ())
    assert one.changed == ("q1",)


def test_stages_when_one_acts_below_the_cut_then_only_its_place_shows_it() -> None:
    (swap,) = run_stages(("swap",), START, pipeline(swap=lambda r: [*r[:1], *r[:0:-1]]), ids_of, k=1)
    assert (swap.changed_in_order, swap.changed_without) == (("q1", "q2"), ())


def test_stages_when_one_fails_then_its_queries_are_compared_no_further() -> None:
    call = pipeline(breaks=lambda r: None if "d" in r else r, reverse=lambda r: r[::-1])
    breaks, reverse = run_stages(("breaks", "reverse"), START, call, ids_of, k=3)
    assert (breaks.failed, breaks.n, breaks.changed) == (("q2",), 2, ())
    assert (reverse.n, reverse.changed_in_order) == (2, ("q1",))
    assert run_stages((), START, call, ids_of, k=3) == ()


def arm(**rankings: Sequence[str]) -> dict[str, Ranking]:
    return {q: Ranking(tuple(ids), latency_ms=4.0) for q, ids in rankings.items()}


def test_recorded_when_arms_are_named_in_order_then_each_against_the_one_before() -> None:
    arms = {
        "vector": arm(q1=["a", "b"], q2=["c"], q3=[]),
        "filter": arm(q1=["a", "b"], q2=["c"], q3=[]),
        "rerank": arm(q1=["b", "a"], q2=[], q3=[]),
    }
    found = recorded_stages(arms, ("vector", "filter", "rerank"))
    # q3 has no list on either side and says nothing; an emptied list is a change
    assert [(e.name, e.n, e.changed_in_order, e.ms) for e in found] == [
        ("filter", 2, (), 4.0), ("rerank", 2, ("q1", "q2"), 4.0),
    ]  # fmt: skip
    assert recorded_stages(arms, ("vector", "absent")) == ()
    assert recorded_stages(arms) == ()


def test_recorded_when_arms_lack_a_stage_then_against_the_whole() -> None:
    arms = {
        "full": arm(q1=["a", "b"], q2=["c"]),
        "without_filter": arm(q1=["a", "b"], q2=["c"]),
        "no boost": arm(q1=["b", "a"], q2=["c"]),
        "other": arm(q1=["x"], q2=["y"]),
    }
    found = recorded_stages(arms)
    assert [(e.name, e.n, e.changed_without) for e in found] == [("filter", 2, ()), ("boost", 2, ("q1",))]
    assert found[1].without == {"q1": ("b", "a"), "q2": ("c",)}
