"""The way of a Spark DataFrame into a package: written by the session that it belongs to, once.

`extract` hands frames over without knowing Spark, so `pipeline` names who lands them here, once, when it is
imported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameWriteResult:
    """A DataFrame that stands in files."""

    address: str
    """The folder of the files."""
    columns: Mapping[str, Any]
    """What is in the files, as `interfaces.columns` has it."""
    rows: int | None
    """None where Spark did not say."""
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What Hadoop must be told to open the folder."""
    quarantined_rows: int | None = 0
    """Rows that were not written because they are to be put aside; None where Spark did not say."""
    observed: Mapping[str, Any] | None = None
    """What the hook wanted to be observed; None where Spark did not say, or there was no hook."""


class QuarantiningFrame:
    """A DataFrame some of whose rows are none of its table: they are put aside, and counted.

    The column `aside` is null in rows that are good, and does not come into their files. With `is_text` the
    only other column is `row`, and holds rows as JSON texts. `told` gives, for a resource and a table, the
    rows of `_dlt_quarantine` in that form; it is called only where there are any.
    """

    __slots__ = ("frame", "is_text", "quarantine_column", "quarantine_rows")

    def __init__(
        self,
        frame: Any,
        *,
        quarantine_column: str | None = None,
        quarantine_rows: Callable[[str, str], Any] | None = None,
        is_text: bool = False,
    ) -> None:
        self.frame, self.quarantine_column, self.quarantine_rows, self.is_text = (
            frame,
            quarantine_column,
            quarantine_rows,
            is_text,
        )


class FrameHook(Protocol):
    """Stands between a DataFrame and its files."""

    def before(self, frame: DataFrame) -> tuple[DataFrame, Mapping[str, Column]]:
        """The frame that is to be landed instead, and aggregates of it to be observed while it is written.

        The aggregates may name the columns of the frame that is given back.
        """

    def after(self, result: FrameWriteResult) -> None:
        """Called once the files are there. What was not observed can be read from them."""


class SparkFrameWriter(Protocol):
    """Writes a DataFrame as typed files."""

    def __call__(
        self,
        frame: Any,
        address: str,
        *,
        hook: FrameHook | None = None,
        conf: Mapping[str, str] | None = None,
        quarantine_column: str | None = None,
    ) -> FrameWriteResult:
        """Write it to a folder that is not there yet; `conf` is what Hadoop must be told to open it.

        Rows with something in the column `aside` are counted, and not written.
        """


class RowSender(Protocol):
    """Sends rows through a Spark session to where only the session can write."""

    def __call__(self, rows: pa.Table, address: str) -> None:
        """Add them to the files of a folder; they are there when this returns."""


_frame_writers: list[SparkFrameWriter] = []


def register_frame_writer(writer: SparkFrameWriter) -> None:
    """Name who lands DataFrames; a later one takes the place of an earlier one."""
    _frame_writers[:] = [writer]


def write_frame(
    frame: Any,
    address: str,
    *,
    hook: FrameHook | None = None,
    conf: Mapping[str, str] | None = None,
    quarantine_column: str | None = None,
) -> FrameWriteResult:
    """Write a DataFrame of Spark, classic or over Connect, as typed files."""
    if not _frame_writers:
        raise InternalError("nobody can land a DataFrame yet", hint="import penstock, not one of its rooms")
    return _frame_writers[0](frame, address, hook=hook, conf=conf, quarantine_column=quarantine_column)
