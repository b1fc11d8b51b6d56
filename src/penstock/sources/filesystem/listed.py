"""`filesystem`: files as rows, listed by the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.config import AwsCredentials, config_value
from penstock.sources.decorators import resource
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import FileItemDict
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.place import Place
from penstock.sources.filesystem.plan import batches
from penstock.sources.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

__source_name__ = "filesystem"


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
    """List files as rows, in pages. With `extract_content` each row has the bytes of its file.

    `credentials` are those of S3, or a file system of fsspec. `incremental` is most often
    `incremental("modification_date")`: files that were changed since the last run.

    >>> import tempfile, pathlib
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "a.csv").write_text("id")
    >>> [(item["file_name"], item["mime_type"], item["size_in_bytes"]) for item in filesystem(folder)]
    [('a.csv', 'text/csv', 2)]
    """
    place = Place.of(bucket_url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    glob = Glob(file_glob)

    def listed() -> Iterator[list[FileItemDict]]:
        for page in batches(list_files(place, glob), most=files_per_page):
            items = [FileItemDict(found, place) for found in page]
            if extract_content:
                for item in items:
                    item["file_content"] = item.read_bytes()
            yield items

    made = Resource.from_data(listed, name="filesystem", section="filesystem")
    made.apply_hints(primary_key="file_url")
    if incremental is not None:
        made.apply_hints(incremental=incremental)
    made.change(needs=place.needs)
    return made
