"""Query sets made from what is there: to be written by a person, from the log, held out, or synthetic.

Each builder returns lines of a query set and the sentence that has to be said about a set of that origin.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memaudit.errors import ConfigError
from memaudit.stats.power import mde_best_case
from memaudit.text.scripts import HAN
from memaudit.wording import plural, say

#: Shares of the tokens that the steps of the truncated ladder keep.
LADDER = (75, 50, 25)
#: Tokens that stand in this share of the rows are constants of a template.
CONSTANT_SHARE = 0.8

_TOKEN = re.compile(f"[{HAN}]|[^\\s{HAN}]+")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.\-]+){2,}|\b[\w\-]+(?:/[\w.\-]+)+")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Row:
    """A row of the store, as the builders see it.

    Parameters
    ----------
    strata
        Values by which a sample is spread (group, source).
    label
        Value that makes rows belong together; None where there is none.
    time
        Time of writing as a number that can be compared; None where it is not known.
    raw
        What was seen when the row was made (the raw error text), not the stored text; None where it was not kept.
    duplicates
        Keys of the rows that say the same (cosine 0.98 or more), this one not among them.
    """

    key: str
    text: str
    strata: tuple[str, ...] = ()
    label: str | None = None
    time: float | None = None
    raw: str | None = None
    duplicates: tuple[str, ...] = ()

    @property
    def expected(self) -> list[dict[str, str]]:
        """The row and its near-duplicates, any of which is a right answer."""
        return [{"doc": key} for key in (self.key, *self.duplicates)]


@dataclass(frozen=True)
class Built:
    """A query set that was made, and what has to be said about it."""

    lines: tuple[Mapping[str, Any], ...]
    said: tuple[str, ...]


def size_sentence(n: int) -> str:
    """Say what a set of n queries can show at best, beside the sizes of 24 and 60."""
    shown = []
    for size in dict.fromkeys((n, 60, 24)):
        points = mde_best_case(size)
        words = say("none at all") if points is None else say("{points:.0f} points", points=100 * points)
        shown.append(f"{plural(size, 'query', 'queries')}: {words}")
    return say("Smallest change that a set finds in 8 of 10 runs, at best: {sizes}.", sizes="; ".join(shown))


def template(rows: Sequence[Row], n: int, rng: np.random.Generator) -> Built:
    """Draw rows for a person to write queries for, spread over the strata; `text` is left empty.

    Parameters
    ----------
    n
        Queries wanted; all rows where there are fewer.

    Returns
    -------
    Lines that the loader refuses until somebody has filled `text` in.
    """
    strata: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.text.strip():
            strata.setdefault(row.strata, []).append(row)
    for members in strata.values():
        rng.shuffle(members)
    # One row of each stratum in turn: small strata are not lost beside large ones.
    chosen: list[Row] = []
    while len(chosen) < n and any(strata.values()):
        for members in strata.values():
            if members and len(chosen) < n:
                chosen.append(members.pop())
    lines = tuple(
        {"id": f"q-{i:03d}", "text": "", "expect_any": row.expected, "origin": "hand", "row_text": row.text}
        for i, row in enumerate(chosen, start=1)
    )
    return Built(
        lines,
        (
            say("Write in `text` what you would ask to find `row_text`, without copying its words. Whoever writes has "
                "seen the row: expect word overlap."),
            size_sentence(len(lines)),
        ),
    )  # fmt: skip


def from_log(recalls: Sequence[tuple[str, Sequence[str]]]) -> Built:
    """Take the queries of past recalls, each text once; what is expected is left to be labelled.

    Parameters
    ----------
    recalls
        (text of the query, keys returned), oldest first.
    """
    found: dict[str, tuple[str, dict[str, None]]] = {}
    n_blank = 0
    for text, keys in recalls:
        folded = " ".join(text.lower().split())
        if not folded:
            n_blank += 1
            continue
        found.setdefault(folded, (text, {}))[1].update(dict.fromkeys(keys))
    lines = tuple(
        {"id": f"q-{i:03d}", "text": text, "expect_any": [], "origin": "log", "returned": list(keys)}
        for i, (text, keys) in enumerate(found.values(), start=1)
    )
    said = [
        say("Fill `expect_any` in by hand. Label the pooled top k of at least two arms: labels made from `returned` "
            "alone favour the arm that was shown."),
        say("{recalls} held {n} different texts.", recalls=plural(len(recalls), "recall"), n=len(lines)),
    ]  # fmt: skip
    if n_blank:
        said.append(say("Left out, without a text: {n}.", n=plural(n_blank, "recall")))
    return Built(lines, tuple(said))


def heldout(rows: Sequence[Row], split: float) -> Built:
    """Ask for earlier rows with what was seen when the same problem came back later.

    Parameters
    ----------
    split
        Rows before this time are the store, events from it on are the queries.

    Returns
    -------
    One query for each later row with a raw text and an earlier row of the same label. Rows written after the split
    are excluded from its ranking.

    Raises
    ------
    ConfigError
        No row has a raw text: the stored text is no query, it finds itself.
    """
    if rows and not any(row.raw and row.raw.strip() for row in rows):
        raise ConfigError(
            say("no row holds the raw text that was seen."),
            say("Name its column with --query-text; the stored text is no query."),
        )
    timed = [row for row in rows if row.time is not None]
    later = [row for row in timed if row.time is not None and row.time >= split]
    after = sorted(row.key for row in later)
    known: dict[str, list[Row]] = {}
    for row in timed:
        if row.time is not None and row.time < split and row.label is not None:
            known.setdefault(row.label, []).append(row)
    lines: list[Mapping[str, Any]] = []
    n_new = 0
    for row in later:
        if row.raw is None or not row.raw.strip():
            continue
        before = known.get(row.label, []) if row.label is not None else []
        if not before:
            n_new += 1
            continue
        lines.append(
            {
                "id": f"q-{len(lines) + 1:03d}",
                "text": row.raw,
                "expect_any": [{"doc": earlier.key} for earlier in before],
                "origin": "heldout",
                "exclude": after,
                "group": row.label,
            }
        )
    said = [
        say(
            "{n} of {all} came back after the split with an earlier row of their label; {new} had none and give no query.",
            n=len(lines),
            all=plural(len(lines) + n_new, "later event"),
            new=n_new,
        ),
        size_sentence(len(lines)),
    ]
    if len(timed) < len(rows):
        said.append(say("Left out, without a readable time: {n}.", n=plural(len(rows) - len(timed), "row")))
    return Built(tuple(lines), tuple(said))


def leave_one_out(rows: Sequence[Row], label_field: str, audited_field: str | None) -> Built:
    """Ask with the text of each row for the other rows of its label.

    Raises
    ------
    ConfigError
        The label is the field under audit: the set would measure the label by itself.
    """
    if label_field == audited_field:
        raise ConfigError(
            say(
                'the label "{label_field}" is the audited field: the set would judge the field by itself.',
                label_field=label_field,
            ),
            say("Name another field with --label."),
        )
    members: dict[str, list[str]] = {}
    for row in rows:
        if row.label is not None:
            members.setdefault(row.label, []).append(row.key)
    lines: list[Mapping[str, Any]] = []
    n_alone = 0
    for row in rows:
        others = [key for key in members.get(row.label or "", []) if key != row.key] if row.label is not None else []
        if not others or not row.text.strip():
            n_alone += 1
            continue
        lines.append(
            {
                "id": f"q-{len(lines) + 1:03d}",
                "text": row.text,
                "expect_any": [{"doc": key} for key in others],
                "origin": "leave_one_out",
                "exclude": [row.key],
                "group": row.label,
            }
        )
    return Built(
        tuple(lines),
        (
            say("Measures whether neighbours share {field}, not whether a question finds its answer. Queries of one "
                "label count as one unit.", field=f"`{label_field}`"),
            say("No query from rows without another one of their label: {n}.", n=plural(n_alone, "row")),
        ),
    )  # fmt: skip


def truncated(rows: Sequence[Row], n: int, rng: np.random.Generator) -> Built:
    """Ask for rows with less and less of their own text.

    Returns
    -------
    For each row drawn one query a step (75, 50, 25 % of its tokens), constants of the template dropped, digits and
    paths masked; the step is the category, and the queries of one row are one group.
    """
    usable = [row for row in rows if row.text.strip()]
    constants = _constants([row.text for row in usable])
    order = rng.permutation(len(usable))[:n].tolist()
    lines: list[Mapping[str, Any]] = []
    n_short = 0
    for place in sorted(order):
        row = usable[place]
        tokens = [t for t in tokens_of(masked(row.text)) if t.lower() not in constants]
        if len(tokens) < len(LADDER) + 1:
            n_short += 1
            continue
        rank = rng.permutation(len(tokens))
        for share in LADDER:
            # The tokens of a lower step are among those of the higher one: the ladder has one slope a row.
            kept = sorted(int(i) for i in rank[: max(1, round(len(tokens) * share / 100))])
            lines.append(
                {
                    "id": f"q-{len(lines) + 1:03d}",
                    "text": joined([tokens[i] for i in kept]),
                    "expect_any": row.expected,
                    "origin": "truncated",
                    "category": f"kept {share} %",
                    "group": row.key,
                }
            )
    return Built(
        tuple(lines),
        (
            say("Known-item search and an upper bound: read the slope of the ladder, not its level. It favours keyword "
                "search."),
            say("No query from rows too short for a ladder: {n}.", n=plural(n_short, "row")),
        ),
    )  # fmt: skip


def masked(text: str) -> str:
    """Replace paths and digits by `#`."""
    return _DIGITS.sub("#", _PATH.sub("#", text))


def tokens_of(text: str) -> list[str]:
    """Split at blanks; each Han character is a token."""
    return _TOKEN.findall(text)


def joined(tokens: Sequence[str]) -> str:
    """Join tokens by blanks, without one between two Han characters."""
    text = ""
    for token in tokens:
        glued = bool(text) and re.match(f"[{HAN}]", token) and re.match(f"[{HAN}]", text[-1])
        text += token if glued or not text else f" {token}"
    return text


def _constants(texts: Sequence[str]) -> frozenset[str]:
    # Below five rows "in most of them" says nothing about a template.
    if len(texts) < 5:
        return frozenset()
    counts = Counter(token for text in texts for token in {t.lower() for t in tokens_of(masked(text))})
    return frozenset(t for t, c in counts.items() if c >= CONSTANT_SHARE * len(texts))
