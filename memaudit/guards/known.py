# ruff: noqa: SIM905  (word lists are easier to read as text)
"""What Python's own functions and methods return, and which of them change nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from memaudit.guards.lattice import (
    GROWING_KINDS,
    NO,
    NONE,
    PERHAPS,
    YES,
    Part,
    Truth,
    Value,
    empty,
    filled,
    maybe,
    truth,
    unknown,
)
from memaudit.wording import say

#: Method names that change nothing we follow, whatever the receiver is.
PURE_METHODS = frozenset(
    "strip lstrip rstrip lower upper title capitalize casefold swapcase split rsplit splitlines partition "
    "rpartition startswith endswith join format format_map encode decode replace removeprefix removesuffix "
    "find rfind index rindex count isdigit isalpha isalnum isspace isupper islower isidentifier isnumeric "
    "get items keys values copy zfill ljust rjust center expandtabs translate hex isoformat strftime "
    "timestamp total_seconds hexdigest digest".split()
)
#: Methods that can only add to a list, dict or set.
GROWING_METHODS = frozenset("append extend insert add update setdefault sort reverse appendleft".split())
_LOGGERS = frozenset({"logger", "log", "logging", "_logger", "LOGGER", "_log", "LOG"})
_LOG_METHODS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "getLogger"})
#: Builtins that neither change their arguments nor keep them.
PURE_BUILTINS = frozenset(
    "abs all any ascii bin bool bytes callable chr complex dict divmod float format frozenset hasattr hash "
    "hex id int isinstance issubclass len list max min object oct ord pow print range repr round set sorted "
    "str sum tuple type".split()
)
#: Builtins (and `join`) that run through their argument: a generator runs its code now.
CONSUMERS = frozenset("all any bytes dict frozenset list max min set sorted sum tuple join".split())
_NUMBERS = frozenset("abs complex divmod float hash id int len ord pow round sum".split())
_TRUE_TEXTS = frozenset("bin chr hex oct".split())
_ITERATORS = frozenset("enumerate filter iter map reversed zip".split())
_CONTAINERS = {"list": "list", "dict": "dict", "set": "set", "tuple": "tuple", "frozenset": "tuple"}
_BOOLEANS = frozenset("all any bool callable hasattr isinstance issubclass".split())

_KEEPS_LENGTH = frozenset("lower upper title capitalize casefold swapcase zfill ljust rjust center encode".split())
_TEXT_METHODS = frozenset(
    "strip lstrip rstrip replace removeprefix removesuffix expandtabs translate join format format_map "
    "lower upper title capitalize casefold swapcase zfill ljust rjust center".split()
)
_LIST_METHODS = frozenset("split rsplit splitlines findall".split())
#: Never None, whatever the receiver is: no other type has one that returns None. `replace` and `join` are not among
#: them (a data frame's `replace(inplace=True)`, a thread's `join()`).
_NEVER_NONE = _LIST_METHODS | frozenset(
    "strip lstrip rstrip removeprefix removesuffix expandtabs lower upper capitalize casefold swapcase zfill ljust "
    "rjust".split()
)
_TRUTH_METHODS = frozenset("startswith endswith isdigit isalpha isalnum isspace isupper islower".split())
_PERCENT = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[a-zA-Z%]")
_BRACES = re.compile(r"\{[^{}]*\}")


def constant(value: object) -> Value:
    """Give the value of a literal."""
    if value is None:
        return NONE
    kind = {str: "str", bytes: "bytes", bool: "bool", int: "num", float: "num", complex: "num"}.get(
        type(value), "object"
    )
    part = Part(YES if value else NO, NO if value else YES, NO, kind, literal=value)
    return (part,)


def only_part(value: Value) -> Part | None:
    """Give the part of a value that comes from one place only."""
    return value[0] if len(value) == 1 else None


def kind_of(value: Value) -> str:
    """Give the kind that all parts have and that cannot be None, else ""."""
    kinds = {part.kind for part in value}
    return kinds.pop() if len(kinds) == 1 and not any(part.none for part in value) else ""


def is_filled(value: Value) -> bool:
    """Whether the value is always true."""
    return truth(value) is Truth.NONEMPTY


def is_logging(node: ast.expr) -> bool:
    """Whether a call goes to a logger: it formats its arguments and changes nothing."""
    if not isinstance(node, ast.Attribute) or node.attr not in _LOG_METHODS:
        return False
    receiver = node.value
    name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
    return name in _LOGGERS


def builtin_result(name: str, args: Sequence[Value], keywords: Sequence[str | None], star: bool) -> Value:
    """Give what a builtin returns.

    Parameters
    ----------
    args
        Values of the positional arguments.
    keywords
        Names of the keyword arguments, None for `**`.
    star
        An argument is unpacked.
    """
    first = args[0] if args and not star else None
    if name == "str":
        if first is None:
            return empty("str") if not args and not keywords and not star else maybe("str")
        known = kind_of(first)
        if known == "opaque" or known in ("num", "bool") or (known == "str" and is_filled(first)):
            return filled("str")
        return maybe("str")
    if name in ("repr", "ascii"):
        # A class may define a __repr__ that gives "".
        return filled("str") if first is not None and kind_of(first) in ("str", "num", "bool") else maybe("str")
    if name in _TRUE_TEXTS:
        return filled("str")
    if name in _NUMBERS:
        return maybe("num") if name not in ("sum", "pow", "divmod", "abs", "round") else unknown("a number", NO)
    if name in _BOOLEANS:
        return maybe("bool")
    if name in _ITERATORS or name in ("object", "type", "open", "property"):
        return filled("object")
    if name in _CONTAINERS:
        kind = _CONTAINERS[name]
        if name == "dict" and any(keyword is not None for keyword in keywords):
            return filled(kind)
        if not args and not keywords and not star:
            return empty(kind)
        return maybe(kind)
    if name == "sorted":
        return maybe("list")
    if name in ("range", "bytes", "format", "input", "frozenset"):
        return maybe("str" if name in ("format", "input") else "object")
    if name == "print":
        return NONE
    if name.endswith(("Error", "Exception", "Warning")):
        return filled("object")
    return unknown(say("result of {name}()", name=name))


def outside_result(dotted: str, n_args: int) -> Value | None:
    """Give what a few functions of the standard library return; None for all others."""
    if dotted in ("uuid.uuid1", "uuid.uuid4", "uuid.uuid5", "uuid.uuid3"):
        return filled("opaque")
    if dotted in ("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.date.today"):
        return filled("opaque")
    if dotted in ("os.getenv", "os.environ.get"):
        if n_args == 1:
            return maybe("str", none=YES)
        return (Part(YES, PERHAPS, PERHAPS, "~str", reason=say("an environment variable can be empty")),)
    if dotted in ("re.findall", "re.split"):
        return maybe("list")
    if dotted in ("re.sub", "re.escape"):
        return maybe("str")
    if dotted in ("os.getcwd", "json.dumps"):
        return filled("str")
    if dotted in ("os.path.join", "os.path.basename", "os.path.dirname"):
        return maybe("str")
    return None


def method_result(
    name: str, receiver: Value, args: Sequence[Value], node: ast.Call, in_tree: bool = True
) -> Value | None:
    """Give what a method of a builtin type returns; None when the name says nothing.

    Parameters
    ----------
    in_tree
        A class of the tree has a method of this name, which may return anything.
    """
    kind = kind_of(receiver)
    none = NO if name in _NEVER_NONE and not in_tree else PERHAPS
    if kind in ("str", "bytes"):
        return _text_method(name, receiver, args, node, kind)
    if kind == "opaque" and name in ("isoformat", "hex", "strftime", "__str__"):
        return filled("str") if name == "isoformat" else maybe("str")
    if kind in GROWING_KINDS and name in (
        "append",
        "extend",
        "insert",
        "sort",
        "reverse",
        "add",
        "update",
        "clear",
    ):
        return NONE
    if name == "get" and node.args and not node.keywords:
        return _mapping_get(args)
    if name in _TEXT_METHODS and kind not in GROWING_KINDS:
        literal_receiver = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)
        return maybe("~str" if none else "str", none=NO if literal_receiver else none)
    if name in _LIST_METHODS:
        return maybe("", none=none)
    if name in _TRUTH_METHODS:
        return maybe("bool", none=PERHAPS)
    if name == "hexdigest" and not in_tree and not node.args:
        return filled("str")
    if name in ("keys", "values", "items", "copy") and kind in GROWING_KINDS:
        return maybe(kind if name == "copy" else "")
    return None


def _mapping_get(args: Sequence[Value]) -> Value:
    stored = Part(YES, PERHAPS, PERHAPS, shared=True, reason=say("value of a mapping that is not known"))
    if len(args) == 1:
        return (Part(YES, PERHAPS, YES, shared=True),)
    return (stored, *(part for part in args[1]))


def _text_method(name: str, receiver: Value, args: Sequence[Value], node: ast.Call, kind: str) -> Value | None:
    part = only_part(receiver)
    full = is_filled(receiver)
    if name in _KEEPS_LENGTH:
        result = "bytes" if name == "encode" else kind
        # encode("ascii", "ignore") can leave nothing.
        full = full and (name != "encode" or (len(args) < 2 and not node.keywords))
        return filled(result) if full else maybe(result)
    if name == "format" and part is not None and isinstance(part.literal, str):
        text, before = part.literal.replace("{{", "x"), ""
        while text != before:  # fields nest: {:{width}}
            text, before = _BRACES.sub("", text), text
        return filled(kind) if text else maybe(kind)
    if name in ("strip", "lstrip", "rstrip") and part is not None and isinstance(part.literal, str) and not args:
        return constant(getattr(part.literal, name)())
    if name in _TEXT_METHODS:
        return maybe(kind)
    if name in ("split", "rsplit"):
        # With a separator there is always one piece, even of an empty text; without one there may be none.
        separator = node.args[0] if node.args else None
        given = isinstance(separator, ast.Constant) and isinstance(separator.value, str)
        return filled("list") if given else maybe("list")
    if name == "splitlines":
        return maybe("list")
    if name in ("partition", "rpartition"):
        return filled("tuple")
    if name in _TRUTH_METHODS or name.startswith("is"):
        return maybe("bool")
    if name in ("find", "rfind", "index", "rindex", "count"):
        return maybe("num")
    if name in ("decode", "hex"):
        return maybe("str")
    return None


def percent_format(left: Value) -> Value:
    """Give what `left % right` is when `left` is a text."""
    part = only_part(left)
    if part is not None and isinstance(part.literal, str) and _PERCENT.sub("", part.literal):
        return filled("str")
    return maybe("str")
