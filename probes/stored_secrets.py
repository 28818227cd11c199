"""Credentials and numbers of persons that stand in memories; values are masked in everything this probe returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.model import (
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    Proposal,
    Section,
    Severity,
    Table,
)
from memaudit.text.credentials import credentials
from memaudit.text.masking import masked
from memaudit.text.personal_numbers import personal_numbers
from memaudit.wording import key, part_of, plural, say, sentences, term


@dataclass(frozen=True)
class Secrets:
    """What was found, by row number.

    Parameters
    ----------
    credential_rows, personal_rows
        Row -> kinds found in it, in row order; a row may stand in both.
    """

    credential_rows: Mapping[int, tuple[str, ...]]
    personal_rows: Mapping[int, tuple[str, ...]]

    @property
    def rows(self) -> list[int]:
        """All rows concerned, in row order."""
        return sorted({*self.credential_rows, *self.personal_rows})


def secrets_in(texts: Sequence[str]) -> Secrets:
    """Look for credentials and personal numbers in each text."""
    found: tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]] = ({}, {})
    seen: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for row, text in enumerate(texts):
        if text not in seen:
            seen[text] = _kinds(text)
        for rows, kinds in zip(found, seen[text], strict=True):
            if kinds:
                rows[row] = kinds
    return Secrets(*found)


def _kinds(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    keys = credentials(text)
    # Digits inside a key are no phone number.
    persons = [p for p in personal_numbers(text) if all(p.end <= k.start or p.start >= k.end for k in keys)]
    return tuple(sorted({k.kind for k in keys})), tuple(sorted({p.kind for p in persons}))


class SecretsProbe:
    """MA803."""

    name: ClassVar[str] = "stored-secrets"
    title: ClassVar[str] = "Do memories hold credentials or numbers of persons?"
    codes: ClassVar[Mapping[str, str]] = {"MA803": "secret-in-store"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ()

    def run(self, ctx: Context) -> ProbeResult:
        """Look at the text of every row."""
        found = secrets_in(ctx.records.texts)
        if not found.rows:
            return ProbeResult()
        finding = _finding(ctx, found)
        keys = ctx.records.keys
        proposals = []
        for rows, reason in (
            (found.credential_rows, say("a credential: replace it where it is used, then remove it from the memory")),
            (found.personal_rows, say("a number of a person: decide whether the memory may keep it")),
        ):
            if rows:
                proposals.append(Proposal("review", tuple(keys[r] for r in sorted(rows)), reason, "MA803"))
        return ProbeResult((finding,), (_section(found, finding),), proposals=tuple(proposals))


def _finding(ctx: Context, found: Secrets) -> Finding:
    n, keys, texts = ctx.records.n_rows, ctx.records.keys, ctx.records.texts
    n_credentials, n_personal = len(found.credential_rows), len(found.personal_rows)
    if n_credentials and n_personal:
        title = say("{rows} rows hold credentials, and {personal} hold numbers of persons (identity cards, phones, bank cards).",
                    rows=part_of(n_credentials, n), personal=n_personal)  # fmt: skip
    elif n_credentials:
        title = say("{rows} rows hold credentials.", rows=part_of(n_credentials, n))
    else:
        title = say(
            "{rows} rows hold numbers of persons (identity cards, phones, bank cards).", rows=part_of(n_personal, n)
        )
    # Credentials first: they are what a reader has to act on today.
    order = [*found.credential_rows, *(r for r in found.personal_rows if r not in found.credential_rows)]
    shown = tuple(
        Example(
            masked(texts[r]), keys[r], ", ".join((*found.credential_rows.get(r, ()), *found.personal_rows.get(r, ())))
        )
        for r in order[: ctx.config.max_examples]
    )
    return Finding(
        "MA803",
        "secret-in-store",
        Severity.HIGH if n_credentials else Severity.MEDIUM,
        {"table": ctx.table_name, "column": ctx.roles.text},
        title,
        {
            "rows": n,
            "credential_rows": n_credentials,
            "credential_ids": [keys[r] for r in found.credential_rows],
            "personal_number_rows": n_personal,
            "personal_ids": [keys[r] for r in found.personal_rows],
            "kinds": dict(_by_kind(found)),
        },
        Evidence(shown, len(found.rows), tuple(keys[r] for r in found.rows)),
        fix=_fix(n_credentials, n_personal),
        caveat=say("High for credentials, medium for numbers of persons alone. Values are masked here; every recall still "
                   "puts them into a prompt in full. Names, addresses and e-mail addresses are not looked for."),
    )  # fmt: skip


def _fix(n_credentials: int, n_personal: int) -> str:
    parts = []
    if n_credentials:
        parts.append(say("Replace each credential where it is used (it has been in prompts and logs), and store its name "
                         "instead of its value."))  # fmt: skip
    if n_personal:
        parts.append(say("Remove or encrypt numbers of persons that no task needs, and filter both before writing."))
    return sentences(*parts)


#: Kinds that have a word in every language; names of services stay as they are.
_KINDS = (
    key("password"), key("password in an address"), key("key or token"), key("PIN"), key("private key"),
    key("JSON web token"), key("Chinese identity number"), key("payment card"), key("US social security number"),
    key("phone number"), key("passport number"), key("bank account (IBAN)"), key("bearer token"),
)  # fmt: skip


def _by_kind(found: Secrets) -> list[tuple[str, int]]:
    counts = Counter(
        k for rows in (found.credential_rows, found.personal_rows) for kinds in rows.values() for k in kinds
    )
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _section(found: Secrets, finding: Finding) -> Section:
    credential_kinds = {k for kinds in found.credential_rows.values() for k in kinds}
    table = Table(
        "stored-secrets",
        say("Kinds of secrets, {rows}; a row may hold several", rows=plural(len(found.rows), "row")),
        (
            Column("kind", say("kind"), Cell.TEXT),
            Column("group", say("what it is"), Cell.TEXT),
            Column("rows", say("rows"), Cell.BAR),
        ),
        tuple(
            {
                "kind": term(kind),
                "group": say("credential") if kind in credential_kinds else say("number of a person"),
                "rows": count,
            }
            for kind, count in _by_kind(found)
        ),
    )
    return Section(
        "stored-secrets",
        say("Secrets and numbers of persons"),
        say("Do memories hold what must not be recalled into a prompt?"),
        finding.title,
        ("MA803",),
        (table,),
        (
            say("Credentials: shapes of the keys of well-known services, private key blocks, tokens whose header can be "
                "read, passwords in addresses, and values announced as a password or key."),
            say("Numbers: check digits of identity cards, bank cards and accounts are computed; numbers named as an order, "
                "ticket or version, and the examples of manuals, are left out."),
            finding.caveat or "",
        ),
    )  # fmt: skip


PROBE = SecretsProbe()
