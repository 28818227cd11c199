"""The readers: what each recognises, and which extra it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memaudit.errors import ConfigError, StoreError
from memaudit.stores import (
    chroma,
    known_tables,
    lancedb,
    langgraph,
    llamaindex,
    markdown,
    mcp_memory,
    mem0,
    qdrant_local,
    sqlite_vec,
)
from memaudit.stores.delimited import open_delimited
from memaudit.stores.files import checked_file
from memaudit.stores.json_files import open_json, open_jsonl
from memaudit.stores.parquet import open_parquet
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store
from memaudit.wording import key, say

Opener = Callable[[Path, str], Store]


def _no_folder(path: Path) -> bool:
    return False


@dataclass(frozen=True)
class Reader:
    """A kind of store.

    Parameters
    ----------
    recognises
        What it reads, in one sentence for the list of readers.
    extra
        Extra of the distribution that it needs; None for none.
    recognises_folder
        Says whether a folder is such a store; looks at names and first bytes only.
    own_files
        Pattern of the files in such a folder that are no other stores.
    """

    name: str
    recognises: str
    open: Opener
    extra: str | None = None
    recognises_folder: Callable[[Path], bool] = _no_folder
    own_files: str = ""


# -- SQLite files, told apart by their tables ---------------------------------------------------


def open_known_sqlite(path: Path, shown: str) -> Store:
    """Open a SQLite file and hand it to the reader of the system that wrote it; a plain one stays as it is."""
    store = open_sqlite(path, shown=shown)
    try:
        return _handed_on(store, path)
    except BaseException:
        store.close()
        raise


def _handed_on(store: Store, path: Path) -> Store:
    if chroma.is_chroma(store):
        return chroma.open_chroma(store, path)
    if langgraph.is_langgraph(store):
        return langgraph.open_langgraph(store)
    if mem0.is_history(store):
        return mem0.open_history(store)
    if qdrant_local.is_qdrant_points(store):
        return mem0.open_points(store, path)
    if sqlite_vec.is_sqlite_vec(store):
        return sqlite_vec.with_vectors(store)
    known = known_tables.known_system(store)
    return known_tables.open_known(store, *known) if known is not None else store


def _open_as(kind: str, path: Path, shown: str) -> Store:
    """Open a SQLite file that the user calls one of a system, or the file of that system in a folder."""
    file = checked_file(_file_in(path), shown)
    store = open_known_sqlite(file, shown)
    if store.kind != kind:
        found = store.kind
        store.close()
        raise StoreError(
            say("{shown} is no {kind} store: its tables are those of {found}.", shown=shown, kind=kind, found=found),
            say("Leave store_kind out."),
        )
    return store


def _file_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in ("chroma.sqlite3", "history.db"):
        if (path / name).is_file():
            return path / name
    found = [p for p in sorted(path.iterdir()) if p.suffix in (".db", ".sqlite", ".sqlite3") and p.is_file()]
    return found[0] if len(found) == 1 else path


def _in_folder(path: Path, shown: str) -> Store:
    file = path / "chroma.sqlite3" if path.is_dir() else path
    return _open_as("chroma", file, shown)


def _chroma_folder(path: Path) -> bool:
    file = path / "chroma.sqlite3"
    return file.is_file() and not file.is_symlink()


def _mem0(path: Path, shown: str) -> Store:
    return mem0.open_folder(path, shown) if path.is_dir() else open_known_sqlite(path, shown)


def _file_only(open_it: Opener) -> Opener:
    return lambda path, shown: open_it(checked_file(path, shown), shown)


READERS: tuple[Reader, ...] = (
    Reader("chroma", key("Chroma: chroma.sqlite3, or the folder it lies in"), _in_folder, None, _chroma_folder,
           r"chroma\.sqlite3"),
    Reader("llamaindex", key("LlamaIndex: folder with docstore.json and vector stores"), llamaindex.open_llamaindex, None,
           llamaindex.is_llamaindex, r"docstore\.json|.*_store\.json"),
    Reader("mem0", key("mem0: history.db, with its local qdrant folder"), _mem0, None, mem0.is_mem0_folder,
           r"history\.db|(meta|config|migrations_qdrant)\.json"),
    Reader("qdrant-local", key("qdrant local mode: folder with meta.json and collection/*/storage.sqlite"), _mem0),
    Reader("lancedb", key("LanceDB folders, such as CrewAI's memory"), lancedb.open_lancedb, "lancedb",
           lambda p: lancedb.lancedb_folder(p) is not None),
    Reader("langgraph", key("LangGraph store in SQLite (or Postgres, by its address)"), partial(_open_as, "langgraph")),
    Reader("sqlite-vec", key("SQLite with sqlite-vec tables, such as mcp-memory-service"), partial(_open_as, "sqlite-vec")),
    Reader("agno", key("Agno: agno_memories in SQLite"), partial(_open_as, "agno")),
    Reader("claude-mem", key("claude-mem: observations in SQLite"), partial(_open_as, "claude-mem")),
    Reader("letta", key("Letta: archival passages in SQLite"), partial(_open_as, "letta")),
    Reader("memori", key("Memori: memori_entity_fact in SQLite"), partial(_open_as, "memori")),
    Reader("crewai-long-term", key("CrewAI before 1.0: long_term_memories in SQLite"), partial(_open_as, "crewai-long-term")),
    Reader("mcp-memory", key("MCP memory files: entities with observations, JSONL or JSON"),
           _file_only(mcp_memory.open_mcp_memory)),
    Reader("markdown", key("folders of Markdown memories: Claude Code, OpenClaw, basic-memory"), markdown.open_markdown, None,
           markdown.is_markdown_memory),
    Reader("sqlite", key("any other SQLite database: the table and its columns are found by looking"),
           lambda path, shown: open_sqlite(path, shown=shown)),
    Reader("jsonl", key("JSONL, one object a line; several files by a pattern"), _file_only(open_jsonl)),
    Reader("memorybank", key("MemoryBank's JSON: users, days, turns"), _file_only(open_json)),
    Reader("json", key("JSON: lists of objects, objects of objects, texts in lists"), _file_only(open_json)),
    Reader("csv", "CSV", _file_only(lambda path, shown: open_delimited(path, shown, "csv"))),
    Reader("tsv", "TSV", _file_only(lambda path, shown: open_delimited(path, shown, "tsv"))),
    Reader("parquet", key("Parquet; several files by a pattern"), _file_only(open_parquet), "parquet"),
)  # fmt: skip
#: Readers of addresses, which no `store_kind` names.
SERVERS: tuple[tuple[str, str, str | None], ...] = (
    ("qdrant", key("qdrant server by its address: qdrant://[KEY@]host:6333[/collection]"), None),
    ("postgres", key("Postgres by its address, with pgvector, LangGraph's and mem0's tables"), "postgres"),
    ("mysql", key("MySQL or MariaDB by its address"), "mysql"),
)
#: Names of the kinds that `store_kind` may be.
KINDS: tuple[str, ...] = tuple(r.name for r in READERS)
#: Readers that know a folder, in the order they are asked.
FOLDER_READERS: tuple[Reader, ...] = tuple(r for r in READERS if r.recognises_folder is not _no_folder)


def reader(name: str) -> Reader:
    """Return a reader by its name.

    Raises
    ------
    ConfigError
        There is none of that name.
    """
    for one in READERS:
        if one.name == name:
            return one
    raise ConfigError(
        say('store_kind "{name}" is not known.', name=name), say("Kinds: {kinds}.", kinds=", ".join(KINDS))
    )
