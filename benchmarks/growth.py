"""The cost of a run in a dataset with many loads: `uv run python -m benchmarks.growth [loads ...]`.

By default 1, 1,000, 20,000 and 100,000 loads, and the log of a plain table at its 10th, 100th, 1,000th and
5,000th commit. No Spark and no Java: the run that is measured brings a new state and no rows, so all that it
does is its bookkeeping. The dataset is on a disk. Requests and names are counted as S3 would need them, 1,000
names to a listing; processor seconds are those of the disk, without the counting.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import penstock
from penstock.dataset.view import DatasetView
from penstock.destinations.filesystem.table_log import LogEntry
from penstock.interfaces import LoadMark
from penstock.interfaces.ledger import CommitRecord
from penstock.package import storage
from penstock.package.local_files import LocalFiles
from penstock.pipeline import workspace
from penstock.schema import Schema
from penstock.spark.file_format import FileCodec

if TYPE_CHECKING:
    from collections.abc import Iterator

LOADS, COMMITS = (1, 1_000, 20_000, 100_000), (10, 100, 1_000, 5_000)
PAGE, KEPT_PACKAGES = 1_000, 100
CALLS: Counter[str] = Counter()
_HOUR = 3600.0


_KINDS = {
    "read": "gets",
    "exists": "gets",
    "put": "puts",
    "put_if_absent": "puts",
    "move": "puts",
    "open_new": "puts",
    "delete": "deletes",
    "entries": "lists",
    "tree": "lists",
    "names": "lists",
}


class CountingFiles(LocalFiles):
    """A disk with the requests of S3: a listing may start anywhere, and has 1,000 names per request."""

    supports_start_after = True


def _counted(name: str, kind: str) -> Any:
    def call(files: CountingFiles, *paths: Any, **options: Any) -> Any:
        CALLS[kind] += 1
        result = getattr(LocalFiles, name)(files, *paths, **options)
        if kind == "lists":
            result = sorted(result)[: options.get("most")]
            CALLS.update(names=len(result), lists=max(0, len(result) - 1) // PAGE)
        return result

    return call


for _name, _kind in _KINDS.items():
    setattr(CountingFiles, _name, _counted(_name, _kind))


class NoSessions:
    """A replacement of Spark sessions for loads without rows."""

    notes: tuple[str, ...] = ()

    @contextmanager
    def session(self) -> Iterator[None]:
        """No session."""
        yield None

    def interrupt(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


@penstock.resource(name="ticks")
def ticks() -> Iterator[Any]:
    """Change the state, and yield nothing."""
    penstock.current.resource_state()["at"] = time.time_ns()
    yield from ()


def pipeline_at(root: Path) -> penstock.Pipeline:
    """The pipeline of the benchmark, as a new process opens it."""
    lake = penstock.destinations.filesystem(bucket_url=str(root / "lake"))
    return penstock.pipeline("shop", root / "pipelines", destination=lake, dataset_name="demo")


def target_at(root: Path) -> Any:
    """Return the destination of the pipeline."""
    return pipeline_at(root)._target()  # noqa: SLF001 - no session is opened so


def run(root: Path) -> None:
    """Run once, from the lease to the finished package."""
    pipeline_at(root).run(ticks())


def open_dataset(root: Path) -> None:
    """Read everything that a reader needs before rows: the last load, the schemas, and the tables."""
    client: Any = target_at(root).client()
    place: Any = SimpleNamespace(
        tables=client, ledger=client.ledger(), pool=NoSessions(), user=SimpleNamespace(spark=None)
    )
    view = DatasetView(place, name="demo", consistent=True)
    view.data_tables()


def fabricate(root: Path, loads: int) -> None:
    """Write the files of this number of loads: the first one is real, the others are copies."""
    run(root)
    dataset = root / "lake" / "demo"
    packages = dataset / "_dlt_pkg" / "shop"
    first = next((dataset / "_dlt_loads").glob("shop__*.jsonl"))
    load_id = first.name.removesuffix(".jsonl").rpartition("__")[2]
    row, slot, outcome = (
        json.loads(path.read_text())
        for path in (first, packages / "slots/0000000001.json", packages / "outcomes/0000000001.json")
    )
    state = next((dataset / "_dlt_pipeline_state").glob("shop__*.jsonl"))
    seconds, _, fraction = load_id.partition(".")
    for number in range(2, loads + 1):
        after = int(seconds) * 1_000_000 + int(fraction) + number
        new = f"{after // 1_000_000}.{after % 1_000_000:06d}"
        options = {"load_id": new, "sequence": number}
        (dataset / f"_dlt_loads/shop__{new}.jsonl").write_text(json.dumps({**row, **options}))
        (packages / f"slots/{number:010}.json").write_text(json.dumps({**slot, **options}))
        (packages / f"outcomes/{number:010}.json").write_text(json.dumps({**outcome, **options}))
        if number > loads - KEPT_PACKAGES:
            shutil.copytree(packages / "packages" / load_id, packages / "packages" / new)
            (packages / "packages/.finished" / new).write_text("{}")
            (dataset / "_dlt_pipeline_state" / state.name.replace(load_id, new)).write_text(
                state.read_text().replace(load_id, new)
            )
    (packages / "slots/last.json").write_text(
        json.dumps({"format_version": slot["format_version"], "sequence": loads})
    )
    shutil.rmtree(dataset / "_dlt_index", ignore_errors=True)  # the index of a single load: it is rebuilt
    run(root)


def measure(act: Any, root: Path) -> tuple[float, Counter[str]]:
    """Return the least processor seconds of three calls, and the calls of a separate count."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        act(root)
        seconds.append(time.process_time() - began)
    CALLS.clear()
    with patch.object(storage, "LocalFiles", CountingFiles):
        act(root)
    return min(seconds), Counter(CALLS)


def plain_client(root: Path) -> Any:
    """A client for a schema with one table, as a load opens it."""
    target = target_at(root)
    schema = Schema("shop")
    schema.update_table({"name": "items", "columns": {"id": {"name": "id", "data_type": "bigint"}}})
    client: Any = target.destination.client(schema, target.config)
    return client.plain


def commit(root: Path, number: int) -> None:
    """Commit to a plain table, from the check for an earlier commit to the cleanup after it."""
    client = plain_client(root)
    mark = LoadMark(
        pipeline_name="shop", sequence=number, load_id=f"{1794709965 + number}.5", manifest_hash="h"
    )
    log = client.table_files("items").log
    log.find_mark(mark)
    key = f"items/{mark.load_id}.aa.parquet"
    client.store.put(key, b"rows")
    done = log.commit(lambda _: LogEntry.of_load(mark, kind="append", files={key: FileCodec("parquet")}))
    client.ledger().commit(
        CommitRecord(
            load_id=mark.load_id,
            schema_name="shop",
            schema_version_hash="aGFzaA==",
            inserted_at="2026-11-15T02:32:47+00:00",
            pipeline_name="shop",
            sequence=number,
            manifest_hash="h",
            tables={"items": {"before": None, "after": done.version, "rows": 1}},
        )
    )
    client.complete_load(mark.load_id)


def measure_log(root: Path) -> Iterator[tuple[int, Counter[str], int]]:
    """Measure calls of a commit and bytes of the log, which grows by one commit an hour."""
    folder = root / "lake" / "demo" / "_dlt_files" / "items"
    plain_client(root).ledger().initialize()
    now = time.time()
    for number in range(1, max(COMMITS) + 1):
        if number in COMMITS:
            CALLS.clear()
            with patch.object(storage, "LocalFiles", CountingFiles):
                commit(root, number)
            yield number, Counter(CALLS), sum(path.stat().st_size for path in folder.rglob("*.json"))
        else:
            commit(root, number)
        changed = now - (max(COMMITS) - number) * _HOUR
        os.utime(folder / f"{number:010}.json", (changed, changed))


def main(sizes: tuple[int, ...]) -> None:
    """Print both tables."""
    # A load without rows opens no session.
    workspace.open_pool = lambda *_, **__: (None, NoSessions())  # type: ignore[assignment]
    # A benchmark needs no protection from a power cut.
    os.fsync = lambda fd: None
    print(
        f"{'loads':>8}  {'':<8} {'cpu s':>7} {'lists':>7} {'names':>8} {'gets':>6} {'puts':>6} {'deletes':>8}"
    )
    for loads in sizes:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            fabricate(root, loads)
            for what, act in (("run", run), ("dataset", open_dataset)):
                seconds, calls = measure(act, root)
                counts = [calls[name] for name in ("lists", "names", "gets", "puts", "deletes")]
                print(
                    f"{loads:>8,}  {what:<8} {seconds:7.3f} {counts[0]:7,} {counts[1]:8,} {counts[2]:6,} "
                    f"{counts[3]:6,} {counts[4]:8,}",
                    flush=True,
                )
    print(f"\n{'commit':>8}  {'lists':>7} {'names':>8} {'gets':>6} {'bytes of log':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for number, calls, size in measure_log(Path(folder)):
            print(
                f"{number:>8,}  {calls['lists']:7,} {calls['names']:8,} {calls['gets']:6,} {size:14,}",
                flush=True,
            )


if __name__ == "__main__":
    main(tuple(int(text) for text in sys.argv[1:]) or LOADS)
