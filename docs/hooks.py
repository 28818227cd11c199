"""Hook of mkdocs: pages and tables made from the code when the manual is built, so that nothing stands there twice.

Made here: one page a probe (the text of `memaudit explain`), the list of rules, the table of configuration keys, and
every command with its options. Pages name a table with `<!-- made: NAME -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_MADE = re.compile(r"^<!-- made: ([a-z-]+) -->$", re.MULTILINE)
#: Name of the section of the navigation that the probes' pages go into.
SECTION = "Probes"


# -- what is made ----------------------------------------------------------------------------------------
def probe_pages() -> dict[str, str]:
    """Return address -> text of every probe's page, in the order of the probes."""
    from memaudit.explain import pages

    return {f"probes/{name}.md": text for name, text in pages().items()}


def rules_table() -> str:
    """List every rule with its name and the page that explains it."""
    lines = ["| rule | name | explained in |", "| --- | --- | --- |"]
    rows = []
    for address, text in probe_pages().items():
        page = Path(address).name
        for code, kind in re.findall(r"^## (MA\d{3}) (\S+)", text, re.MULTILINE):
            rows.append((code, f"| [{code}]({page}#{code.lower()}-{kind}) | {kind} | [{page[:-3]}]({page}) |"))
    return "\n".join([*lines, *(line for _, line in sorted(rows))])


def probes_table() -> str:
    """List the probes with their questions and needs."""
    from memaudit.registry import builtin_probes

    lines = ["| probe | question | needs |", "| --- | --- | --- |"]
    for probe in builtin_probes():
        needs = ", ".join(sorted(need.value for need in probe.needs)) or "nothing more"
        lines.append(f"| [{probe.name}]({probe.name.replace('-', '_')}.md) | {probe.title} | {needs} |")
    return "\n".join(lines)


def readers_table() -> str:
    """List the readers of stores and the extra that each needs."""
    from memaudit.stores.registry import READERS, SERVERS

    lines = ["| kind | what it reads | needs |", "| --- | --- | --- |"]
    for name, recognises, extra in [*((r.name, r.recognises, r.extra) for r in READERS), *SERVERS]:
        needs = f"`pip install 'agent-memaudit[{extra}]'`" if extra else ""
        lines.append(f"| `{name}` | {_cell(recognises)} | {needs} |")
    return "\n".join(lines)


def keys_read() -> frozenset[str]:
    """Return the configuration keys that the code of this version reads."""
    from memaudit.config import KEYS

    left_out = {"config.py", "config_file.py", "config_template.py"}
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("memaudit", "probes", "reports")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name not in left_out
    )
    # Roles are read by their name: `fill("text", ...)`. The language has one value only.
    found = {a or b for a, b in re.findall(r'\bconfig\.(\w+)|\bfill\("(\w+)"', source)} | {"lang"}
    return frozenset(key for key in KEYS if key in found)


def keys_table() -> str:
    """List every configuration key with the kind of its value, its default and its meaning."""
    from memaudit.config import KEYS, Config, key_help, key_kind, plain

    default, read = Config(), keys_read()
    lines = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    for key in KEYS:
        kind, choices = key_kind(key)
        value = plain(getattr(default, key))
        shown = "" if value in (None, [], {}) else f"`{str(value).lower() if isinstance(value, bool) else value}`"
        words = " ".join(f"`{word}`" for word in choices) if choices else kind
        note = "" if key in read else " *(kept for a later version: nothing reads it yet)*"
        lines.append(f"| `{key}` | {words} | {shown} | {_cell(key_help(key))}{note} |")
    return "\n".join(lines)


def exit_codes() -> str:
    """List the exit codes."""
    from memaudit.errors import ExitCode

    lines = ["| code | meaning |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {code.value} | {_cell(code.meaning)} |" for code in ExitCode)])


def commands() -> str:
    """Describe every command: what it does, how it is called, its options."""
    import click

    from memaudit.cli import cli

    parts = [_options(cli, "Options of `memaudit` itself")]
    for name, command in cli.commands.items():
        context = click.Context(command, info_name=f"memaudit {name}")
        usage = " ".join([f"memaudit {name}", *command.collect_usage_pieces(context)])
        parts.append(f"## memaudit {name}\n\n{_help(command.help or '')}\n\nUsage: `{usage}`\n")
        parts.append(_options(command, ""))
    return "\n".join(parts)


def _help(text: str) -> str:
    """Turn click's help into Markdown: what stands behind an example's heading becomes a block of code."""
    # A line of its own with a backspace tells click to keep the lines that follow.
    lines = [line.strip() for line in text.splitlines() if line.strip() != "\b"]
    parts = []
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        first, *others = paragraph.strip().splitlines()
        if re.fullmatch(r"Examples?:", first):
            parts.append("\n".join([first, "", "```sh", *others, "```"]))
        else:
            parts.append(_escaped(" ".join([first, *others])))
    return "\n\n".join(parts)


def _options(command: Any, title: str) -> str:
    import click

    lines = [title, ""] if title else []
    lines += ["| option | meaning |", "| --- | --- |"]
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        value = "" if option.is_flag or option.count else f" `{option.make_metavar(click.Context(command))}`"
        lines.append(f"| {names}{_cell(value)} | {_cell(option.help or '')} |")
    return "\n".join([*lines, "| `-h`, `--help` | Show this message and exit. |", ""])


def _escaped(text: str) -> str:
    return re.sub(r"(?<!`)<", "&lt;", text)


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|")


MADE = {
    "probes": probes_table,
    "rules": rules_table,
    "readers": readers_table,
    "keys": keys_table,
    "exit-codes": exit_codes,
    "commands": commands,
}


def filled(markdown: str) -> str:
    """Put the tables that a page names into it."""
    return _MADE.sub(lambda match: MADE[match[1]](), markdown)


# -- what mkdocs calls -----------------------------------------------------------------------------------
def on_config(config: Any) -> Any:
    """Add the probes' pages to the navigation."""
    # The manual is of this checkout, whatever else is installed. Not at the top: mkdocs sets the path back after that.
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    for entry in config["nav"]:
        if SECTION in entry:
            entry[SECTION] += [{Path(address).stem.replace("_", "-"): address} for address in probe_pages()]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add the probes' pages to the files."""
    from importlib import import_module

    File = import_module("mkdocs.structure.files").File  # noqa: N806

    for address, text in probe_pages().items():
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what a page names."""
    return filled(markdown)
