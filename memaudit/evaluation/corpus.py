"""The corpus that the rankings come from: a JSONL file, or the rows of the audited store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from memaudit.errors import ConfigError
from memaudit.evaluation.jsonl import as_id, as_text, read_lines
from memaudit.wording import say

#: Fields of a document that may say where it comes from, the first one that most documents have is taken.
SOURCE_FIELDS = ("source", "source_path", "path", "file", "source_type", "session", "tool")
#: Fields that may name the whole that a document is a part of.
PARENT_FIELDS = ("parent", "parent_id", "document", "document_id", "level", "tool", "file", "path", "source_path")


@dataclass(frozen=True)
class Document:
    """One document: id, text, and whatever else its line holds."""

    id: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fingerprint:
    """What identifies a snapshot of a corpus: rows, and the SHA-256 of its sorted ids and texts."""

    rows: int
    sha256: str


class Corpus:
    """Documents by id, in order.

    Parameters
    ----------
    name
        File, or table of the store.
    """

    def __init__(self, name: str, documents: Iterable[Document]) -> None:
        self.name = name
        self.documents: dict[str, Document] = {d.id: d for d in documents}

    def __len__(self) -> int:
        return len(self.documents)

    def __contains__(self, doc: object) -> bool:
        return doc in self.documents

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Rows and digest; the order of the documents has no effect."""
        digest = hashlib.sha256()
        for doc in sorted(self.documents):
            for part in (doc, self.documents[doc].text):
                raw = part.encode("utf-8", "surrogatepass")
                # The length goes in first, so that no two corpora run together into the same bytes.
                digest.update(len(raw).to_bytes(8, "little") + raw)
        return Fingerprint(len(self), digest.hexdigest())

    def values(self, name: str) -> dict[str, str]:
        """Return document id -> value of a field as text, for documents that have one."""
        found = {}
        for doc, document in self.documents.items():
            value = document.fields.get(name)
            if value is not None and not isinstance(value, (dict, list)) and str(value).strip():
                found[doc] = str(value)
        return found

    def field_among(self, names: Sequence[str]) -> str | None:
        """Return the first of some fields that at least half of the documents have, None if there is none."""
        return next((n for n in names if self.documents and 2 * len(self.values(n)) >= len(self)), None)


def read_corpus(path: Path) -> Corpus:
    """Read a corpus of lines `{"id", "text", ...}`.

    Raises
    ------
    ConfigError
        The file cannot be read, or a line has no id or text, or an id comes twice; names file and line.
    """
    file = read_lines(path, say("corpus"), "corpus")
    documents: dict[str, Document] = {}
    for line in file.lines:
        for name in ("id", "text"):
            if name not in line.fields:
                raise ConfigError(
                    say("{place}: the document has no {name}.", place=line.place, name=name),
                    say("A document needs id and text."),
                )
        doc = as_id(line.fields["id"], line.place, "id")
        if doc in documents:
            raise ConfigError(
                say('{place}: the document id "{doc}" comes twice.', place=line.place, doc=doc), say("Ids are unique.")
            )
        more = {k: v for k, v in line.fields.items() if k not in ("id", "text")}
        documents[doc] = Document(doc, as_text(line.fields["text"], line.place, "text", blank=True), more)
    return Corpus(file.name, documents.values())


def corpus_of_rows(
    name: str, keys: Sequence[Any], texts: Sequence[str], columns: Mapping[str, Sequence[Any]] | None = None
) -> Corpus:
    """Make a corpus of the rows of a store.

    Parameters
    ----------
    keys
        Keys of the rows; the document id is the key as text.
    texts
        Embedded text of each row.
    columns
        Further columns by name, taken along as fields.
    """
    more = columns or {}
    return Corpus(
        name,
        (
            Document(str(key), text, {c: values[i] for c, values in more.items()})
            for i, (key, text) in enumerate(zip(keys, texts, strict=True))
        ),
    )
