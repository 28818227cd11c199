"""What the step before a guard can return: methods of texts, tables, constants of a class, tests of a type."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memaudit.guards import Guard

NEVER_NONE = [
    "raw.strip().lower()",
    "raw.split(',')",
    "raw.split(',') if raw else []",
    "(raw or '').strip()",
    "re.findall('#(.+)', raw)",
    "re.split('[,;，；]', raw)",
    "re.sub(' +', ' ', raw)",
    "TAG.findall(raw)",
]
ASKS_NONE = """
import re
TAG = re.compile('#(.+)')
def clean(raw):
    return {value}
def enrich(row):
    tags = clean(row.get('raw'))
    if tags is None:
        tags = make(row)
    return tags
"""


@pytest.mark.parametrize("value", NEVER_NONE)
def test_none_guard_after_a_method_of_texts_is_dead(value: str, guard: Callable[..., Guard]) -> None:
    assert guard(ASKS_NONE.format(value=value), "tags").verdict == "dead"


@pytest.mark.parametrize(
    ("name", "value"), [("strip", "raw.strip()"), ("split", "raw.split()"), ("findall", "TAG.findall(raw)")]
)
def test_none_guard_after_a_method_that_the_tree_defines_too_is_not_dead(
    name: str, value: str, guard: Callable[..., Guard]
) -> None:
    code = f"class Text:\n    def {name}(self, *more):\n        return None\n" + ASKS_NONE.format(value=value)
    assert guard(code, "tags").verdict != "dead"


@pytest.mark.parametrize("value", [*NEVER_NONE, "raw.get('a')", "raw.replace('a', 'b', inplace=True)", "raw.join()"])
def test_empty_guard_after_a_method_of_texts_is_not_dead(value: str, guard: Callable[..., Guard]) -> None:
    code = ASKS_NONE.format(value=value).replace("if tags is None", "if not tags")
    assert guard(code, "tags").verdict != "dead"


@pytest.mark.parametrize(
    "value", ["raw.get('a')", "raw.replace('a', 'b', inplace=True)", "raw.join()", "re.match('a', raw)"]
)
def test_none_guard_after_another_method_is_not_dead(value: str, guard: Callable[..., Guard]) -> None:
    assert guard(ASKS_NONE.format(value=value), "tags").verdict != "dead"


PARSED = """
import json
def load(raw):
    value = json.loads(raw)
    if {test}:
        return value
    return [value]
def save(raw):
    tags = load(raw)
    if tags is None:
        tags = derive(raw)
    return tags
"""


@pytest.mark.parametrize("test", ["isinstance(value, list)", "raw and isinstance(value, (list, dict))"])
def test_none_guard_behind_a_test_of_the_type_is_dead(test: str, guard: Callable[..., Guard]) -> None:
    assert guard(PARSED.format(test=test), "tags").verdict == "dead"


@pytest.mark.parametrize(
    "test",
    [
        "not isinstance(value, list)",
        "isinstance(raw, str)",
        "isinstance(value, type(None))",
        "isinstance(value, (list, type(None)))",
        "isinstance(value, object)",
        "isinstance(value, Kind)",
        "isinstance(value, list) or raw",
    ],
)
def test_none_guard_behind_another_test_is_not_dead(test: str, guard: Callable[..., Guard]) -> None:
    assert guard(PARSED.format(test=test), "tags").verdict != "dead"
    own = "def isinstance(a, b):\n    return True\n" + PARSED.format(test="isinstance(value, list)")
    assert guard(own, "tags").verdict != "dead"


@pytest.mark.parametrize(
    ("value", "dead"),
    [
        ("raw.strip()[:80] or '(leer)'", True),
        ("(lambda s: s)(raw)[:80]", False),
        ("'x' if not raw.strip() else raw.strip()[:80]", False),  # two calls, two values
        ("hashlib.sha256(raw.encode()).hexdigest()", True),
        ("hashlib.shake_128(raw.encode()).hexdigest(int(raw))", False),
    ],
)
def test_empty_guard_behind_texts(value: str, dead: bool, guard: Callable[..., Guard]) -> None:
    code = "import hashlib\n" + ASKS_NONE.format(value=value).replace("if tags is None", "if not tags")
    assert (guard(code, "tags").verdict == "dead") is dead


def test_empty_guard_behind_the_start_of_a_full_text_is_dead(guard: Callable[..., Guard]) -> None:
    code = """
        def summary(text):
            s = text.strip()
            return s[:80] if s else "(空)"
        def save(text):
            tags = summary(text)
            if not tags:
                tags = make(text)
            return tags
    """
    assert guard(code, "tags").verdict == "dead"
    assert guard(code.replace("s[:80]", "s[1:80]"), "tags").verdict != "dead"


LOOKED_UP = """
KINDS = {table}
def kind_for(text):
    for {names} in {loop}:
        if word in text:
            return kind
    return "general"
def save(text):
    kind = kind_for(text)
    if not kind:
        kind = make(text)
    return kind
"""
PAIRS = '(("偏好", "preference"), ("fact", "事实"))'


@pytest.mark.parametrize(
    ("table", "names", "loop"),
    [
        ('{"偏好": "preference", "fact": "事实"}', "word, kind", "KINDS.items()"),
        (PAIRS, "word, kind", "KINDS"),
        ('[["偏好", "preference"], ["fact", "事实"]]', "[word, kind]", "KINDS"),
        ('(("preference", ["偏好"]), ("事实", ["fact"]))', "kind, word", "KINDS"),
        ("None", "word, kind", PAIRS),
    ],
)
def test_guard_behind_a_loop_over_a_constant_table_of_full_texts_is_dead(
    table: str, names: str, loop: str, guard: Callable[..., Guard]
) -> None:
    assert guard(LOOKED_UP.format(table=table, names=names, loop=loop), "kind").verdict == "dead"


@pytest.mark.parametrize(
    ("table", "names", "loop", "more"),
    [
        ('{"偏好": "preference", "fact": ""}', "word, kind", "KINDS.items()", ""),
        ('{"偏好": "preference", **OTHER}', "word, kind", "KINDS.items()", ""),
        ('{"偏好": "preference"}', "word, kind", "KINDS.items()", "KINDS['x'] = ''"),
        ('{"偏好": "preference"}', "word, kind", "KINDS.items()", "KINDS.update(x='')"),
        ('{"偏好": "preference"}', "word, kind", "KINDS.items()", "load(KINDS)"),
        ('{"偏好": "preference"}', "word, kind", "KINDS.items()", "KINDS = load()"),
        ('[("偏好", "preference")]', "word, kind", "KINDS", "KINDS.append(('x', ''))"),
        ('(("偏好", "preference"), *OTHER)', "word, kind", "KINDS", ""),
        ('(("偏好", "preference"), ("x", "y", ""))', "word, *kind", "KINDS", ""),
        ('(("偏好", "preference"), ("x", None))', "word, kind", "KINDS", ""),
        ('(("偏好", []), ("x", []))', "word, kind", "KINDS", ""),
        ('(("", "偏好"), ("x", "y"))', "kind, word", "KINDS", ""),
        ("None", "word, kind", '(("偏好", text),)', ""),
    ],
)
def test_guard_behind_a_loop_over_another_table_is_not_dead(
    table: str, names: str, loop: str, more: str, guard: Callable[..., Guard]
) -> None:
    assert guard(LOOKED_UP.format(table=table, names=names, loop=loop) + more, "kind").verdict != "dead"


FIRST = """
KINDS = (("偏好", "preference"), ("fact", "事实"))
EMPTY = (("偏好", "preference"), ("fact", ""))
def kind_for(text):
    return {value}
def save(text):
    kind = kind_for(text)
    if not kind:
        kind = make(text)
    return kind
"""


@pytest.mark.parametrize(
    ("value", "dead"),
    [
        ("next((kind for word, kind in KINDS if word in text), 'general')", True),
        ("next((f'kind {k}' for k in text), 'general')", True),
        ("next((kind for word, kind in KINDS if word in text), '')", False),
        ("next((kind for word, kind in KINDS if word in text), None)", False),
        ("next((kind for word, kind in EMPTY if word in text), 'general')", False),
        ("next((kind for kind in text.split()), 'general')", False),
        ("next((kind for word, kind in text.pairs()), 'general')", False),
        ("next((kind for word, *kind in KINDS), 'general')", False),
        ("next((word for kind in KINDS for word, kind in text.pairs()), 'general')", False),
        ("next((kind for KINDS in text.all() for word, kind in KINDS), 'general')", False),
        ("next(text.kinds(), 'general')", False),
        ("next(iter(text), 'general')", False),
    ],
)
def test_guard_behind_the_first_of_a_generator(value: str, dead: bool, guard: Callable[..., Guard]) -> None:
    assert (guard(FIRST.format(value=value), "kind").verdict == "dead") is dead


OF_CLASS = """
class Rules:
    KINDS = (("preference", ["偏好"]), ("事实", ["fact"]))
    OTHER = "general"
    {extra}

    {bound}
    def kind_for({first}text):
        for kind, words in {owner}.KINDS:
            if any(word in text for word in words):
                return kind
        return {owner}.OTHER

def save(text):
    kind = {call}.kind_for(text)
    if not kind:
        kind = make(text)
    return kind
"""


@pytest.mark.parametrize(
    ("bound", "first", "owner", "call"),
    [
        ("@classmethod", "cls, ", "cls", "Rules"),
        ("", "self, ", "self", "Rules()"),
        ("", "self, ", "Rules", "Rules()"),
        ("@staticmethod", "", "Rules", "Rules"),
    ],
)
def test_guard_behind_constants_of_a_class_is_dead(
    bound: str, first: str, owner: str, call: str, guard: Callable[..., Guard]
) -> None:
    code = OF_CLASS.format(bound=bound, first=first, owner=owner, call=call, extra="")
    assert guard(code, "kind").verdict == "dead"


@pytest.mark.parametrize(
    "head",
    [
        "@dataclass\nclass Rules:",
        "@define\nclass Rules:",
        "class Rules(BaseModel):",
        "class Rules(metaclass=Meta):",
        "class Base(BaseModel):\n    pass\nclass Rules(Base):",
    ],
)
def test_guard_behind_a_field_that_a_constructor_may_set_is_not_dead(head: str, guard: Callable[..., Guard]) -> None:
    imports = "from dataclasses import dataclass\nfrom attrs import define\nfrom pydantic import BaseModel\n"
    code = OF_CLASS.format(bound="", first="self, ", owner="self", call="Rules()", extra="")
    code = imports + code.replace("class Rules:", head).replace("OTHER =", "OTHER: str =")
    assert guard(code, "kind").verdict != "dead"


@pytest.mark.parametrize(
    ("extra", "more"),
    [
        ("", "Rules.OTHER = ''"),
        ("", "setattr(Rules, 'OTHER', '')"),
        ("", "class Odd(Rules):\n    OTHER = ''"),
        ("", "class Odd(Rules):\n    KINDS = (('', ['x']),)"),
        ("", "Rules.KINDS += (('', ['x']),)"),
        ("", "def load(rules):\n    rules.KINDS = read()"),
        ("def __init__(self, other):\n        self.OTHER = other", ""),
        ("def __init__(self, **more):\n        for k, v in more.items():\n            setattr(self, k, v)", ""),
        ("def __init__(self, **more):\n        self.__dict__.update(more)", ""),
        ("def __init__(self, **more):\n        vars(self).update(more)", ""),
        ("OTHER = ''", ""),
        ("def __getattribute__(self, name):\n        return ''", ""),
    ],
)
def test_guard_behind_attributes_of_a_class_that_can_change_is_not_dead(
    extra: str, more: str, guard: Callable[..., Guard]
) -> None:
    code = OF_CLASS.format(bound="", first="self, ", owner="self", call="Rules()", extra=extra) + more
    assert guard(code, "kind").verdict != "dead"
