"""What a pipeline can be asked: its packages, its state, its schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import PipelineConfigMissing
from penstock.pipeline import stages
from penstock.pipeline.arguments import extraction_of
from penstock.pipeline.home import Home
from penstock.pipeline.schemafiles import SchemaFiles
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination
    from penstock.interfaces.progress import Collector
    from penstock.package import LoadJobInfo, LoadPackageInfo, TLoadPackageState
    from penstock.pipeline.configuration import PipelineConfiguration
    from penstock.pipeline.listing import Listing
    from penstock.pipeline.memory import Memory
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.target import Target
    from penstock.schema import NamingConvention, Schema


class Asking:
    """The part of `Pipeline` that changes nothing but values of this machine."""

    pipeline_name: str
    """The name; it is that of the working folder, of the default schema and of the state."""
    pipelines_dir: Path
    """The folder in which the working folders of pipelines are."""
    destination: Destination | None
    """Where loads go; None while nobody has said it."""
    staging: Destination | None
    """The destination in whose bucket packages are kept; None for where the destination keeps them."""
    dataset_name: str
    """The dataset that is loaded to."""
    config: PipelineConfiguration
    collector: Collector
    import_schema_path: str | Path | None
    export_schema_path: str | Path | None
    _runtime: RunConfiguration | None
    _spark: SparkSession | None

    @property
    def working_dir(self) -> Path:
        """The local folder of this pipeline: caches only."""
        return self.pipelines_dir / self.pipeline_name

    @property
    def has_data(self) -> bool:
        """Whether there is anything: a schema, a package, or a load at the destination."""
        return not self._memory().is_new or self.has_pending_data or bool(self.list_completed_load_packages())

    @property
    def has_pending_data(self) -> bool:
        """Whether a package waits to be normalized or loaded."""
        return self._listing().has_pending

    @property
    def first_run(self) -> bool:
        """Whether no load of this pipeline has been completed yet."""
        return not self.list_completed_load_packages() and self._memory().is_new

    @property
    def state(self) -> dict[str, Any]:
        """The state after everything that waits is loaded; a copy, to look at."""
        return self._memory().state

    def kept_state(self) -> dict[str, Any]:
        """The state as this machine keeps it, without a look at the destination; a copy.

        Functions of sources that are called outside a run find it, as long as this is the active pipeline.
        """
        return stages.kept_state(self._home())

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by their names."""
        return self._memory()

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that bring none."""
        return self._memory().default_schema

    @property
    def default_schema_name(self) -> str:
        """The name of the default schema."""
        return self.default_schema.name

    @property
    def naming(self) -> NamingConvention:
        """The naming convention of the default schema."""
        return self.default_schema.naming

    def set_local_state_val(self, key: str, value: Any) -> None:
        """Remember a value on this machine alone: it never gets to the destination."""
        workdir = WorkDir(self.working_dir)
        workdir.save_local({**workdir.local(), key: stages.typed(value)})

    def get_local_state_val(self, key: str) -> Any:
        """A value that this machine remembers; KeyError for one that it does not."""
        return self._memory().local()[key]

    def list_extracted_resources(self) -> Sequence[str]:
        """Where the rows stand that will be normalized; `list_extracted_load_packages` says more."""
        return self._listing().extracted_folders()

    def list_extracted_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be normalized."""
        return self._listing().extracted()

    def list_normalized_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be loaded."""
        return self._listing().normalized()

    def list_completed_load_packages(self) -> Sequence[str]:
        """The ids of packages that are loaded; of old ones nothing is kept."""
        return self._listing().completed()

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """A package, with all jobs and their states."""
        return self._listing().info(load_id)

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """What a package remembers."""
        return self._listing().state(load_id)

    def list_failed_jobs_in_package(self, load_id: str) -> Sequence[LoadJobInfo]:
        """The jobs of a package that failed, those that wait to be tried again too, with their messages."""
        return self._listing().failed_jobs(load_id)

    def _listing(self) -> Listing:
        target = self._target() if self.destination is not None else None
        return stages.listing(target, self._home(), storage=self._storage(), spark=self._spark)

    def _memory(self) -> Memory:
        target = self._target() if self.destination is not None else None
        return stages.memory(target, self._home(), storage=self._storage(), spark=self._spark)

    def _home(self) -> Home:
        return Home(
            pipeline_name=self.pipeline_name,
            dataset_name=self.dataset_name,
            workdir=WorkDir(self.working_dir),
            files=SchemaFiles.at(self.import_schema_path, self.export_schema_path),
            restores=self.config.restore_from_destination,
            runtime=self._runtime,
            collector=self.collector,
        )

    def _storage(self) -> str | None:
        return extraction_of(self.pipeline_name).package_storage

    def _destination(self) -> Destination:
        if self.destination is None:
            raise PipelineConfigMissing(pipeline_name=self.pipeline_name)
        return self.destination

    def _target(self) -> Target:
        return stages.open_target(self._destination(), self._home(), spark=self._spark, staging=self.staging)
