"""dlt's row ids: SHAKE-128 in Python over Arrow batches, since Spark has no such function.

The returned functions run on executors, which may lack penstock, so they use only Python and pyarrow.
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
"""The separator of the pieces of an unhashed id."""


def hash_digest(content: str) -> str:
    """Return an id of dlt for a text, in the process of penstock.

    >>> hash_digest("a_items_0")
    'BITX2+zJW01SRQ'
    """
    return base64.b64encode(hashlib.shake_128(content.encode()).digest(10)).decode("ascii").rstrip("=")


def row_hashes(*, text_column: str, id_column: str, key_paths: KeyPaths | None = None) -> Mapper:
    """Return a mapper that replaces ids by hashes of the JSON texts in another column.

    `key_paths` are the columns of a primary key, each with the possible paths of its value; without them the
    whole row is hashed. The id of a text that cannot be read is unchanged.
    """
    content_of = _key_content(key_paths) if key_paths else _row_content()
    read, write = _codec()

    def hashed(text: str, default: str) -> str:
        try:
            row = read(text)
            plain = write(content_of(row if isinstance(row, dict) else {"value": row}))
        except (ValueError, RecursionError):
            return default
        digest = hashlib.shake_128(plain.encode("utf-8", "surrogatepass")).digest(10)
        return base64.b64encode(digest).decode("ascii").rstrip("=")

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts, old_ids = batch.column(text_column).to_pylist(), batch.column(id_column).to_pylist()
            columns, index = list(batch.columns), batch.schema.get_field_index(id_column)
            ids = [hashed(text, old_id) for text, old_id in zip(texts, old_ids, strict=True)]
            columns[index] = pa.array(ids, columns[index].type)
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    return run


def _row_content() -> Callable[[dict[str, Any]], dict[str, Any]]:
    def content(row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if not key.startswith("_dlt")}

    return content


def _key_content(key_paths: KeyPaths) -> Callable[[dict[str, Any]], dict[str, Any]]:
    keys = [(name, [tuple(path) for path in paths]) for name, paths in key_paths.items()]

    def at(row: Any, path: Sequence[str]) -> Any:
        for key in path:
            row = row.get(key) if isinstance(row, dict) else None
        return row

    def content(row: dict[str, Any]) -> dict[str, Any]:
        candidates = ((name, [at(row, path) for path in paths]) for name, paths in keys)
        return {
            name: next((value for value in values if value is not None), None) for name, values in candidates
        }

    return content


def _codec() -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    """Return a JSON reader, and a writer that formats small fractions as dlt does."""
    small = re.compile(r"[0-9][eE]-[0-9]|0\.0000")
    marked = re.compile(r'"\\u001f([-0-9.e]+)\\u001f"')
    encoder = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def fraction(text: str) -> Any:
        number = float(text)
        if number == 0 or abs(number) >= 1e-4:  # noqa: PLR2004 - from here on both formats are equal
            return number
        shown = repr(number).replace("e-0", "e-")
        return (
            f"{ID_SEPARATOR}{format(Decimal(shown), 'f') if shown.endswith('e-5') else shown}{ID_SEPARATOR}"
        )

    def read(text: str) -> Any:
        # The substring checks take a tenth of the time of the expression.
        may_be_small = "e-" in text or "0.0000" in text or "E-" in text
        if may_be_small and small.search(text):
            return json.loads(text, parse_float=fraction)
        return json.loads(text)

    def write(content: Any) -> str:
        plain = encoder.encode(content)
        return marked.sub(r"\1", plain) if "\\u001f" in plain else plain

    return read, write


def nested_hashes(tables: Sequence[str], columns: Sequence[str]) -> Mapper:
    """Return a mapper that hashes the unhashed ids of nested rows in these columns.

    An unhashed id is the id of the root row, followed for each list on the path by the number of its table
    in `tables` and the position in the list.
    """
    names = tuple(tables)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        parents: dict[str, str] = {}

        def hashed(chain: str | None) -> str | None:
            if chain is None or ID_SEPARATOR not in chain:
                return chain
            parent_chain, number, index = chain.rsplit(ID_SEPARATOR, 2)
            parent = parents.get(parent_chain)
            if parent is None:
                # Rows of one parent are adjacent, so a small cache is enough.
                if len(parents) > 1_000:  # noqa: PLR2004 - any small number does
                    parents.clear()
                parent = parents[parent_chain] = hashed(parent_chain) or ""
            content = f"{parent}_{names[int(number)]}_{index}".encode()
            return base64.b64encode(hashlib.shake_128(content).digest(10)).decode("ascii").rstrip("=")

        for batch in batches:
            arrays = list(batch.columns)
            for index in map(batch.schema.get_field_index, columns):
                ids = [hashed(chain) for chain in arrays[index].to_pylist()]
                arrays[index] = pa.array(ids, arrays[index].type)
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    return run
