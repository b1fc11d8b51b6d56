"""The nested dataset of a root table: which paths it holds, how each is stored, and under which names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.package.projection import Access
from penstock.package.sql import quoted
from penstock.schema.path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from penstock.normalize.learn import Form
    from penstock.package.picking import Stored
    from penstock.schema.path import Path

RAW: Final = (
    "STRUCT<`text`: STRING, `file`: STRING, `position`: BIGINT,"
    " `reason`: STRING, `path`: STRING, `rule`: STRING>"
)
"""The text of a row that the dataset does not stand for, and where it stood.

One that a contract refuses has the reason, where the refused value stands, and the rule.
"""
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SQL: Final[Mapping[Stored, str]] = {
    "bool": "BOOLEAN",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "text": "STRING",
    "tagged": "STRING",
    "json": "STRING",
    "mixed": "VARIANT",
}
_TYPE_NAMES: Final[Mapping[Stored, str]] = {
    "bool": "boolean",
    "bigint": "long",
    "double": "double",
    "text": "string",
    "tagged": "string",
    "json": "string",
    "mixed": "variant",
}
_ALONE: Final[Mapping[Form, Stored]] = {
    "bool": "bool",
    "whole": "bigint",
    "fraction": "double",
    "text": "text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """Values that are stored as they are, or as JSON text, or as VARIANTs.

    `forms` are those of its own values; what stands inside a VARIANT is not told here.
    """

    stored: Stored
    forms: frozenset[Form]
    sql: str | None = None
    """The type of what came typed."""
    is_hollow: bool = False
    """Whether objects or lists were seen here, and never anything in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """A struct: a name for each key, and what stands under it."""

    fields: Mapping[str, tuple[str, Node]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """An array."""

    element: Node


Node = Leaf | Object | ListOf
_EMPTY_OBJECT: Final = Object(fields={})


@dataclass(frozen=True, slots=True)
class Dataset:
    """The nested dataset of a root table, before its decision is carried out."""

    root: Object

    @property
    def columns(self) -> str:
        """Its columns, so that nobody has to open its files to know them.

        Rows without a single value have no struct: Parquet knows none without fields.
        """
        row = sql_type(self.root) if self.root.fields else "BOOLEAN"
        return f"`id` STRING, `raw` {RAW}, `row` {row}"

    def reach(self, path: Path) -> tuple[Node, Access]:
        """Give what is stored at a path, and where it stands below the row that holds it.

        The row is the root row, or the element of the last list on the way.
        """
        node: Node = self.root
        names: tuple[str, ...] = ()
        inside: tuple[str, ...] = ()
        for step in path:
            match node:
                case Object(fields=fields) if isinstance(step, str):
                    name, node = fields[step]
                    names = (*names, name)
                case ListOf(element=element):
                    node, names, inside = element, (), ()
                case Leaf(stored="mixed") if step == EACH:
                    names, inside = (), ()
                case Leaf(stored="mixed"):
                    inside = (*inside, str(step))
                case _:
                    raise KeyError(path)
        return node, Access(path=names, inside=inside)


def dataset_of(
    forms: Mapping[Path, frozenset[Form]],
    is_whole: Callable[[Path, Form], bool],
    strict: Container[Path] = (),
) -> Dataset:
    """Decide how every path is stored, so that each value can be told from every other.

    `is_whole` says of an object or a list whether it is kept as JSON. Values of one form are stored as what
    they are; of several forms, as VARIANT, with everything below. So are the fractions of `strict`: a double
    does not tell `5.0` from `5`.
    """
    below: dict[Path, list[Path]] = {}
    for path in forms:
        if path:
            below.setdefault(path[:-1], []).append(path)
    root = _Builder(forms, below, is_whole, strict).node(())
    return Dataset(root if isinstance(root, Object) else _EMPTY_OBJECT)


@dataclass(frozen=True, slots=True)
class _Builder:
    forms: Mapping[Path, frozenset[Form]]
    below: Mapping[Path, list[Path]]
    is_whole: Callable[[Path, Form], bool]
    strict: Container[Path]

    def node(self, path: Path) -> Node:
        forms = self.forms.get(path, frozenset())
        containers = forms & {"object", "list"}
        if containers and all(self.is_whole(path, form) for form in containers):
            return Leaf(stored="json" if containers == forms else "mixed", forms=forms)
        match tuple(forms):
            case ("object",):
                return self._object(path)
            case ("list",):
                elements = (*path, EACH)
                # An empty list has no elements to tell their type: it is kept as the text that it is.
                return (
                    ListOf(element=self.node(elements))
                    if elements in self.forms
                    else Leaf(stored="json", forms=forms, is_hollow=True)
                )
            case ():
                return Leaf(stored="text", forms=forms)
            case (form,) if form in _ALONE and not (form == "fraction" and path in self.strict):
                return Leaf(stored=_ALONE[form], forms=forms)
            case _:
                are_texts = all(form == "text" or form.startswith("tagged") for form in forms)
                return Leaf(stored="tagged" if are_texts else "mixed", forms=forms)

    def _object(self, path: Path) -> Node:
        keys = [one for one in self.below.get(path, ()) if one[-1] != EACH and self.forms[one]]
        names = field_names([str(one[-1]) for one in keys])
        fields = {str(one[-1]): (names[str(one[-1])], self.node(one)) for one in keys}
        if not fields and path:
            return Leaf(stored="json", forms=frozenset(("object",)), is_hollow=True)
        return Object(fields=fields)


def field_names(keys: Iterable[str]) -> dict[str, str]:
    """Names for the fields of a struct: the keys themselves where every reader takes them.

    >>> field_names(["id", "Id", "odd key"])
    {'id': 'id', 'Id': 'k1', 'odd key': 'k2'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    listed = list(keys)
    for key in listed:
        if _PLAIN.fullmatch(key) and key.lower() not in taken:
            found[key] = key
            taken.add(key.lower())
    for number, key in enumerate(listed):
        if key not in found:
            name = f"k{number}"
            while name in taken:
                name += "_"
            found[key] = name
            taken.add(name)
    return {key: found[key] for key in listed}


def sql_type(node: Node) -> str:
    """The type in SQL, under the names of the dataset."""
    match node:
        case Leaf(stored=stored, sql=sql):
            return sql or _SQL[stored]
        case ListOf(element=element):
            return f"ARRAY<{sql_type(element)}>"
        case Object(fields=fields):
            inner = (f"{quoted(name)}: {sql_type(child)}" for name, child in fields.values())
            return f"STRUCT<{', '.join(inner)}>"


def keyed_type(node: Node) -> str:
    """The type in SQL under the raw keys."""
    match node:
        case Leaf():
            return sql_type(node)
        case ListOf(element=element):
            return f"ARRAY<{keyed_type(element)}>"
        case Object(fields=fields):
            inner = (f"{quoted(key)}: {keyed_type(child)}" for key, (_, child) in fields.items())
            return f"STRUCT<{', '.join(inner)}>"


def type_document(node: Node) -> Any:
    """The type as Spark's JSON form of types, under the raw keys: those may be anything, even empty."""
    match node:
        case Leaf(stored=stored):
            return _TYPE_NAMES[stored]
        case ListOf(element=element):
            return {"type": "array", "elementType": type_document(element), "containsNull": True}
        case Object(fields=fields):
            inner = [_field(key, type_document(child)) for key, (_, child) in fields.items()]
            return {"type": "struct", "fields": inner}


def _field(key: str, kind: Any) -> dict[str, Any]:
    return {"name": key, "type": kind, "nullable": True, "metadata": {}}


def is_renamed(node: Node) -> bool:
    """Whether a name differs from its key anywhere below."""
    match node:
        case Leaf():
            return False
        case ListOf(element=element):
            return is_renamed(element)
        case Object(fields=fields):
            return any(key != name or is_renamed(child) for key, (name, child) in fields.items())
