"""SQL that finds the rows which a nested dataset does not stand for, in the same pass that writes it.

A parser with a given schema passes over keys that it does not know, and takes a number for a text. So the
pieces of JSON are counted twice: in the text, by its punctuation, and in the parsed row. Where both counts
agree, every value of the text is in the row, as what it is. Counting bytes costs a fraction of what a second
parse would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import Leaf, ListOf, Object
from penstock.normalize.unexpected.json_sql import (
    KEY,
    NULL,
    QUOTE,
    element_sum,
    has_value,
    is_any_text_form,
    is_large,
    sum_of,
    token_count,
    without_escapes,
)
from penstock.normalize.unexpected.token_counts import TokenCounter
from penstock.normalize.unexpected.unconvertible import any_true, is_unconvertible
from penstock.package import tags
from penstock.package.sql import literal, out_of_line, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.plan import UncertainValue
    from penstock.normalize.profile import JsonForm
    from penstock.normalize.unexpected.token_counts import KeptAsJson
    from penstock.schema.value_path import ValuePath

_KEY_COUNT_COLUMN: Final = "`_keys`"
_KEY_UNIT: Final = 2**32
_RECHECK_WEIGHT: Final = 2**24
_NUMBER_STARTS: Final = "-0123456789"
_DOCUMENT_STARTS: Final = "[{"
_JSON_NUMBER: Final = literal(r"^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$")
_TERMS_PER_SUM: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """SQL that finds odd rows: `measures` are columns to make first, `odd` is told by them."""

    measures: tuple[str, ...] = ()
    unexpected: str


def unexpected_row_check(
    layout: NestedLayout,
    forms: Mapping[ValuePath, frozenset[JsonForm]],
    uncertain_values: Iterable[UncertainValue],
    *,
    kept_as_json: KeptAsJson,
    text: str,
    row: str,
    corrupt: str,
    has_invalid_json: bool = False,
) -> RowCheck:
    """Whether a row holds anything that the dataset does not keep as what it is.

    `is_whole` says of an object or a list whether it is kept as JSON. Where texts were seen that are no JSON,
    `has_strangers`, each text is parsed once more, by a parser that takes nothing else.
    """
    terms = list(_quick_count_terms(layout.root, row))
    # Not one sum: a method that is too large is not compiled, see `rarely`.
    sums = [
        sum_of(terms[start : start + _TERMS_PER_SUM]) for start in range(0, len(terms), _TERMS_PER_SUM)
    ] or ["0"]
    tally = sum_of(f"`_tally{number}`" for number in range(len(sums)))
    strange = (_is_not_json_object(text),) if has_invalid_json else ()
    unknown = (
        *strange,
        f"{corrupt} IS NOT NULL",
        *(is_unconvertible(doubt, row) for doubt in uncertain_values),
    )
    return RowCheck(
        measures=(
            f"{token_count(text, KEY)} AS {_KEY_COUNT_COLUMN}",
            *(f"{one} AS `_tally{number}`" for number, one in enumerate(sums)),
        ),
        unexpected=any_true(
            (*unknown, _mismatch_condition(TokenCounter(forms, kept_as_json), layout.root, row, text, tally))
        ),
    )


def _is_not_json_object(text: str) -> str:
    """Whether it is anything but one object of JSON: parsers overlook what stands behind the first value."""
    # In a list nothing is overlooked, and no key is taken twice.
    listed = f"try_parse_json(concat('[', {text}, ']'))"
    found = f"schema_of_variant({listed})"
    one = f"try_variant_get({listed}, '$[1]', 'variant') IS NULL"
    return f"(NOT is_valid_utf8({text}) OR NOT coalesce({found} LIKE 'ARRAY<OBJECT%' AND {one}, false))"


def _mismatch_condition(counter: TokenCounter, root: Object, row: str, text: str, tally: str) -> str:
    """A quick count of keys; where it does not agree, or a text may be something else, closer looks.

    A text may look like punctuation, and then there seem to be more keys than there are, never fewer.
    """
    nulls = token_count(text, NULL)
    quick = f"({_KEY_COUNT_COLUMN} - {{}}) * {_KEY_UNIT}L = {tally}"
    if _has_documents(root):
        # A text of JSON is taken for the JSON that stands there otherwise.
        quick += f" AND NOT contains({text}, '\"[') AND NOT contains({text}, '\"{{{{')"
    closer = out_of_line(text, lambda value: _recount_condition(counter, root, row, value, tally))
    agree = " ".join(f"WHEN {quick.format(number)} THEN false" for number in (0, nulls))
    return f"(CASE {agree} ELSE {closer} END)"


def _recount_condition(counter: TokenCounter, root: Object, row: str, text: str, tally: str) -> str:
    """Count the quotes too, so that texts that look like numbers are told from numbers."""
    plain = without_escapes(text)
    keys, nulls, quotes = (token_count(plain, mark) for mark in (KEY, NULL, QUOTE))
    agree = (
        f"{tally} % {_KEY_UNIT}L < {_RECHECK_WEIGHT}L AND {keys} - {nulls} = {tally} div {_KEY_UNIT}L"
        f" AND {quotes} div 2 - {keys} = {counter.text_count(root, row)}"
    )
    differs = out_of_line(plain, lambda value: counter.mismatch_condition(root, row, value))
    return f"CASE WHEN {agree} THEN false ELSE {differs} END"


def _quick_count_terms(node: LayoutNode, value: str, depth: int = 0) -> Iterator[str]:
    """Keys that have a value and texts that may be something else, in the two halves of one number.

    One walk through lists does for both. What takes a careful look counts as very many texts. Gives the
    terms of a sum.
    """
    match node:
        case Object(fields=fields):
            for name, child in fields.values():
                inner = f"{value}.{quote_name(name)}"
                yield f"CASE WHEN {has_value(inner, child)} THEN {_KEY_UNIT}L ELSE 0L END"
                yield from _quick_count_terms(child, inner, depth)
        case ListOf(element=element):
            inner = sum_of(_quick_count_terms(element, f"c{depth}", depth + 1))
            yield element_sum(value, depth, inner)
        case Leaf(storage_form="text"):
            yield _text_term(value)
        case Leaf(storage_form="tagged", forms=forms):
            known = is_any_text_form(value, forms)
            tally = _text_term(value, may_be_tagged=True)
            yield f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {tally} ELSE {_RECHECK_WEIGHT}L END"
        case Leaf(storage_form="double"):
            yield f"CASE WHEN {is_large(value)} THEN {_RECHECK_WEIGHT}L ELSE 0L END"
        case Leaf(storage_form="json") as leaf:
            yield _document_term(value, leaf)
        case Leaf(storage_form="mixed", forms=forms):
            yield _variant_term(value, forms)
        case _:
            return


def _text_term(value: str, *, may_be_tagged: bool = False) -> str:
    """A number, a boolean or a document is taken for a text; so is a text that has a tag.

    Most texts are told from all of these by their first character: looking for it in a set is one step, and
    steps count where a list is walked through.
    """
    marks = _NUMBER_STARTS + _DOCUMENT_STARTS + ("" if may_be_tagged else "".join(sorted(tags.ALL)))
    first = f"substring({value}, 1, 1)"
    listed = ", ".join(literal(mark) for mark in marks)
    number = f"CASE WHEN {value} RLIKE {_JSON_NUMBER} THEN 1L ELSE 0L END"
    closer = f"CASE WHEN {first} >= '-' AND {first} < ':' THEN {number} ELSE {_RECHECK_WEIGHT}L END"
    return (
        f"CASE WHEN {first} IN ({listed}) THEN {closer} WHEN {value} IN ('true', 'false') THEN 1L ELSE 0L END"
    )


def _document_term(value: str, leaf: Leaf) -> str:
    """The keys in what is kept whole, if it begins as what was seen there."""
    if leaf.is_always_empty:
        known = f"{value} IN ('{{}}', '[]')"
    else:
        marks = {"object": "{", "list": "["}
        known = " OR ".join(
            f"startswith({value}, '{mark}')" for form, mark in marks.items() if form in leaf.forms
        )
    keys = f"({token_count(value, KEY)} - {token_count(value, NULL)}) * {_KEY_UNIT}L"
    return f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {keys} ELSE {_RECHECK_WEIGHT}L END"


def _has_documents(node: LayoutNode) -> bool:
    """Whether anything is kept as JSON."""
    match node:
        case Object(fields=fields):
            return any(_has_documents(child) for _, child in fields.values())
        case ListOf(element=element):
            return _has_documents(element)
        case Leaf(storage_form=stored):
            return stored == "json"


def _variant_term(value: str, forms: frozenset[JsonForm]) -> str:
    """A value of the types that were seen there; anything else takes a careful look."""
    shown = f"schema_of_variant({value})"
    if forms & {"object", "list", "wide"}:
        return f"CASE WHEN {value} IS NULL THEN 0L ELSE {_RECHECK_WEIGHT}L END"
    cases = [f"WHEN {value} IS NULL OR is_variant_null({value}) THEN 0L"]
    if "whole" in forms:
        cases.append(f"WHEN {shown} = 'BIGINT' THEN 0L")
    if forms & {"fraction", "large"}:
        cases.append(f"WHEN {shown} = 'DOUBLE' OR {shown} RLIKE '^DECIMAL.([0-9]|1[0-8]),' THEN 0L")
    if "bool" in forms:
        cases.append(f"WHEN {shown} = 'BOOLEAN' THEN 0L")
    known = is_any_text_form(f"try_variant_get({value}, '$', 'string')", forms)
    if known:
        cases.append(f"WHEN {shown} = 'STRING' AND ({known}) THEN 0L")
    return f"CASE {' '.join(cases)} ELSE {_RECHECK_WEIGHT}L END"
