"""Find inputs: for every condition, then for their combinations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from memaudit.domain.engine import Engine
from memaudit.domain.predicates import Text, renditions
from memaudit.domain.preds import KEYWORD_KINDS, Pred, PredKey, literal_key
from memaudit.domain.witnesses import (
    Assignment,
    Choice,
    Leaf,
    with_choice,
    with_fragment,
)

_MAX_PASSES = 8
_MAX_DECIDING = 40
_BASES = 4
_SINGLE_BASES = 12
_MAX_TOGETHER = 60

Fragment = tuple[str, str, Text]


@dataclass
class Found:
    """What the search found out.

    Parameters
    ----------
    solutions
        For each keyword the leaf, the place and the text that made it true.
    n_groups
        Keyword groups that were combined.
    missing
        Combinations that were left out and matter, in words.
    notes
        Combinations that were left out and did not matter as far as was seen, in words.
    uncombined
        Leaves with more choices that matter than are combined with others.
    """

    solutions: dict[PredKey, Fragment] = field(default_factory=dict)
    n_groups: int = 0
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    uncombined: set[str] = field(default_factory=set)


class Search:
    """Searches the inputs of one target."""

    def __init__(self, engine: Engine, handler_points: list[bool]) -> None:
        self.engine = engine
        self._handler_points = handler_points
        self.builder = engine.builder
        self.defaults = engine.builder.defaults
        self.base: Assignment = ()
        self.found = Found()
        self.deciding: dict[str, list[Choice]] = {}

    def explore(self) -> None:
        """Run the base input, then every choice of every leaf, then go after each condition."""
        self._find_base()
        self._singles(self.base)
        self._chase()
        for assignment in self._single_bases():
            self._singles(assignment)
        self._chase()

    def _find_base(self) -> None:
        """Take the first input that gives a value: the defaults, else small changes of them."""
        if self.engine.both(()).error is None:
            return
        for leaf in self.builder.leaves:
            for choice in leaf.choices[1:]:
                if choice[0] == "wild" and leaf.kind != "text":
                    continue
                assignment = with_choice((), leaf.path, choice, self.defaults)
                if self.engine.both(assignment).error is None:
                    self.base = assignment
                    if choice[0] == "wild":
                        self.engine.odd_is_usual = True
                        for pred in self.engine.recorder.preds.values():
                            pred.usual = True
                    return

    def _singles(self, base: Assignment) -> None:
        """Vary one leaf at a time; choices that change what happens are kept for the combinations."""
        engine = self.engine
        reference = engine.both(base)
        for leaf in self.builder.leaves:
            seen: list[Any] = [(reference.events, reference.key)]
            for choice in self._choices(leaf):
                outcome = engine.both(with_choice(base, leaf.path, choice, self.defaults))
                different = outcome.events != reference.events or outcome.points != reference.points
                if leaf.kind in ("bool", "choice"):
                    different = different or outcome.key != reference.key
                sign = (outcome.events, None if leaf.kind in ("text", "int", "float") else outcome.key)
                if different and sign not in seen:
                    seen.append(sign)
                    kept = self.deciding.setdefault(leaf.path, [])
                    if choice not in kept and len(kept) < _MAX_DECIDING:
                        kept.append(choice)
                    elif choice not in kept:
                        self.found.uncombined.add(leaf.path)

    def _choices(self, leaf: Leaf) -> list[Choice]:
        choices = [choice for choice in leaf.choices if choice != self.defaults[leaf.path]]
        if leaf.kind in ("int", "float"):
            for pred in list(self.engine.recorder.preds.values()):
                number = pred.literal
                usable = self.engine.stable(pred) and not isinstance(number, bool)
                if not usable or not isinstance(number, (int, float)):
                    continue
                steps = (-1, 0, 1) if isinstance(number, int) else (-0.5, 0, 0.5)
                for step in steps:
                    value = number + step
                    if leaf.kind == "float":
                        choices.append(("lit", "float", float(value)))
                    elif _is_whole(value):
                        choices.append(("lit", "int", int(value)))
        return list({repr(choice): choice for choice in choices}.values())

    def _single_bases(self) -> list[Assignment]:
        """Give inputs that went different ways, to vary each leaf from there, too."""
        kept: dict[frozenset[int], Assignment] = {}
        for (assignment, variant), outcome in list(self.engine.cache.items()):
            if variant == 0 and outcome.error is None:
                kept.setdefault(outcome.points, assignment)
        return list(kept.values())[:_SINGLE_BASES]

    # -- conditions -------------------------------------------------------------------------------------
    def _chase(self) -> None:
        for _ in range(_MAX_PASSES):
            before = (len(self.engine.seen), len(self.engine.recorder.preds), len(self.engine.points))
            for pred in list(self.engine.recorder.preds.values()):
                if pred.kind in KEYWORD_KINDS | {"part"} and self.engine.stable(pred):
                    self._solve_keyword(pred)
            for pred, wanted in self.engine.goals():
                self._solve(pred, wanted)
            self._chase_handlers()
            after = (len(self.engine.seen), len(self.engine.recorder.preds), len(self.engine.points))
            if before == after:
                return

    def _bases(self, pred: Pred) -> list[Assignment]:
        return list(dict.fromkeys([self.base, *self.engine.bases(pred)]))[: _BASES + 1]

    def _text_leaves(self, pred: Pred) -> list[str]:
        every = [leaf.path for leaf in self.builder.leaves if leaf.kind == "text"]
        near = [path for path in every if path in pred.leaves]
        return near + ([path for path in every if path not in near] if not near else [])

    def _solve_keyword(self, pred: Pred) -> None:
        """Find a text that makes the keyword true on its own, even if another input did so already."""
        if pred.key in self.found.solutions:
            return
        event = (*pred.key, True)
        options = renditions(pred)
        for base in self._bases(pred):
            for path in self._text_leaves(pred):
                for place, text in options:
                    assignment = with_fragment(base, path, place, text, self.defaults)
                    if event in self.engine.both(assignment).events:
                        self.found.solutions[pred.key] = (path, place, text)
                        return

    def _solve(self, pred: Pred, wanted: bool) -> None:
        engine = self.engine
        if engine.reached(pred, wanted):
            return
        for base in self._bases(pred):
            for assignment in self._attempts(pred, base):
                engine.both(assignment)
                if engine.reached(pred, wanted):
                    return

    def _attempts(self, pred: Pred, base: Assignment) -> Iterator[Assignment]:
        if pred.kind == "compound":
            yield from self._together(pred, base)
        number = pred.literal if isinstance(pred.literal, (int, float)) else None
        if number is not None and not isinstance(pred.literal, bool):
            yield from self._numbers(number, base)
        elif pred.literal is not None and not isinstance(pred.literal, (str, tuple)):
            choice = ("wild", type(pred.literal).__name__, pred.literal)
            if pred.kind == "type":
                choice = _instance_of(pred.literal)
            for leaf in self.builder.leaves:
                if leaf.kind not in ("length", "presence"):
                    yield with_choice(base, leaf.path, choice, self.defaults)
        elif pred.kind == "none":
            for leaf in self.builder.leaves:
                yield with_choice(base, leaf.path, ("wild", "NoneType", None), self.defaults)
        for first, second in itertools.permutations(sorted(pred.relation), 2):
            yield with_choice(base, first, ("copy", second), self.defaults)
        for leaf in self.builder.leaves:
            for choice in (self.defaults[leaf.path], *self._choices(leaf)):
                if choice[0] != "wild" or leaf.kind == "choice":
                    yield with_choice(base, leaf.path, choice, self.defaults)
        # A condition that must be false where a fragment makes it true: take the fragments out one by one.
        for path, choice in base:
            if choice[0] == "mix":
                for index in range(len(choice[1])):
                    rest = choice[1][:index] + choice[1][index + 1 :]
                    yield with_choice(base, path, ("mix", rest), self.defaults)
        for path, place, text in self.found.solutions.values():
            yield with_fragment(base, path, place, text, self.defaults)

    def _together(self, pred: Pred, base: Assignment) -> Iterator[Assignment]:
        """Give each part of a key of several values to a leaf of its own."""
        leaves = [leaf for leaf in self.builder.leaves if leaf.kind in ("text", "int", "float", "bool", "choice")]
        for chosen in itertools.islice(itertools.permutations(leaves, len(pred.literal)), _MAX_TOGETHER):
            assignment = base
            for leaf, part in zip(chosen, pred.literal, strict=True):
                if leaf.kind == "text" and isinstance(part, str):
                    solved = self.found.solutions.get((pred.site, "part", literal_key(part)))
                    place, text = solved[1:] if solved is not None and solved[0] == leaf.path else ("whole", part)
                    assignment = with_fragment(assignment, leaf.path, place, text, self.defaults)
                elif (leaf.kind == "choice") == isinstance(part, (str, Enum)):
                    assignment = with_choice(assignment, leaf.path, ("lit", type(part).__name__, part), self.defaults)
            yield assignment

    def _numbers(self, number: float, base: Assignment) -> Iterator[Assignment]:
        near = (number - 1, number, number + 1, number + 0.5, number - 0.5)
        for leaf in self.builder.leaves:
            for value in near:
                whole = _is_whole(value)
                if leaf.kind == "int" and whole:
                    yield with_choice(base, leaf.path, ("lit", "int", int(value)), self.defaults)
                elif leaf.kind == "float":
                    yield with_choice(base, leaf.path, ("lit", "float", float(value)), self.defaults)
                elif leaf.kind == "length" and whole and 0 <= value <= 50:
                    yield with_choice(base, leaf.path, ("len", int(value)), self.defaults)
                elif leaf.kind == "text":
                    if whole and 0 <= value <= 20_000:
                        yield with_choice(base, leaf.path, ("size", int(value)), self.defaults)
                    text = str(int(value)) if whole else str(value)
                    yield with_fragment(base, leaf.path, "whole", text, self.defaults)
                    yield with_fragment(base, leaf.path, "mid", text, self.defaults)
            if leaf.kind == "text" and _is_whole(number) and 0 <= number <= 20_000:
                yield from self._sized(int(number), leaf.path, base)
            if leaf.kind == "text" and _is_whole(number):
                # Compared with a number that the code does not write down (an IntEnum's member).
                yield with_choice(base, leaf.path, ("wild", "int", int(number)), self.defaults)
            if leaf.kind == "text" and 0 < number <= 20:
                # Counts of a keyword: the fragments that are known, repeated.
                for path, place, piece in list(self.found.solutions.values())[:20]:
                    if path == leaf.path and place == "mid":
                        for times in (int(number), int(number) + 1):
                            yield with_choice(base, path, ("mix", (("mid", piece),) * times), self.defaults)

    def _sized(self, number: int, path: str, base: Assignment) -> Iterator[Assignment]:
        """Give texts of about a length that have a keyword, and texts of about as many lines or words."""
        words = [self.builder.markers.word(path, variant) for variant in (0, 1)]
        for leaf, place, piece in list(self.found.solutions.values())[:20]:
            if leaf != path or place == "whole":
                continue
            yield with_fragment(base, path, "whole", piece, self.defaults)
            pieces = (piece, piece) if isinstance(piece, str) else piece
            for length in (number - 1, number, number + 1):
                texts = [(word * length)[: max(0, length - len(p) - 1)] for word, p in zip(words, pieces, strict=True)]
                both = zip(texts, pieces, strict=True)
                whole = tuple(f"{text} {p}" if place == "end" else f"{p} {text}" for text, p in both)
                yield with_choice(base, path, ("vary", whole), self.defaults)
        if number <= 200:
            for between in ("\n", " "):
                for times in (number - 1, number, number + 1):
                    many = tuple(between.join([word] * times) for word in words)
                    yield with_choice(base, path, ("vary", many), self.defaults)

    def _chase_handlers(self) -> None:
        """Try odd values where an `except` part has not run yet."""
        points = self.engine.points
        handlers = [i for i, inside in enumerate(self._handler_points) if inside and i not in points]
        if not handlers:
            return
        odd: list[Choice] = [
            ("wild", "NoneType", None),
            ("wild", "int", 7),
            ("wild", "list", ()),
            ("wild", "dict", ()),
        ]
        for base in self._single_bases()[:_BASES]:
            for leaf in self.builder.leaves:
                for choice in (*self._choices(leaf), *odd):
                    if leaf.kind in ("length", "presence") and choice[0] == "wild":
                        continue
                    self.engine.both(with_choice(base, leaf.path, choice, self.defaults))
                    if all(point in self.engine.points for point in handlers):
                        return


def _is_whole(number: float) -> bool:
    return isinstance(number, int) or number.is_integer()


def _instance_of(kind: Any) -> Choice:
    samples: dict[Any, Choice] = {
        str: ("wild", "text", None), int: ("wild", "int", 7), float: ("wild", "float", 2.5),
        bool: ("wild", "bool", True), list: ("wild", "list", ()), dict: ("wild", "dict", ()),
        tuple: ("wild", "tuple", ()), bytes: ("wild", "bytes", b"x"), type(None): ("wild", "NoneType", None),
    }  # fmt: skip
    return samples.get(kind, ("wild", "NoneType", None))
