"""Sentences and numbers as the reader sees them, in the reader's language.

Every sentence that a person reads goes through :func:`say`: its English text is the catalogue's key, so that
a translation is a second catalogue and never a second code path. The catalogues are `catalogue/LANG.json`;
:mod:`memaudit.catalogue.extract` lists the keys of the source.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from pathlib import Path
from string import Formatter
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

#: Languages of a report; English is the source itself.
LANGUAGES = ("en", "zh")


#: Signs that bring their own white space.
_FULL_WIDTH = ("，", "。", "、", "；", "：", "！", "？", "）", "”")


class _Catalogue(NamedTuple):
    """One language: sentences by their English text, and counted nouns with `{n}` in place of the number."""

    lang: str
    sentences: Mapping[str, str]
    counted: Mapping[str, str]


_active: ContextVar[_Catalogue | None] = ContextVar("memaudit_catalogue", default=None)


@lru_cache(maxsize=len(LANGUAGES))
def _catalogue(lang: str) -> _Catalogue:
    text = (Path(__file__).parent / "catalogue" / f"{lang}.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return _Catalogue(lang, document["sentences"], document["counted"])


@contextmanager
def language(lang: str) -> Iterator[None]:
    """Say everything inside the block in a language; blocks can be nested.

    Raises
    ------
    ValueError
        A language that is not in `LANGUAGES`.
    """
    if lang not in LANGUAGES:
        raise ValueError(f"no catalogue of the language {lang!r}; there are {', '.join(LANGUAGES)}")
    token = _active.set(None if lang == "en" else _catalogue(lang))
    try:
        yield
    finally:
        _active.reset(token)


def current_language() -> str:
    """Return the code of the language that is spoken here."""
    active = _active.get()
    return "en" if active is None else active.lang


def catalogue_texts(lang: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the catalogue can say in a language: its sentences with their fields, and what follows a number.

    English is what all catalogues translate; the plural of a noun that is not made with an `s` is not among it.
    """
    if lang == "en":
        source = _catalogue(LANGUAGES[1])
        return tuple(source.sentences), tuple(f" {noun}{ending}" for noun in source.counted for ending in ("", "s"))
    made = _catalogue(lang)
    return tuple(made.sentences.values()), tuple(text.replace("{n}", "") for text in made.counted.values())


class _HasLanguage(Protocol):
    @property
    def lang(self) -> str: ...


_About = TypeVar("_About", bound=_HasLanguage)
_Rest = ParamSpec("_Rest")
_Result = TypeVar("_Result")


def spoken(function: Callable[Concatenate[_About, _Rest], _Result]) -> Callable[Concatenate[_About, _Rest], _Result]:
    """Let a function speak the language of its first argument (a configuration or an audit: its `lang`)."""

    @wraps(function)
    def speaking(about: _About, /, *args: _Rest.args, **named: _Rest.kwargs) -> _Result:
        with language(about.lang):
            return function(about, *args, **named)

    return speaking


def say(sentence: str, /, **values: Any) -> str:
    """Fill a sentence of the catalogue.

    Parameters
    ----------
    sentence
        A literal with `{name}` fields. A sentence that the active catalogue does not hold stays English: a
        probe of another distribution brings its own.
    values
        Integers are shown with thousands separators, floats as given by their format in the sentence (`%` as by
        :func:`per_cent`);
        text is inserted as it is.

    Returns
    -------
    The finished sentence, plain text (escaping is the report's work).
    """
    active = _active.get()
    shown = {name: _shown(value) for name, value in values.items()}
    if active is None:
        return sentence.format_map(shown)
    return _without_blanks(active.sentences.get(sentence, sentence), shown)


def _without_blanks(sentence: str, values: Mapping[str, Any]) -> str:
    """Fill a Chinese sentence; no blank of the sentence follows a value that ends in a full-width sign."""
    filled = ""
    for literal, name, form, _ in Formatter().parse(sentence):
        filled += literal[1:] if literal.startswith(" ") and filled.endswith(_FULL_WIDTH) else literal
        if name is not None:
            filled += format(values[name], form or "")
    return filled


def term(text: str, /) -> str:
    """Give a word of ours in the reader's language; nothing is filled in, so any text is safe here."""
    active = _active.get()
    return text if active is None else active.sentences.get(text, text)


def key(sentence: str, /) -> str:
    """Mark a literal as a key of the catalogue that :func:`say` or :func:`term` is given later, from a variable."""
    return sentence


def space_between() -> str:
    """Give what stands between two finished sentences: a blank, in Chinese nothing."""
    return "" if _active.get() else " "


def sentences(*parts: str) -> str:
    """Put finished sentences behind each other, empty ones left out: see :func:`space_between`."""
    return space_between().join(part for part in parts if part)


def because(value: str | None, reason: str) -> str:
    """Give a guess with its reason: `content, because ...`, or `not found: ...`."""
    if value is None:
        return say("not found: {reason}", reason=reason)
    return say("{value}, because {reason}", value=value, reason=reason)


def unread(error: OSError | ValueError) -> str:
    """Say why a file of text could not be read: the system's reason, or which byte is not UTF-8; never the name again."""
    if isinstance(error, UnicodeDecodeError):
        line = error.object[: error.start].count(b"\n") + 1
        return say("it is not UTF-8 (byte 0x{byte} in line {line})", byte=f"{error.object[error.start]:02x}", line=line)
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class _Float(float):
    """A number whose per cent are written as everywhere else: `{x:.0%}` gives `20 %`, in Chinese `20%`."""

    def __format__(self, form: str) -> str:
        shown = super().__format__(form)
        return per_cent(shown.removesuffix("%")) if form.endswith("%") else shown


def _shown(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _Float(value) if isinstance(value, float) else value


def per_cent(digits: str) -> str:
    """Put the sign behind digits: `88.0 %`, in Chinese `88.0%`."""
    return f"{digits}%" if _active.get() else f"{digits} %"


def percent(part: int, whole: int) -> str:
    """Give a share as per cent: one decimal, none below 20 cases, "-" for no cases."""
    if whole <= 0:
        return "-"
    decimals = 1 if whole >= 20 else 0
    return per_cent(f"{100 * part / whole:.{decimals}f}")


def part_of(part: int, whole: int) -> str:
    """Give count, base and share: `154 of 175 (88.0 %)`."""
    return say("{part} of {whole} ({share})", part=part, whole=whole, share=percent(part, whole))


def plural(n: int, one: str, many: str | None = None) -> str:
    """Give `1 row`, `2 rows`; in Chinese the number with the noun's measure word, `2 行`."""
    active = _active.get()
    if active is not None and one in active.counted:
        return active.counted[one].format(n=f"{n:,}")
    return f"{n:,} {one if n == 1 else (many or one + 's')}"
