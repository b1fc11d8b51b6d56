"""`read_csv`, `read_jsonl`, `read_parquet`: what `filesystem` lists is read by Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials, config_value
from penstock.errors import UsageError
from penstock.interfaces.run_context import current_context
from penstock.sources.decorators import source, transformer
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.dlt_source import filesystem
from penstock.sources.filesystem.file_reader import SourceFileReader
from penstock.sources.filesystem.items import FileItemDict
from penstock.sources.filesystem.plan import is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.sources.filesystem.items import ListedFile
    from penstock.sources.filesystem.location import FolderLocation
    from penstock.sources.resource import Resource

__source_name__ = "filesystem"
FILES_PER_JOB: Final = 5_000
"""So many files are read by one job at most: Spark is told their names one by one."""


@transformer(name="read_csv", section="filesystem")
def read_csv(items: Any, chunksize: int | None = None, metadata: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002 - dlt's signature
    """Read CSV files that `filesystem` lists; `options` are those of `files`, or pandas' names for them.

    `chunksize` is for those who come from dlt: Spark reads in pieces of its own.

    >>> read_csv(sep=";")
    <penstock.transformer 'read_csv', write_disposition='append'>
    """
    del chunksize
    return _read_files(items, SourceFileReader(format="csv", csv=CsvOptions.of(options), metadata=metadata))


@transformer(name="read_jsonl", section="filesystem")
def read_jsonl(items: Any, chunksize: int | None = None, metadata: bool = False) -> Any:  # noqa: FBT001, FBT002 - dlt's signature
    """Read files with a JSON object on each line that `filesystem` lists.

    >>> read_jsonl()
    <penstock.transformer 'read_jsonl', write_disposition='append'>
    """
    del chunksize
    return _read_files(items, SourceFileReader(format="jsonl", metadata=metadata))


@transformer(name="read_parquet", section="filesystem")
def read_parquet(items: Any, chunksize: int | None = None, metadata: bool = False) -> Any:  # noqa: FBT001, FBT002 - dlt's signature
    """Read Parquet files that `filesystem` lists.

    >>> read_parquet()
    <penstock.transformer 'read_parquet', write_disposition='append'>
    """
    del chunksize
    return _read_files(items, SourceFileReader(format="parquet", metadata=metadata))


@source(name="readers", section="filesystem")
def readers(
    bucket_url: str = config_value,
    credentials: AwsCredentials | Any = None,
    file_glob: str = "*",
    kwargs: dict[str, Any] | None = None,
    client_kwargs: dict[str, Any] | None = None,
    incremental: Any = None,
) -> tuple[Resource, ...]:
    """Declare a reader for each format, over one folder; take the one that fits.

    >>> readers("/data/orders", file_glob="*.csv").read_csv(sep=";")
    <penstock.transformer 'read_csv', write_disposition='append', data_from='filesystem'>
    """
    listed = filesystem(
        bucket_url,
        credentials,
        file_glob=file_glob,
        files_per_page=FILES_PER_JOB,
        kwargs=kwargs,
        client_kwargs=client_kwargs,
        incremental=incremental,
    )
    return listed | read_csv, listed | read_jsonl, listed | read_parquet


def _read_files(items: Any, reader: SourceFileReader) -> Iterator[Any]:
    """A page of files, place by place."""
    by_place: dict[int, tuple[FolderLocation, list[ListedFile]]] = {}
    counts = Counter(files_hidden=0, files_read=0)
    for item in items if isinstance(items, list) else [items]:
        if not isinstance(item, FileItemDict):
            raise UsageError(
                f"{type(item).__name__} is no file",
                hint="feed it with `filesystem(…)`, without a map in between",
            )
        if is_hidden(item.found.path):
            counts["files_hidden"] += 1
        else:
            counts["files_read"] += 1
            by_place.setdefault(id(item.place), (item.place, []))[1].append(item.found)
    metrics = current_context().metrics
    if metrics is not None:
        metrics.update({name: metrics.get(name, 0) + count for name, count in counts.items()})
    for place, files in by_place.values():
        for frame, _ in reader.frames(place, files):
            yield frame
