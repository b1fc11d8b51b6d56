"""What a destination must be told: where it is, and which dataset is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from penstock.config import BaseConfiguration, NotResolved, configspec, redact
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.config import AwsCredentials
    from penstock.schema import Schema
    from penstock.schema.types import DataType


@configspec
class DestinationClientConfiguration(BaseConfiguration):
    """The settings of a destination; subclass it and add your own.

    >>> str(DestinationClientConfiguration(destination_name="warehouse"))
    'warehouse'
    """

    destination_type: ClassVar[str] = ""
    """How a pipeline's state names the destination; the name it is registered by where this is empty."""

    destination_name: Annotated[str | None, NotResolved()] = None
    """Which destination to load data to."""

    @property
    def alterable_types(self) -> frozenset[tuple[DataType, DataType]]:
        """Pairs (from, to) of types that columns can be changed from and to, rows and all.

        Where there are some, values that do not fit a column make it wider, instead of getting a column of
        their own.
        """
        return frozenset()

    @property
    def session_needs(self) -> tuple[str, ...]:
        """What sessions need beyond what the destination always needs, by these settings."""
        return ()

    @property
    def session_wishes(self) -> tuple[str, ...]:
        """What a session is built with, and a given one may lack until a table asks for it."""
        return ()

    def session_conf(self) -> dict[str, str]:
        """What sessions that penstock works in must be told, such as a catalog; it may hold secrets."""
        return {}

    @property
    def storage_location(self) -> str | None:
        """Where files are that Spark itself reads and writes for this destination; None if nowhere."""
        return None

    @property
    def storage_credentials(self) -> AwsCredentials | None:
        """The keys of the object stores that tables and packages are in; None for those of the machine."""
        return None

    def fingerprint(self) -> str:
        """A short hash of what tells two places apart, such as the host; never of secrets."""
        return ""

    def __str__(self) -> str:
        """The place, fit to be shown: without credentials."""
        return self.destination_name or type(self).__name__

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """The same settings as one pipeline uses them; `master` says where Spark runs."""
        del pipeline_name, dataset_name, default_schema_name, master
        return self


@configspec
class DestinationClientDwhConfiguration(DestinationClientConfiguration):
    """The settings of a destination that has datasets: database schemas, or folders."""

    dataset_name: Annotated[str | None, NotResolved()] = None
    """The dataset to load to; for schemas other than the default one, the beginning of its name."""
    default_schema_name: Annotated[str | None, NotResolved()] = None
    """The schema whose dataset is called `dataset_name` and nothing more."""
    replace_strategy: str | None = None
    """How to replace tables: `classic` or `staging`, or a word of dlt's."""
    staging_dataset_name_layout: str = "%s_staging"
    enable_dataset_name_normalization: bool = True

    def normalize_dataset_name(self, schema: Schema) -> str:
        """The name of the dataset for a schema, by the naming convention of that schema.

        >>> from penstock.schema import Schema
        >>> config = DestinationClientDwhConfiguration(dataset_name="MyLake", default_schema_name="shop")
        >>> config.normalize_dataset_name(Schema("shop")), config.normalize_dataset_name(Schema("crm"))
        ('my_lake', 'my_lake_crm')
        """
        if not self.dataset_name:
            raise UsageError(
                f"no dataset is named for {self.destination_name or 'the destination'}",
                hint="pass dataset_name=... to penstock.pipeline()",
            )
        is_default = self.default_schema_name in (None, schema.name)
        name = self.dataset_name if is_default else f"{self.dataset_name}_{schema.name}"
        return self._normalized_name(name, schema)

    def normalize_staging_dataset_name(self, schema: Schema) -> str:
        """The name of the staging dataset; never that of the dataset itself."""
        dataset = self.normalize_dataset_name(schema)
        layout = self.staging_dataset_name_layout
        name = self._normalized_name(layout.replace("%s", dataset, 1), schema)
        if name == dataset:
            raise UsageError(
                f"dataset and staging dataset would both be called {name!r}",
                hint="set staging_dataset_name_layout to something like '%s_staging'",
                staging_dataset_name_layout=layout,
            )
        return name

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """The same settings for the dataset of one pipeline."""
        del pipeline_name, master
        changes: dict[str, Any] = {"dataset_name": dataset_name, "default_schema_name": default_schema_name}
        return self.model_copy(update=changes)

    def _normalized_name(self, name: str, schema: Schema) -> str:
        if not self.enable_dataset_name_normalization:
            return name
        return schema.naming.normalize_table_identifier(name)


@configspec
class DestinationClientStagingConfiguration(DestinationClientDwhConfiguration):
    """The settings of a destination that stores files, for itself or for another one to take them from."""

    as_staging: Annotated[bool, NotResolved()] = False
    """Whether the files are for another destination."""
    bucket_url: str = None  # type: ignore[assignment]
    layout: str = "{table_name}/{load_id}.{file_id}.{ext}"

    def __str__(self) -> str:
        """The bucket without credentials."""
        return redact(self.bucket_url)


@configspec
class DestinationClientDwhWithStagingConfiguration(DestinationClientDwhConfiguration):
    """The settings of a destination that can take its rows from files of another one."""

    staging_config: Annotated[DestinationClientStagingConfiguration | None, NotResolved()] = None
    """The settings of the destination that stores the files, if there is one; set by the pipeline."""
    truncate_tables_on_staging_destination_before_load: bool = True
