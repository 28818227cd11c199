"""The vector cache: a second run encodes only what is new, and a damaged file is never believed."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memaudit.errors import EncoderError
from memaudit.vectors import cache as vector_cache
from memaudit.vectors.cache import VectorCache, default_folder, encode_cached, text_key

Array = npt.NDArray[np.float32]
TEXTS = ["Retry after four hours", "重试前等待四小时", "", "retry after four hours", "文件 not found: a.txt"]


class FakeEncoder:
    """Vectors from a hash of the text; remembers what it was asked."""

    max_chars: int | None = None
    max_tokens: int | None = None
    note = ""

    def __init__(self, name: str = "fake", revision: str = "1", dim: int = 8) -> None:
        self.name, self.revision, self.dim = name, revision, dim
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Array:
        self.asked += texts
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            seed = hashlib.sha256(f"{self.name}{self.revision}{text}".encode("utf-8", "surrogatepass")).digest()
            numbers = np.random.default_rng(list(seed)).standard_normal(self.dim)
            rows[row] = numbers / np.linalg.norm(numbers)
        return rows


class ModelMustNotLoad(FakeEncoder):
    def encode(self, texts: Sequence[str]) -> Array:
        raise AssertionError("the model was loaded")


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "cache")


def files(cache: VectorCache) -> list[Path]:
    return sorted(cache.folder.iterdir())


def test_encode_cached_when_nothing_is_new_does_not_load_the_model(cache: VectorCache) -> None:
    first = encode_cached(FakeEncoder, TEXTS, cache)
    second = encode_cached(ModelMustNotLoad, TEXTS, cache)
    np.testing.assert_array_equal(first.matrix, second.matrix)
    np.testing.assert_array_equal(first.matrix, FakeEncoder().encode(TEXTS))
    assert (first.n_encoded, first.n_cached) == (5, 0)
    assert (second.n_encoded, second.n_cached) == (0, 5)
    assert (second.name, second.revision, second.cache_problem) == ("fake", "1", "")


def test_encode_cached_encodes_only_what_is_new(cache: VectorCache) -> None:
    encode_cached(FakeEncoder, TEXTS[:3], cache)
    encoder = FakeEncoder()
    encoded = encode_cached(lambda: encoder, TEXTS, cache)
    assert sorted(encoder.asked) == sorted(TEXTS[3:])
    assert (encoded.n_encoded, encoded.n_cached) == (2, 3)
    np.testing.assert_array_equal(encoded.matrix, FakeEncoder().encode(TEXTS))
    assert encode_cached(ModelMustNotLoad, TEXTS, cache).n_cached == 5


def test_encode_cached_when_texts_repeat_encodes_each_once(cache: VectorCache) -> None:
    encoder = FakeEncoder()
    encoded = encode_cached(lambda: encoder, [TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[0]], cache)
    assert sorted(encoder.asked) == sorted(TEXTS[:2])
    assert encoded.n_encoded == 2
    np.testing.assert_array_equal(encoded.matrix, FakeEncoder().encode([TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[0]]))


@pytest.mark.parametrize("other", [FakeEncoder(name="other"), FakeEncoder(revision="2"), FakeEncoder("fake1", "")])
def test_encode_cached_never_takes_vectors_of_another_encoder(cache: VectorCache, other: FakeEncoder) -> None:
    encode_cached(FakeEncoder, TEXTS, cache)
    encoded = encode_cached(lambda: other, TEXTS, cache)
    assert (encoded.n_encoded, encoded.n_cached) == (5, 0)
    np.testing.assert_array_equal(encoded.matrix, other.encode(TEXTS))
    assert encode_cached(ModelMustNotLoad, TEXTS, cache).n_cached == 5


def test_encode_cached_without_a_revision_keeps_nothing(cache: VectorCache) -> None:
    encode_cached(lambda: FakeEncoder(revision=""), TEXTS, cache)
    assert not cache.folder.exists()


def test_encode_cached_without_a_cache_or_without_texts(cache: VectorCache) -> None:
    encoded = encode_cached(FakeEncoder, TEXTS, None)
    assert (encoded.n_encoded, encoded.n_cached) == (5, 0)
    empty = encode_cached(ModelMustNotLoad, [], cache)
    assert (empty.matrix.shape, empty.n_encoded, empty.n_cached) == ((0, 0), 0, 0)
    assert not cache.folder.exists()


def test_encode_cached_of_a_text_with_a_lone_surrogate(cache: VectorCache) -> None:
    texts = ["a\ud800b", "a?b", "a\ud801b"]
    assert encode_cached(FakeEncoder, texts, cache).n_encoded == 3
    assert encode_cached(ModelMustNotLoad, texts, cache).n_cached == 3


def test_encode_cached_when_interrupted_keeps_what_was_encoded(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "_STEP_TEXTS", 2)
    reports = []

    def stop_after_two_steps(done: int, total: int) -> None:
        reports.append((done, total))
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_cached(FakeEncoder, TEXTS, cache, stop_after_two_steps)
    assert reports == [(2, 5), (4, 5)]
    encoded = encode_cached(FakeEncoder, TEXTS, cache)
    assert (encoded.n_encoded, encoded.n_cached) == (1, 4)
    np.testing.assert_array_equal(encoded.matrix, FakeEncoder().encode(TEXTS))


def test_encode_cached_when_the_encoder_fails_says_so(cache: VectorCache) -> None:
    class Failing(FakeEncoder):
        def encode(self, texts: Sequence[str]) -> Array:
            raise EncoderError("no model")

    with pytest.raises(EncoderError, match="no model"):
        encode_cached(Failing, TEXTS, cache)
    assert not cache.folder.exists()


def test_encode_cached_when_the_dimension_changed_encodes_all_anew(cache: VectorCache) -> None:
    encode_cached(FakeEncoder, TEXTS[:3], cache)
    encoded = encode_cached(lambda: FakeEncoder(dim=6), TEXTS, cache)
    assert encoded.matrix.shape == (5, 6)
    assert (encoded.n_encoded, encoded.n_cached) == (5, 0)
    assert encode_cached(lambda: ModelMustNotLoad(dim=6), TEXTS, cache).matrix.shape == (5, 6)


def test_cache_holds_no_text_and_nobody_else_may_read_it(cache: VectorCache) -> None:
    encode_cached(FakeEncoder, TEXTS, cache)
    written = files(cache)
    assert {path.suffix for path in written} == {".npy", ".keys"}
    assert len(written) == 2
    for path in written:
        content = path.read_bytes()
        assert not any(text.encode() in content for text in TEXTS if text)
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (np.load(next(path for path in written if path.suffix == ".npy"))).shape == (5, 8)


@pytest.mark.parametrize("which", [".keys", ".npy"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: b"x" * len(content),
        lambda content: content[:-20] + b"\xff" * 20,
        lambda content: content[:50] + bytes([content[50] ^ 1]) + content[51:],
        lambda content: content + b"more",
        None,
    ],
)
def test_cache_when_a_file_is_damaged_is_not_believed_and_is_mended(
    cache: VectorCache, which: str, damage: Callable[[bytes], bytes] | None
) -> None:
    expected = encode_cached(FakeEncoder, TEXTS, cache).matrix
    path = next(path for path in files(cache) if path.suffix == which)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    again = encode_cached(FakeEncoder, TEXTS, cache)
    np.testing.assert_array_equal(again.matrix, expected)
    np.testing.assert_array_equal(encode_cached(ModelMustNotLoad, TEXTS, cache).matrix, expected)


def test_cache_when_one_vector_is_damaged_encodes_that_one(cache: VectorCache) -> None:
    encode_cached(FakeEncoder, TEXTS, cache)
    path = next(path for path in files(cache) if path.suffix == ".npy")
    content = bytearray(path.read_bytes())
    content[-2] ^= 1  # the last number of the last row, a little off
    path.write_bytes(content)
    again = encode_cached(FakeEncoder, TEXTS, cache)
    assert (again.n_encoded, again.n_cached) == (1, 4)
    np.testing.assert_array_equal(again.matrix, FakeEncoder().encode(TEXTS))


def test_cache_is_rewritten_without_leaving_old_files(cache: VectorCache) -> None:
    for n in range(1, 6):
        encode_cached(FakeEncoder, TEXTS[:n], cache)
    assert len(files(cache)) == 2


def test_cache_removes_what_a_killed_run_left_after_a_day(cache: VectorCache) -> None:
    encode_cached(FakeEncoder, TEXTS[:1], cache)
    npy = next(path for path in files(cache) if path.suffix == ".npy")
    old = npy.with_name(npy.name.replace(npy.suffixes[0], ".0123456789abcdef"))
    recent = npy.with_name(npy.name.replace(npy.suffixes[0], ".fedcba9876543210"))
    half = cache.folder / ".new-half"
    for path in (old, recent, half):
        path.write_bytes(b"")
    for path in (old, half):
        os.utime(path, (0, 0))
    encode_cached(FakeEncoder, TEXTS, cache)
    assert not old.exists()
    assert not half.exists()
    assert recent.exists()


def test_cache_used_by_many_at_once_never_gives_a_wrong_vector(cache: VectorCache) -> None:
    texts = [f"{number} 号 text" for number in range(60)]
    expected = {text: row for text, row in zip(texts, FakeEncoder().encode(texts), strict=True)}

    def one_run(start: int) -> bool:
        mine = texts[start : start + 30]
        encoded = encode_cached(FakeEncoder, mine, cache)
        return all(np.array_equal(row, expected[text]) for text, row in zip(mine, encoded.matrix, strict=True))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one_run, [number % 31 for number in range(64)]))
    final = encode_cached(FakeEncoder, texts, cache)
    np.testing.assert_array_equal(final.matrix, np.stack([expected[text] for text in texts]))


def test_cache_keys_that_end_in_zero_bytes_are_kept_whole(cache: VectorCache) -> None:
    keys = [bytes(16), b"a" + bytes(15), bytes(15) + b"a"]
    rows = dict(zip(keys, np.eye(3, dtype=np.float32), strict=True))
    assert cache.replace("fake", "1", rows) == ""
    found = cache.read("fake", "1", keys)
    assert list(found) == keys
    np.testing.assert_array_equal(np.stack(list(found.values())), np.eye(3))


def test_cache_that_cannot_be_written_is_a_sentence_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    encoded = encode_cached(FakeEncoder, TEXTS, VectorCache(tmp_path / "file"))
    assert encoded.cache_problem.startswith("vectors were not kept for the next run: ")
    np.testing.assert_array_equal(encoded.matrix, FakeEncoder().encode(TEXTS))


def test_text_key_is_sixteen_bytes_and_tells_case_apart() -> None:
    assert len(text_key("重试")) == 16
    assert text_key("a") != text_key("A")


def test_default_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMAUDIT_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "own"
    monkeypatch.delenv("MEMAUDIT_CACHE_DIR")
    assert default_folder() == tmp_path / "xdg" / "memaudit"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, expected in (
        ("linux", tmp_path / ".cache" / "memaudit"),
        ("darwin", tmp_path / "Library" / "Caches" / "memaudit"),
        ("win32", tmp_path / "local" / "memaudit" / "Cache"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert default_folder() == expected


def test_default_folder_without_a_home_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    for name in ("MEMAUDIT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert default_folder() is None
