"""SQL that tells what a value of JSON is, where the parser takes more than one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from penstock.package import tags
from penstock.package.picking import is_tagged, picked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.normalize.learn import Form
    from penstock.package.picking import Picked

_EXACT: Final = 2**53
_TAGS: Final[Mapping[Form, str]] = {
    "tagged timestamp": tags.DATETIME,
    "tagged date": tags.DATE,
    "tagged time": tags.TIME,
    "tagged binary": tags.BYTES,
}


def is_any_text(text: str, forms: Iterable[Form]) -> str:
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


def is_large(value: str) -> str:
    """Whether a fraction may have been a whole number that doubles do not hold."""
    return f"(abs({value}) > {_EXACT})"


def is_form(value: str, form: Form) -> str:
    """Whether a VARIANT is of this form."""
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
