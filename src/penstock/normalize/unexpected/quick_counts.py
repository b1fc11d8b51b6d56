"""SQL that counts keys and doubtful texts of a parsed row, quickly: nearly all rows need no other look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import Leaf, ListOf, Object
from penstock.normalize.unexpected.json_forms import is_any_text_form, is_large
from penstock.normalize.unexpected.json_tokens import KEY, NULL, element_sum, has_value, sum_of, token_count
from penstock.package import tags
from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.normalize.nested_layout import LayoutNode
    from penstock.normalize.profile import JsonForm

KEY_UNIT: Final = 2**32
RECHECK_WEIGHT: Final = 2**24
_NUMBER_STARTS: Final = "-0123456789"
_DOCUMENT_STARTS: Final = "[{"
_JSON_NUMBER: Final = literal(r"^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$")


def quick_count_terms(node: LayoutNode, value: str, depth: int = 0) -> Iterator[str]:
    """Keys that have a value and texts that may be something else, in the two halves of one number.

    One walk through lists does for both. What takes a careful look counts as very many texts. Gives the
    terms of a sum.
    """
    match node:
        case Object(fields=fields):
            for name, child in fields.values():
                inner = f"{value}.{quote_name(name)}"
                yield f"CASE WHEN {has_value(inner, child)} THEN {KEY_UNIT}L ELSE 0L END"
                yield from quick_count_terms(child, inner, depth)
        case ListOf(element=element):
            inner = sum_of(quick_count_terms(element, f"c{depth}", depth + 1))
            yield element_sum(value, depth, inner)
        case Leaf(storage_form="text"):
            yield _text_term(value)
        case Leaf(storage_form="tagged", forms=forms):
            known = is_any_text_form(value, forms)
            tally = _text_term(value, may_be_tagged=True)
            yield f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {tally} ELSE {RECHECK_WEIGHT}L END"
        case Leaf(storage_form="double"):
            yield f"CASE WHEN {is_large(value)} THEN {RECHECK_WEIGHT}L ELSE 0L END"
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
    closer = f"CASE WHEN {first} >= '-' AND {first} < ':' THEN {number} ELSE {RECHECK_WEIGHT}L END"
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
    keys = f"({token_count(value, KEY)} - {token_count(value, NULL)}) * {KEY_UNIT}L"
    return f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {keys} ELSE {RECHECK_WEIGHT}L END"


def has_documents(node: LayoutNode) -> bool:
    """Whether anything is kept as JSON."""
    match node:
        case Object(fields=fields):
            return any(has_documents(child) for _, child in fields.values())
        case ListOf(element=element):
            return has_documents(element)
        case Leaf(storage_form=stored):
            return stored == "json"


def _variant_term(value: str, forms: frozenset[JsonForm]) -> str:
    """A value of the types that were seen there; anything else takes a careful look."""
    shown = f"schema_of_variant({value})"
    if forms & {"object", "list", "wide"}:
        return f"CASE WHEN {value} IS NULL THEN 0L ELSE {RECHECK_WEIGHT}L END"
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
    return f"CASE {' '.join(cases)} ELSE {RECHECK_WEIGHT}L END"
