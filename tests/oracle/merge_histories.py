"""Histories of loads into one table and its nested tables, generated from a seed for both tools."""

from __future__ import annotations

import random
from itertools import count, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

STRATEGIES = ("delete-insert", "upsert", "insert-only", "scd2")
KEYS: dict[str, tuple[tuple[list[str], list[str]], ...]] = {
    "delete-insert": ((["id"], []), ([], ["day"]), (["id"], ["day"]), (["id", "day"], []), ([], [])),
    "upsert": ((["id"], []), (["id", "day"], [])),
    "insert-only": ((["id"], []), (["id", "day"], [])),
    "scd2": (([], []), ([], ["day"])),
}
SWITCHES = (
    ("delete-insert", "upsert"),
    ("upsert", "delete-insert"),
    ("upsert", "insert-only"),
    ("insert-only", "upsert"),
    ("insert-only", "delete-insert"),
    ("append", "delete-insert"),
    ("replace", "delete-insert"),
    ("delete-insert", "append"),
    ("upsert", "replace"),
)
COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"data_type": "bigint"},
    "day": {"data_type": "text"},
    "name": {"data_type": "text"},
    "at": {"data_type": "bigint"},
    "deleted": {"data_type": "bool"},
    "late": {"data_type": "text"},
}
"""All columns are declared, so that a load without a value for one is like the others."""

LONGEST = 12
TABLES = {"root": 1, "nested: tags": 1, "nested: tags and parts": 3}
FLAGS: dict[str, tuple[Any, Any]] = {"bool": (False, True), "bigint": (0, 1)}
"""Return the values of a delete flag: if the column is not boolean, any value deletes, 0 too."""


def history(seed: int) -> dict[str, Any]:
    """Return one history: the declaration of the resource, and the rows of 2 to 6 loads."""
    chance = random.Random(seed)
    # Of five consecutive seeds each strategy has one, and one changes its strategy.
    switch = chance.choice(SWITCHES) if seed % 5 == 4 else None
    strategy = STRATEGIES[seed % 5] if switch is None else next(item for item in switch if item in STRATEGIES)
    primary, merge = (["id"], []) if switch else chance.choice(KEYS[strategy])
    words = Words(chance, strategy, has_key=bool(primary), switch=switch)
    many = chance.randint(2, 6)
    turn = chance.randint(1, many - 1)
    loads = []
    for number in range(many):
        options = strategy if switch is None else switch[number >= turn]
        loads.append({"write_disposition": words.disposition(options, number), "rows": words.rows(number)})
    return {
        "name": f"h{seed}",
        "primary_key": primary,
        "merge_key": merge,
        "columns": words.columns,
        "loads": loads,
        "kind": ">".join(switch) if switch else strategy,
        "traits": words.traits(primary, merge),
    }


def drifting_history(seed: int) -> dict[str, Any]:
    """Return a history whose rows get columns, types and nested tables that were not declared.

    Of ten consecutive seeds one has no merge, but appends and replaces.
    """
    case = history(seed)
    chance = random.Random(f"drift {seed}")
    drifts = chance.sample(sorted(DRIFTS), chance.randint(1, 3))
    begin = {name: chance.randrange(len(case["loads"])) for name in drifts}
    loads = []
    for number, load in enumerate(case["loads"]):
        rows = [dict(row) for row in load["rows"]]
        for name, row in ((name, row) for row in rows for name in drifts):
            if number >= begin[name] and chance.random() < 0.6:
                row.update(DRIFTS[name](chance, number - begin[name]))
        disposition = chance.choice(("append", "replace")) if seed % 10 == 7 else load["write_disposition"]
        loads.append({"write_disposition": disposition, "rows": rows})
    kind = "without merge" if seed % 10 == 7 else case["kind"]
    return {**case, "loads": loads, "kind": kind, "traits": [*case["traits"], *drifts]}


def _number_or_more(chance: random.Random, age: int) -> dict[str, Any]:
    """Return a number at first, and later also a fraction, a text or a list."""
    later = (chance.randint(0, 9) + 0.5, f"about {chance.randint(0, 9)}", [chance.randint(0, 9)])
    return {"size": chance.choice((chance.randint(0, 9), *later[:age]))}


def _nested_rows(chance: random.Random, age: int) -> dict[str, Any]:
    """Return a list of objects, which get keys and types."""
    items = [
        {"text": f"n{chance.randint(0, 3)}", "by": chance.choice((1, "x")) if age else 1}
        for _ in range(chance.randint(0, 2))
    ]
    return {"notes": [item | ({"when": "2024-05-01T10:00:00Z"} if age > 1 else {}) for item in items]}


DRIFTS: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {
    "new column": lambda chance, age: {f"color_{min(age, 2)}": f"c{chance.randint(0, 3)}"},
    "new object": lambda chance, age: {"origin": {"city": "x", "zip": age} | ({"floor": 1.5} if age else {})},
    "number, then more": _number_or_more,
    "moment, then text": lambda chance, age: {
        "seen": "soon" if age and chance.random() < 0.3 else f"2024-02-0{chance.randint(1, 9)}T01:02:03Z"
    },
    "new nested table": _nested_rows,
}
"""Values that were not declared, by a name, for a load after so many others with them."""


def short_ones(first: int, many: int) -> list[int]:
    """Return the next seeds whose histories take a dozen commits at most: others take four times as long."""
    seeds = (seed for seed in count(first) if commits(history(seed)) <= LONGEST)
    return list(islice(seeds, many))


def commits(case: dict[str, Any]) -> int:
    """Return the number of commits of a history, if all of its tables get rows each time."""
    return len(case["loads"]) * sum(TABLES.get(trait, 0) for trait in ("root", *case["traits"]))


class Words:
    """The properties of a history, drawn once for all its loads."""

    def __init__(
        self, chance: random.Random, strategy: str, *, has_key: bool, switch: tuple[str, str] | None
    ) -> None:
        self.chance, self.keeps_versions = chance, strategy == "scd2"
        self.nested: tuple[str, ...] = chance.choice(((), ("tags",), ("tags", "parts")))
        self.flag = chance.choice((None, None, "bool", "bigint"))
        # A flagged row inserted by dlt would block later ones.
        if self.keeps_versions or switch == ("upsert", "insert-only"):
            self.flag = None
        self.sorts = chance.choice((None, "asc", "desc")) if has_key and not self.keeps_versions else None
        # Without a defined winner in dlt nothing can be compared.
        self.doubles = self.sorts is not None and strategy == "delete-insert" and switch is None
        self.until = "9999-12-31T00:00:00+00:00" if self.keeps_versions and chance.random() < 0.3 else None
        self.columns = {name: dict(column) for name, column in COLUMNS.items()}
        if self.flag:
            self.columns["deleted"] = {"data_type": self.flag, "hard_delete": True}
        if self.sorts:
            self.columns["at"]["dedup_sort"] = self.sorts
        # Versions recur: each row is one of a few.
        self.versions = [[self._row(number, number, 0) for _ in range(2)] for number in range(6)]

    def disposition(self, options: str, number: int) -> Any:
        """Return the disposition of one load."""
        if options not in STRATEGIES:
            return options
        words = {"disposition": "merge", "strategy": options}
        if options == "scd2":
            words["boundary_timestamp"] = f"2024-01-{number + 1:02d}T00:00:00+00:00"
            words |= {"active_record_timestamp": self.until} if self.until else {}
        return words

    def rows(self, load: int) -> list[dict[str, Any]]:
        """Return the rows of one load."""
        chance = self.chance
        if self.keeps_versions:
            return [chance.choice(pair) for pair in self.versions if chance.random() < 0.7]
        result: list[dict[str, Any]] = []
        for number in chance.sample(range(8), chance.randint(1, 6)):
            for again in range(1 + (self.doubles and chance.random() < 0.3)):
                result.append(self._row(number, load * 1000 + len(result) * 10 + again, load))
        return result

    def traits(self, primary: list[str], merge: list[str]) -> list[str]:
        """Return the features of the history, to count how often each was compared."""
        output = {
            f"nested: {' and '.join(self.nested)}": self.nested,
            f"flag {self.flag}": self.flag,
            f"sorted {self.sorts}, doubles": self.doubles,
            "compound key": len(primary) > 1,
            "merge key": bool(merge),
            "no key": not primary and not merge and not self.keeps_versions,
            "active until": self.until,
        }
        return [name for name, holds in output.items() if holds]

    def _row(self, number: int, at: int, load: int) -> dict[str, Any]:
        chance = self.chance
        row: dict[str, Any] = {
            "id": number,
            "day": f"d{number % 3}" if chance.random() < 0.9 else "d9",
            "name": f"n{chance.randint(0, 2)}",
            "at": at,
        }
        if self.flag:
            row["deleted"] = chance.choice((None, None, *FLAGS[self.flag]))
        if load >= 2 and chance.random() < 0.3:
            row["late"] = f"l{load}"
        return row | self._nested()

    def _nested(self) -> dict[str, Any]:
        """Return lists that grow and shrink, down to none."""
        chance = self.chance
        result: dict[str, Any] = {}
        if "tags" in self.nested and chance.random() < 0.7:
            result["tags"] = [f"t{chance.randint(0, 3)}" for _ in range(chance.randint(0, 3))]
        if "parts" in self.nested and chance.random() < 0.6:
            result["parts"] = [
                {"sku": f"s{part}", "sizes": [chance.randint(1, 3) for _ in range(chance.randint(0, 2))]}
                for part in range(chance.randint(0, 2))
            ]
        return result
