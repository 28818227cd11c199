"""Markdown: store text is text, whatever a service makes of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memaudit.history.compare import compare, with_changes
from memaudit.model import Evidence, Finding, Severity
from memaudit.reports.to_markdown import MAX_CHARACTERS, escaped, to_markdown

#: What a reader of GitHub's or GitLab's comments would see come to life.
LIVE = re.compile(
    r"[@#!~$%&:^](?=\w)(?<!&#)|://|\bwww\.|(?<![0-9A-Za-z])[0-9a-fA-F]{7,64}(?![0-9A-Za-z])|[A-Za-z][A-Za-z0-9]*-\d"
)


def outside_code(text: str) -> str:
    return re.sub(r"`[^`]+`", ".", text)  # what stood on both sides of it still does not touch


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("@alice", "@&#8203;alice"),
        ("see #12", "see #&#8203;12"),
        ("http://e.example", "http:&#8203;//e.example"),
        ("WWW.e.example", "WWW&#8203;.e.example"),
        ("[x](y)", "&#91;x&#93;(y)"),
        ("<img src=x>", "&#60;img src=x&#62;"),
        ("a|b", "a&#124;b"),
        ("a\\|b", "a&#92;&#124;b"),
        ("*x* _y_ ~z~", "&#42;x&#42; &#95;y&#95; &#126;&#8203;z&#126;"),
        ("GH-12", "GH-&#8203;12"),
        ("0a1b2c3d", "0a1b2c&#8203;3d"),
        (":tada:", ":&#8203;tada:"),
        ("`code` and ` rest", "`code` and &#96; rest"),
        ("`a|b`", "&#96;a&#124;b&#96;"),
        ("`a``b`", "`a`&#8203;`b`"),
        ("two\nlines", "two⏎lines"),
        ("工具 shell", "工具 shell"),
        ("11111111", "111111&#8203;11"),
        ("at 0123456789abcdef0123", "at 012345&#8203;6789ab&#8203;cdef01&#8203;23"),
        ("123456 abcdefg", "123456 abcdefg"),
        ("88.0 % of 1,234 rows (0.95)", "88.0 % of 1,234 rows (0.95)"),
    ],
)
def test_escaped_when_text_could_come_to_life_then_it_cannot(text: str, written: str) -> None:
    assert escaped(text) == written


@example("11111111")
@example(":`1`1")
@given(st.text(alphabet=st.sampled_from("`@#!a1f[](){}<>|\\_*~$&:/.w-\n 记"), max_size=40))
def test_escaped_when_given_any_text_then_no_live_character(text: str) -> None:
    made = escaped(text)
    assert "\n" not in made
    rest = outside_code(made)
    assert not re.search(r"[\\`*_\[\]|~$<>]", rest), made
    bare = re.sub(r"&#\d+;", lambda m: "\u200b" if m[0] == "&#8203;" else ".", rest)
    assert not LIVE.search(bare), made


@given(st.text(alphabet=st.sampled_from("`@#a1f[](){}<>|\\_*~!:/.w-= 记"), max_size=40))
def test_escaped_when_rendered_by_a_parser_then_the_same_text_and_no_markup(text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    html = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(f"| a |\n| --- |\n| x {escaped(text)} x |\n")
    seen: list[str] = []
    tags: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.add(tag)

        def handle_data(self, data: str) -> None:
            seen.append(data)

    Reader().feed(html)
    assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    shown = "".join(seen).replace("\u200b", "").replace("`", "").replace(" ", "").strip()
    assert re.sub(r"\s", "", shown) == "ax" + text.replace("`", "").replace(" ", "") + "x"


def test_comment_when_everything_is_hostile_then_within_the_limit(samples: ModuleType) -> None:
    for copies in (1, 20):
        text = to_markdown(samples.hostile_audit(copies))
        assert len(text) <= MAX_CHARACTERS
        rest = outside_code(text).replace("<!-- memaudit -->", "")
        assert "<" not in rest
        assert "](" not in rest
        assert not re.search(r"@\w", rest)


def test_comment_when_findings_are_cut_then_counted(samples: ModuleType) -> None:
    many = tuple(Finding("MA301", "k", Severity.LOW, {}, f"finding {n}", {}) for n in range(64))
    text = to_markdown(samples.published_audit(findings=many))
    assert "### 64 findings" in text
    assert text.count("| ● low |") == 50
    assert "and 14 more findings in report.json" in text


def test_comment_when_written_then_verdict_first_and_silence_named(samples: ModuleType) -> None:
    text = to_markdown(samples.published_audit())
    lines = text.splitlines()
    assert lines[2] == "## memaudit: The bottleneck is the generator: 24 values for about 70 situations."
    assert "- MA701, MA702, MA503 not run: no evaluation set given (--queries FILE)" in lines
    assert "- MA008 failed: ValueError: day out of range" in lines
    assert "1 finding suppressed: MA009" in lines
    assert "| ▲ medium | MA302 dedup-key-too-coarse | De-duplication drops 57 rows that are not redundant | 57 of 151 dropped rows | experiences.abstract&#95;pattern |" in lines  # fmt: skip


# -- beside an earlier audit or a baseline --------------------------------------------------------


def fault(code: str, share: float, severity: Severity = Severity.MEDIUM) -> Finding:
    """Return a finding of 200 rows with a share and the count behind it."""
    evidence = Evidence(total=round(200 * share))
    return Finding(
        code, "k", severity, {"column": code}, f"{code} @all", {"rows": 200, "share": share}, evidence, probe="p"
    )


def compared(samples: ModuleType, old: Sequence[Finding], new: Sequence[Finding]) -> str:
    """Return the comment of an audit beside the one of the week before."""
    plain = samples.published_audit(suppressed=())
    runs = [
        replace(plain.run, started=f"2026-08-{day:02d}T06:00:00+00:00", probe_seconds={"p": 1.0}) for day in (3, 10)
    ]
    before, after = (replace(plain, findings=tuple(f), run=run) for f, run in zip((old, new), runs, strict=True))
    return to_markdown(with_changes(after, compare(before, after)))


FACT = Finding("MA002", "store-profile", Severity.INFO, {}, "175 rows", {"rows": 175}, probe="p")


def test_comment_when_an_earlier_audit_is_there_then_what_changed_is_listed_and_the_rest_counted(
    samples: ModuleType,
) -> None:
    old = [fault("MA011", 0.04), fault("MA012", 0.1), fault("MA013", 0.2), fault("MA014", 0.3), FACT]
    new = [fault("MA010", 0.05), fault("MA012", 0.2), fault("MA013", 0.1), fault("MA014", 0.3), FACT]
    text = compared(samples, old, new)
    assert "### Since 2026-08-03 06:&#8203;00 UTC: 1 new, 1 worse, 1 better, 1 fixed, 1 unchanged." in text
    assert [line for line in text.splitlines() if "| MA01" in line] == [
        "| + new | ▲ medium | MA010 k | MA010 @&#8203;all (`share` 5.0 %) |  | MA010 |",
        "| ↑ worse | ▲ medium | MA012 k | MA012 @&#8203;all (`share` 10.0 % → 20.0 %) |  | MA012 |",
        "| ↓ better | ▲ medium | MA013 k | MA013 @&#8203;all (`share` 20.0 % → 10.0 %) |  | MA013 |",
        "| ✓ fixed | ▲ medium | MA011 k | MA011 @&#8203;all (`share` 4.0 %) |  |  |",
    ]
    assert "Not listed here: 1 finding unchanged, 1 finding of severity info. `report.json` holds all." in text


def test_comment_when_nothing_changed_then_no_table_of_findings_and_the_count(samples: ModuleType) -> None:
    same = [fault("MA012", 0.1), fault("MA014", 0.3)]
    text = compared(samples, same, same)
    assert "### Since 2026-08-03 06:&#8203;00 UTC: 2 unchanged." in text
    assert "MA012" not in text
    assert "Not listed here: 2 findings unchanged. `report.json` holds all." in text


def test_comment_when_many_changes_then_cut_and_counted(samples: ModuleType) -> None:
    text = compared(samples, [], [fault(f"MA{n:03d}", 0.1) for n in range(64)])
    assert text.count("| + new |") == 50
    assert "and 14 more changes in report.json" in text


def test_comment_when_settings_differ_then_the_break_is_named(samples: ModuleType) -> None:
    plain = samples.published_audit()
    other = replace(plain, config={**plain.config, "where": "a | b"})
    text = to_markdown(with_changes(other, compare(plain, other)))
    assert "- not comparable: `where` was not set, is a &#124; b" in text
