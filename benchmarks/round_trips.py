"""Calls to the storage of a load of small tables: `uv run python -m benchmarks.round_trips [FOLDER]`.

Counts the calls of `FileStorage` by step, and on S3 also the HTTP requests, of a first run and a second one.
Needs no Spark: the driver writes the tables, and `deltalake` commits them. `--s3` starts a gateway of its
own over a temporary folder; `--calls` lists every call with its caller.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import statistics
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from dev.parts.folders import find_folders
from dev.parts.processes import LOOPBACK, free_port, url_answers
from dev.parts.s3 import MODULE, VERSION
from dev.parts.tools import go_install
from tests.service.fault_proxy import Proxy, Request, faulty

import penstock
from benchmarks.events import small_table
from penstock.config import AwsCredentials
from penstock.load import run as load_run
from penstock.package import Packages, lease
from penstock.package.storage import FileStorage
from penstock.pipeline.execution import Execution

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES: Final = 6
_KEY, _SECRET, _BUCKET = "penstock", secrets.token_hex(16), "lake"
CALLS: Final = (
    "read",
    "exists",
    "has_file",
    "delete_file",
    "put",
    "put_if_absent",
    "move",
    "names",
    "entries",
    "tree",
    "delete",
    "open",
    "open_new",
    "size",
    "copy_from",
)
# Functions that begin a step; the innermost one counts.
_STEPS: Final[tuple[tuple[Any, str, str], ...]] = (
    (Execution, "_extract_step", "extract"),
    (Execution, "_normalize", "normalize"),
    (Execution, "_seal", "seal"),
    (Execution, "_load_sealed", "load"),
    (Execution, "_prepare_packages", "tidy"),
    (Execution, "_last_sealed_load", "resume"),
    (Execution, "_resume_sealed_load", "resume"),
    (load_run, "_commit_to_ledger", "ledger"),
    (load_run, "_finish", "finish"),
    (Packages, "commit", "decide"),
    (lease, "acquire_lease", "lease"),
    (lease.Lease, "release", "lease"),
)


@dataclass
class Steps:
    """The step in which the run is, and what was done in each."""

    current: list[str] = field(default_factory=lambda: ["begin"])
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    names: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    keys: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def clear(self) -> None:
        """Forget what was counted."""
        for counter in (self.calls, self.names, self.requests, self.keys):
            counter.clear()


STEPS = Steps()


def in_step(function: Any, step: str) -> Any:
    """Return the function with its step announced."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        STEPS.current.append(step)
        try:
            return function(*arguments, **options)
        finally:
            STEPS.current.pop()

    @wraps(function)
    @contextmanager
    def block(*arguments: Any, **options: Any) -> Iterator[Any]:
        STEPS.current.append(step)
        try:
            with function(*arguments, **options) as value:
                yield value
        finally:
            STEPS.current.pop()

    return block if hasattr(function, "__wrapped__") else call


def counted(function: Any, kind: str) -> Any:
    """Return the method of `FileStorage` with its calls counted."""

    @wraps(function)
    def call(self: FileStorage, *arguments: Any, **options: Any) -> Any:
        name = next((value for value in arguments if isinstance(value, str)), "")
        STEPS.calls[STEPS.current[-1], kind] += 1
        STEPS.names[STEPS.current[-1], kind, pattern(self.path(name)), caller()] += 1
        return function(self, *arguments, **options)

    return call


def caller() -> str:
    """Return the functions that called the storage, the outermost last."""
    frames = [
        frame
        for frame in traceback.extract_stack()
        if "/penstock/" in frame.filename and "storage.py" not in frame.filename.rpartition("/")[2][:10]
    ]
    return " < ".join(f"{Path(frame.filename).stem}.{frame.name}" for frame in reversed(frames[-5:]))


def pattern(path: str) -> str:
    """Return a path without what differs between runs."""
    path = path.partition("/bench-")[2].partition("/")[2] or path
    path = re.sub(r"\d{10}\.\d+", "LOAD", path)
    path = re.sub(r"[0-9a-f]{32}|[0-9a-f]{64}", "HASH", path)
    path = re.sub(r"\d{10,20}", "N", path)
    path = re.sub(r"table_\d+", "table", path)
    return re.sub(r"\.[0-9a-zA-Z_-]{10}\.", ".ID.", re.sub(r"[0-9a-f]{12}", "ID", path))


def note_request(request: Request) -> None:
    """Count a request."""
    step, verb = STEPS.current[-1], request.method
    path, _, query = request.target.partition("?")
    if "list-type" in query:
        verb = "LIST"
        prefix = parse_qs(query).get("prefix", [""])[0]
        path = f"{path.rstrip('/')}/{prefix}"
    STEPS.requests[step, verb] += 1
    STEPS.keys[step, verb, pattern(path)] += 1


@contextmanager
def gateway() -> Iterator[str]:
    """Run an S3 gateway over a temporary folder; yield its address."""
    with tempfile.TemporaryDirectory(prefix="penstock-round-trips-s3-") as home:
        for name in (f"buckets/{_BUCKET}", "metadata"):
            (Path(home) / name).mkdir(parents=True)
        address = f"{LOOPBACK}:{free_port()}"
        backend = ("posix", "--sidecar", f"{home}/metadata", f"{home}/buckets")
        program = str(go_install(find_folders(), "versitygw", module=MODULE, version=VERSION))
        process = subprocess.Popen(
            [program, "--port", address, "--health", "/health", *backend],
            env={**os.environ, "ROOT_ACCESS_KEY": _KEY, "ROOT_SECRET_KEY": _SECRET},
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for(f"http://{address}/health")
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait()


def wait_for(url: str) -> None:
    """Wait until an address answers."""
    for _ in range(100):
        if url_answers(url):
            return
        time.sleep(0.1)
    raise TimeoutError(url)


def session() -> Any:
    """Return what a run asks of a session that executes nothing."""
    settings = {
        "spark.master": "local[1]",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    return SimpleNamespace(
        version="4.1.0",
        conf=SimpleNamespace(
            getAll=settings,
            get=settings.get,
            set=settings.__setitem__,
            unset=lambda key: settings.pop(key, None),
        ),
        newSession=session,
    )


def load(place: str, folder: Path, number: int, credentials: Any) -> None:
    """Run the pipeline."""
    options = {} if credentials is None else {"credentials": credentials}
    lake = penstock.destinations.delta(bucket_url=place, commit_by_reference=True, **options)
    pipeline = penstock.pipeline(
        "bench",
        str(folder / f"pipelines-{number}"),
        destination=lake,
        dataset_name="d",
        spark=session(),
        progress="null",
    )
    pipeline.run([penstock.resource(small_table(table), name=f"table_{table}") for table in range(TABLES)])


def measure(place: str, folder: Path, rounds: int, credentials: Any, *, lists: bool) -> dict[str, Any]:
    """Run each round's two runs; return the counts of the last round and the medians of seconds."""
    results: dict[str, Any] = {}
    for number in range(rounds + 1):
        for run in ("first", "second"):
            STEPS.clear()
            began = time.perf_counter()
            load(f"{place}/bench-{number}", folder, number, credentials)
            seconds = time.perf_counter() - began
            kept = results.setdefault(run, {"seconds": []})
            if number:
                kept["seconds"].append(seconds)
            kept["calls"], kept["requests"] = by_step(STEPS.calls), by_step(STEPS.requests)
            kept["keys"] = {" ".join(key): count for key, count in sorted(STEPS.keys.items())}
            kept["names"] = {" ".join(key): count for key, count in sorted(STEPS.names.items())}
    for run, kept in results.items():
        print_table(f"{place.partition(':')[0][:2]} {run} run: calls", kept["calls"])
        if kept["requests"]:
            print_table(f"{run} run: requests", kept["requests"])
        median = statistics.median(kept["seconds"] or [0.0])
        print(f"{run} run: median {median:.3f} s of {[round(each, 3) for each in kept['seconds']]}\n")
        if lists:
            for what in ("keys", "names"):
                print("\n".join(f"{count:4} {key}" for key, count in kept[what].items()), "\n")
    return results


def by_step(counter: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Return counts by step and kind."""
    result: dict[str, dict[str, int]] = {}
    for (step, kind), count in sorted(counter.items()):
        result.setdefault(step, {})[kind] = count
    return result


def print_table(title: str, counts: dict[str, dict[str, int]]) -> None:
    """Print a table of steps and kinds."""
    kinds = sorted({kind for step in counts.values() for kind in step})
    total = Counter({kind: sum(step.get(kind, 0) for step in counts.values()) for kind in kinds})
    print(f"{title}: {total.total()}")
    print(f"{'':10}" + "".join(f"{kind:>14}" for kind in (*kinds, "all")))
    for step, values in {**counts, "all": dict(total)}.items():
        cells = [values.get(kind, 0) for kind in kinds]
        print(f"{step:10}" + "".join(f"{cell or '':>14}" for cell in (*cells, sum(cells))))


def main() -> None:
    """Measure on a disk, or with `--s3` on a gateway."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    os.environ["NORMALIZE__DRIVER_ROWS"] = "20000"
    for owner, name, step in _STEPS:
        setattr(owner, name, in_step(getattr(owner, name), step))
    for kind in CALLS:
        setattr(FileStorage, kind, counted(getattr(FileStorage, kind), kind))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-round-trips-")))
        place, credentials = str(folder / "lake"), None
        if options.s3:
            proxy: Proxy = stack.enter_context(faulty(stack.enter_context(gateway())))
            proxy.plan = note_request
            place = f"s3://{_BUCKET}"
            credentials = AwsCredentials(
                aws_access_key_id=_KEY,
                aws_secret_access_key=_SECRET,
                endpoint_url=proxy.url,
                conditional_writes=True,
            )
        results = measure(place, folder, options.rounds, credentials, lists=options.calls)
    if options.into:
        options.into.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
