"""Checks that a session does not substitute parts of SQL text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from penstock.errors import SessionChangesText
from penstock.spark.presets import SQL_TEXT_CONF

if TYPE_CHECKING:
    from collections.abc import Iterable

# The text that each setting affects.
_AFFECTED_TEXT: Final = {
    "spark.sql.variable.substitute": "${",
    "spark.sql.parser.escapedStringLiterals": "\\",
    "spark.sql.parser.quotedRegexColumnNames": "`",
}
_SUBSTITUTION: Final = "spark.sql.variable.substitute"


class SessionConf(Protocol):
    """The settings of a session."""

    def get(self, key: str) -> str | None:
        """Return the value of a setting, or Spark's default."""


class HasConf(Protocol):
    """A session, as far as its settings are needed."""

    @property
    def conf(self) -> SessionConf:
        """The settings of the session."""


def check_text_conf(spark: HasConf) -> None:
    """Raise an error if a session substitutes parts of SQL text."""
    _check_settings(spark, SQL_TEXT_CONF)


def check_texts(texts: Iterable[str], *, spark: HasConf) -> None:
    """Raise an error if a session would change one of these texts; other settings do not matter."""
    joined = "\n".join(texts)
    _check_settings(spark, (name for name, part in _AFFECTED_TEXT.items() if part in joined))


def check_table_name(name: str, *, spark: HasConf) -> None:
    """Raise an error if a session would change this quoted table name."""
    _check_settings(spark, [_SUBSTITUTION] if _AFFECTED_TEXT[_SUBSTITUTION] in name else ())


def _check_settings(spark: HasConf, names: Iterable[str]) -> None:
    for name in names:
        value = spark.conf.get(name)
        if value != SQL_TEXT_CONF[name]:
            raise SessionChangesText(setting=name, value=value)
