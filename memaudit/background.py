"""How near two different texts are to each other anyway: the scale on which a cosine threshold has to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.cluster import background_cosine, pairwise_sample
from memaudit.text import words

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
        across = float(np.median(sample.cos[differ])) if differ.any() else None
    chosen = rng.choice(len(sample.i), size=min(_TEXT_PAIRS, len(sample.i)), replace=False)
    bags = [frozenset(words(text)) for text in texts]
    overlaps = [_jaccard(bags[sample.i[p]], bags[sample.j[p]]) for p in chosen.tolist()]
    return Background(
        len(matrix),
        whole.n_pairs,
        whole.sampled,
        whole.median_cos,
        float(np.quantile(sample.cos, 0.05)),
        across,
        float(np.median(overlaps)),
    )


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
