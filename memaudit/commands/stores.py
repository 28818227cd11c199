"""The command `stores`: the readers, and what they find in a path."""

from __future__ import annotations

import json
from typing import Any

import click

from memaudit.commands.shared import print_result


@click.command()
@click.argument("path", metavar="[PATH]", required=False)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to print it (default: text)."
)
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
        state = "installed" if entry["installed"] else f"pip install 'agent-memaudit[{entry['extra']}]'"
        extra = f"  (extra {entry['extra']}: {state})"
    return f"{entry['name']:<17} {entry['reads']}{extra}\n"


def _store_lines(entry: dict[str, Any]) -> str:
    # Names come out of the store: a control character must not reach the terminal.
    lines = [entry["path"]]
    if "error" in entry:
        lines.append(f"  no store: {entry['error']}")
    else:
        lines.append(f"  reader   {entry['kind']}")
        if entry["table"] is not None:
            lines.append(f"  audits   {entry['table']}, {entry['rows']:,} rows, text = {entry['text'] or 'not found'}")
        else:
            lines.append(f"  audits   {entry['undecided']}")
        others = [f"{t['table']} {t['rows']:,}" for t in entry["tables"] if t["table"] != entry["table"]]
        if others:
            lines.append(f"  others   {', '.join(others[:12])}{' ...' if len(others) > 12 else ''}")
        lines += [f"  note     {note}" for note in entry["notes"]]
    return "".join("".join(c if c.isprintable() else " " for c in line) + "\n" for line in lines)
