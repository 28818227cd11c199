"""What of a text an encoder reads: its window in characters or tokens, and the tokens it has no word for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memaudit.encoders.tokens import Tokenizer
from memaudit.text import cjk_share, is_blank

#: Share of Chinese, Japanese or Korean letters from which on a row counts as one of these languages: a word of five
#: Latin letters says as much as two Han characters.
CJK_SHARE = 0.15
#: Above this share of unknown tokens the cosines of a script's rows are withheld (ruling).
MAX_UNKNOWN_SHARE = 0.10


# -- scripts ------------------------------------------------------------------------------------


def cjk_rows(texts: Sequence[str], min_share: float = CJK_SHARE) -> tuple[int, ...]:
    """Return numbers of the rows in Chinese, Japanese or Korean: at least `min_share` of the letters."""
    return tuple(i for i, text in enumerate(texts) if cjk_share(text) >= min_share)


def unknown_share(texts: Sequence[str], tokenizer: Tokenizer) -> float | None:
    """Return the share of unknown tokens over all texts; None without tokens."""
    n_tokens = n_unknown = 0
    for text in texts:
        tokens = tokenizer.tokens(text)
        n_tokens += len(tokens)
        n_unknown += sum(token.unknown for token in tokens)
    return n_unknown / n_tokens if n_tokens else None


def rows_to_withhold(
    texts: Sequence[str], tokenizer: Tokenizer, max_unknown_share: float = MAX_UNKNOWN_SHARE
) -> tuple[int, ...]:
    """Return the rows whose cosines mean nothing, because the encoder has no words for their script.

    Parameters
    ----------
    texts
        Texts as embedded.
    max_unknown_share
        Above this share of unknown tokens over all rows of a script its rows are withheld.

    Returns
    -------
    Row numbers, ascending; Chinese, Japanese and Korean are one script here and all others another.
    """
    cjk = set(cjk_rows(texts))
    others = [i for i, text in enumerate(texts) if i not in cjk and not is_blank(text)]
    withheld: list[int] = []
    for rows in (sorted(cjk), others):
        share = unknown_share([texts[i] for i in rows], tokenizer)
        if share is not None and share > max_unknown_share:
            withheld += rows
    return tuple(sorted(withheld))


# -- the window ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """How much of the texts an encoder reads.

    Parameters
    ----------
    over
        Row numbers of the texts that are longer than the window.
    chars, chars_lost
        Characters of all embedded texts, and those beyond the window.
    content_chars, content_reaching
        Characters of the memories themselves, and those within the window; rows whose memory was not found in its
        embedded text take no part.
    nothing_reaching
        Row numbers with a memory of which no character is within the window.
    not_found
        Row numbers whose memory was not found in the embedded text.
    distinct_visible
        Different texts after the cut.
    """

    over: tuple[int, ...]
    chars: int
    chars_lost: int
    content_chars: int
    content_reaching: int
    nothing_reaching: tuple[int, ...]
    not_found: tuple[int, ...]
    distinct_visible: int


def visible_chars(limit_chars: int) -> Callable[[str], int]:
    """Return a function that gives the characters of a text within a window of characters."""
    return lambda text: min(len(text), limit_chars)


def visible_by_tokens(tokenizer: Tokenizer, limit_tokens: int) -> Callable[[str], int]:
    """Return a function that gives the characters of a text within a window of tokens, special ones included."""
    room = max(0, limit_tokens - tokenizer.n_special)

    def visible(text: str) -> int:
        tokens = tokenizer.tokens(text)
        if len(tokens) <= room:
            return len(text)
        return tokens[room - 1].end if room else 0

    return visible


def reach(embedded: Sequence[str], contents: Sequence[str], visible: Callable[[str], int]) -> Reach:
    """Measure what of the texts reaches an encoder.

    Parameters
    ----------
    embedded
        Text of each row as it is handed to the encoder.
    contents
        The memory itself; blank where there is none. It is looked for in the embedded text, from the end.
    visible
        Characters of a text within the window.
    """
    over, nothing, not_found = [], [], []
    chars = lost = content_chars = reaching = 0
    seen = set()
    for row, (text, content) in enumerate(zip(embedded, contents, strict=True)):
        n = visible(text)
        seen.add(text[:n])
        chars += len(text)
        if n < len(text):
            over.append(row)
            lost += len(text) - n
        if is_blank(content):
            continue
        start, length = _place(text, content)
        if start < 0:
            not_found.append(row)
            continue
        content_chars += length
        read = max(0, min(length, n - start))
        reaching += read
        if not read:
            nothing.append(row)
    return Reach(
        tuple(over), chars, lost, content_chars, reaching, tuple(nothing), tuple(not_found), len(seen)
    )  # fmt: skip


def _place(text: str, content: str) -> tuple[int, int]:
    """Return where a memory begins in its embedded text and its length; (-1, 0) when it is not there."""
    for wanted in (content, content.strip()):
        start = text.rfind(wanted)
        if start >= 0:
            return start, len(wanted)
    # The store may hold the embedded text as it was cut: then its end is the beginning of the memory.
    head = content.strip()[:40]
    start = text.rfind(head) if len(head) == 40 else -1
    if start >= 0 and content.strip().startswith(text[start:].rstrip()):
        return start, len(content.strip())
    return -1, 0
