"""The course of figures: gaps, breaks, and what the page draws of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.changes import Break, Change, Changes, ChangeState, Course, Trend
from memaudit.history.archive import run_figures
from memaudit.history.compare import compare, with_changes
from memaudit.history.settings import Settings
from memaudit.history.trend import MAX_RUNS, Point, trend
from memaudit.reports import from_json, redacted, to_html, to_json, to_terminal
from memaudit.reports.since_page import HEIGHT, change_text, moment, rows_sentence, sparkline, summary, value_text
from memaudit.reports.to_diff import diff_to_json, diff_to_markdown, diff_to_text
from memaudit.reports.to_index import IndexEntry, to_index

Make = Callable[..., Any]


def points(*figures: dict[str, float], settings: tuple[Settings, ...] = ()) -> list[Point]:
    kinds = settings or (Settings("memories"),) * len(figures)
    return [
        Point(f"2026-08-{3 + i:02d}T06:00:00+00:00", f, s) for i, (f, s) in enumerate(zip(figures, kinds, strict=True))
    ]


def test_trend_when_figures_come_and_go_then_none_where_an_audit_lacks_them() -> None:
    made = trend(points({"rows": 10, "MA305 share": 0.2}, {"rows": 12}, {"rows": 15, "late": 1}))
    assert made is not None
    assert made.courses == (
        Course("rows", (10, 12, 15)), Course("late", (None, None, 1)), Course("MA305 share", (0.2, None, None)),
    )  # fmt: skip
    assert (made.breaks, made.runs_before) == ((), 0)


def test_trend_when_settings_change_then_a_break_before_that_audit() -> None:
    one, two = Settings("memories", {"encoder": "a"}), Settings("memories", {"encoder": "b"})
    made = trend(points({"x": 1}, {"x": 1}, {"x": 2}, settings=(one, one, two)))
    assert made is not None
    assert made.breaks == (Break(2, ("`encoder` was a, is b",)),)


def test_trend_when_one_audit_then_none_and_when_many_then_the_newest() -> None:
    assert trend(points({"x": 1})) is None
    assert trend([]) is None
    many = [Point(f"t{i}", {"x": float(i)}) for i in range(MAX_RUNS + 4)]
    made = trend(many)
    assert made is not None
    assert (len(made.runs), made.runs_before, made.runs[-1]) == (MAX_RUNS, 4, f"t{MAX_RUNS + 3}")
    assert made.courses[0].values[0] == 4.0


# -- the picture ----------------------------------------------------------------------------------


def test_sparkline_when_drawn_then_from_lowest_to_highest() -> None:
    view = sparkline((1.0, 3.0, 2.0), set())
    # x: 3 % to 97 % in equal steps; y: 25 px for the lowest (1), 5 px for the highest (3), 15 px half-way
    assert view.segments == ((3.0, 25.0, 50.0, 5.0), (50.0, 5.0, 97.0, 15.0))
    assert view.path == "M3 25L50 5L97 15"
    assert (view.last, view.dots, view.breaks) == ((97.0, 15.0), (), ())


def test_sparkline_when_there_is_a_gap_or_a_break_then_no_line_leads_over_it() -> None:
    gap = sparkline((1.0, None, 1.0, 2.0), set())
    assert len(gap.segments) == 1
    assert gap.path.count("M") == 1
    assert gap.dots == ((3.0, 25.0),)
    broken = sparkline((1.0, 2.0, 1.0, 2.0), {2})
    assert len(broken.segments) == 2
    assert broken.breaks == (50.0,)  # half-way between the second and the third of four points
    flat = sparkline((5.0, 5.0), set())
    assert {y for _, y, _, _ in flat.segments} == {HEIGHT / 2}
    assert sparkline((), set()).last is None
    assert sparkline((1.0, None), set()).last is None


@given(st.lists(st.none() | st.floats(-1e12, 1e12), max_size=30), st.sets(st.integers(0, 30)))
def test_sparkline_when_anything_is_given_then_inside_the_picture(values: list[float | None], broken: set[int]) -> None:
    view = sparkline(values, broken)
    for x, y in [*view.dots, *([view.last] if view.last else []), *((s[0], s[1]) for s in view.segments)]:
        assert 0 <= x <= 100
        assert 0 <= y <= HEIGHT
    present = [i for i, v in enumerate(values) if v is not None]
    assert (view.last is not None) == (bool(values) and values[-1] is not None)
    assert len(view.segments) == sum(1 for i in present if i - 1 in present and i not in broken)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("share_extra", 0.123, "12.3 %"), ("MA305 share_extra", 0.123, "12.3 %"), ("group_rows/rows", 0.05, "5.0 %"),
        ("rows", 1234.0, "1,234"), ("clusters@0.95", 70.0, "70"), ("MA304 within_group_cosine_mean", 0.7244, "0.724"),
        ("share_extra", 1.0, "100.0 %"), ("share_extra", 0.0, "0.0 %"), ("rows", None, "-"),
    ],
)  # fmt: skip
def test_value_text_when_shown_then_by_its_name(name: str, value: float | None, text: str) -> None:
    assert value_text(name, value) == text


def test_moment_when_shown_then_to_the_minute() -> None:
    assert moment("2026-08-03T06:00:09+00:00") == "2026-08-03 06:00 UTC"
    assert moment("2026-08-03T06:00:09+08:00") == "2026-08-03 06:00 +08:00"
    assert moment("yesterday") == "yesterday"


# -- the section, in every view -------------------------------------------------------------------


@pytest.fixture
def changed(make_audit: Make, make_finding: Make) -> Any:
    """Return an audit with one finding of each kind of change, and a course of three audits."""
    old = make_audit(
        make_finding("MA305", figures={"share_extra": 0.1}), make_finding("MA306", title="旧的 <script>alert(1)</script>"),
        make_finding("MA302", "high", figures={"share_below_090": 0.4}),
    )  # fmt: skip
    new = make_audit(
        make_finding("MA305", figures={"share_extra": 0.2}), make_finding("MA307", title="新的 `值` | @all"),
        make_finding("MA302", "high", figures={"share_below_090": 0.2}), started="2026-08-10T06:00:00+00:00", rows=230,
        figures={"rows": 230, "clusters@0.95": 50},
    )  # fmt: skip
    course = Trend(
        ("2026-07-27T06:00:00+00:00", old.run.started, new.run.started),
        (Course("rows", (190.0, 200.0, 230.0)), Course("clusters@0.95", (50.0, 50.0, 50.0)), Course("MA306 share", (0.3, 0.3, None))),
        (Break(1, ("`where` was x, is y",)),),
        2,
    )  # fmt: skip
    return replace(with_changes(new, compare(old, new)), trend=course)


def test_page_when_something_changed_then_said_marked_and_drawn(changed: Any) -> None:
    page = to_html(changed)
    section = page[page.index('id="since"') : page.index('id="not-checked"')]
    assert "Since 2026-08-03 06:00 UTC: 1 new, 1 worse, 1 better, 1 fixed." in section
    assert "Rows: 200 then, 230 now." in section
    assert "10.0 % → 20.0 %" in section
    assert "190 ‖ 200 → 230" in section
    assert section.count('<svg class="pic"') == 2  # rows, and the finding that is gone; clusters did not move
    assert "Figures that did not move: 1" in section
    assert "`" not in re.sub(r"<[^>]+>", "", section)
    assert "<script" not in page
    assert "2 older audits are in the history" in section
    assert re.search(r'<b class="chip c-new">new</b> ', page)
    assert '<a href="#since">' in page


def test_page_when_there_is_no_earlier_audit_then_no_section(make_audit: Make) -> None:
    assert "Since the last audit" not in to_html(make_audit())


def test_page_when_figures_are_not_comparable_then_the_reason_stands_there(make_audit: Make) -> None:
    new = make_audit(config={"thresholds": [0.9]})
    page = to_html(with_changes(new, compare(make_audit(), new)))
    assert "Figures are not comparable with the last audit" in page
    assert "<code>thresholds</code> was [0.98, 0.95], is [0.9]" in page


def test_page_when_the_history_is_long_then_still_light(changed: Any) -> None:
    courses = tuple(Course(f"figure_{n}", tuple(float(i * n % 7) for i in range(MAX_RUNS))) for n in range(1, 200))
    runs = tuple(f"2026-08-{i + 1:02d}T06:00:00+00:00" for i in range(MAX_RUNS))
    long = replace(changed, trend=Trend(runs, courses))
    page = to_html(long)
    assert len(page.encode()) - len(to_html(replace(changed, trend=None)).encode()) < 50_000
    assert "and 131 more figures in" in page  # 199; 28 of them, every seventh, are always 0; 40 are shown


def test_terminal_when_something_changed_then_said_and_fixed_ones_named(changed: Any) -> None:
    text = to_terminal(changed)
    assert "Since 2026-08-03 06:00 UTC: 1 new, 1 worse, 1 better, 1 fixed." in text
    assert "[new] 新的" in text
    assert "[worse] a finding of MA305" in text
    assert "fixed: MA306 旧的" in text
    assert to_terminal(changed, ascii_only=True).isascii()


def test_json_when_read_back_then_equal_and_the_page_too(changed: Any) -> None:
    back = from_json(to_json(changed))
    assert back == changed
    assert to_html(back) == to_html(changed)


def test_json_when_it_has_changes_then_it_meets_the_schema(changed: Any) -> None:
    import json
    from pathlib import Path

    import jsonschema

    import memaudit.reports

    schema = json.loads(Path(memaudit.reports.__file__).with_name("report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(to_json(changed)))


def test_redacted_when_a_fixed_finding_quotes_the_store_then_its_title_goes(
    make_audit: Make, make_finding: Make
) -> None:
    secret, present = "客户王小明的手机号码在这里", "another stored value of length"
    old = make_audit(make_finding("MA306", title=f"“{secret}” is stored twice", subject={"value": secret}))
    new = make_audit(make_finding(title=f"“{present}” is stored twice", subject={"value": present}))
    clean = redacted(with_changes(new, compare(old, new)))
    for text in (to_json(clean), to_html(clean), to_terminal(clean)):
        assert secret[:8] not in text
        assert present[:12] not in text
    assert clean.changes is not None
    assert [c.title for c in clean.changes.findings if c.state is ChangeState.FIXED] == ["exact-duplicates"]


def test_summary_when_nothing_was_found_then_said(make_audit: Make) -> None:
    assert summary(compare(make_audit(), make_audit())) == "Since 2026-08-03 06:00 UTC: no findings then or now."
    assert rows_sentence(Changes("x")) == ""
    assert rows_sentence(Changes("x", rows_before=5, rows_after=7, rows_added=3, rows_removed=1)) == (
        "Rows: 5 then, 7 now; 3 added, 1 removed."
    )
    assert change_text(Change(ChangeState.NEW, "MA1", "k", "low", "t", "f")) == ""


def test_diff_when_written_then_text_markdown_and_json_tell_the_same(changed: Any) -> None:
    import json

    changes = changed.changes
    text, markdown, document = diff_to_text(changes), diff_to_markdown(changes), json.loads(diff_to_json(changes))
    assert [c["state"] for c in document["findings"]] == ["new", "worse", "better", "fixed"]
    for written in (text, markdown):
        for code in ("MA307", "MA305", "MA302", "MA306"):
            assert code in written
        assert "200 → 230" in written or "| 200 | 230 |" in written
    # nothing of the store is a tag, a mention or a cell of its own
    for mark in ("<script", "@all", "`值`"):
        assert mark not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| new")]
    assert len(rows) == 1
    assert rows[0].count("|") == 6
    assert diff_to_text(changes, ascii_only=True).isascii()


def test_index_when_written_then_links_escaped_and_incomplete_said() -> None:
    page = to_index(
        [
            IndexEntry("2026-08-10T06:00:00+00:00", "../a.db › m", "<script>x</script>", 1200, {"high": 2}, True, "pages/a.html"),
            IndexEntry("2026-08-03T06:00:00+00:00", "../a.db › m", "Zero.", None, {}, False),
        ]
    )  # fmt: skip
    assert '<a href="pages/a.html">2026-08-10 06:00 UTC</a>' in page
    assert "<script>" not in page
    assert "1,200" in page
    assert "2 high" in page
    assert "incomplete" in page
    assert "No audit is kept here." in to_index([])


def test_names_when_long_then_cut_with_a_sign_and_never_in_silence(make_audit: Make, make_finding: Make) -> None:
    column = "trigger, diagnosis, fix_summary, abstract_pattern"  # 49 characters
    finding = make_finding("MA401", subject={"column": column}, figures={"share_constant": 0.5})
    figures = run_figures(make_audit(finding, figures={}))
    assert list(figures) == [f"MA401 {column[:39]}… share_constant"]
    audit = replace(
        make_audit(),
        trend=Trend(
            ("a", "b"),
            (Course(next(iter(figures)), (0.5, 0.6)), Course("x" * 130, (1.0, 2.0)), Course("y" * 130, (1.0, 1.0))),
        ),
    )
    page = to_html(audit)
    assert f"MA401 {column[:39]}… share_constant" in page
    assert "x" * 120 + "…" in page
    assert "y" * 120 + "…" in page
    assert "x" * 121 not in page
