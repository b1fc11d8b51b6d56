"""The half of a resource that speaks of its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import DataItemRequiredForDynamicTableHints
from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.hints import TableHints, make_hints
from penstock.interfaces.source import DeclarationBase
from penstock.schema import naming_convention
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces.hints import NestedValues
    from penstock.schema import TTableSchema
    from penstock.sources.declaration import Declaration


class _HintedResource(DeclarationBase):
    """Says what its tables are called, what columns they have, and how they are written."""

    __slots__ = ("declaration",)

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.declaration.name

    @property
    def hints(self) -> TableHints:
        """All hints, as one value."""
        return self.declaration.hints

    @property
    def table_name(self) -> str | Callable[[Any], str]:
        """The table, or a function that gives the table of an item; else the name of the resource."""
        return self.hints.table_name or self.name

    @table_name.setter
    def table_name(self, name: str | Callable[[Any], str]) -> None:
        self.apply_hints(table_name=name)

    @property
    def write_disposition(self) -> Any:
        """How the table is written, as it was said; `append` if nothing is said."""
        said = self.hints.write_disposition
        return "append" if said is None else thaw(said)

    @write_disposition.setter
    def write_disposition(self, value: Any) -> None:
        self.apply_hints(write_disposition=value)

    @property
    def columns(self) -> Any:
        """The declared columns by name."""
        return thaw(self.hints.columns)

    @property
    def schema_contract(self) -> Any:
        """What new data may change."""
        return thaw(self.hints.schema_contract)

    @property
    def table_format(self) -> Any:
        """The table format, if one is said."""
        return self.hints.table_format

    @property
    def parent_table_name(self) -> Any:
        """The table that this one is nested in, if one is said."""
        return self.hints.parent_table_name

    @property
    def nested_hints(self) -> Any:
        """Hints of nested tables, by their paths."""
        return self.hints.nested_hints

    @property
    def max_table_nesting(self) -> int | None:
        """How many levels of nesting become tables and columns; what is deeper is kept as JSON."""
        return self.hints.max_table_nesting

    @max_table_nesting.setter
    def max_table_nesting(self, levels: int) -> None:
        self.change(hints=replace(self.hints, max_table_nesting=levels))

    @property
    def incremental(self) -> Any:
        """The cursor, if one is said."""
        return self.hints.incremental

    @property
    def has_dynamic_table_name(self) -> bool:
        """Whether each item names its table."""
        return self.hints.has_dynamic_table_name

    def apply_hints(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        self,
        table_name: str | Callable[[Any], str] | None = None,
        parent_table_name: str | Callable[[Any], str] | None = None,
        write_disposition: Any = None,
        columns: Any = None,
        primary_key: Any = None,
        merge_key: Any = None,
        incremental: Any = None,
        schema_contract: Any = None,
        additional_table_hints: Any = None,
        table_format: Any = None,
        file_format: Any = None,
        references: Any = None,
        create_table_variant: bool = False,  # noqa: FBT001, FBT002 - as above
        nested_hints: Any = None,
        *,
        nested: NestedValues | None = None,
    ) -> Self:
        """Change the hints of this resource. None keeps a hint, an empty value takes it back.

        With `create_table_variant` the hints are those of the table `table_name` alone.
        """
        said = make_hints(
            table_name=table_name,
            parent_table_name=parent_table_name,
            write_disposition=write_disposition,
            columns=columns,
            primary_key=primary_key,
            merge_key=merge_key,
            incremental=incremental,
            schema_contract=schema_contract,
            additional_table_hints=additional_table_hints,
            table_format=table_format,
            file_format=file_format,
            references=references,
            nested_hints=nested_hints,
            nested=nested,
        )
        self.merge_hints(said, create_table_variant=create_table_variant)
        return self

    def set_incremental(self, new_incremental: Any) -> Any:
        """Give the resource a cursor, or another one, and get it back; `incremental.EMPTY` takes it away."""
        self.apply_hints(incremental=new_incremental)
        return self.incremental

    def merge_hints(self, hints_template: TableHints, *, create_table_variant: bool = False) -> None:
        """As `apply_hints`, with hints from `mark.make_hints`."""
        if create_table_variant:
            self.declaration = self.declaration.with_variant(hints_template)
        else:
            self.change(hints=self.hints.merged_with(hints_template))
            self.declaration = self.declaration.with_cursor_step()

    def compute_table_schema(self, item: Any = None) -> TTableSchema:
        """The table as the hints declare it; where a hint is a function, for this item."""
        if item is None and self.hints.dynamic_names:
            raise DataItemRequiredForDynamicTableHints(
                resource=self.name, hint_name=self.hints.dynamic_names[0]
            )
        (root, *_) = declared_tables(
            self.hints.for_item(item), resource=self.name, naming=naming_convention("direct")
        )
        return root.to_dict()

    def change(self, **changes: Any) -> None:
        """Replace parts of the declaration."""
        self.declaration = replace(self.declaration, **changes)
