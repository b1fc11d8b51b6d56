"""Where runs from this machine go: noted for those who come later, without the script that said it."""

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
from penstock.errors import UsageError
from penstock.interfaces import Destination
from penstock.interfaces.reference import SECTION
from penstock.spark.paths import local_path

if TYPE_CHECKING:
    from penstock.pipeline.target import Target
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")


@configspec
class _BucketSetting(BaseConfiguration):
    """The bucket of a destination as the settings say it, before it is made absolute."""

    bucket_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTarget:
    """The place of the last run, as a whole: parts of two places would be a third one. No secret is in it."""

    destination_name: str | None = None
    """The name of the destination, as it is registered."""
    dataset_name: str | None = None
    location: str | None = None
    """Where the tables are, fit to be shown."""
    bucket_url: str | None = None
    """The folder or bucket of the destination, absolute; None for one whose address has keys in it."""
    staging_name: str | None = None
    staging_bucket: str | None = None
    """The bucket in which packages are kept; None for one whose address has keys in it."""

    @staticmethod
    def load(workdir: WorkDir) -> LastTarget:
        """What is noted in a working folder, else what is sure by the state of its last load.

        A class of dlt's says too little: several destinations of ours go by the same one.
        """
        found, state = workdir.last_target(), workdir.state() or {}
        names = {one.name: found.get(one.name) for one in fields(LastTarget)}
        kind = str(state.get("destination_type") or "")
        names["destination_name"] = names["destination_name"] or (None if "." in kind else kind or None)
        names["dataset_name"] = names["dataset_name"] or state.get("dataset_name")
        return LastTarget(**names)

    @staticmethod
    def try_load(workdir: WorkDir) -> tuple[LastTarget, UsageError | None]:
        """Return what is noted, and the error where the note cannot be read; it is empty then."""
        try:
            return LastTarget.load(workdir), None
        except UsageError as error:
            return LastTarget(), error

    def destination(self, pipeline_name: str) -> Destination | None:
        """Return the destination of the last run; None where none is noted.

        Its bucket is that of the last run, unless the settings name a place of their own: a relative path, or
        none at all, means another folder wherever a command is started.
        """
        if self.destination_name is None:
            return None
        destination = Destination.from_reference(self.destination_name)
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
        """The destination in whose bucket packages are kept; None where the run had none."""
        if self.staging_name is None or self.staging_bucket is None:
            return None
        return Destination.from_reference(self.staging_name).with_arguments(bucket_url=self.staging_bucket)


def save_last_target(target: Target, *, location: str) -> None:
    """Note where a run goes; it is written once, unless it changes. No run fails because of it."""
    origin = LastTarget(
        destination_name=target.destination.destination_name,
        dataset_name=target.pipeline.dataset_name,
        location=redact(location),
        bucket_url=_secret_free_bucket(getattr(target.config, "bucket_url", None)),
        staging_name=target.staging_name,
        staging_bucket=_secret_free_bucket(target.staging_bucket),
    )
    try:
        if _stored_document(target.pipeline.workdir) != asdict(origin):
            target.pipeline.workdir.save_last_target(asdict(origin))
    except OSError as error:
        _LOG.warning("where this run goes cannot be noted in %s: %s", target.pipeline.workdir.path, error)


def _stored_document(workdir: WorkDir) -> dict[str, Any] | None:
    """Return what is noted; None for a file that cannot be read: the run replaces it."""
    try:
        return workdir.last_target()
    except UsageError:
        return None


def _secret_free_bucket(bucket: str | None) -> str | None:
    return bucket if bucket and redact(bucket) == bucket else None
