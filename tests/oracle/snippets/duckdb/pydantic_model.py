"""Columns of a pydantic model."""

from datetime import date
from typing import Optional

from pydantic import BaseModel

import dlt


class Address(BaseModel):
    city: str
    zip_code: Optional[str] = None


class Person(BaseModel):
    id: int
    born: date
    height: Optional[float] = None
    address: Address
    nicknames: list[str] = []


@dlt.resource(columns=Person, primary_key="id", write_disposition="merge")
def persons():
    yield {"id": 1, "born": "1815-12-10", "address": {"city": "London"}, "nicknames": ["Countess"]}
    yield Person(id=2, born=date(1906, 12, 9), height=1.7, address=Address(city="New York"))


dlt.pipeline("pydantic_model", destination="duckdb", dataset_name="people").run(persons())
