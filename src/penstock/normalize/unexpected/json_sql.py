"""SQL about JSON: the tokens in a text, the elements of lists, and the form of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from penstock.normalize.nested_layout import Leaf
from penstock.package import tags
from penstock.package.projection.typed_values import is_tagged, typed_value
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.normalize.nested_layout import LayoutNode
    from penstock.normalize.profile import JsonForm
    from penstock.package.projection.typed_values import ValueType

KEY, NULL, QUOTE, LIST = '":', '":null', '"', "["
_BRANCH_SIZE: Final = 50
_MAX_EXACT_INTEGER: Final = 2**53
_TAGS: Final[Mapping[JsonForm, str]] = {
    "tagged timestamp": tags.DATETIME,
    "tagged date": tags.DATE,
    "tagged time": tags.TIME,
    "tagged binary": tags.BYTES,
}


def token_count(text: str, token: str) -> str:
    """Return SQL for the number of a token in a text: the bytes lost when each token loses one."""
    return f"(octet_length({text}) - octet_length(replace({text}, {literal(token)}, {literal(token[:-1])})))"


def without_escapes(text: str) -> str:
    """Return SQL for a text without escaped backslashes and quotes: other quotes delimit strings."""
    return (
        f"CASE WHEN contains({text}, {literal(chr(92))}) THEN"
        f" replace(replace({text}, {literal(chr(92) * 2)}, ''), {literal(chr(92) + chr(34))}, '')"
        f" ELSE {text} END"
    )


def element_sum(values: str, depth: int, term: str) -> str:
    """Return SQL for the sum of a term over the elements of a list."""
    if term == "0":
        return "0"
    return f"coalesce(aggregate({values}, 0L, (a{depth}, c{depth}) -> a{depth} + bigint({term})), 0L)"


def sum_of(terms: Iterable[str]) -> str:
    """Return SQL for the sum of terms, without those that are `0`."""
    branches = [term for term in terms if term != "0"]
    # As a tree: a chain of thousands is too deep for Spark's parser.
    while len(branches) > 1:
        starts = range(0, len(branches), _BRANCH_SIZE)
        branches = [f"({' + '.join(branches[start : start + _BRANCH_SIZE])})" for start in starts]
    return branches[0] if branches else "0"


def without_string_content(text: str) -> str:
    """Return SQL for a text in which each string is replaced by one quote."""
    return f"regexp_replace({text}, '\"[^\"]*\"', '\"')"


def has_value(value: str, node: LayoutNode) -> str:
    """Return SQL for whether a key has a value."""
    if isinstance(node, Leaf) and node.storage_form == "mixed":
        return f"coalesce({value} IS NOT NULL AND NOT is_variant_null({value}), false)"
    return f"{value} IS NOT NULL"


def is_any_text_form(text: str, forms: Iterable[JsonForm]) -> str:
    """Return SQL for whether a text has one of these forms."""
    conditions = (_is_text_form(text, form) for form in sorted(forms))
    return " OR ".join(filter(None, conditions))


def _is_text_form(text: str, form: JsonForm) -> str:
    match form:
        case "text":
            return f"NOT {is_tagged(text)}"
        case "tagged text":
            return f"({is_tagged(text)} AND {typed_value(text, 'tagged', 'text')} IS NOT NULL)"
        case "tagged decimal" | "tagged double" | "tagged wei":
            kind = cast("ValueType", form.removeprefix("tagged "))
            return f"{typed_value(text, 'tagged', kind)} IS NOT NULL"
        case _:
            return f"startswith({text}, '{_TAGS[form]}')" if form in _TAGS else ""


def is_large(value: str) -> str:
    """Return SQL for whether a double may have been an integer that doubles do not hold."""
    return f"(abs({value}) > {_MAX_EXACT_INTEGER})"


def is_variant_form(value: str, form: JsonForm) -> str:
    """Return SQL for whether a VARIANT has this form."""
    schema = f"schema_of_variant({value})"
    wide = f"({typed_value(value, 'mixed', 'wei')})"
    match form:
        case "bool":
            return f"{schema} = 'BOOLEAN'"
        case "whole":
            return f"{schema} = 'BIGINT'"
        case "wide":
            return f"({schema} LIKE 'DECIMAL%' AND {wide} IS NOT NULL)"
        case "fraction" | "large":
            return f"({schema} IN ('DOUBLE', 'FLOAT') OR ({schema} LIKE 'DECIMAL%' AND {wide} IS NULL))"
        case "object":
            return f"startswith({schema}, 'OBJECT')"
        case "list":
            return f"startswith({schema}, 'ARRAY')"
        case "null":
            return f"is_variant_null({value})"
        case _:
            has_form = _is_text_form(f"try_variant_get({value}, '$', 'string')", form)
            return f"({schema} = 'STRING' AND {has_form})"
