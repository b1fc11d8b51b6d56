"""A package: a folder that never moves, whose status is its latest marker."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from penstock.errors import (
    LoadPackageAlreadyCompleted,
    LoadPackageCancelled,
    LoadPackageNotFound,
    PackageDamaged,
    UsageError,
)
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.interfaces.run_context import CurrentPackage, override_context
from penstock.package.control_file import encode_control, read_control
from penstock.package.job_file import JobFile, read_job_file, read_mark
from penstock.package.job_folders import JobFolders
from penstock.package.layout import (
    APPLIED_SCHEMA_UPDATES_FILE,
    ATTEMPTS_FOLDER,
    CANCELLED_FILE,
    COMPLETED_FILE,
    DATA_FOLDER,
    EXTRACTED_FILE,
    FINISHED_STATUSES,
    FOLLOWUPS_FOLDER,
    NEW_JOBS,
    NORMALIZED_FILE,
    PLANNED_FILE,
    SCHEMA_FILE,
    SCHEMA_UPDATES_FILE,
    SEALED_FILE,
    STATE_FILE,
    TLoadPackage,
    TLoadPackageState,
    TLoadPackageStatus,
)
from penstock.package.state import default_state, read_state, with_version
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from penstock.interfaces import LoadMark
    from penstock.package.storage import FileStorage

_EPOCH_KEY: Final = "epoch"
_BY_COMMITS: Final = "by_commits"


class _TableUpdates(NamedTuple):
    """The tables of an update, and those that the commits of the load will add to it."""

    tables: dict[str, Any]
    by_commits: dict[str, Any]


@dataclass(frozen=True)
class Package:
    """The folder of one load."""

    store: FileStorage
    load_id: str

    @property
    def path(self) -> str:
        """The address of the folder."""
        return self.store.path()

    @cached_property
    def jobs(self) -> JobFolders:
        """The job files."""
        return JobFolders(self.store)

    @property
    def status(self) -> TLoadPackageStatus:
        """The status by the latest marker; one listing."""
        names = frozenset(self.store.names(""))
        if COMPLETED_FILE in names:
            return self.final_status() or "loaded"
        # A late write into a deleted package leaves a single marker, which must not count.
        if EXTRACTED_FILE not in names:
            return "new"
        if PLANNED_FILE in names and SEALED_FILE not in names:
            return "planned"
        return "normalized" if NORMALIZED_FILE in names else "extracted"

    def exists(self) -> bool:
        """Return whether the folder has any content."""
        return bool(self.store.names(""))

    def require_exists(self) -> Package:
        """Return the package; raise `LoadPackageNotFound` when it does not exist."""
        if not self.exists():
            raise LoadPackageNotFound(load_id=self.load_id, path=self.path)
        return self

    def create(self, state: TLoadPackageState | None = None) -> None:
        """Create the folder with its first file, the state; an existing one is unchanged."""
        self.store.put_if_absent(STATE_FILE, as_json(with_version(state or default_state(self.load_id))))

    def mark_planned(self) -> None:
        """Mark a new package as one that only `apply` loads; no rows may count as extracted before."""
        self.store.put(PLANNED_FILE, encode_control({}))

    def save_plan(self, document: Mapping[str, Any]) -> None:
        """Write the plan of the package, which is complete from now on."""
        self.store.put(PLANNED_FILE, encode_control(document))

    @property
    def is_plan(self) -> bool:
        """Whether only `apply` loads the package."""
        return self.store.has_file(PLANNED_FILE)

    def read_plan(self) -> dict[str, Any] | None:
        """Return the plan; empty before it is complete, None if the package was not planned."""
        return read_control(self.store, PLANNED_FILE)

    def mark_extracted(self, document: Mapping[str, Any], *, epoch: int | None = None) -> None:
        """Mark all rows as written: the package will not be extracted again.

        `epoch` is that of the lease of the run; None for a package that was not made by a run.
        """
        fenced = {} if epoch is None else {_EPOCH_KEY: epoch}
        content = encode_control({**document, **fenced})
        # An earlier try that got no answer may still be written: its epoch must not replace this one.
        if not self.store.put_if_absent(EXTRACTED_FILE, content):
            self.store.put(EXTRACTED_FILE, content)

    def read_extracted(self) -> dict[str, Any]:
        """Return the document that extract wrote; empty before that."""
        return read_control(self.store, EXTRACTED_FILE) or {}

    def extract_epoch(self) -> int | None:
        """Return the epoch of the run that extracted the package; None when it was not made by a run."""
        epoch = self.read_extracted().get(_EPOCH_KEY)
        if epoch is not None and (not isinstance(epoch, int) or isinstance(epoch, bool)):
            raise PackageDamaged(path=self.store.path(EXTRACTED_FILE), reason=f"its epoch is {epoch!r:.80}")
        return epoch

    def mark_normalized(self, document: Mapping[str, Any]) -> None:
        """Mark all job files as written: the package is pending for seal and load."""
        self.store.put(NORMALIZED_FILE, encode_control(document))

    def read_normalized(self) -> dict[str, Any]:
        """Return the document that normalize wrote: tables, folders, rows and bytes; empty before that."""
        return read_control(self.store, NORMALIZED_FILE) or {}

    def normalized_schema(self) -> dict[str, Any]:
        """Return the schema that normalize wrote, or else the one in `schema.json`."""
        schema = self.read_normalized().get("schema") or self.schema()
        if not isinstance(schema, dict):
            raise PackageDamaged(path=self.store.path(NORMALIZED_FILE), reason="it has no schema")
        return schema

    def mark_sealed(self, mark: LoadMark) -> None:
        """Record the slot of the package, for processes that open its jobs."""
        self.store.put(SEALED_FILE, encode_control(asdict(mark)))

    def load_mark(self) -> LoadMark | None:
        """Return the slot of the package; None before it is sealed."""
        return read_mark(self.store)

    def complete(self, status: TLoadPackageStatus = "loaded", *, exist_ok: bool = True) -> str:
        """Write the last marker; return the path of the package. Idempotent, unless `exist_ok` is False."""
        if status not in FINISHED_STATUSES:
            raise UsageError(f"a package cannot end as {status!r}", hint="use 'loaded' or 'aborted'")
        if not exist_ok and self.store.has_file(COMPLETED_FILE):
            raise LoadPackageAlreadyCompleted(load_id=self.load_id)
        if not self.store.put_if_absent(COMPLETED_FILE, encode_control({"status": status})) and not exist_ok:
            raise LoadPackageAlreadyCompleted(load_id=self.load_id)
        return self.path

    def final_status(self) -> TLoadPackageStatus | None:
        """Return the status of a finished package, else None."""
        content = read_control(self.store, COMPLETED_FILE)
        if content is None:
            return None
        status = content.get("status")
        if not isinstance(status, str) or status not in FINISHED_STATUSES:
            raise PackageDamaged(path=self.store.path(COMPLETED_FILE), reason=f"its status is {status!r:.80}")
        return status

    def remove_data(self) -> None:
        """Delete the data files, in one request to the storage."""
        self.store.delete(DATA_FOLDER)

    def remove_orphaned_attempts(self, folders: Collection[str]) -> None:
        """Delete attempts of normalize without a folder in the sealed manifest. Idempotent.

        `folders` are those in the manifest, relative to the package.
        """
        for attempt in orphaned_attempts(self.store.names(ATTEMPTS_FOLDER), folders):
            self.store.delete(f"{ATTEMPTS_FOLDER}/{attempt}")

    def record_followups(self, job_id: str, followups: Sequence[str]) -> None:
        """Record the ids of the jobs that follow a job or a whole chain: they count from now on."""
        self.store.put(f"{FOLLOWUPS_FOLDER}/{job_id}.json", encode_control({"jobs": list(followups)}))

    def followups(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the jobs that follow others, by the job that they follow."""
        documents = {
            name: read_control(self.store, f"{FOLLOWUPS_FOLDER}/{name}")
            for name in self.store.names(FOLLOWUPS_FOLDER)
        }
        return {
            name.removesuffix(".json"): tuple((document or {})["jobs"])
            for name, document in documents.items()
        }

    def save_schema(self, document: Mapping[str, Any]) -> None:
        """Write the schema for inspection; the sealed one is in the slot."""
        self.store.put(SCHEMA_FILE, as_json(document))

    def schema(self) -> dict[str, Any]:
        """Return the saved schema."""
        document = self.store.read_json(SCHEMA_FILE)
        if not isinstance(document, dict) or not isinstance(document.get("name"), str):
            raise PackageDamaged(path=self.store.path(SCHEMA_FILE), reason="it has no schema")
        return document

    def save_schema_updates(self, tables: Mapping[str, Any]) -> None:
        """Write the tables that the destination must change."""
        self.store.put(SCHEMA_UPDATES_FILE, encode_control({"tables": dict(tables)}))

    def schema_updates(self) -> dict[str, Any] | None:
        """Return the pending schema updates; None once they are applied."""
        document = self._read_tables(SCHEMA_UPDATES_FILE)
        return None if document is None or self.applied_schema_updates() is not None else document.tables

    def commit_schema_updates(
        self, applied: Mapping[str, Any], by_commits: Mapping[str, Any] | None = None
    ) -> None:
        """Record the tables that the destination has changed: no update is pending any more.

        `by_commits` has the changes that the commits of the load will make.
        """
        document = {"tables": dict(applied), **({_BY_COMMITS: dict(by_commits)} if by_commits else {})}
        self.store.put(APPLIED_SCHEMA_UPDATES_FILE, encode_control(document))
        self.store.delete_file(SCHEMA_UPDATES_FILE)

    def commit_table_updates(self, tables: Container[str]) -> None:
        """Record that the commits to these tables have made their changes, and no other commit will."""
        document = self._read_tables(APPLIED_SCHEMA_UPDATES_FILE)
        if document is not None and document.by_commits:
            committed = {name: table for name, table in document.by_commits.items() if name in tables}
            content = encode_control({"tables": {**document.tables, **committed}})
            self.store.put(APPLIED_SCHEMA_UPDATES_FILE, content)

    def applied_schema_updates(self) -> dict[str, Any] | None:
        """Return the tables that the destination has changed; None before that."""
        document = self._read_tables(APPLIED_SCHEMA_UPDATES_FILE)
        return None if document is None else document.tables

    def state(self) -> TLoadPackageState:
        """Return the state of the package; a new one if none was saved."""
        document = self.store.read_json(STATE_FILE)
        if document is None:
            return default_state(self.load_id)
        return read_state(document, path=self.store.path(STATE_FILE))

    def save_state(self, state: TLoadPackageState) -> TLoadPackageState:
        """Write the state with its hash and version; return the written state."""
        saved = with_version(state)
        self.store.put(STATE_FILE, as_json(saved))
        return saved

    def cancel(self) -> None:
        """Cancel the package: processes that work on it stop at their next check."""
        self.store.put(CANCELLED_FILE, b"")

    def raise_if_cancelled(self) -> None:
        """Raise `LoadPackageCancelled` if the package was cancelled."""
        if self.store.has_file(CANCELLED_FILE):
            raise LoadPackageCancelled(load_id=self.load_id)

    def add_job(self, job: JobFile) -> None:
        """Add a job file to `new_jobs`."""
        self.jobs.add(job.name.file_name(), encode_control(job.to_dict()))

    def job(self, file_name: str, *, mark: LoadMark | None = None) -> JobFile:
        """Open a job file in any state, whatever its number of tries; a known mark is not read."""
        listed = self.jobs.list_jobs().jobs.get(ParsedLoadJobFileName.parse(file_name).job_id())
        path = listed.path if listed else f"{NEW_JOBS}/{file_name}"
        return read_job_file(self.store, path, mark=mark)

    def delete(self) -> None:
        """Delete the folder with its content.

        Markers first: a partly deleted package must not look like a pending one.
        """
        self.store.delete_file(EXTRACTED_FILE)
        self.store.delete_file(NORMALIZED_FILE)
        self.store.delete("")

    def _read_tables(self, name: str) -> _TableUpdates | None:
        document = read_control(self.store, name)
        if document is None:
            return None
        updates = document.get("tables"), document.get(_BY_COMMITS, {})
        if not all(map(_is_tables, updates)):
            raise PackageDamaged(path=self.store.path(name), reason="it has no tables")
        return _TableUpdates(*cast("tuple[dict[str, Any], dict[str, Any]]", updates))


def orphaned_attempts(attempts: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Return the attempts of normalize of which no folder is in `folders`.

    >>> orphaned_attempts(["5c1c", "f0d1"], ["data/extracted/00000", "data/normalized/f0d1/00000"])
    ['5c1c']
    """
    paths = (
        folder.removeprefix(f"{ATTEMPTS_FOLDER}/")
        for folder in folders
        if folder.startswith(f"{ATTEMPTS_FOLDER}/")
    )
    current = {path.partition("/")[0] for path in paths}
    return [attempt for attempt in attempts if attempt not in current]


def _is_tables(document: Any) -> bool:
    return isinstance(document, dict) and all(map(_is_table, document.values()))


def _is_table(document: Any) -> bool:
    columns = document.get("columns", {}) if isinstance(document, dict) else None
    return isinstance(columns, dict) and all(isinstance(column, dict) for column in columns.values())


@contextmanager
def package_context(package: Package) -> Iterator[TLoadPackage]:
    """Make this package the one that `load_package` and its like return, for the length of a block."""
    document: dict[str, Any] = {"load_id": package.load_id, "state": package.state()}
    lock = threading.Lock()

    def commit() -> None:
        with lock:
            saved = cast("dict[str, Any]", package.save_state(document["state"]))
            # Only these keys: a key that a thread has removed since must not come back.
            document["state"].update({key: saved[key] for key in ("_state_version", "_version_hash")})

    with override_context(package=CurrentPackage(document=document, commit=commit)):
        yield cast("TLoadPackage", document)
