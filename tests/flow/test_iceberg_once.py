"""A commit to an Iceberg table is made once, through crashes and other writers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.iceberg_dataset import IcebergDataset, mark, open_iceberg_dataset, with_step_callback

from penstock.destinations.iceberg.history import branch_name, is_commit_of
from penstock.errors import CommitRolledBack, DestinationAhead, DestinationTerminalException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.run import IcebergTables
    from penstock.interfaces import AppliedJob


class Crash(BaseException):
    """The simulated end of a process."""


def dying(tables: IcebergTables, at: str) -> IcebergTables:
    def die(step: str, table: str) -> None:
        if step == at:
            raise Crash

    return with_step_callback(tables, die)


def at_step(tables: IcebergTables, wanted: str, act: Callable[[], Any]) -> IcebergTables:
    """Call back before a step is made for the first time."""
    output: list[str] = []

    def tell(step: str, table: str) -> None:
        if step == wanted and not output:
            output.append(step)
            act()

    return with_step_callback(tables, tell)


@pytest.fixture
def lake(location: str, spark: SparkSession) -> Iterator[IcebergDataset]:
    with open_iceberg_dataset(location, spark) as result:
        yield result


def commits_of(lake: IcebergDataset, sequence: int) -> int:
    return sum(is_commit_of(snapshot.summary, mark(sequence)) for snapshot in lake.lineage().main_snapshots)


@pytest.mark.parametrize(
    ("step", "is_new"),
    [
        ("fast_forward", True),
        ("write", False),
        *(
            pytest.param(*item, marks=pytest.mark.at_length)
            for item in (("branch", True), ("branch", False), ("write", True), ("fast_forward", False))
        ),
    ],
)
def test_a_process_killed_at_any_step_leads_to_one_commit(
    lake: IcebergDataset, step: str, is_new: bool
) -> None:
    if not is_new:
        lake.append(9, load=mark(1))
    with pytest.raises(Crash):
        lake.append(1, 2, load=mark(2), tables=dying(lake.tables, step))
    before = lake.lineage().commits()

    again = lake.append(1, 2, load=mark(2))
    once_more = lake.append(1, 2, load=mark(2))

    assert [item.load_id for item in before] == (["" if is_new else mark(1).load_id])
    assert (again.rows, again.skipped, once_more.skipped) == (2, False, True)
    assert once_more.version_after == again.version_after
    assert lake.ids() == ([1, 2] if is_new else [1, 2, 9])
    assert commits_of(lake, 2) == 1


def test_two_attempts_of_one_load_make_one_commit(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    for sequence, step in enumerate(("branch", "write", "fast_forward"), start=2):
        done: list[AppliedJob] = []
        other = partial(lake.append, 1, load=mark(sequence))
        slow = at_step(lake.tables, step, lambda result=done, act=other: result.append(act()))  # type: ignore[misc]

        late = lake.append(1, load=mark(sequence), tables=slow)

        assert [item.version_after for item in done] == [late.version_after]
        assert commits_of(lake, sequence) == 1
    assert lake.ids() == [1, 1, 1, 9]


@pytest.mark.at_length
def test_an_attempt_whose_branch_was_dropped_does_not_commit(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))

    def others() -> None:
        lake.append(1, load=mark(2))
        for branch in [name for name in lake.lineage().refs if name != "main"]:
            lake.spark.sql(lake.tables.addressing.drop_branch_statement("items", branch))

    late = lake.append(1, load=mark(2), tables=at_step(lake.tables, "fast_forward", others))

    assert late.skipped
    assert lake.ids() == [1, 9]


def test_a_commit_of_another_writer_is_kept(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    foreign = at_step(lake.tables, "fast_forward", lambda: lake.append(5, load=mark(7, "other")))

    result = lake.append(1, load=mark(2), tables=foreign)

    assert not result.skipped
    assert lake.ids() == [1, 5, 9]
    assert [commit.load_id for commit in lake.lineage().commits()] == ["shop-2", "other-7", "shop-1"]


@pytest.mark.at_length
def test_load_marks_and_the_previous_version_survive_an_expiry_of_snapshots(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    done = lake.append(1, load=mark(2))
    lake.append(5, load=mark(7, "other"))

    lake.expire_all()

    assert lake.append(1, load=mark(2)).skipped
    assert [commit.load_id for commit in lake.lineage().commits()] == ["other-7", "shop-2", "shop-1"]
    held = lake.tables.read("items", done.version_before, spark=lake.spark)
    assert [row["id"] for row in held.collect()] == [9]


@pytest.mark.at_length
def test_leftover_branches_are_dropped_by_the_next_load(lake: IcebergDataset) -> None:
    lake.append(1, load=mark(1))
    lake.append(2, load=mark(2))

    assert set(lake.lineage().refs) == {"main", branch_name(mark(2))}


@pytest.mark.at_length
def test_a_load_is_rolled_back_once_and_not_applied_again(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    done = lake.append(1, load=mark(2))

    result = lake.tables.to_undo("items", mark(2), spark=lake.spark)
    for _ in range(2):
        lake.tables.undo(done, mark(2).load_id, spark=lake.spark)

    assert result == done
    assert lake.ids() == [9]
    assert lake.tables.to_undo("items", mark(2), spark=lake.spark) is None
    assert [(commit.load_id, commit.undoes) for commit in lake.lineage().commits()] == [
        (None, "shop-2"),
        ("shop-1", None),
    ]
    with pytest.raises(DestinationTerminalException, match="rolled back"):
        lake.append(1, load=mark(2))


@pytest.mark.parametrize("step", ["fast_forward", pytest.param("branch", marks=pytest.mark.at_length)])
def test_a_table_refuses_an_aborted_load(lake: IcebergDataset, step: str) -> None:
    lake.append(9, load=mark(1))
    late = at_step(lake.tables, step, lambda: lake.tables.fence("items", mark(2), spark=lake.spark))

    with pytest.raises(DestinationTerminalException, match="rolled back"):
        lake.append(1, load=mark(2), tables=late)
    lake.tables.fence("items", mark(2), spark=lake.spark)
    lake.tables.fence("absent", mark(2), spark=lake.spark)

    assert [(commit.load_id, commit.undoes) for commit in lake.lineage().commits()] == [
        (None, mark(2).load_id),
        (mark(1).load_id, None),
    ]
    assert lake.append(3, load=mark(3)).rows == 1
    assert lake.ids() == [3, 9]


def test_a_table_that_was_rolled_back_does_not_count_as_loaded(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    done = lake.append(1, load=mark(2))
    lake.tables.verify(done, mark(2), spark=lake.spark)
    back = lake.tables.addressing.call_statement(
        "rollback_to_snapshot", "items", snapshot_id=str(done.version_before)
    )
    lake.spark.sql(back)

    with pytest.raises(CommitRolledBack):
        lake.tables.verify(done, mark(2), spark=lake.spark)


@pytest.mark.parametrize("step", [pytest.param("fast_forward", marks=pytest.mark.at_length), "rollback"])
def test_an_unfinished_rollback_is_never_published(lake: IcebergDataset, step: str) -> None:
    """A process ends before it publishes, or after the rollback and before it recorded it."""
    lake.append(9, load=mark(1))
    if step == "fast_forward":
        with pytest.raises(Crash):
            lake.append(1, load=mark(2), tables=dying(lake.tables, step))
    else:
        done = lake.append(1, load=mark(2))
        back = lake.tables.addressing.call_statement(
            "rollback_to_snapshot", "items", snapshot_id=str(done.version_before)
        )
        lake.spark.sql(back)

    result = lake.tables.to_undo("items", mark(2), spark=lake.spark)
    assert result is not None
    lake.tables.undo(result, mark(2).load_id, spark=lake.spark)

    assert lake.tables.to_undo("items", mark(2), spark=lake.spark) is None
    with pytest.raises(DestinationTerminalException, match="rolled back"):
        lake.append(1, load=mark(2))
    assert lake.ids() == [9]


@pytest.mark.at_length
def test_a_commit_made_during_a_rollback_is_kept(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    done = lake.append(1, load=mark(2))
    act = partial(lake.append, 5, load=mark(7, "other"))

    with pytest.raises(DestinationTerminalException, match="cannot be rolled back"):
        at_step(lake.tables, "rollback_to_snapshot", act).undo(done, mark(2).load_id, spark=lake.spark)

    assert lake.ids() == [1, 5, 9]


def test_a_load_in_doubt_raises_and_readers_see_the_last_complete_version(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    done = lake.append(1, load=mark(2))
    for item in (5, 6, 7):
        lake.append(item, load=mark(item, "other"))
    lake.expire_all()

    with pytest.raises(DestinationTerminalException, match="does not show whether"):
        lake.append(1, load=mark(2))
    with pytest.raises(DestinationTerminalException, match="does not show whether"):
        lake.tables.to_undo("items", mark(2), spark=lake.spark)
    output = [commit.load_id for commit in lake.lineage().commits()]
    assert output[output.index("shop-2") :] == ["shop-2", "shop-1"]
    assert lake.ids() == [1, 5, 6, 7, 9]
    held = lake.tables.read("items", done.version_before, spark=lake.spark)
    assert [row["id"] for row in held.collect()] == [9]


@pytest.mark.at_length
def test_an_attempt_after_all_snapshots_expired_changes_nothing(lake: IcebergDataset) -> None:
    lake.append(9, load=mark(1))
    done = lake.append(1, load=mark(2))
    assert done.version_after is not None
    lake.spark.sql(
        lake.tables.addressing.expire_branch_statement("items", branch_name(mark(2)), done.version_after)
    )
    for item in (5, 6, 7):
        lake.append(item, load=mark(item, "other"))
    lake.expire_all()

    with pytest.raises(DestinationTerminalException, match="does not show whether"):
        lake.append(1, load=mark(2))
    lake.append(3, load=mark(3))
    with pytest.raises(DestinationAhead):
        lake.append(1, load=mark(2))
    assert lake.ids() == [1, 3, 5, 6, 7, 9]


@pytest.mark.at_length
def test_the_first_load_of_a_table_is_rolled_back_to_no_rows(lake: IcebergDataset) -> None:
    done = lake.append(1, load=mark(1))

    lake.tables.undo(done, mark(1).load_id, spark=lake.spark)

    assert done.version_before is None
    assert lake.ids() == []
    assert lake.lineage().commits()[0].undoes == "shop-1"


@pytest.mark.at_length
def test_a_table_with_later_commits_is_not_rolled_back(lake: IcebergDataset) -> None:
    done = lake.append(1, load=mark(1))
    lake.append(5, load=mark(7, "other"))

    with pytest.raises(DestinationTerminalException, match="cannot be rolled back"):
        lake.tables.undo(done, mark(1).load_id, spark=lake.spark)
    with pytest.raises(DestinationTerminalException, match="cannot be rolled back"):
        lake.tables.to_undo("items", mark(1), spark=lake.spark)

    assert lake.ids() == [1, 5]


@pytest.mark.at_length
def test_a_commit_without_a_branch_is_made_once_too(location: str, spark: SparkSession) -> None:
    with open_iceberg_dataset(location, spark, commits="direct") as lake:
        first, second = lake.append(1, load=mark(1)), lake.append(1, load=mark(1))
        lake.append(2, load=mark(2))

        assert (first.skipped, first.version_before, second.skipped) == (False, None, True)
        assert lake.ids() == [1, 2]
        assert set(lake.lineage().refs) == {"main"}
        with pytest.raises(DestinationAhead):
            lake.append(3, load=replace(mark(1), load_id="another"))
