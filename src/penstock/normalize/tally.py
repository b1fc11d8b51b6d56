"""SQL that counts keys and doubtful texts of a parsed row, quickly: nearly all rows need no other look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.formsql import is_any_text, is_large
from penstock.normalize.punctuation import KEY, NULL, count, folded, is_there, summed
from penstock.normalize.stored import Leaf, ListOf, Object
from penstock.package import tags
from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.normalize.learn import Form
    from penstock.normalize.stored import Node

ONE_KEY: Final = 2**32
FAR_OFF: Final = 2**24
_FIRST_OF_NUMBERS: Final = "-0123456789"
_FIRST_OF_DOCUMENTS: Final = "[{"
_JSON_NUMBER: Final = literal(r"^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$")


def tally_of(node: Node, value: str, depth: int = 0) -> Iterator[str]:
    """Keys that have a value and texts that may be something else, in the two halves of one number.

    One walk through lists does for both. What takes a careful look counts as very many texts. Gives the
    terms of a sum.
    """
    match node:
        case Object(fields=fields):
            for name, child in fields.values():
                inner = f"{value}.{quoted(name)}"
                yield f"CASE WHEN {is_there(inner, child)} THEN {ONE_KEY}L ELSE 0L END"
                yield from tally_of(child, inner, depth)
        case ListOf(element=element):
            inner = summed(tally_of(element, f"c{depth}", depth + 1))
            yield folded(value, depth, inner)
        case Leaf(stored="text"):
            yield _tally_of_text(value)
        case Leaf(stored="tagged", forms=forms):
            known = is_any_text(value, forms)
            tally = _tally_of_text(value, may_be_tagged=True)
            yield f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {tally} ELSE {FAR_OFF}L END"
        case Leaf(stored="double"):
            yield f"CASE WHEN {is_large(value)} THEN {FAR_OFF}L ELSE 0L END"
        case Leaf(stored="json") as leaf:
            yield _tally_of_document(value, leaf)
        case Leaf(stored="mixed", forms=forms):
            yield _tally_of_variant(value, forms)
        case _:
            return


def _tally_of_text(value: str, *, may_be_tagged: bool = False) -> str:
    """A number, a boolean or a document is taken for a text; so is a text that has a tag.

    Most texts are told from all of these by their first character: looking for it in a set is one step, and
    steps count where a list is walked through.
    """
    marks = _FIRST_OF_NUMBERS + _FIRST_OF_DOCUMENTS + ("" if may_be_tagged else "".join(sorted(tags.ALL)))
    first = f"substring({value}, 1, 1)"
    listed = ", ".join(literal(mark) for mark in marks)
    number = f"CASE WHEN {value} RLIKE {_JSON_NUMBER} THEN 1L ELSE 0L END"
    closer = f"CASE WHEN {first} >= '-' AND {first} < ':' THEN {number} ELSE {FAR_OFF}L END"
    return (
        f"CASE WHEN {first} IN ({listed}) THEN {closer} WHEN {value} IN ('true', 'false') THEN 1L ELSE 0L END"
    )


def _tally_of_document(value: str, leaf: Leaf) -> str:
    """The keys in what is kept whole, if it begins as what was seen there."""
    if leaf.is_hollow:
        known = f"{value} IN ('{{}}', '[]')"
    else:
        marks = {"object": "{", "list": "["}
        known = " OR ".join(
            f"startswith({value}, '{mark}')" for form, mark in marks.items() if form in leaf.forms
        )
    keys = f"({count(value, KEY)} - {count(value, NULL)}) * {ONE_KEY}L"
    return f"CASE WHEN {value} IS NULL THEN 0L WHEN {known} THEN {keys} ELSE {FAR_OFF}L END"


def has_documents(node: Node) -> bool:
    """Whether anything is kept as JSON."""
    match node:
        case Object(fields=fields):
            return any(has_documents(child) for _, child in fields.values())
        case ListOf(element=element):
            return has_documents(element)
        case Leaf(stored=stored):
            return stored == "json"


def _tally_of_variant(value: str, forms: frozenset[Form]) -> str:
    """A value of the types that were seen there; anything else takes a careful look."""
    shown = f"schema_of_variant({value})"
    if forms & {"object", "list", "wide"}:
        return f"CASE WHEN {value} IS NULL THEN 0L ELSE {FAR_OFF}L END"
    cases = [f"WHEN {value} IS NULL OR is_variant_null({value}) THEN 0L"]
    if "whole" in forms:
        cases.append(f"WHEN {shown} = 'BIGINT' THEN 0L")
    if forms & {"fraction", "large"}:
        cases.append(f"WHEN {shown} = 'DOUBLE' OR {shown} RLIKE '^DECIMAL.([0-9]|1[0-8]),' THEN 0L")
    if "bool" in forms:
        cases.append(f"WHEN {shown} = 'BOOLEAN' THEN 0L")
    known = is_any_text(f"try_variant_get({value}, '$', 'string')", forms)
    if known:
        cases.append(f"WHEN {shown} = 'STRING' AND ({known}) THEN 0L")
    return f"CASE {' '.join(cases)} ELSE {FAR_OFF}L END"
