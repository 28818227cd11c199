"""List the keys of the catalogue that the source uses: `python -m memaudit.catalogue.extract`.

Keys are found without running anything: literal first arguments of `say(...)`, `term(...)` and `key(...)` in modules and
templates, and the noun of `plural(n, noun)`. Sentences that stand in a table of a module and are said later
from a variable are marked with `key(...)`; what no call marks is named in `INDIRECT`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]

#: Tables and attributes whose text constants are said from a variable: (end of the file's path, name). In a
#: mapping only the values count, in a tuple of a mapping only the first text (behind it stands an option).
INDIRECT = (
    ("memaudit/context.py", "_MISSING"),
    ("memaudit/embedding.py", "_REASONS"),
    ("probes/*.py", "title"),
    ("probes/timestamps.py", "_LABELS"),
    ("memaudit/stores/known_tables.py", "_WRITES"),
)

_SAY = {"say", "key", "term"}
_TEMPLATE_SAY = re.compile(r"""\bsay\(\s*"((?:[^"\\]|\\.)*)\"""")
_TEMPLATE_PLURAL = re.compile(r"""\bplural\([^"()]*,\s*"((?:[^"\\]|\\.)*)\"""")


class Keys(NamedTuple):
    """What the source says: sentences and counted nouns, each with the places that use it."""

    sentences: Mapping[str, list[str]]
    counted: Mapping[str, list[str]]


def source_keys(package: Path = PACKAGE) -> Keys:
    """Return every key of the modules and templates, in the order of the files.

    Parameters
    ----------
    package
        Folder of the package; `probes` and `reports` beneath it may be links.
    """
    sentences: dict[str, list[str]] = {}
    counted: dict[str, list[str]] = {}
    for path in _files(package, "*.py"):
        name = path.relative_to(package).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=name)
        for line, key in _said(tree, f"memaudit/{name}"):
            sentences.setdefault(key, []).append(f"{name}:{line}")
        for line, noun in _counted(tree):
            counted.setdefault(noun, []).append(f"{name}:{line}")
    for path in _files(package, "*.j2"):
        name, text = path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")
        for found, pattern in ((sentences, _TEMPLATE_SAY), (counted, _TEMPLATE_PLURAL)):
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.setdefault(ast.literal_eval(f'"{match[1]}"'), []).append(f"{name}:{line}")
    return Keys(sentences, counted)


def _files(package: Path, pattern: str) -> list[Path]:
    # `rglob` follows links in some versions of Python and not in others.
    linked = [package / name for name in ("probes", "reports")]
    found = {path for path in package.rglob(pattern) if not any(folder in path.parents for folder in linked)}
    return sorted(found | {path for folder in linked for path in folder.rglob(pattern)})


def _said(tree: ast.AST, path: str) -> Iterable[tuple[int, str]]:
    names = {name for end, name in INDIRECT if Path(path).match(end)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAY and node.args:
            yield from _texts(node.args[0])
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if names & {target.id for target in targets if isinstance(target, ast.Name)}:
                yield from _values(node.value)


def _texts(node: ast.AST) -> list[tuple[int, str]]:
    """Return the texts that an argument can be: a literal, or either side of `a if x else b`."""
    if isinstance(node, ast.IfExp):
        return _texts(node.body) + _texts(node.orelse)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [(node.lineno, node.value)]
    return []


def _values(node: ast.expr) -> list[tuple[int, str]]:
    if isinstance(node, ast.Dict):
        firsts = [value.elts[0] if isinstance(value, ast.Tuple) else value for value in node.values]
        return [text for value in firsts for text in _texts(value)]
    return _texts(node)


def _counted(tree: ast.AST) -> Iterable[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "plural":
            yield from (text for noun in node.args[1:2] for text in _texts(noun))


def indirect_calls(package: Path = PACKAGE) -> list[str]:
    """Return the calls of `say` whose sentence is no literal, as `file: call`: their keys need a mark of their own."""
    found = []
    for path in _files(package, "*.py"):
        name = path.relative_to(package).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=name)
        if not any(isinstance(n, ast.ImportFrom) and n.module == "memaudit.wording" for n in ast.walk(tree)):
            continue
        for node in ast.walk(tree):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say"
            if is_call and isinstance(node, ast.Call) and not (node.args and _texts(node.args[0])):
                found.append(f"{name}: {ast.unparse(node)}")
    return found


def fields(sentence: str) -> set[str]:
    """Return the names of a sentence's `{fields}`."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def main() -> None:
    """Print the keys of the source as JSON, untranslated ones with an empty text."""
    catalogue = json.loads((PACKAGE / "catalogue" / "zh.json").read_text(encoding="utf-8"))
    keys = source_keys()
    document = {
        "sentences": {key: catalogue["sentences"].get(key, "") for key in keys.sentences},
        "counted": {noun: catalogue["counted"].get(noun, "") for noun in keys.counted},
    }
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
