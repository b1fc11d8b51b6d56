"""The options and settings of Spark that mark a commit with its load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.destinations.delta.history import app_id, load_metadata

if TYPE_CHECKING:
    from penstock.interfaces import LoadMark

USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_WRITE_CONF_PREFIX: Final = "spark.databricks.delta.write."


def transaction_options(mark: LoadMark) -> dict[str, str]:
    """Return the options of a writer that mark the commit of a load."""
    return {
        "txnAppId": app_id(mark),
        "txnVersion": str(mark.sequence),
        "userMetadata": load_metadata(mark),
    }


def statement_conf(mark: LoadMark) -> dict[str, str]:
    """Return the session settings that mark the commits of statements, which take no options."""
    return {
        f"{_WRITE_CONF_PREFIX}txnAppId": app_id(mark),
        f"{_WRITE_CONF_PREFIX}txnVersion": str(mark.sequence),
        USER_METADATA: load_metadata(mark),
    }
