"""Where the packages of a pipeline live, and where its loads are written down."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.interfaces import WithLedger, WithPackageStorage
from penstock.package.file_ledger import FileLedger
from penstock.spark.s3 import s3_needs, s3a_conf_for_all
from penstock.spark.session import check_session, find_session, is_extension_missing
from penstock.spark.session_pool import SessionPool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.interfaces import JobClientBase, Ledger
    from penstock.package import FileStorage
    from penstock.pipeline.target import Target
    from penstock.spark.session import UserSession
    from penstock.spark.watch import SparkWatch

_LEDGER, _PACKAGES = "ledger", "_dlt_pkg"


def package_root(target: Target, client: JobClientBase, *, master: str) -> str:
    """In the staging bucket, else as the settings say, else with the destination, else on this machine."""
    name = target.destination.destination_name
    if target.staging is not None:
        return f"{target.staging}/{target.dataset_name}/{_PACKAGES}/{target.pipeline_name}"
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


def open_pool(
    target: Target,
    root: str,
    *,
    spark: SparkSession | None,
    needs: tuple[str, ...] = (),
    conf: Mapping[str, str] = MappingProxyType({}),
    watch: SparkWatch | None = None,
) -> tuple[UserSession, SessionPool]:
    """The session of the user, and those of our own; these can open the stores of tables and packages.

    `needs` are those of sources, and `conf` is what our own are told besides.
    """
    places, credentials = (target.config.storage_location, root), target.config.storage_credentials
    always = target.destination.capabilities.spark_needs
    wanted = tuple(dict.fromkeys((*always, *target.config.session_needs, *s3_needs(*places), *needs)))
    wishes = target.config.session_wishes
    user = find_session(spark, target.settings, (*wanted, *wishes))
    check_session(user, wanted)
    wanted += tuple(wish for wish in wishes if not is_extension_missing(user.spark, wish))
    told = {**s3a_conf_for_all(places, credentials), **target.config.session_conf(), **conf}
    return user, SessionPool(user, wanted, told, watch)


def ledger_of(client: JobClientBase, packages: FileStorage) -> Ledger:
    """The destination's own ledger, else one beside the packages."""
    return client.ledger() if isinstance(client, WithLedger) else FileLedger(packages.subfolder(_LEDGER))
