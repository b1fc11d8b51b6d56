"""A real API on a port of this machine, for tests: pages of all kinds, log-ins, faults, parents and children.

Only the standard library: it is also started where dlt is installed and penstock is not.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Any, dict[str, str]]

TOKEN, KEY, USER, PASSWORD = "token-of-the-tests-93", "key-of-the-tests-41", "ada", "password-of-the-tests-7"
ROWS: list[dict[str, Any]] = [
    {"id": number, "name": f"row {number}", "updated_at": f"2026-01-{number % 28 + 1:02d}T00:00:00Z"}
    for number in range(25)
]
SIZE = 10


class Api:
    """The server; `seen` has the times, methods, paths and bodies of all requests, `headers` their headers.

    `other` is the address of another server, for links and redirections that leave this one.
    """

    def __init__(self, *, users: int = 4, posts: int = 12, delay: float = 0.0) -> None:
        self.seen: list[tuple[float, str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.other = ""
        self.faults: Counter[str] = Counter()
        self.tokens = 0
        self.gone: set[int] = set()
        self.users, self.posts, self.delay = users, posts, delay
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def note(self, method: str, path: str, body: Any, headers: dict[str, str]) -> None:
        with self._lock:
            self.headers.append(headers)
            self.seen.append((time.monotonic(), method, path, body))

    def failed(self, what: str) -> int:
        with self._lock:
            self.faults[what] += 1
            return self.faults[what]

    @property
    def paths(self) -> list[str]:
        return [path for _, _, path, _ in self.seen]

    def most_within(self, seconds: float) -> int:
        """Return the largest number of requests in any span of this many seconds."""
        moments = sorted(moment for moment, *_ in self.seen)
        most, first = 0, 0
        for last, moment in enumerate(moments):
            while moment - moments[first] >= seconds:
                first += 1
            most = max(most, last - first + 1)
        return most

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    api: Api
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one packet: two would wait for each other

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode(errors="replace")
        is_json = "json" in (self.headers.get("Content-Type") or "")
        self.answer(json.loads(text) if is_json and text else {k: v[0] for k, v in parse_qs(text).items()})

    def answer(self, body: Any) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.api.note(self.command, self.path, body, dict(self.headers.items()))
        if self.api.delay:
            time.sleep(self.api.delay)
        way = parts.path.strip("/").split("/")
        result = getattr(self, f"to_{way[0]}", None)
        status, document, headers = result(way[1:], query, body) if result else (404, {"error": "none"}, {})
        text = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    # -- pages

    def _page(
        self, at: Any, size: int = SIZE, rows: list[dict[str, Any]] | None = None
    ) -> tuple[list[dict[str, Any]], int | None]:
        rows = ROWS if rows is None else rows
        at = int(at)
        return rows[at : at + size], (at + size if at + size < len(rows) else None)

    def to_link(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(query.get("at", 0))
        following = f"{self.api.url}/link?at={after}" if after else None
        return 200, {"results": rows, "links": {"next": following}}, {}

    def to_relative(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(query.get("at", 0))
        return 200, {"results": rows, "next": f"/relative?at={after}" if after else None}, {}

    def to_header(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(query.get("at", 0))
        return 200, rows, {"Link": f'<{self.api.url}/header?at={after}>; rel="next"'} if after else {}

    def to_headcursor(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(query.get("cursor", 0))
        return 200, {"data": rows}, {"next": str(after)} if after else {}

    def to_cursor(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(query.get("cursor", 0))
        return 200, {"items": rows, "cursors": {"next": str(after) if after else ""}}, {}

    def to_bodycursor(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(body.get("page", {}).get("after") or 0)
        return 200, {"items": rows, "next_cursor": after, "more": after is not None}, {}

    def to_offset(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, after = self._page(query.get("offset", 0), int(query.get("limit", SIZE)))
        return 200, {"data": rows, "total": len(ROWS), "has_more": after is not None}, {}

    to_orders = to_offset

    def to_bodyoffset(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, _ = self._page(body.get("from", 0), int(body.get("size", SIZE)))
        return 200, {"data": rows, "meta": {"total": len(ROWS)}}, {}

    def to_pages(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        base = int(way[0]) if way else 0
        rows, after = self._page((int(query.get("page", base)) - base) * SIZE)
        return 200, {"records": rows, "total_pages": 3, "has_more": "true" if after else "false"}, {}

    def to_bodypages(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows, _ = self._page(body.get("page", 0) * SIZE)
        return 200, {"records": rows, "total": 3, "echo": body.get("query")}, {}

    def to_endless(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        """Serve a reference that never changes; `endless/scroll` has other rows each time."""
        place = (self.api.failed("scroll") - 1) * SIZE if way else 0
        same = "again" if place < len(ROWS) else ""
        document = {
            "data": ROWS[place : place + SIZE],
            "next": "",
            "cursor": same,
            "link": f"/endless?at={same}",
        }
        return 200, document, {"next": "", "again": same}

    def to_single(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        return 200, {"meta": {"tags": ["x"]}, "data": ROWS[:3]}, {}

    def to_nested(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        rows = [{"order": row, "tags": [{"t": 1}, {"t": 2}]} for row in ROWS[:4]]
        return 200, {"payload": {"batches": [{"rows": rows[:2]}, {"rows": rows[2:]}]}}, {}

    def to_since(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        start, end = query.get("since") or body.get("since") or "", query.get("until") or "9"
        return 200, {"results": [row for row in ROWS if start <= row["updated_at"] < end]}, {}

    def to_echo(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        options = self.headers.get("X-Said")
        return 200, {"id": "/".join(way), "query": query, "body": body, "said": options}, {}

    # -- log-ins

    def to_secure(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        header, cookie = self.headers.get("Authorization"), self.headers.get("Cookie") or ""
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        fits = {
            "bearer": header == f"Bearer {TOKEN}",
            "header": self.headers.get("X-Key") == KEY,
            "query": query.get("k") == KEY,
            "cookie": f"k={KEY}" in cookie.split("; "),
            "basic": header == f"Basic {pair}",
            "oauth": header == f"Bearer {TOKEN}-{self.api.tokens}",
        }
        return (200, {"data": ROWS[:3]}, {}) if fits[way[0]] else (401, {"error": "who are you"}, {})

    def to_token(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        if (body.get("client_id"), body.get("client_secret")) != (USER, PASSWORD):
            return 401, {}, {}
        self.api.tokens += 1
        return (
            200,
            {"access_token": f"{TOKEN}-{self.api.tokens}", "expires_in": int(way[0]) if way else 60},
            {},
        )

    # -- faults

    def to_flaky(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        """Serve `flaky/<name>/<status>/<times>`: this status several times, then rows."""
        if self.api.failed(way[0]) <= int(way[2]):
            return int(way[1]), {"error": "busy"}, {"Retry-After": "1"} if "wait" in query else {}
        return 200, {"data": ROWS[:3]}, {}

    def to_cut(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        """Close the connection without an answer, once."""
        if self.api.failed("cut") == 1:
            self.connection.close()
        return 200, {"data": ROWS[:3]}, {}

    def to_moved(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        """Redirect from `moved/<path>`."""
        return 302, {}, {"Location": f"{self.api.url}/{'/'.join(way) or 'single'}"}

    def to_leaving(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        """`leaving/link` names a next page on the other server, `leaving/redirect` sends the client there."""
        existing = f"{self.api.other}/single"
        if way[0] == "redirect":
            return 302, {}, {"Location": existing}
        return 200, {"data": ROWS[:3], "next": existing}, {}

    # -- parents and children

    def to_users(self, way: list[str], query: dict[str, str], body: Any) -> Answer:
        users = [
            {"id": number, "name": f"user {number}", "address": {"city": f"city {number % 3}"}}
            for number in range(self.api.users)
        ]
        if not way:
            size = int(query.get("size", SIZE))
            rows, _ = self._page(int(query.get("page", 0)) * size, size, users)
            return 200, {"data": rows, "total_pages": -(-len(users) // size)}, {}
        number = int(way[0])
        if number >= len(users):
            return 404, {"error": "no such user"}, {}
        if len(way) == 1:
            return 200, {**users[number], "age": 30 + number}, {}
        if number in self.api.gone or (number == 3 and "gap" in query):
            return 404, {"error": "no posts"}, {}
        posts = [
            {"id": number * 1000 + post, "title": f"post {post}", "tags": ["a", "b"][: post % 3]}
            for post in range(self.api.posts)
        ]
        if way[1] == "events":
            # Those of later users are older.
            days = range(28 - number, 0, -5)
            rows = [{"id": number * 100 + day, "at": f"2026-01-{day:02d}"} for day in days]
            return 200, {"data": [row for row in rows if row["at"] >= query.get("since", "")]}, {}
        rows, _ = self._page(query.get("offset", 0), int(query.get("limit", SIZE)), posts)
        return 200, {"data": rows, "total": len(posts)}, {}
