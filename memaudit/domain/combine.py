"""Combine what was found to matter: sets of keywords, other choices, order, repetition, several items."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

from memaudit.domain.predicates import Text, holds
from memaudit.domain.preds import Pred
from memaudit.domain.search import Search
from memaudit.domain.witnesses import NEUTRAL, Assignment, Choice, pairwise, whole, with_choice
from memaudit.wording import say

MAX_GROUPS = 12
_MAX_PRODUCT = 6_000
_MAX_ITEMS = 12
_MAX_COMBINED_ITEMS = 7


class Combiner:
    """Runs combinations for a search that has explored.

    Parameters
    ----------
    search
        Gives the solutions; what is missing is noted there.
    """

    def __init__(self, search: Search) -> None:
        self.engine = search.engine
        self.builder, self.defaults = search.builder, search.defaults
        self.base, self.found = search.base, search.found
        self._deciding = search.deciding

    def combine(self) -> None:
        """Run the combinations of what was found to matter, then probe order, repetition and spreading."""
        mids, options = self._factors()
        self.found.n_groups = sum(len(pieces) for pieces in mids.values())
        known = self._values()
        per_leaf = self._per_leaf(mids, options)
        size = math.prod(len(choices) for choices in per_leaf)
        if self.found.n_groups <= MAX_GROUPS and size <= _MAX_PRODUCT:
            for chosen in itertools.product(*per_leaf):
                self._run(chosen)
        else:
            self._some_combinations(mids, options)
            own = self._values() - known
            line = say(
                "{size} combinations of {groups} keyword groups and other choices exist; each pair was tried, and "
                "combinations gave values of their own"
                if own
                else "{size} combinations of {groups} keyword groups and other choices exist; each pair was tried; no "
                "combination gave a value that single conditions did not give",
                size=size,
                groups=self.found.n_groups,
            )
            (self.found.missing if own else self.found.notes).append(line)
        for path in sorted(self.found.uncombined):
            self.found.missing.append(say("{path}: more choices matter than were combined with others", path=path))
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
        """Give for each leaf the fragments that can stand together, and what excludes each other."""
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
            some = tuple(piece for piece, taken in zip(pieces, chosen, strict=False) if taken)
            for start in (None, *starts):
                for end in (None, *ends):
                    fragments = (*([start] if start else []), *some, *([end] if end else []))
                    found.append(("mix", fragments))
        return found + others

    def _per_leaf(
        self, mids: dict[str, list[tuple[str, Text]]], options: dict[str, list[Choice]]
    ) -> list[list[tuple[str, Choice]]]:
        per_leaf = []
        for path, choices in options.items():
            pieces = mids.get(path, [])
            full = choices
            if self.defaults[path] == NEUTRAL and len(pieces) <= MAX_GROUPS:
                full = self._leaf_options(pieces, choices)
            elif self.defaults[path] == NEUTRAL:  # only counted, never run
                full = choices * 2 ** min(len(pieces), 20)
            per_leaf.append([(path, choice) for choice in full])
        return per_leaf

    def _some_combinations(self, mids: dict[str, list[tuple[str, Text]]], options: dict[str, list[Choice]]) -> None:
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
            for (path, levels), level in zip(factors, row, strict=False):
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
                self.engine.cache.items(), key=lambda c: (len(c[0][0]), len(repr(c[0][0])))
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
            if holds(kind, literal, text) or (kind == "contains" and str(literal).casefold() in text.casefold()):
                found.add(other.group or other.key)
    return frozenset(found)
