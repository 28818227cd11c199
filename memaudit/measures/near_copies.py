"""Near copies among the vectors of an audit: clusters, and the pairs whose texts have to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memaudit.cluster import NearPairs, cluster_sizes, leader_clusters_at, near_pairs
from memaudit.context import Context, Need
from memaudit.measures.background import different_texts, is_high, limits, measured_background
from memaudit.text import is_blank, normalised, words
from memaudit.text.copies import (
    MIN_OVERLAP,
    NearRows,
    PairDifferences,
    near_rows,
    pair_differences,
    says_the_same,
    word_overlap,
)
from memaudit.wording import say

#: Above the first cosine a pair is read word by word, above the second it is near; part of the figures' names.
PAIR_COS, NEAR_COS = 0.98, 0.95
#: Above it a row is near, too, when it shares most words with the earlier one and no detail differs: one word more or
#: another one takes a short text below `NEAR_COS`.
WORDS_COS = 0.92
#: Earlier rows of its cluster that such a row is compared with; the leader is the first of them.
_EARLIER = 10
#: Shorter texts may share no word and yet speak of one thing: `enable`, `disable`.
_SENTENCE_WORDS = 4
#: Near pairs read at most; beyond that the first ones in row order are a sample.
MAX_PAIRS = 20_000


@dataclass(frozen=True)
class NearCopies:
    """What the cosines say; `rows` and `compared` hold row numbers of the records.

    Parameters
    ----------
    n_valid
        Rows with a vector and a text.
    clusters, largest
        Clusters, and rows of the largest one, by threshold.
    n_pairs
        Pairs at `PAIR_COS` or more, all of them.
    compared
        The pairs whose texts were read.
    is_cut
        Whether not all pairs were read.
    by_words
        Rows that joined no cluster at `NEAR_COS` but say the same as an earlier row at `WORDS_COS` or more.
    """

    n_valid: int
    clusters: Mapping[float, int]
    largest: Mapping[float, int]
    rows: NearRows
    n_pairs: int
    compared: PairDifferences
    is_cut: bool
    by_words: tuple[int, ...] = ()


@dataclass(frozen=True)
class NotMeasured:
    """Why near copies could not be looked for, and the option that would help."""

    reason: str
    option: str


def measured_near_copies(ctx: Context, texts: Sequence[str], max_pairs: int = MAX_PAIRS) -> NearCopies | NotMeasured:
    """Measure near copies.

    Parameters
    ----------
    texts
        One a record: what is read to tell a rewording from another detail.
    max_pairs
        Pairs read at most.
    """
    missing = ctx.missing(Need.VECTORS)
    if missing is not None:
        return NotMeasured(*missing)
    # Blank texts all have the same vector; MA003 speaks of them.
    kept = [p for p, row in enumerate(ctx.vectors.rows.tolist()) if not is_blank(texts[row])]
    if len(kept) < 2:
        return NotMeasured(say("fewer than two rows have a vector and a text"), "embedding")
    numbers: list[int] = ctx.vectors.rows[kept].tolist()
    matrix = ctx.vectors.matrix[kept]
    thresholds = sorted({*ctx.config.thresholds, PAIR_COS, NEAR_COS, WORDS_COS}, reverse=True)
    labels = leader_clusters_at(matrix, thresholds)
    sizes = {t: cluster_sizes(labels[t]) for t in thresholds}
    own = [texts[row] for row in numbers]
    rows = near_rows(own, labels[NEAR_COS])
    by_words = _near_by_words(own, matrix, labels[NEAR_COS], labels[WORDS_COS])
    pairs = near_pairs(matrix, PAIR_COS, limit=max_pairs)
    if rows.n_near or pairs.n_pairs or by_words:
        measured = ctx.once(measured_background)
        if measured is not None and is_high(measured, *limits(ctx)):
            reason = say(
                "different memories have a cosine of {cos:.3f} anyway (MA018), so that none can be called near",
                cos=measured.median_cos,
            )
            return NotMeasured(reason, "encoder")
    read = [pair for pair in _read(pairs, matrix, own, max_pairs) if not _shares_a_wrong_vector(matrix, own, *pair[:2])]
    compared = pair_differences(own, read)
    return NearCopies(
        len(kept),
        {t: s.clusters for t, s in sizes.items()},
        {t: s.largest for t, s in sizes.items()},
        rows.renumbered(numbers),
        pairs.n_pairs,
        compared.renumbered(numbers),
        pairs.cut,
        tuple(numbers[row] for row in by_words),
    )


def _shares_a_wrong_vector(matrix: npt.NDArray[np.float32], texts: Sequence[str], i: int, j: int) -> bool:
    """Say whether two rows have one vector, to the last bit, for sentences that share hardly a word (MA015).

    The vector is wrong, and the details of two such texts say nothing about merging near rows.
    """
    if not np.array_equal(matrix[i], matrix[j]) or word_overlap(texts[i], texts[j]) >= MIN_OVERLAP:
        return False
    return min(len(words(texts[i])), len(words(texts[j]))) >= _SENTENCE_WORDS


def _near_by_words(
    texts: Sequence[str],
    matrix: npt.NDArray[np.float32],
    near: npt.NDArray[np.int64],
    wider: npt.NDArray[np.int64],
) -> list[int]:
    """Return the rows that lead a cluster of `near` and say the same as an earlier row of their cluster in `wider`."""
    leads = np.zeros(len(near), dtype=bool)
    leads[np.unique(near, return_index=True)[1]] = True
    members: dict[int, list[int]] = {}
    found = []
    for row, label in enumerate(wider.tolist()):
        earlier = members.setdefault(label, [])
        if earlier and leads[row]:
            cosines = matrix[earlier] @ matrix[row]
            if any(
                cos >= WORDS_COS and says_the_same(texts[row], texts[other])
                for other, cos in zip(earlier, cosines.tolist(), strict=True)
            ):
                found.append(row)
        if len(earlier) < _EARLIER:
            earlier.append(row)
    return found


def _read(
    pairs: NearPairs, matrix: npt.NDArray[np.float32], texts: Sequence[str], max_pairs: int
) -> list[tuple[int, int, float]]:
    """Choose the pairs to read: all, or the first ones in row order when they are too many.

    A few hundred rows with one text are tens of thousands of pairs of which none has to be read: where most of
    the first ones are of that kind, those between the first rows of different texts are taken instead.
    """
    places = list(range(len(texts)))
    if pairs.cut:
        folded = [normalised(text) for text in texts]
        n_equal = sum(folded[i] == folded[j] for i, j in zip(pairs.i, pairs.j, strict=True))
        if n_equal > 0.5 * len(pairs.i):
            places = different_texts(texts, places)
            pairs = near_pairs(matrix[places], PAIR_COS, limit=max_pairs)
    return [(places[i], places[j], cos) for i, j, cos in zip(pairs.i, pairs.j, pairs.cos.tolist(), strict=True)]
