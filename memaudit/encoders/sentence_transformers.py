"""Any sentence-transformers model, from a folder, a package of weights or the hub's cache.

Offline unless a download is allowed in so many words. torch is imported when the first text is encoded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from memaudit.encoders.model_folders import ModelFolder, find_model
from memaudit.encoders.protocol import FloatArray, encode_distinct
from memaudit.errors import EncoderError
from memaudit.wording import say

# sentence-transformers sorts what it gets by length; batches of 8 to 32 were fastest on CPUs.
_MODEL_BATCH = 32
# Texts handed over at once: bounds memory, and lets an interrupted run keep what is done.
_BATCH_TEXTS = 1_024


class SentenceTransformersEncoder:
    """A sentence-transformers model by name or folder.

    Parameters
    ----------
    name
        Model name (`all-MiniLM-L6-v2`, `org/model`) or folder.
    allow_download
        Whether a model that is not on this disk may be fetched.

    Raises
    ------
    EncoderError
        The model is not on this disk and downloads are off, or the folder holds none.
    """

    max_chars: int | None = None

    def __init__(self, name: str, allow_download: bool = False) -> None:
        self._asked = name
        self._allow_download = allow_download
        self._model: Any = None
        found = find_model(name)
        if found is None and allow_download:
            self._model = _load(name, allow_download=True)
            found = find_model(name)
        elif found is None:
            raise EncoderError(
                say("model {name} is not on this disk, and downloads are off.", name=name),
                say(
                    "Give --encoder FOLDER, or --allow-download, or --ignore MA3,MA5 to run the probes that need no model."
                ),
            )
        self._found: ModelFolder | None = found

    @property
    def name(self) -> str:
        """As asked for; the last part of a folder's path."""
        return self._found.name if self._found else self._asked

    @property
    def revision(self) -> str:
        """Commit, package version or fingerprint; "" only for a download that left no trace on disk."""
        return self._found.revision if self._found else ""

    @property
    def dim(self) -> int:
        """Length of the vectors; loads the model."""
        model = self._loaded()
        # Renamed in version 5.
        give = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(give())

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a text that the model reads; from its files, else from the loaded model."""
        if self._found:
            try:
                text = (self._found.folder / "sentence_bert_config.json").read_text(encoding="utf-8")
                length = json.loads(text).get("max_seq_length")
            except (OSError, ValueError, AttributeError):
                length = None
            if isinstance(length, int):
                return length
        length = self._loaded().max_seq_length
        return None if length is None else int(length)

    @property
    def note(self) -> str:
        """Where the weights come from."""
        return say("sentence-transformers model; what lies beyond its window of tokens is cut")

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Encode texts; see :class:`memaudit.encoders.protocol.Encoder`."""
        return encode_distinct([_readable(text) for text in texts], self.dim, _BATCH_TEXTS, self._encode_batch)

    def _encode_batch(self, batch: list[str]) -> Any:
        return self._loaded().encode(
            batch,
            batch_size=_MODEL_BATCH,
            convert_to_numpy=True,
            normalize_embeddings=True,
            show_progress_bar=False,
        )

    def _loaded(self) -> Any:
        if self._model is None:
            source = str(self._found.folder) if self._found else self._asked
            self._model = _load(source, allow_download=self._allow_download)
        return self._model


def _load(source: str, *, allow_download: bool) -> Any:
    with _hub_mode(allow_download):
        try:
            package = import_module("sentence_transformers")  # installed or not, type checks must not differ
        except ImportError as error:
            raise EncoderError(
                say(
                    "encoder {source} needs sentence-transformers, which is not installed ({error}).",
                    source=source,
                    error=str(error),
                ),
                say("Install agent-memaudit[sentence-transformers], or leave the encoder out to use the embedded one."),
            ) from error
        try:
            return package.SentenceTransformer(source, local_files_only=not allow_download)
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EncoderError(
                say("model {source} cannot be loaded: {reason}.", source=source, reason=reason.rstrip(".")),
                say("Give --encoder FOLDER of a complete model.")
                if allow_download
                else say("Give --encoder FOLDER of a complete model, or --allow-download."),
            ) from error


@contextmanager
def _hub_mode(allow_download: bool) -> Iterator[None]:
    """Keep the hub's client off the network while a model is loaded; the environment is put back."""
    names = () if allow_download else ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _readable(text: str) -> str:
    # A lone surrogate cannot be written as UTF-8, which the tokenizer does.
    return text.encode("utf-8", "replace").decode("utf-8")
