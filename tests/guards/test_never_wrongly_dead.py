"""Code in which the branch can be entered although it looks as if it could not: never `dead`.

Each text is a small module; the guard asked about is the last one on the target.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memaudit.guards import Guard

LIVE = {
    "super() in an ancestor is no caller of the derived class": (
        """
        class Root:
            def __init__(self, key):
                self.root = key

        class Runtime(Root):
            def __init__(self, key):
                super().__init__("always given")

        class Remote(Runtime):
            def __init__(self, key=None):
                key = key or "fallback"
                self.key = key
        """,
        "key",
    ),
    "list emptied by a method": (
        """
        def f(xs):
            found = ["a"]
            for x in xs:
                found.remove(x)
            return found or ["none"]
        """,
        "found",
    ),
    "list emptied by a slice": (
        """
        def f():
            found = ["a"]
            found[:] = []
            return found or ["none"]
        """,
        "found",
    ),
    "dict emptied by del": (
        """
        def f(k):
            found = {"a": 1}
            del found[k]
            return found or {"none": 1}
        """,
        "found",
    ),
    "list emptied through an alias": (
        """
        def f():
            found = ["a"]
            other = found
            other.clear()
            return found or ["none"]
        """,
        "found",
    ),
    "list emptied by a callee": (
        """
        def f():
            found = ["a"]
            drain(found)
            return found or ["none"]

        def drain(xs):
            xs.clear()
        """,
        "found",
    ),
    "list emptied later by somebody who kept it": (
        """
        def f(self):
            found = ["a"]
            self.kept = found
            self.tick()
            return found or ["none"]
        """,
        "found",
    ),
    "list kept in a container and emptied": (
        """
        def f():
            found = ["a"]
            box = {"x": found}
            box["x"].pop()
            return found or ["none"]
        """,
        "found",
    ),
    "list emptied through a bound method": (
        """
        def f(run):
            found = ["a"]
            run(found.clear)
            return found or ["none"]
        """,
        "found",
    ),
    "list emptied inside a lambda": (
        """
        def f(run):
            found = ["a"]
            run(lambda: found.clear())
            return found or ["none"]
        """,
        "found",
    ),
    "list emptied by a nested function": (
        """
        def f():
            found = ["a"]
            def drop():
                found.clear()
            drop()
            return found or ["none"]
        """,
        "found",
    ),
    "list emptied in the try of a handler": (
        """
        def f():
            found = ["a"]
            try:
                keep(found)
                drop()
                found = ["b"]
            except ValueError:
                pass
            return found or ["none"]
        """,
        "found",
    ),
    "subscript of a list set to its own tail by augmented assignment": (
        """
        def f(other):
            found = ["a"]
            found *= other
            return found or ["none"]
        """,
        "found",
    ),
    "flag set in a loop": (
        """
        def f(lines):
            seen = ""
            for line in lines:
                seen = seen or "first"
                if line:
                    seen = ""
            return seen
        """,
        "seen",
    ),
    "back edge of while": (
        """
        def f(step):
            value = "start"
            while step():
                value = value or "again"
                value = ""
            return value
        """,
        "value",
    ),
    "loop left by break": (
        """
        def f(xs):
            value = "start"
            for x in xs:
                if x:
                    value = ""
                    break
            return value or "none"
        """,
        "value",
    ),
    "loop going on by continue": (
        """
        def f(xs):
            value = "start"
            for x in xs:
                if x:
                    value = ""
                    continue
                value = "y"
            return value or "none"
        """,
        "value",
    ),
    "assigned in try, failing in between": (
        """
        def f(g):
            value = ""
            try:
                g()
                value = "x"
            except ValueError:
                g()
            return value or "none"
        """,
        "value",
    ),
    "assigned twice in try": (
        """
        def f(g):
            value = "a"
            try:
                value = ""
                g()
                value = "x"
            except ValueError:
                g()
            return value or "none"
        """,
        "value",
    ),
    "assigned in a handler": (
        """
        def f(g):
            try:
                value = "x"
                g()
            except ValueError:
                value = None
            return value or "none"
        """,
        "value",
    ),
    "assigned in finally": (
        """
        def f(g):
            value = "x"
            try:
                g()
            finally:
                value = g and ""
            return value or "none"
        """,
        "value",
    ),
    "guard inside finally": (
        """
        def f(g):
            value = ""
            try:
                g()
                value = "x"
            finally:
                g(value or "none")
        """,
        "value",
    ),
    "exception swallowed by with": (
        """
        from contextlib import suppress
        def f(g):
            value = ""
            with suppress(ValueError):
                g()
                value = "x"
            return value or "none"
        """,
        "value",
    ),
    "return swallowed by with": (
        """
        from contextlib import suppress
        def label(g):
            with suppress(ValueError):
                return f"x{g()}"

        def f(g):
            value = label(g)
            return value or "none"
        """,
        "value",
    ),
    "match with one empty case": (
        """
        def f(kind):
            match kind:
                case "a":
                    value = "A"
                case _:
                    value = ""
            return value or "none"
        """,
        "value",
    ),
    "match that may match nothing": (
        """
        def f(kind):
            value = ""
            match kind:
                case "a":
                    value = "A"
                case "b":
                    value = "B"
            return value or "none"
        """,
        "value",
    ),
    "match capture": (
        """
        def f(kind):
            value = "x"
            match kind:
                case [value, *_]:
                    pass
            return value or "none"
        """,
        "value",
    ),
    "nonlocal": (
        """
        def f(run):
            value = "x"
            def reset():
                nonlocal value
                value = ""
            run(reset)
            return value or "none"
        """,
        "value",
    ),
    "global": (
        """
        value = "x"
        def reset():
            global value
            value = ""
        def f():
            return value or "none"
        """,
        "value",
    ),
    "module constant assigned from another module": (
        {
            "settings.py": 'PREFIX = "x"\n',
            "use.py": """
                import settings
                def f():
                    return settings.PREFIX or "none"
                def reset():
                    settings.PREFIX = ""
            """,
        },
        "settings.PREFIX",
    ),
    "module constant assigned under a condition": (
        """
        import os
        PREFIX = "x"
        if os.name == "nt":
            PREFIX = ""
        def f():
            return PREFIX or "none"
        """,
        "PREFIX",
    ),
    "module list changed": (
        """
        NAMES = ["x"]
        def reset():
            NAMES.clear()
        def f():
            return NAMES or ["none"]
        """,
        "NAMES",
    ),
    "table of constants changed": (
        """
        TABLE = {"a": "A"}
        def reset(k):
            TABLE[k] = ""
        def f(k):
            return TABLE.get(k, "none") or "empty"
        """,
        "TABLE.get(k, 'none')",
    ),
    "table of constants passed on": (
        """
        TABLE = {"a": "A"}
        def reset(change):
            change(TABLE)
        def f(k):
            return TABLE.get(k, "none") or "empty"
        """,
        "TABLE.get(k, 'none')",
    ),
    "table imported under another name and changed": (
        {
            "tables.py": """
                TABLE = {"a": "A"}
                def f(k):
                    return TABLE.get(k, "none") or "empty"
            """,
            "other.py": """
                from tables import TABLE as T
                def reset(k):
                    T[k] = ""
            """,
        },
        "TABLE.get(k, 'none')",
    ),
    "table with an empty value": (
        """
        TABLE = {"a": "A", "b": ""}
        def f(k):
            return TABLE.get(k, "none") or "empty"
        """,
        "TABLE.get(k, 'none')",
    ),
    "exec in the function": (
        """
        def f(code):
            value = "x"
            exec(code)
            return value or "none"
        """,
        "value",
    ),
    "deleted": (
        """
        def f(code):
            value = "x"
            del value
            return value or "none"
        """,
        "value",
    ),
    "deleted in a class body": (
        """
        class C:
            value = "x"
            del value
            other = value or "none"
        """,
        "value",
    ),
    "str of something": (
        """
        def f(x):
            value = str(x)
            return value or "none"
        """,
        "value",
    ),
    "strip": (
        """
        def f(x):
            value = f"  {x}".strip()
            return value or "none"
        """,
        "value",
    ),
    "slice": (
        """
        def f(n):
            value = "abc"[:n]
            return value or "none"
        """,
        "value",
    ),
    "f-string without text": (
        """
        def f(a, b):
            value = f"{a}{b}"
            return value or "none"
        """,
        "value",
    ),
    "f-string with a width of nothing": (
        """
        def f(a):
            name = "abc"
            value = f"{name:.0}"
            return value or "none"
        """,
        "value",
    ),
    "join": (
        """
        def f(a):
            value = ", ".join(a)
            return value or "none"
        """,
        "value",
    ),
    "format without text": (
        """
        def f(a):
            value = "{}".format(a)
            return value or "none"
        """,
        "value",
    ),
    "percent without text": (
        """
        def f(a):
            value = "%s" % a
            return value or "none"
        """,
        "value",
    ),
    "text times a number": (
        """
        def f(n):
            value = "-" * n
            return value or "none"
        """,
        "value",
    ),
    "sum of numbers": (
        """
        def f(n):
            value = 1 + len(n) - 1
            return value or 5
        """,
        "value",
    ),
    "comprehension": (
        """
        def f(xs):
            value = [x for x in (1, 2, 3) if x in xs]
            return value or [0]
        """,
        "value",
    ),
    "get with an empty default": (
        """
        def f(params):
            value = params.get("k", "")
            return value or "none"
        """,
        "value",
    ),
    "get with a filled default on a mapping that may hold None": (
        """
        def f(params):
            value = params.get("k", "x")
            return value or "none"
        """,
        "value",
    ),
    "environment variable with a default": (
        """
        import os
        def f():
            value = os.environ.get("K", "x")
            return value or "none"
        """,
        "value",
    ),
    "star of a list only": (
        """
        def f(xs):
            value = [*xs]
            return value or [0]
        """,
        "value",
    ),
    "falls off its end": (
        """
        def label(x):
            if x:
                return "a"

        def f(x):
            value = label(x)
            return value or "none"
        """,
        "value",
    ),
    "bare return": (
        """
        def label(x):
            if x:
                return
            return "a"

        def f(x):
            value = label(x)
            return value or "none"
        """,
        "value",
    ),
    "not awaited and awaited": (
        """
        async def label(x):
            return x or ""

        async def f(x):
            value = await label(x)
            return value or "none"
        """,
        "value",
    ),
    "generator": (
        """
        def label(x):
            yield "a"

        def f(x):
            value = next(label(x), None)
            return value or "none"
        """,
        "value",
    ),
    "abstract method": (
        """
        from abc import ABC, abstractmethod
        class Base(ABC):
            @abstractmethod
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"
        """,
        "value",
    ),
    "overridden in a subclass": (
        {
            "base.py": """
                class Base:
                    def label(self):
                        return "a"
                    def f(self):
                        value = self.label()
                        return value or "none"
            """,
            "sub.py": """
                from base import Base
                class Sub(Base):
                    def label(self):
                        return ""
            """,
        },
        "value",
    ),
    "overridden by a mixin that stands first": (
        """
        class Base:
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"

        class Mixin:
            def label(self):
                return ""

        class Both(Mixin, Base):
            pass
        """,
        "value",
    ),
    "overridden by a base outside of the tree that stands first": (
        """
        from somewhere import Mixin
        class Base:
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"

        class Both(Mixin, Base):
            pass
        """,
        "value",
    ),
    "method replaced on the class": (
        """
        class Base:
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"
        Base.label = lambda self: ""
        """,
        "value",
    ),
    "method replaced on the object": (
        """
        class Base:
            def __init__(self, label):
                if label:
                    self.label = label
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"
        """,
        "value",
    ),
    "function replaced in its module": (
        {
            "labels.py": """
                def label():
                    return "a"
            """,
            "use.py": """
                import labels
                def f():
                    value = labels.label()
                    return value or "none"
                labels.label = lambda: ""
            """,
        },
        "value",
    ),
    "function replaced by setattr": (
        {
            "labels.py": """
                def label():
                    return "a"
            """,
            "use.py": """
                import labels
                def f():
                    value = labels.label()
                    return value or "none"
                setattr(labels, "label", lambda: "")
            """,
        },
        "value",
    ),
    "function defined twice": (
        """
        import sys
        if sys.platform == "win32":
            def label():
                return ""
        else:
            def label():
                return "a"
        def f():
            value = label()
            return value or "none"
        """,
        "value",
    ),
    "function with a fallback import": (
        {
            "labels.py": 'def label():\n    return "a"\n',
            "use.py": """
                try:
                    from labels import label
                except ImportError:
                    def label():
                        return ""
                def f():
                    value = label()
                    return value or "none"
            """,
        },
        "value",
    ),
    "decorated function": (
        """
        from somewhere import blank
        @blank
        def label():
            return "a"
        def f():
            value = label()
            return value or "none"
        """,
        "value",
    ),
    "property": (
        """
        class C:
            @property
            def label(self):
                return "a"
            def f(self):
                value = self.label
                return value or "none"
        """,
        "value",
    ),
    "parameter shadows the function": (
        """
        def label():
            return "a"
        def f(label):
            value = label()
            return value or "none"
        """,
        "value",
    ),
    "comprehension variable shadows the function": (
        """
        def label():
            return "a"
        def f(fs):
            return [label() or "none" for label in fs]
        """,
        "label()",
    ),
    "module of the tree has the name of one of Python": (
        {
            "json.py": 'def dumps(x):\n    return "a"\n',
            "pkg/__init__.py": "",
            "pkg/use.py": """
                import json
                def f(x):
                    value = json.dumps(x)
                    value = json.label(x)
                    return value or "none"
            """,
        },
        "value",
    ),
    "object with a length": (
        """
        class Bag:
            def __len__(self):
                return 0
        def f():
            value = Bag()
            return value or "none"
        """,
        "value",
    ),
    "object with an inherited length": (
        """
        class Bag:
            def __len__(self):
                return 0
        class Sack(Bag):
            pass
        def f():
            value = Sack()
            return value or "none"
        """,
        "value",
    ),
    "object of a class outside of the tree": (
        """
        from somewhere import Base
        class Bag(Base):
            pass
        def f():
            value = Bag()
            return value or "none"
        """,
        "value",
    ),
    "object of a class with __new__": (
        """
        class Bag:
            def __new__(cls):
                return None
        def f():
            value = Bag()
            return value or "none"
        """,
        "value",
    ),
    "assert proves nothing under -O": (
        """
        def f(params):
            value = params.get("k")
            assert value
            return value or "none"
        """,
        "value",
    ),
    "unpacked": (
        """
        def f(pair):
            value = "x"
            value, other = pair
            return value or "none"
        """,
        "value",
    ),
    "walrus that rebinds": (
        """
        def f(pair):
            value = "x"
            if (value := pair):
                return 1
            return value or "none"
        """,
        "value",
    ),
    "loop variable": (
        """
        def f(pairs):
            value = "x"
            for value in pairs:
                pass
            return value or "none"
        """,
        "value",
    ),
    "with target": (
        """
        def f(opener):
            value = "x"
            with opener() as value:
                pass
            return value or "none"
        """,
        "value",
    ),
    "narrowed list that a call can empty": (
        """
        def f(items):
            if not items:
                return None
            drain()
            return items or ["none"]
        """,
        "items",
    ),
    "mutable default that was filled": (
        """
        def f(x, found=[]):
            value = found or ["none"]
            found.append(x)
            return value
        def g(x):
            return f(x)
        def h(x):
            return f(x, ["a"])
        """,
        "found",
    ),
    "persisted attribute": (
        """
        class C:
            def __init__(self):
                self.label = "x"
            def f(self):
                return self.label or "none"
        """,
        "self.label",
    ),
    "lambda parameter": (
        """
        value = "x"
        f = lambda value: value or "none"
        """,
        "value",
    ),
    "value of an enclosing function that is assigned later": (
        """
        def f(run):
            value = "x"
            def inner():
                return value or "none"
            value = ""
            return run(inner)
        """,
        "value",
    ),
    "chained comparison of None": (
        """
        def f(raw):
            value = raw.get("x")
            if value is None:
                value = []
            return value
        """,
        "value",
    ),
    "conditional expression": (
        """
        def f(raw):
            value = "x" if raw else ""
            return value or "none"
        """,
        "value",
    ),
    "and gives its left side": (
        """
        def f(raw):
            value = raw and "x"
            return value or "none"
        """,
        "value",
    ),
    "or of two that can be empty": (
        """
        def f(a, b):
            value = a or b
            return value or "none"
        """,
        "value",
    ),
    "recursion that changes the list": (
        """
        def f(found, depth):
            if depth:
                found.clear()
                return f(found, depth - 1)
            return found or ["none"]
        def g():
            return f(["a"], 3)
        """,
        "found",
    ),
    "generator that runs when it is read": (
        """
        def f(keep):
            found = ["a"]
            keep(found)
            later = (keep(None) for _ in "ab")
            found = found or ["b"]
            if found:
                list(later)
                return found or ["none"]
        """,
        "found",
    ),
    "star import after the definition": (
        """
        def label():
            return "a"
        from somewhere import *
        def f():
            value = label()
            return value or "none"
        """,
        "value",
    ),
    "function replaced through globals()": (
        """
        def label():
            return "a"
        def f():
            value = label()
            return value or "none"
        globals()["label"] = lambda: ""
        """,
        "value",
    ),
    "method of a class with a decorator": (
        """
        from somewhere import patched
        @patched
        class C:
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"
        """,
        "value",
    ),
    "method of a class with a metaclass": (
        """
        from somewhere import Meta
        class C(metaclass=Meta):
            def label(self):
                return "a"
            def f(self):
                value = self.label()
                return value or "none"
        """,
        "value",
    ),
    "format with a field inside a field": (
        """
        def f(a, b):
            value = "{:{}}".format(a, b)
            return value or "none"
        """,
        "value",
    ),
    "encode that ignores": (
        """
        def f():
            value = "标签".encode("ascii", "ignore")
            return value or b"none"
        """,
        "value",
    ),
    "caught exception with a truthiness of its own": (
        """
        from somewhere import Problem
        def f(g):
            value = None
            try:
                g()
            except Problem as error:
                return error or "none"
        """,
        "error",
    ),
    "coroutine started late": (
        """
        async def f(found):
            return found or ["none"]
        def g(loop):
            found = ["a"]
            task = loop.create_task(f(found))
            found.clear()
            return task
        """,
        "found",
    ),
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
