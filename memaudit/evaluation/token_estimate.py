"""Tokens of a text, estimated where the model's own tokenizer is not at hand."""

from __future__ import annotations

import re

from memaudit.text.scripts import HAN, KANA_AND_HANGUL

_EAST_ASIAN = re.compile(f"[{HAN}{KANA_AND_HANGUL}]")
#: Characters of other scripts that make one token on average.
_CHARS_PER_TOKEN = 4


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for each Han, kana or Hangul character, one for four others; 0 if empty.

    Notes
    -----
    A rule of thumb, some tens of per cent off in either direction; say "about" beside it.
    """
    n_han = len(_EAST_ASIAN.findall(text))
    return n_han + -(-(len(text) - n_han) // _CHARS_PER_TOKEN)
