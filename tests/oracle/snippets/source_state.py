"""A source that remembers, with values of several types."""

from datetime import UTC, date, datetime
from decimal import Decimal

import dlt


@dlt.resource
def pages():
    state = dlt.current.source_state()
    last = state.get("last", 0)
    state.update(
        last=last + 1,
        at=datetime(2024, 1, 2, tzinfo=UTC),
        on=date(2024, 1, 2),
        rate=Decimal("1.50"),
        raw=b"ab",
    )
    yield {"page": last + 1}


@dlt.source
def book():
    return pages


@dlt.source
def magazine():
    return pages


def run(extract):
    extract(book())
    extract(book())
    extract([book(), magazine()])
