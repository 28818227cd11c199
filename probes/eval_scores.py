"""Scores: a distance that is taken for a score, and a threshold that does not separate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.scores import (
    Direction,
    Step,
    direction,
    kept_at,
    min_score_of,
    separation,
    sweep,
    switched_at,
)
from memaudit.model import Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.wording import part_of, plural, say, space_between

if TYPE_CHECKING:
    from memaudit.retrieval_log import RetrievalLog

#: Share of the queries whose score has to grow with the rank: a few do by chance when they have two results.
MIN_GROWING_SHARE = 0.9
MIN_QUERIES = 3
#: Share of the healthy set that a threshold may trigger (rule R12).
MAX_TRIGGERED = 0.20
#: Thresholds shown at most, evenly chosen.
_MAX_THRESHOLDS = 20
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
    reads: ClassVar[tuple[str, ...]] = ("runs", "retrieval_log", "filters", "config", "compare", "k")

    def run(self, ctx: Context) -> ProbeResult:
        """Look at the scores of each arm and of the log of past recalls."""
        ev = ctx.evaluation
        not_looked: dict[str, tuple[str, str]] = {}
        findings: list[Finding] = []
        sources = _scores(ctx, ev)
        if not sources:
            not_looked["MA508"] = (say("no scores were recorded"), "runs")
        elif all(direction(scores).n < MIN_QUERIES for scores in sources.values()):
            reason = say("fewer than {n} queries have two different scores", n=MIN_QUERIES)
            not_looked["MA508"] = (reason, "runs")
        for place, scores in sources.items():
            finding = _inverted(ctx, ev, place, scores)
            findings += [finding] if finding is not None else []
        sections: tuple[Section, ...] = ()
        step = _conditional(ctx, ev)
        if isinstance(step, tuple):
            not_looked["MA715"] = step
        else:
            finding, section = _not_separable(ctx, ev, step)
            findings += [finding] if finding is not None else []
            sections = (section,) if section is not None else ()
        return ProbeResult(tuple(findings), sections, {}, (), not_looked)


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
        _subject(ctx, place),
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


def _subject(ctx: Context, place: str) -> dict[str, Json]:
    """Name the column of a log by its table; an arm of recorded rankings is no table."""
    log = ctx.log if ctx.has_store else None
    if log is not None and log.score is not None and place == log.table.name:
        return {"table": place, "column": log.score}
    return {"arm": place}


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


@dataclass(frozen=True)
class Conditional:
    """A step that runs where the top score is low: its threshold, and the two sets that the score should tell apart.

    Parameters
    ----------
    top
        Query -> score of the first document without the step.
    sets
        Query -> set: its field `set`, or whether it is found without the step.
    words
        Set -> its name in a sentence.
    threshold
        None when none is known and every score is tried.
    origin
        Where the threshold comes from, a sentence.
    """

    top: Mapping[str, float]
    sets: Mapping[str, str]
    words: Mapping[str, str]
    threshold: float | None
    origin: str


def _conditional(ctx: Context, ev: EvaluationInputs) -> Conditional | tuple[str, str]:
    """Work out sets and threshold, or say (reason, option) why there is nothing to look at."""
    if ev.compare is None or ev.runs is None:
        return say("no arms without and with the step are compared"), "compare"
    rankings, with_step = (ev.runs.arms[arm] for arm in ev.compare)
    listed = {q.id: rankings[q.id].scores for q in ev.queries if q.id in rankings}
    scored = {q: scores[0] for q, scores in listed.items() if scores}
    if not scored:
        return say("the arm without the step has no scores"), "runs"
    threshold, origin = _threshold(ctx, scored, {q for q in scored if with_step[q].ids != rankings[q].ids})
    named = {q.id: str(q.fields["set"]) for q in ev.queries if q.id in scored and isinstance(q.fields.get("set"), str)}
    if len(set(named.values())) == 2:
        return Conditional({q: scored[q] for q in named}, named, {n: n for n in named.values()}, threshold, origin)
    if threshold is None:
        return (
            say("no threshold of a conditional step is known (`limits.MA715.threshold`, or lists that change below one score "
                "only), and the queries do not name two sets (field `set`) that its score should tell apart"),
            "queries",
        )  # fmt: skip
    results = ev.results(ev.compare[0])
    outcome = {q: "found" if results[q].hit else "missed" for q in scored}
    if len(set(outcome.values())) < 2:
        return say("without the step every query is found, or none is"), "queries"
    words = {"missed": say("the queries missed without it"), "found": say("the queries found without it")}
    return Conditional(scored, outcome, words, threshold, origin)


def _threshold(ctx: Context, scored: Mapping[str, float], changed: Collection[str]) -> tuple[float | None, str]:
    given = ctx.limit("MA715", "threshold", float("nan"))
    if given == given:
        return given, say("The threshold was given.")
    seen = switched_at(scored, changed)
    if seen is not None:
        return seen, say(
            "The threshold was read from the rankings: the step changed every list below it and none above."
        )
    return None, say("The threshold is the one that finds most here: chosen and reported on the same queries.")


def _not_separable(ctx: Context, ev: EvaluationInputs, step: Conditional) -> tuple[Finding | None, Section | None]:
    if ev.compare is None:
        return None, None
    without, with_step = ({q: r.hit for q, r in ev.results(arm).items()} for arm in ev.compare)
    top, sets = step.top, step.sets
    names = list(dict.fromkeys(sets[q] for q in top))
    sizes = {name: sum(sets[q] == name for q in top) for name in names}
    shares = {name: sum(without[q] for q in top if sets[q] == name) / sizes[name] for name in names}
    healthy = max(names, key=lambda name: shares[name])
    weak = next(name for name in names if name != healthy)
    ordered = sorted(set(top.values()))
    # One threshold above every score: always on is among what is tried.
    tried = sweep(top, sets, without, with_step, [*ordered, ordered[-1] + 1.0])
    if step.threshold is None:
        best = max(tried, key=lambda s: (s.total, -s.threshold))
    else:
        best = sweep(top, sets, without, with_step, [step.threshold])[0]
    triggered = best.triggered[healthy] / sizes[healthy]
    limit = ctx.limit("MA715", "max_triggered", MAX_TRIGGERED)
    area = separation([top[q] for q in top if sets[q] == weak], [top[q] for q in top if sets[q] == healthy])
    section = _threshold_section(step, tried, best, sizes, weak, healthy, area)
    if triggered < limit or best.triggered[weak] == 0:
        return None, section
    finding = Finding(
        "MA715",
        "threshold-not-separable",
        Severity.MEDIUM,
        {"compare": list(ev.compare), "values": [weak, healthy], "k": ev.k},
        say(
            "A threshold of {t:.3g} that runs the step for {a} of {weak} runs it for {b} of {healthy} too: the score does "
            "not separate the two sets.",
            t=best.threshold,
            a=part_of(best.triggered[weak], sizes[weak]),
            weak=step.words[weak],
            b=part_of(best.triggered[healthy], sizes[healthy]),
            healthy=step.words[healthy],
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
        caveat=say("Named from {limit:.0%} of the healthy set on. {chosen}", limit=limit, chosen=step.origin),
        lane="retrieval",
    )  # fmt: skip
    return finding, section


def _threshold_section(
    step: Conditional,
    tried: Sequence[Step],
    best: Step,
    sizes: Mapping[str, int],
    weak: str,
    healthy: str,
    area: float | None,
) -> Section:
    """Show what each threshold does to each set; of many thresholds an even selection and the one that counts."""
    every = max(1, -(-len(tried) // _MAX_THRESHOLDS))
    chosen = {s.threshold: s for s in (*tried[::every], tried[-1], best)}
    rows = [
        {
            "threshold": f"{threshold:.3g}" if threshold < tried[-1].threshold else say("always on"),
            **{f"triggered{i}": part_of(s.triggered[name], n) for i, (name, n) in enumerate(sizes.items())},
            **{f"hits{i}": part_of(s.hits[name], n) for i, (name, n) in enumerate(sizes.items())},
            **({"_mark": "hot"} if threshold == best.threshold else {}),
        }
        for threshold, s in sorted(chosen.items())
    ]
    columns = [Column("threshold", say("runs below the score"))]
    for i, name in enumerate(sizes):
        columns.append(Column(f"triggered{i}", say("{name}: step runs", name=step.words[name])))
        columns.append(Column(f"hits{i}", say("{name}: found", name=step.words[name])))
    auc = say("not measured") if area is None else f"{area:.2f}"
    return Section(
        "eval-threshold",
        say("Threshold of a conditional step"),
        say("Does the score tell where the step is needed?"),
        say("At {t:.3g} the step runs for {parts}; a score of {high} is above one of {low} in a share of {auc} of the pairs "
            "(0.5: it tells nothing).", t=best.threshold, auc=auc, low=step.words[weak], high=step.words[healthy],
            parts=", ".join(
                say("{part} of {name}", part=part_of(best.triggered[name], n), name=step.words[name])
                for name, n in sizes.items()
            )),
        ("MA715",),
        (Table("eval-threshold", say("What each threshold does, {n}", n=plural(len(step.top), "query", "queries")),
               tuple(columns), tuple(rows)),),
        (step.origin,),
    )  # fmt: skip


PROBE = EvalScores()
