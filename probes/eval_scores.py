"""Scores: a distance that is taken for a score, and a threshold that does not separate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.scores import Direction, direction, kept_at, min_score_of, separation, sweep
from memaudit.model import Evidence, Example, Finding, Json, ProbeResult, Severity
from memaudit.wording import part_of, say, space_between

if TYPE_CHECKING:
    from memaudit.retrieval_log import RetrievalLog

#: Share of the queries whose score has to grow with the rank: a few do by chance when they have two results.
MIN_GROWING_SHARE = 0.9
MIN_QUERIES = 3
#: Share of the healthy set that a threshold may trigger (rule R12).
MAX_TRIGGERED = 0.20
#: Keys under which production keeps the lowest score it accepts.
_KEYS = (
    "min_score", "score_threshold", "min_similarity", "similarity_threshold", "min_relevance", "relevance_threshold",
    "threshold",
)  # fmt: skip
#: Keys and columns that say that low is near.
_DISTANCE = ("dist", "距离")


class EvalScores:
    """MA508 and MA715."""

    name: ClassVar[str] = "eval-scores"
    title: ClassVar[str] = "Do scores mean what they are used for?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA508": "score-direction-inverted",
        "MA715": "threshold-not-separable",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RANKINGS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("runs", "retrieval_log", "filters", "config")

    def run(self, ctx: Context) -> ProbeResult:
        """Look at the scores of each arm and of the log of past recalls."""
        ev = ctx.evaluation
        not_looked: dict[str, tuple[str, str]] = {}
        findings: list[Finding] = []
        sources = _scores(ctx, ev)
        if not sources:
            not_looked["MA508"] = (say("no scores were recorded"), "runs")
        for place, scores in sources.items():
            finding = _inverted(ctx, ev, place, scores)
            findings += [finding] if finding is not None else []
        missing = _no_sweep(ev)
        if missing is not None:
            not_looked["MA715"] = missing
        else:
            finding = _not_separable(ctx, ev)
            findings += [finding] if finding is not None else []
        return ProbeResult(tuple(findings), (), {}, (), not_looked)


# -- MA508 ----------------------------------------------------------------------------------------


def _scores(ctx: Context, ev: EvaluationInputs) -> dict[str, dict[str, Sequence[float]]]:
    """Return place (arm, or table of past recalls) -> query -> scores, best rank first."""
    found: dict[str, dict[str, Sequence[float]]] = {}
    for arm in ev.arms if ev.runs is not None else ():
        own = {q: r.scores for q, r in ev.runs.arms[arm].items() if r.scores} if ev.runs is not None else {}
        if own:
            found[arm] = dict(own)
    if ctx.has_store and ctx.log is not None and ctx.log.score is not None:
        logged = recalls_of(ctx.log)
        if logged and not any(word in ctx.log.score.lower() for word in _DISTANCE):
            found[ctx.log.table.name] = dict(logged)
    return found


def recalls_of(log: RetrievalLog) -> dict[str, Sequence[float]]:
    """Return recall -> scores by rank, from a log with one row a result.

    See :attr:`memaudit.retrieval_log.RetrievalLog.recalls`. Rows without a number are left out.
    """
    if log.score is None or log.recalls is None:
        return {}
    scores = log.records.column(log.score)
    found = [[float(s) for s in (scores[row] for row in recall) if _is_number(s)] for recall in log.recalls]
    return {str(i): recall for i, recall in enumerate(filter(None, found), start=1)}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _inverted(ctx: Context, ev: EvaluationInputs, place: str, scores: Mapping[str, Sequence[float]]) -> Finding | None:
    found = direction(scores)
    limit = ctx.limit("MA508", "min_growing_share", MIN_GROWING_SHARE)
    if found.n < MIN_QUERIES or len(found.growing) < limit * found.n:
        return None
    min_score = _min_score(ctx)
    figures = direction_figures(scores, found, min_score)
    title = say(
        "In {place} the score grows with the rank for {part} queries: it is a distance, and the lowest is the best.",
        place=place,
        part=part_of(len(found.growing), found.n),
    )
    if min_score is not None:
        title += space_between() + say(
            "The filter score >= {min:g} keeps {one} first results and {five} fifth ones.",
            min=min_score,
            one=figures["rank1_kept"],
            five=figures["rank5_kept"],
        )
    texts = {q.id: q.text for q in ev.queries}
    ids = found.growing
    return Finding(
        "MA508",
        "score-direction-inverted",
        Severity.HIGH if min_score is not None else Severity.MEDIUM,
        {"arm": place},
        title,
        figures,
        Evidence(
            tuple(
                Example(texts.get(q, ""), q, ", ".join(f"{s:.3g}" for s in scores[q][:5]))
                for q in ids[: ctx.config.max_examples]
            ),
            len(ids),
            ids,
        ),
        fix=say("Turn the distance into a score before anything compares it (1 - distance for cosine distance), or turn "
                "the filter round."),
        caveat=say("Named when the score grows from rank to rank for {limit:.0%} of at least {n} queries. Queries with "
                   "fewer than two different scores are left out.", limit=limit, n=MIN_QUERIES),
        lane="retrieval",
    )  # fmt: skip


def direction_figures(
    scores: Mapping[str, Sequence[float]], found: Direction, min_score: float | None
) -> dict[str, Json]:
    """Return the counts behind MA508; what a filter keeps is None when no filter is known."""
    return {
        "queries": len(scores),
        "queries_where_score_grows_with_rank": len(found.growing),
        "queries_where_score_falls_with_rank": len(found.falling),
        "rank1_kept": None if min_score is None else kept_at(scores, 1, min_score),
        "rank5_kept": None if min_score is None else kept_at(scores, 5, min_score),
        "min_score": min_score,
        "scores_above_1": found.above_one,
        "lowest_score": found.lowest,
        "highest_score": found.highest,
    }


def _min_score(ctx: Context) -> float | None:
    """Return the lowest score that production accepts: from the filters, else from its configuration."""
    filters = ctx.config.filters
    given = min_score_of(filters if isinstance(filters, tuple) else ())
    if given is not None:
        return given
    for key in _KEYS:
        value = ctx.production_value(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None


# -- MA715 ----------------------------------------------------------------------------------------


def _sets(ev: EvaluationInputs) -> dict[str, str]:
    """Return query -> the set it belongs to (field `set`), empty unless there are exactly two."""
    named = {q.id: str(q.fields["set"]) for q in ev.queries if isinstance(q.fields.get("set"), str)}
    return named if len(set(named.values())) == 2 else {}


def _no_sweep(ev: EvaluationInputs) -> tuple[str, str] | None:
    if not _sets(ev):
        return say(
            "the queries do not name two sets (field `set`) that a conditional step should tell apart"
        ), "queries"
    if ev.compare is None or ev.runs is None:
        return say("no arms without and with the step are compared"), "compare"
    if not any(r.scores for r in ev.runs.arms[ev.compare[0]].values()):
        return say("the arm without the step has no scores"), "runs"
    return None


def _not_separable(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    sets = _sets(ev)
    if ev.runs is None or ev.compare is None:
        return None
    rankings = ev.runs.arms[ev.compare[0]]
    top = {q: r.scores[0] for q, r in rankings.items() if r.scores and q in sets}
    without, with_step = ({q: r.hit for q, r in ev.results(arm).items()} for arm in ev.compare)
    names = list(dict.fromkeys(sets[q] for q in top))
    if len(names) != 2:
        return None
    sizes = {name: sum(sets[q] == name for q in top) for name in names}
    shares = {name: sum(without[q] for q in top if sets[q] == name) / sizes[name] for name in names}
    healthy = max(names, key=lambda name: shares[name])
    weak = next(name for name in names if name != healthy)
    ordered = sorted(set(top.values()))
    # One threshold above every score: always on is among what is tried.
    tried = [*ordered, ordered[-1] + 1.0]
    given = ctx.limit("MA715", "threshold", float("nan"))
    chosen_here = given != given
    steps = sweep(top, sets, without, with_step, tried if chosen_here else [given])
    best = max(steps, key=lambda s: (s.total, -s.threshold))
    triggered = best.triggered[healthy] / sizes[healthy]
    limit = ctx.limit("MA715", "max_triggered", MAX_TRIGGERED)
    if triggered < limit or best.triggered[weak] == 0:
        return None
    area = separation([top[q] for q in top if sets[q] == weak], [top[q] for q in top if sets[q] == healthy])
    return Finding(
        "MA715",
        "threshold-not-separable",
        Severity.MEDIUM,
        {"compare": list(ev.compare), "values": [weak, healthy], "k": ev.k},
        say(
            "A threshold of {t:.3g} that runs the step for {a} of {weak} runs it for {b} of {healthy} too: the score does "
            "not separate the two sets.",
            t=best.threshold,
            a=part_of(best.triggered[weak], sizes[weak]),
            weak=weak,
            b=part_of(best.triggered[healthy], sizes[healthy]),
            healthy=healthy,
        ),
        {
            "queries": len(top),
            "threshold": best.threshold,
            "triggered": dict(best.triggered),
            "triggered_share_of_healthy": triggered,
            "set_sizes": sizes,
            "hits_without": {name: sum(without[q] for q in top if sets[q] == name) for name in names},
            "hits_at_threshold": dict(best.hits),
            "hits_always_on": {name: sum(with_step[q] for q in top if sets[q] == name) for name in names},
            "auc": area,
        },
        Evidence(),
        fix=say("Choose the threshold on other queries than those it is reported on, or let something else than this score "
                "decide about the step."),
        caveat=say("Named from {limit:.0%} of the healthy set on. {chosen}", limit=limit,
                   chosen=say("The threshold is the one that finds most here: chosen and reported on the same queries.")
                   if chosen_here else say("The threshold was given.")),
        lane="retrieval",
    )  # fmt: skip


PROBE = EvalScores()
