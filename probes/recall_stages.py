"""Stage stripping: which stages of the recall pipeline change what the agent gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from memaudit.context import Context, Need
from memaudit.errors import TargetError
from memaudit.evaluation.ablation import compare_results, flips, judged, results_of_ranks
from memaudit.evaluation.deciding import can_decide
from memaudit.evaluation.figures import QueryResult, ranks_of
from memaudit.evaluation.inputs import EvaluationInputs, ids_of
from memaudit.evaluation.ranking import nearest
from memaudit.evaluation.runs import Ranking
from memaudit.evaluation.stages import Lists, StageEffect, recorded_stages, run_stages
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.decision import Decision
from memaudit.stats.intervals import wilson_interval
from memaudit.stats.sentences import ablation_sentence
from memaudit.stats.shown import p_text, signed_points
from memaudit.target import Call, call_batch, parameter_names
from memaudit.wording import part_of, plural, say, space_between

#: Queries from which on a stage that changed no list is worth acting on: at 20, more than 16 % of queries changed is
#: excluded (Wilson).
MIN_QUERIES = 20
#: Candidates handed to the first stage.
DEPTH = 50
#: Names of a parameter that takes the text of the query.
_QUERY_NAMES = frozenset({"query", "q", "text", "question", "query_text"})
_NOT_FOR_STAGES = (bytes, bytearray)


class RecallStages:
    """MA503."""

    name: ClassVar[str] = "recall-stages"
    title: ClassVar[str] = "Does every stage of the recall pipeline change anything?"
    codes: ClassVar[Mapping[str, str]] = {"MA503": "stage-no-op"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("stages", "runs", "k", "metric", "margin", "alpha")

    def run(self, ctx: Context) -> ProbeResult:
        """Take the pipeline apart, from recorded rankings or by calling its stages."""
        ev = ctx.evaluation
        stages = ctx.config.stages
        arms = ev.runs.arms if ev.runs is not None else {}
        effects = recorded_stages(arms, stages)
        origin = say("recorded rankings")
        failures: dict[str, Failure] = {}
        problem = say("no stages were named, and no recorded arms are named after one (full, without X)"), "stages"
        if not effects and stages:
            if not all(":" in stage for stage in stages):
                problem = (
                    say("the stages are neither functions (pkg.mod:fn) nor arms of the recorded rankings"),
                    "stages",
                )
            else:
                try:
                    effects, origin, failures = _called(ctx, ev, stages)
                except TargetError as error:
                    problem = say("not run: {reason}", reason=str(error)), "stages"
        if not effects:
            return ProbeResult(not_looked={"MA503": problem})
        decisions, compared = _judged(ctx, ev, effects)
        findings = tuple(f for e in effects if (f := _finding(ctx, ev, e)) is not None)
        figures: dict[str, Json] = {}
        if can_decide(ev, decisions.values()):
            figures["query_set_can_decide"] = True
        not_looked = {}
        silent = [e.name for e in effects if e.n == 0]
        if len(silent) == len(effects):
            failed = say("no query has a list before and after a stage ({names})", names=", ".join(silent))
            why = (say("{name}: {reason}", name=name, reason=own.reason) for name, own in failures.items())
            remedy = (_remedy(),) if any(own.refused for own in failures.values()) else ()
            not_looked["MA503"] = ("; ".join((failed, *why, *remedy)), "stages")
        section = _section(ctx, ev, effects, decisions, compared, origin, failures)
        return ProbeResult(findings, (section,), figures, (), not_looked)


# -- functions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """Why a stage gave no list for a query: the first reason seen, and whether the audit kept it from something."""

    reason: str
    refused: bool


def _remedy() -> str:
    return say("record what the pipeline returns after each stage as arms of `runs` and name the arms in `stages`")


def _called(
    ctx: Context, ev: EvaluationInputs, stages: Sequence[str]
) -> tuple[tuple[StageEffect, ...], str, dict[str, Failure]]:
    """Run stages in child processes, the store lent to them; the second says what the first stage was given."""
    with ctx.lent_store() as databases:
        return _called_with(ctx, ev, stages, databases)


def _called_with(
    ctx: Context, ev: EvaluationInputs, stages: Sequence[str], databases: Mapping[str, str]
) -> tuple[tuple[StageEffect, ...], str, dict[str, Failure]]:
    folders = tuple(ctx.config.path(folder) for folder in ctx.config.code_path or ())
    base, stubs = ctx.config.base, ctx.config.stub or ()
    # A configured factory belongs to the generator where there is one.
    factory = ctx.config.factory if ctx.config.generator is None else None
    texts = {q.id: q.text for q in ev.queries}
    shapes = {s: parameter_names(s, base=base, code_path=folders, factory=factory) for s in stages}
    failures: dict[str, Failure] = {}

    def batch(stage: str, calls: Sequence[Sequence[Any]]) -> list[tuple[list[Any] | None, float]]:
        answers = call_batch(
            stage, calls, base=base, code_path=folders, factory=factory, stubs=stubs, databases=databases
        )
        for answer in answers:
            failure = _failure(answer)
            if failure is not None:
                failures.setdefault(stage, failure)
        return [(None if _failure(a) is not None else a.value, a.ms) for a in answers]

    def call(stage: str, jobs: Sequence[tuple[str, list[Any]]]) -> list[tuple[list[Any] | None, float]]:
        with_query = len(shapes[stage]) > 1 and shapes[stage][0] in _QUERY_NAMES
        return batch(stage, [(texts[q], results) if with_query else (results,) for q, results in jobs])

    first = shapes[stages[0]]
    if first and first[0] in _QUERY_NAMES and (len(first) == 1 or first[1] in ("k", "top_k", "n", "limit")):
        depth = int(ctx.limit("MA503", "depth", DEPTH))
        given = batch(stages[0], [(text, depth)[: len(first)] for text in texts.values()])
        start = {q: own for q, (own, _) in zip(texts, given, strict=True) if own is not None}
        if not start:
            failure = failures[stages[0]]
            remedy = (_remedy(),) if failure.refused else ()
            message = say("{name} returned no list for any query", name=stages[0])
            raise TargetError("; ".join((message, failure.reason, *remedy)))
        origin = say("what {name} returned for {part} queries", name=stages[0], part=part_of(len(start), len(texts)))
        return run_stages(stages[1:], start, call, ids_of, ev.k), origin, failures
    start = _nearest_rows(ctx, ev)
    return run_stages(stages, start, call, ids_of, ev.k), say("the nearest rows by exact cosine"), failures


def _failure(answer: Call) -> Failure | None:
    """Say why an answer is no list of results; None where it is one.

    What a stage returned although it was kept from something is not used: production may return something else.
    """
    if answer.refused:
        return Failure("; ".join(answer.refused), refused=True)
    if answer.error is not None:
        return Failure(answer.error, refused=False)
    if not isinstance(answer.value, list):
        return Failure(say("it returned no list"), refused=False)
    if answer.value and not ids_of(answer.value):
        return Failure(say("no result of it says which document it is"), refused=False)
    return None


def _nearest_rows(ctx: Context, ev: EvaluationInputs) -> dict[str, list[Any]]:
    """Make what an exact search would hand to the first stage: rows as dicts, best first."""
    if ctx.has_store and ctx.records.n_rows:
        texts: Sequence[str] = ctx.embedded_texts
        keys: Sequence[Any] = ctx.records.keys
        columns = {name: ctx.records.column(name) for name in ctx.records.column_names}
    elif ev.corpus is not None:
        texts = [d.text for d in ev.corpus.documents.values()]
        keys = list(ev.corpus.documents)
        names = dict.fromkeys(name for d in ev.corpus.documents.values() for name in d.fields)
        columns = {n: tuple(d.fields.get(n) for d in ev.corpus.documents.values()) for n in names}
    else:
        raise TargetError(say("there are no rows to hand to the first stage."), say("Give --store or --corpus."))
    used = [i for i, text in enumerate(texts) if text.strip()]
    place = {str(keys[i]): number for number, i in enumerate(used)}
    done = ctx.text_encoder.encode([*(texts[i] for i in used), *(q.text for q in ev.queries)])
    without = [[place[d] for d in q.exclude if d in place] for q in ev.queries]
    rows, queries = done.matrix[: len(used)], done.matrix[len(used) :]
    if not used:
        raise TargetError(say("no row has a text."), say("Name the text column with --text."))
    top = nearest(queries, rows, int(ctx.limit("MA503", "depth", DEPTH)), without)
    start = {}
    for number, query in enumerate(ev.queries):
        listed = []
        for rank, row in enumerate((int(r) for r in top[number] if r >= 0), start=1):
            i = used[row]
            own = {n: v[i] for n, v in columns.items() if not isinstance(v[i], _NOT_FOR_STAGES)}
            score = float(np.dot(queries[number], rows[row]))
            listed.append({**own, "id": _plain(keys[i]), "text": texts[i], "score": score, "rank": rank})
        start[query.id] = listed
    return start


def _plain(key: Any) -> Any:
    return key if isinstance(key, (str, int)) else str(key)


# -- judging --------------------------------------------------------------------------------------


def _judged(
    ctx: Context, ev: EvaluationInputs, effects: Sequence[StageEffect]
) -> tuple[dict[str, Decision], dict[str, tuple[dict[str, QueryResult], dict[str, QueryResult]]]]:
    """Compare the whole pipeline with it less each stage; only stages that change a final list can get a verdict."""
    groups = ev.query_set.dependence if ev.query_set is not None else {}
    compared, comparisons = {}, {}
    for e in effects:
        if e.before is None or e.without is None or not e.changed_without:
            continue
        a, b = _results(ev, e.before), _results(ev, e.without)
        compared[e.name] = (a, b)
        comparisons[e.name] = compare_results(
            ev.queries, a, b, ev.metric, groups, 1.0 - ctx.config.alpha, ctx.config.seed
        )
    return judged(comparisons, ctx.config.margin, ctx.config.alpha, ev.blocked), compared


def _results(ev: EvaluationInputs, lists: Lists) -> dict[str, QueryResult]:
    """Give the figures of every query; one without a list is a miss."""
    ranks = [ranks_of(ev.expected[q.id], Ranking(lists.get(q.id, ())), q.exclude) for q in ev.queries]
    return results_of_ranks(ev.queries, ranks, ev.k)


def _finding(ctx: Context, ev: EvaluationInputs, effect: StageEffect) -> Finding | None:
    if effect.n == 0 or effect.changed:
        return None
    enough = effect.n >= ctx.limit("MA503", "min_queries", MIN_QUERIES)
    interval = wilson_interval(0, effect.n)
    high = 1.0 if interval is None else interval[1]
    return Finding(
        "MA503",
        "stage-no-op",
        Severity.MEDIUM if enough else Severity.LOW,
        {"stage": effect.name, **({"table": ctx.table_name} if ctx.has_store else {})},
        say("The stage {name} changes none of {n}.", name=f"`{effect.name}`",
            n=plural(effect.n, "result list", "result lists")),
        {"queries": effect.n, "lists_changed": 0, "queries_it_failed_on": len(effect.failed)},
        Evidence(
            tuple(Example(q.text, q.id) for q in ev.queries[: ctx.config.max_examples]), effect.n,
            tuple(q.id for q in ev.queries if q.id not in set(effect.failed)),
        ),
        fix=say("Look at what the stage decides by: a filter on a column with one value removes nothing (MA601, MA604). "
                "Take the stage out, or give it something to decide."),
        caveat=say("More than {high:.0f} of 100 queries like these changed is excluded, less is not. Medium from {n} queries "
                   "on.", high=100 * high, n=int(ctx.limit("MA503", "min_queries", MIN_QUERIES))),
        lane="retrieval",
    )  # fmt: skip


# -- the page -------------------------------------------------------------------------------------


def _section(
    ctx: Context,
    ev: EvaluationInputs,
    effects: Sequence[StageEffect],
    decisions: Mapping[str, Decision],
    compared: Mapping[str, tuple[Mapping[str, QueryResult], Mapping[str, QueryResult]]],
    origin: str,
    failures: Mapping[str, Failure],
) -> Section:
    rows: list[Mapping[str, Json]] = []
    listed: list[Mapping[str, Json]] = []
    timed = bool(ctx.limit("MA503", "timing", 0)) or origin == say("recorded rankings")
    synthetic = ev.query_set is not None and ev.query_set.synthetic
    texts = {q.id: q.text for q in ev.queries}
    sentences = []
    for e in effects:
        row: dict[str, Json] = {
            "stage": e.name,
            "in_order": None if e.changed_in_order is None else part_of(len(e.changed_in_order), e.n),
            "without": None if e.changed_without is None else part_of(len(e.changed_without), len(e.before or ())),
            "failed": len(e.failed),
            "ms": round(e.ms, 2) if timed and e.ms is not None else None,
        }
        decision = decisions.get(e.name)
        if decision is not None:
            interval = decision.comparison.interval
            row["flips"] = say("{gained} gained, {lost} lost without it", gained=decision.comparison.gained,
                               lost=decision.comparison.lost)  # fmt: skip
            if interval is not None:
                row["interval"] = f"{signed_points(interval.low)} … {signed_points(interval.high)}"
            if decision.comparison.p is not None:
                row["p"] = p_text(decision.comparison.p, ctx.config.alpha).removeprefix("= ")
            sentences.append(ablation_sentence(decision, f"`{e.name}`", ev.metric_name, say("without it"), synthetic))
            a, b = compared[e.name]
            listed += [
                {"stage": e.name, "query": f.query, "before": f.rank_before, "after": f.rank_after,
                 "text": texts[f.query]}
                for f in flips(ev.queries, a, b, ev.metric)
            ]  # fmt: skip
        rows.append(row)
    tables = [
        Table(
            "recall-stages",
            say("{queries}; lists from {origin}", queries=plural(len(ev.queries), "query", "queries"), origin=origin),
            (
                Column("stage", say("stage"), Cell.CODE),
                Column("in_order", say("lists it changes in its place")),
                Column("without", say("lists that change without it (top {k})", k=ev.k)),
                Column("flips", say("queries changed")),
                Column("interval", say("difference in points without it")),
                Column("p", say("exact p")),
                Column("failed", say("queries it failed on"), Cell.COUNT),
                Column("ms", say("median ms"), Cell.NUMBER),
            ),
            tuple(rows),
        )
    ]  # fmt: skip
    if listed:
        tables.append(
            Table(
                "recall-stages-flips",
                say("Queries whose result changes without a stage: {n}", n=len(listed)),
                (
                    Column("stage", say("stage"), Cell.CODE),
                    Column("query", say("query"), Cell.CODE),
                    Column("before", say("rank with it"), Cell.COUNT),
                    Column("after", say("rank without it"), Cell.COUNT),
                    Column("text", say("text"), Cell.VALUE),
                ),
                tuple(listed),
                show=50,
            )
        )
    idle = [e.name for e in effects if e.n and not e.changed]
    parts = []
    if idle:
        parts.append(say("{part} stages change no result list: {names}.", part=part_of(len(idle), len(effects)),
                         names=", ".join(f"`{name}`" for name in idle)))  # fmt: skip
    parts += sentences[:2]
    behind = Failure(say("a stage before it gave no list"), refused=False)
    untried = {e.name: failures.get(e.name, behind) for e in effects if not e.n}
    parts += [say("`{name}` could not be tried: {reason}.", name=n, reason=f.reason) for n, f in untried.items()]
    if any(f.refused for f in untried.values()):
        parts.append(say("What the audit does not allow can be recorded: {remedy}.", remedy=_remedy()))
    if not parts:
        parts.append(say("Each of {n} changes some result list.", n=plural(len(effects), "stage", "stages")))
    return Section(
        "recall-stages",
        say("Stages of the recall pipeline"),
        say("Does every stage change what the agent gets?"),
        space_between().join(parts),
        ("MA503",),
        tuple(tables),
        (
            say("In its place: whole lists before and after the stage. Without it: the first {k} of the final lists of the "
                "whole pipeline and of the pipeline less this stage; the two differ when stages interact or a stage acts "
                "below the first {k} only.", k=ev.k),
            *(
                say("{name} gave no list for {part} queries, the first time because: {reason}.", name=f"`{e.name}`",
                    part=part_of(len(e.failed), e.n + len(e.failed)), reason=failures[e.name].reason)
                for e in effects if e.failed and e.name in failures
            ),
            say("Verdicts are adjusted by Holm for {k}; p in the table is not. A query on which a stage fails is not compared "
                "behind it.", k=plural(len(decisions), "comparison")),
            say("Times are medians of single calls, not interleaved: no verdict. They are shown for functions with "
                "`limits.MA503.timing = 1` only, because they differ from run to run."),
        ),
    )  # fmt: skip


PROBE = RecallStages()
