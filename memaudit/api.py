"""The audit from Python: `memaudit.audit("experiences.db").above("medium")`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memaudit.errors import ConfigError
from memaudit.model import Audit, Basis, Finding, Severity, Verdict
from memaudit.wording import plural, say

if TYPE_CHECKING:
    from memaudit.config import Config
    from memaudit.stores.store import Store

#: File name endings that `save` knows, longest first.
ENDINGS: Mapping[str, str] = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".sarif": "sarif",
    ".xml": "junit",
    ".txt": "text",
}


def audit(
    store: Any = None, *, config_file: str | os.PathLike[str] | None = None, isolated: bool = False, **keys: Any
) -> AuditResult:
    """Audit a store, as `memaudit run` does, and return the result instead of writing it.

    Parameters
    ----------
    store
        Path of the store, or a pandas DataFrame with one row a memory; None takes it from the configuration.
    config_file
        Configuration file; without it the one that `memaudit run` would find from the current folder.
    isolated
        Read no configuration file and no environment.
    keys
        Configuration keys (`memaudit config` lists them): `table="notes"`, `select=["MA3"]`, `redact=True`.

    Returns
    -------
    The result. An audit that could not be finished is returned too: see `AuditResult.problem`.

    Raises
    ------
    ConfigError
        An unknown key or value, or a named table or column that is not there.
    StoreError
        The store cannot be opened or read.
    """
    from memaudit.engine import run_audit
    from memaudit.stores.frames import is_frame, open_frame

    opened: Store | None = None
    if is_frame(store):
        opened = open_frame(store)
        store = opened.path
    try:
        config = _config(None if opened else store, config_file, isolated, keys, frame=opened is not None)
        made = run_audit(config, command=_call(store, keys), opened=opened)
    finally:
        if opened is not None:
            opened.close()
    if config.redact:
        from memaudit.reports import redacted

        made = redacted(made)
    return AuditResult(made)


def _config(
    store: Any, file: str | os.PathLike[str] | None, isolated: bool, keys: Mapping[str, Any], *, frame: bool
) -> Config:
    from dataclasses import replace

    from memaudit.config_file import load

    if store is not None and not isinstance(store, (str, os.PathLike)):
        raise ConfigError(
            say("store is a {name}; a path or a pandas DataFrame was expected.", name=type(store).__name__)
        )
    options = {name: _plain(value) for name, value in {"store": store, **keys}.items()}
    config = load(file=None if file is None else Path(file), isolated=isolated, options=options)
    return replace(config, store="DataFrame", store_kind=None) if frame else config


def _plain(value: Any) -> Any:
    """Write paths as texts, alone and in lists; the configuration checks the rest."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(_plain(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value))
    return value


def _call(store: Any, keys: Mapping[str, Any]) -> str:
    """Write the call down for the report, as it can be made again."""
    from memaudit.stores.addresses import masked

    def shown(value: Any) -> str:
        plain = _plain(value)
        return repr(masked(plain) if isinstance(plain, str) else plain)

    parts = [] if store is None else [store if store == "DataFrame" else shown(store)]
    return f"memaudit.audit({', '.join([*parts, *(f'{name}={shown(value)}' for name, value in keys.items())])})"


class Findings(tuple[Finding, ...]):
    """Findings in the order of the report; short when shown, whole lines with `str()`."""

    __slots__ = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """Rules of the findings, in their order, each once."""
        return tuple(dict.fromkeys(f.code for f in self))

    def __repr__(self) -> str:
        """Show how many there are and of which rules."""
        if not self:
            return "<no findings>"
        listed = ", ".join(f"{f.code} {f.severity.label}" for f in self[:10])
        return f"<{plural(len(self), 'finding')}: {listed}{', …' if len(self) > 10 else ''}>"

    def __str__(self) -> str:
        """Show one finding a line, with the remedy beneath; what quotes the store is made visible."""
        return "\n".join(_lines(self)) or "no findings"


def _lines(findings: Iterable[Finding]) -> list[str]:
    from memaudit.reports.pointers import code_place, names_of, sentence

    lines = []
    for finding in findings:
        place = code_place(finding)
        where = ".".join(names_of(finding)) if place is None else place.file + (f":{place.line}" if place.line else "")
        weak = "" if finding.basis is Basis.MEASURED else f" [{finding.basis.value}]"
        at = f"  ({sentence(where)})" if where else ""
        lines.append(f"{finding.code} {finding.severity.label}{weak}: {sentence(finding.title)}{at}")
        if finding.fix:
            lines.append(f"    {sentence(finding.fix)}")
    return lines


class AuditResult:
    """The result of :func:`audit`.

    Parameters
    ----------
    audit
        The whole audit as plain data (`memaudit.model.Audit`); every format is a view of it.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    @property
    def verdict(self) -> Verdict:
        """Where the memory is limited: `state`, `sentence`, `do_first`, `lanes`."""
        return self.audit.verdict

    @property
    def findings(self) -> Findings:
        """Every finding that is not suppressed, most severe first."""
        return Findings(self.audit.findings)

    @property
    def figures(self) -> Mapping[str, Any]:
        """Headline figures by name."""
        return self.audit.figures

    @property
    def problem(self) -> str:
        """Why no finding would mean nothing: the audit is incomplete, or there were no rows; "" when all is well."""
        if self.audit.incomplete:
            return say("the audit is incomplete: {reason}", reason=self.audit.incomplete)
        if self.audit.store is not None and self.audit.store.rows_used == 0:
            return say("nothing was audited: 0 rows.")
        return ""

    def above(self, severity: str = "medium", *, underpowered: bool = False) -> Findings:
        """Return the findings at or above a severity: what `--fail-on` would fail for.

        Parameters
        ----------
        severity
            `info`, `low`, `medium` or `high`.
        underpowered
            Count findings too that rest on too little data to fail a build.

        Raises
        ------
        ConfigError
            Another word.
        """
        try:
            lowest = Severity.of(severity)
        except (KeyError, AttributeError):
            raise ConfigError(
                say("above({severity}): info, low, medium or high was expected.", severity=repr(severity))
            ) from None
        return Findings(
            f
            for f in self.audit.findings
            if f.severity >= lowest and (underpowered or f.basis is not Basis.UNDER_POWERED)
        )

    def render(self, format: str) -> str:
        """Return the audit in a format of `--format` (`markdown`, `sarif`, `junit`, ...).

        Raises
        ------
        ConfigError
            No such format.
        """
        from memaudit.reports import RENDERERS

        if format not in RENDERERS:
            raise ConfigError(
                say('unknown format "{format}".', format=format),
                say("Formats: {names}.", names=", ".join(RENDERERS)),
            )
        return RENDERERS[format](self.audit)

    def to_html(self) -> str:
        """Return the page."""
        return self.render("html")

    def to_json(self) -> str:
        """Return report.json."""
        return self.render("json")

    def save(self, path: str | os.PathLike[str], format: str | None = None, *, force: bool = False) -> Path:
        """Write the audit to a file (mode 0600: it holds memory text) and return its path.

        Parameters
        ----------
        format
            By the file's ending when not given: .html .json .jsonl .md .sarif .xml (JUnit) .txt.
        force
            Overwrite a file that memaudit did not write.

        Raises
        ------
        ConfigError
            The ending says nothing, or something of somebody else is in the way.
        """
        from memaudit.output import check_writable, write_whole

        place = Path(path)
        name = format or ENDINGS.get(place.suffix.lower())
        if name is None:
            raise ConfigError(
                say('the ending of "{name}" names no format.', name=place.name),
                say("Endings: {endings}; or give format=.", endings=" ".join(ENDINGS)),
            )
        text = self.render(name)
        check_writable(place, force=force)
        write_whole(place, text)
        return place

    def __repr__(self) -> str:
        """Show the verdict's state and how many findings there are."""
        return f"<AuditResult {self.verdict.state}: {self.findings!r}>"

    def __str__(self) -> str:
        """Show the summary of the terminal."""
        return self.render("text").rstrip("\n")

    def _repr_html_(self) -> str:
        """Show the page in a notebook: in a frame that may run nothing and reach nothing."""
        from html import escape

        page = escape(self.to_html(), quote=True)
        title = escape(say("memaudit: {verdict}", verdict=self.verdict.sentence), quote=True)
        return (
            f'<iframe sandbox="" referrerpolicy="no-referrer" width="100%" height="640" title="{title}" '
            f'srcdoc="{page}"></iframe>'
        )
