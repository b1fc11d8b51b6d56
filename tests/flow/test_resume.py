"""The next run resumes a crashed one, and nothing is loaded twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import process_env
from tests.flow.factories import make_pipeline, packages_of

from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.reference import DeltaReference
from penstock.errors import PackageDamaged, PipelineStepFailed
from penstock.extract.run import extract
from penstock.interfaces import CommitRecord, Destination
from penstock.package import FileStorage, create_load_id
from penstock.package.file_ledger import FileLedger
from penstock.schema import naming_convention
from penstock.sources import flows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.schema import Schema

KILLED = """
import os, signal, sys
import penstock

def rows():
    for number in range(2_000):
        yield {"id": number, "tags": ["a", "b"]}
        if number == 1_000:
            os.kill(os.getpid(), signal.SIGKILL)

lake = penstock.destinations.delta(sys.argv[1])
penstock.pipeline("quick", pipelines_dir=sys.argv[2], destination=lake, dataset_name="demo").run(rows)
"""


def test_an_extracted_package_is_loaded_by_the_next_run_before_its_own_data(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__PENDING", "continue")
    rest = packages_of(location).package(create_load_id())
    (old,) = flows_of([{"id": 1}, {"id": 2}], table_name="items")
    done = extract(old, rest, schema_name="quick", naming=naming_convention(), state={})
    rest.mark_extracted(done.extracted.to_dict())

    info = make_pipeline(location, tmp_path, spark).run([{"id": 3}], table_name="items")

    assert [package.sequence for package in info.packages] == [1, 2]
    assert info.loads_ids[0] == rest.load_id
    rows = make_pipeline(location, tmp_path, spark).dataset()["items"].fetchall()
    assert sorted(row[0] for row in rows) == [1, 2, 3]


class DeadBeforeCommit(FileLedger):
    """A ledger whose process ends after all table commits and before the row of the load."""

    def commit(self, record: CommitRecord) -> bool:
        raise SystemExit(record.load_id)


class DyingClient(DeltaClient):
    def ledger(self) -> FileLedger:
        return DeadBeforeCommit(FileStorage(self.displayable_location()))


class DyingReference(DeltaReference):
    def client(
        self, schema: Schema, initial_config: Any = None, *, spark: SparkSession | None = None
    ) -> DeltaClient:
        return DyingClient(schema, initial_config, self.capabilities(), spark=spark)


def test_a_sealed_package_that_was_not_committed_is_rolled_forward_without_duplicates(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    dying = Destination("delta", DyingReference(), {"bucket_url": location})
    with pytest.raises(SystemExit) as end:
        make_pipeline(location, tmp_path, spark).run(
            [{"id": 1, "tags": ["x"]}], table_name="items", destination=dying
        )

    again = make_pipeline(location, tmp_path / "another machine", spark).run()

    assert again.loads_ids == [end.value.code]
    assert all(table.skipped for table in again.packages[0].tables)
    assert "was committed before" in str(again)
    assert make_pipeline(location, tmp_path, spark).dataset().row_counts() == {"items": 1, "items__tags": 1}
    assert packages_of(location).package(again.loads_ids[0]).status == "loaded"


def test_a_committed_package_that_was_not_cleaned_up_is_not_loaded_again(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    info = pipeline.run([{"id": 1}], table_name="items")
    package = packages_of(location).package(info.loads_ids[0])
    (Path(package.path) / "package_completed.json").unlink()

    again = pipeline.run()

    assert again.loads_ids == []
    assert package.status == "loaded"
    assert pipeline.dataset().row_counts() == {"items": 1}


def test_missing_files_are_reported_before_a_table_changes_and_their_load_can_be_aborted(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.extract(spark.range(30).repartition(3), table_name="items")
    pipeline.normalize()
    removed = next(Path(location).glob("demo/_dlt_pkg/**/data/**/*.parquet"))
    removed.unlink()

    with pytest.raises(PipelineStepFailed, match="it has 2 data files, but 3 were written") as failed:
        pipeline.load()

    assert isinstance(failed.value.exception, PackageDamaged)
    assert not Path(location, "demo", "items").exists()
    pipeline.drop_pending_packages()
    pipeline.run([{"id": 1}], table_name="items")
    assert pipeline.dataset().row_counts() == {"items": 1}


@pytest.mark.at_length
def test_a_process_killed_during_extract_leaves_nothing_that_is_loaded(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", KILLED, location, str(tmp_path / "pipelines")]
    killed = subprocess.run(command, check=False, capture_output=True, env=process_env(), cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    def rows() -> Any:
        yield from ({"id": number} for number in range(3))

    info = make_pipeline(location, tmp_path, spark).run(rows)

    assert len(info.packages) == 1
    assert make_pipeline(location, tmp_path, spark).dataset().row_counts() == {"rows": 3}
