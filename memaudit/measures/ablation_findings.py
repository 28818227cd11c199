"""Findings of an ablation, and ablations that somebody else ran: arms of recorded rankings with and without a part."""

from __future__ import annotations

from collections.abc import Mapping

from memaudit.context import Context, Need
from memaudit.evaluation.ablation import (
    AtOne,
    Flip,
    at_rank_one,
    compare_results,
    flips,
    judged,
    table_figures,
)
from memaudit.evaluation.deciding import can_decide
from memaudit.evaluation.figures import QueryResult
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.stages import arms_without
from memaudit.evaluation.variants import Variant
from memaudit.measures.ablation_texts import label, part_words
from memaudit.model import Basis, Evidence, Example, Finding, Json, ProbeResult, Severity
from memaudit.stats.decision import Decision, Verdict
from memaudit.stats.power import one_query_points
from memaudit.stats.resolution import resolution_sentence
from memaudit.stats.sentences import ablation_sentence, verdict_sentence
from memaudit.wording import plural, say

_CUTS = (1, 3, 5, 10)
#: Queries listed whose result changed.
MAX_FLIPS = 50


def recorded_ablation(ctx: Context) -> ProbeResult | None:
    """Judge the arms `without X` of recorded rankings against the arm `full`; None where there are none.

    A part that `stages` names is a stage of the pipeline (MA503), not a field.
    """
    if ctx.missing(Need.QUERIES) is not None or ctx.missing(Need.RUNS) is not None:
        return None
    ev = ctx.evaluation
    stages = set(ctx.config.stages or ())
    whole, arms = arms_without(ev.arms)
    made = {arm: part for arm, part in arms.items() if not {arm, part} & stages}
    if whole is None or not made or not ev.queries:
        return None
    groups = ev.query_set.dependence if ev.query_set is not None else {}
    level = 1.0 - ctx.config.alpha
    before = ev.results(whole)
    comparisons = {
        arm: compare_results(ev.queries, before, ev.results(arm), ev.metric, groups, level, ctx.config.seed)
        for arm in made
    }
    decisions = judged(comparisons, ctx.config.margin, ctx.config.alpha, ev.blocked)
    findings = tuple(
        ablation_finding(
            ctx,
            ev,
            Variant(f"without_{part}", "recorded", (part,), (), judged=True),
            (before, ev.results(arm)),
            decisions[arm],
            {"arm": arm, "field": part, "compare": [whole, arm], "k": ev.k},
        )
        for arm, part in made.items()
    )
    return ProbeResult(findings, (), {"query_set_can_decide": can_decide(ev, decisions.values())})


def ablation_finding(
    ctx: Context,
    ev: EvaluationInputs,
    variant: Variant,
    results: tuple[Mapping[str, QueryResult], Mapping[str, QueryResult]],
    decision: Decision,
    subject: Mapping[str, Json],
    lengths: tuple[Mapping[str, Json], Mapping[str, Json]] = ({}, {}),
) -> Finding:
    """Say what one variant changes.

    Parameters
    ----------
    results
        Query id -> result, with everything and with the variant.
    lengths
        Further figures of the two: characters and tokens.
    """
    before, after = results
    one = at_rank_one(ev.queries, before, after)
    changed = all_flips(ev, before, after)
    n = len(ev.queries)
    cuts = sorted({*_CUTS, ev.k})
    comparison = decision.comparison
    figures: dict[str, Json] = {
        "full": table_figures(ev.queries, before, cuts) | dict(lengths[0]),
        variant.name: table_figures(ev.queries, after, cuts) | dict(lengths[1]),
        "queries": n,
        "queries_changed_at_1": one.changed,
        "h1_wins": one.wins,
        "h1_losses": one.losses,
        "points_per_query": one_query_points(n),
        "sign_test_p": one.sign_p,
        "metric": ev.metric_name,
        "queries_changed": comparison.gained + comparison.lost,
        "gained": comparison.gained,
        "lost": comparison.lost,
        "difference": comparison.difference,
        "interval": None if comparison.interval is None else [comparison.interval.low, comparison.interval.high],
        "p": comparison.p,
        "p_adjusted": decision.p_adjusted,
        "comparisons": decision.family_size,
        "verdict": decision.verdict.value,
        "flipped": [{"query": f.query, "before": f.rank_before, "after": f.rank_after} for f in changed[:MAX_FLIPS]],
    }
    texts = {q.id: q.text for q in ev.queries}
    return Finding(
        "MA501",
        "field-ablation",
        Severity.INFO,
        subject,
        _title(variant, one, n, decision),
        figures,
        Evidence(
            tuple(
                Example(texts[f.query], f.query, say("rank {before} → {after}", before=f.rank_before or "-",
                                                     after=f.rank_after or "-"))
                for f in changed[: ctx.config.max_examples]
            ),
            len(changed),
            tuple(f.query for f in changed),
        ),
        caveat=ablation_caveat(ev, variant, decision)
        + " "
        + resolution_sentence(comparison, decision.alpha, decision.family_size),
        basis=Basis.UNDER_POWERED if decision.verdict is Verdict.TOO_FEW else Basis.MEASURED,
        lane="retrieval",
    )  # fmt: skip


def all_flips(
    ev: EvaluationInputs, before: Mapping[str, QueryResult], after: Mapping[str, QueryResult]
) -> tuple[Flip, ...]:
    """List queries that changed by the primary metric or at rank 1, each once, in the order of the set."""
    by_metric = {f.query: f for f in flips(ev.queries, before, after, ev.metric)}
    by_rank = {f.query: f for f in flips(ev.queries, before, after, "rr") if 1 in (f.rank_before, f.rank_after)}
    return tuple((by_metric | by_rank)[q.id] for q in ev.queries if q.id in by_metric or q.id in by_rank)


def _title(variant: Variant, one: AtOne, n: int, decision: Decision) -> str:
    words = {"part": part_words(variant), "before": f"{one.before:,}", "after": f"{one.after:,}", "n": n}
    if variant.kind == "only":
        title = say("With {part} alone hit@1 is {after} of {n}, with the full text {before}", **words)
    elif variant.kind == "recorded":
        title = say("Without {part} hit@1 is {after} of {n}, with everything {before}", **words)
    else:
        title = say("Without {part} hit@1 is {after} of {n}, with the full text {before}", **words)
    changed = plural(one.changed, "query changed", "queries changed")
    if one.changed and one.changed < decision.m_min:
        return title + say(": {changed}, which proves nothing (at least {m} must change the same way).",
                           changed=changed, m=decision.m_min)  # fmt: skip
    return title + say(
        ": {changed}, {wins} gained and {losses} lost.", changed=changed, wins=one.wins, losses=one.losses
    )


def ablation_caveat(ev: EvaluationInputs, variant: Variant, decision: Decision) -> str:
    """Say what the comparison shows, in the words that the query set allows."""
    synthetic = ev.query_set is not None and ev.query_set.synthetic
    if variant.kind == "only":
        return verdict_sentence(decision, ev.metric_name, say("{part} alone", part=part_words(variant)), synthetic)
    return ablation_sentence(decision, part_words(variant), ev.metric_name, label(variant), synthetic)
