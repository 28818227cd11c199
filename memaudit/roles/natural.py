"""Tell sentences from keys, numbers, times, addresses and structures."""

from __future__ import annotations

import json
import re
from typing import Any

from memaudit.times import parse_time

#: Chinese, Japanese and Korean characters: they need no blanks between words.
WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_TOKEN = re.compile(r"[A-Za-z0-9+/=_\-.:]+")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|/|[A-Za-z]:\\|\./|~/)\S*")


def number_of(value: Any) -> float | None:
    """Return a number, also one that is written as a text; None for anything else."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str) and len(value) <= 40:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def loaded_json(value: Any) -> Any:
    """Return what a JSON text or UTF-8 bytes hold; None for anything else."""
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def is_natural(text: str) -> bool:
    """Say whether a text reads like words of a person or a model rather than a key, number or structure."""
    text = text.strip()
    if len(text) < 2 or parse_time(text) is not None or number_of(text) is not None:
        return False
    if WIDE.search(text):
        return not isinstance(loaded_json(text), (dict, list))
    if _ADDRESS.fullmatch(text) or _TOKEN.fullmatch(text) or not any(c.isalpha() for c in text):
        return False
    return not isinstance(loaded_json(text), (dict, list))
