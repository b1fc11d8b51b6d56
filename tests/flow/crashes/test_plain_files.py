"""A load of plain files, killed at any step, ends like an undisturbed one in ledger and folder."""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.flow.crashes.plain_files_shop import TABLES, Content, comparable_content, shop
from tests.flow.crashes.recorded_load import chosen
from tests.flow.crashes.shop import NAME, expire_lease, image, lake_of, pipeline_at
from tests.flow.crashes.steps import Step, Steps, recording_steps, steps_not_recorded

import penstock
from penstock.destinations.filesystem import plain_client, table_files
from penstock.destinations.filesystem.run import write_rows
from penstock.destinations.filesystem.table_files import FileList, FileLists
from penstock.package.local_files import LocalFiles
from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import Destination


def files(root: Path) -> Destination:
    return penstock.destinations.filesystem(lake_of(root))


def run(root: Path, spark: SparkSession, upto: int, *, disk: str = "disk") -> None:
    pipeline_at(root, spark, destination=files(root), disk=disk).run(shop(upto))


def by_ledger(root: Path, spark: SparkSession) -> Content:
    """Return the content of `dataset()` on another machine."""
    dataset = pipeline_at(root, spark, destination=files(root), disk="reader").dataset()
    return comparable_content(
        {name: dataset[name].arrow().to_pylist() for name in TABLES if name in dataset.tables}
    )


def by_folder(root: Path) -> Content:
    """Return the content for a reader of plain files without penstock."""
    result: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in TABLES:
        for path in sorted((Path(lake_of(root)) / NAME / name).rglob("*.parquet")):
            result[name] += pq.read_table(path).to_pylist()
    return comparable_content({name: result[name] for name in TABLES})


@dataclass(frozen=True)
class RecordedLoad:
    """A load with an image at each of its steps."""

    folder: Path
    steps: tuple[Step, ...]
    contents: tuple[Content, Content]
    """Before the load and after it."""

    def trial(self, step: Step) -> Path:
        into = self.folder / "trial" / str(step.number)
        return Path(shutil.copytree(self.folder / "images" / str(step.number), into))

    def base(self, name: str) -> Path:
        return Path(shutil.copytree(self.folder / "base", self.folder / "trial" / name))

    def problems(self, root: Path, spark: SparkSession) -> list[str]:
        """Continue in a new process on another disk; return differences from a load without the crash."""
        run(root, spark, 2, disk="another")
        result = {"by ledger": by_ledger(root, spark), "by folder": by_folder(root)}
        return [f"{who}: {content}" for who, content in result.items() if content != self.contents[1]]


@pytest.fixture(scope="module")
def load(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> RecordedLoad:
    folder = tmp_path_factory.mktemp("files")
    root = folder / "root"
    (folder / "images").mkdir()
    run(root, spark, 1)
    image(root, folder / "base")
    before = by_ledger(root, spark)
    steps = Steps(root, lambda step: void(image(root, folder / "images" / str(step.number))))
    with pytest.MonkeyPatch.context() as patch, recording_steps(steps):
        patch.setenv("LOAD__WORKERS", "1")
        run(root, spark, 2)
    return RecordedLoad(folder, tuple(steps.seen), (before, by_ledger(root, spark)))


def void(_: object) -> None:
    return None


def test_an_undisturbed_load_writes_the_expected_rows(load: RecordedLoad) -> None:
    before, after = load.contents
    assert [row["id"] for row in before["stock"]["rows"]] == [1, 2]
    assert sorted(row["id"] for row in after["events"]["rows"]) == [1, 2, 3]
    assert after["stock"] == {"rows": [{"id": 3, "parts": [{"value": 4}]}], "orphans": {}}
    kinds = {step.kind for step in load.steps}
    for word in ("_dlt_files/stock/lists/", "_dlt_files/stock/<n>.json", "remove lake/shop/stock/"):
        assert any(word in kind for kind in kinds), kinds


def test_the_next_run_finishes_a_load_killed_at_any_step(
    load: RecordedLoad, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong: dict[str, list[str]] = {}
    tried = chosen(load.steps, few=2)
    for step in tried:
        trial = load.trial(step)
        seen = by_ledger(trial, spark)
        result = [] if seen in load.contents else [f"a reader saw {seen}"]
        result += load.problems(trial, spark)
        shutil.rmtree(trial)
        if result:
            wrong[f"{step.number} {step.what}"] = result

    with capsys.disabled():
        print(f"\nplain files: {len(tried)} of {len(load.steps)} points, {len(wrong)} wrong")  # noqa: T201 - figures
    assert not wrong


def die_at(word: str) -> Any:
    def look(step: Step) -> None:
        if word in step.what:
            raise Crash

    return look


class Forgetful(FileLists):
    """Every process thinks that it is the first."""

    def find(self, load_id: str) -> FileList | None:
        return None


@pytest.mark.at_length
@pytest.mark.parametrize("is_agreed", [True, False])
def test_without_the_file_list_a_retry_leaves_files_of_the_first_attempt(
    load: RecordedLoad, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, is_agreed: bool
) -> None:
    """The first attempt has two files for each table, the second one, as on a cluster of another size."""
    root, write = load.base(f"agreed-{is_agreed}"), write_rows
    if not is_agreed:
        monkeypatch.setattr(table_files, "FileLists", Forgetful)

    def write_two(rows: DataFrame, *arguments: Any, **options: Any) -> Any:
        return write(rows.repartition(2), *arguments, **options)

    monkeypatch.setattr(plain_client, "write_rows", write_two)
    steps = Steps(root, die_at("link lake/shop/_dlt_files/events/0"))
    with recording_steps(steps), pytest.raises(Crash):
        run(root, spark, 2)
    monkeypatch.setattr(plain_client, "write_rows", write)
    expire_lease(root)

    assert (load.problems(root, spark) == []) is is_agreed


@pytest.mark.at_length
@pytest.mark.parametrize("is_safe", [True, False])
def test_without_put_if_absent_a_commit_of_another_pipeline_is_lost(
    load: RecordedLoad, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, is_safe: bool
) -> None:
    root, done = load.base(f"two-writers-{is_safe}"), list[str]()
    if not is_safe:
        monkeypatch.setattr(LocalFiles, "put_if_absent", careless(LocalFiles.put_if_absent))

    def other(step: Step) -> None:
        if "lake/shop/_dlt_files/events/0" in step.what and not done:
            done.append(step.what)
            with steps_not_recorded(steps):
                pipeline = penstock.pipeline(
                    "other",
                    pipelines_dir=root / "other",
                    destination=files(root),
                    dataset_name=NAME,
                    spark=spark,
                )
                pipeline.run([{"id": 99}], table_name="events")

    steps = Steps(root, other)
    with recording_steps(steps):
        run(root, spark, 2)
    monkeypatch.undo()

    assert done
    dataset = pipeline_at(root, spark, destination=files(root), disk="reader").dataset()
    result = sorted(row[0] for row in dataset["events"].select("id").fetchall())
    assert (result == [1, 2, 3, 99]) is is_safe, result


def careless(safe: Callable[[LocalFiles, str, bytes], bool]) -> Callable[[LocalFiles, str, bytes], bool]:
    """Overwrite files in the logs of tables, and report that they were created: the last writer wins."""

    def put(store: LocalFiles, path: str, content: bytes) -> bool:
        if "/_dlt_files/" not in path:
            return safe(store, path, content)
        store.put(path, content)
        return True

    return put
