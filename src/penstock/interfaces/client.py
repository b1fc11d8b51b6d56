"""The client of a destination: what the load stage asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self, cast

from penstock.errors import IdentifierTooLongException
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from penstock.interfaces.capabilities import DestinationCapabilitiesContext
    from penstock.interfaces.configuration import DestinationClientConfiguration
    from penstock.interfaces.loadjob import LoadJob, NewLoadJob
    from penstock.schema import Schema, TSchemaTables, TTableSchema

_INHERITED_HINTS = ("write_disposition", "table_format", "file_format", "x-merge-strategy")


class JobClientBase(ABC):
    """A destination opened for one schema: `with` opens and closes it.

    Every job gets a client of its own, in the thread it runs in. Whatever a client does may be done again
    after a crash, so doing it twice must come to the same as doing it once.
    """

    def __init__(
        self,
        schema: Schema,
        config: DestinationClientConfiguration,
        capabilities: DestinationCapabilitiesContext,
    ) -> None:
        self.schema, self.config, self.capabilities = schema, config, capabilities
        self._close_callbacks: list[Callable[[], None]] = []

    def when_closed(self, call: Callable[[], None]) -> None:
        """Have something called when the client is closed; the last that was given comes first.

        What lends a client its session gives it back this way. Who overrides `__exit__` calls the one above.
        """
        self._close_callbacks.append(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close what `__enter__` opened."""
        while self._close_callbacks:
            self._close_callbacks.pop()()

    @abstractmethod
    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make the place for the tables, such as a folder or a database schema; empty the given tables."""

    @abstractmethod
    def is_storage_initialized(self) -> bool:
        """Whether tables can be read and written."""

    @abstractmethod
    def drop_storage(self) -> None:
        """Undo `initialize_storage`, tables and rows included."""

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Bring the tables up to the schema; gives what was really changed.

        `only_tables` names the tables to look at. `expected_update` is what the schema has more than after
        the last load; with a second writer about it need not be what the destination lacks.
        """
        self.verify_schema(only_tables)
        return expected_update

    @abstractmethod
    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Start the job whose file is at `file_path`, for `table`."""

    @abstractmethod
    def restore_file_load(self, file_path: str) -> LoadJob:
        """Find a job that a process started which is gone.

        Where that is not possible, `LoadClientTransientException` has it started anew.
        """

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[TTableSchema]
    ) -> list[NewLoadJob]:
        """The jobs to run now that all jobs of a table and of those nested in it are done."""
        del table_chain
        return []

    @abstractmethod
    def complete_load(self, load_id: str) -> None:
        """Mark the load as complete; before that its rows do not count."""

    def displayable_location(self) -> str:
        """Where the rows go, fit to be shown: without credentials."""
        return str(self.config)

    def prepare_load_table(self, table_name: str) -> TTableSchema:
        """A table as a job sees it: with what nested tables take from their root, without untyped columns."""
        table = self.schema.get_table(table_name)
        root = root_table(table_name, self.schema.tables).to_dict()
        inherited: dict[str, Any] = {key: value for key, value in root.items() if key in _INHERITED_HINTS}
        prepared: dict[str, Any] = {**inherited, **table.to_dict()}
        prepared["columns"] = {column.name: column.to_dict() for column in table.complete_columns()}
        return cast("TTableSchema", prepared)

    def verify_schema(self, only_tables: Iterable[str] | None = None) -> None:
        """Refuse names that the destination has no room for."""
        longest = self.capabilities.max_identifier_length
        longest_column = self.capabilities.max_column_identifier_length
        for name in self.schema.tables if only_tables is None else only_tables:
            self._verify_length("table", name, longest)
            for column in self.schema.get_table(name).complete_columns():
                self._verify_length("column", column.name, longest_column)

    def _verify_length(self, kind: str, name: str, max_length: int) -> None:
        if len(name) > max_length:
            destination = self.config.destination_name or type(self).__name__
            raise IdentifierTooLongException(
                destination=destination, kind=kind, name=name, max_length=max_length
            )
