"""Names and texts in Spark SQL, quoted by sqlglot and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIALECT = "spark"


def quoted(*parts: str) -> str:
    """A name, or a path of names, as Spark SQL wants it.

    >>> quoted("row", "odd `key`.x")
    '`row`.`odd ``key``.x`'
    """
    return ".".join(exp.to_identifier(part, quoted=True).sql(dialect=_DIALECT) for part in parts)


def literal(text: str) -> str:
    r"""A text value.

    >>> literal("it's")
    "'it\\'s'"
    """
    return exp.Literal.string(text).sql(dialect=_DIALECT)


def variant_path(keys: Sequence[str]) -> str:
    r"""The path to a value inside a VARIANT, as a text of SQL.

    >>> variant_path(("a", "odd key"))
    '\'$["a"]["odd key"]\''
    """
    return literal("$" + "".join(f'["{key}"]' if '"' not in key else f"['{key}']" for key in keys))
