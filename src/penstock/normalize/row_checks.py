"""Checks whose failing rows are quarantined, evaluated while Spark writes the rows of a root table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.normalize.check_counts import require_condition, row_fails, with_missing_columns
from penstock.normalize.checks import expectation_reason, expectation_rule
from penstock.normalize.plan import Planner
from penstock.normalize.refusals import RefusedRows
from penstock.normalize.row_conditions import condition_columns
from penstock.package.projection.explode import root_columns
from penstock.package.quarantine import ROOT_PATH
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.interfaces.check import Check
    from penstock.normalize.nested_layout import NestedLayout
    from penstock.schema import Decision

_CARRIED: Final = "penstock: carried"
_FAILED: Final = "penstock: failed check"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChecks:
    """The checks of a root table, with the SQL of the columns that they name."""

    checks: tuple[Check, ...]
    columns: Mapping[str, str]

    @property
    def refusals(self) -> tuple[RefusedRows, ...]:
        """The rows that fail each check and none before it."""
        return tuple(
            RefusedRows(
                condition=f"{quote_name(_FAILED)} = {number}",
                reason=expectation_reason(check),
                path=ROOT_PATH,
                rule=expectation_rule(check),
            )
            for number, check in enumerate(self.checks)
        )

    def add_to(self, rows: DataFrame) -> DataFrame:
        """Add the number of the first check that each row fails.

        Other columns are carried in a struct meanwhile, so that conditions see those of the table only.
        """
        columns = [f"{sql} AS {quote_name(name)}" for name, sql in self.columns.items()]
        table = rows.selectExpr(f"struct(*) AS {quote_name(_CARRIED)}", *columns)
        table = with_missing_columns(table, self.checks)
        for check in self.checks:
            require_condition(table, check)
        cases = " ".join(f"WHEN {row_fails(check)} THEN {n}" for n, check in enumerate(self.checks))
        failed = f"CASE {cases} END AS {quote_name(_FAILED)}"
        return table.selectExpr(f"{quote_name(_CARRIED)}.*", failed)


def row_checks(checks: Sequence[Check], decision: Decision, layout: NestedLayout) -> RowChecks | None:
    """Return the checks of the root table of a decision; None if it has none, or if the table is refused."""
    if not checks or () not in decision.tables:
        return None
    used = {name.lower() for check in checks for name in condition_columns(check.expression)}
    columns = root_columns(Planner(decision, layout).projection(()))
    return RowChecks(
        checks=tuple(checks), columns={name: sql for name, sql in columns.items() if name.lower() in used}
    )
