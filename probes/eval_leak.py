"""Queries and answers that stand in the corpus, and ids that give the answer away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.figures import summary
from memaudit.evaluation.id_prefix import MIN_GOLD, MIN_OTHERS, IdPrefix, telling_prefix
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.evaluation.leak import MIN_CHARS, MIN_CONTAINMENT, MIN_QUERIES, Leak
from memaudit.evaluation.overlap import KNOWN_ITEM_OVERLAP, overlaps
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.intervals import wilson_interval
from memaudit.wording import part_of, plural, say, space_between

#: Queries copied by documents that answer them are known-item queries; below this share they are not worth a word.
KNOWN_ITEM_SHARE = 0.5
_MAX_ROWS = 20


class EvalLeak:
    """MA701 and MA702."""

    name: ClassVar[str] = "eval-leak"
    title: ClassVar[str] = "Does the corpus give the answers away?"
    codes: ClassVar[Mapping[str, str]] = {"MA701": "eval-leak", "MA702": "eval-key-in-ids"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES, Need.CORPUS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("runs",)

    def run(self, ctx: Context) -> ProbeResult:
        """Look for copies of queries and answers, then at the ids."""
        ev = ctx.evaluation
        if ev.corpus is None or not ev.queries:
            return ProbeResult(not_looked={code: (say("there is no query"), "queries") for code in self.codes})
        leak = ev.leak
        finding = _leak_finding(ctx, ev, leak) if leak is not None else None
        prefix = telling_prefix(
            ev.expected_documents,
            ev.corpus.documents,
            max_other_share=ctx.limit("MA702", "max_other_share", 0.02),
            min_gold_share=ctx.limit("MA702", "min_gold_share", 0.8),
        )
        ids = _prefix_finding(ctx, ev, prefix) if prefix is not None else None
        findings = tuple(f for f in (finding, ids) if f is not None)
        sections = [_section(ev, leak, finding)] if leak is not None and finding is not None else []
        overlap = overlaps(ev.queries, ev.expected, ev.corpus)
        if overlap:
            sections.append(_overlap_section(ctx, ev, overlap))
        mean = sum(overlap.values()) / len(overlap) if overlap else None
        figures: dict[str, Json] = {"query_overlap_mean": mean, "query_overlap_queries": len(overlap)}
        return ProbeResult(findings, tuple(sections), figures, _passed_over(ctx, leak), _not_looked(ctx, ev, leak))


def _passed_over(ctx: Context, leak: Leak | None) -> tuple[str, ...]:
    if leak is None or not 0 < leak.n_looked_for < leak.n_queries:
        return ()
    short = leak.n_queries - leak.n_looked_for
    return (
        say("MA701 passed over {part} queries: shorter than {chars} characters, they stand in documents by chance.",
            part=part_of(short, leak.n_queries), chars=int(ctx.limit("MA701", "min_chars", MIN_CHARS))),
    )  # fmt: skip


def _not_looked(ctx: Context, ev: EvaluationInputs, leak: Leak | None) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    if leak is not None and not leak.n_looked_for:
        chars = int(ctx.limit("MA701", "min_chars", MIN_CHARS))
        found["MA701"] = (
            say("every query and expected text is shorter than {chars} characters", chars=chars),
            "queries",
        )
    documents = ev.corpus.documents if ev.corpus is not None else {}
    n_gold = sum(d in documents for d in ev.expected_documents)
    n_others = len(documents) - n_gold
    if n_gold < MIN_GOLD or n_others < MIN_OTHERS:
        reason = say("{gold} expected and {others} other documents are too few to tell a prefix from chance ({min_gold} and "
                     "{min_others})", gold=n_gold, others=n_others, min_gold=MIN_GOLD, min_others=MIN_OTHERS)  # fmt: skip
        found["MA702"] = (reason, "corpus")
    return found


def leak_figures(ev: EvaluationInputs, leak: Leak) -> dict[str, Json]:
    """Return the counts of copies, and the figures with and without the documents that hold them."""
    copied = leak.copied_queries()
    copies: dict[str, set[str]] = {q: set() for q in copied}
    for copy in leak.copies:
        if copy.kind == "query" and copy.verbatim:
            copies[copy.query].add(copy.doc)
    gold = {doc for q, docs in copies.items() for doc in docs if doc in ev.expected[q].documents}
    n = len(ev.queries)
    texts, leaked = leak.n_expected_texts, leak.n_expected_leaked
    interval = wilson_interval(leaked, texts)
    figures: dict[str, Json] = {
        "queries": n,
        "queries_found_word_for_word_in_corpus": len(copied),
        "of_these_ranked_first": None,
        "gold_among_the_copies": len(gold),
        "share": len(copied) / n if n else None,
        "documents": len(leak.documents),
        "expected_texts": texts,
        "expected_texts_leaked": leaked,
        "expected_texts_leaked_share": leaked / texts if texts else None,
        "wilson95": None if interval is None else list(interval),
    }
    arm = ev.primary_arm
    if arm is not None and ev.runs is not None:
        first = [q for q in copied if set(ev.runs.ranking(arm, q).ids[:1]) & copies[q]]
        figures["of_these_ranked_first"] = len(first)
        figures[f"hit{ev.k}"] = summary(ev.results(arm).values()).hits
        without = summary(ev.results(arm, without=frozenset(leak.documents)).values())
        figures[f"hit{ev.k}_without_these_documents"] = without.hits
    return figures


def _leak_finding(ctx: Context, ev: EvaluationInputs, leak: Leak) -> Finding | None:
    figures = leak_figures(ev, leak)
    n = len(ev.queries)
    copied = leak.copied
    known_item = not copied and not leak.leaked_documents
    if known_item:
        own = leak.copied_queries(answering=True)
        if len(own) < KNOWN_ITEM_SHARE * n:
            return None
        severity = Severity.LOW
        title = say(
            "{part} queries stand word for word in a document that answers them: a known-item set, which says nothing "
            "about paraphrases.",
            part=part_of(len(own), n),
        )
        ids: tuple[str, ...] = own
    else:
        severity = Severity.HIGH if leak.serious else Severity.MEDIUM if len(copied) >= 3 else Severity.INFO
        ids = leak.queries
        title = (
            say(
                "{documents} texts of {part} queries that are not answered there.",
                documents=plural(len(leak.documents), "document of the corpus holds", "documents of the corpus hold"),
                part=part_of(len(ids), n),
            )
            if not leak.leaked_documents
            else say(
                "{documents} answers of {part} queries away.",
                documents=plural(len(leak.documents), "document of the corpus gives", "documents of the corpus give"),
                part=part_of(len(ids), n),
            )
        )
    key = f"hit{ev.k}_without_these_documents"
    if figures.get(key) is not None and not known_item:
        title += space_between() + say(
            "hit@{k} is {with_} of {n} with these documents and {without} of {n} without them.",
            k=ev.k,
            with_=figures[f"hit{ev.k}"],
            without=figures[key],
            n=n,
        )
    texts = {q.id: q.text for q in ev.queries}
    return Finding(
        "MA701",
        "eval-leak",
        severity,
        {"values": list(leak.documents[:5]), "k": ev.k},
        title,
        figures,
        Evidence(
            tuple(Example(texts[q], q, say("stands in {doc}", doc=_holder(leak, q))) for q in ids[: ctx.config.max_examples]),
            len(ids),
            ids,
        ),
        fix=say("Take these documents out of the corpus and record the rankings again: an indexed evaluation file or log "
                "is found before the memory it asks for.")
        if not known_item
        else say("Write queries in words of their own; read these as an upper bound."),
        caveat=say(
            "Compared after NFKC, lower case and folded white space, as written and with JSON escapes undone; texts of at "
            "least {chars} characters (a Han character counts as two), near copies from {containment:.0%} of the "
            "5-grams. High when a document matches {queries} queries or holds a query with its answer, or when a tenth "
            "of the queries is copied.",
            chars=int(ctx.limit("MA701", "min_chars", MIN_CHARS)),
            containment=ctx.limit("MA701", "min_containment", MIN_CONTAINMENT),
            queries=int(ctx.limit("MA701", "min_queries", MIN_QUERIES)),
        ),
        lane="retrieval",
    )  # fmt: skip


def _holder(leak: Leak, query: str) -> str:
    return next((c.doc for c in leak.copies if c.query == query), "-")


def _section(ev: EvaluationInputs, leak: Leak, finding: Finding) -> Section:
    matched: dict[str, set[str]] = {}
    for copy in leak.copies:
        matched.setdefault(copy.doc, set()).add(copy.query)
    listed = set(leak.documents)
    ordered = sorted((d for d in matched if d in listed), key=lambda d: -len(matched[d]))
    rows: list[dict[str, Any]] = [
        {"document": d, "queries": len(matched[d]), "ids": ", ".join(sorted(matched[d])[:10]), "_mark": "hot"}
        for d in ordered[:_MAX_ROWS]
    ]
    tables: tuple[Table, ...] = ()
    if rows:
        tables = (
            Table(
                "eval-leak",
                say("Documents that hold queries or answers: {n}, the first {shown}",
                    n=plural(len(ordered), "document"), shown=len(rows)),
                (
                    Column("document", say("document"), Cell.CODE),
                    Column("queries", say("queries matched"), Cell.COUNT),
                    Column("ids", say("queries"), Cell.CODE),
                ),
                tuple(rows),
            ),
        )  # fmt: skip
    return Section(
        "eval-leak",
        say("Answers in the corpus"),
        say("Do documents hold the queries themselves, or their answers?"),
        finding.title,
        ("MA701",),
        tables,
        (finding.caveat or "",),
        finding.evidence.shown,
    )


def _overlap_section(ctx: Context, ev: EvaluationInputs, overlap: Mapping[str, float]) -> Section:
    """Show how much of the answers the queries already say, by origin and category."""
    parts: dict[tuple[str, str], list[float]] = {}
    for query in ev.queries:
        if query.id in overlap:
            key = (query.origin, query.category(ev.category_field) or "-")
            parts.setdefault(key, []).append(overlap[query.id])
    rows = [
        {"origin": origin, "category": category, "queries": len(own), "overlap": sum(own) / len(own)}
        for (origin, category), own in parts.items()
    ]
    mean = sum(overlap.values()) / len(overlap)
    known = ctx.limit("MA701", "known_item_overlap", KNOWN_ITEM_OVERLAP)
    answer = say("{mean:.0f} % of the words of a query stand in the document it expects, the mean of {n}.", mean=100 * mean,
                 n=plural(len(overlap), "query", "queries"))  # fmt: skip
    if mean >= known:
        answer += space_between() + say("This is a known-item set: it says nothing about paraphrases.")
    return Section(
        "eval-overlap",
        say("Words that queries share with their answers"),
        say("Could plain word matching answer these queries?"),
        answer,
        ("MA701",),
        (
            Table(
                "eval-overlap",
                say("Share of a query's words in its best expected document, {n}",
                    n=plural(len(overlap), "query", "queries")),
                (
                    Column("origin", say("origin"), Cell.CODE),
                    Column("category", say("category"), Cell.VALUE),
                    Column("queries", say("queries"), Cell.COUNT),
                    Column("overlap", say("mean overlap"), Cell.SHARE),
                ),
                tuple(rows[:50]),
                scale=1.0,
            ),
        ),
        (say("Distinct words, case ignored; each Han character is a word. Known-item set: a mean of {known:.0%} and more.",
             known=known),),
    )  # fmt: skip


def _prefix_finding(ctx: Context, ev: EvaluationInputs, prefix: IdPrefix) -> Finding:
    ids = tuple(d for d in (ev.corpus.documents if ev.corpus else ()) if d.startswith(prefix.prefix))
    return Finding(
        "MA702",
        "eval-key-in-ids",
        Severity.HIGH if prefix.telling else Severity.MEDIUM,
        {"value": prefix.prefix},
        say(
            'The ids of {gold} expected documents begin with "{prefix}", and of {others} others.',
            gold=part_of(prefix.gold_with, prefix.gold),
            prefix=prefix.prefix,
            others=part_of(prefix.others_with, prefix.others),
        ),
        {
            "gold_ids_with_prefix": prefix.gold_with,
            "other_ids_with_prefix": prefix.others_with,
            "prefix": prefix.prefix,
            "gold_ids": prefix.gold,
            "other_ids": prefix.others,
        },
        Evidence(tuple(Example(d, d) for d in ids[: ctx.config.max_examples]), len(ids), ids),
        fix=say("Give all documents ids of one form (a number, a hash of the text) before anything is indexed or shown to "
                "a model."),
        caveat=say("At least 80 % of the expected ids have the prefix and at most 2 % of the others, 10 % where the prefix "
                   "is a word for an answer: then high."),
        lane="retrieval",
    )  # fmt: skip


PROBE = EvalLeak()
