"""A package is a folder that never moves; its status is the furthest marker found in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import (
    LoadPackageAlreadyCompleted,
    LoadPackageCancelled,
    LoadPackageNotFound,
    PackageDamaged,
    UsageError,
)
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
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
    SCHEMA_FILE,
    SCHEMA_UPDATES_FILE,
    SEALED_FILE,
    STATE_FILE,
    TLoadPackageState,
    TLoadPackageStatus,
)
from penstock.package.state import default_state, read_state, with_version
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from penstock.interfaces import LoadMark
    from penstock.package.storage import FileStorage

_EPOCH_KEY: Final = "epoch"


@dataclass(frozen=True)
class Package:
    """One load's folder."""

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
        """The furthest marker that is there; one listing."""
        names = frozenset(self.store.names(""))
        if COMPLETED_FILE in names:
            return self.final_status() or "loaded"
        # A late write into a deleted folder leaves one marker alone: without the first one none counts.
        if EXTRACTED_FILE not in names:
            return "new"
        return "normalized" if NORMALIZED_FILE in names else "extracted"

    def exists(self) -> bool:
        """Whether there is anything of it."""
        return bool(self.store.names(""))

    def require_exists(self) -> Package:
        """Itself, or an error when nothing of it is there."""
        if not self.exists():
            raise LoadPackageNotFound(load_id=self.load_id, path=self.path)
        return self

    def create(self, state: TLoadPackageState | None = None) -> None:
        """Make the folder: its first file is the state. One that is there stays as it is."""
        self.store.put_if_absent(STATE_FILE, as_json(with_version(state or default_state(self.load_id))))

    def mark_extracted(self, document: Mapping[str, Any], *, epoch: int | None = None) -> None:
        """All rows are in; from here on the package will not be extracted again.

        `epoch` is that of the lease under which it is written; None for packages that no run has made.
        """
        fenced = {} if epoch is None else {_EPOCH_KEY: epoch}
        self.store.put(EXTRACTED_FILE, encode_control({**document, **fenced}))

    def read_extracted(self) -> dict[str, Any]:
        """What the extract stage left for the next one."""
        return read_control(self.store, EXTRACTED_FILE) or {}

    def extract_epoch(self) -> int | None:
        """Return the epoch of the run that extracted the package; None when no run has."""
        epoch = self.read_extracted().get(_EPOCH_KEY)
        if epoch is not None and (not isinstance(epoch, int) or isinstance(epoch, bool)):
            raise PackageDamaged(path=self.store.path(EXTRACTED_FILE), reason=f"its epoch is {epoch!r:.80}")
        return epoch

    def mark_normalized(self, document: Mapping[str, Any]) -> None:
        """All job files are in; what is left is to seal and to load them."""
        self.store.put(NORMALIZED_FILE, encode_control(document))

    def read_normalized(self) -> dict[str, Any]:
        """What the normalize stage left: the tables, their folders, and what these hold."""
        return read_control(self.store, NORMALIZED_FILE) or {}

    def normalized_schema(self) -> dict[str, Any]:
        """Return the schema that normalize wrote, or else the one in `schema.json`."""
        schema = self.read_normalized().get("schema") or self.schema()
        if not isinstance(schema, dict):
            raise PackageDamaged(path=self.store.path(NORMALIZED_FILE), reason="there is no schema in it")
        return schema

    def mark_sealed(self, mark: LoadMark) -> None:
        """Note the slot that the package has taken, for whoever opens one of its jobs."""
        self.store.put(SEALED_FILE, encode_control(asdict(mark)))

    def load_mark(self) -> LoadMark | None:
        """The slot that the package has taken, or None while it has none."""
        return read_mark(self.store)

    def complete(self, status: TLoadPackageStatus = "loaded", *, exist_ok: bool = True) -> str:
        """Write the last marker; gives the package's path. With `again=False` a second time is an error."""
        if status not in FINISHED_STATUSES:
            raise UsageError(f"a package cannot end as {status!r}", hint="use 'loaded' or 'aborted'")
        if not exist_ok and self.store.exists(COMPLETED_FILE):
            raise LoadPackageAlreadyCompleted(load_id=self.load_id)
        if not self.store.put_if_absent(COMPLETED_FILE, encode_control({"status": status})) and not exist_ok:
            raise LoadPackageAlreadyCompleted(load_id=self.load_id)
        return self.path

    def final_status(self) -> TLoadPackageStatus | None:
        """How the package ended, or None while it has not."""
        content = read_control(self.store, COMPLETED_FILE)
        if content is None:
            return None
        status = content.get("status")
        if not isinstance(status, str) or status not in FINISHED_STATUSES:
            raise PackageDamaged(path=self.store.path(COMPLETED_FILE), reason=f"its status is {status!r:.80}")
        return status

    def remove_data(self) -> None:
        """Let the data files go: one request to the storage, whatever their number."""
        self.store.delete(DATA_FOLDER)

    def remove_orphaned_attempts(self, folders: Collection[str]) -> None:
        """Delete what normalize wrote in attempts that the sealed manifest does not name; safe to call again.

        `folders` are those that the manifest names, relative to the package.
        """
        for attempt in orphaned_attempts(self.store.names(ATTEMPTS_FOLDER), folders):
            self.store.delete(f"{ATTEMPTS_FOLDER}/{attempt}")

    def record_followups(self, job_id: str, followups: Sequence[str]) -> None:
        """Note the ids of the jobs that follow a job, or its whole chain. They count from here on."""
        self.store.put(f"{FOLLOWUPS_FOLDER}/{job_id}.json", encode_control({"jobs": list(followups)}))

    def followups(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the jobs that follow others, by the job that they follow."""
        noted = {
            name: read_control(self.store, f"{FOLLOWUPS_FOLDER}/{name}")
            for name in self.store.names(FOLLOWUPS_FOLDER)
        }
        return {name.removesuffix(".json"): tuple((found or {})["jobs"]) for name, found in noted.items()}

    def save_schema(self, document: Mapping[str, Any]) -> None:
        """The schema of this package, for people who look at it; the sealed one is in the slot."""
        self.store.put(SCHEMA_FILE, as_json(document))

    def schema(self) -> dict[str, Any]:
        """The schema as it was saved."""
        document = self.store.read_json(SCHEMA_FILE)
        if not isinstance(document, dict) or not isinstance(document.get("name"), str):
            raise PackageDamaged(path=self.store.path(SCHEMA_FILE), reason="there is no schema in it")
        return document

    def save_schema_updates(self, tables: Mapping[str, Any]) -> None:
        """The tables that the destination must still change."""
        self.store.put(SCHEMA_UPDATES_FILE, encode_control({"tables": dict(tables)}))

    def schema_updates(self) -> dict[str, Any] | None:
        """What `save_schema_updates` left, or None once it was applied."""
        found = self._read_tables(SCHEMA_UPDATES_FILE)
        return None if self.applied_schema_updates() is not None else found

    def commit_schema_updates(self, applied: Mapping[str, Any]) -> None:
        """What the destination has changed; from here on there is nothing left to change."""
        self.store.put(APPLIED_SCHEMA_UPDATES_FILE, encode_control({"tables": dict(applied)}))
        self.store.delete(SCHEMA_UPDATES_FILE)

    def applied_schema_updates(self) -> dict[str, Any] | None:
        """What the destination has changed, or None while it was not asked."""
        return self._read_tables(APPLIED_SCHEMA_UPDATES_FILE)

    def state(self) -> TLoadPackageState:
        """The package's own state; a new one where none was saved."""
        document = self.store.read_json(STATE_FILE)
        if document is None:
            return default_state(self.load_id)
        return read_state(document, path=self.store.path(STATE_FILE))

    def save_state(self, state: TLoadPackageState) -> TLoadPackageState:
        """Write the state with its hash and version; gives what was written."""
        saved = with_version(state)
        self.store.put(STATE_FILE, as_json(saved))
        return saved

    def cancel(self) -> None:
        """Tell everybody who works on this package to stop."""
        self.store.put(CANCELLED_FILE, b"")

    def raise_if_cancelled(self) -> None:
        """Stop here if somebody has called `cancel`."""
        if self.store.exists(CANCELLED_FILE):
            raise LoadPackageCancelled(load_id=self.load_id)

    def add_job(self, job: JobFile) -> None:
        """Put a job file among the new ones."""
        self.jobs.add(job.name.file_name(), encode_control(job.to_dict()))

    def job(self, file_name: str) -> JobFile:
        """Open a job file, done or not, whatever the number of its tries is by now."""
        placed = self.jobs.list_jobs().jobs.get(ParsedLoadJobFileName.parse(file_name).job_id())
        return read_job_file(self.store, placed.path if placed else f"{NEW_JOBS}/{file_name}")

    def delete(self) -> None:
        """Remove the folder with all that is in it.

        The markers go first: a folder that is half deleted must not look like one that waits to be loaded.
        """
        self.store.delete(EXTRACTED_FILE)
        self.store.delete(NORMALIZED_FILE)
        self.store.delete("")

    def _read_tables(self, name: str) -> dict[str, Any] | None:
        found = read_control(self.store, name)
        if found is None:
            return None
        tables = found.get("tables")
        if not isinstance(tables, dict) or not all(_is_table(table) for table in tables.values()):
            raise PackageDamaged(path=self.store.path(name), reason="there are no tables in it")
        return tables


def orphaned_attempts(attempts: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Return the attempts of normalize of which no folder is named.

    >>> orphaned_attempts(["5c1c", "f0d1"], ["data/extracted/00000", "data/normalized/f0d1/00000"])
    ['5c1c']
    """
    inside = (
        folder.removeprefix(f"{ATTEMPTS_FOLDER}/")
        for folder in folders
        if folder.startswith(f"{ATTEMPTS_FOLDER}/")
    )
    named = {path.partition("/")[0] for path in inside}
    return [attempt for attempt in attempts if attempt not in named]


def _is_table(document: Any) -> bool:
    columns = document.get("columns", {}) if isinstance(document, dict) else None
    return isinstance(columns, dict) and all(isinstance(column, dict) for column in columns.values())
