"""Whether a query set can decide anything in this run: the word that the verdict's lane "retrieval" rests on."""

from __future__ import annotations

from collections.abc import Iterable

from memaudit.evaluation.candidates import HIGH_SHARE, candidates_of
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.stats.decision import Decision
from memaudit.stats.power import mde_best_case

#: A set whose smallest change found is above this is too small (rule MA703 is medium there).
MEDIUM_DETECTABLE = 0.30


def can_decide(ev: EvaluationInputs, decisions: Iterable[Decision] = ()) -> bool:
    """Say whether the set can tell something.

    Parameters
    ----------
    decisions
        Further comparisons of this run (variants of an ablation, stages).

    Returns
    -------
    False while a finding suspends verdicts or any ranking would do; True when a comparison got a verdict; else what
    the recorded comparison says, or the size of the set where nothing was compared.
    """
    limit = ev.config.limit
    candidates = candidates_of(ev.queries, ev.expected, ev.corpus, ev.runs, ev.k)
    n_met = 0 if candidates is None else len(candidates.met(ev.k, ev.expected))
    n = len(ev.queries)
    if n == 0 or ev.blocked or n_met >= limit("MA705", "high_share", HIGH_SHARE) * n:
        return False
    recorded = ev.decision
    if any(1 <= d.verdict.row <= 4 for d in (*decisions, *((recorded,) if recorded is not None else ()))):
        return True
    if recorded is not None and recorded.verdict.row > 0:
        return False
    groups = ev.query_set.dependence if ev.query_set is not None else {}
    units = len({(1, groups[q.id]) if q.id in groups else (0, q.id) for q in ev.queries})
    detectable = mde_best_case(units, ev.config.alpha)
    return detectable is not None and detectable <= limit("MA703", "medium_detectable", MEDIUM_DETECTABLE)
