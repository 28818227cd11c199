"""Places of the rewritten code by number: conditions, statements, branches."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Site:
    """A condition or look-up in the source."""

    file: str
    line: int
    column: int
    text: str

    @property
    def name(self) -> str:
        """Identity that holds in another process, too."""
        return f"{self.file}:{self.line}:{self.column}:{self.text}"


@dataclass(frozen=True)
class Point:
    """A statement, an arm of `a if b else c`, or a return value."""

    file: str
    line: int
    what: str
    in_handler: bool


@dataclass
class Branch:
    """An `if` whose test is one condition or an `or` of conditions."""

    sites: tuple[int, ...]
    body: tuple[int, ...]
    inner_sites: tuple[int, ...]
    orelse: tuple[int, ...]
    after_sites: tuple[int, ...] = ()


@dataclass
class Tables:
    """Everything that was given a number while rewriting."""

    sites: list[Site] = field(default_factory=list)
    left_const: list[bool] = field(default_factory=list)
    right_const: list[bool] = field(default_factory=list)
    group_site: list[int | None] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
