"""Depth and order: how far the lists reach, what a reranker can reach, and what it prefers."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.arms import kind_of, of_kind
from memaudit.evaluation.figures import summary
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.reranking import (
    SHORT_CHARS,
    in_pool,
    lengths,
    list_overlap,
    rank_bands,
    reordering,
    short_share,
)
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.counts import exact_sign_p
from memaudit.stats.paired import compare_scores
from memaudit.stats.ranking import candidate_depth, rerank_ceiling
from memaudit.wording import part_of, plural, say, sentences, space_between

#: Share of queries whose top k holds the same documents, from which on the reranker sees only those.
SAME_SET_SHARE = 0.90
#: Shares of the misses within reach: from the first on it is a matter of order, below the second one of recall (R08).
ORDER_SHARE, RECALL_SHARE = 0.60, 0.30
#: With fewer misses their share says nothing.
MIN_MISSES = 5
#: Fall of the share of short texts from which on MA713 speaks (R09).
MIN_FALL = 0.30
#: Share of the corpus in one list from which on MA711 speaks (R07).
MAX_DEPTH_SHARE = 0.10
#: Below this many times that share the figure is near its limit, and the finding low.
_NEAR_LIMIT = 1.25


class EvalReranking:
    """MA507, MA711, MA712 and MA713."""

    name: ClassVar[str] = "eval-reranking"
    title: ClassVar[str] = "Can a reranker help, and does it?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA507": "reranker-cannot-help",
        "MA711": "candidate-depth-too-large",
        "MA712": "reranker-ceiling",
        "MA713": "reranker-length-bias",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES, Need.RUNS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("corpus", "compare", "k")

    def run(self, ctx: Context) -> ProbeResult:
        """Look at pairs of arms, and at the deepest rankings."""
        ev = ctx.evaluation
        findings: list[Finding | None] = []
        sections: tuple[Section, ...] = ()
        not_looked: dict[str, tuple[str, str]] = {}
        pair = _reranked_pair(ev)
        if pair is None:
            reason = say("no arm before and after a reranker is known (an arm named rerank, or `compare`)")
            not_looked |= {"MA507": (reason, "compare"), "MA713": (reason, "compare")}
        else:
            findings.append(_cannot_help(ctx, ev, *pair))
            if ev.corpus is None:
                not_looked["MA713"] = (say("no corpus of the evaluation set was given"), "corpus")
            else:
                findings.append(_length_bias(ctx, ev, *pair))
        if ev.corpus is None or not _fused_lists(ev):
            not_looked["MA711"] = (say("no keyword and vector lists over a known corpus are compared"), "corpus")
        elif _list_depth(ev) <= ev.k:
            reason = say(
                "the keyword and vector lists end at rank {depth}, not beyond k = {k}", depth=_list_depth(ev), k=ev.k
            )
            not_looked["MA711"] = (reason, "runs")
        else:
            findings.append(_depth(ctx, ev))
        deepest = max(ev.arms, key=lambda arm: ev.runs.depth(arm) if ev.runs else 0, default=None)
        if deepest is not None and ev.queries and ev.runs is not None and ev.runs.depth(deepest) > ev.k:
            finding, section = _ceiling(ctx, ev, deepest, pair)
            findings.append(finding)
            sections = (section,)
        else:
            not_looked["MA712"] = (say("no ranking reaches beyond k = {k}", k=ev.k), "runs")
        return ProbeResult(tuple(f for f in findings if f is not None), sections, {}, (), not_looked)


def _reranked_pair(ev: EvaluationInputs) -> tuple[str, str] | None:
    """Return the arms before and after a reranker; None when nothing says which they are."""
    reranked = of_kind(ev.arms, "reranked")
    if ev.compare is not None and (ev.compare[1] in reranked or not reranked):
        return ev.compare if ev.compare[1] in reranked or _only_reorders(ev, *ev.compare) else None
    others = [arm for arm in ev.arms if arm not in reranked]
    if len(reranked) == 1 and len(others) == 1:
        return others[0], reranked[0]
    fused = [arm for arm in others if kind_of(arm) == "fused"]
    return (fused[0], reranked[0]) if len(reranked) == 1 and len(fused) == 1 else None


def _only_reorders(ev: EvaluationInputs, before: str, after: str) -> bool:
    """Say whether one arm holds the documents of the other in another order: what a reranker leaves behind."""
    if ev.runs is None:
        return False
    same = reordering(ev.runs.arms[before], ev.runs.arms[after], ev.k)
    return bool(same.n) and same.same_set >= SAME_SET_SHARE * same.n and same.same_order < same.same_set


# -- MA507 ----------------------------------------------------------------------------------------


def _cannot_help(ctx: Context, ev: EvaluationInputs, before: str, after: str) -> Finding | None:
    if ev.runs is None or not ev.queries:
        return None
    reach = ev.runs.depth(after)
    # Without a k the reranker's own list length is the cut that matters.
    k = ev.k if ev.config.k is not None or not 0 < reach <= 20 else reach
    n = len(ev.queries)
    same = reordering(ev.runs.arms[before], ev.runs.arms[after], k)
    a, b = (summary(ev.results(arm, k).values()) for arm in (before, after))
    first = [{q: r.hit for q, r in ev.results(arm, 1).items()} for arm in (before, after)]
    h1 = [sum(flags.values()) for flags in first]
    pool = max(ev.arms, key=lambda arm: ev.runs.depth(arm) if ev.runs else 0)
    depth = ev.runs.depth(pool)
    inside = set(in_pool(ev.results(pool, k)))
    hit_before = {q for q, r in ev.results(before, k).items() if r.hit}
    reachable = tuple(q.id for q in ev.queries if q.id in inside and q.id not in hit_before)
    misses = n - a.hits
    figures: dict[str, Json] = {
        "queries": n,
        f"same_set_at_{k}": same.same_set,
        "same_first_row": same.same_first,
        f"hit{k}_before": a.hits,
        f"hit{k}_after": b.hits,
        "h1_before": h1[0],
        "h1_after": h1[1],
        f"gold_in_pool_of_{depth}": len(inside),
        "reachable_if_reranked_before_cut": len(reachable) if depth > k else None,
        "latency_share_of_reranking": _latency_share(ev, before, after),
    }
    limit = ctx.limit("MA507", "same_set_share", SAME_SET_SHARE)
    cut_first = same.same_set >= limit * n and b.hits <= a.hits
    lacking = depth > k and misses >= MIN_MISSES and len(reachable) < RECALL_SHARE * misses and b.hits <= a.hits
    if not cut_first and not lacking:
        return None
    gained = sum(first[1][q] and not first[0][q] for q in first[0])
    lost = sum(first[0][q] and not first[1][q] for q in first[0])
    helps_first = gained > lost and exact_sign_p(gained, lost) <= ev.config.alpha
    if cut_first:
        title = say(
            "{after} holds the same {k} documents as {before} for {part} queries: the cut comes before the reranker, "
            "which can only change their order.",
            after=after,
            before=before,
            k=k,
            part=part_of(same.same_set, n),
        )
        if depth > k:
            title += space_between() + say(
                "Among the first {depth}, {n} more could be reached.",
                n=plural(len(reachable), "query", "queries"),
                depth=depth,
            )
    else:
        title = say(
            "Of {misses} that miss in the top {k}, {n} have what they need among the first {depth}: a reranker cannot "
            "find what the pool lacks.",
            misses=plural(misses, "query", "queries"),
            k=k,
            n=len(reachable),
            depth=depth,
        )
    texts = {q.id: q.text for q in ev.queries}
    ids = reachable if cut_first else tuple(q.id for q in ev.queries if q.id not in inside)
    return Finding(
        "MA507",
        "reranker-cannot-help",
        Severity.INFO if helps_first else Severity.MEDIUM,
        {"arm": after, "arms": [before, after], "k": k},
        title,
        figures,
        Evidence(tuple(Example(texts[q], q) for q in ids[: ctx.config.max_examples]), len(ids), ids),
        fix=say("Let the reranker see the whole pool and cut after it.")
        if cut_first
        else say("Work on what the first search returns (fields, encoder, keyword arm) before the order of it."),
        caveat=say("Named when the top k holds the same documents for {limit:.0%} of the queries, or when fewer than "
                   "{recall:.0%} of the misses are in the pool. Info where the first place gains by it.",
                   limit=limit, recall=RECALL_SHARE),
        lane="retrieval",
    )  # fmt: skip


def _latency_share(ev: EvaluationInputs, before: str, after: str) -> float | None:
    if ev.runs is None:
        return None
    times = [[r.latency_ms for r in ev.runs.arms[arm].values() if r.latency_ms is not None] for arm in (before, after)]
    if not all(times):
        return None
    a, b = median(times[0]), median(times[1])
    return (b - a) / b if b > 0 and b >= a else None


# -- MA711 ----------------------------------------------------------------------------------------


def _fused_lists(ev: EvaluationInputs) -> bool:
    return bool(of_kind(ev.arms, "keyword")) and bool(of_kind(ev.arms, "vector"))


def _list_depth(ev: EvaluationInputs) -> int:
    """Return how deep both lists reach; lists no longer than the result are no pool: nothing deep can rise in them."""
    if ev.runs is None:
        return 0
    return min(ev.runs.depth(of_kind(ev.arms, kind)[0]) for kind in ("keyword", "vector"))


def _depth(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    if ev.runs is None or ev.corpus is None:
        return None
    keyword, vector = of_kind(ev.arms, "keyword")[0], of_kind(ev.arms, "vector")[0]
    fused = next(iter(of_kind(ev.arms, "fused")), None)
    depth = _list_depth(ev)
    n = len(ev.corpus)
    found = candidate_depth(depth, n) if depth else None
    limit = ctx.limit("MA711", "max_depth_share", MAX_DEPTH_SHARE)
    fills = found is not None and found.expected_overlap >= ev.k
    if found is None or not (fills or found.depth_share >= limit):
        return None
    overlap = list_overlap(ev.runs, keyword, vector, fused, ev.k, depth)
    return Finding(
        "MA711",
        "candidate-depth-too-large",
        Severity.MEDIUM if fills or found.depth_share >= _NEAR_LIMIT * limit else Severity.LOW,
        {"arms": [keyword, vector], "k": ev.k},
        say(
            "Lists of {depth} from {n} documents: {share:.1f} % of the corpus in each, and {chance:.1f} documents in both "
            "by chance alone.",
            depth=depth,
            n=n,
            share=100 * found.depth_share,
            chance=found.expected_overlap,
        ),
        {
            "depth": depth,
            "corpus": n,
            "depth_share": found.depth_share,
            "overlap_expected_by_chance": found.expected_overlap,
            "overlap_measured": overlap.mean_overlap,
            "worst_rank_beating_first": found.worst_rank_beating_first,
            "final_items_late_in_both": overlap.late_in_both,
        },
        Evidence(),
        fix=say("Take fewer candidates: under a tenth of the corpus, and few enough that chance puts less than one of them "
                "into both lists."),
        caveat=say("Under reciprocal-rank fusion (constant 60) rank {worst} in both lists beats rank 1 in one. Low from "
                   "{limit:.0%} of the corpus, medium from {medium:.1%} or when chance alone fills k.",
                   worst=found.worst_rank_beating_first, limit=limit, medium=_NEAR_LIMIT * limit),
        lane="retrieval",
    )  # fmt: skip


# -- MA712 ----------------------------------------------------------------------------------------


def _ceiling(
    ctx: Context, ev: EvaluationInputs, arm: str, pair: tuple[str, str] | None
) -> tuple[Finding | None, Section]:
    depth = ev.runs.depth(arm) if ev.runs is not None else ev.k
    seen = min(50, depth)
    results = ev.results(arm)
    ranks = [r.ranks for r in results.values()]
    bands = rank_bands(ranks, ev.k, seen)
    depths = sorted({ev.k, *(d for d in (20, 50, 100) if ev.k < d <= depth), seen})
    ceilings = {d: rerank_ceiling(ranks, d, ev.k) or 0.0 for d in depths}
    now = summary(results.values()).coverage_mean or 0.0
    rows = [{"band": name, "items": count, "share": count / bands.items} for name, count in bands.counts.items()]
    tables = (
        Table(
            "eval-bands",
            say("{n} by rank in {arm} (per item)", n=plural(bands.items, "needed item"), arm=arm),
            (
                Column("band", say("rank")),
                Column("items", say("items"), Cell.COUNT),
                Column("share", say("share"), Cell.SHARE),
            ),
            tuple(rows),
            scale=1.0,
        ),
        Table(
            "eval-ceilings",
            say(
                "Mean coverage@{k} that a perfect order of the first N would reach, {n}",
                k=ev.k,
                n=plural(len(ranks), "query", "queries"),
            ),
            (Column("depth", say("N"), Cell.COUNT), Column("ceiling", say("ceiling"), Cell.SHARE)),
            tuple({"depth": d, "ceiling": c} for d, c in ceilings.items()),
            scale=1.0,
        ),
    )
    share = bands.share_within
    order = ctx.limit("MA712", "order_share", ORDER_SHARE)
    recall = ctx.limit("MA712", "recall_share", RECALL_SHARE)
    least = int(ctx.limit("MA712", "min_misses", MIN_MISSES))
    if share is None:
        reading = say("Nothing is missed in the top {k}.", k=ev.k)
    elif bands.misses < least:
        reading = say("Too few to tell a matter of order from one of recall.")
    elif share >= order:
        reading = say("It is a matter of order: a reranker can help.")
    elif share < recall:
        reading = say("It is a matter of recall: a reranker cannot help.")
    else:
        reading = say("Order and recall both matter.")
    title = say(
        "Outside the top {k}: {misses}, of which {within} within the first {seen}. {reading}",
        within=bands.misses_within,
        misses=plural(bands.misses, "needed item"),
        k=ev.k,
        seen=seen,
        reading=reading,
    )
    best = ceilings[seen]
    headroom = best - now
    # What the recorded reranker made of it, where it reordered this very arm.
    gain = None
    if pair is not None and pair[0] == arm:
        gain = (summary(ev.results(pair[1]).values()).coverage_mean or 0.0) - now
    eaten = gain / headroom if gain is not None and headroom > 0 else None
    answer = title
    if gain is not None and eaten is not None:
        answer = sentences(title, say(
            "{after} gained {gain:+.1f} of {room:.1f} points that a perfect order of the first {seen} would gain ({eaten:.1f} "
            "%; mean coverage@{k} over {n}).", after=pair[1] if pair else "", gain=100 * gain, room=100 * headroom, seen=seen,
            eaten=100 * eaten, k=ev.k, n=plural(len(ranks), "query", "queries")))  # fmt: skip
    section = Section(
        "eval-ceiling",
        say("What a better order could reach"),
        say("Are the misses a matter of order or of recall?"),
        answer,
        ("MA712", "MA507"),
        tables,
        (
            say(
                "Bands count items; ceilings are means over queries. A ranking is known down to rank {depth}.",
                depth=depth,
            ),
        ),
    )
    decided = share is not None and (share >= order or share < recall)
    if not decided or bands.misses < least:
        return None, section
    finding = Finding(
        "MA712",
        "reranker-ceiling",
        Severity.INFO,
        {"arm": arm, "k": ev.k},
        title,
        {
            "items": bands.items,
            "band_counts": list(bands.counts.values()),
            "misses": bands.misses,
            "misses_within": bands.misses_within,
            "depth": seen,
            "ceiling": best,
            "coverage_now": now,
            "headroom": headroom,
            "gain": gain,
            "eaten": eaten,
            "ceiling_depths": list(ceilings),
            "ceilings": list(ceilings.values()),
        },
        Evidence(),
        caveat=say("Order from {order:.0%} of the misses within reach, recall below {recall:.0%}. Ceiling: a perfect order "
                   "of the first {seen}, which no reranker reaches.", order=order, recall=recall, seen=seen),
        lane="retrieval",
    )  # fmt: skip
    return finding, section


# -- MA713 ----------------------------------------------------------------------------------------


def _length_bias(ctx: Context, ev: EvaluationInputs, before: str, after: str) -> Finding | None:
    if ev.runs is None or ev.corpus is None:
        return None
    short_chars = int(ctx.limit("MA713", "short_chars", SHORT_CHARS))
    chars = {doc: len(d.text) for doc, d in ev.corpus.documents.items()}
    a = lengths(ev.runs.arms[before], chars, ev.k, short_chars)
    b = lengths(ev.runs.arms[after], chars, ev.k, short_chars)
    wanted = short_share(ev.expected_documents, chars, short_chars)
    n_known = sum(d in chars for d in ev.expected_documents)
    if a.short_share is None or b.short_share is None or not a.short_share or wanted is None:
        return None
    fall = 1.0 - b.short_share / a.short_share
    limit = ctx.limit("MA713", "min_fall", MIN_FALL)
    away = abs(b.short_share - wanted) > abs(a.short_share - wanted)
    groups = ev.query_set.dependence if ev.query_set is not None else {}
    test = compare_scores(a.by_query, b.by_query, groups, 1.0 - ev.config.alpha, ev.config.seed)
    if fall < limit or not away or test.p is None or test.p > ev.config.alpha:
        return None
    return Finding(
        "MA713",
        "reranker-length-bias",
        Severity.MEDIUM,
        {"arm": after, "arms": [before, after], "k": ev.k},
        say(
            "{after} pushes short texts out of the top {k}: {a} before, {b} after, while {wanted} expected documents are "
            "short.",
            after=after,
            k=ev.k,
            a=part_of(a.short, a.slots),
            b=part_of(b.short, b.slots),
            wanted=part_of(round(wanted * n_known), n_known),
        ),
        {
            "queries": len(a.by_query),
            "slots_before": a.slots,
            "short_before": a.short,
            "short_share_before": a.short_share,
            "slots_after": b.slots,
            "short_after": b.short,
            "short_share_after": b.short_share,
            "fall": fall,
            "median_chars_before": a.median_chars,
            "median_chars_after": b.median_chars,
            "short_share_expected": wanted,
            "short_share_corpus": short_share(ev.corpus.documents, chars, short_chars),
            "p": test.p,
        },
        Evidence(),
        fix=say("Give the reranker texts of one length (title and first lines), or weigh its score against the first "
                "search."),
        caveat=say("Short: fewer than {chars} characters. Named when their share falls by {limit:.0%} and away from that of "
                   "the expected documents; tested query by query (sign flips, p = {p:.3g}).",
                   chars=short_chars, limit=limit, p=test.p),
        lane="retrieval",
    )  # fmt: skip


PROBE = EvalReranking()
