"""Table names that are safe as the name of a folder, of a job file and in a catalog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from penstock.schema.shorten import TAG_LENGTH, append_tag

if TYPE_CHECKING:
    from penstock.schema.naming import NamingConvention

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
_REPEATED_UNDERSCORES: Final = re.compile(r"__+")
_MAX_BYTES: Final = 210
"""Bytes of a name, so that with its ids and endings it is the name of one file."""


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
        head = _REPEATED_UNDERSCORES.sub("_", _UNSAFE.sub("_", head))
    return append_tag(head.rstrip("_") or "table", original=name, max_length=max_length)


def nested_table_name(naming: NamingConvention, *fragments: str) -> str:
    """Join the normalized name of a root table and those of the keys that lead to a list below it."""
    return safe_table_name(naming.shorten_fragments(*fragments), max_length=naming.max_length)
