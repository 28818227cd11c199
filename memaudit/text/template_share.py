"""How much of each embedded text is template: by a given template, by field, or by what all texts share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memaudit.text.skeleton import MIN_TEXTS, SUPPORT, skeletons
from memaudit.text.template import Match, fitting_template, match_template

_WORD = re.compile("[a-z0-9]+|[^\\W_a-z0-9]+")


@dataclass(frozen=True)
class Cut:
    """Texts cut into constant and variable parts, one entry a row.

    Parameters
    ----------
    matches
        Parts of each row; None for a row that follows no template, or has no text.
    n_templates
        Different templates found or given.
    """

    matches: tuple[Match | None, ...]
    n_templates: int

    @property
    def n_constant(self) -> int:
        """Constant characters of all rows."""
        return sum(match.n_constant for match in self.matches if match is not None)


def cut_by_template(template: str, texts: Sequence[str]) -> Cut:
    """Cut texts along a given template (text of its file)."""
    fitting = fitting_template(template, texts)
    matches = tuple(match_template(fitting, text.replace("\r\n", "\n")) if text.strip() else None for text in texts)
    return Cut(matches, 1)


def cut_by_data(texts: Sequence[str]) -> Cut:
    """Cut texts along the templates that their different values show; a single value in all rows is all constant."""
    different = list(dict.fromkeys(text for text in texts if text.strip()))
    n_filled = sum(bool(text.strip()) for text in texts)
    if len(different) == 1 and n_filled >= MIN_TEXTS:
        by_text = {different[0]: Match((), ((different[0], True),))}
        return Cut(tuple(by_text.get(text) for text in texts), 1)
    found = skeletons(different)
    by_text = {}
    for skeleton in found:
        for i in skeleton.members:
            match = match_template(skeleton.template, different[i])
            if match is not None:
                by_text[different[i]] = match
    return Cut(tuple(by_text.get(text) for text in texts), len(found))


def joined(columns: Sequence[Cut], values: Sequence[Sequence[str]]) -> tuple[Match | None, ...]:
    """Put the fields of each row together, a blank between filled ones, as they are embedded.

    Parameters
    ----------
    columns, values
        Cut and texts of each field, in the order in which they are embedded.

    Returns
    -------
    Parts of each row; the blanks between fields are constant. None for a row without any text.
    """
    rows: list[Match | None] = []
    for row in range(len(values[0]) if values else 0):
        parts: list[tuple[str, bool]] = []
        holes: list[str] = []
        for cut, texts in zip(columns, values, strict=True):
            if not texts[row]:
                continue
            if parts:
                parts.append((" ", True))
            match = cut.matches[row]
            parts += match.parts if match is not None else ((texts[row], False),)
            holes += match.values if match is not None else (texts[row],)
        rows.append(Match(tuple(holes), tuple(parts)) if parts else None)
    return tuple(rows)


@dataclass(frozen=True)
class Repetition:
    """A field whose variables all stand in another field, too.

    Parameters
    ----------
    field, of
        Numbers of the repeating field and of the field it repeats.
    n_variables
        Variables of the repeating field that are not the same in all rows.
    n_rows, n_repeating
        Rows in which both fields are filled, and those in which every variable is repeated.
    """

    field: int
    of: int
    n_variables: int
    n_rows: int
    n_repeating: int


def repetitions(columns: Sequence[Cut], values: Sequence[Sequence[str]], min_share: float) -> tuple[Repetition, ...]:
    """Find fields that carry the variables of another field.

    Parameters
    ----------
    columns, values
        As in :func:`joined`.
    min_share
        Share of the rows in which all variables must be repeated.

    Returns
    -------
    At most one entry a field, in their order: the later of two that repeat each other, with the first it repeats.
    """
    found = _repetitions(columns, values, min_share)
    # A template may have swallowed a variable of few values (`host web`, `host db`) or a part of one (`u` of `u1`):
    # what repeats without the templates repeats, too.
    without = [Cut((None,) * len(cut.matches), 0) for cut in columns]
    known = {one.field for one in found} | {one.of for one in found}
    found += [one for one in _repetitions(without, values, min_share) if one.field not in known]
    return tuple(sorted(found, key=lambda one: one.field))


def _repetitions(columns: Sequence[Cut], values: Sequence[Sequence[str]], min_share: float) -> list[Repetition]:
    words = [_variable_words(cut, texts) for cut, texts in zip(columns, values, strict=True)]
    found: list[Repetition] = []
    repeating: set[int] = set()
    for a in range(len(columns)):
        for b in range(len(columns)):
            if a == b or a in repeating:
                continue
            one = _repetition(a, b, words, columns[a], values[a])
            if one is None or one.n_repeating < min_share * one.n_rows:
                continue
            back = _repetition(b, a, words, columns[b], values[b])
            if a < b and back is not None and back.n_repeating >= min_share * back.n_rows:
                continue  # they repeat each other: told of the later one
            repeating.add(a)
            found.append(one)
    return found


def _repetition(
    a: int, b: int, words: Sequence[Sequence[frozenset[str]]], cut: Cut, texts: Sequence[str]
) -> Repetition | None:
    n_variables = _n_variables(cut, texts, words[a])
    filled = [row for row in range(len(texts)) if words[a][row] and words[b][row]]
    if not n_variables or len(filled) < MIN_TEXTS:
        return None
    n_repeating = sum(words[a][row] <= words[b][row] for row in filled)
    return Repetition(a, b, n_variables, len(filled), n_repeating)


def _n_variables(cut: Cut, texts: Sequence[str], words: Sequence[frozenset[str]]) -> int:
    """Count the variables of a field: holes of its template, else the words that vary; 0 for one that never changes."""
    if cut.n_templates == 0:
        sizes = Counter(len(own) for text, own in zip(texts, words, strict=True) if text.strip())
        return sizes.most_common(1)[0][0] if _label_words(cut, texts) and sizes else int(len(set(texts) - {""}) > 1)
    values = [m.values if m is not None else (t,) for m, t in zip(cut.matches, texts, strict=True) if t.strip()]
    most = max(map(len, values), default=0)
    return sum(len({v[k].strip() for v in values if len(v) > k}) > 1 for k in range(most))


def _variable_words(cut: Cut, texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the words of each row's variable parts, lower case; a run of Han characters is one word."""
    labels = _label_words(cut, texts)
    return [
        _words(" ".join(match.values)) if match is not None else _words(text) - labels
        for match, text in zip(cut.matches, texts, strict=True)
    ]


def _label_words(cut: Cut, texts: Sequence[str]) -> frozenset[str]:
    """Return the words that nearly all texts hold where the field is too short to show a template."""
    different = dict.fromkeys(text for text in texts if text.strip())
    if cut.n_templates or len(different) < MIN_TEXTS:
        return frozenset()
    counts = Counter(word for text in different for word in _words(text))
    return frozenset(word for word, n in counts.items() if n >= SUPPORT * len(different))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
