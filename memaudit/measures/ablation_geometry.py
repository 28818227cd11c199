"""What an ablation can say without queries: how the geometry of the rows changes when a field is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from memaudit.cluster import cluster_sizes, leader_clusters_at
from memaudit.cluster.cosines import background_cosine
from memaudit.context import Context, Need
from memaudit.evaluation.ranking import kept_neighbours, nearest
from memaudit.evaluation.variants import Parts, Variant, variants
from memaudit.measures.ablation_texts import EncodedVariants, FloatArray, encode_variants, encoder_lines, label
from memaudit.model import Cell, Column, Json, ProbeResult, Section, Table
from memaudit.wording import plural, say

#: Rows looked at when there is no query set; neighbours and clusters of a sample are compared with each other only.
MAX_ROWS_WITHOUT_QUERIES = 60
#: Neighbours of a row that are followed through the variants.
NEIGHBOURS = 10


def geometry_result(ctx: Context, parts: Parts) -> ProbeResult:
    """Say what changes in the geometry; nothing here measures retrieval."""
    why = ctx.missing(Need.QUERIES) or ("", "queries")
    not_looked = {"MA501": (say("{why}: whether a field helps retrieval was not measured", why=why[0]), "queries")}
    encoding_anyway = ctx.missing(Need.STORED_VECTORS) is not None or ctx.config.encoder not in (None, "stored")
    if ctx.is_part or (ctx.config.ablate is None and not encoding_anyway):
        # The encoder would be loaded for this alone.
        return ProbeResult(not_looked=not_looked)
    n = len(parts.full)
    most = int(ctx.limit("MA501", "max_rows_without_queries", MAX_ROWS_WITHOUT_QUERIES))
    rows = np.arange(n) if n <= most else np.sort(ctx.rng("ablation").permutation(n)[:most])
    some = _restricted(parts, rows.tolist())
    made = [v for v in variants(some, ctx.config.ablate) if v.kind == "full" or v.judged]
    # Rows with a text in every variant: counts over different rows could not be compared.
    used = [
        i for i, row in enumerate(rows.tolist())
        if row not in ctx.rows_withheld and all(v.texts[i].strip() for v in made)
    ]  # fmt: skip
    if len(used) < 2 or len(made) < 2:
        return ProbeResult(not_looked=not_looked)
    encoded = encode_variants(ctx, [_of_rows(v, used) for v in made], ())
    section = _geometry_section(ctx, made, used, encoded, n)
    return ProbeResult((), (section,), {}, (), not_looked)


def _restricted(parts: Parts, rows: Sequence[int]) -> Parts:
    return Parts(
        tuple(parts.full[i] for i in rows),
        {name: tuple(values[i] for i in rows) for name, values in parts.fields.items()},
        tuple(parts.layouts[i] for i in rows) if parts.layouts else (),
    )


def _of_rows(variant: Variant, rows: Sequence[int]) -> Variant:
    texts = tuple(variant.texts[i] for i in rows)
    return Variant(variant.name, variant.kind, variant.fields, texts, variant.judged)


def neighbours(matrix: FloatArray, k: int) -> npt.NDArray[np.int64]:
    """Give the k nearest other rows of each row."""
    return nearest(matrix, matrix, k, [[i] for i in range(len(matrix))])


def _geometry_section(
    ctx: Context, made: Sequence[Variant], used: Sequence[int], encoded: EncodedVariants, n_rows: int
) -> Section:
    thresholds = sorted(ctx.config.thresholds, reverse=True)
    before = neighbours(encoded.matrices["full"], NEIGHBOURS)
    rows: list[Mapping[str, Json]] = []
    for v in made:
        matrix = encoded.matrices[v.name]
        labels = leader_clusters_at(matrix, sorted(thresholds))
        kept = kept_neighbours(before, neighbours(matrix, NEIGHBOURS))
        row: dict[str, Json] = {
            "variant": label(v),
            "background": background_cosine(matrix, ctx.rng("ablation-background")).median_cos,
            "kept": None if v.kind == "full" else kept,
            "chars": sum(len(v.texts[i]) for i in used),
        }
        row |= {f"c{t:g}": cluster_sizes(labels[t]).clusters for t in thresholds}
        rows.append(row)
    least = min((r for r in rows if r["kept"] is not None), key=lambda r: float(r["kept"]))
    answer = say(
        "{variant} keeps {kept:.0f} % of each row's {k} nearest neighbours, the fewest. Whether that is better or worse "
        "for retrieval cannot be said without queries.",
        variant=str(least["variant"])[:1].upper() + str(least["variant"])[1:],
        kept=100 * float(least["kept"]),
        k=NEIGHBOURS,
    )
    sampled = len(used) < n_rows
    caption = say("{rows} that have a text in every variant", rows=plural(len(used), "row"))
    if sampled:
        caption = say("{used} of {n} rows (a sample, with a text in every variant)", used=len(used), n=n_rows)
    table = Table(
        "field-ablation-geometry",
        caption,
        (
            Column("variant", say("embedded text")),
            *(Column(f"c{t:g}", say("clusters at {t:g}", t=t), Cell.COUNT) for t in thresholds),
            Column("background", say("median cosine of two rows"), Cell.COSINE),
            Column("kept", say("neighbours kept"), Cell.SHARE),
            Column("chars", say("characters"), Cell.COUNT),
        ),
        tuple(rows),
    )
    return Section(
        "field-ablation",
        say("Field ablation, without queries"),
        say("What changes in the embedding when a field is left out?"),
        answer,
        ("MA501",),
        (table,),
        (
            *encoder_lines(ctx),
            say("Clusters: greedy leaders in row order. Neighbours kept: mean share of the {k} nearest other rows with the "
                "full text that are still among the {k} nearest.", k=NEIGHBOURS),
            say("None of this measures retrieval: give `--queries FILE`."),
        ),
    )  # fmt: skip
