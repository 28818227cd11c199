"""What a probe may ask for: inputs of the audit, read or computed when first asked for, then kept."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from memaudit import cluster
from memaudit.config import Config
from memaudit.embedding import TextEncoder, UnitVectors, embedded_texts, encoded, from_stored, stored_vectors
from memaudit.errors import ConfigError, EncoderError
from memaudit.evaluation.inputs import EvaluationInputs, read_inputs
from memaudit.model import RowsLeftOut
from memaudit.production import look_up, read_production_config
from memaudit.records import IntArray, Records, Roles
from memaudit.retrieval_log import RetrievalLog, read_log
from memaudit.stores.store import Store, quoted
from memaudit.vectors import StoredVectors
from memaudit.wording import say

T = TypeVar("T")


class Need(str, Enum):
    """An input that a probe cannot do without; checked by the engine before it runs."""

    RECORDS = "records"
    TEXT = "text"
    VALUE_FIELD = "value_field"
    GROUP_FIELD = "group_field"
    VECTORS = "vectors"
    STORED_VECTORS = "stored_vectors"
    HITS = "hits"
    TIME = "time"
    RETRIEVAL_LOG = "retrieval_log"
    CAPACITY = "capacity"
    FILTERS = "filters"
    GENERATOR = "generator"
    CODE = "code"
    QUERIES = "queries"
    CORPUS = "corpus"
    RUNS = "runs"
    RANKINGS = "rankings"


#: Inputs that do not come from a store: a probe that needs only these runs without one.
WITHOUT_STORE = frozenset({Need.QUERIES, Need.CORPUS, Need.RUNS, Need.RANKINGS})

#: Need -> (why it is missing, the option that supplies it).
_MISSING = {
    Need.RECORDS: ("the store holds no rows", "store"),
    Need.TEXT: ("no column with the memory's text was found or named", "text"),
    Need.VALUE_FIELD: ("no field whose values are to be audited was found or named", "value_field"),
    Need.GROUP_FIELD: ("no field that groups or de-duplicates rows was found or named", "group_field"),
    Need.STORED_VECTORS: ("the store holds no vectors", "embedding"),
    Need.HITS: ("use is not recorded: no counter was found or named", "hits"),
    Need.TIME: ("no column with the time of writing was found or named", "time"),
    Need.RETRIEVAL_LOG: ("no table with past recalls was named", "retrieval_log"),
    Need.CAPACITY: ("no limit was named", "capacity"),
    Need.FILTERS: ("no filters were given", "filters"),
    Need.GENERATOR: ("no generator was given", "generator"),
    Need.CODE: ("no production code was given", "code"),
    Need.QUERIES: ("no evaluation set was given", "queries"),
    Need.CORPUS: ("no corpus of the evaluation set was given", "corpus"),
    Need.RUNS: ("no recorded rankings were given", "runs"),
    Need.RANKINGS: ("no recorded rankings and no table with past recalls were given", "runs"),
}


class Context:
    """Inputs of one audit, as probes see them.

    Parameters
    ----------
    config, store, records
        What was asked for and what was read.
    has_store
        False when only evaluation files were given: `store` and `records` are empty then.
    """

    def __init__(self, config: Config, store: Store, records: Records, *, has_store: bool = True) -> None:
        self.config = config
        self.store = store
        self.records = records
        self.has_store = has_store
        self.is_part = False
        self._labels: dict[float, IntArray] = {}
        self._measures: dict[Callable[[Context], Any], Any] = {}

    # -- inputs ---------------------------------------------------------------------------------

    @property
    def roles(self) -> Roles:
        """Which column plays which part."""
        return self.records.roles

    @property
    def table_name(self) -> str:
        """Name of the audited table."""
        return self.records.table.name

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator of chance of its own for each use, seeded by the configuration."""
        return np.random.default_rng([self.config.seed, zlib.crc32(name.encode())])

    def once(self, measure: Callable[[Context], T]) -> T:
        """Return `measure(self)`, computed once: for a measure that several probes rest on."""
        if measure not in self._measures:
            self._measures[measure] = measure(self)
        made: T = self._measures[measure]
        return made

    def limit(self, code: str, name: str, default: float) -> float:
        """Return a rule's threshold: the user's, else the default."""
        return self.config.limit(code, name, default)

    def missing(self, need: Need) -> tuple[str, str] | None:
        """Say why an input is not there and which option supplies it; None when it is there."""
        if self.is_part and need in WITHOUT_STORE:
            return say("evaluation files are judged as a whole, not by parts of the store"), need.value
        if need is Need.VECTORS:
            if self.missing(Need.RECORDS):
                return self.missing(Need.RECORDS)
            try:
                enough = len(self.vectors.rows) >= 2
            except EncoderError as error:
                return str(error), "encoder"
            return None if enough else (say("fewer than two rows have a vector or a text to encode"), "embedding")
        present = {
            Need.RECORDS: self.records.n_rows > 0,
            Need.TEXT: self.roles.text is not None,
            Need.VALUE_FIELD: self.roles.value_field is not None,
            Need.GROUP_FIELD: self.group_column is not None,
            Need.STORED_VECTORS: self.roles.embedding is not None or self.roles.vectors is not None,
            Need.HITS: self.roles.hits is not None,
            Need.TIME: self.roles.time is not None,
            Need.RETRIEVAL_LOG: self.config.retrieval_log is not None,
            Need.CAPACITY: self.config.capacity is not None,
            Need.FILTERS: bool(self.config.filters),
            Need.GENERATOR: self.config.generator is not None,
            Need.CODE: bool(self.config.code),
            Need.QUERIES: self.config.queries is not None,
            Need.CORPUS: self.config.corpus is not None or self.records.n_rows > 0,
            Need.RUNS: self.config.runs is not None,
            Need.RANKINGS: self.config.runs is not None or self.config.retrieval_log is not None,
        }
        if present[need]:
            return None
        reason, option = _MISSING[need]
        return say(reason), option

    @property
    def group_column(self) -> str | None:
        """Field that groups rows: the group field, else the value field."""
        return self.roles.group_field or self.roles.value_field

    # -- text and vectors -----------------------------------------------------------------------

    @cached_property
    def embedded_texts(self) -> tuple[str, ...]:
        """Text of each row as production embeds it."""
        return embedded_texts(self.records, self.config)

    @cached_property
    def stored_vectors(self) -> StoredVectors | None:
        """Production's vectors with a status for each row; None when the store holds none."""
        return stored_vectors(self.records, self._vectors_by_key, self.config)

    @cached_property
    def _vectors_by_key(self) -> dict[object, object] | None:
        where = self.roles.vectors
        if where is None:
            return None
        table = self.store.table(where["table"])
        for part in ("ref", "embedding"):
            if not table.has(where[part]):
                raise ConfigError(
                    say("vectors: table '{name}' has no column '{where}'.", name=table.name, where=where[part])
                )
        sql = f"SELECT {quoted(where['ref'])}, {quoted(where['embedding'])} FROM {quoted(table.name)}"
        return dict(self.store.rows(sql))

    @property
    def vectors(self) -> UnitVectors:
        """Unit vectors of the rows that have one (see :mod:`memaudit.embedding` for the order of sources).

        Raises
        ------
        EncoderError
            No stored vectors, and the encoder is not here.
        """
        made = self._vectors
        if isinstance(made, EncoderError):
            raise made
        return made

    @property
    def vectors_if_made(self) -> UnitVectors | EncoderError | None:
        """Vectors, or why there are none, if a probe asked for them; None when nobody did."""
        made: UnitVectors | EncoderError | None = self.__dict__.get("_vectors")
        return made

    @property
    def vectors_of_every_script(self) -> UnitVectors:
        """Vectors before rows are withheld whose script the encoder has no words for; only MA017 looks at these."""
        made = self._unfiltered
        if isinstance(made, EncoderError):
            raise made
        return made

    @cached_property
    def _vectors(self) -> UnitVectors | EncoderError:
        made = self._unfiltered
        if isinstance(made, EncoderError) or made.encoder.name == "stored":
            return made
        try:
            gone = self.rows_withheld
        except EncoderError as error:
            return error
        if not gone:
            return made
        kept = [i for i, row in enumerate(made.rows.tolist()) if row not in gone]
        keys = tuple(self.records.keys[row] for row in sorted(gone & set(made.rows.tolist())))
        reason = say("the encoder has no words for the script of the text")
        return replace(
            made,
            matrix=made.matrix[kept],
            rows=made.rows[kept],
            left_out=(*made.left_out, RowsLeftOut(len(keys), reason, keys)),
        )

    @cached_property
    def rows_withheld(self) -> frozenset[int]:
        """Rows whose cosines mean nothing with the encoder of the configuration.

        More than a tenth of their script's tokens are unknown to it.
        """
        from memaudit.encoders.tokens import tokenizer_of
        from memaudit.encoders.window import rows_to_withhold

        tokenizer = tokenizer_of(self.config.encoder)
        if tokenizer is None:
            return frozenset()
        return frozenset(
            rows_to_withhold(self.embedded_texts, tokenizer, self.limit("MA017", "max_unknown_share", 0.10))
        )

    @cached_property
    def _unfiltered(self) -> UnitVectors | EncoderError:
        try:
            if self.config.encoder in (None, "stored"):
                stored = self.stored_vectors
                if stored is not None and len(stored.rows):
                    return from_stored(stored, self.records.keys)
                if self.config.encoder == "stored":
                    raise EncoderError(
                        say('encoder = "stored", but the store holds no usable vectors.'),
                        say("Give --embedding COLUMN, or --encoder embedded to encode the texts here."),
                    )
            made = encoded(self.embedded_texts, self.records.keys, self.text_encoder)
            has_text = self.roles.text or self.roles.embedded_text or self.roles.embedded_fields
            return made if has_text else replace(made, left_out=())  # no row is blank where none can have a text
        except EncoderError as error:
            return error

    @cached_property
    def text_encoder(self) -> TextEncoder:
        """The encoder of the configuration, for texts that production did not embed.

        Raises
        ------
        EncoderError
            It is not on this disk.
        """
        return TextEncoder(self.config)

    @property
    def text_encoder_if_used(self) -> TextEncoder | None:
        """The encoder if a probe asked for it, for the counts of the run."""
        made: TextEncoder | None = self.__dict__.get("text_encoder")
        return made

    def cluster_labels(self, min_cos: float) -> IntArray:
        """Cluster the rows of `vectors` by greedy leader clustering in row order; (m,) labels, kept."""
        if min_cos not in self._labels:
            # All thresholds of the audit share one pass over the pairs.
            wanted = {min_cos, *self.config.thresholds} - set(self._labels)
            self._labels |= cluster.leader_clusters_at(self.vectors.matrix, sorted(wanted))
        return self._labels[min_cos]

    # -- groups and use -------------------------------------------------------------------------

    @cached_property
    def groups(self) -> dict[Any, IntArray]:
        """Row numbers by value of the group field, NULL left out; largest group first, then in row order."""
        return self.rows_by_value(self.group_column) if self.group_column is not None else {}

    def rows_by_value(self, column: str) -> dict[Any, IntArray]:
        """Return row numbers by value of a column, NULL left out; largest first, then in row order."""
        rows: dict[Any, list[int]] = {}
        for row, value in enumerate(self.records.column(column)):
            if value is not None:
                rows.setdefault(value, []).append(row)
        ordered = sorted(rows.items(), key=lambda item: -len(item[1]))
        return {value: np.array(found, dtype=np.int64) for value, found in ordered}

    @cached_property
    def hits(self) -> tuple[float | None, ...] | None:
        """Use counter of each row as a number, None where it is no number; None without a counter."""
        if self.roles.hits is None:
            return None
        return tuple(_number(value) for value in self.records.column(self.roles.hits))

    @cached_property
    def log(self) -> RetrievalLog | None:
        """Table of past recalls, None when it was not named."""
        if self.config.retrieval_log is None:
            return None
        # Rows that were deleted or not drawn were recalled, too: all keys tell which column names memories.
        every = Records(self.store, self.records.table, self.roles)
        return read_log(self.store, self.config.retrieval_log, every.keys)

    # -- evaluation -----------------------------------------------------------------------------

    @cached_property
    def evaluation(self) -> EvaluationInputs:
        """Query set, corpus, recorded rankings and predictions; the store's rows are the corpus when no file is.

        All rows, also where a sample is audited: what queries expect may not have been drawn.

        Raises
        ------
        ConfigError
            A file breaks its format, or two files do not belong together.
        """
        records = self.records.undrawn if self.has_store and self.records.n_rows else None
        texts: tuple[str, ...] = ()
        if records is not None:
            texts = self.embedded_texts if records is self.records else embedded_texts(records, self.config)
        source = self.roles.source or self.config.source
        named = source if records is not None else None
        return read_inputs(self.config, records, texts, self.table_name, named, self._call)

    def _call(self, target: str, texts: Sequence[str], more: Mapping[str, Any]) -> list[Any]:
        """Call a production function for each text in a child process."""
        from memaudit.target import call_each

        config = self.config
        folders = tuple(config.path(folder) for folder in config.code_path or ())
        # A configured factory belongs to the generator where there is one.
        factory = config.factory if config.generator is None else None
        with self.lent_store() as databases:
            return call_each(
                target, texts, base=config.base, code_path=folders, factory=factory, stubs=config.stub or (), more=more,
                databases=databases,
            )  # fmt: skip

    def lent_store(self) -> AbstractContextManager[Mapping[str, str]]:
        """Hand the store to production code for the length of a block: path -> what may be opened, never written."""
        from memaudit.stores.lent import lent

        if not self.has_store or not self.config.store:
            return nullcontext({})
        return lent(self.config.path(self.config.store))

    # -- the machinery around the store ---------------------------------------------------------

    @cached_property
    def production_config(self) -> Mapping[str, Any] | None:
        """Production configuration, None when it was not given."""
        return read_production_config(self.config.path(self.config.config)) if self.config.config else None

    def production_value(self, key: str) -> Any:
        """Look a key up in the production configuration, at any depth; None when it is not there."""
        return look_up(self.production_config, key) if self.production_config is not None else None

    def other_table(self, name: str) -> Records:
        """Return another table of the store as records without roles."""
        table = self.store.table(name)
        return Records(self.store, table, Roles(table=table.name))

    def restricted(self, rows: IntArray) -> Context:
        """Return the same audit for some rows only; vectors already made are taken along."""
        other = Context(self.config, self.store, self.records.restricted(rows))
        other.is_part = True
        made = self._vectors if self.records.n_rows else None
        if made is not None:
            other.__dict__["_vectors"] = made if isinstance(made, EncoderError) else made.restricted(rows)
            every = self._unfiltered
            other.__dict__["_unfiltered"] = every if isinstance(every, EncoderError) else every.restricted(rows)
        return other


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            value = float(value) if isinstance(value, str) else None
        except ValueError:
            return None
    return None if value is None or value != value else float(value)
