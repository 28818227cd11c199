"""Find credentials in a text by their shape: keys of well-known services, private keys, passwords.

Shapes are those that the services publish. Entropy is only a helper against placeholders: no text is called a
secret because it looks random, so that hashes, UUIDs and commit ids stay silent.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` of a text that hold a secret or a personal number of some kind."""

    start: int
    end: int
    kind: str


#: Kind -> shape of a key that its prefix alone gives away. The whole match is the secret.
_KEYS: tuple[tuple[str, str], ...] = (
    ("AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b|\bgithub_pat_[A-Za-z0-9]{20,30}_[A-Za-z0-9]{40,90}\b"),
    ("GitLab token", r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{20,60}"),
    ("Slack token", r"\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}|\bxapp-\d-[A-Za-z0-9-]{20,250}"),
    ("Slack webhook", r"\bhooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]{6,}/[A-Z0-9]{6,}/[A-Za-z0-9]{16,}"),
    ("API key (sk-)", r"(?<![\w-])sk-(?:[a-z]{2,8}(?:-v\d)?-)?(?:api\d\d-)?[A-Za-z0-9_-]{20,250}"),
    ("Stripe key", r"\b(?:sk|rk)_live_[A-Za-z0-9]{16,250}\b|\bwhsec_[A-Za-z0-9]{24,80}\b"),
    ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,40}|\bya29\.[A-Za-z0-9_-]{30,500}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,60}\b"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{40,500}"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("Twilio key", r"\bSK[0-9a-f]{32}\b"),
    ("DigitalOcean token", r"\bdo[por]_v1_[0-9a-f]{64}\b"),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    ("Telegram bot token", r"(?<![\w:])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"),
    ("Alibaba Cloud key", r"\bLTAI[A-Za-z0-9]{12,26}\b"),
    ("Tencent Cloud key", r"\bAKID[A-Za-z0-9]{13,40}\b"),
    ("Azure storage key", r"(?<=AccountKey=)[A-Za-z0-9+/]{60,100}={0,2}"),
    ("Groq or xAI key", r"\b(?:gsk_|xai-)[A-Za-z0-9]{40,120}\b"),
)
_KEY = tuple((kind, re.compile(shape)) for kind, shape in _KEYS)
_JWT = re.compile(r"\b(eyJ[A-Za-z0-9_-]{8,500})\.(eyJ[A-Za-z0-9_-]{8,4000})\.[A-Za-z0-9_-]{16,1000}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[A-Za-z0-9+/=:,\-]){0,20000}"
)
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/=]{24,}")
_URL_PASSWORD = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@'\"<>]{0,80}:([^\s/@'\"<>]{3,120})@[\w\[]")
_BASIC = re.compile(r"\bAuthorization[\"']?\s?[:=]\s?[\"']?Basic\s+([A-Za-z0-9+/]{8,400}={0,2})", re.IGNORECASE)
_BEARER = re.compile(r"\b(?:Bearer|Authorization: ?Token)\s+([A-Za-z0-9._~+/=-]{16,2000})", re.IGNORECASE)

#: Words that announce a secret. The strong ones make a value of letters and digits a secret from six characters on.
_STRONG = (
    r"pass(?:word|wd|phrase|code)?|pwd?|passwort|mot de passe|contraseña"
    r"|(?:登录|登陆|数据库|初始|管理员?|支付|取款|解压|无线|邮箱|账号|锁屏|开机|后台|默认)*(?:密码|口令)"
)
_TOKEN = (
    r"(?:[a-z0-9]+[ _-]){0,3}?(?:api|secret|access|auth|app|consumer|shared|bot|private|signing|encryption|service|master|license|deploy)[ _-]?"
    r"(?:access[ _-]?)?(?:key|token|secret)|(?:[a-z0-9]+[_-])?(?:secret|token|credential|apikey|webhook[ _-]secret)"
    r"|(?:访问|接口|加密|签名)?(?:密钥|令牌|秘钥|私钥)|client[ _-]secret|secret_key_base"
)
_JOINED = r"[\"'`*]{0,3}\s*(?:=>|:=|=|:|：|＝|\bis(?:\s+now)?\b|\b(?:(?:was|is|has been|got)\s+)?(?:set|changed|reset|updated)\s+to\b|(?:现在|已经?)?(?:是|为|改成了?|改为|设为|设成了?))\s*[\"'`*「“]{0,3}"
#: What the secret is for: `password of the staging server is ...`.
_FOR = (
    r"(?:\s*[(（][^()（）\n]{1,30}[)）])?(?:\s+(?:for|of|at|on|in|to|from)\s+(?:[\w'.-]{1,40}\s+){0,6}?[\w'.-]{1,40})?"
)
_ASSIGNED = re.compile(
    rf"(?:(?<![A-Za-z])(?:[A-Za-z0-9]+_){{0,4}}(?:pg|mysql|db|ftp|smtp|redis|root|admin|user)?|(?=[\u4e00-\u9fff]))(?:(?P<strong>{_STRONG})|(?P<token>{_TOKEN}))"
    rf"{_FOR}{_JOINED}(?P<value>[\x21-\x7e]{{4,300}})",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"(?:(?<![A-Za-z])(?:password|passwd|pwd|passphrase|pass|pw)[ \t]+|(?:密码|口令)[ \t]*)[\"'`]?(?P<value>[\x21-\x7e]{7,80})",
    re.IGNORECASE,
)
_TOKEN_BESIDE = re.compile(
    r"(?<![A-Za-z])(?:api[ _-]?(?:key|token)|(?:access|auth|bearer|secret|bot)[ _-](?:key|token))[ \t]+[\"'`]?(?P<value>[A-Za-z0-9_./+-]{16,200})",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"\bCookie:\s*[\w.-]{1,40}=(?P<value>[A-Za-z0-9%._~+/=-]{20,2000})", re.IGNORECASE)
_OPTION = re.compile(r"(?:\s--password|\s-p)[= ]?(?P<value>[^\s\"'`-][\x21-\x7e]{5,100})")
_PIN = re.compile(
    r"(?:(?<![A-Za-z])(?:passcode|pin(?: code| number)?|(?:door|alarm|gate|safe|lock|lockbox|entry|unlock) (?:code|combination)|(?:recovery|backup|verification|one-time|2fa|otp) codes?)|门禁码|验证码|恢复码|门锁密码|(?:支付|取款|锁屏|开机|银行卡)密码)"
    rf"{_FOR}(?:{_JOINED}|\s{{0,2}}(?!(?:19|20)\d\d))(?P<value>\d{{4,8}}(?:-\d{{2,4}}){{0,3}}#?)(?![\w.%-])",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?:\blog ?in|\bsign in|\bcredentials?|\baccount|登录|账号|账户)[^\n]{0,40}?\b[\w.@+-]{2,40}\s*[/:]\s*(?P<value>[\x21-\x7e]{6,60})",
    re.IGNORECASE,
)

#: Values that nobody hides: holes of templates, references to a place where the secret is, examples.
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|placeholder|redacted|changeme|change[-_]me|replace|your[-_]|my[-_]?(?:secret|key|token|password)"
    r"|fake|insert|todo|xxx|\*\*\*|\.\.\.|…|<|>|\$\{|\{\{|%s|%\(|#\{|^\$|^\{|env\.|environ|getenv|process\.env"
    r"|secretref|vault[:.]|secrets?\.|config\.|settings\.|^https?://|^[./~]|^arn:|^op://|not[-_]?set|none|null|undefined"
    r"|optional|required|hidden|masked|^(?:pass(?:word)?|pwd|secret|token|user|admin|root|test|guest|foo|bar)\d{0,3}$",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"(?:19|20)\d\d[-/.]?[01]\d[-/.]?[0-3]\d(?:[T ][\d:.Z+-]*)?")
_VERSION_OR_SIZE = re.compile(
    r"v?\d+(?:\.\d+)+(?:[-.]?\w+)?|\d+(?:ms|s|m|h|d|kb?|mb|gb|px|%|th|nd|rd|st|x|-\w+)?", re.IGNORECASE
)
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|[A-Z][A-Z0-9_]*_[A-Z0-9_]+$|[a-z]+(?:[A-Z][a-z]+)+\d?$|[a-z]+(?:[_-][a-z]+)+\d?$"
)
_RUN = re.compile("0?123456789?0?|abcdef(?:ghij)?|qwerty(?:uiop)?|987654321?0?")
_RUNS = ("0123456789", "1234567890", "abcdefghij", "qwertyuiop", "abcabc", "123123", "987654321")
_TRAILING = ".,;:)]}>\"'`|*\\"


def credentials(text: str) -> list[Span]:
    """Find credentials in a text.

    Returns
    -------
    Spans in order, without overlaps; each covers the secret value alone, so that masking it leaves the rest readable.
    """
    found = sorted(_found(text), key=lambda s: (s.start, -s.end))
    kept: list[Span] = []
    for span in found:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif span.end > kept[-1].end:
            kept[-1] = Span(kept[-1].start, span.end, kept[-1].kind)
    return kept


def _found(text: str) -> Iterator[Span]:
    for kind, shape in _KEY:
        for match in shape.finditer(text):
            if _is_key(match.group(), kind):
                yield Span(match.start(), match.end(), kind)
    for match in _JWT.finditer(text):
        if _is_token(match.group(1), match.group(2)):
            yield Span(match.start(), match.end(), "JSON web token")
    for match in _PRIVATE_KEY.finditer(text):
        body = match.group().split("-----", 2)[-1].replace("\\n", "\n")
        if any(len(set(run)) >= 12 and not _PLACEHOLDER.search(run) for run in _BASE64_RUN.findall(body)):
            yield Span(match.start(), match.start() + len(match.group().rstrip()), "private key")
    if "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            if not is_placeholder_secret(match.group(1)):
                yield Span(match.start(1), match.end(1), "password in an address")
    for match in _BEARER.finditer(text):
        value = match.group(1)
        if _mixed(value, 16) and not is_placeholder_secret(value):
            yield Span(match.start(1), match.end(1), "bearer token")
    for match in _BASIC.finditer(text):
        if _is_login(match.group(1)):
            yield Span(match.start(1), match.end(1), "password")
    yield from _assigned(text)


def _is_login(encoded: str) -> bool:
    """Say whether a value of Basic authentication (RFC 7617) holds `user:password`, and no example of a manual."""
    try:
        user, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return False
    return (
        bool(user and colon)
        and password != "open sesame"
        and len(password) >= 4
        and not is_placeholder_secret(password)
    )


def _assigned(text: str) -> Iterator[Span]:
    for match in _ASSIGNED.finditer(text):
        start, value = match.start("value"), _value(match.group("value"))
        is_strong = match.group("strong") is not None
        # A UUID is a secret only where a key or a secret is announced: a token of that form mostly names a session.
        is_id = _UUID.fullmatch(value) and not re.search(
            "key|secret|密钥", match.group("token") or "key", re.IGNORECASE
        )
        if not is_id and (_is_password(value) if is_strong else _is_token_value(value)):
            yield Span(start, start + len(value), "password" if is_strong else "key or token")
    for match in _PIN.finditer(text):
        value = match.group("value")
        if not any(value.strip("#") in run for run in _RUNS) and len(set(value.strip("#"))) > 1:
            yield Span(match.start("value"), match.end("value"), "PIN")
    for match in _TOKEN_BESIDE.finditer(text):
        if _is_token_value(_value(match.group("value"))) and _mixed(match.group("value"), 16):
            yield Span(match.start("value"), match.end("value"), "key or token")
    for match in _COOKIE.finditer(text):
        if _mixed(match.group("value"), 20) and not is_placeholder_secret(match.group("value")):
            yield Span(match.start("value"), match.end("value"), "key or token")
    for shape in (_OPTION, _LOGIN, _BESIDE):
        for match in shape.finditer(text):
            value = _value(match.group("value"))
            if _is_password(value) and any(c.isdigit() for c in value) and _classes(value) >= 3:
                yield Span(match.start("value"), match.start("value") + len(value), "password")


def _value(value: str) -> str:
    """Cut what does not belong to a value: closing quotes and the punctuation of the sentence."""
    value = re.split(r"[\"'`」”]|\\n|</|&(?=\w+=)|,(?=\s*\"?\w+\"?[=:])", value)[0]
    return value.rstrip(_TRAILING)


def _is_password(value: str) -> bool:
    """Say whether a value that is announced as a password is one: not a word, a size, a date or a reference."""
    if len(value) < 6 or is_placeholder_secret(value) or _DATE.fullmatch(value):
        return False
    if value.isdigit():
        return len(value) >= 6
    if _VERSION_OR_SIZE.fullmatch(value) or _CODE.match(value):
        return False
    has_digit = any(c.isdigit() for c in value)
    has_sign = any(c in "!@#$%^&*+=~?" for c in value)
    return (has_digit or has_sign) and any(c.isalpha() for c in value) and _classes(value) >= 2


def _is_token_value(value: str) -> bool:
    if is_placeholder_secret(value) or _DATE.fullmatch(value) or _CODE.match(value):
        return False
    return _mixed(value, 12)


def _mixed(value: str, min_length: int) -> bool:
    """Say whether a value is long, of letters and digits, and as varied as a random one."""
    n_digits = sum(c.isdigit() for c in value)
    return len(value) >= min_length and n_digits >= 2 and n_digits < len(value) and entropy(value) >= 2.8


def _classes(value: str) -> int:
    tests = (str.islower, str.isupper, str.isdigit, lambda c: not c.isalnum())
    return sum(any(test(c) for c in value) for test in tests)


def _is_key(value: str, kind: str) -> bool:
    body = re.sub(r"^[A-Za-z]{2,8}[-_]", "", value)
    if is_placeholder_secret(value) or len(set(body)) < 8:
        return False
    if kind == "API key (sk-)":
        n_digits = sum(c.isdigit() for c in body)
        return n_digits >= 3 and (n_digits >= 6 or (body.lower() != body and body.upper() != body))
    return any(c.isdigit() for c in body) or kind.startswith("Slack") or len(body) >= 30


def _is_token(header: str, payload: str) -> bool:
    """Say whether two parts are those of a JSON web token that is no example from the documentation."""
    parts = []
    for part in (header, payload):
        try:
            parts.append(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))))
        except (ValueError, RecursionError):
            # A payload may be cut or encrypted; a header that cannot be read is no token.
            parts.append(None)
    if not isinstance(parts[0], dict) or "alg" not in parts[0]:
        return False
    return not (
        isinstance(parts[1], dict) and ("John Doe" in str(parts[1]) or str(parts[1].get("sub")) == "1234567890")
    )


def is_placeholder_secret(value: str) -> bool:
    """Say whether a value stands for a secret without being one: `xxxx`, `<password>`, `${TOKEN}`, `...EXAMPLE`."""
    lower = value.lower()
    if _PLACEHOLDER.search(value) or re.search(r"(.)\1{4,}", lower):
        return True
    letters = re.sub(r"[^a-z0-9]", "", lower)
    covered = len(letters) - len(_RUN.sub("", letters))
    return any(letters == run[: len(letters)] for run in _RUNS) or (covered > 0 and covered >= 0.4 * len(letters))


def entropy(value: str) -> float:
    """Return Shannon's entropy of the characters in bits; 0.0 for an empty text."""
    n = len(value)
    return -sum(c / n * math.log2(c / n) for c in Counter(value).values()) if n else 0.0
