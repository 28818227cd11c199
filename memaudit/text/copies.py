"""Copies and near copies of texts: groups, pairs, and which of them can be merged without losing anything."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from memaudit.text import is_blank, is_placeholder, normalised, words
from memaudit.text.details import detail_differences, differ_in_digits

#: A near row shares at least this part of its words with the row it repeats, or it is no rewording of it.
MIN_OVERLAP = 0.2
#: Two texts share at least this part of their words where their cosine alone does not call them near. At a cosine of 0.92 all
#: of 14 such pairs in five public stores (4,155 texts) say the same.
SAME_WORDS = 0.7


@dataclass(frozen=True)
class CopyGroups:
    """Groups of rows with equal texts, in the order of their first rows.

    Parameters
    ----------
    identical
        Row numbers of each group of identical texts, two or more a group.
    folded
        The same after case and white space; holds every group of `identical`, in part larger.
    """

    identical: tuple[tuple[int, ...], ...]
    folded: tuple[tuple[int, ...], ...]

    @property
    def extra_identical(self) -> int:
        """Rows beyond the first of each group of identical texts."""
        return sum(len(group) - 1 for group in self.identical)

    @property
    def extra_folded(self) -> int:
        """Rows beyond the first of each group, case and white space aside."""
        return sum(len(group) - 1 for group in self.folded)


def copy_groups(texts: Sequence[str], owners: Sequence[Hashable] | None = None) -> CopyGroups:
    """Group equal texts; blank texts and placeholders are no copies of each other.

    Parameters
    ----------
    owners
        Owner of each row; the same text of two owners is no copy. None: one owner.
    """
    identical: dict[Hashable, list[int]] = {}
    folded: dict[Hashable, list[int]] = {}
    for row, text in enumerate(texts):
        if is_blank(text) or is_placeholder(text):
            continue
        owner = owners[row] if owners is not None else None
        identical.setdefault((owner, text), []).append(row)
        folded.setdefault((owner, normalised(text)), []).append(row)
    return CopyGroups(_repeated(identical), _repeated(folded))


def _repeated(groups: dict[Hashable, list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(rows) for rows in groups.values() if len(rows) > 1)


@dataclass(frozen=True)
class NearRows:
    """What became of the rows that joined the cluster of an earlier row; indices into the texts given.

    Parameters
    ----------
    identical
        Their text occurs earlier, case and white space aside: exact copies, counted elsewhere.
    reworded
        They differ from the row that leads their cluster in no detail, and share words with it.
    differing
        A number, date, name, negation or the like differs.
    unlike
        They share (almost) no words with it.
    """

    identical: tuple[int, ...]
    reworded: tuple[int, ...]
    differing: tuple[int, ...]
    unlike: tuple[int, ...]

    @property
    def n_near(self) -> int:
        """Rows that are near an earlier one without being a copy."""
        return len(self.reworded) + len(self.differing) + len(self.unlike)

    def renumbered(self, numbers: Sequence[int]) -> NearRows:
        """Return the same rows under other numbers."""
        parts = (self.identical, self.reworded, self.differing, self.unlike)
        return NearRows(*(tuple(numbers[row] for row in part) for part in parts))


def near_rows(texts: Sequence[str], labels: npt.NDArray[np.int64]) -> NearRows:
    """Sort the rows that joined a cluster by how their text differs from that of its leader.

    Parameters
    ----------
    texts
        One a row.
    labels
        Leader clusters of the rows; the first row of a label leads it.
    """
    leader: dict[int, int] = {}
    seen: set[str] = set()
    found: dict[str, list[int]] = {"identical": [], "reworded": [], "differing": [], "unlike": []}
    for row, label in enumerate(labels.tolist()):
        text = normalised(texts[row])
        first = leader.setdefault(label, row)
        if first != row:
            found["identical" if text in seen else _relation(texts[row], texts[first])].append(row)
        seen.add(text)
    return NearRows(**{name: tuple(rows) for name, rows in found.items()})


def says_the_same(text: str, earlier: str) -> bool:
    """Say whether two texts share at least `SAME_WORDS` of their words and differ in no detail, words aside; a copy does not."""
    if normalised(text) == normalised(earlier):
        return False
    return word_overlap(text, earlier) >= SAME_WORDS and _relation(text, earlier) == "reworded"


def _relation(text: str, leader: str) -> str:
    if detail_differences(text, leader) - {"word"}:
        return "differing"
    return "reworded" if word_overlap(text, leader) >= MIN_OVERLAP else "unlike"


def word_overlap(first: str, second: str) -> float:
    """Return the share of common words among all words of two texts (Jaccard); 1.0 when neither has any."""
    a, b = set(words(first)), set(words(second))
    return len(a & b) / len(a | b) if a or b else 1.0


@dataclass(frozen=True)
class Pair:
    """A near pair of rows i < j and the kinds of detail in which their texts differ."""

    i: int
    j: int
    cos: float
    kinds: frozenset[str]

    @property
    def is_safe(self) -> bool:
        """Whether nothing known would be lost by keeping one of the two."""
        return not self.kinds


@dataclass(frozen=True)
class PairDifferences:
    """How near pairs differ.

    Parameters
    ----------
    pairs
        In the order given.
    n_identical
        Pairs of equal texts, case and white space aside; they are safe, too.
    n_numbers
        Pairs that differ in a number, a version or a date in digits.
    n_negation
        Pairs of which one holds a negation more, or the opposite of a word of the other.
    n_other
        Pairs that differ in another detail alone: a name, a unit, a day of the week.
    """

    pairs: tuple[Pair, ...]
    n_identical: int
    n_numbers: int
    n_negation: int
    n_other: int = 0

    @property
    def n_safe(self) -> int:
        """Pairs that differ in no detail."""
        return sum(pair.is_safe for pair in self.pairs)

    @property
    def differing(self) -> tuple[Pair, ...]:
        """Pairs in which a detail differs for sure, not only a word."""
        return tuple(pair for pair in self.pairs if pair.kinds - {"word"})

    def renumbered(self, numbers: Sequence[int]) -> PairDifferences:
        """Return the same pairs with other row numbers."""
        pairs = tuple(replace(pair, i=numbers[pair.i], j=numbers[pair.j]) for pair in self.pairs)
        return replace(self, pairs=pairs)


def pair_differences(texts: Sequence[str], near: Sequence[tuple[int, int, float]]) -> PairDifferences:
    """Compare the texts of near pairs (i, j, cosine); each pair of different texts is read once."""
    folded = [normalised(text) for text in texts]

    @cache
    def compared(first: str, second: str) -> tuple[frozenset[str], bool]:
        return detail_differences(first, second), differ_in_digits(first, second)

    pairs, n_identical, n_numbers, n_negation, n_other = [], 0, 0, 0, 0
    for i, j, cos in near:
        if folded[i] == folded[j]:
            n_identical += 1
            pairs.append(Pair(i, j, cos, frozenset()))
            continue
        kinds, in_digits = compared(*sorted((texts[i], texts[j])))
        n_numbers += in_digits
        is_negated = bool(kinds & {"negation", "opposite"})
        n_negation += is_negated
        n_other += bool(kinds - {"word"}) and not in_digits and not is_negated
        pairs.append(Pair(i, j, cos, kinds))
    return PairDifferences(tuple(pairs), n_identical, n_numbers, n_negation, n_other)


def safe_merges(
    texts: Sequence[str], pairs: Sequence[Pair], owners: Sequence[Hashable] | None = None
) -> dict[int, int]:
    """Choose merges row -> kept row among the safe pairs.

    A row is merged into an earlier one that is kept itself, so that no merge rests on another merge. Exact copies
    are left out: they are merged into the first of their text by their own rule. Rows of different owners never merge.
    """
    first: dict[Hashable, int] = {}
    for row, text in enumerate(texts):
        first.setdefault((owners[row] if owners is not None else None, normalised(text)), row)
    firsts = set(first.values())
    merged: dict[int, int] = {}
    for pair in sorted(pairs, key=lambda p: (p.i, p.j)):
        same_owner = owners is None or owners[pair.i] == owners[pair.j]
        both_first = pair.i in firsts and pair.j in firsts
        if pair.is_safe and same_owner and both_first and pair.i not in merged and pair.j not in merged:
            merged[pair.j] = pair.i
    return merged
