"""Whether the keyword index finds the words that stand in the texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit import target
from memaudit.context import Context, Need
from memaudit.errors import StoreError, TargetError
from memaudit.measures.search_terms import has_cjk, loses_digits, read_terms, rows_with, terms_of
from memaudit.model import Basis, Cell, Column, Evidence, Example, Finding, ProbeResult, Section, Severity, Table
from memaudit.wording import part_of, plural, say, space_between

#: Shares of the terms that stand in the text and are never found from which on MA509 is high and medium.
HIGH_SHARE, MEDIUM_SHARE = 0.20, 0.05
#: Terms taken from the texts are no words that somebody typed: nearly all of a kind must be missing.
TAKEN_SHARE, TAKEN_TERMS = 0.90, 8
#: A query matches too many rows when it matches so many times the rows in which the term stands, and two more.
TOO_MANY_TIMES = 2.0
_SHOWN = 20
#: Texts that terms are taken from, and in which they are looked up again.
_MAX_TEXTS = 20_000


@dataclass(frozen=True)
class Tried:
    """A term against the index.

    Parameters
    ----------
    query
        What was searched for: the term, or what the production function made of it.
    present
        Rows in which the term stands.
    matched
        Rows that the index returned; None when the query is an error for the index.
    """

    term: str
    query: str
    present: int
    matched: int | None

    @property
    def never_found(self) -> bool:
        """Whether the term stands in a text and the index returns nothing."""
        return self.present > 0 and not self.matched

    def too_many(self, times: float) -> bool:
        """Whether a term with a digit or sign matches far more rows than hold it."""
        marked = any(not (c.isalpha() or c.isspace()) for c in self.term)
        matched = self.matched or 0
        return marked and self.present > 0 and matched >= times * self.present and matched - self.present >= 2


class KeywordIndex:
    """MA509."""

    name: ClassVar[str] = "keyword-index"
    title: ClassVar[str] = "Does the keyword index find the words of the texts?"
    codes: ClassVar[Mapping[str, str]] = {"MA509": "keyword-index-blind"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ("retrieval",)
    reads: ClassVar[frozenset[str]] = frozenset({"keyword_index", "terms", "query_cleaner"})

    def run(self, ctx: Context) -> ProbeResult:
        """Search the index for terms that stand in the texts."""
        index, guessed = _index_table(ctx)
        cleaner = ctx.config.query_cleaner
        if index is None and cleaner is None:
            reason = say("no full-text table was found or named, and no function that cleans a query")
            return ProbeResult(not_looked={"MA509": (reason, "keyword_index")})
        given = ctx.config.terms is not None
        texts = ctx.records.texts
        if not given and len(texts) > _MAX_TEXTS:
            texts = texts[:: -(-len(texts) // _MAX_TEXTS)]
        terms = read_terms(ctx.config.path(str(ctx.config.terms))) if given else terms_of(texts)
        if not terms:
            return ProbeResult(not_looked={"MA509": (say("there are no terms to search for"), "terms")})
        queries, why_not = _cleaned(ctx, terms)
        if queries is None and index is None:
            return ProbeResult(not_looked={"MA509": (why_not, "query_cleaner")})
        try:
            tried = _tried(ctx, texts, terms, queries, index)
        except StoreError as error:
            reason = say("the full-text table {table} cannot be searched here: {error}", table=index, error=str(error))
            return ProbeResult(not_looked={"MA509": (reason, "keyword_index")})
        notes = (say("MA509: {reason}.", reason=why_not),) if why_not else ()
        finding = _finding(ctx, tried, queries, index, given=given, guessed=guessed, why_not=why_not)
        if finding is None:
            return ProbeResult(notes=notes)
        return ProbeResult((finding,), (_section(ctx, tried, finding),), notes=notes)


def _index_table(ctx: Context) -> tuple[str | None, bool]:
    """Return the full-text table, and whether it was found by looking."""
    named = ctx.config.keyword_index
    if named is not None:
        return str(named.get("table", "")) or None, False
    mine = [name for name in ctx.store.full_text if _is_of(ctx, name)]
    return (mine[0], True) if len(mine) == 1 else (None, False)


def _is_of(ctx: Context, table: str) -> bool:
    """Say whether a full-text table was made for the audited one: by its name, or by its `content` option."""
    plain = _sql_of(ctx, table).replace('"', "'").replace(" ", "")
    return f"content='{ctx.table_name}'" in plain or table.lower().startswith(ctx.table_name.lower())


def _sql_of(ctx: Context, table: str) -> str:
    """Return the statement that made a table, "" where there is none."""
    return next((str(s) for (s,) in ctx.store.rows("SELECT sql FROM sqlite_master WHERE name = ?", (table,))), "")


def _cleaned(ctx: Context, terms: Sequence[str]) -> tuple[tuple[str, ...] | None, str]:
    """Return what the production function makes of each term, or why it was not asked."""
    config = ctx.config
    if config.query_cleaner is None:
        return None, ""
    folders = tuple(config.path(folder) for folder in config.code_path or ())
    try:
        with ctx.lent_store() as databases:
            values = target.call_each(
                config.query_cleaner, terms, base=config.base, code_path=folders, factory=None, stubs=config.stub or (),
                databases=databases,
            )  # fmt: skip
    except TargetError as error:
        return None, say("{function} could not be run: {error}", function=config.query_cleaner, error=error.message)
    return tuple(_as_query(value) for value in values), ""


def _as_query(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(str(part) for part in value)
    return "" if value is None else str(value)


def _tried(
    ctx: Context, texts: Sequence[str], terms: Sequence[str], queries: Sequence[str] | None, index: str | None
) -> tuple[Tried, ...]:
    search = _searcher(ctx, index) if index is not None else _in_texts(texts)
    found = []
    for place, term in enumerate(terms):
        # A bare term is searched as a phrase, so that its signs are no operators.
        query = queries[place] if queries is not None else term
        phrase = query if queries is not None or index is None else '"' + term.replace('"', '""') + '"'
        found.append(Tried(term, query, len(rows_with(term, texts)), search(phrase)))
    return tuple(found)


def _searcher(ctx: Context, index: str) -> Callable[[str], int | None]:
    """Return a function that counts the rows of a full-text table that match; None for a query that is an error."""
    plain = next((table for table in ctx.store.tables if table.name == index), None)
    if plain is not None:
        # A home-made index of words in a plain table: a term is found when it is one of its words.
        records = ctx.other_table(plain.name)
        words = {str(v).lower() for c in plain.column_names for v in records.column(c) if isinstance(v, str)}
        return lambda query: int(query.strip('"').replace('""', '"').lower() in words)
    name = '"' + index.replace('"', '""') + '"'
    sql = f"SELECT COUNT(*) FROM {name} WHERE {name} MATCH ?"
    next(ctx.store.rows(sql, ('"memaudit"',)))  # a table that cannot be searched at all is an error of its own

    def search(query: str) -> int | None:
        if not query.strip():
            return 0
        try:
            return int(next(ctx.store.rows(sql, (query,)))[0])
        except StoreError:
            return None

    return search


def _in_texts(texts: Sequence[str]) -> Callable[[str], int | None]:
    """Return a function that counts the texts that hold every word of a query, or of one of its parts joined by OR."""

    def holding_all(part: str) -> set[int]:
        words = [w.strip('"*()') for w in part.split() if w not in ("AND", "NOT")]
        words = [w for w in words if w]
        rows = set(range(len(texts))) if words else set()
        for word in words:
            rows &= set(rows_with(word, texts))
        return rows

    return lambda query: len(set().union(*(holding_all(part) for part in query.split(" OR "))))


def _finding(
    ctx: Context, tried: Sequence[Tried], queries: Sequence[str] | None, index: str | None, *, given: bool,
    guessed: bool, why_not: str,
) -> Finding | None:  # fmt: skip
    times = ctx.limit("MA509", "too_many_times", TOO_MANY_TIMES)
    high, medium = ctx.limit("MA509", "high_share", HIGH_SHARE), ctx.limit("MA509", "medium_share", MEDIUM_SHARE)
    present = [t for t in tried if t.present]
    never = [t for t in present if t.never_found]
    cjk = [t for t in tried if has_cjk(t.term)]
    cjk_present = [t for t in cjk if t.present]
    losing = [t for t in tried if queries is not None and loses_digits(t.term, t.query)]
    many = [t for t in present if t.too_many(times)]
    if not given:
        # Pairs of characters and words of our own making: only a kind that is missing as a whole is told.
        kinds = [[t for t in present if has_cjk(t.term)], [t for t in present if not has_cjk(t.term)]]
        blind = [k for k in kinds if len(k) >= TAKEN_TERMS and sum(t.never_found for t in k) >= TAKEN_SHARE * len(k)]
        if not blind and not losing:
            return None
        never = [t for kind in blind for t in kind if t.never_found]
        many = []
    if not (never or losing or many):
        return None
    share = len({t.term for t in (*never, *losing, *many)}) / len(present) if present else 0.0
    no_cjk = len(cjk_present) >= 3 and not any(t.matched for t in cjk_present)
    severity = Severity.HIGH if share >= high or no_cjk else Severity.MEDIUM if share >= medium else Severity.LOW
    short = [t for t in never if len(t.term) < 3]
    trigram = bool(short) and index is not None and "trigram" in _sql_of(ctx, index).lower()
    if trigram and not given:
        severity = min(severity, Severity.MEDIUM)
    concerned = [t.term for t in tried if t in never or t in losing or t in many]
    parts = []
    if never:
        parts.append(say("{terms} that stand in the texts are never found", terms=part_of(len(never), len(present)) +
                         space_between() + say("terms")))  # fmt: skip
        if cjk_present:
            parts.append(say("of {n} in Chinese, Japanese or Korean {found} found",
                             n=plural(len(cjk_present), "term"), found=plural(sum(bool(t.matched) for t in cjk_present),
                                                                              "is", "are")))  # fmt: skip
    if losing:
        parts.append(say("{n} digits when the query is cleaned", n=plural(len(losing), "term loses", "terms lose")))
    if many:
        parts.append(say("{n} far more rows than hold them", n=plural(len(many), "term matches", "terms match")))
    joined = "; ".join(parts)
    title = (
        say("The keyword search is blind: {parts}.", parts=joined)
        if severity is Severity.HIGH
        else say("The keyword search misses words: {parts}.", parts=joined)
    )
    caveat = say("High from {high:.3g} % of the terms that stand in the texts, or when no such term of Chinese, Japanese "
                 "or Korean is found; medium from {medium:.3g} %, else low. Too many: {times:g} times the rows that hold "
                 "the term.", high=100 * high, medium=100 * medium, times=times)  # fmt: skip
    if not given:
        caveat += space_between() + say("The terms were taken from the texts (pairs of Han characters, identifiers, words); give "
                            "`terms` for those that people type. A kind is told when {share:.3g} % of it is missing.",
                            share=100 * TAKEN_SHARE)  # fmt: skip
    if trigram:
        caveat += space_between() + say("The index is made of trigrams: {n} have fewer than three characters, and no search for them "
                            "can find anything; longer ones can. Most Chinese words have two.",
                            n=say("{n} of them", n=len(short)))  # fmt: skip
    if index is None:
        caveat += space_between() + say("No full-text table: a cleaned query matches a text that holds all its words.")
    if guessed:
        caveat += space_between() + say("The full-text table was found by looking.")
    if why_not:
        caveat += f" {why_not}."
    return Finding(
        "MA509",
        "keyword-index-blind",
        severity,
        {
            "table": index or ctx.table_name,
            "column": ctx.roles.text,
            "tables": [t for t in (ctx.table_name, index) if t],
            **({"function": ctx.config.query_cleaner} if ctx.config.query_cleaner else {}),
        },
        title,
        {
            "rows": ctx.records.n_rows,
            "rows_with_cjk": sum(has_cjk(text) for text in ctx.records.texts),
            "terms": len(tried),
            "terms_present_in_text": len(present),
            "terms_never_found": len(never),
            "cjk_terms": len(cjk),
            "cjk_terms_found": sum(bool(t.matched) for t in cjk),
            "terms_losing_digits": len(losing) if queries is not None else None,
            "terms_matching_too_many_rows": len(many),
            "which": concerned,
        },
        _evidence(ctx, tried, concerned),
        fix=say("Index the words of a segmenter, or pairs of characters, beside the trigrams, or search terms of fewer than "
                "three characters with LIKE.")
        if trigram and not losing
        else say("Index Chinese with a tokenizer that splits it (trigrams, or words from a segmenter), keep digits and "
                 "signs in the query, and build the index again."),
        caveat=caveat,
        basis=Basis.MEASURED if given else Basis.SAMPLED,
        lane="retrieval",
    )  # fmt: skip


def _evidence(ctx: Context, tried: Sequence[Tried], concerned: Sequence[str]) -> Evidence:
    chosen = [t for t in tried if t.term in set(concerned)]
    shown = tuple(
        Example(
            t.term,
            None,
            say("searched as {query}; in {present}, found in {matched}", query=f"`{t.query}`",
                present=plural(t.present, "row"),
                matched=say("none (an error)") if t.matched is None else f"{t.matched:,}"),
        )
        for t in chosen[: ctx.config.max_examples]
    )  # fmt: skip
    return Evidence(shown, len(chosen))


def _section(ctx: Context, tried: Sequence[Tried], finding: Finding) -> Section:
    concerned = set(finding.figures["which"])
    ordered = [t for t in tried if t.term in concerned] + [t for t in tried if t.term not in concerned]
    rows = tuple(
        {"term": t.term, "query": t.query, "present": t.present, "matched": t.matched,
         **({"_mark": "hot"} if t.term in concerned else {})}
        for t in ordered
    )  # fmt: skip
    table = Table(
        "keyword-terms",
        say("Terms against the keyword search, {n}", n=plural(len(tried), "term")),
        (
            Column("term", say("term"), Cell.VALUE),
            Column("query", say("searched as"), Cell.VALUE),
            Column("present", say("rows that hold it"), Cell.COUNT),
            Column("matched", say("rows found"), Cell.COUNT),
        ),
        rows,
        show=_SHOWN,
    )
    return Section(
        "keyword-index",
        say("Keyword search"),
        say("Does the keyword index find the words that stand in the texts?"),
        finding.title,
        ("MA509",),
        (table,),
        (finding.caveat or "",),
        finding.evidence.shown,
    )


PROBE = KeywordIndex()
