"""Names bound elsewhere, and expressions whose value can be empty.

Name of the case -> a small module, and the target of the guard asked about (the last one on it).
"""

from __future__ import annotations

CODE = {
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
}
