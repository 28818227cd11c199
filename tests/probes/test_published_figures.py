"""The bundled example store, whose figures were published: each probe here must give them."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.context import Context
from memaudit.model import Severity
from memaudit.probes import capacity, constant_fields, deduplication, diversity, filters, groups, recall_counts
from memaudit.production import read_production_config
from memaudit.roles import find_roles, open_records
from memaudit.stores.sqlite import open_sqlite
from tests.probes.builders import codes, only

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="module")
def ctx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """Build the store and open it with the configuration beside it."""
    # By file: a bare `import build` could find the packaging tool of that name.
    spec = importlib.util.spec_from_file_location("published_build", FIXTURES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = build
    spec.loader.exec_module(build)
    path = build.build(tmp_path_factory.mktemp("published"))
    given = read_production_config(path.parent / "memaudit.toml")["memaudit"]
    keys: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    config = Config(base=path.parent, **keys)
    store = open_sqlite(path)
    roles = find_roles(store, config)
    records, _ = open_records(store, roles, config, np.random.default_rng(0))
    yield Context(config, store, records)
    store.close()


def test_diversity_when_published_then_93_70_40_27_clusters_for_24_values(ctx: Context) -> None:
    result = diversity.PROBE.run(ctx)
    finding = only(result, "MA301")
    assert [finding.figures[f"clusters@{t}"] for t in ("0.98", "0.95", "0.9", "0.85")] == [93, 70, 40, 27]
    assert finding.figures["distinct_values"] == 24
    assert finding.severity is Severity.MEDIUM
    assert [result.figures[f"largest@{t}"] for t in ("0.98", "0.95", "0.9", "0.85")] == [33, 47, 47, 47]
    assert [result.figures[f"singletons@{t}"] for t in ("0.98", "0.95", "0.9", "0.85")] == [72, 53, 22, 11]
    # In 300 shuffles of the construction: 93; 70-72; 40; 27-30.
    spread = result.figures["order_spread"]
    assert spread["0.98"] == [93, 93.0, 93]
    assert 70 <= spread["0.95"][0] <= spread["0.95"][2] <= 72
    assert spread["0.9"] == [40, 40.0, 40]
    assert 27 <= spread["0.85"][0] <= spread["0.85"][2] <= 30
    assert sum(w["new_clusters"] for w in result.figures["new_clusters_by_week"].values()) == 40


def test_groups_when_published_then_47_rows_of_one_missing_program(ctx: Context) -> None:
    result = groups.PROBE.run(ctx)
    repeated = only(result, "MA303")
    assert repeated.severity is Severity.MEDIUM
    assert repeated.figures["group_rows"] == 47
    assert repeated.figures["group_mean"] == pytest.approx(0.9833, abs=0.0005)
    assert repeated.figures["group_min"] == pytest.approx(0.9460, abs=0.0005)
    assert repeated.figures["hit_share"] == pytest.approx(2 / 47)
    merged = only(result, "MA304")
    assert merged.figures["within_group_cosine_mean"] == pytest.approx(0.7244, abs=0.0005)
    assert merged.figures["within_group_cosine_min"] == pytest.approx(0.6380, abs=0.0005)
    assert len(merged.subject["values"]) == 2


def test_deduplication_when_published_then_57_of_151_are_no_repeats(ctx: Context) -> None:
    finding = only(deduplication.PROBE.run(ctx), "MA302")
    assert finding.severity is Severity.HIGH
    assert (finding.figures["rows_dropped"], finding.figures["dropped_below_090"]) == (151, 57)
    assert finding.figures["share_below_090"] == pytest.approx(57 / 151)
    assert len(finding.evidence.ids) == 57


def test_recall_counts_when_published_then_64_rows_were_recalled(ctx: Context) -> None:
    finding = only(recall_counts.PROBE.run(ctx), "MA310")
    assert finding.figures["never_hit"] == 175 - 64
    assert finding.severity is Severity.LOW


def test_no_ops_when_published_then_the_outcome_and_the_limit_do_nothing(ctx: Context) -> None:
    single = only(constant_fields.PROBE.run(ctx), "MA601")
    assert (single.subject["column"], single.figures["value"]) == ("outcome", "success")
    limit = only(capacity.PROBE.run(ctx), "MA602")
    assert (limit.figures["rows"], limit.figures["limit"]) == (175, 500)
    result = filters.PROBE.run(ctx)
    assert codes(result) == ["MA604"]
    assert only(result, "MA604").figures == {"rows": 175, "rows_matching": 175}
