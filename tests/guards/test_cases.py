"""The described guard cases of the reference list, as small code of our own, with the stated answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memaudit.guards import Guard, Producer, find_guards

CHAINED = """
    KINDS = {".py": "python", ".rs": "rust"}

    def kind_of(path):
        return KINDS.get(path[-3:], "unknown")

    def handle(params, code):
        language = params.get("language", "")
        path = params.get("path")
        if path:
            if not language:
                language = kind_of(path)
        if not language:
            language = guess(code)
        return language

    def guess(code):
        return "python" if "def " in code else ""
"""


def test_second_of_two_chained_guards_is_partial(guard: Callable[..., Guard]) -> None:  # d01
    found = guard(CHAINED, "language", 13)
    assert found.verdict == "partial"
    assert {(c.line, c.side) for c in found.callers} >= {(12, "dead"), (8, "live")}
    assert found.producer == Producer("kind_of", "mod.py", 4)


def test_get_with_an_empty_default_is_reachable(verdict: Callable[..., str]) -> None:  # d02
    assert verdict(CHAINED, "language", 11) == "reachable"


def test_keyword_that_no_caller_passes_is_always_taken(guard: Callable[..., Guard]) -> None:  # d04
    found = guard(
        """
        def _ids(*, user, actor=None, filters=None):
            filters = dict(filters) if filters else {}
            who = actor or filters.get("actor")
            return user, who

        def add(user):
            return _ids(user=user)

        def search(user, extra):
            return _ids(user=user, filters=extra)
        """,
        "actor",
    )
    assert found.verdict == "always-taken"
    assert [(c.line, c.side) for c in found.callers] == [(8, "live"), (11, "live")]


def test_option_that_the_only_caller_fills_is_dead_in_this_tree(guard: Callable[..., Guard]) -> None:  # d06
    found = guard(
        {
            "errors.py": """
                class ApiError(Exception):
                    def __init__(self, message, debug=None):
                        super().__init__(message)
                        self.debug = debug or {}

                def error_for(status, debug_info=None):
                    return ApiError(str(status), debug=debug_info or {})
            """,
            "client.py": """
                from errors import error_for

                def call(url, response):
                    debug = {"url": url, "status": response.status, "method": "GET"}
                    if response.status == 429:
                        debug["retry"] = response.headers["retry"]
                    raise error_for(response.status, debug_info=debug)
            """,
        },
        "debug_info",
    )
    assert found.verdict == "dead"
    assert "in this tree" in found.reason
    assert [(c.file, c.line, c.side) for c in found.callers] == [("client.py", 8, "dead")]


def test_list_filled_by_append_is_reachable(verdict: Callable[..., str]) -> None:  # d07
    code = """
        def conditions(filters):
            must = []
            for key, value in filters.items():
                must.append((key, value))
            return make(must=must or None)
    """
    assert verdict(code, "must") == "reachable"


def test_one_caller_fills_and_scripts_leave_out_is_partial(guard: Callable[..., Guard]) -> None:  # d09
    files = {
        "setup.py": """
            def session(config, sid=None):
                sid = sid or generate(config)
                return sid
        """,
        "main.py": """
            from setup import session

            def run(config, name):
                return session(config, sid=f"main-{name}")
        """,
        "resolver.py": """
            import setup

            def resolve(config):
                return setup.session(config)
        """,
        "script.py": """
            from setup import session
            session({}, None)
        """,
    }
    found = guard(files, "sid")
    assert found.verdict == "partial"
    sides = {c.file: c.side for c in found.callers}
    assert sides == {"main.py": "dead", "resolver.py": "live", "script.py": "live"}


def test_title_read_from_storage_is_unknown(verdict: Callable[..., str]) -> None:  # d13
    code = """
        async def title_of(store, key):
            record = await store.load(key)
            title = record.title
            if not title:
                title = default_title(key)
            return title
    """
    assert verdict(code, "title") == "unknown"


def test_getter_that_can_return_none_is_reachable(verdict: Callable[..., str]) -> None:  # d18
    code = """
        def from_headers(request):
            for name in ("x-trace", "trace"):
                if name in request.headers:
                    return request.headers[name]
            return None

        def middleware(request):
            trace = from_headers(request) or generate()
            return trace
    """
    assert verdict(code, "from_headers(request)") == "reachable"


def test_decorator_used_bare_is_reachable(guard: Callable[..., Guard]) -> None:  # d22
    found = guard(
        {
            "timing.py": """
                def timed(func=None, *, prefix=""):
                    def decorate(inner):
                        def wrapper(*args):
                            name = prefix or inner.__name__
                            return name, inner(*args)
                        return wrapper
                    return decorate(func) if func else decorate
            """,
            "use.py": """
                import os
                from timing import timed

                @timed
                def one():
                    return 1

                @timed(prefix=os.environ.get("PREFIX", ""))
                def two():
                    return 2
            """,
        },
        "prefix",
    )
    assert found.verdict != "dead"
    assert found.verdict == "reachable"
    assert ("use.py", 5, "live") in {(c.file, c.line, c.side) for c in found.callers}


def test_constants_a_forwarded_option_and_kwargs_are_partial(guard: Callable[..., Guard]) -> None:  # d25
    found = guard(
        """
        def send(payload, request_id=None):
            rid = request_id or new_id()
            return rid, payload

        def one(p):
            return send(p, request_id=f"one-{p}")

        def two(p):
            return send(p, f"two-{p}")

        def forward(p, request_id=None):
            return send(p, request_id=request_id)

        def loose(p, **kwargs):
            return send(p, **kwargs)
        """,
        "request_id",
    )
    assert found.verdict == "partial"
    assert [(c.line, c.side) for c in found.callers] == [
        (7, "dead"),
        (10, "dead"),
        (13, "live"),
        (16, "unknown"),
    ]


def test_flag_toggled_in_a_loop_is_reachable(verdict: Callable[..., str]) -> None:  # d27
    code = """
        def parse(lines):
            inside = False
            for line in lines:
                if line.startswith("~~~"):
                    if not inside:
                        inside = True
                    else:
                        inside = False
    """
    assert verdict(code, "inside") == "reachable"


def test_helper_with_one_caller_passing_a_literal_list_is_dead(guard: Callable[..., Guard]) -> None:  # d34
    files = {
        "files.py": """
            def wanted(names, extensions=None, exclude=None):
                extensions = extensions or []
                exclude = exclude or []
                return [n for n in names if n not in exclude]
        """,
        "main.py": """
            from files import wanted

            def run(names, text):
                return wanted(names, [e.strip() for e in text.split(",")], exclude=["a", "b", "c"])
        """,
    }
    found = guard(files, "exclude")
    assert found.verdict == "dead"
    assert "in this tree" in found.reason
    assert guard(files, "extensions").verdict == "reachable"


SHARED = Path(os.environ.get("MEMAUDIT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
CASE = SHARED / "cases" / "004-empty-value-slips-past-none-guard"


@pytest.mark.skipif(not CASE.is_dir(), reason="reference cases are not on this machine")
def test_reference_case_none_guard_on_a_list_is_dead() -> None:
    report = find_guards([CASE / "prod_pkg"], base=CASE)
    (found,) = [g for g in report.guards if g.function == "enrich"]
    assert (found.file, found.form, found.verdict) == ("prod_pkg/tags.py", "is-none", "dead")
    assert found.producer == Producer("parse_tags", "prod_pkg/tags.py", 1)


def test_none_guard_on_a_function_that_returns_lists_is_dead_and_emptiness_is_not(
    guard: Callable[..., Guard],
) -> None:
    code = """
        def labels(raw):
            if not raw:
                return []
            return [piece for piece in raw.split(",")]

        def with_none(row):
            found = labels(row.get("raw"))
            if found is None:
                found = derive(row)
            return found

        def with_empty(row):
            found = labels(row.get("raw"))
            if not found:
                found = derive(row)
            return found
    """
    dead = guard(code, "found", 9)
    assert dead.verdict == "dead"
    assert dead.producer == Producer("labels", "mod.py", 2)
    assert guard(code, "found", 15).verdict == "reachable"
