"""Pure functions on texts, Chinese and English alike: normal form, script, blankness, details.

Details in which two texts differ are found in :mod:`memaudit.text.details` and re-exported here.
"""

from __future__ import annotations

import re
import unicodedata

from memaudit.text.details import KINDS, Details, detail_differences, details, differ_in_digits
from memaudit.text.scripts import HAN, HAN_CHARACTER, KANA_AND_HANGUL

__all__ = [
    "KINDS",
    "Details",
    "cjk_share",
    "detail_differences",
    "details",
    "differ_in_digits",
    "is_blank",
    "is_placeholder",
    "language",
    "normalised",
    "words",
]

_LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-ÿĀ-ɏ]")
_KANA_OR_HANGUL = re.compile(f"[{KANA_AND_HANGUL}]")
#: Han characters one by one, everything else by words of letters and digits.
_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")
#: Characters that take no room and carry no meaning alone.
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f"

#: What a program writes where a value is missing; the whole text, whatever its case.
_PLACEHOLDER = re.compile(
    r"null|none|nil|undefined|nan|n/?a|\[object object\]|\(?empty\)?|<(?:empty|null|none)>"
    r"|\[?(?:no|missing) (?:content|text|data|value)\]?|loading(?: content)?(?:\.\.\.|…)?"
    r"|无|暂无|空|无内容|暂无内容|\(空\)|（空）"
    r"|\"\s*\"|'\s*'|``|“”|\{\s*\}|\[\s*\]|\[\s*\{\s*\}\s*\]|\(\s*\)|<>"
    # A hole of a template that nobody filled.
    r"|\{\{\s*[\w.]+\s*\}\}|\$?\{[\w.]+\}|<%=?\s*[\w.]+\s*%>|%s|%\(\w+\)s|\$\w+"
    r"|[-–—_.…?？*·,，。:：;；/\\|]+",
    re.IGNORECASE,
)


def normalised(text: str) -> str:
    """Return the text with case and white space folded: what makes two texts "the same but for case and space".

    Canonical equivalents (é as one or two code points) become equal. Compatibility forms do not: `x²` is
    not `x2`, and a full-width letter is another character. Case is lowered, not folded: `Maße` is not `Masse`.
    """
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def is_blank(text: str) -> bool:
    """Say whether nothing of the text can be seen: empty, white space or zero-width characters only."""
    return not text.strip().strip(_INVISIBLE + " \t\r\n\x00").strip()


def is_placeholder(text: str) -> bool:
    """Say whether the whole text stands for a missing value: `null`, `[object Object]`, `{name}`, ..."""
    return len(text) < 200 and _PLACEHOLDER.fullmatch(text.strip()) is not None


def words(text: str) -> list[str]:
    """Split into words, lower case; each Han character is a word of its own."""
    return _WORD.findall(text.lower())


def cjk_share(text: str) -> float:
    """Return the share of Han, kana and Hangul among the letters; 0.0 for a text without letters."""
    n_letters = sum(c.isalpha() for c in text)
    if not n_letters:
        return 0.0
    return min(1.0, (len(HAN_CHARACTER.findall(text)) + len(_KANA_OR_HANGUL.findall(text))) / n_letters)


def language(text: str) -> str:
    """Name the language by the letters alone: `zh`, `en`, `mixed` or `other`.

    Returns
    -------
    `zh` from 70 % Han letters, `en` for Latin letters with at most 10 % Han, `mixed` between; `other` without letters,
    or when a fifth of them or more are of another script (kana, Hangul, Cyrillic, ...).
    """
    n_letters = sum(c.isalpha() for c in text)
    n_han, n_latin = len(HAN_CHARACTER.findall(text)), len(_LATIN.findall(text))
    if not n_letters or n_letters - n_han - n_latin >= 0.2 * n_letters:
        return "other"
    share = n_han / n_letters
    if share >= 0.7:
        return "zh"
    return "en" if share <= 0.1 else "mixed"
