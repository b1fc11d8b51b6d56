"""What a table's rows look like, as a tree: read from the text that `schema_of_variant_agg` gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from penstock.schema import DataType

Kind = Literal["bool", "bigint", "wide", "double", "text", "mixed", "void", "typed"]

# Integers of 19 digits and more come as decimals; so does a mix of integers and whole fractions.
_WIDE_DIGITS = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedValue:
    """A value whose type was known before anybody looked at it."""

    sql: str
    """Its type in the nested dataset."""
    data_type: DataType
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that is not a container.

    `wide`: whole numbers that may pass 64 bits; `mixed`: of several types; `typed`: of the type beside.
    """

    kind: Kind
    typed: TypedValue | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list and what its elements look like."""

    element: Node


@dataclass(frozen=True, slots=True)
class Object:
    """An object: its raw keys in order, with what stands under them."""

    fields: tuple[tuple[str, Node], ...]


Node = Leaf | ListOf | Object

_TOKEN = re.compile(r"\s*(?:(?P<name>`(?:[^`]|``)*`|[^\s`<>,:()]+)|(?P<mark>[<>,:()]))")


def parse_tree(text: str) -> Node:
    """Read a type such as `OBJECT<id: BIGINT, tags: ARRAY<STRING>>`.

    >>> found = parse_tree("OBJECT<id: BIGINT, `odd ``k``: DECIMAL(3,1)>")
    >>> found == Object((("id", Leaf("bigint")), ("odd `k", Leaf("double"))))
    True
    """
    tokens = [match.group("name") or match.group("mark") for match in _TOKEN.finditer(text)]
    node, rest = _parse(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"cannot read the type {text!r}")
    return node


def _parse(tokens: list[str], at: int) -> tuple[Node, int]:
    match tokens[at]:
        case "OBJECT":
            return _parse_object(tokens, at + 2)
        case "ARRAY":
            element, rest = _parse(tokens, at + 2)
            return ListOf(element), rest + 1
        case "DECIMAL":
            digits, scale = int(tokens[at + 2]), int(tokens[at + 4])
            return Leaf("wide" if scale == 0 and digits >= _WIDE_DIGITS else "double"), at + 6
        case name:
            return Leaf(_KINDS[name]), at + 1


def _parse_object(tokens: list[str], start: int) -> tuple[Object, int]:
    fields: list[tuple[str, Node]] = []
    at = start
    while tokens[at] != ">":
        if tokens[at] == ",":
            at += 1
        name = tokens[at]
        key = name[1:-1].replace("``", "`") if name.startswith("`") else name
        node, at = _parse(tokens, at + 2)
        fields.append((key, node))
    return Object(tuple(fields)), at + 1


_KINDS: Mapping[str, Kind] = {
    "BOOLEAN": "bool",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "FLOAT": "double",
    "STRING": "text",
    "VARIANT": "mixed",
    "VOID": "void",
}


def ordered_like(node: Node, example: Any) -> Node:
    """The same tree with keys in the order of an example row; keys it lacks follow in their own order.

    The aggregate sorts keys, while people expect the columns of a table in the order they wrote them.
    """
    match node:
        case Object(fields):
            known = example if isinstance(example, Mapping) else {}
            position = {key: index for index, key in enumerate(known)}
            ranked = sorted(fields, key=lambda field: position.get(field[0], len(position)))
            return Object(tuple((key, ordered_like(child, known.get(key))) for key, child in ranked))
        case ListOf(element):
            first = example[0] if isinstance(example, list) and example else None
            return ListOf(ordered_like(element, first))
        case _:
            return node


def pruned(node: Node) -> Node | None:
    """Without what holds no value at all: only nulls, empty objects, empty lists."""
    match node:
        case Leaf("void"):
            return None
        case Leaf():
            return node
        case ListOf(Leaf("void")):
            # A list of nothing but nulls has no type yet; an empty one has no rows either.
            return None
        case ListOf(element):
            kept = pruned(element)
            return ListOf(kept) if kept is not None else None
        case Object(fields):
            kept_fields = tuple((key, kept) for key, child in fields if (kept := pruned(child)) is not None)
            return Object(kept_fields) if kept_fields else None
