"""Find numbers that belong to a person: identity cards, phones, bank cards, accounts; with their check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memaudit.text.credentials import Span

_NOT_BEFORE = r"(?<![\w.#/=-])"
_NOT_AFTER = r"(?![\w/=]|[.-]\d)"
_CHINESE_ID = re.compile(r"(?<![0-9A-Za-z])[1-9]\d{16}[\dXx](?![0-9A-Za-z])")
_CHINESE_MOBILE = re.compile(r"(?<![\w.#/=])(?:\+?86[- ]?)?(1[3-9]\d([- ]?)\d{4}\2\d{4})(?![\w/=]|[.-]\d)", re.ASCII)
_INTERNATIONAL = re.compile(r"(?<![\w.+])\+(?:[1-9]\d{0,2})(?:[ -]?\(?\d{1,5}\)?){2,5}(?![\w.]?\d)", re.ASCII)
_AMERICAN = re.compile(
    r"(?<![\w.+-])(?:\+?1[-. ])?(?:\(([2-9]\d\d)\) ?|([2-9]\d\d)[-. ])([2-9]\d\d)[-. ](\d{4})(?![\w-]|\.\d)", re.ASCII
)
#: Calls that the called one pays: lines of firms (China 400 and 800, North America 800 to 888, +800, 0800).
_FREE_CALL = re.compile(r"(?:1|86)?(?:[48]00|8(?:33|44|55|66|77|88))\d{7}|800\d{8}|0800\d{5,7}", re.ASCII)
_CHINESE_LANDLINE = re.compile(r"(?<![\w.-])0(?:10|2\d|[3-9]\d\d)[- ]\d{4}[- ]?\d{4}(?![\w-])", re.ASCII)
#: Without a form of its own, digits are a phone number where they are announced as one.
_ANNOUNCED = re.compile(
    r"(?:\b(?:phone|mobile|cell|tel(?:ephone)?|fax|whatsapp)\b\.?(?: ?(?:number|no\.?|nr\.?))?|电话(?:号码)?|手机(?:号码?)?|座机|传真|热线)"
    r"\s*(?:is|are|:|：|是|为|=)?\s*(?P<value>\+?\(?\d(?:[ .()-]{0,2}\d){8,14})(?![\w-])",
    re.IGNORECASE | re.ASCII,
)
_ANNOUNCED_SSN = re.compile(
    r"(?:\bssn|\bsocial security(?: number| no\.?)?)\s*(?:is|:|=)?\s*(?P<value>(?!000|666|9\d\d)\d{3} ?(?!00)\d\d ?(?!0000)\d{4})(?![\w-])",
    re.IGNORECASE | re.ASCII,
)
_CARD = re.compile(_NOT_BEFORE + r"\d(?:[ -]?\d){12,18}" + _NOT_AFTER, re.ASCII)
_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30})(?![A-Za-z0-9])")
_SSN = re.compile(r"(?<![\w.-])(?!000|666|9\d\d)(\d{3})-(?!00)(\d\d)-(?!0000)(\d{4})(?![\w-]|\.\d)", re.ASCII)
_PASSPORT = re.compile(
    r"(?:护照(?:号码?)?|\bpassport(?: no\.?| number)?)(?:\s*(?:is|:|：|是|为)\s*|\s+|(?<=[照码]))(?P<value>[A-Z]{0,2}\d{7,9}[A-Z]?)(?![\w])",
    re.IGNORECASE,
)

#: What stands before a number that names a thing, not a person.
_THING = re.compile(
    r"(?:order|ticket|issue|build|commit|part|serial|model|sku|invoice|tracking|job|run|version|item|case|ref(?:erence)?|id|no\.?"
    r"|code|bug|room|building|block|lot|unit|article|catalog(?:ue)?|pid|port|offset|bytes|hash|seed|timestamp|batch|订单|工单|编号|单号|流水|序列|批次|版本|型号|任务|快递|时间戳|种子|批号)"
    r"\W{0,3}(?:号|number|no\.?|id|#)?\s*(?:is|was|为|是)?\W{0,3}$",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?:\d[\d-]{5,20}\s?(?:[,，、;；/&+]|and|or|to|until|through|replaces?|和|与|及|或|至|到)?\s?){1,4}\Z",
    re.IGNORECASE,
)
#: Numbers of that kind are personal after all.
_PERSONAL = re.compile(
    r"phone|mobile|tel\b|cell|call|contact|ssn|social|手机|电话|联系|身份证|微信|致电|拨打|whatsapp|sms|短信",
    re.IGNORECASE,
)
_UNIT_AFTER = re.compile(r"\s*(?:bytes?|ms|rows?|records?|tokens?|px|字节|毫秒|条|行|元|个|次|kb|mb)", re.IGNORECASE)
_CARD_WORD = re.compile(
    r"\bcards?\b|visa|master ?card|amex|american express|unionpay|debit|credit|payment|银行卡|信用卡|储蓄卡|卡号|银联|付款|转账|开户",
    re.IGNORECASE,
)

#: Lengths of an account number by country (SWIFT, IBAN registry).
_IBAN_LENGTH = {
    "AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20,
    "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26, "IT": 27,
    "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24,
    "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TR": 26, "UA": 29,
}  # fmt: skip
#: Numbers that manuals print and everybody knows.
_KNOWN_EXAMPLES = frozenset(
    {
        "4111111111111111", "4242424242424242", "4012888888881881", "4000056655665556", "5555555555554444",
        "5105105105105100", "5200828282828210", "2223003122003222", "378282246310005", "371449635398431",
        "378734493671000", "6011111111111117", "6011000990139424", "3530111333300000", "3566002020360505",
        "30569309025904", "38520000023237", "4222222222222", "5019717010103742", "6304000000000000", "4007702835532454",
        "13800138000", "13800000000", "13888888888", "13812345678", "13912345678", "13900139000", "15912345678",
        "11010519491231002X", "110101199003074530", "11010119900307451X", "440524188001010014",
        "GB82WEST12345698765432", "GB29NWBK60161331926819", "DE89370400440532013000", "FR1420041010050500013M02606",
        "NL91ABNA0417164300", "ES9121000418450200051332", "CH9300762011623852957", "BE68539007547034",
        "IT60X0542811101000000123456", "AT611904300234573201", "FR7630006000011234567890189",
        "078-05-1120", "219-09-9999", "123-45-6789", "457-55-5462", "111-11-1111", "222-22-2222", "333-33-3333",
    }
)  # fmt: skip


def personal_numbers(text: str) -> list[Span]:
    """Find numbers of persons in a text; spans in order, without overlaps."""
    kept: list[Span] = []
    # Kinds with a check digit come first: where two overlap, the surer one stays.
    for span in (span for find in _FINDERS for span in find(text)):
        if all(span.end <= k.start or span.start >= k.end for k in kept):
            kept.append(span)
    return sorted(kept, key=lambda s: s.start)


def is_chinese_id(digits: str) -> bool:
    """Say whether 18 characters are a resident identity number: province, date of birth and check character.

    Source: GB 11643-1999 (ISO 7064, MOD 11-2).
    """
    if len(digits) != 18 or digits[:2] not in _PROVINCES:
        return False
    try:
        born = date(int(digits[6:10]), int(digits[10:12]), int(digits[12:14]))
    except ValueError:
        return False
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(d) * w for d, w in zip(digits, weights, strict=False))
    return 1900 <= born.year <= 2100 and "10X98765432"[total % 11] == digits[17].upper()


_PROVINCES = frozenset(
    str(n)
    for block in ("11-15", "21-23", "31-37", "41-46", "50-54", "61-65", "71-71", "81-83", "91-91")
    for n in range(int(block[:2]), int(block[3:]) + 1)
)


def passes_luhn(digits: str) -> bool:
    """Say whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def is_card_number(digits: str) -> bool:
    """Say whether digits are a payment card's: issuer, length and check digit."""
    n = len(digits)
    two, four = int(digits[:2]), int(digits[:4])
    issued = (
        (digits[0] == "4" and n in (13, 16, 19))
        or (n == 16 and (51 <= two <= 55 or 2221 <= four <= 2720))
        or (n == 15 and two in (34, 37))
        or (16 <= n <= 19 and two == 62)
        or (n in (16, 19) and (four == 6011 or two == 65 or 3528 <= four <= 3589))
        or (n == 14 and (two in (36, 38) or 3000 <= four <= 3059))
    )
    return issued and passes_luhn(digits) and len(set(digits)) >= 4


def is_iban(number: str) -> bool:
    """Say whether a number without blanks is an IBAN: country, length, remainder 1 modulo 97 (ISO 13616)."""
    if _IBAN_LENGTH.get(number[:2]) != len(number):
        return False
    return int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1


def _ids(text: str) -> Iterator[Span]:
    for match in _CHINESE_ID.finditer(text):
        if is_chinese_id(match.group()) and match.group().upper() not in _KNOWN_EXAMPLES:
            yield Span(match.start(), match.end(), "Chinese identity number")


def _ibans(text: str) -> Iterator[Span]:
    for match in _IBAN.finditer(text):
        wanted = _IBAN_LENGTH.get(match.group(1)[:2])
        # A word in capitals may follow: take as many characters as the country's numbers have.
        taken, n = 0, 0
        for c in match.group(1):
            if wanted is None or n == wanted:
                break
            taken, n = taken + 1, n + (c != " ")
        number = match.group(1)[:taken].replace(" ", "")
        if is_iban(number) and number not in _KNOWN_EXAMPLES:
            yield Span(match.start(1), match.start(1) + taken, "bank account (IBAN)")


def _cards(text: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        number = re.sub(r"[ -]", "", match.group())
        grouped = re.fullmatch(
            r"\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5}|\d{4}([ -])\d{4}\3\d{4}\3\d{4}\3\d{1,3}",
            match.group(),
        )
        if number in _KNOWN_EXAMPLES or not is_card_number(number):
            continue
        if grouped or (_CARD_WORD.search(text) and not _names_a_thing(text, match.start(), _CARD_WORD)):
            yield Span(match.start(), match.end(), "payment card")


def _ssns(text: str) -> Iterator[Span]:
    for match in _SSN.finditer(text):
        if match.group() not in _KNOWN_EXAMPLES and not _names_a_thing(text, match.start()):
            yield Span(match.start(), match.end(), "US social security number")
    for match in _ANNOUNCED_SSN.finditer(text):
        if not _is_made_up(re.sub(r"\D", "", match.group("value"))):
            yield Span(match.start("value"), match.end("value"), "US social security number")


def _phones(text: str) -> Iterator[Span]:
    for match in _CHINESE_MOBILE.finditer(text):
        number = re.sub(r"[- ]", "", match.group(1))
        if _is_made_up(number[3:]) or number in _KNOWN_EXAMPLES or _names_a_thing(text, match.start()):
            continue
        if not _UNIT_AFTER.match(text, match.end()):
            yield Span(match.start(), match.end(), "phone number")
    for match in _AMERICAN.finditer(text):
        # 555-01xx is kept free for films and manuals, and 555 as an exchange is hardly ever given out.
        if match.group(3) == "555" or _is_made_up(match.group(3) + match.group(4)):
            continue
        if not _is_free_call(match.group()) and not _names_a_thing(text, match.start()):
            yield Span(match.start(), match.end(), "phone number")
    for match in _INTERNATIONAL.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        if _is_free_call(digits):
            continue
        if 9 <= len(digits) <= 15 and not _is_made_up(digits[2:]) and "55501" not in digits:
            yield Span(match.start(), match.end(), "phone number")

    for match in _CHINESE_LANDLINE.finditer(text):
        if not _names_a_thing(text, match.start()) and not _is_made_up(re.sub(r"\D", "", match.group())[-8:]):
            yield Span(match.start(), match.end(), "phone number")
    for match in _ANNOUNCED.finditer(text):
        digits = re.sub(r"\D", "", match.group("value"))
        if digits in _KNOWN_EXAMPLES or "55501" in digits or _is_made_up(digits) or _is_made_up(digits[3:]):
            continue
        if not _is_free_call(digits):
            yield Span(match.start("value"), match.end("value"), "phone number")


def _passports(text: str) -> Iterator[Span]:
    for match in _PASSPORT.finditer(text):
        if not _is_made_up(re.sub(r"\D", "", match.group("value"))):
            yield Span(match.start("value"), match.end("value"), "passport number")


_FINDERS = (_ids, _ibans, _cards, _ssns, _phones, _passports)


def _is_made_up(digits: str) -> bool:
    """Say whether digits are a run or a repetition, as in examples: 12345678, 00000000, 88888888."""
    return len(set(digits)) <= 1 or any(digits in run or run[:7] in digits for run in ("01234567890", "98765432109"))


def _is_free_call(number: str) -> bool:
    return _FREE_CALL.fullmatch(re.sub(r"\D", "", number)) is not None


def _names_a_thing(text: str, start: int, unless: re.Pattern[str] = _PERSONAL) -> bool:
    # In a list of numbers what is said before the first holds for all.
    before = _LISTED.sub("", text[max(0, start - 80) : start])[-24:]
    thing = _THING.search(before)
    return thing is not None and not unless.search(before)
