"""Code in which the branch can be entered although it looks as if it could not: never `dead`.

The code of most cases stands in `live_code/`, one file a subject.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memaudit.guards import Guard
from tests.guards.live_code import bindings, calls, names_and_values, objects_that_change, ways_through

#: Name of the case -> code and target.
LIVE = {
    **objects_that_change.CODE,
    **ways_through.CODE,
    **names_and_values.CODE,
    **calls.CODE,
    **bindings.CODE,
}


@pytest.mark.parametrize("name", LIVE)
def test_branch_that_can_be_entered_is_not_dead(name: str, verdict: Callable[..., str]) -> None:
    code, target = LIVE[name]
    assert verdict(code, target) in ("reachable", "unknown", "partial")


#: Ways to call `label_of(text, kind=...)` that leave `kind` empty and that a search for calls by name misses.
HIDDEN = {
    "bare decorator": "@label_of\ndef g():\n    pass\n",
    "callback": "import queue\nqueue.on(label_of)\n",
    "keyword callback": "import queue\nqueue.on(handler=label_of)\n",
    "registry": "REGISTRY = {'label': label_of}\n",
    "partial": "from functools import partial\nshort = partial(label_of, 'x')\n",
    "alias": "other = label_of\nother('x')\n",
    "map": "def g(xs):\n    return list(map(label_of, xs))\n",
    "getattr": "import mod\ndef g():\n    return getattr(mod, 'label_of')('x')\n",
    "getattr by a list of names": (
        "import mod\nNAMES = ['label_of']\ndef g(n):\n    return getattr(mod, NAMES[n])('x')\n"
    ),
    "getattr by a prefix": "import mod\ndef g(n):\n    return getattr(mod, f'label_{n}')('x')\n",
    "globals": "NAMES = ['label_of']\ndef g(n):\n    return globals()[NAMES[n]]('x')\n",
    "star arguments": "def g(a):\n    return label_of(*a)\n",
    "double star arguments": "def g(a):\n    return label_of('x', **a)\n",
    "annotation": (
        "from typing import Annotated\nfrom web import Depends\n"
        "def g(x: Annotated[str, Depends(label_of)]):\n    return x\n"
    ),
    "default": "def g():\n    return label_of('x')\n",
    "positional": "def g():\n    return label_of('x', '')\n",
    "module attribute": "import mod\ndef g():\n    return mod.label_of('x')\n",
    "import under another name": "from mod import label_of as lo\ndef g():\n    return lo('x')\n",
    "module under another name": "import mod as m\ndef g():\n    return m.label_of('x')\n",
    "star import": "from mod import *\ndef g():\n    return label_of('x')\n",
    "import in a function": "def g():\n    from mod import label_of\n    return label_of('x')\n",
    "lambda": "g = lambda: label_of('x')\n",
    "comprehension": "def g(xs):\n    return [label_of(x) for x in xs]\n",
    "default argument": "def g(x=label_of('x')):\n    return x\n",
    "class body": "class G:\n    x = label_of('x')\n",
    "class attribute": "class G:\n    make = staticmethod(label_of)\n",
    "conditional import": (
        "try:\n    from mod import label_of\nexcept ImportError:\n    label_of = None\n"
        "def g():\n    return label_of('x')\n"
    ),
    "forwarded default": "def g(kind=''):\n    return label_of('x', kind=kind)\n",
    "forwarded twice": (
        "def g(kind=None):\n    return label_of('x', kind=kind)\ndef h(kind=None):\n    return g(kind)\n"
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_call_keeps_a_guard_from_being_dead(name: str, guard: Callable[..., Guard]) -> None:
    files = {
        "mod.py": """
            def label_of(text, kind=""):
                kind = kind or "general"
                return f"{kind}:{text}"

            def caller():
                return label_of("a", kind="tool")
        """,
        "other.py": HIDDEN[name] if "mod" in HIDDEN[name] else "from mod import label_of\n" + HIDDEN[name],
    }
    assert guard(files, "kind", 3).verdict in ("unknown", "partial", "reachable")


def test_same_guard_without_the_hidden_call_is_dead(verdict: Callable[..., str]) -> None:
    files = {
        "mod.py": """
            def label_of(text, kind=""):
                kind = kind or "general"
                return f"{kind}:{text}"

            def caller():
                return label_of("a", kind="tool")
        """
    }
    assert verdict(files, "kind") == "dead"


def test_method_name_on_several_classes_is_unknown(guard: Callable[..., Guard]) -> None:
    found = guard(
        """
        class Store:
            def record(self, text, pattern=""):
                if not pattern:
                    pattern = derive(text)
                return pattern

        class Log:
            def record(self, text, pattern=""):
                return text

        def one():
            return Store().record("a", pattern="tool")

        def two(sink):
            return sink.record("a")
        """,
        "pattern",
    )
    assert found.verdict == "unknown"
    assert "ambiguous-name" in found.reason


def test_method_name_on_several_classes_is_dead_when_all_calls_fill_it(verdict: Callable[..., str]) -> None:
    code = """
        class Store:
            def record(self, text, pattern=""):
                if not pattern:
                    pattern = derive(text)
                return pattern

        class Log:
            def record(self, text, pattern=""):
                return text

        def one():
            return Store().record("a", pattern="tool")

        def two(sink):
            return sink.record("a", pattern="sink")
    """
    assert verdict(code, "pattern") == "dead"


def test_private_method_called_through_self_in_an_unrelated_class_is_no_caller(
    verdict: Callable[..., str],
) -> None:
    code = """
        class Store:
            def _keep(self, text, pattern=""):
                return pattern or derive(text)
            def add(self, text):
                return self._keep(text, f"p-{text}")

        class Log:
            def _keep(self, text, pattern=""):
                return text
            def add(self, text):
                return self._keep(text)
    """
    assert verdict(code, "pattern") == "dead"


def test_file_that_cannot_be_parsed_and_names_the_function_is_a_doubt(guard: Callable[..., Guard]) -> None:
    files = {
        "mod.py": """
            def label_of(text, kind=""):
                return kind or "general"
            def caller():
                return label_of("a", kind="tool")
        """,
        "broken.py": "print 'old python'\nlabel_of('x')\n",
    }
    found = guard(files, "kind")
    assert found.verdict == "unknown"
    assert "cannot be parsed" in found.reason


def test_class_outside_of_the_tree_may_call_its_methods(guard: Callable[..., Guard]) -> None:
    found = guard(
        """
        from framework import Handler
        class Mine(Handler):
            def on_event(self, name=None):
                return name or "none"
            def go(self):
                return self.on_event("x")
        """,
        "name",
    )
    assert found.verdict == "unknown"
    assert "framework.Handler" in found.reason


@pytest.mark.parametrize(
    "extra",
    [
        "def g(d):\n    return Item(**d)\n",
        "def g(k=Item):\n    return k('x')\n",
        "import dataclasses\ndef g(i):\n    return dataclasses.replace(i, label='')\n",
        "class Sub(Item):\n    pass\n",
        "def g(i):\n    return type(i)('x', '')\n",
        "def g():\n    return Item('x')\n",
        "def g(l):\n    return Item('x', l.strip())\n",
    ],
)
def test_dataclass_field_is_not_dead_when_it_can_be_built_otherwise(extra: str, verdict: Callable[..., str]) -> None:
    code = (
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Item:\n    text: str\n    label: str = ''\n"
        "    def __post_init__(self):\n        if not self.label:\n            self.label = self.text[:5]\n"
        "def make():\n    return Item('a', label='b')\n"
    )
    assert verdict(code, "self.label") == "dead"
    assert verdict(code + extra, "self.label") != "dead"


def test_post_init_field_set_before_the_guard_by_a_method_is_unknown(verdict: Callable[..., str]) -> None:
    code = """
        from dataclasses import dataclass
        @dataclass
        class Item:
            text: str
            label: str = ""
            def __post_init__(self):
                self.reset()
                if not self.label:
                    self.label = "none"
            def reset(self):
                self.label = ""
        def make():
            return Item("a", label="b")
    """
    assert verdict(code, "self.label") == "unknown"
