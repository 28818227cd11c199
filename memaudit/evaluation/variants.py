"""The texts of a field ablation: the full embedded text, and what it is without a field or with one alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.config import nearest
from memaudit.errors import ConfigError
from memaudit.wording import say

#: A piece of a text: the text, and the field that it is the value of (None for constant text).
_Piece = tuple[str, str | None]
_Layout = tuple[tuple[_Piece, ...], ...]

#: Begins an entry of `ablate` that names the fields to keep, not those to leave out.
ONLY = "only:"
#: Name of the variant without the constant text of a template.
TEMPLATE = "template"


@dataclass(frozen=True)
class Variant:
    """One way to make the embedded text.

    Parameters
    ----------
    name
        `full`, `without_FIELD`, `without_A+B`, `only_FIELD`: the name of its figures.
    kind
        `full`, `without` or `only`.
    fields
        Fields left out, or kept.
    texts
        Text of each row; blank where nothing of a row is left.
    judged
        Whether it was asked for by leaving something out and may receive a verdict; a field alone is descriptive.
    """

    name: str
    kind: str
    fields: tuple[str, ...]
    texts: tuple[str, ...]
    judged: bool

    @property
    def n_chars(self) -> int:
        """Characters of all rows."""
        return sum(map(len, self.texts))


@dataclass(frozen=True)
class Parts:
    """Embedded texts cut into fields.

    Parameters
    ----------
    full
        Embedded text of each row.
    fields
        Field -> its value in each row, in the order of the embedded text.
    layouts
        For each row the pieces of its text by line; None where a row
        is not cut (it follows no template) and stays whole in every variant. Empty when the fields are joined by
        blanks.
    """

    full: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    layouts: tuple[_Layout | None, ...] = ()

    @property
    def n_whole(self) -> int:
        """Rows that cannot be cut."""
        return sum(layout is None for layout in self.layouts)


def parts_of_fields(columns: Mapping[str, Sequence[str]]) -> Parts:
    """Take fields that are joined by a blank, empty ones left out."""
    fields = {name: tuple(values) for name, values in columns.items()}
    return Parts(_joined(tuple(fields.values())), fields)


def parts_of_template(
    full: Sequence[str], literals: Sequence[str], holes: Sequence[str], values: Sequence[Sequence[str] | None]
) -> Parts:
    """Take texts that follow a template.

    Parameters
    ----------
    full
        Embedded text of each row.
    literals, holes
        Constant texts, one more than holes, and the name of each hole; a name may come twice (its first value is the
        value of the field), one without a name is called by its number.
    values
        For each row the value of every hole; None where the row follows no template.
    """
    names = [name or f"hole {number + 1}" for number, name in enumerate(holes)]
    fields: dict[str, list[str]] = {name: [] for name in names}
    layouts: list[_Layout | None] = []
    for own in values:
        first: dict[str, str] = {}
        for name, value in zip(names, own or (), strict=own is not None):
            first.setdefault(name, value)
        for name, column in fields.items():
            column.append(first.get(name, ""))
        layouts.append(None if own is None else _layout(literals, names, own))
    return Parts(tuple(full), {name: tuple(column) for name, column in fields.items()}, tuple(layouts))


def _layout(literals: Sequence[str], names: Sequence[str], values: Sequence[str]) -> _Layout:
    """Cut a text into lines of the template; a line feed inside a value stays in its line."""
    lines: list[list[_Piece]] = [[]]
    for number, literal in enumerate(literals):
        first, *others = literal.split("\n")
        lines[-1].append((first, None))
        lines += [[(other, None)] for other in others]
        if number < len(names):
            lines[-1].append((values[number], names[number]))
    return tuple(tuple(line) for line in lines)


def variants(parts: Parts, ablate: Sequence[str] | None = None) -> tuple[Variant, ...]:
    """Make the variants, the full text first.

    Parameters
    ----------
    ablate
        Entries `field` (left out), `a+b` (left out together), `only:a+b` (kept alone), and `template` (the constant
        text of a template left out). None for every field left out, every field alone, and the template's constants
        left out where there is one.

    Raises
    ------
    ConfigError
        An entry names a field that is not embedded.
    """
    made = [Variant("full", "full", (), parts.full, False)]
    if ablate is None:
        wanted = [*parts.fields, *([TEMPLATE] if parts.layouts and TEMPLATE not in parts.fields else [])]
        made += [_without(parts, (name,)) for name in wanted]
        made += [_only(parts, (name,), judged=False) for name in parts.fields]
        return tuple(made)
    for entry in dict.fromkeys(ablate):
        only = entry.startswith(ONLY)
        names = _names(parts, entry.removeprefix(ONLY), entry)
        made.append(_only(parts, names, judged=True) if only else _without(parts, names))
    return tuple(made)


def _names(parts: Parts, listed: str, entry: str) -> tuple[str, ...]:
    if listed in parts.fields:  # a field may have a plus sign in its name
        return (listed,)
    known = (*parts.fields, *((TEMPLATE,) if parts.layouts else ()))
    names = tuple(dict.fromkeys(name.strip() for name in listed.split("+")))
    for name in names:
        if name not in known:
            raise ConfigError(
                say('ablate: "{entry}" names {name}, which is not embedded.', entry=entry, name=repr(name)),
                nearest(name, known) or say("Embedded: {known}.", known=", ".join(known)),
            )
    return names


def _without(parts: Parts, names: tuple[str, ...]) -> Variant:
    out = set(names)
    kept = tuple(name for name in parts.fields if name not in out)
    if not parts.layouts:
        texts = _joined(tuple(parts.fields[name] for name in kept)) if kept else ("",) * len(parts.full)
    elif TEMPLATE in out and TEMPLATE not in parts.fields:
        texts = _values(parts, kept)
    else:
        texts = tuple(
            whole if layout is None else _cut(layout, out)
            for whole, layout in zip(parts.full, parts.layouts, strict=True)
        )
    return Variant(f"without_{'+'.join(names)}", "without", names, texts, True)


def _only(parts: Parts, names: tuple[str, ...], *, judged: bool) -> Variant:
    columns = tuple(parts.fields[name] for name in parts.fields if name in names)
    texts = _joined(columns) if not parts.layouts else _values(parts, names)
    return Variant(f"only_{'+'.join(names)}", "only", names, texts, judged)


def _values(parts: Parts, names: Sequence[str]) -> tuple[str, ...]:
    """Join the values of some fields without any constant text; rows that are not cut stay whole."""
    columns = tuple(parts.fields[name] for name in parts.fields if name in names)
    joined = _joined(columns) if columns else ("",) * len(parts.full)
    return tuple(
        whole if layout is None else own for whole, layout, own in zip(parts.full, parts.layouts, joined, strict=True)
    )


def _cut(layout: _Layout, out: set[str]) -> str:
    """Drop fields from a text: the whole line where they are all that varies in it, else their value alone."""
    lines = []
    several = len(layout) > 1
    for line in layout:
        names = {name for _, name in line if name is not None}
        if several and names and names <= out:
            continue
        lines.append("".join(text for text, name in line if name is None or name not in out))
    return "\n".join(lines)


def _joined(columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(" ".join(part for part in row if part) for row in zip(*columns, strict=True))
