"""The page's section on near copies: clusters by threshold, and pairs with what differs in them."""

from __future__ import annotations

from collections.abc import Sequence

from memaudit.context import Context
from memaudit.measures.near_copies import PAIR_COS, NearCopies
from memaudit.model import Cell, Column, Finding, Section, Table
from memaudit.text.copies import Pair
from memaudit.wording import say

#: Pairs that the page shows: one of each kind of difference first.
PAIRS_ON_PAGE = 6
#: Pairs that the report keeps.
PAIRS_KEPT = 20


def near_section(ctx: Context, texts: Sequence[str], near: NearCopies, found: Sequence[Finding]) -> Section:
    """Show clusters and extra rows by threshold, and a few near pairs with what differs in them."""
    clusters = Table(
        "near-duplicates",
        say("Clusters and extra rows by threshold, {n} rows with a vector and a text", n=near.n_valid),
        (
            Column("threshold", say("cosine at least"), Cell.NUMBER),
            Column("clusters", say("clusters"), Cell.COUNT),
            Column("extra", say("extra rows"), Cell.BAR),
            Column("largest", say("largest cluster"), Cell.COUNT),
        ),
        tuple(
            {
                "threshold": t,
                "clusters": near.clusters[t],
                "extra": near.n_valid - near.clusters[t],
                "largest": near.largest[t],
            }
            for t in ctx.config.thresholds
        ),
        scale=float(near.n_valid),
    )
    unequal = [p for p in near.compared.pairs if texts[p.i] != texts[p.j]]
    pairs = Table(
        "near-pairs",
        say("Near pairs of different texts, {n} pairs at cosine {cos:g} or more in all", n=near.n_pairs, cos=PAIR_COS),
        (
            Column("first", say("one row"), Cell.VALUE),
            Column("second", say("the other"), Cell.VALUE),
            Column("cosine", say("cosine"), Cell.COSINE),
            Column("differs", say("differs in"), Cell.TEXT),
        ),
        tuple(
            {
                "first": texts[p.i],
                "second": texts[p.j],
                "cosine": p.cos,
                "differs": ", ".join(sorted(p.kinds)) or say("no detail: safe to merge"),
                **({"_mark": "hot"} if p.kinds - {"word"} else {}),
            }
            for p in distinct_examples(unequal, texts)[:PAIRS_KEPT]
        ),
        show=PAIRS_ON_PAGE,
    )
    return Section(
        "near-duplicates",
        say("Near copies"),
        say("Which rows say almost the same, and can they be merged?"),
        " ".join(f.title for f in found),
        tuple(f.code for f in found),
        (clusters, pairs) if unequal else (clusters,),
        tuple(f.caveat or "" for f in found),
    )


def distinct_examples(pairs: Sequence[Pair], texts: Sequence[str]) -> list[Pair]:
    """Put one pair of each set of kinds first, so that the examples show different faults."""
    seen: set[frozenset[str]] = set()
    first: list[Pair] = []
    others: list[Pair] = []
    for pair in pairs:
        (others if pair.kinds in seen else first).append(pair)
        seen.add(pair.kinds)
    return first + others
