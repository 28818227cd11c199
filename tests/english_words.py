"""What betrays an English sentence of ours in a Chinese text."""

from __future__ import annotations

import re

#: Words that only an untranslated sentence of ours brings onto a page: none is an identifier, a kind or a code.
ENGLISH = re.compile(
    r"\b(the|of|is|are|was|were|and|with|that|this|which|what|how|from|each|every|not|none|only|because|found|given|"
    r"rows?|values?|queries|memories|clusters|findings?|probes?|measured|checked|holds?|stands?|looked|missing)\b",
    re.IGNORECASE,
)
