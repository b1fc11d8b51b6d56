"""Files that hold the columns of a frame, seen as the nested dataset that would be written of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.package.projection.explode import position_id
from penstock.package.sql import literal, quote_name
from penstock.package.strict_record import validate_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFileColumn:
    """A column of the files, and the field of a row that it becomes."""

    column: str
    field: str
    sql_type: str
    """The type of the field, as Spark SQL writes it; every value of the column fits."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> FrameFileColumn:
        """Read what `to_dict` gave."""
        return validate_fields(FrameFileColumn(**document))


def nested_row_columns(columns: Sequence[FrameFileColumn], *, load_id: str, folder: str) -> tuple[str, str]:
    """SQL for `id` and `row` of each row of the files of a folder; no row has a text.

    Field by field, so that a reader of one column reads no other.
    """
    fields = (f"{literal(one.field)}, CAST({quote_name(one.column)} AS {one.sql_type})" for one in columns)
    file = f"{literal(f'{folder}/')}, `_metadata`.`file_name`"
    row_id = position_id(load_id, file=file, position="`_metadata`.`row_index`")
    return f"{row_id} AS id", f"named_struct({', '.join(fields)}) AS row"
