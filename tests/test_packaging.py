"""The built wheel holds the tree, nothing else, and the names users rely on."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel from a copy of the tracked tree and return the names in it."""
    out = tmp_path_factory.mktemp("wheel")
    source = out / "source"
    try:
        subprocess.run(
            ["git", "-C", str(ROOT), "checkout-index", "--all", f"--prefix={source}/"], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git checkout to copy the tracked tree from")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(out), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        pytest.skip(f"the wheel cannot be built here: {built.stderr.strip().splitlines()[-1]}")
    (wheel,) = out.glob("*.whl")
    assert wheel.name.startswith("agent_memaudit-")
    return set(zipfile.ZipFile(wheel).namelist())


def test_wheel_when_built_then_holds_every_module_page_and_template(wheel_names: set[str]) -> None:
    expected = set()
    for folder, package in (("memaudit", "memaudit"), ("probes", "memaudit/probes"), ("reports", "memaudit/reports")):
        for path in (ROOT / folder).rglob("*"):
            relative = path.relative_to(ROOT / folder)
            if folder == "memaudit" and relative.parts[0] in ("probes", "reports"):
                continue
            if path.is_file() and path.suffix in (".py", ".md", ".j2", ".css", ".json", ".typed"):
                expected.add(f"{package}/{relative.as_posix()}")
    tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
    names = {n.replace("probes/", "memaudit/probes/", 1) if n.startswith("probes/") else n for n in tracked.split()}
    names = {n.replace("reports/", "memaudit/reports/", 1) if n.startswith("reports/") else n for n in names}
    assert not {n for n in expected if n in names} - wheel_names


def test_wheel_when_built_then_has_no_top_level_probes_or_reports(wheel_names: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"memaudit"}


def test_setup_when_read_then_every_package_is_mapped_and_covered() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    packages = set(parser["options"]["packages"].split())
    found = {"memaudit.probes", "memaudit.reports"} | {
        ".".join(p.parent.relative_to(ROOT).parts)
        for p in (ROOT / "memaudit").rglob("__init__.py")
        if "probes" not in p.parts and "reports" not in p.parts
    }
    assert packages == found
    core = parser["options"]["install_requires"]
    assert "torch" not in core
    assert "sentence-transformers" not in core
