"""The task of an executor, in a Python without penstock and orjson, and without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.restapi import Api

import penstock
from penstock.common import json as common_json
from penstock.errors import UsageError
from penstock.extract.waves.items import to_work_item
from penstock.extract.waves.plan import WavePlan
from penstock.extract.waves.serialize import serialize_resource
from penstock.extract.waves.split import split_flow
from penstock.sources import flows_of
from penstock.testing import cassette

if TYPE_CHECKING:
    from pathlib import Path

PLAN = WavePlan(items=100, parts=2, part_seconds=60)
STRANGER = """
import json, sys

class Nobody:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"penstock", "orjson", "tests"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nobody())
import pickle
for line in sys.stdin:
    job = pickle.loads(open(line.strip(), "rb").read())
    print(json.dumps([list(job.output_rows(part)) for part in range(len(job.parts))]), flush=True)
"""

Output = list[list[list[str]]]
TaskRunner = Callable[..., Output]


@pytest.fixture(scope="module")
def run_task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskRunner]:
    """Run one wave in a process shared by all tests; return the output of each part."""
    path = tmp_path_factory.mktemp("there") / "task"
    command = [sys.executable, "-c", STRANGER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, back = process.stdin, process.stdout

        def run(data: Any, *, plan: WavePlan = PLAN, keeps: bool = True) -> Output:
            (flow,) = flows_of(data)
            (work,) = split_flow(flow, on_executors=True).wave_resources
            assert work.stream.work is not None
            values = [to_work_item(value).value for value in work.stream.work.items]
            path.write_bytes(
                serialize_resource(work.stream, work.bound, keeps_bad_rows=keeps).task(values, plan)
            )
            to.write(f"{path}\n")
            to.flush()
            output: Output = json.loads(back.readline())
            return output

        yield run
        to.close()


@pytest.fixture
def set_encoder() -> Iterator[Callable[[Callable[[Any], Any]], None]]:
    yield common_json.set_custom_encoder
    common_json.set_custom_encoder(None)


def texts(output: Output, part: str = "rows") -> list[Any]:
    return [json.loads(text) for each in output for name, text in each if name == part]


def doubled(number: int) -> int:
    return number * 2


@penstock.resource(work_items=range(5))
def orders(item: int, key: penstock.TSecretStrValue = penstock.secrets.value, times: int = 1) -> Any:
    for _ in range(times):
        yield [{"id": item, "double": doubled(item)}]


def test_the_function_and_its_steps_run_without_penstock(run_task: TaskRunner) -> None:
    ready = orders(key="hunter2", times=2)
    ready.add_map(lambda row: {**row, "more": doubled(row["double"])}).add_filter(lambda row: row["id"] > 0)

    output = run_task(ready)

    rows = sorted(row["more"] for row in texts(output))
    assert rows == [4, 4, 8, 8, 12, 12, 16, 16]
    assert len(output) == 2


@pytest.mark.parametrize(
    ("give", "rows"),
    [
        (lambda item: {"v": item}, [{"v": 1}]),
        (lambda item: [{"v": item}, {"v": 2}], [{"v": 1}, {"v": 2}]),
        (lambda item: iter([item, None, [7]]), [{"value": 1}, {"value": 7}]),
        (lambda _: None, []),
        (lambda item: lambda: {"later": item}, [{"later": 1}]),
    ],
)
def test_every_result_of_a_generator_becomes_rows(give: Any, rows: list[Any], run_task: TaskRunner) -> None:
    data = penstock.resource(give, name="things", work_items=[1])

    assert texts(run_task(data)) == rows


def test_asynchronous_functions_run_on_executors(run_task: TaskRunner) -> None:
    @penstock.resource(work_items=["a"])
    async def letters(item: str) -> Any:
        yield {"letter": item}
        yield {"letter": item * 2}

    assert texts(run_task(letters)) == [{"letter": "a"}, {"letter": "aa"}]


def test_an_arrow_table_becomes_rows(run_task: TaskRunner) -> None:
    @penstock.resource(work_items=[1])
    def frames(item: int) -> Any:
        yield pa.table({"id": [item, item + 1]})

    assert texts(run_task(frames)) == [{"id": 1}, {"id": 2}]


def test_rows_can_name_their_table(run_task: TaskRunner) -> None:
    @penstock.resource(work_items=[1, 2], table_name=lambda row: f"kind {row['kind']}")
    def events(item: int) -> Any:
        yield {"kind": item}

    (first, second) = run_task(events)

    assert [bytes.fromhex(each[0][0].removeprefix("table-")).decode() for each in (first, second)] == [
        "kind 1",
        "kind 2",
    ]


def test_an_error_is_reported_with_item_and_traceback_and_without_secrets(
    run_task: TaskRunner,
) -> None:
    @penstock.resource(work_items=["first", "second", "third"])
    def broken(item: str, key: str = penstock.secrets.value) -> Any:
        yield {"item": item}
        raise ConnectionError(f"GET /{item}?key={key} was refused")

    output = run_task(broken(key="canary-of-executors-9"))

    (report, _) = texts(output, "failed")
    assert report["item"] == "'first'"
    assert report["cause"].startswith("ConnectionError('GET /first?key=***")
    assert "in broken" in report["traceback"]
    assert "canary" not in json.dumps(output)
    assert len(texts(output)) == 2, "a part ends with its first error"


def test_a_module_that_executors_lack_is_named(run_task: TaskRunner) -> None:
    @penstock.resource(work_items=[1])
    def asks(item: int) -> Any:
        yield {"state": penstock.current.resource_state(), "item": item}

    (report,) = texts(run_task(asks), "failed")

    assert report["module"] == "penstock"


def test_a_row_without_a_json_form_is_quarantined_or_ends_the_part(run_task: TaskRunner) -> None:
    data = penstock.resource(lambda item: [{"id": item}, {"v": 1j}], name="odd", work_items=[1])

    (row,) = texts(run_task(data), "aside")
    (report,) = texts(run_task(data, keeps=False), "failed")

    assert row["resource_name"] == "odd"
    assert row["reason"] == "complex has no JSON form"
    assert report["is_row"]


def test_items_after_the_deadline_are_returned_except_the_first(run_task: TaskRunner) -> None:
    data = penstock.resource(lambda item: {"id": item}, name="slow", work_items=range(5))

    (output,) = run_task(data, plan=WavePlan(items=9, parts=1, part_seconds=0))

    assert [part for part, _ in output] == ["rows", "left", "left", "left", "left"]
    assert [text for part, text in output if part == "left"] == ["1", "2", "3", "4"]


def test_items_keep_their_types(run_task: TaskRunner) -> None:
    data = penstock.resource(
        lambda item: {"days": (item[1] - item[0]).days},
        name="windows",
        work_items=penstock.sources.windows(date(2024, 1, 1), date(2024, 1, 11), 7),
    )

    assert texts(run_task(data)) == [{"days": 7}, {"days": 3}]


def test_a_resource_that_cannot_be_serialized_is_refused_before_the_run(run_task: TaskRunner) -> None:
    lock = threading.Lock()

    @penstock.resource(work_items=[1])
    def locked(item: int) -> Any:
        with lock:
            yield {"id": item}

    with pytest.raises(UsageError, match="cannot be serialized") as refused:
        run_task(locked)
    assert "extract.work_items" in refused.value.hint


def encode_complex(value: Any) -> Any:
    if isinstance(value, complex):
        return [value.real, value.imag]
    raise TypeError(f"{value!r} is unknown")


def test_values_without_a_json_form_are_passed_to_the_encoder_of_the_driver(
    run_task: TaskRunner, set_encoder: Callable[[Callable[[Any], Any]], None]
) -> None:
    set_encoder(encode_complex)
    data = penstock.resource(lambda item: [{"v": complex(item, 2)}, {"v": set}], name="v", work_items=[1])

    output = run_task(data)

    assert texts(output) == [{"v": [1.0, 2.0]}]
    assert [row["reason"] for row in texts(output, "aside")] == ["<class 'set'> is unknown"]


def test_an_encoder_that_cannot_be_serialized_is_refused_before_the_run(
    run_task: TaskRunner, set_encoder: Callable[[Callable[[Any], Any]], None]
) -> None:
    lock = threading.Lock()

    def encode_locked(value: Any) -> str:
        with lock:
            return str(value)

    set_encoder(encode_locked)

    with pytest.raises(UsageError, match="v cannot be serialized for executors"):
        run_task(penstock.resource(lambda item: {"v": item}, name="v", work_items=[1]))


def test_steps_and_hints_that_executors_do_not_support_are_refused(run_task: TaskRunner) -> None:
    counted = penstock.resource(lambda item: {"id": item}, name="counted", work_items=[1])
    counted.add_metrics(lambda _items, _meta, metrics: metrics.update(seen=1))
    hinted = penstock.resource(
        lambda item: {"id": item},
        name="hinted",
        work_items=[1],
        table_name=lambda row: row["id"],
        write_disposition=lambda _: "append",
    )

    with pytest.raises(UsageError, match="add_metrics"):
        run_task(counted)
    with pytest.raises(UsageError, match="depend on its rows"):
        run_task(hinted)


def test_requests_on_executors_are_recorded_and_replayed(run_task: TaskRunner, tmp_path: Path) -> None:
    @penstock.resource(work_items=range(4))
    def posts(item: int, url: str, key: penstock.TSecretStrValue = penstock.secrets.value) -> Any:
        import requests

        response = requests.get(f"{url}/users/{item}/posts?limit=1", headers={"X-Key": key}, timeout=5)
        yield {"id": response.json()["data"][0]["id"], "key": len(response.text) > 0}
        yield {"id": requests.get(f"{url}/single", timeout=5).status_code}

    path = tmp_path / "posts.json"
    with Api() as api:
        with cassette(path, "record"):
            recorded = run_task(posts(url=api.url, key="sesame-on-executors"))
        count = len(api.seen)
    with cassette(path, all_used=True):
        replayed = run_task(posts(url=api.url, key="invented"))
    unmatched = run_task(posts(url=api.url, key="invented"))

    assert count == 8
    assert replayed == recorded
    assert len(texts(recorded)) == 8
    assert "sesame" not in path.read_text()
    assert "ConnectionError" in texts(unmatched, "failed")[0]["cause"]


def test_an_unrecorded_request_on_an_executor_names_the_nearest_one(
    run_task: TaskRunner, tmp_path: Path
) -> None:
    @penstock.resource(work_items=[2])
    def posts(item: int, url: str) -> Any:
        import requests

        yield requests.get(f"{url}?page={item}", timeout=5).json()

    path = tmp_path / "posts.json"
    request = {"method": "GET", "url": "https://api.test/posts?page=1", "headers": {}}
    exchange = {"request": request, "response": {"status": 200, "reason": "OK", "headers": {}}}
    path.write_text(json.dumps({"format": 1, "exchanges": [exchange]}))

    with cassette(path):
        (failure,) = texts(run_task(posts(url="https://api.test/posts")), "failed")

    assert "nearest: GET https://api.test/posts?page=1 (page is 2, recorded: 1)" in failure["cause"]
