"""How near two different texts are to each other anyway: the scale on which a cosine threshold has to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.cluster import background_cosine, median_of, pairwise_sample
from memaudit.context import Context
from memaudit.text import normalised, words
from memaudit.text.details import MAX_CHARS

#: MA018 needs this many different texts: 45 pairs, so that the median rests on more than a handful.
MIN_TEXTS = 10
#: Median cosine of different texts from which on a threshold of 0.85 to 0.95 separates little.
BACKGROUND_COS = 0.80
#: 19 of 20 pairs lie above this, too: else one large group of repeats makes the median, not the encoder.
FLOOR_COS = 0.70
#: Median share of common words of a pair (Jaccard) above which the texts themselves are alike.
MAX_OVERLAP = 0.30
#: Pairs drawn for the quantile and the median across values, and pairs whose words are compared.
_PAIRS = 100_000
_TEXT_PAIRS = 2_000


@dataclass(frozen=True)
class Background:
    """How near different texts are anyway.

    Parameters
    ----------
    n_texts
        Rows taken: the first of each text.
    median_cos
        Over all pairs, or over a sample of `n_pairs` of them.
    low_cos
        Cosine that 19 of 20 pairs reach.
    across_cos
        Median over the pairs of different values; None without values or without such pairs.
    overlap
        Median share of common words over some pairs.
    """

    n_texts: int
    n_pairs: int
    sampled: bool
    median_cos: float
    low_cos: float
    across_cos: float | None
    overlap: float


def background(
    matrix: npt.NDArray[np.float32], texts: Sequence[str], values: Sequence[Any] | None, rng: np.random.Generator
) -> Background | None:
    """Measure how near different texts are to each other.

    Parameters
    ----------
    matrix
        (n, d) unit vectors, one for each text; the texts must differ.
    values
        Value of each row's audited field, None without one.

    Returns
    -------
    None below two rows.
    """
    if len(matrix) < 2:
        return None
    whole = background_cosine(matrix, rng)
    if whole.median_cos is None:
        return None
    sample = pairwise_sample(matrix, rng, _PAIRS)
    across = None
    if values is not None:
        differ = np.array([values[i] != values[j] for i, j in zip(sample.i, sample.j, strict=True)])
        across = median_of(sample.cos[differ]) if differ.any() else None
    chosen = rng.choice(len(sample.i), size=min(_TEXT_PAIRS, len(sample.i)), replace=False)
    bags = [frozenset(words(text[:MAX_CHARS])) for text in texts]
    overlaps = [_jaccard(bags[sample.i[p]], bags[sample.j[p]]) for p in chosen.tolist()]
    return Background(
        len(matrix),
        whole.n_pairs,
        whole.sampled,
        whole.median_cos,
        float(np.quantile(sample.cos, 0.05)),
        across,
        median(overlaps),
    )


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def different_texts(texts: Sequence[str], rows: Sequence[int]) -> list[int]:
    """Return the places in `rows` of the first row of each text, case and white space aside; no blank ones."""
    first: dict[str, int] = {}
    for place, row in enumerate(rows):
        text = normalised(texts[row])
        if text:
            first.setdefault(text, place)
    return list(first.values())


def measured_background(ctx: Context) -> Background | None:
    """Measure the background of an audit's vectors over its different texts; None where they are too few."""
    texts = ctx.records.texts if ctx.roles.text is not None else ctx.embedded_texts
    numbers = ctx.vectors.rows.tolist()
    places = different_texts(texts, numbers)
    if len(places) < int(ctx.limit("MA018", "min_texts", MIN_TEXTS)):
        return None
    rows = [numbers[p] for p in places]
    column = ctx.records.column(ctx.roles.value_field) if ctx.roles.value_field else None
    values = [column[r] for r in rows] if column is not None else None
    return background(ctx.vectors.matrix[places], [texts[r] for r in rows], values, ctx.rng("MA018"))


def limits(ctx: Context) -> tuple[float, float, float]:
    """Return the limits of MA018: median cosine, cosine of 19 pairs in 20, share of common words."""
    return (
        ctx.limit("MA018", "min_median_cos", BACKGROUND_COS),
        ctx.limit("MA018", "min_low_cos", FLOOR_COS),
        ctx.limit("MA018", "max_overlap", MAX_OVERLAP),
    )


def is_high(measured: Background, min_median_cos: float, min_low_cos: float, max_overlap: float) -> bool:
    """Say whether different texts are so near anyway that a threshold says nothing."""
    return (
        measured.median_cos >= min_median_cos
        and measured.low_cos >= min_low_cos
        and measured.overlap <= max_overlap
        and (measured.across_cos is None or measured.across_cos >= min_median_cos)
    )
