"""A qdrant server, played by a small HTTP server with the documented answers."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.errors import ConfigError, StoreError
from memaudit.roles import find_roles
from memaudit.stores.detect import open_store

POINTS = [
    {"id": n, "payload": {"page_content": f"Text number {n} 的内容。", "group_id": n % 2}, "vector": [float(n), 1.0]}
    for n in range(600)
]


class Qdrant(BaseHTTPRequestHandler):
    """Answers for two collections; asks for the key `k3y`."""

    requests: list[str] = []  # noqa: RUF012 - shared on purpose

    def answer(self, code: int, result: Any) -> None:
        body = json.dumps({"result": result, "status": "ok"}).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.requests.append(f"GET {self.path}")
        if self.headers.get("api-key") != "k3y":
            self.answer(401, None)
        elif self.path == "/collections":
            self.answer(200, {"collections": [{"name": "small"}, {"name": "my notes"}]})
        else:
            self.answer(200, {"points_count": 600 if self.path.endswith("my%20notes") else 1})

    def do_POST(self) -> None:
        self.requests.append(f"POST {self.path}")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        start = body.get("offset", 0)
        page = POINTS[start : start + body["limit"]]
        following = start + body["limit"]
        self.answer(200, {"points": page, "next_page_offset": following if following < len(POINTS) else None})

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Qdrant)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Qdrant.requests.clear()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_collection_when_the_largest_then_read_page_by_page_with_reading_requests_only(address: str) -> None:
    store = open_store(f"qdrant://k3y@{address}")
    roles = find_roles(store, Config())
    assert (store.kind, roles.table, store.tables[0].n_rows) == ("qdrant", "my notes", 600)
    assert (roles.id, roles.text, roles.embedding) == ("id", "page_content", "embedding")
    sql = "SELECT id, page_content, embedding FROM \"my notes\" WHERE id = '599'"
    assert list(store.rows(sql)) == [("599", "Text number 599 的内容。", struct.pack("<2f", 599, 1))]
    assert store.notes[-1] == (
        f"Not audited here: small, 1 row. For it: memaudit run --store qdrant://{address} --table small"
    )
    assert "k3y" not in store.path + " ".join(store.notes)
    assert {r.split("?")[0] for r in Qdrant.requests if r.startswith("POST")} == {
        "POST /collections/my%20notes/points/scroll"
    }
    store.close()


def test_key_when_wrong_or_collection_unknown_then_one_line_without_the_key(address: str) -> None:
    with pytest.raises(StoreError, match="answered 401 to /collections") as caught:
        open_store(f"qdrant://wr0ng@{address}")
    assert "wr0ng" not in str(caught.value)
    with pytest.raises(ConfigError, match=r'collection "nothing" not found\. Collections: small, my notes'):
        open_store(f"qdrant://k3y@{address}/nothing")


def test_server_when_not_there_then_one_line() -> None:
    with pytest.raises(StoreError, match=r"qdrant://127\.0\.0\.1:9 cannot be reached"):
        open_store("qdrant://key@127.0.0.1:9")
