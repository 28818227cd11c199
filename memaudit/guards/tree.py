"""Find and parse the Python files of some files and folders; nothing is imported or run."""

from __future__ import annotations

import ast
import io
import os
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memaudit.errors import ConfigError
from memaudit.guards.result import Skipped
from memaudit.wording import key, say, term

#: Folders that hold no code of the project itself.
_FOREIGN_FOLDERS = {
    "venv": key("virtual environment"),
    "virtualenv": key("virtual environment"),
    "site-packages": key("installed packages"),
    "node_modules": key("installed packages"),
    "__pycache__": key("cache"),
}
_TEST_FOLDERS = frozenset({"tests", "test"})

MAX_FILE_BYTES = 2_000_000  # generated tables; the largest hand-written module we met has 400 kB
MAX_FILES = 20_000
MAX_DEPTH = 40


@dataclass(frozen=True)
class Source:
    """One parsed file.

    Parameters
    ----------
    path
        Where it is.
    name
        Path relative to the base, with forward slashes.
    parts
        Folder names below the folder of the outermost package (or the given root), and the module's own name.
    """

    path: Path
    name: str
    parts: tuple[str, ...]
    tree: ast.Module


@dataclass(frozen=True)
class Tree:
    """The files that could be parsed, and what was left out.

    Parameters
    ----------
    unread
        Raw bytes of the files that belong to the project but cannot be parsed: they may hold callers.
    """

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]
    unread: tuple[bytes, ...]


def read_tree(paths: Sequence[Path], *, base: Path) -> Tree:
    """Parse all Python files below `paths`.

    Parameters
    ----------
    paths
        Files and folders. A file that is named is read even when it looks like a test. Tests, virtual
        environments, caches, hidden folders and symbolic links to folders are left out and listed.
    base
        Names are given relative to this folder where possible.

    Returns
    -------
    Each file once, sorted by name.

    Raises
    ------
    ConfigError
        A path does not exist.
    """
    sources: dict[Path, Source] = {}
    skipped: list[Skipped] = []
    unread: list[bytes] = []
    for root in paths:
        if not root.exists():
            raise ConfigError(
                say("no file or folder {root} to look for guarded code in", root=root),
                say("Set `code` (or the argument) to files or folders that exist."),
            )
        folder = root if root.is_dir() else root.parent
        while (folder / "__init__.py").exists() and folder.parent != folder:
            folder = folder.parent  # import names start above the outermost package
        for path in _python_files(root, base, skipped):
            real = path.resolve()
            if real in sources:
                continue
            if len(sources) >= MAX_FILES:
                skipped.append(Skipped(_shown(root, base), say("more than {n} files; the rest", n=MAX_FILES)))
                break
            parts = path.relative_to(folder).with_suffix("").parts
            source = _parsed(path, parts, base, skipped, unread)
            if source is not None:
                sources[real] = source
    ordered = sorted(sources.values(), key=lambda source: source.name)
    return Tree(tuple(ordered), tuple(sorted(set(skipped), key=lambda s: (s.file, s.reason))), tuple(unread))


def _python_files(root: Path, base: Path, skipped: list[Skipped]) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for folder, names, files in os.walk(root):
        here = Path(folder)
        keep: list[str] = []
        for name in sorted(names):
            reason = _folder_reason(here / name, len((here / name).relative_to(root).parts))
            if reason:
                skipped.append(Skipped(_shown(here / name, base) + "/", reason))
            else:
                keep.append(name)
        names[:] = keep
        for name in sorted(files):
            if not name.endswith(".py"):
                continue
            if name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py":
                skipped.append(Skipped(_shown(here / name, base), say("test")))
            else:
                yield here / name


def _folder_reason(folder: Path, depth: int) -> str:
    name = folder.name
    if folder.is_symlink():
        return say("symbolic link to a folder")
    if name in _FOREIGN_FOLDERS:
        return term(_FOREIGN_FOLDERS[name])
    if (folder / "pyvenv.cfg").exists():
        return say("virtual environment")
    if name.startswith("."):
        return say("hidden folder")
    if name in _TEST_FOLDERS:
        return say("tests")
    if name == "build" and (folder / "lib").is_dir():
        return say("build output")
    if depth > MAX_DEPTH:
        return say("more than {n} folders deep", n=MAX_DEPTH)
    return ""


def _parsed(
    path: Path, parts: tuple[str, ...], base: Path, skipped: list[Skipped], unread: list[bytes]
) -> Source | None:
    name = _shown(path, base)
    try:
        raw = path.read_bytes()
    except OSError as error:
        skipped.append(Skipped(name, say("cannot be read: {reason}", reason=error.strerror or type(error).__name__)))
        return None
    if len(raw) > MAX_FILE_BYTES:
        skipped.append(Skipped(name, say("larger than {n} bytes", n=MAX_FILE_BYTES)))
        unread.append(raw)
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        skipped.append(Skipped(name, say("cannot be decoded: {reason}", reason=_first_line(error))))
        unread.append(raw)
        return None
    try:
        with warnings.catch_warnings():
            # Invalid escapes in the audited code are not our user's concern here.
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"), filename=name)
    except SyntaxError as error:
        skipped.append(
            Skipped(
                name,
                say("not Python of this version: {reason} (line {line})", reason=error.msg, line=str(error.lineno)),
            )
        )
    except (ValueError, RecursionError, MemoryError) as error:
        skipped.append(Skipped(name, say("cannot be parsed: {reason}", reason=_first_line(error))))
    else:
        return Source(path, name, parts, tree)
    unread.append(raw)
    return None


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _shown(path: Path, base: Path) -> str:
    try:
        return path.resolve().relative_to(base.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
