"""Commands that look at production code: `domain`, `deadcode`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memaudit.commands.shared import config_options, lang_option, load_config, print_note, print_result
from memaudit.errors import ConfigError, ExitCode
from memaudit.wording import say, unread

FORMAT = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to print it (default: text)."
)


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--store", metavar="PATH", help="Store whose values are held against the domain.")
@click.option("--table", metavar="NAME", help="Table that holds the memories.")
@click.option("--value-field", metavar="COLUMN", help="Field whose values the function makes.")
@click.option("--generator-args", metavar="COLUMNS", help="Columns that feed the parameters, in order (comma).")
@click.option("--generator-inputs", metavar="FILE", help="JSON file with shapes and values of parameters.")
@click.option("--factory", metavar="TARGET", help="Function that builds the object of a method: pkg.mod:make.")
@click.option("--stub", multiple=True, metavar="MODULE", help="Module to replace by a dummy (repeatable).")
@click.option("--code-path", multiple=True, metavar="DIR", help="Folder to put on the import path (repeatable).")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, help="Seconds of wall time (default: 30).")
@FORMAT
@config_options
@lang_option
def domain(
    target: str,
    store: str | None,
    table: str | None,
    value_field: str | None,
    generator_args: str | None,
    generator_inputs: str | None,
    factory: str | None,
    stub: tuple[str, ...],
    code_path: tuple[str, ...],
    timeout: float,
    format_: str,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
) -> None:
    """Enumerate every value that a function can return, by running it on inputs made from its own conditions.

    TARGET is pkg.mod:Class.fn or path/to/file.py:Class.fn. The function runs in a child process with limits.

    \b
    Example:
      memaudit domain app/recorder.py:Recorder.label --store experiences.db --value-field pattern
    """
    import json
    from dataclasses import replace

    from memaudit.commands.domain_text import audit_as_json, audit_as_text, domain_as_text
    from memaudit.measures.domain_audit import DomainAudit, audited_domain
    from memaudit.target import enumerate_domain

    options: dict[str, Any] = {"generator": target, "factory": factory, "stub": stub or None, "code_path": code_path or None,
                               "store": store, "table": table, "value_field": value_field}  # fmt: skip
    if generator_args:
        options["generator_args"] = tuple(name.strip() for name in generator_args.split(","))
    if generator_inputs:
        options["generator_inputs"] = _json_file(generator_inputs)
    config = load_config(config_file, isolated, settings, options)
    print_note(say("running {target} in a child process (limit {timeout:g} s)", target=target, timeout=float(timeout)))
    audit: DomainAudit | None = None
    if store is not None or (config.store and config.value_field):
        from memaudit.opening import open_context

        with open_context(replace(config, limits={**config.limits, "MA101": {"timeout_s": timeout}})) as ctx:
            if ctx.roles.value_field is None:
                raise ConfigError(
                    say("no field with values was found in the store."), say("Give --value-field COLUMN.")
                )
            audit = audited_domain(ctx)
        result = audit.domain
    else:
        result = enumerate_domain(
            target,
            base=config.base,
            code_path=tuple(config.path(folder) for folder in config.code_path or ()),
            factory=config.factory,
            inputs=config.generator_inputs,
            stubs=config.stub or (),
            timeout_s=timeout,
        )
    if format_ == "json":
        print_result(json.dumps(audit_as_json(result, audit), ensure_ascii=False, indent=1) + "\n")
    else:
        print_result(domain_as_text(result) if audit is None else audit_as_text(audit))
    sys.exit(ExitCode.OK if result.status == "ok" else ExitCode.INCOMPLETE)


def _json_file(path: str) -> dict[str, Any]:
    import json
    from pathlib import Path

    try:
        data = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            say("cannot read {path}: {error}.", path=path, error=unread(error)),
            say("Give a JSON object: parameter -> list of values."),
        ) from None
    if not isinstance(data, dict):
        raise ConfigError(
            say("{path} holds a {name}.", path=path, name=type(data).__name__),
            say("Give a JSON object: parameter -> list of values."),
        )
    return data


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--store", metavar="PATH", help="Store whose rows are counted on each side of a guard.")
@click.option("--table", metavar="NAME", help="Table that holds the memories.")
@click.option("--value-field", metavar="COLUMN", help="Field that the guarded value is stored in.")
@click.option("--upstream-column", metavar="COLUMN", help="Column that the guarded value comes from.")
@click.option("--all", "every", is_flag=True, help="List reachable and unknown guards, too.")
@click.option("--fail-on-dead", is_flag=True, help="Exit with 1 when a guard is dead.")
@FORMAT
@config_options
@lang_option
def deadcode(
    paths: tuple[str, ...],
    store: str | None,
    table: str | None,
    value_field: str | None,
    upstream_column: str | None,
    every: bool,
    fail_on_dead: bool,
    format_: str,
    config_file: str | None,
    isolated: bool,
    settings: tuple[str, ...],
) -> None:
    """Find guarded fallbacks (`if not x: x = f()`) that never run. The code is read, not run.

    \b
    Example:
      memaudit deadcode app/ --store experiences.db
    """
    import json
    from pathlib import Path

    from memaudit.commands.guards_text import guards_as_json, guards_as_text
    from memaudit.guards import find_guards
    from memaudit.guards.result import DEAD
    from memaudit.measures.guard_audit import common_base, judged_guards

    options = {"code": tuple(paths), "store": store, "table": table, "value_field": value_field,
               "upstream_column": upstream_column}  # fmt: skip
    config = load_config(config_file, isolated, settings, options)
    for path in config.code or ():
        if not config.path(path).exists():
            raise ConfigError(say("no such file or folder: {path}.", path=path))
    if store is not None:
        from memaudit.opening import open_context

        with open_context(config) as ctx:
            report, judged = judged_guards(ctx)
        rows = [item.rows for item in judged]
    else:
        found = [config.path(p).resolve() for p in config.code or ()]
        report = find_guards(found, base=common_base(found, Path.cwd()))
        rows = [None] * len(report.guards)
    if format_ == "json":
        print_result(json.dumps(guards_as_json(report, rows), ensure_ascii=False, indent=1) + "\n")
    else:
        print_result(guards_as_text(report, rows, every=every))
    dead = any(guard.verdict == DEAD for guard in report.guards)
    sys.exit(ExitCode.FINDINGS if fail_on_dead and dead else ExitCode.OK)
