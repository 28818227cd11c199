"""What of a text an encoder reads: its window in characters or tokens, and the tokens it has no word for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from memaudit.errors import EncoderError
from memaudit.text import cjk_share, is_blank

#: Share of Chinese, Japanese or Korean letters from which on a row counts as one of these languages: a word of five
#: Latin letters says as much as two Han characters.
CJK_SHARE = 0.15
#: Above this share of unknown tokens the cosines of a script's rows are withheld (ruling).
MAX_UNKNOWN_SHARE = 0.10


@dataclass(frozen=True)
class Token:
    """A token: the characters `start` to `end` of the text, and whether the encoder has no word for them."""

    start: int
    end: int
    unknown: bool


class Tokenizer(Protocol):
    """What cuts a text for an encoder.

    Attributes
    ----------
    name
        As shown on the page.
    max_tokens
        Tokens of a text that the encoder reads, special ones included; None when not known.
    n_special
        Special tokens that are added to every text.
    """

    name: str
    max_tokens: int | None
    n_special: int

    def tokens(self, text: str) -> Sequence[Token]:
        """Cut one text, without special tokens and without cutting it off."""
        ...


class FileTokenizer:
    """The tokenizer that lies beside a model as `tokenizer.json`.

    Raises
    ------
    EncoderError
        No such file, a file that cannot be read, or the package `tokenizers` is not installed.
    """

    def __init__(self, folder: Path, name: str) -> None:
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise EncoderError(f"model {name} has no tokenizer.json, so its tokens cannot be looked at.")
        try:
            package = import_module("tokenizers")
        except ImportError as error:
            raise EncoderError(
                f"the tokens of {name} need the package tokenizers, which is not installed ({error}).",
                "Install agent-memaudit[sentence-transformers].",
            ) from error
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            self._tokenizer: Any = package.Tokenizer.from_file(str(path))
        except Exception as error:  # the package raises plain Exception for a file it cannot read
            raise EncoderError(f"the tokenizer of {name} cannot be read: {error}.") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = name
        self.n_special = int(self._tokenizer.num_special_tokens_to_add(False))
        self.max_tokens = _max_tokens(folder)
        self._unknown = _unknown_token(data.get("model", {}))

    def tokens(self, text: str) -> list[Token]:
        """Cut one text; see :class:`Tokenizer`."""
        readable = text.encode("utf-8", "replace").decode("utf-8")
        found = self._tokenizer.encode(readable, add_special_tokens=False)
        return [
            Token(int(start), int(end), token == self._unknown)
            for token, (start, end) in zip(found.tokens, found.offsets, strict=True)
        ]


def _unknown_token(model: Any) -> str | None:
    """Return the token that stands for everything unknown; None for a tokenizer that knows every byte."""
    if not isinstance(model, dict):
        return None
    if isinstance(model.get("unk_token"), str):
        return str(model["unk_token"])
    number, words = model.get("unk_id"), model.get("vocab")
    if isinstance(number, int) and isinstance(words, list) and 0 <= number < len(words):
        return str(words[number][0])
    return None


def _max_tokens(folder: Path) -> int | None:
    try:
        length = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8")).get("max_seq_length")
    except (OSError, ValueError, AttributeError):
        return None
    return length if isinstance(length, int) and length > 0 else None


def tokenizer_of(encoder: str | None) -> Tokenizer | None:
    """Return the tokenizer of a named sentence-transformers model.

    Parameters
    ----------
    encoder
        The configuration's word; None, "stored" and "embedded" name no such model.

    Returns
    -------
    None where no model is named.

    Raises
    ------
    EncoderError
        The model is not on this disk, or its tokenizer cannot be used.
    """
    if encoder in (None, "stored", "embedded"):
        return None
    from memaudit.encoders.model_folders import find_model

    found = find_model(str(encoder))
    if found is None:
        raise EncoderError(f"model {encoder} is not on this disk.", "Give --encoder FOLDER.")
    return FileTokenizer(found.folder, found.name)


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
