"""Executors and the driver write the same JSON text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.extract.encode import encode
from penstock.extract.json_fallback import encode_text

texts = st.text(max_size=8) | st.builds(
    lambda tag, rest: tag + rest, st.sampled_from("\uf026\uf028\uf02f"), st.text(max_size=3)
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**62, max_value=2**70)
    | st.floats()
    | texts
    | st.decimals(allow_nan=True)
    | st.datetimes(timezones=st.none() | st.timezones())
    | st.dates()
    | st.times()
    | st.uuids()
    | st.binary(max_size=8)
)
keys = texts | st.integers(0, 9) | st.booleans() | st.dates() | st.uuids()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers(), max_size=1)
        | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(row=st.dictionaries(keys, values, max_size=4) | values)
def test_the_fallback_encoder_agrees_with_orjson(row: Any) -> None:
    assert json.loads(encode_text(row)) == json.loads(encode(row))


def test_the_text_is_one_line_without_blanks() -> None:
    assert encode_text({"a": [1, "é"], "b": None}) == '{"a":[1,"é"],"b":null}'
