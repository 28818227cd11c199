"""Find how the vectors of a column are written, by looking at the data.

Bytes say nothing about the type of their numbers; under the right type a vector usually has length 1,
and its numbers are of one size. Under a wrong one they spread over many powers of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memaudit.vectors.formats import (
    DTYPE_NAMES,
    Notation,
    NotAVectorError,
    VectorFormat,
    is_missing,
    is_pickle,
    read_vector,
    text_in,
    unbase64,
)
from memaudit.wording import say

_SAMPLE = 256
# Shorter base64 is more likely a word or a key than a vector.
_LEAST_BASE64_FLOATS = 8
# Bits: how far the sizes of the numbers may spread. Real embeddings spread over 1.5-3 bits (standard
# deviation of log2), bytes read as the wrong type over 6 (as float16) to hundreds (as float64).
_MAX_SPREAD_BITS = 5.0
# Preferred in this order when the data cannot tell, in bits of spread.
_HANDICAP = {"<f4": 0.0, "<f8": 0.5, "<f2": 1.0, ">f4": 1.5, ">f8": 2.0, ">f2": 2.5}


@dataclass(frozen=True)
class DetectedFormat:
    """A format and the sentence that says how it was found."""

    format: VectorFormat
    reason: str


def detect_format(values: Sequence[object]) -> DetectedFormat | None:
    """Find how the vectors of a column are written, from up to 256 of its values.

    Returns
    -------
    None when most values hold no vector in a known notation. Values that hold nothing are not looked at.
    """
    present = [value for value in values if not is_missing(value)]
    sample = present[:: max(1, -(-len(present) // _SAMPLE))]
    if not sample:
        return None
    notation, n = Counter(_notation(value) for value in sample).most_common(1)[0]
    if notation is None or 2 * n <= len(sample):
        return None
    if notation not in (Notation.BYTES, Notation.BASE64):
        reason = say(
            "{n} of {sample} values looked at are written as {form}",
            n=n,
            sample=len(sample),
            form=notation.value,
        )
        return DetectedFormat(VectorFormat(notation), reason)
    blobs = [_raw(value) for value in sample if _notation(value) is notation]
    dtype, why = _float_type(blobs)
    if dtype is None:
        return None
    return DetectedFormat(VectorFormat(notation, dtype), why)


def _raw(value: object) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)) and not text_in(bytes(value)):
        return bytes(value)
    return unbase64(value if isinstance(value, str) else text_in(bytes(value)))  # type: ignore[call-overload]


def _notation(value: object) -> Notation | None:
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if isinstance(value, bytes):
        if is_pickle(value) or value.startswith(b"PK\x03\x04"):
            return None
        text = text_in(value)
        if text:
            return _notation(text)
        if not value.startswith(b"\x93NUMPY"):
            return Notation.BYTES
        tries: tuple[Notation, ...] = (Notation.NPY,)
    elif isinstance(value, str):
        tries = (Notation.JSON, Notation.COMMA, Notation.BASE64)
    else:
        tries = (Notation.LIST,)
    for notation in tries:
        try:
            vector = read_vector(value, VectorFormat(notation, "<f4"))
        except NotAVectorError:
            continue
        if len(vector) >= (_LEAST_BASE64_FLOATS if notation is Notation.BASE64 else 2):
            return notation
    return None


def _float_type(blobs: list[bytes]) -> tuple[str | None, str]:
    """Choose the type under which the bytes are numbers of one size, unit length being the best sign."""
    best: tuple[float, str] | None = None
    all_zero = not any(any(blob) for blob in blobs)
    if all_zero:
        return "<f4", say("taken as float32 little-endian: every byte is zero, so the data cannot tell")
    for dtype, handicap in _HANDICAP.items():
        size = np.dtype(dtype).itemsize
        whole = [blob for blob in blobs if blob and len(blob) % size == 0 and any(blob)]
        if not whole or 2 * len(whole) <= sum(map(any, blobs)):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            vectors = [np.frombuffer(blob, dtype=dtype).astype(np.float64) for blob in whole]
            n_unit = sum(abs(float(np.sqrt(vector @ vector)) - 1.0) < 0.01 for vector in vectors)
        if 2 * n_unit > len(vectors):
            return dtype, say(
                "read as {type}: {n_unit} of {n} vectors looked at then have length 1",
                type=DTYPE_NAMES[dtype],
                n_unit=n_unit,
                n=len(vectors),
            )
        spread = _spread_bits(np.concatenate(vectors), vectors)
        if spread is not None and (best is None or spread + handicap < best[0]):
            best = (spread + handicap, dtype)
    if best is None or best[0] > _MAX_SPREAD_BITS:
        return None, ""
    return best[1], say(
        "read as {type}: only then are the numbers of one size (not of length 1)", type=DTYPE_NAMES[best[1]]
    )


def _spread_bits(numbers: npt.NDArray[np.float64], vectors: list[npt.NDArray[np.float64]]) -> float | None:
    """Give the standard deviation of log2 of the sizes, worsened by what is not finite.

    None where the type cannot be right.
    """
    if all(len(vector) % 2 == 0 for vector in vectors):
        even, odd = numbers[::2] != 0, numbers[1::2] != 0
        # Every other number is zero: halves of wider floats that have few digits, or of integers.
        if min(even.mean(), odd.mean()) < 0.02 and max(even.mean(), odd.mean()) > 0.25:
            return None
    finite = np.isfinite(numbers)
    sizes = np.abs(numbers[finite & (numbers != 0)])
    # Integers read as floats are of one size too, but of an absurd one.
    if not sizes.size or not 1e-6 < float(np.median(sizes)) < 1e6:
        return None
    return float(np.log2(sizes).std() + 10.0 * (1.0 - finite.mean()))
