"""Read a report.json back, for the commands that start from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memaudit.errors import ConfigError

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
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}.", "Give the report.json that `memaudit run` wrote.") from None
    try:
        return report_from_json(text)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} is no report of memaudit ({error}).", "Give the report.json that `memaudit run` wrote."
        ) from None


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
            f"{path} holds the audits of {len(made.audits)} tables; one was expected.",
            "Audit the table alone: memaudit run --table NAME.",
        )
    return made
