"""SQL that converts an extracted value to the type of a column; NULL where it does not fit.

It equals `schema.convert`, which decides in Python what fits; a test compares both for every pair of types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.package.projection.timestamps import (
    NUMBER_PATTERN,
    date_if_midnight,
    time_from_text,
    timestamp_from_bigint,
    timestamp_from_date,
    timestamp_from_seconds,
    timestamp_from_text,
    trimmed_text,
)
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.package.projection.typed_values import ValueType
    from penstock.schema import DataType

_INTEGER: Final = literal(r"^[+-]?[0-9]+(_[0-9]+)*$")
_MAX_HEX_DIGITS: Final = 32
_HEX: Final = literal(r"^0x[0-9a-fA-F]+$")
_NAN_OR_INFINITY: Final = literal("^[+-]?(nan|inf|infinity)$")
_BASE64: Final = literal(r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
_LARGEST: Final = 2**63 - 1
_MAX_EXACT_DOUBLE: Final = 2**53
_FINE_DECIMAL: Final = "DECIMAL(38,18)"
_TRAILING_ZEROS: Final = literal("[.]?0+$")
_EXACT_DOUBLE_DIGITS: Final = 15


def native_value(value: str, kind: ValueType) -> str:
    """Return SQL for an extracted value in its Spark type; `typed_values` extracts some types as text."""
    match kind:
        case "timestamp":
            return f"CAST({value} AS TIMESTAMP)"
        case "date":
            return f"CAST({value} AS DATE)"
        case "binary":
            return f"unbase64({value})"
        case "decimal":
            return f"CAST({value} AS DECIMAL(38,9))"
        case _:
            return value


def converted_value(value: str, kind: ValueType, to: DataType) -> str:
    """Return SQL for an extracted value, converted to the type of a column."""
    source = "json" if kind in ("object", "list") else kind
    if source == to:
        return native_value(value, kind)
    conversion = _CONVERSIONS.get((to, source))
    return conversion(value) if conversion else "NULL"


def is_always_convertible(kind: ValueType, to: DataType) -> bool:
    """Return whether every value of the type fits the column."""
    source = "json" if kind in ("object", "list") else kind
    return to in (source, "text") or (to, source) == ("timestamp", "date")


def _from_hex(text: str) -> str:
    digits = f"lpad(regexp_replace(substring({text}, 3), '^0+(?=.)', ''), {_MAX_HEX_DIGITS}, '0')"
    # 64 bits at a time.
    high, low = (
        f"CAST(conv({part}, 16, 10) AS DECIMAL(38,0))"
        for part in (f"left({digits}, {_MAX_HEX_DIGITS - 16})", f"right({digits}, 16)")
    )
    value = f"try_add(try_multiply({high}, CAST({2**64} AS DECIMAL(38,0))), {low})"
    return (
        f"CASE WHEN {text} RLIKE {_HEX} AND length(regexp_replace(substring({text}, 3), '^0+', ''))"
        f" <= {_MAX_HEX_DIGITS} THEN CAST({value} AS DECIMAL(38,0)) END"
    )


def _bigint_from_text(text: str) -> str:
    plain = trimmed_text(text)
    return (
        f"CASE WHEN {plain} RLIKE {_INTEGER} THEN try_cast(replace({plain}, '_', '') AS BIGINT)"
        f" WHEN startswith({plain}, '0x') THEN try_cast({_from_hex(plain)} AS BIGINT) END"
    )


def _bigint_from_double(value: str) -> str:
    # The largest 64-bit integer is not a double; greater doubles would be cast to it.
    inside = f"{value} >= -{2.0**63} AND {value} < {2.0**63}"
    return f"CASE WHEN {value} = floor({value}) AND {inside} THEN try_cast({value} AS BIGINT) END"


def _bigint_from_decimal(text: str) -> str:
    number = f"CAST({text} AS DECIMAL(38,9))"
    # A comparison with its floor would round both to a common scale.
    return f"CASE WHEN {number} % 1 = 0 THEN try_cast({number} AS BIGINT) END"


def _number_text(text: str) -> str:
    """Return SQL for the text of a finite number without blanks and underscores, else NULL."""
    plain = trimmed_text(text)
    return (
        f"CASE WHEN {plain} RLIKE {NUMBER_PATTERN} THEN replace({plain}, '_', '')"
        f" WHEN startswith({plain}, '0x') THEN CAST({_from_hex(plain)} AS STRING) END"
    )


def _double_from_digits(text: str) -> str:
    """Return SQL for the double with the same digits: up to 15 are always exact, more are compared."""
    digits = f"regexp_replace(regexp_replace({text}, '[eE].*$', ''), '[^0-9]|^[^1-9]+', '')"
    double = f"try_cast({text} AS DOUBLE)"
    as_written = f"try_cast({text} AS DECIMAL(38,18))"
    as_held = f"try_cast(CAST({double} AS STRING) AS DECIMAL(38,18))"
    equal = f"(try_cast({text} AS DECIMAL(38,0)) = try_cast(CAST({double} AS STRING) AS DECIMAL(38,0)))"
    same = f"CASE WHEN {as_written} IS NULL THEN {equal} ELSE {as_written} = {as_held} END"
    return (
        f"CASE WHEN isnan({double}) OR abs({double}) = double('inf') THEN NULL"
        f" WHEN length({digits}) <= {_EXACT_DOUBLE_DIGITS} OR {same} THEN {double} END"
    )


def _double_from_text(text: str) -> str:
    plain = f"lower({trimmed_text(text)})"
    return (
        f"CASE WHEN {plain} RLIKE {_NAN_OR_INFINITY} THEN CAST({plain} AS DOUBLE)"
        f" ELSE {_double_from_digits(f'({_number_text(text)})')} END"
    )


def _double_from_integer(value: str) -> str:
    held = f"try_cast(CAST(CAST({value} AS DOUBLE) AS STRING) AS DECIMAL(38,0))"
    exact = f"{value} BETWEEN -{_MAX_EXACT_DOUBLE} AND {_MAX_EXACT_DOUBLE}"
    return f"CASE WHEN {exact} OR {held} = {value} THEN CAST({value} AS DOUBLE) END"


def _exact_decimal(text: str, sql_type: str, *, scale: int) -> str:
    """Return SQL for a number as a decimal, NULL if digits would be rounded."""
    decimal = f"try_cast({text} AS {sql_type})"
    finer = f"try_cast({text} AS {_FINE_DECIMAL})"
    is_tiny = f"coalesce({finer} = 0 AND try_cast({text} AS DOUBLE) != 0, false)"
    # With more than 20 integer digits no finer type exists for a comparison, so the text decides.
    written = literal(rf"^[+-]?[0-9.]+([eE][+]?[0-9]+|(?<![.][0-9]{{{scale + 1},99}}))$")
    held = f"CAST({decimal} AS {_FINE_DECIMAL})"
    same = f"CASE WHEN {finer} IS NULL THEN {text} RLIKE {written} ELSE {finer} = {held} END"
    return f"CASE WHEN {same} AND NOT {is_tiny} THEN {decimal} END"


def _decimal_from_text(text: str) -> str:
    return _exact_decimal(f"({_number_text(text)})", "DECIMAL(38,9)", scale=9)


def _wei_from_text(text: str) -> str:
    return _exact_decimal(f"({_number_text(text)})", "DECIMAL(38,0)", scale=0)


def _decimal_from_double(value: str) -> str:
    return _exact_decimal(f"CAST({value} AS STRING)", "DECIMAL(38,9)", scale=9)


def _wei_from_double(value: str) -> str:
    return _exact_decimal(f"CAST({value} AS STRING)", "DECIMAL(38,0)", scale=0)


def _bool_from_text(text: str) -> str:
    word = f"lower({text})"
    return (
        f"CASE WHEN {word} IN ('yes', 'true', 't', 'y', '1') THEN true"
        f" WHEN {word} IN ('no', 'false', 'f', 'n', '0') THEN false END"
    )


def _bool_from_number(value: str) -> str:
    return f"CASE WHEN {value} = 1 THEN true WHEN {value} = 0 THEN false END"


def _binary_from_text(text: str) -> str:
    hexed = f"unhex(replace(substring({text}, 3), ' ', ''))"
    return (
        f"CASE WHEN {text} RLIKE '^0x([0-9a-fA-F]{{2}})*$' THEN {hexed}"
        f" WHEN NOT startswith({text}, '0x') AND {text} RLIKE {_BASE64} THEN unbase64({text}) END"
    )


def _binary_from_bigint(value: str) -> str:
    digits = f"hex({value})"
    even = f"lpad({digits}, length({digits}) + length({digits}) % 2, '0')"
    pairs = f"array_join(reverse(regexp_extract_all({even}, '..', 0)), '')"
    return f"CASE WHEN {value} = 0 THEN X'' WHEN {value} > 0 THEN unhex({pairs}) END"


def _json_from_text(text: str) -> str:
    # Inside a list, text after the first document is an error or a second element.
    listed = f"try_parse_json(concat('[', {text}, ']'))"
    first = f"try_variant_get({listed}, '$[0]', 'variant') IS NOT NULL"
    second = f"try_variant_get({listed}, '$[1]', 'variant') IS NOT NULL"
    overflow = f"({text} RLIKE '[0-9][eE][+]?[0-9]{{3}}' AND contains(to_json({listed}), 'Infinity'))"
    return f"CASE WHEN {first} AND NOT {second} AND NOT {overflow} THEN {text} END"


def _text_from_double(value: str) -> str:
    """Return SQL for the text that Python writes: a decimal point up to 16 digits, then an exponent."""
    shown, size = f"CAST({value} AS STRING)", f"abs({value})"

    def pointed(sql_type: str) -> str:
        digits = f"regexp_replace(CAST(CAST({shown} AS {sql_type}) AS STRING), {_TRAILING_ZEROS}, '')"
        return f"CASE WHEN contains({digits}, '.') THEN {digits} ELSE concat({digits}, '.0') END"

    mantissa = f"regexp_replace(substring_index({shown}, 'E', 1), '[.]0$', '')"
    exponent = f"try_cast(substring_index({shown}, 'E', -1) AS INT)"
    sign = f"CASE WHEN {exponent} < 0 THEN 'e-' ELSE 'e+' END"
    digits = f"CAST(abs({exponent}) AS STRING)"
    wide = f"CASE WHEN length({digits}) < 2 THEN lpad({digits}, 2, '0') ELSE {digits} END"
    return (
        f"CASE WHEN isnan({value}) THEN 'nan' WHEN {value} = double('inf') THEN 'inf'"
        f" WHEN {value} = double('-inf') THEN '-inf'"
        f" WHEN {size} = 0 OR ({size} >= 1e-3 AND {size} < 1e7) THEN {shown}"
        f" WHEN {size} >= 1e7 AND {size} < 1e16 THEN {pointed('DECIMAL(38,9)')}"
        f" WHEN {size} >= 1e-4 AND {size} < 1e-3 THEN {pointed('DECIMAL(38,25)')}"
        f" ELSE concat({mantissa}, {sign}, {wide}) END"
    )


def _unchanged(value: str) -> str:
    return value


def _text_from_bool(value: str) -> str:
    return f"CASE WHEN {value} THEN 'True' WHEN NOT {value} THEN 'False' END"


def _cast_to_string(value: str) -> str:
    return f"CAST({value} AS STRING)"


def _decimal_from_wei(value: str) -> str:
    return f"try_cast({value} AS DECIMAL(38,9))"


_CONVERSIONS: Final[Mapping[tuple[str, str], Callable[[str], str]]] = {
    ("text", "bigint"): _cast_to_string,
    ("text", "double"): _text_from_double,
    ("text", "decimal"): _unchanged,
    ("text", "wei"): _cast_to_string,
    ("text", "bool"): _text_from_bool,
    ("text", "binary"): _unchanged,
    ("text", "timestamp"): _unchanged,
    ("text", "date"): _unchanged,
    ("text", "time"): _unchanged,
    ("text", "json"): _unchanged,
    ("bigint", "text"): _bigint_from_text,
    ("bigint", "double"): _bigint_from_double,
    ("bigint", "decimal"): _bigint_from_decimal,
    ("bigint", "wei"): lambda value: f"try_cast({value} AS BIGINT)",
    ("double", "text"): _double_from_text,
    ("double", "bigint"): _double_from_integer,
    ("double", "decimal"): _double_from_digits,
    ("double", "wei"): _double_from_integer,
    ("decimal", "text"): _decimal_from_text,
    ("decimal", "bigint"): lambda value: f"CAST({value} AS DECIMAL(38,9))",
    ("decimal", "double"): _decimal_from_double,
    ("decimal", "wei"): _decimal_from_wei,
    ("wei", "text"): _wei_from_text,
    ("wei", "bigint"): lambda value: f"CAST({value} AS DECIMAL(38,0))",
    ("wei", "double"): _wei_from_double,
    ("wei", "decimal"): lambda text: _exact_decimal(text, "DECIMAL(38,0)", scale=0),
    ("bool", "text"): _bool_from_text,
    ("bool", "bigint"): _bool_from_number,
    ("bool", "double"): _bool_from_number,
    ("bool", "decimal"): lambda text: _bool_from_number(f"CAST({text} AS DECIMAL(38,9))"),
    ("bool", "wei"): _bool_from_number,
    ("timestamp", "text"): timestamp_from_text,
    ("timestamp", "bigint"): timestamp_from_bigint,
    ("timestamp", "double"): timestamp_from_seconds,
    ("timestamp", "date"): timestamp_from_date,
    ("date", "text"): lambda text: date_if_midnight(f"({timestamp_from_text(text)})"),
    ("date", "timestamp"): lambda text: date_if_midnight(f"CAST({text} AS TIMESTAMP)"),
    ("date", "bigint"): lambda value: date_if_midnight(f"({timestamp_from_bigint(value)})"),
    ("date", "double"): lambda value: date_if_midnight(f"({timestamp_from_seconds(value)})"),
    ("time", "text"): time_from_text,
    ("binary", "text"): _binary_from_text,
    ("binary", "bigint"): _binary_from_bigint,
    ("json", "text"): _json_from_text,
}
