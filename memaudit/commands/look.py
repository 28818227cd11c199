"""Commands that only look: `probes`, `explain`, `init`, `config`."""

from __future__ import annotations

from typing import Any

import click

from memaudit.commands.shared import config_options, key_options, lang_option, load_config, print_note, print_result
from memaudit.errors import ConfigError
from memaudit.wording import current_language, language, say

FORMAT = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to print it (default: text)."
)


@click.command()
@key_options
@FORMAT
@config_options
@lang_option
def probes(config_file: str | None, isolated: bool, settings: tuple[str, ...], format_: str, **keys: Any) -> None:
    """List the probes, what each needs, and whether it can run here.

    \b
    Example:
      memaudit probes --store experiences.db
    """
    import json

    from memaudit.probe_listing import listing
    from memaudit.reports.shown_text import padded

    config = load_config(config_file, isolated, settings, keys)
    rows = listing(config)
    if format_ == "json":
        print_result(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    for row in rows:
        state = say("ready") if row["can_run"] else (say("not here") if row["can_run"] is False else "")
        codes = ", ".join(f"{code} {kind}" for code, kind in row["codes"].items()) or say("figures only, no rule")
        print_result(f"{row['name']:<18} {padded(state, 9)} {row['title']}\n{'':<28} {codes}\n")
        needs = say("needs: {needs}", needs=", ".join(row["needs"]) or say("nothing more"))
        print_result(f"{'':<28} {needs}\n")
        if row["reason"]:
            why = say("{reason} (option: {option})", reason=row["reason"], option=row["option"])
            print_result(f"{'':<28} {why}\n")


@click.command()
@click.argument("code", metavar="CODE")
@FORMAT
@lang_option
def explain(code: str, format_: str) -> None:
    """Explain a rule or a probe: question, method, limits, how to fix, how to suppress.

    \b
    Example:
      memaudit explain MA302
    """
    import json

    from memaudit.explain import page_of

    page = page_of(code)
    text = page.text
    if page.code:
        text = (
            text.rstrip("\n")
            + "\n"
            + (
                "\n## How to suppress\n\nIn memaudit.toml, with a reason; `until` is optional:\n\n    [[memaudit.suppress]]\n"
                f'    code = "{page.code}"\n    reason = "why it is accepted"\n    until = 2027-03-31\n'
            )
        )
    if format_ == "json":
        print_result(json.dumps({"page": page.name, "text": text}, ensure_ascii=False, indent=1) + "\n")
    else:
        if current_language() != "en":
            print_result(say("This page is in English only.") + "\n\n")
        print_result(text)


@click.command()
@click.option("--store", metavar="PATH", help="Store to look at.")
@click.option("--table", metavar="NAME", help="Table that holds the memories.")
@click.option("--write", is_flag=True, help="Write memaudit.toml here instead of printing it.")
@click.option("--force", is_flag=True, help="Overwrite an existing memaudit.toml.")
@config_options
@lang_option
def init(
    store: str | None,
    table: str | None,
    write: bool,
    force: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
) -> None:
    """Look at a store and print a commented configuration for it.

    \b
    Example:
      memaudit init --store experiences.db --write
    """
    from pathlib import Path

    from memaudit.config_template import commented_config
    from memaudit.output import write_whole
    from memaudit.roles import find_roles
    from memaudit.stores.detect import open_store

    config = load_config(config_file, isolated, settings, {"store": store, "table": table})
    if not config.store:
        raise ConfigError(say("no store was given."), say("Give --store PATH."))
    opened = open_store(config.store, config.store_kind, config.base, config.table)
    try:
        with language("en"):  # the file is in English: values are read out of the sentences that give their reason
            text = commented_config(opened, find_roles(opened, config))
    finally:
        opened.close()
    if not write:
        print_result(text)
        return
    path = Path("memaudit.toml")
    if path.exists() and not force:
        raise ConfigError(say("memaudit.toml is already here."), say("Give --force to overwrite it."))
    write_whole(path, text)
    print_note(say("written: {path}", path=path))


@click.command()
@FORMAT
@config_options
@lang_option
def config(config_file: str | None, isolated: bool, settings: tuple[str, ...], format_: str) -> None:
    """Show every configuration key with its value and where that came from.

    \b
    Example:
      memaudit config --format json
    """
    import json

    from memaudit.config import KEYS, key_help

    given = load_config(config_file, isolated, settings, {})
    rows = {
        name: {
            "value": given.shown(name),
            "from": given.origins.get(name, "default"),
            "meaning": key_help(name),
        }
        for name in KEYS
    }
    if format_ == "json":
        print_result(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    print_result(say("configuration file: {file}", file=given.file or say("none found")) + "\n")
    for name, row in rows.items():
        shown = "-" if row["value"] in (None, [], {}) else json.dumps(row["value"], ensure_ascii=False)
        origin = say("default") if row["from"] == "default" else row["from"]
        print_result(f"{name:<22} {shown}  [{origin}]\n{'':<22} {row['meaning']}\n")
