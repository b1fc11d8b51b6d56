"""What the extract stage leaves: which rows stand where, and what was said of their tables."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from penstock.errors import PackageDamaged, UnsafePath
from penstock.interfaces.refresh import Refresh
from penstock.package.layout import EXTRACTED
from penstock.package.record import fitting
from penstock.package.storage import checked
from penstock.schema.frozen import FrozenMap, freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

DataFormat = Literal["rows", "typed"]
"""How the files hold the rows: `rows` is one column of JSON texts, `typed` has the columns of a frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTable:
    """Rows of one root table as they were handed over, and the files they stand in.

    A table has as many of these as there are kinds of rows: one for all rows of Python, and one for all
    frames whose columns fit together.
    """

    table: str
    resource: str
    write_disposition: str
    folder: str
    rows: int
    bytes: int
    files: int
    data_format: DataFormat = "rows"
    columns: Mapping[str, Any] | None = None
    """The columns of typed files, as `interfaces.columns` has them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", freeze(self.columns))

    @property
    def empties(self) -> bool:
        """Whether it takes the place of all rows of its table and brings none."""
        return not self.rows and self.write_disposition == "replace"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is left out."""
        said = {each.name: thaw(getattr(self, each.name)) for each in fields(self)}
        return {key: value for key, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The content of `extracted.json`."""

    schema_name: str
    tables: tuple[ExtractedTable, ...] = ()
    declared: Mapping[str, Any] = field(default=FrozenMap[Any]())
    """Table documents by name, as resources declared them; a nested one comes after its parent."""
    schema: Mapping[str, Any] | None = None
    """The schema document that the source brought, or None where it brought none."""
    state: Mapping[str, Any] | None = None
    """The state of all sources after this package, in typed JSON; None where it is not known."""
    contract: Mapping[str, Any] | str | None = None
    """The schema contract of the run, which counts before those of sources and resources; None for none."""
    refresh: Refresh | None = None
    """What begins anew with this package; None for nothing."""
    change: str | None = None
    """The change of the state by hand that this package brings; None for none."""

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.rows for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The document; what is not known is left out."""
        said = {
            "schema_name": self.schema_name,
            "resources": [table.to_dict() for table in self.tables],
            "tables": thaw(self.declared) or None,
            "schema": thaw(self.schema),
            "state": thaw(self.state),
            "contract": thaw(self.contract),
            "refresh": None if self.refresh is None else self.refresh.to_dict(),
            "change": self.change,
        }
        return {key: value for key, value in said.items() if value is not None}

    @staticmethod
    def from_dict(document: Mapping[str, Any], *, path: str = EXTRACTED) -> Extracted:
        """Read what `to_dict` wrote, now or in an earlier release."""
        try:
            return fitting(
                Extracted(
                    schema_name=document["schema_name"],
                    tables=tuple(_table(table) for table in document["resources"]),
                    declared=freeze(document.get("tables", {})),
                    schema=freeze(document.get("schema")),
                    state=freeze(document.get("state")),
                    contract=freeze(document.get("contract")),
                    refresh=_refresh(document.get("refresh")),
                    change=document.get("change"),
                )
            )
        except (KeyError, TypeError, AttributeError, RecursionError, UnsafePath) as error:
            raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def _refresh(document: Mapping[str, Any] | None) -> Refresh | None:
    return None if document is None else Refresh.from_dict(document)


def _table(document: Mapping[str, Any]) -> ExtractedTable:
    known = {each.name for each in fields(ExtractedTable)}
    table = fitting(ExtractedTable(**{key: value for key, value in document.items() if key in known}))
    checked(table.folder)
    return table
