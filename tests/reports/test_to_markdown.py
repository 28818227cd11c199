"""Markdown: store text is text, whatever a service makes of Markdown."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.model import Finding, Severity
from memaudit.reports.to_markdown import MAX_CHARACTERS, escaped, to_markdown

#: What a reader of GitHub's or GitLab's comments would see come to life.
LIVE = re.compile(
    r"[@#!~$%&:^](?=\w)(?<!&#)|://|\bwww\.|(?<![0-9A-Za-z])[0-9a-fA-F]{7,64}(?![0-9A-Za-z])|[A-Za-z][A-Za-z0-9]*-\d"
)


def outside_code(text: str) -> str:
    return re.sub(r"`[^`]+`", "", text)


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
        ("0a1b2c3d", "0&#8203;a1b2c3d"),
        (":tada:", ":&#8203;tada:"),
        ("`code` and ` rest", "`code` and &#96; rest"),
        ("`a|b`", "&#96;a&#124;b&#96;"),
        ("`a``b`", "`a`&#8203;`b`"),
        ("two\nlines", "two⏎lines"),
        ("工具 shell", "工具 shell"),
        ("88.0 % of 1,234 rows (0.95)", "88.0 % of 1,234 rows (0.95)"),
    ],
)
def test_escaped_when_text_could_come_to_life_then_it_cannot(text: str, written: str) -> None:
    assert escaped(text) == written


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
