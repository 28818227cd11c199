"""The language that a command speaks: known before its options are read, for errors in them are told in it, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memaudit.wording import LANGUAGES

_VARIABLE = "MEMAUDIT_LANG"


def language_of(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> str:
    """Return the language of a command line: its `--lang`, else that of the configuration.

    Parameters
    ----------
    words
        The arguments. What stands behind `--` belongs to another command.
    folder
        Where the configuration is looked for.

    Returns
    -------
    A language of the catalogue; English for help pages, and where nothing names one or what names it is wrong: the
    command itself says what is wrong.
    """
    own = list(words[: words.index("--")] if "--" in words else words)
    if not own or "--help" in own or "-h" in own:
        return "en"
    named = _value(own, "--lang") or _setting(own)
    if named is None and "--isolated" not in own:
        named = environment.get(_VARIABLE) or _configured(_value(own, "--config"), folder)
    named = (named or "").strip("\"' ")
    return named if named in LANGUAGES else "en"


def _value(words: Sequence[str], option: str) -> str | None:
    """Return the value of an option, the last one where it is given twice."""
    found = None
    for n, word in enumerate(words):
        if word == option and n + 1 < len(words):
            found = words[n + 1]
        elif word.startswith(f"{option}="):
            found = word.partition("=")[2]
    return found


def _setting(words: Sequence[str]) -> str | None:
    given = [words[n + 1] for n, word in enumerate(words[:-1]) if word == "--set"]
    given += [word.partition("=")[2] for word in words if word.startswith("--set=")]
    found = [value for name, sign, value in (text.partition("=") for text in given) if sign and name.strip() == "lang"]
    return found[-1] if found else None


def _configured(file: str | None, folder: Path) -> str | None:
    from memaudit.config_file import find_file, lang_in
    from memaudit.errors import MemauditError

    try:
        path = Path(file) if file is not None else find_file(folder)
        return None if path is None else lang_in(path)
    except (MemauditError, OSError):
        return None
