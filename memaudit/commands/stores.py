"""The command `stores`: the readers, and what they find in a path."""

from __future__ import annotations

import json
from typing import Any

import click

from memaudit.commands.shared import lang_option, print_result
from memaudit.wording import plural, say, term


@click.command()
@click.argument("path", metavar="[PATH]", required=False)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to print it (default: text)."
)
@lang_option
def stores(path: str | None, format_: str) -> None:
    """List the readers, or say what they find in a file, a folder or an address.

    \b
    Example:
      memaudit stores ~/agents
    """
    from memaudit.store_survey import readers, survey

    found: list[dict[str, Any]] = readers() if path is None else survey(path)
    if format_ == "json":
        print_result(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return
    for entry in found:
        print_result(_reader_line(entry) if path is None else _store_lines(entry))


def _reader_line(entry: dict[str, Any]) -> str:
    extra = ""
    if entry["extra"] is not None:
        state = say("installed") if entry["installed"] else f"pip install 'agent-memaudit[{entry['extra']}]'"
        extra = "  " + say("(extra {name}: {state})", name=entry["extra"], state=state)
    return f"{entry['name']:<17} {term(entry['reads'])}{extra}\n"


def _line(head: str, text: str) -> str:
    from memaudit.reports.shown_text import padded

    return f"  {padded(head, 8)} {text}"


def _store_lines(entry: dict[str, Any]) -> str:
    # Names come out of the store: a control character must not reach the terminal.
    lines = [entry["path"]]
    if "error" in entry:
        lines.append("  " + say("no store: {reason}", reason=entry["error"]))
    else:
        lines.append(_line(say("reader"), entry["kind"]))
        if entry["table"] is not None:
            rows = plural(entry["rows"], "row")
            text = say("text = {column}", column=entry["text"] or say("not found"))
            lines.append(_line(say("audited"), say(", ").join((entry["table"], rows, text))))
        else:
            lines.append(_line(say("audited"), entry["undecided"]))
        others = [f"{t['table']} {t['rows']:,}" for t in entry["tables"] if t["table"] != entry["table"]]
        if others:
            lines.append(_line(say("others"), f"{', '.join(others[:12])}{' ...' if len(others) > 12 else ''}"))
        lines += [_line(say("note"), note) for note in entry["notes"]]
    return "".join("".join(c if c.isprintable() else " " for c in line) + "\n" for line in lines)
