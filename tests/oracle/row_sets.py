"""Three thousand cases of three batches each: rows of every shape, and a stored schema."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from random import Random
from typing import Any, cast

from penstock.schema import Schema

COUNT = 3_000
RECORDED = 1_000
BATCHES = 3

_KEYS = ("id", "userName", "Price", "tags", "meta", "a", "b__c", "Größe", "with space", "value", "list", "x1")
_COLLIDING = ("user_name", "A", "with_space", "_dlt_load_id", "a__v_text", "__", "")
_TEXTS = (
    "", "word", "5", " 7 ", "-12", "3.5", "1e3", "0x1F", "true", "No", "y", "{}", "[1, 2]", '"q"', "null",
    "2024-01-02", "2024-01-02T03:04:05Z", "2024-01-02 03:04", "20240102T030405", "2024-01-02T03:04:05+01:00",
    "2024-01-02T00:00:00Z", "03:04:05", "1700000000", "1_000", "nan", "a longer text with blanks", "日本",
    "0", "1", "YWI=",
)  # fmt: skip
_NUMBERS = (0, 1, 2, -1, 7, 42, 10**6, 1_700_000_000, 2**31, 86_400, 3, 4, -5, 100)
_WIDE_NUMBERS = (2**53, 2**53 + 1, 2**63 - 1, -(2**63))
_FRACTIONS = (0.0, 1.0, 0.5, -2.5, 3.7, 1e10, 86_400.0, 3.0, 1e-12)
_DECIMALS = ("0", "1", "1.5", "-3.00", "0.1", "123456789.123456789", "12345678901234567890")
_DETECTIONS = ((), ("iso_timestamp",), ("iso_timestamp",), ("iso_timestamp", "iso_date"), ("iso_date",))
_TYPES = ("text", "double", "bool", "timestamp", "bigint", "binary", "json", "decimal", "date", "time", "wei")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A schema, and batches of rows."""

    number: int
    keys: frozenset[str]
    document: dict[str, Any]
    batches: tuple[tuple[Any, ...], ...]

    def coded(self) -> dict[str, Any]:
        """Return the case as JSON for the bridge, with marks for types that JSON lacks."""
        return {
            "document": self.document,
            "batches": [[code(row) for row in batch] for batch in self.batches],
        }


def rowset(number: int) -> Case:
    """Return the case of this number, which is deterministic."""
    random = Random(number)
    depth = random.choice((0, 1, 1, 2, 3))
    keys = random.sample(_KEYS, random.randint(2, 6))
    if random.random() < 0.1:
        keys.append(random.choice(_COLLIDING))
    flavour = {key: random.sample(range(len(_MAKERS)), random.choice((1, 1, 2, 3))) for key in keys}
    return Case(
        number=number,
        keys=frozenset(keys),
        document=_document(random),
        batches=tuple(
            tuple(_row(random, keys, flavour, depth) for _ in range(random.randint(1, 5)))
            for _ in range(BATCHES)
        ),
    )


def code(value: Any) -> Any:
    """Turn a Python value into JSON that `bridge.value` reads."""
    match value:
        case dict():
            return {key: code(item) for key, item in value.items()}
        case list():
            return [code(item) for item in value]
        case datetime():
            return {"$": "timestamp", "v": value.isoformat()}
        case date():
            return {"$": "date", "v": value.isoformat()}
        case time():
            return {"$": "time", "v": value.isoformat()}
        case Decimal():
            return {"$": "decimal", "v": str(value)}
        case bytes():
            return {"$": "binary", "v": value.hex()}
        case _:
            return value


def _document(random: Random) -> dict[str, Any]:
    schema = Schema("oracle")
    columns: dict[str, Any] = {}
    if random.random() < 0.3:
        kind = random.choice(_TYPES)
        columns["price"] = {"name": "price", "data_type": kind, "nullable": random.random() < 0.8}
    if random.random() < 0.2:
        columns["id"] = {"name": "id", "nullable": False, "primary_key": True}
    if random.random() < 0.2:
        columns["meta"] = {"name": "meta", "data_type": "json", "nullable": True}
    disposition = random.choice(("append", "append", "merge", "replace"))
    schema.update_table(cast("Any", {"name": "t", "columns": columns, "write_disposition": disposition}))
    settings: dict[str, Any] = {"detections": list(random.choice(_DETECTIONS))}
    if random.random() < 0.2:
        settings["preferred_types"] = {random.choice(("re:^a", "x1", "tags")): random.choice(_TYPES)}
    stored = schema.stored.with_settings(**settings)
    if random.random() < 0.3:
        json = {**stored.normalizers["json"]}
        json["config"] = {**json.get("config", {}), "max_nesting": random.randint(0, 3)}
        stored = stored.with_normalizers(json=json)
    schema.update(stored)
    return cast("dict[str, Any]", schema.to_dict())


def _row(random: Random, keys: list[str], flavour: dict[str, list[int]], depth: int) -> Any:
    if random.random() < 0.02:
        return random.choice(_TEXTS)
    present = [key for key in keys if random.random() < 0.8]
    return {key: _MAKERS[random.choice(flavour[key])](random, depth) for key in present}


def _object(random: Random, depth: int) -> Any:
    if depth <= 0:
        return random.choice(_NUMBERS)
    keys = random.sample(("id", "x", "Deep", "list", "value"), random.randint(0, 3))
    return {key: random.choice(_MAKERS)(random, depth - 1) for key in keys}


def _list(random: Random, depth: int) -> Any:
    if depth <= 0:
        return random.choice(_TEXTS)
    return [random.choice(_MAKERS)(random, depth - 1) for _ in range(random.randint(0, 3))]


_MAKERS = (
    lambda random, _: random.choice(_TEXTS),
    lambda random, _: random.choice(_TEXTS),
    lambda random, _: random.choice(_NUMBERS),
    lambda random, _: random.choice(_NUMBERS),
    lambda random, _: random.choice(_NUMBERS if random.random() < 0.9 else _WIDE_NUMBERS),
    lambda random, _: random.choice(_FRACTIONS),
    lambda random, _: random.random() < 0.5,
    lambda *_: None,
    lambda random, _: Decimal(random.choice(_DECIMALS)),
    lambda random, _: datetime(2024, 1, random.randint(1, 28), random.choice((0, 3)), tzinfo=UTC),
    lambda random, _: date(2024, 1, random.randint(1, 28)),
    lambda random, _: time(random.randint(0, 23), 4),
    lambda random, _: random.randbytes(3),
    _object,
    _object,
    _list,
    _list,
)
