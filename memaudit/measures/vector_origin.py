"""Where vectors come from: how many models made them, which texts share one, and whether an index fits its rows."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.text import normalised
from memaudit.text.scripts import HAN, KANA_AND_HANGUL

#: Rows of each model whose cosines across are taken; more are drawn by chance.
MAX_ROWS = 4_000

# -- MA014 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Models:
    """The models of a column of vectors.

    Parameters
    ----------
    names
        Rows by name, most frequent first; as stored.
    without_name
        Rows with a vector and no name.
    texts_in_both
        Different texts (case and white space aside) stored under two names or more.
    max_across_cos
        Largest cosine of two rows of different models; None without such a pair.
    same_text_cos
        Median cosine of one text under two names; None without such a text.
    """

    names: Mapping[str, int]
    without_name: tuple[int, ...]
    texts_in_both: int
    max_across_cos: float | None
    same_text_cos: float | None
    sampled: bool

    @property
    def spellings(self) -> int:
        """Names that are left after case, provider and `:latest` are dropped."""
        return len({_plain_name(name) for name in self.names})


def _plain_name(name: str) -> str:
    return name.strip().lower().rsplit("/", 1)[-1].removesuffix(":latest").replace("_", "-")


def models(
    names: Sequence[Any],
    texts: Sequence[str],
    has_vector: Sequence[bool],
    unit: npt.NDArray[np.float32],
    rows: Sequence[int],
    rng: np.random.Generator,
) -> Models:
    """Look at the models that a column of vectors comes from.

    Parameters
    ----------
    names
        Name of each row's model as stored.
    has_vector
        Whether the row has a vector of any kind.
    unit, rows
        (m, d) unit vectors and their row numbers.
    rng
        Draws rows where a model has more than 4,000.
    """
    named = [str(name).strip() if name is not None and str(name).strip() else None for name in names]
    counts = Counter(name for name in named if name is not None)
    without = tuple(i for i, name in enumerate(named) if name is None and has_vector[i])
    seen: dict[str, dict[str, int]] = {}
    for i, name in enumerate(named):
        text = normalised(texts[i])
        if name is not None and text:
            seen.setdefault(text, {}).setdefault(_plain_name(name), i)
    both = [places for places in seen.values() if len(places) > 1]
    place = {row: p for p, row in enumerate(rows)}
    cosines = [
        float(unit[place[a]] @ unit[place[b]])
        for a, b, *_ in (tuple(places.values()) for places in both)
        if a in place and b in place
    ]
    largest, sampled = _max_across([named[r] for r in rows], unit, rng)
    return Models(
        dict(counts.most_common()),
        without,
        len(both),
        largest,
        float(median(cosines)) if cosines else None,
        sampled,
    )


def _max_across(
    names: Sequence[str | None], unit: npt.NDArray[np.float32], rng: np.random.Generator
) -> tuple[float | None, bool]:
    places: dict[str, list[int]] = {}
    for p, name in enumerate(names):
        if name is not None:
            places.setdefault(_plain_name(name), []).append(p)
    sampled = any(len(found) > MAX_ROWS for found in places.values())
    chosen = [
        np.sort(rng.choice(found, size=MAX_ROWS, replace=False)) if len(found) > MAX_ROWS else np.array(found)
        for found in places.values()
    ]
    largest: float | None = None
    for a in range(len(chosen)):
        for b in range(a + 1, len(chosen)):
            for start in range(0, len(chosen[a]), 512):
                top = float((unit[chosen[a][start : start + 512]] @ unit[chosen[b]].T).max())
                largest = top if largest is None else max(largest, top)
    return (None if largest is None else min(1.0, largest)), sampled


# -- MA015 --------------------------------------------------------------------------------------


#: Punctuation that changes what is said: between digits (`1.2`), a minus before one, and signs that are part of a name or unit.
_MEANT = re.compile(r"(?<=\d)[.,:/-](?=\d)|(?<!\w)-(?=\d)|[#%&@*/\\]")
#: Chinese, Japanese: blanks between characters say nothing.
_BLANK_IN_CJK = re.compile(f"(?<=[{HAN}{KANA_AND_HANGUL}]) | (?=[{HAN}{KANA_AND_HANGUL}])")


def plain_text(text: str) -> str:
    """Fold what encoders fold: case, white space, accents, compatibility forms, and punctuation that says nothing."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    meant = {match.start() for match in _MEANT.finditer(folded)}
    kept = (
        " " if place not in meant and unicodedata.category(c).startswith("P") else c
        for place, c in enumerate(folded)
        if not unicodedata.combining(c)
    )
    return _BLANK_IN_CJK.sub("", " ".join("".join(kept).split()))


def shared_vectors(
    matrix: npt.NDArray[np.float32], rows: Sequence[int], texts: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Group rows of one vector, bit by bit, that hold different texts.

    Parameters
    ----------
    matrix, rows
        (m, d) vectors as stored, without zero vectors, and their row numbers.
    texts
        Text of every row.

    Returns
    -------
    Row numbers of each group with two texts or more, largest first, then in row order. Texts that differ by case,
    white space, punctuation, accents or width alone are one text.
    """
    groups: dict[bytes, list[int]] = {}
    for vector, row in zip(matrix, rows, strict=True):
        groups.setdefault(vector.tobytes(), []).append(row)
    differing = [tuple(g) for g in groups.values() if len(g) > 1 and len({plain_text(texts[i]) for i in g}) > 1]
    return tuple(sorted(differing, key=lambda g: (-len(g), g[0])))


# -- MA016 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Index:
    """Rows against an index of vectors kept in another table.

    Parameters
    ----------
    orphans
        References of vectors that name no row, in the order of the index; None for a vector without reference.
    without_vector
        Row numbers of live rows that no vector names.
    deleted_with_vector
        Row numbers of deleted rows that a vector names.
    """

    memories: int
    deleted: int
    vectors: int
    orphans: tuple[Any, ...]
    without_vector: tuple[int, ...]
    deleted_with_vector: tuple[int, ...]

    @property
    def orphan_share(self) -> float | None:
        """Orphans as a share of the vectors; None without vectors."""
        return len(self.orphans) / self.vectors if self.vectors else None


def index_state(keys: Sequence[Any], deleted: Sequence[int], refs: Sequence[Any]) -> Index:
    """Hold the references of an index against the keys of the rows.

    Parameters
    ----------
    keys
        Keys of all rows, deleted ones included.
    deleted
        Row numbers marked as deleted.
    refs
        Reference of each vector. Where none meets a key as stored, both are compared as text (`"7"` and `7`).
    """
    known = set(keys)
    if refs and not any(r in known for r in refs):
        keys, refs = [str(k) for k in keys], [None if r is None else str(r) for r in refs]
        known = set(keys)
    named = set(refs) - {None}
    gone = set(deleted)
    return Index(
        len(keys),
        len(gone),
        len(refs),
        tuple(r for r in refs if r is None or r not in known),
        tuple(i for i, key in enumerate(keys) if key not in named and i not in gone),
        tuple(i for i, key in enumerate(keys) if key in named and i in gone),
    )
