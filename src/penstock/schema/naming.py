"""Naming conventions: what a source calls a thing becomes what a table may call it."""

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
        # Files and folders that the dataset itself has beside its tables.
        *("init", "_dlt_loads", "_dlt_version", "_dlt_pipeline_state", "_dlt_pkg"),
        *("_dlt_late", "_dlt_index", "_dlt_roots", "_dlt_files"),
        # Delta takes the folder around a log for a table, and the folders beside the log for its partitions.
        "_delta_log",
    )
)
# Dots split the names of job files, slashes split paths, and the rest is read as a pattern or an escape by a
# file system, a URL or a template.
_UNSAFE: Final = re.compile(r"[./\\:*?\"<>|\[\]{}%#^\x00-\x1f\x7f]")
_MAX_BYTES: Final = 210
"""Bytes of a name, so that with its ids and endings it is the name of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingConvention(ABC):
    """Rules for names, with the length that a destination allows.

    An *identifier* is one name. A *path* is identifiers joined by `path_separator`, as in `orders__items`:
    each part is normalised alone, and parts with nothing in them are left out. A convention of your own is a
    subclass with `clean`, and is configured by the path of its module or of the class. A stored schema may
    name it where the program has imported it: `stored_naming`.
    """

    name: ClassVar[str] = "custom"
    path_separator: ClassVar[str] = "__"
    is_case_sensitive: ClassVar[bool] = False
    is_idempotent: ClassVar[bool] = False
    """Whether a name that these rules gave is its own name, so that it need not be worked out again."""

    max_length: int | None = None

    @abstractmethod
    def clean(self, identifier: str) -> str:
        """Apply the rules to one identifier, which is stripped and not empty, whatever its length."""

    def normalize_identifier(self, identifier: str) -> str:
        """Give the one name that `identifier` has under these rules, cut to `max_length`."""
        stripped = identifier.strip()
        if not stripped:
            raise InvalidIdentifier(identifier=identifier, reason="it is blank")
        return shorten(self.clean(stripped), original=stripped, max_length=self.max_length)

    def normalize_path(self, path: str) -> str:
        """Normalise each part of `path`; empty when no part has anything in it."""
        if self.path_separator not in path:
            return self.normalize_identifier(path) if path.strip() else ""
        parts = filter(None, map(self.normalize_identifier, self.break_path(path)))
        return shorten(self.path_separator.join(parts), original=path, max_length=self.max_length)

    def normalize_table_identifier(self, identifier: str) -> str:
        """As `normalize_identifier`, for conventions that treat tables in another way than columns."""
        return self.normalize_identifier(identifier)

    def normalize_tables_path(self, path: str) -> str:
        """As `normalize_path`, for conventions that treat tables in another way than columns."""
        return self.normalize_path(path)

    def make_path(self, *fragments: str) -> str:
        """Join fragments as they are, without the blank ones."""
        return self.path_separator.join(fragment for fragment in fragments if fragment.strip())

    def break_path(self, path: str) -> list[str]:
        """Split at the separator, without the blank fragments."""
        return [fragment for fragment in path.split(self.path_separator) if fragment.strip()]

    def with_max_length(self, max_length: int | None) -> NamingConvention:
        """Copy for a destination that allows names of this length."""
        return replace(self, max_length=max_length)

    def shorten_fragments(self, *fragments: str) -> str:
        """Join fragments that are normalised already, and cut the whole to `max_length`."""
        path = self.make_path(*fragments)
        return shorten(path, original=path, max_length=self.max_length)


class SnakeCase(NamingConvention):
    """`HTTPResponse Code` becomes `http_response_code`: ASCII, lower case, words apart."""

    __slots__ = ()
    name = "snake_case"
    is_idempotent = True

    def clean(self, identifier: str) -> str:
        """Spell out some signs, break words, and keep the count of underscores at the end as `x`."""
        ascii_only = identifier
        if not _WORD.fullmatch(identifier):
            ascii_only = _NOT_WORD.sub("_", identifier.translate(_SIGN_REPLACEMENTS))
        lower = ascii_only if ascii_only.islower() else _WORD_BOUNDARY.sub("_", ascii_only).lower()
        started = _escape_leading_digit(lower)
        ended = started.rstrip("_")
        counted = ended + "x" * (len(started) - len(ended))
        return _UNDERSCORES.sub("_", counted) if "__" in counted else counted


class SqlCs(NamingConvention):
    """ASCII letters, digits and single underscores; case is kept."""

    __slots__ = ()
    name = "sql_cs_v1"
    is_idempotent = True
    is_case_sensitive = True

    def clean(self, identifier: str) -> str:
        """Replace what SQL would want quoted; a name of nothing but underscores may end up empty."""
        started = _escape_leading_digit(_NOT_WORD.sub("_", identifier))
        return started if started == "_" else _UNDERSCORES.sub("_", started.rstrip("_"))


class SqlCi(SqlCs):
    """As `sql_cs_v1`, in lower case."""

    __slots__ = ()
    name = "sql_ci_v1"
    is_case_sensitive = False

    def clean(self, identifier: str) -> str:
        """Replace what SQL would want quoted, in lower case."""
        return SqlCs.clean(self, identifier).lower()


class Direct(NamingConvention):
    """Keeps names as they are, but for line breaks, quotes and its own separator."""

    __slots__ = ()
    name = "direct"
    is_idempotent = True
    path_separator = "▶"
    is_case_sensitive = True

    def clean(self, identifier: str) -> str:
        """Replace the few characters that no destination can quote."""
        return _SURROGATES.sub("_", identifier.translate(_DIRECT_REPLACEMENTS))


class DuckCase(NamingConvention):
    """Keeps case, Unicode and blanks; line breaks, double quotes and repeated underscores go."""

    __slots__ = ()
    name = "duck_case"
    is_idempotent = True
    is_case_sensitive = True

    def clean(self, identifier: str) -> str:
        """Replace the few characters that cannot stand between double quotes."""
        return _UNDERSCORES.sub("_", _SURROGATES.sub("_", identifier.translate(_DUCK_REPLACEMENTS)))


_CONVENTIONS: Final[dict[str, type[NamingConvention]]] = {
    convention.name: convention for convention in (SnakeCase, SqlCi, SqlCs, Direct, DuckCase)
}


def naming_convention(
    name_or_import_path: str = "snake_case", max_length: int | None = None
) -> NamingConvention:
    """Find a convention by its name, by a module that holds a `NamingConvention`, or by `module.Class`."""
    short = name_or_import_path.removeprefix(_DLT_NAMING_PACKAGE)
    return (_CONVENTIONS.get(short) or _find_custom(short, import_module))(max_length=max_length)


def stored_naming_convention(normalizers: Mapping[str, Any]) -> NamingConvention:
    """Find the convention that a stored schema names, without importing anything.

    It is a built-in one, or one of a module that the program has imported already: who can write a schema
    must not choose the code that runs.
    """
    short = str(normalizers.get("names") or "snake_case").removeprefix(_DLT_NAMING_PACKAGE)
    return (_CONVENTIONS.get(short) or _find_custom(short, sys.modules.get))()


def _escape_leading_digit(name: str) -> str:
    return f"_{name}" if _LEADING_DIGIT.match(name) else name


def _find_custom(path: str, get_module: Callable[[str], Any]) -> type[NamingConvention]:
    module, _, attribute = path.rpartition(".")
    places = ((path, "NamingConvention"), (module, attribute))
    for place, name in places:
        found = _module_attribute(place, name, get_module) if place else None
        if isinstance(found, type) and issubclass(found, NamingConvention) and not isabstract(found):
            return found
    raise UsageError(
        f"there is no naming convention {path!r}",
        hint=f"use one of {', '.join(_CONVENTIONS)}; to use a NamingConvention of your own that a stored "
        f"schema names, import its module in your program first: import {path}",
    )


def _module_attribute(module: str, attribute: str, get_module: Callable[[str], Any]) -> Any:
    try:
        return getattr(get_module(module), attribute, None)
    except ImportError:
        return None


def safe_table_name(name: str, *, max_length: int | None = None) -> str:
    """Return the name, or a changed one with a tag where the dataset or a storage cannot use it.

    The tag depends on the name alone, so that a table has the same name in every load.

    >>> safe_table_name("orders"), safe_table_name("init"), safe_table_name("../a")
    ('orders', 'init_bei8mw', '_a_eoblsa')
    """
    encoded = name.encode("utf-8", "replace")
    is_safe = not _UNSAFE.search(name) and name.lower() not in RESERVED_TABLES
    if is_safe and len(encoded) <= _MAX_BYTES:
        return name
    head = encoded[: _MAX_BYTES - TAG_LENGTH - 1].decode("utf-8", "ignore")
    if not is_safe:
        # Two underscores may be a path, which naming conventions take apart.
        head = _UNDERSCORES.sub("_", _UNSAFE.sub("_", head))
    return append_tag(head.rstrip("_") or "table", original=name, max_length=max_length)


def nested_table_name(naming: NamingConvention, *fragments: str) -> str:
    """Join the normalized name of a root table and those of the keys that lead to a list below it."""
    return safe_table_name(naming.shorten_fragments(*fragments), max_length=naming.max_length)


def hash_tag(identifier: str) -> str:
    """Six lower-case letters and digits that depend on nothing but `identifier`."""
    digest = shake_128(identifier.encode("utf-8", "surrogatepass")).digest(_TAG_BYTES)
    return base64.b64encode(digest).decode("ascii").rstrip("=").translate(_TAG_LETTERS).lower()


def shorten(name: str, *, original: str, max_length: int | None) -> str:
    """Give `name`, or when it is too long its head and tail with the tag of `original` between them.

    The tag comes from the original and not from the name, so that two long keys that differ only in what
    normalising removes do not become one column.
    """
    if max_length is None or len(name) <= max_length:
        return name
    room = _length_beside_tag(name, max_length=max_length)
    head, tail = room - room // 2, room // 2
    return name[:head] + hash_tag(original) + name[len(name) - tail :]


def append_tag(name: str, *, original: str, max_length: int | None) -> str:
    """Append the tag of `original` to `name`, giving up the end of the name where both do not fit.

    Where even the underscore does not fit, the tag alone is the name.
    """
    tag = hash_tag(original)
    if max_length is None:
        return f"{name}_{tag}"
    room = _length_beside_tag(name, max_length=max_length) - 1
    # An underscore left at the cut would make `__`, which is a path.
    head = name[: max(room, 0)].rstrip("_")
    return f"{head}_{tag}" if head else tag


def _length_beside_tag(name: str, *, max_length: int) -> int:
    room = max_length - TAG_LENGTH
    if room < 0:
        reason = f"it must be cut to {max_length} characters, and its tag alone needs {TAG_LENGTH}"
        raise InvalidIdentifier(identifier=name, reason=reason)
    return room
