"""Where runs from this machine go: noted for those who come later, without the script that said it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from penstock.config import logger, redact
from penstock.interfaces import Destination

if TYPE_CHECKING:
    from penstock.pipeline.target import Target
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The place of the last run, as a whole: parts of two places would be a third one. No secret is in it."""

    destination_name: str | None = None
    """The name of the destination, as it is registered."""
    dataset_name: str | None = None
    location: str | None = None
    """Where the tables are, fit to be shown."""
    staging_name: str | None = None
    staging_bucket: str | None = None
    """The bucket in which packages are kept; None for one whose address has keys in it."""

    @staticmethod
    def noted(workdir: WorkDir) -> Origin:
        """What is noted in a working folder, else what is sure by the state of its last load.

        A class of dlt's says too little: several destinations of ours go by the same one.
        """
        found, state = workdir.origin(), workdir.state() or {}
        names = {one.name: found.get(one.name) for one in fields(Origin)}
        kind = str(state.get("destination_type") or "")
        names["destination_name"] = names["destination_name"] or (None if "." in kind else kind or None)
        names["dataset_name"] = names["dataset_name"] or state.get("dataset_name")
        return Origin(**names)

    @property
    def staging(self) -> Destination | None:
        """The destination in whose bucket packages are kept; None where the run had none."""
        if self.staging_name is None or self.staging_bucket is None:
            return None
        return Destination.from_reference(self.staging_name).with_arguments(bucket_url=self.staging_bucket)


def note_origin(target: Target, *, location: str) -> None:
    """Note where a run goes; it is written once, unless it changes. No run fails because of it."""
    bucket = target.staging
    origin = Origin(
        destination_name=target.destination.destination_name,
        dataset_name=target.dataset_name,
        location=redact(location),
        staging_name=target.staging_name,
        staging_bucket=bucket if bucket and redact(bucket) == bucket else None,
    )
    try:
        if target.workdir.origin() != asdict(origin):
            target.workdir.save_origin(asdict(origin))
    except OSError as error:
        _LOG.warning("where this run goes cannot be noted in %s: %s", target.workdir.path, error)
