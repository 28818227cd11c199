"""Row keys as 64-bit marks: enough to count rows added and removed, and nothing that can be read back."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

#: Beyond this many rows no keys are kept (8 bytes each), and only counts are compared.
MAX_ROWS = 500_000


def marks(keys: Iterable[Any]) -> frozenset[int] | None:
    """Return one 64-bit mark a key, None beyond `MAX_ROWS` keys.

    The key 1 and the key "1" have different marks. Equal keys have one mark, so rows that share a key count once.
    """
    made = set()
    for n, key in enumerate(keys, 1):
        if n > MAX_ROWS:
            return None
        text = f"{type(key).__name__}:{json.dumps(key, default=str)}"
        made.add(int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "little"))
    return frozenset(made)


def packed(found: frozenset[int]) -> bytes:
    """Pack marks for the archive."""
    return zlib.compress(struct.pack(f"<{len(found)}Q", *sorted(found)), 1)


def unpacked(data: bytes) -> frozenset[int]:
    """Give the marks of :func:`packed` back."""
    raw = zlib.decompress(data)
    return frozenset(struct.unpack(f"<{len(raw) // 8}Q", raw))
