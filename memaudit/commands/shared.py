"""Options that several commands share, and how results and progress are printed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memaudit.wording import LANGUAGES

if TYPE_CHECKING:
    from memaudit.config import Config

Command = TypeVar("Command", bound=Callable[..., Any])

#: Options of `run` and `plan` that are configuration keys: option -> (metavar, how many, help).
_KEY_OPTIONS: tuple[tuple[str, str, bool, str], ...] = (
    (
        "store",
        "PATH",
        False,
        "Store to audit: file, folder, pattern or database address (`memaudit stores` lists the kinds).",
    ),
    ("table", "NAME", False, "Table that holds the memories."),
    ("text", "COLUMN", False, "Column with the memory's text."),
    ("value-field", "COLUMN", False, "Field whose values are audited."),
    ("group-field", "COLUMN", False, "Field that de-duplication groups by."),
    ("embedding", "COLUMN", False, "Column with stored vectors."),
    ("hits", "COLUMN", False, "Use counter."),
    ("generator", "TARGET", False, "Production function that makes the value field: pkg.mod:Class.fn."),
    ("code", "PATH", True, "Production code for the guarded-code probe (repeatable)."),
    ("queries", "FILE", False, "Query set (JSONL)."),
    ("encoder", "NAME", False, '"stored", "embedded", or a sentence-transformers model name or folder.'),
    ("select", "IDS", True, "Run only these rules or probes: MA3, MA305, diversity (comma or repeated)."),
    ("ignore", "IDS", True, "Leave these rules or probes out."),
    ("by", "COLUMN", True, 'Repeat the tables for the values of a column; "language" looks at the text.'),
    ("max-rows", "N", False, "Audit a seeded sample of N rows."),
    ("seed", "N", False, "Seed of everything random (default 0)."),
    ("min-severity", "LEVEL", False, "Lowest severity shown: info, low, medium, high."),
    ("fail-on", "LEVEL", False, "Lowest severity that makes the exit code 1 (default: never)."),
)
_INTEGERS = ("max-rows", "seed")
_COMMA = ("select", "ignore", "by")
_LANG = "memaudit.lang"
#: Cells of a line of the summary where nothing is narrower.
WIDTH = 100


def lang_option(command: Command) -> Command:
    """Add `--lang`; what it names is spoken before the command begins (`memaudit.commands.spoken`)."""

    def note(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        ctx.meta[_LANG] = value

    return click.option(
        "--lang",
        type=click.Choice(LANGUAGES),
        expose_value=False,
        callback=note,
        help="Language of what is printed (default: that of the configuration).",
    )(command)


def lang_given() -> str | None:
    """Return what the running command's `--lang` names."""
    ctx = click.get_current_context(silent=True)
    value = None if ctx is None else ctx.meta.get(_LANG)
    return value if isinstance(value, str) else None


def config_options(command: Command) -> Command:
    """Add `--config`, `--isolated` and `--set`."""
    for option in (
        click.option(
            "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any configuration key (repeatable)."
        ),
        click.option("--isolated", is_flag=True, help="Read no configuration file and no environment."),
        click.option("--config", "config_file", metavar="PATH", help="Configuration file instead of the one found."),
    ):
        command = option(command)
    return command


def key_options(command: Command) -> Command:
    """Add the options that are configuration keys."""
    for name, metavar, multiple, text in reversed(_KEY_OPTIONS):
        kind = click.IntRange(min=0) if name in _INTEGERS else None
        command = click.option(f"--{name}", metavar=metavar, multiple=multiple, type=kind, help=text)(command)
    command = click.option("--redact", is_flag=True, default=None, help="Show no store text at all.")(command)
    return click.option("--allow-download", is_flag=True, default=None, help="Let an encoder download its model.")(
        command
    )


def verbosity_options(command: Command) -> Command:
    """Add `--quiet`, `--verbose` and `--color`."""
    for option in (
        click.option(
            "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the summary."
        ),
        click.option("-v", "--verbose", count=True, help="Say more on stderr (repeatable)."),
        click.option("-q", "--quiet", is_flag=True, help="Print no summary and no progress."),
    ):
        command = option(command)
    return command


def load_config(config_file: str | None, isolated: bool, settings: tuple[str, ...], keys: dict[str, Any]) -> Config:
    """Make the configuration from a command's options."""
    from pathlib import Path

    from memaudit.config_file import load

    options: dict[str, Any] = {"lang": lang_given()}
    for name, value in keys.items():
        if isinstance(value, tuple):
            words = [w.strip() for v in value for w in (v.split(",") if name in _COMMA else [v])]
            options[name] = tuple(w for w in words if w) or None
        else:
            options[name] = value
    return load(file=Path(config_file) if config_file else None, isolated=isolated, settings=settings, options=options)


def use_color(choice: str) -> bool:
    """Decide about colour: the option, then NO_COLOR and FORCE_COLOR, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def summary_width() -> int:
    """Return the cells of a line of the summary: those of a narrow terminal, else 100."""
    if not sys.stdout.isatty():
        return WIDTH
    return min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def needs_ascii() -> bool:
    """Say whether stdout's encoding cannot hold our symbols."""
    try:
        "■▲●◌–›·≥".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def print_result(text: str) -> None:
    """Print a result to stdout; what its encoding cannot hold is escaped, never an error."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def print_note(text: str) -> None:
    """Print a line to stderr."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=True)


class ProgressLine:
    """Progress on stderr: one line on a terminal, else a line at most every ten seconds."""

    EVERY_S = 10.0

    def __init__(self, *, quiet: bool, verbose: int) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.last = time.monotonic()

    def __call__(self, sentence: str) -> None:
        """Show a sentence."""
        if self.quiet:
            return
        if self.terminal and not self.verbose:
            sys.stderr.write(f"\r\x1b[K{sentence[:100]}")
            sys.stderr.flush()
        elif self.verbose or time.monotonic() - self.last >= self.EVERY_S:
            self.last = time.monotonic()
            print_note(sentence)

    def clear(self) -> None:
        """Take the line away."""
        if self.terminal and not self.quiet and not self.verbose:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
