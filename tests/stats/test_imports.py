from __future__ import annotations

import ast
import sys
from pathlib import Path

import memaudit.stats

FOLDER = Path(memaudit.stats.__file__).parent
OURS = ("memaudit.stats", "memaudit.errors", "memaudit.wording")


def _imports(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return names


def test_the_package_imports_only_numpy_scipy_and_its_own_words() -> None:
    for path in sorted(FOLDER.glob("*.py")):
        for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            first = name.split(".")[0]
            allowed = first in sys.stdlib_module_names or first in ("numpy", "scipy") or name.startswith(OURS)
            assert allowed, f"{path.name} imports {name}"


def test_scipy_is_imported_inside_functions_only() -> None:
    for path in sorted(FOLDER.glob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        top = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert not any(name.startswith("scipy") for node in top for name in _imports(node)), path.name
