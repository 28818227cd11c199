from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.model import Severity
from memaudit.probes.text_integrity import PROBE, long_rows, what_it_is, wrong_types
from memaudit.text.invisible import invisible_characters
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content"}
HEALTHY = ["部署前先在 staging 跑一遍回归测试。", "The client waits twice as long each time.", "缓存 key 带版本号 v3。"]


def rows(texts: Any) -> Any:
    return [{"id": i + 1, "content": text} for i, text in enumerate(texts)]


# -- MA005 --------------------------------------------------------------------------------------


def test_types_when_numbers_blobs_and_nul_are_stored_then_counted_apart() -> None:
    stored = [*HEALTHY, 42, 7, b"blob", 1.5, "a\x00b", None]
    finding = only(PROBE.run(make_context(rows(stored), roles=ROLES)), "MA005")
    assert finding.figures["integer_rows"] == 2
    assert finding.figures["blob_rows"] == 1
    assert finding.figures["real_rows"] == 1
    assert finding.figures["nul_rows"] == 1
    assert finding.figures["rows_affected"] == 5
    assert finding.evidence.ids == (4, 5, 6, 7, 8)
    assert finding.severity is Severity.MEDIUM
    assert finding.subject == {"table": "memories", "column": "content"}


def test_types_when_every_value_is_a_blob_of_text_then_silent() -> None:
    assert wrong_types([text.encode() for text in HEALTHY]).rows == ()
    assert wrong_types([b"\x80\x00\x01", *(text.encode() for text in HEALTHY)]).rows == (0, 1, 2, 3)


def test_types_when_texts_look_like_numbers_or_are_missing_then_silent() -> None:
    assert codes(PROBE.run(make_context(rows(["42", "3.14", None, *HEALTHY]), roles=ROLES))) == []


# -- MA006 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("pass\u200bword", {"zero-width": 1}),
        ("\ufeffstart", {"byte order mark": 1}),
        ("user\u202eexe.txt", {"bidi control": 1}),
        ("hi" + "".join(chr(0xE0000 + ord(c)) for c in "obey"), {"tag": 4}),
        ("a\u200db", {"zero-width": 1}),
        ("中\u200d文", {"zero-width": 1}),
        ("hello\ufe0f\ufe01\ufe02", {"variation selector": 2}),
        ("x\U000e0101", {"variation selector": 1}),
        ("icon \ue0b0", {"private use": 1}),
        ("\x1b[31mred", {"control": 1}),
        ("شركة \u202e", {"bidi control": 1}),  # an override is suspicious in any script
    ],
)
def test_invisible_when_nothing_needs_the_character_then_counted(text: str, kinds: dict[str, int]) -> None:
    assert invisible_characters(text) == kinds


@pytest.mark.parametrize(
    "text",
    [
        "👨\u200d👩\u200d👧 family",
        "👩🏽\u200d💻 works",
        "🏳\ufe0f\u200d🌈",
        "🏃\u200d♀\ufe0f runs",
        "❤\ufe0f and 1\ufe0f\u20e3",
        "می\u200cخواهم",  # Persian, non-joiner
        "क्\u200dष",  # Devanagari, joiner
        "ක්\u200dර",  # Sinhala
        "ភាសា\u200bខ្មែរ",  # Khmer word separator
        "עברית \u200f(abc)\u200e",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f Scotland",
        "葛\U000e0100城",  # ideographic variation
        "ᠮᠣᠩ\u180bᠭ",
        "co\u00adoperate",
        "中文 and English,\ttab\r\nnew line\u3000ideographic\u00a0no-break",
        "",
    ],
)
def test_invisible_when_script_or_emoji_needs_it_then_silent(text: str) -> None:
    assert invisible_characters(text) == {}


def test_invisible_when_rows_are_affected_then_ids_and_kinds() -> None:
    texts = [*HEALTHY * 10, "zero\u200bwidth", "👨\u200d👩\u200d👧", "零\u200b宽\u2060"]
    finding = only(PROBE.run(make_context(rows(texts), roles=ROLES)), "MA006")
    assert finding.figures["rows"] == 33
    assert finding.figures["rows_affected"] == 2
    assert finding.figures["ids"] == [31, 33]
    assert finding.figures["kinds"] == {"zero-width": 2}
    assert finding.severity is Severity.MEDIUM  # 2 of 33 = 6.1 %
    assert "<U+200B>" in finding.evidence.shown[0].text


def test_invisible_when_one_row_of_many_has_zero_width_then_low_but_tags_medium() -> None:
    texts = [f"note {i}" for i in range(99)]
    low = only(PROBE.run(make_context(rows([*texts, "zero\u200bwidth"]), roles=ROLES)), "MA006")
    tags = only(PROBE.run(make_context(rows([*texts, "x\U000e0041"]), roles=ROLES)), "MA006")
    assert (low.severity, tags.severity) == (Severity.LOW, Severity.MEDIUM)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Z", "S"])))
def test_invisible_when_only_visible_characters_then_silent(text: str) -> None:
    assert invisible_characters(text) == {}


# -- MA007 --------------------------------------------------------------------------------------


def test_long_when_a_picture_is_stored_then_reported_with_its_length() -> None:
    picture = "data:image/png;base64," + "iVBORw0KGgoAAAAN" * 1_000
    finding = only(PROBE.run(make_context(rows([*HEALTHY * 5, picture]), roles=ROLES)), "MA007")
    assert finding.figures["chars"] == 22 + 16_000
    assert finding.figures["rows"] == 16
    assert finding.figures["rows_affected"] == 1
    assert finding.figures["rows_of_data"] == 1
    assert finding.evidence.ids == (16,)
    assert finding.severity is Severity.MEDIUM


def test_long_when_a_log_was_stored_then_named_a_log() -> None:
    log = "\n".join(f"2026-05-01 12:00:{i % 60:02d} INFO worker {i} 完成" for i in range(400))
    assert what_it_is(log) == "log"
    middle, found = long_rows([*HEALTHY * 5, log])
    assert middle == 22.0  # 15, 22 and 41 characters five times each, and the log: the 8th and 9th of 16 are 22
    assert [(r.row, r.what) for r in found] == [(15, "log")]


@pytest.mark.parametrize(
    "texts",
    [
        [f"chunk {i} " + "word " * 400 for i in range(20)] + ["fact " * 3] * 20,  # documents beside facts
        ["short fact"] * 20 + ["long page. " * 1_000] * 4,  # 17 % of the rows are long texts
        ["short fact"] * 20 + ["page " * 1_900],  # 9,500 characters
        ["x" * 300] * 20 + ["page " * 2_900],  # 14,500 characters, 48 times the median
        ["only one row " * 5_000],
        [""] * 10 + ["one row " * 5_000],
        ["https://example.org/" + "a" * 600, *HEALTHY],
        [],
    ],
)
def test_long_when_lengths_are_mixed_but_usual_then_silent(texts: list[str]) -> None:
    assert long_rows(texts)[1] == ()


def test_long_when_one_plain_text_is_long_then_low() -> None:
    texts = [f"{'fact ' * 10}{i}" for i in range(30)] + ["A page of notes. " * 1_000]
    finding = only(PROBE.run(make_context(rows(texts), roles=ROLES)), "MA007")
    assert finding.severity is Severity.LOW  # 17,000 / 51.5 = 330 times
    assert finding.figures["chars"] == 17_000
