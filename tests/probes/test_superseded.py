import pytest

from memaudit.errors import ConfigError
from memaudit.measures.supersession import active_rows, old_side_active
from memaudit.model import Severity
from memaudit.probes.superseded import PROBE, edges_of, several_values
from memaudit.stores.store import StoreTable, TableColumn


def _with_edges(ctx, rows, columns=("new_id", "old_id")):
    ctx.store.connection.execute(f"CREATE TABLE edges ({', '.join(columns)})")
    ctx.store.connection.executemany(f"INSERT INTO edges VALUES ({', '.join('?' for _ in columns)})", rows)
    ctx.store.tables += (StoreTable("edges", tuple(TableColumn(c) for c in columns), len(rows)),)
    return ctx


SUPERSEDES = {"table": "edges", "new": "new_id", "old": "old_id"}


def test_probe_when_old_side_is_active_then_figures(make_context, found) -> None:
    columns = {
        "id": [1, 2, 3, 4, 5],
        "content": ["Lives in Bonn", "Lives in Paris", "用 MySQL", "用 Postgres", "Likes tea"],
        "status": ["active", "active", "archived", "active", "active"],
    }
    # 2 replaced 1 (still active), 4 replaced 3 (archived), 5 replaced a row that is gone.
    ctx = _with_edges(make_context(columns, {"supersedes": SUPERSEDES}), [(2, 1), (4, "3"), (5, 99)])
    result = PROBE.run(ctx)
    finding = found(result, "MA805")
    assert finding.figures["supersede_edges"] == 3
    assert finding.figures["old_side_still_active"] == 1
    assert finding.figures["old_ids"] == [1]
    assert finding.evidence.ids == (1,)
    assert finding.severity is Severity.MEDIUM
    assert result.not_looked["MA806"][1] == "subject_key"


def test_probe_when_the_edge_table_marks_old_rows_as_hidden_then_those_are_not_active(make_context, found) -> None:
    columns = {"id": [1, 2, 3, 4], "content": ["Lives in Bonn", "Lives in Paris", "用 MySQL", "用 Postgres"]}
    where = {"supersedes": {**SUPERSEDES, "hidden": "hidden"}, "subject_key": "id"}
    # The system's search leaves row 1 out; of row 3 it knows nothing.
    edges = [(2, 1, 1), (4, 3, 0)]
    ctx = _with_edges(make_context(columns, where), edges, ("new_id", "old_id", "hidden"))
    finding = found(PROBE.run(ctx), "MA805")
    assert finding.figures["supersede_edges"] == 2
    assert finding.figures["old_ids"] == [3]
    ctx = _with_edges(make_context(columns, where), [(2, 1, "1"), (4, 3, 1)], ("new_id", "old_id", "hidden"))
    assert PROBE.run(ctx).findings == ()


def test_probe_when_every_old_side_is_over_then_silent(make_context) -> None:
    columns = {"id": ["a", "b"], "content": ["old", "new"], "valid_to": ["2024-01-01", None]}
    ctx = _with_edges(make_context(columns, {"supersedes": SUPERSEDES}), [("b", "a")])
    assert PROBE.run(ctx).findings == ()


def test_edges_when_the_table_holds_other_kinds_then_only_supersede_edges(make_context) -> None:
    ctx = make_context({"id": [1, 2, 3], "content": ["a", "b", "c"]}, {"supersedes": SUPERSEDES})
    ctx = _with_edges(
        ctx, [(2, 1, "supersedes"), (3, 2, "relates_to"), (3, None, "supersedes")], ("new_id", "old_id", "type")
    )
    edges = edges_of(ctx)
    assert edges is not None
    assert edges.pairs == ((2, 1),)
    assert edges.left_out == 1


def test_edges_when_a_column_names_the_replacing_row_then_found_by_looking(make_context, found) -> None:
    columns = {"id": ["a", "b", "c"], "content": ["x", "y", "z"], "superseded_by": ["b", None, None]}
    finding = found(PROBE.run(make_context(columns)), "MA805")
    assert finding.figures["old_ids"] == ["a"]
    # A list of old keys in the new row.
    columns = {"id": [1, 2, 3], "content": ["x", "y", "z"], "supersedes": [None, None, "[1, 2]"]}
    assert found(PROBE.run(make_context(columns)), "MA805").figures["old_ids"] == [1, 2]


def test_edges_when_nothing_names_rows_then_not_looked(make_context) -> None:
    result = PROBE.run(make_context({"id": [1, 2], "content": ["x", "y"], "superseded_by": ["policy", "rule"]}))
    assert result.findings == ()
    assert result.not_looked["MA805"][1] == "supersedes"


def test_edges_when_a_column_is_missing_then_error_names_it(make_context) -> None:
    ctx = make_context(
        {"id": [1], "content": ["x"]}, {"supersedes": {"table": "edges", "new": "newer", "old": "old_id"}}
    )
    with pytest.raises(ConfigError, match="newer"):
        edges_of(_with_edges(ctx, []))
    with pytest.raises(ConfigError, match="lacks old"):
        edges_of(make_context({"id": [1], "content": ["x"]}, {"supersedes": {"table": "edges", "new": "n"}}))


def test_active_rows_when_columns_of_state_differ_then_each_is_read(make_context) -> None:
    columns = {
        "id": [1, 2, 3, 4],
        "content": ["a", "b", "c", "d"],
        "epistemic_status": ["active", "superseded", "inferred", None],
        "is_current": [1, 1, 0, None],
        "valid_until": [None, None, None, "2999-01-01"],
    }
    assert active_rows(make_context(columns).records) == [True, False, False, True]


@pytest.mark.parametrize(
    ("name", "values", "active"),
    [
        ("state", ["current", "past", "old", "previous"], [True, False, False, False]),
        ("状态", ["有效", "历史", "旧", "已撤销"], [True, False, False, False]),
        ("validity", ["holds", "not active", "ended", "gold"], [True, False, False, True]),
    ],
)
def test_active_rows_when_a_column_says_it_in_words_then_read(make_context, name, values, active) -> None:
    records = make_context({"id": [1, 2, 3, 4], "content": ["a", "b", "c", "d"], name: values}).records
    assert active_rows(records, name) == active
    assert active_rows(records) == (active if name == "state" else [True] * 4)


def test_old_side_when_the_new_row_is_gone_then_counted_apart() -> None:
    old = old_side_active([1, 2, 3], [True, True, False], [(2, 1), (3, 2), (3, 3)])
    assert old.rows == (0, 1)
    assert old.n_without_new == 1  # row 2 was replaced by row 3, which is over


def test_several_values_when_reworded_or_inactive_then_one_value() -> None:
    keys = [("city",), ("city",), ("city",), ("diet",), ("diet",), ("pet",), (None,), ("tz",), ("tz",)]
    values = ["User lives in Berlin", "The user lives in Berlin.", "User lives in Paris",
              "vegetarian", "Vegetarian", "cat", "x", "UTC+8", "UTC+9"]  # fmt: skip
    active = [True, True, True, True, True, True, True, True, False]
    found = several_values(keys, values, active)
    assert found.n_subjects == 4
    assert found.differing == {("city",): ((0, 1), (2,))}


def test_probe_when_subjects_contradict_then_figures_and_owners_kept_apart(make_context, found) -> None:
    columns = {
        "id": [1, 2, 3, 4, 5],
        "user": ["u1", "u1", "u2", "u1", "u2"],
        "subject": ["城市", "城市", "城市", "diet", "diet"],
        "content": ["住在杭州", "住在上海", "住在北京", "vegan", "eats meat"],
    }
    ctx = make_context(columns, {"subject_key": "subject", "isolation_keys": ("user",)})
    finding = found(PROBE.run(ctx), "MA806")
    # u1/城市 has two values; u2/城市, u1/diet and u2/diet have one each.
    assert finding.figures["subjects"] == 4
    assert finding.figures["subjects_with_several_active_values"] == 1
    assert finding.evidence.ids == (1, 2)
    assert finding.severity is Severity.MEDIUM


def test_probe_when_the_key_is_a_topic_then_low(make_context, found) -> None:
    texts = [
        f"{word} needs {n} checks"
        for n, word in enumerate(["Billing", "Search", "导出", "Login", "Parser", "Cache", "Queue", "合同"])
    ]
    ctx = make_context(
        {"id": list(range(8)), "topic": ["ops"] * 4 + ["dev"] * 4, "content": texts}, {"subject_key": "topic"}
    )
    assert found(PROBE.run(ctx), "MA806").severity is Severity.LOW


def test_probe_when_empty_then_silent(make_context) -> None:
    assert PROBE.run(make_context({"id": [], "content": []}, {"subject_key": "id"})).findings == ()
