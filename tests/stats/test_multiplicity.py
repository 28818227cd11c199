from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.multiplicity import holm


def test_holm_keeps_the_order_of_the_input_and_never_falls() -> None:
    # Sorted .01, .03, .04: 3 x .01 = .03, 2 x .03 = .06, 1 x .04 -> .06 (not below the one before).
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.7, 0.6]) == [1.0, 1.0]


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_holm_refuses_what_is_no_p(bad: float) -> None:
    with pytest.raises(DataError, match="p-value"):
        holm([0.5, bad])


def test_holm_agrees_with_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for p_values in ([0.001, 0.2, 0.013, 0.04, 0.9], [0.02] * 4, [1.0, 0.0], [0.5]):
        assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1].tolist())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_the_raw_p_and_bonferroni(p_values: list[float]) -> None:
    for raw, adjusted in zip(p_values, holm(p_values), strict=True):
        assert raw <= adjusted <= 1.0
    assert min(holm(p_values)) == min(1.0, len(p_values) * min(p_values))
