"""Settings that somebody gave and that nothing reads: named in the report, so that nobody takes silence for an answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memaudit.config import KEYS, Config

if TYPE_CHECKING:
    from memaudit.registry import Probe

#: Keys that are kept for probes to come: nothing but a probe reads them, and one that does says so (`needs`, `reads`).
FOR_PROBES = frozenset(
    {
        "traces", "traces_kind", "trace_map", "recall_tools", "memory_markers", "maintenance_markers", "write_tools",
        "poll_tools", "error_markers", "tool_schemas", "context_plan", "needed", "answer_check", "arms", "task_field",
        "split", "labels",
    }
)  # fmt: skip


def unread_keys(config: Config, probes: Iterable[Probe]) -> tuple[str, ...]:
    """Return the keys that were given and that no probe reads, in the order of the fields.

    Parameters
    ----------
    config
        As the user gave it: what a reader of stores fills in by itself is nobody's setting.
    probes
        All probes there are, whether they were chosen or not.
    """
    read = {need.value for p in probes for need in p.needs} | {name for p in probes for name in getattr(p, "reads", ())}
    default = Config()
    given = [name for name in KEYS if name in config.origins or getattr(config, name) != getattr(default, name)]
    return tuple(name for name in given if name in FOR_PROBES and name not in read)
