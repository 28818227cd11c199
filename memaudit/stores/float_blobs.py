"""Write lists of numbers the way our readers store vectors."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any


def float32_blob(numbers: Sequence[Any]) -> bytes:
    """Return numbers as float32 little-endian bytes.

    What is no number, or too large for float32, is returned as JSON text, so that the audit of vectors counts the row
    as malformed instead of missing.
    """
    try:
        return struct.pack(f"<{len(numbers)}f", *numbers)
    except (struct.error, OverflowError, TypeError):
        return json.dumps(list(numbers), default=str).encode()
