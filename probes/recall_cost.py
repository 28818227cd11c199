"""What the recalled memories cost a turn in tokens, and how much of that repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.encoders.counting import TokenCounter, token_counter
from memaudit.model import Cell, Column, ProbeResult, Section, Table
from memaudit.text import is_blank, normalised
from memaudit.text.skeleton import MIN_TEXTS
from memaudit.text.template_share import cut_by_data
from memaudit.wording import part_of, plural, say, sentences

#: Recalls counted at most, the last ones of the log; rows counted at most where there is no log, drawn by chance.
MAX_RECALLS, MAX_ROWS = 5_000, 2_000
#: Below this many cases a 95th percentile is the largest value under another name.
MIN_FOR_P95 = 20
MAX_ROWS_SHOWN = 10
#: Keys under which a production configuration holds the number of rows of a recall.
_K_NAMES = ("top_k", "k", "recall_k", "n_results")


@dataclass(frozen=True)
class Recall:
    """One recall: row numbers of the records, best rank first, and its session (None where that is not known)."""

    rows: tuple[int, ...]
    session: Hashable = None


@dataclass(frozen=True)
class Cost:
    """Tokens of recalls.

    Parameters
    ----------
    tokens
        One number a recall.
    repeated
        Tokens of texts that stand further up in the same recall, case and white space aside.
    template
        Tokens of template text that another row of the same recall brings, too; None when it was not looked for.
    followed
        Tokens of the recalls that have an earlier one in their session.
    given_before
        Those of them whose text the recall before it in the session held; each text once a recall.
    """

    tokens: tuple[int, ...]
    repeated: int
    template: int | None
    followed: int
    given_before: int

    @property
    def total(self) -> int:
        """Tokens of all recalls."""
        return sum(self.tokens)


def recall_cost(
    recalls: Sequence[Recall],
    texts: Mapping[int, str],
    tokens: Mapping[int, int],
    constants: Mapping[int, tuple[Hashable, int]] | None,
) -> Cost:
    """Sum the tokens of recalls and what of them repeats.

    Parameters
    ----------
    texts, tokens
        Row -> its text, and the tokens of it.
    constants
        Row -> its template and the tokens of the template's constant text; rows without a template are not in it.
    """
    by_recall: list[int] = []
    repeated = template = followed = given_before = 0
    last: dict[Hashable, set[str]] = {}
    for recall in recalls:
        seen: set[str] = set()
        templates: set[Hashable] = set()
        before = last.get(recall.session) if recall.session is not None else None
        for row in recall.rows:
            text = normalised(texts[row])
            if text in seen:
                repeated += tokens[row]
                continue
            seen.add(text)
            if before is not None and text in before:
                given_before += tokens[row]
            if constants is not None and row in constants:
                which, n = constants[row]
                template += n if which in templates else 0
                templates.add(which)
        by_recall.append(sum(tokens[row] for row in recall.rows))
        if before is not None:
            followed += by_recall[-1]
        if recall.session is not None:
            last[recall.session] = seen
    return Cost(tuple(by_recall), repeated, None if constants is None else template, followed, given_before)


def middle(values: Sequence[int]) -> int | float:
    """Return the median, a whole number as one."""
    return _whole(median(values))


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value


def nearest_rank_95(values: Sequence[int]) -> int | None:
    """Return the smallest value that at least 95 % of the values do not exceed; None below `MIN_FOR_P95` values."""
    return sorted(values)[ceil(0.95 * len(values)) - 1] if len(values) >= MIN_FOR_P95 else None


class RecallCost:
    """Figures alone: no rule says how many tokens are too many."""

    name: ClassVar[str] = "recall-cost"
    title: ClassVar[str] = "What do the recalled memories cost a turn?"
    codes: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[tuple[str, ...]] = ("retrieval_log", "k", "config", "encoder")

    def run(self, ctx: Context) -> ProbeResult:
        """Count the tokens of past recalls; without a log, estimate one recall from the store."""
        if ctx.is_part:  # a recall belongs to the store as a whole
            return ProbeResult()
        logged = _logged(ctx)
        if isinstance(logged, _Logged):
            return _measured(ctx, logged)
        k, named = _k(ctx)
        if k is None:
            return ProbeResult(notes=(say("What a recall costs in tokens was not measured, because {reason}, and no k "
                                          "says how many rows a recall returns.", reason=logged),))  # fmt: skip
        return _estimated(ctx, k, named, logged)


@dataclass(frozen=True)
class _Logged:
    """Recalls of the log that name rows under audit.

    Parameters
    ----------
    n_unknown, n_named
        Memories named that are no row under audit, and all that are named.
    n_empty
        Recalls of which no row is under audit.
    n_left
        Recalls before the last `MAX_RECALLS`.
    """

    recalls: tuple[Recall, ...]
    n_unknown: int
    n_named: int
    n_empty: int
    n_left: int


def _logged(ctx: Context) -> _Logged | str:
    """Return the recalls of the log, or why there are none."""
    log = ctx.log
    if log is None:
        return say("no table with past recalls was named")
    if ctx.records.drawn_from is not None:
        return say("only a sample of the rows is audited, and a recall holds rows that were not drawn")
    if log.memory_ref is None:
        return say("no column of {table} names memories", table=log.table.name)
    if not log.n_rows:
        return say("table {table} holds no recalls yet", table=log.table.name)
    if log.recalls is None:
        return say("nothing in {table} tells which rows belong to one recall", table=log.table.name)
    place = {str(key): row for row, key in enumerate(ctx.records.keys)}
    sessions = log.records.column(log.session) if log.session is not None else None
    recalls: list[Recall] = []
    unknown = named = empty = 0
    for logged in log.recalls[-MAX_RECALLS:]:
        keys = [str(key) for row in logged for key in log.keys_by_row[row]]
        rows = tuple(place[key] for key in keys if key in place)
        named, unknown = named + len(keys), unknown + len(keys) - len(rows)
        if rows:
            recalls.append(Recall(rows, sessions[logged[0]] if sessions is not None else None))
        empty += not rows
    if not recalls:
        return say("none of the keys in {table} is a key of a row under audit", table=log.table.name)
    return _Logged(tuple(recalls), unknown, named, empty, max(0, len(log.recalls) - MAX_RECALLS))


def _texts(ctx: Context) -> tuple[str, ...]:
    return tuple(ctx.records.texts if ctx.roles.text is not None else ctx.embedded_texts)


def _constants(texts: Mapping[int, str], tokens: Mapping[int, int]) -> dict[int, tuple[Hashable, int]] | None:
    """Return row -> template and its tokens, by its share of the characters; None for too few different texts."""
    if len({normalised(text) for text in texts.values()}) < MIN_TEXTS:
        return None
    rows = list(texts)
    found: dict[int, tuple[Hashable, int]] = {}
    for row, match in zip(rows, cut_by_data([texts[row] for row in rows]).matches, strict=True):
        if match is not None and match.n_constant:
            which = tuple(text for text, constant in match.parts if constant)
            found[row] = which, round(tokens[row] * match.n_constant / len(texts[row]))
    return found


def _measured(ctx: Context, logged: _Logged) -> ProbeResult:
    counter = token_counter(ctx.config.encoder)
    whole = _texts(ctx)
    texts = {row: whole[row] for recall in logged.recalls for row in recall.rows}
    tokens = {row: counter.count(text) for row, text in texts.items()}
    cost = recall_cost(logged.recalls, texts, tokens, _constants(texts, tokens))
    total = cost.total
    has_session = ctx.log is not None and ctx.log.session is not None
    figures: dict[str, Any] = {
        "recalls_counted": len(cost.tokens),
        "recall_tokens_median": middle(cost.tokens),
        "recall_tokens_p95": nearest_rank_95(cost.tokens),
        "recall_tokens_max": max(cost.tokens),
        "recall_tokens_total": total,
        "recall_share_repeated": cost.repeated / total if total else None,
        "recall_share_template": cost.template / total if total and cost.template is not None else None,
        "recall_share_given_before": cost.given_before / cost.followed if cost.followed else None,
        "recall_tokenizer": counter.name,
    }
    answer = sentences(
        say("A recall hands over {median} tokens (median of {recalls}; the largest {largest}), {total} in all.",
            median=figures["recall_tokens_median"], recalls=plural(len(cost.tokens), "recall"),
            largest=figures["recall_tokens_max"], total=plural(total, "token")),
        say("{part} of them stand twice in the same recall.", part=part_of(cost.repeated, total)) if total else "",
        say("{part} of the tokens of later recalls of a session were given in the recall before.",
            part=part_of(cost.given_before, cost.followed)) if cost.followed else "",
    )  # fmt: skip
    section = Section(
        "recall-cost",
        say("Tokens of the recalled memories"),
        say("What do the recalled memories cost a turn, and how much of it repeats?"),
        answer,
        (),
        (_cost_table(cost, figures), _rows_table(ctx, logged, texts, tokens)),
        (*_tokenizer_method(ctx, counter), *_log_method(ctx, logged, cost, has_session)),
    )
    return ProbeResult((), (section,), figures)


def _cost_table(cost: Cost, figures: Mapping[str, Any]) -> Table:
    n, total = len(cost.tokens), cost.total
    lines: list[tuple[str, Any, float | None]] = [
        (say("median recall"), figures["recall_tokens_median"], None),
        (say("95th percentile"), figures["recall_tokens_p95"], None),
        (say("largest recall"), figures["recall_tokens_max"], None),
        (say("all recalls"), total, None),
        (say("the same text again in one recall"), cost.repeated, figures["recall_share_repeated"]),
        (say("template text again in one recall"), cost.template, figures["recall_share_template"]),
        (say("given in the recall before, same session"), cost.given_before if cost.followed else None,
         figures["recall_share_given_before"]),
    ]  # fmt: skip
    return Table(
        "recall-cost",
        say("Tokens of the recalled memories; n = {recalls}", recalls=plural(n, "recall")),
        (
            Column("what", say("tokens of"), Cell.TEXT),
            Column("tokens", say("tokens"), Cell.NUMBER),
            Column("share", say("share"), Cell.SHARE),
        ),
        tuple({"what": what, "tokens": tokens, "share": share} for what, tokens, share in lines),
    )


def _rows_table(ctx: Context, logged: _Logged, texts: Mapping[int, str], tokens: Mapping[int, int]) -> Table:
    times = Counter(row for recall in logged.recalls for row in recall.rows)
    most = sorted(times, key=lambda row: (-times[row] * tokens[row], row))[:MAX_ROWS_SHOWN]
    return Table(
        "recall-cost-rows",
        say("Memories that cost most; {shown} of {n} recalled", shown=len(most), n=len(times)),
        (
            Column("text", say("text"), Cell.VALUE),
            Column("key", say("row"), Cell.CODE),
            Column("times", say("times recalled"), Cell.COUNT),
            Column("tokens", say("tokens"), Cell.COUNT),
            Column("all", say("tokens in all recalls"), Cell.BAR),
        ),
        tuple(
            {"text": texts[r], "key": str(ctx.records.keys[r]), "times": times[r], "tokens": tokens[r],
             "all": times[r] * tokens[r]}
            for r in most
        ),
    )  # fmt: skip


def _tokenizer_method(ctx: Context, counter: TokenCounter) -> tuple[str, ...]:
    return (
        say("Tokens are counted with the tokenizer of {name}. The model that reads the memories has a tokenizer of its own "
            "and counts differently.", name=counter.name),
        say("Counted is the text of the memory (`{column}`) alone; what the prompt puts around it comes on top.",
            column=str(ctx.roles.text or ctx.roles.embedded_text or say("embedded text"))),
    )  # fmt: skip


def _log_method(ctx: Context, logged: _Logged, cost: Cost, has_session: bool) -> tuple[str, ...]:
    log = ctx.log
    parts = [
        say("A recall is taken for a turn: one row of {table} that names several memories, else the rows that follow each "
            "other with one query, time and session.", table=log.table.name if log is not None else "")
    ]  # fmt: skip
    if logged.n_unknown:
        parts.append(say("{part} of the memories named in the log are no row under audit and are not counted.",
                         part=part_of(logged.n_unknown, logged.n_named)))  # fmt: skip
    if logged.n_empty:
        parts.append(say("{recalls} without any row under audit left out.", recalls=plural(logged.n_empty, "recall")))
    if logged.n_left:
        parts.append(say("Only the last {n} recalls of the log were counted; {left} before them were not.",
                         n=MAX_RECALLS, left=logged.n_left))  # fmt: skip
    if len(cost.tokens) < MIN_FOR_P95:
        parts.append(say("A 95th percentile is not given below {n} recalls.", n=MIN_FOR_P95))
    if cost.template is None:
        parts.append(
            say("Template text was not looked for: fewer than {n} different texts were recalled.", n=MIN_TEXTS)
        )
    else:
        parts.append(say("Template text is what nearly all texts of one form share; its tokens are its share of a text's "
                         "characters, and the first row of a recall that brings it is not counted."))  # fmt: skip
    if not has_session:
        parts.append(
            say("No column of the log names a session, so what the turn before had already given is not known.")
        )
    elif not cost.followed:
        parts.append(say("No session has two recalls, so what the turn before had already given is not known."))
    return tuple(parts)


def _k(ctx: Context) -> tuple[int | None, str]:
    """Return how many rows a recall returns, and where that is written."""
    if ctx.config.k is not None and ctx.config.k > 0:
        return ctx.config.k, "k"
    for name in _K_NAMES:
        value = ctx.production_value(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value, name
    return None, ""


def _estimated(ctx: Context, k: int, named: str, why: str) -> ProbeResult:
    counter = token_counter(ctx.config.encoder)
    texts = [text for text in _texts(ctx) if not is_blank(text)]
    if not texts:
        return ProbeResult(notes=(say("What a recall costs in tokens was not measured: no row has a text."),))
    chosen = texts
    if len(texts) > MAX_ROWS:
        picked = ctx.rng("recall-cost").choice(len(texts), size=MAX_ROWS, replace=False)
        chosen = [texts[i] for i in sorted(picked.tolist())]
    tokens = [counter.count(text) for text in chosen]
    returned = min(k, len(texts))
    row_tokens = middle(tokens)
    cost = _whole(returned * row_tokens)
    figures: dict[str, Any] = {
        "recall_tokens_estimated": cost,
        "recall_rows_assumed": returned,
        "row_tokens_median": row_tokens,
        "row_tokens_p95": nearest_rank_95(tokens),
        "row_tokens_max": max(tokens),
        "recall_tokenizer": counter.name,
    }
    lines = (
        (say("median row"), figures["row_tokens_median"]),
        (say("95th percentile"), figures["row_tokens_p95"]),
        (say("largest row"), figures["row_tokens_max"]),
        (say("a recall of {rows}, estimated", rows=plural(returned, "row")), cost),
    )
    table = Table(
        "recall-cost",
        say("Tokens of the memories; n = {rows}", rows=plural(len(tokens), "row")),
        (Column("what", say("tokens of"), Cell.TEXT), Column("tokens", say("tokens"), Cell.NUMBER)),
        tuple({"what": what, "tokens": n} for what, n in lines),
    )
    method = [
        *_tokenizer_method(ctx, counter),
        say("Estimated because {reason}: `{name}` says {k} rows a recall, and each is taken to be as long as the median row. "
            "How much of it repeats is not known without a log.", reason=why, name=named, k=k),
    ]  # fmt: skip
    if len(chosen) < len(texts):
        method.append(
            say("{part} rows with a text were counted, drawn by chance.", part=part_of(len(chosen), len(texts)))
        )
    if returned < k:
        method.append(say("Only {rows} have a text.", rows=plural(returned, "row")))
    section = Section(
        "recall-cost",
        say("Tokens of the recalled memories"),
        say("What do the recalled memories cost a turn, and how much of it repeats?"),
        say("Estimated from the store: a recall of {rows} costs about {tokens} tokens (median row {median}, n = {n}).",
            rows=plural(returned, "row"), tokens=cost, median=row_tokens, n=plural(len(tokens), "row")),
        (),
        (table,),
        tuple(method),
    )  # fmt: skip
    return ProbeResult((), (section,), figures)


PROBE = RecallCost()
