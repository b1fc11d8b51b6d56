"""Decides who writes the files of rows: this machine, or a Spark session for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.errors import StorageFull
from penstock.spark.frame_writer import send_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces.frame_writer import RowSender
    from penstock.package import FileStorage

_PROBE: Final = "_probe"


def choose_sender(
    settings: ExtractConfiguration,
    store: FileStorage,
    session: Callable[[], AbstractContextManager[SparkSession]],
    *,
    is_remote: bool,
) -> RowSender | None:
    """Who sends rows to storage that this machine cannot write to; None where it can.

    Left to itself it is tried, for clients of Spark Connect: the driver of a classic session stands where its
    cluster does.
    """
    said = settings.through_session
    through = is_remote and not _can_write(store) if said == "auto" else said
    if not through:
        return None

    def send(rows: pa.Table, address: str) -> None:
        with session() as spark:
            send_rows(rows, address, spark=spark)

    return send


def _can_write(store: FileStorage) -> bool:
    try:
        with store.open_new(_PROBE) as stream:
            stream.write(b"")
        store.delete(_PROBE)
    except StorageFull:
        raise
    except OSError:
        return False
    return True
