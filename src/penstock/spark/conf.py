"""Temporary settings of a session, and those that mask secrets in its plans."""

from __future__ import annotations

import re
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_MASKING_KEY: Final = "spark.sql.redaction.string.regex"
# All options but those of the query, because any property of a driver may be a secret.
_SECRET_OPTION: Final = r'key: "(?!(?:query|fetchsize|driver)")[^"]*"\s*value: "(?:[^"\\]|\\.)*"'  # noqa: S105 (a pattern)
MASKING_CONF: Final[Mapping[str, str]] = MappingProxyType({_MASKING_KEY: _SECRET_OPTION})
"""Masks the options of JDBC in the plans that a client of Spark Connect sends and its server logs."""
_EXAMPLE_OPTION: Final = 'key: "password"\n    value: "hush"'


def masks_options(spark: SparkSession) -> bool:
    """Return whether the session masks a password among the options of a plan."""
    pattern = spark.conf.get(_MASKING_KEY, None)
    try:
        return bool(pattern) and "hush" not in re.sub(str(pattern), "", _EXAMPLE_OPTION)
    except re.error:  # a pattern that only Java understands
        return False


@contextmanager
def temporary_conf(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Set settings within a block, then restore the previous ones: the session may be the user's."""
    before = {key: spark.conf.get(key, None) for key in conf}
    try:
        for key, value in conf.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, value_before in before.items():
            if value_before is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value_before)
