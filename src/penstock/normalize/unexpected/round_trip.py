"""Rows that are equal to their text when they are written as JSON again: nothing of them is lost.

One comparison takes the place of all counts of tokens. Rows in the form in which `orjson` writes them are
equal if their keys are in the order of the layout and no value is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from penstock.normalize.nested_layout import Leaf, ListOf, Object, has_renamed_fields
from penstock.normalize.unexpected.unconvertible import any_true
from penstock.package import tags
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.unexpected.token_counts import TokenCounter

# Java writes other numbers with an exponent.
_SMALLEST_PLAIN, _SMALLEST_WITH_EXPONENT = 1e-3, 1e7
_SHARE_THAT_PAYS: Final = 0.95
_TAGGED_TEXT: Final = literal(f'"[{tags.FIRST}-{tags.LAST}]')


def can_round_trip(layout: NestedLayout) -> bool:
    """Return whether rows of a layout can be equal to their texts: fields have the keys as names, and so on.

    A value kept as JSON is written as a string, and an object in a VARIANT has its keys in another order.
    """
    return not has_renamed_fields(layout.root) and all(
        leaf.storage_form != "json" and not leaf.forms & {"object", "list"} for leaf in _leaves(layout.root)
    )


def is_mostly_round_trip(texts: Sequence[bytes], layout: NestedLayout) -> bool:
    """Return whether nearly all of some texts would be equal: it is slow to count the tokens of others."""
    equal = sum(text == _written_again(text, layout) for text in texts)
    return can_round_trip(layout) and equal > _SHARE_THAT_PAYS * len(texts)


def round_trip_condition(text: str, row: str) -> str:
    """Return SQL for whether a parsed row, written as JSON, is its text."""
    return f"coalesce({text} = to_json({row}), false)"


def unexpected_in_round_trip(counter: TokenCounter, layout: NestedLayout, row: str, text: str) -> str:
    """Return SQL for whether a row that is equal to its text has a value of a form that its path has not."""
    if any(leaf.storage_form == "tagged" for leaf in _leaves(layout.root)):
        return any_true(counter.unexpected_values(layout.root, row))
    # The first character of a tagged text needs several bytes.
    tagged = f"(octet_length({text}) != char_length({text}) AND {text} RLIKE {_TAGGED_TEXT})"
    return any_true([tagged, *counter.unexpected_values(layout.root, row, checks_texts=False)])


def _leaves(node: LayoutNode) -> list[Leaf]:
    match node:
        case Object(fields=fields):
            return [leaf for _, child in fields.values() for leaf in _leaves(child)]
        case ListOf(element=element):
            return _leaves(element)
        case Leaf() as leaf:
            return [leaf]


def _written_again(text: bytes, layout: NestedLayout) -> bytes | None:
    """Return a text as Spark writes its row; None if it is invalid or too deep, or its numbers differ."""
    try:
        return orjson.dumps(_ordered(layout.root, orjson.loads(text)))
    except (ValueError, orjson.JSONEncodeError, RecursionError):
        return None


def _ordered(node: LayoutNode, value: Any) -> Any:
    """Return a value with the keys of a layout in its order, without nulls in objects."""
    match node:
        case Object(fields=fields) if isinstance(value, dict):
            present = {key: value[key] for key in fields if value.get(key) is not None}
            return {key: _ordered(fields[key][1], inner) for key, inner in present.items()}
        case ListOf(element=element) if isinstance(value, list):
            return [_ordered(element, inner) for inner in value]
        case _ if (
            isinstance(value, float)
            and value
            and not (_SMALLEST_PLAIN <= abs(value) < _SMALLEST_WITH_EXPONENT)
        ):
            raise ValueError("Spark writes the number with an exponent")
        case _:
            return value
