"""The dialect of a database: its SQL, quoted names, and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from penstock.interfaces.capabilities import DataTypeMapper
    from penstock.schema import Column, Table


def identifier(name: str) -> exp.Identifier:
    """Return a quoted name, whatever characters it has."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a column by its name, of the table with this alias."""
    return exp.Column(this=identifier(name), table=None if table is None else identifier(table))


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDialect:
    """The SQL of one database. Statements are expressions of sqlglot until the database gets their text."""

    name: str
    """The name that sqlglot has for it."""
    types: DataTypeMapper

    def text(self, statement: exp.Expr) -> str:
        """Return the text of a statement; values that are bound to it have the placeholder of the driver."""
        return statement.sql(dialect=self.name)

    def type_of(self, column: Column, table: Table) -> exp.DataType:
        """Return the type of a column."""
        return self.parse_type(self.types.to_destination_type(column.to_dict(), table.to_dict()))

    def parse_type(self, text: str) -> exp.DataType:
        """Return a type by its name in the database, which sqlglot need not know."""
        return exp.DataType.build(text, dialect=self.name, udt=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetNames:
    """The names of one dataset, which is a schema of the database."""

    dataset: str
    catalog: str | None = None
    """The database of the schema, where a statement may need it."""

    @property
    def schema(self) -> exp.Table:
        """The schema, as statements that create or drop it name it."""
        return exp.Table(this=None, db=identifier(self.dataset), catalog=self._catalog)

    def table(self, name: str, alias: str | None = None) -> exp.Table:
        """Return a table of the dataset."""
        table = exp.Table(this=identifier(name), db=identifier(self.dataset), catalog=self._catalog)
        if alias is not None:
            table.set("alias", exp.TableAlias(this=identifier(alias)))
        return table

    @property
    def _catalog(self) -> exp.Identifier | None:
        return None if self.catalog is None else identifier(self.catalog)
