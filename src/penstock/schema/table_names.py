"""Table names that are safe as the name of a folder, of a job file and in a catalog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from penstock.schema.shorten import TAG_LENGTH, tagged

if TYPE_CHECKING:
    from penstock.schema.names import NamingConvention

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
_JOINED: Final = re.compile(r"__+")
_LONGEST: Final = 210
"""Bytes of a name, so that with its ids and endings it is the name of one file."""


def safe_table_name(name: str, *, max_length: int | None = None) -> str:
    """Return the name, or a changed one with a tag where the dataset or a storage cannot use it.

    The tag depends on the name alone, so that a table has the same name in every load.

    >>> safe_table_name("orders"), safe_table_name("init"), safe_table_name("../a")
    ('orders', 'init_bei8mw', '_a_eoblsa')
    """
    encoded = name.encode("utf-8", "replace")
    is_safe = not _UNSAFE.search(name) and name.lower() not in RESERVED_TABLES
    if is_safe and len(encoded) <= _LONGEST:
        return name
    head = encoded[: _LONGEST - TAG_LENGTH - 1].decode("utf-8", "ignore")
    if not is_safe:
        # Two underscores may be a path, which naming conventions take apart.
        head = _JOINED.sub("_", _UNSAFE.sub("_", head))
    return tagged(head.rstrip("_") or "table", original=name, max_length=max_length)


def nested_table_name(naming: NamingConvention, *fragments: str) -> str:
    """Join the normalized name of a root table and those of the keys that lead to a list below it."""
    return safe_table_name(naming.shorten_fragments(*fragments), max_length=naming.max_length)
