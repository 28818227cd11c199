"""The command line: parse, call, print, choose the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from memaudit import __version__
from memaudit.commands import agents, audit, code, evaluation, habit, look, stores
from memaudit.commands.shared import print_note
from memaudit.commands.spoken import language_of
from memaudit.errors import ExitCode, MemauditError
from memaudit.wording import language, say, sentences, unread

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
    _open_streams()
    try:
        folder = Path.cwd()
    except OSError as error:
        print_note(
            say("error: {message}", message=say("the current folder cannot be used: {reason}.", reason=unread(error)))
        )
        sys.exit(ExitCode.INCOMPLETE)
    with language(language_of(words, os.environ, folder)):
        _ended(words, debug=debug)


def _open_streams() -> None:
    """Give a stream that the caller closed (`>&-`) a place to write to: nobody reads it, and nothing may fail for it."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


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
        print_note(say("error: {message}", message=_in_one_line(error)))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        print_note(say("interrupted"))
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.OK)
    except OSError as error:
        # What the machine refuses is no fault of the program: a full disk, a name too long, no permission.
        if debug:
            raise
        place = error.filename if isinstance(error.filename, str) else say("the output")
        print_note(say("error: {message}", message=say("{path}: {reason}.", path=place, reason=unread(error))))
        _give_up_stdout()
        sys.exit(ExitCode.INCOMPLETE)


def _in_one_line(error: click.ClickException) -> str:
    """Give an error of the command line with the page that helps."""
    message = " ".join(error.format_message().split())
    message = message if message.endswith((".", ")", "?")) else f"{message}."
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "memaudit"
    return sentences(message, say("See `{command} --help`.", command=command))


def _give_up_stdout() -> None:
    """Let what stdout could not take go nowhere: it would be written again at exit, and fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
