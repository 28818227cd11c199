"""Find the encoding of a text file by its bytes."""

from __future__ import annotations

import codecs
from pathlib import Path

_BLOCK = 1 << 20


def find_encoding(path: Path) -> str:
    """Return the encoding of a text file: a byte order mark, else UTF-8, else GB18030.

    Bytes that are no UTF-8 decide for GB18030 only when they outnumber the characters that are, and when the whole
    file is valid GB18030: one broken byte in a UTF-8 file does not turn it into another encoding.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    # Without a mark: ASCII in UTF-16 has a zero in every second byte.
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > 0.4 * len(head) / 2 and min(even, odd) < 0.1 * max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    good, bad = _utf8_characters(path)
    if bad > good and _decodes(path, "gb18030"):
        return "gb18030"
    return "utf-8"


def _utf8_characters(path: Path) -> tuple[int, int]:
    """Count the characters beyond ASCII that are UTF-8, and the bytes that are not."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    good = bad = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            text = decoder.decode(block)
            if text.isascii():
                continue
            escapes = sum("\udc80" <= c <= "\udcff" for c in text)
            bad += escapes
            good += sum(c > "\x7f" for c in text) - escapes
    return good, bad


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
