"""Arrow record batches in the binary format of COPY; on executors pickled by value, with only pyarrow."""

from __future__ import annotations

import re
import sys
from array import array
from datetime import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
COPY_TRAILER: Final = b"\xff\xff"
MAX_CHUNK_BYTES: Final = 4 * 1024 * 1024
"""The size of the Arrow data that is encoded at once; offsets of Arrow end at 2 GB."""

_NULL_FIELD: Final = b"\xff\xff\xff\xff"
_JSONB_VERSION: Final = b"\x01"
_MICROSECONDS_TO_2000: Final = 946_684_800_000_000
_DAYS_TO_2000: Final = 10_957
# Postgres stores later and earlier ones, but no program in Python can read them.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DAY_MICROSECONDS: Final = 86_400_000_000
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_ESCAPED_SURROGATES: Final = re.compile(
    r"(?P<kept>(?:\\\\)+|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_NUMERIC_HEADER: Final = 4
_NUMERIC_NEGATIVE: Final = 0x4000
_DIGIT_GROUP: Final = 4
_LIMBS_OF_64_BITS: Final = 2
_LIMB_BITS: Final = pa.scalar(32, pa.uint64())


class ValueNotStorable(ValueError):
    """A value that the type of its column in Postgres cannot store."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(column, reason)
        self.column, self.reason = column, reason

    def __str__(self) -> str:
        return f"column {self.column}: {self.reason}"


class BinaryEncoder:
    """Encodes batches for `COPY ... FROM STDIN (FORMAT binary)`.

    `types` are the types of the columns in Postgres, without lengths, by name: the batches have these
    columns. Texts with the character NUL, which Postgres does not store, get U+FFFD in its place, and
    `replaced` counts them by column.

    >>> encoder = BinaryEncoder({"id": "int8"})
    >>> chunks = encoder.encode(pa.record_batch({"id": [1]}))
    >>> [bytes(chunk).hex(" ", 2) for chunk in chunks]
    ['0001 0000 0008 0000 0000 0000 0001']
    """

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = dict(types)
        self.replaced: dict[str, int] = {}
        self._field_count = len(self.types).to_bytes(2, "big")

    def encode(self, batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
        """Yield the rows of a batch in chunks of a limited size."""
        rows = max(1, batch.num_rows * MAX_CHUNK_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield self._encode_chunk(batch.slice(start, rows))

    def _encode_chunk(self, batch: pa.RecordBatch) -> pa.Buffer:
        parts: list[Any] = [pa.scalar(self._field_count, pa.binary())]
        for name, kind in self.types.items():
            try:
                parts += self._fields(name, kind, batch.column(name))
            except (ValueError, pa.ArrowNotImplementedError) as error:
                raise ValueNotStorable(name, f"{kind}: {error}") from error
        separator = pa.scalar(b"", pa.binary())
        rows = pc.binary_join_element_wise(*parts, separator, null_handling="replace", null_replacement=b"")
        return _content(rows)

    def _fields(self, name: str, kind: str, values: pa.Array) -> list[Any]:
        """Return columns of bytes that together are the fields of a column: lengths, then values."""
        encode = _FIXED_WIDTHS.get(kind)
        if encode is not None:
            return _fixed_fields(encode(values))
        if kind == "bytea":
            return _variable_fields(values.cast(pa.binary()))
        texts = values.cast(pa.string())
        clean, replaced = clean_texts(texts, is_json=kind == "jsonb")
        if replaced:
            self.replaced[name] = self.replaced.get(name, 0) + replaced
        prefix = _JSONB_VERSION if kind == "jsonb" else b""
        return _variable_fields(clean.cast(pa.binary()), prefix=prefix)


def clean_texts(texts: pa.Array, *, is_json: bool) -> tuple[pa.Array, int]:
    r"""Return texts that Postgres can store, and how many had a character replaced.

    In JSON the escapes of NUL and of halves of surrogate pairs are replaced; others are left as they are.

    >>> clean_texts(pa.array(["a\0b"]), is_json=False)[1]
    1
    >>> clean_texts(pa.array(['["\\u0000", "\\\\u0000"]']), is_json=True)[0].to_pylist()
    ['["�", "\\\\u0000"]']
    """
    mark = "\\u" if is_json else "\0"
    suspects = pc.fill_null(pc.match_substring(texts, mark), fill_value=False)
    if not pc.any(suspects).as_py():
        return texts, 0
    values = texts.to_pylist()
    replaced = 0
    for index in pc.indices_nonzero(suspects).to_pylist():
        text = values[index]
        clean = _with_replaced_escapes(text) if is_json else text.replace("\0", _REPLACEMENT)
        replaced += clean != text
        values[index] = clean
    return (pa.array(values, texts.type), replaced) if replaced else (texts, 0)


def _with_replaced_escapes(text: str) -> str:
    return _ESCAPED_SURROGATES.sub(lambda match: match["kept"] or _REPLACEMENT, text)


def _fixed_fields(values: pa.Array) -> list[Any]:
    """Return the lengths and the values of a column of fixed width, with null where a field is null."""
    length = pa.scalar(values.type.byte_width.to_bytes(4, "big"), pa.binary())
    content = values.cast(pa.binary())
    if not values.null_count:
        return [length, content]
    return [pc.if_else(values.is_valid(), length, pa.scalar(_NULL_FIELD, pa.binary())), content]


def _variable_fields(values: pa.Array, *, prefix: bytes = b"") -> list[Any]:
    """Return the lengths and the values of a binary column; each value begins with `prefix`."""
    lengths = pc.fill_null(pc.add(pc.binary_length(values), pa.scalar(len(prefix), pa.int32())), -1)
    fields = [_big_endian(lengths, "i", pa.binary(4)).cast(pa.binary())]
    if prefix:
        empty = pa.scalar(b"", pa.binary())
        fields.append(pc.if_else(values.is_valid(), pa.scalar(prefix, pa.binary()), empty))
    return [*fields, values]


def _content(rows: pa.Array) -> pa.Buffer:
    """Return the bytes of all values of a binary array, one after the other."""
    offsets = memoryview(rows.buffers()[1]).cast("B").cast("i")
    first, last = offsets[rows.offset], offsets[rows.offset + len(rows)]
    return rows.buffers()[2].slice(first, last - first)


def _big_endian(values: pa.Array, typecode: str, target: pa.DataType) -> pa.Array:
    """Return numbers as bytes in network order; null is kept."""
    data = _numbers(values, typecode)
    return pa.Array.from_buffers(
        target, len(values), [_validity(values), pa.py_buffer(_swapped(data))], values.null_count
    )


def _numbers(values: pa.Array, typecode: str) -> array[Any]:
    """Return the content of an array of numbers; the numbers of nulls are arbitrary."""
    data = array(typecode)
    start = values.offset * data.itemsize
    data.frombytes(values.buffers()[1].slice(start, len(values) * data.itemsize))
    return data


def _swapped(data: array[Any]) -> array[Any]:
    if sys.byteorder == "little":
        data.byteswap()
    return data


def _validity(values: pa.Array) -> pa.Buffer | None:
    """Return the bitmap of the values that are not null, without an offset."""
    if not values.null_count:
        return None
    return pa.concat_arrays([pa.array([], pa.bool_()), values.is_valid()]).buffers()[1]


def _integers(typecode: str, kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def encode(values: pa.Array) -> pa.Array:
        return _big_endian(values.cast(kind), typecode, pa.binary(kind.bit_width // 8))

    return encode


def _float(values: pa.Array) -> pa.Array:
    return _big_endian(values.cast(pa.float64()), "d", pa.binary(8))


def _boolean(values: pa.Array) -> pa.Array:
    return pc.if_else(values.cast(pa.bool_()), b"\x01", b"\x00").cast(pa.binary(1))


def _date(values: pa.Array) -> pa.Array:
    check_years(values)
    days = values.cast(pa.date32()).cast(pa.int32())
    return _big_endian(pc.subtract(days, pa.scalar(_DAYS_TO_2000, pa.int32())), "i", pa.binary(4))


def _timestamp(values: pa.Array) -> pa.Array:
    check_years(values)
    moments = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    return _big_endian(pc.subtract(moments, _MICROSECONDS_TO_2000), "q", pa.binary(8))


def check_years(values: pa.Array) -> None:
    """Raise `ValueError` for dates and timestamps that no program in Python could read."""
    if pa.types.is_date(values.type):
        numbers, first, last = values.cast(pa.date32()).cast(pa.int32()), _FIRST_DAY, _LAST_DAY
    else:
        numbers = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
        first, last = _FIRST_DAY * _DAY_MICROSECONDS, (_LAST_DAY + 1) * _DAY_MICROSECONDS - 1
    limits = pc.min_max(numbers).as_py()
    if limits["min"] is not None and (limits["min"] < first or limits["max"] > last):
        raise ValueError("a year outside 1 to 9999")


def _time(values: pa.Array) -> pa.Array:
    """Encode times of day, which are stored as texts; each distinct text is parsed once."""
    if pa.types.is_string(values.type):
        distinct = values.dictionary_encode()
        parsed = [None if text is None else _parse_time(text) for text in distinct.dictionary.to_pylist()]
        values = pa.array(parsed, pa.time64("us")).take(distinct.indices)
    return _big_endian(values.cast(pa.time64("us")).cast(pa.int64()), "q", pa.binary(8))


def _parse_time(text: str) -> time:
    return time.fromisoformat(text).replace(tzinfo=None)


def _numeric(values: pa.Array) -> pa.Array:
    """Encode decimals: a sign and groups of four digits, equally many for all rows."""
    precision, scale = values.type.precision, max(values.type.scale, 0)
    values = values.cast(pa.decimal128(min(38, precision - min(values.type.scale, 0)), scale))
    fraction_groups = -(-scale // _DIGIT_GROUP)
    digits = _digit_groups(values, first_digits=_DIGIT_GROUP - (-scale % _DIGIT_GROUP))
    while len(digits) < fraction_groups:
        digits.insert(0, array("H", bytes(2 * len(values))))
    width = _NUMERIC_HEADER + len(digits)
    fields = array("H", bytes(2 * width * len(values)))
    header = (len(digits), (len(digits) - fraction_groups - 1) % 65536, 0, scale)
    for position, number in enumerate(header):
        fields[position::width] = array("H", [number]) * len(values)
    negative = pc.if_else(pc.less(values, pa.scalar(0, values.type)), _NUMERIC_NEGATIVE, 0)
    fields[2::width] = _numbers(pc.fill_null(negative, 0).cast(pa.uint16()), "H")
    for position, group in enumerate(digits, start=_NUMERIC_HEADER):
        fields[position::width] = group
    buffers = [_validity(values), pa.py_buffer(_swapped(fields))]
    return pa.Array.from_buffers(pa.binary(2 * width), len(values), buffers, values.null_count)


def _digit_groups(values: pa.Array, *, first_digits: int) -> list[array[Any]]:
    """Return the digits of absolute values in groups of four, the highest first.

    The lowest group has only `first_digits` digits, and zeros behind them. Groups that are zero in all rows
    are left out at the top.
    """
    limbs = _limbs(pc.abs(pc.fill_null(values, pa.scalar(0, values.type))))
    if not limbs:
        return [array("H", bytes(2 * len(values)))]
    groups: list[array[Any]] = []
    divisor = 10**first_digits
    while limbs:
        limbs, remainders = _divide(limbs, divisor)
        padding = pa.scalar(10**_DIGIT_GROUP // divisor, pa.uint64())
        groups.insert(0, _numbers(pc.multiply(remainders, padding).cast(pa.uint16()), "H"))
        divisor = 10**_DIGIT_GROUP
    return groups


def _divide(limbs: Sequence[pa.Array], divisor: int) -> tuple[list[pa.Array], pa.Array]:
    """Return the quotients and the remainders of a long division; limbs that are all zero are left out."""
    by = pa.scalar(divisor, pa.uint64())
    if len(limbs) == 1:
        quotient = pc.divide(limbs[0], by)
        return _without_zeros([quotient]), pc.subtract(limbs[0], pc.multiply(quotient, by))
    quotients, remainder = [], pa.scalar(0, pa.uint64())
    for limb in limbs:
        dividend = pc.bit_wise_or(pc.shift_left(remainder, _LIMB_BITS), limb)
        quotients.append(pc.divide(dividend, by))
        remainder = pc.subtract(dividend, pc.multiply(quotients[-1], by))
    return _without_zeros(quotients), remainder


def _without_zeros(limbs: list[pa.Array]) -> list[pa.Array]:
    """Leave out limbs at the top that are zero in all rows, and join two that are left to one of 64 bits."""
    while limbs and not pc.max(limbs[0]).as_py():
        limbs = limbs[1:]
    if len(limbs) == _LIMBS_OF_64_BITS:
        return [pc.bit_wise_or(pc.shift_left(limbs[0], _LIMB_BITS), limbs[1])]
    return limbs


def _limbs(values: pa.Array) -> list[pa.Array]:
    """Return decimals that are not negative as four numbers of 32 bits, the highest first."""
    start = values.offset * 16
    data = array("I")
    data.frombytes(values.buffers()[1].slice(start, len(values) * 16))
    positions = range(3, -1, -1) if sys.byteorder == "little" else range(4)
    numbers = (pa.py_buffer(data[position::4]) for position in positions)
    return _without_zeros(
        [pa.Array.from_buffers(pa.uint32(), len(values), [None, part]).cast(pa.uint64()) for part in numbers]
    )


_FIXED_WIDTHS: Final[Mapping[str, Callable[[pa.Array], pa.Array]]] = {
    "int2": _integers("h", pa.int16()),
    "int4": _integers("i", pa.int32()),
    "int8": _integers("q", pa.int64()),
    "float8": _float,
    "bool": _boolean,
    "numeric": _numeric,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamp,
}
"""The encoding of each type whose values have one width in a column."""
