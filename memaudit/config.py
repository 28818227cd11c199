"""All settings of an audit as one frozen :class:`Config`.

Every key is a field; its metadata holds the sentence that `memaudit init` and `memaudit config` print.
Reading files, environment and command line: :mod:`memaudit.config_file`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memaudit.errors import ConfigError
from memaudit.stores.addresses import without_credentials
from memaudit.wording import LANGUAGES, say

DEFAULT_THRESHOLDS = (0.98, 0.95, 0.90, 0.85)
ENVIRONMENT_PREFIX = "MEMAUDIT_"
#: Environment variables of the prefix that are no configuration keys.
_OTHER_VARIABLES = frozenset({"MEMAUDIT_CACHE_DIR", "MEMAUDIT_COMPLETE", "MEMAUDIT_SHARED", "MEMAUDIT_NODE_MODULES"})

_SEVERITIES = ("info", "low", "medium", "high")


def _key(help_: str, *, default: Any = None, kind: str = "text", choices: Sequence[str] = ()) -> Any:
    """Declare a key: its meaning, the kind that :func:`_checked` knows, and the default."""
    metadata = {"help": help_, "kind": kind, "choices": tuple(choices)}
    if isinstance(default, dict):
        return field(default_factory=lambda: MappingProxyType(dict(default)), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Config:
    """All settings of one audit; None means "find it by looking, or leave the probe out"."""

    # What to read
    store: str | None = _key("file, folder or URL of the store")
    store_kind: str | None = _key("kind of the store, only where detection is wrong")
    table: str | None = _key("table or collection that holds the memories")
    where: str | None = _key("SQL condition that limits the rows")
    id: str | None = _key("column with the row's key")
    text: str | None = _key("column with the memory's text; may be a JSON path: value$.content")
    time: str | None = _key("column with the time of writing")
    value_field: str | None = _key("the field whose values are audited")
    value_field_role: str | None = _key("what the values are meant to be, in words; broad categories keep MA301 low")
    group_field: str | None = _key("key that de-duplication or grouping uses (default: value_field)")
    soft_delete: str | None = _key("column that marks a deleted row")
    active: str | None = _key("column that marks an active row")
    source: str | None = _key("column that says where a row came from")
    # Vectors
    embedding: str | None = _key("column with stored vectors")
    embedding_format: str | None = _key('how vectors are written: "float32 little-endian BLOB"')
    embedding_model: str | None = _key("column that names the model of each vector")
    vectors: Mapping[str, Any] | None = _key(
        'vectors kept in another table: {table = "memory_vectors", ref = "memory_id", embedding = "embedding"}',
        kind="table",
    )
    encoder: str | None = _key('"stored", "embedded", or a sentence-transformers model name or folder')
    embedded_text: str | None = _key("column that holds the very text that was embedded")
    embedded_fields: tuple[str, ...] | None = _key(
        "columns joined by a blank, in this order, into the embedded text", kind="texts"
    )
    template: str | None = _key("file with the embedding template, {name} for the variables", kind="path")
    embed_max_chars: int | None = _key("the production encoder's window in characters", kind="integer")
    embed_max_tokens: int | None = _key("the production encoder's window in tokens", kind="integer")
    # Use
    hits: str | None = _key("use counter")
    last_access: str | None = _key("time of last use")
    retrieval_log: str | None = _key("table with past recalls")
    # De-duplication, owners, retention
    merged_into: str | None = _key("column naming the surviving row")
    dedup: str | None = _key("what de-duplication claims to do, in words")
    dropped_table: str | None = _key("table of rows that de-duplication dropped")
    dropped_kept_ref: str | None = _key("column of dropped_table that names the kept row")
    isolation_keys: tuple[str, ...] | None = _key("columns that keep owners apart", kind="texts")
    scope: str | None = _key("column of the retention scope")
    scored_marker: str | None = _key("column set when a score was really computed")
    supersedes: Mapping[str, Any] | None = _key(
        'edge table: {table = "edges", new = "new_id", old = "old_id"}', kind="table"
    )
    subject_key: str | None = _key("column naming what a fact is about")
    # The machinery around the store
    metadata: str | None = _key("JSON column that filters look into")
    filters: tuple[str, ...] | str | None = _key(
        "filters used at recall time: SQL conditions (? = any value), or a JSON file of them",
        kind="texts-or-path",
    )
    config: str | None = _key("the production configuration (JSON or TOML)", kind="path")
    capacity: int | str | None = _key("the limit of rows: a number, or its key in config", kind="integer-or-text")
    evictions: int | str | None = _key("table or counter of evictions", kind="integer-or-text")
    keyword_index: Mapping[str, Any] | None = _key('full-text table: {table = "memories_fts"}', kind="table")
    terms: str | None = _key("search terms to try (JSONL)", kind="path")
    query_cleaner: str | None = _key("production function that cleans a query")
    # Production code
    generator: str | None = _key("production function that makes the value field: pkg.mod:Class.fn")
    generator_args: tuple[str, ...] | None = _key("columns that feed its parameters, in order", kind="texts")
    generator_inputs: Mapping[str, Any] | None = _key("shapes and values for the other parameters", kind="table")
    factory: str | None = _key("production function that builds the object of a method: pkg.mod:make")
    stub: tuple[str, ...] | None = _key("modules to replace by dummies when importing", kind="texts")
    code: tuple[str, ...] | None = _key("files or folders for the guarded-code probe", kind="texts")
    code_path: tuple[str, ...] | None = _key("folders to put on the import path", kind="texts")
    upstream_column: str | None = _key("column that the guarded parameter comes from")
    # Evaluation
    queries: str | None = _key("query set (JSONL)", kind="path")
    corpus: str | None = _key("corpus of the query set (JSONL)", kind="path")
    runs: str | None = _key("recorded rankings (JSONL)", kind="path")
    predictions: str | None = _key("figures predicted before the run", kind="path")
    metric: str = _key("primary metric", default="hit")
    alpha: float = _key("level of the decision table", default=0.05, kind="number")
    margin: float = _key("margin of the decision table", default=0.05, kind="number")
    query_tokenizer: str | None = _key("production tokenizer of queries: pkg.mod:fn")
    recall: str | None = _key("production entry point of recall: pkg.mod:fn")
    eval_recall: str | None = _key("evaluation entry point of recall: pkg.mod:fn")
    k: int | None = _key("primary cut-off", kind="integer")
    compare: tuple[str, ...] | None = _key("the two arms: before, after", kind="texts")
    category: str | None = _key("category field of the queries")
    ablate: tuple[str, ...] | None = _key("embedded fields to leave out, one variant each", kind="texts")
    stages: tuple[str, ...] | None = _key("recall stages that can be switched off: pkg.mod:fn", kind="texts")
    # Traces
    traces: tuple[str, ...] | str | None = _key("traces of the agent", kind="texts-or-path")
    traces_kind: str | None = _key("format of the traces")
    trace_map: Mapping[str, Any] | None = _key("fields of a home-made trace", kind="table")
    recall_tools: tuple[str, ...] | None = _key("tools that recall memories", kind="texts")
    memory_markers: tuple[str, ...] | None = _key("words that open a memory block in a prompt", kind="texts")
    maintenance_markers: tuple[str, ...] | None = _key("words of maintenance turns", kind="texts")
    write_tools: tuple[str, ...] | None = _key("tools that write memories", kind="texts")
    poll_tools: tuple[str, ...] | None = _key("tools that may be called again and again", kind="texts")
    error_markers: tuple[str, ...] | None = _key("words of a failed tool call", kind="texts")
    tool_schemas: str | None = _key("JSON Schemas of the tools", kind="path")
    context_window: int | None = _key("tokens of the model's window", kind="integer")
    context_plan: Mapping[str, Any] | None = _key("tokens planned for each part", kind="table")
    needed: str | None = _key("what each task needs from memory (JSONL)", kind="path")
    answer_check: str | None = _key("function that judges an answer: pkg.mod:fn")
    arms: Mapping[str, Any] | None = _key("traces of several arms", kind="table")
    task_field: str | None = _key("field that names the task")
    split: str | None = _key("field that names the split")
    labels: str | None = _key("labels of failures (JSONL)", kind="path")
    prices: Mapping[str, Any] | None = _key("price of tokens", kind="table")
    # How to audit
    thresholds: tuple[float, ...] = _key("clustering cosines", default=DEFAULT_THRESHOLDS, kind="numbers")
    by: tuple[str, ...] | None = _key(
        'columns by which tables are repeated; "language" looks at the text', kind="texts"
    )
    max_rows: int | None = _key("audit a seeded sample of so many rows", kind="integer")
    seed: int = _key("seed of everything random", default=0, kind="integer")
    select: tuple[str, ...] | None = _key("run only these rules or probes: MA3, MA101, diversity", kind="texts")
    ignore: tuple[str, ...] | None = _key("leave these rules or probes out", kind="texts")
    fail_on: str = _key(
        "lowest severity that makes the exit code 1", default="never", choices=("never", *_SEVERITIES, "new")
    )
    fail_on_underpowered: bool = _key("let under-powered findings fail too", default=False, kind="flag")
    min_severity: str = _key("lowest severity that is shown", default="info", choices=_SEVERITIES)
    baseline: str | None = _key("file of accepted findings", kind="path")
    history: str | None = _key("folder or file that keeps each audit", kind="path")
    redact: bool = _key("show no store text at all", default=False, kind="flag")
    lang: str = _key("language of the report", default="en", choices=LANGUAGES)
    max_examples: int = _key("examples shown for a finding", default=5, kind="integer")
    allow_download: bool = _key("let an encoder download its model", default=False, kind="flag")
    limits: Mapping[str, Any] = _key(
        "thresholds of single rules: MA101.share_on_fallback = 0.2", default={}, kind="table"
    )
    suppress: tuple[Mapping[str, Any], ...] = _key(
        "findings accepted, with reason and end date", default=(), kind="tables"
    )

    #: Folder that relative paths start from, the file read, and where each given value came from.
    base: Path = field(default_factory=Path, metadata={"internal": True})
    file: Path | None = field(default=None, metadata={"internal": True})
    origins: Mapping[str, str] = field(default_factory=dict, metadata={"internal": True})

    def path(self, value: str) -> Path:
        """Resolve a path of the configuration against its folder."""
        return (self.base / os.path.expanduser(value)) if value else self.base  # never fails, as Path.expanduser may

    def limit(self, code: str, name: str, default: float) -> float:
        """Return the threshold `code.name` of the user, else the rule's default."""
        given = self.limits.get(code)
        value = given.get(name, default) if isinstance(given, Mapping) else self.limits.get(f"{code}.{name}", default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(
                say("limits.{code}.{name} is {value}; a number was expected.", code=code, name=name, value=repr(value))
            )
        return float(value)

    def given(self) -> dict[str, Any]:
        """Return the keys that somebody set, as plain JSON values, in the order of the fields."""
        return {name: self.shown(name) for name in KEYS if name in self.origins}

    def resolved(self) -> dict[str, Any]:
        """Return every key with a value, as plain JSON values, in the order of the fields."""
        values = {name: self.shown(name) for name in KEYS}
        return {name: value for name, value in values.items() if value not in (None, [], {})}

    def shown(self, name: str) -> Any:
        """Return a value as it may be stored in a report: an address without user and password."""
        value = getattr(self, name)
        return without_credentials(value) if name == "store" and isinstance(value, str) else plain(value)


#: Names of all keys, in the order of the fields.
KEYS: tuple[str, ...] = tuple(f.name for f in fields(Config) if not f.metadata.get("internal"))
_FIELDS = {f.name: f for f in fields(Config)}


def plain(value: Any) -> Any:
    """Turn tuples and mapping proxies into lists and dicts, for JSON."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def key_kind(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a key's value and the words it may be (empty: any)."""
    metadata = _FIELDS[name].metadata
    return str(metadata["kind"]), tuple(metadata["choices"])


def key_help(name: str) -> str:
    """Return the sentence that explains a key."""
    return str(_FIELDS[name].metadata["help"])


def nearest(name: str, known: Sequence[str]) -> str:
    """Return `Did you mean "x"?`, or an empty text when nothing is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return say('Did you mean "{name}"?', name=near[0]) if near else ""
