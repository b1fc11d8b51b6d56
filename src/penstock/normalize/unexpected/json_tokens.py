"""SQL that counts the pieces of JSON: in a text by its punctuation, in a parsed row by its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import Leaf
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.normalize.nested_layout import LayoutNode

KEY, NULL, QUOTE, LIST = '":', '":null', '"', "["
_BRANCH_SIZE: Final = 50


def token_count(text: str, token: str) -> str:
    """How often a mark stands in a text: by how much shorter the text is when each loses a byte."""
    return f"(octet_length({text}) - octet_length(replace({text}, {literal(token)}, {literal(token[:-1])})))"


def without_escapes(text: str) -> str:
    """Without escaped backslashes and quotes: every quote that is left begins or ends a text."""
    return (
        f"CASE WHEN contains({text}, {literal(chr(92))}) THEN"
        f" replace(replace({text}, {literal(chr(92) * 2)}, ''), {literal(chr(92) + chr(34))}, '')"
        f" ELSE {text} END"
    )


def element_sum(values: str, depth: int, term: str) -> str:
    """A number for each element of a list, added up."""
    if term == "0":
        return "0"
    return f"coalesce(aggregate({values}, 0L, (a{depth}, c{depth}) -> a{depth} + bigint({term})), 0L)"


def sum_of(terms: Iterable[str]) -> str:
    """The sum of these, some of which are nothing."""
    found = [one for one in terms if one != "0"]
    # In branches: a chain of thousands is too deep for Spark's reader of SQL.
    while len(found) > 1:
        found = [
            " + ".join(found[start : start + _BRANCH_SIZE]) for start in range(0, len(found), _BRANCH_SIZE)
        ]
        found = [f"({one})" for one in found]
    return found[0] if found else "0"


def without_string_content(text: str) -> str:
    """Without the content of its strings, each of which is one quote now."""
    return f"regexp_replace({text}, '\"[^\"]*\"', '\"')"


def has_value(value: str, node: LayoutNode) -> str:
    """Whether a key has a value."""
    if isinstance(node, Leaf) and node.storage_form == "mixed":
        return f"coalesce({value} IS NOT NULL AND NOT is_variant_null({value}), false)"
    return f"{value} IS NOT NULL"
