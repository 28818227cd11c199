"""Rows whose script the named encoder has no words for take no part in any cosine, and are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from memaudit.config_file import load
from memaudit.embedding import UnitVectors
from memaudit.engine import run_audit
from memaudit.model import EncoderInfo


def test_rows_when_the_encoder_is_blind_to_their_script_then_withheld(
    write_store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"english sentence number {i} about {'abcdefghij'[i % 10] * 4}" for i in range(12)]
    texts += [f"第{i}条中文记忆" for i in range(8)]
    store = write_store([(i + 1, t, None, None) for i, t in enumerate(texts)])

    def made(given: Sequence[str], keys: Sequence[object], config: object) -> UnitVectors:
        return UnitVectors(np.eye(len(given), 32, dtype=np.float32), np.arange(len(given)), EncoderInfo("blind", 32))

    monkeypatch.setattr("memaudit.context.TextEncoder", lambda config: SimpleNamespace(n_encoded=0, n_cached=0))
    monkeypatch.setattr("memaudit.context.encoded", made)
    latin_only = SimpleNamespace(tokens=lambda text: [SimpleNamespace(unknown=ord(sign) > 127) for sign in text])
    monkeypatch.setattr("memaudit.encoders.tokens.tokenizer_of", lambda name: latin_only)
    audit = run_audit(load(isolated=True, options={"store": str(store), "encoder": "blind", "select": ("duplicates",)}))
    (out,) = [o for o in audit.left_out if "no words" in o.reason]
    assert (out.rows, out.ids) == (8, tuple(range(13, 21)))
    assert audit.figures["rows"] == 20
