"""Lines of a text file, never more of it in memory than one line may be long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

#: A longer line is no record: its characters are passed over, and it is counted.
LONGEST_LINE = 64 << 20


def lines_of(file: TextIO, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str | None]]:
    """Give (number from 1, line with its end); None for a line longer than `longest` characters."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) <= longest:
            yield number, line
            continue
        # A piece that is shorter than asked for ends the line.
        while len(line) > longest and line[-1] not in "\r\n":
            line = file.readline(longest + 1)
        yield number, None
