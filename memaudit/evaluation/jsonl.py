"""JSON Lines files: one object a line, every fault one error that names file and line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memaudit.errors import ConfigError
from memaudit.wording import say


@dataclass(frozen=True)
class Line:
    """One object of a file.

    Parameters
    ----------
    place
        `file:line`, as error messages name it.
    fields
        The object.
    """

    place: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class JsonLines:
    """A file that was read.

    Parameters
    ----------
    name
        File name without its folder.
    sha256
        Of the bytes of the file.
    """

    name: str
    sha256: str
    lines: tuple[Line, ...]


def read_lines(path: Path, what: str, option: str) -> JsonLines:
    """Read a JSON Lines file.

    Parameters
    ----------
    what
        What the file should hold, for messages (`query set`).
    option
        The setting that names it.

    Returns
    -------
    Its objects in file order; blank lines are passed over. No lines for an empty file.

    Raises
    ------
    ConfigError
        The file is not there, is no UTF-8, or a line is no JSON object.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = say("there is no such file") if missing else str(error.strerror or error)
        raise ConfigError(
            say("cannot read the {what} {path}: {reason}.", what=what, path=path, reason=reason),
            say("Set {option} to a JSONL file.", option=option),
        ) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError(
            say("{name}:{line}: the {what} is not UTF-8.", name=path.name, line=str(line), what=what),
            say("Write it again as UTF-8."),
        ) from None
    # Not splitlines(): U+2028 and form feeds stand inside JSON strings.
    found = [
        Line(f"{path.name}:{number}", _object(line, f"{path.name}:{number}", what))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    return JsonLines(path.name, hashlib.sha256(raw).hexdigest(), tuple(found))


def _object(line: str, place: str, what: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            say("{place}: no JSON ({error}).", place=place, error=error),
            say("A {what} has one JSON object a line.", what=what),
        ) from None
    if not isinstance(value, dict):
        raise ConfigError(
            say("{place}: {kind} where an object was expected.", place=place, kind=_kind(value)),
            say("One JSON object a line."),
        )
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _kind(value: Any) -> str:
    names = {
        list: say("a list"),
        str: say("a text"),
        bool: say("true or false"),
        type(None): "null",
        dict: say("an object"),
    }
    return names.get(type(value), say("a number"))


def as_id(value: Any, place: str, name: str) -> str:
    """Return an id as text.

    Raises
    ------
    ConfigError
        It is no text or whole number, or it is blank.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    raise ConfigError(
        say("{place}: {name} is {kind}.", place=place, name=name, kind=_kind(value) if value != "" else say("empty")),
        say("An id is a text or a number."),
    )


def as_text(value: Any, place: str, name: str, *, blank: bool = False) -> str:
    """Return a text.

    Raises
    ------
    ConfigError
        It is no text, or it is blank where a text is needed.
    """
    if not isinstance(value, str):
        raise ConfigError(
            say("{place}: {name} is {kind}; a text was expected.", place=place, name=name, kind=_kind(value))
        )
    if not blank and not value.strip():
        raise ConfigError(
            say("{place}: {name} is empty.", place=place, name=name), say("Give the text, or leave the line out.")
        )
    return value


def as_list(value: Any, place: str, name: str) -> list[Any]:
    """Return a list.

    Raises
    ------
    ConfigError
        It is no list.
    """
    if not isinstance(value, list):
        raise ConfigError(
            say("{place}: {name} is {kind}; a list was expected.", place=place, name=name, kind=_kind(value))
        )
    return value
