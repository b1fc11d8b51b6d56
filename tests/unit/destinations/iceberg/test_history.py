"""The history of an Iceberg table, whose snapshot ids have no order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.destinations.iceberg.history import (
    MAIN,
    UNDONE,
    IcebergSnapshot,
    SnapshotHistory,
    branch_name,
    branch_sequence,
    load_properties,
    other_changes,
    parse_metadata,
    replace_properties,
    row_count,
)
from penstock.errors import DestinationAhead, DestinationTerminalException
from penstock.interfaces import LoadMark

NEW_TABLE = {"total-records": "0"}


def mark(sequence: int = 2, pipeline: str = "shop") -> LoadMark:
    return LoadMark(
        pipeline_name=pipeline, sequence=sequence, load_id=f"{sequence}.0", manifest_hash=f"m{sequence}"
    )


def history_of(*chain: tuple[int, dict[str, str]], main: int | None = None, **refs: int) -> SnapshotHistory:
    """Return a chain of snapshots; `main` is the last of them by default."""
    snapshots: dict[int, IcebergSnapshot] = {}
    parent = None
    for version, summary in chain:
        snapshots[version] = IcebergSnapshot(id=version, parent=parent, operation="append", summary=summary)
        parent = version
    names = dict(refs)
    if main != 0 and snapshots:
        names[MAIN] = main or next(reversed(snapshots))
    return SnapshotHistory(snapshots=snapshots, refs=names)


def test_the_order_of_snapshots_is_that_of_parents_and_not_of_ids() -> None:
    history = history_of((900, load_properties(mark(1))), (5, {}), (77, load_properties(mark(2))))

    assert [commit.version for commit in history.commits()] == [77, 5, 900]
    assert [commit.load_id for commit in history.commits()] == ["2.0", None, "1.0"]
    assert history.head == 77


def test_a_load_is_committed_only_if_its_snapshot_is_on_main() -> None:
    history = history_of((9, {}), (3, load_properties(mark())), main=9, **{branch_name(mark()): 3})

    assert history.find_commit("items", mark()) is None
    assert history.staged_branch(mark()) == branch_name(mark())


def test_a_snapshot_on_an_older_version_is_not_published() -> None:
    history = SnapshotHistory(
        snapshots={
            9: IcebergSnapshot(id=9, parent=None, operation="append"),
            3: IcebergSnapshot(id=3, parent=9, operation="append", summary=load_properties(mark())),
            4: IcebergSnapshot(id=4, parent=9, operation="append"),
        },
        refs={MAIN: 4, branch_name(mark()): 3},
    )

    assert history.staged_branch(mark()) is None


def test_a_branch_without_the_commit_of_the_load_is_not_published() -> None:
    history = history_of((9, {}), **{branch_name(mark()): 9})

    assert history.staged_branch(mark()) is None


def test_the_first_commit_to_a_new_table_has_no_version_before() -> None:
    history = history_of((9, NEW_TABLE), (3, load_properties(mark())), main=0, **{branch_name(mark()): 3})
    after = history_of((9, NEW_TABLE), (3, load_properties(mark())))

    assert history.staged_branch(mark()) == branch_name(mark())
    assert history.commits()[0].load_id == ""
    assert after.applied_job("items", after.main_snapshots[0]).version_before is None
    assert [commit.version for commit in after.commits()] == [3]


@pytest.mark.parametrize(
    "later", [load_properties(mark(3)), {**load_properties(mark(2)), "penstock.manifest": "other"}]
)
def test_a_table_with_a_later_load_of_the_pipeline_is_ahead(later: dict[str, str]) -> None:
    with pytest.raises(DestinationAhead):
        history_of((9, {}), (3, later)).find_commit("items", mark(2))


def test_loads_of_other_pipelines_are_ignored() -> None:
    assert history_of((9, load_properties(mark(7, "other")))).find_commit("items", mark(2)) is None


def test_an_undone_load_is_not_committed_again() -> None:
    with pytest.raises(DestinationTerminalException, match="rolled back"):
        history_of((9, {}), (3, {UNDONE: mark().load_id})).find_commit("items", mark())


def test_branches_of_earlier_loads_of_the_pipeline_are_leftovers() -> None:
    names = [branch_name(mark(1)), f"{branch_name(mark(1))}_ab12", branch_name(mark(2)), "audit"]
    others = branch_name(mark(1, "other"))

    history = history_of((9, {}), **dict.fromkeys([*names, others], 9))

    assert set(history.leftover_branches(mark(2))) == set(names[:2])
    assert branch_sequence(others, "shop") is None


def test_a_torn_read_of_the_history_is_detected() -> None:
    assert SnapshotHistory(snapshots={}, refs={MAIN: 1}).is_torn
    assert not history_of((1, {})).is_torn


def test_history_ends_at_expired_snapshots() -> None:
    history = SnapshotHistory(
        snapshots={3: IcebergSnapshot(id=3, parent=2, operation="append", summary=load_properties(mark()))},
        refs={MAIN: 3},
    )

    assert [commit.version for commit in history.commits()] == [3]
    assert history.applied_job("items", history.main_snapshots[0]).version_before == 2


@pytest.mark.parametrize(
    ("operation", "summary", "rows"),
    [
        ("append", {"added-records": "3", "total-records": "9"}, 3),
        ("append", {}, 0),
        ("overwrite", {"added-records": "3", "total-records": "3"}, 3),
        ("overwrite", {"total-records": "0"}, 0),
        ("overwrite", {"added-records": "3", "total-records": "9"}, None),
        (
            "overwrite",
            {
                "added-records": "9",
                "total-records": "9",
                "spark.merge-into.num-target-rows-inserted": "1",
                "spark.merge-into.num-target-rows-updated": "2",
            },
            3,
        ),
    ],
)
def test_copied_rows_are_not_counted(operation: str, summary: dict[str, str], rows: int | None) -> None:
    assert row_count(operation, summary) == rows


def cut(load: dict[str, str], *, parent: int | None = 2, **refs: int) -> SnapshotHistory:
    """Return a history with `main` at 9 and expired ancestors; a branch of the load retains 3 and 2."""
    snapshots = [
        IcebergSnapshot(id=9, parent=8, operation="append"),
        IcebergSnapshot(id=3, parent=parent, operation="append", summary=load),
        IcebergSnapshot(id=2, parent=1, operation="append"),
    ]
    names = refs or {branch_name(mark()): 3}
    return SnapshotHistory(snapshots={commit.id: commit for commit in snapshots}, refs={MAIN: 9, **names})


def test_a_branch_below_expired_snapshots_is_in_doubt() -> None:
    history = cut(load_properties(mark()))

    assert history.find_visible("items", mark()) is None
    with pytest.raises(DestinationTerminalException, match="does not show whether"):
        history.find_commit("items", mark())
    assert [(commit.version, commit.load_id) for commit in history.commits()] == [
        (9, None),
        (3, "2.0"),
        (2, None),
    ]


def test_a_branch_that_begins_on_main_is_not_in_doubt() -> None:
    history = cut(load_properties(mark()), parent=9)

    assert history.find_commit("items", mark()) is None
    assert [commit.version for commit in history.commits()] == [9]


def test_branches_of_other_writers_are_not_in_doubt() -> None:
    assert cut({}).find_commit("items", mark()) is None
    assert cut(load_properties(mark()), audit=3).find_commit("items", mark()) is None
    assert cut(load_properties(mark(1))).find_commit("items", mark()) is None


def test_a_branch_of_a_later_load_refuses_an_earlier_one() -> None:
    with pytest.raises(DestinationAhead):
        history_of((9, {}), **{branch_name(mark(3)): 9}).find_commit("items", mark(2))


def test_a_load_with_a_branch_has_begun() -> None:
    assert history_of((9, {}), **{branch_name(mark()): 9}).branch_head(mark()) == 9
    assert history_of((9, {}), **{branch_name(mark(1)): 9}).branch_head(mark()) is None


def test_open_loads_of_other_pipelines_have_no_expiring_branch() -> None:
    theirs = branch_name(mark(1, "other"))
    history = history_of((9, {}), **dict.fromkeys([branch_name(mark()), theirs, "audit"], 9))

    assert history.open_branches_of_others("shop") == (theirs,)
    assert replace(history, expiring_refs=frozenset((theirs,))).open_branches_of_others("shop") == ()


def test_the_snapshot_of_an_undo_names_the_load() -> None:
    assert history_of((9, {}), (3, {UNDONE: mark().load_id})).is_undone(mark().load_id)
    assert not history_of((9, {}), (3, load_properties(mark()))).is_undone(mark().load_id)


def renewed() -> SnapshotHistory:
    """Return the history of a table with one load, recreated by another."""
    return SnapshotHistory(
        snapshots={
            9: IcebergSnapshot(id=9, parent=None, operation="append", summary=load_properties(mark(1))),
            4: IcebergSnapshot(
                id=4,
                parent=None,
                operation="append",
                summary={**load_properties(mark(2)), **replace_properties(9)},
            ),
        },
        refs={MAIN: 4},
    )


def test_a_recreated_table_records_the_version_before() -> None:
    history = renewed()

    assert [(commit.version, commit.load_id, commit.replaces) for commit in history.commits()] == [
        (4, "2.0", True),
        (9, "1.0", False),
    ]
    assert history.applied_job("items", history.main_snapshots[0]).version_before == 9
    assert history.is_table_replacement(4)
    assert not history.is_table_replacement(9)


def test_the_version_before_a_recreated_table_may_be_expired() -> None:
    history = replace(renewed(), snapshots={4: renewed().snapshots[4]})

    assert [commit.version for commit in history.commits()] == [4]
    assert history.in_doubt == ()
    assert history.find_commit("items", mark(2)) is not None


def test_an_undone_recreated_table_refuses_the_load() -> None:
    back = IcebergSnapshot(
        id=2, parent=None, operation="append", summary={UNDONE: "2.0", **replace_properties(4)}
    )
    history = replace(renewed(), snapshots={**renewed().snapshots, 2: back}, refs={MAIN: 2})

    assert history.is_undone("2.0")
    assert [commit.undoes for commit in history.commits()] == ["2.0", None, None]
    with pytest.raises(DestinationTerminalException, match="was rolled back"):
        history.find_visible("items", mark(2))


def test_the_metadata_of_a_table_has_its_history() -> None:
    summary = {"operation": "append", **load_properties(mark())}
    document = {
        "snapshots": [
            {"snapshot-id": 9, "summary": {"operation": "append"}},
            {"snapshot-id": 3, "parent-snapshot-id": 9, "summary": summary},
        ],
        "refs": {
            MAIN: {"snapshot-id": 3, "type": "branch"},
            "old": {"snapshot-id": 9, "type": "branch", "max-ref-age-ms": 1},
        },
    }

    history = parse_metadata(document)

    commit = history.find_commit("items", mark())
    assert commit == IcebergSnapshot(id=3, parent=9, operation="append", summary=load_properties(mark()))
    assert history.refs == {MAIN: 3, "old": 9}
    assert history.expiring_refs == {"old"}
    assert parse_metadata({}) == SnapshotHistory(snapshots={}, refs={})


def test_a_restored_table_shows_the_snapshots_that_it_replaced() -> None:
    restored = IcebergSnapshot(
        id=4, parent=1, operation="append", summary={**load_properties(mark(3)), **replace_properties(2)}
    )
    chain = history_of((1, load_properties(mark(1))), (2, load_properties(mark(2))))
    history = replace(chain, snapshots={**chain.snapshots, 4: restored}, refs={MAIN: 4})

    assert [commit.load_id for commit in history.commits()] == ["3.0", "2.0", "1.0"]
    assert history.applied_job("items", restored).version_before == 2
    assert [snapshot.id for snapshot in history.commits_since(1) or ()] == [4, 2]
    assert history.commits_since(99) is None


def test_snapshots_that_change_rows_and_are_not_of_own_loads_are_described() -> None:
    others = {"5.0": mark(5, "other")}
    snapshots = [
        IcebergSnapshot(id=6, parent=5, operation="append", summary={UNDONE: "9.0"}),
        IcebergSnapshot(id=5, parent=4, operation="append", summary=load_properties(mark(9))),
        IcebergSnapshot(id=4, parent=3, operation="replace"),
        IcebergSnapshot(id=3, parent=2, operation="overwrite"),
        IcebergSnapshot(id=2, parent=1, operation="append", summary=load_properties(others["5.0"])),
        IcebergSnapshot(id=1, parent=None, operation="append", summary=load_properties(mark(2))),
    ]

    assert other_changes(snapshots, {"2.0"}) == (
        "snapshot 2 (append) by load 5.0 of other",
        "snapshot 3 (overwrite) by another writer",
    )
