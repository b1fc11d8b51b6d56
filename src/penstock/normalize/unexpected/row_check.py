"""SQL that finds the rows which a nested dataset does not stand for, in the same pass that writes it.

A parser with a given schema passes over keys that it does not know, and takes a number for a text. So the
pieces of JSON are counted twice: in the text, by its punctuation, and in the parsed row. Where both counts
agree, every value of the text is in the row, as what it is. Counting bytes costs a fraction of what a second
parse would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.normalize.unexpected.json_tokens import KEY, NULL, QUOTE, sum_of, token_count, without_escapes
from penstock.normalize.unexpected.quick_counts import (
    KEY_UNIT,
    RECHECK_WEIGHT,
    has_documents,
    quick_count_terms,
)
from penstock.normalize.unexpected.token_counts import TokenCounter
from penstock.normalize.unexpected.unconvertible import any_true, is_unconvertible
from penstock.package.sql import out_of_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.normalize.nested_layout import NestedLayout, Object
    from penstock.normalize.plan import UncertainValue
    from penstock.normalize.profile import JsonForm
    from penstock.normalize.unexpected.token_counts import KeptAsJson
    from penstock.schema.value_path import ValuePath

_KEY_COUNT_COLUMN: Final = "`_keys`"
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
    terms = list(quick_count_terms(layout.root, row))
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
    quick = f"({_KEY_COUNT_COLUMN} - {{}}) * {KEY_UNIT}L = {tally}"
    if has_documents(root):
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
        f"{tally} % {KEY_UNIT}L < {RECHECK_WEIGHT}L AND {keys} - {nulls} = {tally} div {KEY_UNIT}L"
        f" AND {quotes} div 2 - {keys} = {counter.text_count(root, row)}"
    )
    differs = out_of_line(plain, lambda value: counter.mismatch_condition(root, row, value))
    return f"CASE WHEN {agree} THEN false ELSE {differs} END"
