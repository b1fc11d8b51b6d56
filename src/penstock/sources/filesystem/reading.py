"""A batch of files becomes few DataFrames: those with the same head are read by one job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from penstock.sources.current import spark
from penstock.sources.filesystem.frames import NANOS_AS_LONG, csv_frame, jsonl_frame, parquet_frame
from penstock.sources.filesystem.heads import columns_of, headers_of
from penstock.sources.filesystem.options import CsvOptions
from penstock.sources.filesystem.plan import by_columns, by_head, check_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.sources.filesystem.items import Found
    from penstock.sources.filesystem.place import Place
    from penstock.sources.filesystem.plan import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read."""

    format: Format
    csv: CsvOptions = field(default_factory=CsvOptions)
    metadata: bool = False

    def frames(self, place: Place, files: Sequence[Found]) -> Iterator[tuple[Any, tuple[Found, ...]]]:
        """Frames, each with the files that it reads. Files without rows are in none of them."""
        # The first of them decide what a column is: let it be the same ones each time.
        files = sorted(files, key=lambda one: one.path)
        check_names((one.path for one in files), on_disk=place.is_local, is_text=self.format != "parquet")
        told = NANOS_AS_LONG if self.format == "parquet" else {}
        session = spark({**place.hadoop_conf, **told})
        match self.format:
            case "jsonl":
                there = tuple(one for one in files if one.size)
                if there:
                    yield jsonl_frame(session, place, there, metadata=self.metadata), there
            case "csv":
                heads = [self.csv.head_of(one) for one in headers_of(place, files, self.csv)]
                for header in by_head(files, heads):
                    frame = csv_frame(
                        session, place, header.files, header.head, options=self.csv, metadata=self.metadata
                    )
                    yield frame, header.files
            case "parquet":
                columns = columns_of(place, files)
                for group in by_columns(files, columns):
                    merge = len({head for head in columns if head is not None}) > 1
                    read = parquet_frame(
                        session, place, group.files, group.head, merge=merge, metadata=self.metadata
                    )
                    yield read, group.files
            case _:
                assert_never(self.format)
