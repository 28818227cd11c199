"""Which words of a finished sentence are ours: a stored value that is one of them is not replaced there.

Our sentences are those of the catalogue with their fields filled. A value found inside the words between two fields,
with more of these words around it, was put there by us and not by the store.
"""

from __future__ import annotations

from functools import lru_cache
from string import Formatter

from memaudit.wording import catalogue_texts, current_language


def is_ours(sentence: str, at: int, text: str) -> bool:
    """Whether the text that begins at a place of a sentence belongs to the words of the catalogue around it."""
    return any(
        at >= offset and sentence.startswith(words, at - offset) for words, offset in _around(text, current_language())
    ) or (len(sentence) == len(text) and text in _whole(current_language()))


@lru_cache(maxsize=4096)
def _around(text: str, lang: str) -> tuple[tuple[str, int], ...]:
    """Return the words that hold a text and more than it, with the text's place in them."""
    found = []
    for words in _between_fields(lang):
        offset = words.find(text)
        while offset >= 0:
            if len(words.strip()) > len(text):
                found.append((words, offset))
            offset = words.find(text, offset + 1)
    return tuple(found)


@lru_cache(maxsize=2)
def _between_fields(lang: str) -> tuple[str, ...]:
    """Return what stands between the fields of every sentence; a counted noun with the digit before it."""
    sentences, counted = catalogue_texts(lang)
    pieces = {literal for text in sentences for literal, *_ in Formatter().parse(text) if literal.strip()}
    pieces |= {f"{digit}{noun}" for noun in counted for digit in "0123456789"}
    return tuple(sorted(pieces))


@lru_cache(maxsize=2)
def _whole(lang: str) -> frozenset[str]:
    """Return the sentences and words without a field."""
    return frozenset(catalogue_texts(lang)[0])
