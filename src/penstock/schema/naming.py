"""Naming conventions: names of sources become names of tables and columns."""

from __future__ import annotations

import base64
import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from hashlib import shake_128
from importlib import import_module
from inspect import isabstract
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.errors import InvalidIdentifier, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
_NOT_WORD: Final = re.compile(r"[^A-Za-z\d_]+")
_UNDERSCORES: Final = re.compile(r"__+")
_LEADING_DIGIT: Final = re.compile(r"^\d")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_WORD_BOUNDARY: Final = re.compile(r"(?<=[^_])(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])")
_SIGN_REPLACEMENTS: Final = str.maketrans("+*-@|", "xx_al")
_DIRECT_REPLACEMENTS: Final = str.maketrans("▶\n\r'\"", "_____")
_DUCK_REPLACEMENTS: Final = str.maketrans('\n\r"', "___")
_DLT_NAMING_PACKAGE: Final = "dlt.common.normalizers.naming."

TAG_LENGTH: Final = 6
_TAG_BYTES: Final = 4
_TAG_LETTERS: Final = str.maketrans("/+", "ab")

RESERVED_TABLES: Final = frozenset(
    (
        # Files and folders of the dataset beside its tables.
        *("init", "_dlt_loads", "_dlt_version", "_dlt_pipeline_state", "_dlt_pkg"),
        *("_dlt_late", "_dlt_index", "_dlt_roots", "_dlt_files"),
        # Delta reads a folder with a log as a table, and folders beside the log as partitions.
        "_delta_log",
    )
)
# Dots separate the parts of job file names and slashes those of paths; the rest are patterns or escapes of
# file systems, URLs or templates.
_UNSAFE: Final = re.compile(r"[./\\:*?\"<>|\[\]{}%#^\x00-\x1f\x7f]")
_MAX_BYTES: Final = 210
"""Bytes of a name that leave enough of the 255 of a file name for ids and suffixes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingConvention(ABC):
    """Rules for names, with the maximum length that a destination allows.

    An *identifier* is a single name. A *path* is identifiers joined by `path_separator`, as in
    `orders__items`: each is normalized alone, and blank ones are dropped. A custom convention is a subclass
    with `clean`, configured by the path of its module or class. A stored schema may name it if the program
    has imported it (`stored_naming_convention`).
    """

    name: ClassVar[str] = "custom"
    path_separator: ClassVar[str] = "__"
    is_case_sensitive: ClassVar[bool] = False
    is_idempotent: ClassVar[bool] = False
    """Whether normalizing a normalized name returns the same name."""

    max_length: int | None = None

    @abstractmethod
    def clean(self, identifier: str) -> str:
        """Apply the rules to an identifier that is stripped and not empty, without regard to its length."""

    def normalize_identifier(self, identifier: str) -> str:
        """Return the normalized identifier, shortened to `max_length`."""
        stripped = identifier.strip()
        if not stripped:
            raise InvalidIdentifier(identifier=identifier, reason="it is blank")
        return shorten(self.clean(stripped), original=stripped, max_length=self.max_length)

    def normalize_path(self, path: str) -> str:
        """Normalize each part of a path; return an empty text if all parts are blank."""
        if self.path_separator not in path:
            return self.normalize_identifier(path) if path.strip() else ""
        parts = filter(None, map(self.normalize_identifier, self.break_path(path)))
        return shorten(self.path_separator.join(parts), original=path, max_length=self.max_length)

    def normalize_table_identifier(self, identifier: str) -> str:
        """Normalize the identifier of a table; conventions may treat tables differently from columns."""
        return self.normalize_identifier(identifier)

    def normalize_tables_path(self, path: str) -> str:
        """Normalize the path of a table; conventions may treat tables differently from columns."""
        return self.normalize_path(path)

    def make_path(self, *fragments: str) -> str:
        """Join fragments, without the blank ones."""
        return self.path_separator.join(fragment for fragment in fragments if fragment.strip())

    def break_path(self, path: str) -> list[str]:
        """Split a path at the separator, without the blank fragments."""
        return [fragment for fragment in path.split(self.path_separator) if fragment.strip()]

    def with_max_length(self, max_length: int | None) -> NamingConvention:
        """Return a copy with a maximum length."""
        return replace(self, max_length=max_length)

    def shorten_fragments(self, *fragments: str) -> str:
        """Join normalized fragments, and shorten the path to `max_length`."""
        path = self.make_path(*fragments)
        return shorten(path, original=path, max_length=self.max_length)


class SnakeCase(NamingConvention):
    """ASCII words in lower case with underscores: `HTTPResponse Code` becomes `http_response_code`."""

    __slots__ = ()
    name = "snake_case"
    is_idempotent = True

    def clean(self, identifier: str) -> str:
        """Replace some signs by letters, separate words, and replace trailing underscores by `x`."""
        ascii_only = identifier
        if not _WORD.fullmatch(identifier):
            ascii_only = _NOT_WORD.sub("_", identifier.translate(_SIGN_REPLACEMENTS))
        lower = ascii_only if ascii_only.islower() else _WORD_BOUNDARY.sub("_", ascii_only).lower()
        name = _escape_leading_digit(lower)
        stripped = name.rstrip("_")
        padded = stripped + "x" * (len(name) - len(stripped))
        return _UNDERSCORES.sub("_", padded) if "__" in padded else padded


class SqlCs(NamingConvention):
    """ASCII letters, digits and single underscores; case is kept."""

    __slots__ = ()
    name = "sql_cs_v1"
    is_idempotent = True
    is_case_sensitive = True

    def clean(self, identifier: str) -> str:
        """Replace characters that SQL must quote; a name of underscores only may become empty."""
        name = _escape_leading_digit(_NOT_WORD.sub("_", identifier))
        return name if name == "_" else _UNDERSCORES.sub("_", name.rstrip("_"))


class SqlCi(SqlCs):
    """The rules of `sql_cs_v1`, in lower case."""

    __slots__ = ()
    name = "sql_ci_v1"
    is_case_sensitive = False

    def clean(self, identifier: str) -> str:
        """Replace characters that SQL must quote, and convert to lower case."""
        return SqlCs.clean(self, identifier).lower()


class Direct(NamingConvention):
    """Names as they are, without line breaks, quotes and the path separator."""

    __slots__ = ()
    name = "direct"
    is_idempotent = True
    path_separator = "▶"
    is_case_sensitive = True

    def clean(self, identifier: str) -> str:
        """Replace the characters that no destination can quote."""
        return _SURROGATES.sub("_", identifier.translate(_DIRECT_REPLACEMENTS))


class DuckCase(NamingConvention):
    """Names with case, Unicode and blanks, without line breaks, double quotes and repeated underscores."""

    __slots__ = ()
    name = "duck_case"
    is_idempotent = True
    is_case_sensitive = True

    def clean(self, identifier: str) -> str:
        """Replace the characters that are not allowed between double quotes."""
        return _UNDERSCORES.sub("_", _SURROGATES.sub("_", identifier.translate(_DUCK_REPLACEMENTS)))


_CONVENTIONS: Final[dict[str, type[NamingConvention]]] = {
    convention.name: convention for convention in (SnakeCase, SqlCi, SqlCs, Direct, DuckCase)
}


def naming_convention(
    name_or_import_path: str = "snake_case", max_length: int | None = None
) -> NamingConvention:
    """Return a convention by its name, by a module with a class `NamingConvention`, or by `module.Class`."""
    short = name_or_import_path.removeprefix(_DLT_NAMING_PACKAGE)
    return (_CONVENTIONS.get(short) or _find_custom(short, import_module))(max_length=max_length)


def stored_naming_convention(normalizers: Mapping[str, Any]) -> NamingConvention:
    """Return the convention that a stored schema names, without importing a module.

    It must be built in, or in a module that the program has imported: a stored schema must not choose the
    code that runs.
    """
    short = str(normalizers.get("names") or "snake_case").removeprefix(_DLT_NAMING_PACKAGE)
    return (_CONVENTIONS.get(short) or _find_custom(short, sys.modules.get))()


def _escape_leading_digit(name: str) -> str:
    return f"_{name}" if _LEADING_DIGIT.match(name) else name


def _find_custom(path: str, get_module: Callable[[str], Any]) -> type[NamingConvention]:
    module, _, attribute = path.rpartition(".")
    for module_name, class_name in ((path, "NamingConvention"), (module, attribute)):
        convention = _module_attribute(module_name, class_name, get_module) if module_name else None
        if (
            isinstance(convention, type)
            and issubclass(convention, NamingConvention)
            and not isabstract(convention)
        ):
            return convention
    raise UsageError(
        f"unknown naming convention {path!r}",
        hint=f"use one of {', '.join(_CONVENTIONS)}; if a stored schema names a custom NamingConvention, "
        f"import its module in your program first: import {path}",
    )


def _module_attribute(module: str, attribute: str, get_module: Callable[[str], Any]) -> Any:
    try:
        return getattr(get_module(module), attribute, None)
    except ImportError:
        return None


def safe_table_name(name: str, *, max_length: int | None = None) -> str:
    """Return the name, or a tagged one if it is reserved or unsafe as the name of a folder or file.

    The tag depends only on the name, so that a table has the same name in every load.

    >>> safe_table_name("orders"), safe_table_name("init"), safe_table_name("../a")
    ('orders', 'init_bei8mw', '_a_eoblsa')
    """
    encoded = name.encode("utf-8", "replace")
    is_safe = not _UNSAFE.search(name) and name.lower() not in RESERVED_TABLES
    if is_safe and len(encoded) <= _MAX_BYTES:
        return name
    head = encoded[: _MAX_BYTES - TAG_LENGTH - 1].decode("utf-8", "ignore")
    if not is_safe:
        # Two underscores would be a path separator.
        head = _UNDERSCORES.sub("_", _UNSAFE.sub("_", head))
    return append_tag(head.rstrip("_") or "table", original=name, max_length=max_length)


def nested_table_name(naming: NamingConvention, *fragments: str) -> str:
    """Return the name of a nested table: the root table's name, joined with the keys down to its list."""
    return safe_table_name(naming.shorten_fragments(*fragments), max_length=naming.max_length)


def hash_tag(identifier: str) -> str:
    """Return six lower-case letters and digits that depend only on `identifier`."""
    digest = shake_128(identifier.encode("utf-8", "surrogatepass")).digest(_TAG_BYTES)
    return base64.b64encode(digest).decode("ascii").rstrip("=").translate(_TAG_LETTERS).lower()


def shorten(name: str, *, original: str, max_length: int | None) -> str:
    """Return `name`, or if it is too long its head and tail with the tag of `original` between them.

    The tag is made of the original, so that two long keys which differ only before normalization get
    different names.
    """
    if max_length is None or len(name) <= max_length:
        return name
    length = _length_beside_tag(name, max_length=max_length)
    head, tail = length - length // 2, length // 2
    return name[:head] + hash_tag(original) + name[len(name) - tail :]


def append_tag(name: str, *, original: str, max_length: int | None) -> str:
    """Append the tag of `original` to `name`, and cut the end of the name if both do not fit.

    If no character of the name fits, return the tag alone.
    """
    tag = hash_tag(original)
    if max_length is None:
        return f"{name}_{tag}"
    length = _length_beside_tag(name, max_length=max_length) - 1
    # An underscore before the tag's would make `__`, a path separator.
    head = name[: max(length, 0)].rstrip("_")
    return f"{head}_{tag}" if head else tag


def _length_beside_tag(name: str, *, max_length: int) -> int:
    length = max_length - TAG_LENGTH
    if length < 0:
        reason = f"it must be cut to {max_length} characters, and its tag alone needs {TAG_LENGTH}"
        raise InvalidIdentifier(identifier=name, reason=reason)
    return length
