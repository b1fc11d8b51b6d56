"""Every row gets an id that depends on where it stands in the package, and on nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.sql import literal
from penstock.package.unfold import digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stamp_rows(positioned: DataFrame, *, load_id: str) -> DataFrame:
    """Add `id`, made of the columns `file` and `position`.

    No clock, no random number: a retried task, a speculative copy and a second run of the package give the
    same ids. A file's name alone is not unique; its path inside the package is.
    """
    inside = f"substring_index(`file`, {literal(f'/packages/{load_id}/')}, -1)"
    text = f"concat({literal(load_id)}, '/', {inside}, '/', CAST(`position` AS STRING))"
    return positioned.selectExpr("*", f"{digest(text)} AS id")
