"""Tuples that are taken apart, entries of dict literals, and which class's method a call means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memaudit.guards import Guard

PAIR = """
def pair(text):
    {returns}

def save(text):
    {assign}
    if not label:
        label = "none"
    return label
"""
DEAD_PAIRS = {
    "constant first": ("return 'note', text", "label, rest = pair(text)"),
    "two returns": ("return ('a', 1) if text else ('b', 2)", "label, rest = pair(text)"),
    "none beside it": ("return ('a', 1) if text else None", "label, rest = pair(text)"),
    "kept first": ("return 'note', text", "both = pair(text)\n    label, rest = both"),
}
LIVE_PAIRS = {
    "one return is empty": ("return ('a', 1) if text else ('', 2)", "label, rest = pair(text)"),
    "the other element": ("return 'note', text", "rest, label = pair(text)"),
    "a list in it": ("return ['a'], text", "label, rest = pair(text)"),
    "a parameter": ("return text or '', 'note'", "label, rest = pair(text)"),
    "lengths differ": ("return ('a', 'b') if text else ('a', '', 'b')", "label, *rest = pair(text)"),
    "a list of two": ("return ['note', text]", "label, rest = pair(text)"),
    "into an attribute and back": ("return 'note', ''", "rest, label = pair(text)"),
    "a starred tuple": ("return (*text, 'note')", "label, rest = pair(text)"),
    "a sum of tuples": ("return ('',) + ('note',)", "label, rest = pair(text)"),
}


@pytest.mark.parametrize("name", DEAD_PAIRS)
def test_element_of_a_returned_tuple_that_is_always_full_is_dead(name: str, verdict: Callable[..., str]) -> None:
    returns, assign = DEAD_PAIRS[name]
    assert verdict(PAIR.format(returns=returns, assign=assign), "label") == "dead"


@pytest.mark.parametrize("name", LIVE_PAIRS)
def test_element_of_a_tuple_that_can_be_empty_is_not_dead(name: str, verdict: Callable[..., str]) -> None:
    returns, assign = LIVE_PAIRS[name]
    assert verdict(PAIR.format(returns=returns, assign=assign), "label") != "dead"


ROW = """
def save(text, other):
    row = {{"label": "note", "text": text}}
    {between}
    return row[{key}] or "none"
"""


def test_entry_of_a_dict_literal_is_known(verdict: Callable[..., str]) -> None:
    assert verdict(ROW.format(between="pass", key="'label'"), "row['label']") == "dead"


@pytest.mark.parametrize(
    ("between", "key"),
    [
        ("row['label'] = text", "'label'"),
        ("row.update(label=text)", "'label'"),
        ("other.add(row)", "'label'"),
        ("row |= {'label': ''}", "'label'"),
        ("pass", "'text'"),
        ("pass", "other"),
        ("alias = row; alias['label'] = ''", "'label'"),
        ("for key in row: row[key] = ''", "'label'"),
    ],
)
def test_entry_of_a_dict_that_can_change_is_not_dead(
    between: str, key: str, verdict: Callable[..., str]
) -> None:  # fmt: skip
    target = f"row[{key}]"
    assert verdict(ROW.format(between=between, key=key), target) != "dead"


FAMILY = """
class Base:
    def add(self, text, label=None):
        if label is None:
            label = "auto"
        return label

class Sub(Base):
    def add(self, text, label="sub"):
        return super().add(text, label)
    {more}

def push(text):
    return {call}
"""


@pytest.mark.parametrize("call", ["Sub().add(text)", "Sub.add(Sub(), text)"])
def test_call_of_a_derived_class_with_its_own_method_is_no_caller_of_the_base(
    call: str, guard: Callable[..., Guard]
) -> None:
    found = guard(FAMILY.format(call=call, more=""), "label")
    assert found.verdict == "dead"
    assert [caller.function for caller in found.callers] == ["Sub.add"]


def test_self_call_in_a_derived_class_with_its_own_method_is_no_caller_of_the_base(guard: Callable[..., Guard]) -> None:
    found = guard(
        FAMILY.format(call="Sub().run(text)", more="def run(self, text):\n        return self.add(text)"), "label"
    )
    assert found.verdict == "dead"


@pytest.mark.parametrize(
    ("call", "more"),
    [
        ("Base().add(text)", ""),
        ("Base.add(Sub(), text)", ""),
        ("Other().add(text)", "\n\nclass Other(Base):\n    pass"),
        ("Other().add(text)", "\n\nclass Other(Base):\n    def more(self):\n        return self.add('x')"),
        ("swap(Sub()).add(text)", "\n\ndef swap(x):\n    Sub.add = Base.add\n    return x"),
        ("take(Base(), text)", "\n\ndef take(item: Sub, text):\n    return item.add(text)"),  # nothing enforces it
        ("Sub().add(text)", "\n\nSub.add = Base.add"),
        ("Sub().add(text)", "\n\ndef undo():\n    del Sub.add"),
        ("Sub().add(text)", "\n\ndef undo(name):\n    delattr(Sub, name)\nundo('add')"),
    ],
)
def test_call_that_can_come_to_the_base_keeps_its_guard_alive(
    call: str, more: str, verdict: Callable[..., str]
) -> None:  # fmt: skip
    assert verdict(FAMILY.format(call=call, more=more), "label") != "dead"


CONSTANT = """
class Label:
    text = "std"
    def show(self):
        return self.text or "none"

def change(item, name):
    {change}
    return item.show()
"""


@pytest.mark.parametrize(
    "change",
    [
        "setattr(item, name, '')",
        "setattr(item, 'te' + 'xt', '')",
        "setattr(item, name, 'other')",
        "object.__setattr__(item, name, '')",
        "super(Label, item).__setattr__(name, '')",
        "setattr(*[item, name, ''])",
        "delattr(item, name)",
        "type('Other', (Label,), {'text': ''})().show()",
        "[setattr(item, *pair) for pair in [(name, '')]]",
    ],
)
def test_attribute_set_under_a_computed_name_keeps_a_constant_open(change: str, verdict: Callable[..., str]) -> None:
    """The constant text in `setattr(item, name, "")` is the value, not the name."""
    assert verdict(CONSTANT.format(change=change), "self.text") != "dead"


@pytest.mark.parametrize("change", ["setattr(item, 'other', '')", "getattr(item, name, '')"])
def test_attribute_of_another_name_leaves_a_constant_known(change: str, verdict: Callable[..., str]) -> None:
    assert verdict(CONSTANT.format(change=change), "self.text") == "dead"


@pytest.mark.parametrize(
    "call", ["getattr(mod, name, 'none')('x')", "getattr(mod, name)('x')", "attrgetter('a', name)(mod)"]
)
def test_function_got_by_a_computed_name_has_a_hidden_caller(call: str, guard: Callable[..., Guard]) -> None:
    files = {
        "mod.py": """
            def label_of(text, kind=""):
                kind = kind or "general"
                return f"{kind}:{text}"

            def caller():
                return label_of("a", kind="tool")
        """,
        "other.py": f"import mod\nfrom operator import attrgetter\nNAMES = ['label_of']\ndef g(name):\n    return {call}\n",
    }
    assert guard(files, "kind").verdict != "dead"
