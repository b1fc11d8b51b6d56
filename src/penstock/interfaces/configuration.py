"""The settings of destinations: location, credentials and dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from penstock.config import BaseConfiguration, NotResolved, configspec, redact
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.config import AwsCredentials
    from penstock.schema import Schema
    from penstock.schema.types import DataType


CsvQuoting = Literal["quote_all", "quote_needed", "quote_minimal", "quote_none"]
"""Which values of CSV files are in quotes."""


@configspec
class CsvFormatConfiguration(BaseConfiguration):
    """The format of CSV files, for a setting of third-party destinations.

    penstock's own CSV files are as the `filesystem` destination describes them.

    >>> CsvFormatConfiguration(delimiter="|", include_header=False).quoting
    'quote_needed'
    """

    delimiter: str = ","
    include_header: bool = True
    quoting: CsvQuoting = "quote_needed"
    lineterminator: str = "\n"
    encoding: str = "utf-8"
    encoding_errors: str = "strict"
    on_error_continue: bool = False


@configspec
class DestinationClientConfiguration(BaseConfiguration):
    """The settings of a destination; subclass it to add settings.

    >>> str(DestinationClientConfiguration(destination_name="warehouse"))
    'warehouse'
    """

    destination_type: ClassVar[str] = ""
    """The type name in a pipeline's state; by default the registered name."""

    destination_name: Annotated[str | None, NotResolved()] = None
    """The name of the destination."""

    @property
    def alterable_types(self) -> frozenset[tuple[DataType, DataType]]:
        """Pairs (from, to) of column types between which a column can be converted, including its rows.

        With such pairs, a value that does not fit widens its column instead of creating a variant column.
        """
        return frozenset()

    @property
    def session_needs(self) -> tuple[str, ...]:
        """Return presets that these settings need in addition to the capabilities."""
        return ()

    @property
    def session_wishes(self) -> tuple[str, ...]:
        """Return presets that a given session may lack until a table needs them."""
        return ()

    @property
    def loads_without_spark(self) -> bool:
        """Return whether a load may need no Spark session, so that none is opened before its first use."""
        return False

    def session_conf(self) -> dict[str, str]:
        """Return settings for penstock's sessions, such as a catalog; they may contain secrets."""
        return {}

    @property
    def is_staged(self) -> bool:
        """Whether the destination loads the files of a staging destination."""
        return False

    @property
    def storage_location(self) -> str | None:
        """Return the location of files that Spark reads and writes; None if there is none."""
        return None

    @property
    def storage_credentials(self) -> AwsCredentials | None:
        """Return the credentials of the object stores; None for those of the machine."""
        return None

    def fingerprint(self) -> str:
        """Return a short hash that identifies the location, such as the host; never of secrets."""
        return ""

    def __str__(self) -> str:
        """Return the location without credentials."""
        return self.destination_name or type(self).__name__

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """Return the settings for one pipeline; `master` is Spark's master."""
        del pipeline_name, dataset_name, default_schema_name, master
        return self


@configspec
class DestinationClientDwhConfiguration(DestinationClientConfiguration):
    """The settings of a destination with datasets: database schemas or folders."""

    dataset_name: Annotated[str | None, NotResolved()] = None
    """The dataset name; for schemas other than the default one, its prefix."""
    default_schema_name: Annotated[str | None, NotResolved()] = None
    """The schema whose dataset has exactly the name `dataset_name`."""
    replace_strategy: str | None = None
    """The strategy for replace: `classic`, `staging`, or a name of dlt's."""
    staging_dataset_name_layout: str = "%s_staging"
    enable_dataset_name_normalization: bool = True

    def normalize_dataset_name(self, schema: Schema) -> str:
        """Return the dataset name for a schema, by the naming convention of that schema.

        >>> from penstock.schema import Schema
        >>> config = DestinationClientDwhConfiguration(dataset_name="MyLake", default_schema_name="shop")
        >>> config.normalize_dataset_name(Schema("shop")), config.normalize_dataset_name(Schema("crm"))
        ('my_lake', 'my_lake_crm')
        """
        if not self.dataset_name:
            raise UsageError(
                f"{self.destination_name or 'the destination'} has no dataset name",
                hint="pass dataset_name=... to penstock.pipeline()",
            )
        is_default = self.default_schema_name in (None, schema.name)
        name = self.dataset_name if is_default else f"{self.dataset_name}_{schema.name}"
        return self._normalized_name(name, schema)

    def normalize_staging_dataset_name(self, schema: Schema) -> str:
        """Return the name of the staging dataset; never that of the dataset itself."""
        dataset = self.normalize_dataset_name(schema)
        layout = self.staging_dataset_name_layout
        name = self._normalized_name(layout.replace("%s", dataset, 1), schema)
        if name == dataset:
            raise UsageError(
                f"dataset and staging dataset have the same name {name!r}",
                hint="set staging_dataset_name_layout to something like '%s_staging'",
                staging_dataset_name_layout=layout,
            )
        return name

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """Return the settings for the dataset of one pipeline."""
        del pipeline_name, master
        changes: dict[str, Any] = {"dataset_name": dataset_name, "default_schema_name": default_schema_name}
        return self.model_copy(update=changes)

    def _normalized_name(self, name: str, schema: Schema) -> str:
        if not self.enable_dataset_name_normalization:
            return name
        return schema.naming.normalize_table_identifier(name)


@configspec
class DestinationClientStagingConfiguration(DestinationClientDwhConfiguration):
    """The settings of a destination that stores files, as tables or for staging."""

    as_staging: Annotated[bool, NotResolved()] = False
    """Whether the files are staging files of another destination."""
    bucket_url: str = None  # type: ignore[assignment]
    layout: str = "{table_name}/{load_id}.{file_id}.{ext}"

    @property
    def storage_location(self) -> str | None:
        """Return the bucket."""
        return self.bucket_url

    def __str__(self) -> str:
        """Return the bucket without credentials; the name of the destination before there is one."""
        return redact(self.bucket_url) if self.bucket_url else super().__str__()


@configspec
class DestinationClientDwhWithStagingConfiguration(DestinationClientDwhConfiguration):
    """The settings of a destination that can load from staging files."""

    staging_config: Annotated[DestinationClientStagingConfiguration | None, NotResolved()] = None
    """The settings of the staging destination, if any; set by the pipeline."""

    @property
    def is_staged(self) -> bool:
        """Whether a staging destination is given."""
        return self.staging_config is not None

    @property
    def storage_credentials(self) -> AwsCredentials | None:
        """Return the credentials of the staging bucket, where packages are stored."""
        return None if self.staging_config is None else self.staging_config.storage_credentials
