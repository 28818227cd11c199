"""Read the vectors out of Chroma's index folder (its own fork of hnswlib, persistence version 1).

The library that wrote it is not needed: `header.bin` says where each vector lies in `data_level0.bin`, and
`index_metadata.pickle` says which item it belongs to; of the pickle only plain data is read.
Source: chroma-core/hnswlib, `persistHeader`; checked on folders that chromadb wrote.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from memaudit.stores.plain_pickle import PlainObject, RefusedPickleError, read_plain_pickle
from memaudit.wording import say

_HEADER = struct.Struct("<i6Q")
_CLASSES = frozenset({
    "chromadb.segment.impl.vector.local_persistent_hnsw.PersistentData",
})  # fmt: skip
_LARGEST_PICKLE = 64 << 20


def read_index(folder: Path, wanted: frozenset[str]) -> tuple[dict[str, bytes], str]:
    """Return the vectors of some items as float32 little-endian bytes, and why others are missing.

    Parameters
    ----------
    folder
        Folder of the vector segment; links in it are not followed.
    """
    header, data, pickle = (folder / name for name in ("header.bin", "data_level0.bin", "index_metadata.pickle"))
    for path in (header, data, pickle):
        if folder.is_symlink() or path.is_symlink() or not path.is_file():
            return {}, say("The index folder {name} lacks {file}.", name=folder.name, file=path.name)
    if pickle.stat().st_size > _LARGEST_PICKLE:
        return {}, say("{file} is too large to be read.", file=pickle.name)
    try:
        labels = _labels(read_plain_pickle(pickle.read_bytes(), _CLASSES))
    except RefusedPickleError as error:
        return {}, say("{file} is refused: {error}.", file=pickle.name, error=error)
    with header.open("rb") as opened:
        head = opened.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return {}, say("{file} is cut.", file=header.name)
    version, start, _, count, width, label_at, vector_at = _HEADER.unpack_from(head)
    size = label_at - vector_at
    sound = version == 1 and size > 0 and size % 4 == 0 and label_at + 8 <= width and start == 0
    if not sound or data.stat().st_size < count * width:
        return {}, say("{file} has a layout that is not known.", file=header.name)
    found: dict[str, bytes] = {}
    by_label = {label: key for key, label in labels.items() if key in wanted}
    with data.open("rb") as file:
        for _ in range(count):
            block = file.read(width)
            (label,) = struct.unpack_from("<Q", block, label_at)
            if label in by_label:
                found[by_label[label]] = block[vector_at:label_at]
    return found, ""


def _labels(value: Any) -> dict[str, int]:
    """Return item -> label of a metadata file: a dict, or an object with the same fields."""
    fields = value.fields if isinstance(value, PlainObject) else value
    labels = fields.get("id_to_label") if isinstance(fields, dict) else None
    if not isinstance(labels, dict):
        raise RefusedPickleError("it has no id_to_label")
    return {str(k): int(v) for k, v in labels.items() if isinstance(v, int)}
