"""Everything that the evaluation probes look at: read once, checked against each other, figures kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from memaudit.config import Config, nearest
from memaudit.errors import ConfigError, TargetError
from memaudit.evaluation.ablation import judged
from memaudit.evaluation.arms import Agreement, agreement, kind_of, natural_pair, of_kind, rankings_agreement
from memaudit.evaluation.blocking import (
    MixedMeanings,
    StaleTruth,
    blocked_by_leak,
    blocked_by_meaning,
    blocked_by_truth,
    mixed_meanings,
    stale_truth,
)
from memaudit.evaluation.corpus import SOURCE_FIELDS, Corpus, corpus_of_rows, read_corpus
from memaudit.evaluation.figures import METRICS, QueryResult, arm_results, by_category
from memaudit.evaluation.leak import MIN_CHARS, MIN_CONTAINMENT, MIN_QUERIES, Leak, find_leak
from memaudit.evaluation.predictions import Predictions, read_predictions
from memaudit.evaluation.query_set import Query, QuerySet, read_queries, refuse_collision
from memaudit.evaluation.resolve import Expected, resolve
from memaudit.evaluation.runs import Runs, read_runs
from memaudit.evaluation.stages import stage_arms
from memaudit.stats.decision import Decision
from memaudit.stats.paired import Comparison, compare_hits, compare_scores
from memaudit.wording import say

DEFAULT_K = 5
#: Parameters of a recall function that take the number of results.
_CUT_NAMES = ("k", "top_k", "n", "limit", "n_results")
#: Keys under which a result may name its document.
_ID_KEYS = ("id", "doc", "doc_id", "memory_id", "key")

#: (target, texts, further parameters) -> what was returned for each text, None where the call raised.
Caller = Callable[[str, Sequence[str], Mapping[str, Any]], list[Any]]


class Rows(Protocol):
    """Rows of a store, as far as a corpus is made from them."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def keys(self) -> Sequence[Any]:
        """Keys in row order."""
        ...

    def column(self, name: str) -> Sequence[Any]:
        """Values of a column."""
        ...


class EvaluationInputs:
    """Evaluation files of one audit.

    Parameters
    ----------
    queries, corpus, runs, predictions
        None where they were not given.
    call
        Calls a production function for each text, in a child process; None where none may be called.

    Attributes
    ----------
    compare
        The two arms (before, after); None when nothing is compared.
    """

    def __init__(
        self,
        config: Config,
        queries: QuerySet | None,
        corpus: Corpus | None,
        runs: Runs | None,
        predictions: Predictions | None = None,
        call: Caller | None = None,
    ) -> None:
        self.config = config
        self.query_set = queries
        self.corpus = corpus
        self.runs = runs
        self.predictions = predictions
        self._call = call
        #: Why production functions could not be asked, by setting.
        self.call_errors: dict[str, str] = {}
        self.k = _cut_off(config)
        self.metric = _metric(config, queries)
        self.compare = _compared(config, runs)
        self._results: dict[tuple[str, int, frozenset[str]], dict[str, QueryResult]] = {}

    # -- queries --------------------------------------------------------------------------------

    @property
    def queries(self) -> tuple[Query, ...]:
        """Queries in file order; none when no set was given."""
        return self.query_set.queries if self.query_set is not None else ()

    @property
    def category_field(self) -> str:
        """Field of the queries that names their category."""
        return self.config.category or "category"

    @cached_property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Category -> query ids; empty when the queries have none."""
        return by_category(self.queries, self.category_field)

    @cached_property
    def expected(self) -> dict[str, Expected]:
        """Query id -> expected documents."""
        return resolve(self.queries, self.corpus)

    @cached_property
    def expected_documents(self) -> frozenset[str]:
        """Documents that any query expects."""
        return frozenset().union(*(e.documents for e in self.expected.values()))

    # -- arms -----------------------------------------------------------------------------------

    @property
    def arms(self) -> tuple[str, ...]:
        """Arms in file order."""
        return tuple(self.runs.arms) if self.runs is not None else ()

    @property
    def primary_arm(self) -> str | None:
        """The arm whose figures stand for the set: the variant, else the first; None without rankings."""
        return self.compare[1] if self.compare else next(iter(self.arms), None)

    def results(self, arm: str, k: int | None = None, without: frozenset[str] = frozenset()) -> dict[str, QueryResult]:
        """Return the figures of every query for an arm; kept."""
        key = (arm, k or self.k, without)
        if key not in self._results:
            if self.runs is None:
                raise ValueError("no rankings were given")
            self._results[key] = arm_results(self.queries, self.expected, self.runs, arm, k or self.k, without)
        return self._results[key]

    # -- verdicts -------------------------------------------------------------------------------

    @property
    def metric_name(self) -> str:
        """Name of the primary metric with its cut-off."""
        if self.metric == "rr":
            return "RR"
        if self.metric == "auto":
            return say("hit@{k} or coverage@{k}, as each query needs", k=self.k)
        return f"{self.metric}@{self.k}"

    def compared(self, before: str, after: str, metric: str | None = None, k: int | None = None) -> Comparison:
        """Compare two arms query by query; dependent queries (`group`, `pair`) count as one unit."""
        name = metric or self.metric
        level = 1.0 - self.config.alpha
        a, b = self.results(before, k), self.results(after, k)
        groups = self.query_set.dependence if self.query_set is not None else {}
        if name in ("hit", "complete"):
            flags = [{q: r.hit if name == "hit" else r.complete for q, r in arm.items()} for arm in (a, b)]
            return compare_hits(flags[0], flags[1], groups, level, self.config.seed)
        values = [{q.id: arm[q.id].value(name, q) for q in self.queries} for arm in (a, b)]
        return compare_scores(values[0], values[1], groups, level, self.config.seed)

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """Judge every variant against the baseline by the primary metric, together; empty when nothing is compared.

        The family is read from the rankings, not from what the user chose to compare: of ten variants the best one looks
        better than it is, whichever pair is named afterwards. Not in it are parts of one pipeline, production and
        evaluation, which answer other questions, and arms that returned nothing at all.
        """
        if self.compare is None or self.query_set is None or self.runs is None:
            return {}
        before, after = self.compare
        aside = stage_arms(self.arms, self.config.stages)
        aside |= {arm for arm in self.arms if kind_of(arm) in ("production", "evaluation")}
        aside |= {arm for arm in self.arms if not any(r.ids for r in self.runs.arms[arm].values())}
        variants = [arm for arm in self.arms if arm != before and (arm == after or arm not in aside)]
        comparisons = {arm: self.compared(before, arm) for arm in variants}
        return judged(comparisons, self.config.margin, self.config.alpha, self.blocked)

    @property
    def decision(self) -> Decision | None:
        """What the family says of the two compared arms; None when nothing is compared."""
        return self.decisions.get(self.compare[1]) if self.compare is not None else None

    @cached_property
    def leak(self) -> Leak | None:
        """Answers in the corpus; None without a corpus."""
        if self.corpus is None or self.query_set is None:
            return None
        limit = self.config.limit
        return find_leak(
            self.queries,
            self.expected,
            self.corpus,
            min_chars=int(limit("MA701", "min_chars", MIN_CHARS)),
            min_queries=int(limit("MA701", "min_queries", MIN_QUERIES)),
            min_containment=limit("MA701", "min_containment", MIN_CONTAINMENT),
        )

    @cached_property
    def stale(self) -> StaleTruth:
        """Expected items that are missing or too common."""
        return stale_truth(self.queries, self.expected, self.k)

    @cached_property
    def mixed(self) -> MixedMeanings:
        """Queries whose metric contradicts what they need."""
        return mixed_meanings(self.queries, self.config.metric if "metric" in self.config.origins else None)

    @cached_property
    def paths(self) -> tuple[str, str, Agreement] | None:
        """Production, evaluation and how alike their rankings are; None unless both were recorded or could be called."""
        production, evaluation = of_kind(self.arms, "production"), of_kind(self.arms, "evaluation")
        if self.runs is not None and len(production) == 1 and len(evaluation) == 1:
            return production[0], evaluation[0], agreement(self.runs, production[0], evaluation[0], self.k)
        recall, eval_recall = self.config.recall, self.config.eval_recall
        if recall is None or eval_recall is None:
            return None
        first, second = self._called(recall, "recall"), self._called(eval_recall, "eval_recall")
        if first is None or second is None:
            return None
        same = rankings_agreement(
            {q: ids_of(value) for q, value in first.items()}, {q: ids_of(v) for q, v in second.items()}, self.k
        )
        return recall, eval_recall, same

    @cached_property
    def tokens(self) -> dict[str, tuple[str, ...]] | None:
        """Query id -> tokens of the production tokenizer; None when it was not named or gives no list of texts."""
        if self.config.query_tokenizer is None:
            return None
        returned = self._called(self.config.query_tokenizer, "query_tokenizer")
        if returned is None:
            return None
        found = _token_lists(returned)
        if len(found) < len(returned):
            self.call_errors["query_tokenizer"] = say("it does not return a list of texts for every query")
            return None
        return found

    @cached_property
    def document_tokens(self) -> dict[str, tuple[str, ...]]:
        """Expected document -> tokens of the production tokenizer, for those of which it gives a list of texts."""
        if self.tokens is None or self.corpus is None or self.config.query_tokenizer is None:
            return {}
        texts = {d: self.corpus.documents[d].text for d in sorted(self.expected_documents) if d in self.corpus}
        returned = self._called(self.config.query_tokenizer, "query_tokenizer", texts)
        return {} if returned is None else _token_lists(returned)

    def _called(self, target: str, setting: str, texts: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """Ask a production function with every query (or other texts); None, with the reason kept, when it cannot be."""
        texts = {q.id: q.text for q in self.queries} if texts is None else texts
        if self._call is None or not texts:
            self.call_errors[setting] = say("there is no query to ask it with")
            return None
        more = dict.fromkeys(_CUT_NAMES, self.k)
        try:
            returned = self._call(target, list(texts.values()), more)
        except TargetError as error:
            self.call_errors[setting] = str(error)
            return None
        return dict(zip(texts, returned, strict=True))

    @property
    def corpora_differ(self) -> bool:
        """Whether the compared arms say that they ran on different corpora."""
        if self.runs is None or self.compare is None:
            return False
        named = [{r.corpus for r in self.runs.arms[arm].values()} - {None} for arm in self.compare]
        return all(named) and named[0] != named[1]

    @property
    def predictions_late_s(self) -> float | None:
        """Seconds by which the predictions were last changed after the rankings; None without both files."""
        if self.predictions is None or not self.config.runs:
            return None
        return self.predictions.written - self.config.path(self.config.runs).stat().st_mtime

    @cached_property
    def blocked(self) -> str | None:
        """Say why no verdict may be given; None when one may."""
        leak = self.leak
        leaked = blocked_by_leak(len(leak.queries), len(leak.documents)) if leak is not None and leak.serious else None
        paths = self.paths
        other_path = None
        if paths is not None and (paths[2].same_set or paths[2].different):
            other_path = say("the evaluation does not return what production returns (MA718)")
        other_corpus = say("the two arms ran on different corpora (MA722)") if self.corpora_differ else None
        reasons = (leaked, blocked_by_meaning(self.mixed), other_path, blocked_by_truth(self.stale), other_corpus)
        return next((reason for reason in reasons if reason), None)


def read_inputs(
    config: Config,
    records: Rows | None = None,
    texts: Sequence[str] = (),
    name: str = "",
    source: str | None = None,
    call: Caller | None = None,
) -> EvaluationInputs:
    """Read the evaluation files that the configuration names.

    Parameters
    ----------
    records, texts, name
        Rows of the store, their embedded texts and the table: the corpus when no file of one was named.
    source
        Column that says where a row came from.
    call
        Calls a production function for each text, in a child process.

    Raises
    ------
    ConfigError
        A file breaks its format, or two files do not belong together.
    """
    queries = read_queries(config.path(config.queries)) if config.queries else None
    corpus = None
    if config.corpus:
        corpus = read_corpus(config.path(config.corpus))
    elif records is not None and records.n_rows:
        columns = {source: records.column(source)} if source else {}
        corpus = corpus_of_rows(name, records.keys, texts, columns)
    runs = read_runs(config.path(config.runs), queries.ids if queries is not None else None) if config.runs else None
    predictions = read_predictions(config.path(config.predictions)) if config.predictions else None
    if queries is not None and corpus is not None:
        refuse_collision(queries, corpus.documents)
    return EvaluationInputs(config, queries, corpus, runs, predictions, call)


def _token_lists(returned: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Keep what is a list of texts."""
    return {
        key: tuple(value)
        for key, value in returned.items()
        if isinstance(value, list) and all(isinstance(token, str) for token in value)
    }


def ids_of(value: Any) -> tuple[str, ...]:
    """Return the documents that a recall function returned: ids, or objects with one; empty for anything else."""
    found = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            item = next((item[k] for k in _ID_KEYS if k in item), None)
        if isinstance(item, (str, int)) and not isinstance(item, bool):
            found.append(str(item))
    return tuple(found)


def source_field(corpus: Corpus, *named: str | None) -> str | None:
    """Return the field that says where a document came from: a named one that is there, else one found by its name."""
    known = (name for name in named if name is not None and corpus.values(name))
    return next(known, None) or corpus.field_among(SOURCE_FIELDS)


def _cut_off(config: Config) -> int:
    k = DEFAULT_K if config.k is None else config.k
    if k < 1:
        raise ConfigError(say("k is {k}.", k=k), say("Give a cut-off of at least 1."))
    return k


def _metric(config: Config, queries: QuerySet | None) -> str:
    given = config.metric.lower().partition("@")[0]
    if given not in METRICS:
        raise ConfigError(
            say("metric is {metric}; expected {metrics}.", metric=repr(config.metric), metrics=", ".join(METRICS)),
            nearest(given, tuple(METRICS)) or None,
        )
    # Nobody chose the metric: each query is measured by what it says it needs.
    several = queries is not None and any(q.measured_by == "coverage" for q in queries.queries)
    return "auto" if given == "hit" and several and "metric" not in config.origins else METRICS[given]


def _compared(config: Config, runs: Runs | None) -> tuple[str, str] | None:
    if runs is None:
        return None
    arms = tuple(runs.arms)
    if config.compare is None:
        return natural_pair(arms)
    if len(config.compare) != 2 or config.compare[0] == config.compare[1]:
        raise ConfigError(
            say("compare is {compare}; two different arms were expected.", compare=", ".join(config.compare))
        )
    for arm in config.compare:
        if arm not in arms:
            raise ConfigError(
                say('compare: there is no arm "{arm}" in {name}.', arm=arm, name=runs.name),
                say("Arms: {arms}.", arms=", ".join(arms) or "none"),
            )
    return config.compare[0], config.compare[1]
