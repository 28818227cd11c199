"""What de-duplication did with the rows it removed: groups of copies without a survivor, merges across owners."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from memaudit.text import normalised

#: A kept row that was deleted this much later than its copies was deleted for a reason of its own.
_LATER = timedelta(hours=1)
#: Words for de-duplication in a column that says why a row was deleted.
_DUPLICATE = re.compile(r"dup|dedup|merg|redundan|same_as|copy|重复|去重|合并", re.IGNORECASE)


@dataclass(frozen=True)
class Removed:
    """All rows of a table, with what is known of the removal of each.

    Parameters
    ----------
    keys, texts
        Of every row.
    deleted
        Whether the row is marked as deleted (or, where nothing marks that, merged).
    merged_into
        Key of the surviving row, None where there is none; an empty sequence without such a column.
    reasons
        Why a row was deleted, as stored; an empty sequence without such a column.
    created, deleted_at
        Times where they are known; empty sequences without such columns.
    """

    keys: Sequence[Any]
    texts: Sequence[str]
    deleted: Sequence[bool]
    merged_into: Sequence[Any] = ()
    reasons: Sequence[Any] = ()
    created: Sequence[datetime | None] = ()
    deleted_at: Sequence[datetime | None] = ()

    @property
    def targets(self) -> tuple[int | None, ...]:
        """Row number that each row was merged into; None without one, -1 for a key that no row has."""
        places = {key: i for i, key in enumerate(self.keys)}
        given = [None if key is None or key == "" else key for key in self.merged_into]
        if any(k is not None for k in given) and not any(k in places for k in given):
            places = {str(key): i for i, key in enumerate(self.keys)}
            given = [None if key is None else str(key) for key in given]
        return tuple(None if key is None else places.get(key, -1) for key in given)


@dataclass(frozen=True)
class Survivors:
    """Groups of copies.

    Parameters
    ----------
    groups
        Row numbers of each group, in order of the first row.
    without
        Those of which no row is live and which de-duplication emptied.
    removed
        Row numbers that were deleted as duplicates.
    """

    groups: tuple[tuple[int, ...], ...]
    without: tuple[tuple[int, ...], ...]
    removed: tuple[int, ...]


def survivors(rows: Removed) -> Survivors:
    """Find the groups of copies of which nothing is left.

    Two rows are copies when one was merged into the other, or when their texts are equal but for case and white
    space. A row merged into itself, or into a row that is gone, is a group too. A group is emptied by
    de-duplication when no row is live, at least one was removed as a duplicate (by its reason, or by `merged_into`;
    any deletion where neither is recorded), and nothing says that the last copy was deleted for another reason:
    another reason stored, a kept row deleted more than an hour later, or copies that never stood side by side.
    """
    targets = rows.targets
    n = len(rows.keys)
    parent = list(range(n))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[str, int] = {}
    for i, text in enumerate(rows.texts):
        if key := normalised(text):
            a, b = root(first.setdefault(key, i)), root(i)
            parent[max(a, b)] = min(a, b)
    lost = set()
    for i, target in enumerate(targets):
        if target is None:
            continue
        if target in (-1, i):
            lost.add(i)
        else:
            a, b = root(i), root(target)
            parent[max(a, b)] = min(a, b)
    members: dict[int, list[int]] = {}
    for i in range(n):
        members.setdefault(root(i), []).append(i)
    groups = tuple(tuple(group) for group in members.values() if len(group) > 1 or group[0] in lost)
    removed = {i for group in groups for i in group if rows.deleted[i] and _as_duplicate(rows, targets, i)}
    without = tuple(
        group
        for group in groups
        if all(rows.deleted[i] for i in group)
        and removed.intersection(group)
        and not _deleted_otherwise(rows, targets, group)
    )
    return Survivors(groups, without, tuple(sorted(removed)))


def _as_duplicate(rows: Removed, targets: Sequence[int | None], i: int) -> bool:
    if rows.reasons and rows.reasons[i] not in (None, ""):
        return bool(_DUPLICATE.search(str(rows.reasons[i])))
    if any(target is not None for target in targets):
        return targets[i] is not None
    return not any(reason not in (None, "") for reason in rows.reasons)


def _deleted_otherwise(rows: Removed, targets: Sequence[int | None], group: Sequence[int]) -> bool:
    """Say whether something other than de-duplication took the last copy."""
    if any(
        r not in (None, "") and not _DUPLICATE.search(str(r)) for r in (rows.reasons[i] for i in group if rows.reasons)
    ):
        return True
    if rows.deleted_at:
        gone = [(rows.deleted_at[i], i) for i in group]
        times = [time for time, _ in gone if time is not None]
        if len(times) == len(group) and len(group) > 1:
            last, i = max((t, i) for t, i in gone if t is not None)
            kept = bool(targets) and targets[i] is None and any(target is not None for target in targets)
            others = sorted(times)[:-1]
            if kept and others and last - others[-1] > _LATER:
                return True
            if rows.created and _one_after_another(rows, group):
                return True
    return False


def _one_after_another(rows: Removed, group: Sequence[int]) -> bool:
    """Say whether each copy was deleted before the next was written."""
    spans = [(rows.created[i], rows.deleted_at[i]) for i in group]
    known = sorted((a, b) for a, b in spans if a is not None and b is not None)
    return len(known) == len(group) and all(x[1] <= y[0] for x, y in pairwise(known))


@dataclass(frozen=True)
class Crossings:
    """Merges between owners.

    Parameters
    ----------
    merged
        Row numbers that were merged into another row.
    across
        Those whose owner differs from that of the row they were merged into.
    losing
        Rows lost by owner, most first; an owner is named by the keys that differ.
    unknown
        Row numbers whose owner, or whose target, is not known.
    """

    merged: tuple[int, ...]
    across: tuple[int, ...]
    losing: Mapping[str, int]
    unknown: tuple[int, ...]


def crossings(targets: Sequence[int | None], owners: Mapping[str, Sequence[Any]]) -> Crossings:
    """Find the rows that were merged into a row of another owner.

    Parameters
    ----------
    targets
        As :attr:`Removed.targets`.
    owners
        Values of each key that keeps owners apart, by its name. NULL and empty are no owner.
    """
    merged = tuple(i for i, target in enumerate(targets) if target is not None)
    across, unknown, differing = [], [], set()
    for i in merged:
        target = targets[i]
        if target is None or target < 0:
            unknown.append(i)
            continue
        pairs = {name: (values[i], values[target]) for name, values in owners.items()}
        differ = {n for n, (a, b) in pairs.items() if a != b and a not in (None, "") and b not in (None, "")}
        if differ:
            across.append(i)
            differing |= differ
        elif any(a in (None, "") or b in (None, "") for a, b in pairs.values()):
            unknown.append(i)
    names = [name for name in owners if name in differing]
    losing = Counter(" / ".join(str(owners[name][i]) for name in names) for i in across)
    return Crossings(merged, tuple(across), dict(losing.most_common()), tuple(unknown))
