"""What an encoder is, and how texts are handed to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from memaudit.errors import EncoderError
from memaudit.wording import say

FloatArray = npt.NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into vectors. `name` and `revision` are known without loading any weights."""

    @property
    def name(self) -> str:
        """Name in the configuration and the report; cosines of two names are never compared."""

    @property
    def revision(self) -> str:
        """What fixes the weights: package version, commit or a fingerprint of the folder."""

    @property
    def dim(self) -> int:
        """Length of the vectors; may load the model."""

    @property
    def max_chars(self) -> int | None:
        """Characters that reach the encoder; None where it counts tokens or has no window."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens that reach the encoder; None where it has no window. May load the model."""

    @property
    def note(self) -> str:
        """What a reader of its cosines must know; "" for nothing."""

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Give (n, dim) float32 rows of unit length in the order of `texts`; (0, dim) for no texts.

        Identical texts are encoded once and get identical rows.

        Raises
        ------
        EncoderError
            The model is not here, does not load or gives something that is no vector.
        """


def encode_distinct(
    texts: Sequence[str],
    dim: int,
    batch_size: int,
    encode_batch: Callable[[list[str]], npt.NDArray[np.floating]],
) -> FloatArray:
    """Encode each distinct text once, in batches of similar length.

    Parameters
    ----------
    texts
        Any texts, repeats allowed.
    dim
        Length of the vectors.
    batch_size
        Texts a batch at most.
    encode_batch
        Gives (len(batch), dim) rows for a batch, finite and not zero.

    Returns
    -------
    (n, dim) float32 rows of unit length in the order of `texts`.
    """
    distinct = list(dict.fromkeys(texts))
    place = {text: number for number, text in enumerate(distinct)}
    # Sorted by length a batch is padded little; by text within a length, so that a batch depends on the set
    # of texts and not on their order.
    order = sorted(range(len(distinct)), key=lambda number: (len(distinct[number]), distinct[number]))
    rows = np.empty((len(distinct), dim), dtype=np.float32)
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        rows[batch] = unit_rows_of(encode_batch([distinct[number] for number in batch]), dim)
    return rows[np.fromiter((place[text] for text in texts), dtype=np.int64, count=len(texts))]


def unit_rows_of(vectors: npt.NDArray[np.floating], dim: int) -> FloatArray:
    """Check what a model gave and bring it to unit length.

    Raises
    ------
    EncoderError
        Another shape than (n, dim), a row that is not finite, or a zero row.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise EncoderError(
            say(
                "the encoder gave an array of shape {shape}; expected rows of {dim} numbers.",
                shape=str(rows.shape),
                dim=dim,
            )
        )
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    n_bad = int(np.count_nonzero(~(np.isfinite(norms) & (norms > 0))))
    if n_bad:
        raise EncoderError(
            say("the encoder gave {n_bad} of {n} vectors that are zero or not finite.", n_bad=n_bad, n=len(rows)),
            say("Check the model with another text, or give another --encoder."),
        )
    unit: FloatArray = (rows / norms[:, None]).astype(np.float32)
    return unit
