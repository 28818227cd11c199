"""Parts of the query set: categories that are too small, languages that differ, right whole but wrong part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.language_gap import LanguageGap, PairedLanguages, gap_cause, language_gap, paired_languages
from memaudit.evaluation.parents import loose_hits, parents_of
from memaudit.model import Basis, Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.categories import (
    MAX_INTERVAL_WIDTH,
    MIN_N_CATEGORY,
    MIN_N_PERCENT,
    category_cell,
    small_category,
    small_category_sentence,
)
from memaudit.stats.intervals import wilson_interval
from memaudit.stats.power import one_query_points
from memaudit.wording import plural, say, sentences

#: Difference of loose and strict hits from which on MA714 speaks (retrieval-evaluation rule R11).
MIN_LOOSE_GAP = 0.10


class EvalSlices:
    """MA704, MA710 and MA714."""

    name: ClassVar[str] = "eval-slices"
    title: ClassVar[str] = "Which parts of the query set can be read alone?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA704": "category-too-small",
        "MA710": "language-gap",
        "MA714": "strict-vs-loose",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("runs", "corpus", "category")

    def run(self, ctx: Context) -> ProbeResult:
        """Look at categories, languages and wholes."""
        ev = ctx.evaluation
        findings = _categories(ctx, ev)
        sections = []
        not_looked: dict[str, tuple[str, str]] = {}
        if not ev.categories:
            reason = say("no query has the field {name}", name=f"`{ev.category_field}`")
            not_looked["MA704"] = (reason, "category")
        elif len(ev.categories) == 1:
            reason = say("all queries are of one category, so that its size is that of the set")
            not_looked["MA704"] = (reason, "category")
        elif ev.primary_arm is not None:
            sections.append(_category_section(ev, ev.primary_arm, findings))
        paired = paired_languages(ev.queries)
        missing = _no_languages(ev, paired)
        if missing is not None:
            not_looked["MA710"] = missing
        elif paired is not None:
            finding, section = _language(ev, str(ev.primary_arm), paired)
            sections.append(section)
            findings += [finding] if finding is not None else []
        reason_option = _no_parents(ev)
        if reason_option is not None:
            not_looked["MA714"] = reason_option
        else:
            finding = _loose(ctx, ev)
            findings += [finding] if finding is not None else []
        return ProbeResult(tuple(findings), tuple(sections), {}, (), not_looked)


# -- MA704 ----------------------------------------------------------------------------------------


def _categories(ctx: Context, ev: EvaluationInputs) -> list[Finding]:
    """Return one finding for each category that is too small; the worst one is medium, the others low."""
    if len(ev.categories) < 2:
        return []
    arm = ev.primary_arm
    hits = {q: r.hit for q, r in ev.results(arm).items()} if arm is not None else {}
    counts = {name: (sum(hits.get(q, False) for q in ids), len(ids)) for name, ids in ev.categories.items()}
    min_n = int(ctx.limit("MA704", "min_queries", MIN_N_CATEGORY))
    max_width = ctx.limit("MA704", "max_width", MAX_INTERVAL_WIDTH)
    small = {}
    for name, (k, n) in counts.items():
        interval = wilson_interval(k, n)
        width = interval[1] - interval[0] if interval is not None and arm is not None else None
        if n < min_n or (width is not None and width > max_width):
            small[name] = (k, n, interval, width)
    if not small:
        return []
    # A category of few queries is worse than one of enough whose interval is a little wide.
    few = {name: (k, n) for name, (k, n, _, _) in small.items() if n < min_n}
    worst = small_category(few or {name: (k, n) for name, (k, n, _, _) in small.items()})
    worst_name = worst.name if worst is not None and arm is not None else min(small, key=lambda name: small[name][1])
    findings = []
    for name, (k, n, interval, width) in small.items():
        queries = plural(n, "query", "queries")
        if width is None or interval is None:
            title = say("Category '{name}' has {queries}.", name=name, queries=queries)
        elif n < MIN_N_PERCENT:
            title = say(
                "Category '{name}' has {queries}: {k}/{n} is an anecdote.", name=name, queries=queries, k=k, n=n
            )
        else:
            title = say(
                "Category '{name}' has {queries}: {k}/{n} is compatible with {low:.0f} to {high:.0f} %.",
                name=name,
                queries=queries,
                k=k,
                n=n,
                low=100 * interval[0],
                high=100 * interval[1],
            )
        known = worst is not None and arm is not None and name == worst_name
        sentence = (
            small_category_sentence(replace(worst, n_small=len(small), n_categories=len(counts)))
            if known and worst
            else ""
        )
        findings.append(
            Finding(
                "MA704",
                "category-too-small",
                Severity.MEDIUM if name == worst_name and n < min_n else Severity.LOW,
                {"category": name, "k": ev.k, **({"arm": arm} if arm is not None else {})},
                title,
                {
                    "queries": n,
                    f"hit{ev.k}": k if arm is not None else None,
                    "points_per_query": one_query_points(n),
                    "wilson95": _listed(interval) if arm is not None else None,
                    "needed_queries": max(4 * n, min_n),
                },
                Evidence((), n, ev.categories[name]),
                fix=say("Do not read it as a figure of its own; write about {more} for this category.",
                        more=plural(max(4 * n, min_n), "query", "queries")),
                caveat=" ".join(part for part in (sentence, say(
                    "Too small: fewer than {n} queries, or an interval wider than {width:.0f} points. The worst category "
                    "of few queries is medium, others are low.", n=min_n, width=100 * max_width)) if part), basis=Basis.UNDER_POWERED,
                lane="retrieval",
            )
        )  # fmt: skip
    return findings


def _category_section(ev: EvaluationInputs, arm: str, findings: list[Finding]) -> Section:
    results = ev.results(arm)
    rows = []
    notes = []
    for name, ids in ev.categories.items():
        hits = sum(results[q].hit for q in ids)
        cell = category_cell(hits, len(ids))
        notes += [f"{name}: {cell.note}"] if cell.note else []
        complete = category_cell(sum(results[q].complete for q in ids), len(ids))
        rows.append(
            {"category": name, "queries": len(ids), "hit": cell.text, "complete": complete.text, "tag": cell.tag}
        )
    table = Table(
        "eval-categories",
        say("{arm} by category, {n}", arm=arm, n=plural(len(ev.queries), "query", "queries")),
        (
            Column("category", say("category"), Cell.VALUE),
            Column("queries", say("queries"), Cell.COUNT),
            Column("hit", say("hit@{k}", k=ev.k)),
            Column("complete", say("all needed in the top {k}", k=ev.k)),
            Column("tag", say("how to read it")),
        ),
        tuple(rows),
    )
    medium = next((f.title for f in findings if f.severity >= Severity.MEDIUM), None)
    answer = medium or say("Every category has at least {n} queries.", n=MIN_N_CATEGORY)
    return Section(
        "eval-categories",
        say("Categories"),
        say("Which categories hold enough queries to be read alone?"),
        answer,
        ("MA704",),
        (table,),
        (say("Fewer than 5 queries: the count alone. Fewer than 20: tagged. Categories get no verdict."), *notes),
    )


# -- MA710 ----------------------------------------------------------------------------------------


def _no_languages(ev: EvaluationInputs, paired: PairedLanguages | None) -> tuple[str, str] | None:
    if paired is None:
        return say("no two queries of one `pair` have different `language`s"), "queries"
    if ev.primary_arm is None:
        return say("no recorded rankings were given"), "runs"
    if set(paired.pairs) == set(paired.control):
        return say("every pair is in the control class"), "queries"
    return None


def _language(ev: EvaluationInputs, arm: str, paired: PairedLanguages) -> tuple[Finding | None, Section]:
    hits = {q: r.hit for q, r in ev.results(arm).items()}
    level = 1.0 - ev.config.alpha
    others = [p for p in paired.pairs if p not in paired.control]
    gap = language_gap(paired, others, hits, level)
    control = language_gap(paired, sorted(paired.control), hits, level)
    cause = gap_cause(gap, control, ev.config.alpha, ev.config.margin)
    shown = _language_rows(ev, paired, hits, level)
    first, second = paired.first, paired.second
    sentence = say(
        "The same questions hit {a}/{n} in {first} and {b}/{n} in {second} (p = {p:.3g}).",
        a=gap.hits_first,
        b=gap.hits_second,
        n=gap.n,
        first=first,
        second=second,
        p=1.0 if gap.comparison.p is None else gap.comparison.p,
    )
    readings = {
        "language": say("The control class shows no such gap ({a}/{n} and {b}/{n}): the language of the query is the "
                        "cause.", a=control.hits_first, b=control.hits_second, n=control.n),
        "other": say("The control class has a gap too ({a}/{n} and {b}/{n}): the quality of the translation or another "
                     "cause, not the language.", a=control.hits_first, b=control.hits_second, n=control.n),
        "unknown": say("There is no control class, so no cause may be named."),
    }  # fmt: skip
    reading = readings[cause] if cause else say("The gap cannot be told from chance.")
    section = Section(
        "eval-languages",
        say("Query languages"),
        say("Is the same question found in both languages?"),
        sentences(sentence, reading),
        ("MA710",),
        (
            Table(
                "eval-languages",
                say("{n} asked in {first} and {second}", n=plural(len(paired.pairs), "pair"), first=first, second=second),
                (
                    Column("class", say("class"), Cell.VALUE),
                    Column("pairs", say("pairs"), Cell.COUNT),
                    Column("first", first, Cell.COUNT),
                    Column("second", second, Cell.COUNT),
                    Column("p", say("exact p")),
                ),
                tuple(shown),
            ),
        ),
        (say("Pairs are compared one by one (exact McNemar). {n} were left out: not one query of each language.",
             n=plural(len(paired.left_out), "pair")),),
    )  # fmt: skip
    if cause is None:
        return None, section
    lost = tuple(q for p in others for q in paired.pairs[p] if hits[paired.pairs[p][0]] != hits[paired.pairs[p][1]])
    texts = {q.id: q.text for q in ev.queries}
    figures: dict[str, Json] = {
        "pairs": gap.n,
        f"hit{ev.k}_{first}": gap.hits_first,
        f"hit{ev.k}_{second}": gap.hits_second,
        "gap": gap.gap,
        "p": gap.comparison.p,
        "control_pairs": control.n,
        f"control_hit{ev.k}_{first}": control.hits_first if control.n else None,
        f"control_hit{ev.k}_{second}": control.hits_second if control.n else None,
        "control_gap": control.gap,
        "language_is_the_cause": {"language": True, "other": False}.get(cause),
    }
    finding = Finding(
        "MA710",
        "language-gap",
        Severity.MEDIUM,
        {"arm": arm, "k": ev.k, "values": [first, second]},
        sentences(sentence, reading),
        figures,
        Evidence(tuple(Example(texts[q], q) for q in lost[: ev.config.max_examples]), len(lost), lost),
        fix=say("Use an encoder that reads both languages, or translate the query before it is encoded.")
        if cause == "language"
        else say(
            "Mark pairs whose key words are the same in both languages with `control`, and read some of the others."
        ),
        caveat=say("Exact McNemar over {n}; the control class decides what may be said.", n=plural(gap.n, "pair")),
        lane="retrieval",
    )
    return finding, section


def _language_rows(
    ev: EvaluationInputs, paired: PairedLanguages, hits: Mapping[str, bool], level: float
) -> list[Mapping[str, Json]]:
    categories = {q.id: q.category(ev.category_field) or "-" for q in ev.queries}
    classes: dict[str, list[str]] = {}
    for pair, (a, _) in paired.pairs.items():
        name = say("control") if pair in paired.control else categories[a]
        classes.setdefault(name, []).append(pair)

    def row(name: str, gap: LanguageGap) -> Mapping[str, Json]:
        p = gap.comparison.p
        shown = "-" if p is None else f"{p:.3g}"
        return {"class": name, "pairs": gap.n, "first": gap.hits_first, "second": gap.hits_second, "p": shown}

    return [row(name, language_gap(paired, members, hits, level)) for name, members in classes.items()]


# -- MA714 ----------------------------------------------------------------------------------------


def _no_parents(ev: EvaluationInputs) -> tuple[str, str] | None:
    if ev.primary_arm is None:
        return say("no recorded rankings were given"), "runs"
    if ev.corpus is None or parents_of(ev.corpus) is None:
        return say("no field of the corpus says which documents are parts of one whole"), "corpus"
    return None


def _loose(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    found = parents_of(ev.corpus) if ev.corpus is not None else None
    arm = ev.primary_arm
    if found is None or arm is None or ev.runs is None:
        return None
    name, parents = found
    counts = loose_hits(ev.queries, ev.expected, ev.runs.arms[arm], parents, ev.k)
    limit = ctx.limit("MA714", "min_gap", MIN_LOOSE_GAP)
    if counts.n == 0 or counts.gap < limit or len(counts.loose_only) < 2:
        return None
    returned = sorted(rank for rank in counts.loose_only.values() if rank is not None)
    texts = {q.id: q.text for q in ev.queries}
    return Finding(
        "MA714",
        "strict-vs-loose",
        Severity.INFO,
        {"arm": arm, "k": ev.k, "field": name},
        say(
            "Of {n} queries {strict} find an expected document in the top {k} and {loose} any document of the same "
            "{name}: the whole is found, the part is not.",
            n=counts.n,
            strict=counts.strict,
            loose=counts.loose,
            k=ev.k,
            name=name,
        ),
        {
            "queries": counts.n,
            "strict": counts.strict,
            "loose": counts.loose,
            "gap": counts.gap,
            "loose_only": len(counts.loose_only),
            "right_item_median_rank": returned[len(returned) // 2] if returned else None,
            "right_item_not_returned": len(counts.loose_only) - len(returned),
        },
        Evidence(
            tuple(Example(texts[q], q) for q in list(counts.loose_only)[: ev.config.max_examples]),
            len(counts.loose_only),
            tuple(counts.loose_only),
        ),
        caveat=say("Shown from a gap of {limit:.0%} on. More parts of one whole in the result do not follow from it: that "
                   "was tried and found fewer.", limit=limit),
        lane="retrieval",
    )  # fmt: skip


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


PROBE = EvalSlices()
