"""Characters that nobody sees: which of them a text holds beyond what its script or its emoji need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from memaudit.text.scripts import HAN_CHARACTER
from memaudit.wording import key

#: Kinds of characters, by regular expression class; source: Unicode 15.1 (DerivedCoreProperties,
#: Default_Ignorable_Code_Point, and Bidi_Control), Unicode Technical Report 36.
_KINDS: Mapping[str, str] = {
    key("zero-width"): "\u034f\u200b-\u200d\u2060-\u2064\u180b-\u180f",
    key("byte order mark"): "\ufeff",
    key("bidi control"): "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    key("tag"): "\U000e0000-\U000e007f",
    key("variation selector"): "\ufe00-\ufe0f\U000e0100-\U000e01ef",
    key("filler"): "\u115f\u1160\u17b4\u17b5\u3164\uffa0",
    key("deprecated format"): "\u206a-\u206f\ufff9-\ufffb",
    "control": "\x01-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f",
    key("private use"): "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd",
}
_ANY = re.compile("[" + "".join(_KINDS.values()) + "]")
_CLASS = {kind: re.compile(f"[{members}]") for kind, members in _KINDS.items()}

#: Scripts whose letters are joined or kept apart by U+200C and U+200D: Arabic, Syriac, Indic, Sinhala, Tibetan,
#: Myanmar, Khmer, Mongolian.
_JOINING = re.compile(
    "[\u0600-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua8ff\ufb50-\ufdff\ufe70-\ufefc]"
)
#: Scripts written without blanks, whose words U+200B keeps apart.
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u1a20-\u1aaf]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MONGOLIAN = re.compile("[\u1800-\u18af]")
_HANGUL = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
#: What an emoji sequence is made of, besides its joiners: pictographs, symbols, skin tones, regional letters.
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_PICTURE = re.compile(_EMOJI)
#: The flag of a region: a black flag, tag letters, the cancel tag.
_TAG_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
#: Marks that change the order of right-to-left text and belong there; overrides do not.
_USUAL_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202c\u2066-\u2069]")


def invisible_characters(text: str) -> dict[str, int]:
    """Count the characters of a text that cannot be seen and that nothing around them needs.

    Parameters
    ----------
    text
        Any text; U+0000 is left to MA005 and soft hyphens are typography.

    Returns
    -------
    Characters by kind (`zero-width`, `byte order mark`, `bidi control`, `tag`, `variation selector`, `filler`,
    `deprecated format`, `control`, `private use`), empty for a clean text. Silent are: joiners inside emoji sequences
    and beside letters of the scripts that need them, word separators of scripts without blanks, marks of text with
    right-to-left letters (overrides are counted), flags made of tags, and a selector behind a symbol or a Han character.
    """
    if text.isascii() and not _CLASS["control"].search(text):
        return {}
    found: Counter[str] = Counter()
    flags = [m.span() for m in _TAG_FLAG.finditer(text)] if "\U000e007f" in text else []
    rtl: bool | None = None
    for match in _ANY.finditer(text):
        place = match.start()
        character = match.group()
        kind = next(kind for kind, members in _CLASS.items() if members.match(character))
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        if kind == "bidi control":
            rtl = bool(_RIGHT_TO_LEFT.search(text)) if rtl is None else rtl
            if rtl and _USUAL_MARKS.match(character):
                continue
        elif kind == "tag":
            if any(start <= place < end for start, end in flags):
                continue
        elif _belongs(kind, character, before, after, text[max(0, place - 3) : place]):
            continue
        found[kind] += 1
    return dict(found)


def _belongs(kind: str, character: str, before: str, after: str, three_before: str) -> bool:
    """Say whether what stands around a character explains it."""
    if character in "\u200c\u200d" and (_JOINING.match(before or " ") or _JOINING.match(after or " ")):
        return True
    if character == "\u200d":
        # Behind a picture, its selector or its skin tone; before the next picture.
        picture_before = bool(_PICTURE.match(before or " ")) or (
            before == "\ufe0f" and bool(_PICTURE.match(three_before[-2:-1] or " "))
        )
        return picture_before and bool(_PICTURE.match(after or " "))
    if character == "\u200b":
        return bool(_NO_BLANKS.match(before or " ") or _NO_BLANKS.match(after or " "))
    if "\u180b" <= character <= "\u180f":
        return bool(_MONGOLIAN.match(before or " "))
    if kind == "variation selector":
        # One behind a base that has variants; a run of them can carry hidden data.
        if _CLASS["variation selector"].match(before or " "):
            return False
        return (character <= "\ufe0f" and bool(before.strip())) or bool(HAN_CHARACTER.match(before or " "))
    if kind == "filler":
        return bool(_HANGUL.match(before or " ") or _HANGUL.match(after or " "))
    return False


#: Kinds that can carry text or an order which a person does not see and a model reads.
HIDING = frozenset({"bidi control", "tag", "variation selector"})
