"""The files of a job, for destinations that load files instead of Spark frames."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from penstock.errors import UsageError
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.control_file import encode_control, read_control
from penstock.package.layout import LOADER_FILES_FOLDER
from penstock.package.storage import FileStorage
from penstock.package.strict_record import read_record


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderFiles:
    """The rows of one job as complete files; `paths` are their addresses."""

    file_format: str
    paths: tuple[str, ...]

    def save(self, package: FileStorage, job_id: str) -> None:
        """Record the files in a package: they count from now on."""
        package.put(_record_name(job_id), encode_control(asdict(self)))


def find_loader_files(package: FileStorage, job_id: str) -> LoaderFiles | None:
    """Return the recorded files of a job; None before they are complete."""
    name = _record_name(job_id)
    document = read_control(package, name)
    if document is None:
        return None
    return read_record(LoaderFiles, {**document, "paths": tuple(document["paths"])}, path=package.path(name))


def read_loader_files(path: str, **options: Any) -> LoaderFiles:
    """Return the files with the rows of a job, by the address that `start_file_load` was called with.

    They have all columns of the table. `options` are those of the storage.
    """
    package_path, *job = path.rsplit("/", 2)
    job_id = ParsedLoadJobFileName.parse(job[-1] if job else path).job_id()
    files = find_loader_files(FileStorage(package_path, **options), job_id)
    if files is None:
        raise UsageError(
            f"job {job_id} has no files: its rows are read by Spark",
            hint="use read_job(path).frame(spark), or set the capability preferred_loader_file_format",
            job_id=job_id,
        )
    return files


def _record_name(job_id: str) -> str:
    return f"{LOADER_FILES_FOLDER}/{job_id}.json"
