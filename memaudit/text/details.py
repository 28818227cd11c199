"""Details in which two nearly equal texts can differ: what makes a merge lose something.

Cosines hardly see a changed number or a negation, so that every pair that is near by cosine is read here
before it is called safe to merge. In doubt a difference is reported: a person then looks at the pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from memaudit.text.opposites import NO_CONTENT, Sides, are_opposed, n_negations, sides
from memaudit.text.scripts import HAN, HAN_CHARACTER
from memaudit.wording import key

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = "|".join(f"{m}|{m[:3]}" for m in _MONTHS) + "|sept"
_CHINESE_DIGIT = "零〇一二两三四五六七八九十百千万亿"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[ap]m\b)?(?:z|[+-]\d{2}:?\d{2})?"
_DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[t ]{_TIME})?"
    rf"|\d{{4}}-\d{{2}}(?![\d-])|(?:\d{{2,4}}年)?\d{{1,2}}月(?:\d{{1,2}}[日号])?|\d{{4}}年"
    rf"|[{_CHINESE_DIGIT}]{{1,4}}月(?:[{_CHINESE_DIGIT}]{{1,3}}[日号])?"
    rf"|\b(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})\b(?:,? \d{{4}}\b)?"
    rf"|\b(?:{'|'.join(m for m in _MONTHS if m not in ('march', 'may'))})\b(?: \d{{4}}\b)?"
    rf"|{_TIME}|\b\d{{1,2}}\s?[ap]m\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:yesterday|today|tomorrow|tonight)\b"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|前天|昨天|今天|明天|后天|去年|今年|明年|上周|本周|下周|上个?月|本月|下个?月"
)
#: A date told in numbers, unlike a weekday (`周三`) or `昨天`.
_DIGITS_OF_DATE = re.compile(rf"\d|[{_CHINESE_DIGIT}]月")
_VERSION = re.compile(
    r"\bv\d+(?:\.\d+)*(?:[-.]?(?:rc|beta|alpha|dev|post|a|b)\.?\d*)?\b"
    r"|\b\d+\.\d+\.\d+(?:\.\d+)*(?:[-.]?(?:rc|beta|alpha|dev|post|a|b)\.?\d*)?\b"
)
#: Addresses and paths; lengths are bounded, so that no text can make the search slow.
_ADDRESS = re.compile(
    r"https?://[^\s\"'<>]+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}|(?:[a-z]:)?(?:[/\\~][\w.\-]+)+", re.ASCII
)
#: Words with signs between them; those with digits, underscores or dots inside are somebody's name for something.
_CHUNK = re.compile(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)*", re.ASCII)
_DOTTED = re.compile(r"[a-z]\w+\.[a-z]\w", re.ASCII)
_QUOTED = re.compile(r"[\"“「『`‘]([^\"“”「」『』`‘’\n]{1,60})[\"”」』`’]")
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:,\d{3})+(?:\.\d+)?|(?<![\w.)])[-−]\d+(?:\.\d+)?|\d+(?:\.\d+)?")
_UNITS = {
    "ms": "millisecond milliseconds ms 毫秒",
    "s": "second seconds sec secs s 秒 秒钟",
    "min": "minute minutes min mins 分 分钟",
    "h": "hour hours hr hrs h 小时 个小时",
    "d": "day days d 天 日",
    "week": "week weeks 周 星期",
    "month": "month months 月 个月",
    "year": "year years 年",
    "%": "% percent 个百分点 pct",
    "B": "byte bytes 字节", "kB": "kb kib", "MB": "mb mib megabyte megabytes 兆", "GB": "gb gib gigabyte gigabytes",
    "TB": "tb tib",
    "m": "m metre metres meter meters 米", "cm": "cm 厘米", "mm": "mm 毫米", "km": "km 公里 千米",
    "mile": "mile miles 英里", "kg": "kg 公斤 千克", "g": "g 克", "t": "tonne tonnes 吨", "lb": "lb lbs pounds",
    "C": "°c ℃ celsius 摄氏度", "F": "°f ℉ fahrenheit", "yuan": "元 块 rmb cny yuan 人民币",
    "usd": "usd dollar dollars 美元", "eur": "eur euro euros 欧元", "jpy": "yen jpy 日元", "V": "v volt volts 伏",
    "W": "w watt watts 瓦", "kW": "kw 千瓦", "Hz": "hz", "bar": "bar", "token": "token tokens", "row": "row rows 行",
    "line": "line lines", "page": "page pages 页", "time": "time times 次 遍 回", "item": "item items 个 条 项",
}  # fmt: skip
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_UNIT = "|".join(sorted((re.escape(w) + (r"(?![a-z0-9])" if w[-1].isascii() else "") for w in _UNIT_OF), key=len)[::-1])
_UNIT_AFTER = re.compile(rf"[ -]?({_UNIT})")
_NUMBER_AND_UNIT = re.compile(rf"\d+(?:\.\d+)?(?:{_UNIT})")
_CURRENCY = {"$": "usd", "€": "eur", "¥": "yuan", "£": "gbp"}
_TO_TWENTY = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_ENGLISH_NUMBERS = {word: str(number) for number, word in enumerate(_TO_TWENTY)} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "million": "1000000", "dozen": "12", "once": "1", "twice": "2",
    "the second": "2", "third": "3", "fourth": "4", "fifth": "5", "tenth": "10",
    "half": "half", "double": "double", "quarter": "quarter",
}  # fmt: skip
_ENGLISH_NUMBER = re.compile(rf"\b(?:{'|'.join(_ENGLISH_NUMBERS)})\b")
_MEASURES = "次条个天小分秒年月日号周点倍成元块行列页项位名台份种步级版遍组层章节轮批号人家岁度折米只张把件本套类期"
_CHINESE_NUMBER = re.compile(
    rf"第[{_CHINESE_DIGIT}]+|[{_CHINESE_DIGIT}]{{2,}}|[{_CHINESE_DIGIT}](?=[{_MEASURES}])|半(?=[{_MEASURES}])"
)
#: Everyday words that hold a numeral without counting anything.
_NO_CHINESE_NUMBER = re.compile(
    "一些|一样|一起|一定|一直|一般|一下|一旦|一致|统一|唯一|万一|一点|一个|一种|一次性|千万"
)
#: What stands before the first word of a sentence; looked for in the few characters before it.
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？：；\n\-*•(（\"“])\s*$")
_LOOK_BACK = 20
_CAPITALISED = re.compile(r"(?<![\w])[A-Z][\w'’-]*", re.ASCII)
_LATIN_WORD = re.compile(r"[a-z][a-z'’-]+")
#: Longer texts are read up to here; a difference behind it counts as another word.
MAX_CHARS = 20_000
_ENDING = re.compile(r"(?:e?ments?|ings?|ed|es|s|e|d|ly)$")
_TOKEN = re.compile(rf"[{HAN}]|[^\W{HAN}]+")

#: Kinds of a difference, in the order in which they are told.
KINDS = ("number", "date", "version", "unit", "negation", "opposite", "name", "order", "word")


@dataclass(frozen=True)
class Details:
    """Details of one text, each with how often it stands there.

    Parameters
    ----------
    numbers
        Decimal or ordinal values (`3`, `three` and `三` are equal), as text.
    dates
        Dates, times, weekdays and words such as `yesterday`, as written (lower case).
    names
        Capitalised words inside a sentence, identifiers, paths, quoted text, Latin words in Chinese text; lower case.
    n_negations
        How many negations of either language.
    """

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    versions: tuple[str, ...]
    units: tuple[str, ...]
    names: tuple[str, ...]
    n_negations: int


@lru_cache(maxsize=16_384)
def details(text: str) -> Details:
    """Find the details of a text; never fails, whatever the text holds."""
    text = text[:MAX_CHARS]
    odd_digits = [] if text.isascii() else [c for c in text if unicodedata.category(c) == "No"]
    plain = unicodedata.normalize("NFKC", text)
    lower = plain.lower()
    rest, dates = _taken(_DATE, lower)
    names = [*_identifiers(lower, rest), *_capitalised(plain), *_latin_in_chinese(lower)]
    rest, versions = _taken(_VERSION, rest)
    numbers, units = _numbers(rest)
    return Details(
        numbers=tuple(sorted(numbers + odd_digits)),
        dates=tuple(sorted(" ".join(d.split()) for d in dates)),
        versions=tuple(sorted(v.lstrip("v") for v in versions)),
        units=tuple(sorted(units)),
        names=tuple(sorted(names)),
        n_negations=n_negations(lower),
    )


def detail_differences(first: str, second: str) -> frozenset[str]:
    """Name the kinds of detail in which two texts differ.

    Parameters
    ----------
    first, second
        Any texts; the answer does not depend on their order.

    Returns
    -------
    A subset of :data:`KINDS`, empty for texts that are equal apart from case, space and punctuation.
    `order`: the same words in another order (`A before B`, `B before A`); `word`: each has a word of content that
    the other lacks, so that one may have taken the place of the other. A rewording differs in `word` at most.

    Notes
    -----
    A difference of meaning without any of these marks is not seen: an empty answer is no proof of equality.
    """
    found = {"word"} if first[MAX_CHARS:] != second[MAX_CHARS:] else set()
    first, second = first[:MAX_CHARS], second[:MAX_CHARS]
    if first == second:
        return frozenset(found)
    a, b = _read(first), _read(second)
    one, two = a.details, b.details
    if one.numbers != two.numbers:
        found.add(key("number"))
    if one.dates != two.dates:
        found.add(key("date"))
    if one.versions != two.versions:
        found.add(key("version"))
    if one.units != two.units:
        found.add(key("unit"))
    if one.n_negations != two.n_negations:
        found.add(key("negation"))
    if are_opposed(a.sides, b.sides):
        found.add(key("opposite"))
    if _missing_name(one, two, b.lower) or _missing_name(two, one, a.lower):
        found.add(key("name"))
    if a.words != b.words:
        if a.bag == b.bag:
            found.add(key("order"))
        elif a.content - b.content and b.content - a.content:
            found.add(key("word"))
    return frozenset(found)


@dataclass(frozen=True)
class _Reading:
    """What is asked of a text when it is compared; kept, because a row is compared with many others."""

    lower: str
    words: tuple[str, ...]
    bag: tuple[str, ...]
    content: frozenset[str]
    sides: Sides
    details: Details


@lru_cache(maxsize=16_384)
def _read(text: str) -> _Reading:
    lower = unicodedata.normalize("NFKC", text).lower()
    found = tuple(_TOKEN.findall(lower))
    return _Reading(lower, found, tuple(sorted(found)), _content(found), sides(lower), details(text))


def differ_in_digits(first: str, second: str) -> bool:
    """Say whether two texts differ in a number, a version or a date that is written with digits (`3月5日`, `三月五日`)."""
    a, b = details(first), details(second)
    dates = [[d for d in side.dates if _DIGITS_OF_DATE.search(d)] for side in (a, b)]
    return a.numbers != b.numbers or a.versions != b.versions or dates[0] != dates[1]


def _taken(pattern: re.Pattern[str], text: str) -> tuple[str, list[str]]:
    """Take the matches out of a text, a bar in the place of each."""
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        found.append(match.group())
        return "|"

    return pattern.sub(take, text), found


def _numbers(text: str) -> tuple[list[str], list[str]]:
    numbers: list[str] = []
    units: list[str] = []
    plain = _NO_CHINESE_NUMBER.sub(lambda m: "|" * len(m.group()), text)
    for match in _NUMBER.finditer(plain):
        numbers.append(_value(match.group()))
        unit = _UNIT_AFTER.match(plain, match.end())
        before = plain[match.start() - 1] if match.start() else ""
        if before in _CURRENCY:
            units.append(_CURRENCY[before])
        elif unit:
            units.append(_UNIT_OF[unit.group(1)])
    for pattern, value in ((_ENGLISH_NUMBER, _ENGLISH_NUMBERS.__getitem__), (_CHINESE_NUMBER, _chinese_value)):
        for match in pattern.finditer(plain):
            numbers.append(value(match.group()))
            unit = _UNIT_AFTER.match(plain, match.end())
            if unit:
                units.append(_UNIT_OF[unit.group(1)])
    return numbers, units


def _value(written: str) -> str:
    plain = written.replace(",", "").replace("−", "-")
    if len(plain.lstrip("-")) > 1 and plain.lstrip("-").startswith("0") and "." not in plain:
        return plain  # 007 is a name, not seven
    number = Decimal(plain)
    return format(number.normalize(), "f") if number else "0"


def _chinese_value(written: str) -> str:
    """Read a Chinese numeral up to 亿; digits in a row (`二〇二六`) are read one by one."""
    written = written.lstrip("第")
    if written == "半":
        return "half"
    digits = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
    if all(c in digits for c in written):
        return "".join(str(digits[c]) for c in written).lstrip("0") or "0"
    powers = {"十": 10, "百": 100, "千": 1000}
    total = section = digit = 0
    for c in written:
        if c in digits:
            digit = digits[c]
        elif c in powers:
            section += (digit or 1) * powers[c]
            digit = 0
        else:
            total = (total + section + digit or 1) * (10_000 if c == "万" else 100_000_000)
            section = digit = 0
    return str(total + section + digit)


def _identifiers(lower: str, without_dates: str) -> list[str]:
    quoted = [" ".join(q.split()) for q in _QUOTED.findall(lower)]
    rest, addresses = _taken(_ADDRESS, without_dates)
    return [*quoted, *addresses, *filter(_is_identifier, _CHUNK.findall(rest))]


def _is_identifier(chunk: str) -> bool:
    if chunk.isalpha():
        return False
    has_letter = any(c.isalpha() for c in chunk)
    if has_letter and any(c.isdigit() for c in chunk):
        return _NUMBER_AND_UNIT.fullmatch(chunk) is None
    return has_letter and ("_" in chunk or _DOTTED.search(chunk) is not None)


def _capitalised(text: str) -> list[str]:
    """Return words with a capital that no sentence start explains, and words such as `SQLite`, `API`."""
    if text.isupper() and len(text) > 12:
        return []  # shouted: capitals mark nothing
    found = []
    for match in _CAPITALISED.finditer(text):
        word = match.group()
        if len(word) < 2 or _DATE.fullmatch(word.lower()):
            continue
        inner = any(c.isupper() for c in word[1:])
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        if inner or (match.start() and not _SENTENCE_START.search(before)):
            found.append(re.sub(r"['’]s$", "", word.lower()))
    return found


def _latin_in_chinese(lower: str) -> list[str]:
    if lower.isascii():
        return []
    n_cjk = len(HAN_CHARACTER.findall(lower))
    words = _LATIN_WORD.findall(lower)
    return words if n_cjk > sum(map(len, words)) else []


def _missing_name(side: Details, other: Details, other_text: str) -> bool:
    return any(not _stands_in(name, other_text) for name in set(side.names) - set(other.names))


def _stands_in(name: str, text: str) -> bool:
    """Say whether a name stands in a text, Latin names as whole words."""
    start = text.find(name)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        if not (_in_word(before) and _in_word(name[0])) and not (_in_word(after) and _in_word(name[-1])):
            return True
        start = text.find(name, start + 1)
    return False


def _in_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _content(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of the words that carry a meaning of their own and are no number or negation."""
    return frozenset(
        _stem(word)
        for word in words
        if word not in NO_CONTENT and not word.isdecimal() and (len(word) > 1 or _is_han(word))
    )


def _is_han(character: str) -> bool:
    return not character.isascii() and not character.islower()


def _stem(word: str) -> str:
    """Take the ending off an English word: `deploys`, `deployed` and `deployments` are one."""
    return _ENDING.sub("", word) if word.isascii() and len(word) > 3 else word
