"""Templates found in texts alone: what all of them have in common, and in which order.

A template is a chain of segments that (nearly) all different texts hold in one order. Segments must be longer than
what sentences share by nature, and what stands between them must hold words: rows that differ in numbers only are
readings, and their sentence is their content, not a wrapper around it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memaudit.text.scripts import HAN, HAN_CHARACTER
from memaudit.text.template import Match, Template, match_template

#: Fewer different texts than this show no template: five notes about one thing share half their words.
MIN_TEXTS = 8
#: Share of the different texts that follow a template (a few may be written by hand).
SUPPORT = 0.95
#: Several templates in one store: each holds this share of the different texts, all together that share.
GROUP_SHARE, COVERED_SHARE = 0.10, 0.80
_MAX_TEMPLATES = 10
#: Letters (a Han character counts two, a line feed or colon one) of a segment, and of a whole template.
SEGMENT_WEIGHT, TEMPLATE_WEIGHT = 4, 12
#: A segment of Latin words without a line feed or colon needs more: nearly every English reflection holds "I will".
_LATIN_WEIGHT = 8
#: Letters that vary in a row that is no mere reading.
_VARIABLE_WEIGHT = 4
#: Texts that are compared to find the segments; all of them are matched afterwards.
_SAMPLE = 240
_REFERENCE_CHARS = 3_000
#: Of longer texts the segments are looked for at both ends: a wrapper stands there, and a log dump costs no minutes.
_END_CHARS = 10_000
_SHINGLE = 4

#: Dates and times are one token, so that the year of all rows is no constant.
_TOKEN = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    rf"|[{HAN}]|[^\W\d_{HAN}]+|\d+|\n|[^\S\n]+|.",
    re.DOTALL,
)
_EDGE = "\x00"


@dataclass(frozen=True)
class Skeleton:
    """A template found, and the texts that follow it (indices into the different texts), ascending."""

    template: Template
    members: tuple[int, ...]


def tokens(text: str) -> list[str]:
    """Cut a text into words, Han characters, numbers, times, white space and signs; nothing is lost."""
    return _TOKEN.findall(text)


def weight(text: str) -> int:
    """Count what carries meaning: a letter or digit 1, a Han character 2, a line feed or colon 1."""
    n_han = len(HAN_CHARACTER.findall(text))
    return sum(c.isalnum() for c in text) + n_han + sum(text.count(c) for c in "\n:：")


def skeletons(texts: Sequence[str]) -> tuple[Skeleton, ...]:
    """Find the template or templates of some texts.

    Parameters
    ----------
    texts
        Different texts, none blank; order does not matter much (long lists are thinned evenly).

    Returns
    -------
    One skeleton that nearly all texts follow; else up to ten that together cover at least 80 % of the texts; else none.
    Fewer than eight texts give none.

    Notes
    -----
    Segments are found in at most 240 texts, by the token runs of a few of them: a run is kept as long as nearly all
    texts hold it. Cost is linear in the texts.
    """
    if len(texts) < MIN_TEXTS:
        return ()
    whole = _skeleton(texts, range(len(texts)))
    if whole is not None:
        return (whole,)
    return _several(texts)


def _several(texts: Sequence[str]) -> tuple[Skeleton, ...]:
    least = max(MIN_TEXTS, int(GROUP_SHARE * len(texts)))
    found: list[Skeleton] = []
    left = set(range(len(texts)))
    holders: dict[tuple[str, ...], set[int]] = {}
    for i, text in enumerate(texts):
        for shingle in _shingles(text):
            holders.setdefault(shingle, set()).add(i)
    common = {s: rows for s, rows in holders.items() if len(rows) >= least}
    tried: set[frozenset[int]] = set()
    while len(left) >= least and len(found) < _MAX_TEMPLATES and len(tried) < 4 * _MAX_TEMPLATES:
        groups = {frozenset(rows & left) for rows in common.values()} - tried
        if not groups:
            break
        # Ties are broken by the first row, so that the answer does not depend on the order of a set.
        group = max(groups, key=lambda rows: (len(rows), -min(rows, default=0)))
        if len(group) < least:
            break
        tried.add(group)
        skeleton = _skeleton(texts, sorted(group))
        if skeleton is not None and len(skeleton.members) >= least:
            found.append(skeleton)
            left -= set(skeleton.members)
    covered = len(texts) - len(left)
    return tuple(found) if covered >= COVERED_SHARE * len(texts) else ()


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = [token for token in tokens(text[:_REFERENCE_CHARS]) if not token.isspace()]
    runs = (tuple(words[i : i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1))
    return {run for run in runs if weight("".join(run)) >= SEGMENT_WEIGHT}


def _skeleton(texts: Sequence[str], rows: Sequence[int]) -> Skeleton | None:
    """Find the one template of some texts; None when they share none."""
    if len(rows) < MIN_TEXTS:
        return None
    sample = [texts[i] for i in _thinned(rows, _SAMPLE)]
    need = math.ceil(len(sample) * SUPPORT)
    best: Template | None = None
    by_length = sorted(sample, key=lambda text: (len(text), text))
    for reference in {by_length[0]: 0, by_length[len(by_length) // 4]: 0, by_length[len(by_length) // 2]: 0}:
        template = _chain(reference, sample, need)
        if template is not None and (best is None or template.n_constant > best.n_constant):
            best = template
    if best is None or sum(map(weight, best.literals)) < TEMPLATE_WEIGHT or not _is_framed(best):
        return None
    members = [i for i in rows if match_template(best, texts[i]) is not None]
    if len(members) < max(MIN_TEXTS, SUPPORT * len(rows)):
        return None
    best = _refined(best, [texts[i] for i in members])
    matches = [match_template(best, texts[i]) for i in members]
    with_words = sum(_has_words(match) for match in matches if match is not None)
    if with_words < 0.5 * len(members):
        return None
    return Skeleton(best, tuple(members))


def _thinned(rows: Sequence[int], most: int) -> list[int]:
    step = max(1, -(-len(rows) // most))
    return list(rows[::step])


def _is_framed(template: Template) -> bool:
    """Say whether the constants look made: at an edge of the text, or with a line feed or colon.

    A phrase that many sentences share stands somewhere in the middle.
    """
    first, *_, last = template.literals
    return bool(first or last) or any(sign in part for part in template.literals for sign in "\n:：")


def _has_words(match: Match) -> bool:
    variable = "".join(value for value in match.values)
    return weight("".join(c for c in variable if c.isalpha())) >= _VARIABLE_WEIGHT


def _chain(reference: str, sample: Sequence[str], need: int) -> Template | None:
    """Return the segments of a reference text that at least `need` texts hold in its order, as a template."""
    parts = tokens(reference[:_REFERENCE_CHARS])
    joined = [_EDGE + _EDGE.join(tokens(_ends(text))) + _EDGE for text in sample]
    segments = [run for run in _common_runs(parts, joined, need) if _is_segment("".join(parts[slice(*run)]))]
    # Overlapping runs: the heavier one stays.
    chosen: list[tuple[int, int]] = []
    for run in sorted(segments, key=lambda r: (-weight("".join(parts[slice(*r)])), r)):
        if all(run[1] <= other[0] or run[0] >= other[1] for other in chosen):
            chosen.append(run)
    chosen.sort()
    while chosen:
        template, n_fitting = _edged(["".join(parts[slice(*run)]) for run in chosen], sample)
        if n_fitting >= need:
            return template
        # Leave out the segment at which most texts stop following the chain.
        literals = ["".join(parts[slice(*run)]) for run in chosen]
        stops = Counter(stop for text in sample if (stop := _first_missing(literals, text)) is not None)
        if not stops:
            return None
        del chosen[max(stops, key=lambda k: (stops[k], -weight(literals[k]), k))]
    return None


def _is_segment(text: str) -> bool:
    latin_only = text.isascii() and not set(text) & set("\n:")
    return weight(text) >= (_LATIN_WEIGHT if latin_only else SEGMENT_WEIGHT)


def _first_missing(literals: Sequence[str], text: str) -> int | None:
    """Return the number of the first segment that the text does not hold behind the ones before; None when all are."""
    place = 0
    for number, literal in enumerate(literals):
        at = text.find(literal, place)
        if at < 0:
            return number
        place = at + len(literal)
    return None


def _n_fitting(literals: Sequence[str], sample: Sequence[str]) -> int:
    """Count the texts that hold all segments in this order, at any place."""
    template = Template(("", *literals, ""), ("",) * (len(literals) + 1))
    return sum(match_template(template, text) is not None for text in sample)


def _common_runs(parts: Sequence[str], joined: Sequence[str], need: int) -> list[tuple[int, int]]:
    """Return the longest runs [start, end) of tokens that at least `need` texts hold."""
    runs: list[tuple[int, int]] = []
    end = 0
    for start in range(len(parts)):
        end = max(end, start)
        while end < len(parts):
            run = _EDGE + _EDGE.join(parts[start : end + 1]) + _EDGE
            if not _held_by(run, joined, need):
                break
            end += 1
        if end > start and (not runs or runs[-1][1] < end):
            runs.append((start, end))
    return runs


def _held_by(run: str, joined: Sequence[str], need: int) -> bool:
    """Say whether at least `need` texts hold a run; stops as soon as they cannot."""
    spare = len(joined) - need
    for text in joined:
        spare -= run not in text
        if spare < 0:
            return False
    return True


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _END_CHARS else text[:_END_CHARS] + "\n" + text[-_END_CHARS:]


def _edged(literals: Sequence[str], sample: Sequence[str]) -> tuple[Template, int]:
    """Turn segments into a template, tied to the edges where no text is lost by it; count the texts that fit."""
    best, most = Template(("", *literals, ""), ("",) * (len(literals) + 1)), _n_fitting(literals, sample)
    for head in ((), ("",)):
        for tail in ((), ("",)):
            ends = (*head, *literals, *tail)
            if len(ends) < 2:
                continue
            template = Template(ends, ("",) * (len(ends) - 1))
            if sum(match_template(template, text) is not None for text in sample) == most:
                return template, most
    return best, most


def _refined(template: Template, texts: Sequence[str]) -> Template:
    """Add the single signs that cut a variable in every text, such as the dot of `tool.action`."""
    matches = [match for text in texts if (match := match_template(template, text)) is not None]
    literals = [template.literals[0]]
    for hole, literal in enumerate(template.literals[1:]):
        contents = {match.values[hole] for match in matches}
        cuts = _cuts(contents) if len(contents) >= MIN_TEXTS else []
        literals += [*cuts, literal]
    refined = Template(tuple(literals), ("",) * (len(literals) - 1))
    fits = all(match_template(refined, text) is not None for text in texts)
    return refined if fits else template


def _cuts(contents: set[str]) -> list[str]:
    """Return the tokens that stand exactly once in each content, in one order in all of them; no blanks."""
    lists = [tokens(content) for content in contents]
    counts = [Counter(own) for own in lists]
    once = {t for t, n in min(counts, key=len).items() if n == 1 and not t.isspace()}
    once = {t for t in once if all(own[t] == 1 for own in counts)}
    orders = {tuple(t for t in own if t in once) for own in lists}
    return list(orders.pop()) if len(orders) == 1 else []
