"""Evaluation against production: the tokenizer, the code path, the predictions, and what the context costs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.arms import Agreement
from memaudit.evaluation.figures import QueryResult
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.predictions import Prediction
from memaudit.evaluation.token_estimate import estimated_tokens
from memaudit.evaluation.tokens import collapsed, same_tokens, vanished
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.ranking import context_cost, turn_that_overflows
from memaudit.wording import part_of, plural, say, sentences, space_between

#: Files copied together differ by less; a prediction written after the run was changed minutes later at least.
MIN_LATE_S = 60.0
#: Share of the queries in which a kind of character may vanish (retrieval-evaluation rule R13).
MAX_VANISHED = 0.01
#: Turns of the conversation that a context is priced for.
TURNS = 10


class EvalPractice:
    """MA716, MA717, MA718 and MA719."""

    name: ClassVar[str] = "eval-practice"
    title: ClassVar[str] = "Does the evaluation measure what runs in production?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA716": "tokenizer-collapse",
        "MA717": "prediction-failed",
        "MA718": "eval-path-differs",
        "MA719": "context-cost",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = (
        "predictions", "runs", "corpus", "context_window", "prices", "recall", "eval_recall", "query_tokenizer",
    )  # fmt: skip

    def run(self, ctx: Context) -> ProbeResult:
        """Hold the evaluation against production and against what was predicted."""
        ev = ctx.evaluation
        not_looked: dict[str, tuple[str, str]] = {}
        findings: list[Finding | None] = []
        notes: tuple[str, ...] = ()
        if ev.tokens is None:
            not_looked["MA716"] = _no_tokenizer(ctx)
        else:
            findings.append(_collapse(ctx, ev, ev.tokens))
            problem = ev.call_errors.get("query_tokenizer")
            if problem and ev.corpus is not None:
                notes += (say("The expected documents could not be tokenized: {reason}", reason=problem),)
        sections: list[Section] = []
        if ev.paths is None:
            not_looked["MA718"] = _no_paths(ctx, ev)
        elif ev.paths[2].n == 0:
            not_looked["MA718"] = (
                say("not compared: {a} and {b} have no query that both answered", a=ev.paths[0], b=ev.paths[1]),
                "runs",
            )
        else:
            findings.append(_path(ctx, ev))
            notes += _not_compared(*ev.paths)
        if ev.predictions is None or not ev.arms:
            not_looked["MA717"] = (
                (say("no predictions were given"), "predictions")
                if ev.predictions is None
                else (say("no recorded rankings were given"), "runs")
            )
        else:
            judged = [_judged(ev, p) for p in ev.predictions.predictions]
            findings.append(_predictions(ctx, ev, judged))
            sections.append(_prediction_section(ev, judged))
        if ctx.config.context_window is None or ev.corpus is None or ev.primary_arm is None:
            not_looked["MA719"] = (say("needs a corpus, recorded rankings and the model's window"), "context_window")
        else:
            findings.append(_cost(ctx, ev))
        return ProbeResult(tuple(f for f in findings if f is not None), tuple(sections), {}, notes, not_looked)


# -- MA716 ----------------------------------------------------------------------------------------


def _no_tokenizer(ctx: Context) -> tuple[str, str]:
    if ctx.config.query_tokenizer is None:
        return say("no production tokenizer was given"), "query_tokenizer"
    reason = ctx.evaluation.call_errors.get("query_tokenizer", "")
    return say("the tokenizer could not be asked: {reason}", reason=reason), "query_tokenizer"


def _collapse(ctx: Context, ev: EvaluationInputs, tokens: Mapping[str, tuple[str, ...]]) -> Finding | None:
    texts = {q.id: q.text for q in ev.queries}
    groups = collapsed(tokens, {q: e.documents for q, e in ev.expected.items()})
    limit = ctx.limit("MA716", "max_vanished", MAX_VANISHED)
    lost = {name: ids for name, ids in vanished(texts, tokens).items() if len(ids) > limit * len(texts)}
    documents = ev.document_tokens
    bodies = {d: ev.corpus.documents[d].text for d in documents} if ev.corpus is not None else {}
    alike = same_tokens(documents, bodies)
    if not groups and not lost and not alike:
        return None
    inside = [q for group in groups for q in group.queries]
    parts = []
    if groups:
        parts.append(
            say(
                "{part} queries become the same tokens as a query with another answer, in {n}.",
                part=part_of(len(inside), len(texts)),
                n=plural(len(groups), "group"),
            )
        )
    if lost:
        shown = ", ".join(f"{name} ({part_of(len(ids), len(texts))})" for name, ids in lost.items())
        parts.append(say("Lost on the way: {shown}.", shown=shown))
    if alike:
        parts.append(
            say(
                "{part} expected documents become the same tokens as another one with another text, in {n}.",
                part=part_of(sum(map(len, alike)), len(documents)),
                n=plural(len(alike), "group"),
            )
        )
    among = {doc for group in alike for doc in group}
    asking = {q for q, e in ev.expected.items() if e.documents & among}
    concerned = set(inside).union(*lost.values(), asking)
    ids = tuple(q for q in texts if q in concerned)
    return Finding(
        "MA716",
        "tokenizer-collapse",
        Severity.MEDIUM,
        {"function": ctx.config.query_tokenizer},
        sentences(*parts),
        {
            "queries": len(texts),
            "collapsed_groups": len(groups),
            "collapsed_queries": len(inside),
            **{f"queries_losing_{name.replace(' ', '_')}": len(found) for name, found in lost.items()},
            "groups": [
                {"queries": list(g.queries), "tokens": list(g.tokens), "best_hit1": g.best_hit1} for g in groups[:20]
            ],
            "documents": len(documents),
            "collapsed_documents": len(among),
            "document_groups": [list(group) for group in alike[:20]],
        },
        Evidence(
            tuple(Example(texts[q], q, " | ".join(tokens[q])[:200]) for q in ids[: ctx.config.max_examples]),
            len(ids),
            ids,
        ),
        fix=say("Keep digits, single Han characters and identifiers as tokens: what the tokenizer drops cannot be found."),
        caveat=say("Named for any two queries with equal tokens and no common answer, and for a kind of character lost in "
                   "more than {limit:.0%} of the queries, and for any two expected documents with equal tokens and different "
                   "texts ({n} looked at).", limit=limit, n=plural(len(documents), "document")),
        lane="retrieval",
    )  # fmt: skip


# -- MA718 ----------------------------------------------------------------------------------------


def _no_paths(ctx: Context, ev: EvaluationInputs) -> tuple[str, str]:
    if ctx.config.recall is not None and ctx.config.eval_recall is not None:
        setting = next((name for name in ("recall", "eval_recall") if name in ev.call_errors), "recall")
        return say("not compared: {reason}", reason=ev.call_errors.get(setting, "")), setting
    missing = "recall" if ctx.config.recall is None else "eval_recall"
    return say("production and evaluation were not both given (as functions, or as arms of these names)"), missing


def _not_compared(production: str, evaluation: str, same: Agreement) -> tuple[str, ...]:
    n_one, n_none = len(same.one_empty), len(same.both_empty)
    if not n_one and not n_none:
        return ()
    return (
        say("{a} and {b}: {n} of {whole} queries compared; {one} were answered by one of them only, {none} by neither.",
            a=production, b=evaluation, n=same.n, whole=same.n + n_one + n_none, one=n_one, none=n_none),
    )  # fmt: skip


def _path(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    if ev.paths is None:
        return None
    production, evaluation, same = ev.paths
    n_differing = same.same_set + same.different
    if n_differing == 0:
        return None
    texts = {q.id: q.text for q in ev.queries}
    ids = tuple(same.first_difference)
    return Finding(
        "MA718",
        "eval-path-differs",
        Severity.HIGH,
        {"arms": [production, evaluation], "k": ev.k},
        say(
            "{evaluation} returns something else than {production} for {part} queries in the top {k}: verdicts say nothing "
            "about production.",
            evaluation=evaluation,
            production=production,
            part=part_of(n_differing, same.n),
            k=ev.k,
        ),
        {
            "queries": same.n,
            "same_order": same.same_order,
            "same_set": same.same_set,
            "different": same.different,
            "first_differing_rank": min(same.first_difference.values(), default=None),
            "answered_by_one_only": len(same.one_empty),
            "answered_by_neither": len(same.both_empty),
        },
        Evidence(
            tuple(
                Example(texts.get(q, ""), q, say("differs from rank {rank} on", rank=same.first_difference[q]))
                for q in ids[: ctx.config.max_examples]
            ),
            len(ids),
            ids,
        ),
        fix=say("Call production's own entry point in the evaluation, with its flags, thresholds and model."),
        caveat=say("Queries that only one of the two answered are not compared, never taken as equal: {n}.",
                   n=len(same.one_empty)),
        lane="retrieval",
    )  # fmt: skip


# -- MA717 ----------------------------------------------------------------------------------------


def _judged(ev: EvaluationInputs, prediction: Prediction) -> tuple[Prediction, float | None, bool | None, str]:
    """Return (prediction, observed figure, held, note); held is None where it cannot be judged."""
    k = prediction.k or ev.k
    ids = tuple(q.id for q in ev.queries)
    if prediction.category is not None:
        ids = ev.categories.get(prediction.category, ())
    if not ids:
        return prediction, None, None, say("no query of this category")
    arm = prediction.arm or ev.primary_arm
    if arm is None or arm not in ev.arms:
        return prediction, None, None, say("no such arm")
    queries = {q.id: q for q in ev.queries}
    metric = "hit" if prediction.metric == "queries" else prediction.metric

    def values(name: str) -> dict[str, float]:
        results: Mapping[str, QueryResult] = ev.results(name, k)
        return {q: results[q].value(metric, queries[q]) for q in ids}

    own = values(arm)
    if prediction.op == "unchanged":
        if ev.compare is None:
            return prediction, None, None, say("no two arms are compared")
        a, b = (values(name) for name in ev.compare)
        moved = sum(abs(a[q] - b[q]) > 1e-12 for q in ids)
        return prediction, float(moved), moved == 0, say("{n} moved", n=plural(moved, "query", "queries"))
    observed = sum(own.values()) / (1 if prediction.metric == "queries" else len(ids))
    return prediction, observed, prediction.holds(observed), plural(len(ids), "query", "queries")


def _predictions(
    ctx: Context, ev: EvaluationInputs, judged: list[tuple[Prediction, float | None, bool | None, str]]
) -> Finding | None:
    if ev.predictions is None:
        return None
    failed = [p for p, _, held, _ in judged if held is False]
    late_s = ev.predictions_late_s
    late = late_s is not None and late_s > ctx.limit("MA717", "min_late_s", MIN_LATE_S)
    if not failed and not late:
        return None
    n = sum(held is not None for _, _, held, _ in judged)
    parts = []
    if failed:
        parts.append(say("{part} predictions did not hold.", part=part_of(len(failed), n)))
    if late:
        parts.append(say("The predictions were changed after the rankings were recorded."))
    ids = tuple(p.id for p in failed)
    written = datetime.fromtimestamp(ev.predictions.written, timezone.utc).isoformat(timespec="seconds")
    return Finding(
        "MA717",
        "prediction-failed",
        Severity.MEDIUM if late else Severity.INFO,
        {"file": ev.predictions.name},
        sentences(*parts),
        {
            "predictions": len(judged),
            "judged": n,
            "held": sum(held is True for _, _, held, _ in judged),
            "failed": len(failed),
            "late": late,
            "sha256": ev.predictions.sha256,
        },
        Evidence(tuple(Example(p.reason, p.id, p.shown) for p in failed[: ctx.config.max_examples]), len(ids), ids),
        fix=say("Write predictions before the run and do not touch them afterwards.") if late else "",
        caveat=say("SHA-256 of the predictions: {sha}, last changed {when} by the file's time, which copying can change.",
                   sha=ev.predictions.sha256[:16], when=written),
        lane="retrieval",
    )  # fmt: skip


def _prediction_section(
    ev: EvaluationInputs, judged: list[tuple[Prediction, float | None, bool | None, str]]
) -> Section:
    words = {True: say("held"), False: say("failed"), None: say("not judged")}
    rows = [
        {
            "id": p.id,
            "what": f"{p.metric}@{p.k or ev.k}" + (f" · {p.category}" if p.category else ""),
            "predicted": p.shown,
            "observed": None if observed is None else f"{observed:.4g}",
            "held": words[held],
            "note": note,
        }
        for p, observed, held, note in judged
    ]
    n_held = sum(held is True for _, _, held, _ in judged)
    n = sum(held is not None for _, _, held, _ in judged)
    table = Table(
        "eval-predictions",
        say("{n}, judged query by query", n=plural(len(judged), "prediction")),
        (
            Column("id", say("id"), Cell.CODE),
            Column("what", say("figure"), Cell.VALUE),
            Column("predicted", say("predicted")),
            Column("observed", say("observed")),
            Column("held", say("held")),
            Column("note", say("note")),
        ),
        tuple(rows),
    )
    sha = ev.predictions.sha256 if ev.predictions is not None else ""
    return Section(
        "eval-predictions",
        say("Predictions"),
        say("Did what was predicted come true, and did nothing else move?"),
        say("{held} of {n} predictions held.", held=n_held, n=n),
        ("MA717",),
        (table,),
        (say("SHA-256 of the file: {sha}.", sha=sha),),
    )


# -- MA719 ----------------------------------------------------------------------------------------


def _cost(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    window = ctx.config.context_window
    if window is None or ev.corpus is None or ev.primary_arm is None or ev.runs is None or not ev.queries:
        return None
    tokens = {doc: estimated_tokens(d.text) for doc, d in ev.corpus.documents.items()}
    corpus = sum(tokens.values())
    rankings = ev.runs.arms[ev.primary_arm].values()
    taken = [sum(tokens.get(d, 0) for d in r.ids[: ev.k]) for r in rankings]
    retrieved = round(sum(taken) / len(taken)) if taken else 0
    turns = int(ctx.limit("MA719", "turns", TURNS))
    price = _price(ctx)
    cost = context_cost(corpus, retrieved, turns, price or 0.0)
    overflow = turn_that_overflows(corpus, window)
    figures: dict[str, Json] = {
        "corpus_tokens": corpus,
        "retrieved_tokens": retrieved,
        "turns": turns,
        "window": window,
        "share_of_corpus": cost.single_share,
        "ratio_one_turn": cost.single_ratio,
        "tokens_corpus_once": cost.all_in_once_total,
        "tokens_corpus_added_every_turn": cost.all_in_readded_total,
        "tokens_retrieved_kept": cost.retrieved_kept_total,
        "tokens_retrieved_replaced": cost.retrieved_replaced_total,
        "turn_over_window_corpus_added": overflow,
        "turn_over_window_retrieved_kept": turn_that_overflows(retrieved, window) if retrieved else None,
        "price_corpus_once": cost.all_in_once_cost if price is not None else None,
        "price_retrieved_replaced": cost.retrieved_replaced_cost if price is not None else None,
    }
    fits = corpus <= window
    title = say(
        "The corpus is about {corpus} tokens, the top {k} about {retrieved}; sent once and kept it fits the window of "
        "{window}.",
        corpus=corpus,
        k=ev.k,
        retrieved=retrieved,
        window=window,
    ) if fits else say(
        "The corpus is about {corpus} tokens and does not fit the window of {window}; the top {k} is about {retrieved}.",
        corpus=corpus,
        k=ev.k,
        retrieved=retrieved,
        window=window,
    )  # fmt: skip
    if fits and overflow is not None and overflow <= turns:
        title += space_between() + say("Added again every turn it passes the window at turn {turn}.", turn=overflow)
    return Finding(
        "MA719",
        "context-cost",
        Severity.INFO,
        {"arm": ev.primary_arm, "k": ev.k},
        title,
        figures,
        Evidence(),
        caveat=say("Tokens are estimated from the characters (a Han character is one, four others are one). {turns} turns; "
                   "no ratio means anything without saying whether the text is sent once, added again or replaced.",
                   turns=turns),
        lane="retrieval",
    )  # fmt: skip


def _price(ctx: Context) -> float | None:
    """Return the price of a million input tokens, None when it was not given."""
    prices = ctx.config.prices or {}
    value = next((prices[k] for k in ("input", "input_per_million", "per_million") if k in prices), None)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None


PROBE = EvalPractice()
