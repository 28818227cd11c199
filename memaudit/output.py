"""Where results go: `--format FORMAT[=PATH]`, `--out`, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memaudit.errors import ConfigError, MemauditError
from memaudit.wording import say, sentences

PAGE = "memaudit-report.html"
TWIN = "report.json"
#: A file that memaudit wrote has this word near its beginning.
_MARK = b"memaudit"
_MARK_WITHIN = 4096


@dataclass(frozen=True)
class Destination:
    """One format and where it goes; None is stdout."""

    format: str
    path: Path | None


def destinations(
    formats: Sequence[str], out: str | None, known: Sequence[str], folder: Path
) -> tuple[Destination, ...]:
    """Work out what to write where.

    Parameters
    ----------
    formats
        Values of `--format`; none of them means the summary on stdout, the page and its twin.
    out
        Value of `--out`: a folder, or the page's name.

    Raises
    ------
    ConfigError
        Unknown format, or two formats for stdout.
    """
    if not formats:
        page, twin = folder / PAGE, folder / TWIN
        if out is not None and out.lower().endswith((".html", ".htm")):
            page = folder / out
            twin = page.with_suffix(".json")
        elif out is not None:
            page, twin = folder / out / PAGE, folder / out / TWIN
        return (Destination("text", None), Destination("html", page), Destination("json", twin))
    made = []
    for value in formats:
        name, sign, path = value.partition("=")
        if name not in known:
            from memaudit.config import nearest

            hint = sentences(nearest(name, known), say("Formats: {names}.", names=", ".join(known)))
            raise ConfigError(say('unknown format "{name}".', name=name), hint)
        if sign and not path:
            raise ConfigError(
                say("--format {value}: the path is missing.", value=value),
                say("Write --format {name}=PATH.", name=name),
            )
        place = folder / path if path else (folder / PAGE if name == "html" else None)
        if out is not None and place is not None:
            raise ConfigError(say("--out and --format FORMAT=PATH exclude each other."))
        made.append(Destination(name, place))
    on_stdout = [d.format for d in made if d.path is None]
    if len(on_stdout) > 1:
        raise ConfigError(
            say(
                "--format {first} and --format {second} both go to stdout.",
                first=on_stdout[0],
                second=on_stdout[1],
            ),
            say("Write --format {name}=PATH.", name=on_stdout[1]),
        )
    return tuple(made)


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse a path before any work is done: a folder, a missing parent that cannot be made, a file of others.

    Raises
    ------
    ConfigError
        What stands in the way, and the remedy.
    """
    if path.is_dir():
        raise ConfigError(say("{path} is a folder; a file's name was expected.", path=path))
    above = next((p for p in path.parents if p.exists()), None)
    if above is not None and not above.is_dir():
        raise ConfigError(say("{path} is a file; a folder was expected.", path=above), say("Name another place."))
    if path.exists() and not force and not _ours(path):
        raise ConfigError(
            say("{path} exists and was not written by memaudit.", path=path), say("Name another file, or give --force.")
        )


def _ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_MARK_WITHIN)
    except OSError:
        return False
    return not head or _MARK in head or head.strip() == b"[]"  # a code quality report without an entry


def write_whole(path: Path, text: str) -> None:
    """Write a file under a temporary name beside its place, then rename it; mode 0600: it holds memory text.

    Raises
    ------
    MemauditError
        The folder cannot be made or written; nothing is left behind.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise MemauditError(
            say("cannot write {path}: {reason}.", path=path, reason=error.strerror or error),
            say("Name another place."),
        ) from None
