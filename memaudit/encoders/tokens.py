"""The tokenizer of a named encoder: where it cuts a text, and for which pieces it has no word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from memaudit.errors import EncoderError


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
