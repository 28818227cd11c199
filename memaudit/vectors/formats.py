"""How a vector is written in a store: the notations, and reading one value.

Nothing is ever unpickled: a pickle is refused by name. A `.npy` value is read from its header and its
bytes, without numpy's loader.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
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


#: Types of numbers in bytes, and their words.
DTYPE_NAMES = {
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
            return f"{DTYPE_NAMES[self.dtype]} bytes"
        if self.notation is Notation.BASE64:
            return f"base64 of {DTYPE_NAMES[self.dtype]} bytes"
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
    if width:
        return VectorFormat(Notation.BYTES, dtype)
    if re.search(r"\b(list|array)\b", text):
        return VectorFormat(Notation.LIST)
    raise ConfigError(
        say("embedding_format {declared} names no format of vectors.", declared=repr(declared)),
        say("Known: float32, float64 or float16 with little-endian or big-endian, JSON, pgvector, base64, comma, npy."),
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
    if isinstance(value, (bytes, bytearray, memoryview)) and is_pickle(bytes(value)):
        return _pickle_reason()
    return say("no known notation of vectors")


def _from_bytes(value: bytes, fmt: VectorFormat) -> NumberArray:
    if is_pickle(value):
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
        return _from_raw(unbase64(value), fmt.dtype)
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
    return np.array([_float(number) for number in numbers], dtype=np.float64)


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer of hundreds of digits, as `1e400` is read too
        return float("inf") if number > 0 else float("-inf")


def _from_separated(value: str) -> NumberArray:
    # Also what Postgres prints for an array, {1,2}, and numpy for a vector, [1. 2.].
    text = value.strip()
    if text[:1] + text[-1:] in ("[]", "{}", "()"):
        text = text[1:-1]
    parts = [part for part in re.split(r"[,;\s]+", text) if part]
    try:
        # float() would also read 1_000, which no program writes into a vector.
        numbers = [float(part) for part in parts if "_" not in part]
    except ValueError:
        numbers = []
    if not numbers or len(numbers) != len(parts):
        raise NotAVectorError(say("text that is no list of numbers"))
    return np.array(numbers, dtype=np.float64)


def unbase64(value: str) -> bytes:
    """Read base64 of either alphabet, padded or not."""
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


def is_pickle(value: bytes) -> bool:
    """Whether bytes are a pickle of protocol 2 to 5."""
    # A pickle of protocol 2 to 5 begins with its number and ends with a full stop. Floats can begin like
    # that by chance (one blob in 16,000), but do not end so: the last float would be about 1e-11.
    return len(value) > 3 and value[0] == 0x80 and 2 <= value[1] <= 5 and value[-1] == 0x2E


def text_in(value: bytes) -> str:
    """Give the text that bytes hold, "" for bytes that are none: numbers hold control characters."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if all(character.isprintable() or character.isspace() for character in text) else ""
