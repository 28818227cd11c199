"""Open a store and its context for commands that look at one thing only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from memaudit.config import Config
from memaudit.context import Context
from memaudit.errors import ConfigError
from memaudit.roles import find_roles, open_records
from memaudit.roles.store_hints import with_hints
from memaudit.stores.detect import open_store
from memaudit.wording import say


@contextmanager
def open_context(config: Config) -> Iterator[Context]:
    """Open the configured store, find its roles, and close it again.

    Raises
    ------
    ConfigError
        No store was named, or a named table or column is not there.
    StoreError
        The store cannot be read.
    """
    if not config.store:
        raise ConfigError(say("no store was given."), say("Give --store PATH, or set store in memaudit.toml."))
    store = open_store(config.store, config.store_kind, config.base, config.table)
    try:
        roles = find_roles(store, config)
        records, _ = open_records(store, roles, config, np.random.default_rng(config.seed))
        config, _ = with_hints(config, store, roles.table)
        yield Context(config, store, records)
    finally:
        store.close()
