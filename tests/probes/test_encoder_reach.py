from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.encoders.tokens import FileTokenizer, Token, tokenizer_of
from memaudit.encoders.window import (
    cjk_rows,
    reach,
    rows_to_withhold,
    unknown_share,
    visible_by_tokens,
    visible_chars,
)
from memaudit.errors import EncoderError
from memaudit.model import Severity
from memaudit.probes import encoder_reach
from memaudit.probes.encoder_reach import PROBE
from tests.probes.builders import blob, codes, make_context, only

ROLES = {"text": "content", "embedding": "embedding"}
CHINESE = [
    "部署前先跑测试",
    "缓存带版本号",
    "周五不要上线",
    "客户要求中文回复",
    "备份放在另一个机房",
    "接口超时改成十秒",
]
ENGLISH = ["Use the blue pipeline", "Ask for the time zone", "Never drop a column", "Thumbnails are lazy", "Seed tests"]


class WordTokenizer:
    """Knows Latin words and punctuation, and has one unknown token for each Han character."""

    name = "fake-latin"
    max_tokens: int | None = 8
    n_special = 2

    def tokens(self, text: str) -> Sequence[Token]:
        found = re.finditer(r"[A-Za-z0-9]+|[^\w\s]|[\u4e00-\u9fff]", text)
        return [Token(m.start(), m.end(), bool(re.match("[\u4e00-\u9fff]", m.group()))) for m in found]


def vectors_context(cjk_cos: float, other_cos: float, chinese: Any = CHINESE, **more: Any) -> Any:
    """Chinese rows at one cosine to each other, English ones at another: a shared axis and one of its own."""
    texts = [*chinese, *ENGLISH]
    rows = []
    for i, text in enumerate(texts):
        cos, axis = (cjk_cos, 0) if i < len(chinese) else (other_cos, 1)
        vector = np.zeros(2 + len(texts))
        vector[axis], vector[2 + i] = np.sqrt(cos), np.sqrt(1 - cos)
        rows.append({"id": i + 1, "content": text, "embedding": blob(*vector)})
    return make_context(rows, roles=ROLES, **more)


# -- MA017 --------------------------------------------------------------------------------------


def test_blind_when_chinese_texts_fall_together_then_high_from_the_data() -> None:
    finding = only(PROBE.run(vectors_context(0.97, 0.1)), "MA017")
    assert finding.severity is Severity.HIGH
    figures = finding.figures
    assert (figures["rows"], figures["cjk_rows"]) == (11, 6)
    assert figures["median_cosine_cjk"] == pytest.approx(0.97, abs=1e-5)
    assert figures["max_cosine_other"] == pytest.approx(0.1, abs=1e-5)
    assert figures["unknown_token_share_cjk"] is None
    assert "tokenizer" in (finding.caveat or "")
    assert finding.evidence.ids == (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("cjk", "other", "chinese"),
    [
        (0.4, 0.1, CHINESE),  # the usual spread
        (0.85, 0.8, CHINESE),  # an encoder whose cosines are all high
        (0.97, 0.1, [f"冷藏室 A 温度读数 {i} 度" for i in range(6)]),  # one thing measured again and again
        (0.97, 0.1, CHINESE[:4]),  # too few
        (0.97, 0.1, []),
    ],
)
def test_blind_when_explained_or_not_there_then_silent(cjk: float, other: float, chinese: list[str]) -> None:
    assert "MA017" not in codes(PROBE.run(vectors_context(cjk, other, chinese)))


def test_blind_when_the_tokenizer_lacks_the_script_then_share_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_reach, "tokenizer_of", lambda name: WordTokenizer())
    texts = ["部署 staging 前", "OK then", "周五不上线"]
    # Rows 1 and 3: 3 + 5 unknown of 4 + 5 tokens.
    rows = [{"id": i, "content": t, "embedding": blob(1, i, i * i)} for i, t in enumerate(texts)]
    finding = only(PROBE.run(make_context(rows, roles=ROLES)), "MA017")
    assert finding.figures["unknown_token_share_cjk"] == pytest.approx(8 / 9)
    assert finding.figures["unknown_token_share_other"] == 0.0
    assert finding.figures["cosines_to_withhold"] == 2
    assert "fake-latin" in finding.title


def test_blind_when_neither_tokenizer_nor_stored_vectors_then_not_looked() -> None:
    rows = [{"id": i, "content": t} for i, t in enumerate(CHINESE)]
    ctx = make_context(rows, roles={"text": "content"}, encoder="no-such-model-anywhere")
    result = PROBE.run(ctx)
    assert codes(result) == []
    assert "no-such-model-anywhere" in result.not_looked["MA017"][0]


def test_withheld_when_a_script_is_unknown_then_its_rows_only() -> None:
    assert rows_to_withhold(["部署", "hello", "", "周五 release"], WordTokenizer()) == (0, 3)
    assert rows_to_withhold(["hello world", "say 好 again and again and again, ten words now"], WordTokenizer()) == ()
    assert unknown_share([], WordTokenizer()) is None
    assert cjk_rows(["中文", "one 中 in many letters", ""]) == (0,)


# -- MA019 --------------------------------------------------------------------------------------


def test_window_when_a_head_pushes_the_memory_out_then_every_figure() -> None:
    head = "H" * 20
    contents = ["a" * 10, "b" * 30, "缓存带版本号", ""]
    rows = [{"id": i, "content": c, "embedded": head + c} for i, c in enumerate(contents)]
    ctx = make_context(rows, roles={"text": "content", "embedded_text": "embedded"}, embed_max_chars=24)
    finding = only(PROBE.run(ctx), "MA019")
    f = finding.figures
    # Lengths 30, 50, 26, 20: three over 24, by 6, 26 and 2 of 126 characters.
    assert (f["limit_chars"], f["rows_over_limit"], f["chars_never_embedded"]) == (24, 3, 34)
    assert f["share_over_limit"] == 0.75
    assert f["share_chars_never_embedded"] == pytest.approx(34 / 126)
    # Of 10 + 30 + 6 characters 4 of each memory are read.
    assert (f["content_chars"], f["content_chars_reaching_encoder"]) == (46, 12)
    assert f["share_reaching_encoder"] == pytest.approx(12 / 46)
    assert f["rows_with_no_content_reaching"] == 0
    assert f["distinct_visible_texts"] == 4
    assert finding.severity is Severity.HIGH
    assert finding.subject["config"] == "embed_max_chars"


def test_window_when_nothing_of_the_memory_is_read_then_counted() -> None:
    rows = [{"id": i, "content": f"记忆 number {i}", "embedded": f"{'H' * 40} 记忆 number {i}"} for i in range(5)]
    ctx = make_context(rows, roles={"text": "content", "embedded_text": "embedded"}, embed_max_chars=40)
    f = only(PROBE.run(ctx), "MA019").figures
    assert (f["rows_with_no_content_reaching"], f["distinct_visible_texts"]) == (5, 1)
    assert f["share_reaching_encoder"] == 0.0


def test_window_when_all_texts_fit_then_silent() -> None:
    rows = [{"id": i, "content": "x" * 250} for i in range(5)]
    assert codes(PROBE.run(make_context(rows, roles={"text": "content"}, embed_max_chars=250))) == []
    assert codes(PROBE.run(make_context([], columns={"memories": ["id", "content"]}, embed_max_chars=9))) == []


def test_window_when_one_row_of_many_is_over_then_low() -> None:
    rows = [{"id": i, "content": "x" * (260 if i == 7 else 100)} for i in range(40)]
    finding = only(PROBE.run(make_context(rows, roles={"text": "content"}, embed_max_chars=250)), "MA019")
    assert finding.severity is Severity.LOW
    assert finding.figures["chars_never_embedded"] == 10


def test_window_when_a_template_is_given_then_it_is_filled(tmp_path: Any) -> None:
    (tmp_path / "template.txt").write_text("Area: {area}\nNote: {content}\n", encoding="utf-8")
    rows = [{"id": 1, "area": "ops", "content": "缓存带版本号" * 5}]
    ctx = make_context(rows, roles={"text": "content"}, embed_max_chars=25, template="template.txt", base=tmp_path)
    f = only(PROBE.run(ctx), "MA019").figures
    # "Area: ops\nNote: " has 16 characters: 9 of 30 are read.
    assert (f["content_chars"], f["content_chars_reaching_encoder"]) == (30, 9)


def test_window_when_given_in_tokens_without_tokenizer_then_not_looked() -> None:
    rows = [{"id": 1, "content": "x " * 900}]
    result = PROBE.run(make_context(rows, roles={"text": "content"}, embed_max_tokens=256))
    assert codes(result) == []
    assert result.not_looked["MA019"][1] == "encoder"
    assert PROBE.run(make_context(rows, roles={"text": "content"})).not_looked["MA019"][1] == "embed_max_chars"


def test_window_when_in_tokens_then_special_tokens_take_room(monkeypatch: pytest.MonkeyPatch) -> None:
    visible = visible_by_tokens(WordTokenizer(), 5)  # two special tokens: three words
    assert visible("one two three four") == len("one two three")
    assert visible("one two three ") == len("one two three ")
    monkeypatch.setattr(encoder_reach, "tokenizer_of", lambda name: WordTokenizer())
    rows = [{"id": 1, "content": "one two three four five six seven"}]
    f = only(PROBE.run(make_context(rows, roles={"text": "content"})), "MA019").figures
    assert (f["limit_chars"], f["limit_tokens"], f["chars_never_embedded"]) == (None, 8, len(" seven"))


def test_window_when_the_stored_text_was_cut_itself_then_the_memory_is_found() -> None:
    content = "A long memory about the blue pipeline that goes on and on."
    cut = "Note: " + content[:45]
    found = reach([cut], [content], visible_chars(1_000))
    assert (found.content_chars, found.not_found) == (len(content), ())
    assert reach(["something else"], [content], visible_chars(5)).not_found == (0,)


@given(st.lists(st.text(max_size=40), max_size=8), st.integers(min_value=1, max_value=50))
def test_window_when_the_memory_is_the_text_then_both_counts_agree(texts: list[str], limit: int) -> None:
    found = reach(texts, texts, visible_chars(limit))
    assert found.chars == sum(map(len, texts))
    assert found.chars_lost == sum(max(0, len(t) - limit) for t in texts)
    assert found.content_reaching <= found.content_chars <= found.chars


def test_tokenizer_when_the_model_is_absent_or_unnamed_then_error_or_none(tmp_path: Path) -> None:
    assert tokenizer_of(None) is tokenizer_of("stored") is tokenizer_of("embedded") is None
    with pytest.raises(EncoderError, match=r"no tokenizer\.json"):
        FileTokenizer(tmp_path, "empty")


def test_tokenizer_when_the_real_model_is_here_then_chinese_is_mostly_unknown() -> None:
    pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    try:
        tokenizer = tokenizer_of("all-MiniLM-L6-v2")
    except EncoderError as error:
        pytest.skip(str(error))
    assert tokenizer is not None
    assert tokenizer.max_tokens == 256
    assert tokenizer.n_special == 2
    chinese, english = unknown_share(CHINESE, tokenizer), unknown_share(ENGLISH, tokenizer)
    assert chinese is not None
    assert english == 0.0
    assert chinese > 0.10
    visible: Callable[[str], int] = visible_by_tokens(tokenizer, 6)
    assert visible("one two three four five six") == len("one two three four")
