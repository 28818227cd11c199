"""`make bench`: print what the goals of speed are held against. Never a test: machines differ.

Every figure is a ratio or CPU seconds of this run on this machine; the best of a few runs is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def cpu_seconds(command: list[str], folder: Path, runs: int = 5, env: dict[str, str] | None = None) -> float:
    """Return the least user and system CPU seconds of a whole process over some runs, after one to warm up."""
    import resource

    best = float("inf")
    for number in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env={**os.environ, **(env or {})}, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if number:
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def main() -> None:
    """Print every figure."""
    if os.name != "posix":
        print("CPU seconds of child processes cannot be read here: not measured")
        return
    python = sys.executable
    # Compiled bytecode on both sides: an environment without it measures the compiler.
    subprocess.run([python, "-m", "compileall", "-q", "memaudit", "probes", "reports"], cwd=ROOT, check=False)
    env = {"PYTHONPATH": str(ROOT)}
    help_ = cpu_seconds([python, "-m", "memaudit", "--help"], ROOT, env=env)
    click = cpu_seconds([python, "-c", "import click"], ROOT, env=env)
    print(
        f"memaudit --help: {help_:.3f} s CPU, importing click alone {click:.3f} s: {help_ / click:.2f} times (goal 1.5)"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for with_vectors in (True, False):
            place = folder / ("with" if with_vectors else "without")
            options = [] if with_vectors else ["--without-vectors"]
            subprocess.run(
                [python, "fixtures/build.py", "--out", str(place), *options], cwd=ROOT, check=True, capture_output=True
            )
        run = [python, "-m", "memaudit", "run", "--quiet"]
        stored = cpu_seconds(run, folder / "with", env=env)
        print(f"cold run on 175 rows with stored vectors: {stored:.2f} s CPU (goal 2)")
        first = _first_run(run, folder, env)
        print(f"cold run on 175 rows without vectors, nothing cached: {first:.2f} s CPU (goal 5)")
    sys.stdout.flush()
    for script in ("bench_cluster.py", "bench_code.py", "bench_decisions.py"):
        print(f"-- {script}", flush=True)
        subprocess.run([python, f"bench/{script}"], cwd=ROOT, env={**os.environ, **env}, check=True)


def _first_run(run: list[str], folder: Path, env: dict[str, str]) -> float:
    """Return CPU seconds of a run whose cache is empty."""
    import resource

    best = float("inf")
    for number in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        cache = {"MEMAUDIT_CACHE_DIR": str(folder / f"empty{number}")}
        subprocess.run(run, cwd=folder / "without", env={**os.environ, **env, **cache}, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


if __name__ == "__main__":
    main()
