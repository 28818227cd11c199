"""Query sets and rankings in the forms of other tools: TREC, BEIR, ranx.

What a form cannot hold is said in `lost`, never dropped in silence. Whether several relevant documents are
alternatives or are all needed is stated by nobody in these forms: the user has to say it (`multi`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memaudit.errors import ConfigError
from memaudit.evaluation.corpus import Corpus
from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.evaluation.runs import Ranking, Runs
from memaudit.wording import plural, say

MULTI = ("any", "all")


@dataclass(frozen=True)
class Exported:
    """Files by name, and sentences about what they cannot hold."""

    files: Mapping[str, str]
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class Imported:
    """Lines of a query set or of recorded rankings, and what has to be said about them."""

    lines: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()


def jsonl(lines: Sequence[Mapping[str, Any]]) -> str:
    """Write one JSON object a line; text outside ASCII is kept readable."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


# -- export ---------------------------------------------------------------------------------------


def to_trec(queries: Sequence[Query], expected: Mapping[str, Expected], runs: Runs | None = None) -> Exported:
    """Write `any.qrels`, `all.qrels`, the sidecar `queries.jsonl` and one run file for each arm.

    Returns
    -------
    `any.qrels` lists every document that is enough by itself (use Success@k only: recall would punish alternatives);
    `all.qrels` one line for each needed item (use R@k).

    Raises
    ------
    ConfigError
        An id holds white space, which TREC files separate columns with.
    """
    any_lines: list[str] = []
    all_lines: list[str] = []
    lost: list[str] = []
    for query in queries:
        groups = expected[query.id].groups
        if query.meaning in ("expect_any", "gold"):
            any_lines += [_qrel(query.id, doc) for doc in sorted(expected[query.id].documents)]
        if query.meaning != "expect_any":
            if any(len(group) > 1 for group in groups):
                lost.append(query.id)
                continue
            all_lines += [_qrel(query.id, doc) for group in groups for doc in sorted(group)]
    files = {
        "any.qrels": "".join(any_lines),
        "all.qrels": "".join(all_lines),
        "queries.jsonl": jsonl([q.fields for q in queries]),
    }
    if runs is not None:
        files |= {f"{_file_name(arm)}.run": trec_run(runs.arms[arm], arm) for arm in runs.arms}
    notes = [say("any.qrels: use Success@k only; all.qrels: use R@k. Category, language and origin stand in "
                 "queries.jsonl, which evaluators do not read.")]  # fmt: skip
    if lost:
        notes.append(
            say(
                "Left out of all.qrels, which cannot hold groups of alternatives: {queries} ({ids}).",
                queries=plural(len(lost), "query", "queries"),
                ids=", ".join(lost[:5]),
            )
        )
    return Exported(files, tuple(notes))


def trec_run(rankings: Mapping[str, Ranking], tag: str) -> str:
    """Write a TREC run; the score is 1 / rank, because evaluators ignore the rank and break ties by document id."""
    name = _file_name(tag)
    return "".join(
        f"{_word(query)} Q0 {_word(doc)} {rank} {1.0 / rank:.12g} {name}\n"
        for query, ranking in rankings.items()
        for rank, doc in enumerate(dict.fromkeys(ranking.ids), start=1)
    )


def to_beir(queries: Sequence[Query], expected: Mapping[str, Expected], corpus: Corpus | None) -> Exported:
    """Write `queries.jsonl`, `qrels/test.tsv` and, where there is one, `corpus.jsonl`."""
    lines = []
    tsv = ["query-id\tcorpus-id\tscore\n"]
    lost = []
    for query in queries:
        several = query.measured_by == "coverage"
        more = {name: query.fields[name] for name in ("category", "language") if name in query.fields}
        expect = {"gold": "not stated"}.get(query.meaning, "all" if several else "any")
        lines.append(
            {"_id": query.id, "text": query.text, "metadata": {**more, "origin": query.origin, "expect": expect}}
        )
        if several and any(len(group) > 1 for group in expected[query.id].groups):
            lost.append(query.id)
        for doc in sorted(expected[query.id].documents):
            if "\t" in query.id + doc:
                raise ConfigError(
                    say(
                        "the id {id} or {doc} holds a tab, which separates columns here.",
                        id=repr(query.id),
                        doc=repr(doc),
                    )
                )
            tsv.append(f"{query.id}\t{doc}\t1\n")
    files = {"queries.jsonl": jsonl(lines), "qrels/test.tsv": "".join(tsv)}
    if corpus is not None:
        documents = corpus.documents.values()
        files["corpus.jsonl"] = jsonl(
            [{"_id": d.id, "title": str(d.fields.get("title") or ""), "text": d.text} for d in documents]
        )
    notes = [say("BEIR's loader reads only _id and text of a query: any or all stands in metadata alone.")]
    if lost:
        notes.append(say("Groups of alternatives became single documents in: {ids}.", ids=", ".join(lost[:5])))
    return Exported(files, tuple(notes))


def to_ranx(queries: Sequence[Query], expected: Mapping[str, Expected], runs: Runs | None = None) -> Exported:
    """Write `qrels.json` (query -> document -> 1) and `ARM.run.json` (query -> document -> score, 1 / rank)."""
    qrels = {q.id: dict.fromkeys(sorted(expected[q.id].documents), 1) for q in queries}
    files = {"qrels.json": json.dumps(qrels, ensure_ascii=False, indent=1) + "\n"}
    for arm in runs.arms if runs is not None else ():
        run = {
            query: {doc: 1.0 / rank for rank, doc in enumerate(dict.fromkeys(ranking.ids), start=1)}
            for query, ranking in (runs.arms[arm] if runs is not None else {}).items()
        }
        files[f"{_file_name(arm)}.run.json"] = json.dumps(run, ensure_ascii=False, indent=1) + "\n"
    return Exported(
        files,
        (say("Pass make_comparable=True to ranx: a query without a ranking is an error there. Any or all, category and "
             "language are not held by this form."),),
    )  # fmt: skip


def _qrel(query: str, doc: str) -> str:
    return f"{_word(query)} 0 {_word(doc)} 1\n"


def _word(value: str) -> str:
    if not value or any(c.isspace() for c in value):
        raise ConfigError(
            say("the id {value} holds white space, which separates columns in TREC files.", value=repr(value))
        )
    return value


def _file_name(arm: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in arm) or "arm"


# -- import ---------------------------------------------------------------------------------------


def query_lines(
    relevant: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    multi: str | None,
    more: Mapping[str, Any] | None = None,
) -> Imported:
    """Make query lines of relevant documents.

    Parameters
    ----------
    relevant
        Query -> documents with relevance above 0.
    texts
        Query -> its text.
    multi
        What several documents of one query mean: `any` is enough, or `all` are needed.
    more
        Query -> further fields (category, language).

    Raises
    ------
    ConfigError
        A query has several documents and `multi` was not given, or a query has no text.
    """
    if multi is not None and multi not in MULTI:
        raise ConfigError(say("--multi {multi}: any or all was expected.", multi=multi))
    several = [q for q, docs in relevant.items() if len(set(docs)) > 1]
    if several and multi is None:
        raise ConfigError(
            say(
                '{n} queries have more than one relevant document (first: "{several}").',
                n=len(several),
                several=several[0],
            ),
            say("Say whether any of them is enough (--multi any) or all are needed (--multi all)."),
        )
    unnamed = [q for q in relevant if not texts.get(q, "").strip()]
    if unnamed:
        raise ConfigError(
            say("{n} queries have no text: {unnamed}.", n=len(unnamed), unnamed=", ".join(unnamed[:3])),
            say("Give --texts FILE."),
        )
    lines = []
    for query, docs in relevant.items():
        if not docs:
            continue
        name = "expect_all" if multi == "all" and len(set(docs)) > 1 else "expect_any"
        fields = {
            k: v for k, v in ((more or {}).get(query) or {}).items() if k not in ("expect", "origin", "id", "text")
        }
        lines.append({"id": query, "text": texts[query], name: [{"doc": d} for d in dict.fromkeys(docs)], **fields})
    empty = [q for q, docs in relevant.items() if not docs]
    notes = []
    if empty:
        notes.append(say("Left out, without a relevant document: {n}.", n=plural(len(empty), "query", "queries")))
    unused = [q for q in texts if q not in relevant]
    if unused:
        notes.append(say("With a text and no judgement: {n}.", n=plural(len(unused), "query", "queries")))
    return Imported(tuple(lines), tuple(notes))


def parse_qrels(text: str, name: str) -> dict[str, list[str]]:
    """Read TREC qrels (`qid 0 docid rel`) or BEIR's table with its header line: query -> relevant documents.

    Raises
    ------
    ConfigError
        A line has another form; names file and line.
    """
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.split("\t") if "\t" in line and len(line.split("\t")) == 3 else line.split()
        if not parts or (number == 1 and parts[0] == "query-id"):
            continue
        query, doc, relevance = (parts[0], parts[-2], parts[-1]) if len(parts) in (3, 4) else ("", "", "")
        try:
            relevant = float(relevance) > 0
        except ValueError:
            raise ConfigError(
                say("{name}:{number}: no judgement: {line}.", name=name, number=str(number), line=str(repr(line[:80]))),
                say("Expected: query 0 document 1."),
            ) from None
        documents = found.setdefault(query, [])
        if relevant:
            documents.append(doc)
    return found


def parse_trec_run(text: str, name: str) -> Imported:
    """Read a TREC run: lines of recorded rankings, one arm for each tag.

    Notes
    -----
    Ordered as evaluators do it: by score, ties by document id, both descending; the rank column is ignored.
    """
    rows: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.split()
        if not parts:
            continue
        try:
            query, _, doc, _, score, tag = parts
            rows.setdefault((tag, query), []).append((float(score), doc))
        except ValueError:
            raise ConfigError(
                say(
                    "{name}:{number}: no line of a run: {line}.",
                    name=name,
                    number=str(number),
                    line=str(repr(line[:80])),
                ),
                say("Expected: query Q0 document rank score tag."),
            ) from None
    lines = []
    n_tied = 0
    for (tag, query), scored in rows.items():
        ordered = sorted(scored, reverse=True)
        n_tied += len({s for s, _ in ordered}) < len(ordered)
        lines.append(
            {"arm": tag, "query": query, "ranking": [d for _, d in ordered], "scores": [s for s, _ in ordered]}
        )
    notes = []
    if n_tied:
        notes.append(say("Tied scores in {n}: ordered by document id, descending, as evaluators do.",
                         n=plural(n_tied, "ranking")))  # fmt: skip
    return Imported(tuple(lines), tuple(notes))


def parse_ranx(value: Any, name: str) -> dict[str, list[str]]:
    """Read ranx qrels: query -> relevant documents.

    Raises
    ------
    ConfigError
        It is no object of objects of numbers.
    """
    if not isinstance(value, dict):
        raise ConfigError(say("{name}: an object of queries was expected.", name=name))
    found: dict[str, list[str]] = {}
    for query, documents in value.items():
        if not isinstance(documents, dict) or not all(
            isinstance(r, (int, float)) and not isinstance(r, bool) for r in documents.values()
        ):
            raise ConfigError(
                say('{name}: query "{query}": an object of documents and numbers was expected.', name=name, query=query)
            )
        found[str(query)] = [str(doc) for doc, relevance in documents.items() if relevance > 0]
    return found


def parse_texts(text: str, name: str) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Read texts of queries: JSON Lines with `_id` or `id` and `text`, or two columns with a tab between them.

    Returns
    -------
    Query -> text, and query -> further fields (those of BEIR's `metadata`).
    """
    texts: dict[str, str] = {}
    more: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            try:
                fields = json.loads(line)
                query = str(fields["_id"] if "_id" in fields else fields["id"])
                texts[query] = str(fields["text"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise ConfigError(
                    say("{name}:{number}: no query with _id and text.", name=name, number=str(number))
                ) from None
            metadata = fields.get("metadata")
            more[query] = metadata if isinstance(metadata, dict) else {}
            continue
        query, tab, words = line.partition("\t")
        if not tab:
            raise ConfigError(
                say("{name}:{number}: no query: {line}.", name=name, number=str(number), line=str(repr(line[:80]))),
                say("Expected: id, tab, text."),
            )
        texts[query] = words.strip()
    return texts, more
