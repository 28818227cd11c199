"""What must be equal for the figures of two audits to be comparable: table, encoder, settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from memaudit.model import Audit, Json
from memaudit.wording import say

#: Settings that change what is shown or where it goes, never what a figure is.
_SHOWN_ONLY = frozenset(
    {"store", "fail_on", "fail_on_underpowered", "min_severity", "baseline", "history", "redact", "lang"}
    | {"max_examples", "allow_download", "suppress", "by", "select", "ignore"}
)
_VALUE_SHOWN = 60


@dataclass(frozen=True)
class Settings:
    """What the figures of an audit depend on, beside the rows.

    Parameters
    ----------
    table
        The audited table, None when no store was read.
    encoder
        `name`, `dim` and `revision`; empty when no vectors were used.
    config
        Settings that matter, as resolved.
    """

    table: str | None = None
    encoder: Mapping[str, Json] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)


def settings_of(audit: Audit) -> Settings:
    """Read them from an audit."""
    encoder = audit.encoder
    return Settings(
        table=None if audit.store is None else audit.store.table or "-",
        encoder={} if encoder is None else {"encoder": encoder.name, "dimensions": encoder.dim, "revision": encoder.revision},
        config={key: value for key, value in audit.config.items() if key not in _SHOWN_ONLY},
    )  # fmt: skip


def settings_text(settings: Settings) -> str:
    """Write settings for the archive."""
    return json.dumps(asdict(settings), ensure_ascii=True, sort_keys=True, default=str)


def settings_from(text: str) -> Settings:
    """Read what :func:`settings_text` wrote."""
    return Settings(**json.loads(text))


def differences(old: Settings, new: Settings) -> tuple[str, ...]:
    """Say why figures of two audits cannot be compared; () when they can.

    An audit without vectors does not break the comparison: it has no figure made of them.
    """
    if (old.table is None) != (new.table is None):
        return (say("only one of the two audits read a store"),)
    pairs = [("table", old.table, new.table)]
    if old.encoder and new.encoder:
        pairs += [(key, old.encoder.get(key), new.encoder.get(key)) for key in ("encoder", "dimensions", "revision")]
    # The table and the encoder that were used tell more than what was asked for.
    used = {"table", "encoder"} if old.encoder and new.encoder else {"table"}
    keys = sorted({*old.config, *new.config} - used)
    pairs += [(key, old.config.get(key), new.config.get(key)) for key in keys]
    return tuple(
        say("`{name}` was {was}, is {now}", name=name, was=_shown(was), now=_shown(now))
        for name, was, now in pairs
        if was != now
    )


def _shown(value: Json) -> str:
    if value is None:
        return say("not set")
    text = str(value)
    return text if len(text) <= _VALUE_SHOWN else text[:_VALUE_SHOWN] + "…"
