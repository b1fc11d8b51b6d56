"""The texts of quarantined rows that are replayed: each has its origin, in case that it is refused again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

ORIGIN_KEY: Final = "_dlt_origin"
"""The key of the origin, which has no column."""
_START: Final = f'"{ORIGIN_KEY}":"'
_END: Final = '"}'
_FIELDS: Final[Mapping[str, str]] = {
    "_dlt_id": "STRING",
    "resource_name": "STRING",
    "item": "BIGINT",
    "reason": "STRING",
}
"""The columns that a row has again in the quarantine if it is refused again, with their types."""


def with_origin(raw: str, row: Mapping[str, Any]) -> str:
    """Return the JSON object of a quarantined row with its origin as the last key, in hexadecimal digits.

    >>> with_origin('{"id": 1}', {"_dlt_id": "a"})
    '{"id": 1,"_dlt_origin":"7b225f646c745f6964223a2261227d"}'
    """
    origin = {name: row[name] for name in _FIELDS if row.get(name) is not None}
    start = raw.rstrip()[:-1].rstrip()
    comma = "" if start.endswith("{") else ","
    return f"{start}{comma}{_START}{orjson.dumps(origin).hex()}{_END}"


def with_origin_sql(raw: str) -> str:
    """Return SQL for the text that `with_origin` returns; the other columns are those of the quarantine."""
    start = f"rtrim(left(rtrim({raw}), length(rtrim({raw})) - 1))"
    fields = ", ".join(f"'{name}', {name}" for name in _FIELDS)
    origin = f"lower(hex(encode(to_json(named_struct({fields})), 'utf-8')))"
    comma = f"if(endswith({start}, '{{'), '', ',')"
    return f"concat({start}, {comma}, '{_START}', {origin}, '{_END}')"


def origin_sql(text: str) -> str:
    """Return SQL for the origin of a replayed row, as a struct."""
    digits = f"left({_tail(text)}, length({_tail(text)}) - {len(_END)})"
    columns = ", ".join(f"{name} {kind}" for name, kind in _FIELDS.items())
    return f"from_json(decode(unhex({digits}), 'utf-8'), '{columns}')"


def without_origin_sql(text: str) -> str:
    """Return SQL for the text of a replayed row without its origin."""
    length = f"length({text}) - length({_tail(text)}) - {len(_START)}"
    return f"concat(trim(TRAILING ',' FROM left({text}, {length})), '}}')"


def _tail(text: str) -> str:
    return f"substring_index({text}, '{_START}', -1)"
