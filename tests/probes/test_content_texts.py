"""Texts written down before anybody knew whether the rules would take them; kept so that they stay right.

The first reading of each set decided what the rules had to learn (see `bench/bench_planted.py` for the figures).
All keys, numbers and names are made up.
"""

from __future__ import annotations

import pytest

from memaudit.text.credentials import credentials
from memaudit.text.machine_lines import machine_kind
from memaudit.text.masking import masked
from memaudit.text.orders import orders
from memaudit.text.personal_numbers import personal_numbers
from tests.probes.content_texts.disguised import DISGUISED, PLAIN
from tests.probes.content_texts.ordinary import ORDINARY
from tests.probes.content_texts.runtime import MACHINE
from tests.probes.content_texts.secrets_stored import CREDENTIALS, PERSONAL
from tests.probes.content_texts.to_the_agent import ORDERS


@pytest.mark.parametrize("text", MACHINE)
def test_machine_kind_when_runtime_text_then_found(text: str) -> None:
    assert machine_kind(text) is not None


@pytest.mark.parametrize("text", [*ORDERS, *DISGUISED])
def test_orders_when_the_agent_is_ordered_then_found(text: str) -> None:
    assert orders(text)


@pytest.mark.parametrize("text", PLAIN)
def test_orders_when_plain_words_look_like_them_then_silent(text: str) -> None:
    assert orders(text) == []


@pytest.mark.parametrize("text", CREDENTIALS)
def test_credentials_when_stored_then_found_and_masked(text: str) -> None:
    assert credentials(text)
    assert masked(text) != text
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize("text", PERSONAL)
def test_personal_numbers_when_stored_then_found(text: str) -> None:
    assert personal_numbers(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_every_rule_when_ordinary_text_then_silent(text: str) -> None:
    assert machine_kind(text) is None
    assert orders(text) == []
    assert credentials(text) == []
    assert personal_numbers(text) == []
    assert masked(text) == text
