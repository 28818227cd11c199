"""The pages that `memaudit explain` prints: one Markdown file beside each probe, our own and those of others."""

from __future__ import annotations

import inspect
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memaudit.config import nearest
from memaudit.errors import ConfigError
from memaudit.probes import BUILTIN
from memaudit.wording import say, term

if TYPE_CHECKING:
    from memaudit.registry import Probe

_HEADING = re.compile(r"^## (MA\d{3})\b", re.MULTILINE)
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Page(NamedTuple):
    """What is printed: the page's name, its text, and the rule that was asked for ("" where a probe was)."""

    name: str
    text: str
    code: str


def pages() -> dict[str, str]:
    """Return file name without suffix -> text, for every page of the package in the order of the probes."""
    folder = files("memaudit.probes")
    names = [*BUILTIN, "audit"]
    return {name: folder.joinpath(f"{name}.md").read_text(encoding="utf-8") for name in names}


def page_of(word: str) -> Page:
    """Return the page that explains a rule code or a probe.

    A probe of another distribution is explained by the file `NAME.md` beside its module (its name with `_` for
    `-`); without one by what the probe declares.

    Raises
    ------
    ConfigError
        No page is about it; names the nearest.
    """
    found = pages()
    name = word.lower().replace("-", "_")
    if name in found:
        return Page(name, found[name], "")
    known: list[str] = [n.replace("_", "-") for n in found]
    for page, text in found.items():
        codes = _HEADING.findall(text)
        if word.upper() in codes:
            return Page(page, text, word.upper())
        known += codes
    from memaudit.registry import all_probes

    others = all_probes()[len(BUILTIN) :]
    for probe in others:
        code = next((code for code in probe.codes if code.upper() == word.upper()), "")
        if code or probe.name == word.lower():
            return Page(probe.name, _page_beside(probe) or _declared(probe), code)
    known += [name for probe in others for name in (probe.name, *probe.codes)]
    raise ConfigError(
        say('no rule or probe is called "{word}".', word=word),
        nearest(word.upper(), known) or say("See `memaudit probes`."),
    )


def _page_beside(probe: Probe) -> str:
    """Return the page that a distribution ships beside the module of its probe, "" when there is none."""
    if not _FILE_NAME.fullmatch(probe.name):
        return ""
    try:
        folder = Path(inspect.getfile(type(probe))).parent
        return (folder / f"{probe.name.replace('-', '_')}.md").read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError):
        return ""


def _declared(probe: Probe) -> str:
    """Make a page of what a probe says of itself, and say that it has none of its own."""
    module = type(probe).__module__
    needs = ", ".join(sorted(need.value for need in probe.needs)) or say("nothing more")
    lines = [
        f"# {probe.name}",
        say("This probe comes from the module `{module}`, which ships no page about it. It declares:", module=module),
        term(probe.title),
        "\n".join(f"- {code} {kind}" for code, kind in sorted(probe.codes.items())),
        say("needs: {needs}", needs=needs),
    ]
    return "\n\n".join(lines) + "\n"
