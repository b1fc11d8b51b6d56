"""Spark SQL for paths in a VARIANT and for rarely executed expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.schema.spark_sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["literal", "out_of_line", "quote_name", "variant_value"]


def variant_value(value: str, keys: Sequence[str], kind: str) -> str:
    r"""Return SQL for the value under these keys of a VARIANT, as a value of this type.

    >>> variant_value("v", ("a", "odd key"), "variant")
    'try_variant_get(v, \'$["a"]["odd key"]\', \'variant\')'
    """
    path = "$"
    for key in keys:
        if '"' in key and "'" in key:
            # A path cannot contain such a key.
            fields = f"try_variant_get({value}, {literal(path)}, 'map<string,variant>')"
            value, path = f"try_element_at({fields}, {literal(key)})", "$"
        else:
            path += f'["{key}"]' if '"' not in key else f"['{key}']"
    return f"try_variant_get({value}, {literal(path)}, {literal(kind)})"


def out_of_line(value: str, build_sql: Callable[[str], str]) -> str:
    """Return SQL with a long and rarely executed expression moved into a lambda.

    >>> out_of_line("x", lambda value: f"lower({value})")
    'transform(array(x), r -> lower(r))[0]'

    The JVM never compiles a method of more than 8,000 bytes. The body of a lambda is not part of the
    generated method.
    """
    return f"transform(array({value}), r -> {build_sql('r')})[0]"
