"""Query set against corpus: expected items that are gone, sources that no query is about, the system's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.figures import summary
from memaudit.evaluation.inputs import EvaluationInputs, source_field
from memaudit.evaluation.pollution import MAX_CHANCE, MIN_SHARE, Directory, parts_of, places, polluted
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.intervals import wilson_interval
from memaudit.wording import part_of, plural, say, space_between

#: Share of the corpus, or of the places in the top k, from which on polluted sources are medium.
MEDIUM_SHARE = 0.05
#: Smaller places are not listed, and not more than so many.
_MIN_PLACE_SHARE, _MAX_PLACES = 0.05, 40
#: Files that memaudit writes: a corpus that holds them was indexed after an audit.
_OWN_FILES = frozenset({"memaudit-report.html", "report.json"})


class EvalTruth:
    """MA708, MA720 and MA722."""

    name: ClassVar[str] = "eval-truth"
    title: ClassVar[str] = "Do query set and corpus belong together?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA708": "corpus-polluted",
        "MA720": "ground-truth-stale",
        "MA722": "corpus-self-reference",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES, Need.CORPUS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("runs", "source")

    def run(self, ctx: Context) -> ProbeResult:
        """Hold expected items, sources and rankings against the corpus."""
        ev = ctx.evaluation
        if ev.corpus is None or not ev.queries:
            return ProbeResult(not_looked={code: (say("there is no query"), "queries") for code in self.codes})
        findings = [_stale(ctx, ev), _self_reference(ctx, ev)]
        not_looked: dict[str, tuple[str, str]] = {}
        sections: list[Section] = []
        resolved = _resolved_section(ev)
        sections += [resolved] if resolved is not None else []
        field = source_field(ev.corpus, ctx.config.source, ctx.roles.source)
        sources = ev.corpus.values(field) if field is not None else {}
        if ev.runs is None and not sources:
            not_looked["MA722"] = (
                say("neither recorded rankings nor a field that says where a document comes from were given"),
                "runs",
            )
        if not sources:
            not_looked["MA708"] = (say("no field of the corpus says where a document comes from"), "source")
        else:
            found = polluted(
                sources,
                ev.expected_documents,
                len(ev.corpus),
                min_share=ctx.limit("MA708", "min_share", MIN_SHARE),
                max_chance=ctx.limit("MA708", "max_chance", MAX_CHANCE),
                store_folder=_store_folder(ctx),
            )
            finding = _polluted(ctx, ev, str(field), found) if found else None
            findings.append(finding)
            sections.append(_sources_section(ev, sources, found, finding))
        return ProbeResult(tuple(f for f in findings if f is not None), tuple(sections), {}, (), not_looked)


def _store_folder(ctx: Context) -> str | None:
    """Return the name of the folder that a store in a folder lies in (a vector database indexes its own files)."""
    if not ctx.config.store:
        return None
    path = ctx.config.path(ctx.config.store)
    return path.name.lower() if path.is_dir() else None


# -- MA720 ----------------------------------------------------------------------------------------


def _stale(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    stale = ev.stale
    if not stale.missing and not stale.common and not stale.larger_than_k:
        return None
    n = len(ev.queries)
    figures: dict[str, Json] = {
        "queries": n,
        "expected_items": sum(len(g) for q in ev.queries for g in q.groups),
        "items_missing": stale.n_missing,
        "queries_with_missing_items": len(stale.missing),
        "missing": {q: list(items) for q, items in list(stale.missing.items())[:100]},
        "queries_with_common_texts": len(stale.common),
        "queries_needing_more_than_k": len(stale.larger_than_k),
    }
    if stale.missing:
        severity, ids = Severity.HIGH, tuple(stale.missing)
        title = say(
            "{items} expected by {queries} cannot be found in the corpus: no verdict until that is fixed.",
            items=plural(stale.n_missing, "item"),
            queries=part_of(len(stale.missing), n) + " " + ("query" if n == 1 else "queries"),
        )
    elif stale.common:
        severity, ids = Severity.MEDIUM, tuple(stale.common)
        query, texts = next(iter(stale.common.items()))
        title = say(
            "{queries} a text that stands in many documents ({query}: in {n}) and does not tell them apart.",
            queries=plural(len(ids), "query expects", "queries expect"),
            query=query,
            n=texts[0][1],
        )
    else:
        severity, ids = Severity.LOW, stale.larger_than_k
        title = say(
            "{queries} more items than k = {k}: coverage cannot reach 1 there.",
            queries=plural(len(ids), "query needs", "queries need"),
            k=ev.k,
        )
    texts_of = {q.id: q.text for q in ev.queries}
    return Finding(
        "MA720",
        "ground-truth-stale",
        severity,
        {"ids": list(ids[:20]), "k": ev.k},
        title,
        figures,
        Evidence(
            tuple(
                Example(texts_of[q], q, ", ".join(stale.missing.get(q, ()))[:200]) for q in ids[: ctx.config.max_examples]
            ),
            len(ids),
            ids,
        ),
        fix=say("Name the document that replaced each missing one, or take the query out with a note. Choose a text that "
                "stands in one document only."),
        caveat=say("Nothing is excluded: a missing item counts as not found. High for missing items, medium for texts in "
                   "more than five documents, low for sets larger than k."),
        lane="retrieval",
    )  # fmt: skip


def _resolved_section(ev: EvaluationInputs) -> Section | None:
    """Show which documents the `contains` items stand for on this corpus; None where there are none."""
    rows = [
        {
            "query": q.id,
            "documents": len(ev.expected[q.id].documents),
            "ids": ", ".join(sorted(ev.expected[q.id].documents)[:5]),
        }
        for q in ev.queries
        if any(item.contains is not None for group in q.groups for item in group)
    ]
    if not rows or ev.corpus is None:
        return None
    return Section(
        "eval-resolved",
        say("Expected texts on this corpus"),
        say("Which documents hold the expected texts?"),
        say("{n} by a text they should find.", n=plural(len(rows), "query is judged", "queries are judged")),
        ("MA720",),
        (
            Table(
                "eval-resolved",
                say("Documents that hold the expected texts, the first {shown} of {n}",
                    shown=min(len(rows), 50), n=plural(len(rows), "query", "queries")),
                (
                    Column("query", say("query"), Cell.CODE),
                    Column("documents", say("documents"), Cell.COUNT),
                    Column("ids", say("ids"), Cell.CODE),
                ),
                tuple(rows[:50]),
            ),
        ),
        (say("Looked up once, after Unicode normalisation (NFKC), case kept. Corpus: {rows}, SHA-256 {sha}.",
             rows=plural(len(ev.corpus), "document"), sha=ev.corpus.fingerprint.sha256),),
    )  # fmt: skip


# -- MA708 ----------------------------------------------------------------------------------------


def _polluted(ctx: Context, ev: EvaluationInputs, field: str, found: list[Directory]) -> Finding:
    n = len(ev.corpus) if ev.corpus is not None else 0
    documents = tuple(dict.fromkeys(d for directory in found for d in directory.documents))
    interval = wilson_interval(len(documents), n)
    figures: dict[str, Json] = {
        "documents": n,
        "polluted_documents": len(documents),
        "share": len(documents) / n if n else None,
        "wilson95": None if interval is None else list(interval),
        "expected_inside": sum(d.expected for d in found),
        "directories": {d.name: len(d.documents) for d in found},
        "slots": None,
        "slots_taken": None,
    }
    taken = 0.0
    words = ""
    arm = ev.primary_arm
    if arm is not None and ev.runs is not None:
        inside = set(documents)
        slots = _slots(ev)
        n_taken = sum(d in inside for d in slots)
        taken = n_taken / len(slots) if slots else 0.0
        removable = frozenset(documents) - ev.expected_documents
        with_, without = summary(ev.results(arm).values()), summary(ev.results(arm, without=removable).values())
        figures |= {"slots": len(slots), "slots_taken": n_taken, f"hit{ev.k}": with_.hits,
                    f"hit{ev.k}_without_these_documents": without.hits}  # fmt: skip
        words = space_between() + say(
            "They take {taken} places in the top {k}; hit@{k} is {a} of {n} with them and {b} of {n} without.",
            taken=part_of(n_taken, len(slots)),
            k=ev.k,
            a=with_.hits,
            b=without.hits,
            n=with_.n,
        )
    medium = ctx.limit("MA708", "medium_share", MEDIUM_SHARE)
    serious = (n > 0 and len(documents) / n >= medium) or taken >= medium
    texts = ev.corpus.documents if ev.corpus is not None else {}
    return Finding(
        "MA708",
        "corpus-polluted",
        Severity.MEDIUM if serious else Severity.LOW,
        {"column": field, "values": [d.name for d in found]},
        say("{part} documents come from places that no query is about: {names}.",
            part=part_of(len(documents), n), names=", ".join(d.name for d in found[:3])) + words,
        figures,
        Evidence(
            tuple(Example(texts[d].text, d) for d in documents[: ctx.config.max_examples]), len(documents), documents
        ),
        fix=say("Leave these places out when indexing, and record the rankings again."),
        caveat=say("Places: a part of the path that holds foreign or generated files, or at least {share:.0%} of the "
                   "documents without one that is expected, where chance would explain it in less than {chance:.0%} of "
                   "such sets. Medium from {medium:.0%} of the documents or places.",
                   share=ctx.limit("MA708", "min_share", MIN_SHARE), chance=ctx.limit("MA708", "max_chance", MAX_CHANCE),
                   medium=medium),
        lane="retrieval",
    )  # fmt: skip


def _sources_section(
    ev: EvaluationInputs, sources: Mapping[str, str], found: list[Directory], finding: Finding | None
) -> Section:
    """Show every directory of some size at every depth, those that no query is about marked."""
    n = len(ev.corpus) if ev.corpus is not None else 0
    reasons = {"foreign": say("foreign or generated files"), "unused": say("nothing expected inside")}
    why = {directory.name: reasons[directory.reason] for directory in found}
    slots = _slots(ev)
    rows = []
    for parts, documents in places(sources).items():
        name = "/".join(parts)
        if name not in why and len(documents) < _MIN_PLACE_SHARE * n:
            continue
        inside = set(documents)
        rows.append(
            {
                "place": name,
                "documents": len(documents),
                "share": len(documents) / n if n else None,
                "expected": len(inside & ev.expected_documents),
                **({"slots": sum(d in inside for d in slots)} if slots else {}),
                "reason": why.get(name),
                **({"_mark": "hot"} if name in why else {}),
            }
        )
    rows.sort(key=lambda row: (row["reason"] is None, -int(str(row["documents"]))))
    taken = [Column("slots", say("places in the top {k}, of {n}", k=ev.k, n=len(slots)), Cell.COUNT)] if slots else []
    table = Table(
        "eval-sources",
        say("Places at every depth with {share:.0%} and more of {n}, and those that no query is about",
            share=_MIN_PLACE_SHARE, n=plural(n, "document")),
        (
            Column("place", say("place"), Cell.VALUE),
            Column("documents", say("documents"), Cell.COUNT),
            Column("share", say("share"), Cell.SHARE),
            Column("expected", say("expected inside"), Cell.COUNT),
            *taken,
            Column("reason", say("why")),
        ),
        tuple(rows[:_MAX_PLACES]),
        scale=1.0,
    )  # fmt: skip
    method = [finding.caveat or ""] if finding is not None else []
    if len(rows) > _MAX_PLACES:
        method.append(say("The first {shown} of {n} places are shown.", shown=_MAX_PLACES, n=len(rows)))
    return Section(
        "eval-sources",
        say("Sources of the corpus"),
        say("Which sources does no query ask about?"),
        finding.title
        if finding is not None
        else say("Of {n} none was found that no query is about.", n=plural(len(places(sources)), "place")),
        ("MA708",),
        (table,),
        tuple(method),
    )


def _slots(ev: EvaluationInputs) -> list[str]:
    """Return the documents in the top k of the primary arm, query by query."""
    arm = ev.primary_arm
    if arm is None or ev.runs is None:
        return []
    return [d for q in ev.queries for d in ev.runs.ranking(arm, q.id).ids[: ev.k]]


# -- MA722 ----------------------------------------------------------------------------------------


def _self_reference(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    if ev.corpus is None:
        return None
    unknown: dict[str, int] = {}
    if ev.runs is not None:
        for arm, rankings in ev.runs.arms.items():
            unknown[arm] = len({d for r in rankings.values() for d in r.ids if d not in ev.corpus})
    named = (
        {arm: sorted({r.corpus for r in ev.runs.arms[arm].values() if r.corpus}) for arm in ev.arms} if ev.runs else {}
    )
    own = _own_documents(ctx, ev)
    differing = ev.corpora_differ or (len(set(unknown.values())) > 1)
    if not own and not differing and not any(unknown.values()):
        return None
    n_unknown = max(unknown.values(), default=0)
    if ev.corpora_differ:
        title = say("The compared arms ran on different corpora, so their difference is not one of retrieval alone.")
    elif n_unknown:
        title = say(
            "The rankings name {n} that the corpus does not hold: they were recorded on another snapshot of it.",
            n=plural(n_unknown, "document"),
        )
    else:
        title = say(
            "{n} of the evaluation itself.",
            n=plural(len(own), "document of the corpus is a file", "documents of the corpus are files"),
        )
    return Finding(
        "MA722",
        "corpus-self-reference",
        Severity.INFO,
        {"arms": list(ev.arms), "values": list(own[:5])},
        title,
        {
            "documents": len(ev.corpus),
            "corpus_sha256": ev.corpus.fingerprint.sha256,
            "own_documents": len(own),
            "ranked_documents_not_in_corpus": unknown,
            "corpora_named_by_arms": named,
        },
        Evidence(
            tuple(Example(ev.corpus.documents[d].text, d) for d in own[: ctx.config.max_examples]), len(own), own
        ),
        caveat=say("A verdict about two arms is withheld where they say that they ran on different corpora, because adding "
                   "a document can push another one out of the top k."),
        lane="retrieval",
    )  # fmt: skip


def _own_documents(ctx: Context, ev: EvaluationInputs) -> tuple[str, ...]:
    """Return documents whose source is a file of this evaluation or a report of memaudit."""
    field = source_field(ev.corpus, ctx.config.source, ctx.roles.source) if ev.corpus is not None else None
    if ev.corpus is None or field is None:
        return ()
    config = ctx.config
    given = (config.queries, config.runs, config.predictions)
    names = {PurePosixPath(path.replace("\\", "/")).name for path in given if path} | _OWN_FILES
    return tuple(d for d, source in ev.corpus.values(field).items() if (parts_of(source) or [""])[-1] in names)


PROBE = EvalTruth()
