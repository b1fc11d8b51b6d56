"""SQL that selects the rows that a layout does not fit, in the job that writes the nested dataset.

A parser with a given schema ignores unknown keys, and reads a number as a string. So the tokens of JSON are
counted twice: in the text, by its punctuation, and in the parsed row. If both counts agree, every value of
the text is in the row in its own type. To count bytes costs a fraction of a second parse.
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
from penstock.normalize.unexpected.round_trip import round_trip_condition, unexpected_in_round_trip
from penstock.normalize.unexpected.token_counts import TokenCounter
from penstock.normalize.unexpected.unconvertible import any_true, is_unconvertible
from penstock.package import tags
from penstock.package.sql import literal, out_of_line, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.plan import UncertainValue
    from penstock.normalize.profile import JsonForm, RowProfile
    from penstock.normalize.unexpected.token_counts import KeptAsJson

_EQUAL_COLUMN, _KEY_COUNT_COLUMN = "`_equal`", "`_keys`"
_KEY_UNIT: Final = 2**32
_RECHECK_WEIGHT: Final = 2**24
_NUMBER_STARTS: Final = "-0123456789"
_DOCUMENT_STARTS: Final = "[{"
_JSON_NUMBER: Final = literal(r"^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$")
_TERMS_PER_SUM: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """SQL for unexpected rows: columns to add first, and the condition that reads them."""

    measures: tuple[str, ...] = ()
    unexpected: str


def unexpected_row_check(
    layout: NestedLayout,
    profile: RowProfile,
    uncertain_values: Iterable[UncertainValue],
    *,
    kept_as_json: KeptAsJson,
    text: str,
    row: str,
    corrupt: str,
    compares_texts: bool = False,
) -> RowCheck:
    """Return SQL for whether a row has any value that the layout does not keep in its own type.

    If the profile has unreadable texts, each text is also parsed by a strict parser. If `compares_texts`, the
    tokens of a row are counted only if it is not equal to its text when it is written as JSON again.
    """
    counter = TokenCounter(profile.forms, kept_as_json)
    conditions = [_is_not_json_object(text)] if profile.unreadable else []
    conditions += [f"{corrupt} IS NOT NULL", *(is_unconvertible(value, row) for value in uncertain_values)]
    if compares_texts:
        differs = _unequal_row_condition(counter, layout.root, row, text)
        unexpected = unexpected_in_round_trip(counter, layout, row, text)
        conditions.append(f"CASE WHEN {_EQUAL_COLUMN} THEN {unexpected} ELSE {differs} END")
        equal = f"{round_trip_condition(text, row)} AS {_EQUAL_COLUMN}"
        return RowCheck(measures=(equal,), unexpected=any_true(conditions))
    terms = list(_quick_count_terms(layout.root, row))
    # Not one sum: the JVM does not compile methods that are too large, see `out_of_line`.
    sums = [
        sum_of(terms[start : start + _TERMS_PER_SUM]) for start in range(0, len(terms), _TERMS_PER_SUM)
    ] or ["0"]
    tally = sum_of(f"`_tally{number}`" for number in range(len(sums)))
    conditions.append(_mismatch_condition(counter, layout.root, row, text, _KEY_COUNT_COLUMN, tally))
    return RowCheck(
        measures=(
            f"{token_count(text, KEY)} AS {_KEY_COUNT_COLUMN}",
            *(f"{terms_sum} AS `_tally{number}`" for number, terms_sum in enumerate(sums)),
        ),
        unexpected=any_true(conditions),
    )


def _unequal_row_condition(counter: TokenCounter, root: Object, row: str, text: str) -> str:
    """Return SQL that counts the tokens of a row in lambdas, whose code does not slow down other rows."""
    tally = sum_of(_quick_count_terms(root, "r.parsed"))
    counted = f"struct(r.text, r.parsed, {token_count('r.text', KEY)} AS keys, {tally} AS tally)"
    differs = _mismatch_condition(counter, root, "c.parsed", "c.text", "c.keys", "c.tally")
    rows = f"array(struct({text} AS text, {row} AS parsed))"
    return f"transform(transform({rows}, r -> {counted}), c -> {differs})[0]"


def _is_not_json_object(text: str) -> str:
    """Return SQL for whether a text is not exactly one JSON object: parsers ignore what follows the first."""
    # Inside a list nothing is ignored, and duplicate keys are refused.
    as_list = f"try_parse_json(concat('[', {text}, ']'))"
    schema = f"schema_of_variant({as_list})"
    is_single = f"try_variant_get({as_list}, '$[1]', 'variant') IS NULL"
    return (
        f"(NOT is_valid_utf8({text}) OR NOT coalesce({schema} LIKE 'ARRAY<OBJECT%' AND {is_single}, false))"
    )


def _mismatch_condition(
    counter: TokenCounter, root: Object, row: str, text: str, keys: str, tally: str
) -> str:
    """Return SQL that compares quick counts of keys, and counts again where these do not settle it.

    A string that contains punctuation makes the count of keys too large, never too small.
    """
    nulls = token_count(text, NULL)
    quick = f"({keys} - {{}}) * {_KEY_UNIT}L = {tally}"
    if _has_documents(root):
        # A string that holds JSON looks like the object or list that is kept as JSON.
        quick += f" AND NOT contains({text}, '\"[') AND NOT contains({text}, '\"{{{{')"
    recount = out_of_line(text, lambda value: _recount_condition(counter, root, row, value, tally))
    agree = " ".join(f"WHEN {quick.format(number)} THEN false" for number in (0, nulls))
    return f"(CASE {agree} ELSE {recount} END)"


def _recount_condition(counter: TokenCounter, root: Object, row: str, text: str, tally: str) -> str:
    """Return SQL that also compares the quotes, so that strings of digits differ from numbers."""
    plain = without_escapes(text)
    keys, nulls, quotes = (token_count(plain, mark) for mark in (KEY, NULL, QUOTE))
    agree = (
        f"{tally} % {_KEY_UNIT}L < {_RECHECK_WEIGHT}L AND {keys} - {nulls} = {tally} div {_KEY_UNIT}L"
        f" AND {quotes} div 2 - {keys} = {counter.text_count(root, row)}"
    )
    differs = out_of_line(plain, lambda value: counter.mismatch_condition(root, row, value))
    return f"CASE WHEN {agree} THEN false ELSE {differs} END"


def _quick_count_terms(node: LayoutNode, value: str, depth: int = 0) -> Iterator[str]:
    """Yield the terms of a sum of keys with values (high half) and of suspect texts (low half).

    One number for both, so that lists are walked once. A value that must be checked exactly counts as very
    many texts.
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
            has_form = is_any_text_form(value, forms)
            tally = _text_term(value, may_be_tagged=True)
            cases = f"WHEN {value} IS NULL THEN 0L WHEN {has_form} THEN {tally}"
            yield f"CASE {cases} ELSE {_RECHECK_WEIGHT}L END"
        case Leaf(storage_form="double"):
            yield f"CASE WHEN {is_large(value)} THEN {_RECHECK_WEIGHT}L ELSE 0L END"
        case Leaf(storage_form="json") as leaf:
            yield _document_term(value, leaf)
        case Leaf(storage_form="mixed", forms=forms):
            yield _variant_term(value, forms)
        case _:
            return


def _text_term(value: str, *, may_be_tagged: bool = False) -> str:
    """Return SQL that counts a string which may be a number, a boolean, a document or a tagged value.

    The first character excludes most strings: one lookup in a set, which matters inside lists.
    """
    marks = _NUMBER_STARTS + _DOCUMENT_STARTS + ("" if may_be_tagged else "".join(sorted(tags.ALL)))
    first = f"substring({value}, 1, 1)"
    listed = ", ".join(literal(mark) for mark in marks)
    number = f"CASE WHEN {value} RLIKE {_JSON_NUMBER} THEN 1L ELSE 0L END"
    number_or_document = (
        f"CASE WHEN {first} >= '-' AND {first} < ':' THEN {number} ELSE {_RECHECK_WEIGHT}L END"
    )
    cases = f"WHEN {first} IN ({listed}) THEN {number_or_document} WHEN {value} IN ('true', 'false') THEN 1L"
    return f"CASE {cases} ELSE 0L END"


def _document_term(value: str, leaf: Leaf) -> str:
    """Return SQL that counts the keys of a value kept as JSON, if it begins like the forms of its path."""
    if leaf.is_always_empty:
        has_form = f"{value} IN ('{{}}', '[]')"
    else:
        marks = {"object": "{", "list": "["}
        has_form = " OR ".join(
            f"startswith({value}, '{mark}')" for form, mark in marks.items() if form in leaf.forms
        )
    keys = f"({token_count(value, KEY)} - {token_count(value, NULL)}) * {_KEY_UNIT}L"
    return f"CASE WHEN {value} IS NULL THEN 0L WHEN {has_form} THEN {keys} ELSE {_RECHECK_WEIGHT}L END"


def _has_documents(node: LayoutNode) -> bool:
    """Return whether any value is kept as JSON."""
    match node:
        case Object(fields=fields):
            return any(_has_documents(child) for _, child in fields.values())
        case ListOf(element=element):
            return _has_documents(element)
        case Leaf(storage_form=stored):
            return stored == "json"


def _variant_term(value: str, forms: frozenset[JsonForm]) -> str:
    """Return SQL that passes a VARIANT of a simple form of its path, and has others checked exactly."""
    schema = f"schema_of_variant({value})"
    if forms & {"object", "list", "wide"}:
        return f"CASE WHEN {value} IS NULL THEN 0L ELSE {_RECHECK_WEIGHT}L END"
    cases = [f"WHEN {value} IS NULL OR is_variant_null({value}) THEN 0L"]
    if "whole" in forms:
        cases.append(f"WHEN {schema} = 'BIGINT' THEN 0L")
    if forms & {"fraction", "large"}:
        cases.append(f"WHEN {schema} = 'DOUBLE' OR {schema} RLIKE '^DECIMAL.([0-9]|1[0-8]),' THEN 0L")
    if "bool" in forms:
        cases.append(f"WHEN {schema} = 'BOOLEAN' THEN 0L")
    has_form = is_any_text_form(f"try_variant_get({value}, '$', 'string')", forms)
    if has_form:
        cases.append(f"WHEN {schema} = 'STRING' AND ({has_form}) THEN 0L")
    return f"CASE {' '.join(cases)} ELSE {_RECHECK_WEIGHT}L END"
