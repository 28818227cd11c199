"""The command line: parse, call, print, choose the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memaudit import __version__
from memaudit.commands import agents, audit, code, evaluation, habit, look, stores
from memaudit.commands.shared import print_note
from memaudit.commands.spoken import language_of
from memaudit.errors import ExitCode, MemauditError
from memaudit.wording import language, say, sentences

_EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code.value:>3}  {code.meaning}" for code in ExitCode)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EPILOG)
@click.version_option(__version__, prog_name="memaudit")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Audit the quality of an AI agent's memory.

    Reads a store (never writes to it), runs the probes, and says whether the memory is limited by what was
    collected, by the code that labels it, or by retrieval.
    """
    ctx.obj = {**(ctx.obj or {}), "debug": debug}


for _command in (
    audit.run,
    audit.report,
    audit.plan,
    evaluation.evaluate,
    evaluation.queries,
    look.probes,
    look.explain,
    look.init,
    look.config,
    code.domain,
    code.deadcode,
    stores.stores,
    agents.mcp,
    habit.diff,
    habit.baseline,
    habit.history,
    habit.schedule,
):
    _command.epilog = _EPILOG
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> Any:
    """Run the command line; bad input is one line and a documented exit code, never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    if debug and words[:1] != ["--debug"]:
        words = ["--debug", *[w for w in words if w != "--debug"]]
    with language(language_of(words, os.environ, Path.cwd())):
        _ended(words, debug=debug)


def _ended(words: Sequence[str], *, debug: bool) -> Any:
    """Run a command and leave with its exit code."""
    try:
        sys.exit(cli.main(words, prog_name="memaudit", standalone_mode=False, obj={"words": words}))
    except MemauditError as error:
        if debug:
            raise
        print_note(say("error: {message}", message=sentences(error.message, error.hint or "")))
        sys.exit(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(ExitCode.OK)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        print_note(say("interrupted"))
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.OK)
