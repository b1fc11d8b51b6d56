"""A commit to a Delta table is made once, and counts only as long as the table has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.flow.delta_dataset import DeltaDataset, mark

from penstock.errors import CommitLost, CommitRolledBack, DestinationAhead, DestinationTerminalException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=["by reference", pytest.param("by Spark", marks=pytest.mark.at_length)])
def lake(location: str, own: SparkSession, request: pytest.FixtureRequest) -> DeltaDataset:
    return DeltaDataset(location, own, commit_by_reference=request.param == "by reference")


def test_a_transaction_that_delta_skips_counts_only_if_the_history_has_its_commit(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(2))

    assert lake.append(1, load=mark(2)).skipped
    with pytest.raises(DestinationAhead):
        lake.append(5, load=replace(mark(2), manifest_hash="another load with the same number"))
    with pytest.raises(DestinationAhead):
        lake.append(5, load=mark(1))
    assert lake.ids() == [1]


def test_a_commit_that_another_writer_removed_is_lost(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))

    with pytest.raises(CommitLost):
        lake.append(2, load=mark(2), tables=lake.with_write_callback(lake.overwrite_last_commit))


def test_a_restored_table_does_not_count_as_loaded_until_it_is_restored_forward(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    done = lake.append(2, load=mark(2))
    lake.tables.verify(done, mark(2), spark=lake.spark)
    lake.restore(0)

    with pytest.raises(CommitRolledBack):
        lake.append(2, load=mark(2))
    with pytest.raises(CommitRolledBack):
        lake.tables.verify(done, mark(2), spark=lake.spark)
    assert lake.tables.to_undo("items", mark(2), spark=lake.spark) is None
    lake.restore(1)
    lake.tables.verify(done, mark(2), spark=lake.spark)
    assert lake.append(2, load=mark(2)).skipped
    assert lake.ids() == [1, 2]


def test_a_table_refuses_an_aborted_load(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    lake.append(7, load=mark(9, "other"))
    for _ in range(2):
        lake.tables.fence("items", mark(2), spark=lake.spark)
    lake.tables.fence("absent", mark(2), spark=lake.spark)

    with pytest.raises(DestinationAhead):
        lake.append(2, load=mark(2))
    assert lake.ids() == [1, 7]
    assert len(lake.history()) == 3, "one commit, however often"
    result = lake.tables.to_undo("items", mark(9, "other"), spark=lake.spark)
    assert result is not None, "the commit that refuses a load changes no row of another one"
    assert lake.append(3, load=mark(3)).rows == 1
    assert lake.ids() == [1, 3, 7]


@pytest.mark.at_length
def test_a_commit_made_before_the_fence_is_undone_for_good(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    lake.append(2, load=mark(2))
    lake.tables.fence("items", mark(2), spark=lake.spark)

    result = lake.tables.to_undo("items", mark(2), spark=lake.spark)
    assert result is not None
    lake.tables.undo(result, mark(2).load_id, spark=lake.spark)

    with pytest.raises(CommitRolledBack):
        lake.append(2, load=mark(2))
    assert lake.ids() == [1]


@pytest.mark.at_length
@pytest.mark.parametrize("is_there", [True, False])
def test_after_the_retention_of_the_log_rows_show_whether_a_load_was_written(
    lake: DeltaDataset, is_there: bool
) -> None:
    lake.append(1, load=mark(1))
    done = lake.append(2, load=mark(2))
    if not is_there:
        lake.spark.sql(f"DELETE FROM {lake.name} WHERE id = 2")
    lake.forget_history()
    assert min(row["version"] for row in lake.history()) > (done.version_after or 0)

    if is_there:
        assert lake.append(2, load=mark(2)).skipped
        lake.tables.verify(done, mark(2), spark=lake.spark)
    else:
        with pytest.raises(DestinationAhead):
            lake.append(2, load=mark(2))
    with pytest.raises(DestinationTerminalException, match="cannot be rolled back"):
        lake.tables.to_undo("items", mark(2), spark=lake.spark)
    assert lake.ids().count(2) == (1 if is_there else 0)
