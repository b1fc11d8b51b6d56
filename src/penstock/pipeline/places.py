"""Where the packages of a pipeline live, and where its loads are written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.interfaces import WithLedger, WithPackageStorage
from penstock.package.ledger import FileLedger

if TYPE_CHECKING:
    from penstock.interfaces import JobClientBase, Ledger
    from penstock.package import FileStorage
    from penstock.pipeline.target import Target

_LEDGER = "ledger"


def package_root(target: Target, client: JobClientBase, *, master: str) -> str:
    """As the settings say, else with the destination, else in the working folder of this machine."""
    name = target.destination.destination_name
    said = target.settings.get("destination", name, key="package_storage")
    if said is not None:
        return f"{str(said).rstrip('/')}/{target.dataset_name}/{target.pipeline_name}"
    if isinstance(client, WithPackageStorage):
        return client.package_root(target.pipeline_name)
    if not master.startswith("local"):
        raise UsageError(
            f"the {name} destination has no room for packages, and Spark runs on {master}, "
            "where a local folder is not seen by all",
            hint=f"set DESTINATION__{name.upper()}__PACKAGE_STORAGE to storage that all machines reach",
        )
    return str(target.workdir.path / "load" / target.dataset_name)


def ledger_of(client: JobClientBase, packages: FileStorage) -> Ledger:
    """The destination's own ledger, else one beside the packages."""
    return client.ledger() if isinstance(client, WithLedger) else FileLedger(packages.below(_LEDGER))
