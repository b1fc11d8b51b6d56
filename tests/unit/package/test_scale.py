"""The cost of a package does not depend on the number of its data files."""

from __future__ import annotations

from collections import Counter
from typing import IO, TYPE_CHECKING

import pytest
from tests.unit.package.package_model import manifest_of

from penstock.package import DataFolder, FileStorage, JobFile, Packages, ParsedLoadJobFileName, Projection
from penstock.package.local_files import LocalFiles
from penstock.package.projection.model import Level
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.package.local_files import DirEntry

LOAD_ID, TABLES = "17.5", 5
NAMES = [ParsedLoadJobFileName(f"table_{number}", "5c1c2f0d11", 0, "reference") for number in range(TABLES)]


class Counting(LocalFiles):
    """A disk that counts the calls it gets, and the entries it has listed."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def read(self, path: str) -> bytes:
        self.calls["read"] += 1
        return super().read(path)

    def exists(self, path: str) -> bool:
        self.calls["exists"] += 1
        return super().exists(path)

    def has_file(self, path: str) -> bool:
        self.calls["exists"] += 1
        return super().has_file(path)

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        self.calls["put"] += 1
        super().put(path, content, durable=durable)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.calls["put_if_absent"] += 1
        return super().put_if_absent(path, content)

    def move(self, source: str, target: str) -> None:
        self.calls["move"] += 1
        super().move(source, target)

    def entries(self, folder: str) -> list[DirEntry]:
        found = super().entries(folder)
        self.calls.update({"entries": 1, "listed": len(found)})
        return found

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        found = super().names(folder, prefix=prefix, after=after, limit=limit)
        self.calls.update({"names": 1, "listed": len(found)})
        return found

    def delete(self, path: str) -> None:
        self.calls["delete"] += 1
        super().delete(path)

    def open_new(self, path: str) -> IO[bytes]:
        self.calls["open_new"] += 1
        return super().open_new(path)


def write(packages: Packages, data_files: int) -> None:
    packages.extracted_packages.create_package(LOAD_ID, schema=Schema("shop"))
    package = packages.package(LOAD_ID)
    facts = []
    for name in NAMES:
        folder = DataFolder(path=f"data/{name.table_name}", files=data_files, bytes=0, digest="d")
        package.add_job(
            JobFile(
                name=name,
                load_id=LOAD_ID,
                package_path=package.path,
                data=folder,
                columns="id STRING",
                projection=Projection(levels=(Level(table="items"),)),
                rows=data_files,
            )
        )
        facts.append({"job_id": name.job_id(), "rows": data_files, "bytes": 0})
    package.mark_normalized({"jobs": facts})


def look(packages: Packages, _: int) -> None:
    info = packages.normalized_packages.get_load_package_info(LOAD_ID)
    assert sum(len(jobs) for jobs in info.jobs.values()) == TABLES


def load(packages: Packages, _: int) -> None:
    assert packages.seal(manifest_of(LOAD_ID, 1))
    for name in NAMES:
        packages.normalized_packages.start_job(LOAD_ID, name.file_name())
        packages.normalized_packages.complete_job(LOAD_ID, name.file_name(), {"rows": 1})
    packages.commit(manifest_of(LOAD_ID, 1))


def complete(packages: Packages, _: int) -> None:
    packages.normalized_packages.complete_loading_package(LOAD_ID, "loaded")


def finish(packages: Packages, _: int) -> None:
    packages.apply_retention()
    assert not packages.package(LOAD_ID).store.exists("data")


PHASES: dict[str, Callable[[Packages, int], None]] = {
    "write": write,
    "look": look,
    "start and complete jobs": load,
    "complete_loading_package": complete,
    "let the data go": finish,
}


def calls(root: Path, data_files: int) -> dict[str, Counter[str]]:
    """How often the storage is called in each phase of a package whose tables have so many data files."""
    for name in NAMES:
        folder = root / "packages" / LOAD_ID / "data" / name.table_name
        folder.mkdir(parents=True)
        for number in range(data_files):
            (folder / f"part-{number:05d}.parquet").touch()
    counted: dict[str, Counter[str]] = {}
    for phase, run in PHASES.items():
        files = Counting()
        run(Packages(FileStorage(str(root), files=files)), data_files)
        counted[phase] = files.calls
    return counted


def test_the_number_of_storage_calls_does_not_grow_with_the_number_of_data_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, many = calls(tmp_path / "few", 2), calls(tmp_path / "many", 2_000)

    assert few == many
    assert many["complete_loading_package"].total() - many["complete_loading_package"]["listed"] == 3
    assert many["let the data go"]["delete"] == 1
    with capsys.disabled():
        reports = ", ".join(
            f"{phase} {counted.total() - counted['listed']}" for phase, counted in many.items()
        )
        print(f"\ncalls for {TABLES} tables of 2 or 2,000 files each: {reports}")  # noqa: T201


@pytest.mark.parametrize("phase", ["look", "complete_loading_package"])
def test_listing_and_completing_cost_the_same_for_any_number_of_tables(
    tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for tables in (2, TABLES):
        with monkeypatch.context() as patch:
            patch.setattr("tests.unit.package.test_scale.TABLES", tables)
            patch.setattr("tests.unit.package.test_scale.NAMES", NAMES[:tables])
            counted = calls(tmp_path / str(tables), 1)[phase]
        seen.append(counted.total() - counted["listed"])

    assert seen[0] == seen[1]
