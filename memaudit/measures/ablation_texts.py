"""What a field ablation is made of: the embedded texts cut into fields, and all variants encoded with one encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memaudit.context import Context, Need
from memaudit.evaluation.variants import Parts, Variant, parts_of_fields, parts_of_template
from memaudit.text.template import fitting_template, match_template, read_template
from memaudit.wording import part_of, plural, say

FloatArray = npt.NDArray[np.float32]

#: Share of the rows that must follow the template.
MIN_MATCHING = 0.5


@dataclass(frozen=True)
class EncodedVariants:
    """Vectors of all variants: rows without a text in a variant have none there."""

    rows: Mapping[str, npt.NDArray[np.int64]]
    matrices: Mapping[str, FloatArray]
    queries: FloatArray


def embedded_parts(ctx: Context) -> tuple[Parts | None, tuple[str, str]]:
    """Cut the embedded texts into fields; the second says why that cannot be done."""
    names = ctx.roles.embedded_fields
    if names:
        return parts_of_fields({name: ctx.records.as_texts(name) for name in names}), ("", "")
    if ctx.config.template is None:
        return None, (say("neither the embedded fields nor a template were named"), "embedded_fields")
    texts = ctx.embedded_texts
    if not any(text.strip() for text in texts):
        return None, ctx.missing(Need.TEXT) or (say("no row has a text to embed"), "embedded_text")
    template = fitting_template(read_template(ctx.config.path(ctx.config.template)), texts)
    matches = [match_template(template, text.replace("\r\n", "\n")) for text in texts]
    n_matching = sum(match is not None for match in matches)
    if n_matching < MIN_MATCHING * len(texts) or not template.holes:
        reason = say("only {part} rows follow the template", part=part_of(n_matching, len(texts)))
        return None, (reason, "template")
    values = [None if match is None else match.values for match in matches]
    return parts_of_template(texts, template.literals, template.holes, values), ("", "")


def encode_variants(ctx: Context, made: Sequence[Variant], queries: Sequence[str]) -> EncodedVariants:
    """Encode all variants and the queries in one go: a text that several variants share is encoded once."""
    rows = {v.name: np.array([i for i, t in enumerate(v.texts) if t.strip()], dtype=np.int64) for v in made}
    texts = [v.texts[i] for v in made for i in rows[v.name]]
    done = ctx.text_encoder.encode([*texts, *queries])
    matrices = {}
    start = 0
    for v in made:
        matrices[v.name] = done.matrix[start : start + len(rows[v.name])]
        start += len(rows[v.name])
    return EncodedVariants(rows, matrices, done.matrix[start:])


def token_counts(ctx: Context, made: Sequence[Variant]) -> dict[str, int]:
    """Count the tokens of every variant; empty where the encoder has no tokenizer that can be asked."""
    from memaudit.encoders.tokens import tokenizer_of

    tokenizer = tokenizer_of(ctx.config.encoder)
    if tokenizer is None:
        return {}
    lengths: dict[str, int] = {}
    for text in {text for v in made for text in v.texts}:
        lengths[text] = len(tokenizer.tokens(text))
    return {v.name: sum(lengths[text] for text in v.texts) for v in made}


def encoder_lines(ctx: Context) -> list[str]:
    """Say which encoder made the vectors, and that stored ones were not mixed in."""
    encoder = ctx.text_encoder.encoder
    lines = [
        say("Queries and every variant were encoded with {name} ({revision}). {note}", name=encoder.name,
            revision=encoder.revision or "-", note=encoder.note),
    ]  # fmt: skip
    if ctx.rows_withheld:
        lines.append(
            say("This encoder has no words for the script of {rows}: that they are found or missed says little.",
                rows=plural(len(ctx.rows_withheld), "row"))
        )  # fmt: skip
    if ctx.missing(Need.STORED_VECTORS) is None:
        lines.append(
            say("The stored vectors were not used: they come from an encoder that is not known here, and cosines of two "
                "encoders must not be compared. What holds with {name} need not hold with production's encoder; name it "
                "with `--encoder`.", name=encoder.name)
        )  # fmt: skip
    return lines


def part_words(variant: Variant) -> str:
    """Name what a variant leaves out or keeps."""
    if variant.name == "without_template":
        return say("the constant text of the template")
    return " + ".join(f"`{name}`" for name in variant.fields)


def label(variant: Variant) -> str:
    """Name a variant in a table."""
    if variant.kind == "full":
        return say("full text")
    if variant.kind == "only":
        return say("{part} alone", part=part_words(variant))
    return say("without {part}", part=part_words(variant))
