"""Documents that no query is about and that take places in the result lists (rule R02)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

#: Parts of a path that hold other people's code or generated files.
FOREIGN_PARTS = frozenset({
    "node_modules", ".git", "venv", ".venv", "site-packages", "vendor", "third_party", "repos", "dist", "build",
    "__pycache__",
})  # fmt: skip
#: A directory with less of the corpus than this is too small to matter.
MIN_SHARE = 0.20
#: Without this guard a small query set would call every directory it has no query about polluted.
MAX_CHANCE = 0.05
_SEPARATOR = re.compile(r"[\\/]+")


@dataclass(frozen=True)
class Directory:
    """One directory (or one kind of source) and what it holds.

    Parameters
    ----------
    documents
        Document ids in corpus order.
    expected
        How many of them any query expects.
    reason
        `foreign` (a part of the path is other people's code) or `unused` (much of the corpus, nothing expected).
    """

    name: str
    documents: tuple[str, ...]
    expected: int
    reason: str


def parts_of(source: str) -> list[str]:
    """Split a path at its separators; a source that is no path is one part."""
    return [part for part in _SEPARATOR.split(source.strip()) if part not in ("", ".")]


def places(sources: Mapping[str, str]) -> dict[tuple[str, ...], list[str]]:
    """Return directory (its parts) -> documents inside, for every directory at every depth.

    The last part of a path is the file; a source that is no path is taken whole.
    """
    members: dict[tuple[str, ...], list[str]] = {}
    for doc, source in sources.items():
        parts = parts_of(source)
        for depth in range(1, (len(parts) if _SEPARATOR.search(source) else 2)):
            members.setdefault(tuple(parts[:depth]), []).append(doc)
    return members


def polluted(
    sources: Mapping[str, str],
    expected: Collection[str],
    n_documents: int,
    *,
    min_share: float = MIN_SHARE,
    max_chance: float = MAX_CHANCE,
    store_folder: str | None = None,
) -> list[Directory]:
    """Find directories that no query is about.

    Parameters
    ----------
    sources
        Document -> path or kind of source.
    expected
        Documents that any query expects.
    n_documents
        Documents of the corpus.
    min_share
        Least share of the corpus of a directory without an expected document.
    max_chance
        Largest probability that so many expected documents would miss the directory by chance.
    store_folder
        Name of the store's own folder; documents inside it are foreign.

    Returns
    -------
    The outermost directories concerned, in corpus order; foreign ones whatever their size.
    """
    members = places(sources)
    wanted = set(expected)
    n_expected = len(wanted & set(sources))
    foreign = FOREIGN_PARTS | ({store_folder} if store_folder else frozenset())
    found: dict[tuple[str, ...], Directory] = {}
    for path, docs in sorted(members.items(), key=lambda item: len(item[0])):
        if any(path[:depth] in found for depth in range(1, len(path))):
            continue
        inside = len(wanted.intersection(docs))
        share = len(docs) / n_documents if n_documents else 0.0
        if path[-1].lower() in foreign:
            found[path] = Directory("/".join(path), tuple(docs), inside, "foreign")
        elif share >= min_share and inside == 0 and n_expected and (1.0 - share) ** n_expected <= max_chance:
            found[path] = Directory("/".join(path), tuple(docs), 0, "unused")
    order = {doc: i for i, doc in enumerate(sources)}
    return sorted(found.values(), key=lambda d: order[d.documents[0]])
