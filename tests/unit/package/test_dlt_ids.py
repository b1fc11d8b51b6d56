from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from typing import Any

import orjson
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark import cloudpickle

from penstock.package.dlt_ids import ID_SEPARATOR, nested_hashes, row_hashes

texts = st.text(st.characters(codec="utf-8", exclude_characters=ID_SEPARATOR))
floats = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(min_value=-2e-4, max_value=2e-4)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | floats | small | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def shake(content: bytes) -> str:
    return base64.b64encode(hashlib.shake_128(content).digest(10)).decode().rstrip("=")


def ids(text: str, keys: Any = None) -> list[str]:
    batch = pa.RecordBatch.from_pydict({"id": ["?"], "text": [text]})
    (done,) = row_hashes(text_column="text", id_column="id", key_paths=keys)([batch])
    return [str(one) for one in done.column("id").to_pylist()]


@given(st.dictionaries(texts.filter(lambda key: not key.startswith("_dlt")), values, max_size=5))
@example({"\\u001f": None, "a": "\\u001f1e-5\\u001f", "b": 1e-5})
def test_a_row_is_hashed_in_the_encoding_of_dlt(row: dict[str, Any]) -> None:
    text = orjson.dumps(row).decode()

    assert ids(text) == [shake(orjson.dumps(row, option=orjson.OPT_SORT_KEYS))]


def test_system_columns_and_the_order_of_keys_do_not_change_the_hash() -> None:
    assert ids('{"b":1,"a":2,"_dlt_load_id":"x"}') == ids('{ "a": 2, "b": 1 }')


def test_a_key_is_read_from_its_first_path_with_a_value() -> None:
    keys = {"a__b": [["a__b"], ["a", "b"]], "c": [["c"]]}

    assert ids('{"a":{"b":1},"c":null,"d":5}', keys) == [shake(b'{"a__b":1,"c":null}')]
    assert ids('{"a":7}', keys) == [shake(b'{"a__b":null,"c":null}')]


def test_given_ids_and_nulls_are_unchanged() -> None:
    batch = pa.RecordBatch.from_pydict({"_dlt_id": ["mine", None, f"mine{ID_SEPARATOR}1{ID_SEPARATOR}0"]})

    (done,) = nested_hashes(["t", "t__l"], ["_dlt_id"])([batch])

    assert done.column("_dlt_id").to_pylist() == ["mine", None, shake(b"mine_t__l_0")]


def test_the_cache_of_parents_is_bounded() -> None:
    chains = [
        f"r{number}{ID_SEPARATOR}1{ID_SEPARATOR}0{ID_SEPARATOR}2{ID_SEPARATOR}0" for number in range(2_500)
    ]
    batch = pa.RecordBatch.from_pydict({"_dlt_id": chains})

    (done,) = nested_hashes(["t", "t__l", "t__l__m"], ["_dlt_id"])([batch])

    expected = shake(f"{shake(b'r2499_t__l_0')}_t__l__m_0".encode())
    assert done.column("_dlt_id").to_pylist()[-1] == expected


STRANGER = """
import sys
sys.modules["penstock"] = None
import pyarrow as pa
from pyspark import cloudpickle
rows, nested = cloudpickle.loads(bytes.fromhex(sys.stdin.read()))
(done,) = rows([pa.RecordBatch.from_pydict({"id": ["?"], "text": ['{"a":0.00001}']})])
(chained,) = nested([pa.RecordBatch.from_pydict({"id": ["r\\x1f1\\x1f0"]})])
print(done.column("id")[0], chained.column("id")[0])
"""


def test_mappers_run_without_penstock() -> None:
    both = row_hashes(text_column="text", id_column="id"), nested_hashes(["t", "t__l"], ["id"])
    dumps: Any = cloudpickle.dumps

    done = subprocess.run(
        [sys.executable, "-c", STRANGER], input=dumps(both).hex(), capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [shake(b'{"a":0.00001}'), shake(b"r_t__l_0")]
