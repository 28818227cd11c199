"""The engine: what an audit holds whatever the probes say."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memaudit.config_file import load
from memaudit.context import Context, Need
from memaudit.engine import run_audit
from memaudit.errors import ConfigError, MemauditError
from memaudit.model import Audit, Basis, Finding, ProbeResult, Severity, Status
from memaudit.registry import all_probes, chosen


def audit(store: Path, *settings: str, **options: Any) -> Audit:
    return run_audit(
        load(isolated=True, start=store.parent, settings=settings, options={"store": str(store), **options})
    )


def test_registry_when_listed_then_names_and_codes_are_unique_and_paged() -> None:
    probes = all_probes()
    codes = [code for p in probes for code in p.codes]
    assert len(set(codes)) == len(codes)
    assert len({p.name for p in probes}) == len(probes)
    kinds = [kind for p in probes for kind in p.codes.values()]
    assert len(set(kinds)) == len(kinds)
    for probe in probes:
        assert probe.needs <= frozenset(Need)


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        (("MA305",), None, {"MA305"}),
        (("ma30",), ("MA305",), None),
        (("duplicates",), None, {"MA305", "MA306", "MA307"}),
    ],
)
def test_chosen_when_words_are_given_then_codes_prefixes_and_names_match(
    select: tuple[str, ...], ignore: tuple[str, ...] | None, expected: set[str] | None
) -> None:
    found = {code for codes in chosen(all_probes(), select, ignore).values() for code in codes}
    if expected is None:
        assert found
        assert all(c.startswith("MA30") for c in found)
        assert "MA305" not in found
    else:
        assert found == expected


def test_chosen_when_a_word_matches_nothing_then_refused() -> None:
    with pytest.raises(ConfigError, match="MA999"):
        chosen(all_probes(), ("MA999",), None)
    with pytest.raises(ConfigError, match="leave no rule to run"):
        chosen(all_probes(), ("MA3",), ("MA3",))


def test_third_party_probe_when_installed_then_it_runs(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        name: ClassVar[str] = "own"
        title: ClassVar[str] = "A probe of another distribution"
        codes: ClassVar[Mapping[str, str]] = {"XX001": "own-finding"}
        needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})

        def run(self, ctx: Context) -> ProbeResult:
            n = ctx.records.n_rows
            return ProbeResult(
                (Finding("XX001", "own-finding", Severity.LOW, {"table": "memories"}, f"{n} rows", {"rows": n}),)
            )

    class Point:
        name, value = "own", "own:Own"

        def load(self) -> type[Own]:
            return Own

    monkeypatch.setattr("memaudit.registry.entry_points", lambda group: [Point()])
    found = [f for f in audit(healthy).findings if f.code == "XX001"]
    assert [f.figures for f in found] == [{"rows": 24}]
    Own.name = "duplicates"
    with pytest.raises(MemauditError, match="two probes are called duplicates"):
        all_probes()


def test_sample_when_small_then_said_and_under_powered(write_store: Callable[..., Path]) -> None:
    rows = [(i, f"memory {i}", None, None) for i in range(19)]
    found = {f.code: f for f in audit(write_store(rows), "encoder='embedded'", select=("summary",)).findings}
    assert found["MA904"].basis is Basis.UNDER_POWERED
    assert found["MA904"].figures["rows"] == 19
    more = write_store([(i, f"memory {i}", None, None) for i in range(20)], name="more.db")
    assert "MA904" not in {f.code for f in audit(more, select=("summary",)).findings}


def test_rows_when_left_out_of_cosines_then_counted_once(write_store: Callable[..., Path], healthy: Path) -> None:
    connection = sqlite3.connect(healthy)
    connection.execute("UPDATE memories SET embedding = NULL WHERE id IN (3, 5)")
    connection.commit()
    connection.close()
    result = audit(healthy)
    (left_out,) = result.left_out
    assert (left_out.rows, left_out.ids, left_out.reason) == (2, (3, 5), "no vector")
    (finding,) = [f for f in result.findings if f.code == "MA906"]
    assert finding.severity is Severity.INFO
    assert finding.figures["left_out"] == {"no vector": 2}


def test_rows_when_no_column_holds_a_text_then_none_is_called_blank(tmp_path: Path) -> None:
    path = tmp_path / "triples.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE triples (subject TEXT, object TEXT)")
    connection.executemany("INSERT INTO triples VALUES (?, ?)", [(f"person{i}", f"town{i % 7}") for i in range(60)])
    connection.commit()
    connection.close()
    result = audit(path)
    assert result.left_out == ()
    assert result.verdict.state == "not-enough-data"


def test_encoder_when_named_and_missing_then_incomplete_and_the_rest_still_ran(healthy: Path) -> None:
    result = audit(healthy, encoder="no-such-model-anywhere")
    assert "no-such-model-anywhere" in result.incomplete
    assert {"MA905", "MA002"} <= {f.code for f in result.findings}
    skipped = {n.probe for n in result.not_run if n.status is Status.SKIPPED and n.option == "encoder"}
    assert "diversity" in skipped


def test_suppression_when_given_then_set_apart_with_its_reason(write_store: Callable[..., Path]) -> None:
    store = write_store([(i, "the same text", None, None) for i in range(20)])
    config = load(
        isolated=True,
        start=store.parent,
        options={"store": str(store), "suppress": [{"code": "MA305", "reason": "known", "table": "memories"}]},
    )
    result = run_audit(config)
    assert "MA305" not in {f.code for f in result.findings}
    assert [(s["code"], s["reason"]) for s in result.suppressed] == [("MA305", "known")]


def test_suppression_when_without_reason_or_with_a_wrong_key_then_refused(write_store: Callable[..., Path]) -> None:
    store = write_store([(i, "the same text", None, None) for i in range(20)])
    for rule in ({"code": "MA305"}, {"code": "MA305", "reason": "x", "colunm": "y"}, {"code": "MA999", "reason": "x"}):
        with pytest.raises(ConfigError, match="suppress"):
            run_audit(load(isolated=True, options={"store": str(store), "suppress": [rule]}))


def test_min_severity_when_raised_then_lower_findings_are_not_shown(healthy: Path) -> None:
    assert audit(healthy).findings
    assert not audit(healthy, min_severity="low").findings


def test_max_rows_when_given_then_a_sample_that_says_so(write_store: Callable[..., Path]) -> None:
    store = write_store([(i, "the same text", None, None) for i in range(100)])
    result = audit(store, max_rows=30, select=("duplicates",))
    (finding,) = [f for f in result.findings if f.code == "MA305"]
    assert finding.basis is Basis.SAMPLED
    assert finding.figures["rows"] == 30
    assert "30 of 100" in (finding.caveat or "")
    again = audit(store, max_rows=30, select=("duplicates",))
    assert again.findings == result.findings


def test_max_rows_when_rows_are_deleted_then_only_what_chance_left_out_makes_a_sample(
    write_store: Callable[..., Path],
) -> None:
    rows = [(i, "the same text", i % 10 == 0, f"2026-0{1 + i // 28}-{1 + i % 28:02d}T10:00:00Z") for i in range(100)]
    store = write_store(rows, "id INTEGER PRIMARY KEY, content TEXT, is_deleted INT, created_at TEXT")
    more = {"soft_delete": "is_deleted", "time": "created_at", "select": ("duplicates", "capacity", "diversity")}
    whole = {f.code: f for f in audit(store, max_rows=95, capacity=50, **more).findings}
    assert {whole["MA305"].basis, whole["MA603"].basis} == {Basis.MEASURED}
    assert "sample" not in (whole["MA305"].caveat or "")
    result = audit(store, max_rows=30, capacity=50, **more)
    drawn = {f.code: f for f in result.findings}
    assert drawn["MA305"].basis is Basis.SAMPLED
    assert "30 of 90 (33.3 %)" in (drawn["MA305"].caveat or "")
    assert drawn["MA603"].basis is Basis.MEASURED  # held against the whole table
    assert "last full week" not in " ".join(lane.sentence for lane in result.verdict.lanes)
    assert result.figures["rows_last_week"] is None


def test_max_rows_when_a_rare_value_was_not_drawn_then_no_single_value(write_store: Callable[..., Path]) -> None:
    rows = [(i, f"note {i} about deploys", "manual" if i == 7 else "tool", "only") for i in range(200)]
    store = write_store(rows, "id INTEGER PRIMARY KEY, content TEXT, origin TEXT, project TEXT")
    found = audit(store, max_rows=20, seed=1, select=("MA601",)).findings
    assert [(f.subject["column"], f.figures["rows"], f.basis) for f in found if f.code == "MA601"] == [
        ("project", 200, Basis.MEASURED)
    ]


def test_max_rows_when_queries_expect_rows_that_were_not_drawn_then_no_false_gap(
    write_store: Callable[..., Path], tmp_path: Path
) -> None:
    store = write_store(
        [(i, f"topic {i}", f"note {i} about deploys {i * 7919}") for i in range(60)],
        "id INTEGER PRIMARY KEY, topic TEXT, content TEXT",
    )
    queries = [{"id": f"q{i}", "text": f"deploys {i * 7919}", "gold": [i]} for i in range(24)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    fields = {"embedded_fields": ("topic", "content"), "encoder": "embedded"}
    result = audit(store, queries=str(tmp_path / "q.jsonl"), max_rows=20, select=("MA720", "MA703", "MA501"), **fields)
    assert {f.code: f.basis for f in result.findings if f.code != "MA906"} == {"MA703": Basis.MEASURED}
    (reason,) = [n.reason for n in result.not_run if n.codes == ("MA501",)]
    assert "may not have been drawn" in reason


def test_by_when_given_then_tables_are_repeated_for_each_value(write_store: Callable[..., Path]) -> None:
    rows = [
        (i, f"note {i} about {'部署' if i % 2 else 'deploys'} {i * 7919}", "a" if i % 3 else "b") for i in range(30)
    ]
    store = write_store(rows, "id INTEGER PRIMARY KEY, content TEXT, owner TEXT")
    titles = [s.title for s in audit(store, by=("owner",), value_field="owner").breakdowns]
    assert any("owner = a, 20 rows" in t for t in titles)
    assert any("owner = b, 10 rows" in t for t in titles)
    with pytest.raises(ConfigError, match="no column 'ownr'"):
        audit(store, by=("ownr",))


def test_by_when_rows_get_no_table_then_a_note_counts_them(write_store: Callable[..., Path]) -> None:
    owners = [None, "rare", "a", "b", "c", "d", "e", "f"]
    rows = [(i, f"note {i} about deploys {i * 7919}", owners[i] if i < 2 else owners[2 + i % 6]) for i in range(30)]
    store = write_store(rows, "id INTEGER PRIMARY KEY, content TEXT, owner TEXT")
    (note,) = [n for n in audit(store, by=("owner",), value_field="owner").notes if "Tables by" in n]
    assert note == (
        "Tables by `owner` cover 28 of 30 (93.3 %) rows; not in them: 1 row of 1 rarer value, 1 row without a value."
    )
    full = write_store([row for row in rows if row[0] > 1], "id INTEGER PRIMARY KEY, content TEXT, owner TEXT", "x.db")
    assert not [n for n in audit(full, by=("owner",), value_field="owner").notes if "Tables by" in n]


def test_settings_when_no_probe_reads_them_then_a_note_says_so(healthy: Path) -> None:
    note = " ".join(audit(healthy, "traces=['x.jsonl']").notes)
    assert "traces" in note


def test_json_when_compared_with_the_schema_then_valid(healthy: Path, memaudit: Callable[..., Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(__file__).parents[1] / "reports" / "report.schema.json").read_text())
    report = json.loads(memaudit("run", "--store", healthy, "--format", "json").out)
    jsonschema.validate(report, schema)
