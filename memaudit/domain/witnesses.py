"""Inputs to try: leaves of the arguments, choices for each leaf, and how a choice becomes a value.

A *choice* is an abstract input ("neutral text with these fragments", "the integer 60", "nothing"). It becomes
a value only together with a *variant*: variant 1 has other markers and other free integers than variant 0, so
that what comes from the input can be told from what the function says itself.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memaudit.domain.codec import Record
from memaudit.domain.shapes import Shape

#: ("mix", ((position, text), ...)) | ("gen", name) | ("lit", type, value) | ("num", base) | ("len", n)
#: | ("spread", ((position, text), ...)): as "mix", with the free word between all fragments
#: | ("items", (assignment, ...)) | ("vary", (text, text)) | ("absent",) | ("copy", leaf) | ("size", n)
#: | ("wild", type, value): of another type than expected
Choice = tuple[Any, ...]
Assignment = tuple[tuple[str, Choice], ...]

NEUTRAL: Choice = ("mix", ())
GENERIC_TEXTS = (
    "empty", "space", "upper", "title", "cjk", "cjk-mixed", "digits", "decimal", "negative", "punctuation",
    "unparsable", "code", "json", "long", "lines", "path", "words", "letter", "date",
)  # fmt: skip
_LETTERS = "qxzjvkwyhgbfpm"
_OTHER_LETTERS = "θλξψζηφχ"
_INT_DISTANCE = 100
_FREE_INTS = ((37, 53), (41, 59), (67, 83), (71, 97), (3, 5), (0, 1))


@dataclass(frozen=True)
class Leaf:
    """One place of the arguments that can be varied.

    Parameters
    ----------
    path
        `name`, `failures[].error`; `failures[]#` is the length of a list, `failures?` its being None.
    kind
        text, int, float, bool, choice, length, presence, mapping.
    choices
        What can be put there besides harvested fragments; the first is the default.
    """

    path: str
    kind: str
    choices: tuple[Choice, ...]


def leaves_of(shapes: Mapping[str, Shape]) -> list[Leaf]:
    """List the leaves of all parameters, in order."""
    found: list[Leaf] = []
    for name, shape in shapes.items():
        _leaves(shape, name, found, may_lack=False)
    return found


def _leaves(shape: Shape, path: str, found: list[Leaf], *, may_lack: bool) -> None:
    extra: list[Choice] = [("absent",)] if may_lack else []
    if shape.optional or shape.kind == "any":
        extra.append(("lit", "NoneType", None))
    if shape.kind in ("text", "any"):
        other = [("wild", "int", 7), ("wild", "list", ()), ("wild", "dict", ())] if shape.kind == "any" else []
        generic: list[Choice] = [("gen", name) for name in GENERIC_TEXTS]
        found.append(Leaf(path, "text", (NEUTRAL, *generic, *extra, *other)))
    elif shape.kind == "int":
        fixed = [("lit", "int", n) for n in (0, 1, 2, -1, 10, 100, 100_000)]
        found.append(Leaf(path, "int", (("num", 0), *fixed, *extra)))
    elif shape.kind == "float":
        numbers = [("lit", "float", n) for n in (0.0, 0.5, 1.0, -1.5, 1000.25)]
        found.append(Leaf(path, "float", (("num", 0.25), *numbers, *extra)))
    elif shape.kind == "bool":
        found.append(Leaf(path, "bool", (("lit", "bool", False), ("lit", "bool", True), *extra)))
    elif shape.kind == "choice":
        values: list[Choice] = [("lit", type(value).__name__, value) for value in shape.values]
        found.append(Leaf(path, "choice", (*values, *extra, ("wild", "text", None))))
    elif shape.kind in ("list", "tuple", "set"):
        lengths = [("len", n) for n in (1, 0, 2, 3, 5)]
        found.append(Leaf(path + "#", "length", (*lengths, *extra)))
        if shape.item is not None:
            _leaves(shape.item, path + "[]", found, may_lack=False)
    elif shape.kind in ("dict", "object"):
        if not shape.keys:
            found.append(Leaf(path, "mapping", (("len", 1), ("len", 0), *extra)))
            return
        if extra:
            found.append(Leaf(path + "?", "presence", (("lit", "bool", True), *extra)))
        for key, inner in shape.keys.items():
            _leaves(inner, f"{path}.{key}", found, may_lack=key in shape.may_lack)


class Markers:
    """Words that stand in no literal of the target, one set for each leaf and variant.

    Parameters
    ----------
    literals
        Texts of the target; no marker contains one of them or is contained in one (case ignored).
    numbers
        Integers of the target; the free integers keep away from them.
    """

    def __init__(self, literals: Iterable[str], numbers: Iterable[int]) -> None:
        self._literals = sorted({text.casefold() for text in literals if text and not text.isspace()})
        single = {text for text in self._literals if len(text) == 1}
        letters = [letter for letter in _LETTERS if letter not in single]
        self._letters = letters if len(letters) >= 5 else list(_OTHER_LETTERS)
        taken = set(numbers)
        near = {n + step for n in taken for step in (-1, 0, 1)}
        self._near = near
        self._free_ints = next((pair for pair in _FREE_INTS if not near & set(pair)), (37, 53))
        self._made: dict[tuple[str, int, str], str] = {}

    def word(self, leaf: str, variant: int, kind: str = "word") -> str:
        """Give the marker of a leaf: `word`, `cjk` or `digits`; longer in variant 1 than in variant 0."""
        key = (leaf, variant, kind)
        if key not in self._made:
            self._made[key] = self._new(leaf, variant, kind)
        return self._made[key]

    def free_int(self, number: int, variant: int) -> int:
        """Give the free integer of the n-th numeric leaf: each has its own, as each text has its own word."""
        start = self._free_ints[variant] + number * _INT_DISTANCE
        return next((n for n in range(start, start + 10) if n not in self._near), start) if number else start

    def clashes(self, literals: Iterable[str]) -> bool:
        """Tell whether a literal stands in a marker that was given out (or the other way round)."""
        folded = [text.casefold() for text in literals if text and not text.isspace()]
        return any(text in word or word in text for word in self._made.values() for text in folded)

    def _new(self, leaf: str, variant: int, kind: str) -> str:
        alphabet = {
            "word": self._letters,
            "cjk": [chr(code) for code in range(0x9F8E, 0x9FA5)],
            "digits": list("2345678"),
        }[kind]
        length = {"word": 7, "cjk": 3, "digits": 5}[kind] + 4 * variant
        taken = set(self._made.values())
        word = ""
        for attempt in range(60):
            chance = random.Random(f"{leaf} {variant} {kind} {attempt}")
            word = "".join(chance.choice(alphabet) for _ in range(length))
            if word not in taken and not any(text in word or word in text for text in self._literals):
                break
        return word


class Builder:
    """Turns assignments into arguments.

    Parameters
    ----------
    shapes
        Of the named parameters, in order.
    markers
        Source of the free texts and integers.
    """

    def __init__(self, shapes: Mapping[str, Shape], markers: Markers) -> None:
        self.shapes = shapes
        self.markers = markers
        self.leaves = leaves_of(shapes)
        self.defaults = {leaf.path: leaf.choices[0] for leaf in self.leaves}
        numeric = [leaf.path for leaf in self.leaves if leaf.kind in ("int", "float")]
        self._number_of = {path: number for number, path in enumerate(numeric)}

    def arguments(self, assignment: Assignment, variant: int | str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Build fresh arguments.

        Parameters
        ----------
        assignment
            Choices that differ from the defaults.
        variant
            0 or 1; or the name of a parameter that alone takes its markers from variant 1.

        Returns
        -------
        The arguments by name, and the value of each leaf by path; further values of the same leaf, in items of a list
        that differ, have a `#` more each.
        """
        chosen = dict(assignment)
        texts: dict[str, Any] = {}
        built = {name: self._build(shape, name, chosen, variant, texts) for name, shape in self.shapes.items()}
        return {name: value for name, value in built.items() if value is not _ABSENT}, texts

    def _variant(self, path: str, variant: int | str) -> int:
        if isinstance(variant, int):
            return variant
        return int(path == variant or path.startswith((variant + ".", variant + "[", variant + "#")))

    def _build(
        self, shape: Shape, path: str, chosen: dict[str, Choice], variant: int | str, texts: dict[str, Any]
    ) -> Any:  # fmt: skip
        if shape.kind == "const":
            return shape.values[0]
        if shape.kind in ("list", "tuple", "set"):
            return self._build_list(shape, path, chosen, variant, texts)
        if shape.kind in ("dict", "object") and shape.keys:
            presence = chosen.get(path + "?")
            if presence is not None and presence[0] == "absent":
                return _ABSENT
            if presence is not None and presence[2] is None:
                return None
            fields = {
                key: self._build(inner, f"{path}.{key}", chosen, variant, texts) for key, inner in shape.keys.items()
            }
            fields = {key: value for key, value in fields.items() if value is not _ABSENT}
            return fields if shape.kind == "dict" else Record(**fields)
        choice = chosen.get(path, self.defaults[path])
        value = self._leaf_value(choice, path, chosen, variant)
        if value is not _ABSENT:
            texts[path] = value
        return value

    def _build_list(
        self, shape: Shape, path: str, chosen: dict[str, Choice], variant: int | str, texts: dict[str, Any]
    ) -> Any:
        size = chosen.get(path + "#", self.defaults.get(path + "#", ("len", 1)))
        if size[0] == "absent":
            return _ABSENT
        if size[0] in ("lit", "wild"):
            return size[2]
        inner = shape.item or Shape("text")
        below = [chosen] * size[1] if size[0] == "len" else [{**chosen, **dict(item)} for item in size[1]]
        items = []
        for some in below:
            own: dict[str, Any] = {}
            items.append(self._build(inner, path + "[]", some, variant, own))
            for leaf, value in own.items():
                # Items that differ have a text each: `tags[]`, `tags[]#`, `tags[]##`.
                while leaf in texts and texts[leaf] != value:
                    leaf += "#"
                texts[leaf] = value
        items = [item for item in items if item is not _ABSENT]
        if shape.kind == "set":
            return {item for item in items if isinstance(item, (str, int, float, bool, type(None)))}
        return tuple(items) if shape.kind == "tuple" else items

    def _leaf_value(self, choice: Choice, path: str, chosen: dict[str, Choice], variant: int | str) -> Any:
        kind = choice[0]
        number = self._variant(path, variant)
        if kind == "mix":
            return self._mixed(choice[1], path, number, " ")
        if kind == "spread":
            return self._mixed(choice[1], path, number, f" {self.markers.word(path, number)} ")
        if kind == "gen":
            return self._generic(choice[1], path, number)
        if kind == "lit":
            return choice[2]
        if kind == "vary":
            return choice[1][number]
        if kind == "num":
            return self.free_number(path, number) + choice[1]
        if kind == "absent":
            return _ABSENT
        if kind == "copy":
            other = choice[1]
            return self._leaf_value(chosen.get(other, self.defaults[other]), other, {}, variant)
        if kind == "size":
            word = self.markers.word(path, number)
            return (word * (choice[1] // len(word) + 1))[: choice[1]]
        if kind == "len":
            key = self.markers.word(path, number)
            return {} if choice[1] == 0 else {key: key}
        if choice[1] in ("list", "dict"):
            return [] if choice[1] == "list" else {}
        return self.markers.word(path, number) if choice[1] == "text" else choice[2]

    def free_number(self, path: str, variant: int) -> int:
        """Give the integer that stands for any number in a leaf."""
        return self.markers.free_int(self._number_of.get(path, 0), variant)

    def _mixed(self, fragments: Sequence[tuple[str, Any]], path: str, number: int, between: str) -> str:
        word = self.markers.word(path, number)
        texts = [(place, text if isinstance(text, str) else text[number]) for place, text in fragments]
        start = next((text for place, text in texts if place == "start"), "")
        end = next((text for place, text in texts if place == "end"), "")
        middle = [text for place, text in texts if place == "mid"]
        text = start + word
        if middle:
            text += " " + between.join(middle) + " " + word
        return text + end

    def _generic(self, name: str, path: str, number: int) -> str:
        word = self.markers.word(path, number)
        digits = self.markers.word(path, number, "digits")
        cjk = self.markers.word(path, number, "cjk")
        texts = {
            "empty": "", "space": ("  ", " \t  ")[number], "upper": word.upper(), "title": word.title(),
            "cjk": cjk,
            "cjk-mixed": f"{cjk} {word}", "digits": digits, "decimal": f"{digits[:2]}.{digits[2:]}",
            "negative": f"-{digits}", "punctuation": ("!?;", "?-!!;,")[number],
            "unparsable": f"{word} ) ( {word}",
            "code": f"{word} = {digits}", "json": f'{{"{word}": "{word}"}}', "long": f"{word} " * 400,
            "lines": f"{word}\n{word}\n{word}", "path": f"{word}/{word}.{word}",
            "words": f"{word} {word} {word}",
            "letter": next((c for c in word if number and c != self.markers.word(path, 0)[0]), word[0]), "date": ("2037-11-23", "2041-09-17")[number],
        }  # fmt: skip
        return texts[name]


_ABSENT: Any = object()


def with_choice(assignment: Assignment, path: str, choice: Choice, defaults: Mapping[str, Choice]) -> Assignment:
    """Give the assignment with one leaf chosen otherwise."""
    chosen = dict(assignment)
    chosen[path] = choice
    if defaults.get(path) == choice and [type(x) for x in defaults[path]] == [type(x) for x in choice]:
        del chosen[path]
    return tuple(sorted(chosen.items(), key=lambda item: item[0]))


def whole(text: Any) -> Choice:
    """Give the choice of exactly this text, or of this text in each variant."""
    return ("lit", "str", text) if isinstance(text, str) else ("vary", text)


def with_fragment(
    assignment: Assignment, path: str, place: str, text: Any, defaults: Mapping[str, Choice]
) -> Assignment:
    """Add a fragment to the text of one leaf; `whole` puts the fragment in the place of the text."""
    if place == "whole":
        return with_choice(assignment, path, whole(text), defaults)
    present = dict(assignment).get(path, NEUTRAL)
    fragments = list(present[1]) if present[0] == "mix" else []
    if place in ("start", "end"):
        fragments = [piece for piece in fragments if piece[0] != place]
    if (place, text) not in fragments:
        fragments.append((place, text))
    return with_choice(assignment, path, ("mix", tuple(fragments)), defaults)


def pairwise(sizes: Sequence[int], seed: int = 0) -> list[tuple[int, ...]]:
    """Give rows of levels in which every pair of levels of every two factors occurs.

    Parameters
    ----------
    sizes
        Number of levels of each factor, each at least 1.
    seed
        Of the greedy choice; the same seed gives the same rows.

    Notes
    -----
    Greedy, so not the smallest array: about (largest * second largest * log(factors)) rows.
    """
    chance = random.Random(seed)
    open_pairs = {
        (i, a, j, b)
        for i, j in itertools.combinations(range(len(sizes)), 2)
        for a in range(sizes[i])
        for b in range(sizes[j])
    }
    if not open_pairs:
        return [(level,) for level in range(sizes[0])] if sizes else [()]
    rows: list[tuple[int, ...]] = []
    while open_pairs:
        i, a, j, b = min(open_pairs)
        row: list[int | None] = [None] * len(sizes)
        row[i], row[j] = a, b
        order = [k for k in range(len(sizes)) if row[k] is None]
        chance.shuffle(order)
        for k in order:
            row[k] = max(range(sizes[k]), key=lambda level: (_gain(row, k, level, open_pairs), -level))
        done = tuple(level if level is not None else 0 for level in row)
        rows.append(done)
        for x, y in itertools.combinations(range(len(sizes)), 2):
            open_pairs.discard((x, done[x], y, done[y]))
    return rows


def _gain(row: Sequence[int | None], factor: int, level: int, open_pairs: set[tuple[int, int, int, int]]) -> int:
    gain = 0
    for other, chosen in enumerate(row):
        if chosen is not None:
            low, high = ((other, chosen), (factor, level)) if other < factor else ((factor, level), (other, chosen))
            gain += (*low, *high) in open_pairs
    return gain
