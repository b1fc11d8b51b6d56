"""`filesystem`: files as rows, listed by the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials, config_value
from penstock.errors import UsageError
from penstock.interfaces.run_context import current_context
from penstock.interfaces.seen_set import item_digest
from penstock.sources.decorators import resource
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import FileItemDict
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.filesystem.plan import batches
from penstock.sources.resource import Resource
from penstock.sources.resource_cursor import is_cursor_step
from penstock.sources.state import resource_state

if TYPE_CHECKING:
    from collections.abc import Iterator

__source_name__ = "filesystem"
_LISTING_KEY: Final = "listed"


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
    `incremental("modification_date")`: files that were changed since the last run. The cursor belongs to the
    name of the listing, so give each one its own: `filesystem(...).with_name("order_files")`.

    >>> import tempfile, pathlib
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "a.csv").write_text("id")
    >>> [(item["file_name"], item["mime_type"], item["size_in_bytes"]) for item in filesystem(folder)]
    [('a.csv', 'text/csv', 2)]
    """
    place = FolderLocation.of(bucket_url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    glob = Glob(file_glob)

    def listed() -> Iterator[list[FileItemDict]]:
        remembers = _has_stored_cursor()
        if remembers:
            _check_same_listing(place, glob)
        for page in batches(list_files(place, glob), size=files_per_page):
            if remembers:
                resource_state()[_LISTING_KEY] = _listing_digest(place, glob)
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


def _has_stored_cursor() -> bool:
    """Whether a cursor of this listing is kept in the state; that of a range with an end is not."""
    said: Any = current_context().resource.declaration
    cursors = [said.hints.incremental, *(step.function() for step in said.steps if is_cursor_step(step))]
    paths = {one.cursor_path for one in cursors if one is not None and one.end_value is None}
    return not paths.isdisjoint(resource_state().get("incremental", {}))


def _check_same_listing(location: FolderLocation, glob: Glob) -> None:
    """Refuse a cursor that has come from other files: those of this listing would be lost, or come twice."""
    if resource_state().get(_LISTING_KEY, _listing_digest(location, glob)) == _listing_digest(location, glob):
        return
    raise UsageError(
        f"the listing {current_context().resource_name!r} has a cursor "
        "that comes from another folder or file_glob "
        f"than {location.root}, {glob.pattern}",
        hint="name each listing: filesystem(...).with_name('order_files') | read_csv(); one whose folder or "
        "glob was changed needs another name too, and an initial_value of its cursor where it is not to read "
        "all files; or begin anew with refresh='drop_sources', which drops the tables of the source as well",
    )


def _listing_digest(location: FolderLocation, glob: Glob) -> str:
    return item_digest(location.root, glob.pattern).hex()
