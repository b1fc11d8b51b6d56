"""Python rows, extracted as JSON texts: sample them, learn their shape, write them, check every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from penstock.normalize.plan import plan_layout
from penstock.normalize.profile import RowProfile, profile_rows
from penstock.normalize.quarantine import write_quarantine
from penstock.normalize.refusals import excluded_rows
from penstock.normalize.report import contract_rejects
from penstock.normalize.row_checks import row_checks
from penstock.normalize.row_hashes import row_hash_spec
from penstock.normalize.row_numbers import row_number
from penstock.normalize.small_tables import write_small_tables
from penstock.normalize.steps import add_row_ids, hash_row_ids, parse_rows
from penstock.normalize.table_parts import (
    IS_UNEXPECTED,
    check_row_count,
    count_rejects,
    table_part,
    write_dataset,
)
from penstock.normalize.unexpected import is_mostly_round_trip, unexpected_rows
from penstock.schema import decide

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.table_inputs import TableInput
    from penstock.normalize.table_parts import PackageContext, TablePart, WrittenDataset
    from penstock.package import FileStorage
    from penstock.schema import Decision, StoredSchema

MAX_SAMPLE_ROWS: Final = 5_000
MAX_SAMPLE_BYTES: Final = 16_000_000
MAX_SAMPLE_FILES: Final = 16
_BATCH_SIZE: Final = 256
_FIRST_TEXTS: Final = 100
_PARQUET: Final = ".parquet"

_MAX_ROUNDS: Final = 8
# The driver profiles unexpected rows, and there may be any number of them.
_MAX_PROFILED_ROWS: Final = 1_000
_MAX_PROFILED_LENGTH: Final = 100_000


def normalize_rows(
    context: PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TablePart]:
    """Write rows by the shape of a sample; rows of another shape are profiled and written in a next round."""
    with context.stopwatch("learn"):
        sample = read_sample(
            context.package.store,
            table_input.folders,
            rows=table_input.rows,
            listed=context.extracted_files,
        )
    profile, is_complete = sample.profile, sample.is_complete
    decision = decide(schema, table, profile.evidence, context.options).check()
    if is_complete and not profile.unreadable:
        small_parts = write_small_tables(context, decision, profile, sample.texts, schema, table_input.table)
        if small_parts:
            yield from small_parts
            return
    texts = add_row_ids(_read_texts(context, table_input), load_id=context.package.load_id)
    datasets: list[WrittenDataset] = []
    for round_number in range(_MAX_ROUNDS):
        rows = hash_row_ids(texts, row_hash_spec(decision, context.naming))
        # Rows of later rounds are those that are not as most others.
        first_texts = () if round_number else sample.first_texts
        datasets.append(
            _parse_and_write(context, rows, decision, profile, first_texts, is_complete=is_complete)
        )
        if not round_number:
            check_row_count(table_input, datasets[0])
        if not datasets[-1].unexpected:
            break
        unexpected = context.read_nested(datasets[-1].layout, datasets[-1].folder)
        unexpected = unexpected.where(IS_UNEXPECTED).select("id", "raw.text", "raw.file", "raw.position")
        with context.stopwatch("learn again"):
            profiles = _profile_unexpected(unexpected, table_input, limit=_MAX_PROFILED_ROWS << round_number)
        known_profile, profile = profile, profile.merged_with(*profiles)
        if profile.has_same_shape_as(known_profile):
            break
        texts, is_complete = unexpected, len(profiles) == datasets[-1].unexpected
        decision = decide(schema, table, profile.evidence, context.options).check()
    is_exact = profile.rows == table_input.rows
    for dataset in datasets:
        rejects = contract_rejects(decision) if is_exact and dataset is datasets[0] else ()
        if decision.refusals and not is_exact:
            rejects = count_rejects(context, dataset, decision)
        unreadable = dataset.unexpected if dataset is datasets[-1] else 0
        part = table_part(decision, dataset, schema, table)
        report = replace(
            part.report,
            rows_in=dataset.rows - dataset.unexpected + unreadable,
            rejects=(*part.report.rejects, *rejects),
            unreadable=unreadable,
        )
        yield replace(part, report=report)
    yield from write_quarantine(context, datasets, table_input, decision)


# --- sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The profile of a table's first rows."""

    profile: RowProfile
    is_complete: bool
    """Whether these were all rows."""
    texts: Mapping[str, Sequence[bytes]]
    """All rows by their file if the sample is complete, else none."""
    first_texts: Sequence[bytes]
    """A few rows of each file."""


def read_sample(
    store: FileStorage,
    folders: Sequence[str],
    *,
    rows: int,
    listed: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> Sample:
    """Profile the first rows of the files in these folders, all rows of a small table, without a Spark job.

    The driver reads a few megabytes at most: of many files the first, and others evenly spread over the rest.
    `listed` has the sizes of files by folder and name; other folders are listed here.
    """
    sizes = {
        f"{folder}/{name}": size
        for folder in _evenly_spaced(folders)
        for name, size in (listed.get(folder) or store.sizes(folder)).items()
        if name.endswith(_PARQUET)
    }
    chosen = _evenly_spaced(list(sizes))
    share = MAX_SAMPLE_ROWS if rows <= MAX_SAMPLE_ROWS else max(MAX_SAMPLE_ROWS // max(len(chosen), 1), 1)
    limit = MAX_SAMPLE_BYTES // max(len(chosen), 1)
    profile, sampled = RowProfile(), dict[str, list[bytes]]()
    for name in chosen:
        texts = list(_sample_texts(store, name, sizes[name], rows=share, limit=limit))
        profile = profile.merged_with(profile_rows(texts, start=row_number(name, 0, folders)))
        sampled[name] = texts
    is_complete = profile.rows == rows
    return Sample(
        profile=profile,
        is_complete=is_complete,
        texts=sampled if is_complete else {},
        first_texts=[text for texts in sampled.values() for text in texts[:_FIRST_TEXTS]],
    )


def _evenly_spaced(names: Sequence[str]) -> list[str]:
    if len(names) <= MAX_SAMPLE_FILES:
        return list(names)
    step = len(names) / MAX_SAMPLE_FILES
    return [names[int(step * index)] for index in range(MAX_SAMPLE_FILES)]


def _sample_texts(store: FileStorage, name: str, size: int, *, rows: int, limit: int) -> Iterator[bytes]:
    with store.open(name, size=size) as stream:
        for batch in pq.ParquetFile(stream).iter_batches(batch_size=_BATCH_SIZE, columns=["row"]):
            # As bytes: a text that is not UTF-8 is not JSON either, and must not end the run.
            for scalar in batch.column(0).cast(pa.binary()):
                if not rows or limit <= 0:
                    return
                text = scalar.as_py()
                yield text
                rows, limit = rows - 1, limit - len(text)


# --- write


def _read_texts(context: PackageContext, table_input: TableInput) -> DataFrame:
    return context.read_files(table_input, "row STRING").select(
        F.col("row").alias("text"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )


def _parse_and_write(
    context: PackageContext,
    texts: DataFrame,
    decision: Decision,
    profile: RowProfile,
    first_texts: Sequence[bytes],
    *,
    is_complete: bool,
) -> WrittenDataset:
    """Parse texts, write a nested dataset, and find the rows that it does not fit, all in one job."""
    layout = plan_layout(decision, profile)
    make_check = partial(
        unexpected_rows,
        decision,
        layout,
        profile,
        is_complete=is_complete,
        compares_texts=is_mostly_round_trip(first_texts, layout),
    )
    refused = excluded_rows(decision, layout, row_hash_spec(decision, context.naming))
    checks = row_checks(context.checks_of(decision), decision, layout)
    rows = parse_rows(texts, layout, make_check, refused, checks).select("id", "raw", "row")
    return write_dataset(context, rows, layout, checks=checks.checks if checks else ())


def _profile_unexpected(unexpected: DataFrame, table_input: TableInput, *, limit: int) -> list[RowProfile]:
    """Profile the first unexpected rows, one by one; a very long one only if there are no others."""
    ordered = unexpected.orderBy("file", "position")
    rows = ordered.where(F.octet_length("text") <= _MAX_PROFILED_LENGTH).limit(limit).collect()
    return [
        profile_rows([row["text"]], start=row_number(row["file"], row["position"], table_input.folders))
        for row in rows or ordered.limit(1).collect()
    ]
