"""A qdrant server, played by a small HTTP server with the documented answers."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
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


#: What a collection does instead of answering: it is named after it.
GONE, CUT, CUT_CHUNK, LOOPS, REFUSED = "gone", "cut", "cut-chunk", "loops", "refused"


class Qdrant(BaseHTTPRequestHandler):
    """Answers for two collections, and for those of `more`; asks for the key `k3y`."""

    requests: list[str] = []  # noqa: RUF012 - shared on purpose
    more: list[str] = []  # noqa: RUF012 - shared on purpose
    protocol_version = "HTTP/1.1"

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
            names = ["small", "my notes", *self.more]
            self.answer(200, {"collections": [{"name": name} for name in names]})
        else:
            self.answer(200, {"points_count": 600 if self.path.endswith("my%20notes") else 1})

    def do_POST(self) -> None:
        self.requests.append(f"POST {self.path}")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        start = body.get("offset", 0)
        name = self.path.split("/")[2]
        if name == GONE:
            self.answer(404, None)
            return
        if name == REFUSED:
            self.answer(403, None)
            return
        if name in (CUT, CUT_CHUNK) and start:  # the second page breaks off in the middle
            self.send_response(200)
            length = ("Content-Length", "100000") if name == CUT else ("Transfer-Encoding", "chunked")
            self.send_header(*length)
            self.end_headers()
            self.wfile.write((b"" if name == CUT else b"ffff\r\n") + b'{"result": {"points": [')
            self.close_connection = True
            return
        if name == LOOPS:
            self.answer(200, {"points": POINTS[:1], "next_page_offset": 7})
            return
        if name == "small":
            self.answer(200, {"points": POINTS[:1], "next_page_offset": None})
            return
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
    Qdrant.more = []
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


def test_collection_when_it_breaks_off_or_is_gone_then_one_line(address: str) -> None:
    Qdrant.more = [GONE, CUT, CUT_CHUNK, REFUSED]
    for name, said in (
        (GONE, "answered 404 to /collections/gone/points/scroll"),
        (CUT, "the answer to /collections/cut/points/scroll broke off"),
        (CUT_CHUNK, "the answer to /collections/cut-chunk/points/scroll broke off"),
        (REFUSED, "answered 403 to /collections/refused/points/scroll"),
    ):
        with pytest.raises(StoreError, match=said) as caught:
            open_store(f"qdrant://k3y@{address}/{name}")
        assert "k3y" not in str(caught.value).replace("qdrant://KEY@", "")
        assert "\n" not in str(caught.value)


def test_scroll_when_the_server_gives_the_same_page_again_then_it_ends(address: str) -> None:
    Qdrant.more = [LOOPS]
    store = open_store(f"qdrant://k3y@{address}/{LOOPS}")
    # The first answer and the one to offset 7: a server that names 7 again has nothing more.
    assert store.tables[0].n_rows == 2
    store.close()


def test_collections_when_all_are_asked_for_then_the_broken_ones_fail_and_the_others_do_not(
    address: str, memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    Qdrant.more = [CUT, REFUSED]
    ran = memaudit("run", "--store", f"qdrant://k3y@{address}", "--all-tables", "--select", "MA002")
    assert ran.code == 3, ran.err
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [(a["store"]["table"], a["store"]["rows"]) for a in report["audits"]] == [("my notes", 600), ("small", 1)]
    failed = {one["table"]: one["reason"] for one in report["not_audited"] if one["failed"]}
    assert set(failed) == {CUT, REFUSED}
    assert "broke off" in failed[CUT]
    assert "answered 403" in failed[REFUSED]
    written = ran.out + ran.err + json.dumps(report) + (tmp_path / "memaudit-report.html").read_text("utf-8")
    assert "k3y" not in written
    ran = memaudit("run", "--store", f"qdrant://k3y@{address}/small", "--all-tables")
    assert ran.code == 2
    assert "names one collection. Leave it out of the address to read every one." in ran.err
    # The two whole audits say nothing of one another, and all are named in one place.
    assert "Not audited here" not in json.dumps(report["audits"])
