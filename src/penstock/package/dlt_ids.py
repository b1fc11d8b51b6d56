"""Ids as dlt makes them: SHAKE-128 in Python over Arrow batches, because Spark has no such function.

What is made here travels to executors, which need not have penstock: the functions inside refer to nothing
but Python itself and pyarrow.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Batches = Iterable[pa.RecordBatch]
    Mapper = Callable[[Batches], Iterator[pa.RecordBatch]]
    KeyPaths = Mapping[str, Sequence[Sequence[str]]]

ID_SEPARATOR: Final = "\x1f"
"""What stands between the pieces of an id that is still to be worked out."""


def row_hashes(*, text_column: str, id_column: str, key_paths: KeyPaths | None = None) -> Mapper:
    """Fill the column `to` with ids made of the JSON texts in the column `text`.

    `keys` are the columns of a primary key, each with the paths at which its values may stand; without them
    the id is that of the whole row. Where a text cannot be read, the id that is there stays.
    """
    content_of = _key_content(key_paths) if key_paths else _row_content()
    read, write = _codec()

    def hashed(one: str, otherwise: str) -> str:
        try:
            row = read(one)
            plain = write(content_of(row if isinstance(row, dict) else {"value": row}))
        except (ValueError, RecursionError):
            return otherwise
        digest = hashlib.shake_128(plain.encode("utf-8", "surrogatepass")).digest(10)
        return base64.b64encode(digest).decode("ascii").rstrip("=")

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts, before = batch.column(text_column).to_pylist(), batch.column(id_column).to_pylist()
            columns, place = list(batch.columns), batch.schema.get_field_index(id_column)
            ids = [hashed(one, other) for one, other in zip(texts, before, strict=True)]
            columns[place] = pa.array(ids, columns[place].type)
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    return run


def _row_content() -> Callable[[dict[str, Any]], dict[str, Any]]:
    def content(row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if not key.startswith("_dlt")}

    return content


def _key_content(key_paths: KeyPaths) -> Callable[[dict[str, Any]], dict[str, Any]]:
    wanted = [(name, [tuple(path) for path in paths]) for name, paths in key_paths.items()]

    def at(row: Any, path: Sequence[str]) -> Any:
        for key in path:
            row = row.get(key) if isinstance(row, dict) else None
        return row

    def content(row: dict[str, Any]) -> dict[str, Any]:
        found = ((name, [at(row, path) for path in paths]) for name, paths in wanted)
        return {name: next((one for one in values if one is not None), None) for name, values in found}

    return content


def _codec() -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    """Read JSON, and write it as dlt does; Python writes small fractions in another way."""
    small = re.compile(r"[0-9][eE]-[0-9]|0\.0000")
    marked = re.compile(r'"\\u001f([-0-9.e]+)\\u001f"')
    encoder = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def fraction(text: str) -> Any:
        number = float(text)
        if number == 0 or abs(number) >= 1e-4:  # noqa: PLR2004 - from here on both write the same
            return number
        shown = repr(number).replace("e-0", "e-")
        return (
            f"{ID_SEPARATOR}{format(Decimal(shown), 'f') if shown.endswith('e-5') else shown}{ID_SEPARATOR}"
        )

    def read(text: str) -> Any:
        # Looking for a few characters first takes a tenth of the time.
        may_be_small = "e-" in text or "0.0000" in text or "E-" in text
        if may_be_small and small.search(text):
            return json.loads(text, parse_float=fraction)
        return json.loads(text)

    def write(content: Any) -> str:
        plain = encoder.encode(content)
        return marked.sub(r"\1", plain) if "\\u001f" in plain else plain

    return read, write


def nested_hashes(tables: Sequence[str], columns: Sequence[str]) -> Mapper:
    """Work out ids of nested rows in these columns.

    There they stand as the id of a root row, and for each list on the way the number of its table among
    `tables` and the position in the list.
    """
    names = tuple(tables)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        known: dict[str, str] = {}

        def finished(chain: str | None) -> str | None:
            if chain is None or ID_SEPARATOR not in chain:
                return chain
            above, number, index = chain.rsplit(ID_SEPARATOR, 2)
            parent = known.get(above)
            if parent is None:
                # Rows of one parent stand together: a few of them are worth remembering, all are not.
                if len(known) > 1_000:  # noqa: PLR2004 - any small number does
                    known.clear()
                parent = known[above] = finished(above) or ""
            told = f"{parent}_{names[int(number)]}_{index}".encode()
            return base64.b64encode(hashlib.shake_128(told).digest(10)).decode("ascii").rstrip("=")

        for batch in batches:
            arrays = list(batch.columns)
            for place in map(batch.schema.get_field_index, columns):
                ids = [finished(one) for one in arrays[place].to_pylist()]
                arrays[place] = pa.array(ids, arrays[place].type)
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    return run
