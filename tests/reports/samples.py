"""Audits to render: the published case, a small healthy one, and one in which everything is hostile."""

from __future__ import annotations

from typing import Any

from memaudit.model import (
    Audit,
    Cell,
    Column,
    EncoderInfo,
    Evidence,
    Example,
    Lane,
    LaneState,
    NotRun,
    Proposal,
    RowsLeftOut,
    RunInfo,
    Section,
    Severity,
    Status,
    StoreInfo,
    Table,
    Verdict,
)
from tests.reports.sample_findings import FIELD, GROUPS, PREFIX, TOOL_TEXT, finding, published_findings

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style><style>body{display:none}</style>",
    "]]><![CDATA[",
    "{{7*7}} {% raw %}",
    '"onmouseover="alert(1)',
    "right\u202eto left",
    "nul\x00byte",
    "lone \ud800 surrogate",
    "记" * 5000,
    "w" * 1600,
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467 ok",
    "zero\u200bwidth",
    "\x1b[31mred\x1b[0m \x9b2J",
    "`code` ``` and & < > '",
    "a" + "\u0301" * 3000,
)


def _pool() -> Table:
    rows: list[dict[str, Any]] = [
        {"name": "rows in the store", "n": 175},
        {"name": "semantic clusters, cosine ≥ 0.98", "n": 93, "largest": 33, "single": 72},
        {"name": "semantic clusters, cosine ≥ 0.95", "n": 70, "largest": 47, "single": 53},
        {"name": "values the generator can return", "n": 50},
        {"name": "semantic clusters, cosine ≥ 0.90", "n": 40, "largest": 47, "single": 22},
        {"name": "semantic clusters, cosine ≥ 0.85", "n": 27, "largest": 47, "single": 11},
        {"name": f"distinct `{FIELD}` in the store", "n": 24, "_mark": "hot"},
    ]
    return Table(
        name="pool",
        caption="Counts on one scale, 175 rows.",
        columns=(
            Column("name", "Quantity"),
            Column("n", "Count", Cell.BAR),
            Column("largest", "Largest cluster", Cell.COUNT),
            Column("single", "Singletons", Cell.COUNT),
        ),
        rows=tuple(rows),
        scale=175,
        reference=24,
        reference_label="distinct values in the store",
    )


def _groups() -> Table:
    return Table(
        name="groups",
        caption="The 8 values with at least 5 rows: 146 of 175 rows.",
        columns=(
            Column("value", "Value", Cell.VALUE),
            Column("rows", "Rows", Cell.COUNT),
            Column("span", "Cosine within", Cell.SPAN),
            Column("hit", "Recalled", Cell.COUNT),
            Column("hit_share", "Share", Cell.SHARE),
            Column("reading", "Reading"),
        ),
        rows=tuple(
            {
                "value": PREFIX + value,
                "rows": rows,
                "span": (low, mean),
                "hit": hit,
                "hit_share": hit / rows,
                "reading": reading,
                **({"_mark": "hot"} if "merges" in reading else {}),
            }
            for value, rows, low, mean, hit, reading in GROUPS
        ),
        reference=0.90,
        reference_label="below it rows are different experiences",
    )


def _sections() -> tuple[Section, ...]:
    return (
        Section(
            "pool-width",
            "Pool width: data, generator or store?",
            "Is “24 distinct values” a fact about the data or about the code?",
            "About the code: more clusters (93 / 70 / 40 / 27) than values (24) at every threshold.",
            codes=("MA101", "MA301"),
            tables=(_pool(),),
            method=(
                "Greedy leader clustering in row order at 0.98, 0.95, 0.90 and 0.85; no row was excluded.",
                "Over 20 seeded row shuffles the count at 0.95 was 68 to 73.",
            ),
        ),
        Section(
            "groups",
            "What de-duplication by pattern throws away",
            "Are rows that share a value the same experience?",
            "Two opposite faults hide behind one total. 151 rows are dropped; 57 of them (37.7 %) have a "
            "cosine below 0.90 to the kept row, so they are different experiences.",
            codes=("MA302", "MA303"),
            tables=(_groups(),),
            method=("Means and minima are over all pairs of a group. With 5 rows there are 10 pairs: a hint.",),
            examples=(
                Example("参数修正: 缺少参数 --sheet-name, 读取 Excel 失败", 133, "cosine 0.638 to the kept row"),
                Example(TOOL_TEXT, 3, "kept row"),
            ),
        ),
        Section(
            "template",
            "Template text in the embedding",
            "How much of the embedded text differs from row to row?",
            "Less than half: 19,282 of 35,649 characters (54.1 %) are constants, the same in every row.",
            codes=("MA401", "MA402"),
            tables=(
                Table(
                    "template",
                    "Characters of the embedded text, 175 rows.",
                    (
                        Column("part", "Part"),
                        Column("chars", "Characters", Cell.COUNT),
                        Column("share", "Share", Cell.SHARE),
                        Column("drawn", "Share, drawn", Cell.BAR),
                    ),
                    (
                        {
                            "part": "template constants",
                            "chars": 19282,
                            "share": 19282 / 35649,
                            "drawn": 19282 / 35649,
                            "_mark": "hot",
                        },
                        {
                            "part": "real error text",
                            "chars": 16367,
                            "share": 16367 / 35649,
                            "drawn": 16367 / 35649,
                        },
                    ),
                    scale=1.0,
                ),
            ),
        ),
    )


def published_audit(**changes: Any) -> Audit:
    """The published case: 24 values for about 70 situations."""
    parts: dict[str, Any] = {
        "memaudit": "0.1.0",
        "store": StoreInfo(
            path="data/experiences.db",
            kind="sqlite",
            table="experiences",
            rows=175,
            rows_used=175,
            roles={"id": "id", "text": ["trigger", "diagnosis"], "value_field": FIELD, "hits": "hit_count"},
            guessed={
                "text": "the two longest text columns",
                "hits": "integers, mostly 0, named like a counter",
            },
            first_time="2026-05-30T08:12:00",
            last_time="2026-07-31T21:40:11",
            sha256="3f7a" + "0" * 56 + "91c2",
            other_tables=({"table": "notes", "rows": 12},),
        ),
        "encoder": EncoderInfo("stored", dim=384, revision=None, note="Vectors were read from `embedding`."),
        "verdict": Verdict(
            state="both",
            sentence="The bottleneck is the generator: 24 values for about 70 situations.",
            lead="The store holds about 70 different situations (clusters at cosine 0.95), the generator can "
            "return 50 values, and only 24 are in use: 88.0 % of rows fall through to its fallback form.",
            do_first="make the criteria of `_generate_pattern` match the error texts that really occur.",
            lanes=(
                Lane(
                    "data collection",
                    LaneState.PROBLEM,
                    "One event was recorded 47 times (mean cosine 0.983, 2 of 47 ever recalled).",
                    "de-duplicate on write for `shell` and `todo`.",
                    ("MA303",),
                ),
                Lane(
                    "generator",
                    LaneState.BOTTLENECK,
                    "154 of 175 rows carry a fallback value: it says which tool failed, not which problem.",
                    "match real error text, then compare with `memaudit diff`.",
                    ("MA101", "MA301", "MA302"),
                ),
                Lane(
                    "retrieval",
                    LaneState.NOT_ENOUGH_DATA,
                    "Recall@3 is 24/24 before and after every change: this set can show no gain.",
                    "write harder queries before tuning anything here.",
                    ("MA501",),
                ),
            ),
            reasoning=(
                "Pool width of one recall = distinct values = min(what the generator returns, what the data "
                "contain). Measured: distinct 24; clusters 93 / 70 / 40 / 27 at 0.98 / 0.95 / 0.90 / 0.85.",
                "The verdict would change to data collection if clusters at 0.95 were ≤ 24, and to undecided "
                "if the four thresholds disagreed.",
            ),
        ),
        "findings": published_findings(),
        "sections": _sections(),
        "not_run": (
            NotRun("eval-leak", ("MA701", "MA702"), Status.SKIPPED, "no evaluation set given", "--queries FILE"),
            NotRun("stages", ("MA503",), Status.SKIPPED, "no evaluation set given", "--queries FILE"),
            NotRun(
                "timestamps",
                ("MA008",),
                Status.FAILED,
                "ValueError: day out of range",
                "",
                "Traceback ...\n  x",
            ),
        ),
        "figures": {"clusters@0.95": 70, "distinct_values": 24, "rows": 175},
        "notes": ("A cosine depends on the encoder: the thresholds hold for this one only.",),
        "left_out": (),
        "plan": (Proposal("merge", (4, 5, 6), "copies of row 3", "MA303", keep=3),),
        "config": {
            "store": "data/experiences.db",
            "seed": 0,
            "thresholds": [0.98, 0.95, 0.9, 0.85],
            "limits": {"MA101.share_on_fallback": 0.2, "MA302.min_cos": 0.9},
        },
        "versions": {"memaudit": "0.1.0", "python": "3.11.9", "numpy": "2.1.0"},
        "run": RunInfo("2026-11-30T12:00:00Z", 1.234, {"diversity": 0.8}),
        "command": "memaudit run --store data/experiences.db --value-field abstract_pattern",
        "suppressed": (
            {
                "code": "MA009",
                "title": "24 distinct values",
                "severity": "info",
                "reason": "known",
                "until": None,
            },
        ),
        "breakdowns": (
            Section(
                "by-source",
                "By `source_type`",
                "Is the fault the same everywhere?",
                "174 of 175 rows come from one source.",
                tables=(
                    Table(
                        "by-source",
                        "Rows by `source_type`, 175 rows.",
                        (Column("value", "Source", Cell.VALUE), Column("rows", "Rows", Cell.BAR)),
                        ({"value": "tool_retry", "rows": 174}, {"value": "user_correction", "rows": 1}),
                    ),
                ),
            ),
        ),
    }
    return Audit(**{**parts, **changes})


def quiet_audit() -> Audit:
    """A healthy store without vectors or labels: nothing found, much not looked at."""
    return published_audit(
        store=StoreInfo("notes.jsonl", "jsonl", None, 1, 1),
        encoder=None,
        verdict=Verdict("no-finding", "No fault found in 1 memory; 3 of 9 probes could not look."),
        findings=(),
        sections=(),
        not_run=(),
        notes=(),
        plan=(),
        suppressed=(),
        breakdowns=(),
        command="",
        config={},
        versions={},
        figures={},
    )


def hostile_audit(copies: int = 1) -> Audit:
    """Every place for text from the store holds hostile text; `copies` blows up every list."""
    texts = HOSTILE * copies
    table = Table(
        "hostile",
        "Values of the store.",
        (
            Column("value", "Value", Cell.VALUE),
            Column("code", "Key", Cell.CODE),
            Column("text", "Words"),
            Column("n", "Rows", Cell.BAR),
            Column("span", "Cosine", Cell.SPAN),
        ),
        tuple(
            {"value": text, "code": text, "text": text, "n": n, "span": (0.5 - n / 1000, None)}
            for n, text in enumerate(texts)
        ),
        reference=3,
    )
    findings = tuple(
        finding(
            f"MA{300 + n % 20}",
            "kind",
            Severity(n % 4),
            f"The value “{text}” stands in every row",
            subject={"table": text, "values": [text], "value": text},
            figures={"rows": 9, "which": [text], "groups": {text: {"dropped": 3, "note": text}}},
            evidence=Evidence((Example(text, text, text),) * 5, 10**6, tuple(texts)),
            fix=text,
            caveat=text,
            reproduce=text,
        )
        for n, text in enumerate(texts)
    )
    sections = tuple(
        Section(
            f"s{n}",
            text,
            text,
            text,
            (f"MA{300 + n % 20}",),
            (table,) * copies,
            texts,
            (Example(text, text, text),) * 9,
        )
        for n, text in enumerate(texts)
    )
    return published_audit(
        store=StoreInfo(texts[0], "sqlite", texts[1], 175, 170, {"text": texts[9]}, {"text": texts[3]}, notes=texts),
        verdict=Verdict(
            "undecided",
            " ".join(HOSTILE[:8]),
            texts[9],
            texts[10],
            tuple(Lane(text, LaneState.PROBLEM, text, text, (text,)) for text in texts),
            texts,
        ),
        findings=findings,
        sections=sections,
        breakdowns=sections,
        not_run=tuple(NotRun(text, (text,), Status.FAILED, text, text, text) for text in texts),
        notes=texts,
        left_out=tuple(RowsLeftOut(3, text, texts) for text in texts),
        suppressed=tuple({"code": text, "title": text, "reason": text, "severity": text} for text in texts),
        config={**dict.fromkeys(texts, texts[9]), "seed": texts[6], "limits": dict.fromkeys(texts, 1)},
        versions=dict.fromkeys(texts, "1"),
        command=texts[0],
    )
