"""What de-duplication left behind: memories of which every copy is gone, and memories that changed their owner."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.merges import Crossings, Removed, Survivors, crossings, survivors
from memaudit.model import Evidence, Example, Finding, ProbeResult, Severity
from memaudit.records import Records
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say, space_between

_REASON = re.compile(
    r"(^|_)(delet\w*|remov\w*|archiv\w*|drop\w*|invalid\w*|retire\w*)_?(reason|cause|why|by|note)($|_)"
)


class DeletedCopies:
    """MA308 and MA309."""

    name: ClassVar[str] = "deleted-copies"
    title: ClassVar[str] = "Did de-duplication keep one copy, for its owner?"
    codes: ClassVar[Mapping[str, str]] = {"MA308": "all-copies-deleted", "MA309": "dedup-crosses-owners"}
    # Not RECORDS: deleted rows are no rows under audit, and all of them may be deleted.
    needs: ClassVar[frozenset[Need]] = frozenset()
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)
    reads: ClassVar[frozenset[str]] = frozenset({"merged_into", "soft_delete", "active", "isolation_keys"})

    def run(self, ctx: Context) -> ProbeResult:
        """Look at all rows of the table, deleted ones included."""
        if not ctx.has_store or not ctx.records.table.n_rows:
            return ProbeResult(not_looked=dict.fromkeys(self.codes, (say("the store holds no rows"), "store")))
        whole = ctx.other_table(ctx.table_name)
        merged, not_looked = ctx.config.merged_into, {}
        findings = []
        if ctx.roles.deleted_where is None and merged is None:
            not_looked["MA308"] = (say("no column marks deleted or merged rows"), "soft_delete")
        elif ctx.roles.text is None and merged is None:
            not_looked["MA308"] = (say("no column with the memory's text was found or named"), "text")
        else:
            rows = _removed(ctx, whole)
            found = survivors(rows)
            if found.without:
                findings.append(_no_survivor(ctx, rows, found))
        if merged is None:
            not_looked["MA309"] = (say("no column names the row that a duplicate was merged into"), "merged_into")
        elif not ctx.config.isolation_keys:
            not_looked["MA309"] = (say("no columns that keep owners apart were named"), "isolation_keys")
        else:
            rows = _removed(ctx, whole)
            owners = {name: whole.column(name) for name in ctx.config.isolation_keys}
            crossed = crossings(rows.targets, owners)
            if crossed.across:
                findings.append(_across(ctx, rows, crossed, tuple(owners)))
        return ProbeResult(tuple(findings), not_looked=not_looked)


def _removed(ctx: Context, whole: Records) -> Removed:
    """Read what is known of every row; the columns are kept by `whole`."""
    n = whole.n_rows
    keys = tuple(map(_key, whole.column(ctx.roles.id))) if ctx.roles.id is not None else tuple(range(1, n + 1))
    texts = whole.as_texts(ctx.roles.text) if ctx.roles.text is not None else ("",) * n
    merged = tuple(map(_key, whole.column(ctx.config.merged_into))) if ctx.config.merged_into is not None else ()
    if ctx.roles.deleted_where is not None:
        marked = set(ctx.store.condition_rows(ctx.records.table, ctx.roles.deleted_where))
        deleted = [i in marked for i in range(n)]
    else:
        deleted = [key is not None and key != "" for key in merged]
    reason = next((name for name in whole.column_names if _REASON.search(name.lower())), None)
    gone = [parse_time(v) for v in whole.column(ctx.config.soft_delete)] if ctx.config.soft_delete else []
    created = [parse_time(v) for v in whole.column(ctx.roles.time)] if ctx.roles.time else []
    return Removed(
        keys,
        texts,
        deleted,
        merged,
        whole.column(reason) if reason is not None else (),
        created,
        gone if any(gone) else (),
    )


def _key(value: Any) -> Any:
    """Return a key as it can be shown: a blob as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _shown(ctx: Context, rows: Removed, chosen: Sequence[int], notes: Sequence[str]) -> tuple[Example, ...]:
    return tuple(
        Example(rows.texts[i], rows.keys[i], note)
        for i, note in list(zip(chosen, notes, strict=True))[: ctx.config.max_examples]
    )


def _no_survivor(ctx: Context, rows: Removed, found: Survivors) -> Finding:
    lost = sorted(i for group in found.without for i in group)
    firsts = [group[0] for group in found.without]
    notes = [say("{copies}, all deleted", copies=plural(len(g), "copy", "copies")) for g in found.without]
    column = ctx.config.soft_delete or ctx.config.active or ctx.config.merged_into
    caveat = say("All rows of the table were looked at, deleted ones included. Copies are rows merged into each other, or "
                 "equal but for case and white space.")  # fmt: skip
    # Somebody may have forgotten a memory together with its copies: only a trace of de-duplication makes it certain.
    traced = bool(rows.reasons or rows.merged_into or ctx.config.dedup)
    if not traced:
        caveat += space_between() + say("Nothing records why a row was deleted: memories that were forgotten on purpose, copies and "
                            "all, look the same.")  # fmt: skip
    return Finding(
        "MA308",
        "all-copies-deleted",
        Severity.HIGH if traced else Severity.MEDIUM,
        {
            "table": ctx.table_name,
            "column": column or ctx.roles.deleted_where,
            **({"field": ctx.config.merged_into} if ctx.config.merged_into else {}),
        },
        say("{n} of {groups} have no copy left: de-duplication deleted {rows}, and the memories are lost.",
            n=len(found.without), groups=say("{n} groups of copies", n=len(found.groups)) if len(found.groups) > 1
            else say("1 group of copies"),
            rows=say("all {n} rows", n=len(lost)) if len(lost) > 1 else say("the only row")),
        {
            "duplicate_groups": len(found.groups),
            "groups_without_survivor": len(found.without),
            "rows_deleted_as_duplicate": len(found.removed),
            "rows_lost": len(lost),
            "rows": len(rows.keys),
        },
        Evidence(_shown(ctx, rows, firsts, notes), len(lost), tuple(rows.keys[i] for i in lost)),
        fix=say("Choose the row to keep before any is deleted, in one transaction, and check afterwards that each group "
                "has a live row. Restore one copy of each group listed here."),
        caveat=caveat,
        lane="data collection",
    )  # fmt: skip


def _across(ctx: Context, rows: Removed, found: Crossings, keys: Sequence[str]) -> Finding:
    targets = rows.targets
    notes = [say("merged into {key}", key=str(rows.keys[targets[i] or 0])) for i in found.across]
    owner, lost = next(iter(found.losing.items()))
    title = say("{rows} merged rows were merged into a row of another owner", rows=part_of(len(found.across),
                len(found.merged)))  # fmt: skip
    title += (
        say(": {owner} lost {n}.", owner=owner, n=lost)
        if len(found.losing) == 1
        else say(
            ": {owners} lost rows, {owner} most ({n}).", owners=plural(len(found.losing), "owner"), owner=owner, n=lost
        )
    )
    caveat = None
    if found.unknown:
        caveat = say("{rows} were merged into a row that is not there, or have no owner: they are not counted as crossing.",
                     rows=plural(len(found.unknown), "row"))  # fmt: skip
    return Finding(
        "MA309",
        "dedup-crosses-owners",
        Severity.HIGH,
        {"table": ctx.table_name, "column": ctx.config.merged_into, "values": list(found.losing), "field": list(keys)},
        title,
        {
            "rows_merged": len(found.merged),
            "merged_across_owner": len(found.across),
            "share_across_owner": len(found.across) / len(found.merged),
            "owner_losing_rows": owner,
            "rows_lost_by_owner": dict(found.losing),
            "rows_of_unknown_owner": len(found.unknown),
        },
        Evidence(_shown(ctx, rows, found.across, notes), len(found.across), tuple(rows.keys[i] for i in found.across)),
        fix=say("Compare only rows of one owner ({keys}) when looking for duplicates, and give the rows listed here back "
                "to their owners: these can no longer find what they stored, and others may see it.",
                keys=", ".join(keys)),
        caveat=caveat,
        lane="data collection",
    )  # fmt: skip


PROBE = DeletedCopies()
