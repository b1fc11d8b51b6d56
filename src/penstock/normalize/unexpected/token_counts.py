"""SQL that checks every value of a row exactly, for rows that the quick counts do not settle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import Leaf, ListOf, Object
from penstock.normalize.unexpected.json_sql import (
    KEY,
    LIST,
    NULL,
    QUOTE,
    element_sum,
    has_value,
    is_any_text_form,
    is_large,
    is_variant_form,
    sum_of,
    token_count,
    without_escapes,
    without_string_content,
)
from penstock.normalize.unexpected.unconvertible import any_true
from penstock.package import tags
from penstock.package.projection.model import FieldAccess
from penstock.package.sql import quote_name
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.normalize.nested_layout import LayoutNode
    from penstock.normalize.profile import JsonForm
    from penstock.schema.value_path import ValuePath

    KeptAsJson = Callable[[ValuePath, JsonForm], bool]

_AFTER_LAST_TAG: Final = chr(ord(tags.LAST) + 1)


class TokenCounter:
    """Counts of tokens in a parsed row, and checks of values that the parser accepts silently.

    `forms` has the forms of each path, also of those inside VARIANTs.
    """

    def __init__(self, forms: Mapping[ValuePath, frozenset[JsonForm]], kept_as_json: KeptAsJson) -> None:
        self.forms, self.kept_as_json = forms, kept_as_json

    def mismatch_condition(self, root: Object, row: str, text: str) -> str:
        """Return SQL for whether tokens of the row and of its text without string contents differ."""
        plain = without_string_content(text)
        keys, nulls, quotes, lists = (token_count(plain, mark) for mark in (KEY, NULL, QUOTE, LIST))
        conditions = (
            f"{keys} - {nulls} != {self._key_count(root, row)}",
            f"{quotes} - {keys} != {self.text_count(root, row)}",
            f"{lists} != {self._list_count(root, row)}",
            *self.unexpected_values(root, row),
        )
        return any_true(conditions)

    def unexpected_values(
        self,
        node: LayoutNode,
        value: str,
        path: ValuePath = (),
        depth: int = 0,
        *,
        checks_texts: bool = True,
    ) -> Iterator[str]:
        """Yield SQL for values that the parser accepts although their path has no such form."""
        inside = partial(self.unexpected_values, checks_texts=checks_texts)
        match node:
            case Object(fields=fields):
                for key, (name, child) in fields.items():
                    yield from inside(child, f"{value}.{quote_name(name)}", (*path, key), depth)
            case ListOf(element=element):
                inner = any_true(inside(element, f"s{depth}", (*path, EACH), depth + 1))
                if inner:
                    yield f"exists({value}, s{depth} -> {inner})"
            case Leaf(storage_form="text") if checks_texts:
                yield f"({value} >= '{tags.FIRST}' AND {value} < '{_AFTER_LAST_TAG}')"
            case Leaf(storage_form="tagged", forms=forms):
                yield f"({value} IS NOT NULL AND NOT ({is_any_text_form(value, forms)}))"
            case Leaf(storage_form="double"):
                yield is_large(value)
            case Leaf(storage_form="json"):
                yield self._is_not_container(node, value)
            case Leaf(storage_form="mixed"):
                yield from self._unexpected_in_variant(value, path, depth)
            case _:
                return

    def _is_not_container(self, leaf: Leaf, value: str) -> str:
        """Return SQL for whether a value is not one of the containers that its path keeps as JSON."""
        if leaf.is_always_empty and "object" in leaf.forms:
            # An object whose keys have no value counts as empty.
            return f"NOT (startswith({value}, '{{') AND {self._key_count(leaf, value)} = 0)"
        if leaf.is_always_empty:
            return f"{value} != '[]'"
        marks = {"object": "{", "list": "["}
        prefixes = [f"startswith({value}, '{mark}')" for form, mark in marks.items() if form in leaf.forms]
        return f"NOT ({' OR '.join(prefixes)})"

    def _unexpected_in_variant(self, value: str, path: ValuePath, depth: int) -> Iterator[str]:
        """Yield SQL for unexpected values of a VARIANT and of everything in it that is not kept as JSON."""
        forms = self.forms.get(path, frozenset())
        allowed = " OR ".join(is_variant_form(value, form) for form in sorted(forms))
        yield f"({value} IS NOT NULL AND NOT is_variant_null({value}) AND NOT ({allowed or 'false'}))"
        if "list" in forms and not self.kept_as_json(path, "list"):
            yield self._unexpected_in_variant_list(value, (*path, EACH), depth)
        if "object" in forms and not self.kept_as_json(path, "object"):
            fields = {
                child: FieldAccess(inside=(str(child[-1]),)).sql_within(value)
                for child in self._child_paths(path)
                if child[-1] != EACH
            }
            for child, field in fields.items():
                yield from self._unexpected_in_variant(field, child, depth)
            # `is_variant_null` is false for NULL.
            known_count = sum_of(
                f"int({field} IS NOT NULL AND NOT is_variant_null({field}))" for field in fields.values()
            )
            values = f"map_values(try_variant_get({value}, '$', 'map<string,variant>'))"
            has_more = f"size(filter({values}, m -> NOT is_variant_null(m))) != {known_count}"
            yield f"(CASE WHEN {is_variant_form(value, 'object')} THEN {has_more} ELSE false END)"

    def _unexpected_in_variant_list(self, value: str, element_path: ValuePath, depth: int) -> str:
        elements = f"try_variant_get({value}, '$', 'array<variant>')"
        if element_path not in self.forms:
            return f"coalesce(size({elements}) > 0, false)"
        inner = any_true(self._unexpected_in_variant(f"s{depth}", element_path, depth + 1))
        return f"coalesce(exists({elements}, s{depth} -> {inner}), false)"

    def _child_paths(self, path: ValuePath) -> list[ValuePath]:
        return [child for child in self.forms if len(child) == len(path) + 1 and child[:-1] == path]

    def _key_count(self, node: LayoutNode, value: str, depth: int = 0) -> str:
        """Return SQL for the number of keys below that have a value."""
        match node:
            case Object(fields=fields):
                terms = []
                for name, child in fields.values():
                    inner = f"{value}.{quote_name(name)}"
                    terms.append(f"int({has_value(inner, child)})")
                    terms.append(self._key_count(child, inner, depth))
                return sum_of(terms)
            case ListOf(element=element):
                return element_sum(value, depth, self._key_count(element, f"c{depth}", depth + 1))
            case Leaf(storage_form="json" | "mixed") as leaf:
                text = _bare_json(value, leaf)
                return f"coalesce({token_count(text, KEY)} - {token_count(text, NULL)}, 0)" if text else "0"
            case _:
                return "0"

    def text_count(self, node: LayoutNode, value: str, depth: int = 0) -> str:
        """Return SQL for the number of strings below."""
        match node:
            case Object(fields=fields):
                return sum_of(
                    self.text_count(child, f"{value}.{quote_name(name)}", depth)
                    for name, child in fields.values()
                )
            case ListOf(element=element):
                return element_sum(value, depth, self.text_count(element, f"c{depth}", depth + 1))
            case Leaf(storage_form="text" | "tagged"):
                return f"int({value} IS NOT NULL)"
            case Leaf(storage_form="json" | "mixed") as leaf:
                text = _bare_json(value, leaf)
                if text is None:
                    return f"int(coalesce(schema_of_variant({value}) = 'STRING', false))"
                return f"coalesce({token_count(text, QUOTE)} - {token_count(text, KEY)}, 0)"
            case _:
                return "0"

    def _list_count(self, node: LayoutNode, value: str, depth: int = 0) -> str:
        match node:
            case Object(fields=fields):
                return sum_of(
                    self._list_count(child, f"{value}.{quote_name(name)}", depth)
                    for name, child in fields.values()
                )
            case ListOf(element=element):
                inner = element_sum(value, depth, self._list_count(element, f"c{depth}", depth + 1))
                return sum_of((f"int({value} IS NOT NULL)", inner))
            case Leaf(storage_form="json" | "mixed") as leaf:
                text = _bare_json(value, leaf)
                return f"coalesce({token_count(text, LIST)}, 0)" if text else "0"
            case _:
                return "0"


def _bare_json(value: str, leaf: Leaf) -> str | None:
    """Return SQL for the JSON of a value without the content of strings; None if it holds no containers."""
    if leaf.storage_form == "json":
        return without_string_content(without_escapes(value))
    return (
        without_string_content(without_escapes(f"to_json({value})"))
        if leaf.forms & {"object", "list"}
        else None
    )
