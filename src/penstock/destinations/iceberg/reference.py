"""The destination reference of `iceberg`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from penstock.destinations.delta.reference import DELTA
from penstock.destinations.iceberg.adapter import IcebergClient
from penstock.destinations.iceberg.settings import IcebergConfiguration
from penstock.destinations.lake.reference import LakeReference

_CAPABILITIES: Final = replace(
    DELTA.capabilities(),
    spark_needs=("iceberg",),
    preferred_table_format="iceberg",
    supported_table_formats=("iceberg",),
)
"""The capabilities of Delta tables, except for the format."""


class IcebergReference(LakeReference[IcebergConfiguration, IcebergClient]):
    """Iceberg tables in a catalog."""

    def __init__(self) -> None:
        super().__init__(IcebergConfiguration, IcebergClient, _CAPABILITIES)


ICEBERG: Final = IcebergReference()
