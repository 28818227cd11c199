"""How many tokens a text is, by a tokenizer that is here and can be named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memaudit.encoders.tokens import tokenizer_of
from memaudit.errors import EncoderError

#: A row of megabytes must not take the audit down: beyond this the rest is taken to be like what was counted.
MAX_CHARS = 20_000


@dataclass(frozen=True)
class TokenCounter:
    """Counts tokens.

    Parameters
    ----------
    name
        The tokenizer as shown on the page.
    tokens_in
        Tokens of a text of at most `MAX_CHARS` characters, special ones not counted.
    """

    name: str
    tokens_in: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return the tokens of a text; of one over `MAX_CHARS` characters, as many as its beginning lets expect."""
        if not text.strip():  # some tokenizers make a token of the beginning of nothing
            return 0
        if len(text) <= MAX_CHARS:
            return self.tokens_in(text)
        return round(self.tokens_in(text[:MAX_CHARS]) * len(text) / MAX_CHARS)


def token_counter(encoder: str | None) -> TokenCounter:
    """Give the tokenizer of a named model when it is on this disk, else that of the encoder that is built in.

    Parameters
    ----------
    encoder
        The configuration's word, None where nobody named one.

    Raises
    ------
    EncoderError
        Neither is here.
    """
    try:
        named = tokenizer_of(encoder)
    except EncoderError:
        named = None
    if named is not None:
        own = named
        return TokenCounter(own.name, lambda text: len(own.tokens(text)))
    from memaudit.encoders.embedded import built_in_tokenizer

    tokens_of = built_in_tokenizer()
    return TokenCounter("Universal Sentence Encoder multilingual v3", lambda text: len(tokens_of(text)))
