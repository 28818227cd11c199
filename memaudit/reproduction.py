"""The command that shows one finding again: the run's own, with this rule alone selected."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Sequence
from dataclasses import replace

from memaudit.model import Audit, Finding

#: Options of the run that say which rules run; with their values.
_SELECTION = ("--select", "--ignore")
#: Options that say what is done with the result, with their values and without one.
_RESULT = ("--out", "--format", "--history", "--on-finding", "--color")
_RESULT_ALONE = ("--open", "--force", "--no-ci", "--quiet", "--verbose", "-q", "-v", "-vv")
#: Printed, not written: the page that names the command stays as it is.
_PRINTED = ("--format", "text")


def reproducible(audit: Audit) -> Audit:
    """Give every finding that names no command of its own the one that shows it again."""
    return replace(audit, findings=tuple(_with_command(finding, audit.command) for finding in audit.findings))


def _with_command(finding: Finding, command: str) -> Finding:
    if finding.reproduce:
        return finding
    if finding.probe == "audit":  # comes with every run, whatever is selected
        return replace(finding, reproduce=command_for("", command))
    return replace(finding, reproduce=command_for(finding.code, command))


def command_for(code: str, command: str) -> str:
    """Return a command that runs the rule `code` alone on the same inputs.

    Parameters
    ----------
    code
        The rule; "" leaves the selection of the run as it was.
    command
        What was called: a command line of memaudit, a call of `memaudit.audit`, or "" when it is not known.

    Returns
    -------
    The same with that selection. A command line prints what it finds and writes nothing: neither page
    nor history changes by looking again.
    """
    if command.startswith("memaudit.audit("):
        return _call_for(code, command)
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if words[:1] != ["memaudit"] or words[1:2] not in (["run"], ["eval"]):
        words = ["memaudit", "run"]
    selected = ("--select", code) if code else ()
    return shlex.join([*_without(words, (*_RESULT, *(_SELECTION if code else ()))), *selected, *_PRINTED])


def _call_for(code: str, command: str) -> str:
    if not code:
        return command
    try:
        call = ast.parse(command, mode="eval").body
    except (SyntaxError, ValueError):  # a parameter whose `repr` is no expression, such as a data frame
        call = None
    if not isinstance(call, ast.Call):
        return f"memaudit.audit(..., select={[code]!r})"
    kept = [keyword for keyword in call.keywords if keyword.arg not in ("select", "ignore")]
    kept.append(ast.keyword("select", ast.parse(repr([code]), mode="eval").body))
    return ast.unparse(ast.Call(call.func, call.args, kept))


def _without(words: Sequence[str], with_value: tuple[str, ...]) -> list[str]:
    """Leave out the named options with their values, and what only says where the result goes."""
    kept: list[str] = []
    value_follows = False
    for word in words:
        if value_follows:
            value_follows = False
        elif word in with_value:
            value_follows = True
        elif word not in _RESULT_ALONE and not word.startswith(tuple(f"{option}=" for option in with_value)):
            kept.append(word)
    return kept
