"""SQL that looks at every value of a row with care: what the quick count is not sure of is settled here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.formsql import is_any_text, is_form, is_large
from penstock.normalize.leftover import either
from penstock.normalize.punctuation import (
    KEY,
    LIST,
    NULL,
    QUOTE,
    bare,
    count,
    folded,
    is_there,
    summed,
    unescaped,
)
from penstock.normalize.stored import Leaf, ListOf, Object
from penstock.package import tags
from penstock.package.projection import Access
from penstock.package.sql import quoted
from penstock.schema.path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.normalize.learn import Form
    from penstock.normalize.stored import Node
    from penstock.schema.path import Path

    IsWhole = Callable[[Path, Form], bool]

_AFTER_LAST: Final = chr(ord(tags.LAST) + 1)


class Careful:
    """Counts over a parsed row, and what the parser takes silently.

    `path` runs beside the nodes, for what was seen inside of VARIANTs.
    """

    def __init__(self, forms: Mapping[Path, frozenset[Form]], is_whole: IsWhole) -> None:
        self.forms, self.is_whole = forms, is_whole

    def differs(self, root: Object, row: str, text: str) -> str:
        """Texts may look like punctuation. Without their content nothing does."""
        plain = bare(text)
        keys, nulls, quotes, lists = (count(plain, mark) for mark in (KEY, NULL, QUOTE, LIST))
        conditions = (
            f"{keys} - {nulls} != {self._keys(root, row)}",
            f"{quotes} - {keys} != {self.texts(root, row)}",
            f"{lists} != {self._lists(root, row)}",
            *self._surprises(root, row),
        )
        return either(conditions)

    def _surprises(self, node: Node, value: str, path: Path = (), depth: int = 0) -> Iterator[str]:
        """Values that the parser takes although they are not what was seen there."""
        match node:
            case Object(fields=fields):
                for key, (name, child) in fields.items():
                    yield from self._surprises(child, f"{value}.{quoted(name)}", (*path, key), depth)
            case ListOf(element=element):
                inner = either(self._surprises(element, f"s{depth}", (*path, EACH), depth + 1))
                if inner:
                    yield f"exists({value}, s{depth} -> {inner})"
            case Leaf(stored="text"):
                yield f"({value} >= '{tags.FIRST}' AND {value} < '{_AFTER_LAST}')"
            case Leaf(stored="tagged", forms=forms):
                yield f"({value} IS NOT NULL AND NOT ({is_any_text(value, forms)}))"
            case Leaf(stored="double"):
                yield is_large(value)
            case Leaf(stored="json"):
                yield self._is_no_container(node, value)
            case Leaf(stored="mixed"):
                yield from self._inside(value, path, depth)
            case _:
                return

    def _is_no_container(self, leaf: Leaf, value: str) -> str:
        """Whether it is not one of the objects and lists that are kept as JSON, or were only seen empty."""
        if leaf.is_hollow and "object" in leaf.forms:
            # Keys without a value are nothing.
            return f"NOT (startswith({value}, '{{') AND {self._keys(leaf, value)} = 0)"
        if leaf.is_hollow:
            return f"{value} != '[]'"
        begins = {"object": "{", "list": "["}
        known = [f"startswith({value}, '{mark}')" for form, mark in begins.items() if form in leaf.forms]
        return f"NOT ({' OR '.join(known)})"

    def _inside(self, value: str, path: Path, depth: int) -> Iterator[str]:
        """The same for a VARIANT, with all that stands in it and is not kept whole."""
        forms = self.forms.get(path, frozenset())
        allowed = " OR ".join(is_form(value, form) for form in sorted(forms))
        yield f"({value} IS NOT NULL AND NOT is_variant_null({value}) AND NOT ({allowed or 'false'}))"
        if "list" in forms and not self.is_whole(path, "list"):
            yield self._in_list(value, (*path, EACH), depth)
        if "object" in forms and not self.is_whole(path, "object"):
            keys = [one for one in self._below(path) if one[-1] != EACH]
            found = {one: Access(inside=(str(one[-1]),)).sql_of(value) for one in keys}
            for one, inner in found.items():
                yield from self._inside(inner, one, depth)
            # Of NULL it is said that it is no null of JSON.
            known = summed(
                f"int({inner} IS NOT NULL AND NOT is_variant_null({inner}))" for inner in found.values()
            )
            fields = f"map_values(try_variant_get({value}, '$', 'map<string,variant>'))"
            is_more = f"size(filter({fields}, m -> NOT is_variant_null(m))) != {known}"
            yield f"(CASE WHEN {is_form(value, 'object')} THEN {is_more} ELSE false END)"

    def _in_list(self, value: str, elements: Path, depth: int) -> str:
        found = f"try_variant_get({value}, '$', 'array<variant>')"
        if elements not in self.forms:
            return f"coalesce(size({found}) > 0, false)"
        inner = either(self._inside(f"s{depth}", elements, depth + 1))
        return f"coalesce(exists({found}, s{depth} -> {inner}), false)"

    def _below(self, path: Path) -> list[Path]:
        return [one for one in self.forms if len(one) == len(path) + 1 and one[:-1] == path]

    def _keys(self, node: Node, value: str, depth: int = 0) -> str:
        """How many keys below have a value."""
        match node:
            case Object(fields=fields):
                each = []
                for name, child in fields.values():
                    inner = f"{value}.{quoted(name)}"
                    each.append(f"int({is_there(inner, child)})")
                    each.append(self._keys(child, inner, depth))
                return summed(each)
            case ListOf(element=element):
                return folded(value, depth, self._keys(element, f"c{depth}", depth + 1))
            case Leaf(stored="json" | "mixed") as leaf:
                text = _as_text(value, leaf)
                return f"coalesce({count(text, KEY)} - {count(text, NULL)}, 0)" if text else "0"
            case _:
                return "0"

    def texts(self, node: Node, value: str, depth: int = 0) -> str:
        """How many texts are below."""
        match node:
            case Object(fields=fields):
                return summed(
                    self.texts(child, f"{value}.{quoted(name)}", depth) for name, child in fields.values()
                )
            case ListOf(element=element):
                return folded(value, depth, self.texts(element, f"c{depth}", depth + 1))
            case Leaf(stored="text" | "tagged"):
                return f"int({value} IS NOT NULL)"
            case Leaf(stored="json" | "mixed") as leaf:
                text = _as_text(value, leaf)
                if text is None:
                    return f"int(coalesce(schema_of_variant({value}) = 'STRING', false))"
                return f"coalesce({count(text, QUOTE)} - {count(text, KEY)}, 0)"
            case _:
                return "0"

    def _lists(self, node: Node, value: str, depth: int = 0) -> str:
        match node:
            case Object(fields=fields):
                return summed(
                    self._lists(child, f"{value}.{quoted(name)}", depth) for name, child in fields.values()
                )
            case ListOf(element=element):
                inner = folded(value, depth, self._lists(element, f"c{depth}", depth + 1))
                return summed((f"int({value} IS NOT NULL)", inner))
            case Leaf(stored="json" | "mixed") as leaf:
                text = _as_text(value, leaf)
                return f"coalesce({count(text, LIST)}, 0)" if text else "0"
            case _:
                return "0"


def _as_text(value: str, leaf: Leaf) -> str | None:
    """The bare JSON of what is kept whole; None where nothing but single values stand."""
    if leaf.stored == "json":
        return bare(unescaped(value))
    return bare(unescaped(f"to_json({value})")) if leaf.forms & {"object", "list"} else None
