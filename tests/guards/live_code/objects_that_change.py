"""Objects that are emptied, and flags that are set, on a way that is easy to overlook.

Name of the case -> a small module, and the target of the guard asked about (the last one on it).
"""

from __future__ import annotations

CODE = {
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
}
