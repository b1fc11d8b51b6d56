"""Functions as destinations: batches to a server that is busy now and then, and a process that dies."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, date, datetime, time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import process_env

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "destinations.md"
BUSY_EVERY = 7


class Receiver(ThreadingHTTPServer):
    """A server that stores batches; every seventh request is answered by 503, one may kill its client."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.batches: list[dict[str, Any]] = []
        self.requests = 0
        self.lock = threading.Lock()
        self.kill_at: int | None = None
        """The number of stored batches at which the client is killed, before it gets the answer."""
        self.client: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def store(self, batch: dict[str, Any]) -> bool:
        """Store a batch; return False if the server is busy."""
        with self.lock:
            self.requests += 1
            if self.requests % BUSY_EVERY == 0:
                return False
            self.batches.append(batch)
            if len(self.batches) == self.kill_at and self.client is not None:
                self.client.kill()
                self.client.wait()
            return True


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            self.send_response(200 if self.server.store(body) else 503)
            self.end_headers()
        except OSError:
            pass  # the client is dead

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


def program_of_the_page() -> str:
    """Return the program in the documentation of function destinations."""
    [program] = re.findall(r'```python title="post_rows.py"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    return str(program)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("rows", "batch_count"),
    [pytest.param(1_050, 11, id="few"), pytest.param(10_000, 100, id="many", marks=pytest.mark.at_length)],
)
def test_a_killed_program_goes_on_after_its_last_batch(
    receiver: Receiver, tmp_path: Path, rows: int, batch_count: int
) -> None:
    receiver.kill_at = batch_count // 2
    program = tmp_path / "post_rows.py"
    program.write_text(program_of_the_page())
    command = [sys.executable, str(program), str(rows)]
    environment = {
        **process_env(),
        "DESTINATION__POST_ROWS__URL": receiver.url,
        "PIPELINES__PIPELINES_DIR": str(tmp_path),
        "LOAD__RETRY_PAUSE": "0.01",
        "RUN__PENDING": "exit",
    }

    receiver.client = subprocess.Popen(command, env=environment, cwd=tmp_path)
    assert receiver.client.wait() == -signal.SIGKILL
    resumed = subprocess.run(command, env=environment, cwd=tmp_path, check=False)

    assert resumed.returncode == 0
    identities = Counter((batch["load_id"], batch["batch_number"]) for batch in receiver.batches)
    repeated = [identity for identity, count in identities.items() if count > 1]
    assert len({load_id for load_id, _ in identities}) == 1
    assert sorted(number for _, number in identities) == list(range(batch_count))
    assert len(repeated) <= 1, "only the batch in flight is sent again"
    by_identity = {(batch["load_id"], batch["batch_number"]): batch["rows"] for batch in receiver.batches}
    assert all(
        by_identity[batch["load_id"], batch["batch_number"]] == batch["rows"] for batch in receiver.batches
    )
    assert sorted(row["n"] for batch in by_identity.values() for row in batch) == list(range(rows))
    assert receiver.requests > len(receiver.batches), "the server was busy now and then"


def test_rows_have_the_values_of_their_types_and_no_system_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches: list[tuple[Any, Any]] = []

    @penstock.destination(batch_size=2)
    def sink(items: Any, table: Any) -> None:
        batches.append((items, table))

    row = {
        "id": 1,
        "Full Name": "Ada",
        "at": datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC),
        "price": Decimal("1.5"),
        "raw": b"\x00\xff",
        "day": date(1500, 5, 6),
        "opens": time(8, 30),
        "tags": [{"x": 1.5}],
    }

    info = penstock.pipeline("sink", tmp_path, destination=sink, spark=spark).run(
        [row] * 3, table_name="items"
    )

    assert [items for items, _ in batches] == [[row, row], [row]]
    assert list(batches[0][1]["columns"]) == list(row)
    assert info.packages[0].tables[0].rows == 3


def test_executors_send_every_batch_once(receiver: Receiver, spark: SparkSession, tmp_path: Path) -> None:
    url = receiver.url

    @penstock.destination(batch_size=10, where="executors", executor_tasks=2, loader_file_format="parquet")
    def sink(items: Any, table: Any, load_id: str, batch_number: int) -> None:
        import json
        import urllib.request

        body = {"load_id": load_id, "batch_number": batch_number, "rows": items.to_pylist()}
        urllib.request.urlopen(url, data=json.dumps(body).encode()).close()

    pipeline = penstock.pipeline("sink", tmp_path, destination=sink, spark=spark)
    pipeline.run([{"n": number} for number in range(95)], table_name="items")

    numbers = [batch["batch_number"] for batch in receiver.batches]
    assert sorted(numbers) == list(range(10)), "also after the server was busy"
    sent = {batch["batch_number"]: [row["n"] for row in batch["rows"]] for batch in receiver.batches}
    assert [sent[number] for number in range(10)] == [
        list(range(first, min(first + 10, 95))) for first in range(0, 95, 10)
    ]
