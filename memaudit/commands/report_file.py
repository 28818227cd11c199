"""Read a report.json back, for the commands that start from one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memaudit.errors import ConfigError
from memaudit.wording import say, unread

if TYPE_CHECKING:
    from pathlib import Path

    from memaudit.model import Audit, Audits


def read_any_report(path: Path) -> Audit | Audits:
    """Read a report.json, of one table or of several.

    Raises
    ------
    ConfigError
        No such file, or it is no report of memaudit.
    """
    from memaudit.reports import report_from_json

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            say("cannot read {path}: {error}.", path=path, error=unread(error)),
            say("Give the report.json that `memaudit run` wrote."),
        ) from None
    try:
        return report_from_json(text)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            say("{path} is no report of memaudit ({error}).", path=path, error=error),
            say("Give the report.json that `memaudit run` wrote."),
        ) from None


@contextmanager
def misused_parts_refused(path: Path) -> Iterator[None]:
    """Refuse a report that can be read and not be shown: a part of it was changed by hand to another type.

    Raises
    ------
    ConfigError
        With what failed as its cause, for `--debug`.
    """
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            say("{path} is no report of memaudit ({error}).", path=path, error=error),
            say("Give the report.json that `memaudit run` wrote."),
        ) from error


def read_report(path: Path) -> Audit:
    """Read a report.json of one table.

    Raises
    ------
    ConfigError
        As :func:`read_any_report`, or it holds the audits of several tables.
    """
    from memaudit.model import Audits

    made = read_any_report(path)
    if isinstance(made, Audits):
        raise ConfigError(
            say("{path} holds the audits of {n} tables; one was expected.", path=path, n=len(made.audits)),
            say("Audit the table alone: memaudit run --table NAME."),
        )
    return made
