"""File systems of fsspec with credentials, and files by a pattern, for functions that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.config import BaseConfiguration, FileSystemCredentials
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import file_row
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec import AbstractFileSystem

    from penstock.sources.filesystem.items import FileItem


class FilesystemConfigurationResource(BaseConfiguration):
    """The settings of a resource that lists files, for `spec=`.

    >>> FilesystemConfigurationResource(bucket_url="s3://shop/orders").file_glob
    '*'
    """

    bucket_url: str = None  # type: ignore[assignment]  # set by settings
    credentials: FileSystemCredentials | Any | None = None
    file_glob: str | None = "*"
    files_per_page: int = 100
    extract_content: bool = False
    kwargs: dict[str, Any] | None = None
    client_kwargs: dict[str, Any] | None = None


def fsspec_filesystem(
    protocol: str,
    credentials: FileSystemCredentials | Any | None = None,
    kwargs: dict[str, Any] | None = None,
    client_kwargs: dict[str, Any] | None = None,
) -> tuple[AbstractFileSystem, str]:
    """Return the file system of a protocol, such as `s3` or `gs`, or of a URL, and the path of the URL.

    >>> file_system, _ = fsspec_filesystem("file")
    >>> file_system.exists("/")
    True
    """
    url = protocol if "://" in protocol else f"{protocol}:///"
    location = FolderLocation.of(url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    return location.file_system, location.fs_root


def glob_files(fs_client: AbstractFileSystem, bucket_url: str, file_glob: str = "**") -> Iterator[FileItem]:
    """Yield the rows of the files below a URL whose path matches a pattern.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("id")
    >>> file_system, _ = fsspec_filesystem("file")
    >>> [file["file_name"] for file in glob_files(file_system, str(folder), "*.csv")]
    ['a.csv']
    """
    location = FolderLocation.of(bucket_url, fs_client)
    for file in list_files(location, Glob(file_glob)):
        yield file_row(file, location)
