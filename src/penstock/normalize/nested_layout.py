"""The nested dataset of a root table: which paths it holds, how each is stored, and under which names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.package.projection.model import FieldAccess
from penstock.package.sql import quote_name
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from penstock.normalize.profile import JsonForm
    from penstock.package.projection.typed_values import StorageForm
    from penstock.schema.value_path import ValuePath

RAW_TYPE: Final = (
    "STRUCT<`text`: STRING, `file`: STRING, `position`: BIGINT,"
    " `reason`: STRING, `path`: STRING, `rule`: STRING>"
)
"""The text of a row that the dataset does not stand for, and where it stood.

One that a contract refuses has the reason, where the refused value stands, and the rule.
"""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SQL_TYPES: Final[Mapping[StorageForm, str]] = {
    "bool": "BOOLEAN",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "text": "STRING",
    "tagged": "STRING",
    "json": "STRING",
    "mixed": "VARIANT",
}
_SPARK_TYPE_NAMES: Final[Mapping[StorageForm, str]] = {
    "bool": "boolean",
    "bigint": "long",
    "double": "double",
    "text": "string",
    "tagged": "string",
    "json": "string",
    "mixed": "variant",
}
_SINGLE_STORAGE_FORMS: Final[Mapping[JsonForm, StorageForm]] = {
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

    storage_form: StorageForm
    forms: frozenset[JsonForm]
    sql: str | None = None
    """The type of what came typed."""
    is_always_empty: bool = False
    """Whether objects or lists were seen here, and never anything in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """A struct: a name for each key, and what stands under it."""

    fields: Mapping[str, tuple[str, LayoutNode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """An array."""

    element: LayoutNode


LayoutNode = Leaf | Object | ListOf
_EMPTY_OBJECT: Final = Object(fields={})


@dataclass(frozen=True, slots=True)
class NestedLayout:
    """The nested dataset of a root table, before its decision is carried out."""

    root: Object

    @property
    def columns(self) -> str:
        """Its columns, so that nobody has to open its files to know them.

        Rows without a single value have no struct: Parquet knows none without fields.
        """
        row = sql_type(self.root) if self.root.fields else "BOOLEAN"
        return f"`id` STRING, `raw` {RAW_TYPE}, `row` {row}"

    def resolve(self, path: ValuePath) -> tuple[LayoutNode, FieldAccess]:
        """Give what is stored at a path, and where it stands below the row that holds it.

        The row is the root row, or the element of the last list on the way.
        """
        node: LayoutNode = self.root
        names: tuple[str, ...] = ()
        inside: tuple[str, ...] = ()
        for step in path:
            match node:
                case Object(fields=fields) if isinstance(step, str):
                    name, node = fields[step]
                    names = (*names, name)
                case ListOf(element=element):
                    node, names, inside = element, (), ()
                case Leaf(storage_form="mixed") if step == EACH:
                    names, inside = (), ()
                case Leaf(storage_form="mixed"):
                    inside = (*inside, str(step))
                case _:
                    raise KeyError(path)
        return node, FieldAccess(path=names, inside=inside)


def build_layout(
    forms: Mapping[ValuePath, frozenset[JsonForm]],
    kept_as_json: Callable[[ValuePath, JsonForm], bool],
    strict_fractions: Container[ValuePath] = (),
) -> NestedLayout:
    """Decide how every path is stored, so that each value can be told from every other.

    `is_whole` says of an object or a list whether it is kept as JSON. Values of one form are stored as what
    they are; of several forms, as VARIANT, with everything below. So are the fractions of `strict`: a double
    does not tell `5.0` from `5`.
    """
    below: dict[ValuePath, list[ValuePath]] = {}
    for path in forms:
        if path:
            below.setdefault(path[:-1], []).append(path)
    root = _NestedLayoutBuilder(forms, below, kept_as_json, strict_fractions).node(())
    return NestedLayout(root if isinstance(root, Object) else _EMPTY_OBJECT)


@dataclass(frozen=True, slots=True)
class _NestedLayoutBuilder:
    forms: Mapping[ValuePath, frozenset[JsonForm]]
    children: Mapping[ValuePath, list[ValuePath]]
    kept_as_json: Callable[[ValuePath, JsonForm], bool]
    strict_fractions: Container[ValuePath]

    def node(self, path: ValuePath) -> LayoutNode:
        forms = self.forms.get(path, frozenset())
        containers = forms & {"object", "list"}
        if containers and all(self.kept_as_json(path, form) for form in containers):
            return Leaf(storage_form="json" if containers == forms else "mixed", forms=forms)
        match tuple(forms):
            case ("object",):
                return self._object(path)
            case ("list",):
                elements = (*path, EACH)
                # An empty list has no elements to tell their type: it is kept as the text that it is.
                return (
                    ListOf(element=self.node(elements))
                    if elements in self.forms
                    else Leaf(storage_form="json", forms=forms, is_always_empty=True)
                )
            case ():
                return Leaf(storage_form="text", forms=forms)
            case (form,) if form in _SINGLE_STORAGE_FORMS and not (
                form == "fraction" and path in self.strict_fractions
            ):
                return Leaf(storage_form=_SINGLE_STORAGE_FORMS[form], forms=forms)
            case _:
                are_texts = all(form == "text" or form.startswith("tagged") for form in forms)
                return Leaf(storage_form="tagged" if are_texts else "mixed", forms=forms)

    def _object(self, path: ValuePath) -> LayoutNode:
        keys = [one for one in self.children.get(path, ()) if one[-1] != EACH and self.forms[one]]
        names = field_names([str(one[-1]) for one in keys])
        fields = {str(one[-1]): (names[str(one[-1])], self.node(one)) for one in keys}
        if not fields and path:
            return Leaf(storage_form="json", forms=frozenset(("object",)), is_always_empty=True)
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
        if _IDENTIFIER.fullmatch(key) and key.lower() not in taken:
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


def sql_type(node: LayoutNode) -> str:
    """The type in SQL, under the names of the dataset."""
    match node:
        case Leaf(storage_form=stored, sql=sql):
            return sql or _SQL_TYPES[stored]
        case ListOf(element=element):
            return f"ARRAY<{sql_type(element)}>"
        case Object(fields=fields):
            inner = (f"{quote_name(name)}: {sql_type(child)}" for name, child in fields.values())
            return f"STRUCT<{', '.join(inner)}>"


def raw_key_sql_type(node: LayoutNode) -> str:
    """The type in SQL under the raw keys."""
    match node:
        case Leaf():
            return sql_type(node)
        case ListOf(element=element):
            return f"ARRAY<{raw_key_sql_type(element)}>"
        case Object(fields=fields):
            inner = (f"{quote_name(key)}: {raw_key_sql_type(child)}" for key, (_, child) in fields.items())
            return f"STRUCT<{', '.join(inner)}>"


def spark_json_type(node: LayoutNode) -> Any:
    """The type as Spark's JSON form of types, under the raw keys: those may be anything, even empty."""
    match node:
        case Leaf(storage_form=stored):
            return _SPARK_TYPE_NAMES[stored]
        case ListOf(element=element):
            return {"type": "array", "elementType": spark_json_type(element), "containsNull": True}
        case Object(fields=fields):
            inner = [_struct_field(key, spark_json_type(child)) for key, (_, child) in fields.items()]
            return {"type": "struct", "fields": inner}


def _struct_field(key: str, kind: Any) -> dict[str, Any]:
    return {"name": key, "type": kind, "nullable": True, "metadata": {}}


def has_renamed_fields(node: LayoutNode) -> bool:
    """Whether a name differs from its key anywhere below."""
    match node:
        case Leaf():
            return False
        case ListOf(element=element):
            return has_renamed_fields(element)
        case Object(fields=fields):
            return any(key != name or has_renamed_fields(child) for key, (name, child) in fields.items())
