"""The target of the last run from this machine, saved for tools that do not have the user's script."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from penstock.config import (
    BaseConfiguration,
    configspec,
    logger,
    read_settings,
    redact,
    resolve_configuration,
)
from penstock.errors import UnknownDestination, UsageError
from penstock.interfaces import Destination, destination_names
from penstock.interfaces.destination import SECTION
from penstock.spark.paths import local_path

if TYPE_CHECKING:
    from penstock.pipeline.target import Target
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")


@configspec
class _BucketSetting(BaseConfiguration):
    """The bucket of a destination in the settings, before it is made absolute."""

    bucket_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTarget:
    """The target of the last run. It is replaced as a whole, and contains no secrets."""

    destination_name: str | None = None
    destination_type: str | None = None
    """The registered name of its type; None for a destination that is not registered."""
    dataset_name: str | None = None
    location: str | None = None
    """The location of the tables, without secrets."""
    bucket_url: str | None = None
    """The folder or bucket of the destination, absolute; None if the address contains credentials."""
    staging_name: str | None = None
    staging_type: str | None = None
    """The registered name of its type."""
    staging_bucket: str | None = None
    """The bucket in which packages are stored; None if the address contains credentials."""

    @staticmethod
    def load(workdir: WorkDir) -> LastTarget:
        """Return the saved target; without one, the destination and dataset in the state of the last load."""
        document, state = workdir.last_target(), workdir.state() or {}
        values = {field.name: document.get(field.name) for field in fields(LastTarget)}
        destination_type = str(state.get("destination_type") or "")
        if not values["destination_name"] and "." not in destination_type:
            # A class name of dlt is ambiguous: several destinations have the same one.
            values["destination_name"] = destination_type or None
        values["dataset_name"] = values["dataset_name"] or state.get("dataset_name")
        return LastTarget(**values)

    @staticmethod
    def try_load(workdir: WorkDir) -> tuple[LastTarget, UsageError | None]:
        """Return the saved target; an empty one and the error if it cannot be read."""
        try:
            return LastTarget.load(workdir), None
        except UsageError as error:
            return LastTarget(), error

    def destination(self, pipeline_name: str) -> Destination | None:
        """Return the destination of the last run; None if none is saved, or if it has no registered type.

        A function is such a destination: its module is not imported only to find it. The bucket is that of
        the last run, unless the settings have an absolute one: a relative path means another folder wherever
        a command is started.
        """
        if self.destination_name is None:
            return None
        try:
            destination = Destination.from_reference(
                self.destination_type or self.destination_name, destination_name=self.destination_name
            )
        except UnknownDestination:
            return None
        if self.bucket_url is None:
            return destination
        bucket = resolve_configuration(
            _BucketSetting,
            settings=read_settings(),
            sections=(SECTION, self.destination_name),
            pipeline_name=pipeline_name,
        ).bucket_url
        folder = local_path(bucket) if bucket else None
        is_fixed = bool(bucket) and (folder is None or folder.is_absolute())
        return destination if is_fixed else destination.with_arguments(bucket_url=self.bucket_url)

    @property
    def staging(self) -> Destination | None:
        """The staging destination; None if the last run had none."""
        if self.staging_name is None or self.staging_bucket is None:
            return None
        return Destination.from_reference(
            self.staging_type or self.staging_name,
            destination_name=self.staging_name,
            bucket_url=self.staging_bucket,
        )


def save_last_target(target: Target, *, location: str) -> None:
    """Save the target of a run if it has changed; a failure is only a warning."""
    last_target = LastTarget(
        destination_name=target.destination.destination_name,
        destination_type=registered_name(target.destination),
        dataset_name=target.pipeline.dataset_name,
        location=redact(location),
        bucket_url=_secret_free_bucket(getattr(target.config, "bucket_url", None)),
        staging_name=target.staging.destination_name if target.staging else None,
        staging_type=registered_name(target.staging) if target.staging else None,
        staging_bucket=_secret_free_bucket(target.staging_bucket),
    )
    try:
        if _stored_document(target.pipeline.workdir) != asdict(last_target):
            target.pipeline.workdir.save_last_target(asdict(last_target))
    except OSError as error:
        _LOG.warning("the target of this run cannot be saved in %s: %s", target.pipeline.workdir.path, error)


def registered_name(destination: Destination) -> str | None:
    """Return the name under which the type of a destination is registered; None if it is not."""
    name = destination.to_name(destination.destination_type)
    return name if name in destination_names() else None


def _stored_document(workdir: WorkDir) -> dict[str, Any] | None:
    """Return the saved target; None for a file that cannot be read, which the run replaces."""
    try:
        return workdir.last_target()
    except UsageError:
        return None


def _secret_free_bucket(bucket: str | None) -> str | None:
    return bucket if bucket and redact(bucket) == bucket else None
