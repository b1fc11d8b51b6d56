"""What a pipeline can be asked: its packages, its state, its schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import PipelineConfigMissing
from penstock.pipeline import late_imports
from penstock.pipeline.arguments import resolve_extract_settings
from penstock.pipeline.home import PipelineContext
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
    from penstock.pipeline.package_listing import PackageListing
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.state_view import StateView
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
        return (
            not self._state_view().is_new
            or self.has_pending_data
            or bool(self.list_completed_load_packages())
        )

    @property
    def has_pending_data(self) -> bool:
        """Whether a package waits to be normalized or loaded."""
        return self._package_listing().has_pending

    @property
    def first_run(self) -> bool:
        """Whether no load of this pipeline has been completed yet."""
        return not self.list_completed_load_packages() and self._state_view().is_new

    @property
    def state(self) -> dict[str, Any]:
        """The state after everything that waits is loaded; a copy, to look at."""
        return self._state_view().state

    def kept_state(self) -> dict[str, Any]:
        """The state as this machine keeps it, without a look at the destination; a copy.

        Functions of sources that are called outside a run find it, as long as this is the active pipeline.
        """
        return late_imports.local_state(self._context())

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by their names."""
        return self._state_view()

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that bring none."""
        return self._state_view().default_schema

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
        workdir.save_local_values({**workdir.local_values(), key: late_imports.typed_value(value)})

    def get_local_state_val(self, key: str) -> Any:
        """A value that this machine remembers; KeyError for one that it does not."""
        return self._state_view().local_values()[key]

    def list_extracted_resources(self) -> Sequence[str]:
        """Where the rows stand that will be normalized; `list_extracted_load_packages` says more."""
        return self._package_listing().extracted_folders()

    def list_extracted_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be normalized."""
        return self._package_listing().extracted_ids()

    def list_normalized_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be loaded."""
        return self._package_listing().normalized_ids()

    def list_completed_load_packages(self) -> Sequence[str]:
        """The ids of packages that are loaded; of old ones nothing is kept."""
        return self._package_listing().completed_ids()

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """A package, with all jobs and their states."""
        return self._package_listing().info(load_id)

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """What a package remembers."""
        return self._package_listing().state(load_id)

    def list_failed_jobs_in_package(self, load_id: str) -> Sequence[LoadJobInfo]:
        """The jobs of a package that failed, those that wait to be tried again too, with their messages."""
        return self._package_listing().failed_jobs(load_id)

    def _package_listing(self) -> PackageListing:
        target = self._target() if self.destination is not None else None
        return late_imports.package_listing(
            target, self._context(), storage=self._package_storage(), spark=self._spark
        )

    def _state_view(self) -> StateView:
        target = self._target() if self.destination is not None else None
        return late_imports.state_view(
            target, self._context(), storage=self._package_storage(), spark=self._spark
        )

    def _context(self) -> PipelineContext:
        return PipelineContext(
            pipeline_name=self.pipeline_name,
            dataset_name=self.dataset_name,
            workdir=WorkDir(self.working_dir),
            schema_files=SchemaFiles.at(self.import_schema_path, self.export_schema_path),
            restore_from_destination=self.config.restore_from_destination,
            runtime=self._runtime,
            collector=self.collector,
        )

    def _package_storage(self) -> str | None:
        return resolve_extract_settings(self.pipeline_name).package_storage

    def _require_destination(self) -> Destination:
        if self.destination is None:
            raise PipelineConfigMissing(pipeline_name=self.pipeline_name)
        return self.destination

    def _target(self) -> Target:
        return late_imports.open_target(
            self._require_destination(), self._context(), spark=self._spark, staging=self.staging
        )
