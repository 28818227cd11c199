"""The audit as one self-contained page: no script, no network, nothing from the store unescaped."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from memaudit.model import Audit, Audits
from memaudit.reports.page import page_view, prose
from memaudit.reports.shown_text import shown
from memaudit.reports.table_page import Caps
from memaudit.wording import plural, say, space_between, spoken, term

if TYPE_CHECKING:
    from jinja2 import Environment, Template

#: The page never grows beyond this, whatever the audit holds.
MAX_BYTES = 500_000
#: The same for a page of several audits.
MAX_BYTES_TOGETHER = 2_000_000

# Tried in turn until the page fits; the last one is small enough for any audit (asserted by a test with
# every list full of the longest texts).
_CAPS = (
    Caps(),
    Caps(rows=25, text=120, prose=800, sections=30, tables=5, figures=25, keys=12, breakdowns=8, shortened=True),
    Caps(
        rows=10,
        text=80,
        prose=400,
        findings=30,
        sections=15,
        tables=3,
        columns=8,
        examples=2,
        figures=12,
        groups=4,
        keys=5,
        notes=12,
        breakdowns=0,
        shortened=True,
    ),
    Caps(
        rows=4,
        text=30,
        prose=120,
        findings=12,
        sections=6,
        tables=2,
        columns=6,
        examples=1,
        figures=6,
        groups=2,
        keys=3,
        notes=5,
        breakdowns=0,
        shortened=True,
    ),
)


@spoken
def to_html(audit: Audit) -> str:
    """Write an audit as one HTML page.

    Parameters
    ----------
    audit
        Shown in its own order; nothing is computed or sorted here.

    Returns
    -------
    The page, at most `MAX_BYTES` bytes of UTF-8. Its size does not depend on the number of rows: lists are
    cut and say how many entries report.json holds beyond them. Equal audits give equal pages.
    """
    template = _template()
    page = ""
    for caps in _CAPS:
        page = template.render(audit=audit, page=page_view(audit, caps), caps=caps)
        if len(page.encode("utf-8")) <= MAX_BYTES:
            break
    return page


@spoken
def tables_to_html(audits: Audits) -> str:
    """Write the audits of several tables as one page: a list of the tables, then each audit.

    Returns
    -------
    The page, at most `MAX_BYTES_TOGETHER` bytes of UTF-8. When even the shortest form of all audits is longer, the
    smallest tables keep their line in the list and no more.
    """
    from memaudit.reports.every_table_page import tables_view

    template = environment().get_template("tables.html.j2")
    n, page = len(audits.audits), ""
    for caps in _CAPS:
        page = template.render(**tables_view(audits, caps, n), caps=caps)
        if len(page.encode("utf-8")) <= MAX_BYTES_TOGETHER:
            return page
    while n and len(page.encode("utf-8")) > MAX_BYTES_TOGETHER:
        n //= 2
        page = template.render(**tables_view(audits, _CAPS[-1], n), caps=_CAPS[-1])
    return page


def _template() -> Template:
    return environment().get_template("page.html.j2")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the one environment of all pages: escaping on, nothing undefined, our filters."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("memaudit.reports", "templates"),
        autoescape=True,  # for every template: names ending in .html.j2 are not in Jinja's default list
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=prose, shown=shown)
    made.globals.update(say=say, plural=plural, term=term, space_between=space_between)
    return made
