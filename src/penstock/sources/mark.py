"""Marks on items (`penstock.mark`), which set the table or the hints of single items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from penstock.interfaces import hints as table_hints
from penstock.interfaces.items import EmptyTable, HintsMark, MarkedItem, TableNameMark

if TYPE_CHECKING:
    from penstock.interfaces.hints import TableHints


def with_table_name(item: Any, table_name: str) -> MarkedItem:
    """Mark an item, or a page of rows, for a table.

    >>> with_table_name({"id": 1}, "orders").mark
    TableNameMark(table_name='orders')
    """
    return MarkedItem(item, TableNameMark(table_name))


def with_hints(
    item: Any,
    hints: TableHints | None = None,
    create_table_variant: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
) -> MarkedItem:
    """Change the hints of the resource from this item on; with None as the item, only the hints.

    With `create_table_variant` the hints apply to the table that they name, not to the resource.

    >>> with_hints({"id": 1}, make_hints(write_disposition="replace")).mark.hints.write_disposition
    'replace'
    """
    return MarkedItem(item, HintsMark(hints or table_hints.NO_HINTS, create_table_variant))


def with_file_import(
    file_path: str,
    file_format: Literal["parquet", "jsonl", "csv"],
    items_count: int = 0,
    hints: TableHints | Any = None,
) -> MarkedItem:
    r"""Load the rows of a local file, which may be deleted when the generator continues.

    `hints` apply to the resource. An Arrow object or a pandas frame instead has the types of the columns.
    Rows are counted when they are read; `items_count` is an estimate that dlt's programs pass.

    >>> import tempfile, pathlib, penstock
    >>> @penstock.resource
    ... def orders(folder):
    ...     path = pathlib.Path(folder, "orders.csv")
    ...     path.write_text("id,note\n1,x\n")
    ...     yield with_file_import(str(path), "csv")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list(orders(folder))
    [{'id': '1', 'note': 'x'}]
    """
    # pyarrow takes longer to import than penstock, and few programs name files.
    from penstock.sources.file_import import file_pages, schema_of_frame  # noqa: PLC0415

    schema = schema_of_frame(hints)
    table_mark = HintsMark(hints) if hints is not None and schema is None else None
    return MarkedItem(file_pages(file_path, file_format, schema), table_mark)


def make_hints(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    table_name: Any = None,
    parent_table_name: Any = None,
    write_disposition: Any = None,
    columns: Any = None,
    primary_key: Any = None,
    merge_key: Any = None,
    schema_contract: Any = None,
    table_format: Any = None,
    file_format: Any = None,
    additional_table_hints: Any = None,
    references: Any = None,
    incremental: Any = None,
    nested_hints: Any = None,
) -> TableHints:
    """Return hints for `with_hints`.

    >>> make_hints(table_name="orders", primary_key="id").to_dict()
    {'table_name': 'orders', 'primary_key': 'id'}
    """
    return table_hints.make_hints(
        table_name=table_name,
        parent_table_name=parent_table_name,
        write_disposition=write_disposition,
        columns=columns,
        primary_key=primary_key,
        merge_key=merge_key,
        schema_contract=schema_contract,
        table_format=table_format,
        file_format=file_format,
        additional_table_hints=additional_table_hints,
        references=references,
        incremental=incremental,
        nested_hints=nested_hints,
    )


def make_nested_hints(**hints: Any) -> TableHints:
    """Return hints for one table of `nested_hints`.

    >>> make_nested_hints(columns=[{"name": "sku", "data_type": "text"}]).columns["sku"]["data_type"]
    'text'
    """
    return table_hints.make_hints(**hints)


def materialize_table_schema() -> EmptyTable:
    """Return an item without rows that creates the table with its declared columns.

    >>> materialize_table_schema()
    []
    """
    return EmptyTable()
