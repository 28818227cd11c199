"""Commands for evaluation files: `eval` audits them, `queries` makes, imports and exports query sets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memaudit.commands.audit import FORMATS_HELP, perform
from memaudit.commands.shared import (
    config_options,
    lang_option,
    load_config,
    print_note,
    print_result,
    verbosity_options,
)
from memaudit.errors import ConfigError
from memaudit.wording import say, unread

if TYPE_CHECKING:
    from memaudit.config import Config
    from memaudit.evaluation.builders import Built

Command = TypeVar("Command", bound=Callable[..., Any])

KINDS = ("template", "log", "heldout", "truncated", "leave_one_out", "import", "export")
FORMS = ("trec", "beir", "ranx")
#: Settings that name files of an evaluation: option -> (metavar, help).
_FILES = (
    ("queries", "FILE", "Query set (JSONL)."),
    ("corpus", "FILE", "Corpus of the query set (JSONL)."),
    ("runs", "FILE", "Recorded rankings (JSONL)."),
    ("predictions", "FILE", "Figures predicted before the run (JSONL)."),
)


def _file_options(command: Command) -> Command:
    for name, metavar, text in reversed(_FILES):
        command = click.option(f"--{name}", metavar=metavar, help=text)(command)
    return command


@click.command(name="eval")
@_file_options
@click.option("--k", metavar="N", type=click.IntRange(min=1), help="Primary cut-off (default 5).")
@click.option("--compare", metavar="BEFORE,AFTER", help="The two arms to compare.")
@click.option("--category", metavar="FIELD", help="Field of the queries that names their category.")
@click.option("--metric", metavar="NAME", help="Primary metric: hit, coverage, complete, rr, ndcg.")
@click.option("--select", metavar="IDS", multiple=True, help="Run only these rules or probes.")
@click.option("--fail-on", metavar="LEVEL", help="Lowest severity that makes the exit code 1 (default: never).")
@click.option("--out", metavar="PATH", help="Folder for page and twin, or NAME.html.")
@click.option("--format", "formats", multiple=True, metavar="FORMAT[=PATH]", help=FORMATS_HELP)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@click.option("--force", is_flag=True, help="Overwrite files that memaudit did not write.")
@config_options
@verbosity_options
@lang_option
def evaluate(
    compare: str | None,
    formats: tuple[str, ...],
    out: str | None,
    open_page: bool,
    force: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
    quiet: bool,
    verbose: int,
    color: str,
    **keys: Any,
) -> None:
    """Audit a query set and recorded rankings, without a store.

    \b
    Example:
      memaudit eval --queries queries.jsonl --corpus corpus.jsonl --runs runs.jsonl --compare before,after
    """
    from dataclasses import replace

    config = load_config(config_file, isolated, settings, {**keys, "compare": _arms(compare)})
    if not config.queries and not config.runs:
        raise ConfigError(
            say("no query set and no rankings were given."), say("Give --queries FILE, --runs FILE, or both.")
        )
    config = replace(config, store=None, select=config.select or _evaluation_probes())
    code = perform(config, formats, out, open_page=open_page, force=force, quiet=quiet, verbose=verbose, color=color)
    sys.exit(code)


def _arms(value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    arms = tuple(word.strip() for word in value.split(",") if word.strip())
    if len(arms) != 2:
        raise ConfigError(
            say("--compare {value}: two arms were expected.", value=value), say("Write --compare BEFORE,AFTER.")
        )
    return arms


def _evaluation_probes() -> tuple[str, ...]:
    """Return the probes that need no store."""
    from memaudit.registry import all_probes, works_without_store

    return tuple(p.name for p in all_probes() if works_without_store(p))


@click.command()
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--store", metavar="PATH", help="Store to make queries for.")
@click.option("--table", metavar="NAME", help="Table that holds the memories.")
@click.option("--text", metavar="COLUMN", help="Column with the memory's text.")
@click.option("--value-field", metavar="COLUMN", help="Field under audit: leave_one_out refuses it as label.")
@click.option("--group-field", metavar="COLUMN", help="Field that a template is spread over.")
@click.option("--n", metavar="N", type=click.IntRange(min=1), default=60, show_default=True, help="Rows to draw.")
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Seed of the draw (default 0).")
@click.option("--label", metavar="COLUMN", help="Column whose values make rows belong together.")
@click.option("--query-text", metavar="COLUMN", help="heldout: column with the raw text that was seen.")
@click.option("--split", metavar="TIME", help="heldout: rows before are the store, rows from it on are queries.")
@click.option("--form", type=click.Choice(FORMS), default="beir", show_default=True, help="Form to import or export.")
@click.option("--multi", type=click.Choice(("any", "all")), help="import: what several documents of a query mean.")
@click.option("--texts", metavar="FILE", help="import: texts of the queries (JSONL, or id and text with a tab).")
@_file_options
@click.option("--out", metavar="PATH", help="File to write; a folder for export. stdout without it.")
@click.option("--force", is_flag=True, help="Overwrite files that memaudit did not write.")
@config_options
@verbosity_options
@lang_option
def queries(
    kind: str,
    files: tuple[str, ...],
    n: int,
    label: str | None,
    query_text: str | None,
    split: str | None,
    form: str,
    multi: str | None,
    texts: str | None,
    out: str | None,
    force: bool,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
    quiet: bool,
    verbose: int,
    color: str,
    **keys: Any,
) -> None:
    """Make a query set, or bring one in from another form and out again.

    \b
    KIND is template (rows for a person to write queries for), log (texts of past recalls), heldout
    (later recurrences), truncated, leave_one_out, import or export.

    \b
    Examples:
      memaudit queries template --store experiences.db --out template.jsonl
      memaudit queries import qrels/test.tsv --texts queries.jsonl --multi any --out imported.jsonl
    """
    config = load_config(config_file, isolated, settings, keys)
    if kind == "export":
        _export(config, form, out, force=force, quiet=quiet)
        return
    lines: Sequence[Mapping[str, Any]]
    if kind == "import":
        _refuse_own_input(out, (*files, texts))
        lines, notes = _imported(files, form, multi, texts)
    else:
        if files:
            raise ConfigError(
                say("{kind} takes no files: {files}.", kind=kind, files=", ".join(files)), say("Give --store PATH.")
            )
        built = _built(config, kind, n, label, query_text, split)
        lines, notes = built.lines, built.said
    from memaudit.evaluation.exchange import jsonl

    _print_or_write({"": jsonl(lines)}, out, force=force)
    if not quiet:
        for note in notes:
            print_note(say("note: {note}", note=note))


def _built(config: Config, kind: str, n: int, label: str | None, query_text: str | None, split: str | None) -> Built:
    import numpy as np

    from memaudit.context import Context
    from memaudit.query_building import build
    from memaudit.roles import find_roles, open_records
    from memaudit.stores.detect import open_store

    if not config.store:
        raise ConfigError(say("no store was given."), say("Give --store PATH."))
    store = open_store(config.store, config.store_kind, config.base, config.table)
    try:
        roles = find_roles(store, config)
        records, _ = open_records(store, roles, config, np.random.default_rng(config.seed))
        return build(Context(config, store, records), kind, n, label, query_text, split)
    finally:
        store.close()


def _refuse_own_input(out: str | None, inputs: Sequence[str | None]) -> None:
    """Refuse to write over a file that is read, with --force too."""
    if out is not None and any(Path(out).resolve() == Path(name).resolve() for name in inputs if name):
        raise ConfigError(say("--out {out} is a file that is read.", out=out), say("Name another file."))


def _imported(
    files: tuple[str, ...], form: str, multi: str | None, texts: str | None
) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    import json

    from memaudit.evaluation.exchange import parse_qrels, parse_ranx, parse_texts, parse_trec_run, query_lines

    if len(files) != 1:
        raise ConfigError(
            say("{n} files were given; one was expected.", n=len(files)), say("Name the qrels or the run.")
        )
    path = Path(files[0])
    content = _read(path)
    if form == "trec" and path.suffix == ".run":
        run = parse_trec_run(content, path.name)
        return run.lines, run.notes
    if texts is None:
        raise ConfigError(say("judgements hold no texts of queries."), say("Give --texts FILE."))
    words, more = parse_texts(_read(Path(texts)), Path(texts).name)
    if form == "ranx":
        try:
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ConfigError(say("{path}: no JSON ({error}).", path=path, error=error)) from None
        relevant = parse_ranx(value, path.name)
    else:
        relevant = parse_qrels(content, path.name)
    found = query_lines(relevant, words, multi, more)
    return found.lines, found.notes


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("cannot read {path}: {error}.", path=path, error=unread(error))) from None


def _export(config: Config, form: str, out: str | None, *, force: bool, quiet: bool) -> None:
    from memaudit.evaluation.exchange import to_beir, to_ranx, to_trec
    from memaudit.evaluation.inputs import read_inputs

    if not config.queries:
        raise ConfigError(say("no query set was given."), say("Give --queries FILE."))
    if out is None:
        raise ConfigError(say("an export has several files."), say("Give --out FOLDER."))
    inputs = read_inputs(config)
    if form == "trec":
        made = to_trec(inputs.queries, inputs.expected, inputs.runs)
    elif form == "ranx":
        made = to_ranx(inputs.queries, inputs.expected, inputs.runs)
    else:
        made = to_beir(inputs.queries, inputs.expected, inputs.corpus)
    _print_or_write(made.files, out, force=force)
    if not quiet:
        for note in made.lost:
            print_note(say("note: {note}", note=note))


def _print_or_write(files: Mapping[str, str], out: str | None, *, force: bool) -> None:
    """Write files below `out` (the one without a name is `out` itself), or print the only one."""
    from memaudit.output import write_whole

    if out is None:
        print_result("".join(files.values()))
        return
    paths = {name: Path(out) / name if name else Path(out) for name in files}
    for path in paths.values():
        # A query set carries no mark of ours, and somebody may have written queries into it by now.
        if path.exists() and not force:
            raise ConfigError(say("{path} exists.", path=path), say("Name another place, or give --force."))
    for name, path in paths.items():
        write_whole(path, files[name])
