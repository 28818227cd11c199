"""What of the memories the encoder can read: languages it has words for, and texts that fit its window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from memaudit.cluster import median_of
from memaudit.context import Context, Need
from memaudit.encoders.tokens import Tokenizer, tokenizer_of
from memaudit.encoders.window import (
    CJK_SHARE,
    MAX_UNKNOWN_SHARE,
    Reach,
    cjk_rows,
    reach,
    unknown_share,
    visible_by_tokens,
    visible_chars,
)
from memaudit.errors import EncoderError
from memaudit.measures.template_filling import template_filled
from memaudit.model import (
    Basis,
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    RowsLeftOut,
    Section,
    Severity,
    Table,
)
from memaudit.text import is_blank, normalised, words
from memaudit.wording import part_of, percent, plural, say, space_between

#: Without a tokenizer: different CJK texts this near to each other (median), and this much nearer than the others.
COLLAPSE_COS, COLLAPSE_GAP = 0.80, 0.30
#: Different texts of each kind that a median needs: 10 pairs.
MIN_TEXTS = 5
#: Median share of common characters above which the texts themselves are alike.
MAX_OVERLAP = 0.30
#: Share of the memory that must reach the encoder, share of rows of which nothing may be lost, share of rows over.
REACH_SHARE, NOTHING_SHARE, OVER_SHARE = 0.80, 0.05, 0.05
_MAX_ROWS = 2_000


@dataclass(frozen=True)
class Nearness:
    """Cosines of the pairs of different texts of one kind.

    Parameters
    ----------
    overlap
        Median share of common words (Han characters one by one) of a pair.
    """

    n_texts: int
    median_cos: float
    max_cos: float
    overlap: float
    sampled: bool


def nearness(
    unit: npt.NDArray[np.float32], texts: Sequence[str], rng: np.random.Generator, max_rows: int = _MAX_ROWS
) -> Nearness | None:
    """Measure how near texts of one kind are to each other.

    Parameters
    ----------
    unit
        (m, d) unit vectors.
    texts
        (m,) their texts; copies (case and white space aside) take part once, blank ones not at all.
    max_rows
        More texts than this are drawn by chance.

    Returns
    -------
    None below two different texts.
    """
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if key := normalised(text):
            first.setdefault(key, i)
    chosen = np.array(list(first.values()), dtype=np.int64)
    if len(chosen) < 2:
        return None
    sampled = len(chosen) > max_rows
    if sampled:
        chosen = np.sort(rng.choice(chosen, size=max_rows, replace=False))
    upper = np.triu_indices(len(chosen), 1)
    cosines = np.clip((unit[chosen] @ unit[chosen].T)[upper], -1.0, 1.0)
    bags = [frozenset(words(texts[i])) for i in chosen.tolist()]
    pairs = rng.choice(len(cosines), size=min(1_000, len(cosines)), replace=False)
    overlaps = [_common(bags[int(upper[0][p])], bags[int(upper[1][p])]) for p in pairs]
    return Nearness(len(first), median_of(cosines), float(cosines.max()), median(overlaps), sampled)


def _common(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def collapsed(
    cjk: Nearness | None, other: Nearness | None, *, min_cos: float, min_gap: float, max_overlap: float
) -> bool:
    """Say whether different CJK texts fall together where other texts do not."""
    if cjk is None or other is None or min(cjk.n_texts, other.n_texts) < MIN_TEXTS:
        return False
    return cjk.median_cos >= min_cos and cjk.median_cos - other.median_cos >= min_gap and cjk.overlap <= max_overlap


class EncoderReach:
    """MA017 and MA019."""

    name: ClassVar[str] = "encoder-reach"
    title: ClassVar[str] = "Does the encoder read the memories?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA017": "encoder-blind-to-language",
        "MA019": "truncated-before-embedding",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[tuple[str, ...]] = ("retrieval",)
    reads: ClassVar[frozenset[str]] = frozenset({"embed_max_chars", "embed_max_tokens", "encoder"})

    def run(self, ctx: Context) -> ProbeResult:
        """Look at tokens and cosines by script, then at the window."""
        if ctx.roles.text is None and ctx.roles.embedded_text is None and not ctx.roles.embedded_fields:
            reason = (say("no column with the memory's text was found or named"), "text")
            return ProbeResult(not_looked=dict.fromkeys(self.codes, reason))
        tokenizer: Tokenizer | None = None
        why_none = say("no encoder with a tokenizer was named")
        try:
            tokenizer = tokenizer_of(ctx.config.encoder)
        except EncoderError as error:
            why_none = error.message.rstrip(".。")  # the sentence goes on
        not_looked: dict[str, tuple[str, str]] = {}
        findings: list[Finding] = []
        sections: list[Section] = []
        left_out: tuple[RowsLeftOut, ...] = ()
        blind = _blind(ctx, tokenizer, why_none)
        if isinstance(blind, Finding):
            findings.append(blind)
            sections.append(_scripts_section(ctx, blind))
        elif blind is not None:
            not_looked["MA017"] = blind
        cut = _window(ctx, tokenizer, why_none)
        if isinstance(cut, _Cut):
            left_out = cut.left_out
            if cut.finding is not None:
                findings.append(cut.finding)
        else:
            not_looked["MA019"] = cut
        return ProbeResult(tuple(findings), tuple(sections), not_looked=not_looked, left_out=left_out)


# -- MA017 --------------------------------------------------------------------------------------


def _blind(ctx: Context, tokenizer: Tokenizer | None, why_none: str) -> Finding | tuple[str, str] | None:
    """Look for MA017: the finding, None, or why it could not be looked for."""
    texts = ctx.embedded_texts
    rows = cjk_rows(texts, ctx.limit("MA017", "min_cjk_share", CJK_SHARE))
    if not rows:
        return None
    inside = set(rows)
    others = [i for i, text in enumerate(texts) if i not in inside and not is_blank(text)]
    limit = ctx.limit("MA017", "max_unknown_share", MAX_UNKNOWN_SHARE)
    share = other_share = None
    if tokenizer is not None:
        share = unknown_share([texts[i] for i in rows], tokenizer)
        other_share = unknown_share([texts[i] for i in others], tokenizer)
    no_vectors = ctx.missing(Need.VECTORS)
    own = no_vectors is None and ctx.vectors_of_every_script.encoder.name == "stored"
    if tokenizer is None and not own:
        return say("{why}, and the store holds no vectors of production's", why=why_none), "encoder"
    cjk = other = None
    if no_vectors is None:
        place = {int(row): p for p, row in enumerate(ctx.vectors_of_every_script.rows)}
        rng = ctx.rng("MA017")
        cjk, other = (
            nearness(ctx.vectors_of_every_script.matrix[[place[i] for i in part if i in place]],
                     [texts[i] for i in part if i in place], rng)
            for part in (rows, others)
        )  # fmt: skip
    by_data = own and collapsed(
        cjk,
        other,
        min_cos=ctx.limit("MA017", "min_collapse_cos", COLLAPSE_COS),
        min_gap=ctx.limit("MA017", "min_gap", COLLAPSE_GAP),
        max_overlap=ctx.limit("MA017", "max_overlap", MAX_OVERLAP),
    )
    by_tokens = share is not None and share > limit
    if not by_tokens and not by_data:
        if tokenizer is None and (cjk is None or other is None or min(cjk.n_texts, other.n_texts) < MIN_TEXTS):
            return say("{why}, and fewer than {n} different texts of each script have a vector", why=why_none,
                       n=MIN_TEXTS), "encoder"  # fmt: skip
        return None
    return _blind_finding(ctx, rows, share, other_share, cjk, other, tokenizer, by_tokens)


def _blind_finding(
    ctx: Context, rows: Sequence[int], share: float | None, other_share: float | None, cjk: Nearness | None,
    other: Nearness | None, tokenizer: Tokenizer | None, by_tokens: bool,
) -> Finding:  # fmt: skip
    n = ctx.records.n_rows
    limit = ctx.limit("MA017", "max_unknown_share", MAX_UNKNOWN_SHARE)
    about = part_of(len(rows), n)
    if by_tokens and share is not None and tokenizer is not None:
        title = say(
            "{encoder} has no word for {share:.1f} % of the tokens of the {rows} Chinese, Japanese or Korean "
            "rows: their cosines mean nothing.",
            encoder=tokenizer.name,
            share=100 * share,
            rows=about,
        )
        caveat = say(
            "From the encoder's own tokenizer. Above {limit:.3g} % unknown tokens the cosines of such rows "
            "should be withheld.",
            limit=100 * limit,
        )
    else:
        title = say(
            "Different Chinese, Japanese or Korean texts ({rows} rows) have a median cosine of {cos:.3f}, "
            "other texts {other:.3f}: the encoder seems not to read them.",
            rows=about,
            cos=cjk.median_cos if cjk else float("nan"),
            other=other.median_cos if other else float("nan"),
        )
        caveat = say("From the stored vectors alone: a median of at least {cos:g}, {gap:g} above the other texts, while "
                     "the median pair shares at most {overlap:.3g} % of its characters (here {shared:.3g} %). The "
                     "tokenizer of the encoder was not looked at, so the share of unknown tokens is not known.",
                     cos=ctx.limit("MA017", "min_collapse_cos", COLLAPSE_COS),
                     gap=ctx.limit("MA017", "min_gap", COLLAPSE_GAP),
                     overlap=100 * ctx.limit("MA017", "max_overlap", MAX_OVERLAP),
                     shared=100 * cjk.overlap if cjk else 0.0)  # fmt: skip
    sampled = any(part is not None and part.sampled for part in (cjk, other))
    if sampled:
        caveat += space_between() + say("Cosines are of {n} texts of each kind, drawn by chance.", n=_MAX_ROWS)
    where = ctx.roles.vectors
    column = where["embedding"] if where else ctx.roles.embedding
    field = ctx.roles.text or ctx.roles.embedded_text
    return Finding(
        "MA017",
        "encoder-blind-to-language",
        Severity.HIGH,
        {"table": ctx.table_name, "column": column or field, "field": field, "part": "cjk"},
        title,
        {
            "rows": n,
            "cjk_rows": len(rows),
            "unknown_token_share_cjk": share,
            "unknown_token_share_other": other_share,
            "median_cosine_cjk": cjk.median_cos if cjk else None,
            "median_cosine_other": other.median_cos if other else None,
            "max_cosine_cjk": cjk.max_cos if cjk else None,
            "max_cosine_other": other.max_cos if other else None,
            "cosines_to_withhold": len(rows) if by_tokens else None,
        },
        _evidence(ctx, rows),
        fix=say("Use an encoder that was trained on the languages of this store and embed all rows again; until then do "
                "not search, group or de-duplicate these rows by cosine."),
        caveat=caveat,
        basis=Basis.SAMPLED if sampled else Basis.MEASURED,
        lane="retrieval",
    )  # fmt: skip


def _evidence(ctx: Context, rows: Sequence[int], notes: Sequence[str] = ()) -> Evidence:
    texts = ctx.records.texts if ctx.roles.text else ctx.embedded_texts
    shown = tuple(
        Example(texts[i], ctx.records.keys[i], notes[p] if notes else "")
        for p, i in enumerate(rows[: ctx.config.max_examples])
    )
    return Evidence(shown, len(rows), tuple(ctx.records.keys[i] for i in rows))


def _scripts_section(ctx: Context, finding: Finding) -> Section:
    f = finding.figures
    rows = (
        {"script": say("Chinese, Japanese, Korean"), "rows": f["cjk_rows"], "unknown": f["unknown_token_share_cjk"],
         "median": f["median_cosine_cjk"], "max": f["max_cosine_cjk"], "_mark": "hot"},
        {"script": say("other"), "rows": f["rows"] - f["cjk_rows"], "unknown": f["unknown_token_share_other"],
         "median": f["median_cosine_other"], "max": f["max_cosine_other"]},
    )  # fmt: skip
    table = Table(
        "scripts",
        say("Tokens and cosines by script, {n} rows", n=f["rows"]),
        (
            Column("script", say("script"), Cell.TEXT),
            Column("rows", say("rows"), Cell.COUNT),
            Column("unknown", say("unknown tokens"), Cell.SHARE),
            Column("median", say("median cosine"), Cell.COSINE),
            Column("max", say("largest cosine"), Cell.COSINE),
        ),
        rows,
    )
    method = say("A row counts as Chinese, Japanese or Korean from {share:.3g} % such letters on. Cosines are of all "
                 "pairs of different texts of one script.",
                 share=100 * ctx.limit("MA017", "min_cjk_share", CJK_SHARE))  # fmt: skip
    return Section(
        "encoder-reach",
        say("Scripts the encoder reads"),
        say("Does the encoder have words for the languages of this store?"),
        finding.title,
        ("MA017",),
        (table,),
        (method, finding.caveat or ""),
        finding.evidence.shown,
    )


# -- MA019 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cut:
    finding: Finding | None
    left_out: tuple[RowsLeftOut, ...] = ()


def _window(ctx: Context, tokenizer: Tokenizer | None, why_none: str) -> _Cut | tuple[str, str]:
    """Look for MA019; a pair of reason and option when that is not possible."""
    chars, tokens = ctx.config.embed_max_chars, ctx.config.embed_max_tokens
    visible: Callable[[str], int]
    if chars is not None and chars > 0:
        visible, limit = visible_chars(chars), say("{n} characters", n=chars)
    elif tokenizer is not None and (tokens or tokenizer.max_tokens):
        tokens = int(tokens or tokenizer.max_tokens or 0)
        visible, limit = visible_by_tokens(tokenizer, tokens), say("{n} tokens", n=tokens)
    elif tokens is not None:
        return say("a window of tokens was given, but {why}: tokens are not guessed from characters", why=why_none), (
            "encoder"
        )
    else:
        return say("the encoder's window is not known"), "embed_max_chars"
    embedded = template_filled(ctx) or ctx.embedded_texts
    found = reach(embedded, ctx.records.texts if ctx.roles.text else embedded, visible)
    left_out: tuple[RowsLeftOut, ...] = ()
    if found.not_found:
        reason = say("the memory does not stand in its embedded text (MA019)")
        keys = tuple(ctx.records.keys[i] for i in found.not_found)
        left_out = (RowsLeftOut(len(found.not_found), reason, keys),)
    if not found.over:
        return _Cut(None, left_out)
    return _Cut(_window_finding(ctx, embedded, found, visible, limit, tokens if chars is None else None), left_out)


def _window_finding(
    ctx: Context, embedded: Sequence[str], found: Reach, visible: Callable[[str], int], limit: str,
    limit_tokens: int | None,
) -> Finding:  # fmt: skip
    n = len(embedded)
    reaching = found.content_reaching / found.content_chars if found.content_chars else None
    min_reach = ctx.limit("MA019", "min_reach_share", REACH_SHARE)
    nothing = ctx.limit("MA019", "nothing_share", NOTHING_SHARE)
    medium = ctx.limit("MA019", "over_share", OVER_SHARE)
    severity = Severity.LOW
    if (reaching is not None and reaching < min_reach) or len(found.nothing_reaching) / n >= nothing:
        severity = Severity.HIGH
    elif len(found.over) / n >= medium:
        severity = Severity.MEDIUM
    title = say("{rows} texts are longer than the {limit} that the encoder reads; {share} of all characters never "
                "reach it.", rows=part_of(len(found.over), n), limit=limit,
                share=percent(found.chars_lost, found.chars))  # fmt: skip
    if found.nothing_reaching:
        title += space_between() + say("Of {rows} nothing of the memory itself is read.",
                           rows=plural(len(found.nothing_reaching), "row"))  # fmt: skip
    caveat = say("High when less than {reach:.3g} % of the memories' characters reach the encoder or nothing does in "
                 "{nothing:.3g} % of the rows; medium from {over:.3g} % of the rows over the window; else low.",
                 reach=100 * min_reach, nothing=100 * nothing, over=100 * medium)  # fmt: skip
    if found.not_found:
        caveat += space_between() + say("{rows} have a memory that does not stand in the embedded text; they are not counted in "
                            "`content_chars`.", rows=plural(len(found.not_found), "row"))  # fmt: skip
    nothing_rows = set(found.nothing_reaching)
    order = sorted(found.over, key=lambda i: (i not in nothing_rows, -len(embedded[i])))
    notes = [say("{read} of {n} characters read", read=visible(embedded[i]), n=len(embedded[i])) for i in order]
    evidence = _evidence(ctx, order, notes)
    return Finding(
        "MA019",
        "truncated-before-embedding",
        severity,
        {
            "table": ctx.table_name,
            "column": ctx.roles.text or ctx.roles.embedded_text,
            "field": ctx.roles.embedded_text or list(ctx.roles.embedded_fields) or ctx.roles.text,
            "config": "embed_max_tokens" if limit_tokens is not None else "embed_max_chars",
        },
        title,
        {
            "rows": n,
            "limit_chars": ctx.config.embed_max_chars,
            "limit_tokens": limit_tokens,
            "rows_over_limit": len(found.over),
            "share_over_limit": len(found.over) / n,
            "chars_never_embedded": found.chars_lost,
            "share_chars_never_embedded": found.chars_lost / found.chars if found.chars else None,
            "content_chars": found.content_chars,
            "content_chars_reaching_encoder": found.content_reaching,
            "share_reaching_encoder": reaching,
            "rows_with_no_content_reaching": len(found.nothing_reaching),
            "distinct_visible_texts": found.distinct_visible,
        },
        Evidence(evidence.shown, len(found.over), tuple(ctx.records.keys[i] for i in found.over)),
        fix=say(
            "Put the memory first and the constant lines behind it (or leave them out), cut long memories into "
            "parts that fit, or use an encoder with a larger window."
        ),
        caveat=caveat,
        lane="retrieval",
    )


PROBE = EncoderReach()
