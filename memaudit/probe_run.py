"""Run one probe: a crash becomes a result with its traceback. The only module that catches `Exception`."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace

from memaudit.context import Context, Need
from memaudit.errors import ConfigError, EncoderError, StoreError
from memaudit.model import NotRun, ProbeResult, Status
from memaudit.registry import Probe, works_without_store
from memaudit.wording import say

Progress = Callable[[str], None]


def outcome(ctx: Context, probe: Probe, codes: tuple[str, ...]) -> ProbeResult | NotRun:
    """Run one probe, or say why it did not run."""
    try:
        if ctx.records.n_rows == 0 and not works_without_store(probe):
            reason = say("the store holds 0 rows") if ctx.has_store else say("no store was given")
            return NotRun(probe.name, codes, Status.SKIPPED, reason, "store")
        for need in sorted(probe.needs, key=lambda n: list(Need).index(n)):
            missing = ctx.missing(need)
            if missing is not None:
                return NotRun(probe.name, codes, Status.SKIPPED, *missing)
        return _kept(probe.name, probe.run(ctx), codes)
    except (ConfigError, StoreError):
        raise
    except EncoderError as error:
        return NotRun(probe.name, codes, Status.SKIPPED, str(error), "encoder")
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return NotRun(probe.name, codes, Status.FAILED, reason, traceback=traceback.format_exc())


def _kept(name: str, result: ProbeResult, codes: Iterable[str]) -> ProbeResult:
    """Drop findings and proposals of rules that were not asked for; say which probe made the rest."""
    return replace(
        result,
        findings=tuple(replace(f, probe=name) for f in result.findings if f.code in codes),
        proposals=tuple(p for p in result.proposals if p.code in codes),
    )
