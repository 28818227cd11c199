"""The embedded text of each row where only the template and the columns that fill it are given."""

from __future__ import annotations

from memaudit.context import Context
from memaudit.text.template import fitting_template, match_template, read_template


def template_filled(ctx: Context) -> tuple[str, ...] | None:
    """Fill the template from the columns that its holes name.

    Returns
    -------
    One text a row. None without a template, where a column or fields hold the embedded text, where a hole names no
    column, and where a stored text follows the template: then it is the result already.
    """
    if ctx.config.template is None or ctx.roles.embedded_text is not None or ctx.roles.embedded_fields:
        return None
    template = fitting_template(read_template(ctx.config.path(ctx.config.template)), ())
    if not template.holes or any(hole not in ctx.records.column_names for hole in template.holes):
        return None
    if any(text.strip() and match_template(template, text) is not None for text in ctx.records.texts):
        return None
    columns = [ctx.records.as_texts(hole) for hole in template.holes]
    first, *rest = template.literals
    return tuple(
        first + "".join(value + literal for value, literal in zip(row, rest, strict=True))
        for row in zip(*columns, strict=True)
    )
