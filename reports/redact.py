"""An audit without any text from the store: what `--redact` shows, in every format.

The model does not mark where one of our sentences quotes the store. So the texts are collected first from
the places that can hold nothing else (examples, value cells, values of subjects and figures), and every
other string is then searched for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memaudit.model import (
    Audit,
    Cell,
    Evidence,
    Example,
    Finding,
    Json,
    Lane,
    NotRun,
    Proposal,
    RowsLeftOut,
    Section,
    Status,
    Table,
)
from memaudit.wording import say

# Subjects and figures that name our own things or hold times; everything else made of text is labelled.
_OWN_SUBJECTS = frozenset(
    [
        "table",
        "column",
        "field",
        "file",
        "files",
        "function",
        "module",
        "line",
        "config",
        "tables",
        "k",
        "arm",
        "arms",
        "compare",
        "stage",
        "part",
    ]
)
_KEY_SUBJECTS = frozenset({"ids", "id", "trajectory", "key", "keys"})
_OWN_FIGURES = frozenset({"first_time", "last_time", "reason", "unit", "verdict", "kinds"})
_OWN_FIGURE_KEYS = frozenset({"kinds", "dims", "clusters", "versions", "thresholds"})
_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:[_@][a-z0-9_@.]+)+\Z|[0-9.]+\Z|[a-z]{1,12}\Z")
_QUOTED = re.compile(r"“([^”]{2,})”|‘([^’]{2,})’|\"([^\"]{2,})\"|`([^`]{2,})`|「([^」]{2,})」|'([^']{2,})'")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
# A shorter value (`ok`, `a`, `1`) is replaced inside quotation marks only: it is also an English word.
_SHORT = 4
# Pieces of stored texts this long count as a quotation, Latin ones only when longer: 8 Latin letters are
# ` of the `.
_PIECE = 8
_LATIN_PIECE = 16


def redacted(audit: Audit) -> Audit:
    """Give the same audit without store text.

    Values become `value-07`, row keys that are no integers `row-7`; the same text has the same label
    everywhere in one audit, numbered by first appearance. Counts, cosines, codes, column names, paths and
    times stay. Tracebacks and the messages of crashed probes go, for they quote data.

    Returns
    -------
    An audit with `redacted` set; one that is redacted already comes back as it is.
    """
    if audit.redacted:
        return audit
    labels = _Labels()
    _collect(audit, labels)
    labels.close()
    clean = labels.clean
    verdict = audit.verdict
    store = audit.store
    return replace(
        audit,
        redacted=True,
        store=None
        if store is None
        else replace(
            store,
            guessed={role: clean(why) for role, why in store.guessed.items()},
            other_tables=tuple(_walk(item, labels) for item in store.other_tables),
            notes=_clean_all(store.notes, labels),
        ),
        encoder=None if audit.encoder is None else replace(audit.encoder, note=clean(audit.encoder.note)),
        verdict=replace(
            verdict,
            sentence=clean(verdict.sentence),
            lead=clean(verdict.lead),
            do_first=clean(verdict.do_first),
            lanes=tuple(_lane(lane, labels) for lane in verdict.lanes),
            reasoning=_clean_all(verdict.reasoning, labels),
        ),
        findings=tuple(_finding(finding, labels) for finding in audit.findings),
        sections=tuple(_section(section, labels) for section in audit.sections),
        breakdowns=tuple(_section(section, labels) for section in audit.breakdowns),
        not_run=tuple(_not_run(item, labels) for item in audit.not_run),
        figures={name: _headline(name, value, labels) for name, value in audit.figures.items()},
        notes=_clean_all(audit.notes, labels),
        left_out=tuple(_left_out(item, labels) for item in audit.left_out),
        plan=tuple(_proposal(item, labels) for item in audit.plan),
        suppressed=tuple(_suppressed(item, labels) for item in audit.suppressed),
        config=_walk(audit.config, labels),
        command=clean(audit.command),
    )


class _Labels:
    """The texts that must not be shown, and the label of each."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._rows: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        self._whole: re.Pattern[str] | None = None

    def value(self, stored: Json) -> Json:
        """Label a value; None stays, lists are labelled item by item, mappings with their keys."""
        if stored is None:
            return None
        if isinstance(stored, Mapping):
            return {self.value(key): self.value(item) for key, item in stored.items()}
        if isinstance(stored, list | tuple):
            return [self.value(item) for item in stored]
        return self._label(stored, self._values, "value-{:02d}")

    def row(self, key: Json) -> Json:
        """Label the key of a row; integers stay."""
        if key is None or (isinstance(key, int) and not isinstance(key, bool)):
            return key
        return self._label(key, self._rows, "row-{}")

    def _label(self, stored: Json, labels: dict[str, str], form: str) -> str:
        text = stored if isinstance(stored, str) else str(stored)
        return labels.setdefault(text, form.format(len(labels) + 1))

    def knows(self, text: str) -> bool:
        return text in self._values or text in self._rows

    def close(self) -> None:
        """Prepare the search, after everything was collected."""
        known = {**self._rows, **self._values}
        for text, label in known.items():
            for at in range(len(text) - _PIECE + 1):
                self._pieces.setdefault(text[at : at + _PIECE], label)
        # The longest first, so that a value which contains another is replaced as a whole.
        long = sorted((text for text in known if len(text.strip()) >= _minimum(text)), key=len, reverse=True)
        if long:
            self._whole = re.compile("|".join(_bounded(text) for text in long))

    def clean(self, sentence: str) -> str:
        """Replace every known text in one of our sentences, whole, quoted in part, or in long pieces."""
        if not self._values and not self._rows:
            return sentence
        if self._whole is not None:
            sentence = self._whole.sub(lambda match: self._name(match.group()), sentence)
        sentence = _QUOTED.sub(self._quoted, sentence)
        return self._without_pieces(sentence)

    def _name(self, text: str) -> str:
        return self._values.get(text) or self._rows.get(text) or "value"

    def _quoted(self, match: re.Match[str]) -> str:
        inside = next(group for group in match.groups() if group is not None)
        bare = inside.strip().rstrip("….").strip()
        label = self._values.get(inside) or self._values.get(bare)
        if label is None and len(bare) >= 2 and not _IDENTIFIER.match(bare):
            label = next((name for text, name in self._values.items() if text.startswith(bare)), None)
        if label is None:
            label = next((self._pieces[piece] for piece in _grams(bare) if piece in self._pieces), None)
        whole = match.group()
        return whole if label is None else whole[0] + label + whole[-1]

    def _without_pieces(self, sentence: str) -> str:
        grams = list(_grams(sentence))
        parts: list[str] = []
        at = done = 0
        while at < len(grams):
            if grams[at] not in self._pieces:
                at += 1
                continue
            start, label = at, self._pieces[grams[at]]
            while at < len(grams) and grams[at] in self._pieces:
                at += 1
            end = at - 1 + _PIECE
            run = sentence[start:end]
            if len(run) >= _LATIN_PIECE or _HAN.search(run):
                parts += [sentence[done:start], label]
                done = at = end
        return "".join(parts) + sentence[done:]


def _grams(text: str) -> Iterable[str]:
    return (text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))


def _minimum(text: str) -> int:
    """From which length a value is searched for outside quotation marks."""
    if _HAN.search(text):
        return 2
    return _PIECE if re.fullmatch(r"[0-9.,+-]+", text) else _SHORT


def _bounded(text: str) -> str:
    """Match a text, but not inside a longer Latin word or number."""
    before = r"(?<![A-Za-z0-9_])" if text[0].isascii() and text[0].isalnum() else ""
    after = r"(?![A-Za-z0-9_])" if text[-1].isascii() and text[-1].isalnum() else ""
    return before + re.escape(text) + after


def _collect(audit: Audit, labels: _Labels) -> None:
    """Label everything in page order by doing the work once; what it returns is thrown away."""
    for finding in audit.findings:
        _subject(finding.subject, labels)
        _figures(finding.figures, labels)
        _evidence(finding.evidence, labels)
    for section in (*audit.sections, *audit.breakdowns):
        for table in section.tables:
            _table(table, labels)
        for example in section.examples:
            _example(example, labels)
    for item in audit.left_out:
        _left_out(item, labels)
    for proposal in audit.plan:
        _proposal(proposal, labels)
    for suppressed in audit.suppressed:
        _suppressed(suppressed, labels)


def _clean_all(sentences: Sequence[str], labels: _Labels) -> tuple[str, ...]:
    return tuple(labels.clean(sentence) for sentence in sentences)


def _walk(value: Any, labels: _Labels) -> Any:
    """Clean all strings in our own data (configuration, notes), keys included."""
    if isinstance(value, str):
        return labels.clean(value)
    if isinstance(value, Mapping):
        return {_walk(key, labels): _walk(item, labels) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, labels) for item in value]
    return value


def _subject(subject: Mapping[str, Json], labels: _Labels) -> dict[str, Json]:
    clean: dict[str, Json] = {}
    for name, value in subject.items():
        if name in _KEY_SUBJECTS:
            clean[name] = [labels.row(key) for key in value] if isinstance(value, list | tuple) else labels.row(value)
        elif name in _OWN_SUBJECTS:
            clean[name] = value
        else:
            clean[name] = labels.value(value)
    return clean


def _figures(figures: Mapping[str, Json], labels: _Labels) -> dict[str, Json]:
    return {name: _figure(name, value, labels, 0) for name, value in figures.items()}


def _figure(name: str, value: Json, labels: _Labels, depth: int) -> Json:
    """Label texts of a figure, and the keys of a figure that has one entry a value."""
    if isinstance(value, Mapping):
        own = depth > 0 or name in _OWN_FIGURE_KEYS
        return {
            (key if own and _is_own(key, labels) else labels.value(str(key))): _figure(
                str(key), item, labels, depth + 1
            )
            for key, item in value.items()
        }
    if name == "ids" or name.endswith("_ids"):
        return [labels.row(key) for key in value] if isinstance(value, list | tuple) else labels.row(value)
    if isinstance(value, list | tuple):
        return [_figure(name, item, labels, depth + 1) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and name not in ("value", "values"):
        return value
    return value if name in _OWN_FIGURES else labels.value(value)


def _is_own(key: Json, labels: _Labels) -> bool:
    return isinstance(key, str) and bool(_IDENTIFIER.match(key)) and not labels.knows(key)


def _headline(name: str, value: Json, labels: _Labels) -> Json:
    """Headline numbers stay; their texts go. Their keys are names of ours unless they are known values."""
    if isinstance(value, Mapping):
        return {
            (key if _is_own(key, labels) else labels.value(str(key))): _headline(str(key), item, labels)
            for key, item in value.items()
        }
    return _figure(name, value, labels, 1)


def _example(example: Example, labels: _Labels) -> Example:
    return Example(labels.value(example.text) or "", labels.row(example.key), example.note)


def _evidence(evidence: Evidence, labels: _Labels) -> Evidence:
    return Evidence(
        shown=tuple(_example(item, labels) for item in evidence.shown),
        total=evidence.total,
        ids=tuple(labels.row(key) for key in evidence.ids),
    )


def _noted(example: Example, labels: _Labels) -> Example:
    return replace(example, note=labels.clean(example.note))


def _finding(finding: Finding, labels: _Labels) -> Finding:
    evidence = _evidence(finding.evidence, labels)
    return replace(
        finding,
        subject=_subject(finding.subject, labels),
        title=labels.clean(finding.title),
        figures=_figures(finding.figures, labels),
        evidence=replace(evidence, shown=tuple(_noted(item, labels) for item in evidence.shown)),
        fix=labels.clean(finding.fix),
        caveat=None if finding.caveat is None else labels.clean(finding.caveat),
        reproduce=labels.clean(finding.reproduce),
    )


def _table(table: Table, labels: _Labels) -> Table:
    """Label the value cells and the keys among code cells; the sentences come later, in `_clean_table`."""
    values = {column.key for column in table.columns if column.cell is Cell.VALUE}
    codes = {column.key for column in table.columns if column.cell is Cell.CODE}
    rows = tuple(
        {
            key: labels.value(item)
            if key in values
            else labels.row(item)
            if key in codes and not isinstance(item, str)
            else item
            for key, item in row.items()
        }
        for row in table.rows
    )
    return replace(table, rows=rows)


def _clean_table(table: Table, labels: _Labels) -> Table:
    table = _table(table, labels)
    values = {column.key for column in table.columns if column.cell is Cell.VALUE}
    shown = {column.key for column in table.columns} - values | {"_mark"}
    rows = tuple(
        {
            key: labels.clean(item) if isinstance(item, str) and key not in values else item
            for key, item in row.items()
            if key in shown | values  # what no column shows is not known to be ours
        }
        for row in table.rows
    )
    return replace(
        table,
        caption=labels.clean(table.caption),
        rows=rows,
        columns=tuple(replace(column, label=labels.clean(column.label)) for column in table.columns),
        reference_label=labels.clean(table.reference_label),
    )


def _section(section: Section, labels: _Labels) -> Section:
    return replace(
        section,
        title=labels.clean(section.title),
        question=labels.clean(section.question),
        answer=labels.clean(section.answer),
        tables=tuple(_clean_table(table, labels) for table in section.tables),
        method=_clean_all(section.method, labels),
        examples=tuple(_noted(_example(item, labels), labels) for item in section.examples),
    )


def _lane(lane: Lane, labels: _Labels) -> Lane:
    return replace(lane, sentence=labels.clean(lane.sentence), do=labels.clean(lane.do))


def _not_run(item: NotRun, labels: _Labels) -> NotRun:
    reason = item.reason
    if item.status is Status.FAILED:  # the message of an exception quotes what it could not read
        reason = re.split(r"[:(\n]", reason, maxsplit=1)[0] + " " + say("(message left out: redacted)")
    return replace(item, reason=labels.clean(reason), option=labels.clean(item.option), traceback=None)


def _left_out(item: RowsLeftOut, labels: _Labels) -> RowsLeftOut:
    return replace(item, reason=labels.clean(item.reason), ids=tuple(labels.row(key) for key in item.ids))


def _proposal(item: Proposal, labels: _Labels) -> Proposal:
    return replace(
        item,
        ids=tuple(labels.row(key) for key in item.ids),
        keep=labels.row(item.keep),
        reason=labels.clean(item.reason),
    )


def _suppressed(item: Mapping[str, Json], labels: _Labels) -> dict[str, Json]:
    clean: dict[str, Json] = {}
    for name, value in item.items():
        if name == "subject" and isinstance(value, Mapping):
            clean[name] = _subject(value, labels)
        elif name == "figures" and isinstance(value, Mapping):
            clean[name] = _figures(value, labels)
        elif name in ("value", "values"):
            clean[name] = labels.value(value)
        elif name == "ids":
            clean[name] = [labels.row(key) for key in value] if isinstance(value, list | tuple) else labels.row(value)
        else:
            clean[name] = _walk(value, labels)
    return clean
