"""What changes when memaudit runs in a CI service: the summary of a GitHub step, and logs that obey commands."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from memaudit.model import Audit, Audits
from memaudit.wording import say

#: GitHub drops the whole summary of a step beyond 1 MiB.
SUMMARY_BYTES = 1 << 20
# The runner obeys a line whose first word begins with `::`, and the old form `##[...]` anywhere in a line.
_COMMAND = re.compile(r"(?m)^(\s*:)(?=:)|(##)(?=\[)")


def in_github(environment: Mapping[str, str]) -> bool:
    """Whether this is a step of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS", "").lower() == "true"


def without_commands(text: str) -> str:
    """Break what the runner would take for a command: a title that quotes the store must not give orders."""
    return _COMMAND.sub(lambda match: f"{match[1] or match[2]} ", text)


def append_summary(made: Audit | Audits, environment: Mapping[str, str]) -> str:
    """Append the audit as Markdown to the summary of the step.

    Returns
    -------
    What went wrong in one sentence, "" when it was written or there is no summary to write to. A summary is never
    worth a failed audit, so nothing is raised.
    """
    from memaudit.reports import rendered

    path = environment.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return ""
    body = ("\n" + rendered(made, "markdown")).encode("utf-8", "backslashreplace")
    try:
        there = os.path.getsize(path) if os.path.exists(path) else 0
        if there + len(body) > SUMMARY_BYTES:
            return say("the step's summary holds {n} bytes already; nothing was added to it.", n=there)
        with open(path, "ab") as file:
            file.write(body)
    except OSError as error:
        return say("the step's summary cannot be written: {reason}.", reason=error.strerror or str(error))
    return ""
