"""Plain calls of the target: arguments in, value, exception, time and refusals out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from memaudit.domain import guard
from memaudit.domain.codec import to_json, unpack
from memaudit.domain.engine import call_untouched
from memaudit.domain.guard import CallClock
from memaudit.domain.loading import Loaded

#: Kept before anything of the target can replace it.
_clock_ns = time.perf_counter_ns


def call_all(loaded: Loaded, inputs: Sequence[Any], clock: CallClock) -> list[dict[str, Any]]:
    """Call the function once for each set of packed arguments.

    Returns
    -------
    For each call `value` (as JSON knows it), `error` (the exception in words, None where there was none), `ms`, and
    `refused`: what the target was kept from, whether it raised or went on without it.
    """
    before = list(guard.refusals)
    out: list[dict[str, Any]] = []
    for packed in inputs:
        arguments = unpack(packed, loaded.names)
        guard.refusals[:] = before
        start = _clock_ns()
        value, error = call_untouched(loaded.call, arguments, clock)
        took = (_clock_ns() - start) / 1e6
        out.append({
            "value": None if error is not None else to_json(value), "error": error, "ms": took,
            "refused": list(guard.refusals),
        })  # fmt: skip
    return out
