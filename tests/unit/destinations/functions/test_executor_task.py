from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.destinations.functions.executor_task import (
    BATCH_COLUMN,
    ROW_COLUMN,
    BatchCall,
    PartitionSender,
    numbered_batches,
)
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TABLE = {
    "name": "items",
    "columns": {
        "id": {"data_type": "bigint"},
        "at": {"data_type": "timestamp"},
        "price": {"data_type": "decimal"},
        "tags": {"data_type": "json"},
        "opens": {"data_type": "time"},
        "day": {"data_type": "date"},
        "raw": {"data_type": "binary"},
    },
}
ROW = {
    "id": 1,
    "at": datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC),
    "price": Decimal("1.50"),
    "tags": '[{"x": 1.5}]',
    "opens": "08:30:00.000001",
    "day": date(2024, 5, 6),
    "raw": b"\x00\xff",
}
CALLS: list[tuple[Any, ...]] = []


def keep(items: Any, table: Any, **identity: Any) -> None:
    CALLS.append((items, table["name"], identity))


def call_of(function: Callable[..., Any], *, as_rows: bool = True, names: Sequence[str] = ()) -> BatchCall:
    CALLS.clear()
    return BatchCall(
        function=function,
        table=TABLE,
        arguments={},
        batch_arguments=names,
        load_id="1.5",
        as_rows=as_rows,
    )


def numbered(*pairs: tuple[int, int]) -> list[pa.RecordBatch]:
    """Return one record batch for each batch number and number of rows, with counted rows."""
    columns = [
        pa.table({"id": range(rows), BATCH_COLUMN: [number] * rows, ROW_COLUMN: range(rows)})
        for number, rows in pairs
    ]
    return [batch for table in columns for batch in table.to_batches()]


def outcomes_of(function: Callable[..., Any], rows: list[pa.RecordBatch], *, seconds: float = 60.0) -> Any:
    task = PartitionSender(b"", lambda _: call_of(function), seconds=seconds)
    return [outcome for batch in task.run(iter(rows)) for outcome in batch.to_pylist()]


def test_rows_have_python_values() -> None:
    call_of(keep).send(0, pa.RecordBatch.from_pylist([ROW, dict.fromkeys(ROW)]))

    [(rows, name, identity)] = CALLS
    assert (name, identity) == ("items", {})
    assert rows == [{**ROW, "tags": [{"x": 1.5}], "opens": time(8, 30, 0, 1)}, dict.fromkeys(ROW)]


def test_arrow_batches_have_arrow_types() -> None:
    call_of(keep, as_rows=False).send(0, pa.RecordBatch.from_pylist([ROW]))

    [(batch, _, _)] = CALLS
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.field("opens").type == pa.time64("us")
    assert batch.to_pylist() == [{**ROW, "opens": time(8, 30, 0, 1)}]


def test_a_function_gets_only_the_identity_that_it_takes() -> None:
    batch = pa.RecordBatch.from_pylist([{"id": 1}])

    call_of(keep, names=("load_id", "batch_number")).send(7, batch)
    both = CALLS[0][2]
    call_of(keep, names=("batch_number",)).send(7, batch)

    assert both == {"load_id": "1.5", "batch_number": 7}
    assert CALLS[0][2] == {"batch_number": 7}


def test_a_batch_is_whole_where_arrow_cuts_it() -> None:
    rows = pa.Table.from_batches(numbered((4, 3), (6, 2))).combine_chunks().to_batches()[0]
    chunks = [rows.slice(0, 1), rows.slice(1, 3), rows.slice(4, 1)]

    batches = list(numbered_batches(chunks))

    assert [(number, batch.to_pydict()) for number, batch in batches] == [
        (4, {"id": [0, 1, 2]}),
        (6, {"id": [0, 1]}),
    ]


def test_an_error_ends_the_task_and_names_its_batch() -> None:
    def refuse_second(items: Any, table: Any) -> None:
        if len(items) == 2:
            raise ConnectionError("busy")

    sent, failed = outcomes_of(refuse_second, numbered((0, 1), (1, 2), (2, 1)))

    assert (sent["batch"], sent["error"]) == (0, None)
    assert (failed["batch"], failed["error"], failed["terminal"]) == (1, "ConnectionError: busy", False)
    assert "refuse_second" in failed["trace"]


def test_a_terminal_error_is_known_by_its_name() -> None:
    def refuse(items: Any, table: Any) -> None:
        raise DestinationTerminalException("no such endpoint")

    [failed] = outcomes_of(refuse, numbered((0, 1)))

    assert failed["terminal"]


def test_a_task_without_time_sends_one_batch_and_leaves_the_others() -> None:
    outcomes = outcomes_of(keep, numbered((0, 1), (1, 1), (2, 1)), seconds=0.0)

    assert [outcome["batch"] for outcome in outcomes] == [0]


def test_a_task_needs_no_session_to_be_pickled() -> None:
    task = pickle.loads(pickle.dumps(PartitionSender(b"", pickle.loads, seconds=1.0)))

    assert list(task.run(iter([]))) == []
