import pytest

from memaudit.model import Severity
from memaudit.probes.stored_secrets import PROBE
from memaudit.text.credentials import credentials, entropy
from memaudit.text.masking import masked
from memaudit.text.personal_numbers import is_card_number, is_chinese_id, is_iban, passes_luhn, personal_numbers

# Made up for these tests; none was ever valid. Written in two parts so that no scanner of repositories finds a key.
CREDENTIALS = {
    "The deploy role uses AKIA" + "Q3EGRZ7XJ4MTPWLB in Frankfurt": "AWS access key",
    "push with ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8": "GitHub token",
    "bot token xoxb-" + "204817365921-7hKq2LmZ9pWc": "Slack token",
    "OPENAI: sk-" + "proj-Ab3dEf6hIj9kLm2nOp5qRs8t": "API key (sk-)",
    "maps key AIza" + "SyD4k8Lm2Qx7Rt9Vw3Yz6Ab1Cd5Ef0Gh2Kz": "Google API key",
    "db is postgres://app:s3cr3t" + "Pa55@db.internal:5432/app": "password in an address",
    "password=hunter2" + "!!": "password",
    "数据库密码是 Qw7#" + "plk29，不要外传": "password",
    "API密钥：a8Kd02m" + "Xq91ZpLw7": "key or token",
    "export STRIPE=sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc": "Stripe key",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx7Jd8sKq2LmN0pQrSt" + "UvWxYz1234abcd\n-----END RSA PRIVATE KEY-----": "private key",
    "header: Authorization: Bearer abcDEF123ghi" + "JKL456mno789": "bearer token",
    # lena:P7w!qV2rx
    "curl -H 'Authorization: Basic bGVuYTpQ" + "N3chcVYycng=' https://x.example": "password",
    # {"alg":"HS256"} . {"user":"rae"}
    "cookie eyJhbGciOiJIUzI1NiJ9." + "eyJ1c2VyIjoicmFlIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ": "JSON web token",
    "The door code is 48" + "21": "PIN",
}  # fmt: skip
LOOKALIKES = [
    "fixed in commit 3f2a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a",
    "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",  # the example of RFC 7617
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",  # user:password
    "Authorization: Basic authentication is switched off",
    "session 123e4567-e89b-12d3-a456-426614174000",
    "token: 123e4567-e89b-12d3-a456-426614174000",
    "md5 d41d8cd98f00b204e9800998ecf8427e",
    "AWS keys look like AKIAIOSFODNN7EXAMPLE",
    "GitHub tokens start with ghp_ and are 40 characters long",
    "A key file begins with -----BEGIN PRIVATE KEY----- and must never be committed",
    "Passwords are hashed with a memory-hard function and a per-user salt.",
    "password: required, token: optional",
    "password = os.environ['DB_PASSWORD']",
    "api_key=${OPENAI_API_KEY}",
    "api_key=xxxxxxxxxxxxxxxxxxxx",
    "postgres://user:password@localhost/db",
    "token: 4096, max_tokens=8192",
    "the secret is consistency",
    "密码至少 8 位，每 90 天更换一次",
    "密码是妈妈的生日",
    "sk-learn-pipeline-with-many-steps-and-words",
    "sk-1234567890abcdef1234567890abcdef",
]


@pytest.mark.parametrize(("text", "kind"), CREDENTIALS.items(), ids=CREDENTIALS.values())
def test_credentials_when_a_value_is_stored_then_found_and_masked(text: str, kind: str) -> None:
    (span,) = credentials(text)
    assert span.kind == kind
    value = text[span.start : span.end]
    assert value not in masked(text)
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_credentials_when_it_only_looks_alike_then_silent(text: str) -> None:
    assert credentials(text) == []
    assert masked(text) == text


def test_chinese_id_when_check_digit_is_computed_by_hand_then_only_the_right_one_passes() -> None:
    # 32010219880214521?: sum of digit x weight =
    # 3*7+2*9+0*10+1*5+0*8+2*4+1*2+9*1+8*6+8*3+0*7+2*9+1*10+4*5+5*8+2*4+1*2
    # = 21+18+0+5+0+8+2+9+48+24+0+18+10+20+40+8+2 = 233; 233 mod 11 = 2; "10X98765432"[2] = X
    assert is_chinese_id("32010219880214521X")
    assert not any(is_chinese_id(f"32010219880214521{d}") for d in range(10))
    assert not is_chinese_id("32010219881314521X")  # no thirteenth month
    assert not is_chinese_id("99010219880214521X")  # no such province


def test_card_when_issuer_length_and_check_digit_fit_then_a_card() -> None:
    # 79927398713 is the worked example of the Luhn formula: sum 70.
    assert passes_luhn("79927398713")
    assert not passes_luhn("79927398710")
    assert not is_card_number("79927398713")  # no issuer
    # Every second digit doubled, nine taken off above nine: 8+5+6+9+2+4+7+8+0+3+8+3+3+4+3+7 = 80.
    assert is_card_number("4539148803436467")
    assert not is_card_number("4539148803436468")


def test_iban_when_remainder_is_one_then_an_account() -> None:
    # The registry's example: remainder 1; one digit changed: not.
    assert is_iban("GB82WEST12345698765432")
    assert not is_iban("GB82WEST12345698765433")
    assert not is_iban("GB82WEST1234569876543")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("身份证 32010219880214521X，已核对", "Chinese identity number"),
        ("客户手机 137 6209 4518", "phone number"),
        ("手机号是13762094518。", "phone number"),
        ("call her at (415) 867-5309", "phone number"),
        ("办公电话 +44 20 7946 0958", "phone number"),
        ("card 4539 1488 0343 6467 for refunds", "payment card"),
        ("卡号4539148803436467", "payment card"),
        ("IBAN DE75512108001245126199", "bank account (IBAN)"),
        ("her social is 536-22-8841", "US social security number"),
        ("护照号：E72810394", "passport number"),
        ("手机 18662847531", "phone number"),  # 186 is a mobile network, 1-866 a free call
        ("her phone: 020 7946 1852", "phone number"),
        ("order 1182, 手机 13762094518", "phone number"),
    ],
)
def test_personal_numbers_when_stored_then_found(text: str, kind: str) -> None:
    assert [s.kind for s in personal_numbers(text)] == [kind]
    assert "[" in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "order 13812349876 was shipped",
        "订单号：13762094518",
        "epoch 1717171717171 and 1717171717",
        "call 555-0123 or (212) 555-0147",
        "test card 4111 1111 1111 1111",
        "trace 4539148803436467 took 3 ms",  # passes Luhn, but nothing says card
        "part 536-22-8841",
        "Part no. 536-22-8841 replaces 536-22-8840.",
        "订单号：13762094518、13762094520 和 13762094533 已发货",
        "ISBN 978-3-16-148410-0",
        "身份证 320102198802145213",  # wrong check digit
        "服务热线 13800138000",
        "客服热线 400-820-8820，工作日九点到六点",
        "售后电话：4008123123",
        "Dial 1-888-462-7753 for the help desk, or (800) 266-4391",
        "phone: +1 866 249 7513",
        "Tel. 0800 472 6193 is free of charge",
        "released on 2026-05-01 at 10:00, version 1.2.3-4567",
    ],
)
def test_personal_numbers_when_they_name_things_then_silent(text: str) -> None:
    assert personal_numbers(text) == []


def test_probe_when_both_kinds_are_stored_then_counts_rows_and_shows_no_value(make_context, found) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    texts = [
        f"Use {secret} for pushes",
        "会议纪要统一放在共享盘",
        "客户手机 137 6209 4518",
        f"密码是 Qw7#plk29，手机 13762094518 and {secret}",  # both
        "Builds run in Docker",
    ]
    result = PROBE.run(make_context({"id": [11, 12, 13, 14, 15], "content": texts}))
    finding = found(result, "MA803")
    assert finding.severity is Severity.HIGH
    figures = finding.figures
    assert (figures["rows"], figures["credential_rows"], figures["personal_number_rows"]) == (5, 2, 2)
    assert figures["credential_ids"] == [11, 14]
    assert figures["personal_ids"] == [13, 14]
    assert finding.evidence.ids == (11, 13, 14)
    everything = repr(result)
    for value in (secret, secret[4:12], "Qw7#", "plk29", "6209", "13762094518"):
        assert value not in everything


def test_probe_when_only_numbers_of_persons_then_medium(make_context, found) -> None:
    finding = found(PROBE.run(make_context({"id": [1, 2], "content": ["电话 13762094518", "ok"]})), "MA803")
    assert finding.severity is Severity.MEDIUM
    assert finding.figures["credential_rows"] == 0


def test_probe_when_healthy_or_empty_then_silent(make_context, found) -> None:
    healthy = ["Deploys need one approval", "退款审批需要财务和客服两方确认。", *LOOKALIKES]
    assert PROBE.run(make_context({"id": list(range(len(healthy))), "content": healthy})).findings == ()
    assert PROBE.run(make_context({"id": [], "content": []})).findings == ()


def test_masked_when_value_is_short_then_shows_nothing_of_it() -> None:
    assert masked("password=hunter2!!") == "password=***[9 characters]"
    assert masked("key AKIA" + "Q3EGRZ7XJ4MTPWLB.") == "key AKI***[20 characters]."


def test_entropy_when_four_equal_letters_then_two_bits() -> None:
    # Four letters a quarter each: -4 * 1/4 * log2(1/4) = 2.
    assert entropy("abcd") == pytest.approx(2.0)
    assert entropy("") == 0.0


def test_find_when_text_is_hostile_then_fast() -> None:
    for text in (
        "A" * 50_000,
        "eyJ" * 20_000,
        "1 " * 30_000,
        "password=" * 8_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000,
        "a://" * 20_000,
        "+1 (2" * 10_000,
        "a_" * 30_000,
    ):
        masked(text)
