"""SQL that tells what a value of JSON is, where the parser takes more than one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from penstock.package import tags
from penstock.package.projection.typed_values import is_tagged, typed_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.normalize.profile import JsonForm
    from penstock.package.projection.typed_values import ValueType

_MAX_EXACT_INTEGER: Final = 2**53
_TAGS: Final[Mapping[JsonForm, str]] = {
    "tagged timestamp": tags.DATETIME,
    "tagged date": tags.DATE,
    "tagged time": tags.TIME,
    "tagged binary": tags.BYTES,
}


def is_any_text_form(text: str, forms: Iterable[JsonForm]) -> str:
    """Whether a text is of one of these forms."""
    found = (_is_text_form(text, form) for form in sorted(forms))
    return " OR ".join(one for one in found if one)


def _is_text_form(text: str, form: JsonForm) -> str:
    match form:
        case "text":
            return f"NOT {is_tagged(text)}"
        case "tagged text":
            return f"({is_tagged(text)} AND {typed_value(text, 'tagged', 'text')} IS NOT NULL)"
        case "tagged decimal" | "tagged double" | "tagged wei":
            kind = cast("ValueType", form.removeprefix("tagged "))
            return f"{typed_value(text, 'tagged', kind)} IS NOT NULL"
        case _:
            return f"startswith({text}, '{_TAGS[form]}')" if form in _TAGS else ""


def is_large(value: str) -> str:
    """Whether a fraction may have been a whole number that doubles do not hold."""
    return f"(abs({value}) > {_MAX_EXACT_INTEGER})"


def is_variant_form(value: str, form: JsonForm) -> str:
    """Whether a VARIANT is of this form."""
    shown = f"schema_of_variant({value})"
    wide = f"({typed_value(value, 'mixed', 'wei')})"
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
            known = _is_text_form(f"try_variant_get({value}, '$', 'string')", form)
            return f"({shown} = 'STRING' AND {known})"
