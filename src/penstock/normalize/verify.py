"""SQL that finds the rows which a nested dataset does not stand for, in the same pass that writes it.

A parser with a given schema passes over keys that it does not know, and takes a number for a text. So the
pieces of JSON are counted twice: in the text, by its punctuation, and in the parsed row. Where both counts
agree, every value of the text is in the row, as what it is. Counting bytes costs a fraction of what a second
parse would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from penstock.normalize.leftover import either, unfit
from penstock.normalize.stored import Leaf, ListOf, Object
from penstock.package import tags
from penstock.package.picking import is_tagged, picked
from penstock.package.projection import Access
from penstock.package.sql import literal, quoted
from penstock.schema.path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.normalize.learn import Form
    from penstock.normalize.plan import Doubt
    from penstock.normalize.stored import Dataset, Node
    from penstock.package.picking import Picked
    from penstock.schema.path import Path

    IsWhole = Callable[[Path, Form], bool]

_ONE_KEY: Final = 2**32
_FAR_OFF: Final = 2**24
_EXACT: Final = 2**53
_TAGS: Final[Mapping[Form, str]] = {
    "tagged timestamp": tags.DATETIME,
    "tagged date": tags.DATE,
    "tagged time": tags.TIME,
    "tagged binary": tags.BYTES,
}
_AFTER_LAST: Final = chr(ord(tags.LAST) + 1)
_KEY, _NULL, _QUOTE, _LIST = '":', '":null', '"', "["


def is_odd(
    dataset: Dataset,
    forms: Mapping[Path, frozenset[Form]],
    doubts: Iterable[Doubt],
    *,
    is_whole: IsWhole,
    text: str,
    row: str,
    corrupt: str,
) -> str:
    """Whether a row holds anything that the dataset does not keep as what it is.

    `is_whole` says of an object or a list whether it is kept as JSON.
    """
    counted = _Counter(forms, is_whole).mismatch(dataset.root, row, _unescaped(text))
    return either((f"{corrupt} IS NOT NULL", *(unfit(doubt, row) for doubt in doubts), counted))


class _Counter:
    """Counts over a parsed row. `path` runs beside the nodes, for what was seen inside of VARIANTs."""

    def __init__(self, forms: Mapping[Path, frozenset[Form]], is_whole: IsWhole) -> None:
        self.forms, self.is_whole = forms, is_whole

    def mismatch(self, root: Object, row: str, text: str) -> str:
        """A quick count of bytes, and where it does not agree a careful look."""
        keys, nulls, quotes = (_count(text, mark) for mark in (_KEY, _NULL, _QUOTE))
        in_text = f"({keys} - {nulls}) * {_ONE_KEY}L + ({quotes} div 2 - {keys})"
        quick = f"{in_text} != {self._quick(root, row)}"
        # Texts may look like punctuation. Without their content nothing does.
        bare = _bare(text)
        keys, nulls, quotes, lists = (_count(bare, mark) for mark in (_KEY, _NULL, _QUOTE, _LIST))
        careful = (
            f"{keys} - {nulls} != {self._keys(root, row)}",
            f"{quotes} - {keys} != {self._texts(root, row)}",
            f"{lists} != {self._lists(root, row)}",
            *self.surprises(root, row),
        )
        return f"(CASE WHEN {quick} THEN {either(careful)} ELSE false END)"

    def _quick(self, node: Node, value: str, path: Path = (), depth: int = 0) -> str:
        """Keys that have a value and texts, in the two halves of one number: one walk through lists for both.

        What takes a closer look counts as very many.
        """
        match node:
            case Object(fields=fields):
                each = []
                for key, (name, child) in fields.items():
                    inner = f"{value}.{quoted(name)}"
                    each.append(f"CASE WHEN {_is_there(inner, child)} THEN {_ONE_KEY}L ELSE 0L END")
                    each.append(self._quick(child, inner, (*path, key), depth))
                return _sum(each)
            case ListOf(element=element):
                inner = self._quick(element, f"c{depth}", (*path, EACH), depth + 1)
                return _folded(value, depth, inner)
            case Leaf(stored="text"):
                looks = (
                    f"({value} >= '[' AND {value} < {literal(chr(92))})"
                    f" OR ({value} >= '{tags.FIRST}' AND {value} < '{_AFTER_LAST}')"
                )
                return f"CASE WHEN {value} IS NULL THEN 0L WHEN {looks} THEN {_FAR_OFF}L ELSE 1L END"
            case Leaf(stored="tagged", forms=forms):
                looks = f"startswith({value}, '[') OR NOT ({_is_any_text(value, forms)})"
                return f"CASE WHEN {value} IS NULL THEN 0L WHEN {looks} THEN {_FAR_OFF}L ELSE 1L END"
            case Leaf(stored="double"):
                return f"CASE WHEN {_is_large(value)} THEN {_FAR_OFF}L ELSE 0L END"
            case Leaf(stored="json"):
                return f"CASE WHEN {value} IS NULL THEN 0L ELSE {_FAR_OFF}L END"
            case Leaf(stored="mixed", forms=forms):
                return _quick_variant(value, forms)
            case _:
                return "0"

    def surprises(self, node: Node, value: str, path: Path = (), depth: int = 0) -> Iterator[str]:
        """Values that the parser takes although they are not what was seen there."""
        match node:
            case Object(fields=fields):
                for key, (name, child) in fields.items():
                    yield from self.surprises(child, f"{value}.{quoted(name)}", (*path, key), depth)
            case ListOf(element=element):
                inner = either(self.surprises(element, f"s{depth}", (*path, EACH), depth + 1))
                if inner:
                    yield f"exists({value}, s{depth} -> {inner})"
            case Leaf(stored="text"):
                yield f"({value} >= '{tags.FIRST}' AND {value} < '{_AFTER_LAST}')"
            case Leaf(stored="tagged", forms=forms):
                yield f"({value} IS NOT NULL AND NOT ({_is_any_text(value, forms)}))"
            case Leaf(stored="double"):
                yield _is_large(value)
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
        allowed = " OR ".join(_is_form(value, form) for form in sorted(forms))
        yield f"({value} IS NOT NULL AND NOT is_variant_null({value}) AND NOT ({allowed or 'false'}))"
        if "list" in forms and not self.is_whole(path, "list"):
            yield self._in_list(value, (*path, EACH), depth)
        if "object" in forms and not self.is_whole(path, "object"):
            keys = [one for one in self._below(path) if one[-1] != EACH]
            found = {one: Access(inside=(str(one[-1]),)).sql_of(value) for one in keys}
            for one, inner in found.items():
                yield from self._inside(inner, one, depth)
            # Of NULL it is said that it is no null of JSON.
            known = _sum(
                f"int({inner} IS NOT NULL AND NOT is_variant_null({inner}))" for inner in found.values()
            )
            fields = f"map_values(try_variant_get({value}, '$', 'map<string,variant>'))"
            is_more = f"size(filter({fields}, m -> NOT is_variant_null(m))) != {known}"
            yield f"(CASE WHEN {_is_form(value, 'object')} THEN {is_more} ELSE false END)"

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
                    each.append(f"int({_is_there(inner, child)})")
                    each.append(self._keys(child, inner, depth))
                return _sum(each)
            case ListOf(element=element):
                return _folded(value, depth, self._keys(element, f"c{depth}", depth + 1))
            case Leaf(stored="json" | "mixed") as leaf:
                text = _as_text(value, leaf)
                return f"coalesce({_count(text, _KEY)} - {_count(text, _NULL)}, 0)" if text else "0"
            case _:
                return "0"

    def _texts(self, node: Node, value: str, depth: int = 0) -> str:
        """How many texts are below."""
        match node:
            case Object(fields=fields):
                return _sum(
                    self._texts(child, f"{value}.{quoted(name)}", depth) for name, child in fields.values()
                )
            case ListOf(element=element):
                return _folded(value, depth, self._texts(element, f"c{depth}", depth + 1))
            case Leaf(stored="text" | "tagged"):
                return f"int({value} IS NOT NULL)"
            case Leaf(stored="json" | "mixed") as leaf:
                text = _as_text(value, leaf)
                if text is None:
                    return f"int(coalesce(schema_of_variant({value}) = 'STRING', false))"
                return f"coalesce({_count(text, _QUOTE)} - {_count(text, _KEY)}, 0)"
            case _:
                return "0"

    def _lists(self, node: Node, value: str, depth: int = 0) -> str:
        match node:
            case Object(fields=fields):
                return _sum(
                    self._lists(child, f"{value}.{quoted(name)}", depth) for name, child in fields.values()
                )
            case ListOf(element=element):
                inner = _folded(value, depth, self._lists(element, f"c{depth}", depth + 1))
                return _sum((f"int({value} IS NOT NULL)", inner))
            case Leaf(stored="json" | "mixed") as leaf:
                text = _as_text(value, leaf)
                return f"coalesce({_count(text, _LIST)}, 0)" if text else "0"
            case _:
                return "0"


def _quick_variant(value: str, forms: frozenset[Form]) -> str:
    """A value of the types that were seen there, one of them a text; anything else takes a closer look."""
    shown = f"schema_of_variant({value})"
    if forms & {"object", "list", "wide"}:
        return f"CASE WHEN {value} IS NULL THEN 0L ELSE {_FAR_OFF}L END"
    cases = [f"WHEN {value} IS NULL OR is_variant_null({value}) THEN 0L"]
    if "whole" in forms:
        cases.append(f"WHEN {shown} = 'BIGINT' THEN 0L")
    if forms & {"fraction", "large"}:
        cases.append(f"WHEN {shown} = 'DOUBLE' OR {shown} RLIKE '^DECIMAL.([0-9]|1[0-8]),' THEN 0L")
    if "bool" in forms:
        cases.append(f"WHEN {shown} = 'BOOLEAN' THEN 0L")
    known = _is_any_text(f"try_variant_get({value}, '$', 'string')", forms)
    if known:
        cases.append(f"WHEN {shown} = 'STRING' AND ({known}) THEN 1L")
    return f"CASE {' '.join(cases)} ELSE {_FAR_OFF}L END"


def _is_any_text(text: str, forms: Iterable[Form]) -> str:
    """Whether a text is of one of these forms."""
    found = (_is_text(text, form) for form in sorted(forms))
    return " OR ".join(one for one in found if one)


def _is_text(text: str, form: Form) -> str:
    match form:
        case "text":
            return f"NOT {is_tagged(text)}"
        case "tagged text":
            return f"({is_tagged(text)} AND {picked(text, 'tagged', 'text')} IS NOT NULL)"
        case "tagged decimal" | "tagged double" | "tagged wei":
            kind = cast("Picked", form.removeprefix("tagged "))
            return f"{picked(text, 'tagged', kind)} IS NOT NULL"
        case _:
            return f"startswith({text}, '{_TAGS[form]}')" if form in _TAGS else ""


def _is_large(value: str) -> str:
    """Whether a fraction may have been a whole number that doubles do not hold."""
    return f"(abs({value}) > {_EXACT})"


def _is_there(value: str, node: Node) -> str:
    if isinstance(node, Leaf) and node.stored == "mixed":
        return f"coalesce({value} IS NOT NULL AND NOT is_variant_null({value}), false)"
    return f"{value} IS NOT NULL"


def _as_text(value: str, leaf: Leaf) -> str | None:
    """The bare JSON of what is kept whole; None where nothing but single values stand."""
    if leaf.stored == "json":
        return _bare(_unescaped(value))
    return _bare(_unescaped(f"to_json({value})")) if leaf.forms & {"object", "list"} else None


def _bare(text: str) -> str:
    return f"regexp_replace({text}, '\"[^\"]*\"', '\"')"


def _is_form(value: str, form: Form) -> str:
    shown = f"schema_of_variant({value})"
    wide = f"({picked(value, 'mixed', 'wei')})"
    match form:
        case "bool":
            return f"{shown} = 'BOOLEAN'"
        case "whole":
            return f"{shown} = 'BIGINT'"
        case "wide":
            return f"({shown} LIKE 'DECIMAL%' AND {wide} IS NOT NULL)"
        case "fraction" | "large":
            return f"({shown} IN ('DOUBLE', 'FLOAT') OR ({shown} LIKE 'DECIMAL%' AND {wide} IS NULL))"
        case "object":
            return f"startswith({shown}, 'OBJECT')"
        case "list":
            return f"startswith({shown}, 'ARRAY')"
        case "null":
            return f"is_variant_null({value})"
        case _:
            known = _is_text(f"try_variant_get({value}, '$', 'string')", form)
            return f"({shown} = 'STRING' AND {known})"


def _count(text: str, mark: str) -> str:
    """How often a mark stands in a text: by how much shorter the text is when each loses a byte."""
    return f"(octet_length({text}) - octet_length(replace({text}, {literal(mark)}, {literal(mark[:-1])})))"


def _unescaped(text: str) -> str:
    """Without escaped backslashes and quotes: every quote that is left begins or ends a text."""
    return (
        f"CASE WHEN contains({text}, {literal(chr(92))}) THEN"
        f" replace(replace({text}, {literal(chr(92) * 2)}, ''), {literal(chr(92) + chr(34))}, '')"
        f" ELSE {text} END"
    )


def _folded(values: str, depth: int, each: str) -> str:
    if each == "0":
        return "0"
    return f"coalesce(aggregate({values}, 0L, (a{depth}, c{depth}) -> a{depth} + bigint({each})), 0L)"


def _sum(each: Iterable[str]) -> str:
    found = [one for one in each if one != "0"]
    return f"({' + '.join(found)})" if found else "0"
