"""The audit as JSON, the contract between memaudit and everything else, and back again.

Every other format is a view of what stands here: :func:`from_json` gives back an audit that renders the
same page. The schema is `report.schema.json` beside this module.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from memaudit.changes import Break, Change, Changes, ChangeState, Course, Move, Trend
from memaudit.model import (
    SCHEMA_VERSION,
    Audit,
    Audits,
    Basis,
    Cell,
    Column,
    EncoderInfo,
    Evidence,
    Example,
    Finding,
    Json,
    Lane,
    LaneState,
    NotRun,
    Proposal,
    RowsLeftOut,
    RunInfo,
    Section,
    Severity,
    Status,
    StoreInfo,
    Table,
    TableLeftOut,
    Verdict,
)

# Bytes are written whole up to this length (a UUID or a hash as a row's key), else cut with the length.
_BYTES_KEPT = 64
# Raw in JSON text these would steer a terminal that prints the report; surrogates cannot be encoded at all.
_ESCAPED = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")


def to_json(audit: Audit) -> str:
    r"""Write an audit as JSON text, ending in a line end.

    Equal audits give equal bytes. The order is that of the model; only sets are sorted. NaN and infinity
    become null, bytes `{"bytes": "hex"}`, characters that steer a terminal their `\u` escapes. A table
    name used twice gets `~2` in the object `tables`; its own `name` stays.
    """
    return _written(_document(audit), 0) + "\n"


def tables_head(audits: Audits) -> dict[str, Json]:
    """Give what is said of the audits of several tables together."""
    return {
        "schema_version": audits.schema_version,
        "memaudit": audits.memaudit,
        "command": audits.command,
        "redacted": audits.redacted,
        "incomplete": audits.incomplete,
        "lang": audits.lang,
        "store": audits.store,
        "kind": audits.kind,
    }


def tables_to_json(audits: Audits) -> str:
    """Write the audits of several tables as JSON text: the list `audits` holds what :func:`to_json` writes of each."""
    document = {
        **tables_head(audits),
        "audits": [_document(audit) for audit in audits.audits],
        "not_audited": _plain(audits.not_audited),
    }
    return _written(document, 0) + "\n"


def _document(audit: Audit) -> dict[str, Json]:
    tables: dict[str, Json] = {}
    return {
        "schema_version": audit.schema_version,
        "memaudit": audit.memaudit,
        "command": audit.command,
        "redacted": audit.redacted,
        "incomplete": audit.incomplete,
        "lang": audit.lang,
        "store": _plain(audit.store),
        "encoder": _plain(audit.encoder),
        "verdict": _plain(audit.verdict),
        "findings": [_finding(finding) for finding in audit.findings],
        "not_run": _plain(audit.not_run),
        "sections": [_section(section, tables) for section in audit.sections],
        "breakdowns": [_section(section, tables) for section in audit.breakdowns],
        "tables": tables,
        "figures": _plain(audit.figures),
        "notes": _plain(audit.notes),
        "left_out": _plain(audit.left_out),
        "plan": _plain(audit.plan),
        "suppressed": _plain(audit.suppressed),
        "changes": _plain(audit.changes),
        "trend": _plain(audit.trend),
        "config": _plain(audit.config),
        "versions": _plain(audit.versions),
        "run": _plain(audit.run),
    }


def from_json(text: str) -> Audit:
    """Read an audit back from the text of :func:`to_json`.

    Raises
    ------
    ValueError
        The text is no JSON, no report of memaudit, that of several tables, or of another major version of the schema.
        The message says what was found and what to do.
    """
    found = report_from_json(text)
    if isinstance(found, Audits):
        raise ValueError(f"it holds the audits of {len(found.audits)} tables; one was expected")
    return found


def report_from_json(text: str) -> Audit | Audits:
    """Read back what :func:`to_json` or :func:`tables_to_json` wrote.

    Raises
    ------
    ValueError
        As :func:`from_json`, but for a report of several tables.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ValueError(f"this is not JSON ({error}); give a report.json that memaudit wrote") from error
    if not isinstance(document, dict) or "schema_version" not in document or not {"verdict", "audits"} & set(document):
        raise ValueError("this JSON is no memaudit report (no schema_version and verdict); give a report.json")
    version = str(document["schema_version"])
    if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
        raise ValueError(
            f"this report has schema {version}; this memaudit reads {SCHEMA_VERSION}: "
            "render it with the memaudit that wrote it, or run the audit again"
        )
    try:
        document = _unpacked(document)
        return _audits(document) if "audits" in document else _audit(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this report lacks or misuses a part ({error}); compare report.schema.json") from error


def plain(value: Any) -> Json:
    """Turn any part of the model into what JSON knows, by the rules of :func:`to_json`."""
    return _plain(value)


def finding_object(finding: Finding) -> dict[str, Json]:
    """Give a finding as it stands in the report, keys in the order of the vocabulary."""
    return _finding(finding)


def one_line_json(value: Json) -> str:
    """Write JSON on one line; characters that steer a terminal are escaped as in :func:`to_json`."""
    return _leaf(value)


def readable_json(value: Json) -> str:
    """Write JSON for people as in :func:`to_json`, ending in a line end."""
    return _written(value, 0) + "\n"


def _finding(finding: Finding) -> dict[str, Json]:
    document = _plain(finding)
    order = "code kind severity basis subject title figures evidence fix caveat probe lane reproduce fingerprint change"
    return {name: document[name] for name in order.split()}


def _section(section: Section, tables: dict[str, Json]) -> dict[str, Json]:
    document: dict[str, Json] = _plain(section)
    names = []
    for table in section.tables:
        written = _plain(table)
        key, n = table.name, 1
        while key in tables and tables[key] != written:
            n += 1
            key = f"{table.name}~{n}"
        tables[key] = written
        names.append(key)
    document["tables"] = names
    return document


def _plain(value: Any) -> Json:
    """Turn dataclasses, enums, numpy scalars and other Python values into what JSON knows."""
    if value is None or (isinstance(value, bool | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Severity):
        return value.label
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        whole = {"bytes": raw[:_BYTES_KEPT].hex()}
        return whole if len(raw) <= _BYTES_KEPT else {**whole, "length": len(raw)}
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, Set):
        return sorted((_plain(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if hasattr(value, "__dataclass_fields__"):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        return _plain(value.tolist())
    return str(value)


def _plain_mapping(mapping: Mapping[Any, Any]) -> dict[str, Json]:
    plain: dict[str, Json] = {}
    for key, value in mapping.items():
        name = key if isinstance(key, str) and not isinstance(key, Enum) else _key_text(key)
        if name in plain:  # the values 1 and "1" of one column must not swallow each other
            name = f"{name} ({type(key).__name__})"
        plain[name] = _plain(value)
    return plain


def _key_text(key: Any) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _written(value: Json, depth: int) -> str:
    """Write JSON for people: containers on lines of their own, lists of plain values on one."""
    pad, inner = " " * depth, " " * (depth + 1)
    if isinstance(value, dict) and value:
        items = [f"{inner}{_leaf(key)}: {_written(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{pad}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) and item for item in value):
        return "[\n" + ",\n".join(inner + _written(item, depth + 1) for item in value) + f"\n{pad}]"
    return _leaf(value)


def _leaf(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _unpacked(value: Json) -> Json:
    """Give bytes back as bytes (those that were written whole)."""
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"bytes"} and isinstance(value["bytes"], str):
            try:
                return bytes.fromhex(value["bytes"])
            except ValueError:
                return value
        return {key: _unpacked(item) for key, item in value.items()}
    return value


def _audits(document: Mapping[str, Json]) -> Audits:
    return _make(
        Audits,
        document,
        audits=tuple(_audit(one) for one in document["audits"]),
        not_audited=tuple(_make(TableLeftOut, one) for one in document.get("not_audited", ())),
    )


def _audit(document: Mapping[str, Json]) -> Audit:
    tables = {key: _table(table) for key, table in document.get("tables", {}).items()}
    store, encoder = document.get("store"), document.get("encoder")
    return _make(
        Audit,
        document,
        store=None if store is None else _make(StoreInfo, store, **_tuples(store, "other_tables", "notes")),
        encoder=None if encoder is None else _make(EncoderInfo, encoder),
        verdict=_verdict(document["verdict"]),
        findings=tuple(_read_finding(finding) for finding in document.get("findings", ())),
        sections=tuple(_read_section(section, tables) for section in document.get("sections", ())),
        not_run=tuple(
            _make(NotRun, item, status=Status(item["status"]), **_tuples(item, "codes"))
            for item in document.get("not_run", ())
        ),
        figures=document.get("figures", {}),
        notes=tuple(document.get("notes", ())),
        left_out=tuple(_make(RowsLeftOut, item, **_tuples(item, "ids")) for item in document.get("left_out", ())),
        plan=tuple(_make(Proposal, item, **_tuples(item, "ids")) for item in document.get("plan", ())),
        config=document.get("config", {}),
        versions=document.get("versions", {}),
        run=_make(RunInfo, document["run"]),
        suppressed=tuple(document.get("suppressed", ())),
        changes=_read_changes(document.get("changes")),
        trend=_read_trend(document.get("trend")),
        breakdowns=tuple(_read_section(section, tables) for section in document.get("breakdowns", ())),
    )


_Part = TypeVar("_Part")


def _make(kind: Callable[..., _Part], document: Mapping[str, Json], /, **parts: Any) -> _Part:
    """Build a part of the model; keys that a later minor version of the schema added are passed over."""
    known = getattr(kind, "__dataclass_fields__", {})
    return kind(**{**{key: value for key, value in document.items() if key in known}, **parts})


def _tuples(document: Mapping[str, Json], *names: str) -> dict[str, tuple[Json, ...]]:
    return {name: tuple(document[name]) for name in names if name in document}


def _verdict(document: Mapping[str, Json]) -> Verdict:
    lanes = tuple(
        _make(Lane, lane, state=LaneState(lane["state"]), **_tuples(lane, "codes"))
        for lane in document.get("lanes", ())
    )
    return _make(Verdict, document, lanes=lanes, **_tuples(document, "reasoning"))


def _examples(items: Sequence[Mapping[str, Json]]) -> tuple[Example, ...]:
    return tuple(_make(Example, item) for item in items)


def _read_finding(document: Mapping[str, Json]) -> Finding:
    evidence = document.get("evidence", {})
    return _make(
        Finding,
        document,
        severity=Severity.of(document["severity"]),
        basis=Basis(document["basis"]),
        evidence=_make(Evidence, evidence, shown=_examples(evidence.get("shown", ())), **_tuples(evidence, "ids")),
    )


def _read_section(document: Mapping[str, Json], tables: Mapping[str, Table]) -> Section:
    return _make(
        Section,
        document,
        tables=tuple(tables[name] for name in document.get("tables", ())),
        examples=_examples(document.get("examples", ())),
        **_tuples(document, "codes", "method"),
    )


def _read_changes(document: Mapping[str, Json] | None) -> Changes | None:
    if document is None:
        return None
    return _make(
        Changes,
        document,
        findings=tuple(_make(Change, item, state=ChangeState(item["state"])) for item in document.get("findings", ())),
        figures=tuple(_make(Move, item) for item in document.get("figures", ())),
        **_tuples(document, "breaks", "notes"),
    )


def _read_trend(document: Mapping[str, Json] | None) -> Trend | None:
    if document is None:
        return None
    return _make(
        Trend,
        document,
        courses=tuple(_make(Course, item, **_tuples(item, "values")) for item in document["courses"]),
        breaks=tuple(_make(Break, item, **_tuples(item, "reasons")) for item in document.get("breaks", ())),
        **_tuples(document, "runs"),
    )


def _table(document: Mapping[str, Json]) -> Table:
    columns = tuple(_make(Column, column, cell=Cell(column["cell"])) for column in document["columns"])
    pairs = {column.key for column in columns if column.cell is Cell.SPAN}
    rows = tuple(
        {key: tuple(item) if key in pairs and isinstance(item, list) else item for key, item in row.items()}
        for row in document["rows"]
    )
    return _make(Table, document, columns=columns, rows=rows)
