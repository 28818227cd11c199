"""Terms that a person would type: read from a file, or taken from the texts; where they stand, what cleaning leaves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memaudit.errors import ConfigError
from memaudit.text.scripts import HAN, KANA_AND_HANGUL
from memaudit.wording import say, unread

_CJK = re.compile(f"[{HAN}{KANA_AND_HANGUL}]")
_HAN_RUN = re.compile(f"[{HAN}]+")
_IDENTIFIER = re.compile(r"[A-Za-z]+[-_]?\d[\w.-]*\w|\w+[-_]\d+|[A-Za-z]\d+")
_LATIN_WORD = re.compile(r"[A-Za-z]{4,}")
_KEYS = ("term", "text", "query", "keyword", "word", "q")
#: Characters that belong to none of the words of a language.
_FUNCTION = frozenset(
    "的了是在和与及或不也都就而被把将对从到这那有没很要会能可以及其之所为于上下中个们我你他她它吗呢吧"
)


def has_cjk(text: str) -> bool:
    """Say whether a text holds a Chinese, Japanese or Korean character."""
    return _CJK.search(text) is not None


def read_terms(path: Path) -> tuple[str, ...]:
    """Read search terms, one a line: a JSON object with `term` (or `text`, `query`, `keyword`, `word`), or a JSON text.

    Returns
    -------
    Each term once, in the order of the file.

    Raises
    ------
    ConfigError
        The file cannot be read, or a line has neither form; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("terms: cannot read {name}: {error}.", name=path.name, error=unread(error))) from None
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            entry = next((entry[key] for key in _KEYS if isinstance(entry.get(key), str)), None)
        if not isinstance(entry, str) or not entry.strip():
            raise ConfigError(
                say("terms: line {number} of {name} holds no term.", number=str(number), name=path.name),
                say('The form is {{"term": "..."}}.'),
            )
        found.append(entry.strip())
    return tuple(dict.fromkeys(found))


def rows_with(term: str, texts: Sequence[str]) -> tuple[int, ...]:
    """Return the rows in which a term stands, whatever its case.

    A term that begins or ends with a Latin letter or digit must begin or end a word there: `rm` does not stand in
    `format`. Chinese has no such borders.
    """
    left = r"(?<![A-Za-z0-9])" if term[:1].isascii() and term[:1].isalnum() else ""
    right = r"(?![A-Za-z0-9])" if term[-1:].isascii() and term[-1:].isalnum() else ""
    pattern = re.compile(left + re.escape(term) + right, re.IGNORECASE)
    return tuple(i for i, text in enumerate(texts) if pattern.search(text))


def loses_digits(term: str, cleaned: str) -> bool:
    """Say whether cleaning took a digit from a term."""
    digits = [c for c in term if c.isdigit()]
    left = Counter(c for c in cleaned if c.isdigit())
    return bool(Counter(digits) - left)


def terms_of(texts: Sequence[str], most: int = 25) -> tuple[str, ...]:
    """Take terms from the texts themselves: pairs of Han characters, identifiers with digits, and Latin words.

    Parameters
    ----------
    most
        Of each kind, the most frequent ones that stand in at most half of the rows.

    Returns
    -------
    In that order; empty for texts without any. Pairs that hold a grammatical character are left out.
    """
    pairs: Counter[str] = Counter()
    identifiers: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for text in texts:
        here = {run[i : i + 2] for run in _HAN_RUN.findall(text) for i in range(len(run) - 1)}
        pairs.update(pair for pair in here if not _FUNCTION.intersection(pair))
        identifiers.update(set(_IDENTIFIER.findall(text)))
        plain.update({w.lower() for w in _LATIN_WORD.findall(text)})
    half = max(1, len(texts) // 2)
    chosen: list[str] = []
    for counts in (pairs, identifiers, plain):
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        chosen += [term for term, n in ordered if n <= half][:most]
    return tuple(dict.fromkeys(chosen))
