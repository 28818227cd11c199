"""CPU seconds of whole processes: the help text, and audits of the bundled store."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from goals import goal

ROOT = Path(__file__).resolve().parents[1]


def children_s() -> float:
    """Return user and system CPU seconds of ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_seconds(command: list[str], folder: Path, turns: Iterable[Mapping[str, str]]) -> float:
    """Return the least CPU seconds of a command over some runs, each with its own addition to the environment."""
    best = float("inf")
    for more in turns:
        used = children_s()
        subprocess.run(command, cwd=folder, env={**os.environ, **more}, capture_output=True, check=True)
        best = min(best, children_s() - used)
    return best


def main() -> None:
    """Print every figure."""
    python = sys.executable
    # Compiled bytecode on both sides: an environment without it measures the compiler.
    subprocess.run([python, "-m", "compileall", "-q", "memaudit", "probes", "reports"], cwd=ROOT, check=False)
    env = {"PYTHONPATH": str(ROOT)}
    help_ = cpu_seconds([python, "-m", "memaudit", "--help"], ROOT, [env] * 6)
    click = cpu_seconds([python, "-c", "import click"], ROOT, [env] * 6)
    more = f"{help_:.3f} against {click:.3f} s CPU"
    goal("memaudit --help, against importing click alone", help_ / click, 1.5, "times", more=more)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place, options in (("with", []), ("without", ["--without-vectors"])):
            build = [python, "fixtures/build.py", "--out", str(folder / place), *options]
            subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        run = [python, "-m", "memaudit", "run", "--quiet"]
        goal("cold run on 175 rows with stored vectors", cpu_seconds(run, folder / "with", [env] * 5), 2, "s CPU")
        empty = [env | {"MEMAUDIT_CACHE_DIR": str(folder / f"empty{number}")} for number in range(3)]
        first = cpu_seconds(run, folder / "without", empty)
        goal("cold run on 175 rows without vectors, nothing cached", first, 5, "s CPU")


if __name__ == "__main__":
    main()
