"""`penstock adopt`: the output for people and programs, and the pipeline that continues the table."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.command_documents import read_documents
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

pytestmark = pytest.mark.usefixtures("no_spark")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
OPTIONS = ("--pipeline", "shop", "--location", "lake", "--dataset-name", "raw", "--primary-key", "id")


@pytest.fixture
def lake(tmp_path: Path, disk: Path) -> Path:
    """Return the folder of lakes, with the table `orders`."""
    del disk
    columns = [
        (pa.field("id", pa.int32(), nullable=False), [1, 2, 3]),
        (pa.field("price", pa.decimal128(9, 2)), [None] * 3),
        (pa.field("updated_at", pa.timestamp("us", "UTC")), [NOON] * 3),
        (pa.field("day", pa.date32()), [NOON.date()] * 3),
    ]
    arrays = [pa.array(values, field.type) for field, values in columns]
    table = pa.table(arrays, schema=pa.schema([field for field, _ in columns]))
    write_deltalake(str(tmp_path / "lake" / "raw" / "orders"), table, partition_by="day")
    return tmp_path / "lake"


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["adopt", *words])


def test_a_table_is_shown_and_then_adopted(lake: Path) -> None:
    shown = invoke("orders", *OPTIONS, "--cursor", "updated_at", "--dry-run")
    existed = (lake / "raw" / "_dlt_pkg").exists()
    adopted = invoke("orders", *OPTIONS, "--cursor", "updated_at")
    without_cursor = invoke("orders", *OPTIONS, "--pipeline", "other", "--dry-run")

    (load_id,) = penstock.attach("shop").list_completed_load_packages()
    text = "\n".join(done.stdout for done in (shown, adopted, without_cursor))
    assert_output("adopt", text.replace(str(lake), "LAKE").replace(load_id, "LOAD"))
    assert not existed
    assert DeltaTable(str(lake / "raw" / "orders")).version() == 0


def test_files_of_a_stream_are_shown(lake: Path, tmp_path: Path) -> None:
    raw, checkpoint = tmp_path / "raw", tmp_path / "checkpoint"
    names = ("changed", "new", "read")
    for folder in (raw, *(checkpoint / name for name in ("sources/0", "offsets", "commits"))):
        folder.mkdir(parents=True)
    for second, name in enumerate(names, 1):
        (raw / f"{name}.csv").touch()
        os.utime(raw / f"{name}.csv", (second, second))
    log = {"changed": 500, "deleted": 900, "read": 3000}
    entries = [
        json.dumps({"path": (raw / f"{name}.csv").as_uri(), "timestamp": time, "batchId": 0})
        for name, time in log.items()
    ]
    (checkpoint / "sources/0/0").write_text("\n".join(["v1", *entries]))
    (checkpoint / "offsets/0").write_text('v1\n{}\n{"logOffset":0}')
    (checkpoint / "commits/0").write_text("v1\n{}")
    words = ("--checkpoint", "checkpoint", "--files", "raw", "--changed-files", "read", "--dry-run")

    done = invoke("orders", *OPTIONS, *words)

    text = done.stdout.replace(str(lake), "LAKE").replace(str(tmp_path), "HERE")
    assert_output("adopt_files", text)


def test_programs_get_one_object(lake: Path) -> None:
    assert lake.exists()
    done = invoke("orders", *OPTIONS, "--cursor", "id", "--json")

    (document,) = read_documents("adopt", done.stdout)
    assert (document["table"], document["resource"], document["rows"]) == ("orders", "orders", 3)
    assert document["columns"]["price"] == {
        "name": "price",
        "data_type": "decimal",
        "nullable": True,
        "precision": 9,
        "scale": 2,
    }
    assert document["cursor"] == {"column": "id", "path": "id", "last_value": 3, "rows_at_last_value": 1}
    assert document["load_id"] in penstock.attach("shop").list_completed_load_packages()


def test_the_name_of_the_pipeline_is_required(lake: Path) -> None:
    assert lake.exists()
    done = invoke("orders")

    assert (done.exit_code, "--pipeline" in done.stderr) == (2, True)


def test_a_pipeline_of_this_machine_keeps_its_destination(lake: Path) -> None:
    invoke("orders", *OPTIONS)
    write_deltalake(str(lake / "raw" / "buyers"), pa.table({"id": [1]}))

    done = invoke("buyers", "--pipeline", "shop", "--cursor", "id", "--primary-key", "id", "--json")

    (document,) = read_documents("adopt", done.stdout)
    assert document["location"] == str(lake / "raw")
    assert {"orders", "buyers"} <= set(penstock.attach("shop").default_schema.tables)
