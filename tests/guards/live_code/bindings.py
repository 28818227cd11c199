"""Names that are bound again, and objects with a truthiness of their own.

Name of the case -> a small module, and the target of the guard asked about (the last one on it).
"""

from __future__ import annotations

CODE = {
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
