"""Arms against each other: one that did not run, two that are the same, one that adds nothing, a set that favours one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.arms import Union, agreement, kind_of, of_kind, union_of
from memaudit.evaluation.figures import summary
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.overlap import halves, overlaps
from memaudit.evaluation.query_set import SYNTHETIC
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.counts import exact_sign_p, fisher_p
from memaudit.wording import part_of, plural, say, sentences

#: Share of empty rankings from which on an arm "did not run" rather than "found nothing now and then".
EMPTY_HIGH, EMPTY_MEDIUM = 0.50, 0.10
#: Share of queries made from the corpus from which on a set cannot rank keyword against vector search (rule R19).
SYNTHETIC_SHARE = 0.80
#: Fewer answers in common can be equal by chance.
MIN_COMMON = 3
#: Kinds of arms that search by themselves; others put lists together or in another order.
_SEARCHES = ("keyword", "vector")


class EvalArms:
    """MA504, MA505, MA506 and MA721."""

    name: ClassVar[str] = "eval-arms"
    title: ClassVar[str] = "Did every arm run, and does each add something?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA504": "arm-dominated",
        "MA505": "arm-did-not-run",
        "MA506": "arms-identical",
        "MA721": "query-origin-bias",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RUNS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("queries", "corpus", "compare")

    def run(self, ctx: Context) -> ProbeResult:
        """Look at empty and equal rankings first: figures of such arms mean nothing."""
        ev = ctx.evaluation
        idle = [f for f in (_did_not_run(ctx, ev, arm) for arm in ev.arms) if f is not None]
        dead = {str(f.subject["arm"]) for f in idle if f.severity is Severity.HIGH}
        alive = [arm for arm in ev.arms if arm not in dead]
        findings = [*idle, *_identical(ctx, ev, alive)]
        not_looked: dict[str, tuple[str, str]] = {}
        sections: tuple[Section, ...] = ()
        if not ev.arms:
            not_looked["MA505"] = (say("the file of recorded rankings holds none"), "runs")
        if not _comparable(ev, alive):
            reason = say("no two arms answered {n} queries in common", n=MIN_COMMON)
            not_looked["MA506"] = (reason, "runs")
        if not ev.queries:
            for code in ("MA504", "MA721"):
                not_looked[code] = (say("no evaluation set was given"), "queries")
        else:
            searching = _searching(ev, alive)
            if searching is None:
                not_looked["MA504"] = (
                    say(
                        "no keyword and vector arm, or a fusion of them, is known by its name (keyword, bm25, vector, hybrid, ...)"
                    ),
                    "runs",
                )
            else:
                dominated = _dominated(ctx, ev, *searching)
                findings += [dominated] if dominated is not None else []
                sections = (_section(ev, alive, dominated),)
            bias = _origin_bias(ctx, ev, alive)
            findings += [bias] if bias is not None else []
            unseen = _no_bias(ev, alive) if bias is None else None
            not_looked |= {"MA721": unseen} if unseen is not None else {}
        return ProbeResult(tuple(findings), sections, {}, (), not_looked)


# -- MA505, MA506 ---------------------------------------------------------------------------------


def _did_not_run(ctx: Context, ev: EvaluationInputs, arm: str) -> Finding | None:
    if ev.runs is None:
        return None
    rankings = ev.runs.arms[arm]
    empty = tuple(q for q, r in rankings.items() if not r.ids)
    if not empty:
        return None
    n = len(rankings)
    high = ctx.limit("MA505", "high_share", EMPTY_HIGH)
    medium = ctx.limit("MA505", "medium_share", EMPTY_MEDIUM)
    share = len(empty) / n
    severity = Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW
    texts = {q.id: q.text for q in ev.queries}
    return Finding(
        "MA505",
        "arm-did-not-run",
        severity,
        {"arm": arm},
        say("{arm} returned nothing for {part} queries.", arm=arm, part=part_of(len(empty), n)),
        {"queries": n, "empty_rankings": len(empty), "share": share},
        Evidence(tuple(Example(texts.get(q, ""), q) for q in empty[: ctx.config.max_examples]), len(empty), empty),
        fix=say("Look at the log of this arm: a missing key, an index that was not built or an error that is swallowed "
                "looks like a bad search. Record it again before comparing."),
        caveat=say("An empty ranking counts as a miss. High from {high:.0%} of the queries, medium from {medium:.0%}.",
                   high=high, medium=medium),
        lane="retrieval",
    )  # fmt: skip


def _comparable(ev: EvaluationInputs, arms: Sequence[str]) -> bool:
    """Say whether two arms answered enough queries in common."""
    if ev.runs is None:
        return False
    answered = [{q for q, r in ev.runs.arms[arm].items() if r.ids} for arm in arms]
    return any(len(a & b) >= MIN_COMMON for i, a in enumerate(answered) for b in answered[i + 1 :])


def _identical(ctx: Context, ev: EvaluationInputs, arms: Sequence[str]) -> list[Finding]:
    if ev.runs is None:
        return []
    findings = []
    for i, first in enumerate(arms):
        for second in arms[i + 1 :]:
            same = agreement(ev.runs, first, second)
            if same.n < MIN_COMMON or same.same_order < same.n or same.one_empty:
                continue
            findings.append(
                Finding(
                    "MA506",
                    "arms-identical",
                    Severity.MEDIUM,
                    {"arms": [first, second]},
                    say(
                        "{first} and {second} returned the same rankings for all {n}.",
                        first=first,
                        second=second,
                        n=plural(same.n, "query", "queries"),
                    ),
                    {"queries": same.n, "queries_with_equal_ranking": same.same_order},
                    Evidence((), same.n, tuple(ev.runs.arms[first])),
                    fix=say("Check that the switch between the two reaches the search: the same code, cache or index "
                            "seems to have answered both."),
                    caveat=say("Whole rankings were compared, ids and order."),
                    lane="retrieval",
                )
            )  # fmt: skip
    return findings


# -- MA504 ----------------------------------------------------------------------------------------


def _searching(ev: EvaluationInputs, alive: Sequence[str]) -> tuple[list[str], str | None] | None:
    """Return the arms that search by themselves, and the one that fuses them; None when there is nothing to compare."""
    fused = of_kind(alive, "fused")
    single = [arm for arm in alive if kind_of(arm) in _SEARCHES]
    # Several vector arms alone are encoders to choose from, not parts of a fusion.
    if len({kind_of(arm) for arm in single}) == 2 or (single and len(fused) == 1):
        return single, fused[0] if len(fused) == 1 else None
    return None


def _dominated(ctx: Context, ev: EvaluationInputs, single: list[str], fused: str | None) -> Finding | None:
    k, n = ev.k, len(ev.queries)
    hits = {arm: {q: r.hit for q, r in ev.results(arm).items()} for arm in (*single, *([fused] if fused else []))}
    counts = {arm: sum(flags.values()) for arm, flags in hits.items()}
    best = max(single, key=lambda arm: counts[arm])
    margin = ctx.limit("MA504", "margin", ev.config.margin)
    figures: dict[str, Json] = {
        "queries": n,
        f"hit{k}": counts,
        "h1": {arm: summary(ev.results(arm, 1).values()).hits for arm in hits},
    }
    weak: list[tuple[str, Union]] = []
    for arm in single:
        if arm == best:
            continue
        union = union_of(hits[best], hits[arm])
        figures[f"{arm}_only_beyond_{best}"] = len(union.only_second)
        figures[f"union_of_{best}_and_{arm}"] = union.hits_of_either
        if len(union.only_second) < margin * n and _lower_everywhere(ev, hits[arm], hits[best]):
            weak.append((arm, union))
    loses = False
    gained = ran = 0
    p = 1.0
    if fused is not None:
        union = union_of(hits[best], hits[fused])
        lost, gained = len(union.only_first), len(union.only_second)
        p = exact_sign_p(gained, lost)
        figures |= {f"{best}_only": lost, f"{fused}_only": gained, "sign_test_p": p}
        # Where the fusion returned nothing it did not run (MA505): without these queries it has to lose as well.
        rankings = {} if ev.runs is None else ev.runs.arms[fused]
        ran = sum(q in rankings and bool(rankings[q].ids) for q in union.only_first)
        loses = ran > gained and ran - gained >= margin * n
    elif weak:
        union = weak[0][1]
        figures |= {f"{best}_only": len(union.only_first), f"{weak[0][0]}_only": len(union.only_second)}
        p = exact_sign_p(len(union.only_second), len(union.only_first))
        figures["sign_test_p"] = p
    if not weak and not loses:
        return None
    alpha = ev.config.alpha
    serious = loses and exact_sign_p(gained, ran) <= alpha
    parts = []
    if loses and fused is not None:
        parts.append(
            say(
                "{fused} finds {a} of {n} in the top {k}, {best} alone {b}: {lost} lost, {gained} gained (p = {p:.3g}).",
                fused=fused,
                best=best,
                a=counts[fused],
                b=counts[best],
                n=n,
                k=k,
                lost=len(union.only_first),
                gained=len(union.only_second),
                p=p,
            )
        )
    for arm, union in weak:
        parts.append(
            say(
                "{arm} finds {part} queries that {best} misses: putting the two together cannot add more than these.",
                arm=arm,
                part=part_of(len(union.only_second), n),
                best=best,
            )
        )
    subject = {"arm": fused if loses else weak[0][0], "arms": list(hits), "k": k}
    ids = union.only_first if loses else weak[0][1].only_second
    texts = {q.id: q.text for q in ev.queries}
    return Finding(
        "MA504",
        "arm-dominated",
        Severity.MEDIUM if serious or (weak and fused is not None) else Severity.LOW,
        subject,
        sentences(*parts),
        figures,
        Evidence(tuple(Example(texts[q], q) for q in ids[: ctx.config.max_examples]), len(ids), ids),
        fix=say("Leave the arm out, or give it less weight, and record the rankings again.")
        if loses
        else say("Ask whether this arm earns its time; keep it only where its own hits matter (names, codes, error ids)."),
        caveat=say("The union of hits query by query decides, not the averages. An arm is named when its own hits are fewer "
                   "than {margin:.0%} of the queries and it is ahead in no category; a fusion when it loses as many.",
                   margin=margin),
        lane="retrieval",
    )  # fmt: skip


def _lower_everywhere(ev: EvaluationInputs, weak: Mapping[str, bool], best: Mapping[str, bool]) -> bool:
    """Say whether an arm is ahead in no category (over all queries where there are none)."""
    parts = ev.categories or {"-": tuple(q.id for q in ev.queries)}
    return all(sum(weak[q] for q in ids) <= sum(best[q] for q in ids) for ids in parts.values())


def _section(ev: EvaluationInputs, arms: Sequence[str], dominated: Finding | None) -> Section:
    parts = {**ev.categories} or {say("all"): tuple(q.id for q in ev.queries)}
    rows = []
    for name, ids in parts.items():
        row: dict[str, Json] = {"category": name, "queries": len(ids)}
        row |= {f"arm{i}": sum(ev.results(arm)[q].hit for q in ids) for i, arm in enumerate(arms)}
        rows.append(row)
    table = Table(
        "eval-arms-by-category",
        say("Hits in the top {k} of each arm alone, {n}", k=ev.k, n=plural(len(ev.queries), "query", "queries")),
        (
            Column("category", say("category"), Cell.VALUE),
            Column("queries", say("queries"), Cell.COUNT),
            *(Column(f"arm{i}", arm, Cell.COUNT) for i, arm in enumerate(arms)),
        ),
        tuple(rows),
    )
    answer = dominated.title if dominated is not None else say("Every arm finds queries that the others miss.")
    return Section(
        "eval-arms",
        say("Arms side by side"),
        say("Does every arm add something?"),
        answer,
        ("MA504",),
        (table,),
        (dominated.caveat or "",) if dominated is not None else (),
    )


# -- MA721 ----------------------------------------------------------------------------------------


def _no_bias(ev: EvaluationInputs, alive: Sequence[str]) -> tuple[str, str] | None:
    """Say why a set that favours an arm could not be seen; None where it could."""
    if not of_kind(alive, "keyword") or not of_kind(alive, "vector"):
        return say("no keyword and no vector arm is known by its name"), "runs"
    if ev.corpus is None:
        return say("without a corpus the words of queries and answers cannot be compared"), "corpus"
    low, high = halves(overlaps(ev.queries, ev.expected, ev.corpus))
    if not low or not high:
        return say("every query shares as many words with its answer as the others"), "queries"
    return None


def _origin_bias(ctx: Context, ev: EvaluationInputs, alive: Sequence[str]) -> Finding | None:
    n = len(ev.queries)
    synthetic = [q.id for q in ev.queries if q.origin in SYNTHETIC]
    limit = ctx.limit("MA721", "synthetic_share", SYNTHETIC_SHARE)
    keyword, vector = of_kind(alive, "keyword"), of_kind(alive, "vector")
    pair = (keyword[0], vector[0]) if keyword and vector else None
    overlap = overlaps(ev.queries, ev.expected, ev.corpus) if ev.corpus is not None else {}
    low, high = halves(overlap)
    differences: tuple[float, float] | None = None
    p: float | None = None
    if pair is not None and low and high:
        a, b = (ev.results(arm) for arm in pair)
        p = fisher_p(*(sum(y[q].hit > x[q].hit for q in half) for half in (low, high) for x, y in ((a, b), (b, a))))
        both = [sum(b[q].hit - a[q].hit for q in half) / len(half) for half in (low, high)]
        differences = (both[0], both[1])
    margin = ev.config.margin
    # Both halves have to speak against each other by more than a margin: small sets change sign by chance.
    flips = differences is not None and min(differences) <= -margin and max(differences) >= margin
    mostly = n > 0 and len(synthetic) >= limit * n
    if pair is None or not (flips or mostly):
        return None
    by_chance = not mostly and p is not None and p > ev.config.alpha
    figures: dict[str, Json] = {
        "queries": n,
        "queries_from_corpus": len(synthetic),
        "share_from_corpus": len(synthetic) / n,
        "overlap_mean": sum(overlap.values()) / len(overlap) if overlap else None,
        "difference_low_overlap": differences[0] if differences else None,
        "difference_high_overlap": differences[1] if differences else None,
        "fisher_p": p,
        "low_overlap_queries": len(low),
        "high_overlap_queries": len(high),
    }
    title = (
        say(
            "{part} queries were made from the corpus: this set cannot rank {keyword} against {vector}.",
            part=part_of(len(synthetic), n),
            keyword=pair[0],
            vector=pair[1],
        )
        if mostly
        else say(
            "Which arm is ahead depends on the words of the queries: {vector} less {keyword} is {a:+.0f} points in the {low} "
            "that share few words with their answers, {b:+.0f} in the {high} that share many.",
            low=plural(len(low), "query", "queries"),
            high=plural(len(high), "query", "queries"),
            keyword=pair[0],
            vector=pair[1],
            a=100 * differences[0] if differences else 0.0,
            b=100 * differences[1] if differences else 0.0,
        )
    )
    ids = tuple(synthetic) if mostly else low
    return Finding(
        "MA721",
        "query-origin-bias",
        Severity.LOW if by_chance else Severity.MEDIUM,
        {"arms": list(pair), "k": ev.k},
        title,
        figures,
        Evidence((), len(ids), ids),
        fix=say("Add queries that people asked (`memaudit queries log`), and report the two halves apart."),
        caveat=sentences(
            say("Made from the corpus: origin truncated, leave_one_out or llm, from {limit:.0%} on. Overlap is the share "
                "of a query's words in its best expected document.", limit=limit),
            *([say("Low, because chance alone could turn the sign: over the queries that one arm alone finds the halves "
                   "differ with p = {p:.3g} (Fisher's exact test).", p=p)] if by_chance and p is not None else []),
        ),
        lane="retrieval",
    )  # fmt: skip


PROBE = EvalArms()
