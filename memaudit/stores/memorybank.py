"""Read MemoryBank's JSON: users with a history of days, each a list of turns; one record a turn.

Source: zhongwanjun/MemoryBank-SiliconFriend, `memory_bank_*.json`.
"""

from __future__ import annotations

from typing import Any

from memaudit.stores.json_rows import JsonTable
from memaudit.wording import plural, say


def is_memorybank(data: Any) -> bool:
    """Say whether a JSON document is one of MemoryBank: nearly every user has a history of lists of turns."""
    if not isinstance(data, dict) or not data:
        return False
    return sum(_is_user(user) for user in data.values()) >= 0.9 * len(data)


def _is_user(user: Any) -> bool:
    history = user.get("history") if isinstance(user, dict) else None
    if not isinstance(history, dict):
        return False
    return all(
        isinstance(turns, list) and all(isinstance(t, dict) and "query" in t and "response" in t for t in turns)
        for turns in history.values()
    )


def memorybank_tables(name: str, data: dict[str, Any]) -> list[JsonTable]:
    """Make a table of the turns, and one of the summaries of days where there are any."""
    turns: list[dict[str, Any]] = []
    summaries: list[dict[str, Any]] = []
    unread = [user for user, value in data.items() if not _is_user(value)]
    empty = 0
    for user, value in data.items():
        if not _is_user(value):
            continue
        empty += not any(value["history"].values())
        for day, listed in value["history"].items():
            for place, turn in enumerate(listed):
                both = [str(turn[k]) for k in ("query", "response") if turn[k]]
                rest = {k: v for k, v in turn.items() if k not in ("query", "response")}
                row = {"key": f"{user}/{day}#{place}", "text": "\n".join(both), "user": user, "date": day}
                turns.append({**rest, **row})
        found = value.get("summary")
        for day, summary in found.items() if isinstance(found, dict) else ():
            text = summary.get("content") if isinstance(summary, dict) else summary
            summaries.append({"key": f"{user}/{day}", "text": text, "user": user, "date": day})
    notes = [say("Each turn is one record: {turns} of {users}.", turns=plural(len(turns), "turn"),
                 users=plural(len(data) - len(unread), "user"))]  # fmt: skip
    if empty:
        notes.append(say("Users without any turn: {n}.", n=empty))
    if unread:
        notes.append(say("Users that are written in another form and not read: {n}.", n=len(unread)))
    if summaries:
        notes.append(say("Summaries of days are another table: {n}.", n=len(summaries)))
    hints: dict[str, tuple[Any, str]] = {
        "table": (f"{name}.turns", say("its rows are the turns that MemoryBank recalls")),
        "id": ("key", say("it was made from user, day and place in the day")),
        "text": ("text", say("it is query and response of a turn, joined by the reader")),
        "time": ("date", say("it is the day of the turn")),
        "isolation_keys": (("user",), say("MemoryBank keeps users apart")),
    }
    tables = [JsonTable(f"{name}.turns", list(turns), " ".join(notes), hints)]
    if summaries:
        tables.append(JsonTable(f"{name}.summaries", list(summaries)))
    return tables
