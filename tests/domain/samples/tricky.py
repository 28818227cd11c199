# mypy: ignore-errors
# Written as the code under audit is written: mostly without types.
"""Functions on which an enumerator goes wrong when it guesses; their values are stated in the tests."""

import asyncio
import difflib
import hashlib
import mimetypes
import re
from typing import Literal

TABLE = {"cpu": "compute", "ram": "memory", "disk": "storage"}
TABLE["net"] = "network"
LEVELS = ["low", "mid", "high"]
DEBUG = False
RULES = [("red", ("fire", "alarm")), ("blue", ("sea", "sky")), ("green", ("leaf",))]
PREDICATES = [(lambda t: "fire" in t, "red"), (lambda t: "sea" in t, "blue")]


def words_in_order(text):
    """Order-dependent: the joined labels follow the text."""
    return "-".join(TABLE[w] for w in text.split() if w in TABLE) or "none"


def per_item(failures):
    """First match for each item: pairs of labels need several items."""
    tags = set()
    for failure in failures:
        message = failure["message"].lower()
        if "timeout" in message:
            tags.add("time")
        elif "denied" in message:
            tags.add("auth")
        elif "missing" in message:
            tags.add("path")
    return "+".join(sorted(tags)) or "other"


def fourteen_first(text):
    for word in ("ka", "lo", "mi", "nu", "pe", "ra", "si", "tu", "wa", "ye", "zo", "cha", "dji", "gre"):
        if word in text:
            return "has " + word
    return "plain"


def fourteen_joined(text):
    words = ("ka", "lo", "mi", "nu", "pe", "ra", "si", "tu", "wa", "ye", "zo", "cha", "dji", "gre")
    return "+".join(word for word in words if word in text) or "plain"


def by_score(text):
    hits = sum(1 for word in ("urgent", "now", "asap", "today") if word in text.lower())
    if hits >= 3:
        return "critical"
    if hits >= 1:
        return "soon"
    return "later"


def best_of(text):
    scores = {name: sum(word in text for word in words) for name, words in RULES}
    name = max(scores, key=scores.get)
    return name if scores[name] > 0 else "grey"


def by_library(path):
    return mimetypes.guess_type(path)[0] or "unknown"


def by_lambda(text):
    for test, label in PREDICATES:
        if test(text):
            return label
    return "grey"


def error_name(text):
    found = re.match(r"(\w+)Error", text)
    return found.group(1) if found else "none"


def by_match(kind):
    match kind:
        case "create" | "insert":
            return "write"
        case "read":
            return "read"
        case "drop":
            return "danger"
        case _:
            return "other"


def by_length(text):
    if len(text) > 100:
        return "long"
    return "medium" if len(text) > 10 else "short"


def by_count(text):
    return "noisy" if text.count("error") > 2 else "quiet"


def two_inputs(text, tool):
    if "fail" in text:
        if tool == "shell":
            return "shell failure"
        if tool.startswith("web"):
            return "web failure"
        return "failure"
    return "success"


class Tagger:
    """Class constants, siblings, private names."""

    KINDS = {  # noqa: RUF012
        "bug": ("crash", "崩溃"),
        "wish": ("please", "希望"),
    }
    DEFAULT = "note"

    @classmethod
    def tag(cls, text):
        return cls.__first(cls._clean(text)) or cls.DEFAULT

    @staticmethod
    def _clean(text):
        return text.strip().lower()

    @classmethod
    def __first(cls, text):
        for name, words in cls.KINDS.items():
            if any(word in text for word in words):
                return name
        return None


def level(n: int) -> str:
    return LEVELS[n]


def ascii_or_not(text):
    return "ascii" if text.isascii() else "wide"


def nested(event):
    kind = event.get("error", {}).get("type", "")
    if kind == "TimeoutError":
        return "time"
    return "code" if event["status"] >= 500 else "fine"


def attribute(result):
    if result.ok:
        return "good"
    return "bad:" + result.name


async def later(text):
    await asyncio.sleep(0)
    return "yes" if "go" in text else "no"


def pair(text):
    return ("hit", 1) if "go" in text else ("miss", 0)


def mixed_kinds(text):
    if text == "none":
        return None
    if text == "one":
        return 1
    if text == "true":
        return True
    return ["list", "of", "it"]


def truncated(text):
    return f"note: {text[:20]}"


def digest(text):
    return "id-" + hashlib.sha256(text.encode()).hexdigest()[:8]


def at_most(n: int):
    return "many" if n > 5 else f"{n} tries"


def head(text):
    first = text.split(":")[0]
    return {"feat": "feature", "fix": "repair"}.get(first, "chore")


def by_float(score: float) -> str:
    if score >= 0.8:
        return "strong"
    if score >= 0.5:
        return "weak"
    return "none"


def word_set(text):
    words = set(re.findall(r"[a-z]+", text.lower()))
    return "greeting" if words & {"hello", "hi"} else "talk"


def close_to(text):
    return (difflib.get_close_matches(text, ["alpha", "beta"], 1) or ["none"])[0]


def entry(key):
    try:
        return TABLE[key]
    except KeyError:
        return "missing"


def configured(text):
    if DEBUG:
        return "debug"
    return "on" if "on" in text else "off"


def with_walrus(text):
    if (found := re.search(r"#(\d+)", text)) is not None:
        return f"ticket {found.group(1)}"
    return "no ticket"


def first_of(text):
    return next((name for name, words in RULES if any(word in text for word in words)), "grey")


def formatted(tool, ok: bool):
    return f"{tool} worked" if ok else f"{tool} failed"


def lower_case_only(text):
    low = text.lower()
    if "Error" in low:
        return "error"
    return "warning" if "warn" in low else "info"


def shadowed(text):
    if "connect" in text:
        return "net"
    if "connection" in text or "disconnect" in text:
        return "link"
    return "none"


def single_letters(text):
    return "x" if "x" in text else "q" if "q" in text else "z"


def echo(text):
    return text


def never_returns(text):
    raise ValueError("no")


def chatty(text):
    print("looking at", text)
    return "a" if "go" in text else "b"


def rest(*args, **kwargs):
    return "none" if not args else "some"


def letter(n: int) -> str:
    return "abc"[n % 3]


def tags_of(items):
    """Equality for each item of a list: pairs need two items."""
    found = sorted({TABLE[item] for item in items if item in TABLE})
    return "+".join(found) if found else "none"


def both_fields(calls):
    """Two fields of one item decide together."""
    for call in calls:
        if call["tool"] == "shell" and "denied" in call["error"]:
            return "shell denied"
        if call["tool"].startswith("web") or "dns" in call["error"]:
            return "network"
    return "other"


def shared_words(text):
    """One keyword belongs to several groups: it is an input of its own."""
    tags = []
    if any(k in text for k in ("denied", "id")):
        tags.append("a")
    if text.endswith("time"):
        tags.append("b")
    if any(k in text for k in ("connect", "denied")):
        tags.append("c")
    if any(k in text for k in ("id", "rm", "denied")):
        tags.append("d")
    return "".join(tags) or "none"


def guarded(text: str) -> str:
    """The except part needs a value that is no text."""
    try:
        return "shout" if text.isupper() else "talk"
    except AttributeError:
        return "no text"


_OPEN, _CLOSE = re.compile("<name", re.IGNORECASE), re.compile("</name>", re.IGNORECASE)


def between_tags(text: str) -> str:
    """Return a piece of the text itself, whatever it is."""
    opening = _OPEN.search(text)
    if opening is None:
        return ""
    start = text.find(">", opening.end())
    if start == -1:
        return ""
    closing = _CLOSE.search(text, start + 1)
    if closing is None:
        return ""
    return text[start + 1 : closing.start()].strip()


def after_colon(text: str) -> str:
    """Return what stands between two words of the text."""
    if "from" in text and "until" in text and text.index("from") < text.index("until"):
        return text.split("from", 1)[1].split("until", 1)[0].strip()
    return "always"


def named_in_text(text: str) -> str:
    """Return constants that stand in the text, too: no piece of the text."""
    if "draft" in text and "final" in text:
        return "draft final"
    return "draft" if "draft" in text else "other"


def ratio(hit: int, num: int) -> str:
    """Return a number as text: no constant stands before its digits."""
    if num == 0:
        return "1"
    return "%.4g" % (hit / num)


def three_numbers(pid, eid, lid):
    """Return the arguments themselves; numbers of the conditions among them are no constants."""
    if pid == 3 and eid == 1 and lid == 1033:
        return ""
    return f"{pid} {eid} {lid}"


def chosen_or_told(path: str, fmt: Literal["yaml", "json"] | None) -> str:
    """Return what was asked for, else what the ending tells: one value comes both ways."""
    if fmt is not None:
        return fmt
    ending = path.lower()
    if ending in {".yaml", ".yml"}:
        return "yaml"
    if ending == ".json":
        return "json"
    raise ValueError(path)


def same_number(first: int, second: int) -> str:
    """Compare two arguments with each other."""
    return "equal" if first == second else "more" if first > second else "less"


def shown_pipe(fd):
    """Return what stands for the argument, of whatever type."""
    if fd == "in":
        return "<in>"
    return f"pipe {fd}"


def norm_name(order: float) -> str:
    """Compare with numbers that are no integers and have no neighbours."""
    if order == float("inf"):
        return "largest"
    if order == float("-inf"):
        return "smallest"
    return "sum" if order == 1 else "root"


def norm_name_of_text(order):
    """Compare with infinity what looks like a text."""
    return "largest" if order == float("inf") else "other"
