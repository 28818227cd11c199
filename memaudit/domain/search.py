"""Find inputs: for every condition, then for their combinations."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memaudit.domain.engine import Engine
from memaudit.domain.predicates import Text, holds, renditions
from memaudit.domain.trace import KEYWORD_KINDS, Pred, PredKey
from memaudit.domain.witnesses import (
    NEUTRAL,
    Assignment,
    Choice,
    Leaf,
    pairwise,
    whole,
    with_choice,
    with_fragment,
)

MAX_GROUPS = 12
_MAX_PRODUCT = 6_000
_MAX_PASSES = 8
_BASES = 4
_SINGLE_BASES = 12
_MAX_ITEMS = 40
_MAX_COMBINED_ITEMS = 7

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
    """

    solutions: dict[PredKey, Fragment] = field(default_factory=dict)
    n_groups: int = 0
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Search:
    """Searches the inputs of one target."""

    def __init__(self, engine: Engine, handler_points: list[bool]) -> None:
        self.engine = engine
        self._handler_points = handler_points
        self.builder = engine.builder
        self.defaults = engine.builder.defaults
        self.base: Assignment = ()
        self.found = Found()
        self._deciding: dict[str, list[Choice]] = {}

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
                    kept = self._deciding.setdefault(leaf.path, [])
                    if choice not in kept and len(kept) < 40:
                        kept.append(choice)

    def _choices(self, leaf: Leaf) -> list[Choice]:
        choices = [choice for choice in leaf.choices if choice != self.defaults[leaf.path]]
        if leaf.kind in ("int", "float"):
            for pred in list(self.engine.recorder.preds.values()):
                number = pred.literal
                if isinstance(number, bool) or not isinstance(number, (int, float)):
                    continue
                steps = (-1, 0, 1) if isinstance(number, int) else (-0.5, 0, 0.5)
                for step in steps:
                    value = number + step
                    if leaf.kind == "float":
                        choices.append(("lit", "float", float(value)))
                    elif value == int(value):
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

    def _numbers(self, number: float, base: Assignment) -> Iterator[Assignment]:
        near = (number - 1, number, number + 1, number + 0.5, number - 0.5)
        for leaf in self.builder.leaves:
            for value in near:
                whole = value == int(value)
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
            if leaf.kind == "text" and 0 < number <= 20:
                # Counts of a keyword: the fragments that are known, repeated.
                for path, place, text in list(self.found.solutions.values())[:20]:
                    if path == leaf.path and place == "mid":
                        for times in (int(number), int(number) + 1):
                            yield with_choice(base, path, ("mix", (("mid", text),) * times), self.defaults)

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

    # -- combinations -----------------------------------------------------------------------------------
    def combine(self) -> None:
        """Run the combinations of what was found to matter, then probe order, repetition and spreading."""
        mids, options = self._factors()
        self.found.n_groups = sum(len(pieces) for pieces in mids.values())
        known = self._values()
        size = 1
        for choices in options.values():
            size *= len(choices) if choices else 1
        for pieces in mids.values():
            size *= 2 ** len(pieces)
        if self.found.n_groups <= MAX_GROUPS and size <= _MAX_PRODUCT:
            self._all_combinations(mids, options)
        else:
            self._some_combinations(mids, options)
            new = self._values() - known
            line = f"{size:,} combinations of {self.found.n_groups} keyword groups and other choices exist; each pair was tried"
            if new:
                self.found.missing.append(f"{line}, and combinations gave values of their own")
            else:
                self.found.notes.append(
                    f"{line}; no combination gave a value that single conditions did not give"
                )
        self._probe_arrangement(mids)
        self._items()

    def _values(self) -> set[str]:
        """Give the values that do not depend on the markers."""
        cache = self.engine.cache
        return {
            outcome.key
            for (assignment, variant), outcome in cache.items()
            if variant == 0 and outcome.key is not None
            and (other := cache.get((assignment, 1))) is not None and other.key == outcome.key
        }  # fmt: skip

    def _factors(self) -> tuple[dict[str, list[tuple[str, Text]]], dict[str, list[Choice]]]:
        """Give for each leaf the fragments that can stand together, and the choices that exclude each other."""
        solved = [p for p in self.engine.recorder.preds.values() if p.key in self.found.solutions]
        mids: dict[str, list[tuple[str, Text]]] = {}
        options: dict[str, list[Choice]] = {}
        taken: set[Any] = set()
        for pred in solved:
            path, place, text = self.found.solutions[pred.key]
            # Keywords that make the same groups true are one input; a keyword of two groups is another one.
            sign = (path, place, _groups_of(pred, text, solved))
            if sign in taken:
                continue
            taken.add(sign)
            if place == "mid":
                pieces = mids.setdefault(path, [])
                if (place, text) not in pieces:
                    pieces.append((place, text))
            else:
                choice: Choice = whole(text) if place == "whole" else ("mix", ((place, text),))
                if choice not in options.setdefault(path, []):
                    options[path].append(choice)
        for path, choices in self._deciding.items():
            kept = options.setdefault(path, [])
            kept += [choice for choice in choices if choice not in kept]
        for path, kept in options.items():
            kept.insert(0, self.defaults[path])
        for path in mids:
            options.setdefault(path, [self.defaults[path]])
        return mids, options

    def _leaf_options(self, pieces: list[tuple[str, Text]], choices: list[Choice]) -> list[Choice]:
        """List what one leaf can be: every set of fragments, with each start and end, and the whole texts."""
        starts = [c[1][0] for c in choices if c[0] == "mix" and c[1] and c[1][0][0] == "start"]
        ends = [c[1][0] for c in choices if c[0] == "mix" and c[1] and c[1][0][0] == "end"]
        others = [c for c in choices if c[0] != "mix"]
        found: list[Choice] = []
        for chosen in itertools.product((False, True), repeat=len(pieces)):
            some = tuple(piece for piece, taken in zip(pieces, chosen) if taken)
            for start in (None, *starts):
                for end in (None, *ends):
                    fragments = (*([start] if start else []), *some, *([end] if end else []))
                    found.append(("mix", fragments))
        return found + others

    def _all_combinations(
        self, mids: dict[str, list[tuple[str, Text]]], options: dict[str, list[Choice]]
    ) -> None:
        per_leaf = []
        for path, choices in options.items():
            is_text = self.defaults[path] == NEUTRAL
            full = self._leaf_options(mids.get(path, []), choices) if is_text else choices
            per_leaf.append([(path, choice) for choice in full])
        total = 1
        for listed in per_leaf:
            total *= len(listed)
        if total > _MAX_PRODUCT:
            self._some_combinations(mids, options)
            return
        for chosen in itertools.product(*per_leaf):
            self._run(chosen)

    def _some_combinations(
        self, mids: dict[str, list[tuple[str, Text]]], options: dict[str, list[Choice]]
    ) -> None:
        factors: list[tuple[str, list[Any]]] = [(path, list(choices)) for path, choices in options.items()]
        factors += [(path, [None, piece]) for path, pieces in mids.items() for piece in pieces]
        rows = pairwise([len(levels) for _, levels in factors])
        n_pieces = len(factors) - len(options)
        head = (0,) * len(options)
        rows += [head + (1,) * n_pieces]
        rows += [head + tuple(int(i != left_out) for i in range(n_pieces)) for left_out in range(n_pieces)]
        rows += [
            head + tuple(int(i in pair) for i in range(n_pieces))
            for pair in itertools.combinations(range(min(n_pieces, 40)), 2)
        ]
        for row in rows:
            chosen: dict[str, Choice] = {}
            for (path, levels), level in zip(factors, row):
                value = levels[level]
                if value is None:
                    continue
                if path in chosen and isinstance(value[0], str) and value[0] == "mid":
                    if chosen[path][0] == "mix":
                        chosen[path] = ("mix", (*chosen[path][1], value))
                else:
                    chosen[path] = value
            self._run(tuple(chosen.items()))

    def _run(self, chosen: tuple[tuple[str, Choice], ...]) -> None:
        assignment = self.base
        for path, choice in chosen:
            assignment = with_choice(assignment, path, choice, self.defaults)
        self.engine.both(assignment)

    # -- order, repetition, several items ---------------------------------------------------------------
    def _probe_arrangement(self, mids: dict[str, list[tuple[str, Text]]]) -> None:
        for path, pieces in mids.items():
            if len(pieces) >= 2:
                pairs = list(itertools.combinations(pieces, 2))[:30]
                self._probe(
                    [(path, ("mix", (second, first))) for first, second in pairs]
                    + [(path, ("mix", tuple(reversed(pieces))))],
                    "the order of the keywords in the text changes the value",
                )
            self._probe(
                [(path, ("mix", (piece,) * times)) for piece in pieces[:20] for times in (2, 3)],
                "repeating a keyword changes the value",
            )

    def _probe(self, changes: list[tuple[str, Choice]], line: str) -> None:
        known = self._values()
        for path, choice in changes:
            self.engine.both(with_choice(self.base, path, choice, self.defaults))
        if self._values() - known:
            self.found.missing.append(f"{line}: not all arrangements were tried")

    def _items(self) -> None:
        """Put what one item can do into several items of one list."""
        for leaf in self.builder.leaves:
            if leaf.kind != "length" or leaf.path.count("[]"):
                continue
            inner = leaf.path[:-1] + "[]"
            kept: dict[Any, Assignment] = {}
            for (assignment, variant), outcome in sorted(
                self.engine.cache.items(), key=lambda c: len(c[0][0])
            ):
                if variant == 0 and outcome.error is None and leaf.path not in dict(assignment):
                    item = tuple((path, choice) for path, choice in assignment if path.startswith(inner))
                    rest = [path for path, _ in assignment if not path.startswith(inner)]
                    if not rest and item:
                        kept.setdefault((outcome.points, outcome.key), item)
            self._several(leaf.path, list(kept.values())[:_MAX_ITEMS], len(kept))

    def _several(self, path: str, items: list[Assignment], n_kinds: int) -> None:
        known = self._values()

        def run(some: tuple[Assignment, ...]) -> None:
            self.engine.both(with_choice(self.base, path, ("items", some), self.defaults))

        for pair in itertools.combinations(items, 2):
            run(pair)
        if not self._values() - known:
            return
        single = items[:_MAX_COMBINED_ITEMS]
        for size in range(3, len(single) + 1):
            for some in itertools.combinations(single, size):
                run(some)
        known = self._values()
        for first, second in itertools.combinations(items, 2):
            run((second, first))
        if self._values() - known:
            self.found.missing.append("the order of the items changes the value: not all orders were tried")
        known = self._values()
        for item in items:
            run((item, item))
        if self._values() - known:
            self.found.missing.append("repeated items change the value: not all numbers were tried")
        known = self._values()
        if n_kinds > len(single):
            chance = random.Random(0)
            for _ in range(60):
                run(tuple(chance.sample(items, min(3, len(items)))))
            if self._values() - known:
                self.found.missing.append("several items give values of their own; not all were combined")


def _groups_of(pred: Pred, given: Text, solved: list[Pred]) -> frozenset[Any]:
    """Give the groups that a fragment makes true, as far as its own text tells."""
    text = given if isinstance(given, str) else given[0]
    found = {pred.group or pred.key}
    for other in solved:
        if other.kind in ("contains", "regex", "part") and other.literal is not None:
            literal = other.literal
            kind = "regex" if isinstance(literal, tuple) else "contains"
            if holds(kind, literal, text) or (
                kind == "contains" and str(literal).casefold() in text.casefold()
            ):
                found.add(other.group or other.key)
    return frozenset(found)


def _instance_of(kind: Any) -> Choice:
    samples: dict[Any, Choice] = {
        str: ("wild", "text", None), int: ("wild", "int", 7), float: ("wild", "float", 2.5),
        bool: ("wild", "bool", True), list: ("wild", "list", ()), dict: ("wild", "dict", ()),
        tuple: ("wild", "tuple", ()), bytes: ("wild", "bytes", b"x"), type(None): ("wild", "NoneType", None),
    }  # fmt: skip
    return samples.get(kind, ("wild", "NoneType", None))
