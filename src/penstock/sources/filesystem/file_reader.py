"""A batch of files becomes few DataFrames: those with the same head are read by one job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from penstock.sources.current import spark
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.frames import NANOS_AS_LONG, csv_frame, jsonl_frame, parquet_frame
from penstock.sources.filesystem.headers import csv_headers, parquet_columns
from penstock.sources.filesystem.plan import check_names, group_by_columns, group_by_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.sources.filesystem.items import ListedFile
    from penstock.sources.filesystem.location import FolderLocation
    from penstock.sources.filesystem.plan import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFileReader:
    """How files are read."""

    format: Format
    csv: CsvOptions = field(default_factory=CsvOptions)
    metadata: bool = False

    def frames(
        self, location: FolderLocation, files: Sequence[ListedFile]
    ) -> Iterator[tuple[Any, tuple[ListedFile, ...]]]:
        """Frames, each with the files that it reads. Files without rows are in none of them."""
        # The first of them decide what a column is: let it be the same ones each time.
        files = sorted(files, key=lambda one: one.path)
        check_names((one.path for one in files), on_disk=location.is_local, is_text=self.format != "parquet")
        told = NANOS_AS_LONG if self.format == "parquet" else {}
        session = spark({**location.hadoop_conf, **told})
        match self.format:
            case "jsonl":
                there = tuple(one for one in files if one.size)
                if there:
                    yield jsonl_frame(session, location, there, metadata=self.metadata), there
            case "csv":
                heads = [self.csv.group_header(one) for one in csv_headers(location, files, self.csv)]
                for header in group_by_header(files, heads):
                    frame = csv_frame(
                        session,
                        location,
                        header.files,
                        header.header,
                        options=self.csv,
                        metadata=self.metadata,
                    )
                    yield frame, header.files
            case "parquet":
                columns = parquet_columns(location, files)
                for group in group_by_columns(files, columns):
                    merge = len({head for head in columns if head is not None}) > 1
                    read = parquet_frame(
                        session, location, group.files, group.header, merge=merge, metadata=self.metadata
                    )
                    yield read, group.files
            case _:
                assert_never(self.format)
