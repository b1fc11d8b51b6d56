"""SQL that finds the rows which a nested dataset does not stand for, in the same pass that writes it.

A parser with a given schema passes over keys that it does not know, and takes a number for a text. So the
pieces of JSON are counted twice: in the text, by its punctuation, and in the parsed row. Where both counts
agree, every value of the text is in the row, as what it is. Counting bytes costs a fraction of what a second
parse would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.normalize.careful import Careful
from penstock.normalize.leftover import either, unfit
from penstock.normalize.punctuation import KEY, NULL, QUOTE, count, summed, unescaped
from penstock.normalize.tally import FAR_OFF, ONE_KEY, has_documents, tally_of
from penstock.package.sql import rarely

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.normalize.careful import IsWhole
    from penstock.normalize.learn import Form
    from penstock.normalize.plan import Doubt
    from penstock.normalize.stored import Dataset, Object
    from penstock.schema.path import Path

_KEYS: Final = "`_keys`"
_TERMS: Final = 6


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
    terms = list(tally_of(dataset.root, row))
    # Not one sum: a method that is too large is not compiled, see `rarely`.
    sums = [summed(terms[start : start + _TERMS]) for start in range(0, len(terms), _TERMS)] or ["0"]
    tally = summed(f"`_tally{number}`" for number in range(len(sums)))
    strange = (_is_no_document(text),) if has_strangers else ()
    unknown = (*strange, f"{corrupt} IS NOT NULL", *(unfit(doubt, row) for doubt in doubts))
    return Check(
        measures=(
            f"{count(text, KEY)} AS {_KEYS}",
            *(f"{one} AS `_tally{number}`" for number, one in enumerate(sums)),
        ),
        odd=either((*unknown, _mismatch(Careful(forms, is_whole), dataset.root, row, text, tally))),
    )


def _is_no_document(text: str) -> str:
    """Whether it is anything but one object of JSON: parsers overlook what stands behind the first value."""
    # In a list nothing is overlooked, and no key is taken twice.
    listed = f"try_parse_json(concat('[', {text}, ']'))"
    found = f"schema_of_variant({listed})"
    one = f"try_variant_get({listed}, '$[1]', 'variant') IS NULL"
    return f"(NOT is_valid_utf8({text}) OR NOT coalesce({found} LIKE 'ARRAY<OBJECT%' AND {one}, false))"


def _mismatch(careful: Careful, root: Object, row: str, text: str, tally: str) -> str:
    """A quick count of keys; where it does not agree, or a text may be something else, closer looks.

    A text may look like punctuation, and then there seem to be more keys than there are, never fewer.
    """
    nulls = count(text, NULL)
    quick = f"({_KEYS} - {{}}) * {ONE_KEY}L = {tally}"
    if has_documents(root):
        # A text of JSON is taken for the JSON that stands there otherwise.
        quick += f" AND NOT contains({text}, '\"[') AND NOT contains({text}, '\"{{{{')"
    closer = rarely(text, lambda value: _closer(careful, root, row, value, tally))
    agree = " ".join(f"WHEN {quick.format(number)} THEN false" for number in (0, nulls))
    return f"(CASE {agree} ELSE {closer} END)"


def _closer(careful: Careful, root: Object, row: str, text: str, tally: str) -> str:
    """Count the quotes too, so that texts that look like numbers are told from numbers."""
    plain = unescaped(text)
    keys, nulls, quotes = (count(plain, mark) for mark in (KEY, NULL, QUOTE))
    agree = (
        f"{tally} % {ONE_KEY}L < {FAR_OFF}L AND {keys} - {nulls} = {tally} div {ONE_KEY}L"
        f" AND {quotes} div 2 - {keys} = {careful.texts(root, row)}"
    )
    differs = rarely(plain, lambda value: careful.differs(root, row, value))
    return f"CASE WHEN {agree} THEN false ELSE {differs} END"
