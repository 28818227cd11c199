"""Errors that a user can cause, and the exit code of each."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What `memaudit` returns to the shell; the table in every `--help` is made from this."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    INCOMPLETE = 3
    NOTHING = 4
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One sentence for the help page."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "the audit ran; nothing at or above --fail-on",
    ExitCode.FINDINGS: "the audit ran; at least one unsuppressed finding at or above --fail-on",
    ExitCode.USAGE: "usage or configuration error, or a named table or column that is not there",
    ExitCode.INCOMPLETE: "the audit could not be completed; a partial report is still written",
    ExitCode.NOTHING: "nothing to audit: 0 rows; the report is still written",
    ExitCode.INTERRUPTED: "interrupted; the partial report.json is kept",
}


class MemauditError(Exception):
    """An error that bad input causes: shown as one line and a hint, without a traceback.

    Parameters
    ----------
    message
        What was found, what was expected; names the thing.
    hint
        What to do about it.
    """

    exit_code = ExitCode.INCOMPLETE

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        blank = "" if self.message.endswith("。") else " "  # Chinese sentences follow each other without one
        return self.message if self.hint is None else f"{self.message}{blank}{self.hint}"


class ConfigError(MemauditError):
    """A bad configuration file, key or value, or a table or column that does not exist."""

    exit_code = ExitCode.USAGE


class StoreError(MemauditError):
    """A store that cannot be opened or read."""


class DataError(MemauditError):
    """Rows that cannot be used for what was asked."""


class TargetError(MemauditError):
    """Production code that cannot be imported or called."""


class EncoderError(MemauditError):
    """An encoder that is not here or cannot encode."""
