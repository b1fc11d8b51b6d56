"""State of the file sources: read files, the newest day, and the listing of a cursor."""

from __future__ import annotations

import sys
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extract_data, table_rows

import penstock
from penstock.errors import UsageError
from penstock.package import Packages
from penstock.sources.filesystem import filesystem, readers
from penstock.sources.filesystem.files import NewFiles
from penstock.sources.filesystem.frames import SourceFileReader
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from penstock.sources.filesystem.items import ListedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths(SourceFileReader):
    """Brings the paths of files as rows, without Spark."""

    def frames(
        self, location: FolderLocation, files: Sequence[ListedFile]
    ) -> Iterator[tuple[Any, tuple[ListedFile, ...]]]:
        yield [{"path": file.path} for file in files], tuple(files)


class Folder:
    """A folder of files that is read again and again, with one state."""

    def __init__(self, path: Path) -> None:
        self.path, self.state, self.runs = path, {}, 0  # type: ignore[var-annotated]

    def write(self, *names: str) -> None:
        for name in names:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(name)

    def read(self, below: str = "", *, window: int | None, jobs: int | None = None) -> set[str]:
        place = FolderLocation.of(str(self.path / below))
        new = NewFiles(location=place, glob=Glob("**/*.csv"), window_days=window, files_per_job=5)
        self.runs += 1
        package = Packages.at(str(self.path / "_packages")).package(f"17.{self.runs}")
        limited = penstock.resource(lambda: new.frames(Paths(format="csv")), name="orders").add_limit(jobs)
        done = extract_data(limited, package, state=self.state)
        return {row["path"] for rows in table_rows(package, done).values() for row in rows}


def test_files_are_read_once_for_any_window_of_each_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    days = [f"2024/03/{day:02d}/a.csv" for day in range(1, 21)]
    folder.write(*days)

    assert folder.read(window=2) == set(days)
    folder.write("2024/03/19/late.csv", "2024/03/02/too late.csv")
    assert folder.read(window=2) == {"2024/03/19/late.csv"}
    assert folder.read(window=None) == {"2024/03/02/too late.csv"}
    assert folder.read(window=30) == set()


def test_folders_of_a_month_or_the_future_do_not_hide_later_days(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("2024/a.csv", "2024/03/a.csv", "2099/01/01/a.csv")

    assert folder.read(window=2) == {"2024/a.csv", "2024/03/a.csv", "2099/01/01/a.csv"}
    folder.write("2024/03/04/a.csv", "2024/02/01/a.csv")
    assert folder.read(window=2) == {"2024/03/04/a.csv"}


def test_another_folder_under_the_same_name_has_a_separate_newest_day(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("new/2024/03/20/a.csv", "old/2020/03/20/a.csv")

    assert folder.read("new", window=2) == {"2024/03/20/a.csv"}
    assert folder.read("old", window=2) == {"2020/03/20/a.csv"}


def newest_first(*how: Any) -> Iterator[ListedFile]:
    return iter(sorted(list_files(*how), key=lambda file: file.path, reverse=True))


def test_an_interrupted_run_does_not_hide_older_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[NewFiles.__module__], "list_files", newest_first)
    folder = Folder(tmp_path)
    days = [f"2024/03/{day:02d}/a.csv" for day in range(1, 21)]
    folder.write(*days)

    assert folder.read(window=2, jobs=1) == set(days[-5:])
    assert folder.read(window=2) == set(days[:-5])
    after = deepcopy(folder.state)
    folder.write("2024/03/02/too late.csv")
    assert folder.read(window=2) == set(), "the days that the first run has read count as well"
    assert folder.state == after, "what need not change stays"


class Listings:
    """Listings that are run one after the other, with one state."""

    def __init__(self, path: Path) -> None:
        self.path, self.state, self.runs = path, {}, 0  # type: ignore[var-annotated]
        for name in ("orders", "events"):
            (path / name).mkdir()
            (path / name / "_a.csv").write_text("id")

    def run(self, listed: Any) -> int:
        self.runs += 1
        package = Packages.at(str(self.path / "packages")).package(f"17.{self.runs}")
        return extract_data(listed, package, state=self.state).report.rows


def changed(**how: Any) -> Any:
    return penstock.sources.incremental("modification_date", **how)


def test_a_cursor_on_files_only_continues_in_its_own_folder(tmp_path: Path) -> None:
    listings = Listings(tmp_path)
    orders, events = str(tmp_path / "orders"), str(tmp_path / "events")

    assert listings.run(filesystem(orders, incremental=changed())) == 1
    for other in (
        filesystem(events, incremental=changed()),
        filesystem(orders, file_glob="*.csv", incremental=changed()),
        filesystem(events).apply_hints(incremental=changed()),
        filesystem(events).add_step(changed()),
    ):
        with pytest.raises(UsageError, match="another folder") as refused:
            listings.run(other)
        assert "with_name" in str(refused.value.hint)
    assert listings.run(filesystem(orders, incremental=changed())) == 0
    assert listings.run(filesystem(events)) == 1, "without a cursor nothing is remembered"
    backfill = changed(
        initial_value=datetime(2020, 1, 1, tzinfo=UTC), end_value=datetime(2100, 1, 1, tzinfo=UTC)
    )
    assert listings.run(filesystem(events, incremental=backfill)) == 1
    assert listings.run(filesystem(events, incremental=changed()).with_name("event_files")) == 1


def test_readers_of_another_folder_do_not_continue_with_the_cursor(tmp_path: Path) -> None:
    listings = Listings(tmp_path)

    listings.run(readers(str(tmp_path / "orders"), incremental=changed()))
    listings.run(readers(str(tmp_path / "orders"), incremental=changed()))
    with pytest.raises(UsageError, match="another folder"):
        listings.run(readers(str(tmp_path / "events"), incremental=changed()))
