"""Read the collections of a qdrant server through its REST interface; only reading requests are sent.

Addresses: `qdrant://host:6333` or `qdrant+https://key@host:6333/collection`; the part before `@` is the API key.
Source: qdrant's REST description (`/collections`, `/collections/NAME/points/scroll`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from memaudit.errors import ConfigError, StoreError
from memaudit.stores.addresses import without_credentials
from memaudit.stores.assembled import assembled, other_table_note
from memaudit.stores.qdrant_points import Points, points_table
from memaudit.stores.store import Store
from memaudit.wording import say

_SCHEMES: Mapping[str, str] = {"qdrant": "http", "qdrant+http": "http", "qdrant+https": "https"}
_PAGE = 256
_TIMEOUT_S = 30.0
#: One page of points; a larger answer is no page.
_LARGEST_ANSWER = 256 << 20


def is_qdrant_server(value: str) -> bool:
    """Say whether an address is one of a qdrant server."""
    return "://" in value and value.partition("://")[0].lower() in _SCHEMES


def open_qdrant_server(url: str, table: str | None = None, *, every: bool = False) -> Store:
    """Read a collection of a qdrant server: the named one, else the largest, or every one.

    With `every`, a collection that cannot be read stands in `Store.skipped` and `Store.unreadable`.

    Raises
    ------
    StoreError
        No connection, a refused key, or an answer that is not qdrant's.
    ConfigError
        No collection of that name.
    """
    server = _Server(url)
    if every and server.collection is not None:
        raise ConfigError(
            say("{shown} names one collection.", shown=server.shown),
            say("Leave it out of the address to read every one."),
        )
    named = table or server.collection
    names = [str(c.get("name")) for c in server.list("/collections", "collections")]
    if named is not None and named not in names:
        raise ConfigError(
            say('{shown}: collection "{named}" not found.', shown=server.shown, named=named),
            say("Collections: {names}.", names=", ".join(names[:20]) or "none"),
        )
    if not names:
        raise StoreError(say("{shown} holds no collection.", shown=server.shown))
    if every:
        each = [points_table(Points(name, server.points(name))) for name in names]
        return assembled(server.shown, "qdrant", each, goes_on=lambda: True)
    counts = {name: server.count(name) for name in names}
    chosen = named or max(names, key=lambda name: counts[name])
    store = assembled(server.shown, "qdrant", [points_table(Points(chosen, server.points(chosen)))])
    others = [other_table_note(server.shown, name, counts[name]) for name in names if name != chosen]
    read = store.tables[0].n_rows
    if read != counts[chosen]:
        others.append(say("The server counted {n} points before the reading; {read} were read.", n=counts[chosen],
                          read=read))  # fmt: skip
    store.notes = (*store.notes, *others)
    return store


class _Server:
    """The requests; messages never show the key."""

    def __init__(self, url: str) -> None:
        self.shown = without_credentials(url)
        try:
            parts = urlsplit(url)
            self.base = f"{_SCHEMES[parts.scheme.lower()]}://{parts.netloc.rpartition('@')[2]}"
        except ValueError:
            raise StoreError(say("{shown} is no valid address.", shown=self.shown)) from None
        self.key = unquote(parts.netloc.rpartition("@")[0]).lstrip(":")
        self.collection = unquote(parts.path.strip("/")) or None

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return the `result` of its answer."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class NoRedirect(HTTPRedirectHandler):
            """The key is sent to the named server only."""

            def redirect_request(self, *args: Any) -> None:
                return None

        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json", **({"api-key": self.key} if self.key else {})}
        try:
            with build_opener(NoRedirect).open(Request(self.base + path, data, headers), timeout=_TIMEOUT_S) as answer:
                raw = answer.read(_LARGEST_ANSWER + 1)
                cut = len(raw) <= _LARGEST_ANSWER and bool(answer.length)  # bytes that were announced and never came
            if cut:
                raise self._broken_off(path)
            if len(raw) > _LARGEST_ANSWER:
                raise StoreError(
                    say("{shown}: an answer larger than {n} bytes was not read.", shown=self.shown, n=_LARGEST_ANSWER)
                )
            result = json.loads(raw)["result"]
        except HTTPError as error:
            hint = (
                say("Give the API key before the host: qdrant://KEY@host:6333.") if error.code in (401, 403) else None
            )
            raise StoreError(
                say("{shown} answered {code} to {path}.", shown=self.shown, code=error.code, path=path), hint
            ) from None
        except HTTPException:
            raise self._broken_off(path) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise StoreError(say("{shown} cannot be reached: {reason}.", shown=self.shown, reason=reason)) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StoreError(
                say("{shown}: the answer to {path} is none of qdrant.", shown=self.shown, path=path)
            ) from None
        return result if isinstance(result, dict) else {}

    def list(self, path: str, key: str) -> list[dict[str, Any]]:
        found = self.ask(path).get(key)
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

    def count(self, name: str) -> int:
        found = self.ask(f"/collections/{quote(name, safe='')}").get("points_count")
        return found if isinstance(found, int) else 0

    def _broken_off(self, path: str) -> StoreError:
        return StoreError(
            say("{shown}: the answer to {path} broke off.", shown=self.shown, path=path),
            say("Run the audit again; only reading requests are sent."),
        )

    def points(self, name: str) -> Iterator[tuple[Any, Mapping[str, Any] | str]]:
        """Scroll through a collection, page by page."""
        offset: Any = None
        path = f"/collections/{quote(name, safe='')}/points/scroll"
        while True:
            body = {"limit": _PAGE, "with_payload": True, "with_vector": True}
            page = self.ask(path, body if offset is None else {**body, "offset": offset})
            found = page.get("points")
            for point in found if isinstance(found, list) else []:
                if isinstance(point, dict):
                    yield point.get("id"), point
            following = page.get("next_page_offset")
            if following is None or following == offset:
                return
            offset = following
