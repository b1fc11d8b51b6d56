"""SQL that looks at every value of a row with care: what the quick count is not sure of is settled here."""

from __future__ import annotations

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
    """Counts over a parsed row, and what the parser takes silently.

    `path` runs beside the nodes, for what was seen inside of VARIANTs.
    """

    def __init__(self, forms: Mapping[ValuePath, frozenset[JsonForm]], kept_as_json: KeptAsJson) -> None:
        self.forms, self.kept_as_json = forms, kept_as_json

    def mismatch_condition(self, root: Object, row: str, text: str) -> str:
        """Texts may look like punctuation. Without their content nothing does."""
        plain = without_string_content(text)
        keys, nulls, quotes, lists = (token_count(plain, mark) for mark in (KEY, NULL, QUOTE, LIST))
        conditions = (
            f"{keys} - {nulls} != {self._key_count(root, row)}",
            f"{quotes} - {keys} != {self.text_count(root, row)}",
            f"{lists} != {self._list_count(root, row)}",
            *self._unexpected_values(root, row),
        )
        return any_true(conditions)

    def _unexpected_values(
        self, node: LayoutNode, value: str, path: ValuePath = (), depth: int = 0
    ) -> Iterator[str]:
        """Values that the parser takes although they are not what was seen there."""
        match node:
            case Object(fields=fields):
                for key, (name, child) in fields.items():
                    yield from self._unexpected_values(
                        child, f"{value}.{quote_name(name)}", (*path, key), depth
                    )
            case ListOf(element=element):
                inner = any_true(self._unexpected_values(element, f"s{depth}", (*path, EACH), depth + 1))
                if inner:
                    yield f"exists({value}, s{depth} -> {inner})"
            case Leaf(storage_form="text"):
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
        """Whether it is not one of the objects and lists that are kept as JSON, or were only seen empty."""
        if leaf.is_always_empty and "object" in leaf.forms:
            # Keys without a value are nothing.
            return f"NOT (startswith({value}, '{{') AND {self._key_count(leaf, value)} = 0)"
        if leaf.is_always_empty:
            return f"{value} != '[]'"
        begins = {"object": "{", "list": "["}
        known = [f"startswith({value}, '{mark}')" for form, mark in begins.items() if form in leaf.forms]
        return f"NOT ({' OR '.join(known)})"

    def _unexpected_in_variant(self, value: str, path: ValuePath, depth: int) -> Iterator[str]:
        """The same for a VARIANT, with all that stands in it and is not kept whole."""
        forms = self.forms.get(path, frozenset())
        allowed = " OR ".join(is_variant_form(value, form) for form in sorted(forms))
        yield f"({value} IS NOT NULL AND NOT is_variant_null({value}) AND NOT ({allowed or 'false'}))"
        if "list" in forms and not self.kept_as_json(path, "list"):
            yield self._unexpected_in_variant_list(value, (*path, EACH), depth)
        if "object" in forms and not self.kept_as_json(path, "object"):
            keys = [one for one in self._child_paths(path) if one[-1] != EACH]
            found = {one: FieldAccess(inside=(str(one[-1]),)).sql_within(value) for one in keys}
            for one, inner in found.items():
                yield from self._unexpected_in_variant(inner, one, depth)
            # Of NULL it is said that it is no null of JSON.
            known = sum_of(
                f"int({inner} IS NOT NULL AND NOT is_variant_null({inner}))" for inner in found.values()
            )
            fields = f"map_values(try_variant_get({value}, '$', 'map<string,variant>'))"
            is_more = f"size(filter({fields}, m -> NOT is_variant_null(m))) != {known}"
            yield f"(CASE WHEN {is_variant_form(value, 'object')} THEN {is_more} ELSE false END)"

    def _unexpected_in_variant_list(self, value: str, element_path: ValuePath, depth: int) -> str:
        found = f"try_variant_get({value}, '$', 'array<variant>')"
        if element_path not in self.forms:
            return f"coalesce(size({found}) > 0, false)"
        inner = any_true(self._unexpected_in_variant(f"s{depth}", element_path, depth + 1))
        return f"coalesce(exists({found}, s{depth} -> {inner}), false)"

    def _child_paths(self, path: ValuePath) -> list[ValuePath]:
        return [one for one in self.forms if len(one) == len(path) + 1 and one[:-1] == path]

    def _key_count(self, node: LayoutNode, value: str, depth: int = 0) -> str:
        """How many keys below have a value."""
        match node:
            case Object(fields=fields):
                each = []
                for name, child in fields.values():
                    inner = f"{value}.{quote_name(name)}"
                    each.append(f"int({has_value(inner, child)})")
                    each.append(self._key_count(child, inner, depth))
                return sum_of(each)
            case ListOf(element=element):
                return element_sum(value, depth, self._key_count(element, f"c{depth}", depth + 1))
            case Leaf(storage_form="json" | "mixed") as leaf:
                text = _bare_json(value, leaf)
                return f"coalesce({token_count(text, KEY)} - {token_count(text, NULL)}, 0)" if text else "0"
            case _:
                return "0"

    def text_count(self, node: LayoutNode, value: str, depth: int = 0) -> str:
        """How many texts are below."""
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
    """The bare JSON of what is kept whole; None where nothing but single values stand."""
    if leaf.storage_form == "json":
        return without_string_content(without_escapes(value))
    return (
        without_string_content(without_escapes(f"to_json({value})"))
        if leaf.forms & {"object", "list"}
        else None
    )
