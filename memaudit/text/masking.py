"""Mask secrets and personal numbers in text that is shown: no output of an audit may spread what it warns of."""

from __future__ import annotations

from memaudit.text.credentials import credentials
from memaudit.text.personal_numbers import personal_numbers
from memaudit.wording import say

#: Characters that stay readable, so that the owner knows which key is meant; none of a short value.
SHOWN_CHARS = 3
#: A value needs this length for its beginning to be shown: three of seven characters would be half of a password.
MIN_CHARS_TO_SHOW = 12


def masked(text: str) -> str:
    """Return the text with every credential and personal number masked.

    Parameters
    ----------
    text
        Any text, whole: a key that was cut before is not recognised any more, so mask first and cut then.

    Returns
    -------
    Each value as its first three characters (none below twelve) and its length: `ghp***[40 characters]`. Text without
    secrets comes back as it is; masking twice changes nothing.
    """
    if len(text) < 4:
        return text
    spans = credentials(text)
    spans += [p for p in personal_numbers(text) if all(p.end <= s.start or p.start >= s.end for s in spans)]
    parts, end = [], 0
    for span in sorted(spans, key=lambda s: s.start):
        parts += [text[end : span.start], masked_value(text[span.start : span.end])]
        end = span.end
    return "".join([*parts, text[end:]]) if spans else text


def masked_value(value: str) -> str:
    """Return what may be shown of a secret."""
    shown = value[:SHOWN_CHARS] if len(value) >= MIN_CHARS_TO_SHOW else ""
    return shown + "***" + say("[{n} characters]", n=len(value))
