"""Guarded fallbacks of the named code, with the rows of the store on each side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memaudit.context import Context
from memaudit.errors import ConfigError
from memaudit.guards import find_guards
from memaudit.guards.result import Guard, GuardReport
from memaudit.guards.rows import GuardRows, guard_rows
from memaudit.wording import say


@dataclass(frozen=True)
class Judged:
    """A guard with its rows; `about_store` when it guards a field of the audited table."""

    guard: Guard
    rows: GuardRows | None
    about_store: bool


def common_base(paths: Sequence[Path], wanted: Path) -> Path:
    """Return the folder that names of files start from: the wanted one, else the one that holds all paths."""
    if all(path.is_relative_to(wanted) for path in paths):
        return wanted
    return Path(os.path.commonpath([path.parent for path in paths]))


def judged_guards(ctx: Context) -> tuple[GuardReport, list[Judged]]:
    """Search the configured code and join each guard on an audited field with the rows."""
    paths = [ctx.config.path(p).resolve() for p in ctx.config.code or ()]
    missing = [p for p, path in zip(ctx.config.code or (), paths, strict=True) if not path.exists()]
    if missing:
        raise ConfigError(
            say("code: no such file or folder: {missing}.", missing=missing[0]),
            say("Paths start from the configuration's folder."),
        )
    report = find_guards(paths, base=common_base(paths, Path(ctx.config.base).resolve()))
    return report, [_judged(ctx, guard) for guard in report.guards]


def _judged(ctx: Context, guard: Guard) -> Judged:
    field = ctx.roles.value_field
    names = {name for name in (field, ctx.roles.group_field, ctx.config.upstream_column) if name}
    target = guard.target.split(".")[-1].split("[")[0].strip("'\"")
    upstream = ctx.config.upstream_column
    if target not in names and guard.into in names:
        # What is asked about has another name than what is stored: the upstream column is not known to feed it.
        target, upstream = guard.into, None
    about = target in names or (target in ctx.records.column_names and field is None)
    if not about:
        return Judged(guard, None, False)
    wanted = {name for caller in guard.callers for name, _ in caller.passes} | names
    if ctx.config.source:
        wanted.add(ctx.config.source)
    columns = [name for name in ctx.records.column_names if name in wanted]
    values = [ctx.records.column(name) for name in columns]
    records = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    rows = guard_rows(
        guard,
        records,
        value_field=target if target in columns else field,
        source_column=ctx.config.source,
        upstream_column=upstream,
    )
    return Judged(guard, rows, True)
