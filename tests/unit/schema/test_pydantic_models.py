from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, Literal, Optional, Union
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from penstock.errors import UsageError
from penstock.schema import Contract, Schema, Table
from penstock.schema.pydantic_models import columns_of_model, contract_of_model


class Colour(Enum):
    RED = "red"


class Rank(IntEnum):
    FIRST = 1


class Inner(BaseModel):
    x: int
    y: str | None = None


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    i: int
    oi: Optional[int]  # noqa: UP045  the old spelling is read too
    u: Union[int, str]  # noqa: UP007
    f: float | None = None
    s: str = "x"
    b: bool
    d: Decimal
    at: datetime
    day: date
    clock: time
    raw: bytes
    many: list[int]
    free: dict[str, Any]
    inner: Inner
    maybe: Inner | None = None
    colour: Colour
    rank: Rank
    key: UUID
    anything: Any
    aliased: int = Field(alias="Alias")
    word: Literal["a", "b"]
    positive: Annotated[int, Field(gt=0)]
    pair: tuple[int, str]
    some: set[int]


class Flat(Order):
    dlt_config: ClassVar[dict[str, Any]] = {"skip_nested_types": True}


TYPES = {
    "i": "bigint",
    "oi": "bigint",
    "u": "bigint",
    "f": "double",
    "s": "text",
    "b": "bool",
    "d": "decimal",
    "at": "timestamp",
    "day": "date",
    "clock": "time",
    "raw": "binary",
    "many": "json",
    "free": "json",
    "inner": "json",
    "maybe": "json",
    "colour": "text",
    "rank": "bigint",
    "key": "text",
    "Alias": "bigint",
    "word": "text",
    "positive": "bigint",
    "pair": "json",
    "some": "json",
}


def test_a_model_has_names_types_and_nullability_of_columns() -> None:
    columns = columns_of_model(Order)

    assert {name: column["data_type"] for name, column in columns.items()} == TYPES
    assert {name for name, column in columns.items() if column["nullable"]} == {"oi", "f", "maybe"}


def test_fields_of_nested_models_can_be_columns() -> None:
    columns = columns_of_model(Flat)

    assert {"many", "free", "inner", "maybe"}.isdisjoint(columns)
    assert columns["inner__x"] == {"name": "inner__x", "data_type": "bigint", "nullable": False}
    assert columns["maybe__x"]["nullable"]


@pytest.mark.parametrize(
    ("extra", "mode"),
    [(None, "discard_value"), ("ignore", "discard_value"), ("forbid", "freeze"), ("allow", "evolve")],
)
def test_the_extra_setting_of_a_model_is_its_contract(extra: Any, mode: Any) -> None:
    class Model(BaseModel):
        model_config = ConfigDict(extra=extra) if extra else ConfigDict()

    assert contract_of_model(Model) == Contract(columns=mode, data_type="freeze")


def test_the_columns_of_a_model_are_columns_of_a_table() -> None:
    schema = Schema("shop")

    schema.update_table(Table.from_dict({"name": "orders", "columns": columns_of_model(Order)}))

    assert schema.tables["orders"].columns["d"].data_type == "decimal"


def test_other_classes_are_refused() -> None:
    with pytest.raises(UsageError, match="not a pydantic model"):
        columns_of_model(dict)
