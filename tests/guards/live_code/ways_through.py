"""Loops, handlers, `with` and `match`: ways to a guard that are easy to overlook.

Name of the case -> a small module, and the target of the guard asked about (the last one on it).
"""

from __future__ import annotations

CODE = {
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
}
