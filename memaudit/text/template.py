"""Templates of embedded text: literal text between `{holes}`, given in a file, and texts matched against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memaudit.errors import ConfigError
from memaudit.wording import say, unread

#: `{name}`, `{name!r:>8}`, `{}`, and the double braces of Jinja and Mustache.
_HOLE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}|\{([A-Za-z_][\w.\[\]]*|\d*)(?:![rsa])?(?::[^{}\n]*)?\}")
_LABEL = re.compile(r"\s*([^:：\n]{1,40}?)\s*[:：]")


@dataclass(frozen=True)
class Template:
    """Literal texts and the holes between them.

    Parameters
    ----------
    literals
        One more than holes; the first stands before the first hole, any may be empty.
    holes
        Names of the holes, "" where a hole has none; a name may occur twice.
    """

    literals: tuple[str, ...]
    holes: tuple[str, ...]

    @property
    def n_constant(self) -> int:
        """Characters of the literals."""
        return sum(map(len, self.literals))


@dataclass(frozen=True)
class Match:
    """A text cut along a template: `parts` are (text, is constant) in order, together the whole text."""

    values: tuple[str, ...]
    parts: tuple[tuple[str, bool], ...]

    @property
    def n_constant(self) -> int:
        """Characters of the text that the template gives to every row."""
        return sum(len(text) for text, constant in self.parts if constant)


def read_template(path: Path) -> str:
    """Read a template file (UTF-8).

    Raises
    ------
    ConfigError
        It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("template: cannot read {name}: {error}.", name=path.name, error=unread(error))) from None


def parse_template(text: str) -> Template:
    """Cut a template at its holes; braces around anything but a name are literal text."""
    literals, holes, start = [], [], 0
    for match in _HOLE.finditer(text):
        literals.append(text[start : match.start()])
        holes.append(match.group(1) or match.group(2) or "")
        start = match.end()
    return Template((*literals, text[start:]), tuple(holes))


def match_template(template: Template, text: str) -> Match | None:
    """Cut a text along a template; None when it does not follow it.

    Each literal is taken at its first place behind the one before, the last one at the end of the text: linear
    time, and a match is found whenever there is one. White space at the very end may be missing, as it is when
    the last variable is empty and production strips the text.
    """
    found = _matched(template, text)
    if found is None and template.literals[-1] == "" and len(template.literals) > 1:
        # `Body: {body}` with an empty body, stripped to `Body:`.
        *before, last, _ = template.literals
        if last.rstrip() != last:
            found = _matched(Template((*before, last.rstrip(), ""), template.holes), text)
            found = found if found is not None and not found.values[-1].strip() else None
    return found


def _matched(template: Template, text: str) -> Match | None:
    first, *rest = template.literals
    if not text.startswith(first):
        return None
    if not rest:
        return Match((), ((text, True),)) if text == first else None
    values: list[str] = []
    parts: list[tuple[str, bool]] = [(first, True)]
    place = len(first)
    end = len(text) - len(rest[-1])
    if end < place or not text.endswith(rest[-1]):
        return None
    for literal in rest[:-1]:
        at = text.find(literal, place, end) if literal else place
        if at < 0:
            return None
        values.append(text[place:at])
        parts += [(text[place:at], False), (literal, True)]
        place = at + len(literal)
    values.append(text[place:end])
    parts += [(text[place:end], False), (rest[-1], True)]
    return Match(tuple(values), tuple(part for part in parts if part[0]))


def fitting_template(text: str, texts: Sequence[str]) -> Template:
    """Read a template the way that fits most texts: with or without its last line feed, `{{` as written or as `{`."""
    plain = text.replace("\r\n", "\n")
    stripped = plain[:-1] if plain.endswith("\n") else plain
    readings = [parse_template(stripped), parse_template(plain)]
    if "{{" in plain:
        literal = tuple(part.replace("{{", "{").replace("}}", "}") for part in readings[0].literals)
        readings.append(Template(literal, readings[0].holes))
    return max(readings, key=lambda reading: sum(match_template(reading, t) is not None for t in texts))


@dataclass(frozen=True)
class TemplateLine:
    """A line of a template over all matching texts.

    Parameters
    ----------
    label
        What stands before the first colon; the number of the line (`line 2`) where there is none.
    values
        Rows by what follows the label, most frequent first.
    n_rows
        Texts that follow the template.
    n_chars
        Characters of this line in all of them, its line feed included.
    """

    label: str
    values: Mapping[str, int]
    n_rows: int
    n_chars: int

    @property
    def n_distinct(self) -> int:
        """Different values, an empty one included."""
        return len(self.values)


def template_lines(template: str, texts: Sequence[str]) -> tuple[TemplateLine, ...]:
    """Follow each line of a template through the texts.

    Parameters
    ----------
    template
        Text of the template file.
    texts
        Embedded texts; those that do not follow the template are left out (`n_rows` says how many took part).

    Returns
    -------
    One entry a line of the template in its order, without lines that are blank; a variable may itself hold line feeds.
    """
    fitting = fitting_template(template, texts)
    lines = _lines(fitting)
    values: list[Counter[str]] = [Counter() for _ in lines]
    chars = [0] * len(lines)
    n_rows = 0
    for text in texts:
        match = match_template(fitting, text.replace("\r\n", "\n"))
        if match is None:
            continue
        n_rows += 1
        for number, (label, pieces) in enumerate(lines):
            whole = "".join(piece if hole is None else match.values[hole] for piece, hole in pieces)
            chars[number] += len(whole) + (number < len(lines) - 1)
            values[number][_behind(label, whole)] += 1
    return tuple(
        TemplateLine(label or f"line {number + 1}", dict(counts.most_common()), n_rows, n_chars)
        for number, ((label, pieces), counts, n_chars) in enumerate(zip(lines, values, chars, strict=True))
        if any(hole is not None or piece.strip() for piece, hole in pieces)
    )


#: Pieces of a line: literal text, or the number of a hole.
_Pieces = list[tuple[str, int | None]]


def _lines(template: Template) -> list[tuple[str, _Pieces]]:
    lines: list[_Pieces] = [[]]
    for number, literal in enumerate(template.literals):
        first, *others = literal.split("\n")
        lines[-1].append((first, None))
        lines += [[(part, None)] for part in others]
        if number < len(template.holes):
            lines[-1].append(("", number))
    return [(_label(pieces), pieces) for pieces in lines]


def _label(pieces: _Pieces) -> str:
    start = pieces[0][0] if pieces and pieces[0][1] is None else ""
    found = _LABEL.match(start)
    return found.group(1) if found else ""


def _behind(label: str, line: str) -> str:
    if not label:
        return line.strip()
    return line[line.index(label) + len(label) :].lstrip(" \t:：").strip()
