"""CPU seconds of the probes on production code: a value domain, and the guards of a large tree."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from goals import goal

from memaudit.guards import find_guards
from memaudit.target import enumerate_domain

ROOT = Path(__file__).resolve().parents[1]


def children_s() -> float:
    """Return user and system CPU seconds of ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def domain() -> None:
    """Enumerate the bundled generator; the start of the child process is measured apart, with a trivial target."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one.py").write_text("def one(x):\n    return 'a'\n")
        enumerate_domain("one.py:one", base=Path(folder))  # compiles bytecode
        before = children_s()
        enumerate_domain("one.py:one", base=Path(folder))
        start = children_s() - before
    before = children_s()
    result = enumerate_domain("experience_agent.recorder:ExperienceRecorder._generate_pattern", base=ROOT / "fixtures")
    whole = children_s() - before
    values = len(result.fixed_values) + len(result.forms)
    more = f"after a start of {start:.2f} s, {result.calls:,} calls, {values} values and forms"
    goal("domain of the bundled generator", whole - start, 0.2, "s CPU", more=more)


def guards(n_files: int = 500) -> None:
    """Search a tree made of this project's own modules, copied under other names until there are enough files."""
    sources = [p for folder in ("memaudit", "probes", "reports") for p in sorted((ROOT / folder).rglob("*.py"))
               if not p.is_symlink() and "__pycache__" not in p.parts]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(n_files):
            source = sources[number % len(sources)]
            package = folder / f"copy{number // len(sources)}"
            package.mkdir(exist_ok=True)
            (package / f"m{number}_{source.name}").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        clock = time.process_time()
        report = find_guards([folder], base=folder)
        seconds = time.process_time() - clock
    counts: dict[str, int] = {}
    for guard in report.guards:
        counts[guard.verdict] = counts.get(guard.verdict, 0) + 1
    more = f"{len(report.guards)} guards {json.dumps(counts)}"
    goal(f"guards of {report.files} files", seconds, 10, "s CPU", more=more)


if __name__ == "__main__":
    if sys.platform == "win32":
        print("CPU seconds of child processes cannot be read here: not measured")
    else:
        domain()
        guards()
