"""Layouts of nested datasets: the paths of a root table, how each is stored, and under which field names."""

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
"""The text of a row that the layout does not fit or that is refused, and its file and position.

A refused row also has the reason, the path of the refused value, and the rule.
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
    """Values that are stored as they are, as JSON text, or as VARIANT.

    `forms` are the forms of the values themselves, not of those inside a VARIANT.
    """

    storage_form: StorageForm
    forms: frozenset[JsonForm]
    sql: str | None = None
    """The type of a column of typed files."""
    is_always_empty: bool = False
    """Whether all objects and lists at this path are empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """A struct: for each key the field name and the node."""

    fields: Mapping[str, tuple[str, LayoutNode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """An array."""

    element: LayoutNode


LayoutNode = Leaf | Object | ListOf
_EMPTY_OBJECT: Final = Object(fields={})


@dataclass(frozen=True, slots=True)
class NestedLayout:
    """The columns of a nested dataset: `id`, `raw`, and `row` with the root struct."""

    root: Object

    @property
    def columns(self) -> str:
        """The columns as Spark SQL, for readers that must not open files to find them.

        `row` is a BOOLEAN if no row has a value: Parquet has no struct without fields.
        """
        row = sql_type(self.root) if self.root.fields else "BOOLEAN"
        return f"`id` STRING, `raw` {RAW_TYPE}, `row` {row}"

    def resolve(self, path: ValuePath) -> tuple[LayoutNode, FieldAccess]:
        """Return the node of a path, and the access to it from the row that holds it.

        That row is the root row, or the element of the last list on the path. An unknown path raises
        `KeyError`.
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
    """Choose a storage form for every path that keeps different values apart.

    `kept_as_json` decides about objects and lists. Values of one form are stored as they are, values of
    several forms as VARIANT with everything below. So are `strict_fractions`: a double does not keep `5.0`
    and `5` apart.
    """
    children: dict[ValuePath, list[ValuePath]] = {}
    for path in forms:
        if path:
            children.setdefault(path[:-1], []).append(path)
    root = _NestedLayoutBuilder(forms, children, kept_as_json, strict_fractions).node(())
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
                # The type of the elements is unknown while all lists are empty, so these are kept as text.
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
        children = {
            str(child[-1]): child
            for child in self.children.get(path, ())
            if child[-1] != EACH and self.forms[child]
        }
        names = field_names(children)
        fields = {key: (names[key], self.node(child)) for key, child in children.items()}
        if not fields and path:
            return Leaf(storage_form="json", forms=frozenset(("object",)), is_always_empty=True)
        return Object(fields=fields)


def field_names(keys: Iterable[str]) -> dict[str, str]:
    """Return field names for keys: the key itself if it is an identifier, and unique in lower case.

    >>> field_names(["id", "Id", "odd key"])
    {'id': 'id', 'Id': 'k1', 'odd key': 'k2'}
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    keys = list(keys)
    for key in keys:
        if _IDENTIFIER.fullmatch(key) and key.lower() not in taken:
            names[key] = key
            taken.add(key.lower())
    for number, key in enumerate(keys):
        if key not in names:
            name = f"k{number}"
            while name in taken:
                name += "_"
            names[key] = name
            taken.add(name)
    return {key: names[key] for key in keys}


def sql_type(node: LayoutNode) -> str:
    """Return the type in SQL, with field names."""
    match node:
        case Leaf(storage_form=stored, sql=sql):
            return sql or _SQL_TYPES[stored]
        case ListOf(element=element):
            return f"ARRAY<{sql_type(element)}>"
        case Object(fields=fields):
            inner = (f"{quote_name(name)}: {sql_type(child)}" for name, child in fields.values())
            return f"STRUCT<{', '.join(inner)}>"


def raw_key_sql_type(node: LayoutNode) -> str:
    """Return the type in SQL, with raw keys."""
    match node:
        case Leaf():
            return sql_type(node)
        case ListOf(element=element):
            return f"ARRAY<{raw_key_sql_type(element)}>"
        case Object(fields=fields):
            inner = (f"{quote_name(key)}: {raw_key_sql_type(child)}" for key, (_, child) in fields.items())
            return f"STRUCT<{', '.join(inner)}>"


def spark_json_type(node: LayoutNode) -> Any:
    """Return the type in Spark's JSON form, with raw keys: these may be any text, even an empty one."""
    match node:
        case Leaf(storage_form=stored):
            return _SPARK_TYPE_NAMES[stored]
        case ListOf(element=element):
            return {"type": "array", "elementType": spark_json_type(element), "containsNull": True}
        case Object(fields=fields):
            struct_fields = [_struct_field(key, spark_json_type(child)) for key, (_, child) in fields.items()]
            return {"type": "struct", "fields": struct_fields}


def _struct_field(key: str, json_type: Any) -> dict[str, Any]:
    return {"name": key, "type": json_type, "nullable": True, "metadata": {}}


def has_renamed_fields(node: LayoutNode) -> bool:
    """Return whether any field name below differs from its key."""
    match node:
        case Leaf():
            return False
        case ListOf(element=element):
            return has_renamed_fields(element)
        case Object(fields=fields):
            return any(key != name or has_renamed_fields(child) for key, (name, child) in fields.items())
