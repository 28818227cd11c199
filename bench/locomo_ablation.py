"""Field ablation on LoCoMo: observations as the store, questions with evidence as the query set.

    python bench/locomo_ablation.py [--encoder embedded|all-MiniLM-L6-v2|FOLDER] [--samples N]

Reads ../shared/data/real/locomo (or $MEMAUDIT_SHARED) and says so when it is not here. LoCoMo is CC BY-NC 4.0 and is
never copied into this repository. Each conversation is a store of its own, because evidence ids repeat; the queries of
all conversations are judged together, a conversation being no unit of its own: questions of one conversation share its
speakers and are not independent, which the intervals do not know.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.config import Config
from memaudit.embedding import TextEncoder
from memaudit.evaluation.ablation import compare_results, flips, judged, results_of_ranks, table_figures
from memaudit.evaluation.figures import QueryResult
from memaudit.evaluation.query_set import Item, Query
from memaudit.evaluation.ranking import best_ranks
from memaudit.evaluation.variants import parts_of_fields, variants
from memaudit.stats.sentences import ablation_sentence
from memaudit.stats.shown import signed_points

ROOT = Path(__file__).resolve().parents[1]
FIELDS = ("date", "speaker", "text")
ABLATE = ("date", "speaker", "date+speaker")
K = 10


def observations(sample: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one conversation: id, date, speaker, text, dia (set of turn ids)."""
    conversation = sample["conversation"]
    for name, by_speaker in sample["observation"].items():
        session = name.removesuffix("_observation")
        number = 0
        for speaker, listed in by_speaker.items():
            for text, dia in listed:
                number += 1
                yield {
                    "id": f"{sample['sample_id']}/{session}/{number}",
                    "date": str(conversation.get(f"{session}_date_time", "")),
                    "speaker": speaker,
                    "text": text,
                    "dia": set(dia) if isinstance(dia, list) else {dia},
                }


def main() -> int:
    """Print the figures of every variant."""
    options = argparse.ArgumentParser()
    options.add_argument("--encoder", default="embedded")
    options.add_argument("--samples", type=int, default=10)
    given = options.parse_args()
    shared = Path(os.environ.get("MEMAUDIT_SHARED", ROOT.parent / "shared"))
    path = shared / "data" / "real" / "locomo" / "locomo10.json"
    if not path.is_file():
        print(f"skipped: {path} is not here")
        return 0
    samples = json.loads(path.read_text(encoding="utf-8"))[: given.samples]
    encoder = TextEncoder(Config(encoder=given.encoder))
    start = time.perf_counter()
    asked: list[Query] = []
    results: dict[str, dict[str, QueryResult]] = {}
    chars: dict[str, int] = {}
    n_rows = n_without = n_unknown = 0
    for sample in samples:
        rows = list(observations(sample))
        n_rows += len(rows)
        turns = {
            turn["dia_id"]
            for name, session in sample["conversation"].items()
            if name.startswith("session_") and isinstance(session, list)
            for turn in session
        }
        own: list[Query] = []
        wanted: list[list[list[int]]] = []
        for number, question in enumerate(sample["qa"]):
            evidence = set(question.get("evidence", ()))
            n_unknown += len(evidence - turns)
            found = [i for i, row in enumerate(rows) if row["dia"] & evidence]
            if not found:
                n_without += 1
                continue
            items = tuple(Item(doc=rows[i]["id"]) for i in found)
            own.append(
                Query(f"{sample['sample_id']}-{number}", question["question"], (items,), "expect_any",
                      fields={"category": question["category"]})
            )  # fmt: skip
            wanted.append([found])
        parts = parts_of_fields({name: [row[name] for row in rows] for name in FIELDS})
        made = variants(parts, ABLATE)
        texts = [text for variant in made for text in variant.texts]
        matrix = encoder.encode([*texts, *(q.text for q in own)]).matrix
        queries = matrix[len(texts) :]
        for place, variant in enumerate(made):
            block = matrix[place * len(rows) : (place + 1) * len(rows)]
            results.setdefault(variant.name, {}).update(results_of_ranks(own, best_ranks(queries, block, wanted), K))
            chars[variant.name] = chars.get(variant.name, 0) + variant.n_chars
        asked += own
        print(f"{sample['sample_id']}: {len(rows)} observations, {len(own)} questions", file=sys.stderr, flush=True)
    print(f"encoder {encoder.encoder.name} ({encoder.encoder.revision}); {n_rows:,} observations of {len(samples)} "
          f"conversations, {len(asked):,} questions with an observation for their evidence; {n_without} have none; "
          f"{n_unknown} evidence strings are no turn of their conversation; {time.perf_counter() - start:.0f} s")  # fmt: skip
    report(asked, results, chars)
    return 0


def report(asked: list[Query], results: Mapping[str, Mapping[str, QueryResult]], chars: Mapping[str, int]) -> None:
    """Print the table, and a sentence a variant for each cut-off; only hit@10 is judged."""
    names = [name for name in results if name != "full"]
    comparisons = {n: compare_results(asked, results["full"], results[n], "hit") for n in names}
    decisions = judged(comparisons, 0.05, 0.05, None)
    for name, own in results.items():
        figures = table_figures(asked, own, (1, 5, K))
        line = f"{name:22} hit@1 {figures['hit1']:>5} hit@5 {figures['hit5']:>5} hit@{K} {figures[f'hit{K}']:>5} "
        line += f"MRR {figures['mrr']:.4f} characters {chars[name]:,}"
        if name in comparisons:
            c = comparisons[name]
            low_high = c.interval
            line += f"  lost {c.lost} gained {c.gained} p {c.p:.3g}"
            if low_high is not None:
                line += f" [{signed_points(low_high.low)}, {signed_points(low_high.high)}]"
            line += f" {decisions[name].verdict.value}; {len(flips(asked, results['full'], own, 'hit'))} flips"
        print(line)
    for name in names:
        print(ablation_sentence(decisions[name], name.removeprefix("without_"), f"hit@{K}"))


if __name__ == "__main__":
    raise SystemExit(main())
