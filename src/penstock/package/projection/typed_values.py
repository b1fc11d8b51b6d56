"""SQL that extracts values of one type from the nested dataset; NULL for values of other types.

A path may hold values of several types: texts with a type tag, or a VARIANT. `convert` converts an extracted
value to the type of its column.
"""

from __future__ import annotations

from typing import Final, Literal

from penstock.package import tags
from penstock.package.sql import literal

StorageForm = Literal["bool", "bigint", "double", "text", "tagged", "json", "mixed", "typed", "struct"]
"""The storage form of a path.

- `text`: texts without tags; `tagged`: texts that may begin with a type tag
- `json`: objects or lists as JSON text
- `mixed`: a VARIANT, for values of several types
- `typed`: a value with a Spark type
- `struct`: an object or a list that becomes JSON text
"""
ValueType = Literal[
    "text", "double", "bool", "timestamp", "bigint", "binary", "json", "decimal", "wei", "date", "time",
    "object", "list",
]  # fmt: skip
"""The type of a value; `object` and `list` are JSON text."""

_FITS_DECIMAL: Final = literal(r"^-?[0-9]{1,29}([.][0-9]{0,9}0*)?$")
_FITS_WEI: Final = literal("^-?[0-9]{1,38}$")
_TAG_IN_JSON: Final = literal(rf'(?<!\\)"[{tags.FIRST}-{tags.LAST}]')
_ANY_TAG: Final = literal(f'"[{tags.FIRST}-{tags.LAST}]')
_TYPE_TAGS: Final[dict[str, str]] = {
    "timestamp": tags.DATETIME,
    "date": tags.DATE,
    "time": tags.TIME,
    "binary": tags.BYTES,
    "double": tags.NON_FINITE,
}
_ISO_FORMAT: Final = literal("yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
# Integers beyond 64 bits have at least 19 digits; fractions have at most 17.
_MAX_BIGINT: Final = "9223372036854775807"


def is_tagged(source: str) -> str:
    """Return SQL for whether a text starts with a type tag."""
    return f"(substring({source}, 1, 1) BETWEEN '{tags.FIRST}' AND '{tags.LAST}')"


def typed_value(source: str, stored: StorageForm, kind: ValueType) -> str:
    """Return SQL for the value if it is of this type; timestamps, decimals and bytes remain texts."""
    match stored:
        case "bool" | "bigint" | "double" | "text":
            return source if kind == stored else "NULL"
        case "tagged":
            return _from_tagged(source, kind)
        case "json":
            begins = "{" if kind == "object" else "["
            return f"CASE WHEN startswith({source}, '{begins}') THEN {untagged_json(source)} END"
        case "mixed":
            return _from_mixed(source, kind)
        case "typed":
            return _from_typed(source, kind)
        case "struct":
            return f"CASE WHEN {source} IS NOT NULL THEN {untagged_json(f'to_json({source})')} END"


def _from_typed(source: str, kind: ValueType) -> str:
    """Return SQL for a Spark value in the text form of tagged values."""
    match kind:
        case "timestamp":
            utc = f"to_utc_timestamp({source}, current_timezone())"
            shown = f"date_format({utc}, {_ISO_FORMAT})"
            return f"concat(regexp_replace({shown}, '[.]000000$', ''), '+00:00')"
        case "date" | "decimal":
            return f"CAST({source} AS STRING)"
        case "binary":
            return f"base64({source})"
        case _:
            return source


def untagged_json(source: str) -> str:
    """Return SQL for a JSON text without type tags."""
    replaced = f"regexp_replace({source}, {_TAG_IN_JSON}, '\"')"
    return f"CASE WHEN {source} RLIKE {_ANY_TAG} THEN {replaced} ELSE {source} END"


def is_present(source: str, stored: StorageForm) -> str:
    """Return SQL for whether a value exists and is not a JSON null."""
    if stored == "mixed":
        return f"({source} IS NOT NULL AND NOT is_variant_null({source}))"
    return f"({source} IS NOT NULL)"


def _from_tagged(source: str, kind: ValueType) -> str:
    tag, rest = f"substring({source}, 1, 1)", f"substring({source}, 2)"
    is_decimal = f"{tag} = '{tags.DECIMAL}'"
    match kind:
        case "text":
            plain = f"{tag} IN ('{tags.ESCAPED_TEXT}', '{tags.UUID}')"
            wide = (
                f"({is_decimal} AND NOT {rest} RLIKE {_FITS_DECIMAL})"
                f" OR ({tag} = '{tags.WEI}' AND NOT {rest} RLIKE {_FITS_WEI})"
            )
            return f"CASE WHEN NOT {is_tagged(source)} THEN {source} WHEN {plain} OR {wide} THEN {rest} END"
        case "decimal":
            return f"CASE WHEN {is_decimal} AND {rest} RLIKE {_FITS_DECIMAL} THEN {rest} END"
        case "wei":
            is_wei = f"{tag} = '{tags.WEI}' AND {rest} RLIKE {_FITS_WEI}"
            return f"CASE WHEN {is_wei} THEN CAST({rest} AS DECIMAL(38,0)) END"
        case "timestamp" | "date" | "time" | "binary":
            return f"CASE WHEN {tag} = '{_TYPE_TAGS[kind]}' THEN {rest} END"
        case "double":
            return f"CASE WHEN {tag} = '{_TYPE_TAGS[kind]}' THEN CAST({rest} AS DOUBLE) END"
        case _:
            return "NULL"


def _from_mixed(source: str, kind: ValueType) -> str:
    shown = f"schema_of_variant({source})"
    is_wide = f"abs(try_variant_get({source}, '$', 'decimal(38,0)')) > {_MAX_BIGINT}"
    is_wei = f"({shown} LIKE 'DECIMAL%,0)' AND {is_wide})"
    text = f"try_variant_get({source}, '$', 'string')"
    match kind:
        case "bool":
            return f"CASE WHEN {shown} = 'BOOLEAN' THEN try_variant_get({source}, '$', 'boolean') END"
        case "bigint":
            return f"CASE WHEN {shown} = 'BIGINT' THEN try_variant_get({source}, '$', 'bigint') END"
        case "wei":
            return (
                f"CASE WHEN {is_wei} THEN try_variant_get({source}, '$', 'decimal(38,0)')"
                f" WHEN {shown} = 'STRING' THEN {_from_tagged(text, kind)} END"
            )
        case "double":
            number = f"{shown} IN ('DOUBLE', 'FLOAT') OR ({shown} LIKE 'DECIMAL%' AND NOT {is_wei})"
            tagged = _from_tagged(text, "double")
            return (
                f"CASE WHEN {number} THEN try_variant_get({source}, '$', 'double')"
                f" WHEN {shown} = 'STRING' THEN {tagged} END"
            )
        case "object" | "list":
            name = "OBJECT" if kind == "object" else "ARRAY"
            return f"CASE WHEN {shown} LIKE '{name}%' THEN {untagged_json(f'to_json({source})')} END"
        case _:
            return f"CASE WHEN {shown} = 'STRING' THEN {_from_tagged(text, kind)} END"
