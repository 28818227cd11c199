"""MA501 on stores whose vectors can be worked out: one direction a word, texts are the sum of their words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.context import Context
from memaudit.encoders.tokens import Token
from memaudit.model import Basis, Finding, ProbeResult
from memaudit.probes.field_ablation import PROBE
from memaudit.vectors.cache import EncodedTexts

Row = Mapping[str, Any]


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class Words:
    """An encoder that gives each word an axis of its own; names what it encoded."""

    name, revision, note, max_chars, max_tokens = "words", "1", "", None, None

    def __init__(self, n_axes: int = 256) -> None:
        self.axes: dict[str, int] = {}
        self.dim = n_axes
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for i, text in enumerate(texts):
            self.seen.append(text)
            for word in words_of(text):
                rows[i, self.axes.setdefault(word, len(self.axes))] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Uncached:
    """Stands in for the encoder with its cache."""

    def __init__(self) -> None:
        self.encoder = Words()
        self.n_encoded = self.n_cached = 0

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        return EncodedTexts(self.encoder.encode(texts), len(set(texts)), 0, "words", "1")


ROWS: list[Row] = [
    {"id": 1, "topic": "network", "body": "timeout after retry", "note": "shell shell shell"},
    {"id": 2, "topic": "network", "body": "certificate expired", "note": "shell shell shell"},
    {"id": 3, "topic": "disk", "body": "full", "note": "browser"},
    {"id": 4, "topic": "磁盘", "body": "满了", "note": ""},
]
QUERIES: list[Row] = [
    {"id": "q1", "text": "shell certificate", "expect_any": [{"doc": "2"}]},
    {"id": "q2", "text": "disk full", "expect_any": [{"doc": "3"}]},
    {"id": "q3", "text": "磁盘", "expect_any": [{"contains": "满了"}]},
    {"id": "q4", "text": "network network timeout shell", "expect_any": [{"doc": "1"}, {"doc": "3"}]},
]
FIELDS = ("topic", "body", "note")

Make = Callable[..., Context]


@pytest.fixture
def make(tmp_path: Path, make_context: Callable[..., Context]) -> Make:
    """Return a function that makes a context of rows and queries with the encoder of words."""

    def build(
        rows: Sequence[Row] = ROWS,
        queries: Sequence[Row] | None = QUERIES,
        roles: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> Context:
        if queries is not None:
            lines = "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in queries)
            (tmp_path / "queries.jsonl").write_text(lines, encoding="utf-8")
            config["queries"] = "queries.jsonl"
        columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {"id": []}
        given = {"embedded_fields": FIELDS} if roles is None else dict(roles)
        ctx = make_context(columns, {**config, "base": tmp_path, "origins": dict.fromkeys(config, "test")}, **given)
        ctx.__dict__["text_encoder"] = Uncached()
        return ctx

    return build


def slow_ranks(texts: Sequence[str], query: str, wanted: set[int]) -> int | None:
    """Rank of the best wanted text by the cosine of word counts, worked out word by word."""

    def cos(a: str, b: str) -> float:
        x, y = words_of(a), words_of(b)
        dot = sum(x.count(w) * y.count(w) for w in set(x))
        return dot / math.sqrt(sum(x.count(w) ** 2 for w in set(x)) * sum(y.count(w) ** 2 for w in set(y)))

    usable = [i for i, t in enumerate(texts) if t.strip()]
    order = sorted(usable, key=lambda i: (-round(cos(texts[i], query), 6), i))
    return min((order.index(i) + 1 for i in wanted if i in order), default=None)


def by_variant(result: ProbeResult) -> dict[str, Finding]:
    return {str(f.subject["variant"]): f for f in result.findings}


def rows_of(result: ProbeResult) -> dict[str, Mapping[str, Any]]:
    return {str(row["variant"]): row for row in result.sections[0].tables[0].rows}


def test_ablation_when_run_then_every_rank_is_that_of_a_slow_loop(make: Make) -> None:
    result = PROBE.run(make(k=1))
    found = by_variant(result)
    assert set(found) == {"without_topic", "without_body", "without_note"}
    wanted = [{1}, {2}, {3}, {0, 2}]
    for name, left_out in (("full", ""), *((f"without_{f}", f) for f in FIELDS)):
        texts = [" ".join(str(r[f]) for f in FIELDS if f != left_out and r[f]) for r in ROWS]
        ranks = [slow_ranks(texts, str(q["text"]), w) for q, w in zip(QUERIES, wanted, strict=True)]
        figures = next(f.figures[name] for f in found.values() if name in f.figures)
        assert figures["h1"] == sum(r == 1 for r in ranks)
        assert figures["hit3"] == sum(r is not None and r <= 3 for r in ranks)
        assert figures["mrr"] == pytest.approx(sum(1 / r for r in ranks if r) / 4)
        assert figures["characters"] == sum(map(len, texts))
    # Without the body nothing tells rows 1 and 2 apart: q1 goes from 1 to 2.
    body = found["without_body"]
    names = ("queries", "queries_changed_at_1", "h1_wins", "h1_losses", "sign_test_p", "points_per_query")
    assert [body.figures[n] for n in names] == [4, 1, 0, 1, 1.0, 25.0]
    assert body.figures["flipped"] == [{"query": "q1", "before": 1, "after": 2}]
    assert body.evidence.ids == ("q1",)
    assert body.subject["column"] == "body"
    assert body.basis is Basis.UNDER_POWERED
    assert "proves nothing (at least 7 must" in body.title  # 3 comparisons: 2^(1-7) = .0156 <= .05 / 3
    assert rows_of(result)["`topic` alone"]["verdict"] == "descriptive"


def test_ablation_when_only_one_field_is_named_then_one_comparison(make: Make) -> None:
    result = PROBE.run(make(k=1, ablate=("note",)))
    (finding,) = result.findings
    assert finding.figures["comparisons"] == 1
    assert finding.figures["verdict"] == "inconclusive_n_too_small"
    assert "No observed contribution of `note`" in str(finding.caveat)
    assert set(rows_of(result)) == {"full text", "without `note`"}
    assert result.figures == {"query_set_can_decide": False}


def test_ablation_when_a_field_decides_enough_queries_then_it_contributes(make: Make) -> None:
    rows = [{"id": i, "topic": "same", "body": f"word{i}"} for i in range(1, 13)]
    queries = [{"id": f"q{i}", "text": f"word{i}", "expect_any": [{"doc": str(i)}]} for i in range(1, 13)]
    result = PROBE.run(make(rows, queries, {"embedded_fields": ("topic", "body")}, k=1, ablate=("body", "topic")))
    body, topic = by_variant(result)["without_body"], by_variant(result)["without_topic"]
    # 12 found with it; without it all rows are equal and the first one leads: q1 is found, 11 are lost
    assert (body.figures["h1_losses"], body.figures["h1_wins"]) == (11, 0)
    assert body.figures["verdict"] == "degrades"
    assert body.figures["p_adjusted"] == pytest.approx(2 * 2 / 2**11)  # Holm over two
    assert "`body` contributes" in str(body.caveat)
    assert topic.figures["queries_changed_at_1"] == 0
    assert "`body` contributes" in result.sections[0].answer
    assert result.figures["query_set_can_decide"] is True


def test_ablation_when_vectors_are_stored_then_they_are_not_used_and_it_says_so(make: Make) -> None:
    rows = [{**row, "embedding": [1.0, 0.0]} for row in ROWS]
    ctx = make(rows, QUERIES, {"embedded_fields": FIELDS, "embedding": "embedding"}, k=1)
    result = PROBE.run(ctx)
    assert by_variant(result)["without_body"].figures["h1_losses"] == 1
    assert any("stored vectors were not used" in line for line in result.sections[0].method)


def test_ablation_when_variants_share_texts_then_encoded_in_one_call(make: Make) -> None:
    ctx = make(k=1, ablate=("note",))
    PROBE.run(ctx)
    assert sorted(set(ctx.text_encoder.encoder.seen)) == sorted(
        {" ".join(str(r[f]) for f in FIELDS if r[f]) for r in ROWS}
        | {f"{r['topic']} {r['body']}" for r in ROWS}
        | {str(q["text"]) for q in QUERIES}
    )


def test_ablation_when_a_row_is_excluded_then_the_next_one_leads(make: Make) -> None:
    queries = [{"id": "q1", "text": "shell certificate", "expect_any": [{"doc": "1"}], "exclude": ["2"]}]
    (finding,) = PROBE.run(make(ROWS, queries, k=1, ablate=("topic",))).findings
    assert finding.figures["full"]["h1"] == 1


def test_ablation_when_expected_rows_are_gone_then_not_judged(make: Make) -> None:
    queries = [*QUERIES, {"id": "q5", "text": "gone", "expect_any": [{"doc": "99"}]}]
    (finding,) = PROBE.run(make(ROWS, queries, ablate=("note",))).findings
    assert finding.figures["verdict"] == "not_trustworthy"
    assert str(finding.caveat).startswith("Not judged:")


@pytest.mark.parametrize(
    ("n", "more", "decides"),
    [
        (60, [], True),  # 60 queries find 13 points
        (24, [], False),  # 24 find 31
        (5, [], False),  # none
        (
            60,
            [{"id": "gone", "text": "gone", "expect_any": [{"doc": "99"}]}],
            False,
        ),  # no verdict while items are missing
    ],
)
def test_query_set_when_large_and_whole_then_it_can_decide(make: Make, n: int, more: Any, decides: bool) -> None:
    queries = [{"id": f"q{i}", "text": f"disk full {i}", "expect_any": [{"doc": "3"}]} for i in range(n)]
    # Leaving the note out changes no query, so no comparison decides by itself.
    result = PROBE.run(make(ROWS, [*queries, *more], ablate=("note",), margin=0.01, k=1))
    assert result.figures == {"query_set_can_decide": decides}


def test_ablation_when_several_items_are_needed_then_graded(make: Make) -> None:
    queries = [{"id": "q1", "text": "network", "expect_all": [{"doc": "1"}, {"doc": "2"}]}]
    (finding,) = PROBE.run(make(ROWS, queries, k=1, ablate=("topic",))).findings
    assert finding.figures["full"]["coverage1_mean"] == 0.5
    assert finding.figures["full"]["hit3"] == finding.figures["full"]["coverage3"] == 1


def test_ablation_when_a_template_is_given_then_its_constants_are_a_variant(make: Make, tmp_path: Path) -> None:
    (tmp_path / "template.txt").write_text("Topic: {topic}\nBody: {body}\n", encoding="utf-8")
    rows = [{"id": r["id"], "content": f"Topic: {r['topic']}\nBody: {r['body']}"} for r in ROWS]
    rows.append({"id": 5, "content": "free text"})
    result = PROBE.run(make(rows, QUERIES, {}, template="template.txt", k=1))
    assert set(by_variant(result)) == {"without_topic", "without_body", "without_template"}
    assert by_variant(result)["without_body"].figures["without_body"]["characters"] == sum(
        len(f"Topic: {r['topic']}") for r in ROWS
    ) + len("free text")
    assert "1 of 5" in result.notes[0]


@pytest.mark.parametrize(
    ("roles", "config", "reason", "option"),
    [
        ({}, {}, "neither the embedded fields nor a template", "embedded_fields"),
        ({"embedded_fields": ("body",)}, {}, "one field", "embedded_fields"),
        (None, {"limits": {"MA501": {"max_texts": 3}}}, "more than the limit of 3", "ablate"),
    ],
)
def test_ablation_when_nothing_can_be_left_out_then_not_looked(
    make: Make, roles: Any, config: Any, reason: str, option: str
) -> None:
    result = PROBE.run(make(roles=roles, **config))
    assert result.findings == ()
    assert reason in result.not_looked["MA501"][0]
    assert result.not_looked["MA501"][1] == option


def test_ablation_when_there_are_no_queries_then_geometry_and_no_finding(make: Make) -> None:
    result = PROBE.run(make(queries=None, ablate=("body", "topic")))
    assert result.findings == ()
    assert result.not_looked["MA501"][1] == "queries"
    assert "no evaluation set" in result.not_looked["MA501"][0]
    table = {str(r["variant"]): r for r in result.sections[0].tables[0].rows}
    # Without the body rows 1 and 2 are equal: one cluster fewer at every threshold that parted them.
    assert table["full text"]["c0.95"] == 4
    assert table["without `body`"]["c0.95"] == 3
    assert table["full text"]["kept"] is None
    # Four rows have three neighbours each, whatever the text: all kept.
    assert table["without `body`"]["kept"] == 1.0
    assert "cannot be said without queries" in result.sections[0].answer


def test_ablation_when_there_are_no_queries_and_stored_vectors_then_no_encoder_is_loaded(make: Make) -> None:
    rows = [{**row, "embedding": [1.0, 0.0]} for row in ROWS]
    ctx = make(rows, None, {"embedded_fields": FIELDS, "embedding": "embedding"})
    ctx.__dict__["text_encoder"] = None
    assert PROBE.run(ctx).sections == ()


def test_ablation_when_the_encoder_tells_tokens_then_counted(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Splitter:
        name, max_tokens, n_special = "words", None, 2

        def tokens(self, text: str) -> list[Token]:
            return [Token(m.start(), m.end(), False) for m in re.finditer(r"\w+", text)]

    monkeypatch.setattr("memaudit.encoders.tokens.tokenizer_of", lambda encoder: Splitter())
    result = PROBE.run(make(k=1, ablate=("note",)))
    # network timeout after retry + 3, network certificate expired + 3, disk full browser, 磁盘 满了
    assert result.findings[0].figures["full"]["tokens"] == 7 + 6 + 3 + 2
    assert result.findings[0].figures["without_note"]["tokens"] == 4 + 3 + 2 + 2
    assert rows_of(result)["without `note`"]["tokens"] == 11


def test_ablation_when_timed_then_interleaved_with_a_control(make: Make) -> None:
    rows = [{"id": i, "topic": "same", "body": f"word{i}"} for i in range(1, 13)]
    queries = [{"id": "q1", "text": "word1", "expect_any": [{"doc": "1"}]}]
    roles = {"embedded_fields": ("topic", "body")}
    ctx = make(rows, queries, roles, ablate=("topic",), limits={"MA501": {"timing": 1}})
    method = " ".join(PROBE.run(ctx).sections[0].method)
    assert "encoding of the stored text, one at a time" in method
    # 12 rows, each timed alone: what was timed are stored texts, not the one query
    assert " ms over 12 stored texts, ratio " in method
    assert "not timed" not in method


def test_ablation_when_not_timed_then_the_page_says_how(make: Make) -> None:
    line = PROBE.run(make(k=1, ablate=("note",))).sections[0].method[-1]
    assert line.startswith("Encoding was not timed, so nothing is said about speed")
    assert "`--set limits.MA501.timing=1`" in line


def recorded(hits: Mapping[str, set[int]]) -> dict[str, Any]:
    """Rankings of twelve queries by arm: the expected document first where a query is named, else third."""
    return {
        arm: {f"q{i:02d}": ["d", "x", "y"] if i in own else ["x", "y", "d"] for i in range(12)}
        for arm, own in hits.items()
    }


ASKED: list[Row] = [{"id": f"q{i:02d}", "text": f"问题 {i}", "gold": ["d"]} for i in range(12)]


def test_recorded_arms_when_one_lacks_a_field_then_judged_without_a_store(evaluation_context: Any) -> None:
    runs = recorded({"full": {0, 1, 2, 3, 4}, "without_owner": {1, 2, 3, 4, 5, 6}, "no_题目": set(range(5))})
    by_arm = {f.subject["arm"]: f for f in PROBE.run(evaluation_context(ASKED, runs, k=1)).findings}
    owner = by_arm["without_owner"]
    # q00 lost, q05 and q06 gained: two of three changed, 2 (1 + 3) / 8 = 1
    assert (owner.figures["h1_wins"], owner.figures["h1_losses"], owner.figures["sign_test_p"]) == (2, 1, 1.0)
    assert owner.figures["queries_changed_at_1"] == 3
    assert owner.figures["points_per_query"] == pytest.approx(100 / 12)
    assert (owner.figures["full"]["h1"], owner.figures["without_owner"]["h1"]) == (5, 6)
    assert owner.figures["full"]["hit3"] == 12
    assert owner.figures["comparisons"] == 2
    assert owner.subject == {"arm": "without_owner", "field": "owner", "compare": ["full", "without_owner"], "k": 1}
    assert owner.title.startswith("Without `owner` hit@1 is 6 of 12, with everything 5: 3 queries changed")
    assert by_arm["no_题目"].figures["queries_changed"] == 0


@pytest.mark.parametrize(
    ("hits", "roles"),
    [
        ({"full": {1}, "without_rerank": {2}}, {"stages": ("rerank",)}),
        ({"before": {1}, "without_owner": {2}}, {}),
        ({"full": {1}, "vector": {2}}, {}),
    ],
)
def test_recorded_arms_when_none_lacks_a_field_then_not_looked(evaluation_context: Any, hits: Any, roles: Any) -> None:
    result = PROBE.run(evaluation_context(ASKED, recorded(hits), **roles))
    assert result.findings == ()
    assert result.not_looked["MA501"][1] == "store"
