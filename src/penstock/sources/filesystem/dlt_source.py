"""`filesystem`, which lists files as rows, and the readers of listed files, with dlt's arguments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials, config_value
from penstock.errors import UsageError
from penstock.interfaces.run_context import current_context, item_digest
from penstock.sources.decorators import resource, source, transformer
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.frames import SourceFileReader
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import FileItemDict
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.filesystem.plan import batches, is_hidden
from penstock.sources.resource import Resource
from penstock.sources.resource_cursor import is_cursor_step
from penstock.sources.state import resource_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec import AbstractFileSystem

    from penstock.sources.filesystem.items import ListedFile

__source_name__ = "filesystem"
_LISTING_KEY: Final = "listed"
FILES_PER_JOB: Final = 5_000
"""The maximum number of files for one job: Spark receives their names one by one."""


@resource(section="filesystem")
def filesystem(
    bucket_url: str = config_value,
    credentials: AwsCredentials | Any = None,
    file_glob: str = "*",
    files_per_page: int = 100,
    extract_content: bool = False,  # noqa: FBT001, FBT002 - as above
    kwargs: dict[str, Any] | None = None,
    client_kwargs: dict[str, Any] | None = None,
    incremental: Any = None,
) -> Resource:
    """List files as rows, in pages. With `extract_content` each row contains the bytes of its file.

    `credentials` are those of S3, or a file system of fsspec. `incremental` is usually
    `incremental("modification_date")`: files that were changed since the last run. The cursor is stored under
    the name of the listing, so name each listing: `filesystem(...).with_name("order_files")`.

    >>> import tempfile, pathlib
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "a.csv").write_text("id")
    >>> [(item["file_name"], item["mime_type"], item["size_in_bytes"]) for item in filesystem(folder)]
    [('a.csv', 'text/csv', 2)]
    """
    location = FolderLocation.of(bucket_url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    pages = FilePages(location, Glob(file_glob), files_per_page, extract_content)
    listing = Resource.from_data(pages, name="filesystem", section="filesystem")
    listing.apply_hints(primary_key="file_url")
    if incremental is not None:
        listing.apply_hints(incremental=incremental)
    listing.change(needs=location.needs)
    return listing


@dataclass(frozen=True, slots=True)
class FilePages:
    """The files of a folder as pages of rows, listed at each call."""

    location: FolderLocation
    glob: Glob
    files_per_page: int
    extract_content: bool

    def __call__(self) -> Iterator[list[FileItemDict]]:
        """Yield the pages; a stored cursor must be that of this listing."""
        location, glob = self.location, self.glob
        has_stored_cursor = _has_stored_cursor()
        if has_stored_cursor:
            _check_same_listing(location, glob)
        for page in batches(list_files(location, glob), size=self.files_per_page):
            if has_stored_cursor:
                resource_state()[_LISTING_KEY] = _listing_digest(location, glob)
            items = [FileItemDict.of(file, location) for file in page]
            if self.extract_content:
                for item in items:
                    item["file_content"] = item.read_bytes()
            yield items


def fsspec_from_resource(filesystem_instance: Resource) -> AbstractFileSystem:
    """Return the file system, with its credentials, that a resource of `filesystem` lists.

    >>> import tempfile
    >>> fsspec_from_resource(filesystem(tempfile.mkdtemp())).exists("/")
    True
    """
    function = filesystem_instance.declaration.user_function
    if function is None or not isinstance(function.function, FilePages):
        raise UsageError(
            f"{filesystem_instance.name} is not a listing of files", hint="pass the result of filesystem()"
        )
    file_system: AbstractFileSystem = function.function.location.file_system
    return file_system


def _has_stored_cursor() -> bool:
    """Return whether the state holds a cursor of this listing; a cursor with an end value is not stored."""
    declaration: Any = current_context().resource.declaration
    steps = [step.function() for step in declaration.steps if is_cursor_step(step)]
    cursors = [declaration.hints.incremental, *steps]
    paths = {cursor.cursor_path for cursor in cursors if cursor is not None and cursor.end_value is None}
    return not paths.isdisjoint(resource_state().get("incremental", {}))


def _check_same_listing(location: FolderLocation, glob: Glob) -> None:
    """Raise for a cursor of another listing: files of this one would be lost, or read twice."""
    if resource_state().get(_LISTING_KEY, _listing_digest(location, glob)) == _listing_digest(location, glob):
        return
    raise UsageError(
        f"the cursor of the listing {current_context().resource_name!r} "
        f"comes from another folder or file_glob than {location.root}, {glob.pattern}",
        hint="name each listing: filesystem(...).with_name('order_files') | read_csv(); "
        "a listing with a changed folder or glob needs another name too, and an initial_value for its cursor "
        "unless it should read all files; or start from scratch with refresh='drop_sources', which also "
        "drops the tables of the source",
    )


def _listing_digest(location: FolderLocation, glob: Glob) -> str:
    return item_digest(location.root, glob.pattern).hex()


@transformer(name="read_csv", section="filesystem")
def read_csv(items: Any, chunksize: int | None = None, metadata: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002 - dlt's signature
    """Read CSV files that `filesystem` lists; `options` are those of `files`, or pandas' names for them.

    `chunksize` is accepted for compatibility with dlt and ignored: Spark splits files itself.

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
    """Declare a reader for each format over one folder; use the one that fits.

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
    """Yield the frames of a page of files, by location."""
    files_by_location: dict[int, tuple[FolderLocation, list[ListedFile]]] = {}
    counts = Counter(files_hidden=0, files_read=0)
    for item in items if isinstance(items, list) else [items]:
        if not isinstance(item, FileItemDict):
            raise UsageError(
                f"{type(item).__name__} is not a file",
                hint="feed the reader with `filesystem(…)`, without a map in between",
            )
        if is_hidden(item.file.path):
            counts["files_hidden"] += 1
        else:
            counts["files_read"] += 1
            files_by_location.setdefault(id(item.location), (item.location, []))[1].append(item.file)
    metrics = current_context().metrics
    if metrics is not None:
        metrics.update({name: metrics.get(name, 0) + count for name, count in counts.items()})
    for location, files in files_by_location.values():
        for frame, _ in reader.frames(location, files):
            yield frame
