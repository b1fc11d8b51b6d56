"""Scenarios of runs, as plain data: dispositions, second runs and failures, the same for both tools."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.oracle.scenario_steps import (
    EARLY,
    FIRST_ROWS,
    INT,
    LAST,
    LATE,
    NEW_COLUMN,
    NEW_TABLE,
    OTHER_TYPE,
    PLAIN,
    SECOND_ROWS,
    STRATEGIES,
    THIRD_ROWS,
    WIDE,
    Orders,
    buyers,
    run,
    step,
)

if TYPE_CHECKING:
    from tests.oracle.scenario_steps import Rows, Step

Scenario = dict[str, Any]
Steps = Callable[[str], "list[Step]"]
"""A function from a disposition, or a merge strategy, to steps."""

DISPOSITIONS = ("append", "replace", *STRATEGIES)
MOST = ("append", "replace", "delete-insert", "upsert", "scd2")
MODES = {
    "drop_sources": ("append", "replace", "upsert"),
    "drop_resources": ("append", "delete-insert", "scd2"),
    "drop_data": MOST,
}
SHORT = 2
"""The most loads of a short scenario."""


def loads(*rows: Rows, **options: Any) -> Steps:
    """Return runs one after another."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, **options)
        return [run(orders(row)) for row in rows]

    return steps


def between(*others: Step, first: Rows = FIRST_ROWS, then: Rows = SECOND_ROWS, **options: Any) -> Steps:
    """Return two runs with other steps between them."""

    def steps(word: str) -> list[Step]:
        before, after = loads(first, then, **options)(word)
        return [before, *others, after]

    return steps


def raising(*, first: Rows = FIRST_ROWS, then: Rows = SECOND_ROWS, at: int = 1, **options: Any) -> Steps:
    """Return a second run that raises between its rows, and is repeated."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, **options)
        return [run(orders(first)), run(orders(then, raises_at=at)), run(orders(then))]

    return steps


def raising_first(word: str) -> list[Step]:
    orders = Orders(word, counts=True)
    return [run(orders(FIRST_ROWS, raises_at=1), buyers()), run(orders(FIRST_ROWS))]


def pending(*others: Step, **options: Any) -> Steps:
    """Return a run with new data after a pending package and other steps."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, counts=True)
        return [
            run(orders(FIRST_ROWS)),
            step("extract", orders(SECOND_ROWS)),
            *others,
            run(orders(THIRD_ROWS), **options),
        ]

    return steps


def stepwise(word: str) -> list[Step]:
    orders = Orders(word, counts=True)
    first, second = (step("extract", orders(rows)) for rows in (FIRST_ROWS, SECOND_ROWS))
    return [first, step("normalize"), second, step("load"), step("normalize"), step("load")]


def refreshed(mode: str, rows: Rows = THIRD_ROWS, **options: Any) -> Steps:
    """Return a refresh of one of two resources."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, counts=bool(rows))
        return [run(orders(FIRST_ROWS), buyers()), run(orders(rows, **options), refresh=mode)]

    return steps


def contract(entity: str, mode: str, rows: Rows) -> Steps:
    """Return a second run with a contract; a frozen load is dropped after two failures."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, counts=True)
        hints = {"schema_contract": {entity: mode}}
        result = [run(orders(PLAIN)), run(orders(rows, hints))]
        if mode != "freeze":
            return result
        return [*result, run(orders(THIRD_ROWS, hints)), step("drop_pending"), run(orders(LAST, hints))]

    return steps


def two_datasets(*others: Step) -> Steps:
    """Return loads of another dataset between two loads of the first one."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, cursor="at")
        elsewhere = [run(orders(rows), dataset="other") for rows in (EARLY, LATE)]
        return [run(orders(EARLY)), *elsewhere, *others, run(orders(LATE))]

    return steps


def cursor_given_up(word: str) -> list[Step]:
    orders = Orders(word, cursor="at")
    return [
        run(orders(EARLY)),
        step("extract", orders(LATE)),
        step("drop_pending"),
        run(orders(LATE)),
    ]


def cursor_refreshed(word: str) -> list[Step]:
    orders = Orders(word, cursor="at")
    return [run(orders(EARLY)), run(orders(LATE), refresh="drop_data")]


def deleted_pending(word: str) -> list[Step]:
    orders = Orders(word)
    return [
        run(orders(FIRST_ROWS)),
        step("extract", orders(SECOND_ROWS), apart=True),
        step("delete"),
        run(orders(THIRD_ROWS)),
    ]


def spoiled(*then: str) -> Steps:
    """Return a load that an incompatible table blocks, and the steps that follow."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word, counts=True)
        stuck = [run(buyers()), step("spoil", table="orders"), run(orders(PLAIN))]
        after = {
            "mend": step("mend", table="orders"),
            "finish": run(),
            "run": run(orders(LAST)),
            "give up": step("drop_pending"),
        }
        return [*stuck, *(after[name] for name in then)]

    return steps


def wide(rows: Rows) -> Steps:
    """Return loads with values that are wider than their declared column."""

    def steps(word: str) -> list[Step]:
        orders = Orders(word)
        return [run(orders(PLAIN, INT)), run(orders(rows, INT))]

    return steps


def without_key(*before: Step) -> Steps:
    """Return a merge that needs a key and has none."""

    def steps(word: str) -> list[Step]:
        return [*before, run(Orders(word)(PLAIN, {"primary_key": None})), run()]

    return steps


# The name, the kind, the steps, and for which dispositions.
Family = tuple[str, str, Steps, tuple[str, ...]]
FAMILIES: tuple[Family, ...] = (
    ("again", "plain", loads(FIRST_ROWS, SECOND_ROWS, counts=True), DISPOSITIONS),
    ("twice", "plain", loads(FIRST_ROWS, FIRST_ROWS), ("append", "upsert", "scd2")),
    ("fresh", "plain", between(step("wipe"), counts=True), ("append", "replace", "upsert", "scd2")),
    (
        "synced",
        "plain",
        lambda word: [*loads(FIRST_ROWS)(word), step("wipe"), step("sync"), run()],
        ("append",),
    ),
    ("dropped", "plain", between(step("drop"), counts=True), ("append", "scd2")),
    ("stepwise", "plain", stepwise, ("append", "delete-insert")),
    ("pending", "pending", pending(), ("append", "replace", "upsert", "scd2")),
    ("pending-finished", "pending", pending(run()), ("append", "replace", "upsert", "scd2")),
    ("pending-given-up", "pending", pending(step("drop_pending")), ("append", "upsert")),
    ("pending-fresh", "pending", pending(step("wipe")), ("append",)),
    ("pending-dropped", "pending", pending(step("drop")), ("append",)),
    *((mode, "refresh", refreshed(mode), words) for mode, words in MODES.items()),
    ("drop_data-empty", "refresh", refreshed("drop_data", []), ("append",)),
    ("refresh-pending", "refresh", pending(refresh="drop_resources"), ("append",)),
    ("refresh-finished", "refresh", pending(run(), refresh="drop_resources"), ("append",)),
    ("raises", "raises", raising(counts=True), ("append", "replace", "delete-insert", "scd2")),
    ("raises-first", "raises", raising_first, ("append", "upsert")),
    *((f"{mode}-raises", "raises", refreshed(mode, SECOND_ROWS, raises_at=1), ("append",)) for mode in MODES),
    ("cursor-raises", "raises", raising(first=EARLY, then=LATE, at=3, cursor="at"), ("append",)),
    ("frozen-columns", "contract", contract("columns", "freeze", NEW_COLUMN), ("append", "upsert")),
    ("frozen-types", "contract", contract("data_type", "freeze", OTHER_TYPE), ("append",)),
    ("frozen-tables", "contract", contract("tables", "freeze", NEW_TABLE), ("append",)),
    ("refused-rows", "contract", contract("columns", "discard_row", NEW_COLUMN), ("append", "upsert")),
    ("refused-values", "contract", contract("columns", "discard_value", NEW_COLUMN), ("append",)),
    ("refused-types", "contract", contract("data_type", "discard_value", OTHER_TYPE), ("append",)),
    ("refused-tables", "contract", contract("tables", "discard_row", NEW_TABLE), ("append",)),
    ("empty", "empty", loads(FIRST_ROWS, []), MOST),
    ("empty-first", "empty", loads([], PLAIN), ("append", "replace")),
    ("nothing", "empty", lambda _: [run()], ("append",)),
    ("cursor", "cursor", loads(EARLY, LATE, LATE, cursor="at"), ("append", "replace", "delete-insert")),
    ("cursor-fresh", "cursor", between(step("wipe"), first=EARLY, then=LATE, cursor="at"), ("append",)),
    ("cursor-drop_data", "cursor", cursor_refreshed, ("append",)),
    ("cursor-given-up", "cursor", cursor_given_up, ("append",)),
    ("cursor-elsewhere", "cursor", two_datasets(), ("append",)),
    ("deleted", "deleted", between(step("delete"), counts=True), ("append", "replace", "upsert", "scd2")),
    ("cursor-deleted", "deleted", between(step("delete"), first=EARLY, then=LATE, cursor="at"), ("append",)),
    ("deleted-pending", "deleted", deleted_pending, ("append",)),
    ("deleted-waiting", "deleted", pending(step("delete")), ("append",)),
    ("spoiled", "job", spoiled("mend", "finish", "run"), ("append",)),
    ("spoiled-run", "job", spoiled("mend", "run"), ("append",)),
    ("spoiled-again", "job", spoiled("finish"), ("append",)),
    ("spoiled-given-up", "job", spoiled("give up", "mend", "run"), ("append",)),
    ("too-wide", "job", wide(WIDE), ("append",)),
    ("keyless", "job", loads(PLAIN, [{"id": 3}, {"price": 9}]), ("upsert",)),
    ("without-key", "job", without_key(run(buyers())), ("upsert",)),
    ("without-key-first", "job", without_key(), ("upsert",)),
)

WITHOUT_DIFFERENCES: tuple[Family, ...] = (
    ("as-empty-first", "", loads(PLAIN), ("append", "replace")),
    ("as-cursor-elsewhere", "", two_datasets(step("wipe")), ("append",)),
    ("as-deleted-pending", "", loads(SECOND_ROWS, THIRD_ROWS), ("append",)),
    ("as-deleted-kept", "", loads(SECOND_ROWS), ("append",)),
    ("as-too-wide", "", wide(LAST), ("append",)),
    ("as-keyless", "", loads(PLAIN, [{"id": 3}]), ("upsert",)),
)
"""Extra scenarios for dlt, whose end with dlt is the expected end of others with penstock."""


def scenarios(families: tuple[Family, ...] = FAMILIES) -> dict[str, Scenario]:
    """Return all scenarios by name; deterministic."""
    return {
        f"{name}/{word}": {"kind": kind, "disposition": word, "steps": steps(word)}
        for name, kind, steps, words in families
        for word in words
    }


def few(seed: int) -> list[str]:
    """Return one short scenario of each family."""
    chance = random.Random(seed)
    kinds: dict[str, list[str]] = {}
    for name, scenario in scenarios().items():
        if number_of_loads(scenario) <= SHORT:
            kinds.setdefault(scenario["kind"], []).append(name)
    return [chance.choice(names) for names in kinds.values()]


def number_of_loads(scenario: Scenario) -> int:
    """Return the most loads of a scenario."""
    return sum(item["do"] in {"run", "load"} for item in scenario["steps"])
