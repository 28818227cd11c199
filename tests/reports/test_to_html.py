from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import memaudit.reports
from memaudit.model import Cell, Column, Evidence, Example, Section, Table
from memaudit.reports import from_json, to_html, to_json
from memaudit.reports.to_html import MAX_BYTES

TEMPLATES = Path(memaudit.reports.__file__).parent / "templates"
VOID = {"meta", "rect", "line", "circle", "br", "link", "img"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, text by element, and broken nesting."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.faults: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.mark.parametrize("name", ["published_audit", "quiet_audit", "hostile_audit"])
def test_to_html_when_any_audit_then_one_safe_self_contained_page(samples: ModuleType, name: str) -> None:
    html = to_html(getattr(samples, name)())
    html.encode("utf-8")
    page = Page(html)
    assert page.faults == []
    assert page.open == []
    assert not {"script", "img", "iframe", "link", "object", "form", "base"} & set(page.texts)
    assert len(page.all("style")) == len(page.all("h1")) == len(page.all("title")) == 1
    for _, attrs in page.elements:
        assert "style" not in attrs
        assert not any(key.startswith("on") for key in attrs)
        for key in ("href", "src"):
            assert (attrs.get(key) or "#").startswith("#")
    policies = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv")]
    assert policies == [POLICY]
    assert "://" not in re.sub(r"[\w.]*onmouse\S*", "", html)
    assert "url(" not in html
    assert "@import" not in html


@pytest.mark.parametrize("name", ["published_audit", "quiet_audit", "hostile_audit"])
def test_to_html_when_any_audit_then_every_link_and_label_points_somewhere(samples: ModuleType, name: str) -> None:
    page = Page(to_html(getattr(samples, name)()))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs["href"] for attrs in page.all("a")] + [
        f"#{attrs['aria-labelledby']}" for _, attrs in page.elements if "aria-labelledby" in attrs
    ]
    assert {target[1:] for target in targets if target} <= set(ids)


def test_to_html_when_published_case_then_the_verdict_comes_first(samples: ModuleType) -> None:
    page = Page(to_html(samples.published_audit()))
    assert page.texts["h1"] == ["The bottleneck is the generator: 24 values for about 70 situations."]
    assert page.texts["title"][0].startswith("The bottleneck is the generator")
    order = [
        "The bottleneck is the generator: 24",
        "The store holds about 70",
        "Do first:",
        "1 Data collection",
        "2 Generator",
        "3 Retrieval",
        "How this verdict was reached",
        "10 findings: 2 high, 4 medium, 3 low, 1 info. 1 of them under-powered",
        "Is “24 distinct values” a fact",
        "Counts on one scale",
        "About the code",
        "How this was computed",
        "What was not checked",
        "None: every row was used (175 rows).",
        "memaudit run --store data/experiences.db",
    ]
    text = page.text[page.text.index("Skip to") :]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    for words in ("▲ problem", "■ bottleneck", "◌ not enough data"):
        assert words in text


def test_to_html_when_published_case_then_findings_say_size_with_base(samples: ModuleType) -> None:
    page = Page(to_html(samples.published_audit()))
    cells = page.texts["td"]
    for size in (
        "154 of 175 rows",
        "57 of 151 dropped rows",
        "47 of 175 rows",
        "19,282 of 35,649 characters",
        "175 of 500 rows",
        "70 clusters, 24 values",
        "1 of 175 rows reach it",
    ):
        assert size in cells
    assert "under-powered" in cells
    assert "3 probes could not look in full." in page.text  # one of them may have looked for other rules
    assert "2 of 175 rows" not in page.text  # two lines of code are no rows


def test_to_html_when_a_section_names_the_code_then_the_code_leads_there(samples: ModuleType) -> None:
    html = to_html(samples.published_audit())
    assert '<a href="#s-1-pool-width">MA101</a></th>' in html
    assert '<a href="#f-5">MA201</a></th>' in html  # no section: its own fold
    assert '<div id="f-5" class="fold">' in html


def test_to_html_when_backticks_then_code_and_nothing_unescaped(samples: ModuleType) -> None:
    audit = samples.published_audit()
    verdict = replace(audit.verdict, lead="use `a<b>` and <i> and an odd ` here")
    html = to_html(replace(audit, verdict=verdict))
    assert "use <code>a&lt;b&gt;</code> and &lt;i&gt; and an odd ` here" in html


def test_to_html_when_bars_then_percent_coordinates_and_a_line_at_the_reference(samples: ModuleType) -> None:
    page = Page(to_html(samples.published_audit()))
    widths = [attrs["width"] for attrs in page.all("rect") if attrs.get("class") == "fill"]
    # 175, 93, 70, 50, 40, 27, 24 of 175
    expected = [f"{round(100 * n / 175, 2)}%" for n in (175, 93, 70, 50, 40, 27, 24)]
    assert widths[:7] == expected
    assert all(attrs.get("viewbox") is None and attrs["aria-hidden"] == "true" for attrs in page.all("svg"))
    lines = [attrs["x1"] for attrs in page.all("line") if attrs.get("class") == "ref"]
    assert lines[:7] == ["13.71%"] * 7  # 24 / 175
    assert "Bars: 0 to 175. Dashed line: distinct values in the store (24)." in " ".join(page.text.split())


def test_to_html_when_values_share_a_prefix_then_it_stands_in_the_caption_once(samples: ModuleType) -> None:
    page = Page(to_html(samples.published_audit()))
    caption = next(text for text in page.texts["caption"] if "8 values" in text)
    assert "Each value begins with “工具试错模式: ”, left out below." in caption
    assert "…shell工具重试成功" in page.texts["th"]
    assert "…参数修正" in page.texts["th"]
    assert {"lang": "zh"} in page.all("bdi")


def test_to_html_when_store_text_is_long_then_cut_with_full_length(samples: ModuleType) -> None:
    table = Table("t", "c", (Column("v", "V", Cell.VALUE),), ({"v": "记" * 5000},))
    html = to_html(samples.published_audit(sections=(Section("k", "T", "Q", "A", tables=(table,)),)))
    assert "记" * 200 in html
    assert "记" * 201 not in html
    assert "… (5,000 characters)" in html


def test_to_html_when_hostile_then_controls_are_written_out(samples: ModuleType) -> None:
    html = to_html(samples.hostile_audit())
    assert "right⟨U+202E⟩to left" in html
    assert "lone ⟨U+D800⟩ surrogate" in html
    assert "{{7*7}}" in html
    assert not set(html) & set("\x00\x1b\x9b\u202e\u200b\ud800")


def test_to_html_when_lists_are_long_then_capped_and_the_rest_is_counted(samples: ModuleType) -> None:
    table = Table("t", "c", (Column("v", "V", Cell.VALUE),), tuple({"v": f"{n} value"} for n in range(1234)))
    page = Page(to_html(samples.published_audit(sections=(Section("k", "T", "Q", "A", tables=(table,)),))))
    assert "49 value" in page.texts["th"]
    assert "50 value" not in page.texts["th"]
    assert "and 1,184 more rows in report.json" in page.text


def test_to_html_when_rows_grow_then_the_page_does_not(samples: ModuleType) -> None:
    def page(n: int) -> str:
        rows = tuple({"v": f"{i:06d} value", "n": i} for i in range(n))
        table = Table("t", "c", (Column("v", "V", Cell.VALUE), Column("n", "N", Cell.BAR)), rows, scale=1000)
        audit = samples.published_audit(sections=(Section("k", "T", "Q", "A", tables=(table,)),))
        finding = replace(audit.findings[0], evidence=Evidence((Example("x", 1),) * 5, n, tuple(range(n))))
        return to_html(replace(audit, findings=(finding,)))

    assert abs(len(page(20_000)) - len(page(200))) < 200


def test_to_html_when_typical_then_below_150_kb(samples: ModuleType) -> None:
    audit = samples.published_audit()
    assert len(to_html(audit).encode()) < 150_000


@pytest.mark.parametrize("copies", [3, 12])
def test_to_html_when_everything_is_full_then_never_beyond_the_budget(samples: ModuleType, copies: int) -> None:
    html = to_html(samples.hostile_audit(copies))
    assert len(html.encode("utf-8")) <= MAX_BYTES
    assert "This audit is unusually large" in html


def test_to_html_when_nothing_found_then_it_still_answers(samples: ModuleType) -> None:
    page = Page(to_html(samples.quiet_audit()))
    assert page.texts["h1"] == ["No fault found in 1 memory; 3 of 9 probes could not look."]
    assert "No findings." in page.text
    assert "Every rule could look." in page.text
    assert "None: every row was used (1 row)." in page.text


def test_to_html_when_rows_were_not_used_then_the_page_says_so(samples: ModuleType) -> None:
    audit = samples.published_audit()
    store = replace(audit.store, rows_used=170)
    text = Page(to_html(replace(audit, store=store))).text
    assert "170 of 175 rows used" in text
    assert "None: every row" not in text


def test_to_html_when_a_probe_failed_then_it_is_not_called_skipped(samples: ModuleType) -> None:
    page = Page(to_html(samples.published_audit()))
    assert "✕ failed" in page.text
    assert "– skipped" in page.text
    assert "(traceback in report.json)" in page.text
    assert "Traceback ..." not in page.text


def test_to_html_when_rendered_twice_and_from_json_then_equal(samples: ModuleType) -> None:
    audit = samples.published_audit()
    assert to_html(audit) == to_html(audit) == to_html(from_json(to_json(audit)))


def test_templates_when_read_then_nothing_is_marked_safe() -> None:
    files = sorted(TEMPLATES.glob("*.j2"))
    assert len(files) >= 5
    for file in files:
        source = file.read_text("utf-8")
        assert not re.search(r"\|\s*safe|Markup|autoescape\s+false|xmlattr", source), file.name
        assert " style=" not in source
        assert "<script" not in source


def test_import_when_reports_then_nothing_heavy() -> None:
    code = "import sys, memaudit.reports; print(sorted({'jinja2', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
