"""The result of extract: the files with the rows, and the declarations of their tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import PackageDamaged, UnsafePath
from penstock.interfaces.check import Check
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.interfaces.refresh import Refresh
from penstock.package.layout import EXTRACTED_FILE
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.package.storage import safe_name
from penstock.package.strict_record import validate_fields
from penstock.schema.frozen_map import FrozenMap, freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema import NamingConvention

_FILE_ID_DIGITS: Final = 10
DataFormat = Literal["rows", "typed", "flat"]
"""The format of data files: `rows` is one column of JSON texts, `typed` has the columns of a frame.

`flat` has these and the system columns, under names and in types that a table can take as they are.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedTable:
    """Extracted rows of one root table, and the folder of their files.

    A table has one of these for all Python rows, and one for each group of frames with compatible columns.
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
    creates_table: bool | None = None
    """Whether its table is created without rows; None, and not written, for tables with rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", freeze(self.columns))

    @property
    def truncates_table(self) -> bool:
        """Whether it replaces all rows of its table by none."""
        return not self.rows and self.write_disposition == "replace"

    def changes_without_rows(self, *, exists: bool) -> bool:
        """Whether a load changes its table though it has no rows: empties one that exists, or creates it."""
        return self.truncates_table if exists else bool(self.creates_table)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without fields that are None."""
        document = {each.name: thaw(getattr(self, each.name)) for each in fields(self)}
        return {key: value for key, value in document.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractManifest:
    """The content of `extracted.json`."""

    schema_name: str
    tables: tuple[ExtractedTable, ...] = ()
    declared_tables: Mapping[str, Any] = field(default=FrozenMap[Any]())
    """Table documents by name, as resources declared them; a nested table comes after its parent."""
    schema: Mapping[str, Any] | None = None
    """The schema document of the source, if it has one."""
    state: Mapping[str, Any] | None = None
    """The state of all sources after this package, in typed JSON; None if unknown."""
    user_values: Mapping[str, Any] | None = None
    """The keys of users in the pipeline state after this package, in typed JSON; None if unchanged."""
    contract: Mapping[str, Any] | str | None = None
    """The schema contract of the run, which overrides those of sources and resources."""
    refresh: Refresh | None = None
    """The refresh that this package applies, if any."""
    change_id: str | None = None
    """The id of the manual state change that this package applies, if any."""
    checks: tuple[Check, ...] = ()
    """The checks of its rows, except functions."""

    @property
    def replay(self) -> Literal["merge", "replace"] | None:
        """How the package changes the quarantine itself, if its rows are replayed from there."""
        for table in self.tables:
            if table.table == QUARANTINE_TABLE and table.write_disposition in {"merge", "replace"}:
                return "merge" if table.write_disposition == "merge" else "replace"
        return None

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.rows for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the document, without fields that are None."""
        document = {
            "schema_name": self.schema_name,
            "resources": [table.to_dict() for table in self.tables],
            "tables": thaw(self.declared_tables) or None,
            "schema": thaw(self.schema),
            "state": thaw(self.state),
            "user_values": thaw(self.user_values),
            "contract": thaw(self.contract),
            "refresh": None if self.refresh is None else self.refresh.to_dict(),
            "change": self.change_id,
            "checks": [check.to_dict() for check in self.checks] or None,
        }
        return {key: value for key, value in document.items() if value is not None}

    @staticmethod
    def from_dict(document: Mapping[str, Any], *, path: str = EXTRACTED_FILE) -> ExtractManifest:
        """Read a document of `to_dict`."""
        try:
            return validate_fields(
                ExtractManifest(
                    schema_name=document["schema_name"],
                    tables=tuple(_parse_table(table) for table in document["resources"]),
                    declared_tables=freeze(document.get("tables", {})),
                    schema=freeze(document.get("schema")),
                    state=freeze(document.get("state")),
                    user_values=freeze(document.get("user_values")),
                    contract=freeze(document.get("contract")),
                    refresh=_parse_refresh(document.get("refresh")),
                    change_id=document.get("change"),
                    checks=tuple(map(Check.from_dict, document.get("checks", ()))),
                )
            )
        except (KeyError, TypeError, AttributeError, RecursionError, UnsafePath) as error:
            raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def extracted_job_name(table: ExtractedTable, naming: NamingConvention) -> ParsedLoadJobFileName:
    """Return the job of an extracted table, the same at every call; a table may have several folders."""
    file_id = hashlib.sha256(table.folder.encode()).hexdigest()[:_FILE_ID_DIGITS]
    return ParsedLoadJobFileName(naming.normalize_tables_path(table.table), file_id, 0, "parquet")


def _parse_refresh(document: Mapping[str, Any] | None) -> Refresh | None:
    return None if document is None else Refresh.from_dict(document)


def _parse_table(document: Mapping[str, Any]) -> ExtractedTable:
    names = {each.name for each in fields(ExtractedTable)}
    table = validate_fields(ExtractedTable(**{key: value for key, value in document.items() if key in names}))
    safe_name(table.folder)
    return table
