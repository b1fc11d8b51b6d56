"""Files that hold the columns of a frame, seen as the nested dataset that would be written of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.package.record import fitting
from penstock.package.sql import literal, quoted
from penstock.package.unfold import place_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedColumn:
    """A column of the files, and the field of a row that it becomes."""

    column: str
    field: str
    sql_type: str
    """The type of the field, as Spark SQL writes it; every value of the column fits."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> LandedColumn:
        """Read what `to_dict` gave."""
        return fitting(LandedColumn(**document))


def nested(columns: Sequence[LandedColumn], *, load_id: str, folder: str) -> tuple[str, str]:
    """SQL for `id` and `row` of each row of the files of a folder; no row has a text.

    Field by field, so that a reader of one column reads no other.
    """
    fields = (f"{literal(one.field)}, CAST({quoted(one.column)} AS {one.sql_type})" for one in columns)
    file = f"{literal(f'{folder}/')}, `_metadata`.`file_name`"
    row_id = place_id(load_id, file=file, position="`_metadata`.`row_index`")
    return f"{row_id} AS id", f"named_struct({', '.join(fields)}) AS row"
