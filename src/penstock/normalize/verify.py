"""SQL that finds the rows which a nested dataset does not stand for, in the same pass that writes it.

A parser with a given schema passes over keys that it does not know, and takes a number for a text. So the
pieces of JSON are counted twice: in the text, by its punctuation, and in the parsed row. Where both counts
agree, every value of the text is in the row, as what it is. Counting bytes costs a fraction of what a second
parse would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from penstock.normalize.leftover import either, unfit
from penstock.normalize.stored import Leaf, ListOf, Object
from penstock.package import tags
from penstock.package.conversions import rarely
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
_KEYS = "`_keys`"
_TERMS: Final = 6
_BRANCHES: Final = 50
_JSON_NUMBER: Final = literal(r"^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """SQL that finds odd rows: `measures` are columns to make first, `odd` is told by them."""

    measures: tuple[str, ...] = ()
    odd: str


def is_odd(
    dataset: Dataset,
    forms: Mapping[Path, frozenset[Form]],
    doubts: Iterable[Doubt],
    *,
    is_whole: IsWhole,
    text: str,
    row: str,
    corrupt: str,
    has_strangers: bool = False,
) -> Check:
    """Whether a row holds anything that the dataset does not keep as what it is.

    `is_whole` says of an object or a list whether it is kept as JSON. Where texts were seen that are no JSON,
    `has_strangers`, each text is parsed once more, by a parser that takes nothing else.
    """
    counter = _Counter(forms, is_whole)
    terms = list(counter.tally(dataset.root, row))
    # Not one sum: a method that is too large is not compiled, see `rarely`.
    sums = [_sum(terms[start : start + _TERMS]) for start in range(0, len(terms), _TERMS)] or ["0"]
    tally = _sum(f"`_tally{number}`" for number in range(len(sums)))
    strange = (_is_no_document(text),) if has_strangers else ()
    unknown = (*strange, f"{corrupt} IS NOT NULL", *(unfit(doubt, row) for doubt in doubts))
    return Check(
        measures=(
            f"{_count(text, _KEY)} AS {_KEYS}",
            *(f"{one} AS `_tally{number}`" for number, one in enumerate(sums)),
        ),
        odd=either((*unknown, counter.mismatch(dataset.root, row, text, tally))),
    )


def _is_no_document(text: str) -> str:
    """Whether it is anything but one object of JSON: parsers overlook what stands behind the first value."""
    # In a list nothing is overlooked, and no key is taken twice.
    listed = f"try_parse_json(concat('[', {text}, ']'))"
    found = f"schema_of_variant({listed})"
    one = f"try_variant_get({listed}, '$[1]', 'variant') IS NULL"
    return f"(NOT is_valid_utf8({text}) OR NOT coalesce({found} LIKE 'ARRAY<OBJECT%' AND {one}, false))"


class _Counter:
    """Counts over a parsed row. `path` runs beside the nodes, for what was seen inside of VARIANTs."""

    def __init__(self, forms: Mapping[Path, frozenset[Form]], is_whole: IsWhole) -> None:
        self.forms, self.is_whole = forms, is_whole

    def mismatch(self, root: Object, row: str, text: str, tally: str) -> str:
        """A quick count of keys; where it does not agree, or a text may be something else, closer looks.

        A text may look like punctuation, and then there seem to be more keys than there are, never fewer.
        """
        nulls = _count(text, _NULL)
        quick = f"({_KEYS} - {{}}) * {_ONE_KEY}L = {tally}"
        if _has_documents(root):
            # A text of JSON is taken for the JSON that stands there otherwise.
            quick += f" AND NOT contains({text}, '\"[') AND NOT contains({text}, '\"{{{{')"
        closer = rarely(text, lambda value: self._closer(root, row, value, tally))
        agree = " ".join(f"WHEN {quick.format(number)} THEN false" for number in (0, nulls))
        return f"(CASE {agree} ELSE {closer} END)"

    def _closer(self, root: Object, row: str, text: str, tally: str) -> str:
        """Count the quotes too, so that texts that look like numbers are told from numbers."""
        plain = _unescaped(text)
        keys, nulls, quotes = (_count(plain, mark) for mark in (_KEY, _NULL, _QUOTE))
        agree = (
            f"{tally} % {_ONE_KEY}L < {_FAR_OFF}L AND {keys} - {nulls} = {tally} div {_ONE_KEY}L"
            f" AND {quotes} div 2 - {keys} = {self._texts(root, row)}"
        )
        careful = rarely(plain, lambda value: self._careful(root, row, value))
        return f"CASE WHEN {agree} THEN false ELSE {careful} END"

    def _careful(self, root: Object, row: str, text: str) -> str:
        """Texts may look like punctuation. Without their content nothing does."""
        bare = _bare(text)
        keys, nulls, quotes, lists = (_count(bare, mark) for mark in (_KEY, _NULL, _QUOTE, _LIST))
        conditions = (
            f"{keys} - {nulls} != {self._keys(root, row)}",
            f"{quotes} - {keys} != {self._texts(root, row)}",
            f"{lists} != {self._lists(root, row)}",
            *self.surprises(root, row),
        )
        return either(conditions)

    def tally(self, node: Node, value: str, path: Path = (), depth: int = 0) -> Iterator[str]:
        """Keys that have a value and texts that may be something else, in the two halves of one number.

        One walk through lists does for both. What takes a careful look counts as very many texts. Gives the
        terms of a sum.
        """
        match node:
            case Object(fields=fields):
                for key, (name, child) in fields.items():
                    inner = f"{value}.{quoted(name)}"
                    yield f"CASE WHEN {_is_there(inner, child)} THEN {_ONE_KEY}L ELSE 0L END"
                    yield from self.tally(child, inner, (*path, key), depth)
            case ListOf(element=element):
                inner = _sum(self.tally(element, f"c{depth}", (*path, EACH), depth + 1))
                yield _folded(value, depth, inner)
            case Leaf(stored="text"):
                yield _tally_of_text(value)
            case Leaf(stored="tagged", forms=forms):
                known = _is_any_text(value, forms)
                tally = _tally_of_text(value, may_be_tagged=True)
                yield f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {tally} ELSE {_FAR_OFF}L END"
            case Leaf(stored="double"):
                yield f"CASE WHEN {_is_large(value)} THEN {_FAR_OFF}L ELSE 0L END"
            case Leaf(stored="json") as leaf:
                yield _tally_of_document(value, leaf)
            case Leaf(stored="mixed", forms=forms):
                yield _tally_of_variant(value, forms)
            case _:
                return

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


def _tally_of_text(value: str, *, may_be_tagged: bool = False) -> str:
    """A number, a boolean or a document is taken for a text; so is a text that has a tag.

    By the first character, from the smallest on, so that few comparisons do.
    """
    number = f"CASE WHEN {value} RLIKE {_JSON_NUMBER} THEN 1L ELSE 0L END"
    word = f"CASE WHEN {value} IN ('true', 'false') THEN 1L ELSE 0L END"
    steps = [
        ("-", "0L"),
        (":", number),
        ("[", "0L"),
        (chr(92), f"{_FAR_OFF}L"),
        ("f", "0L"),
        ("u", word),
        ("{", "0L"),
        ("|", f"{_FAR_OFF}L"),
    ]
    if not may_be_tagged:
        steps += [(tags.FIRST, "0L"), (_AFTER_LAST, f"{_FAR_OFF}L")]
    cases = " ".join(f"WHEN {value} < {literal(mark)} THEN {tally}" for mark, tally in steps)
    return f"CASE {cases} ELSE 0L END"


def _tally_of_document(value: str, leaf: Leaf) -> str:
    """The keys in what is kept whole, if it begins as what was seen there."""
    if leaf.is_hollow:
        known = f"{value} IN ('{{}}', '[]')"
    else:
        marks = {"object": "{", "list": "["}
        known = " OR ".join(
            f"startswith({value}, '{mark}')" for form, mark in marks.items() if form in leaf.forms
        )
    keys = f"({_count(value, _KEY)} - {_count(value, _NULL)}) * {_ONE_KEY}L"
    return f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {keys} ELSE {_FAR_OFF}L END"


def _has_documents(node: Node) -> bool:
    match node:
        case Object(fields=fields):
            return any(_has_documents(child) for _, child in fields.values())
        case ListOf(element=element):
            return _has_documents(element)
        case Leaf(stored=stored):
            return stored == "json"


def _tally_of_variant(value: str, forms: frozenset[Form]) -> str:
    """A value of the types that were seen there; anything else takes a careful look."""
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
        cases.append(f"WHEN {shown} = 'STRING' AND ({known}) THEN 0L")
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
    # In branches: a chain of thousands is too deep for Spark's reader of SQL.
    while len(found) > 1:
        found = [" + ".join(found[start : start + _BRANCHES]) for start in range(0, len(found), _BRANCHES)]
        found = [f"({one})" for one in found]
    return found[0] if found else "0"
