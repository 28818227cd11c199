"""Which probes there are and whether each can run on a store: what `memaudit probes` prints."""

from __future__ import annotations

from typing import Any

import numpy as np

from memaudit.config import Config
from memaudit.context import Context, Need
from memaudit.registry import Probe, all_probes
from memaudit.roles import find_roles, open_records
from memaudit.stores.detect import open_store
from memaudit.wording import say


def listing(config: Config) -> list[dict[str, Any]]:
    """Return one plain mapping a probe; `can_run` is None when no store was named.

    Vectors count as present when they are stored or an encoder is named or built in: nothing is encoded here.
    """
    probes = all_probes()
    if not config.store:
        return [_row(p, None, None) for p in probes]
    store = open_store(config.store, config.store_kind, config.base, config.table)
    try:
        records, _ = open_records(store, find_roles(store, config), config, np.random.default_rng(config.seed))
        ctx = Context(config, store, records)
        return [_row(p, *_can_run(p, ctx)) for p in probes]
    finally:
        store.close()


def _can_run(probe: Probe, ctx: Context) -> tuple[bool, tuple[str, str] | None]:
    for need in sorted(probe.needs, key=lambda n: list(Need).index(n)):
        missing = ctx.missing(Need.RECORDS if need is Need.VECTORS else need)
        if missing is not None:
            return False, missing
    return True, None


def _row(probe: Probe, can_run: bool | None, missing: tuple[str, str] | None) -> dict[str, Any]:
    return {
        "name": probe.name,
        "title": say(probe.title),
        "codes": dict(sorted(probe.codes.items())),
        "needs": sorted(need.value for need in probe.needs),
        "can_run": can_run,
        "reason": missing[0] if missing else None,
        "option": missing[1] if missing else None,
    }
