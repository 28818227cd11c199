"""The pages that users read, and the blocks of code in them, for the tests of the manual."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh.md", "CONTRIBUTING.md", "SECURITY.md")

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?$")
_FOLDER = re.compile(r"^<!-- folder: (\S+) -->$")
#: A command as a line of its own, behind a prompt, or as a step of a CI service.
_COMMAND = re.compile(r"^\s*(?:\$ |- run: |- |run: )?(memaudit [a-z].*)$")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, title, lines, and the folder that its commands run in."""

    language: str
    title: str
    lines: tuple[str, ...]
    folder: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class Shown:
    """A command as a page shows it, and the lines of output beneath it."""

    command: str
    output: tuple[str, ...]
    folder: str


def hooks() -> Any:
    """Return the hook that makes pages from the code."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return import_module("hooks")


def pages() -> dict[str, str]:
    """Return address -> text as it is in the repository, without the probes' pages."""
    found = {name: (ROOT / name).read_text(encoding="utf-8") for name in READMES if (ROOT / name).is_file()}
    for path in sorted(DOCS.rglob("*.md")):
        found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return found


def blocks(text: str) -> list[Block]:
    """Return fenced and indented blocks of code, in order."""
    found: list[Block] = []
    folder = "example"
    fence: re.Match[str] | None = None
    lines: list[str] = []
    indented = False
    for line in [*text.splitlines(), ""]:
        if fence is not None:
            if line == "```":
                found.append(Block(fence[1], fence[2] or "", tuple(lines), folder))
                fence, lines = None, []
            else:
                lines.append(line)
        elif (opened := _FENCE.match(line)) is not None:
            fence = opened
        elif (named := _FOLDER.match(line)) is not None:
            folder = named[1]
        elif line.startswith("    "):
            indented = True
            lines.append(line[4:])
        elif indented:
            if line.strip():
                found.append(Block("", "", tuple(lines), folder))
                indented, lines = False, []
            else:
                lines.append("")
    if indented and lines:
        found.append(Block("", "", tuple(lines), folder))
    return found


def shown(text: str) -> list[Shown]:
    """Return every command that a page shows, in order."""
    found = []
    for block in blocks(text):
        if block.language == "console":
            found += _console(block)
            continue
        for line in block.lines:
            match = _COMMAND.match(line)
            if match is not None:
                found.append(Shown(_bare(match[1]), (), block.folder))
    return found


def _console(block: Block) -> list[Shown]:
    found: list[Shown] = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append(Shown(_bare(line[2:]), (), block.folder))
        elif found:
            found[-1] = Shown(found[-1].command, (*found[-1].output, line), block.folder)
    return found


def _bare(command: str) -> str:
    """Leave out a comment and what a shell would do after a failure."""
    return re.sub(r"\s+(#|\|\|).*$", "", command).strip()


def in_words(text: str) -> list[str]:
    """Return the commands inside sentences: code spans that begin with the command's name."""
    without = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`(memaudit [^`]+)`", without)]
