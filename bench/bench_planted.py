"""`make bench-planted`: precision and recall of each rule on planted stores.

Run as a script: ``python bench/bench_planted.py [--rows 200 5000] [--languages mixed] [--seeds 1 2 3] [--templates ...]``.
A rule's flagged rows are the ids of its finding; what it should flag is the truth of the generator. Rows that are
neither right nor wrong for a rule (a quoted memory inside a wrapper is both) are left out of its figures. The embedded
encoder is used at 200 rows only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for _folder in (ROOT, ROOT / "fixtures"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from planted.make import LANGUAGES, planted_rows, write_store  # noqa: E402

GOAL = 0.95
CLEAN_GOAL = 0.01
WITH_ENCODER = 200
#: A name that no model has: near copies are not measured then.
NO_ENCODER = "no encoder at this size"


@dataclass(frozen=True)
class Rule:
    """A rule and the kinds of rows that it should flag, or that do not count for it."""

    name: str
    code: str
    figure: str | None
    wanted: frozenset[str]
    neutral: frozenset[str] = frozenset()


def _rule(name: str, code: str, wanted: Iterable[str], neutral: Iterable[str] = (), figure: str | None = None) -> Rule:
    return Rule(name, code, figure, frozenset(wanted), frozenset(neutral))


#: Rows of loops quote other rows: what they quote is in them, too.
RULES = (
    _rule("MA003 placeholders", "MA003", ["placeholder"]),
    _rule("MA305 exact copies", "MA305", ["copy", "copied"], ["machine", "placeholder", "order", "loop"]),
    _rule("MA801 machine text", "MA801", ["machine"], ["loop"]),
    _rule("MA802 recall loops", "MA802", ["loop"], ["machine"]),
    _rule("MA803 credentials", "MA803", ["credential"], ["loop"], "credential_ids"),
    _rule("MA803 personal", "MA803", ["personal"], ["loop"], "personal_ids"),
    _rule("MA804 orders", "MA804", ["order"], ["loop"]),
    _rule("MA805 superseded", "MA805", ["superseded"], [], "old_ids"),
    _rule("MA806 several values", "MA806", ["several-values", "superseded", "superseding"]),
    _rule("MA306 near copies", "MA306", ["rewording"], ["reworded", "contradiction", "superseded", "superseding", "several-values", "retired", "retiring", "loop", "machine"]),
)  # fmt: skip


@dataclass
class Score:
    """Counts of one rule, summed over stores."""

    right: int = 0
    flagged: int = 0
    wanted: int = 0

    @property
    def precision(self) -> float | None:
        """Right ones among the flagged; None when nothing was flagged."""
        return self.right / self.flagged if self.flagged else None

    @property
    def recall(self) -> float | None:
        """Right ones among the wanted; None when nothing was planted."""
        return self.right / self.wanted if self.wanted else None


def real_texts() -> tuple[str, ...]:
    """Return texts of the public dialogues beside the repository; none where they are absent."""
    shared = Path(os.environ.get("MEMAUDIT_SHARED", ROOT.parent / "shared"))
    texts = []
    for name in ("memory_bank_cn.json", "memory_bank_en.json"):
        path = shared / "data" / "real" / "memorybank" / name
        if path.is_file():
            for person in json.loads(path.read_text(encoding="utf-8")).values():
                texts += [
                    turn["query"] for turns in person["history"].values() for turn in turns if len(turn["query"]) >= 12
                ]
    return tuple(texts)


@dataclass
class Judged:
    """One audit held against the truth."""

    scores: dict[str, Score]
    wrong: list[tuple[str, str, str]]
    clean_flagged: int
    n_clean: int
    contradictions_merged: int
    seconds: float


def judge(folder: Path, n_rows: int, language: str, seed: int, templates: str, real: tuple[str, ...]) -> Judged:
    """Make a store, audit it, and compare."""
    from memaudit.config_file import load
    from memaudit.engine import run_audit
    from memaudit.model import Severity

    planted = planted_rows(n_rows, language, seed, templates, real)
    with_encoder = n_rows <= WITH_ENCODER
    write_store(folder, planted, seed, encoder=with_encoder)
    select = ["MA003", "MA305", "MA8"] + (["MA306", "MA307"] if with_encoder else [])
    started = time.perf_counter()
    audit = run_audit(
        load(
            file=folder / "memaudit.toml",
            environment={},
            options={"select": tuple(select), "encoder": None if with_encoder else NO_ENCODER},
        )
    )
    seconds = time.perf_counter() - started
    by_code = {f.code: f for f in audit.findings}
    kind = {row.key: row.kind for row in planted.rows}
    text = {row.key: row.text for row in planted.rows}
    scores, wrong = {}, []
    for rule in RULES:
        if rule.code == "MA306" and not with_encoder:
            continue
        finding = by_code.get(rule.code)
        ids = set() if finding is None else set(finding.figures[rule.figure] if rule.figure else finding.evidence.ids)
        flagged = {i for i in ids if kind[i] not in rule.neutral}
        wanted = {i for i, k in kind.items() if k in rule.wanted}
        scores[rule.name] = Score(len(flagged & wanted), len(flagged), len(wanted))
        wrong += [(rule.name, "missed", text[i]) for i in sorted(wanted - flagged)]
        wrong += [(rule.name, "false alarm", text[i]) for i in sorted(flagged - wanted)]
    clean = {i for i, k in kind.items() if k == "clean"}
    serious = {i for f in audit.findings if f.severity >= Severity.MEDIUM for i in f.evidence.ids if i in clean}
    # A clean row that a loop quotes or a copy repeats is concerned, not accused.
    sides = {row.key: row.group for row in planted.rows if row.kind == "contradiction"}
    merged = 0
    for proposal in audit.plan:
        if proposal.action == "merge":
            members = [sides[i] for i in (*proposal.ids, proposal.keep) if i in sides]
            merged += len(members) - len(set(members))
    return Judged(scores, wrong, len(serious), len(clean), merged, seconds)


def main() -> int:
    """Print a table a size and language; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 5_000])
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--templates", nargs="+", choices=("seen", "held-out", "both"), default=["seen", "held-out"])
    parser.add_argument("--show", type=int, default=0, help="print so many wrong rows a rule")
    args = parser.parse_args()
    real = real_texts()
    print(f"clean rows from public dialogues: {'yes' if real else 'no (not here)'}")
    missed = 0
    for n_rows in args.rows:
        for templates in args.templates:
            total: dict[str, Score] = {}
            wrong: list[tuple[str, str, str]] = []
            clean_flagged = n_clean = merged = 0
            seconds = 0.0
            for language in args.languages:
                for seed in args.seeds:
                    with tempfile.TemporaryDirectory() as name:
                        found = judge(Path(name), n_rows, language, seed, templates, real)
                    for rule, score in found.scores.items():
                        kept = total.setdefault(rule, Score())
                        kept.right, kept.flagged, kept.wanted = (
                            kept.right + score.right,
                            kept.flagged + score.flagged,
                            kept.wanted + score.wanted,
                        )
                    wrong += found.wrong
                    clean_flagged, n_clean, merged = (
                        clean_flagged + found.clean_flagged,
                        n_clean + found.n_clean,
                        merged + found.contradictions_merged,
                    )
                    seconds = max(seconds, found.seconds)
            print(
                f"\n{n_rows:,} rows, {templates} templates, {', '.join(args.languages)}, seeds {' '.join(map(str, args.seeds))}; slowest audit {seconds:.1f} s"
            )
            for rule, score in total.items():
                below = any(v is not None and v < GOAL for v in (score.precision, score.recall))
                missed += below
                print(
                    f"  {rule:22} precision {_shown(score.precision)} ({score.right}/{score.flagged})  recall {_shown(score.recall)} ({score.right}/{score.wanted}){'  below the goal' if below else ''}"
                )
            bad_clean = clean_flagged > CLEAN_GOAL * n_clean
            missed += bad_clean + (merged > 0)
            print(
                f"  clean rows in findings at medium or above: {clean_flagged} of {n_clean} ({100 * clean_flagged / max(1, n_clean):.2f} %){'  above the goal' if bad_clean else ''}"
            )
            print(f"  contradictions listed as safe to merge: {merged}")
            _show(wrong, args.show)
    return int(missed > 0)


def _shown(share: float | None) -> str:
    return "  -  " if share is None else f"{share:.3f}"


def _show(wrong: list[tuple[str, str, str]], n: int) -> None:
    seen: dict[tuple[str, str], int] = {}
    for rule, what, text in wrong:
        seen[rule, what] = seen.get((rule, what), 0) + 1
        if seen[rule, what] <= n:
            print(f"    {rule} {what}: {text[:160]!r}")


if __name__ == "__main__":
    sys.exit(main())
