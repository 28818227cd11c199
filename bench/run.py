"""`make bench`: print what the goals are held against, a line each. Never a test: machines differ.

    python bench/run.py [--full]

Every figure is a ratio, CPU seconds or an error rate of this run on this machine; of times the best of a few is
printed. The default takes less than ten minutes on two cores; `--full` simulates graded figures with 2,000 runs at
every size and runs the field ablation twice over 6,000 rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from goals import MET, MISSED, NEAR, counted

ROOT = Path(__file__).resolve().parents[1]
#: Whether a benchmark knows `--full`.
SCRIPTS = {
    "bench_start.py": False,
    "bench_cluster.py": False,
    "bench_code.py": False,
    "bench_ablation.py": True,
    "bench_decisions.py": True,
}


def passed_on(command: list[str]) -> Counter[str]:
    """Run a benchmark, pass on what it prints, and count its goals."""
    lines = []
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return counted(lines)


def main() -> None:
    """Print every figure, then how many goals were met."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--full", action="store_true", help="more runs and rows: longer")
    given = options.parse_args()
    if os.name != "posix":
        print("CPU seconds of child processes cannot be read here: not measured")
        return
    begun = time.monotonic()
    total: Counter[str] = Counter()
    for name, longer in SCRIPTS.items():
        print(f"-- {name}", flush=True)
        total += passed_on([sys.executable, f"bench/{name}", *(["--full"] if longer and given.full else [])])
    print(f"-- {total[MET]} goals met, {total[MISSED]} missed, {total[NEAR]} too near to tell; "
          f"{time.monotonic() - begun:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
