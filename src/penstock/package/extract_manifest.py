"""What the extract stage leaves: which rows stand where, and what was said of their tables."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from penstock.errors import PackageDamaged, UnsafePath
from penstock.interfaces.refresh import Refresh
from penstock.package.layout import EXTRACTED_FILE
from penstock.package.storage import safe_name
from penstock.package.strict_record import validate_fields
from penstock.schema.frozen_map import FrozenMap, freeze, thaw

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
    def truncates_table(self) -> bool:
        """Whether it takes the place of all rows of its table and brings none."""
        return not self.rows and self.write_disposition == "replace"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is left out."""
        said = {each.name: thaw(getattr(self, each.name)) for each in fields(self)}
        return {key: value for key, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractManifest:
    """The content of `extracted.json`."""

    schema_name: str
    tables: tuple[ExtractedTable, ...] = ()
    declared_tables: Mapping[str, Any] = field(default=FrozenMap[Any]())
    """Table documents by name, as resources declared them; a nested one comes after its parent."""
    schema: Mapping[str, Any] | None = None
    """The schema document that the source brought, or None where it brought none."""
    state: Mapping[str, Any] | None = None
    """The state of all sources after this package, in typed JSON; None where it is not known."""
    contract: Mapping[str, Any] | str | None = None
    """The schema contract of the run, which counts before those of sources and resources; None for none."""
    refresh: Refresh | None = None
    """What begins anew with this package; None for nothing."""
    change_id: str | None = None
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
            "tables": thaw(self.declared_tables) or None,
            "schema": thaw(self.schema),
            "state": thaw(self.state),
            "contract": thaw(self.contract),
            "refresh": None if self.refresh is None else self.refresh.to_dict(),
            "change": self.change_id,
        }
        return {key: value for key, value in said.items() if value is not None}

    @staticmethod
    def from_dict(document: Mapping[str, Any], *, path: str = EXTRACTED_FILE) -> ExtractManifest:
        """Read what `to_dict` wrote."""
        try:
            return validate_fields(
                ExtractManifest(
                    schema_name=document["schema_name"],
                    tables=tuple(_parse_table(table) for table in document["resources"]),
                    declared_tables=freeze(document.get("tables", {})),
                    schema=freeze(document.get("schema")),
                    state=freeze(document.get("state")),
                    contract=freeze(document.get("contract")),
                    refresh=_parse_refresh(document.get("refresh")),
                    change_id=document.get("change"),
                )
            )
        except (KeyError, TypeError, AttributeError, RecursionError, UnsafePath) as error:
            raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def _parse_refresh(document: Mapping[str, Any] | None) -> Refresh | None:
    return None if document is None else Refresh.from_dict(document)


def _parse_table(document: Mapping[str, Any]) -> ExtractedTable:
    known = {each.name for each in fields(ExtractedTable)}
    table = validate_fields(ExtractedTable(**{key: value for key, value in document.items() if key in known}))
    safe_name(table.folder)
    return table
