"""The file layout: a template for the names of files, with dlt's placeholders."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import CantExtractTablePrefix, InvalidFilesystemLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

DEFAULT_LAYOUT: Final = "{table_name}/{load_id}.{file_id}.{ext}"
_PLACEHOLDER: Final = re.compile(r"\{(.*?)\}")
_BEFORE_TABLE: Final = frozenset(("schema_name",))
_FILE_PLACEHOLDERS: Final = ("schema_name", "table_name", "load_id", "file_id", "ext")
# Spark and Hadoop read these as patterns; some stores give them another meaning.
_UNSAFE: Final = re.compile(r"[*?\[\]{}\\^\x00-\x1f\x7f]")
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_DATE_PLACEHOLDERS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "YYYY": lambda at: f"{at.year:04}",
    "YY": lambda at: f"{at.year % 100:02}",
    "Y": lambda at: str(at.year),
    "MMMM": lambda at: _MONTHS[at.month - 1],
    "MMM": lambda at: _MONTHS[at.month - 1][:3],
    "MM": lambda at: f"{at.month:02}",
    "M": lambda at: str(at.month),
    "DD": lambda at: f"{at.day:02}",
    "D": lambda at: str(at.day),
    "HH": lambda at: f"{at.hour:02}",
    "H": lambda at: str(at.hour),
    "mm": lambda at: f"{at.minute:02}",
    "m": lambda at: str(at.minute),
    "ss": lambda at: f"{at.second:02}",
    "s": lambda at: str(at.second),
    "SSSS": lambda at: f"{at.microsecond // 100:04}",
    "SSS": lambda at: f"{at.microsecond // 1_000:03}",
    "SS": lambda at: f"{at.microsecond // 10_000:02}",
    "S": lambda at: str(at.microsecond // 100_000),
    "dddd": lambda at: _DAYS[at.weekday()],
    "ddd": lambda at: _DAYS[at.weekday()][:3],
    "dd": lambda at: _DAYS[at.weekday()][:2],
    "d": lambda at: str(at.isoweekday() % 7),
    "Q": lambda at: str((at.month + 2) // 3),
    "curr_date": lambda at: at.date().isoformat(),
    "timestamp": lambda at: str(int(at.timestamp())),
    "timestamp_ms": lambda at: str(int(at.timestamp()) * 1000 + at.microsecond // 1000),
    "load_package_timestamp": lambda at: str(int(at.timestamp())),
    "load_package_timestamp_ms": lambda at: str(int(at.timestamp()) * 1000 + at.microsecond // 1000),
}
PLACEHOLDERS: Final = (*_FILE_PLACEHOLDERS, *_DATE_PLACEHOLDERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNameParts:
    """The parts of the name of one file."""

    schema_name: str
    table_name: str
    load_id: str
    file_id: str
    ext: str
    created_at: datetime
    """The timestamp of the package, in UTC, so that a retry uses the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """A validated template for names.

    >>> layout = FileLayout(template="{table_name}/{load_id}.{file_id}.{ext}")
    >>> layout.prefix("shop", "items"), layout.has_own_folder
    ('items/', True)
    """

    template: str = DEFAULT_LAYOUT
    extra: Mapping[str, Any] = field(default_factory=dict)
    """The user's placeholders: values, or functions of schema, table, load id, file id and extension."""

    def __post_init__(self) -> None:
        """Raise if files of two tables or loads could have the same name."""
        names = _PLACEHOLDER.findall(self.template)
        unknown = [name for name in names if name not in PLACEHOLDERS and name not in self.extra]
        if unknown:
            raise InvalidFilesystemLayout(layout=self.template, reason=f"unknown placeholder {unknown[0]!r}")
        _check_prefix(self.template, names)
        if not {"file_id", "load_id"} & set(names):
            raise InvalidFilesystemLayout(
                layout=self.template,
                reason="files of two loads would have the same name: it has neither {load_id} nor {file_id}",
            )

    @property
    def full_template(self) -> str:
        """The template with an extension."""
        return self.template if "{ext}" in self.template else f"{self.template}.{{ext}}"

    @property
    def has_file_id(self) -> bool:
        """Whether a load can have several files."""
        return "{file_id}" in self.template

    @property
    def has_own_folder(self) -> bool:
        """Whether each table has its own folder."""
        return "{table_name}/" in self.template

    def prefix(self, schema_name: str, table: str) -> str:
        """Return the common prefix of the names of all files of a table."""
        end = self.full_template.index("{table_name}") + len("{table_name}") + 1
        return self.full_template[:end].replace("{schema_name}", schema_name).replace("{table_name}", table)

    def key(self, parts: FileNameParts) -> str:
        """Return the name of a file below the folder of its dataset."""
        file_values = {name: getattr(parts, name) for name in _FILE_PLACEHOLDERS}
        dates = {name: render(parts.created_at) for name, render in _DATE_PLACEHOLDERS.items()}
        extra = {name: self._extra_value(name, value, file_values) for name, value in self.extra.items()}
        values = {**file_values, **dates, **extra}
        key = _PLACEHOLDER.sub(lambda match: str(values[match[1]]), self.full_template)
        if _UNSAFE.search(key):
            raise InvalidFilesystemLayout(
                layout=self.template,
                reason=f"the name {key!r} has a character that is not allowed in file names",
            )
        return key

    def pattern(self, schema_name: str, table: str) -> re.Pattern[str]:
        """Return the pattern of the names of files of a table, with the groups `load_id` and `ext`.

        >>> match = FileLayout().pattern("shop", "items").fullmatch("items/1700000000.25.0a1b.jsonl.gz")
        >>> match and (match["load_id"], match["ext"])
        ('1700000000.25', 'jsonl.gz')
        """
        patterns = {
            "schema_name": re.escape(schema_name),
            "table_name": re.escape(table),
            "load_id": r"(?P<load_id>\d+\.\d+|[^/.]+)",
            # Letters and digits only: text before it could be part of the name of another table.
            "file_id": r"[0-9A-Za-z]+",
            "ext": r"(?P<ext>[a-z]+(?:\.gz)?)",
        }
        seen: set[str] = set()
        parts: list[str] = []
        for number, part in enumerate(_PLACEHOLDER.split(self.full_template)):
            if not number % 2:
                parts.append(re.escape(part))
                continue
            # The name of a group must be unique in a pattern.
            parts.append(r"[^/]+?" if part in seen else patterns.get(part, r"[^/]+?"))
            seen.add(part) if part in {"load_id", "ext"} else None
        return re.compile("".join(parts))

    def _extra_value(self, name: str, value: Any, file_values: Mapping[str, str]) -> str:
        if not callable(value):
            return str(value)
        try:
            return str(value(*(file_values[placeholder] for placeholder in _FILE_PLACEHOLDERS)))
        except TypeError as error:
            raise InvalidFilesystemLayout(
                layout=self.template,
                reason=f"the function of the placeholder {name!r} does not take "
                + ", ".join(_FILE_PLACEHOLDERS),
            ) from error


def _check_prefix(layout: str, names: list[str]) -> None:
    if "table_name" not in names:
        raise CantExtractTablePrefix(layout=layout, reason="it has no {table_name}")
    leading = [name for name in names[: names.index("table_name")] if name not in _BEFORE_TABLE]
    if leading:
        raise CantExtractTablePrefix(
            layout=layout, reason=f"{{{leading[0]}}} is before {{table_name}}; only {{schema_name}} may be"
        )
    end = layout.index("{table_name}") + len("{table_name}")
    if layout[end : end + 1] == "{":
        raise CantExtractTablePrefix(
            layout=layout, reason="no text separates {table_name} from the next placeholder"
        )
