"""Every row gets an id that depends on where it stands in the package, and on nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.projection.explode import position_id
from penstock.package.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def add_row_ids(rows: DataFrame, *, load_id: str) -> DataFrame:
    """Add `id`, made of the columns `file` and `position`."""
    inside = f"substring_index(`file`, {literal(f'/packages/{load_id}/')}, -1)"
    return rows.selectExpr("*", f"{position_id(load_id, file=inside, position='`position`')} AS id")
