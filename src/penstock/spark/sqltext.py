"""Check that a session reads SQL text as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from penstock.errors import SessionChangesText
from penstock.spark.presets import SQL_TEXT_CONF

if TYPE_CHECKING:
    from collections.abc import Iterable

# The part of a text that each setting changes.
_AFFECTED_TEXT: Final = {
    "spark.sql.variable.substitute": "${",
    "spark.sql.parser.escapedStringLiterals": "\\",
    "spark.sql.parser.quotedRegexColumnNames": "`",
}
_SUBSTITUTION: Final = "spark.sql.variable.substitute"


class SessionConf(Protocol):
    """The settings of a session."""

    def get(self, key: str) -> str | None:
        """The value of a setting, or Spark's default."""


class HasConf(Protocol):
    """A session, as far as its settings go."""

    @property
    def conf(self) -> SessionConf:
        """The settings of the session."""


def check_text_conf(spark: HasConf) -> None:
    """Refuse a session that changes SQL text before it reads it."""
    _check_settings(spark, SQL_TEXT_CONF)


def check_texts(texts: Iterable[str], *, spark: HasConf) -> None:
    """Refuse a session that changes one of these texts; settings that change none of them do not matter."""
    whole = "\n".join(texts)
    _check_settings(spark, (name for name, part in _AFFECTED_TEXT.items() if part in whole))


def check_table_name(name: str, *, spark: HasConf) -> None:
    """Refuse a session that replaces a part of this quoted table name."""
    _check_settings(spark, [_SUBSTITUTION] if _AFFECTED_TEXT[_SUBSTITUTION] in name else ())


def _check_settings(spark: HasConf, names: Iterable[str]) -> None:
    for name in names:
        value = spark.conf.get(name)
        if value != SQL_TEXT_CONF[name]:
            raise SessionChangesText(setting=name, value=value)
