"""What differs between two audits, for a terminal, a pull request or a program."""

from __future__ import annotations

import re

from memaudit.changes import Change, Changes, ChangeState
from memaudit.reports.shown_numbers import in_words, word
from memaudit.reports.shown_text import cell_width, padded, visible, wrap_cells
from memaudit.reports.since_page import STATE_SIGNS, change_text, rows_sentence, summary, value_text
from memaudit.reports.to_json import plain, readable_json
from memaudit.reports.to_terminal import with_ascii_signs
from memaudit.wording import say

_MOVES_SHOWN = 40
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#!|~&@]")


def diff_to_json(changes: Changes) -> str:
    """Write a comparison as JSON, the object `changes` of report.json."""
    return readable_json(plain(changes))


def diff_to_text(changes: Changes, *, width: int = 100, ascii_only: bool = False) -> str:
    """Write a comparison for a terminal: what is not as it was, then the figures that moved."""
    lines = [summary(changes)]
    lines += [rows] if (rows := rows_sentence(changes)) else []
    lines += [say("not comparable: {reason}", reason=reason) for reason in changes.breaks]
    told = _told(changes)
    lines += [""] if told else []
    for change in told:
        head = f"  {STATE_SIGNS[change.state]} {padded(_words(change), 13)} {change.code}  "
        head += padded(word(change.severity), 7)
        text = " · ".join(part for part in (change.title, change_text(change), change.reason) if part)
        wrapped = wrap_cells(visible(text), max(30, width - cell_width(head) - 1))
        lines += [f"{head} {wrapped[0]}", *(" " * (cell_width(head) + 1) + line for line in wrapped[1:])]
    if changes.figures:
        lines += ["", say("Figures that moved:")]
        names = max(len(move.name) for move in changes.figures[:_MOVES_SHOWN])
        for move in changes.figures[:_MOVES_SHOWN]:
            values = f"{_value(move.name, move.before)} → {_value(move.name, move.after)}"
            lines.append(f"  {visible(move.name):<{names}}  {values}")
        if len(changes.figures) > _MOVES_SHOWN:
            lines.append("  " + say("and {n} more", n=len(changes.figures) - _MOVES_SHOWN))
    lines += [visible(note) for note in changes.notes]
    text = "\n".join(visible(line) if line else "" for line in lines) + "\n"
    return with_ascii_signs(text).encode("ascii", "backslashreplace").decode("ascii") if ascii_only else text


def diff_to_markdown(changes: Changes) -> str:
    """Write a comparison as Markdown; text of the store is escaped, so that it is no link, tag or mention."""
    lines = [f"**memaudit** {_md(summary(changes))}"]
    lines += ["", _md(rows)] if (rows := rows_sentence(changes)) else []
    lines += ["", *(f"- {_md(say('not comparable: {reason}', reason=r))}" for r in changes.breaks)]
    told = _told(changes)
    if told:
        lines += [
            "",
            _row(say("change"), say("id"), say("severity"), say("finding"), say("figure")),
            "| --- | --- | --- | --- | --- |",
        ]
        for change in told:
            title = change.title + (f" ({change.reason})" if change.reason else "")
            cells = (_words(change), change.code, word(change.severity), title, change_text(change))
            lines.append("| " + " | ".join(_md(cell) for cell in cells) + " |")
    if changes.figures:
        lines += ["", _row(say("figure"), say("before"), say("now")), "| --- | ---: | ---: |"]
        lines += [
            f"| {_md(move.name)} | {_value(move.name, move.before)} | {_value(move.name, move.after)} |"
            for move in changes.figures[:_MOVES_SHOWN]
        ]
        if len(changes.figures) > _MOVES_SHOWN:
            lines += ["", _md(say("and {n} more", n=len(changes.figures) - _MOVES_SHOWN))]
    lines += [f"\n{_md(note)}" for note in changes.notes]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _told(changes: Changes) -> list[Change]:
    return [change for change in changes.findings if change.state is not ChangeState.UNCHANGED]


def _words(change: Change) -> str:
    return in_words(change.state.value)


def _value(name: str, value: float) -> str:
    return value_text(name, float(value))


def _md(text: str) -> str:
    return _MARKDOWN.sub(lambda match: f"&#{ord(match.group())};", visible(text))
