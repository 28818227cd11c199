"""Vectors of texts that were encoded before, so that a second run encodes only what is new.

For each encoder name and revision there are two files: `NAME.keys` (16-byte hashes of texts, with a
checksum for each vector) and the `.npy` file that it names, which is memory-mapped. Both are written
beside and renamed, the keys last: a reader sees the old pair or the new one. Two audits at once may each
lose what the other added, never mix it up. Deleting any file is safe; a file that is damaged is not
believed and is written anew. No text of the store is kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.encoders.protocol import Encoder, FloatArray
from memaudit.wording import say

_MAGIC = b"memaudit vector cache 1\n"
# Identity of encoder name and revision, token of the vectors' file, dimension, number of rows.
_HEADER = struct.Struct("<16s16sIQ")
_RECORD = np.dtype([("key", "V16"), ("crc", "<u4")])
# Vectors' files that no keys name are left by a run that was killed; they go after a day.
_STALE_SECONDS = 86_400
# Texts encoded between two reports of progress.
_STEP_TEXTS = 2_048


@dataclass(frozen=True)
class EncodedTexts:
    """Vectors of texts, and where they came from.

    Parameters
    ----------
    matrix
        (n, d) float32 rows of unit length in the order of the texts; (0, 0) for no texts.
    n_encoded, n_cached
        Distinct texts encoded now, and distinct texts found in the cache.
    name, revision
        Of the encoder.
    cache_problem
        Why nothing was kept for the next run; "" where it was, or nothing had to be.
    """

    matrix: FloatArray
    n_encoded: int
    n_cached: int
    name: str
    revision: str
    cache_problem: str = ""


def encode_cached(
    encoder_loader: Callable[[], Encoder],
    texts: Sequence[str],
    cache: VectorCache | None,
    progress: Callable[[int, int], None] | None = None,
) -> EncodedTexts:
    """Encode texts, taking from the cache what was encoded before.

    Parameters
    ----------
    encoder_loader
        Gives an encoder whose name and revision are known without its weights.
    texts
        Any texts, repeats allowed.
    cache
        None to keep nothing.
    progress
        Called with (texts encoded, texts to encode) after every 2,048 texts.

    Returns
    -------
    Vectors in the order of `texts`. When all are cached the model is never loaded.

    Raises
    ------
    EncoderError
        As the encoder does. What was encoded before an error or an interruption is kept.
    """
    encoder = encoder_loader()
    name, revision = encoder.name, encoder.revision
    keys = [text_key(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    # An encoder without a revision could have other weights next time: it is not cached.
    store = cache if cache is not None and revision else None
    known = store.read(name, revision, distinct) if store is not None else {}
    new = sorted((key for key in distinct if key not in known), key=lambda key: len(distinct[key]))
    found = dict(known)
    problem = ""
    try:
        for start in range(0, len(new), _STEP_TEXTS):
            step = new[start : start + _STEP_TEXTS]
            rows = encoder.encode([distinct[key] for key in step])
            found.update(zip(step, rows, strict=True))
            if progress is not None:
                progress(start + len(step), len(new))
    finally:
        if store is not None and len(found) > len(known):
            problem = store.add(name, revision, {key: found[key] for key in new if key in found})
    if len({len(row) for row in found.values()}) > 1:
        # One revision, two dimensions: what was kept is of another model. Encode all of it now.
        again = encode_cached(lambda: encoder, texts, None, progress)
        problem = store.replace(name, revision, dict(zip(keys, again.matrix, strict=True))) if store else ""
        return EncodedTexts(again.matrix, again.n_encoded, 0, name, revision, problem)
    matrix = np.empty((len(texts), len(next(iter(found.values()))) if found else 0), dtype=np.float32)
    for row, key in enumerate(keys):
        matrix[row] = found[key]
    return EncodedTexts(matrix, len(new), len(known), name, revision, problem)


def text_key(text: str) -> bytes:
    """Give the 16-byte hash under which a text's vector is kept."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def default_folder() -> Path | None:
    """Give the user's folder for the cache; None where there is no home.

    `MEMAUDIT_CACHE_DIR`, else `XDG_CACHE_HOME`/memaudit, else what the platform uses.
    """
    own = os.environ.get("MEMAUDIT_CACHE_DIR")
    if own:
        return Path(own)
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg and os.path.isabs(xdg):  # the specification: a relative path is ignored
        return Path(xdg) / "memaudit"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "memaudit" / "Cache" if local else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "memaudit"


class VectorCache:
    """The cache in one folder.

    Parameters
    ----------
    folder
        Made when something is kept; see :func:`default_folder`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str, revision: str, wanted: Sequence[bytes] | dict[bytes, Any]) -> dict[bytes, FloatArray]:
        """Give the kept vectors of the wanted keys; none where the files are absent or damaged."""
        pair = self._open(name, revision)
        if pair is None:
            return {}
        records, vectors, _ = pair
        places = {key: place for place, key in enumerate(records["key"].tolist())}
        found = {}
        for key in wanted:
            place = places.get(key)
            if place is None:
                continue
            row = np.array(vectors[place])
            if zlib.crc32(row.tobytes()) == records["crc"][place]:
                found[key] = row
        return found

    def add(self, name: str, revision: str, rows: dict[bytes, FloatArray]) -> str:
        """Keep vectors beside those that are there; return why it could not be done, or ""."""
        pair = self._open(name, revision)
        if pair is not None and rows:
            records, vectors, _ = pair
            if vectors.shape[1] == len(next(iter(rows.values()))):
                kept = self.read(name, revision, [key for key in records["key"].tolist() if key not in rows])
                rows = {**kept, **rows}
        return self.replace(name, revision, rows)

    def replace(self, name: str, revision: str, rows: dict[bytes, FloatArray]) -> str:
        """Keep exactly these vectors; return why it could not be done, or ""."""
        if not rows:
            return ""
        old = self._open(name, revision)
        token = secrets.token_hex(8)
        records = np.empty(len(rows), dtype=_RECORD)
        matrix = np.stack(list(rows.values())).astype(np.float32, copy=False)
        records["key"] = np.array(list(rows), dtype="V16")
        records["crc"] = [zlib.crc32(row.tobytes()) for row in matrix]
        head = _HEADER.pack(_identity(name, revision), token.encode(), matrix.shape[1], len(rows))
        body = _MAGIC + head + records.tobytes()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._vectors_file(name, revision, token), lambda file: np.save(file, matrix))
            self._write(self._keys_file(name, revision), lambda file: file.write(body + _digest(body)))
        except OSError as error:
            return say("vectors were not kept for the next run: {reason}", reason=error.strerror or str(error))
        if old is not None:
            _remove(self._vectors_file(name, revision, old[2]))
        self._remove_stale(name, revision, token)
        return ""

    def _open(self, name: str, revision: str) -> tuple[npt.NDArray[Any], FloatArray, str] | None:
        """Open a pair of files; None where one is absent, damaged or of another encoder."""
        # Another run may put a new pair in place, and take the old vectors away, between the two reads.
        return self._open_once(name, revision) or self._open_once(name, revision)

    def _open_once(self, name: str, revision: str) -> tuple[npt.NDArray[Any], FloatArray, str] | None:
        try:
            body = self._keys_file(name, revision).read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + _HEADER.size
        if len(body) < start + 16 or not body.startswith(_MAGIC) or _digest(body[:-16]) != body[-16:]:
            return None
        identity, token_bytes, dim, n_rows = _HEADER.unpack_from(body, len(_MAGIC))
        token = token_bytes.decode("ascii", "replace")
        records = np.frombuffer(body[start:-16], dtype=_RECORD)
        if identity != _identity(name, revision) or len(records) != n_rows or not token.isalnum():
            return None
        try:
            vectors = np.load(self._vectors_file(name, revision, token), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32 or vectors.shape != (n_rows, dim):
            return None
        return records, vectors, token

    def _keys_file(self, name: str, revision: str) -> Path:
        return self.folder / f"{_stem(name, revision)}.keys"

    def _vectors_file(self, name: str, revision: str, token: str) -> Path:
        return self.folder / f"{_stem(name, revision)}.{token}.npy"

    def _write(self, target: Path, write: Callable[[Any], object]) -> None:
        # mkstemp gives mode 0600: nobody else reads which texts a store holds, not even as hashes.
        handle, path = tempfile.mkstemp(dir=self.folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            os.replace(path, target)
        except BaseException:
            _remove(Path(path))
            raise

    def _remove_stale(self, name: str, revision: str, token: str) -> None:
        current = self._vectors_file(name, revision, token)
        for path in [*self.folder.glob(f"{_stem(name, revision)}.*.npy"), *self.folder.glob(".new-*")]:
            try:
                if path != current and time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()
            except OSError:  # another run has it open or was faster
                continue


def _stem(name: str, revision: str) -> str:
    readable = re.sub(r"[^A-Za-z0-9-]+", "-", name.rsplit("/", 1)[-1]).strip("-")[:40] or "encoder"
    return f"{readable}-{_identity(name, revision).hex()[:16]}"


def _identity(name: str, revision: str) -> bytes:
    text = f"{len(name)}:{name}{revision}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:  # gone already, or open elsewhere (Windows): removed when stale
        return
