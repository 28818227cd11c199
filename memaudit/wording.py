"""Sentences and numbers as the reader sees them.

Every sentence that a person reads goes through :func:`say`: its first argument is the catalogue's key,
so that a translation is a second catalogue and never a second code path.
"""

from __future__ import annotations

from typing import Any


def say(sentence: str, /, **values: Any) -> str:
    """Fill a sentence of the catalogue.

    Parameters
    ----------
    sentence
        A literal with `{name}` fields.
    values
        Integers are shown with thousands separators, floats as given by their format in the sentence;
        text is inserted as it is.

    Returns
    -------
    The finished sentence, plain text (escaping is the report's work).
    """
    return sentence.format_map({name: _shown(value) for name, value in values.items()})


def _shown(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value


def percent(part: int, whole: int) -> str:
    """Give a share as per cent: one decimal, none below 20 cases, "-" for no cases."""
    if whole <= 0:
        return "-"
    decimals = 1 if whole >= 20 else 0
    return f"{100 * part / whole:.{decimals}f} %"


def part_of(part: int, whole: int) -> str:
    """Give count, base and share: `154 of 175 (88.0 %)`."""
    return f"{part:,} of {whole:,} ({percent(part, whole)})"


def plural(n: int, one: str, many: str | None = None) -> str:
    """Give `1 row`, `2 rows`."""
    return f"{n:,} {one if n == 1 else (many or one + 's')}"
