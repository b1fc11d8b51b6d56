"""Parts of root tables: nested datasets that Spark wrote, and the plans that read tables out of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import functions as F

from penstock.errors import InternalError
from penstock.normalize.checks import expectation_rule
from penstock.normalize.nested_layout import ListOf, Object
from penstock.normalize.plan import plan_tables
from penstock.normalize.refusals import KEYLESS_RULE, refusal_counts
from penstock.normalize.report import Reject, check_reject, contract_rejects, keyless_reject, root_report
from penstock.package.sql import quote_name
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.value_path import EACH
from penstock.spark.observation import observe_frame
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.interfaces.check import Check
    from penstock.normalize.flat_rows import FlatTable
    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.plan import TablePlan
    from penstock.normalize.progress import Stopwatch
    from penstock.normalize.report import RootReport
    from penstock.normalize.table_inputs import TableInput
    from penstock.package import DataFolder, Package
    from penstock.package.projection.model import Projection
    from penstock.schema import Decision, NamingConvention, StoredSchema, ValuePath
    from penstock.schema.inference_options import InferenceOptions
    from penstock.schema.origin import ColumnOrigin

IS_UNEXPECTED: Final = "raw IS NOT NULL AND raw.rule IS NULL"
_PARENT_AND_CHILD: Final = 2
_MAX_LISTS: Final = 200
_UNEXPECTED, _REFUSED, _KEYLESS = "unexpected", "refused", "keyless"


@dataclass(slots=True)
class DriverBudget:
    """The rows of a package that the driver may still write itself."""

    rows: int

    def take(self, rows: int) -> bool:
        """Use up so many rows; return False if there are not as many left."""
        if rows > self.rows:
            return False
        self.rows -= rows
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageContext:
    """Settings that all root tables of a package share, and its folders."""

    package: Package
    spark: SparkSession
    options: InferenceOptions
    naming: NamingConvention
    table_extras: Mapping[str, Any]
    new_folders: Iterator[str]
    quarantine: bool
    stopwatch: Stopwatch
    driver_budget: DriverBudget
    quarantine_checks: Mapping[str, Sequence[Check]]
    """The checks of root tables whose failing rows are quarantined."""
    extracted_files: Mapping[str, Mapping[str, int]]
    """The sizes of extracted files by folder and name; folders that are not in it are listed one by one."""
    capabilities: DestinationCapabilitiesContext | None = None
    replay: Literal["merge", "replace"] | None = None
    """How rows are replayed from the quarantine: the disposition of its table. None: they are new."""

    def checks_of(self, decision: Decision) -> Sequence[Check]:
        """Return the checks of the root table of a decision whose failing rows are quarantined."""
        return self.quarantine_checks.get(decision.tables.get((), ""), ())

    def address(self, folder: str) -> str:
        """Return the path of a folder as Spark takes it."""
        return spark_path(f"{self.package.path}/{folder}")

    def read_files(self, table_input: TableInput, columns: str | StructType) -> DataFrame:
        """Read the extracted files of a table.

        The columns are always given: otherwise Spark runs a job to find them in the files.
        """
        addresses = [self.address(folder) for folder in table_input.folders]
        return self.spark.read.schema(columns).parquet(*addresses)

    def read_nested(self, layout: NestedLayout, folder: str) -> DataFrame:
        """Read a nested dataset."""
        return self.spark.read.schema(layout.columns).parquet(self.address(folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatFiles:
    """The rows of one table in files with the columns of the table."""

    folder: DataFolder
    columns: str
    """The columns as Spark SQL."""
    rows: int
    content: FlatTable | None = None
    """The rows, if the driver wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDataset:
    """A nested dataset on storage, and counts of its rows."""

    folders: tuple[str, ...]
    """One folder; more only where the rows keep the files that extract wrote."""
    layout: NestedLayout
    rows: int
    unexpected: int = 0
    """Rows that the layout does not fit; they are stored as text only."""
    refused: int = 0
    """Root rows that are left out, because the contract refuses them or because they have no key."""
    keyless: int = 0
    refused_by_check: Mapping[str, int] = field(default_factory=dict)
    """Root rows that are left out because they fail a check, by its name."""
    list_sizes: Mapping[ValuePath, int] = field(default_factory=dict)
    """The number of elements of each list that is in no other list."""
    passthrough_columns: Mapping[str, Any] | None = None
    """The columns of the extracted files, if rows keep these and no nested dataset was written."""
    is_flat: bool = False
    """Whether a table can take the extracted files as they are, unless it changes a column."""
    flat_files: Mapping[str, FlatFiles] = field(default_factory=dict)
    """The files of each table, if the driver wrote these and no nested dataset."""

    @property
    def folder(self) -> str:
        """The folder of a nested dataset that was written."""
        return self.folders[0]

    @property
    def written_folders(self) -> tuple[str, ...]:
        """The folders that normalize wrote."""
        return self.folders if self.passthrough_columns is None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """Rows of a root table in one dataset: a plan for each table, root first, and the schema after them."""

    dataset: WrittenDataset
    plans: list[TablePlan]
    report: RootReport
    schema: StoredSchema
    origins: tuple[ColumnOrigin, ...] = ()
    """The origins of the columns that the rows added or changed."""


def table_part(
    decision: Decision,
    dataset: WrittenDataset,
    schema: StoredSchema,
    table: str,
    *,
    plans: list[TablePlan] | None = None,
) -> TablePart:
    """Plan the tables of a dataset, unless they are, and report on it; `schema` is the one before it."""
    if plans is None:
        plans = plan_tables(decision, dataset.layout, is_partial=dataset.unexpected + dataset.refused > 0)
    is_counted = all(refusal.mode == "discard_value" for refusal in decision.refusals)
    rows = dataset.rows - dataset.unexpected - dataset.refused if is_counted else None
    nested = (
        {name: flat.rows for name, flat in dataset.flat_files.items() if name != table}
        if dataset.flat_files
        else nested_counts(plans, decision.tables, dataset.list_sizes)
    )
    report = root_report(
        table,
        plans,
        schema,
        rows_in=dataset.rows,
        rows_out=rows,
        nested=nested,
        refused=dataset.refused,
    )
    rejects = [keyless_reject(table, dataset.keyless)] if dataset.keyless else []
    rejects += [check_reject(table, name, count) for name, count in dataset.refused_by_check.items() if count]
    report = replace(report, rejects=tuple(rejects))
    return TablePart(
        dataset=dataset, plans=plans, report=report, schema=decision.schema, origins=decision.origins
    )


def write_dataset(
    context: PackageContext,
    rows: DataFrame,
    layout: NestedLayout,
    *,
    step: str = "shape",
    checks: Sequence[Check] = (),
) -> WrittenDataset:
    """Write the columns `id`, `raw` and `row` to a new folder, and count the rows in the same job.

    Rows that are refused because of `checks` are counted by check.
    """
    folder = next(context.new_folders)
    lists = dict(enumerate(list_sizes(layout).items()))
    sums = {
        _UNEXPECTED: F.count_if(F.expr(IS_UNEXPECTED)),
        _REFUSED: F.count("raw.rule"),
        _KEYLESS: F.count_if(F.col("raw.rule") == KEYLESS_RULE),
    }
    sums |= {
        f"check{n}": F.count_if(F.col("raw.rule") == expectation_rule(check))
        for n, check in enumerate(checks)
    }
    sums |= {
        f"list{n}": F.sum(F.expr(f"CASE WHEN raw IS NULL THEN {size} END")) for n, (_, size) in lists.items()
    }
    observed, observation = observe_frame(rows, sums)
    with context.stopwatch(step):
        observed.write.mode("overwrite").parquet(context.address(folder))
        counts = observation.values()
        if counts is None:
            written = context.read_nested(layout, folder)
            all_sums = {"rows": F.count(F.lit(1)), **sums}
            row = written.agg(*(column.alias(name) for name, column in all_sums.items())).collect()[0]
            counts = row.asDict()
    return WrittenDataset(
        folders=(folder,),
        layout=layout,
        rows=counts["rows"],
        unexpected=counts[_UNEXPECTED],
        refused=counts[_REFUSED],
        keyless=counts[_KEYLESS],
        refused_by_check={check.name: counts[f"check{n}"] for n, check in enumerate(checks)},
        list_sizes={path: counts[f"list{n}"] or 0 for n, (path, _) in lists.items()},
    )


def check_row_count(table_input: TableInput, dataset: WrittenDataset) -> None:
    """Raise `InternalError` unless normalize wrote as many rows as extract did."""
    if dataset.rows != table_input.rows:
        raise InternalError(
            f"{table_input.rows} rows of {table_input.table.table} went in and {dataset.rows} came out",
            hint="keep the package folder and report this",
        )


def count_rejects(context: PackageContext, dataset: WrittenDataset, decision: Decision) -> tuple[Reject, ...]:
    """Count what the contract refuses in a dataset, in one job if it refuses anything."""
    counters = refusal_counts(decision, dataset.layout)
    if not counters:
        return ()
    sums = [F.expr(sql).alias(f"n{index}") for index, (_, sql) in enumerate(counters)]
    with context.stopwatch("count"):
        counts = context.read_nested(dataset.layout, dataset.folder).agg(*sums).collect()[0]
    refusals = [replace(refusal, count=counts[index] or 0) for index, (refusal, _) in enumerate(counters)]
    return contract_rejects(
        replace(decision, refusals=tuple(refusal for refusal in refusals if refusal.count))
    )


# --- row counts of nested tables, from the sizes of lists in root rows


def list_sizes(layout: NestedLayout) -> dict[ValuePath, str]:
    """Return SQL for the size of each list of a root row that is in no other list.

    Inner lists, and very many lists, would be slow to count here: the load counts their rows.
    """
    sizes = {
        (*path, EACH): f"coalesce(array_size({value}), 0)" for path, value in _root_lists(layout.root, "row")
    }
    return sizes if len(sizes) <= _MAX_LISTS else {}


def nested_counts(
    plans: Sequence[TablePlan], tables: Mapping[ValuePath, str], sizes: Mapping[ValuePath, int]
) -> dict[str, int | None]:
    """Return the row counts of nested tables from list sizes; None where these are not enough."""
    counts: dict[str, int] = {}
    for path, size in sizes.items():
        row, _ = canonical_row_and_keys(path, is_list=False)
        if row in tables:
            counts[tables[row]] = counts.get(tables[row], 0) + size
    return {
        plan.table.name: counts.get(plan.table.name) if _is_countable(plan.projection) else None
        for plan in plans
        if len(plan.projection.levels) > 1
    }


def _is_countable(projection: Projection) -> bool:
    """Return whether all rows are elements of arrays in the root row, and none is refused."""
    is_plain = all(stored is None and not at.inside for at, stored in projection.levels[-1].lists)
    is_refused = any(level.refused for level in projection.levels)
    return len(projection.levels) == _PARENT_AND_CHILD and is_plain and not is_refused


def _root_lists(node: LayoutNode, value: str, path: ValuePath = ()) -> Iterator[tuple[ValuePath, str]]:
    match node:
        case Object(fields=fields):
            for key, (name, child) in fields.items():
                yield from _root_lists(child, f"{value}.{quote_name(name)}", (*path, key))
        case ListOf():
            yield path, value
        case _:
            return
