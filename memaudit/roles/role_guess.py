"""Which column plays which part, guessed from what the columns hold; every guess comes with its reason.

Pure functions over :class:`ColumnFacts`. Names only help: a column is never taken for its name alone, save in a
table without rows. Where nothing is clear, the answer is no column and the reason why.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from memaudit.roles.column_facts import ColumnFacts, name_of
from memaudit.roles.guess import Guess, by_name
from memaudit.roles.labels import label_reason
from memaudit.roles.natural import is_natural, loaded_json
from memaudit.wording import part_of, say

#: Below this a column holds words, but no sentences: 2-character labels in every row reach 1.6.
_LEAST_TEXT = 1.8
#: A column of at least this share of the best one's score may be the text as well.
_NEAR = 0.7
#: A column of times with so few of the other's values is one stamp for many rows.
_STAMP_SHARE = 0.1
#: Rows in which a text is looked for inside another.
_COMPARED_ROWS = 200


TEXT_NAMES = re.compile(
    r"content|contents|text|memory|memories|body|document|message|note|fact|lesson|observation|reflection|insight"
    r"|experience|statement|canonical_text|page_content|data|value|payload|description|new_memory|narrative|summary"
)
_NOT_TEXT = re.compile(
    r"(^|_)(raw|embedd\w*|error|trace\w*|stack\w*|sql|query|prompt|log|path|file\w*|url|uri|title|name|old|tags?"
    r"|lemmati\w*|tokens?|normali[sz]ed|lower|hash|checksum|metadata|meta|hostname)($|_)"
)
_EMBEDDED_NAMES = re.compile(
    r"embed\w*_?(text|content|input|document)|(text|content|input)_?(to|for)_?embed\w*|embedded"
)
_CREATED = re.compile(
    r"(^|_)(creat\w*|written|recorded|inserted|added|stored|saved|logged|observed|first|captured)($|_)"
)
_SOME_TIME = re.compile(r"(^|_)(time|timestamp|ts|date|datetime|at|when|epoch|on|day)($|_)")
_NOT_CREATED = re.compile(
    r"(^|_)(updat\w*|modif\w*|chang\w*|access\w*|used?|seen|hit|recall\w*|retriev\w*|read|delet\w*|expir\w*|due|until"
    r"|synced|sync|merged|reinforced|last|valid|invalid|closed|archived|reviewed|next)($|_)"
)
_ACCESS = re.compile(r"(^|_)(access\w*|used|use|seen|hit|recall\w*|retriev\w*|read|viewed)($|_)")
_HITS = re.compile(
    r"(^|_)(hits?|uses|usage|recalls|accesses|reads|views|retrievals)($|_)"
    r"|(^|_)(hit|access|use|usage|used|recall\w*|retriev\w*|reinforce\w*|reference|read|view|relevance)_?"
    r"(count|counter|num|times|total)($|_)|(^|_)(num|n|times|count)_(times|hits|uses|used|accessed|recalled|recalls)($|_)"
)
_SOURCE = re.compile(r"source|source_type|source_kind|source_name|origin|provenance|came_from")
_ID_NAMES = re.compile(r"(.*_)?(id|uuid|guid|key|_id|pk|record_key|hash|content_hash|uid)")


def guess_id(columns: Mapping[str, ColumnFacts], unique: Iterable[str]) -> Guess:
    """Choose the key of a row: the primary key, else a column of distinct short values that is called like one.

    Where no name tells, the first column serves, if its values are distinct and neither numbers with a fraction, times
    nor sentences: tables begin with their key.

    Parameters
    ----------
    unique
        Columns without NULL and without a value twice in the whole table.
    """
    sure = set(unique)
    best: tuple[float, str, str] | None = None
    for place, (name, column) in enumerate(columns.items()):
        if "$" in name or (name not in sure and not column.primary_key):
            continue
        if not column.primary_key and not is_key_like(column):
            continue
        named = _ID_NAMES.fullmatch(name_of(column))
        if not (column.primary_key or named):
            continue
        score = 10.0 * column.primary_key + (5 if name_of(column) in ("id", "uuid", "key", "_id") else 2 * bool(named))
        if best is None or (score, -place) > (best[0], 0):
            reason = (
                say("it is the primary key")
                if column.primary_key
                else by_name(column, say("no value is missing and none occurs twice"))
            )
            if best is None or score > best[0]:
                best = (score, name, reason)
    if best is not None:
        return Guess(best[1], best[2])
    first = next(iter(columns.values()), None)
    if first is not None and first.name in sure and is_key_like(first) and first.time_share < 0.5:
        return Guess(first.name, say("it is the first column, no value is missing and none occurs twice"))
    return Guess(None, say("no single column is a key: rows are called by their number, from 1"))


def is_key_like(column: ColumnFacts) -> bool:
    """Say whether the values of a column are short enough, and of a kind, to be keys."""
    if column.vector_dims or any(isinstance(v, float) for v in column.present):
        return False
    # Names may be keys, also with blanks or in Chinese (`张曼婷/2023-04-27#0`); sentences are not.
    if column.natural_share > 0.5 and sum(map(_is_sentence, column.texts)) > 0.1 * len(column.texts):
        return False
    return bool(column.present) and all(len(str(v)) <= 200 for v in column.present)


def _is_sentence(text: str) -> bool:
    return len(text) > 60 or len(text.split()) > 4 or text.rstrip()[-1:] in (".", "!", "?", "。", "！", "？")


def text_score(column: ColumnFacts) -> float:
    """Score how well a column serves as the memory's text; 0 for one that does not.

    Length counts by its logarithm, so that a column of sentences beats one of titles but a dump of logs does not
    beat the sentences by its length alone.
    """
    if not column.present or column.vector_dims or column.time_share > 0.5:
        return 0.0
    # The share is over all rows: a path or column that most rows lack is not the text of the rows.
    filled = len(column.texts) / len(column.values)
    if column.natural_share < 0.3 or filled < 0.3:
        return 0.0
    distinct = len(set(column.texts)) / len(column.texts)
    score = math.log2(1 + column.natural_weight) * column.natural_share * filled * (0.4 + 0.6 * distinct)
    name = name_of(column)
    if TEXT_NAMES.fullmatch(name):
        score += 1.5
    if _NOT_TEXT.search(name) and not TEXT_NAMES.fullmatch(name):
        score -= 2.0
    return max(score, 0.0)


def guess_embedded_text(columns: Mapping[str, ColumnFacts]) -> tuple[str, str] | None:
    """Find the column that holds the texts of others as they were embedded: (name, reason)."""
    long = [
        c for c in columns.values() if "$" not in c.name and c.texts and c.natural_share > 0.3 and not c.vector_dims
    ]
    for whole in sorted(long, key=lambda c: -c.mean_chars):
        parts = [c for c in long if c is not whole and _contains(whole, c)]
        named = _EMBEDDED_NAMES.search(name_of(whole))
        # A title and a summary cut from the beginning of the content stand in it too: parts of one another are one.
        apart = [c for c in parts if not any(_contains(other, c) for other in parts if other is not c)]
        if parts and (named or len(apart) >= 2):
            names = ", ".join(c.name for c in parts)
            says = say("its texts contain those of {names}", names=names)
            return whole.name, by_name(whole, says) if named else says
    return None


def _contains(whole: ColumnFacts, part: ColumnFacts) -> bool:
    if len(whole.values) != len(part.values) or whole.mean_chars <= part.mean_chars:
        return False
    pairs = [
        (w, p)
        for w, p in zip(whole.values, part.values, strict=True)
        if isinstance(w, str) and isinstance(p, str) and p.strip()
    ]
    pairs = pairs[:_COMPARED_ROWS]
    # A column that only repeats another is no text made from it.
    longer = sum(len(w) > len(p) for w, p in pairs)
    return len(pairs) >= 3 and longer >= 0.5 * len(pairs) and sum(p in w for w, p in pairs) >= 0.9 * len(pairs)


def guess_text(columns: Mapping[str, ColumnFacts], without: str | None) -> Guess:
    """Choose the column with the memory's text; `without` names the embedded text, which is made from it."""
    scored = [(text_score(c), -place, c) for place, c in enumerate(columns.values()) if c.name != without]
    scored = sorted((s for s in scored if s[0] > 0), key=lambda s: s[:2], reverse=True)
    blobs = [c for c in columns.values() if "$" not in c.name and c.json_share > 0.8]
    if not scored or scored[0][0] < _LEAST_TEXT:
        return _json_text(columns, blobs) or Guess(None, say("no column holds sentences"))
    # A path that only some rows have is not the text; a plain column that is nearly as good may be.
    usable = [s for s in scored if s[0] >= _NEAR * scored[0][0] and ("$" not in s[2].name or _one_path(s[2], columns))]
    if not usable:
        return _json_text(columns, blobs) or Guess(None, say("no column and no single key of its JSON holds the text"))
    best = usable[0][2]
    # Without a telling name the longer of two columns of sentences is no more than a guess: the others are named.
    near = [] if TEXT_NAMES.fullmatch(name_of(best)) else [s[2].name for s in usable[1:]]
    others = say("; others like it: {names}", names=", ".join(near[:3])) if near else ""
    if "$" not in best.name and all(_is_quoted(v) for v in best.present):
        quotes = say("; each is written as a JSON string and read without it")
        return Guess(f"{best.name}$.", text_reason(best) + quotes + others)
    return Guess(best.name, text_reason(best) + others)


def _is_quoted(value: object) -> bool:
    return isinstance(value, str) and value[:1] == '"' and isinstance(loaded_json(value), str)


def _one_path(path: ColumnFacts, columns: Mapping[str, ColumnFacts]) -> bool:
    """Say whether a JSON path is the text: in most rows, and called so or the only one with sentences."""
    # The rows without it would look blank.
    if len(path.present) < 0.8 * len(path.values):
        return False
    base = path.name.split("$")[0]
    sentences = [c for n, c in columns.items() if n.startswith(f"{base}$") and c.natural_share > 0.5]
    return bool(TEXT_NAMES.fullmatch(name_of(path))) or sentences == [path]


def _json_text(columns: Mapping[str, ColumnFacts], blobs: list[ColumnFacts]) -> Guess | None:
    for blob in blobs:
        # Any other JSON column may be settings, logs or parts of the memory.
        if not TEXT_NAMES.fullmatch(name_of(blob)):
            continue
        inner = [c for n, c in columns.items() if n.startswith(f"{blob.name}$.") and any(map(is_natural, c.texts))]
        if inner:  # the rows keep their sentences under different keys: the whole JSON is the text
            inner.sort(key=lambda c: -len(c.present))
            shown = ", ".join(f"{c.name} {part_of(len(c.present), len(c.values))}" for c in inner[:3])
            return Guess(
                blob.name,
                say("it holds JSON whose rows have their sentences under different keys ({keys})", keys=shown),
            )
    return None


def text_reason(column: ColumnFacts) -> str:
    """Say why a column is taken for the text."""
    says = say(
        "{rows} hold text, {chars} characters on average",
        rows=column.of_rows(len(column.texts)),
        chars=round(column.mean_chars),
    )
    return by_name(column, says) if TEXT_NAMES.fullmatch(name_of(column)) else says


def guess_time(columns: Mapping[str, ColumnFacts]) -> Guess:
    """Choose the time of writing: a column of times, not of changes or uses."""
    best: tuple[float, ColumnFacts] | None = None
    other: list[str] = []
    for column in columns.values():
        name = name_of(column)
        if column.time_share < 0.9 or len(column.present) < 0.5 * len(column.values) or column.primary_key:
            continue
        named = _CREATED.search(name) or _SOME_TIME.search(name)
        if column.is_numeric and not named:
            continue  # large integers may be anything
        if _NOT_CREATED.search(name) and not _CREATED.search(name):
            other.append(column.name)
            continue
        score = (4 if _CREATED.search(name) else 0) + (2 if named else 0) - 1.5 * ("$" in column.name)
        if best is None or score > best[0] or (score == best[0] and _is_stamp(best[1], column)):
            best = (score, column)
    if best is None:
        if other:
            return Guess(None, say("only times of change or use were found ({names})", names=", ".join(other)))
        return Guess(None, say("no column holds times"))
    says = say("{rows} hold a time", rows=best[1].of_rows(len(best[1].present)))
    return Guess(best[1].name, by_name(best[1], says) if best[0] >= 2 else says)


def _is_stamp(column: ColumnFacts, other: ColumnFacts) -> bool:
    """Say whether a column of times hardly varies where another does: the time of a load or a copy, not of writing."""
    return column.n_distinct <= _STAMP_SHARE * other.n_distinct


def guess_embedding(columns: Mapping[str, ColumnFacts]) -> Guess:
    """Choose the column with stored vectors: most values have one length."""
    found = [(c, c.vector_dims) for c in columns.values() if "$" not in c.name and c.vector_dims and not c.primary_key]
    if not found:
        return Guess(None, say("no column holds vectors"))
    column, dims = max(found, key=lambda item: (bool(re.search("embed|vec", name_of(item[0]))), len(item[0].present)))
    return Guess(
        column.name,
        say(
            "{rows} hold vectors, most of {dims} numbers",
            rows=column.of_rows(len(column.present)),
            dims=dims,
        ),
    )


def guess_hits(columns: Mapping[str, ColumnFacts]) -> Guess:
    """Choose the use counter: whole numbers from 0 up, under the name of one."""
    for column in columns.values():
        if not _HITS.search(name_of(column)) or not column.is_numeric:
            continue
        if all(n.is_integer() and 0 <= n < 1e9 for n in column.numbers):
            largest = int(max(column.numbers))
            return Guess(column.name, by_name(column, say("it holds whole numbers from 0 to {n}", n=largest)))
    return Guess(None, say("no column counts uses"))


def guess_last_access(columns: Mapping[str, ColumnFacts]) -> Guess:
    """Choose the time of last use; a column that was never filled counts by its name."""
    for column in columns.values():
        name = name_of(column)
        if not _ACCESS.search(name) or not re.search(r"last|_at$|time|date", name) or "count" in name:
            continue
        if column.values and not column.present and "last" in name:
            return Guess(column.name, say("its name says so, although every row is NULL"))
        if column.present and column.time_share >= 0.9:
            return Guess(column.name, by_name(column, say("it holds times")))
    return Guess(None, say("no column holds the time of last use"))


def guess_source(columns: Mapping[str, ColumnFacts]) -> Guess:
    """Choose the column that says where a row came from."""
    for column in columns.values():
        if not _SOURCE.fullmatch(name_of(column)) or "$" in column.name:
            continue
        if column.texts and column.mean_chars <= 200 and column.json_share < 0.5:
            return Guess(column.name, by_name(column, label_reason(column)))
    return Guess(None, say("no column says where a row came from"))


_DELETED = re.compile(r"(is_|was_)?(deleted|removed)|soft_deleted?|tombstone(d)?")
_DELETED_AT = re.compile(r"(deleted|removed)_(at|on|time|date|epoch)(_iso)?")
_ACTIVE = re.compile(r"(is_)?active")


def marks_deleted(column: ColumnFacts) -> bool:
    """Say whether a column is called like a mark of deleted rows."""
    name = name_of(column)
    marks = (_DELETED_AT, _DELETED, _ACTIVE)
    return "$" not in column.name and any(pattern.fullmatch(name) for pattern in marks)


def guess_deleted(columns: Mapping[str, ColumnFacts]) -> tuple[str, str, str] | None:
    """Find a mark of deleted rows: (column, "deleted" or "active", reason).

    Parameters
    ----------
    columns
        Columns with every distinct value of the table: a few deleted rows are easily missed by a sample.
    """
    for column in columns.values():
        name = name_of(column)
        if "$" in column.name or not column.present:
            continue
        flags = {str(v).lower() for v in column.counts} <= {"0", "1", "0.0", "1.0", "true", "false", "yes", "no", ""}
        if _DELETED_AT.fullmatch(name) and column.time_share >= 0.9:
            return column.name, "deleted", by_name(column, say("it holds times"))
        if _DELETED.fullmatch(name) and (flags or column.time_share >= 0.9):
            return column.name, "deleted", by_name(column, say("it holds a mark"))
        if _ACTIVE.fullmatch(name) and flags and column.n_distinct > 1:
            return column.name, "active", by_name(column, say("it holds 0 and 1"))
    return None
