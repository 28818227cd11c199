"""A data frame as a store."""

from __future__ import annotations

import struct

import numpy as np
import pandas as pd

from memaudit.config import Config
from memaudit.roles import find_roles
from memaudit.stores.frame import store_of_frame


def test_frame_when_loaded_then_values_keep_their_kind_and_missing_ones_are_null() -> None:
    frame = pd.DataFrame(
        {
            "content": ["喜欢喝茶。", None, "Works in Lisbon."],
            "n": pd.array([1, None, 3], dtype="Int64"),
            "score": [0.5, float("nan"), 1.0],
            "at": pd.to_datetime(
                pd.Series(["2026-05-01T10:00:00Z", None, "2026-05-02T10:00:00Z"]), utc=True
            ).to_numpy(),
            "tags": [["a"], [], {"b": 1}],
            "embedding": [np.array([1, 0, 0, 0.5], dtype="f4")] * 2 + [None],
        },
        index=pd.Index(["m1", "m2", "m3"], name="id"),
    )
    store = store_of_frame(frame, "memories")
    blob = struct.pack("<4f", 1, 0, 0, 0.5)
    assert list(store.rows("SELECT * FROM memories ORDER BY rowid")) == [
        ("m1", "喜欢喝茶。", 1, 0.5, "2026-05-01T10:00:00+00:00", '["a"]', blob),
        ("m2", None, None, None, None, "[]", blob),
        ("m3", "Works in Lisbon.", 3, 1.0, "2026-05-02T10:00:00+00:00", '{"b": 1}', None),
    ]
    roles = find_roles(store, Config())
    assert (roles.id, roles.text, roles.time, roles.embedding) == ("id", "content", "at", "embedding")
    store.close()


def test_frame_when_empty_or_with_columns_of_one_name_then_loaded() -> None:
    store = store_of_frame(pd.DataFrame({"content": []}))
    assert (store.tables[0].n_rows, store.tables[0].column_names) == (0, ("content",))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert list(store_of_frame(twice).rows("SELECT a, a_2 FROM frame")) == [(1, 2)]
