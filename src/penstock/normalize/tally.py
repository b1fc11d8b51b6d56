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
_AFTER_LAST: Final = chr(ord(tags.LAST) + 1)
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

    By the first character, from the smallest on, so that few comparisons do.
    """
    number = f"CASE WHEN {value} RLIKE {_JSON_NUMBER} THEN 1L ELSE 0L END"
    word = f"CASE WHEN {value} IN ('true', 'false') THEN 1L ELSE 0L END"
    steps = [
        ("-", "0L"),
        (":", number),
        ("[", "0L"),
        (chr(92), f"{FAR_OFF}L"),
        ("f", "0L"),
        ("u", word),
        ("{", "0L"),
        ("|", f"{FAR_OFF}L"),
    ]
    if not may_be_tagged:
        steps += [(tags.FIRST, "0L"), (_AFTER_LAST, f"{FAR_OFF}L")]
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
