"""The pages that `memaudit explain` prints: one Markdown file beside each probe."""

from __future__ import annotations

import re
from importlib.resources import files

from memaudit.config import nearest
from memaudit.errors import ConfigError
from memaudit.probes import BUILTIN

_HEADING = re.compile(r"^## (MA\d{3})\b", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return file name without suffix -> text, for every page of the package in the order of the probes."""
    folder = files("memaudit.probes")
    names = [*BUILTIN, "audit"]
    return {name: folder.joinpath(f"{name}.md").read_text(encoding="utf-8") for name in names}


def page_of(word: str) -> tuple[str, str]:
    """Return (name, text) of the page that explains a rule code or a probe.

    Raises
    ------
    ConfigError
        No page is about it; names the nearest.
    """
    found = pages()
    name = word.lower().replace("-", "_")
    if name in found:
        return name, found[name]
    known: list[str] = [n.replace("_", "-") for n in found]
    for page, text in found.items():
        codes = _HEADING.findall(text)
        if word.upper() in codes:
            return page, text
        known += codes
    raise ConfigError(f'no rule or probe is called "{word}".', nearest(word.upper(), known) or "See `memaudit probes`.")
