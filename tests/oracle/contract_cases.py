"""Six hundred cases of contracts at up to three levels, and batches that test them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

COUNT = 600
BATCHES = 3
_MODES = ("evolve", "freeze", "discard_row", "discard_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCase:
    """The contracts by level, and the batches of rows."""

    number: int
    run: Any
    table: Any
    schema: Any
    batches: tuple[tuple[dict[str, Any], ...], ...]

    def coded(self) -> dict[str, Any]:
        """Return the case as data for the bridge."""
        return {
            "run": self.run,
            "table": self.table,
            "schema": self.schema,
            "batches": [list(batch) for batch in self.batches],
        }


def contract_case(number: int) -> ContractCase:
    """Return the case of this number, which is deterministic.

    Elements of one list have the same keys, because dlt holds a nested table to its first row (the difference
    `nested-first-run`, which has a separate test).
    """
    random = Random(number + 70_000)
    return ContractCase(
        number=number,
        run=_settings(random) if random.random() < 0.2 else None,
        table=_settings(random) if random.random() < 0.5 else None,
        schema=_settings(random) if random.random() < 0.6 else None,
        batches=tuple(_batch(random, surprises=number > 0) for number in range(BATCHES)),
    )


def _settings(random: Random) -> Any:
    if random.random() < 0.4:
        return random.choice(_MODES)
    entities = random.sample(("tables", "columns", "data_type"), random.randint(1, 3))
    return {entity: random.choice(_MODES) for entity in entities}


def _batch(random: Random, *, surprises: bool) -> tuple[dict[str, Any], ...]:
    new_key, new_list = random.choice(("d", "e")), random.choice(("others", "more"))
    element_key = random.choice(("p", "p", "r")) if surprises else "p"
    rows = []
    for _ in range(random.randint(1, 4)):
        row: dict[str, Any] = {"a": random.randint(5, 9), "b": random.choice(("red", "green"))}
        if random.random() < 0.7:
            row["items"] = [{element_key: random.randint(5, 9)} for _ in range(random.randint(1, 2))]
        if surprises and random.random() < 0.5:
            row |= _surprise(random, new_key, new_list)
        rows.append(row)
    return tuple(rows)


def _surprise(random: Random, new_key: str, new_list: str) -> dict[str, Any]:
    match random.randint(0, 5):
        case 0:
            return {new_key: random.randint(5, 9)}
        case 1:
            return {"a": "a word"}
        case 2:
            return {new_list: [{"q": 7}]}
        case 3:
            return {"items": [{"p": "a word"}, {"p": 6}]}
        case 4:
            return {"o": {"k": random.randint(5, 9)}}
        case _:
            return {"a": None, new_key: None}
