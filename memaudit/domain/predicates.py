"""What makes a condition true: texts to try for a literal, and which condition implies which."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memaudit.domain.preds import Pred
from memaudit.domain.regex_witness import anchors, regex_witnesses

#: A text, or two: the parts that a pattern leaves open differ between the variants.
Text = str | tuple[str, str]
_EXACT = frozenset({"equals", "member", "key", "entry"})
Rendition = tuple[str, Text]


def renditions(pred: Pred) -> list[Rendition]:
    """Give (place, text) pairs that may make a condition on a text true, the most natural first."""
    literal = pred.literal
    if isinstance(literal, tuple):
        return _for_regex(*literal)
    if isinstance(literal, (int, float)) and not isinstance(literal, bool):
        return [("whole", str(literal)), ("mid", str(literal))]
    if not isinstance(literal, str):
        return []
    cases = list(dict.fromkeys([literal, literal.lower(), literal.upper(), literal.title()]))
    found: list[Rendition] = []
    for text in cases:
        if pred.kind in ("contains", "part"):
            found += [("mid", text), ("start", text), ("end", text), ("whole", text)]
        elif pred.kind == "prefix":
            found += [("start", text), ("start", text + " "), ("whole", text), ("mid", text)]
        elif pred.kind == "suffix":
            found += [("end", text), ("end", " " + text), ("whole", text), ("mid", text)]
        elif pred.kind == "within":
            pieces = [text, text[:1], text[-1:], *text.split()[:1]]
            found += [("whole", piece) for piece in pieces if piece]
        elif pred.kind == "element":
            found += [("mid", text), ("whole", text), ("start", text + ","), ("end", "," + text)]
        else:
            # First as a word among others: what can stand beside another keyword must be combined with it.
            found += [
                ("mid", text), ("whole", text), ("end", text), ("end", "." + text), ("end", " " + text),
                ("start", text + " "),
                ("start", text + ":"), ("start", text + ": "), ("start", text + "_"), ("start", text + "."),
                ("start", text + "/"), ("start", text + "-"), ("end", "_" + text), ("end", ":" + text),
                ("end", "/" + text), ("whole", f" {text} "),
            ]  # fmt: skip
    return list(dict.fromkeys(found))


def _for_regex(pattern: str, flags: int, function: str) -> list[Rendition]:
    found: list[Rendition] = []
    at_start, at_end = anchors(pattern)
    at_start = at_start or function in ("match", "fullmatch")
    at_end = at_end or function == "fullmatch"
    first, second = regex_witnesses(pattern, flags), regex_witnesses(pattern, flags, other=True)
    texts: list[Text] = list(first)
    if len(first) == len(second):
        texts = [one if one == two else (one, two) for one, two in zip(first, second, strict=False)]
    for text in texts:
        places = ["whole"] if at_start and at_end else ["start", "whole"] if at_start else ["mid", "end", "whole"]
        if at_end and not at_start:
            places = ["end", "whole"]
        for change in (str, str.lower, str.upper):
            cased = _changed(text, change)
            for place in places:
                found.append((place, cased))
                if place == "start":
                    found.append((place, _changed(cased, lambda t: t + " ")))
                if place == "end":
                    found.append((place, _changed(cased, lambda t: " " + t)))
    return list(dict.fromkeys(found))


def _changed(text: Text, change: Callable[[str], str]) -> Text:
    return change(text) if isinstance(text, str) else (change(text[0]), change(text[1]))


def implies(strong: Pred, weak: Pred) -> bool:
    """Tell whether `strong` makes `weak` true of the same text, by their literals alone."""
    if weak.kind == "regex":
        return strong.kind in ("equals", "member") and _matches(weak.literal, strong.literal)
    if strong.kind == "regex":
        return weak.kind == "contains" and _plain(strong.literal) is not None and _within(weak, _plain(strong.literal))
    if not isinstance(strong.literal, str) or not isinstance(weak.literal, str):
        return {strong.kind, weak.kind} <= _EXACT and _same(strong.literal, weak.literal)
    if weak.kind == "contains":
        return strong.kind != "element" and weak.literal in strong.literal
    if weak.kind == "element":
        return strong.kind == "element" and weak.literal == strong.literal
    exact = strong.kind in _EXACT
    if weak.kind == "prefix":
        return (exact or strong.kind == "prefix") and strong.literal.startswith(weak.literal)
    if weak.kind == "suffix":
        return (exact or strong.kind == "suffix") and strong.literal.endswith(weak.literal)
    return exact and weak.kind in _EXACT and strong.literal == weak.literal


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def _within(weak: Pred, text: Any) -> bool:
    return isinstance(weak.literal, str) and weak.literal in text


def _plain(literal: Any) -> str | None:
    """Give the text of a pattern that has no special characters and no flags."""
    pattern, flags, _ = literal
    return pattern if not flags and re.escape(pattern).replace("\\ ", " ") == pattern else None


def _matches(literal: Any, text: Any) -> bool:
    pattern, flags, function = literal
    try:
        return isinstance(text, str) and getattr(re.compile(pattern, flags), function)(text) is not None
    except re.error:
        return False


def keyword_text(pred: Pred) -> Any:
    """Give the literal as a reader knows it: the pattern of a regex, the text of a keyword."""
    return pred.literal[0] if pred.kind == "regex" else pred.literal


def holds(kind: str, literal: Any, text: str) -> bool:
    """Work out a keyword on a text, as the target would."""
    if kind == "regex":
        return _matches(literal, text)
    if not isinstance(literal, str):
        return False
    if kind == "prefix":
        return text.startswith(literal)
    if kind == "suffix":
        return text.endswith(literal)
    if kind == "contains":
        return literal in text
    return text == literal


#: What turns a word of three letters or more into another form of itself: deploys, deployed, planning, deployment.
_ENDING = re.compile(r"(?:s|es|d|ed|ing|ers?|ments?)(?![A-Za-z0-9])")


def inside_word(kind: str, literal: Any, text: str) -> tuple[int, int, int]:
    """Count where a keyword stands in a text, and how many of these are a part of a longer word.

    Returns
    -------
    (places, places inside a longer word, those of the latter that are a form of the keyword itself: `deploys` for
    `deploy`). Only ASCII letters and digits make words: Chinese has no spaces
    between words, so that nothing can be said there.
    """
    if kind != "contains" or not isinstance(literal, str) or not literal:
        return 0, 0, 0
    places = inside = forms = 0
    at = text.find(literal)
    while at >= 0:
        places += 1
        end = at + len(literal)
        before = at > 0 and _joins(text[at - 1], literal[0])
        after = end < len(text) and _joins(literal[-1], text[end])
        inside += before or after
        forms += after and not before and _is_form(literal, text, end)
        at = text.find(literal, end)
    return places, inside, forms


def _is_form(literal: str, text: str, end: int) -> bool:
    if len(literal) < 3 or not literal[-1].isalpha():
        return False
    doubled = text[end : end + 1] == literal[-1] and text[end + 1 : end + 4].startswith(("ed", "ing"))
    return _ENDING.match(text, end + doubled) is not None


def _joins(first: str, second: str) -> bool:
    return first.isascii() and second.isascii() and first.isalnum() and second.isalnum()
