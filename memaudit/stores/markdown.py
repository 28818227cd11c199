"""Read folders of Markdown memories: Claude Code, OpenClaw, basic-memory and the like.

A file with front matter is one memory, unless it lists observations (`- [category] text`), which are one memory
each. A file without front matter (an index, a daily log) gives one memory a list item, or one a section without
items. Lines of an index that only point at a file are counted and checked, not audited.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.encodings import find_encoding
from memaudit.stores.front_matter import split_front_matter
from memaudit.stores.markdown_blocks import Block, blocks_of
from memaudit.stores.markdown_supersedes import SupersedeLinks
from memaudit.stores.store import Store
from memaudit.wording import plural, say

_MAX_FILES = 20_000
_MAX_FOLDERS = 5_000
_MAX_BYTES = 10 << 20
_DEEPEST = 6
_LOOKED_AT = 40
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})")
_WIKI = re.compile(r"\[\[([^\]\[|#]+)(?:[|#][^\]]*)?\]\]")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)(?:#[^)]*)?\)", re.IGNORECASE)
_OBSERVATION = re.compile(r"\[([^\]\[]{1,40})\]\s+(.*)", re.DOTALL)
_RELATION = re.compile(r"[\w ]{1,60}\s\[\[[^\]]+\]\](?:\s*\(.*\))?", re.DOTALL)
_TAG = re.compile(r"(?<!\w)#([\w/-]+)")
#: Files of a project that are no memories.
_NO_MEMORY = re.compile(r"(readme|license|licence|changelog|contributing|code_of_conduct|security)\.md", re.IGNORECASE)


def markdown_files(folder: Path) -> list[Path]:
    """List the Markdown files of a folder, six levels deep; hidden folders and links are left out."""
    found: list[Path] = []
    waiting = [(folder, 0)]
    opened = 0
    while waiting and len(found) < _MAX_FILES and opened < _MAX_FOLDERS:
        place, depth = waiting.pop(0)
        opened += 1
        try:
            entries = sorted(place.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "node_modules" or entry.is_symlink():
                continue
            if entry.is_dir() and depth < _DEEPEST:
                waiting.append((entry, depth + 1))
            elif entry.suffix.lower() == ".md" and entry.is_file():
                found.append(entry)
    return found[:_MAX_FILES]


def is_markdown_memory(path: Path) -> bool:
    """Say whether a folder holds Markdown memories, or a file is a list of them.

    A folder does when it has a `MEMORY.md`, or when half of its files carry front matter or are daily logs. A single
    file does when most of it is list items, or when it carries front matter.
    """
    if path.is_file():
        if _NO_MEMORY.fullmatch(path.name):
            return False
        head, body, _ = split_front_matter(_text(path))
        items = [b for b in blocks_of(body) if b.is_item]
        return bool(head) or len(items) >= 3
    files = [f for f in markdown_files(path) if not _NO_MEMORY.fullmatch(f.name)]
    if not files:
        return False
    if any(f.name.lower() == "memory.md" for f in files):
        return True
    looked = files[:_LOOKED_AT]
    marked = sum(bool(_DAY.fullmatch(f.stem)) or bool(split_front_matter(_text(f))[0]) for f in looked)
    return marked >= 0.5 * len(looked)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return ""
        return path.read_text(encoding=find_encoding(path), errors="surrogateescape")
    except OSError:
        return ""


@dataclass
class _Found:
    """What was seen while the files were read."""

    index: list[dict[str, Any]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    relations: int = 0
    headings_only: int = 0
    unread_heads: int = 0
    too_large: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    supersedes: SupersedeLinks = field(default_factory=SupersedeLinks)


def open_markdown(path: Path, shown: str) -> Store:
    """Read a folder of Markdown memories, or one file."""
    folder = path if path.is_dir() else path.parent
    files = markdown_files(path) if path.is_dir() else [path]
    left_out = [f for f in files if path.is_dir() and _NO_MEMORY.fullmatch(f.name)]
    files = [f for f in files if f not in left_out]
    found = _Found()
    rows: list[dict[str, Any]] = []
    for file in files:
        name = file.relative_to(folder).as_posix()
        if file.stat().st_size > _MAX_BYTES:
            found.too_large.append(name)
            continue
        rows += _file_rows(name, _text(file), found)
    notes = [say("{files} read: {kinds}.", files=plural(len(files), "Markdown file"),
                 kinds=", ".join(f"{kind} {n:,}" for kind, n in found.kinds.most_common()) or "-")]  # fmt: skip
    notes += _link_notes(found, files, folder)
    if found.relations:
        notes.append(say("Lines that are relations to other notes, no memories: {n}.", n=found.relations))
    if found.unread_heads:
        notes.append(say("Lines of front matter that were not understood: {n}.", n=found.unread_heads))
    if found.too_large:
        notes.append(say("Files larger than 10 MiB, not read: {names}.", names=", ".join(found.too_large[:5])))
    if left_out:
        notes.append(say("Left out as no memories: {names}.", names=", ".join(f.name for f in left_out[:5])))
    if len(files) >= _MAX_FILES:
        notes.append(say("Only the first {n} files were read.", n=_MAX_FILES))
    return assembled(shown, "markdown", list(_tables(rows, found)), notes=notes)


def _tables(rows: list[dict[str, Any]], found: _Found) -> Iterator[Collection]:
    dated = any("date" in row for row in rows)
    hints: dict[str, tuple[Any, str]] = {
        "id": ("key", say("it is the file and the place in it")),
        "text": ("text", say("it is the body of a file, a list item or a section")),
    }
    if dated:
        hints["time"] = ("date", say("it is the date in the front matter or in the file's name"))
    else:
        hints["time"] = (None, say("no file carries a date; times of change are not used, as a copy changes them"))
    if any("type" in row for row in rows):
        hints["value_field"] = ("type", say("the front matter labels the memory with it"))
    elif any("category" in row for row in rows):
        hints["value_field"] = ("category", say("it is the category in brackets before each observation"))
    links = list(found.supersedes.pairs(rows))
    if links:
        why = say("a relation or the front matter of a note says that it supersedes another")
        hints["supersedes"] = ({"table": "supersede_links", "new": "new", "old": "old"}, why)
    columns: tuple[str, ...] = ("key", "text", "file")
    if len({row["file"] for row in rows}) == 1:  # a column that the reader adds is no field left at one value
        rows = [{name: value for name, value in row.items() if name != "file"} for row in rows]
        columns = ("key", "text")
    yield Collection("memories", rows, hints, columns=columns)
    if links:
        yield Collection("supersede_links", links, is_memory=False, columns=("new", "old"))
    if found.index:
        yield Collection("index", found.index, is_memory=False)


def _file_rows(name: str, text: str, found: _Found) -> Iterator[dict[str, Any]]:
    """Give the memories of one file."""
    head, body, unread = split_front_matter(text)
    found.unread_heads += unread
    found.supersedes.add_file(name, head)
    found.links += [(name, target.strip()) for target in _WIKI.findall(body)]
    known = _head_columns(head)
    day = _DAY.search(Path(name).stem)
    if day is not None and "date" not in known:
        known["date"] = day[1]
    blocks = blocks_of(body)
    for block in blocks:
        if block.is_item:
            found.supersedes.add_line(name, block.text)
    observations = [b for b in blocks if b.is_item and _OBSERVATION.match(b.text)]
    if head and not observations:
        found.kinds[say("whole file")] += 1
        yield {"key": name, "text": body.strip(), "file": name, **known}
        return
    kept = [b for b in blocks if _keep(name, b, found)]
    for number, block in enumerate(kept, 1):
        row: dict[str, Any] = {"key": f"{name}#{number}", "text": block.text, "file": name, **known}
        if block.headings:
            row["heading"] = " / ".join(block.headings)
        match = _OBSERVATION.match(block.text) if block.is_item else None
        # A checkbox is no category.
        if match and match[1].strip().lower() not in ("", "x"):
            row["category"] = match[1].strip()
            row["text"] = _TAG.sub("", match[2]).strip() or match[2]
            tags = _TAG.findall(match[2])
            if tags:
                row["tags"] = tags
        found.kinds[say("list item") if block.is_item else say("section")] += 1
        yield row


def _keep(name: str, block: Block, found: _Found) -> bool:
    """Say whether a block is a memory; what is an index line or a relation is noted instead."""
    links = _LINK.findall(block.text)
    if block.is_item and links and block.text.lstrip("*_ ").startswith("["):
        target = unquote(links[0])
        found.index.append({"file": name, "target": target, "line": block.text})
        found.links.append((name, target))
        return False
    if block.is_item and _RELATION.fullmatch(block.text):
        found.relations += 1
        return False
    return bool(block.text.strip())


def _head_columns(head: Mapping[str, Any]) -> dict[str, Any]:
    """Make columns of front matter; a nested mapping (`metadata`) gives its keys, `metadata.key` where one is taken."""
    found: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for key, value in head.items():
        if isinstance(value, dict):
            nested |= {(str(k) if k not in head else f"{key}.{k}"): v for k, v in value.items()}
        else:
            found[key] = value
    found |= nested
    date = next((found[k] for k in ("created", "created_at", "date", "timestamp")
                 if isinstance(found.get(k), str) and _DAY.match(found[k])), None)  # fmt: skip
    own = {"key", "text", "file"}
    columns = {(f"front_{k}" if k in own else k): v for k, v in found.items()}
    if date is not None:
        columns["date"] = date
    return columns


def _link_notes(found: _Found, files: list[Path], folder: Path) -> Iterator[str]:
    paths = {f.relative_to(folder).as_posix() for f in files}
    known = {p.lower() for p in paths} | {Path(p).stem.lower() for p in paths}
    broken = [
        target
        for source, target in found.links
        if not _resolves(source, target, known)
    ]  # fmt: skip
    if broken:
        yield say("Links to a memory that is not there: {n} of {all} ({names}).", n=len(broken), all=len(found.links),
                  names=", ".join(dict.fromkeys(broken[:5])))  # fmt: skip
    if found.index:
        pointed = {Path(row["target"]).stem.lower() for row in found.index}
        indexes = {row["file"] for row in found.index}
        missing = sorted(p for p in paths - indexes if Path(p).stem.lower() not in pointed)
        yield say("Index lines that point at a file, no memories: {n}.", n=len(found.index))
        if missing:
            yield say("Files that the index does not name: {n} ({names}).", n=len(missing),
                      names=", ".join(missing[:5]))  # fmt: skip


def _resolves(source: str, target: str, known: set[str]) -> bool:
    if "://" in target:
        return True
    lower = target.lower().removeprefix("./")
    return bool({lower, f"{lower}.md", Path(lower).stem, (Path(source).parent / lower).as_posix().lower()} & known)
