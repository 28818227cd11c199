"""Whether the vectors belong to the texts: one model, one text a vector, and an index in step with the rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.vector_origin import MAX_ROWS, index_state, models, plain_text, shared_vectors
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, Proposal, Section, Severity, Table
from memaudit.text import is_blank
from memaudit.vectors import VectorStatus
from memaudit.wording import part_of, plural, say, space_between

#: Share of the vectors from which on a second model, or wrong vectors, are high: one memory in twenty is not found.
HIGH_SHARE = 0.05
#: The same text under two names with at least this cosine: one model that was renamed.
SAME_SPACE_COS = 0.98
#: Different names that a column of model names may hold.
_MAX_NAMES = 50

_MODEL_COLUMN = re.compile(
    r"(^|_)(embed\w*|vectors?|encoder)_?(model|model_name|model_id|engine|encoder)$|^encoder(_name|_model)?$"
)
_MODEL_BESIDE_VECTOR = re.compile(r"(^|_)model(_name|_id)?$")


class VectorProvenance:
    """MA014, MA015 and MA016."""

    name: ClassVar[str] = "vector-provenance"
    title: ClassVar[str] = "Does every vector belong to its text?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA014": "embedding-models-mixed",
        "MA015": "identical-vectors-for-different-texts",
        "MA016": "index-out-of-step",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.STORED_VECTORS})
    lanes: ClassVar[tuple[str, ...]] = ("retrieval",)

    def run(self, ctx: Context) -> ProbeResult:
        """Look at the stored vectors, at the names of their models, and at their table."""
        findings: list[Finding] = []
        proposals: list[Proposal] = []
        sections: list[Section] = []
        not_looked: dict[str, tuple[str, str]] = {}
        column, names = _model_names(ctx)
        if names is None:
            not_looked["MA014"] = (say("no column names the model of each vector"), "embedding_model")
        elif (mixed := _mixed_finding(ctx, column, names)) is not None:
            findings.append(mixed)
            sections.append(_models_section(ctx, mixed))
        shared = _shared_finding(ctx)
        if shared is not None:
            findings.append(shared)
            proposals.append(Proposal("re-embed", shared.evidence.ids, say("shares another text's vector"), "MA015"))
        if ctx.roles.vectors is None:
            reason = say("the vectors stand in the rows themselves: there is no index beside them")
            not_looked["MA016"] = (reason, "vectors")
        elif ctx.roles.id is None:
            not_looked["MA016"] = (say("no column holds the rows' keys"), "id")
        elif (step := _index_finding(ctx, ctx.roles.vectors)) is not None:
            findings.append(step)
        return ProbeResult(tuple(findings), tuple(sections), not_looked=not_looked, proposals=tuple(proposals))


def _vector_column(ctx: Context) -> Any:
    return ctx.roles.vectors["embedding"] if ctx.roles.vectors else ctx.roles.embedding


def _model_names(ctx: Context) -> tuple[str, Sequence[Any] | None]:
    """Return the column with the models' names, named or found by looking, and its value for each row."""
    given = ctx.config.embedding_model
    own = ctx.records.column_names
    where = ctx.roles.vectors
    beside = ctx.other_table(where["table"]) if where else None
    if given is not None and (beside is None or given.split("$")[0] in own):
        return given, ctx.records.column(given)
    if given is None:
        for name in own:
            if _MODEL_COLUMN.search(name.lower()) and _holds_names(ctx.records.column(name)):
                return name, ctx.records.column(name)
    if beside is None or where is None:
        return "", None
    for name in [given] if given is not None else list(beside.column_names):
        lower = name.lower()
        fits = given is not None or _MODEL_COLUMN.search(lower) or _MODEL_BESIDE_VECTOR.search(lower)
        if fits and (given is not None or _holds_names(beside.column(name))):
            by_key = dict(zip(beside.column(where["ref"]), beside.column(name), strict=True))
            return name, [by_key.get(key) for key in ctx.records.keys]
    return "", None


def _holds_names(values: Sequence[Any]) -> bool:
    present = [v for v in values if v is not None]
    return bool(present) and all(isinstance(v, str) for v in present) and len(set(present)) <= _MAX_NAMES


def _mixed_finding(ctx: Context, column: str, names: Sequence[Any]) -> Finding | None:
    stored = ctx.stored_vectors
    if stored is None:
        return None
    has_vector = [status is not VectorStatus.MISSING for status in stored.status]
    texts = ctx.records.texts if ctx.roles.text is not None else ctx.embedded_texts
    found = models(names, texts, has_vector, stored.unit, stored.rows.tolist(), ctx.rng("MA014"))
    n_named = sum(found.names.values())
    high = ctx.limit("MA014", "high_share", HIGH_SHARE)
    same = ctx.limit("MA014", "same_space_cos", SAME_SPACE_COS)
    main = next(iter(found.names), "")
    others = [i for i, name in enumerate(names) if name is not None and str(name).strip() not in ("", main)]
    if found.spellings > 1:
        severity = Severity.HIGH if len(others) / n_named >= high else Severity.MEDIUM
        shown = ", ".join(f"{name} ({plural(n, 'row')})" for name, n in found.names.items())
        title = say("Vectors of {n} models stand in one index: {names}.", n=found.spellings, names=shown)
        if found.same_text_cos is not None and found.same_text_cos >= same:
            severity = Severity.LOW
            title += space_between() + say("The same texts have nearly the same vectors under both: it looks like one model that "
                               "was renamed.")  # fmt: skip
        elif found.max_across_cos is not None:
            title += space_between() + say("No two rows of different models are nearer than cosine {cos:.3f}.",
                               cos=found.max_across_cos)  # fmt: skip
        affected = others
    elif found.names and len(found.without_name) / len(names) >= high:
        severity = Severity.LOW
        title = say("{rows} rows have a vector whose model is not named.",
                    rows=part_of(len(found.without_name), len(names)))  # fmt: skip
        affected = list(found.without_name)
    else:
        return None
    caveat = say("High from {high:.3g} % of the named rows outside the main model, else medium; low when the same texts "
                 "have a median cosine of at least {same:g} under both names, or only names are missing.",
                 high=100 * high, same=same)  # fmt: skip
    if found.sampled:
        caveat += space_between() + say("The largest cosine is of {n} rows of each model, drawn by chance.", n=MAX_ROWS)
    return Finding(
        "MA014",
        "embedding-models-mixed",
        severity,
        {"table": ctx.table_name, "column": _vector_column(ctx), "field": column, "values": list(found.names)},
        title,
        {
            "rows": ctx.records.n_rows,
            "model_names": dict(found.names),
            "rows_without_model_name": len(found.without_name),
            "identical_texts_stored_in_both": found.texts_in_both,
            "max_cosine_across": found.max_across_cos,
            "median_cosine_of_identical_texts": found.same_text_cos,
        },
        _evidence(ctx, affected, [str(names[i]) for i in affected]),
        fix=say("Embed all rows again with the model in use, and let a query search only vectors of its own model."),
        caveat=caveat,
        lane="retrieval",
    )


def _evidence(ctx: Context, rows: Sequence[int], notes: Sequence[str]) -> Evidence:
    shown = tuple(
        Example(ctx.records.texts[i], ctx.records.keys[i], note)
        for i, note in list(zip(rows, notes, strict=True))[: ctx.config.max_examples]
    )
    return Evidence(shown, len(rows), tuple(ctx.records.keys[i] for i in rows))


def _models_section(ctx: Context, finding: Finding) -> Section:
    rows: list[dict[str, Any]] = [{"model": m, "rows": n} for m, n in finding.figures["model_names"].items()]
    if finding.figures["rows_without_model_name"]:
        rows.append({"model": None, "rows": finding.figures["rows_without_model_name"], "_mark": "hot"})
    table = Table(
        "embedding-models",
        say("Rows by the model that made their vector, {n} rows", n=ctx.records.n_rows),
        (Column("model", say("model"), Cell.VALUE), Column("rows", say("rows"), Cell.BAR)),
        tuple(rows),
        scale=float(ctx.records.n_rows),
    )
    return Section(
        "vector-provenance",
        say("Models of the vectors"),
        say("Were all vectors made by one model?"),
        finding.title,
        ("MA014",),
        (table,),
        (finding.caveat or "",),
    )


def _shared_finding(ctx: Context) -> Finding | None:
    stored = ctx.stored_vectors
    if stored is None or not len(stored.rows):
        return None
    texts = ctx.embedded_texts
    groups = shared_vectors(stored.matrix, stored.rows.tolist(), texts)
    if not groups:
        return None
    rows = sorted(i for group in groups for i in group)
    high = ctx.limit("MA015", "high_share", HIGH_SHARE)
    share = len(rows) / len(stored.rows)
    notes = {i: say("group {n}", n=number + 1) for number, group in enumerate(groups) for i in group}
    first = list(groups[0])
    limit = ctx.config.embed_max_chars
    cut = limit is not None and all(len({plain_text(texts[i][:limit]) for i in g}) == 1 for g in groups)
    blank = sum(is_blank(texts[i]) for i in rows)
    caveat = say("Texts that differ by case, white space, punctuation, accents or width alone count as one; zero vectors are MA011. "
                 "High from {high:.3g} % of the vectors, else medium.", high=100 * high)  # fmt: skip
    if cut:
        caveat += space_between() + say("Within the first {limit} characters, which are what the encoder reads, the texts of each "
                            "group are equal (MA019).", limit=limit)  # fmt: skip
    if blank:
        caveat += space_between() + say("{n} of these rows have nothing to embed.", n=blank)
    ordered = [*first, *(i for i in rows if i not in first)]
    evidence = _evidence(
        ctx, ordered[: ctx.config.max_examples], [notes[i] for i in ordered[: ctx.config.max_examples]]
    )
    return Finding(
        "MA015",
        "identical-vectors-for-different-texts",
        Severity.HIGH if share >= high else Severity.MEDIUM,
        {"table": ctx.table_name, "column": _vector_column(ctx)},
        say("{rows} vectors are shared by different texts ({groups}): search cannot tell these rows apart.",
            rows=part_of(len(rows), len(stored.rows)), groups=plural(len(groups), "group")),
        {
            "rows": ctx.records.n_rows,
            "groups": len(groups),
            "rows_in_groups": len(rows),
            "share": share,
            "largest_group": len(groups[0]),
        },
        Evidence(evidence.shown, len(rows), tuple(ctx.records.keys[i] for i in rows)),
        fix=say("Embed these rows again and compare: a cache that returns the wrong entry, an encoder without words for "
                "the language, or a cut-off before the texts differ gives such vectors."),
        caveat=caveat,
        lane="retrieval",
    )  # fmt: skip


def _key(value: Any) -> Any:
    """Return a key as it can be shown: a blob as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _index_finding(ctx: Context, where: Mapping[str, str]) -> Finding | None:
    whole, index = ctx.other_table(ctx.table_name), ctx.other_table(where["table"])
    keys = tuple(map(_key, whole.column(str(ctx.roles.id))))
    deleted = ctx.store.condition_rows(ctx.records.table, ctx.roles.deleted_where) if ctx.roles.deleted_where else []
    pairs = zip(index.column(where["ref"]), index.column(where["embedding"]), strict=True)
    found = index_state(keys, deleted, [_key(ref) for ref, vector in pairs if vector is not None])
    n_live = found.memories - found.deleted
    if not (found.orphans or found.without_vector or found.deleted_with_vector):
        return None
    high = ctx.limit("MA016", "high_share", HIGH_SHARE)
    missing_share = len(found.without_vector) / n_live if n_live else 0.0
    severity = Severity.HIGH if (found.orphan_share or 0.0) >= high else Severity.MEDIUM
    if not (found.orphans or found.deleted_with_vector):
        severity = Severity.MEDIUM if missing_share >= high else Severity.LOW
    parts = [
        (len(found.orphans), say("{n} belong to no row", n=len(found.orphans))),
        (len(found.deleted_with_vector), say("{n} to rows marked as deleted", n=len(found.deleted_with_vector))),
    ]
    title = say("The index holds {vectors} for {rows}", vectors=plural(found.vectors, "vector"),
                rows=plural(n_live, "live row"))  # fmt: skip
    title += "".join(f", {text}" for count, text in parts if count)
    if found.without_vector:
        title += say(", and {rows} have no vector", rows=part_of(len(found.without_vector), n_live))
    rows = sorted((*found.deleted_with_vector, *found.without_vector))
    texts = whole.as_texts(ctx.roles.text) if ctx.roles.text else ("",) * len(keys)
    dead = set(found.deleted_with_vector)
    shown = [Example("", ref, say("a vector of no row")) for ref in found.orphans[: ctx.config.max_examples]]
    shown += [
        Example(texts[i], keys[i], say("deleted, its vector is still there") if i in dead else say("no vector"))
        for i in rows[: ctx.config.max_examples]
    ]
    caveat = say("Counted over the whole tables. High when vectors of no row are {high:.3g} % of the index, else medium "
                 "(whether a search filters deleted rows out afterwards is not seen here); rows without a vector alone are medium from {high:.3g} % (see MA010).",
                 high=100 * high)  # fmt: skip
    if ctx.roles.deleted_where is None:
        caveat += space_between() + say(
            "No column marks deleted rows, so whether deleted rows are still found was not looked at."
        )
    return Finding(
        "MA016",
        "index-out-of-step",
        severity,
        {"table": where["table"], "column": where["ref"], "tables": [ctx.table_name, where["table"]]},
        title + say("."),
        {
            "memories": found.memories,
            "vectors": found.vectors,
            "orphan_vectors": len(found.orphans),
            "share_orphan": found.orphan_share,
            "memories_without_vector": len(found.without_vector),
            "deleted_with_vector": len(found.deleted_with_vector) if ctx.roles.deleted_where else None,
            "deleted_memories": found.deleted if ctx.roles.deleted_where else None,
        },
        Evidence(
            tuple(shown[: ctx.config.max_examples]),
            len(found.orphans) + len(rows),
            (*found.orphans, *(keys[i] for i in rows)),
        ),
        fix=say("Write and delete the row and its vector in one transaction; delete the vectors listed here and embed "
                "the rows without one."),
        caveat=caveat,
        lane="retrieval",
    )  # fmt: skip


PROBE = VectorProvenance()
