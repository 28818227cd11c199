"""The audit as a short summary for a terminal: verdict, lanes, findings, what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memaudit.changes import ChangeState
from memaudit.model import Audit, Audits, Basis, Finding, Lane, LaneState, NotRun, Severity, Status
from memaudit.reports.every_table import (
    failures,
    findings_by_severity,
    heading,
    passed_over,
    passed_over_line,
    rows_in_words,
    table_name,
)
from memaudit.reports.shown_numbers import LANE_SIGNS, SEVERITY_SIGNS, in_words, size_of, word
from memaudit.reports.shown_text import as_text, cell_width, cut, padded, visible, wrap_cells
from memaudit.reports.since_page import rows_sentence, summary
from memaudit.wording import key, plural, say, spoken, term

_STATE_WORDS: Mapping[str, str] = {
    "generator": key("BOTTLENECK"),
    "data-collection": key("BOTTLENECK"),
    "both": key("BOTTLENECK"),
    "retrieval": key("BOTTLENECK"),
    "no-finding": key("NO FINDING"),
    "not-enough-data": key("NOT ENOUGH DATA"),
    "nothing-audited": key("NOTHING AUDITED"),
    "undecided": key("VERDICT"),
}
_ASCII = str.maketrans(
    {
        "■": "#", "▲": "!", "●": ".", "○": "o", "◌": "?", "✓": "+", "✕": "x", "–": "-", "—": "-", "›": ">",
        "·": "|", "…": "...", "≥": ">=", "≤": "<=", "→": "->", "‖": "||", "×": "x", "⏎": "\\n", "⇥": "\\t", "⟨": "<",
        "⟩": ">", "“": '"', "”": '"', "‘": "'", "’": "'", "\xa0": " ", "\u202f": " ",
    }
)  # fmt: skip
_BOLD, _DIM, _RED, _YELLOW, _BLUE, _GREEN, _PURPLE = "1", "2", "31", "33", "34", "32", "35"
_SEVERITY_COLORS = {Severity.HIGH: _RED, Severity.MEDIUM: _YELLOW, Severity.LOW: _BLUE, Severity.INFO: _DIM}
_LANE_COLORS = {
    LaneState.BOTTLENECK: _RED,
    LaneState.PROBLEM: _YELLOW,
    LaneState.NO_FINDING: _GREEN,
    LaneState.NOT_ENOUGH_DATA: _PURPLE,
    LaneState.NOT_RUN: _DIM,
}
# A summary: a sentence longer than this is cut, with its length (titles may hold values from the store).
_SENTENCE_LIMIT = 600
_FINDINGS_SHOWN = 50
_LINES_SHOWN = 12


@spoken
def to_terminal(audit: Audit, *, color: bool = False, width: int = 100, ascii_only: bool = False) -> str:
    """Write the summary of an audit for a terminal.

    Parameters
    ----------
    color
        Whether to use colour sequences; without it the text holds no control character but line ends.
    width
        Cells of a line (East Asian characters take two); below 40 counts as 40. Commands and identifiers
        are broken only where a line has no room for them.
    ascii_only
        For an output that cannot hold our signs: signs become `# ! . ? -`, and every other character
        beyond ASCII its backslash escape, so that printing cannot fail.

    Returns
    -------
    Lines ending in a line end; all findings up to 50, then how many more report.json holds.
    """
    page = _Page(color, max(40, width), ascii_only)
    _head(page, audit)
    _verdict(page, audit)
    _findings(page, audit)
    _since(page, audit)
    _silence(page, audit)
    return "".join(line.rstrip() + "\n" for line in page.lines)


@spoken
def tables_to_terminal(audits: Audits, *, color: bool = False, width: int = 100, ascii_only: bool = False) -> str:
    """Write the list of all tables, then the summary of each audit as :func:`to_terminal` does."""
    page = _Page(color, max(40, width), ascii_only)
    name = page.safe(f"memaudit {audits.memaudit}") + "  "
    page.add(page.paint(name, _BOLD), heading(audits), cell_width(name), _BOLD)
    page.gap()
    for audit in audits.audits:
        line = say("{table}: {rows}, findings: {findings}. {verdict}", table=table_name(audit),
                   rows=rows_in_words(audit), findings=findings_by_severity(audit),
                   verdict=audit.verdict.sentence)  # fmt: skip
        page.add("  ", line, 2)
    for line in failures(audits):
        page.add("  " + page.paint(page.safe("✕"), _RED) + " ", line.replace("`", ""), 4, _RED)
    left = passed_over(audits)
    if left:
        page.gap()
        page.add("", say("Not audited: {tables}", tables=plural(len(left), "table")), 0, _BOLD)
        for one in left[:_LINES_SHOWN]:
            page.add("  ", passed_over_line(one).replace("`", ""), 2, _DIM)
        if len(left) > _LINES_SHOWN:
            page.add("  ", say("and {n} more tables in report.json", n=len(left) - _LINES_SHOWN), 2, _DIM)
    head = "".join(line.rstrip() + "\n" for line in page.lines)
    each = [to_terminal(audit, color=color, width=width, ascii_only=ascii_only) for audit in audits.audits]
    rule = page.safe("─" * page.width) if not ascii_only else "-" * page.width
    return head + "".join(f"\n{rule}\n{text}" for text in each)


def with_ascii_signs(text: str) -> str:
    """Replace our own signs and punctuation only: for encodings that hold CJK but not `■` (cp936)."""
    return text.translate(_ASCII)


class _Page:
    """Lines so far, and how to make text safe and paint it."""

    def __init__(self, color: bool, width: int, ascii_only: bool) -> None:
        self.color = color
        self.width = width
        self.ascii_only = ascii_only
        self.lines: list[str] = []

    def safe(self, text: Any) -> str:
        """Neutralise control and bidi characters; the only way for text to get onto the page."""
        head, cut_from = cut(as_text(text), _SENTENCE_LIMIT)
        line = visible(head) + (say("… ({n} characters)", n=cut_from) if cut_from is not None else "")
        if self.ascii_only:
            line = with_ascii_signs(line).encode("ascii", "backslashreplace").decode("ascii")
        return line

    def name(self, text: str) -> str:
        """Give a name of ours (a code, a lane) on one short line, whatever a third party put there."""
        return wrap_cells(self.safe(text), 20)[0]

    def paint(self, text: str, *codes: str) -> str:
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.color and text.strip() else text

    def add(self, first: str, text: Any, indent: int, *codes: str) -> None:
        """Add a wrapped text behind `first` (already safe, `indent` cells wide when shown)."""
        wrapped = wrap_cells(self.safe(text), self.width - indent)
        for n, line in enumerate(wrapped):
            self.lines.append((first if n == 0 else " " * indent) + self.paint(line, *codes))

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")


def _head(page: _Page, audit: Audit) -> None:
    store = audit.store
    if store is None:
        what = say("no store: query files only")
    else:
        parts = [store.path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or store.path]
        parts += [store.table] if store.table else []
        label = store.roles.get("value_field", store.roles.get("value"))
        parts += [label] if isinstance(label, str) else []
        used = (
            say("{rows}, all used", rows=plural(store.rows, "row"))
            if store.rows == store.rows_used
            else say("{used} of {rows} used", used=store.rows_used, rows=plural(store.rows, "row"))
        )
        what = " › ".join(parts) + "   " + used
    name = page.safe(f"memaudit {audit.memaudit}") + "  "
    page.add(page.paint(name, _BOLD), what, cell_width(name))
    page.gap()


def _verdict(page: _Page, audit: Audit) -> None:
    verdict = audit.verdict
    state = _STATE_WORDS.get(verdict.state, _STATE_WORDS["undecided"])
    head = page.safe(say(state)) + "  "
    sentence = verdict.sentence
    if state == "BOTTLENECK":  # not "BOTTLENECK  The bottleneck is the generator"
        sentence = sentence.removeprefix(say("The bottleneck is "))
    indent = cell_width(head)
    page.add(page.paint(head, _BOLD, _RED if state == "BOTTLENECK" else _BLUE), sentence, indent, _BOLD)
    if verdict.lead:
        page.add(" " * indent, verdict.lead, indent)
    if verdict.do_first:
        page.add(" " * indent, say("Do first: {action}", action=verdict.do_first), indent)
    if audit.incomplete:
        page.add(" " * indent, say("This audit is incomplete: {reason}", reason=audit.incomplete), indent, _RED)
    if verdict.lanes:
        page.gap()
        names = max(cell_width(page.name(word(lane.lane))) for lane in verdict.lanes)
        states = max(cell_width(in_words(lane.state.value)) for lane in verdict.lanes)
        for lane in verdict.lanes:
            _lane(page, lane, names, states)
    page.gap()


def _lane(page: _Page, lane: Lane, names: int, states: int) -> None:
    sign, words = page.safe(LANE_SIGNS[lane.state]), in_words(lane.state.value)
    state = page.paint(padded(words, states), _LANE_COLORS[lane.state])
    start = f"  {page.paint(sign, _LANE_COLORS[lane.state])} {padded(page.name(word(lane.lane)), names)}  {state}  "
    indent = 4 + names + 2 + states + 2
    if page.width - indent < 30:
        page.lines.append(start)
        start, indent = "      ", 6
    page.add(start, lane.sentence, indent)


def _findings(page: _Page, audit: Audit) -> None:
    if not audit.findings:
        page.lines.append("  " + page.safe(say("No findings.")))
        return
    shown = audit.findings[:_FINDINGS_SHOWN]
    codes = max(cell_width(page.name(finding.code)) for finding in shown)
    severities = max(cell_width(word(finding.severity.label)) for finding in shown)
    sizes = max(cell_width(page.safe(size_of(finding))) for finding in shown)
    for finding in shown:
        _finding(page, finding, codes, severities, sizes)
    if len(audit.findings) > len(shown):
        page.add("  ", say("and {n} more findings in report.json", n=len(audit.findings) - len(shown)), 2, _DIM)


def _finding(page: _Page, finding: Finding, codes: int, severities: int, sizes: int) -> None:
    weak = finding.basis is Basis.UNDER_POWERED
    paint = _SEVERITY_COLORS[finding.severity]
    sign = page.paint(page.safe("◌" if weak else SEVERITY_SIGNS[finding.severity]), paint)
    code = page.paint(padded(page.name(finding.code), codes), _BOLD)
    start = f"  {sign} {code}  {page.paint(padded(word(finding.severity.label), severities), paint)}  "
    indent = 4 + codes + 2 + severities + 2
    title = finding.title
    if finding.change in ("new", "worse", "better"):
        title = say("[{change}] {title}", change=term(finding.change), title=title)
    if finding.basis is not Basis.MEASURED:
        title += f" [{word(finding.basis.value)}]"
    size = page.safe(size_of(finding))
    beside = page.width - indent - sizes - 2
    wrapped = wrap_cells(page.safe(title), beside if beside >= 30 else page.width - indent)
    if beside >= 30 and size:
        wrapped[0] = padded(wrapped[0], beside + 2) + page.paint(" " * (sizes - cell_width(size)) + size, _DIM)
    elif size:
        wrapped += [page.paint(part, _DIM) for part in wrap_cells(size, page.width - indent)]
    for n, line in enumerate(wrapped):
        page.lines.append((start if n == 0 else " " * indent) + line)
    place = finding.subject.get("file")
    if isinstance(place, str):
        line_number = finding.subject.get("line")
        where = f"{place}:{line_number}" if isinstance(line_number, int) else place
        page.add(" " * indent, where, indent, _DIM)


def _since(page: _Page, audit: Audit) -> None:
    """Say what changed since the last audit; fixed findings are named, for they stand nowhere above."""
    changes = audit.changes
    if changes is None:
        return
    page.gap()
    page.add("", summary(changes), 0, _BOLD)
    if rows := rows_sentence(changes):
        page.add("  ", rows, 2)
    for reason in changes.breaks[:_LINES_SHOWN]:
        page.add("  ", say("not comparable: {reason}", reason=reason), 2, _YELLOW)
    gone = [c for c in changes.findings if c.state is ChangeState.FIXED]
    for change in gone[:_LINES_SHOWN]:
        page.add("  ", say("fixed: {code} {title}", code=change.code, title=change.title), 2, _GREEN)
    if len(gone) > _LINES_SHOWN:
        page.add("  ", say("and {n} more fixed in report.json", n=len(gone) - _LINES_SHOWN), 2, _DIM)


def _silence(page: _Page, audit: Audit) -> None:
    """Everything that gave no answer, was left out or is not shown: never a silent omission."""
    page.gap()
    groups: dict[tuple[Status, str, str], list[NotRun]] = {}
    for item in audit.not_run:
        groups.setdefault((item.status, item.reason, item.option), []).append(item)
    if groups:
        page.add("", say("NOT RUN (this is not “no finding”)"), 0, _BOLD)
    for n, ((status, reason, option), items) in enumerate(groups.items()):
        if n == _LINES_SHOWN:
            page.add("  ", say("and {n} more reasons in report.json", n=len(groups) - n), 2, _DIM)
            break
        failed = status is Status.FAILED
        sign = page.paint(page.safe("✕" if failed else "–"), _RED if failed else _DIM)
        codes = list(dict.fromkeys(code for item in items for code in item.codes or (item.probe,)))
        text = say("{codes}: {reason}", codes=", ".join(codes), reason=reason)
        if failed:
            text = say("{codes} failed: {reason}", codes=", ".join(codes), reason=reason)
        text = text.rstrip(".") + (f" ({option})" if option else "")
        page.add(f"  {sign} ", text, 4)
    for left in audit.left_out[:_LINES_SHOWN]:
        page.add("  ", say("{rows} left out: {reason}", rows=plural(left.rows, "row"), reason=left.reason), 2)
    if len(audit.left_out) > _LINES_SHOWN:
        page.add("  ", say("and {n} more reasons in report.json", n=len(audit.left_out) - _LINES_SHOWN), 2, _DIM)
    if audit.suppressed:
        codes = list(dict.fromkeys(as_text(item.get("code", "-")) for item in audit.suppressed))
        found = plural(len(audit.suppressed), "finding")
        page.add("  ", say("{findings} suppressed: {codes}", findings=found, codes=", ".join(codes)), 2, _DIM)
    if audit.notes:
        page.add(
            "  ",
            say("{notes} on what was not checked in the report", notes=plural(len(audit.notes), "note")),
            2,
            _DIM,
        )
    if audit.redacted:
        page.add("  ", say("redacted: no store text is shown"), 2, _DIM)
    if audit.findings:
        page.gap()
        page.add("", say("next: memaudit explain {code}", code=audit.findings[0].code), 0)
