"""The user's encoder of values without a JSON form: in rows and in hashes of rows."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extract_data, table_rows

from penstock.common import json as dlt_json
from penstock.errors import ResourceFailed
from penstock.extract.cursor.digest import new_digest, old_digest
from penstock.extract.encode import encode
from penstock.extract.json_fallback import encode_text
from penstock.package import Package, Packages
from penstock.package.tags import DECIMAL, ESCAPED_TEXT, NON_FINITE, WEI

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Coordinate:
    """A value that JSON has no form for; its content may be anything."""

    def __init__(self, content: Any) -> None:
        self.content = content


def encode_coordinate(value: Any) -> Any:
    if isinstance(value, Coordinate):
        return value.content
    raise TypeError(f"{value!r} is unknown")


@pytest.fixture(autouse=True)
def _encoder() -> Iterator[None]:
    dlt_json.set_custom_encoder(encode_coordinate)
    yield
    dlt_json.set_custom_encoder(None)


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


@dataclass
class Stop:
    at: Coordinate


ENCODED = [
    ("8°", "8°"),
    ({"x": 1, "y": [Coordinate(2)]}, {"x": 1, "y": [2]}),
    (Coordinate("inner"), "inner"),
    (None, None),
    (math.nan, NON_FINITE + "nan"),
    ([math.inf], [NON_FINITE + "inf"]),
    (Decimal("1.50"), DECIMAL + "1.50"),
    (2**70, WEI + str(2**70)),
    (DECIMAL + "no number", ESCAPED_TEXT + DECIMAL + "no number"),
]


@pytest.mark.parametrize(("content", "form"), ENCODED)
@pytest.mark.parametrize("write", [encode, encode_text])
def test_what_the_encoder_returns_is_written_like_other_values(
    content: Any, form: Any, write: Callable[[Any], str | bytes]
) -> None:
    for row in ({"at": Coordinate(content)}, Stop(Coordinate(content))):
        assert json.loads(write(row)) == {"at": form}
    assert json.loads(write(Coordinate(content))) == {"value": form}


@pytest.mark.parametrize("write", [encode, encode_text, dlt_json.dumps])
def test_values_that_the_encoder_refuses_are_refused_in_its_words(write: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError) as refused:
        write({"v": 1j})

    assert "1j is unknown" in f"{refused.value} {refused.value.__cause__}"


def test_an_encoder_that_returns_its_value_does_not_run_forever() -> None:
    dlt_json.set_custom_encoder(lambda value: value)

    for write in (encode, encode_text):
        with pytest.raises(RecursionError):
            write({"v": 1j})


def test_json_uses_the_encoder_last() -> None:
    assert dlt_json.dumps([Coordinate("8°"), Decimal("1.5"), {"at": Coordinate([1])}]) == (
        '["8°","1.5",{"at":[1]}]'
    )
    typed = dlt_json.typed_dumps({"at": Coordinate(Decimal("1.5")), "stop": Stop(Coordinate(1))})
    assert dlt_json.typed_loads(typed) == {"at": Decimal("1.5"), "stop": {"at": 1}}


def test_rows_with_such_values_are_extracted_and_others_are_quarantined(package: Package) -> None:
    rows = [{"at": Coordinate({"x": 1})}, {"at": 1j}, {"at": Coordinate("8°")}]

    done = extract_data(rows, package, table_name="stops")

    tables = table_rows(package, done)
    assert tables["stops"] == [{"at": {"x": 1}}, {"at": "8°"}]
    assert [row["reason"] for row in tables["_dlt_quarantine"]] == ["1j is unknown"]


def test_any_other_error_of_the_encoder_ends_the_extraction(package: Package) -> None:
    dlt_json.set_custom_encoder(lambda value: {}[value])

    with pytest.raises(ResourceFailed, match="KeyError"):
        extract_data([{"at": 1j}], package, table_name="stops")


@pytest.mark.parametrize("digest", [new_digest, old_digest])
def test_rows_have_the_hash_of_what_the_encoder_returns(digest: Callable[[Any], bytes]) -> None:
    assert digest({"b": 1, "at": Coordinate("8°")}) == digest({"at": "8°", "b": 1})
    assert digest([Coordinate("8°"), 2**70]) == digest([Coordinate("8°"), 2**70])
