"""How a vector is written in a store: read one value, and find the format by looking at the data.

Nothing is ever unpickled: a pickle is refused by name. A `.npy` value is read from its header and its
bytes, without numpy's loader.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.errors import ConfigError
from memaudit.wording import say

NumberArray = npt.NDArray[Any]


class Notation(str, Enum):
    """The outer form of a stored vector."""

    BYTES = "bytes"
    JSON = "JSON list"
    COMMA = "numbers in text"
    BASE64 = "base64"
    NPY = "npy"
    LIST = "list of numbers"


_DTYPE_NAMES = {
    "<f4": "float32 little-endian",
    ">f4": "float32 big-endian",
    "<f8": "float64 little-endian",
    ">f8": "float64 big-endian",
    "<f2": "float16 little-endian",
    ">f2": "float16 big-endian",
}


@dataclass(frozen=True)
class VectorFormat:
    """A notation and, for bytes and base64, the numbers' type as numpy writes it (`<f4`)."""

    notation: Notation
    dtype: str = ""

    @property
    def label(self) -> str:
        """The words of the report: `float32 little-endian bytes`."""
        if self.notation is Notation.BYTES:
            return f"{_DTYPE_NAMES[self.dtype]} bytes"
        if self.notation is Notation.BASE64:
            return f"base64 of {_DTYPE_NAMES[self.dtype]} bytes"
        return str(self.notation.value)


class NotAVectorError(ValueError):
    """One value that does not hold a vector; the message is the reason shown to the reader."""


def parse_format(declared: str) -> VectorFormat:
    """Read the words of a declared format (`float32 little-endian BLOB`, `JSON`, `base64`, `pgvector`).

    Raises
    ------
    ConfigError
        No known notation or number type is named.
    """
    text = declared.lower()
    width = re.search(r"float\s*_?(16|32|64)|\bf(16|32|64)\b|\bf([248])\b|(half|single|double|fp(16|32|64))", text)
    size = "f4"
    if width:
        found = next(group for group in width.groups() if group)
        size = {"16": "f2", "2": "f2", "half": "f2", "fp16": "f2"}.get(found, size)
        size = {"64": "f8", "8": "f8", "double": "f8", "fp64": "f8"}.get(found, size)
    dtype = (">" if re.search(r"big|\bbe\b|network|>", text) else "<") + size
    if "base64" in text or "b64" in text:
        return VectorFormat(Notation.BASE64, dtype)
    if "json" in text or "pgvector" in text:
        return VectorFormat(Notation.JSON)
    if re.search(r"comma|csv|separated", text):
        return VectorFormat(Notation.COMMA)
    if "npy" in text or "numpy" in text:
        return VectorFormat(Notation.NPY)
    if re.search(r"\b(list|array)\b", text):
        return VectorFormat(Notation.LIST)
    if width:
        return VectorFormat(Notation.BYTES, dtype)
    raise ConfigError(
        f"embedding_format {declared!r} names no format of vectors.",
        "Known: float32, float64 or float16 with little-endian or big-endian, JSON, pgvector, base64, comma, npy.",
    )


def is_missing(value: object) -> bool:
    """Whether a stored value holds no vector at all: NULL, nothing, blanks, `null`, an empty list."""
    if value is None:
        return True
    if isinstance(value, float):
        return value != value  # a missing value as pandas writes it
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value)
        return not value or (len(value) <= 8 and value.strip().lower() in (b"", b"null", b"[]"))
    if isinstance(value, str):
        return value.strip().lower() in ("", "null", "none", "nan", "[]", "{}")
    return isinstance(value, (list, tuple, np.ndarray)) and len(value) == 0


def read_vector(value: object, fmt: VectorFormat) -> NumberArray:
    """Read one stored value.

    Returns
    -------
    (d,) array of floats as stored, d >= 1; may hold NaN and infinities.

    Raises
    ------
    NotAVectorError
        With the reason.
    """
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if isinstance(value, bytes):
        return _from_bytes(value, fmt)
    if isinstance(value, str):
        return _from_text(value, fmt)
    if isinstance(value, (list, tuple, np.ndarray)):
        return _from_numbers(value)  # a reader that already gives numbers is believed
    raise NotAVectorError(say("a value of type {type} where a vector was expected", type=type(value).__name__))


def why_unreadable(value: object) -> str:
    """Say why a value is no vector when no format was found for its column."""
    if isinstance(value, (bytes, bytearray, memoryview)) and _is_pickle(bytes(value)):
        return _pickle_reason()
    return say("no known notation of vectors")


def _from_bytes(value: bytes, fmt: VectorFormat) -> NumberArray:
    if _is_pickle(value):
        raise NotAVectorError(_pickle_reason())
    if fmt.notation is Notation.NPY or value.startswith(b"\x93NUMPY"):
        return _from_npy(value)
    if fmt.notation is Notation.BYTES:
        return _from_raw(value, fmt.dtype)
    try:
        return _from_text(value.decode("utf-8"), fmt)
    except UnicodeDecodeError:
        raise NotAVectorError(say("bytes where {format} was expected", format=fmt.label)) from None


def _from_text(value: str, fmt: VectorFormat) -> NumberArray:
    if fmt.notation is Notation.JSON or (fmt.notation is Notation.LIST and value.lstrip().startswith("[")):
        return _from_json(value)
    if fmt.notation is Notation.COMMA:
        return _from_separated(value)
    if fmt.notation is Notation.BASE64:
        return _from_raw(_unbase64(value), fmt.dtype)
    raise NotAVectorError(say("text where {format} was expected", format=fmt.label))


def _from_raw(value: bytes, dtype: str) -> NumberArray:
    size = np.dtype(dtype).itemsize
    if len(value) % size:
        raise NotAVectorError(say("{n} bytes, which is no whole number of {size}-byte floats", n=len(value), size=size))
    return np.frombuffer(value, dtype=dtype)


def _from_json(value: str) -> NumberArray:
    try:
        numbers = json.loads(value)
    except (ValueError, RecursionError):
        raise NotAVectorError(say("text that is no JSON list of numbers")) from None
    if not isinstance(numbers, list):
        raise NotAVectorError(say("JSON that is no list of numbers"))
    return _from_numbers(numbers)


def _from_numbers(numbers: Sequence[Any] | NumberArray) -> NumberArray:
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "fiu":
        array = numbers.reshape(-1) if numbers.ndim == 2 and len(numbers) == 1 else numbers
        if array.ndim != 1:
            raise NotAVectorError(say("a table of numbers where one vector was expected"))
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)):
        numbers = numbers[0]  # [[...]]: one vector in a batch of one
    if not len(numbers):
        raise NotAVectorError(say("an empty list"))
    for number in numbers:
        if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, float, np.number)):
            raise NotAVectorError(say("a list that holds something other than numbers"))
    try:
        return np.array([float(number) for number in numbers], dtype=np.float64)
    except (OverflowError, TypeError):
        raise NotAVectorError(say("a number that no float can hold")) from None


def _from_separated(value: str) -> NumberArray:
    # Also what Postgres prints for an array, {1,2}, and numpy for a vector, [1. 2.].
    parts = [part for part in re.split(r"[,;\s]+", value.strip().strip("[](){}").strip()) if part]
    try:
        # float() would also read 1_000, which no program writes into a vector.
        numbers = [float(part) for part in parts if "_" not in part]
    except ValueError:
        numbers = []
    if not numbers or len(numbers) != len(parts):
        raise NotAVectorError(say("text that is no list of numbers"))
    return np.array(numbers, dtype=np.float64)


def _unbase64(value: str) -> bytes:
    text = "".join(value.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise NotAVectorError(say("text that is not base64")) from None


def _from_npy(value: bytes) -> NumberArray:
    # np.load would allocate whatever size the header claims; the header is checked against the bytes instead.
    stream = io.BytesIO(value)
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise NotAVectorError(say("bytes that are no readable npy file")) from None
    if dtype.kind not in "fiu":
        raise NotAVectorError(say("an npy file without numbers (type {dtype})", dtype=str(dtype)))
    rest = value[stream.tell() :]
    lengths = [length for length in shape if length != 1]
    count = lengths[0] if lengths else 1
    if len(lengths) > 1 or count * dtype.itemsize != len(rest) or not count:
        raise NotAVectorError(say("an npy file that does not hold one vector"))
    array = np.frombuffer(rest, dtype=dtype)
    return array if dtype.kind == "f" else array.astype(np.float64)


def _pickle_reason() -> str:
    return say("a pickle, which is never opened: reading one runs code of the store")


def _is_pickle(value: bytes) -> bool:
    # A pickle of protocol 2 to 5 begins with its number and ends with a full stop. Floats can begin like
    # that by chance (one blob in 16,000), but do not end so: the last float would be about 1e-11.
    return len(value) > 3 and value[0] == 0x80 and 2 <= value[1] <= 5 and value[-1] == 0x2E


# --- finding the format -------------------------------------------------------------------------------

_SAMPLE = 256
# Shorter base64 is more likely a word or a key than a vector.
_LEAST_BASE64_FLOATS = 8
# Bits: how far the sizes of the numbers may spread. Real embeddings spread over 1.5-3 bits (standard
# deviation of log2), bytes read as the wrong type over 10 and more.
_MAX_SPREAD_BITS = 8.0
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
    if isinstance(value, (bytes, bytearray, memoryview)) and not _as_text(bytes(value)):
        return bytes(value)
    return _unbase64(value if isinstance(value, str) else _as_text(bytes(value)))  # type: ignore[call-overload]


def _as_text(value: bytes) -> str:
    """Give the text that bytes hold, "" for bytes that are none: numbers hold control characters."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if all(character.isprintable() or character.isspace() for character in text) else ""


def _notation(value: object) -> Notation | None:
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if isinstance(value, bytes):
        if _is_pickle(value) or value.startswith(b"PK\x03\x04"):
            return None
        if value.startswith(b"\x93NUMPY"):
            return Notation.NPY
        text = _as_text(value)
        return _notation(text) if text else Notation.BYTES
    in_text = (Notation.JSON, Notation.COMMA, Notation.BASE64)
    for notation in in_text if isinstance(value, str) else (Notation.LIST,):
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
        vectors = [np.frombuffer(blob, dtype=dtype).astype(np.float64) for blob in whole]
        with np.errstate(over="ignore", invalid="ignore"):
            n_unit = sum(abs(float(np.sqrt(vector @ vector)) - 1.0) < 0.01 for vector in vectors)
        if 2 * n_unit > len(vectors):
            return dtype, say(
                "read as {type}: {n_unit} of {n} vectors looked at then have length 1",
                type=_DTYPE_NAMES[dtype],
                n_unit=n_unit,
                n=len(vectors),
            )
        spread = _spread_bits(np.concatenate(vectors), vectors)
        if spread is not None and (best is None or spread + handicap < best[0]):
            best = (spread + handicap, dtype)
    if best is None or best[0] > _MAX_SPREAD_BITS:
        return None, ""
    return best[1], say(
        "read as {type}: only then are the numbers of one size (not of length 1)", type=_DTYPE_NAMES[best[1]]
    )


def _spread_bits(numbers: npt.NDArray[np.float64], vectors: list[npt.NDArray[np.float64]]) -> float | None:
    """Give the standard deviation of log2 of the sizes, worsened by what is not finite.

    None where the type cannot be right.
    """
    if all(len(vector) % 2 == 0 for vector in vectors):
        even, odd = numbers[::2] != 0, numbers[1::2] != 0
        # Every other number is zero: the halves of wider floats that have few digits.
        if min(even.mean(), odd.mean()) < 0.1 and max(even.mean(), odd.mean()) > 0.9:
            return None
    finite = np.isfinite(numbers)
    sizes = np.abs(numbers[finite & (numbers != 0)])
    # Integers read as floats are of one size too, but of an absurd one.
    if not sizes.size or not 1e-6 < float(np.median(sizes)) < 1e6:
        return None
    return float(np.log2(sizes).std() + 10.0 * (1.0 - finite.mean()))
