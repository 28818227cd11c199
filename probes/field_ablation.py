"""Field ablation: what each embedded field contributes to retrieval, by encoding the texts again without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.ablation import (
    at_rank_one,
    compare_results,
    judged,
    results_of_ranks,
    table_figures,
)
from memaudit.evaluation.corpus import corpus_of_rows
from memaudit.evaluation.deciding import can_decide
from memaudit.evaluation.figures import QueryResult
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.ranking import best_ranks
from memaudit.evaluation.resolve import Expected, resolve
from memaudit.evaluation.variants import Parts, Variant, variants
from memaudit.measures.ablation_findings import (
    MAX_FLIPS,
    ablation_caveat,
    ablation_finding,
    all_flips,
    recorded_ablation,
)
from memaudit.measures.ablation_geometry import geometry_result
from memaudit.measures.ablation_texts import (
    EncodedVariants,
    embedded_parts,
    encode_variants,
    encoder_lines,
    label,
    token_counts,
)
from memaudit.model import Cell, Column, Json, ProbeResult, Section, Table
from memaudit.stats.decision import Decision, Verdict
from memaudit.stats.latency import compare_latency, latency_sentence
from memaudit.stats.resolution import resolution_sentence
from memaudit.stats.sentences import verdict_word
from memaudit.stats.shown import p_text, signed_points
from memaudit.stats.timing import measure_interleaved
from memaudit.wording import part_of, per_cent, plural, say, sentences

#: Texts that may be encoded for it, all variants together: about a minute with a small model on two cores.
MAX_TEXTS = 60_000
#: Rows timed, each 18 times a variant, and variants timed.
TIMED_ROWS, TIMED_VARIANTS = 24, 4


class FieldAblation:
    """MA501."""

    name: ClassVar[str] = "field-ablation"
    title: ClassVar[str] = "What does each embedded field contribute to retrieval?"
    codes: ClassVar[Mapping[str, str]] = {"MA501": "field-ablation"}
    needs: ClassVar[frozenset[Need]] = frozenset()
    without_store: ClassVar[bool] = True
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("queries", "runs", "ablate", "template", "k", "metric", "margin", "alpha")

    def run(self, ctx: Context) -> ProbeResult:
        """Encode every variant with one encoder, rank all rows for each query, and judge the variants together."""
        measured = ctx.missing(Need.QUERIES) is None
        # Without rows there is nothing to encode, but somebody may have recorded an ablation.
        missing = ctx.missing(Need.RECORDS) if ctx.has_store else (say("no store was given"), "store")
        parts, why_not = embedded_parts(ctx) if missing is None else (None, missing)
        if parts is None:
            return recorded_ablation(ctx) or ProbeResult(not_looked={"MA501": why_not})
        if len(parts.fields) < 2 and ctx.config.ablate is None and not parts.layouts:
            one = say("the embedded text is one field: nothing can be left out")
            return recorded_ablation(ctx) or ProbeResult(not_looked={"MA501": (one, "embedded_fields")})
        if not measured:
            return geometry_result(ctx, parts)
        if ctx.records.drawn_from is not None:
            drawn = say("only a sample of the rows is audited, and what the queries expect may not have been drawn")
            return ProbeResult(not_looked={"MA501": (drawn, "max_rows")})
        ev = ctx.evaluation
        if not ev.queries:
            return ProbeResult(not_looked={"MA501": (say("the query set holds no query"), "queries")})
        made = variants(parts, ctx.config.ablate)
        n_texts = len({text for v in made for text in v.texts})
        most = int(ctx.limit("MA501", "max_texts", MAX_TEXTS))
        if n_texts > most:
            reason = say("{n} different texts would be encoded, more than the limit of {most} (limits.MA501.max_texts)",
                         n=n_texts, most=most)  # fmt: skip
            return ProbeResult(not_looked={"MA501": (reason, "ablate")})
        expected, problem = _expected(ctx, ev, parts)
        if problem:
            return ProbeResult(not_looked={"MA501": (problem, "queries")})
        return _measured(ctx, ev, parts, made, expected)


def _expected(ctx: Context, ev: EvaluationInputs, parts: Parts) -> tuple[Mapping[str, Expected], str]:
    """Resolve what the queries expect to rows of the store, whatever corpus the recorded rankings come from."""
    if not ctx.config.corpus:
        return ev.expected, ""
    rows = corpus_of_rows(ctx.table_name, ctx.records.keys, parts.full)
    expected = resolve(ev.queries, rows)
    if not any(e.documents for e in expected.values()):
        return expected, say("what the queries expect are documents of the corpus and no rows of the store")
    return expected, ""


# -- with a query set -----------------------------------------------------------------------------


def _measured(
    ctx: Context, ev: EvaluationInputs, parts: Parts, made: Sequence[Variant], expected: Mapping[str, Expected]
) -> ProbeResult:
    encoded = encode_variants(ctx, made, [q.text for q in ev.queries])
    results = {v.name: _results(ctx, ev, v, encoded, expected) for v in made}
    groups = ev.query_set.dependence if ev.query_set is not None else {}
    level = 1.0 - ctx.config.alpha
    comparisons = {
        v.name: compare_results(ev.queries, results["full"], results[v.name], ev.metric, groups, level, ctx.config.seed)
        for v in made[1:]
    }
    asked = [v.name for v in made if v.judged]
    decisions = judged({name: comparisons[name] for name in asked}, ctx.config.margin, ctx.config.alpha, ev.blocked)
    tokens = token_counts(ctx, made)
    findings = tuple(
        ablation_finding(
            ctx,
            ev,
            v,
            (results["full"], results[v.name]),
            decisions[v.name],
            _subject(ctx, v, ev.k),
            (_lengths(made[0], tokens), _lengths(v, tokens)),
        )
        for v in made
        if v.name in decisions
    )
    timings = _timings(ctx, made)
    section = _section(ctx, ev, parts, made, results, comparisons, decisions, timings, tokens)
    figures: dict[str, Json] = {"query_set_can_decide": can_decide(ev, decisions.values())}
    notes: tuple[str, ...] = ()
    if parts.n_whole:
        notes = (
            say("{part} rows do not follow the template and stayed whole in every variant of the ablation.",
                part=part_of(parts.n_whole, len(parts.full))),
        )  # fmt: skip
    return ProbeResult(findings, (section,), figures, notes)


def _results(
    ctx: Context, ev: EvaluationInputs, variant: Variant, encoded: EncodedVariants, expected: Mapping[str, Expected]
) -> dict[str, QueryResult]:
    place: dict[str, list[int]] = {}
    for number, row in enumerate(encoded.rows[variant.name].tolist()):
        place.setdefault(str(ctx.records.keys[row]), []).append(number)

    def numbers(documents: frozenset[str]) -> list[int]:
        return sorted(n for doc in documents for n in place.get(doc, ()))

    wanted = [[numbers(group) for group in expected[q.id].groups] for q in ev.queries]
    without = [numbers(q.exclude) for q in ev.queries]
    matrix = encoded.matrices[variant.name]
    if not len(matrix):
        return results_of_ranks(ev.queries, [(None,) * len(q.groups) for q in ev.queries], ev.k)
    return results_of_ranks(ev.queries, best_ranks(encoded.queries, matrix, wanted, without), ev.k)


def _lengths(variant: Variant, tokens: Mapping[str, int]) -> dict[str, Json]:
    return {"characters": variant.n_chars, **({"tokens": tokens[variant.name]} if tokens else {})}


def _subject(ctx: Context, variant: Variant, k: int) -> dict[str, Json]:
    column: dict[str, Json] = {"column": variant.fields[0]} if len(variant.fields) == 1 else {}
    return {"table": ctx.table_name, **column, "columns": list(variant.fields), "variant": variant.name, "k": k}


# -- timing ---------------------------------------------------------------------------------------


def _timings(ctx: Context, made: Sequence[Variant]) -> tuple[str, ...]:
    """Time the encoding of the corpus text, interleaved with the full text as its own control; off unless asked for.

    Figures of time differ from run to run, and a report that is the same for the same input is worth more.
    """
    if not ctx.limit("MA501", "timing", 0):
        return (
            say("Encoding was not timed, so nothing is said about speed, because times differ from run to run: "
                "`--set limits.MA501.timing=1` times it."),
        )  # fmt: skip
    encoder = ctx.text_encoder.encoder
    usable = [i for i in range(len(made[0].texts)) if all(v.texts[i].strip() for v in made)]
    chosen = ctx.rng("ablation-timing").permutation(len(usable))[:TIMED_ROWS]
    rows = [usable[int(i)] for i in sorted(chosen)]
    lines = []
    for variant in [v for v in made if v.judged][:TIMED_VARIANTS]:
        times = measure_interleaved(
            lambda i: encoder.encode([made[0].texts[i]]),
            lambda i, v=variant: encoder.encode([v.texts[i]]),  # type: ignore[misc]
            rows,
            seed=ctx.config.seed,
        )
        compared = compare_latency(times.a_ms, times.b_ms, times.a_again_ms, seed=ctx.config.seed)
        timed = say("encoding of the stored text, one at a time")
        texts = plural(compared.n, "stored text")
        lines.append(latency_sentence(compared, timed, label(variant), texts))
    return tuple(lines)


# -- the page -------------------------------------------------------------------------------------


def _section(
    ctx: Context,
    ev: EvaluationInputs,
    parts: Parts,
    made: Sequence[Variant],
    results: Mapping[str, Mapping[str, QueryResult]],
    comparisons: Mapping[str, Any],
    decisions: Mapping[str, Decision],
    timings: Sequence[str],
    tokens: Mapping[str, int],
) -> Section:
    full = results["full"]
    n = len(ev.queries)
    rows: list[Mapping[str, Json]] = []
    listed: list[Mapping[str, Json]] = []
    texts = {q.id: q.text for q in ev.queries}
    for v in made:
        own = results[v.name]
        figures = table_figures(ev.queries, own, (ev.k,))
        one = at_rank_one(ev.queries, full, own)
        row: dict[str, Json] = {
            "variant": label(v),
            "h1": f"{one.after:,}/{n:,}",
            "mrr": None if figures["mrr"] is None else round(float(str(figures["mrr"])), 3),
            "chars": v.n_chars,
            **({"tokens": tokens[v.name]} if tokens else {}),
        }
        if ev.metric == "auto" or ev.metric == "coverage":
            row["coverage"] = per_cent(f"{100 * float(str(figures[f'coverage{ev.k}_mean'])):.1f}")
        row["hit"] = f"{figures[f'hit{ev.k}']:,}/{n:,}"
        if v.kind != "full":
            comparison = comparisons[v.name]
            low_high = comparison.interval
            row["changed"] = say("{gained} gained, {lost} lost", gained=comparison.gained, lost=comparison.lost)
            if low_high is not None:
                row["interval"] = f"{signed_points(low_high.low)} … {signed_points(low_high.high)}"
            row["p"] = None if comparison.p is None else p_text(comparison.p, ctx.config.alpha).removeprefix("= ")
            decision = decisions.get(v.name)
            row["verdict"] = _verdict_word(decision) if decision is not None else say("descriptive")
            listed += [
                {
                    "variant": label(v),
                    "query": f.query,
                    "before": f.rank_before,
                    "after": f.rank_after,
                    "text": texts[f.query],
                }
                for f in all_flips(ev, full, own)
                if v.judged
            ]
        rows.append(row)
    more = [Column("hit", say("hit@{k}", k=ev.k))] if ev.k != 1 else []
    if ev.metric in ("auto", "coverage"):
        more.append(Column("coverage", say("mean coverage@{k}", k=ev.k)))
    tables = [
        Table(
            "field-ablation",
            say("{queries} over {rows}; judged by {metric}", queries=plural(n, "query", "queries"),
                rows=plural(len(parts.full), "row"), metric=ev.metric_name),
            (
                Column("variant", say("embedded text")),
                Column("h1", say("hit@1")),
                *more,
                Column("mrr", say("mean reciprocal rank"), Cell.NUMBER),
                Column("changed", say("queries changed")),
                Column("interval", say("difference in points, {level:.0f} % interval", level=100 * (1 - ctx.config.alpha))),
                Column("p", say("exact p")),
                Column("verdict", say("what this shows")),
                Column("chars", say("characters"), Cell.COUNT),
                *([Column("tokens", say("tokens"), Cell.COUNT)] if tokens else []),
            ),
            tuple(rows),
        )
    ]  # fmt: skip
    if listed:
        tables.append(
            Table(
                "field-ablation-flips",
                say("Queries whose result changed: {n}", n=len(listed)),
                (
                    Column("variant", say("embedded text")),
                    Column("query", say("query"), Cell.CODE),
                    Column("before", say("rank with the full text"), Cell.COUNT),
                    Column("after", say("rank here"), Cell.COUNT),
                    Column("text", say("text"), Cell.VALUE),
                ),
                tuple(listed),
                show=MAX_FLIPS,
            )
        )
    asked = [v for v in made if v.name in decisions]
    telling = [v for v in asked if decisions[v.name].verdict in (Verdict.IMPROVES, Verdict.DEGRADES)]
    chosen = (telling or asked)[:2]
    answer = sentences(*(ablation_caveat(ev, v, decisions[v.name]) for v in chosen))
    method = [
        *encoder_lines(ctx),
        say("Every row is ranked for every query by its exact cosine; equal cosines stand in row order. A row that is blank "
            "in a variant is not returned there."),
        say("Verdicts: exact McNemar test for hits, sign flips for graded metrics, level {alpha:g}, margin {margin:g} "
            "points, adjusted by Holm for {k}; p in the table is not adjusted. A field alone is descriptive.",
            alpha=ctx.config.alpha, margin=100 * ctx.config.margin, k=plural(len(decisions), "comparison")),
        say("The interval speaks about more queries drawn like these, not about users. A variant changes the stored text "
            "only, so that it cannot change the time to encode a query."),
        *timings,
    ]  # fmt: skip
    if asked:
        first = decisions[asked[0].name]
        method.insert(0, resolution_sentence(first.comparison, first.alpha, first.family_size))
    return Section(
        "field-ablation",
        say("Field ablation"),
        say("What does each embedded field contribute to finding the right memory?"),
        answer,
        ("MA501",),
        tuple(tables),
        tuple(method),
    )


def _verdict_word(decision: Decision) -> str:
    if decision.verdict is Verdict.IMPROVES:
        return say("removing it improves")
    return say("contributes") if decision.verdict is Verdict.DEGRADES else verdict_word(decision.verdict)


PROBE = FieldAblation()
