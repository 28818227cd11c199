"""What an audit is made of: plain frozen data, read by every report and written by every probe.

This module imports nothing of ours but `changes`, the part of it that compares audits. A report that needs a number which is not here shows a missing
field of the model, never a reason to compute in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

from memaudit.changes import Changes, Trend

SCHEMA_VERSION = "1.0"

#: A value as JSON knows it.
Json = Any


class Severity(IntEnum):
    """How much a finding costs the agent; ordered, `HIGH` is the worst."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def label(self) -> str:
        """The word used in JSON and on the page."""
        return self.name.lower()

    @classmethod
    def of(cls, label: str) -> Severity:
        """Read the word back."""
        return cls[label.upper()]


class Basis(str, Enum):
    """How far a finding can be trusted, apart from how bad it is."""

    MEASURED = "measured"
    SAMPLED = "sampled"
    UNDER_POWERED = "under-powered"


class Status(str, Enum):
    """What became of a probe."""

    OK = "ok"
    SKIPPED = "skipped"
    FAILED = "failed"


class LaneState(str, Enum):
    """State of one of the three lanes of the verdict."""

    BOTTLENECK = "bottleneck"
    PROBLEM = "problem"
    NO_FINDING = "no-finding"
    NOT_ENOUGH_DATA = "not-enough-data"
    NOT_RUN = "not-run"


@dataclass(frozen=True)
class Example:
    """One piece of evidence that a person can look at.

    Parameters
    ----------
    text
        Text from the store, or a line of code: hostile, to be escaped by the report.
    key
        Key of the row it comes from, as stored; None where it is no row.
    note
        Our own words beside it (`12 copies`, `cosine 0.72 to the kept row`).
    """

    text: str
    key: Json = None
    note: str = ""


@dataclass(frozen=True)
class Evidence:
    """Rows or lines behind a finding.

    Parameters
    ----------
    shown
        A few examples, for the page.
    total
        How many rows (or lines) there are.
    ids
        Keys of all rows concerned in store order: people act on them. Cut by the engine beyond
        100,000, with a note in the caveat.
    """

    shown: tuple[Example, ...] = ()
    total: int = 0
    ids: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One statement about the store, with the numbers it is made from.

    The identity of a finding for baselines is `code` and the place in `subject`, never its title or a count.

    Parameters
    ----------
    code, kind
        Stable rule code (`MA302`) and its name, as in the vocabulary of findings.
    subject
        What it points at: `table`, `column`, `values`, `file`, `function`, ...
    title
        One sentence with the number in it.
    figures
        The raw numbers by name; a share is a fraction 0..1; what cannot be measured is None.
    fix
        What a maintainer can do, one to three sentences; empty for `info`.
    caveat
        Sample size, exclusions, what was not looked at; required unless `basis` is measured.
    lane
        The lane of the verdict that it speaks about: "data collection", "generator", "retrieval" or "".
    probe
        Name of the probe that made it; filled in where the probe was run.
    reproduce
        A command that shows it again; left empty by a probe, it is the run's own command with `--select CODE`.
    fingerprint
        Identity across audits (`memaudit.fingerprint`); "" where nobody asked for it.
    change
        What became of it since the earlier audit, or against the baseline where there is no history: a word of
        `changes.ChangeState`, "" without either.
    """

    code: str
    kind: str
    severity: Severity
    subject: Mapping[str, Json]
    title: str
    figures: Mapping[str, Json]
    evidence: Evidence = Evidence()
    fix: str = ""
    caveat: str | None = None
    basis: Basis = Basis.MEASURED
    lane: str = ""
    probe: str = ""
    reproduce: str = ""
    fingerprint: str = ""
    change: str = ""


class Cell(str, Enum):
    """How a column of a table is shown; the picture is drawn by the report."""

    TEXT = "text"  # our own words
    VALUE = "value"  # text from the store: hostile
    CODE = "code"  # source code or a key
    COUNT = "count"  # integer
    SHARE = "share"  # fraction 0..1
    COSINE = "cosine"  # three decimals
    NUMBER = "number"  # any other number, as given
    BAR = "bar"  # number drawn on the table's scale
    SPAN = "span"  # (min, mean) cosine pair drawn on an axis
    PARTS = "parts"  # text from the store in pieces: [[text, is it constant], ...]; constants are underlined


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: str
    label: str
    cell: Cell = Cell.TEXT


@dataclass(frozen=True)
class Table:
    """Rows of plain values: the table is the chart.

    Parameters
    ----------
    name
        Key of the table in the JSON report (`clusters`); unique in an audit.
    caption
        What is counted, with n.
    rows
        One mapping a row, from column key to value; None is shown as "-".
        The optional key `_mark` names rows the reader should see first ("hot").
    scale
        Full length of a bar; the largest value when None.
    reference
        Where the dashed line of bars or spans stands, None for no line.
    reference_label
        What the line means.
    show
        Rows that the page shows, the others counted; 0 leaves it to the page. The JSON report holds all.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Json], ...]
    scale: float | None = None
    reference: float | None = None
    reference_label: str = ""
    show: int = 0


@dataclass(frozen=True)
class Section:
    """One question of the page: question, tables, answer, then the method folded away.

    Parameters
    ----------
    key
        Anchor on the page, kebab-case, unique.
    codes
        Rules whose evidence stands here.
    answer
        One or two sentences; must hold the number that decides.
    method
        Folded: how it was computed, thresholds, what was excluded.
    examples
        At most five pieces of raw evidence, folded.
    """

    key: str
    title: str
    question: str
    answer: str
    codes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    method: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """What `memaudit plan` proposes for some rows; memaudit never does it itself.

    Parameters
    ----------
    action
        `merge` (into `keep`), `delete`, `re-embed` or `review`.
    ids
        Keys of the rows, store order, without the kept one.
    keep
        Key of the row that stays, for `merge`.
    reason, code
        Why, and the rule that found it.
    """

    action: str
    ids: tuple[Json, ...]
    reason: str
    code: str
    keep: Json = None


@dataclass(frozen=True)
class RowsLeftOut:
    """Rows that a probe could not use, and why; shown on the page and counted by MA906."""

    rows: int
    reason: str
    ids: tuple[Json, ...] = ()


@dataclass(frozen=True)
class ProbeResult:
    """What a probe returns.

    Parameters
    ----------
    figures
        Headline numbers by name, kept under `figures` of the report and in the history.
    notes
        Sentences for "what was not checked" that are no findings.
    not_looked
        Rules of this probe that could not look although the probe ran: code -> (reason, option).
    incomplete
        Why the audit as a whole is incomplete (a named input that cannot be used), else "".
    """

    findings: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = ()
    figures: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    not_looked: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    left_out: tuple[RowsLeftOut, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    incomplete: str = ""


@dataclass(frozen=True)
class NotRun:
    """A rule or probe that gave no answer: never the same as "no finding"."""

    probe: str
    codes: tuple[str, ...]
    status: Status
    reason: str
    option: str = ""
    traceback: str | None = None


@dataclass(frozen=True)
class Lane:
    """One of the three places where a memory can be limited."""

    lane: str
    state: LaneState
    sentence: str
    do: str = ""
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The answer to "where is the limit?"; `state` is one of the words of the vocabulary."""

    state: str
    sentence: str
    lead: str = ""
    do_first: str = ""
    lanes: tuple[Lane, ...] = ()
    reasoning: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoreInfo:
    """What was audited, as shown in the report's head."""

    path: str
    kind: str
    table: str | None
    rows: int
    rows_used: int
    roles: Mapping[str, Json] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    first_time: str | None = None
    last_time: str | None = None
    sha256: str | None = None
    other_tables: tuple[Mapping[str, Json], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EncoderInfo:
    """Where the vectors came from; None fields mean "not used" or "not known"."""

    name: str
    dim: int | None = None
    revision: str | None = None
    note: str = ""


@dataclass(frozen=True)
class RunInfo:
    """Times of this run: the only part of a report that differs between equal runs."""

    started: str
    seconds: float
    probe_seconds: Mapping[str, float] = field(default_factory=dict)
    texts_encoded: int = 0
    texts_cached: int = 0


@dataclass(frozen=True)
class Audit:
    """A whole audit: what the JSON report holds and every other format is a view of.

    `incomplete` says why the audit could not be finished ("" when it was): a probe crashed, a named encoder is
    missing, the store is unreadable, or a person interrupted it. `changes` and `trend` are there when earlier audits
    are. `lang` is the language of the sentences; codes, kinds, states, severities and names of figures are the same
    in every language.
    """

    memaudit: str
    store: StoreInfo | None
    encoder: EncoderInfo | None
    verdict: Verdict
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    not_run: tuple[NotRun, ...]
    figures: Mapping[str, Json]
    notes: tuple[str, ...]
    left_out: tuple[RowsLeftOut, ...]
    plan: tuple[Proposal, ...]
    config: Mapping[str, Json]
    versions: Mapping[str, str]
    run: RunInfo
    command: str = ""
    redacted: bool = False
    incomplete: str = ""
    lang: str = "en"
    suppressed: tuple[Mapping[str, Json], ...] = ()
    breakdowns: Sequence[Section] = ()
    changes: Changes | None = None
    trend: Trend | None = None
    schema_version: str = SCHEMA_VERSION


@dataclass(frozen=True)
class TableLeftOut:
    """A table of a store that was not audited with the others.

    Parameters
    ----------
    rows
        None where they were not counted.
    failed
        Whether it should have been audited and could not be: the whole is then incomplete.
    """

    table: str
    rows: int | None
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class Audits:
    """The audits of all tables of one store, each one whole; the largest table first.

    `incomplete` is "" when every audit was finished and no table failed.
    """

    memaudit: str
    store: str
    kind: str
    audits: tuple[Audit, ...]
    not_audited: tuple[TableLeftOut, ...] = ()
    command: str = ""
    redacted: bool = False
    incomplete: str = ""
    lang: str = "en"
    schema_version: str = SCHEMA_VERSION
