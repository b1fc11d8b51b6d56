"""Rows that cannot be loaded: without a key, with too many digits, with a value that nothing can be made of.

    python examples/bad_rows.py

Promise: they stop nothing and do not vanish. Each is kept in the table `_dlt_quarantine` with the reason,
the others are loaded, and the run tells how many there were.
"""

import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import penstock

GOOD = [{"id": number, "amount": Decimal("9.95")} for number in range(1, 98)]
BAD = [
    {"amount": Decimal("1.50")},
    {"id": 98, "amount": Decimal("1.2345")},
    {"id": 99, "amount": Decimal("1.50"), "phase": 1j},
]


@penstock.resource(
    primary_key="id",
    write_disposition={"disposition": "merge", "strategy": "upsert"},
    columns={"amount": {"data_type": "decimal", "precision": 8, "scale": 2}},
)
def payments() -> Iterator[Any]:
    """Payments, three of them bad."""
    yield from [*GOOD[:50], *BAD, *GOOD[50:]]


def main(folder: str) -> str | None:
    """Load them all; gives what is wrong, if anything is."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline("payments", f"{folder}/pipelines", destination=lake, dataset_name="demo")

    info = pipeline.run(payments())
    print(info)

    dataset = pipeline.dataset()
    aside = dataset["_dlt_quarantine"].select("table_name", "rule", "reason", "raw").fetchall()
    for table, rule, reason, raw in aside:
        print(f"put aside from {table} ({rule}): {reason}\n  {raw}")
    counts = dataset.row_counts()
    if counts != {"payments": len(GOOD), "_dlt_quarantine": len(BAD)}:
        return f"rows are doubled or lost: {counts}"
    if not all(reason and raw for _, _, reason, raw in aside):
        return "a row was put aside without a reason, or without its content"
    notes = [note for note in info.notes if "payments" in note]
    return None if len(notes) == len(BAD) else "the run did not tell of each of them"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
