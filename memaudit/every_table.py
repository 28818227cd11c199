"""Audit every table of memories of a store, one after the other, from one opening of it: `run --all-tables`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memaudit import __version__
from memaudit.config import Config
from memaudit.engine import INTERRUPTED, run_audit
from memaudit.errors import ConfigError, MemauditError, StoreError
from memaudit.model import Audit, Audits, TableLeftOut
from memaudit.probe_run import Progress
from memaudit.roles.table_choice import about_other, choose_table, look_at, serves_program
from memaudit.stores.addresses import without_credentials
from memaudit.stores.assembled import other_table_note
from memaudit.stores.detect import open_store
from memaudit.stores.store import DAMAGED, Store, StoreTable
from memaudit.wording import say, spoken

#: Keys of the configuration that name another table than that of the memories.
_TABLES_OF_KEYS = ("retrieval_log", "dropped_table", "evictions", "vectors", "supersedes", "keyword_index")

TableKeys = Callable[[str, Sequence[Any]], None]


@spoken
def audit_every_table(
    config: Config, *, command: str = "", progress: Progress | None = None, keys: TableKeys | None = None
) -> Audits:
    """Audit the tables of a store that hold memories, the largest first.

    Which these are, the reader of the store says; where it does not know, every table with rows and a column of
    sentences is audited. Tables that play another part are left out with the reason: see :func:`sorted_out`.

    Parameters
    ----------
    config
        Its settings hold for every table; `table` is not looked at.
    command
        The command line, for the report; each audit carries the one that repeats it alone.
    keys
        Called with the name of a table and the keys of its rows, as `run_audit` does.

    Raises
    ------
    ConfigError
        No store was named, the store holds no table of memories, or the settings fit no table at all.
    StoreError
        The store cannot be opened, or none of its tables read.
    """
    if not config.store:
        raise ConfigError(say("no store was given."), say("Give --store PATH, or set store in memaudit.toml."))
    tell = progress or (lambda sentence: None)
    tell(say("opening {path}", path=without_credentials(config.store)))
    config = replace(config, table=None)
    store = open_store(config.store or "", config.store_kind, config.base, every=True)
    audits: list[Audit] = []
    first: MemauditError | None = None
    interrupted = False
    try:
        tables, left_out = sorted_out(store, config)
        # Nothing looks like memories: the one table there is, or the error that a single audit would give.
        if not tables and not first_failure(left_out):
            tables = [choose_table(store, None)[0].table]
            left_out = [one for one in left_out if one.table != tables[0].name]
        for number, table in enumerate(tables, 1):
            if interrupted:
                left_out.append(TableLeftOut(table.name, table.n_rows, say(INTERRUPTED), failed=True))
                continue
            try:
                audits.append(
                    run_audit(
                        replace(config, table=table.name),
                        command=alone(command, table.name),
                        progress=_prefixed(tell, number, len(tables), table.name),
                        opened=store,
                        keep_open=True,
                        keys=None if keys is None else _bound(keys, table.name),
                    )
                )
            except MemauditError as error:
                first = first or error
                left_out.append(TableLeftOut(table.name, table.n_rows, str(error), failed=True))
            else:
                interrupted = audits[-1].incomplete == say(INTERRUPTED)
    finally:
        store.close()
    if not audits:
        raise first or StoreError(f"{store.path}: {first_failure(left_out)}")
    audited = [a.store.table or "" for a in audits if a.store is not None]
    audits = [_without_the_others(audit, store, audited) for audit in audits]
    return Audits(
        memaudit=__version__,
        store=store.path,
        kind=store.kind,
        audits=tuple(audits),
        not_audited=tuple(left_out),
        command=command,
        incomplete=_incomplete(audits, left_out),
        lang=config.lang,
    )


def sorted_out(store: Store, config: Config) -> tuple[list[StoreTable], list[TableLeftOut]]:
    """Tell the tables to audit, the largest first, from the others, each with its reason.

    Left out are tables without rows, those that hold vectors, edges, a log or dropped rows for another, those that
    the reader knows to accompany the memories, and, where it does not know, those without a column of sentences and
    those whose name and keys say that their rows are about those of another table, or whose name is that of a part of
    the program beside a table of memories.
    """
    parts = dict(_parts(store, config))
    chosen: list[StoreTable] = []
    left_out: list[TableLeftOut] = []
    looked = []
    for table in store.tables:
        reason, failed = "", False
        if table.name in parts:
            reason = parts[table.name]
        elif not table.n_rows:
            reason = say("it holds no rows")
        elif store.memories is not None and table.name not in store.memories:
            reason = say("it accompanies the memories")
        elif store.memories is None and table.name not in store.table_hints:
            try:
                looked.append(look_at(store, table))
            except StoreError as error:
                reason, failed = str(error), True
            else:
                if looked[-1].text.column is None:
                    reason = say("no column holds sentences")
        if reason:
            left_out.append(TableLeftOut(table.name, table.n_rows, reason, failed=failed))
        else:
            chosen.append(table)
    texts = [one for one in looked if one.text.column is not None]
    for one in texts:
        other, program = about_other(store, one, texts), serves_program(one, texts)
        if (other or program) and one.table in chosen:
            chosen.remove(one.table)
            reason = (
                say("its name and its keys say that its rows are about those of {other}", other=other)
                if other is not None
                else say("its name is that of a part of the program; {other} holds memories", other=program)
            )
            left_out.append(TableLeftOut(one.table.name, one.table.n_rows, reason))
    for name, reason in store.skipped.items():
        failed = name in store.unreadable or reason.startswith(DAMAGED)
        left_out.append(TableLeftOut(name, None, reason, failed=failed))
    return sorted(chosen, key=lambda t: -t.n_rows), left_out


def _parts(store: Store, config: Config) -> Iterator[tuple[str, str]]:
    """Give the tables that the configuration or the reader names for something else than memories."""
    for table in store.tables:
        for role, (value, _) in store.hints_for(table.name).items():
            if isinstance(value, Mapping) and isinstance(value.get("table"), str):
                yield value["table"], say("it serves {table} as {role}", role=role, table=table.name)
    for key in _TABLES_OF_KEYS:
        value = getattr(config, key)
        name = value.get("table") if isinstance(value, Mapping) else value
        if isinstance(name, str):
            yield name, say("the configuration names it as {key}", key=key)


def alone(command: str, table: str) -> str:
    """Return the command line that audits one table as the given one audits all."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if "--all-tables" not in words:
        return command
    place = words.index("--all-tables")
    return shlex.join([*words[:place], "--table", table, *(w for w in words[place + 1 :] if w != "--all-tables")])


def first_failure(left_out: Sequence[TableLeftOut]) -> str:
    """Say why the first table that failed did, "" when none failed."""
    return next((say("{table}: {reason}", table=one.table, reason=one.reason) for one in left_out if one.failed), "")


def _incomplete(audits: Sequence[Audit], left_out: Sequence[TableLeftOut]) -> str:
    for audit in audits:
        if audit.incomplete == say(INTERRUPTED):
            return audit.incomplete
    failed = first_failure(left_out)
    if failed:
        return failed
    return next(
        (
            say("{table}: {reason}", table=audit.store.table, reason=audit.incomplete)
            for audit in audits
            if audit.incomplete and audit.store is not None
        ),
        "",
    )


def _without_the_others(audit: Audit, store: Store, audited: Sequence[str]) -> Audit:
    """Take away what an audit says of tables that it did not look at: others did, or the list of all says why not."""
    if audit.store is None:
        return audit
    table = audit.store.table or ""
    others = {other_table_note(store.path, t.name, t.n_rows) for t in store.tables}
    head = replace(
        audit.store,
        notes=tuple(note for note in store.notes_for(table) if note not in others),
        other_tables=tuple(one for one in audit.store.other_tables if one["table"] not in audited),
    )
    return replace(audit, store=head)


def _prefixed(tell: Progress, number: int, n: int, table: str) -> Progress:
    def told(sentence: str) -> None:
        tell(say("table {number} of {n}, {table}: {sentence}", number=number, n=n, table=table, sentence=sentence))

    return told


def _bound(keys: TableKeys, table: str) -> Callable[[Sequence[Any]], None]:
    return lambda values: keys(table, values)
