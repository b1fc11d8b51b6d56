"""Rows that cannot be loaded: without a key, with too many digits, with a value of an unsupported type.

    python examples/bad_rows.py

Promise: they do not fail the run and are not lost. Each is stored in the table `_dlt_quarantine` with the
reason, the others are loaded, and the run reports their number.
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
    """Load all payments; return the broken promise, if any."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline("payments", f"{folder}/pipelines", destination=lake, dataset_name="demo")

    info = pipeline.run(payments())
    print(info)

    dataset = pipeline.dataset()
    quarantined = dataset["_dlt_quarantine"].select("table_name", "rule", "reason", "raw").fetchall()
    for table, rule, reason, raw in quarantined:
        print(f"quarantined from {table} ({rule}): {reason}\n  {raw}")
    counts = dataset.row_counts()
    if counts != {"payments": len(GOOD), "_dlt_quarantine": len(BAD)}:
        return f"rows are duplicated or lost: {counts}"
    if not all(reason and raw for _, _, reason, raw in quarantined):
        return "a row was quarantined without a reason, or without its content"
    notes = [note for note in info.notes if "payments" in note]
    return None if len(notes) == len(BAD) else "the run did not report each of them"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
