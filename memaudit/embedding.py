"""Vectors of the records: production's own when they are stored, else encoded here.

Order (ruling): stored vectors, the encoder named in the configuration, the embedded multilingual encoder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from memaudit.config import Config
from memaudit.model import EncoderInfo, RowsLeftOut
from memaudit.records import IntArray, Records
from memaudit.vectors import StoredVectors, VectorStatus, decode_vectors
from memaudit.wording import say

if TYPE_CHECKING:
    from memaudit.encoders import Encoder
    from memaudit.vectors.cache import EncodedTexts

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class UnitVectors:
    """Vectors fit for cosines.

    Parameters
    ----------
    matrix
        (m, d) float32, rows of unit length.
    rows
        (m,) row numbers of the records, ascending.
    left_out
        Rows without a usable vector, by reason.
    n_encoded, n_cached
        Texts encoded in this run, and texts whose vectors came from the cache.
    """

    matrix: FloatArray
    rows: IntArray
    encoder: EncoderInfo
    left_out: tuple[RowsLeftOut, ...] = ()
    n_encoded: int = 0
    n_cached: int = 0

    def restricted(self, rows: IntArray) -> UnitVectors:
        """Return the vectors of some rows, renumbered 0..k-1 in the order of `rows`."""
        place = {int(r): i for i, r in enumerate(self.rows)}
        kept = [(new, place[int(old)]) for new, old in enumerate(rows) if int(old) in place]
        numbers = np.array([new for new, _ in kept], dtype=np.int64)
        return UnitVectors(self.matrix[[i for _, i in kept]], numbers, self.encoder)


def embedded_texts(records: Records, config: Config) -> tuple[str, ...]:
    """Return the text of each row as production embeds it.

    From `embedded_text`, else `embedded_fields` joined by a blank in their order (empty fields left out), else
    the text column.
    """
    if records.roles.embedded_text is not None:
        return records.as_texts(records.roles.embedded_text)
    if records.roles.embedded_fields:
        columns = [records.as_texts(name) for name in records.roles.embedded_fields]
        return tuple(" ".join(part for part in row if part) for row in zip(*columns, strict=True))
    return records.texts


def stored_vectors(records: Records, lookup: dict[object, object] | None, config: Config) -> StoredVectors | None:
    """Decode production's vectors, one status a row; None when no column or table holds any."""
    if lookup is not None:
        values: tuple[object, ...] = tuple(lookup.get(key) for key in records.keys)
    elif records.roles.embedding is not None:
        values = records.column(records.roles.embedding)
    else:
        return None
    return decode_vectors(values, records.roles.embedding_format)


_REASONS = {
    VectorStatus.MISSING: "no vector",
    VectorStatus.ZERO: "all-zero vector",
    VectorStatus.NAN: "vector with NaN",
    VectorStatus.INF: "vector with infinity",
    VectorStatus.MALFORMED: "vector that cannot be decoded",
    VectorStatus.WRONG_DIMENSION: "vector of another length than most",
}


def from_stored(stored: StoredVectors, keys: tuple[object, ...]) -> UnitVectors:
    """Turn checked vectors into unit vectors; every other row is left out with its reason."""
    counts = Counter(stored.status)
    left_out = tuple(
        RowsLeftOut(
            counts[status], say(reason), tuple(k for k, s in zip(keys, stored.status, strict=True) if s is status)
        )
        for status, reason in _REASONS.items()
        if counts[status]
    )
    note = say("format: {detected}", detected=stored.reason)
    return UnitVectors(stored.unit, stored.rows, EncoderInfo("stored", stored.dim, note=note), left_out)


class TextEncoder:
    """The encoder of the configuration with its cache; stored vectors are no encoder and are never mixed with it.

    Parameters
    ----------
    config
        `encoder` names it; `stored` and nothing mean the embedded one.

    Raises
    ------
    EncoderError
        The encoder is not on this disk.
    """

    def __init__(self, config: Config) -> None:
        from memaudit.encoders import load_encoder
        from memaudit.vectors.cache import VectorCache, default_folder

        name = config.encoder if config.encoder not in (None, "stored") else "embedded"
        self.encoder: Encoder = load_encoder(name, allow_download=config.allow_download)
        folder = default_folder()
        self._cache = VectorCache(folder) if folder is not None else None
        #: Distinct texts encoded so far, and found in the cache.
        self.n_encoded = self.n_cached = 0

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts that are not blank, from the cache where they were encoded before."""
        from memaudit.vectors.cache import encode_cached

        done = encode_cached(lambda: self.encoder, texts, self._cache)
        self.n_encoded += done.n_encoded
        self.n_cached += done.n_cached
        return done


def encoded(texts: tuple[str, ...], keys: tuple[object, ...], encoder: TextEncoder) -> UnitVectors:
    """Encode the texts of the rows; blank texts are left out and counted.

    Raises
    ------
    EncoderError
        The encoder cannot encode.
    """
    used = np.array([i for i, text in enumerate(texts) if text.strip()], dtype=np.int64)
    blank = [i for i, text in enumerate(texts) if not text.strip()]
    done = encoder.encode([texts[i] for i in used])
    note = " ".join(part for part in (encoder.encoder.note, done.cache_problem) if part)
    info = EncoderInfo(done.name, int(done.matrix.shape[1]) if len(used) else None, done.revision, note)
    left_out = (RowsLeftOut(len(blank), say("blank text"), tuple(keys[i] for i in blank)),) if blank else ()
    return UnitVectors(done.matrix, used, info, left_out, done.n_encoded, done.n_cached)
