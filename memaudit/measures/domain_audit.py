"""The named generator, enumerated and held against the store: what the value-domain probe and the verdict read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memaudit.context import Context
from memaudit.domain.against_store import (
    ReplayComparison,
    StoreComparison,
    compare_replay,
    compare_values,
    domain_size,
    with_proven_values,
)
from memaudit.domain.notation import in_notation
from memaudit.domain.result import DomainResult, ReplayResult
from memaudit.errors import TargetError
from memaudit.target import enumerate_domain, replay
from memaudit.wording import say


@dataclass(frozen=True)
class DomainAudit:
    """What is known of the generator.

    Parameters
    ----------
    domain
        The enumeration.
    size
        Values the generator can return, holes filled with the values stored; None when not complete.
    stored
        The stored values held against the domain.
    columns
        Parameter -> column that feeds it.
    replayed
        The stored rows run through the generator; None when some parameter has no column.
    why_not_replayed
        One sentence when `replayed` is None.
    """

    domain: DomainResult
    size: int | None
    stored: StoreComparison
    columns: Mapping[str, str]
    replayed: ReplayComparison | None
    why_not_replayed: str = ""

    @property
    def by_replay(self) -> bool:
        """Whether rows on the fallback can be told only by running them: another value equals the fallback's."""
        return self.stored.n_on_fallback is None and self._replay_counts

    @property
    def _replay_counts(self) -> bool:
        return self.replayed is not None and self.replayed.n_on_fallback is not None

    @property
    def n_on_fallback(self) -> int | None:
        """Rows on the fallback, by value where values tell, else by replay; None when neither does."""
        if self.stored.n_on_fallback is not None:
            return self.stored.n_on_fallback
        return self.replayed.n_on_fallback if self.replayed is not None else None

    @property
    def n_counted(self) -> int:
        """Rows that the share on the fallback is taken of."""
        if not self.by_replay or self.replayed is None:
            return self.stored.n_rows
        return self.replayed.n_replayed - self.replayed.n_failed

    @property
    def n_cjk(self) -> tuple[int | None, int | None]:
        """Rows with Chinese, Japanese or Korean text, and those of them on the fallback."""
        source: Any = self.replayed if self.by_replay else self.stored
        return source.n_cjk, source.n_cjk_on_fallback


def audited_domain(ctx: Context) -> DomainAudit:
    """Enumerate the configured generator in a child process and hold the store against it.

    Raises
    ------
    TargetError
        The generator cannot be found, loaded or run to the end.
    """
    config = ctx.config
    if config.generator is None or ctx.roles.value_field is None:
        raise TargetError(say("no generator was named."), say("Give --generator pkg.mod:Class.fn."))
    where = _places(ctx)
    domain = enumerate_domain(
        config.generator,
        factory=config.factory,
        inputs=config.generator_inputs,
        stubs=config.stub or (),
        timeout_s=ctx.limit("MA101", "timeout_s", 30.0),
        **where,
    )
    stored = [_plain(v) for v in ctx.records.column(ctx.roles.value_field)]
    columns = fed_by(domain.parameters, config.generator_args, ctx.records.column_names, ctx.roles.value_field)
    holes = {parameter: list(dict.fromkeys(ctx.records.column(column))) for parameter, column in columns.items()}
    texts = ctx.records.texts if ctx.roles.text is not None else None
    rerun, why = _replayed(ctx, domain, columns, where)
    domain, rerun, stored = in_notation(domain, rerun, stored)
    replayed = None if rerun is None else compare_replay(domain, rerun, stored=stored, texts=texts)
    if rerun is not None:
        domain = with_proven_values(domain, rerun, stored)
    compared = compare_values(domain, stored, texts=texts, hole_values=holes)
    return DomainAudit(domain, domain_size(domain, holes, stored), compared, columns, replayed, why)


def _places(ctx: Context) -> dict[str, Any]:
    base = ctx.config.base
    folders: Sequence[str] = ctx.config.code_path or ()
    return {"base": Path(base), "code_path": tuple(ctx.config.path(folder) for folder in folders)}


def fed_by(
    parameters: Sequence[str], named: Sequence[str] | None, columns: Sequence[str], value_field: str
) -> dict[str, str]:
    """Return parameter -> column: the columns named, in order, else columns of the parameter's own name."""
    if named is not None:
        return {p: c for p, c in zip(parameters, named, strict=False) if c.split("$", 1)[0] in columns}
    return {p: p for p in parameters if p in columns and p != value_field}


def _replayed(
    ctx: Context,
    domain: DomainResult,
    columns: Mapping[str, str],
    where: Mapping[str, Any],
) -> tuple[ReplayResult | None, str]:
    missing = [p for p in domain.parameters if p not in columns]
    if domain.status != "ok":
        return None, say("the generator could not be called")
    if missing or not domain.parameters:
        names = ", ".join(missing)
        return None, say("no column feeds the parameter {names}; name the columns with generator_args", names=names)
    structured = {
        p: any(isinstance(w.arguments.get(p), (list, dict)) for w in domain.witnesses) for p in domain.parameters
    }
    feeds = {p: _arguments(ctx.records.column(c), structured[p]) for p, c in columns.items()}
    rows = [dict(zip(feeds, values, strict=True)) for values in zip(*feeds.values(), strict=True)]
    try:
        result = replay(
            ctx.config.generator or "",
            rows,
            domain=domain,
            factory=ctx.config.factory,
            stubs=ctx.config.stub or (),
            timeout_s=ctx.limit("MA101", "timeout_s", 30.0),
            **where,
        )
    except TargetError as error:
        return None, str(error)
    return result, ""


def _arguments(values: Sequence[Any], structured: bool) -> list[Any]:
    """Return a column as arguments: JSON text is read where the parameter takes a list or a mapping."""
    return [_read_json(v) if structured else _plain(v) for v in values]


def _read_json(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def generator_file(audit: DomainAudit) -> str:
    """Return the generator's file without the folders above its package."""
    module = audit.domain.module.replace(".", "/")
    parts = audit.domain.file.replace("\\", "/").split("/")
    return "/".join(parts[-(module.count("/") + 1) :])
