"""Adoption of the files that a query of Structured Streaming has read, for a resource of `files`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, get_args

from penstock.errors import UsageError
from penstock.extract.cursor.cursors import Cursors
from penstock.package import FileStorage
from penstock.package.storage import absolute_path
from penstock.sources.filesystem.files import SEEN_FILES
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.filesystem.stream_checkpoint import streamed_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.extract.cursor.boundary_files import BoundaryFiles
    from penstock.pipeline.state import State
    from penstock.sources.filesystem.stream_checkpoint import StreamedFiles

ChangedFiles = Literal["refuse", "skip", "read"]
"""The treatment of files that were changed since the query read them."""
_SHOWN_FILES: Final = 3


class FileAdoptionDocument(TypedDict):
    """The files of a checkpoint, as plain data: their numbers."""

    checkpoint: str
    folder: str
    read: int
    changed: int
    """The files that were changed since the query read them."""
    changed_files: ChangedFiles
    deleted: int
    unread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAdoption:
    """The files of a checkpoint, which the next run of a resource does not read."""

    checkpoint: str
    files: StreamedFiles
    changed_files: ChangedFiles

    def document(self) -> FileAdoptionDocument:
        """Return plain data."""
        return {
            "checkpoint": self.checkpoint,
            "folder": self.files.location.root,
            "read": len(self.files.read),
            "changed": len(self.files.changed),
            "changed_files": self.changed_files,
            "deleted": self.files.deleted,
            "unread": len(self.files.unread),
        }

    def notes(self) -> Iterator[str]:
        """Yield facts that the user should know before the next run."""
        older = self.files.older_unread
        if older:
            yield (
                "the next run reads files that are older than the newest one of the query and not in its "
                f"log: {len(older):,}, such as {older[0].path}"
            )

    def write_to(self, state: State, *, source: str, resource: str, files: BoundaryFiles | None) -> None:
        """Write the files to a state by the code that reads files."""
        cursors = Cursors(state, source=source, files=files)
        seen = cursors.seen_items(resource, SEEN_FILES)
        skipped = self.files.changed if self.changed_files == "skip" else ()
        for digest in self.files.digests((*self.files.read, *skipped)):
            seen.add(digest)
        cursors.write_state()


def plan_file_adoption(
    checkpoint: str, bucket_url: str, *, file_glob: str, changed_files: ChangedFiles, credentials: Any = None
) -> FileAdoption:
    """Return the adoption of the files that a query has read in a folder; nothing is changed."""
    if changed_files not in get_args(ChangedFiles):
        raise UsageError(
            f"{changed_files!r} is not a treatment of changed files",
            hint=f"use one of: {', '.join(get_args(ChangedFiles))}",
        )
    location = FolderLocation.of(bucket_url, credentials)
    store = FileStorage(absolute_path(checkpoint), credentials=location.credentials)
    files = streamed_files(store, location, Glob(file_glob))
    if files.changed and changed_files == "refuse":
        names = ", ".join(file.path for file in files.changed[:_SHOWN_FILES])
        raise UsageError(
            f"files were changed since the query read them: {len(files.changed):,}, such as {names}",
            hint='changed_files="skip" never reads them again, "read" reads all of their rows again',
        )
    if not files.read and not files.changed and files.deleted:
        raise UsageError(
            f"none of the {files.deleted:,} files of the checkpoint {checkpoint} is in {files.location.root}",
            hint="pass the bucket_url and the file_glob of the resource",
        )
    return FileAdoption(checkpoint=checkpoint, files=files, changed_files=changed_files)
