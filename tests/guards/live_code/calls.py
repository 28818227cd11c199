"""Functions and methods that return something else than it looks, or are replaced.

Name of the case -> a small module, and the target of the guard asked about (the last one on it).
"""

from __future__ import annotations

CODE = {
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
}
